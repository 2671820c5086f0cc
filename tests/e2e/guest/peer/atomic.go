// Golden C-Chain blocks with an import and an export: shared memory is the node's, and changes with the block.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/ava-labs/avalanchego/chains/atomic"
	"github.com/ava-labs/avalanchego/database/memdb"
	"github.com/ava-labs/avalanchego/database/prefixdb"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/avalanchego/utils/crypto/secp256k1"
	"github.com/ava-labs/libevm/crypto"
)

type atomicBlock struct {
	BlockHash      string
	BlockBytes     string
	TxID           string
	AtomicRequests struct {
		RemoveRequests [][]byte
		PutRequests    []struct {
			Key    []byte
			Value  []byte
			Traits [][]byte
		}
	}
	UnsignedJSON struct {
		ImportedInputs []struct {
			TxID ids.ID `json:"txID"`
		}
	}
}

type era struct {
	Fork      string
	NetworkID uint32
	AssetID   string
	CChainID  string
	XChainID  string
	Import    atomicBlock
	Export    atomicBlock
}

func toID(s string) ids.ID {
	id, err := ids.ToID(unhex(s))
	must(err)
	return id
}

// Upgrades of an era come with the genesis, later ones never; false: the plugin does not run that era.
func timesOf(fork string) (upgrade.Config, bool) {
	t := upgrade.Default
	never := upgrade.UnscheduledActivationTime
	t.DurangoTime, t.EtnaTime, t.FortunaTime, t.GraniteTime = never, never, never, never
	then := upgrade.InitiallyActiveTime
	switch fork {
	case "Granite":
		t.GraniteTime = then
		fallthrough
	case "Fortuna":
		t.FortunaTime = then
		fallthrough
	case "Etna":
		t.EtnaTime = then
		fallthrough
	case "Durango":
		t.DurangoTime = then
		fallthrough
	case "Cortina":
		return t, true
	}
	return t, false
}

// The genesis that the recording was made with.
func atomicGenesis(keys []string) []byte {
	var rows []struct {
		Genesis struct {
			Alloc map[string]struct{ Code string }
		}
	}
	text, err := os.ReadFile(filepath.Join(testdata, "evm-chain", "cchain-genesis.json"))
	must(err)
	must(json.Unmarshal(text, &rows))
	alloc := map[string]any{}
	for _, k := range keys {
		key, err := crypto.HexToECDSA(strings.TrimPrefix(k, "0x"))
		must(err)
		alloc[fmt.Sprintf("%x", crypto.PubkeyToAddress(key.PublicKey))] = map[string]string{"balance": "10000000000000000000"}
	}
	const blackhole = "0100000000000000000000000000000000000000"
	alloc[blackhole] = map[string]string{"balance": "0x0", "code": rows[0].Genesis.Alloc[blackhole].Code}
	out, err := json.Marshal(map[string]any{
		"config": map[string]any{"chainId": 43112}, "nonce": "0x0", "timestamp": "0x5fcb13d0", "extraData": "0x",
		"gasLimit": "0x5f5e100", "difficulty": "0x0", "alloc": alloc,
	})
	must(err)
	return out
}

// What the X-Chain left: one output of 50,000,000 units for an address.
func utxo(txID, asset ids.ID, owner []byte) []byte {
	var b bytes.Buffer
	b.Write([]byte{0, 0})
	b.Write(txID[:])
	b.Write([]byte{0, 0, 0, 0})
	b.Write(asset[:])
	for _, v := range []any{uint32(7), uint64(50000000), uint64(0), uint32(1), uint32(1)} {
		must(binary.Write(&b, binary.BigEndian, v))
	}
	b.Write(owner)
	return b.Bytes()
}

