// The process itself: handshakes that fail, signals, the end of the node, and answers byte for byte as the recorded plugin
// gave them.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ava-labs/avalanchego/database/memdb"

	runtimepb "github.com/ava-labs/avalanchego/proto/pb/vm/runtime"
)

// The node's side of the handshake.
type engine struct {
	runtimepb.UnsafeRuntimeServer
	refusal string
	hello   chan *runtimepb.InitializeRequest
}

func (e *engine) Initialize(_ context.Context, req *runtimepb.InitializeRequest) (*emptypb.Empty, error) {
	e.hello <- req
	if e.refusal != "" {
		return nil, errors.New(e.refusal)
	}
	return &emptypb.Empty{}, nil
}

func listenEngine(refusal string) (*engine, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	e := &engine{refusal: refusal, hello: make(chan *runtimepb.InitializeRequest, 1)}
	s := grpc.NewServer()
	runtimepb.RegisterRuntimeServer(s, e)
	go func() { _ = s.Serve(l) }()
	return e, l.Addr().String()
}

type process struct {
	*exec.Cmd
	out bytes.Buffer
	err bytes.Buffer
}

func start(args []string, env ...string) *process {
	p := &process{Cmd: exec.Command(plugin, args...)}
	p.Env = env
	p.Stdout, p.Stderr = &p.out, &p.err
	must(p.Start())
	return p
}

// The exit status, or -1 when it has to be killed.
func (p *process) end(limit time.Duration) int {
	done := make(chan error, 1)
	go func() { done <- p.Wait() }()
	select {
	case <-done:
		return p.ProcessState.ExitCode()
	case <-time.After(limit):
		_ = p.Process.Kill()
		<-done
		return -1
	}
}

const (
	lux      = "LUX_VM_RUNTIME_ENGINE_ADDR="
	upstream = "AVALANCHE_VM_RUNTIME_ENGINE_ADDR="
	nobody   = "127.0.0.1:1"
	patience = 20 * time.Second
)

func handshakes() {
	name := "handshake"
	p := start(nil)
	code := p.end(patience)
	check(name, code == 1 && strings.Contains(p.err.String(), `required env var missing: "LUX_VM_RUNTIME_ENGINE_ADDR"`),
		"without a variable: %d %s", code, &p.err)
	p = start([]string{"x"})
	code = p.end(patience)
	check(name, code == 2 && strings.Contains(p.err.String(), "takes no arguments"), "arguments: %d %s", code, &p.err)
	for _, addr := range []string{"nonsense", "127.0.0.1:0", ":"} {
		p = start(nil, lux+addr)
		code = p.end(patience)
		check(name, code == 1 && strings.Contains(p.err.String(), "not an address"), "%s: %d %s", addr, code, &p.err)
	}
	p = start(nil, upstream+nobody)
	code = p.end(patience)
	check(name, code == 1 && strings.Contains(p.err.String(), "failed to initialize vm runtime"), "nobody: %d %s", code, &p.err)

	e, addr := listenEngine("RPCChainVM protocol version mismatch between node and Virtual Machine plugin")
	p = start(nil, lux+addr, upstream+nobody) // Lux's variable counts
	code = p.end(patience)
	hello := <-e.hello
	check(name, hello.ProtocolVersion == 42, "version %d", hello.ProtocolVersion)
	check(name, code == 1 && strings.Contains(p.err.String(), "mismatch"), "mismatch: %d %s", code, &p.err)
}

// What is sent and answered as bytes.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }
func (raw) Name() string                       { return "proto" }

func invoke(conn *grpc.ClientConn, method, request string) (string, error) {
	in, out := unhex(request), []byte{}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := conn.Invoke(ctx, method, &in, &out, grpc.ForceCodec(raw{}))
	return hex.EncodeToString(out), err
}

