"""Nodes that we did not write, that go away and come back, that lag and fail: nothing is lost, and /ready tells."""
import http.client
import http.server
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

import clients
import harness
import oracle
from harness import same
from stack import ALICE, BOB, free_port
from suite import WORK, Chain, install
from world import World

RESTARTS, RESTARTS_FULL = 2, 20
A_TYPES = ["transfer", "erc20_transfer", "erc721_transfer", "erc1155_transfer", "contract_event", "new_block"]
C_TYPES = ["ADDRESS_ACTIVITY", "MINED_TRANSACTION", "NFT_ACTIVITY", "TOKEN_TRANSFER", "NEW_BLOCK"]


class Hardhat:
    """A node of Hardhat's own: no eth_getBlockReceipts, no traces of calls."""

    def __init__(self, port=None):
        self.host, self.port = "127.0.0.1", port or free_port()
        self.folder = WORK / "node"
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(clients.HERE / "webhooks" / "hardhat" / "node.config.cjs", self.folder)
        self.begin()

    def begin(self):
        cli = clients.WORK / "node_modules/hardhat/internal/cli/bootstrap.js"
        self.process = subprocess.Popen(
            ["node", str(cli), "--config", "node.config.cjs", "node", "--port", str(self.port)], cwd=self.folder,
            env={**os.environ, "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true"}, stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT)
        end = time.monotonic() + harness.START_LIMIT_S
        while True:
            try:
                socket.create_connection((self.host, self.port)).close()
                return
            except ConnectionRefusedError:
                assert time.monotonic() < end and self.process.poll() is None, "hardhat's node does not start"
                time.sleep(0.05)

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def rpc(self, path="/"):
        return harness.Rpc(self.host, self.port, path)

    def kill(self):
        self.process.kill()
        self.process.wait()


def metric(stack, name):
    with urllib.request.urlopen(stack.url + "/metrics") as r:
        lines = r.read().decode().splitlines()
    return [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name)]


def is_ready(stack):
    return stack.get("/ready", None)[0] == 200


def hooks_of(w, chain=None):
    made = [w.hook("a", A_TYPES), w.hook("c", C_TYPES), w.hook("b", ["nft_transfer"]),
            w.hook("b", ["address_activity"], {"addresses": [BOB, ALICE]})]
    if chain is not None:
        made += [w.hook("b", ["token_transfer"], {"contracts": [chain.token]}),
                 w.hook("b", ["log"], {"addresses": [chain.item, chain.bag]})]
    return made


_hardhat = None


def hardhat():
    """One for all tests: it takes its time to begin."""
    global _hardhat
    if _hardhat is None:
        install()
        _hardhat = Hardhat()
    return _hardhat


def test_hardhat_node_over_http(env):
    node = hardhat()
    w = World(env, traces=False, node=node, chain=node.url)
    try:
        assert is_ready(w.stack), "at block 0 too"
        hooks = hooks_of(w)
        contracts = Chain(w.stack)
        more = hooks_of(w, contracts)
        contracts.everything()
        w.check([*hooks, *more])
        w.hook("c", ["PENDING_TRANSACTION"])
        w.stack.until(lambda: any("only told by a WebSocket" in line for line in w.stack.lines), "silence about the mempool")
    finally:
        w.stack.close()


def test_a_chain_that_changes_its_mind(env):
    """With two confirmations: of the branches of a chain only what stays is told."""
    node = hardhat()
    w = World(env, traces=False, node=node, chain=node.url.replace("http", "ws"), flags=["--confirmations=2"])
    try:
        hooks = hooks_of(w)
        for n in range(6):
            w.stack.send(value=n)
            at = w.stack.rpc("evm_snapshot")
            w.stack.send(value=1000 + n)
            w.stack.send(value=2000 + n)
            w.stack.rpc("evm_revert", at)
            w.stack.send(value=3000 + n)
        for _ in range(3):
            w.stack.rpc("evm_mine")
        w.check(hooks, last=w.height - 2)
        same(metric(w.stack, "webhook_chain_stopped"), [0.0])
    finally:
        w.stack.close()


