"""The relay between the C-Chain and two L1s: an ERC-20 there and back, and messages while the relay is killed.
[spec:warp] docs/relay.md"""
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import time

import evm
import txs
from clients import WORK, install
from harness import ROOT, Rpc, Skip, match, same
from network_suite import Network, wait_for
from plugin_suite import L1_GENESIS, vm_id
from warp_suite import DURANGO, GET_ID, LEGACY, ME, OWN

SOURCES = ROOT / "contracts" / "bridge"
PRICE = 500_000_000_000
NOBODY = "0x" + 40 * "0"


def contracts():
    return json.loads((SOURCES / "contracts.json").read_text())["contracts"]


def selector(signature):
    return evm.keccak(signature.encode())[:4]


def word(v):
    """A number, an address or 32 bytes as a word."""
    return v.to_bytes(32, "big") if isinstance(v, int) else v.rjust(32, b"\0")


def call_data(signature, *args):
    return selector(signature) + b"".join(map(word, args))


class Account:
    def __init__(self, seed):
        self.secret = int.from_bytes(evm.keccak(seed), "big") % txs.N
        x, y = txs.times(txs.G, self.secret)
        self.address = evm.keccak(word(x) + word(y))[12:]

    def file(self, path):
        path.write_text(f"{self.secret:064x}\n")
        return path


class Chain:
    """The methods of one chain, and the funded account there."""

    def __init__(self, uri, name, path):
        host, port = uri.removeprefix("http://").split(":")
        self.name, self.url = name, f"{uri}/ext/bc/{path}/rpc"
        self.rpc = Rpc(host, int(port), f"/ext/bc/{path}/rpc", timeout=60)
        self.number = int(self.rpc("eth_chainId"), 16)
        self.id = bytes.fromhex(self.rpc("eth_call", {"to": "0x" + OWN.hex(), "data": "0x" + GET_ID.hex()},
                                         "latest")[2:])
        self.nonce = int(self.rpc("eth_getTransactionCount", "0x" + ME.hex(), "latest"), 16)

    def post(self, to, data, gas=3_000_000, value=0):
        raw = evm.transaction(self.number, self.nonce, to, data, gas, PRICE, (), value)
        tx = self.rpc("eth_sendRawTransaction", raw)
        self.nonce += 1
        return tx

    def wait(self, tx):
        wait_for(f"receipt of {tx}", lambda: self.rpc("eth_getTransactionReceipt", tx) is not None)
        receipt = self.rpc("eth_getTransactionReceipt", tx)
        same(receipt["status"], "0x1", f"status on {self.name}")
        return receipt

    def send(self, to, data, **how):
        return self.wait(self.post(to, data, **how))

    def create(self, name, *args):
        code = bytes.fromhex(contracts()[name]["bytecode"][2:]) + b"".join(map(word, args))
        return bytes.fromhex(self.send(b"", code, gas=5_000_000)["contractAddress"][2:])

    def ask(self, to, signature, *args):
        out = self.rpc("eth_call", {"to": "0x" + to.hex(), "data": "0x" + call_data(signature, *args).hex()}, "latest")
        return int(out, 16)


def text_args(name, symbol):
    """What a remote's constructor wants behind its first three arguments: two texts and the decimals."""
    texts = [word(len(t)) + t.encode().ljust(32, b"\0") for t in (name, symbol)]
    return [word(6 * 32), word(8 * 32), word(18), *[t[i:i + 32] for t in texts for i in (0, 32)]]


def l1_genesis(number):
    genesis = json.loads(L1_GENESIS)
    genesis["timestamp"] = hex(DURANGO)
    genesis["config"]["chainId"] = number
    genesis["config"]["warpConfig"] = {"blockTimestamp": DURANGO}
    genesis["config"]["feeConfig"].update(gasLimit=100_000_000, targetGas=1_000_000_000, minBaseFee=1_000_000_000)
    genesis["gasLimit"] = hex(100_000_000)
    return json.dumps(genesis)


