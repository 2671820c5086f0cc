// Thousands of blocks of a C-Chain that the original's own EVM (coreth) makes here: the plugin takes each in, and tells
// the same roots and receipts.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ava-labs/avalanchego/database/memdb"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/coreth/consensus/dummy"
	"github.com/ava-labs/coreth/core"
	"github.com/ava-labs/coreth/params"
	"github.com/ava-labs/coreth/params/extras"
	"github.com/ava-labs/coreth/precompile/contracts/warp"
	libcommon "github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/libevm/rlp"
)

const longAsked = 97 // of so many blocks one is asked for with its receipts

// Init code of a contract that keeps its input under the block's number, and logs both.
var keeper = unhex("600f600c600039600f6000f3" + "600035804355600052436020" + "6000a1")

// A block must be paid for by transactions; ten seconds behind another it costs nothing.
const longGap = 10

type maker struct {
	chain *big.Int
	nonce uint64
	kept  libcommon.Address
	more  uint64 // transfers in each block besides
	seed  uint64
}

func (m *maker) next() uint64 {
	m.seed = m.seed*6364136223846793005 + 1442695040888963407
	return m.seed >> 33
}

func (m *maker) tx(b *core.BlockGen, to *libcommon.Address, value int64, gas uint64, data []byte) types.TxData {
	fee := new(big.Int).Add(b.BaseFee(), big.NewInt(1))
	defer func() { m.nonce++ }()
	switch m.next() % 3 {
	case 0:
		return &types.LegacyTx{Nonce: m.nonce, GasPrice: fee, Gas: gas, To: to, Value: big.NewInt(value), Data: data}
	case 1:
		return &types.AccessListTx{
			ChainID: m.chain, Nonce: m.nonce, GasPrice: fee, Gas: gas, To: to, Value: big.NewInt(value), Data: data,
		}
	}
	return &types.DynamicFeeTx{
		ChainID: m.chain, Nonce: m.nonce, GasTipCap: big.NewInt(1), GasFeeCap: fee, Gas: gas, To: to,
		Value: big.NewInt(value), Data: data,
	}
}

// The block's transactions: transfers to addresses new and known, slots written, now and then a contract.
func (m *maker) fill(i int, b *core.BlockGen, sign func(types.TxData) *types.Transaction) {
	b.SetExtra(make([]byte, 6)) // no predicates, in the codec's words
	b.SetCoinbase(libcommon.HexToAddress("0x0100000000000000000000000000000000000000"))
	if i%500 == 0 {
		b.AddTx(sign(m.tx(b, nil, 0, 200000, keeper)))
		m.kept = crypto.CreateAddress(crypto.PubkeyToAddress(longKey.PublicKey), m.nonce-1)
	}
	for n := m.next()%4 + m.more; n > 0; n-- {
		to := libcommon.BigToAddress(big.NewInt(int64(0xaa0000 + m.next()%3000)))
		b.AddTx(sign(m.tx(b, &to, int64(m.next()%1000), 21000, nil)))
	}
	word := libcommon.BigToHash(big.NewInt(int64(m.next())))
	b.AddTx(sign(m.tx(b, &m.kept, 0, 100000, word[:])))
}

func longGenesis(from libcommon.Address) (*core.Genesis, []byte) {
	extra := &extras.ChainConfig{NetworkUpgrades: extras.GetNetworkUpgrades(times())}
	extra.PrecompileUpgrades = []extras.PrecompileUpgrade{{
		Config: warp.NewDefaultConfig(extra.DurangoBlockTimestamp), // as the original's VM does
	}}
	config := params.WithExtra(&params.ChainConfig{ChainID: big.NewInt(43112)}, extra)
	must(params.SetEthUpgrades(config))
	funds, _ := new(big.Int).SetString("1000000000000000000000000", 10)
	start := uint64(upgrade.InitiallyActiveTime.Unix())
	text, err := json.Marshal(map[string]any{
		"config": map[string]any{"chainId": 43112}, "nonce": "0x0", "timestamp": fmt.Sprintf("0x%x", start),
		"extraData": "0x", "gasLimit": "0x5f5e100", "difficulty": "0x0",
		"alloc": map[string]any{strings.TrimPrefix(from.Hex(), "0x"): map[string]string{"balance": "0x" + funds.Text(16)}},
	})
	must(err)
	return &core.Genesis{
		Config: config, Timestamp: start, GasLimit: 0x5f5e100, Difficulty: new(big.Int), ExtraData: []byte{},
		Alloc: types.GenesisAlloc{from: {Balance: funds}},
	}, text
}

var longKey, _ = crypto.HexToECDSA("56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027")

