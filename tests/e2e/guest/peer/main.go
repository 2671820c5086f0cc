// A node of the original drives candela-evm through its own plugin factory (vms/rpcchainvm, protocol 42): golden blocks of
// an L1, genesis blocks of C-Chains, blocks that it has the plugin build, HTTP and WebSocket through the tunnel, restarts
// on the node's database and on a store of the plugin's own.
//
// usage: peer PLUGIN TESTDATA
//
//	peer dump FOLDER           a chain for bench-door
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ava-labs/avalanchego/api/metrics"
	"github.com/ava-labs/avalanchego/chains/atomic"
	"github.com/ava-labs/avalanchego/database"
	"github.com/ava-labs/avalanchego/database/memdb"
	"github.com/ava-labs/avalanchego/database/prefixdb"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/snow/consensus/snowman"
	"github.com/ava-labs/avalanchego/snow/engine/common"
	"github.com/ava-labs/avalanchego/snow/engine/enginetest"
	"github.com/ava-labs/avalanchego/snow/validators/validatorstest"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/ava-labs/avalanchego/version"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/grpcutils"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/runtime"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/runtime/subprocess"
	libcommon "github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
)

var (
	plugin   string
	testdata string
	passed   int
	failed   int
	starts   []time.Duration // from the start of a process to the end of its handshake
	stops    []time.Duration
)

func check(name string, ok bool, format string, args ...any) bool {
	if ok {
		passed++
	} else {
		failed++
		fmt.Printf("FAIL %s: %s\n", name, fmt.Sprintf(format, args...))
	}
	return ok
}

// Keeps the process that was started last.
type tracker struct{ pid int }

func (t *tracker) TrackProcess(pid int) { t.pid = pid }
func (*tracker) UntrackProcess(int)     {}

// A chain behind a plugin process.
type rig struct {
	name    string
	vm      *rpcchainvm.VMClient
	tracker runtime.Manager
	ctx     *snow.Context
	db      database.Database
	server  *httptest.Server
	gather  metrics.MultiGatherer
	errors  []string
	pid     int
	addr    string // of its server, when that is wanted
}

type setup struct {
	name     string
	network  uint32
	chain    ids.ID
	cChain   ids.ID
	xChain   ids.ID
	asset    ids.ID
	genesis  []byte
	upgrades []byte
	config   []byte
	times    upgrade.Config
	db       database.Database
	dir      string
	isRaw    bool // the address of its server is wanted
}

func openRig(s setup) (*rig, error) {
	r := &rig{name: s.name, tracker: runtime.NewManager(), db: s.db}
	r.gather = metrics.NewPrefixGatherer()
	processes := &tracker{}
	factory := rpcchainvm.NewFactory(plugin, processes, r.tracker, r.gather)
	log := logging.NoLog{}
	begin := time.Now()
	open := factory.New
	if s.isRaw {
		open = func(logging.Logger) (any, error) { return r.bootstrap(processes, log) }
	}
	made, err := open(log)
	if err != nil {
		return nil, err
	}
	starts = append(starts, time.Since(begin))
	r.vm = made.(*rpcchainvm.VMClient)
	r.pid = processes.pid
	key, err := localsigner.New()
	if err != nil {
		return nil, err
	}
	memory := atomic.NewMemory(prefixdb.New([]byte("shared"), s.db))
	aliases := ids.NewAliaser()
	_ = aliases.Alias(s.chain, s.name)
	r.ctx = &snow.Context{
		NetworkID:       s.network,
		SubnetID:        ids.GenerateTestID(),
		ChainID:         s.chain,
		NodeID:          ids.GenerateTestNodeID(),
		PublicKey:       key.PublicKey(),
		NetworkUpgrades: s.times,
		XChainID:        s.xChain,
		CChainID:        s.cChain,
		AVAXAssetID:     s.asset,
		Log:             log,
		SharedMemory:    memory.NewSharedMemory(s.chain),
		BCLookup:        aliases,
		Metrics:         metrics.NewPrefixGatherer(),
		WarpSigner:      warp.NewSigner(key, s.network, s.chain),
		ValidatorState:  &validatorstest.State{},
		ChainDataDir:    s.dir,
	}
	sender := &enginetest.Sender{
		SendAppErrorF: func(_ context.Context, _ ids.NodeID, id uint32, code int32, text string) error {
			r.errors = append(r.errors, fmt.Sprintf("%d %d %s", id, code, text))
			return nil
		},
	}
	err = r.vm.Initialize(context.Background(), r.ctx, prefixdb.New([]byte("vm"), s.db), s.genesis, s.upgrades, s.config,
		nil, sender)
	return r, err
}

