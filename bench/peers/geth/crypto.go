package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/tests"
)

// cryptoCase is one entry of bench/crypto.json; bench/README.md says what each operation takes and gives.
type cryptoCase struct {
	Name    string        `json:"name"`
	Op      string        `json:"op"`
	Input   hexutil.Bytes `json:"input"`
	Len     int           `json:"len"`
	Signers int           `json:"signers"`
	Output  hexutil.Bytes `json:"output"`
}

type cryptoResult struct {
	Bench string  `json:"bench"`
	Name  string  `json:"name"`
	Impl  string  `json:"impl"`
	Ns    float64 `json:"ns"`
	OpsS  float64 `json:"ops_s"`
	MbS   float64 `json:"mb_s,omitempty"`
	Iters int     `json:"iters"`
}

// precompileOps are the operations that are precompiled contracts, with their addresses.
var precompileOps = map[string]common.Address{
	"ecrecover":            common.BytesToAddress([]byte{1}),
	"ripemd160":            common.BytesToAddress([]byte{3}),
	"modexp":               common.BytesToAddress([]byte{5}),
	"bn254_add":            common.BytesToAddress([]byte{6}),
	"bn254_mul":            common.BytesToAddress([]byte{7}),
	"bn254_pairing":        common.BytesToAddress([]byte{8}),
	"blake2f":              common.BytesToAddress([]byte{9}),
	"kzg_point_evaluation": common.BytesToAddress([]byte{10}),
	"p256_verify":          common.BytesToAddress([]byte{1, 0}),
}

func runCrypto(args []string) error {
	flags := flag.NewFlagSet("crypto", flag.ExitOnError)
	only := flags.String("only", "", "run only cases whose name contains this")
	minMs := flags.Int("min-ms", 120, "least total time of the repetitions")
	operands := parseMixed(flags, args)
	if len(operands) != 1 {
		return errors.New("crypto: one file expected")
	}
	text, err := os.ReadFile(operands[0])
	if err != nil {
		return err
	}
	var cases []cryptoCase
	if err := json.Unmarshal(text, &cases); err != nil {
		return fmt.Errorf("%s: %w", operands[0], err)
	}
	debug.SetGCPercent(400)
	for _, c := range cases {
		if !strings.Contains(c.Name, *only) {
			continue
		}
		if c.Len > 0 && c.Signers == 0 {
			c.Input = pattern(c.Len)
		}
		if err := benchCrypto(&c, time.Duration(*minMs)*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// pattern is the n bytes 0, 1, … 255, 0, …
func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i)
	}
	return data
}

// cryptoOp gives the operation on the case's input, or nil when the library does not have it.
func cryptoOp(c *cryptoCase) (func() ([]byte, error), error) {
	input := []byte(c.Input)
	if address, ok := precompileOps[c.Op]; ok {
		config := *tests.Forks["Cancun"]
		rules := config.Rules(common.Big1, true, 1)
		contract, ok := vm.ActivePrecompiledContracts(rules)[address]
		if !ok {
			contract, ok = vm.ActivePrecompiledContracts(params.Rules{IsOsaka: true})[address]
		}
		if !ok {
			return nil, fmt.Errorf("no precompile at %s", address)
		}
		if c.Op == "ripemd160" { // the contract pads the 20-byte hash to a word
			return func() ([]byte, error) { word, err := contract.Run(input); return word[12:], err }, nil
		}
		return func() ([]byte, error) { return contract.Run(input) }, nil
	}
	switch c.Op {
	case "keccak256":
		return func() ([]byte, error) { hash := crypto.Keccak256Hash(input); return hash[:], nil }, nil
	case "sha256":
		return func() ([]byte, error) { hash := sha256.Sum256(input); return hash[:], nil }, nil
	case "secp256k1_sign":
		key, err := crypto.ToECDSA(input[32:64])
		if err != nil {
			return nil, err
		}
		return func() ([]byte, error) { return crypto.Sign(input[:32], key) }, nil
	case "secp256k1_verify":
		public := append([]byte{4}, input[96:160]...)
		return func() ([]byte, error) {
			if !crypto.VerifySignature(public, input[:32], input[32:96]) {
				return nil, errors.New("signature refused")
			}
			return []byte{1}, nil
		}, nil
	}
	return nil, nil
}

func benchCrypto(c *cryptoCase, minTotal time.Duration) error {
	op, err := cryptoOp(c)
	if err != nil || op == nil {
		return err
	}
	output, err := op()
	if err != nil {
		return err
	}
	if !bytes.Equal(output, c.Output) {
		return fmt.Errorf("output %x, want %x", output, []byte(c.Output))
	}
	// The thread clock is a system call: one reading has to stand for some milliseconds of work.
	perRep := 1
	for start := time.Now(); time.Since(start) < 2*time.Millisecond; perRep++ {
		if _, err := op(); err != nil {
			return err
		}
	}
	runtime.GC()
	t, err := measure(processCPU, minTotal, nil, func() error { // curves have goroutines of their own
		for range perRep {
			if _, err := op(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	ns := float64(t.best.Nanoseconds()) / float64(perRep)
	result := cryptoResult{
		Bench: "crypto", Name: c.Name, Impl: "geth", Ns: ns, OpsS: 1e9 / ns, Iters: t.iters * perRep,
	}
	if c.Len > 0 {
		result.MbS = float64(c.Len) * 1e3 / ns
	}
	emit(result)
	return nil
}
