package main
func runCrypto(args []string) error { return nil }
