"""A node of ours and plugins of the original's making: the xsvm of its release, from its Go module. [spec:plugin]"""
import base64
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import gonode
from harness import ROOT, Skip, match, same

XSVM = "v3m4wPxaHpvGr8qfMeyK6PRW3idZrPHmYcMTt7oXdK47yurVH"
TIMESTAMP = "tGas3T58KzdjcJ2iKSyiYsWiqYctRXaPTqBCA11BqEkNg8kPc"
SUBNETEVM = "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"
TOTAL = (1 << 63) - 1
PATIENCE_S = 60
L1_GENESIS = json.dumps({
    "config": {"chainId": 99999, **{k + "Block": 0 for k in (
        "homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul", "muirGlacier")},
        "feeConfig": {"gasLimit": 8000000, "targetBlockRate": 2, "minBaseFee": 25000000000, "targetGas": 15000000,
                      "baseFeeChangeDenominator": 36, "minBlockGasCost": 0, "maxBlockGasCost": 1000000,
                      "blockGasCostStep": 200000}},
    "alloc": {"8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC": {"balance": "0x295BE96E64066972000000"}},
    "nonce": "0x0", "timestamp": "0x0", "extraData": "0x00", "gasLimit": "0x7A1200", "difficulty": "0x0",
    "mixHash": "0x" + 64 * "0", "coinbase": "0x" + 40 * "0", "number": "0x0", "gasUsed": "0x0",
    "parentHash": "0x" + 64 * "0"})

built = {}


def vm_id(name):
    """CB58 of a VM's name, padded."""
    raw = name.encode().ljust(32, b"\0")
    raw += hashlib.sha256(raw).digest()[-4:]
    n, text = int.from_bytes(raw, "big"), ""
    while n:
        n, digit = divmod(n, 58)
        text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + text
    return text


def program():
    """The plugin, and the client that it is as well."""
    if "path" not in built:
        if shutil.which("go") is None:
            raise Skip("go is not installed (package golang-go)")
        out = ROOT / "build" / "e2e" / "xsvm"
        out.parent.mkdir(parents=True, exist_ok=True)
        p = subprocess.run(["go", "build", "-o", str(out), "."], cwd=ROOT / "tests" / "e2e" / "plugin" / "xsvm",
                           capture_output=True, text=True, env=dict(os.environ, GOFLAGS="-mod=readonly"))
        if p.returncode != 0:
            raise Skip("the Go module cannot be built: " + p.stderr.strip()[-300:])
        built["path"] = out
    return built["path"]


