package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/rlp"
)

// importMeta is one entry of blocks.json.
type importMeta struct {
	Blocks    int         `json:"blocks"`
	Txs       int         `json:"txs"`
	Gas       uint64      `json:"gas"`
	LastHash  common.Hash `json:"last_hash"`
	StateRoot common.Hash `json:"state_root"`
}

type importResult struct {
	Bench    string      `json:"bench"`
	Name     string      `json:"name"`
	Impl     string      `json:"impl"`
	Scheme   string      `json:"scheme"`
	WallMs   float64     `json:"wall_ms"`
	CPUMs    float64     `json:"cpu_ms"`
	FlushMs  float64     `json:"flush_ms"`
	Gas      uint64      `json:"gas"`
	Txs      int         `json:"txs"`
	MgasS    float64     `json:"mgas_s"`
	MgasCPUS float64     `json:"mgas_cpu_s"`
	Iters    int         `json:"iters"`
	Root     common.Hash `json:"root"`
}

func runImport(args []string) error {
	flags := flag.NewFlagSet("import", flag.ExitOnError)
	scheme := flags.String("scheme", rawdb.PathScheme, "state scheme: path or hash")
	tmp := flags.String("tmp", "", "where the data bases are made")
	rounds := flags.Int("rounds", 3, "imports, each into a fresh data base; the fastest counts")
	operands := parseMixed(flags, args)
	if len(operands) != 2 {
		return errors.New("import: a folder and a name expected")
	}
	dir, name := operands[0], operands[1]
	text, err := os.ReadFile(filepath.Join(dir, "blocks.json"))
	if err != nil {
		return err
	}
	var metas map[string]importMeta
	if err := json.Unmarshal(text, &metas); err != nil {
		return err
	}
	meta, ok := metas[name]
	if !ok {
		return fmt.Errorf("import: blocks.json has no %q", name)
	}
	text, err = os.ReadFile(filepath.Join(dir, "genesis.json"))
	if err != nil {
		return err
	}
	genesis := new(core.Genesis)
	if err := json.Unmarshal(text, genesis); err != nil {
		return err
	}
	chain, err := os.ReadFile(filepath.Join(dir, "blocks_"+name+".rlp"))
	if err != nil {
		return err
	}

	best := importResult{CPUMs: math.Inf(1), WallMs: math.Inf(1)}
	for range *rounds {
		got, err := importOnce(genesis, chain, &meta, *scheme, *tmp)
		if err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
		if got.CPUMs < best.CPUMs {
			best.CPUMs, best.FlushMs = got.CPUMs, got.FlushMs
		}
		best.WallMs = min(best.WallMs, got.WallMs)
	}
	emit(importResult{
		Bench: "import", Name: name, Impl: "geth", Scheme: *scheme,
		WallMs: best.WallMs, CPUMs: best.CPUMs, FlushMs: best.FlushMs, Gas: meta.Gas, Txs: meta.Txs,
		MgasS: float64(meta.Gas) / 1e3 / best.WallMs, MgasCPUS: float64(meta.Gas) / 1e3 / best.CPUMs,
		Iters: *rounds, Root: meta.StateRoot,
	})
	return nil
}

// importOnce times decoding and inserting all blocks into a new data base on disk. CPU time is that of
// the whole process: sender recovery, prefetching and the collector run beside the import. What a stop
// writes (the journal of the path scheme, the trie of the hash scheme) is told apart as flush time.
func importOnce(genesis *core.Genesis, chain []byte, meta *importMeta, scheme, tmp string) (result importResult, err error) {
	dir, err := os.MkdirTemp(tmp, "peer-geth-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(dir)
	kv, err := pebble.New(filepath.Join(dir, "chaindata"), 256, 512, "", false)
	if err != nil {
		return result, err
	}
	db := rawdb.NewDatabase(kv)
	defer db.Close()
	bc, err := core.NewBlockChain(db, genesis, beacon.New(ethash.NewFaker()), core.DefaultConfig().WithStateScheme(scheme))
	if err != nil {
		return result, err
	}

	cpu, wall := processCPU(), time.Now()
	blocks, err := decodeBlocks(chain)
	if err == nil {
		_, err = bc.InsertChain(blocks)
	}
	spentCPU, spentWall := processCPU()-cpu, time.Since(wall)
	head := bc.CurrentBlock()
	cpu = processCPU()
	bc.Stop()
	flush := processCPU() - cpu
	if err != nil {
		return result, err
	}
	if len(blocks) != meta.Blocks || head.Hash() != meta.LastHash || head.Root != meta.StateRoot {
		return result, fmt.Errorf("head %x root %x, want %x and %x", head.Hash(), head.Root, meta.LastHash, meta.StateRoot)
	}
	result.CPUMs = spentCPU.Seconds() * 1e3
	result.WallMs = spentWall.Seconds() * 1e3
	result.FlushMs = flush.Seconds() * 1e3
	return result, nil
}

func decodeBlocks(chain []byte) (types.Blocks, error) {
	var blocks types.Blocks
	for len(chain) > 0 {
		_, _, rest, err := rlp.Split(chain)
		if err != nil {
			return nil, err
		}
		block := new(types.Block)
		if err := rlp.DecodeBytes(chain[:len(chain)-len(rest)], block); err != nil {
			return nil, err
		}
		blocks = append(blocks, block)
		chain = rest
	}
	if len(blocks) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return blocks, nil
}
