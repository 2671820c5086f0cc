// The original's wallet and API clients, unchanged, against a node of ours.
//
//	golang URL REWARDS_URL WAITING_URL
//
// URL is of a node that decides alone, as is REWARDS_URL, on a network of short staking periods; the one at WAITING_URL
// cannot decide anything.
// Prints a line a check, "ok NAME" or "FAIL NAME: reason", and ends with 1 where something failed. The funds of the
// local network's public test key pay for all of it.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/crypto/secp256k1"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary/common"
)

const (
	limit = 60 * time.Second      // of everything together
	often = 20 * time.Millisecond // between questions whether a transaction is decided
)

// world is what the checks share: who pays, and where.
type world struct {
	ctx    context.Context
	uri    string
	key    *secp256k1.PrivateKey
	addr   ids.ShortID
	owner  secp256k1fx.OutputOwners
	wallet *primary.Wallet
	asset  ids.ID
	xChain ids.ID
	cChain ids.ID
	failed bool
}

func (w *world) sync(config primary.WalletConfig) error {
	kc := secp256k1fx.NewKeychain(w.key)
	wallet, err := primary.MakeWallet(w.ctx, w.uri, kc, kc, config)
	if err != nil {
		return err
	}
	w.wallet = primary.NewWalletWithOptions(wallet, common.WithContext(w.ctx), common.WithPollFrequency(often))
	p := w.wallet.P().Builder().Context()
	x := w.wallet.X().Builder().Context()
	w.asset, w.xChain = p.AVAXAssetID, x.BlockchainID
	return nil
}

// check runs one check, and says how it went.
func (w *world) check(name string, run func() error) {
	start := time.Now()
	err := run()
	if err != nil {
		w.failed = true
		fmt.Printf("FAIL %s: %v\n", name, err)
		return
	}
	fmt.Printf("ok %s (%.1f s)\n", name, time.Since(start).Seconds())
}

// pause waits a little before a question is asked again.
func (w *world) pause() error {
	time.Sleep(often)
	return w.ctx.Err()
}

// same is an error unless got is want.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// all gives the first error.
func all(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	key := genesis.EWOQKey
	w := &world{ctx: ctx, uri: os.Args[1], key: key, addr: key.Address()}
	w.owner = secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{w.addr}}
	w.check("the wallet finds chains, fees and funds", func() error { return w.sync(primary.WalletConfig{}) })
	if !w.failed {
		w.reads()
		w.assets()
		w.directions()
		w.staking()
		w.check("another wallet finds the same funds", w.again)
		w.networks()
		w.check("index client", w.index)
	}
	w.uri = os.Args[2]
	w.rewards()
	w.uri = os.Args[3]
	w.waiting()
	if w.failed {
		os.Exit(1)
	}
}
