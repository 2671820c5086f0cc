package main

import (
	"fmt"
	"math/big"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/avm"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/coreth/ethclient"
	"github.com/ava-labs/coreth/plugin/evm/atomic"
	"github.com/ava-labs/coreth/plugin/evm/client"
	ethcommon "github.com/ava-labs/libevm/common"
)

// weiPerUnit is how many wei of the C-Chain a unit of P and X is.
const weiPerUnit = 1_000_000_000

// directions moves money from each chain to each other one, and counts it there.
func (w *world) directions() {
	chains := map[string]ids.ID{"P": constants.PlatformChainID, "X": w.xChain, "C": w.cChain}
	for _, d := range []string{"PX", "PC", "XP", "XC", "CP", "CX"} {
		from, to := d[:1], d[1:]
		w.check(fmt.Sprintf("from %s to %s", from, to), func() error {
			const amount = 9 * token
			before, err := w.balance(to)
			if err != nil {
				return err
			}
			if err := w.export(from, chains[to], amount); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			if err := w.sees(to, chains[from]); err != nil {
				return err
			}
			if err := w.imported(to, chains[from]); err != nil {
				return fmt.Errorf("import: %w", err)
			}
			after, err := w.balance(to)
			if err != nil {
				return err
			}
			if after < before+amount-token/100 || after > before+amount {
				return fmt.Errorf("%s had %d and has %d", to, before, after)
			}
			return nil
		})
	}
}

// balance is what the key has on a chain, in units of P and X.
func (w *world) balance(chain string) (uint64, error) {
	switch chain {
	case "P":
		b, err := platformvm.NewClient(w.uri).GetBalance(w.ctx, []ids.ShortID{w.addr})
		if err != nil {
			return 0, err
		}
		return uint64(b.Balances[w.asset]), nil
	case "X":
		b, err := avm.NewClient(w.uri, "X").GetBalance(w.ctx, w.addr, "AVAX", false)
		if err != nil {
			return 0, err
		}
		return uint64(b.Balance), nil
	}
	c, err := ethclient.Dial(w.uri + "/ext/bc/C/rpc")
	if err != nil {
		return 0, err
	}
	b, err := c.BalanceAt(w.ctx, w.key.EthAddress(), nil)
	if err != nil {
		return 0, err
	}
	return new(big.Int).Div(b, big.NewInt(weiPerUnit)).Uint64(), nil
}

func (w *world) export(from string, to ids.ID, amount uint64) error {
	outputs := []*avax.TransferableOutput{w.output(amount, w.owner)}
	var err error
	switch from {
	case "P":
		_, err = w.wallet.P().IssueExportTx(to, outputs)
	case "X":
		_, err = w.wallet.X().IssueExportTx(to, outputs)
	case "C":
		var tx *atomic.Tx
		tx, err = w.wallet.C().IssueExportTx(to, []*secp256k1fx.TransferOutput{{Amt: amount, OutputOwners: w.owner}})
		if err == nil {
			err = w.told(tx)
		}
	}
	return err
}

// sees asks the chain that money was sent to what it may import.
func (w *world) sees(chain string, source ids.ID) error {
	var (
		from  = source.String()
		utxos [][]byte
		err   error
	)
	switch chain {
	case "P":
		utxos, _, _, err = platformvm.NewClient(w.uri).GetAtomicUTXOs(w.ctx, []ids.ShortID{w.addr}, from, 10, ids.ShortEmpty, ids.Empty)
	case "X":
		utxos, _, _, err = avm.NewClient(w.uri, "X").GetAtomicUTXOs(w.ctx, []ids.ShortID{w.addr}, from, 10, ids.ShortEmpty, ids.Empty)
	case "C":
		utxos, _, _, err = client.NewCChainClient(w.uri).GetAtomicUTXOs(w.ctx, []ids.ShortID{w.addr}, from, 10, ids.ShortEmpty, ids.Empty)
	}
	return all(err, same("UTXOs to be imported", len(utxos), 1))
}

func (w *world) imported(to string, from ids.ID) error {
	var err error
	switch to {
	case "P":
		_, err = w.wallet.P().IssueImportTx(from, &w.owner)
	case "X":
		_, err = w.wallet.X().IssueImportTx(from, &w.owner)
	case "C":
		var tx *atomic.Tx
		tx, err = w.wallet.C().IssueImportTx(from, ethcommon.Address(w.key.EthAddress()))
		if err == nil {
			err = w.told(tx)
		}
	}
	return err
}

// told asks the C-Chain for an atomic transaction that it has accepted.
func (w *world) told(tx *atomic.Tx) error {
	c := client.NewCChainClient(w.uri)
	state, err := c.GetAtomicTxStatus(w.ctx, tx.ID())
	if err != nil {
		return err
	}
	bytes, err := c.GetAtomicTx(w.ctx, tx.ID())
	return all(err, same("status", state, atomic.Accepted), same("bytes", string(bytes), string(tx.SignedBytes())))
}