class Net:
    """A node that decides alone, its folder, and a chain of the plugin."""

    def __init__(self, env, *plugins):
        self.env, self.data, self.plugins = env, env.dir(), env.dir()
        for name in plugins:
            self.add(name)
        self.node = self.net = self.chain = None

    def add(self, name):
        shutil.copy(program(), pathlib.Path(self.plugins) / name)

    def start(self, *flags):
        if self.net is not None:
            flags = (f"--track-subnets={self.net}", *flags)
        self.node = self.env.start("--sybil-protection-enabled=false", "--api-admin-enabled", "--staking-port=0",
                                   f"--plugin-dir={self.plugins}", *flags, data_dir=self.data, network="local")
        return self

    def client(self, *args, timeout=PATIENCE_S):
        p = subprocess.run([str(program()), *map(str, args)], capture_output=True, text=True, timeout=timeout)
        assert p.returncode == 0, f"{args}: {p.stderr.strip()[-300:]}"
        return p.stdout.split()

    def make(self, *other):
        self.net, self.chain = self.client("create", self.node.url, *other)
        same(self.node.end(), 0, "the node's exit code")
        return self.start().wait()

    def ask(self, method, path="/ext/admin", **params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.node.rpc(path).post(json.dumps(body))

    def health(self):
        return self.node.rpc("/ext/health").post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "health.health"}))[
            "result"]

    def chain_health(self):
        return self.health()["checks"]["plugins"]["message"].get(self.chain)

    def wait(self):
        end = time.monotonic() + PATIENCE_S
        while (h := self.chain_health()) is None or h["state"] != "running" or "reason" in h:
            assert time.monotonic() < end, f"the chain is not back: {h}"
            time.sleep(0.05)
        return self

    def back(self, old):
        """Waits for another process in the place of an old one, and for its chain."""
        end = time.monotonic() + PATIENCE_S
        while self.plugin_pid() in (None, old):
            assert time.monotonic() < end, f"no new plugin: {self.chain_health()}"
            time.sleep(0.05)
        while self.http()[0] != 200:
            assert time.monotonic() < end, f"the chain is not back: {self.chain_health()}"
            time.sleep(0.05)
        return self.wait()

    def http(self, method="GET", path="/http", body=None, headers=None, timeout=50):
        c = self.node.rpc().conn
        c.timeout = timeout
        c.request(method, f"/ext/bc/{self.chain}{path}", body, headers or {})
        r = c.getresponse()
        return r.status, r.read(), r.headers

    def plugin_pid(self):
        """The chain's process; a second one of the same file is asked for its version only, and ends soon."""
        end = time.monotonic() + PATIENCE_S
        while len(found := self.plugin_pids()) > 1:
            assert time.monotonic() < end, f"{len(found)} processes of the plugin"
            time.sleep(0.05)
        return found[0] if found else None

    def plugin_pids(self):
        found = []
        for task in pathlib.Path(f"/proc/{self.node.process.pid}/task").iterdir():
            try:
                for pid in map(int, (task / "children").read_text().split()):
                    if os.readlink(f"/proc/{pid}/exe").startswith(self.plugins):
                        found.append(pid)
            except OSError:
                pass  # a thread or a process has ended meanwhile
        return found

    def pay(self, amount):
        self.client("transfer", self.node.url, self.chain, amount)

    def balance(self):
        """What the payer has and the payee, and how many payments there were; nothing is lost, nothing made."""
        own, paid, nonce = map(int, self.client("balance", self.node.url, self.chain))
        same(own + paid, TOTAL, "all that there is")
        return paid, nonce


shared = {}


def net(env):
    if "net" not in shared:
        shared["net"] = Net(env, XSVM).start().make()
    return shared["net"]


def test_the_plugin_is_known(env):
    n = net(env)
    got = n.ask("info.getVMs", "/ext/info")["result"]["vms"]
    same(got[XSVM], [])
    got = n.ask("info.getNodeVersion", "/ext/info")["result"]
    same(got["vmVersions"][XSVM], "v1.0.4")
    same(got["rpcProtocolVersion"], "42")


def test_payments(env):
    n = net(env)
    before = n.balance()
    n.pay(1000)
    same(n.balance(), (before[0] + 1000, before[1] + 1))
    ms = int(n.client("issue", n.node.url, n.chain, 100)[0])
    same(n.balance(), (before[0] + 1100, before[1] + 101))
    print(f"   100 payments in {ms} ms")


def test_a_restart_keeps_everything(env):
    n = net(env)
    before = n.balance()
    same(n.node.end(), 0)
    n.start().wait()
    same(n.balance(), before)
    n.pay(1)
    same(n.balance(), (before[0] + 1, before[1] + 1))


def test_answers_of_a_route(env):
    n = net(env)
    for code in (200, 201, 404, 500, 503):
        status, body, headers = n.http("POST", f"/http?code={code}", b"text of mine", {"X-Sent": "so"})
        same((status, body, headers["X-Sent"], headers["X-Method"]), (code, b"text of mine", "so", "POST"))
    big = os.urandom(4 << 20)
    status, body, _ = n.http("POST", "/http", big)
    same((status, body == big), (200, True), "4 MiB there and back")
    same(n.http("GET", "/nothing")[0], 404)


def frame(payload, kind=1):
    mask = os.urandom(4)
    n = len(payload)
    head = bytes([0x80 | kind, 0x80 | n]) if n < 126 else bytes([0x80 | kind, 0xfe]) + n.to_bytes(2, "big")
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