func signals() {
	name := "signals"
	e, addr := listenEngine("")
	p := start(nil, upstream+addr)
	hello := <-e.hello
	conn, err := grpc.NewClient(hello.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	for _, method := range []string{"SetState", "BuildBlock", "BlockAccept", "Health", "CreateHandlers", "Gather"} {
		_, err = invoke(conn, "/vm.VM/"+method, "")
		check(name, status.Code(err) == codes.Unknown, "%s before Initialize: %v", method, err)
	}
	_, err = invoke(conn, "/vm.VM/Nothing", "")
	check(name, status.Code(err) == codes.Unimplemented, "no method: %v", err)
	for _, bad := range []string{"0a", "08", "ffffffffffffffffffffff", "1a0401020304", ""} {
		_, err = invoke(conn, "/vm.VM/Initialize", bad)
		check(name, status.Code(err) == codes.Unknown, "Initialize with %q: %v", bad, err)
	}
	answer, err := invoke(conn, "/grpc.health.v1.Health/Check", "")
	check(name, err == nil && answer == "0801", "health: %s %v", answer, err)
	must(p.Process.Signal(syscall.SIGINT))
	must(p.Process.Signal(syscall.SIGTERM))
	time.Sleep(100 * time.Millisecond)
	_, err = invoke(conn, "/grpc.health.v1.Health/Check", "")
	check(name, err == nil, "ended by a signal: %v", err)
	_, err = invoke(conn, "/vm.VM/Shutdown", "")
	check(name, err == nil, "shutdown: %v", err)
	must(p.Process.Signal(syscall.SIGINT))
	must(p.Process.Signal(syscall.SIGTERM))
	code := p.end(patience)
	out := p.out.String()
	check(name, code == 0, "exit status %d: %s", code, &p.err)
	check(name, strings.HasSuffix(out, "runtime engine: received shutdown signal: terminated\nvm server: graceful termination success\n") &&
		strings.HasPrefix(out, "runtime engine: ignoring signal: "), "output %q", out)
}

// A plugin whose node is gone ends.
func orphan() {
	name := "orphan"
	e, addr := listenEngine("")
	p := &process{Cmd: exec.Command("/bin/sh", "-c", `"$0" & echo $!; exec sleep 1000`, plugin)}
	p.Env = []string{upstream + addr, "PATH=/bin:/usr/bin"}
	p.Stdout = &p.out
	must(p.Start())
	<-e.hello
	line := strings.TrimSpace(p.out.String())
	pid, err := strconv.Atoi(line)
	must(err)
	must(p.Process.Kill())
	for end := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if strings.Contains(string(stat), ") Z ") {
			break
		}
		if !check(name, time.Now().Before(end), "process %d goes on without its node", pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			break
		}
	}
	passed++
}

// The answers of the recorded session that do not depend on its VM are these bytes here, too.
func recorded(t transcript) {
	name := "recorded"
	text, err := os.ReadFile(filepath.Join(testdata, "p2p", "plugin_transcript.json"))
	must(err)
	var session struct {
		Calls []struct {
			Caller   string
			Method   string
			Request  string `json:"request_hex"`
			Response string `json:"response_hex"`
			Error    string
		}
	}
	must(json.Unmarshal(text, &session))
	chain := l1(t, "", memdb.New(), "")
	chain.isRaw = true
	r, err := openRig(chain)
	must(err)
	must(r.start())
	conn, err := grpc.NewClient(r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	// Not GetLastStateSummary: the recorded machine has no state sync, an EVM chain has no summary yet.
	same := map[string]bool{"StateSyncEnabled": true, "Connected": true, "Disconnected": true}
	seen := 0
	for _, c := range session.Calls {
		method := strings.TrimPrefix(c.Method, "/vm.VM/")
		missing := (method == "GetBlock" || method == "GetBlockIDAtHeight") && strings.HasSuffix(c.Response, "02")
		if c.Caller != "node" || !(same[method] || missing) {
			continue
		}
		seen++
		answer, err := invoke(conn, c.Method, c.Request)
		check(name, err == nil && answer == c.Response, "%s(%s): %s %v, should be %s", method, c.Request, answer, err, c.Response)
	}
	check(name, seen == 5, "%d calls", seen)
	_, err = invoke(conn, "/vm.VM/ParseBlock", "0a03010203")
	check(name, status.Code(err) == codes.Unknown, "parse: %v", err)
	_, err = invoke(conn, "/vm.VM/Initialize", "")
	check(name, err != nil && strings.Contains(err.Error(), "already initialized"), "a second Initialize: %v", err)
	for _, bad := range []string{"/vm.VM/BlockAccept", "/vm.VM/SetPreference", "/vm.VM/GetBlock"} {
		_, err = invoke(conn, bad, "0a03010203")
		check(name, status.Code(err) == codes.Unknown && strings.Contains(err.Error(), "32 bytes"), "%s: %v", bad, err)
	}
	must(conn.Close())
	check(name, r.stop() == nil, "shutdown")
}

// A plugin that is killed has what it answered for.
func killed(t transcript) {
	ctx := context.Background()
	for _, config := range []string{"", `{"use-standalone-database": true}`} {
		name := "killed " + config
		db := memdb.New()
		dir, err := os.MkdirTemp("", "guest")
		must(err)
		for i, golden := range t.blocks {
			r, err := openRig(l1(t, config, db, dir))
			if !check(name, err == nil, "initialize: %v", err) {
				break
			}
			last, err := r.vm.LastAccepted(ctx)
			check(name, err == nil && (i == 0 || last == t.blocks[i-1].BlockID), "%d: last accepted %s %v", i, last, err)
			must(r.start())
			blk, err := r.vm.ParseBlock(ctx, unhex(golden.Bytes))
			must(err)
			check(name, blk.Verify(ctx) == nil, "verify %d", i)
			check(name, blk.Accept(ctx) == nil, "accept %d", i)
			must(syscall.Kill(r.pid, syscall.SIGKILL))
			short, cancel := context.WithTimeout(ctx, time.Second)
			_, err = r.vm.Version(short)
			cancel()
			check(name, err != nil, "a killed plugin answers")
			r.tracker.Stop(ctx)
		}
		os.RemoveAll(dir)
	}
}
