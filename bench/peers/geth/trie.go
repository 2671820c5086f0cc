package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"runtime"
	"sort"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/trie/trienode"
	"github.com/ethereum/go-ethereum/triedb"
)

const (
	trieProofs  = 2000 // proofs and updates per step [spec:bench#3]
	trieStride  = 7919
	trieMinTime = 120 * time.Millisecond
)

// trieRoots is meta/trie-roots.json.
type trieRoots struct {
	Roots map[string]struct {
		Root             common.Hash `json:"root"`
		RootAfterUpdates common.Hash `json:"root_after_updates"`
	} `json:"roots"`
}

type trieResult struct {
	Bench   string      `json:"bench"`
	Name    string      `json:"name"`
	Impl    string      `json:"impl"`
	N       int         `json:"n"`
	NsPerOp float64     `json:"ns_per_op"`
	Iters   int         `json:"iters"`
	Root    common.Hash `json:"root"`
}

// trieSteps in the order they depend on each other.
var trieSteps = []string{"insert", "hash", "commit", "prove", "update_hash", "stacktrie"}

func runTrie(args []string) error {
	flags := flag.NewFlagSet("trie", flag.ExitOnError)
	rootsFile := flags.String("roots", "", "expected roots (meta/trie-roots.json)")
	operands := parseMixed(flags, args)
	if len(operands) == 0 {
		return errors.New("trie: no size given")
	}
	var want trieRoots
	if *rootsFile != "" {
		text, err := os.ReadFile(*rootsFile)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &want); err != nil {
			return fmt.Errorf("%s: %w", *rootsFile, err)
		}
	}
	for _, operand := range operands {
		n, err := strconv.Atoi(operand)
		if err != nil || n < 1 {
			return fmt.Errorf("trie: bad size %q", operand)
		}
		if err := benchTrie(n, &want); err != nil {
			return fmt.Errorf("trie %d: %w", n, err)
		}
	}
	return nil
}

func benchTrie(n int, want *trieRoots) error {
	set := newKeySet(n)
	best := make(map[string]time.Duration)
	var root, updated common.Hash
	iters := 0
	for total := time.Duration(0); iters < 3 || total < trieMinTime; iters++ {
		spent, r, u, err := set.round()
		if err != nil {
			return err
		}
		root, updated = r, u
		for step, d := range spent {
			if old, ok := best[step]; !ok || d < old {
				best[step] = d
			}
			total += d
		}
	}
	if expected, ok := want.Roots[strconv.Itoa(n)]; ok {
		if root != expected.Root || updated != expected.RootAfterUpdates {
			return fmt.Errorf("roots %x and %x, want %x and %x", root, updated, expected.Root, expected.RootAfterUpdates)
		}
	}
	for _, step := range trieSteps {
		ops, result := n, root
		switch step {
		case "prove":
			ops = trieProofs
		case "update_hash":
			ops, result = min(n, trieProofs), updated
		}
		emit(trieResult{
			Bench: "trie", Name: fmt.Sprintf("%s_%d", step, n), Impl: "geth", N: n,
			NsPerOp: float64(best[step].Nanoseconds()) / float64(ops), Iters: iters, Root: result,
		})
	}
	return nil
}

// keySet holds the keys and values of one size, in insertion order, and the sorted order of the keys.
type keySet struct {
	keys, values [][]byte
	sorted       []int
}

func newKeySet(n int) *keySet {
	set := &keySet{keys: make([][]byte, n), values: make([][]byte, n), sorted: make([]int, n)}
	for i := range n {
		set.keys[i] = crypto.Keccak256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		balance := new(big.Int).Mul(big.NewInt(int64(i)), big.NewInt(1_000_000_000))
		value, err := rlp.EncodeToBytes([]any{uint64(i), balance, types.EmptyRootHash, types.EmptyCodeHash})
		if err != nil {
			panic(err)
		}
		set.values[i] = value
		set.sorted[i] = i
	}
	sort.Slice(set.sorted, func(a, b int) bool {
		return string(set.keys[set.sorted[a]]) < string(set.keys[set.sorted[b]])
	})
	return set
}

// round runs all steps once. Hashing and committing use several goroutines, so CPU time of the whole
// process counts. It includes the collector, as a C program's time includes its memory management;
// collecting before a step keeps it from paying for the garbage of the one before.
func (set *keySet) round() (spent map[string]time.Duration, root, updated common.Hash, err error) {
	spent = make(map[string]time.Duration)
	n := len(set.keys)
	timed := func(step string, run func() error) {
		if err != nil {
			return
		}
		runtime.GC()
		start := processCPU()
		err = run()
		spent[step] = processCPU() - start
	}

	db := triedb.NewDatabase(rawdb.NewMemoryDatabase(), triedb.HashDefaults)
	defer db.Close()
	tr := trie.NewEmpty(db)
	timed("insert", func() error {
		for i, key := range set.keys {
			if err := tr.Update(key, set.values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	timed("hash", func() error {
		root = tr.Hash()
		return nil
	})
	timed("commit", func() error {
		committed, nodes := tr.Commit(false)
		return db.Update(committed, types.EmptyRootHash, 0, trienode.NewWithNodeSet(nodes), nil)
	})
	tr, err = reopen(db, root, err)
	timed("prove", func() error {
		for i := range trieProofs {
			if err := tr.Prove(set.keys[i*trieStride%n], memorydb.New()); err != nil {
				return err
			}
		}
		return nil
	})
	tr, err = reopen(db, root, err)
	timed("update_hash", func() error {
		for i := range min(n, trieProofs) {
			if err := tr.Update(set.keys[i*trieStride%n], set.values[i/2]); err != nil {
				return err
			}
		}
		updated = tr.Hash()
		return nil
	})
	timed("stacktrie", func() error {
		st := trie.NewStackTrie(nil)
		for _, i := range set.sorted {
			if err := st.Update(set.keys[i], set.values[i]); err != nil {
				return err
			}
		}
		if got := st.Hash(); got != root {
			return fmt.Errorf("stack trie root %x, want %x", got, root)
		}
		return nil
	})
	return spent, root, updated, err
}

func reopen(db *triedb.Database, root common.Hash, err error) (*trie.Trie, error) {
	if err != nil {
		return nil, err
	}
	return trie.New(trie.TrieID(root), db)
}