class World:
    """A node with the C-Chain and two L1s, a messenger on each, and an account for the relay."""

    def __init__(self, env, net, l1s=2):
        self.env, self.net, self.dir = env, net, net.dir
        self.folder = pathlib.Path(env.binary).parent
        if not (self.folder / "candela-evm").exists():
            raise Skip("candela-evm is not built")
        node = self.node(net.nodes("up", "--nodes=1"))
        (self.dir / "key.txt").write_text(f"{txs.SECRET:064x}")
        self.subnet = self.tx(node, "create-net")
        self.tx(node, "add-net-validator", f"--net-id={self.subnet}", f"--node-id={node['nodeID']}", "--weight=20",
                "--duration=25h")
        ids = []
        for i in range(l1s):
            file = self.dir / f"l1-{i}.json"
            file.write_text(l1_genesis(99990 + i))
            ids.append(self.tx(node, "create-chain", f"--net-id={self.subnet}", f"--name=mine{i}",
                               f"--vm-id={vm_id('subnetevm')}", f"--genesis-file={file}"))
        plugins = self.dir / node["name"] / "plugins"
        plugins.mkdir(exist_ok=True)
        shutil.copy(self.folder / "candela-evm", plugins / vm_id("subnetevm"))
        for chain in ids:
            config = self.dir / node["name"] / "configs" / "chains" / chain
            config.mkdir(parents=True)
            (config / "config.json").write_text('{"warp-api-enabled": true}')
        net.do("down")
        os.environ["CANDELA_TRACK_SUBNETS"] = self.subnet
        try:
            node = self.node(net.nodes("up"))
        finally:
            del os.environ["CANDELA_TRACK_SUBNETS"]
        self.uri = node["uri"]
        self.chains = [Chain(self.uri, "C", "C")]
        for i, chain in enumerate(ids):
            wait_for("the chain of the plugin", lambda: self.answers(chain))
            self.chains.append(Chain(self.uri, f"L{i}", chain))
        # The first transaction of an account: the same address everywhere.
        messengers = {c.create("Messenger", OWN) for c in self.chains}
        same(len(messengers), 1, "addresses of the messenger")
        self.messenger = messengers.pop()
        self.payer = Account(b"pays for what is brought")
        for c in self.chains:
            c.send(self.payer.address, b"", value=10**24 if c.name != "C" else 10**21, gas=21000)

    @staticmethod
    def node(nodes):
        return next(iter(nodes.values()))

    def tx(self, node, kind, *flags):
        """A network that has just begun has no room for a transaction in its first moments."""
        end = time.monotonic() + 60
        while (p := self.try_tx(node, kind, *flags)).returncode != 0 and "gas capacity" in p.stderr:
            assert time.monotonic() < end, p.stderr
            time.sleep(0.5)
        same((p.returncode, p.stderr), (0, ""), kind)
        return json.loads(p.stdout)["txID"]

    def try_tx(self, node, kind, *flags):
        return subprocess.run([str(self.folder / "candela-cli"), "tx", "run", kind, *flags, f"--rpc={node['uri']}",
                            f"--key-file={self.dir / 'key.txt'}", "--json"],
                              capture_output=True, text=True, timeout=120)

    def answers(self, chain):
        try:
            Chain(self.uri, "", chain)
            return True
        except (AssertionError, OSError, ValueError):
            return False

    def config(self, **more):
        self.payer.file(self.dir / "relay.key")
        chains = [{"name": c.name, "rpc": c.url, "messenger": "0x" + self.messenger.hex(), "keyFile": "relay.key",
                   **({} if c.name == "C" else {"net": self.subnet})} for c in self.chains]
        chains += more.pop("extra", [])
        path = self.dir / "relay.json"
        path.write_text(json.dumps({"chains": chains, **more}))
        return path