func number(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// Writes a chain for bench-door: its genesis, and its blocks one behind the other.
func dumpC(dir string) {
	text, blocks, _, _ := makeC(number("LONG_BLOCKS", 200), uint64(number("LONG_TRANSFERS", 300)))
	must(os.WriteFile(filepath.Join(dir, "genesis.json"), text, 0o644))
	file, err := os.Create(filepath.Join(dir, "blocks.rlp"))
	must(err)
	for _, b := range blocks {
		must(rlp.Encode(file, b))
	}
	must(file.Close())
}

func makeC(count int, more uint64) ([]byte, []*types.Block, []types.Receipts, time.Duration) {
	genesis, text := longGenesis(crypto.PubkeyToAddress(longKey.PublicKey))
	m := &maker{chain: genesis.Config.ChainID, seed: 18, more: more}
	signer := types.LatestSigner(genesis.Config)
	sign := func(tx types.TxData) *types.Transaction { return types.MustSignNewTx(longKey, signer, tx) }
	begin := time.Now()
	_, blocks, receipts, err := core.GenerateChainWithGenesis(genesis, dummy.NewFaker(), count, longGap,
		func(i int, b *core.BlockGen) { m.fill(i, b, sign) })
	must(err)
	return text, blocks, receipts, time.Since(begin)
}

// LONG_BLOCKS in the environment says how many.
func longC() {
	const name = "long"
	count := number("LONG_BLOCKS", 500)
	ctx := context.Background()
	text, blocks, receipts, made := makeC(count, 0)
	logs := 0
	for _, all := range receipts {
		for _, one := range all {
			logs += len(one.Logs)
		}
	}
	check(name, logs > count/2, "%d logs in %d blocks", logs, count)

	dir, err := os.MkdirTemp("", "guest")
	must(err)
	defer os.RemoveAll(dir)
	chain := ids.ID{'C'}
	s := setup{
		name: "C", network: 12345, chain: chain, cChain: chain, xChain: ids.ID{'X'}, asset: ids.ID{'a'}, genesis: text,
		config: []byte(`{"use-standalone-database": true}`), times: times(), db: memdb.New(), dir: dir,
	}
	r, err := openRig(s)
	if !check(name, err == nil, "initialize: %v", err) {
		return
	}
	must(r.vm.SetState(ctx, snow.Bootstrapping))
	begin := time.Now()
	for i, made := range blocks {
		raw, err := rlp.EncodeToBytes(made)
		must(err)
		blk, err := r.vm.ParseBlock(ctx, raw)
		if !check(name, err == nil, "parse %d: %v", i+1, err) {
			return
		}
		check(name, blk.ID() == ids.ID(made.Hash()), "block %d: %s", i+1, blk.ID())
		if err = blk.Verify(ctx); !check(name, err == nil, "verify %d: %v", i+1, err) {
			return
		}
		if err = blk.Accept(ctx); !check(name, err == nil, "accept %d: %v", i+1, err) {
			return
		}
	}
	fmt.Printf("%d blocks made in %v, taken in in %v\n", count, made.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	must(r.start())
	must(r.serve())
	for i := longAsked - 1; i < count; i += longAsked {
		longAsk(name, r, blocks[i], receipts[i])
	}
	longAsk(name, r, blocks[count-1], receipts[count-1])
	check(name, r.stop() == nil, "shutdown")
}

// The state's root and all receipts of a block, as the plugin tells them.
func longAsk(name string, r *rig, b *types.Block, receipts types.Receipts) {
	number := fmt.Sprintf("0x%x", b.NumberU64())
	raw, err := r.call("eth_getBlockByNumber", number, false)
	var head struct {
		StateRoot    libcommon.Hash
		ReceiptsRoot libcommon.Hash
	}
	if check(name, err == nil && json.Unmarshal(raw, &head) == nil, "block %s: %v", number, err) {
		check(name, head.StateRoot == b.Root(), "state of %s: %s", number, head.StateRoot)
		check(name, head.ReceiptsRoot == b.ReceiptHash(), "receipts of %s: %s", number, head.ReceiptsRoot)
	}
	raw, err = r.call("eth_getBlockReceipts", number)
	var got []*types.Receipt
	if !check(name, err == nil && json.Unmarshal(raw, &got) == nil && len(got) == len(receipts), "receipts of %s: %v", number, err) {
		return
	}
	for i, want := range receipts {
		if want.Logs == nil {
			want.Logs = []*types.Log{} // it says null where an API says []
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got[i])
		check(name, string(a) == string(b), "receipt %d of %s: %s, should be %s", i, number, b, a)
	}
}
