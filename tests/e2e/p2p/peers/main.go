// Peers of the original (module avalanchego) and a node of ours on loopback, both ways, plain and compressed.
//
//	peers ENDPOINT        the program p2p_endpoint
//
// Prints what fails, and at the end "N passed, M failed".
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/message"
	"github.com/ava-labs/avalanchego/network"
	"github.com/ava-labs/avalanchego/network/dialer"
	"github.com/ava-labs/avalanchego/network/peer"
	p2ppb "github.com/ava-labs/avalanchego/proto/pb/p2p"
	"github.com/ava-labs/avalanchego/snow/engine/common"
	"github.com/ava-labs/avalanchego/snow/networking/router"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/staking"
	"github.com/ava-labs/avalanchego/subnets"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/avalanchego/utils"
	"github.com/ava-labs/avalanchego/utils/compression"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/ava-labs/avalanchego/utils/set"
	"github.com/ava-labs/avalanchego/version"
)

const (
	networkID = 1337
	patience  = 20 * time.Second
)

var (
	passed, failed int
	chain          = ids.ID{1}
)

func check(ok bool, what string, args ...any) {
	if ok {
		passed++
		return
	}
	failed++
	fmt.Printf("FAIL %s\n", fmt.Sprintf(what, args...))
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Printf("FAIL %v\n0 passed, 1 failed\n", err)
		os.Exit(1)
	}
	return v
}

// A running p2p_endpoint.
type endpoint struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	addr  netip.AddrPort
	id    string
}

func start(program string, args ...string) *endpoint {
	e := &endpoint{cmd: exec.Command(program, args...), lines: make(chan string, 10000)}
	e.in = must(e.cmd.StdinPipe())
	out := must(e.cmd.StdoutPipe())
	e.cmd.Stderr = os.Stderr
	must(0, e.cmd.Start())
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			e.lines <- s.Text()
		}
		close(e.lines)
	}()
	e.addr = netip.MustParseAddrPort("127.0.0.1:" + strings.TrimPrefix(e.await("listening "), "listening "))
	e.id = strings.TrimPrefix(e.await("node "), "node ")
	return e
}

// The next line with this beginning; "" when none comes.
func (e *endpoint) await(prefix string) string {
	for end := time.After(patience); ; {
		select {
		case line, ok := <-e.lines:
			if !ok || strings.HasPrefix(line, prefix) {
				return line
			}
		case <-end:
			return ""
		}
	}
}

func (e *endpoint) stop() {
	_ = e.in.Close()
	check(e.cmd.Wait() == nil, "the endpoint ends well")
}

// What came, for those who wait.
type inbox struct {
	msgs         chan message.InboundMessage
	connected    chan ids.NodeID
	disconnected chan ids.NodeID
}

func newInbox() *inbox {
	return &inbox{make(chan message.InboundMessage, 1000), make(chan ids.NodeID, 10), make(chan ids.NodeID, 10)}
}

func (i *inbox) HandleInbound(_ context.Context, m message.InboundMessage) {
	i.msgs <- m
	m.OnFinishedHandling()
}

func (i *inbox) Connected(id ids.NodeID, v *version.Application, subnet ids.ID) {
	check(v.Name == "candela" && v.Compare(version.CurrentApp) == 0, "our version is %s", v)
	i.connected <- id
}

func (i *inbox) Disconnected(id ids.NodeID) {
	i.disconnected <- id
}

func (i *inbox) next() message.InboundMessage {
	select {
	case m := <-i.msgs:
		return m
	case <-time.After(patience):
		return nil
	}
}

func creator(kind compression.Type) message.Creator {
	return must(message.NewCreator(prometheus.NewRegistry(), kind, 10*time.Second))
}

// Asks one of each kind, by send, and looks at the answers.
func conversation(name string, mc message.Creator, send func(message.OutboundMessage), box *inbox) {
	data := bytes.Repeat([]byte("some data"), 20000)
	block := ids.ID{7, 7}
	asks := []message.OutboundMessage{
		must(mc.Get(chain, 1, time.Second, block)),
		must(mc.PullQuery(chain, 2, time.Second, block, 41)),
		must(mc.PushQuery(chain, 3, time.Second, data, 42)),
		must(mc.GetAncestors(chain, 4, time.Second, block, p2ppb.EngineType_ENGINE_TYPE_SNOWMAN)),
		must(mc.GetAccepted(chain, 5, time.Second, []ids.ID{block, chain})),
		must(mc.GetAcceptedFrontier(chain, 6, time.Second)),
		must(mc.AppRequest(chain, 7, time.Second, data)),
	}
	looks := []func(any) bool{
		func(m any) bool {
			p, ok := m.(*p2ppb.Put)
			return ok && p.RequestId == 1 && bytes.Equal(p.Container, block[:])
		},
		func(m any) bool { c, ok := m.(*p2ppb.Chits); return ok && c.RequestId == 2 && c.AcceptedHeight == 42 },
		func(m any) bool { c, ok := m.(*p2ppb.Chits); return ok && c.RequestId == 3 && c.AcceptedHeight == 43 },
		func(m any) bool {
			a, ok := m.(*p2ppb.Ancestors)
			return ok && len(a.Containers) == 1 && bytes.Equal(a.Containers[0], block[:])
		},
		func(m any) bool { a, ok := m.(*p2ppb.Accepted); return ok && len(a.ContainerIds) == 2 },
		func(m any) bool {
			f, ok := m.(*p2ppb.AcceptedFrontier)
			return ok && bytes.Equal(f.ContainerId, chain[:])
		},
		func(m any) bool { r, ok := m.(*p2ppb.AppResponse); return ok && bytes.Equal(r.AppBytes, data) },
	}
	for i, ask := range asks {
		send(ask)
		answer := box.next()
		check(answer != nil && looks[i](answer.Message()), "%s: answer to %s: %v", name, ask.Op(), answer)
	}
}

