package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ava-labs/avalanchego/api/admin"
	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/indexer"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/formatting/address"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/ava-labs/avalanchego/vms/avm"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/block"
	"github.com/ava-labs/avalanchego/vms/platformvm/status"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"

	platformapi "github.com/ava-labs/avalanchego/vms/platformvm/api"
)

// stakers owns what the validators of the local network's genesis have staked.
const stakers = "P-local1g65uqn6t77p656w64023nh8nd9updzmxyymev2"

// reads asks for everything that can be asked of a node on which nothing has happened yet.
func (w *world) reads() {
	w.check("info client", w.info)
	w.check("health client", w.health)
	w.check("admin client", w.admin)
	w.check("platform client", w.platform)
	w.check("avm client", w.avm)
	w.check("UTXOs come in pages, each once", w.pages)
}

func (w *world) info() error {
	c := info.NewClient(w.uri)
	version, err := c.GetNodeVersion(w.ctx)
	if err != nil {
		return err
	}
	nodeID, pop, err := c.GetNodeID(w.ctx)
	if err != nil {
		return err
	}
	ip, err := c.GetNodeIP(w.ctx)
	if err != nil {
		return err
	}
	id, err := c.GetNetworkID(w.ctx)
	if err != nil {
		return err
	}
	name, err := c.GetNetworkName(w.ctx)
	if err != nil {
		return err
	}
	vms, err := c.GetVMs(w.ctx)
	if err != nil {
		return err
	}
	upgrades, err := c.Upgrades(w.ctx)
	if err != nil {
		return err
	}
	uptime, err := c.Uptime(w.ctx)
	if err != nil {
		return err
	}
	peers, err := c.Peers(w.ctx, nil)
	if err != nil {
		return err
	}
	for _, chain := range []string{"P", "X", "C"} {
		ready, err := info.AwaitBootstrapped(w.ctx, c, chain, time.Millisecond)
		if err != nil || !ready {
			return fmt.Errorf("%s is not bootstrapped: %w", chain, err)
		}
		chainID, err := c.GetBlockchainID(w.ctx, chain)
		if err != nil {
			return err
		}
		if chain == "C" {
			w.cChain = chainID
		}
	}
	return all(
		same("protocol", uint32(version.RPCProtocolVersion), 42),
		same("node ID", nodeID == ids.EmptyNodeID, false),
		pop.Verify(),
		same("network", id, constants.LocalID),
		same("name", name, "local"),
		same("peers", len(peers), 0),
		same("durango", upgrades.IsDurangoActivated(time.Now()), true),
		same("granite", upgrades.IsGraniteActivated(time.Now()), false),
		same("platform VM", strings.Join(vms[constants.PlatformVMID], ","), "platform"),
		same("uptime", float64(uptime.RewardingStakePercentage), 100),
		same("port", ip.Port() != 0, true),
	)
}

func (w *world) health() error {
	c := health.NewClient(w.uri)
	ready, err := health.AwaitReady(w.ctx, c, time.Millisecond, nil)
	if err != nil {
		return err
	}
	alive, err := health.AwaitAlive(w.ctx, c, time.Millisecond, nil)
	if err != nil {
		return err
	}
	reply, err := c.Health(w.ctx, []string{constants.PrimaryNetworkID.String()})
	if err != nil {
		return err
	}
	return all(same("ready", ready, true), same("alive", alive, true), same("healthy", reply.Healthy, true))
}

func (w *world) admin() error {
	c := admin.NewClient(w.uri)
	if err := c.AliasChain(w.ctx, "X", "assets"); err != nil {
		return err
	}
	chainID, err := info.NewClient(w.uri).GetBlockchainID(w.ctx, "assets")
	if err != nil {
		return err
	}
	aliases, err := c.GetChainAliases(w.ctx, chainID.String())
	if err != nil {
		return err
	}
	if !strings.Contains(strings.Join(aliases, " "), "assets") {
		return fmt.Errorf("aliases %v", aliases)
	}
	if _, err := avm.NewClient(w.uri, "assets").GetHeight(w.ctx); err != nil {
		return err
	}
	levels, err := c.SetLoggerLevel(w.ctx, "main", "info", "debug")
	if err != nil {
		return err
	}
	if _, err := c.GetLoggerLevel(w.ctx, ""); err != nil {
		return err
	}
	if _, err := c.GetConfig(w.ctx); err != nil {
		return err
	}
	return same("level", levels["main"].DisplayLevel, logging.Debug)
}

