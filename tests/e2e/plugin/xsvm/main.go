// The xsvm of the original node. Without arguments it is the plugin, as its own command makes it, with two routes for
// tests of the tunnel: /http answers as its query says, /ws sends back what it gets. By what follows the last dot of its
// name it is a plugin that does not work: ".41" speaks another protocol, ".deaf" answers nothing, ".silent" never says
// hello. With arguments it is a client of a node and of the plugin there, made of the original's own wallet:
//
//	xsvm create URI [VM GENESIS]        makes a net and a chain of the VM, or of another; says their ids
//	xsvm balance URI CHAIN              what the genesis key has
//	xsvm transfer URI CHAIN AMOUNT      pays so much to another address, and waits until it is accepted
//	xsvm issue URI CHAIN COUNT          issues so many payments of 1 and waits for the last one; says how long it took
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/example/xsvm"
	"github.com/ava-labs/avalanchego/vms/example/xsvm/api"
	"github.com/ava-labs/avalanchego/vms/example/xsvm/cmd/issue/transfer"
	"github.com/ava-labs/avalanchego/vms/example/xsvm/tx"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/grpcutils"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/gruntime"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/runtime"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"

	runtimepb "github.com/ava-labs/avalanchego/proto/pb/vm/runtime"
	xsgenesis "github.com/ava-labs/avalanchego/vms/example/xsvm/genesis"
)

type vm struct {
	xsvm.VM
}

func (v *vm) CreateHandlers(ctx context.Context) (map[string]http.Handler, error) {
	all, err := v.VM.CreateHandlers(ctx)
	if err == nil {
		all["/http"] = http.HandlerFunc(answer)
		all["/ws"] = http.HandlerFunc(echo)
	}
	return all, err
}

func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	code, err := strconv.Atoi(r.URL.Query().Get("code"))
	if err != nil {
		code = http.StatusOK
	}
	if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil {
		time.Sleep(wait)
	}
	w.Header()["X-Sent"] = r.Header["X-Sent"]
	w.Header().Set("X-Method", r.Method)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

func echo(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		kind, msg, err := conn.ReadMessage()
		if err != nil || conn.WriteMessage(kind, msg) != nil {
			return
		}
	}
}

// notAPlugin never becomes one.
func notAPlugin(how string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	version := uint(42)
	switch how {
	case ".silent":
		<-ctx.Done()
		return ctx.Err()
	case ".41":
		version = 41
	}
	conn, err := grpcutils.Dial(os.Getenv(runtime.EngineAddressKey))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	client := gruntime.NewClient(runtimepb.NewRuntimeClient(conn))
	if err := client.Initialize(ctx, version, listener.Addr().String()); err != nil {
		return fmt.Errorf("failed to initialize vm runtime: %w", err)
	}
	<-ctx.Done()
	return ctx.Err()
}

var payee = ids.ShortID{1, 2, 3}

func create(ctx context.Context, uri string, other []string) error {
	kc := secp256k1fx.NewKeychain(genesis.EWOQKey)
	wallet, err := primary.MakePWallet(ctx, uri, kc, primary.WalletConfig{})
	if err != nil {
		return err
	}
	owner := &secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{genesis.EWOQKey.Address()}}
	net, err := wallet.IssueCreateSubnetTx(owner)
	if err != nil {
		return err
	}
	begin, err := xsgenesis.Codec.Marshal(xsgenesis.CodecVersion, &xsgenesis.Genesis{
		Timestamp: time.Now().Unix(),
		Allocations: []xsgenesis.Allocation{
			{Address: genesis.EWOQKey.Address(), Balance: math.MaxInt64},
		},
	})
	if err != nil {
		return err
	}
	wallet, err = primary.MakePWallet(ctx, uri, kc, primary.WalletConfig{SubnetIDs: []ids.ID{net.ID()}})
	if err != nil {
		return err
	}
	vmID := constants.XSVMID
	if len(other) == 2 {
		if vmID, err = ids.FromString(other[0]); err != nil {
			return err
		}
		if begin, err = os.ReadFile(other[1]); err != nil {
			return err
		}
	}
	chain, err := wallet.IssueCreateChainTx(net.ID(), begin, vmID, nil, "test")
	if err != nil {
		return err
	}
	fmt.Println(net.ID(), chain.ID())
	return nil
}

func pay(ctx context.Context, uri string, chain ids.ID, amount uint64) error {
	_, err := transfer.Transfer(ctx, &transfer.Config{
		URI:        uri,
		ChainID:    chain,
		AssetID:    chain,
		Amount:     amount,
		To:         payee,
		PrivateKey: genesis.EWOQKey,
	})
	return err
}

func balance(ctx context.Context, uri string, chain ids.ID) error {
	client := api.NewClient(uri, chain.String())
	own, err := client.Balance(ctx, genesis.EWOQKey.Address(), chain)
	if err != nil {
		return err
	}
	paid, err := client.Balance(ctx, payee, chain)
	if err != nil {
		return err
	}
	nonce, err := client.Nonce(ctx, genesis.EWOQKey.Address())
	fmt.Println(own, paid, nonce)
	return err
}

func issue(ctx context.Context, uri string, chain ids.ID, count uint64) error {
	client := api.NewClient(uri, chain.String())
	nonce, err := client.Nonce(ctx, genesis.EWOQKey.Address())
	if err != nil {
		return err
	}
	start := time.Now()
	for i := uint64(0); i < count; i++ {
		signed, err := tx.Sign(&tx.Transfer{
			ChainID: chain, Nonce: nonce + i, AssetID: chain, Amount: 1, To: payee,
		}, genesis.EWOQKey)
		if err != nil {
			return err
		}
		if _, err := client.IssueTx(ctx, signed); err != nil {
			return err
		}
	}
	err = api.AwaitTxAccepted(ctx, client, genesis.EWOQKey.Address(), nonce+count-1, 10*time.Millisecond)
	fmt.Println(time.Since(start).Milliseconds())
	return err
}

func client(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if (len(args) == 2 || len(args) == 4) && args[0] == "create" {
		return create(ctx, args[1], args[2:])
	}
	if len(args) < 3 {
		return fmt.Errorf("unknown command: %v", args)
	}
	chain, err := ids.FromString(args[2])
	if err != nil {
		return err
	}
	if args[0] == "balance" {
		return balance(ctx, args[1], chain)
	}
	if len(args) != 4 {
		return fmt.Errorf("unknown command: %v", args)
	}
	n, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	switch args[0] {
	case "transfer":
		return pay(ctx, args[1], chain, n)
	case "issue":
		return issue(ctx, args[1], chain, n)
	}
	return fmt.Errorf("unknown command: %v", args)
}

func main() {
	var err error
	how := filepath.Ext(os.Args[0])
	switch {
	case len(os.Args) > 1:
		err = client(os.Args[1:])
	case how == ".41" || how == ".deaf" || how == ".silent":
		err = notAPlugin(how)
	default:
		err = rpcchainvm.Serve(context.Background(), &vm{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