func testPeer(e *endpoint, name string, kind compression.Type) {
	box := newInbox()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := peer.StartTestPeer(ctx, e.addr, networkID, router.InboundHandlerFunc(box.HandleInbound))
	check(err == nil, "%s: a test peer connects: %v", name, err)
	if err != nil {
		return
	}
	check(strings.HasPrefix(e.await("connected "), "connected "), "%s: the endpoint sees it", name)
	conversation(name, creator(kind), func(m message.OutboundMessage) { p.Send(ctx, m) }, box)
	gossip := must(creator(kind).AppGossip(chain, make([]byte, 1000)))
	for i := 0; i < 100; i++ {
		p.Send(ctx, gossip)
	}
	for i := 0; i < 100; i++ {
		check(strings.HasPrefix(e.await("got app_gossip"), "got"), "%s: gossip %d", name, i)
	}
	check(p.Info().Version == "candela/1.13.3", "%s: version %s", name, p.Info().Version)
	p.StartClose()
	check(p.AwaitClosed(ctx) == nil, "%s: closes", name)
	check(strings.HasPrefix(e.await("disconnected "), "disconnected "), "%s: the endpoint sees its end", name)
}

func wrongNetwork(e *endpoint) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := peer.StartTestPeer(ctx, e.addr, networkID+1, router.InboundHandlerFunc(newInbox().HandleInbound))
	check(err != nil, "another network is refused")
}

// The original's whole network layer: it dials us, or we dial it.
func wholeNetwork(e *endpoint, name string, weDial bool) {
	box := newInbox()
	manager := validators.NewManager()
	reg := prometheus.NewRegistry()
	cfg := must(network.NewTestNetworkConfig(reg, networkID, manager, set.Set[ids.ID]{}))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	addr := netip.MustParseAddrPort(listener.Addr().String())
	cfg.MyIPPort = utils.NewAtomic(addr)
	cert := must(stakingCert(cfg))
	cfg.MyNodeID = cert
	other := must(ids.NodeIDFromString(e.id))
	must(0, manager.AddStaker(constants.PrimaryNetworkID, other, nil, ids.Empty, 1))
	mc := creator(compression.TypeZstd)
	d := dialer.NewDialer("tcp", cfg.DialerConfig, logging.NoLog{})
	n := must(network.NewNetwork(cfg, upgrade.InitiallyActiveTime, mc, reg, logging.NoLog{}, listener, d, box))
	done := make(chan error, 1)
	go func() { done <- n.Dispatch() }()
	if weDial {
		fmt.Fprintf(e.in, "dial %s %s\n", addr, cert)
	} else {
		n.ManuallyTrack(other, e.addr)
	}
	select {
	case id := <-box.connected:
		check(id == other, "%s: it is our node", name)
	case <-time.After(patience):
		check(false, "%s: no connection", name)
		return
	}
	send := func(m message.OutboundMessage) {
		to := n.Send(m, common.SendConfig{NodeIDs: set.Of(other)}, constants.PrimaryNetworkID, subnets.NoOpAllower)
		check(to.Contains(other), "%s: sent", name)
	}
	// The endpoint's handshake is over when it has our peer list.
	check(strings.HasPrefix(e.await("connected "), "connected "), "%s: the endpoint sees it", name)
	conversation(name, mc, send, box)
	fmt.Fprintf(e.in, "ask %s 50\n", cert)
	for i := 0; i < 50; i++ {
		m := box.next()
		ok := m != nil && m.Op() == message.AppRequestOp && m.Message().(*p2ppb.AppRequest).RequestId == uint32(i)
		check(ok, "%s: request %d", name, i)
	}
	check(len(n.PeerInfo(nil)) == 1, "%s: info of one peer", name)
	n.StartClose()
	<-done
	check(strings.HasPrefix(e.await("disconnected "), "disconnected "), "%s: the endpoint sees its end", name)
}

func stakingCert(cfg *network.Config) (ids.NodeID, error) {
	leaf := cfg.TLSConfig.Certificates[0].Leaf
	return ids.NodeIDFromCert(&staking.Certificate{Raw: leaf.Raw, PublicKey: leaf.PublicKey}), nil
}

func main() {
	for _, form := range []string{"compressed", "plain"} {
		args := []string{fmt.Sprint(networkID)}
		kind := compression.TypeZstd
		if form == "plain" {
			args = append(args, "plain")
			kind = compression.TypeNone
		}
		e := start(os.Args[1], args...)
		testPeer(e, "test peer, "+form, kind)
		wrongNetwork(e)
		wholeNetwork(e, "it dials us, "+form, false)
		e.stop()
		e = start(os.Args[1], args...)
		wholeNetwork(e, "we dial it, "+form, true)
		e.stop()
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed != 0 {
		os.Exit(1)
	}
}