class Relay:
    """candela-cli relay, as a process."""

    def __init__(self, world, config=None, words=None, cwd=None):
        self.world, self.log = world, open(world.dir / "relay.log", "ab")
        self.start_at = self.log.tell()
        words = words or ["relay", f"--config-file={config or world.config()}", f"--state-dir={world.dir / 'relay'}",
                          "--http-port=0"]
        self.process = subprocess.Popen([str(world.folder / "candela-cli"), *words, "--log-format=json"],
                                        stderr=self.log, cwd=cwd)
        running.append(self.process)

    def lines(self, message):
        out = []
        for line in (self.world.dir / "relay.log").read_bytes()[self.start_at:].splitlines():
            try:
                if (v := json.loads(line)).get("msg") == message:
                    out.append(v)
            except ValueError:
                pass  # cut off by a kill
        return out

    def watches(self, routes):
        wait_for("the relay watches", lambda: len(self.lines("watching")) == routes)
        return self

    def get(self, path):
        wait_for("the relay listens", lambda: self.lines("listening"))
        c = http.client.HTTPConnection("127.0.0.1", self.lines("listening")[0]["port"], timeout=10)
        c.request("GET", path)
        r = c.getresponse()
        return r.status, r.read().decode()

    def metric(self, name, **labels):
        text = ",".join(f'{k}="{v}"' for k, v in labels.items())
        m = re.search(r"^relay_" + name + r"\{" + text + r"\} (\S+)$", self.get("/metrics")[1], re.M)
        return float(m.group(1)) if m else None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        same(self.process.wait(20), 0, "exit code of the relay")
        self.log.close()


shared = {}
running = []


def world(env):
    if "net" not in shared:
        shared["net"] = Network(env)
        env_close = env.close

        def close():
            for process in running:  # of tests that have failed
                process.kill()
            shared["net"].run("down")
            env_close()
        env.close = close
        shared["world"] = None
        shared["world"] = World(env, shared["net"])
    if shared["world"] is None:
        raise Skip("the network was not made")
    return shared["world"]


def test_the_contracts_are_those_that_are_committed(env):
    install()
    out = WORK / "bridge.json"
    p = subprocess.run(["node", "contracts.mjs", str(SOURCES.parent), SOURCES.name, str(out)], cwd=WORK,
                       capture_output=True, text=True)
    same((p.returncode, p.stderr), (0, ""))
    same(out.read_text() == (SOURCES / "contracts.json").read_text(), True, "contracts.json is of these sources")


def test_a_token_goes_there_and_back(env):
    w = world(env)
    c, one, two = w.chains
    relay = Relay(w).watches(6)
    token = c.create("TestToken", 10**24)
    home = c.create("TokenHome", w.messenger, token)
    remotes = {}
    for x in (one, two):
        remotes[x] = x.create("TokenRemote", w.messenger, c.id, home, *text_args("Test Token", "TEST"))
    friend = bytes(19) + b"\x77"

    def has(chain, contract, who, amount):
        wait_for(f"{amount} on {chain.name}", lambda: chain.ask(contract, "balanceOf(address)", who) == amount)

    c.send(token, call_data("approve(address,uint256)", home, 1000))
    c.send(home, call_data("bridge(bytes32,address,address,uint256,uint256)", one.id, remotes[one], ME, 1000, 200_000))
    same(c.ask(token, "balanceOf(address)", home), 1000)
    has(one, remotes[one], ME, 1000)
    # on to the second L1 by way of the home, and from there home
    one.send(remotes[one], call_data("bridgeOn(bytes32,address,address,uint256,uint256,uint256)", two.id, remotes[two],
                                     ME, 400, 400_000, 200_000))
    has(two, remotes[two], ME, 400)
    same(one.ask(remotes[one], "totalSupply()"), 600)
    two.send(remotes[two], call_data("bridgeHome(address,uint256,uint256)", friend, 150, 200_000))
    one.send(remotes[one], call_data("bridgeHome(address,uint256,uint256)", friend, 600, 200_000))
    has(c, token, friend, 750)
    same(c.ask(home, "held(bytes32,address)", one.id, remotes[one]), 0)
    same(c.ask(home, "held(bytes32,address)", two.id, remotes[two]), 250)
    same(c.ask(token, "balanceOf(address)", home), two.ask(remotes[two], "totalSupply()"))
    # a remote that nobody has sent anything to claims in vain
    bad = two.create("TokenRemote", w.messenger, two.id, home, *text_args("Bad", "BAD"))
    assert bad != remotes[two]
    wait_for("all told", lambda: len(relay.lines("delivered")) == 5)
    same(relay.metric("delivered", source="C", destination="L0"), 1.0)
    status, health = relay.get("/health")
    same((status, json.loads(health)["healthy"]), (200, True), health)
    relay.end()