def test_final_blocks_only(env):
    """What counts is the node's `finalized`, and bodies say that it does; here every accepted block is final."""
    w = World(env, flags=["--finality=final"])
    try:
        hooks = [w.hook("a", ["new_block"]), w.hook("b", ["address_activity"], {"addresses": [BOB, ALICE]}),
                 w.hook("c", ["NEW_BLOCK", "PENDING_TRANSACTION"])]
        for n in range(3):
            w.stack.send(value=n)
        w.collect({hooks[0]: 3, hooks[1]: 3, hooks[2]: 6})
        for hook in hooks:
            bodies = [json.loads(body) for _, body in w.got[hook.id]]
            said = ["finality" in b or "finality" in b["data"] for b in bodies if b.get("type") != "PENDING_TRANSACTION"]
            assert len(said) >= 3 and all(said), bodies
            assert not any("finality" in b for b in bodies if b.get("type") == "PENDING_TRANSACTION")
    finally:
        w.stack.close()


def test_hardhat_node_over_websocket(env):
    node = hardhat()
    w = World(env, traces=False, node=node, chain=node.url.replace("http", "ws"))
    try:
        early = [w.hook("a", A_TYPES), w.hook("c", ["INTERNAL_TRANSFER"])]
        contracts = Chain(w.stack)
        hooks = hooks_of(w, contracts)
        contracts.everything()
        w.check([early[0], *hooks])
        same(metric(w.stack, "webhook_chain_untraced"), [1.0])
        assert any("does not trace" in line for line in w.stack.lines)
        waits = w.hook("c", ["PENDING_TRANSACTION"])
        time.sleep(0.5)
        w.stack.rpc("evm_setAutomine", False)
        sent = w.stack.send(value=3)
        _, body = w.sink.take()
        same(json.loads(body)["data"]["transactionHash"], sent)
        w.stack.ask("DELETE", f"/v1/webhooks/{waits.id}", "c")
        assert " 0 differences\n" in w.stack.run("audit", f"--chain=lux={node.url}")
    finally:
        w.stack.close()


def begun_anew(env, *flags):
    """A world of six blocks that are told, whose node then began anew; and how much each webhook has been told."""
    node = hardhat()
    node.kill()
    node.begin()
    w = World(env, traces=False, node=node, chain=node.url.replace("http", "ws"), flags=flags)
    try:
        hooks = hooks_of(w)
        for n in range(6):
            w.stack.send(value=n)
        told = {h: len(got) for h, got in w.check(hooks).items()}
        node.kill()
        w.stack.until(lambda: not is_ready(w.stack), "the node is gone, and nobody tells")
        node.begin()
        w.stack.rpc = w.chain.rpc = node.rpc()
        return w, told
    except BaseException:
        w.stack.close()
        raise


def test_a_node_that_begins_anew_is_another_chain(env):
    """Where replaced blocks stop the chain, nobody is told anything, and it shows."""
    w, _ = begun_anew(env, "--replaced-blocks=stop")
    try:
        w.stack.until(lambda: any("is behind" in line for line in w.stack.lines), "a chain that is shorter is not told of")
        assert not is_ready(w.stack)
        for n in range(10):
            w.stack.send(value=100 + n)
        w.stack.until(lambda: metric(w.stack, "webhook_chain_stopped") == [1.0], "another chain is not noticed")
        assert not is_ready(w.stack)
        assert w.sink.got.empty(), "told of another chain"
    finally:
        w.stack.close()


def test_a_node_that_begins_anew_is_followed(env):
    """A development network that has none of the old blocks is told from its beginning; sequence numbers go on."""
    w, told = begun_anew(env)
    try:
        w.chain = oracle.Chain(w.stack.node.rpc(), traces=False)
        w.stack.until(lambda: is_ready(w.stack), "the new chain is not followed")
        for n in range(10):
            w.stack.send(value=100 + n)
        for h in told:
            h.begin = 1  # where they began is a number of a chain that is no more
        want = {h: oracle.events(w.chain, h, 1, w.height) for h in told}
        w.collect({h: len(events) for h, events in want.items()})
        for h, events in want.items():
            got = sorted(w.got.pop(h.id, []), key=lambda d: int(d[0]["x-svc-sequence"]))
            same([body.decode() for _, body in got], [body.decode() for _, body in events], f"{h.face} {h.types}")
            same([int(head["x-svc-sequence"]) for head, _ in got], [told[h] + n + 1 for n in range(len(got))])
        same(metric(w.stack, "webhook_chain_stopped"), [0.0])
    finally:
        w.stack.close()


