package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/tests"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/holiman/uint256"
)

// The environment of every interpreter workload [spec:bench#1].
var (
	benchCaller   = common.HexToAddress("0xa94f5374fce5edbc8e2a8697c15331677e6ebf0b")
	benchCallee   = common.HexToAddress("0xbe7c43a580000000000000000000000000000001")
	benchCoinbase = common.HexToAddress("0xc0ffee0000000000000000000000000000000001")
)

// workload is one file of testdata/bench-evm.
type workload struct {
	Name   string        `json:"name"`
	Fork   string        `json:"fork"`
	Gas    uint64        `json:"gas"`
	Code   hexutil.Bytes `json:"code"`
	Input  hexutil.Bytes `json:"input"`
	Fresh  bool          `json:"fresh"` // each repetition in a world of its own
	Crowd  crowd         `json:"crowd"`
	Expect struct {
		Status       string        `json:"status"`
		GasUsed      uint64        `json:"gas_used"`
		Refund       uint64        `json:"refund"`
		Logs         int           `json:"logs"`
		LogsHash     common.Hash   `json:"logs_hash"`
		Output       hexutil.Bytes `json:"output"`
		OutputKeccak *common.Hash  `json:"output_keccak"`
		StateRoot    common.Hash   `json:"state_root"`
	} `json:"expect"`
}

// crowd is contracts beside the one that is called: number i is at 0xc4…i, its code is head, then fill again and
// again, then i as 4 bytes, so that each has another hash.
type crowd struct {
	Count uint32        `json:"count"`
	Size  int           `json:"size"`
	Head  hexutil.Bytes `json:"head"`
	Fill  hexutil.Bytes `json:"fill"`
}

func (c *crowd) code(i uint32) []byte {
	code := append(make([]byte, 0, c.Size), c.Head...)
	for at := 0; len(code) < c.Size-4; at++ {
		code = append(code, c.Fill[at%len(c.Fill)])
	}
	return binary.BigEndian.AppendUint32(code, i)
}

type evmResult struct {
	Bench   string  `json:"bench"`
	Name    string  `json:"name"`
	Impl    string  `json:"impl"`
	Ns      int64   `json:"ns"`
	FirstNs int64   `json:"first_ns"`
	Gas     uint64  `json:"gas"`
	MgasS   float64 `json:"mgas_s"`
	Iters   int     `json:"iters"`
}