def test_a_call_that_fails_can_be_run_again(env):
    w = world(env)
    c, one = w.chains[:2]
    relay = Relay(w).watches(6)
    inbox = one.create("TestInbox")
    one.send(inbox, call_data("setRefuses(bool)", 1))
    sent = c.send(w.messenger, call_data("send(bytes32,address,uint256,bytes)", one.id, inbox, 100_000, 128, 32, 7))
    mid = bytes.fromhex(sent["logs"][0]["topics"][1][2:])
    wait_for("received", lambda: one.ask(w.messenger, "messageReceived(bytes32)", mid) == 1)
    same(one.ask(inbox, "total()"), 0)
    assert one.ask(w.messenger, "failedMessageHash(bytes32)", mid) != 0
    one.send(inbox, call_data("setRefuses(bool)", 0))
    message = bytes.fromhex(sent["logs"][0]["data"][2:])[32:]  # the tuple, as the log of Sent has it
    again = selector("retryMessageExecution(bytes32,(uint256,address,bytes32,address,uint256,address[],"
                     "(uint256,address)[],bytes))") + c.id + word(64) + message
    one.send(w.messenger, again)
    same((one.ask(inbox, "total()"), one.ask(inbox, "times(uint256)", 7)), (1, 1))
    same(one.ask(w.messenger, "failedMessageHash(bytes32)", mid), 0)
    raw = evm.transaction(one.number, one.nonce, w.messenger, again, 1_000_000, PRICE)
    tx = one.rpc("eth_sendRawTransaction", raw)
    one.nonce += 1
    wait_for("its receipt", lambda: one.rpc("eth_getTransactionReceipt", tx) is not None)
    same(one.rpc("eth_getTransactionReceipt", tx)["status"], "0x0", "executed once")
    relay.end()


def test_killed_at_random_points(env):
    """Twenty times during fifty messages both ways: each arrives once."""
    w = world(env)
    c, one = w.chains[:2]
    rng = random.Random(11)
    relay = Relay(w).watches(6)
    inbox = {x: x.create("TestInbox") for x in (c, one)}
    before = {x: int(x.rpc("eth_getTransactionCount", "0x" + w.payer.address.hex(), "latest"), 16) for x in (c, one)}
    rounds = 20
    for i in range(50):
        source, target = (c, one) if i % 2 == 0 else (one, c)
        source.post(w.messenger, call_data("send(bytes32,address,uint256,bytes)", target.id, inbox[target], 100_000,
                                           128, 32, i))
        if i % 5 < 2:
            time.sleep(rng.random() * 0.6)
            relay.kill()
            relay = Relay(w)
    for x in (c, one):
        wait_for(f"all on {x.name}", lambda: x.ask(inbox[x], "total()") == 25)
    wait_for("nothing waits", lambda: relay.metric("waiting", chain="C") == 0 and
             relay.metric("waiting", chain="L0") == 0 and relay.metric("at_work", chain="C") == 0)
    time.sleep(1)
    for i in range(50):
        same((one if i % 2 == 0 else c).ask(inbox[one if i % 2 == 0 else c], "times(uint256)", i), 1, f"message {i}")
    spent = sum(int(x.rpc("eth_getTransactionCount", "0x" + w.payer.address.hex(), "latest"), 16) - before[x]
                for x in (c, one))
    print(f"   killed {rounds} times; {spent} transactions for 50 messages")
    same(spent, 50, "none is sent twice")
    relay.end()


def test_one_that_hangs_stops_no_other(env):
    w = world(env)
    c, one = w.chains[:2]
    deaf = socket.create_server(("127.0.0.1", 0))
    extra = [{"name": "deaf", "rpc": f"http://127.0.0.1:{deaf.getsockname()[1]}/", "keyFile": "relay.key",
              "messenger": "0x" + w.messenger.hex()}]
    relay = Relay(w, w.config(extra=extra)).watches(6)
    inbox = one.create("TestInbox")
    c.send(w.messenger, call_data("send(bytes32,address,uint256,bytes)", one.id, inbox, 100_000, 128, 32, 1))
    wait_for("the message", lambda: one.ask(inbox, "total()") == 1)
    status, health = relay.get("/health")
    same((status, json.loads(health)["healthy"]), (503, False), health)
    relay.end()
    deaf.close()