func goldenAtomic(keys []string) {
	var eras []era
	text, err := os.ReadFile(filepath.Join(testdata, "evm-chain", "cchain-atomic.json"))
	must(err)
	must(json.Unmarshal(text, &eras))
	for _, e := range eras {
		times, runs := timesOf(e.Fork)
		for _, config := range []string{"", `{"use-standalone-database": true}`} {
			if runs {
				atomicEra(e, times, keys, config)
			}
		}
	}
}

func atomicEra(e era, times upgrade.Config, keys []string, config string) {
	ctx := context.Background()
	name := "atomic/" + e.Fork + " " + config
	dir, err := os.MkdirTemp("", "guest")
	must(err)
	defer os.RemoveAll(dir)
	chain, xChain, asset := toID(e.CChainID), toID(e.XChainID), toID(e.AssetID)
	secret, err := secp256k1.ToPrivateKey(unhex(keys[0]))
	must(err)
	owner := secret.Address()
	db := memdb.New()
	memory := atomic.NewMemory(prefixdb.New([]byte("shared"), db))
	ofX := memory.NewSharedMemory(xChain)
	removed := e.Import.AtomicRequests.RemoveRequests[0]
	value := utxo(e.Import.UnsignedJSON.ImportedInputs[0].TxID, asset, owner[:])
	must(ofX.Apply(map[ids.ID]*atomic.Requests{chain: {PutRequests: []*atomic.Element{{
		Key: removed, Value: value, Traits: [][]byte{owner[:]},
	}}}}))

	s := setup{
		name: "C", network: e.NetworkID, chain: chain, cChain: chain, xChain: xChain, asset: asset,
		genesis: atomicGenesis(keys), config: []byte(config), times: times, db: db, dir: dir,
	}
	r, err := openRig(s)
	if !check(name, err == nil, "initialize: %v", err) {
		return
	}
	must(r.start())
	must(r.serve())
	ofC := memory.NewSharedMemory(chain)
	_, err = ofC.Get(xChain, [][]byte{removed})
	check(name, err == nil, "before the import: %v", err)
	for i, golden := range []atomicBlock{e.Import, e.Export} {
		blk, err := r.vm.ParseBlock(ctx, unhex(golden.BlockBytes))
		if !check(name, err == nil, "block %d: %v", i, err) {
			break
		}
		id := blk.ID()
		check(name, bytes.Equal(id[:], unhex(golden.BlockHash)), "block %d: %s", i, id)
		err = blk.Verify(ctx)
		check(name, err == nil, "verify %d: %v", i, err)
		check(name, r.vm.SetPreference(ctx, id) == nil, "prefer %d", i)
		err = blk.Accept(ctx)
		check(name, err == nil, "accept %d: %v", i, err)
		status := r.avax("avax.getAtomicTxStatus", map[string]string{"txID": golden.TxID})
		check(name, strings.Contains(status, `"Accepted"`), "status %d: %s", i, status)
	}
	_, err = ofC.Get(xChain, [][]byte{removed})
	check(name, err != nil, "the import took nothing")
	put := e.Export.AtomicRequests.PutRequests[0]
	values, err := ofX.Get(chain, [][]byte{put.Key})
	check(name, err == nil && len(values) == 1 && bytes.Equal(values[0], put.Value), "the export left %x %v", values, err)
	found, _, _, err := ofX.Indexed(chain, put.Traits, nil, nil, 10)
	check(name, err == nil && len(found) == 1 && bytes.Equal(found[0], put.Value), "by its owner: %x %v", found, err)
	check(name, r.stop() == nil, "shutdown")

	again, err := openRig(s) // what was told to the node is not told again
	if check(name, err == nil, "again: %v", err) {
		last, err := again.vm.LastAccepted(ctx)
		check(name, err == nil && bytes.Equal(last[:], unhex(e.Export.BlockHash)), "after a restart: %s %v", last, err)
		check(name, again.stop() == nil, "shutdown")
	}
}

func (r *rig) avax(method string, params any) string {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	resp, err := http.Post(r.server.URL+"/ext/bc/C/avax", "application/json", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}