class Ws:
    def __init__(self, n):
        self.s = socket.create_connection((n.node.host, n.node.port), timeout=30)
        self.s.sendall((f"GET /ext/bc/{n.chain}/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                        f"{base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        self.f = self.s.makefile("rb")
        self.status = int(self.f.readline().split()[1])
        while self.f.readline() not in (b"\r\n", b""):
            pass

    def echo(self, payload):
        self.s.sendall(frame(payload))
        head = self.f.read(2)
        n = head[1] & 0x7f
        n = int.from_bytes(self.f.read(2), "big") if n == 126 else n
        return self.f.read(n)


def test_a_websocket_through_the_tunnel(env):
    n = net(env)
    sockets = [Ws(n) for _ in range(4)]
    for i in range(25):
        for k, w in enumerate(sockets):
            same(w.status, 101)
            text = f"message {i} of {k} ".encode() * (1 + 40 * (i % 3))
            same(w.echo(text), text)
    sockets[0].s.sendall(frame(b"", 8))  # close
    same(sockets[0].f.read()[-1:] != b"", True)
    sockets[1].s.close()  # without a word
    same(sockets[2].echo(b"others go on"), b"others go on")
    for w in sockets:
        w.s.close()


def test_a_plugin_that_dies_comes_back(env):
    n = net(env)
    before = n.balance()
    pid = n.plugin_pid()
    os.kill(pid, signal.SIGKILL)
    start = time.monotonic()
    while n.http()[0] == 200:
        assert time.monotonic() - start < PATIENCE_S
    status, _, _ = n.http()
    same(status in (404, 503), True, f"status {status} without a plugin")
    while n.health()["healthy"]:  # what it says may be a second old
        assert time.monotonic() - start < PATIENCE_S
    match(n.chain_health()["reason"], "its process ended: signal 9")
    same(n.ask("info.isBootstrapped", "/ext/info", chain="C")["result"]["isBootstrapped"], True)
    n.back(pid)
    print(f"   back after {time.monotonic() - start:.1f} s")
    same(n.balance(), before)
    same(n.health()["healthy"], True)


def test_killed_at_random_points(env):
    """The plugin is killed while payments are made: what was accepted stays, and nothing else is there."""
    n = net(env)
    rng = random.Random(7)
    rounds = 200 if env.full else 5
    accepted = 0
    for _ in range(rounds):
        before = n.balance()
        # Its answer does not matter: it may be cut off anywhere.
        p = subprocess.Popen([str(program()), "issue", n.node.url, n.chain, "40"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.25)
        pid = n.plugin_pid()
        os.kill(pid, signal.SIGKILL)
        p.kill()
        p.wait()
        n.back(pid)
        paid, nonce = n.balance()
        same(paid - before[0], nonce - before[1], "each payment is of 1, and counted")
        accepted += nonce - before[1]
    n.pay(1)
    print(f"   {rounds} times, {accepted} payments went through")


def test_the_node_killed_at_random_points(env):
    n = net(env)
    rng = random.Random(8)
    rounds = 40 if env.full else 3
    for _ in range(rounds):
        before = n.balance()
        p = subprocess.Popen([str(program()), "issue", n.node.url, n.chain, "40"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.25)
        n.node.kill()
        p.kill()
        p.wait()
        n.start().wait()
        paid, nonce = n.balance()
        same(paid - before[0], nonce - before[1], "each payment is of 1, and counted")
    n.pay(1)


def test_a_plugin_that_hangs_holds_up_nobody(env):
    n = net(env)
    before = n.balance()
    pid = n.plugin_pid()
    os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    results = []
    threads = [threading.Thread(target=lambda: results.append(n.http(timeout=60)[0])) for _ in range(3)]
    for t in threads:
        t.start()
    while time.monotonic() - start < 3:
        same(n.ask("info.getNetworkID", "/ext/info")["result"]["networkID"], "12345")
    for t in threads:
        t.join()
    took = time.monotonic() - start
    same(took < 45, True, f"answers after {took:.0f} s")
    same([s in (404, 503) for s in results], [True] * 3, f"{results}")
    n.back(pid)
    print(f"   answered after {took:.1f} s, back after {time.monotonic() - start:.1f} s")
    same(time.monotonic() - start < 45, True)
    same(n.balance(), before)


def test_plugins_that_do_not_work(env):
    n = net(env)
    folder = pathlib.Path(n.plugins)
    n.add(TIMESTAMP + ".41")
    n.add(SUBNETEVM + ".silent")
    (folder / vm_id("exits")).write_text("#!/bin/sh\nexit 3\n")
    (folder / vm_id("avm")).write_text("built in: not looked at\n")
    for f in folder.iterdir():
        f.chmod(0o755)
    bad = folder / vm_id("text")
    bad.write_text("no program at all\n")
    bad.chmod(0o755)
    start = time.monotonic()
    got = n.ask("admin.loadVMs")
    same("result" in got, True, str(got))
    got = got["result"]
    took = time.monotonic() - start
    same(took < 45, True, f"{took:.0f} s")
    print(f"   four broken plugins told after {took:.1f} s")
    same(got["newVMs"], {})
    failed = got["failedVMs"]
    same(len(failed), 4, str(failed))
    match(failed[TIMESTAMP], "mismatch.*version 41")
    match(failed[SUBNETEVM], "handshake failed: vm process not found")
    match(failed[vm_id("exits")], "exit status 3")
    match(failed[vm_id("text")], "cannot start")
    for f in folder.iterdir():
        if f.name != XSVM:
            f.unlink()
    # One that works comes while the node runs.
    n.add(TIMESTAMP)
    same(n.ask("admin.loadVMs")["result"], {"newVMs": {TIMESTAMP: []}})
    same(n.balance()[0] >= 0, True)


def test_a_chain_waits_for_its_plugin(env):
    n = Net(env, XSVM).start()
    n.net, n.chain = n.client("create", n.node.url)
    same(n.node.end(), 0)
    os.rename(f"{n.plugins}/{XSVM}", f"{n.data}/away")
    n.start()
    end = time.monotonic() + PATIENCE_S
    while not (n.chain_health() or {}).get("reason"):
        assert time.monotonic() < end
        time.sleep(0.05)
    match(n.chain_health()["reason"], f"no plugin for the VM {XSVM}")
    same(n.health()["healthy"], False)
    os.rename(f"{n.data}/away", f"{n.plugins}/{XSVM}")
    same(list(n.ask("admin.loadVMs")["result"]["newVMs"]), [XSVM])
    n.wait()
    n.pay(5)
    same(n.node.end(), 0)


def test_plugins_of_ours(env):
    """The EVM and the notes of this project as plugins of the same node."""
    folder = pathlib.Path(env.binary).parent
    if not (folder / "candela-evm").exists() or not (folder / "notes-vm").exists():
        raise Skip("candela-evm or notes-vm is not built")
    for binary, vm, genesis in (("candela-evm", "subnetevm", L1_GENESIS), ("notes-vm", "notes", "the first note")):
        n = Net(env).start()
        shutil.copy(folder / binary, pathlib.Path(n.plugins) / vm_id(vm))
        end = time.monotonic() + PATIENCE_S
        while "result" not in (got := n.ask("admin.loadVMs")):  # what is there at the start is being loaded
            assert time.monotonic() < end, str(got)
            time.sleep(0.05)
        # What lies there while the start still looks may have been found by that.
        same(list(got["result"]["newVMs"]) in ([], [vm_id(vm)]), True, str(got))
        same(vm_id(vm) in n.ask("info.getVMs", "/ext/info")["result"]["vms"], True)
        file = pathlib.Path(n.data) / "genesis"
        file.write_text(genesis)
        n.make(vm_id(vm), file)
        path = f"/ext/bc/{n.chain}/rpc"
        if vm == "notes":
            same(n.ask("notes.post", path, text="hello")["result"], {"waiting": "1"})
            end = time.monotonic() + PATIENCE_S
            while "result" not in (got := n.ask("notes.get", path, height=1)):
                assert time.monotonic() < end, str(got)
                time.sleep(0.05)
            same(got["result"]["notes"], ["hello"])
        else:
            same(n.node.rpc(path)("eth_chainId"), hex(99999))
            w = Ws(n)
            same(w.status, 101)
            w.s.settimeout(20)
            same(json.loads(w.echo(b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'))["result"], hex(99999))
            w.s.close()
        pid = n.plugin_pid()
        os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + PATIENCE_S
        while n.plugin_pid() in (None, pid):
            assert time.monotonic() < end
            time.sleep(0.05)
        n.wait()
        if vm == "notes":
            same(n.ask("notes.get", path, height=1)["result"]["notes"], ["hello"])
        same(n.node.end(), 0)


def test_wrong_flags(env):
    folder = env.dir()
    (pathlib.Path(folder) / "mytool").write_text("")
    base = ["--in-memory", "--network-id=local", "--http-port=0", "--staking-port=0"]
    code, out, err = env.run(*base, f"--plugin-dir={folder}")
    same(code != 0, True)
    match(out + err, 'invalid vmID: \\\\?"mytool')
    code, out, err = env.run(*base, f"--plugin-dir={folder}/none")
    same(code != 0, True)
    match(out + err, 'plugin dir \\\\?".*/none\\\\?" not found')
    code, out, err = env.run(*base, f"--plugin-dir={folder}/mytool")
    same(code != 0, True)
    match(out + err, "plugin dir is not a directory")
    code, out, err = env.run(*base, "--track-subnets=abc")
    same(code != 0, True)
    match(out + err, 'couldn\'t parse subnetID \\\\?"abc')


KEY = "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
KEY_ON_C = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
AVAX = 10**18
OUTPUTS = {7: 0, 22: 12}  # outputs by type: what stands before their amount


def amount_of(utxo):
    """nAVAX of an output, as getUTXOs gives it in hex: codec, transaction, index, asset, type, amount."""
    raw = bytes.fromhex(utxo.removeprefix("0x"))
    at = 74 + OUTPUTS[int.from_bytes(raw[70:74], "big")]
    return int.from_bytes(raw[at:at + 8], "big")


def all_there_is(n):
    """What the key has on the three chains and on its way between them, in wei."""
    total = int(n.node.rpc("/ext/bc/C/rpc")("eth_getBalance", KEY_ON_C, "latest"), 16)
    for chain, path, service, sources in (("P", "/ext/bc/P", "platform", " XC"), ("X", "/ext/bc/X", "avm", " PC"),
                                          ("C", "/ext/bc/C/avax", "avax", "XP")):
        for source in sources:
            where = {} if source == " " else {"sourceChain": source}
            got = n.ask(f"{service}.getUTXOs", path, addresses=[f"{chain}-{KEY}"], limit=1024, encoding="hex", **where)
            assert "result" in got, got
            total += sum(amount_of(u) for u in got["result"]["utxos"]) * 10**9
    return total


def settled(n):
    """The sum, when it is the same twice: what was in the pool has been decided, and the chains answer."""
    end, last = time.monotonic() + PATIENCE_S, None
    while True:
        try:
            now = all_there_is(n)
            if now == last:
                return now
            last = now
        except (AssertionError, OSError, KeyError):
            assert time.monotonic() < end, "the chains do not answer"
            last = None
        assert time.monotonic() < end, "the sum does not stand still"
        time.sleep(0.5)


def test_moves_between_chains_with_kills(env):
    """Exports and imports of X, P and a C-Chain in a plugin, while that or the node is killed: none lost or doubled."""
    _, traffic = gonode.programs()
    n = Net(env)
    n.plugins = str(pathlib.Path(env.binary).parent)  # where the C-Chain's program lies

    def start():
        n.node = env.start("--sybil-protection-enabled=false", "--staking-port=0", data_dir=n.data, network="local")

    start()
    before = settled(n)
    rng = random.Random(18)
    killed = {"plugin": 0, "node": 0}
    first = before
    for i in range(60 if env.full else 4):
        p = subprocess.Popen([str(traffic), "--uri", n.node.url, "--chains", "M", "--count", "3", "--limit", "20s"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 2.5))
        what = ("plugin", "node")[i % 2]
        pid = n.plugin_pid()
        if what == "node":
            n.node.kill()
        elif pid is not None:
            os.kill(pid, signal.SIGKILL)
        killed[what] += 1
        p.kill()
        p.wait()
        if what == "node":
            start()
        now = settled(n)
        # Fees are burned: far less than the whole coins that are moved, and never made.
        same(before - AVAX // 2 < now <= before, True, f"after {killed}: {before} became {now}")
        before = now
    print(f"   killed: {killed}, {(first - before) / AVAX:.3f} for fees meanwhile")
    same(before < first, True, "something was moved meanwhile")
    same(gonode.traffic(traffic, n.node, "M", 1), {"M": 1})
    now = settled(n)
    same(before - AVAX // 2 < now < before, True, f"{before} became {now}")
