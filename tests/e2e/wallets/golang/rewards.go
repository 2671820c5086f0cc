package main

import (
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/api"
	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/formatting"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/block"
	"github.com/ava-labs/avalanchego/vms/platformvm/status"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
)

// period is how long is staked on the network of short periods.
const period = 5 * time.Second

// rewards waits on a network of short periods for the end of one: who was there is paid, who was not is not.
func (w *world) rewards() {
	w.check("at the end of its time a validator and its delegator are paid, and one who never came is not", func() error {
		if err := w.sync(primary.WalletConfig{}); err != nil {
			return err
		}
		c := platformvm.NewClient(w.uri)
		nodeID, pop, err := info.NewClient(w.uri).GetNodeID(w.ctx)
		if err != nil {
			return err
		}
		absentPoP, err := newSigner()
		if err != nil {
			return err
		}
		absentID := ids.GenerateTestNodeID()
		end := uint64(time.Now().Add(period).Unix())
		absent, err := w.stake(absentID, absentPoP, 2_000*token, end)
		if err != nil {
			return err
		}
		validator, err := w.stake(nodeID, pop, 2_000*token, end)
		if err != nil {
			return err
		}
		delegator, err := w.wallet.P().IssueAddPermissionlessDelegatorTx(&txs.SubnetValidator{
			Validator: txs.Validator{NodeID: nodeID, Wght: 1_000 * token, End: end},
		}, w.asset, &w.owner)
		if err != nil {
			return err
		}
		is, err := c.GetCurrentValidators(w.ctx, constants.PrimaryNetworkID, []ids.NodeID{nodeID})
		if err != nil {
			return err
		}
		not, err := c.GetCurrentValidators(w.ctx, constants.PrimaryNetworkID, []ids.NodeID{absentID})
		if err != nil {
			return err
		}
		before, _, err := c.GetCurrentSupply(w.ctx, constants.PrimaryNetworkID)
		if err != nil {
			return err
		}
		if err := w.gone(nodeID, absentID); err != nil {
			return err
		}
		paid, err := w.paidFor(validator.ID(), delegator.ID())
		if err != nil {
			return err
		}
		lost, err := w.paidFor(absent.ID())
		if err != nil {
			return err
		}
		after, _, err := c.GetCurrentSupply(w.ctx, constants.PrimaryNetworkID)
		if err != nil {
			return err
		}
		states, err := w.ends()
		promised := *is[0].PotentialReward + *is[0].Delegators[0].PotentialReward
		return all(err, same("paid", paid, promised), same("something", promised > 0, true), same("lost", lost, 0),
			same("supply", after, before-*not[0].PotentialReward), same("validator", states[validator.ID()], status.Committed),
			same("delegator", states[delegator.ID()], status.Committed), same("absent", states[absent.ID()], status.Aborted))
	})
}

// gone waits until nobody of these validates any more.
func (w *world) gone(nodes ...ids.NodeID) error {
	c := platformvm.NewClient(w.uri)
	for {
		left, err := c.GetCurrentValidators(w.ctx, constants.PrimaryNetworkID, nodes)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		if err := w.pause(); err != nil {
			return err
		}
	}
}

// paidFor adds up what staking transactions have brought.
func (w *world) paidFor(stakes ...ids.ID) (uint64, error) {
	var sum uint64
	for _, tx := range stakes {
		utxos, err := platformvm.NewClient(w.uri).GetRewardUTXOs(w.ctx, &api.GetTxArgs{TxID: tx, Encoding: formatting.Hex})
		if err != nil {
			return 0, err
		}
		for _, bytes := range utxos {
			var u avax.UTXO
			if _, err := txs.Codec.Unmarshal(bytes, &u); err != nil {
				return 0, err
			}
			sum += u.Out.(*secp256k1fx.TransferOutput).Amt
		}
	}
	return sum, nil
}

// ends finds the transactions that end staking, and what became of each: by the transaction that began it.
func (w *world) ends() (map[ids.ID]status.Status, error) {
	c := platformvm.NewClient(w.uri)
	height, err := c.GetHeight(w.ctx)
	if err != nil {
		return nil, err
	}
	out := map[ids.ID]status.Status{}
	for h := uint64(1); h <= height; h++ {
		bytes, err := c.GetBlockByHeight(w.ctx, h)
		if err != nil {
			return nil, err
		}
		b, err := block.Parse(block.Codec, bytes)
		if err != nil {
			return nil, err
		}
		for _, tx := range b.Txs() {
			reward, ok := tx.Unsigned.(*txs.RewardValidatorTx)
			if !ok {
				continue
			}
			state, err := c.GetTxStatus(w.ctx, tx.ID())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", tx.ID(), err)
			}
			out[reward.TxID] = state.Status
		}
	}
	return out, nil
}

// waiting issues a transaction to a node that may not decide alone.
func (w *world) waiting() {
	w.check("a transaction that is not decided is processing", func() error {
		if err := w.sync(primary.WalletConfig{}); err != nil {
			return err
		}
		utx, err := w.wallet.P().Builder().NewBaseTx([]*avax.TransferableOutput{w.output(token, w.owner)})
		if err != nil {
			return err
		}
		tx := &txs.Tx{Unsigned: utx}
		if err := w.wallet.P().Signer().Sign(w.ctx, tx); err != nil {
			return err
		}
		c := platformvm.NewClient(w.uri)
		if _, err := c.IssueTx(w.ctx, tx.Bytes()); err != nil {
			return err
		}
		state, err := c.GetTxStatus(w.ctx, tx.ID())
		return all(err, same("status", state.Status, status.Processing))
	})
}
