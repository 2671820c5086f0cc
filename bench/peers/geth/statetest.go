package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"runtime/debug"
	"sort"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/tests"
)

// caseResult is one line of the state test protocol: the post root and logs hash that this
// implementation computed, whether they are the stored ones, and why the transaction was invalid.
type caseResult struct {
	Name  string      `json:"name"`
	Fork  string      `json:"fork"`
	Index int         `json:"index"`
	Pass  bool        `json:"pass"`
	Root  common.Hash `json:"root"`
	Logs  common.Hash `json:"logs"`
	Gas   uint64      `json:"gas"`
	Error string      `json:"error"`
}

// expectations is what the library's own StateTest type keeps to itself.
type expectations struct {
	Env struct {
		Number     string  `json:"currentNumber"`
		Timestamp  string  `json:"currentTimestamp"`
		Random     *string `json:"currentRandom"`
		Difficulty *string `json:"currentDifficulty"`
	} `json:"env"`
	Post map[string][]struct {
		Hash            common.Hash `json:"hash"`
		Logs            common.Hash `json:"logs"`
		ExpectException string      `json:"expectException"`
	} `json:"post"`
}

func runStateTests(args []string) error {
	if len(args) == 0 {
		return errors.New("statetest: no file given")
	}
	// Each case makes a state and drops it: a lazier collector saves a third of the time.
	debug.SetGCPercent(800)
	debug.SetMemoryLimit(2 << 30)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	if args[0] != "-" {
		for _, file := range args {
			if err := stateTestFile(out, file); err != nil {
				return err
			}
		}
		return nil
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<16)
	for lines.Scan() {
		if err := stateTestFile(out, lines.Text()); err != nil {
			fmt.Fprintln(os.Stderr, "peer-geth:", err)
		}
		out.WriteByte('\n')
		out.Flush()
	}
	return lines.Err()
}

// stateTestFile runs all cases of a file, in the order of test name, fork and index.
func stateTestFile(out *bufio.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, name := range sortedKeys(raw) {
		var test tests.StateTest
		var want expectations
		if err := errors.Join(json.Unmarshal(raw[name], &test), json.Unmarshal(raw[name], &want)); err != nil {
			return fmt.Errorf("%s: %s: %w", file, name, err)
		}
		for _, fork := range sortedKeys(want.Post) {
			for index := range want.Post[fork] {
				result := stateTestCase(&test, &want, tests.StateSubtest{Fork: fork, Index: index})
				result.Name = name
				line, err := json.Marshal(result)
				if err != nil {
					return err
				}
				out.Write(append(line, '\n'))
			}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// stateTestCase runs one case. A panic of the library counts as the error of that case alone.
func stateTestCase(test *tests.StateTest, want *expectations, sub tests.StateSubtest) (result caseResult) {
	result.Fork, result.Index = sub.Fork, sub.Index
	defer func() {
		if caught := recover(); caught != nil {
			result.Pass, result.Error = false, fmt.Sprint("panic: ", caught)
		}
	}()
	post := want.Post[sub.Fork][sub.Index]
	st, root, gas, err := test.RunNoVerify(sub, vm.Config{}, false, rawdb.HashScheme)
	defer st.Close()
	if err != nil && st.StateDB == nil {
		result.Error = err.Error()
		return result
	}
	if err != nil {
		// The transaction was refused: the state is the one before it.
		config, _, forkErr := tests.GetChainConfig(sub.Fork)
		if forkErr != nil {
			result.Error = forkErr.Error()
			return result
		}
		number, _ := new(big.Int).SetString(want.Env.Number, 0)
		time, _ := new(big.Int).SetString(want.Env.Timestamp, 0)
		isMerge := config.IsLondon(new(big.Int)) && want.Env.Random != nil
		root = st.StateDB.IntermediateRoot(config.Rules(number, isMerge, time.Uint64()))
		result.Error = err.Error()
	}
	var logs []*types.Log
	if err == nil {
		logs = st.StateDB.Logs()
	}
	encoded, encErr := rlp.EncodeToBytes(logs)
	if encErr != nil {
		panic(encErr)
	}
	result.Root, result.Logs, result.Gas = root, crypto.Keccak256Hash(encoded), gas
	if post.ExpectException != "" {
		result.Pass = err != nil && root == post.Hash
	} else {
		result.Pass = err == nil && root == post.Hash && result.Logs == post.Logs
	}
	return result
}
