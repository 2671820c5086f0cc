package main

import (
	"errors"
	"flag"
	"math/big"
	"os"
	"os/signal"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"golang.org/x/sys/unix"
)

// miner makes a block of all that was sent before when asked, as development networks do.
type miner struct {
	beacon *catalyst.SimulatedBeacon
	pool   *txpool.TxPool
}

func (m *miner) Mine() string {
	for _, queued := m.pool.Stats(); queued != 0; _, queued = m.pool.Stats() {
		time.Sleep(time.Millisecond) // the pool admits in the background
	}
	m.beacon.Commit()
	return "0x0"
}

// runNode serves geth's development network (what `geth --dev` starts, with the same defaults) over
// HTTP and WebSocket on one port, until it is interrupted. Blocks are made by evm_mine.
func runNode(args []string) error {
	flags := flag.NewFlagSet("node", flag.ExitOnError)
	dir := flags.String("datadir", "", "data directory")
	port := flags.Int("port", 8545, "port of HTTP and WebSocket")
	chainID := flags.Int64("chain-id", 1337, "chain id")
	funded := flags.String("fund", "", "account that owns everything, hex")
	operands := parseMixed(flags, args)
	if len(operands) != 0 || *dir == "" || !common.IsHexAddress(*funded) {
		return errors.New("node: --datadir DIR --fund ADDRESS expected")
	}
	config := *params.AllDevChainProtocolChanges
	config.ChainID = big.NewInt(*chainID)
	config.PragueTime, config.OsakaTime, config.BogotaTime = nil, nil, nil // Candela's rules are Cancun's
	owner := common.HexToAddress(*funded)
	genesis := core.DeveloperGenesisBlock(30_000_000, &owner)
	genesis.Config = &config

	modules := []string{"eth", "net", "web3", "evm"}
	stack, err := node.New(&node.Config{
		Name: "geth", DataDir: *dir, HTTPHost: "127.0.0.1", HTTPPort: *port, HTTPModules: modules,
		HTTPVirtualHosts: []string{"localhost"}, HTTPTimeouts: rpc.DefaultHTTPTimeouts,
		WSHost: "127.0.0.1", WSPort: *port, WSModules: modules, WSOrigins: []string{"*"},
		BatchRequestLimit: node.DefaultConfig.BatchRequestLimit, BatchResponseMaxSize: node.DefaultConfig.BatchResponseMaxSize,
		P2P: p2p.Config{NoDiscovery: true, NoDial: true},
	})
	if err != nil {
		return err
	}
	defer stack.Close()
	settings := ethconfig.Defaults
	settings.Genesis, settings.NetworkId, settings.SyncMode = genesis, uint64(*chainID), ethconfig.FullSync
	settings.TxPool.AccountQueue = 1000 // the first account fills blocks on its own
	service, err := eth.New(stack, &settings)
	if err != nil {
		return err
	}
	logs := filters.NewFilterSystem(service.APIBackend, filters.Config{LogCacheSize: settings.FilterLogCacheSize})
	beacon, err := catalyst.NewSimulatedBeacon(0, common.Address{}, service)
	if err != nil {
		return err
	}
	stack.RegisterAPIs([]rpc.API{
		{Namespace: "eth", Service: filters.NewFilterAPI(logs)},
		{Namespace: "evm", Service: &miner{beacon, service.TxPool()}},
	})
	stack.RegisterLifecycle(beacon)
	if err := stack.Start(); err != nil {
		return err
	}
	service.SetSynced()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, unix.SIGTERM)
	<-interrupted
	return nil
}