// What the factory does, but that the address of the plugin's server is kept.
func (r *rig) bootstrap(processes *tracker, log logging.Logger) (any, error) {
	listener, err := grpcutils.NewListener()
	if err != nil {
		return nil, err
	}
	config := &subprocess.Config{Stderr: log, Stdout: log, HandshakeTimeout: runtime.DefaultHandshakeTimeout, Log: log}
	status, stopper, err := subprocess.Bootstrap(context.Background(), listener, subprocess.NewCmd(plugin), config)
	if err != nil {
		return nil, err
	}
	conn, err := grpcutils.Dial(status.Addr)
	if err != nil {
		return nil, err
	}
	r.addr = status.Addr
	r.tracker.TrackRuntime(stopper)
	processes.TrackProcess(status.Pid)
	return rpcchainvm.NewClient(conn, stopper, status.Pid, processes, r.gather, log), nil
}

func (r *rig) start() error {
	ctx := context.Background()
	for _, state := range []snow.State{snow.Bootstrapping, snow.NormalOp} {
		if err := r.vm.SetState(ctx, state); err != nil {
			return err
		}
	}
	last, err := r.vm.LastAccepted(ctx)
	if err != nil {
		return err
	}
	return r.vm.SetPreference(ctx, last)
}

func (r *rig) serve() error {
	handlers, err := r.vm.CreateHandlers(context.Background())
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for prefix, h := range handlers {
		mux.Handle("/ext/bc/C"+prefix, h)
	}
	r.server = httptest.NewServer(mux)
	return nil
}

func (r *rig) stop() error {
	if r.server != nil {
		r.server.CloseClientConnections()
		r.server.Close()
	}
	begin := time.Now()
	err := r.vm.Shutdown(context.Background())
	r.tracker.Stop(context.Background())
	stops = append(stops, time.Since(begin))
	return err
}

