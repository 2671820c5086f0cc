package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/stakeable"
	"github.com/ava-labs/avalanchego/vms/platformvm/status"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary/common"
)

// staking adds the node itself as a validator, and a delegator to it.
func (w *world) staking() {
	c := platformvm.NewClient(w.uri)
	end := uint64(time.Now().Add(30 * time.Hour).Unix())
	var nodeID ids.NodeID
	w.check("the node becomes a validator", func() error {
		var (
			pop *signer.ProofOfPossession
			err error
		)
		if nodeID, pop, err = info.NewClient(w.uri).GetNodeID(w.ctx); err != nil {
			return err
		}
		tx, err := w.stake(nodeID, pop, 2_000*token, end)
		if err != nil {
			return err
		}
		is, err := c.GetCurrentValidators(w.ctx, constants.PrimaryNetworkID, []ids.NodeID{nodeID})
		if err != nil {
			return err
		}
		state, err := c.GetTxStatus(w.ctx, tx.ID())
		return all(err, same("validators", len(is), 1), same("weight", is[0].Weight, 2_000*token),
			same("end", is[0].EndTime, end), same("fee", is[0].DelegationFee, 2), same("status", state.Status, status.Committed),
			same("reward", *is[0].PotentialReward > 0, true), is[0].Signer.Verify())
	})
	w.check("a delegator", func() error {
		_, err := w.wallet.P().IssueAddPermissionlessDelegatorTx(&txs.SubnetValidator{
			Validator: txs.Validator{NodeID: nodeID, Wght: 25 * token, End: end},
		}, w.asset, &w.owner)
		if err != nil {
			return err
		}
		is, err := c.GetCurrentValidators(w.ctx, constants.PrimaryNetworkID, []ids.NodeID{nodeID})
		if err != nil {
			return err
		}
		return all(same("delegators", len(is[0].Delegators), 1), same("weight", is[0].Delegators[0].Weight, 25*token),
			same("count", *is[0].DelegatorCount, 1), same("sum", *is[0].DelegatorWeight, 25*token))
	})
	w.check("stake that is locked comes from locked outputs", func() error { return w.locked(nodeID, end) })
	w.check("a refused transaction is dropped, with a reason", w.dropped)
}

func (w *world) stake(nodeID ids.NodeID, pop signer.Signer, weight, end uint64, options ...common.Option) (*txs.Tx, error) {
	return w.wallet.P().IssueAddPermissionlessValidatorTx(&txs.SubnetValidator{
		Validator: txs.Validator{NodeID: nodeID, Wght: weight, End: end},
		Subnet:    constants.PrimaryNetworkID,
	}, pop, w.asset, &w.owner, &w.owner, 20_000, options...)
}

// newSigner makes the BLS key of a validator that nobody runs.
func newSigner() (*signer.ProofOfPossession, error) {
	secret, err := localsigner.New()
	if err != nil {
		return nil, err
	}
	return signer.NewProofOfPossession(secret)
}

// locked pays a stake from outputs whose owner may do nothing but stake them yet.
func (w *world) locked(nodeID ids.NodeID, end uint64) error {
	owner := secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{w.addr}}
	_, err := w.wallet.P().IssueBaseTx([]*avax.TransferableOutput{{
		Asset: avax.Asset{ID: w.asset},
		Out: &stakeable.LockOut{
			Locktime:        end + 1000,
			TransferableOut: &secp256k1fx.TransferOutput{Amt: 30 * token, OutputOwners: owner},
		},
	}})
	if err != nil {
		return err
	}
	c := platformvm.NewClient(w.uri)
	before, err := c.GetBalance(w.ctx, owner.Addrs)
	if err != nil {
		return err
	}
	if _, err = w.wallet.P().IssueAddPermissionlessDelegatorTx(&txs.SubnetValidator{
		Validator: txs.Validator{NodeID: nodeID, Wght: 25 * token, End: end},
	}, w.asset, &w.owner, common.WithStakeableLocked()); err != nil {
		return err
	}
	after, err := c.GetBalance(w.ctx, owner.Addrs)
	return all(err, same("locked", uint64(before.LockedStakeables[w.asset]), 30*token),
		same("locked after it", uint64(after.LockedStakeables[w.asset]), 5*token))
}

// dropped issues a transaction that spends what another has spent.
func (w *world) dropped() error {
	to := []*avax.TransferableOutput{w.output(token, w.owner)}
	utx, err := w.wallet.P().Builder().NewBaseTx(to)
	if err != nil {
		return err
	}
	first, err := w.wallet.P().IssueUnsignedTx(utx)
	if err != nil {
		return err
	}
	again := *utx
	again.Outs = append([]*avax.TransferableOutput{w.output(1, w.owner)}, utx.Outs...)
	avax.SortTransferableOutputs(again.Outs, txs.Codec)
	c := platformvm.NewClient(w.uri)
	second := &txs.Tx{Unsigned: &again, Creds: first.Creds}
	if err := second.Initialize(txs.Codec); err != nil {
		return err
	}
	if _, err := c.IssueTx(w.ctx, second.Bytes()); err == nil {
		return errors.New("money was spent twice")
	}
	state, err := c.GetTxStatus(w.ctx, second.ID())
	if err != nil {
		return err
	}
	if err := same("status", state.Status, status.Dropped); err != nil {
		return err
	}
	if !strings.Contains(state.Reason, second.ID().String()) {
		return fmt.Errorf("reason: %s", state.Reason)
	}
	return nil
}