func (w *world) platform() error {
	c := platformvm.NewClient(w.uri)
	height, err := c.GetHeight(w.ctx)
	if err != nil {
		return err
	}
	if _, err := c.GetProposedHeight(w.ctx); err != nil {
		return err
	}
	balance, err := c.GetBalance(w.ctx, []ids.ShortID{w.addr})
	if err != nil {
		return err
	}
	primary, err := c.GetSubnet(w.ctx, constants.PrimaryNetworkID)
	if err == nil {
		return fmt.Errorf("the primary network is a subnet: %v", primary)
	}
	subnets, err := c.GetSubnets(w.ctx, nil)
	if err != nil {
		return err
	}
	validators, err := c.GetCurrentValidators(w.ctx, constants.PrimaryNetworkID, nil)
	if err != nil {
		return err
	}
	one, err := c.GetCurrentValidators(w.ctx, constants.PrimaryNetworkID, []ids.NodeID{validators[0].NodeID})
	if err != nil {
		return err
	}
	supply, _, err := c.GetCurrentSupply(w.ctx, constants.PrimaryNetworkID)
	if err != nil {
		return err
	}
	sample, err := c.SampleValidators(w.ctx, constants.PrimaryNetworkID, 3)
	if err != nil {
		return err
	}
	running, err := c.GetBlockchainStatus(w.ctx, "X")
	if err != nil {
		return err
	}
	chains, err := c.GetBlockchains(w.ctx)
	if err != nil {
		return err
	}
	by, err := c.ValidatedBy(w.ctx, w.xChain)
	if err != nil {
		return err
	}
	validated, err := c.Validates(w.ctx, constants.PrimaryNetworkID)
	if err != nil {
		return err
	}
	total, err := c.GetTotalStake(w.ctx, constants.PrimaryNetworkID)
	if err != nil {
		return err
	}
	minValidator, minDelegator, err := c.GetMinStake(w.ctx, constants.PrimaryNetworkID)
	if err != nil {
		return err
	}
	if _, err := c.GetTimestamp(w.ctx); err != nil {
		return err
	}
	set, err := c.GetValidatorsAt(w.ctx, constants.PrimaryNetworkID, platformapi.Height(height))
	if err != nil {
		return err
	}
	if _, err := c.GetValidatorsAt(w.ctx, constants.PrimaryNetworkID, platformapi.ProposedHeight); err != nil {
		return err
	}
	bytes, err := c.GetBlockByHeight(w.ctx, 0)
	if err != nil {
		return err
	}
	first, err := block.Parse(block.GenesisCodec, bytes)
	if err != nil {
		return err
	}
	if _, err := c.GetBlock(w.ctx, first.ID()); err != nil {
		return err
	}
	fees, err := c.GetFeeConfig(w.ctx)
	if err != nil {
		return err
	}
	if _, _, _, err := c.GetFeeState(w.ctx); err != nil {
		return err
	}
	l1Fees, err := c.GetValidatorFeeConfig(w.ctx)
	if err != nil {
		return err
	}
	if _, _, _, err := c.GetValidatorFeeState(w.ctx); err != nil {
		return err
	}
	unknown, err := c.GetTxStatus(w.ctx, ids.GenerateTestID())
	if err != nil {
		return err
	}
	staker, err := address.ParseToID(stakers)
	if err != nil {
		return err
	}
	staked, outputs, err := c.GetStake(w.ctx, []ids.ShortID{staker}, false)
	if err != nil {
		return err
	}
	return all(
		same("balance", uint64(balance.Balance), 30_000_000_000_000_000),
		same("subnets", len(subnets), 1),
		same("validators", len(validators), 5),
		same("set", len(set), 5),
		same("signer", one[0].Signer != nil, true),
		same("supply", supply > 300_000_000_000_000_000, true),
		same("sample", len(sample), 3),
		same("status", running, status.Validating),
		same("chains", len(chains), 2),
		same("validated by", by, constants.PrimaryNetworkID),
		same("validates", len(validated), 2),
		same("stake", total, 5*validators[0].Weight),
		same("validator", minValidator, 2_000_000_000_000),
		same("delegator", minDelegator, 25_000_000_000),
		same("gas", uint64(fees.MinPrice), 1),
		same("L1 fee", uint64(l1Fees.Target), 10_000),
		same("unknown", unknown.Status, status.Unknown),
		same("staked", staked[w.asset] != 0 && len(outputs) != 0, true),
	)
}