def test_a_node_that_is_killed_and_begun_again(env):
    with tempfile.TemporaryDirectory(prefix="candela-node-") as folder:
        node = harness.Node(env.binary, data_dir=folder).wait_ready()
        w = World(env, node=node)
        try:
            hooks = [*hooks_of(w), w.hook("c", ["INTERNAL_TRANSFER"])]
            contracts = Chain(w.stack)
            for n in range(RESTARTS_FULL if env.full else RESTARTS):
                contracts.everything(2 * n)
                w.stack.settle()
                node.kill()
                w.stack.until(lambda: not is_ready(w.stack), "the node is gone, and /ready does not tell")
                node = harness.Node(env.binary, data_dir=folder, port=node.port).wait_ready()
                w.stack.node, w.stack.rpc = node, node.rpc()
                contracts.rpc = w.chain.rpc = w.stack.rpc
                contracts.everything(2 * n + 1)  # before it is noticed that the node is there again
                w.stack.until(lambda: is_ready(w.stack), "the node is there again, and /ready does not tell")
            w.check(hooks)
        finally:
            w.stack.close()
            node.kill()


class Moody:
    """A proxy of a node that fails in every way before it answers."""

    def __init__(self, node):
        self.node, self.met, self.deck, self.rnd = node, set(), [], random.Random(7)
        moody = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                moody.answer(self, self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256

            def handle_error(self, request, client_address):
                """Connections that break are what this is about."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def answer(self, to, body):
        if not self.deck:
            self.deck = [*["well"] * 6, *MOODS]
            self.rnd.shuffle(self.deck)
        mood = self.deck.pop()
        self.met.add(mood)
        conn = http.client.HTTPConnection(self.node.host, self.node.port)
        conn.request("POST", "/", body, {"Content-Type": "application/json"})
        text, status = conn.getresponse().read(), 200
        conn.close()
        if mood != "well":
            status, text = MOODS[mood](json.loads(body), text)
        if text is None:
            to.close_connection = True
            return
        to.send_response(status)
        to.send_header("Content-Type", "application/json")
        to.send_header("Content-Length", str(len(text) if mood != "breaks off" else 2 * len(text)))
        to.end_headers()
        to.wfile.write(text)
        to.close_connection = mood == "breaks off"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def each(ask, make):
    """The same answer to each of a batch."""
    asks = ask if isinstance(ask, list) else [ask]
    out = [{"jsonrpc": "2.0", "id": a["id"], **make} for a in asks]
    return json.dumps(out if isinstance(ask, list) else out[0]).encode()


def one_refused(ask, text):
    """Of a batch one is refused, of the rest all is well."""
    doc = json.loads(text)
    if isinstance(doc, list):
        doc[-1] = {"jsonrpc": "2.0", "id": doc[-1]["id"], "error": {"code": -32000, "message": "header not found"}}
        doc.reverse()
    return json.dumps(doc).encode()


MOODS = {
    "status 503": lambda ask, text: (503, b"upstream connect error"),
    "status 429": lambda ask, text: (429, each(ask, {"error": {"code": -32005, "message": "limit exceeded"}})),
    "has nothing": lambda ask, text: (200, each(ask, {"result": None})),
    "is behind": lambda ask, text: (200, each(ask, {"error": {"code": -32000, "message": "header not found"}})),
    "refuses one": lambda ask, text: (200, one_refused(ask, text)),
    "refuses all": lambda ask, text: (200, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal"}}'),
    "hangs up": lambda ask, text: (200, None),
    "breaks off": lambda ask, text: (200, text[:len(text) // 2]),
    "is no JSON": lambda ask, text: (200, b"<html>"),
    "is empty": lambda ask, text: (200, b""),
    "is slow": lambda ask, text: (time.sleep(0.3), (200, text))[1],
}


def test_a_node_that_fails_in_every_way(env):
    node = harness.Node(env.binary).wait_ready()
    moody = Moody(node)
    w = World(env, node=node, flags=[f"--chain-http=lux={moody.url}"])
    try:
        hooks = [*hooks_of(w), w.hook("c", ["INTERNAL_TRANSFER"])]
        contracts = Chain(w.stack)
        for n in range(8 if env.full else 2):
            contracts.everything(n)
        w.check(hooks)
        assert moody.met >= set(MOODS), f"not met: {set(MOODS) - moody.met}"
        same(metric(w.stack, "webhook_chain_untraced"), [0.0])
    finally:
        w.stack.close()
        moody.close()
        node.kill()


def test_end(env):
    if _hardhat is not None:
        _hardhat.kill()