// networks makes a network with a chain and validators, and an L1 of another one.
func (w *world) networks() {
	c := platformvm.NewClient(w.uri)
	var subnet ids.ID
	nodeID, _, err := info.NewClient(w.uri).GetNodeID(w.ctx)
	w.check("a network", func() error {
		tx, errTx := w.wallet.P().IssueCreateSubnetTx(&w.owner)
		if err = all(err, errTx); err != nil {
			return err
		}
		subnet = tx.ID()
		is, err := c.GetSubnet(w.ctx, subnet)
		if err != nil {
			return err
		}
		return all(same("permissioned", is.IsPermissioned, true), same("keys", len(is.ControlKeys), 1),
			same("key", is.ControlKeys[0], w.addr), same("threshold", is.Threshold, 1),
			w.sync(primary.WalletConfig{SubnetIDs: []ids.ID{subnet}}))
	})
	w.check("its validator, and its end", func() error {
		end := uint64(time.Now().Add(25 * time.Hour).Unix())
		_, err := w.wallet.P().IssueAddSubnetValidatorTx(&txs.SubnetValidator{
			Validator: txs.Validator{NodeID: nodeID, Wght: 20, End: end}, Subnet: subnet,
		})
		if err != nil {
			return err
		}
		is, err := c.GetCurrentValidators(w.ctx, subnet, nil)
		if err != nil {
			return err
		}
		if _, err := w.wallet.P().IssueRemoveSubnetValidatorTx(nodeID, subnet); err != nil {
			return err
		}
		none, err := c.GetCurrentValidators(w.ctx, subnet, nil)
		return all(err, same("validators", len(is), 1), same("weight", is[0].Weight, 20), same("after its end", len(none), 0))
	})
	var chain ids.ID
	w.check("its chain", func() error {
		tx, err := w.wallet.P().IssueCreateChainTx(subnet, []byte("{}"), constants.SubnetEVMID, nil, "a chain")
		if err != nil {
			return err
		}
		chain = tx.ID()
		by, err := c.ValidatedBy(w.ctx, chain)
		if err != nil {
			return err
		}
		state, err := c.GetBlockchainStatus(w.ctx, chain.String())
		return all(err, same("validated by", by, subnet), same("status", state, status.Created))
	})
	w.check("another owner of it", func() error {
		_, err := w.wallet.P().IssueTransferSubnetOwnershipTx(subnet, &w.owner)
		return err
	})
	var validation ids.ID
	w.check("it becomes an L1", func() error {
		pop, err := newSigner()
		if err != nil {
			return err
		}
		owner := message.PChainOwner{Threshold: 1, Addresses: []ids.ShortID{w.addr}}
		address := []byte{0xfe, 0xed}
		if _, err := w.wallet.P().IssueConvertSubnetToL1Tx(subnet, chain, address, []*txs.ConvertSubnetToL1Validator{{
			NodeID: ids.GenerateTestNodeID().Bytes(), Weight: 100, Balance: token, Signer: *pop,
			RemainingBalanceOwner: owner, DeactivationOwner: owner,
		}}); err != nil {
			return err
		}
		validation = subnet.Append(0)
		is, err := c.GetSubnet(w.ctx, subnet)
		if err != nil {
			return err
		}
		v, _, err := c.GetL1Validator(w.ctx, validation)
		if err != nil {
			return err
		}
		list, err := c.GetCurrentValidators(w.ctx, subnet, nil)
		if err != nil {
			return err
		}
		return all(same("permissioned", is.IsPermissioned, false), same("manager", is.ManagerChainID, chain),
			same("address", string(is.ManagerAddress), string(address)), same("weight", v.Weight, 100),
			same("subnet", v.SubnetID, subnet), same("balance", v.Balance > token/2 && v.Balance <= token, true),
			same("validators", len(list), 1), same("validation", *list[0].ValidationID, validation))
	})
	w.check("its validator's balance grows, and it is put to rest", func() error {
		err := w.sync(primary.WalletConfig{SubnetIDs: []ids.ID{subnet}, ValidationIDs: []ids.ID{validation}})
		if err != nil {
			return err
		}
		if _, err := w.wallet.P().IssueIncreaseL1ValidatorBalanceTx(validation, token); err != nil {
			return err
		}
		v, _, err := c.GetL1Validator(w.ctx, validation)
		if err != nil {
			return err
		}
		if err := same("balance", v.Balance > token && v.Balance <= 2*token, true); err != nil {
			return err
		}
		if _, err := w.wallet.P().IssueDisableL1ValidatorTx(validation); err != nil {
			return err
		}
		v, _, err = c.GetL1Validator(w.ctx, validation)
		return all(err, same("balance at rest", v.Balance, 0))
	})
}