func (w *world) avm() error {
	c := avm.NewClient(w.uri, "X")
	height, err := c.GetHeight(w.ctx)
	if err != nil {
		return err
	}
	asset, err := c.GetAssetDescription(w.ctx, "AVAX")
	if err != nil {
		return err
	}
	balance, err := c.GetBalance(w.ctx, w.addr, "AVAX", false)
	if err != nil {
		return err
	}
	balances, err := c.GetAllBalances(w.ctx, w.addr, false)
	if err != nil {
		return err
	}
	fee, assetFee, err := c.GetTxFee(w.ctx)
	if err != nil {
		return err
	}
	bytes, err := c.GetBlockByHeight(w.ctx, 0)
	if err != nil {
		return err
	}
	if _, err := c.GetBlock(w.ctx, ids.GenerateTestID()); err == nil {
		return errors.New("a block that is not there was found")
	}
	return all(
		same("height", height, 0),
		same("asset", asset.AssetID, w.asset),
		same("symbol", asset.Symbol, "AVAX"),
		same("balance", uint64(balance.Balance), 300_000_000_000_000_000),
		same("assets", len(balances), 1),
		same("fee", fee, 1_000_000),
		same("fee of an asset", assetFee, 1_000_000),
		same("block", len(bytes) != 0, true),
	)
}

// pages makes many outputs and reads them again, few at a time.
func (w *world) pages() error {
	const outputs, page = 60, 7
	to := secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{ids.GenerateTestShortID()}}
	out := make([]*avax.TransferableOutput, outputs)
	for i := range out {
		out[i] = w.output(uint64(i+1), to)
	}
	tx, err := w.wallet.P().IssueBaseTx(out)
	if err != nil {
		return err
	}
	c := platformvm.NewClient(w.uri)
	var (
		seen  = map[ids.ID]bool{}
		sum   uint64
		addr  ids.ShortID
		utxo  ids.ID
		reads int
	)
	for {
		utxos, endAddr, endUTXO, err := c.GetUTXOs(w.ctx, to.Addrs, page, addr, utxo)
		if err != nil {
			return err
		}
		reads++
		for _, bytes := range utxos {
			var u avax.UTXO
			if _, err := txs.Codec.Unmarshal(bytes, &u); err != nil {
				return err
			}
			if u.TxID != tx.ID() || seen[u.InputID()] {
				return fmt.Errorf("UTXO %s of %s comes twice, or from nowhere", u.InputID(), u.TxID)
			}
			seen[u.InputID()] = true
			sum += u.Out.(*secp256k1fx.TransferOutput).Amt
		}
		if len(utxos) < page {
			break
		}
		addr, utxo = endAddr, endUTXO
	}
	return all(same("UTXOs", len(seen), outputs), same("sum", sum, outputs*(outputs+1)/2), same("pages", reads, 9))
}

// again compares what the wallet thinks that it has with what the node tells a new one.
func (w *world) again() error {
	other := *w
	if err := other.sync(primary.WalletConfig{}); err != nil {
		return err
	}
	mine, err := w.wallet.P().Builder().GetBalance()
	if err != nil {
		return err
	}
	theirs, err := other.wallet.P().Builder().GetBalance()
	if err != nil {
		return err
	}
	mineX, err := w.wallet.X().Builder().GetFTBalance()
	if err != nil {
		return err
	}
	theirsX, err := other.wallet.X().Builder().GetFTBalance()
	return all(err, same("P", theirs[w.asset], mine[w.asset]), same("X", theirsX[w.asset], mineX[w.asset]),
		same("assets", len(theirsX), len(mineX)))
}

func (w *world) index() error {
	for chain, least := range map[string]uint64{"P": 10, "X": 5, "C": 4} {
		c := indexer.NewClient(w.uri + "/ext/index/" + chain + "/block")
		last, at, err := c.GetLastAccepted(w.ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", chain, err)
		}
		all, err := c.GetContainerRange(w.ctx, 0, int(at)+1)
		if err != nil {
			return err
		}
		accepted, err := c.IsAccepted(w.ctx, last.ID)
		if err != nil || !accepted || at+1 < least || uint64(len(all)) != at+1 || all[at].ID != last.ID {
			return fmt.Errorf("%s: %d of %d, accepted %t: %w", chain, len(all), at+1, accepted, err)
		}
	}
	return nil
}

func (w *world) output(amount uint64, owner secp256k1fx.OutputOwners) *avax.TransferableOutput {
	return &avax.TransferableOutput{
		Asset: avax.Asset{ID: w.asset},
		Out:   &secp256k1fx.TransferOutput{Amt: amount, OutputOwners: owner},
	}
}