def test_how_many_a_second(env):
    """From one L1 to the other."""
    w = world(env)
    one, two = w.chains[1:]
    count = int(os.environ.get("MESSAGES", "600"))
    relay = Relay(w).watches(6)
    source, inbox = one.create("TestInbox"), two.create("TestInbox")
    start = time.monotonic()
    for first in range(0, count, 100):
        one.post(source, call_data("flood(address,bytes32,address,uint256,uint256)", w.messenger, two.id, inbox, first,
                                   min(100, count - first)), gas=15_000_000)
    wait_for("all of them", lambda: two.ask(inbox, "total()") == count)
    took = time.monotonic() - start
    usage = pathlib.Path(f"/proc/{relay.process.pid}/stat").read_text().split()
    cpu = (int(usage[13]) + int(usage[14])) / os.sysconf("SC_CLK_TCK")
    print(f"   {count} messages in {took:.1f} s: {count / took:.0f} a second; processor time of the relay {cpu:.2f} s")
    relay.end()


def test_the_document(env):
    """The file and the command of docs/relay.md, with this network's names in the place of theirs."""
    w = world(env)
    folder = pathlib.Path(env.dir())
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "docs" / "relay.md").read_text(), re.M | re.S)
    config = next(b for b in blocks if b.startswith('{"chains"'))
    command = next(b for b in blocks if b.startswith("candela-cli relay")).splitlines()[0]
    chain = w.chains[1].url.split("/bc/")[1].split("/")[0]
    for theirs, ours in (("http://127.0.0.1:9650", w.uri), ("<chain>", chain), ("<net>", w.subnet),
                         ("0x…", "0x" + w.messenger.hex())):
        assert theirs in config, theirs
        config = config.replace(theirs, ours)
    (folder / "relay.json").write_text(config)
    w.payer.file(folder / "relay.key")
    words = command.replace("--http-port=9700", "--http-port=0").split()
    relay = Relay(w, words=words[1:], cwd=folder).watches(2)
    same(sorted(os.listdir(folder / "relay-state")), ["LOCK", "places.json"])
    wait_for("it is well", lambda: relay.get("/health")[0] == 200)
    relay.end()


def test_wrong_words(env):
    w = world(env)
    cli = str(w.folder / "candela-cli")

    def refuses(pattern, config, *flags):
        path = w.dir / "bad.json"
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        p = subprocess.run([cli, "relay", f"--config-file={path}", f"--state-dir={w.dir / 'bad'}", "--json", *flags],
                           capture_output=True, text=True, timeout=30)
        assert p.returncode in (1, 2), p
        match(json.loads(p.stderr.splitlines()[-1])["error"], pattern)

    chain = {"name": "C", "rpc": w.chains[0].url, "messenger": NOBODY}
    refuses("chains", "{}")
    refuses("nothing that a relay knows", {"chains": [], "colour": 1})
    refuses("nothing that a relay knows", {"chains": [{**chain, "mesenger": 1}]})
    refuses("no source, or no other chain with a key", {"chains": [chain]})
    refuses("two chains are called", {"chains": [chain, chain]})
    refuses("messenger", {"chains": [{**chain, "messenger": "0x12"}]})
    refuses("no ID of a net", {"chains": [{**chain, "net": "abc"}]})
    refuses("http-port", {"chains": [{**chain, "keyFile": "key.txt"}, {**chain, "name": "D"}]}, "--http-port=x")
    p = subprocess.run([cli, "relay"], capture_output=True, text=True, timeout=30)
    same(p.returncode, 2)
    match(p.stderr, "--config-file is wanted")
    relay = Relay(w).watches(6)
    p = subprocess.run([cli, "relay", f"--config-file={w.config()}", f"--state-dir={w.dir / 'relay'}"],
                       capture_output=True, text=True, timeout=30)
    same(p.returncode, 1, "a second one with the same folder")
    relay.end()