func (r *rig) call(method string, params ...any) (json.RawMessage, error) {
	if params == nil {
		params = []any{}
	}
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	resp, err := http.Post(r.server.URL+"/ext/bc/C/rpc", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if answer.Error != nil {
		return nil, errors.New(string(answer.Error))
	}
	return answer.Result, nil
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil {
		panic(err)
	}
	return b
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// All upgrades up to Fortuna from the beginning, as the recorded chains had them.
func times() upgrade.Config {
	t := upgrade.Default
	t.FortunaTime = upgrade.InitiallyActiveTime
	t.GraniteTime = upgrade.UnscheduledActivationTime
	return t
}

// --- golden blocks of an L1 ---

type transcript struct {
	setup struct {
		ChainID   ids.ID
		Genesis   json.RawMessage
		Keys      []string
		NetworkID uint32
		VMConfig  json.RawMessage `json:"vmConfig"`
	}
	blocks []struct {
		BlockID ids.ID `json:"blockID"`
		Bytes   string `json:"bytes"`
	}
}

func readTranscript() transcript {
	var t transcript
	text, err := os.ReadFile(filepath.Join(testdata, "evm-chain", "rpc-transcript-l1-fortuna.jsonl"))
	must(err)
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if i == 0 {
			must(json.Unmarshal([]byte(line), &t.setup))
			continue
		}
		var b struct {
			Note    string
			BlockID ids.ID `json:"blockID"`
			Bytes   string `json:"bytes"`
		}
		if json.Unmarshal([]byte(line), &b) == nil && b.Bytes != "" {
			t.blocks = append(t.blocks, struct {
				BlockID ids.ID `json:"blockID"`
				Bytes   string `json:"bytes"`
			}{b.BlockID, b.Bytes})
		}
	}
	return t
}

func l1(t transcript, config string, db database.Database, dir string) setup {
	return setup{
		name: "l1", network: t.setup.NetworkID, chain: t.setup.ChainID, cChain: ids.ID{'c'}, genesis: t.setup.Genesis,
		config: []byte(config), times: times(), db: db, dir: dir,
	}
}

func goldenL1(t transcript, mode, config string) {
	ctx := context.Background()
	name := "l1/" + mode
	db := memdb.New()
	dir, err := os.MkdirTemp("", "guest")
	must(err)
	defer os.RemoveAll(dir)
	r, err := openRig(l1(t, config, db, dir))
	if !check(name, err == nil, "initialize: %v", err) {
		return
	}
	must(r.start())
	for i, golden := range t.blocks {
		blk, err := r.vm.ParseBlock(ctx, unhex(golden.Bytes))
		if !check(name, err == nil, "block %d: %v", i+1, err) {
			continue
		}
		check(name, blk.ID() == golden.BlockID, "block %d: %s, should be %s", i+1, blk.ID(), golden.BlockID)
		check(name, blk.Height() == uint64(i+1), "block %d: height %d", i+1, blk.Height())
		err = blk.Verify(ctx)
		if !check(name, err == nil, "block %d: verify: %v", i+1, err) {
			continue
		}
		check(name, r.vm.SetPreference(ctx, blk.ID()) == nil, "preference")
		err = blk.Accept(ctx)
		check(name, err == nil, "block %d: accept: %v", i+1, err)
	}
	last, err := r.vm.LastAccepted(ctx)
	check(name, err == nil && last == t.blocks[len(t.blocks)-1].BlockID, "last accepted %s %v", last, err)
	methods(name, r, t)
	check(name, r.stop() == nil, "shutdown")

	again, err := openRig(l1(t, config, db, dir))
	if check(name, err == nil, "again: %v", err) {
		last, err = again.vm.LastAccepted(ctx)
		check(name, err == nil && last == t.blocks[len(t.blocks)-1].BlockID, "after a restart: %s %v", last, err)
		must(again.start())
		build(name, again, t)
		check(name, again.stop() == nil, "shutdown")
	}
}

// Everything that asks for blocks in other ways.
func methods(name string, r *rig, t transcript) {
	ctx := context.Background()
	var all [][]byte
	for i, golden := range t.blocks {
		id, err := r.vm.GetBlockIDAtHeight(ctx, uint64(i+1))
		check(name, err == nil && id == golden.BlockID, "id at height %d: %s %v", i+1, id, err)
		all = append(all, unhex(golden.Bytes))
	}
	_, err := r.vm.GetBlockIDAtHeight(ctx, 1000)
	check(name, errors.Is(err, database.ErrNotFound), "id at height 1000: %v", err)
	_, err = r.vm.GetBlock(ctx, ids.GenerateTestID())
	check(name, errors.Is(err, database.ErrNotFound), "unknown block: %v", err)
	_, err = r.vm.ParseBlock(ctx, []byte{1, 2, 3})
	check(name, err != nil, "three bytes are a block")
	blks, err := r.vm.BatchedParseBlock(ctx, all)
	check(name, err == nil && len(blks) == len(all), "batched: %d %v", len(blks), err)
	newest := t.blocks[len(t.blocks)-1].BlockID
	back, err := r.vm.GetAncestors(ctx, newest, 3, 1<<20, time.Second)
	check(name, err == nil && len(back) == 3 && bytes.Equal(back[0], all[len(all)-1]), "ancestors: %d %v", len(back), err)
	back, err = r.vm.GetAncestors(ctx, newest, 100, len(all[len(all)-1])+4, time.Second)
	check(name, err == nil && len(back) == 1, "ancestors of one block's size: %d %v", len(back), err)
	back, err = r.vm.GetAncestors(ctx, ids.GenerateTestID(), 3, 1<<20, time.Second)
	check(name, err == nil && len(back) == 0, "ancestors of nobody: %d %v", len(back), err)
	health, err := r.vm.HealthCheck(ctx)
	check(name, err == nil && health != nil, "health: %v %v", health, err)
	said, err := r.vm.Version(ctx)
	check(name, err == nil && strings.HasPrefix(said, "v"), "version: %q %v", said, err)
	_, err = r.vm.StateSyncEnabled(ctx)
	check(name, err == nil, "state sync enabled: %v", err)
	_, err = r.vm.GetLastStateSummary(ctx)
	check(name, errors.Is(err, database.ErrNotFound), "a summary of a short chain: %v", err)
	node := ids.GenerateTestNodeID()
	check(name, r.vm.Connected(ctx, node, &version.Application{Name: "lux", Major: 1, Minor: 13, Patch: 3}) == nil, "connected")
	check(name, r.vm.AppRequest(ctx, node, 7, time.Now().Add(time.Second), []byte{9}) == nil, "app request")
	check(name, r.vm.AppRequest(ctx, node, 8, time.Now().Add(time.Second), []byte{2}) == nil, "signature request")
	check(name, len(r.errors) == 2 && strings.HasPrefix(r.errors[0], "7 -2 ") &&
		strings.HasPrefix(r.errors[1], "8 -1 failed to parse warp unsigned message"), "refusals: %v", r.errors)
	check(name, r.vm.AppGossip(ctx, node, []byte{1}) == nil, "gossip")
	check(name, r.vm.AppResponse(ctx, node, 9, []byte{1}) == nil, "response")
	check(name, r.vm.AppRequestFailed(ctx, node, 9, common.ErrTimeout) == nil, "failed")
	check(name, r.vm.Disconnected(ctx, node) == nil, "disconnected")
	families, err := r.vm.Gather()
	check(name, err == nil && len(families) > 5, "gather: %d %v", len(families), err)
	for _, f := range families {
		for _, m := range f.Metric {
			ok := m.Gauge != nil || m.Counter != nil || m.Histogram != nil || m.Untyped != nil
			check(name, ok && f.GetName() != "", "metric of %s", f.GetName())
		}
	}
	handler, err := r.vm.NewHTTPHandler(ctx)
	check(name, err == nil && handler == nil, "header handler: %v", err)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	_, err = r.vm.WaitForEvent(short)
	cancel()
	check(name, err != nil, "an event without a cause")
	check(name, r.serve() == nil, "handlers")
	number, err := r.call("eth_blockNumber")
	check(name, err == nil && string(number) == fmt.Sprintf(`"0x%x"`, len(all)), "block number: %s %v", number, err)
	_, err = r.call("eth_noSuchMethod")
	check(name, err != nil, "a method that is none")
	resp, err := http.Get(r.server.URL + "/ext/bc/C/ws")
	if check(name, err == nil, "ws without upgrade: %v", err) {
		check(name, resp.StatusCode >= 400, "ws without upgrade: %d", resp.StatusCode)
		resp.Body.Close()
	}
}

// --- blocks that the plugin builds ---

func build(name string, r *rig, t transcript) {
	const rounds = 20
	ctx := context.Background()
	must(r.serve())
	url := "ws" + strings.TrimPrefix(r.server.URL, "http") + "/ext/bc/C/ws"
	ws, _, err := websocket.DefaultDialer.Dial(url, nil)
	if !check(name, err == nil, "websocket: %v", err) {
		return
	}
	must(ws.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`)))
	_ = ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, text, err := ws.ReadMessage()
	check(name, err == nil && strings.Contains(string(text), `"result"`), "subscribe: %s %v", text, err)

	key, err := crypto.HexToECDSA(strings.TrimPrefix(t.setup.Keys[0], "0x"))
	must(err)
	from := crypto.PubkeyToAddress(key.PublicKey)
	raw, err := r.call("eth_chainId")
	must(err)
	chain, _ := new(big.Int).SetString(strings.Trim(string(raw), `"`), 0)
	raw, err = r.call("eth_getTransactionCount", from.Hex(), "latest")
	must(err)
	start, _ := new(big.Int).SetString(strings.Trim(string(raw), `"`), 0)
	signer := types.LatestSignerForChainID(chain)
	for i := 0; i < rounds; i++ {
		to := libcommon.Address{0xee, byte(i)}
		tip := int64(700e9) // what a block costs that comes at once after another
		if i == rounds-1 {
			tip = 1e9 // not enough: the plugin has to say again that there is something to build
		}
		tx := types.MustSignNewTx(key, signer, &types.DynamicFeeTx{
			ChainID: chain, Nonce: start.Uint64() + uint64(i), GasTipCap: big.NewInt(tip), GasFeeCap: big.NewInt(2000e9),
			Gas: 21000, To: &to, Value: big.NewInt(int64(i + 1)),
		})
		enc, _ := tx.MarshalBinary()
		_, err := r.call("eth_sendRawTransaction", "0x"+hex.EncodeToString(enc))
		if !check(name, err == nil, "send %d: %v", i, err) {
			return
		}
		blk, err := next(ctx, r)
		if !check(name, err == nil, "build %d: %v", i, err) {
			return
		}
		check(name, blk.Verify(ctx) == nil, "verify %d", i)
		check(name, r.vm.SetPreference(ctx, blk.ID()) == nil, "prefer %d", i)
		err = blk.Accept(ctx)
		check(name, err == nil, "accept %d: %v", i, err)
		_, text, err := ws.ReadMessage()
		check(name, err == nil && strings.Contains(string(text), fmt.Sprintf(`"number":"0x%x"`, blk.Height())),
			"head %d: %s %v", i, text, err)
		receipt, err := r.call("eth_getTransactionReceipt", tx.Hash().Hex())
		check(name, err == nil && strings.Contains(string(receipt), `"status":"0x1"`), "receipt %d: %s %v", i, receipt, err)
	}
	ws.Close()
}

// The block of the next event that brings one: an event may come for what an earlier block has taken already.
func next(ctx context.Context, r *rig) (snowman.Block, error) {
	short, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		event, err := r.vm.WaitForEvent(short)
		if err != nil {
			return nil, err
		}
		if event != common.PendingTxs {
			return nil, fmt.Errorf("event %d", event)
		}
		blk, err := r.vm.BuildBlock(ctx)
		if err == nil {
			return blk, nil
		}
		if short.Err() != nil {
			return nil, err
		}
	}
}

// --- genesis blocks of C-Chains ---

func goldenC() {
	text, err := os.ReadFile(filepath.Join(testdata, "evm-chain", "cchain-genesis.json"))
	must(err)
	var rows []struct {
		Name      string
		Upgrades  string `json:"upgradesActiveFromTimestamp1607144400"`
		Genesis   json.RawMessage
		BlockHash string
	}
	must(json.Unmarshal(text, &rows))
	for _, row := range rows {
		if row.Upgrades != "Fortuna" {
			continue
		}
		name := "c/" + row.Name
		chain := ids.GenerateTestID()
		r, err := openRig(setup{
			name: "C", network: 12345, chain: chain, cChain: chain, genesis: row.Genesis, times: times(), db: memdb.New(),
		})
		if !check(name, err == nil, "initialize: %v", err) {
			continue
		}
		last, err := r.vm.LastAccepted(context.Background())
		check(name, err == nil && bytes.Equal(last[:], unhex(row.BlockHash)), "genesis %x, should be %s", last, row.BlockHash)
		must(r.start())
		check(name, r.serve() == nil, "handlers")
		resp, err := http.Post(r.server.URL+"/ext/bc/C/avax", "application/json",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"avax.getAtomicTx","params":{"txID":"zz"}}`))
		if check(name, err == nil, "avax: %v", err) {
			body, _ := io.ReadAll(resp.Body)
			check(name, strings.Contains(string(body), `"error"`), "avax: %s", body)
			resp.Body.Close()
		}
		check(name, r.stop() == nil, "shutdown")
	}
}

// --- what must fail ---

func refusals(t transcript) {
	bad := l1(t, `{"use-standalone-database": 7}`, memdb.New(), "")
	r, err := openRig(bad)
	check("refusals", err != nil && strings.Contains(err.Error(), "standalone"), "bad configuration: %v", err)
	if r != nil {
		_ = r.stop()
	}
	dir, err := os.MkdirTemp("", "guest")
	must(err)
	defer os.RemoveAll(dir)
	for i, own := range []string{`{"use-standalone-database": true}`, ""} {
		db := memdb.New()
		first, err := openRig(l1(t, []string{"", `{"use-standalone-database": true}`}[i], db, filepath.Join(dir, own+"x")))
		must(err)
		must(first.start())
		must(first.stop())
		second, err := openRig(l1(t, own, db, filepath.Join(dir, own+"x")))
		check("refusals", err != nil && strings.Contains(err.Error(), "use-standalone-database"), "another store: %v", err)
		if second != nil {
			_ = second.stop()
		}
	}
	bad = l1(t, "", memdb.New(), "")
	bad.genesis = []byte("{")
	r, err = openRig(bad)
	check("refusals", err != nil, "bad genesis: %v", err)
	if r != nil {
		_ = r.stop()
	}
}

func main() {
	if os.Args[1] == "dump" {
		dumpC(os.Args[2])
		return
	}
	plugin, testdata = os.Args[1], os.Args[2]
	t := readTranscript()
	goldenL1(t, "node's database", string(t.setup.VMConfig))
	goldenL1(t, "own store", `{"database-type": "standalone"}`)
	goldenC()
	goldenAtomic(t.setup.Keys)
	refusals(t)
	handshakes()
	signals()
	orphan()
	recorded(t)
	killed(t)
	longC()
	fmt.Println("starts", starts)
	fmt.Println("stops", stops)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed != 0 {
		os.Exit(1)
	}
}