func runEVM(args []string) error {
	flags := flag.NewFlagSet("evm", flag.ExitOnError)
	only := flags.String("only", "", "run only workloads whose name contains this")
	minMs := flags.Int("min-ms", 120, "least total time of the repetitions")
	dirs := parseMixed(flags, args)
	if len(dirs) != 1 {
		return errors.New("evm: one folder expected")
	}
	loads, err := readWorkloads(dirs[0], *only)
	if err != nil {
		return err
	}
	if len(loads) == 0 {
		return errors.New("evm: no workload found")
	}
	for _, w := range loads {
		if err := benchWorkload(w, time.Duration(*minMs)*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	return nil
}

// parseMixed lets flags stand before, between and after the operands, and returns the operands.
func parseMixed(flags *flag.FlagSet, args []string) []string {
	var operands []string
	for len(args) > 0 {
		flags.Parse(args)
		args = flags.Args()
		if len(args) > 0 {
			operands = append(operands, args[0])
			args = args[1:]
		}
	}
	return operands
}

func readWorkloads(dir, only string) ([]*workload, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var loads []*workload
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		w := new(workload)
		if err := json.Unmarshal(text, w); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if strings.Contains(w.Name, only) {
			loads = append(loads, w)
		}
	}
	return loads, nil
}

// benchWorld is a state and an EVM ready for the top-level call.
type benchWorld struct {
	statedb *state.StateDB
	rules   params.Rules
	evm     *vm.EVM
}

// newBenchWorld commits the starting state to an in-memory trie and opens it anew, so that the call
// runs on a clean StateDB with its journal, trie readers and access list as in a transaction.
func newBenchWorld(w *workload) (*benchWorld, error) {
	config, ok := tests.Forks[strings.ToUpper(w.Fork[:1])+w.Fork[1:]]
	if !ok {
		return nil, fmt.Errorf("unknown fork %q", w.Fork)
	}
	random := common.BigToHash(big.NewInt(1))
	block := vm.BlockContext{
		CanTransfer: core.CanTransfer,
		Transfer:    core.Transfer,
		GetHash:     func(n uint64) common.Hash { return common.BigToHash(new(big.Int).SetUint64(n)) },
		Coinbase:    benchCoinbase,
		GasLimit:    1_000_000_000,
		BlockNumber: big.NewInt(1),
		Time:        1000,
		Difficulty:  new(big.Int),
		BaseFee:     big.NewInt(1),
		BlobBaseFee: big.NewInt(1),
		Random:      &random,
	}
	rules := config.Rules(block.BlockNumber, true, block.Time)

	tdb := triedb.NewDatabase(rawdb.NewMemoryDatabase(), triedb.HashDefaults)
	db := state.NewDatabase(tdb, nil)
	fresh, err := state.New(types.EmptyRootHash, db)
	if err != nil {
		return nil, err
	}
	balance := new(uint256.Int).Lsh(uint256.NewInt(1), 120)
	fresh.SetBalance(benchCaller, balance, tracing.BalanceChangeUnspecified)
	fresh.SetNonce(benchCallee, 1, tracing.NonceChangeUnspecified)
	fresh.SetCode(benchCallee, w.Code, tracing.CodeChangeUnspecified)
	for i := range w.Crowd.Count {
		addr := common.Address{0: 0xc4}
		binary.BigEndian.PutUint32(addr[16:], i)
		fresh.SetNonce(addr, 1, tracing.NonceChangeUnspecified)
		fresh.SetCode(addr, w.Crowd.code(i), tracing.CodeChangeUnspecified)
	}
	root, err := fresh.Commit(rules, 0)
	if err != nil {
		return nil, err
	}
	statedb, err := state.New(root, db)
	if err != nil {
		return nil, err
	}
	statedb.Prepare(rules, benchCaller, benchCoinbase, &benchCallee, vm.ActivePrecompiles(rules), nil)
	evm := vm.NewEVM(block, statedb, config, vm.Config{})
	evm.SetTxContext(vm.TxContext{Origin: benchCaller, GasPrice: uint256.NewInt(1)})
	return &benchWorld{statedb: statedb, rules: rules, evm: evm}, nil
}

func benchWorkload(w *workload, minTotal time.Duration) error {
	world, err := newBenchWorld(w)
	if err != nil {
		return err
	}
	defer func() { world.evm.Release() }()

	// The collector runs between repetitions, not in the timed part, unless a workload allocates a lot:
	// then it runs where it has to, as it does in the node.
	debug.SetGCPercent(400)

	budget := vm.NewGasBudget(w.Gas, 0)
	value := new(uint256.Int)
	snapshot := -1
	var (
		output []byte
		left   vm.GasBudget
		vmErr  error
	)
	var sinceGC time.Duration = 1 << 62
	var last time.Duration
	prepare := func() error {
		sinceGC += last
		if snapshot >= 0 && w.Fresh {
			world.evm.Release()
			if world, err = newBenchWorld(w); err != nil {
				return err
			}
		} else if snapshot >= 0 {
			world.statedb.RevertToSnapshot(snapshot)
		}
		snapshot = world.statedb.Snapshot()
		// Collecting before each of a thousand tiny repetitions would evict every cache line they use.
		if sinceGC > 10*time.Millisecond {
			runtime.GC()
			sinceGC = 0
		}
		return nil
	}
	run := func() error {
		begin := time.Now()
		output, left, vmErr = world.evm.Call(benchCaller, benchCallee, w.Input, budget, value)
		last = time.Since(begin)
		return nil
	}
	t, err := measure(threadCPU, minTotal, prepare, run)
	if err != nil {
		return err
	}
	used := left.Used(budget)
	if err := world.verify(w, output, used, vmErr); err != nil {
		return err
	}
	emit(evmResult{
		Bench: "evm", Name: w.Name, Impl: "geth",
		Ns: t.best.Nanoseconds(), FirstNs: t.first.Nanoseconds(), Gas: used,
		MgasS: float64(used) * 1e3 / float64(max(t.best.Nanoseconds(), 1)), Iters: t.iters,
	})
	return nil
}

// verify compares everything the last repetition left behind with the workload's expectation.
func (world *benchWorld) verify(w *workload, output []byte, used uint64, vmErr error) error {
	status := "ok"
	switch {
	case errors.Is(vmErr, vm.ErrExecutionReverted):
		status = "revert"
	case vmErr != nil:
		status = "halt"
	}
	want := &w.Expect
	if status != strings.SplitN(want.Status, ":", 2)[0] {
		return fmt.Errorf("status %q (%v), want %q", status, vmErr, want.Status)
	}
	if used != want.GasUsed {
		return fmt.Errorf("gas used %d, want %d", used, want.GasUsed)
	}
	if refund := world.statedb.GetRefund(); refund != want.Refund {
		return fmt.Errorf("refund %d, want %d", refund, want.Refund)
	}
	if want.OutputKeccak != nil {
		if got := crypto.Keccak256Hash(output); got != *want.OutputKeccak {
			return fmt.Errorf("output hash %x, want %x", got, *want.OutputKeccak)
		}
	} else if !bytes.Equal(output, want.Output) {
		return fmt.Errorf("output %x, want %x", output, want.Output)
	}
	logs := world.statedb.Logs()
	encoded, err := rlp.EncodeToBytes(logs)
	if err != nil {
		return err
	}
	if hash := crypto.Keccak256Hash(encoded); len(logs) != want.Logs || hash != want.LogsHash {
		return fmt.Errorf("%d logs with hash %x, want %d with %x", len(logs), hash, want.Logs, want.LogsHash)
	}
	if root := world.statedb.IntermediateRoot(world.rules); root != want.StateRoot {
		return fmt.Errorf("state root %x, want %x", root, want.StateRoot)
	}
	return nil
}
