package main

import (
	"math/big"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/choices"
	"github.com/ava-labs/avalanchego/vms/avm"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
	"github.com/ava-labs/avalanchego/vms/nftfx"
	"github.com/ava-labs/avalanchego/vms/propertyfx"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/coreth/ethclient"
	ethcommon "github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/params"
)

const token = 1_000_000_000

// assets makes assets of each kind on the X-Chain.
func (w *world) assets() {
	w.check("transfer on the X-Chain", func() error {
		to := secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{ids.GenerateTestShortID()}}
		tx, err := w.wallet.X().IssueBaseTx([]*avax.TransferableOutput{w.output(5*token, to)})
		if err != nil {
			return err
		}
		c := avm.NewClient(w.uri, "X")
		balance, err := c.GetBalance(w.ctx, to.Addrs[0], "AVAX", false)
		if err != nil {
			return err
		}
		state, err := c.GetTxStatus(w.ctx, tx.ID())
		if err != nil {
			return err
		}
		bytes, err := c.GetTx(w.ctx, tx.ID())
		return all(err, same("balance", uint64(balance.Balance), 5*token), same("status", state, choices.Accepted),
			same("bytes", string(bytes), string(tx.Bytes())))
	})
	w.check("an asset with a fixed and a mintable part", func() error {
		tx, err := w.wallet.X().IssueCreateAssetTx("Test Coin", "TEST", 3, map[uint32][]verify.State{0: {
			&secp256k1fx.TransferOutput{Amt: 1000, OutputOwners: w.owner},
			&secp256k1fx.MintOutput{OutputOwners: w.owner},
		}})
		if err != nil {
			return err
		}
		if _, err := w.wallet.X().IssueOperationTxMintFT(map[ids.ID]*secp256k1fx.TransferOutput{
			tx.ID(): {Amt: 234, OutputOwners: w.owner},
		}); err != nil {
			return err
		}
		c := avm.NewClient(w.uri, "X")
		is, err := c.GetAssetDescription(w.ctx, tx.ID().String())
		if err != nil {
			return err
		}
		balance, err := c.GetBalance(w.ctx, w.addr, tx.ID().String(), false)
		return all(err, same("name", is.Name, "Test Coin"), same("symbol", is.Symbol, "TEST"),
			same("denomination", uint8(is.Denomination), 3), same("balance", uint64(balance.Balance), 1234))
	})
	w.check("an NFT is minted", func() error {
		tx, err := w.wallet.X().IssueCreateAssetTx("Test Art", "ART", 0, map[uint32][]verify.State{1: {
			&nftfx.MintOutput{GroupID: 1, OutputOwners: w.owner},
			&nftfx.MintOutput{GroupID: 2, OutputOwners: w.owner},
		}})
		if err != nil {
			return err
		}
		_, err = w.wallet.X().IssueOperationTxMintNFT(tx.ID(), []byte("a picture"), []*secp256k1fx.OutputOwners{&w.owner})
		return err
	})
	w.check("a property is minted and burned", func() error {
		tx, err := w.wallet.X().IssueCreateAssetTx("Test Right", "PROP", 0, map[uint32][]verify.State{2: {
			&propertyfx.MintOutput{OutputOwners: w.owner},
		}})
		if err != nil {
			return err
		}
		if _, err := w.wallet.X().IssueOperationTxMintProperty(tx.ID(), &w.owner); err != nil {
			return err
		}
		_, err = w.wallet.X().IssueOperationTxBurnProperty(tx.ID())
		return err
	})
	w.check("transfer on the C-Chain", w.transferOnC)
}

func (w *world) transferOnC() error {
	c, err := ethclient.Dial(w.uri + "/ext/bc/C/rpc")
	if err != nil {
		return err
	}
	chainID, err := c.ChainID(w.ctx)
	if err != nil {
		return err
	}
	from := w.key.EthAddress()
	nonce, err := c.NonceAt(w.ctx, from, nil)
	if err != nil {
		return err
	}
	tip, err := c.SuggestGasTipCap(w.ctx)
	if err != nil {
		return err
	}
	price, err := c.SuggestGasPrice(w.ctx)
	if err != nil {
		return err
	}
	to := ethcommon.Address(ids.GenerateTestShortID())
	most := new(big.Int).Add(new(big.Int).Mul(price, big.NewInt(2)), tip)
	tx, err := types.SignNewTx(w.key.ToECDSA(), types.LatestSignerForChainID(chainID), &types.DynamicFeeTx{
		ChainID: chainID, Nonce: nonce, GasTipCap: tip, GasFeeCap: most, Gas: params.TxGas, To: &to, Value: big.NewInt(77),
	})
	if err != nil {
		return err
	}
	if err := c.SendTransaction(w.ctx, tx); err != nil {
		return err
	}
	for {
		receipt, err := c.TransactionReceipt(w.ctx, tx.Hash())
		if err == nil {
			balance, err := c.BalanceAt(w.ctx, to, nil)
			return all(err, same("status", receipt.Status, types.ReceiptStatusSuccessful), same("balance", balance.Int64(), 77),
				w.sync(primary.WalletConfig{})) // the wallet counts nonces by itself
		}
		if err := w.pause(); err != nil {
			return err
		}
	}
}
