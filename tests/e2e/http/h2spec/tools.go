//go:build tools

// Package h2spec pins the conformance tool that http2.py builds and runs.
package h2spec

import _ "github.com/summerwind/h2spec/cmd/h2spec"
