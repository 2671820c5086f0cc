// Traffic on a local network (12345), made with the wallet of the original's Go module: transfers on P, X and C and
// between them, by the key that everybody knows.
//
//	node --uri http://127.0.0.1:9650 --chains PXCM --count 10
//
// P, X, C: a transfer to itself on that chain; M: one from X to P, C and back. Ends with one line of JSON: what was
// accepted on which chain, as the node at uri has it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/units"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary/common"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/ethclient"
)

type traffic struct {
	ctx    context.Context
	wallet *primary.Wallet
	eth    *ethclient.Client
	price  *big.Int
	nonce  uint64
	asset  ids.ID
	owner  secp256k1fx.OutputOwners
	opts   []common.Option
}

func (t *traffic) outputs(amount uint64) []*avax.TransferableOutput {
	return []*avax.TransferableOutput{{
		Asset: avax.Asset{ID: t.asset},
		Out:   &secp256k1fx.TransferOutput{Amt: amount, OutputOwners: t.owner},
	}}
}

func (t *traffic) onP() error {
	_, err := t.wallet.P().IssueBaseTx(t.outputs(units.MicroAvax), t.opts...)
	return err
}

func (t *traffic) onX() error {
	_, err := t.wallet.X().IssueBaseTx(t.outputs(units.MicroAvax), t.opts...)
	return err
}

func (t *traffic) onC() error {
	key := genesis.EWOQKey.ToECDSA()
	to := genesis.EWOQKey.PublicKey().EthAddress()
	id, err := t.eth.ChainID(t.ctx)
	if err != nil {
		return err
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(id), &types.LegacyTx{
		Nonce: t.nonce, To: &to, Value: big.NewInt(1), Gas: 21000, GasPrice: t.price,
	})
	if err != nil {
		return err
	}
	if err := t.eth.SendTransaction(t.ctx, tx); err != nil {
		return err
	}
	t.nonce++
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r, err := t.eth.TransactionReceipt(t.ctx, tx.Hash()); err == nil && r != nil {
			return nil
		}
	}
	return fmt.Errorf("no receipt of %s", tx.Hash())
}

// From X to P and to C, and from C back to X.
func (t *traffic) between() error {
	x, c := t.wallet.X().Builder().Context().BlockchainID, t.wallet.C().Builder().Context().BlockchainID
	to := genesis.EWOQKey.PublicKey().EthAddress()
	if _, err := t.wallet.X().IssueExportTx(constants.PlatformChainID, t.outputs(units.Avax), t.opts...); err != nil {
		return fmt.Errorf("export from X to P: %w", err)
	}
	if _, err := t.wallet.P().IssueImportTx(x, &t.owner, t.opts...); err != nil {
		return fmt.Errorf("import into P: %w", err)
	}
	if _, err := t.wallet.X().IssueExportTx(c, t.outputs(units.Avax), t.opts...); err != nil {
		return fmt.Errorf("export from X to C: %w", err)
	}
	if _, err := t.wallet.C().IssueImportTx(x, to, t.opts...); err != nil {
		return fmt.Errorf("import into C: %w", err)
	}
	back := []*secp256k1fx.TransferOutput{{Amt: units.MilliAvax, OutputOwners: t.owner}}
	if _, err := t.wallet.C().IssueExportTx(x, back, t.opts...); err != nil {
		return fmt.Errorf("export from C to X: %w", err)
	}
	t.nonce++
	if _, err := t.wallet.X().IssueImportTx(c, &t.owner, t.opts...); err != nil {
		return fmt.Errorf("import into X: %w", err)
	}
	return nil
}

func begin(ctx context.Context, uri string, gwei int64) (*traffic, error) {
	kc := secp256k1fx.NewKeychain(genesis.EWOQKey)
	wallet, err := primary.MakeWallet(ctx, uri, kc, kc, primary.WalletConfig{})
	if err != nil {
		return nil, err
	}
	eth, err := ethclient.DialContext(ctx, uri+"/ext/bc/C/rpc")
	if err != nil {
		return nil, err
	}
	nonce, err := eth.NonceAt(ctx, genesis.EWOQKey.PublicKey().EthAddress(), nil)
	if err != nil {
		return nil, err
	}
	return &traffic{
		ctx: ctx, wallet: wallet, eth: eth, price: big.NewInt(gwei * 1_000_000_000), nonce: nonce, asset: wallet.X().Builder().Context().AVAXAssetID,
		owner: secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{genesis.EWOQKey.Address()}},
		opts:  []common.Option{common.WithPollFrequency(20 * time.Millisecond), common.WithContext(ctx)},
	}, nil
}

func main() {
	uri := flag.String("uri", "", "where a node of the network answers")
	chains := flag.String("chains", "PXC", "what is done in each round: P, X, C, M")
	count := flag.Int("count", 1, "rounds")
	gwei := flag.Int64("gwei", 300, "what gas is paid on C; blocks that follow each other quickly cost more")
	limit := flag.Duration("limit", time.Minute, "for all of it")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	t, err := begin(ctx, *uri, *gwei)
	done := map[string]int{}
	steps := map[rune]func() error{}
	if err == nil {
		steps = map[rune]func() error{'P': t.onP, 'X': t.onX, 'C': t.onC, 'M': t.between}
	}
	for i := 0; i < *count && err == nil; i++ {
		for _, chain := range *chains {
			if chain == 'M' { // the wallet counts the nonces of C itself, and does not know of ours
				var again *traffic
				if again, err = begin(ctx, *uri, *gwei); err != nil {
					break
				}
				*t = *again
			}
			if err = steps[chain](); err != nil {
				err = fmt.Errorf("%c, round %d: %w", chain, i, err)
				break
			}
			done[string(chain)]++
		}
	}
	line, _ := json.Marshal(done)
	fmt.Println(string(line))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
