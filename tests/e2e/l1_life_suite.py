"""The life of an L1 by candela-cli l1, with contracts/validators as its manager: docs/l1.md, which is run; proof of stake;
kills; and what nobody may do. [spec:pchain-xchain#4] [spec:warp#8]"""
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import time

import evm
import gonode
import txs
from clients import WORK, install
from harness import ROOT, match, same
from l1_suite import rpc
from webhooks.stack import Sink, Stack
from network_suite import Network, ask, wait_for
from relay_suite import Account, call_data
from warp_suite import ME, OWN, Sender

SOURCES = ROOT / "contracts" / "validators"
RELAY_SECRET = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
MANAGER = bytes.fromhex("0feedc0de0000000000000000000000000000000")


def blocks_of(name):
    """The boxes of a document: (what is typed, what is printed), or (None, text) for those that are no session."""
    text = (ROOT / "docs" / name).read_text()
    for kind, block in re.findall(r"^```(console)?\n(.*?)^```", text, re.M | re.S):
        if kind:
            typed, printed = block.split("\n", 1)
            yield typed.removeprefix("$ "), printed
        else:
            yield None, block


class Life:
    """Commands of one home folder."""

    def __init__(self, env):
        self.env, self.home, self.folder = env, pathlib.Path(env.dir()), pathlib.Path(env.binary).parent
        self.dir = self.home / ".candela" / "local-network"
        (self.home / "key.txt").write_text(f"{txs.SECRET:064x}")
        (self.home / "relay.key").write_text(RELAY_SECRET)
        (self.home / "contracts").symlink_to(ROOT / "contracts")
        self.how = {"cwd": self.home, "env": dict(os.environ, HOME=str(self.home))}
        self.background = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.background:
            p.kill()
        self.run("network", "down")

    def start(self, *words):
        return subprocess.Popen([str(self.folder / "candela-cli"), *words], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **self.how)

    def run(self, *words, patience=300):
        p = self.start(*words)
        out, err = p.communicate(timeout=patience)
        return p.returncode, out, err

    def do(self, *words):
        code, out, err = self.run(*words, "--json")
        same(code, 0, f"{words}: {err}")
        return json.loads(out)

    def refused(self, pattern, *words):
        code, out, err = self.run(*words, "--json")
        assert code in (1, 2) and (out == "" or "error" in err), f"{words} was taken"
        match(json.loads(err.splitlines()[-1])["error"], pattern)

    def nodes(self):
        return {n["name"]: n for n in self.do("network", "status")["nodes"]}

    def keys(self):
        return f"--rpc={self.nodes()['node1']['uri']}", "--key-file=key.txt"


def test_the_contracts_are_those_that_are_committed(env):
    install()
    out = WORK / "validators.json"
    p = subprocess.run(["node", "contracts.mjs", str(SOURCES.parent), SOURCES.name, str(out)], cwd=WORK,
                       capture_output=True, text=True)
    same((p.returncode, p.stderr), (0, ""))
    same(out.read_text() == (SOURCES / "contracts.json").read_text(), True, "contracts.json is of these sources")


def learn(known, life, typed, out):
    """What later commands of the document have in the place of names."""
    nodes = {n["name"]: n for n in json.loads(out)["nodes"]} if typed.startswith("candela-cli network") else {}
    for name, theirs in (("node1", "http://127.0.0.1:9650"), ("node6", "http://127.0.0.1:9660")):
        if name in nodes:
            known[theirs] = nodes[name]["uri"]
    if "node6" in nodes:
        known["NodeID-six"] = nodes["node6"]["nodeID"]
    if "l1 create" in typed:
        made = json.loads(out)
        known["<net>"], known["<chain>"] = made["subnetID"], made["blockchainID"]
        life.run("network", "status")  # ports stay
        chain = rpc({"uri": known["http://127.0.0.1:9650"]}, made["blockchainID"])
        known["<l1-id>"] = chain("eth_call", {"to": "0x" + OWN.hex(), "data": "0x4213cf78"}, "latest")
    for contract, name in (("Messenger", "<messenger>"), ("TestToken", "<token>"), ("TokenHome", "<home>"),
                           ("TokenRemote", "<remote>")):
        if f"deploy contracts/bridge/contracts.json:{contract} " in typed:
            known[name] = json.loads(out)["address"]
    if "getBlockchainID" in typed:
        known["<c-id>"] = json.loads(out)[0]


def put(known, text):
    for theirs, ours in known.items():
        text = text.replace(theirs, ours)
    return text


def test_the_document(env):
    """Each command prints what stands below it; reads are asked again until what a relay brings has come."""
    known = {}
    with Life(env) as life:
        known["$HOME"] = str(life.home)
        for typed, printed in blocks_of("l1.md"):
            text = put(known, typed or printed)
            if typed is None:
                if text.startswith('{"chains"'):
                    (life.home / "relay.json").write_text(text)
                elif text.startswith("candela-cli relay"):
                    life.background.append(subprocess.Popen(
                        [str(life.folder / "candela-cli"), *shlex.split(text)[1:]], stderr=subprocess.DEVNULL,
                        **life.how))
                continue
            pattern = ".*?".join(map(re.escape, put(known, printed).split("…")))
            end = time.monotonic() + 60
            while True:
                code, out, err = life.run(*shlex.split(text)[1:])
                if re.fullmatch(pattern, err + out + ("" if out.endswith("\n") else "\n"), re.S):
                    break
                waits = code == 0 and "contract read" in typed
                assert waits and time.monotonic() < end, f"{text}: {err + out}"
                time.sleep(0.5)
            learn(known, life, typed, out)
            if "add-validator" in typed:
                ends(life, known)
            if "set-weight" in typed:
                same([v["weight"] for v in status(life, known) if v["nodeID"] == known["NodeID-six"]], ["60"])
            if "top-up" in typed:
                same([v["votes"] for v in status(life, known) if v["nodeID"] == known["NodeID-six"]], [True])


def status(life, known):
    return life.do("l1", "status", "mine", f"--rpc={known['http://127.0.0.1:9650']}")["validators"]


def ends(life, known):
    """The sixth validator's balance ends; the chain goes on without it."""
    assert any(v["nodeID"] == known["NodeID-six"] for v in status(life, known))
    wait_for("the balance ends", lambda: not next(v for v in status(life, known)
                                                  if v["nodeID"] == known["NodeID-six"])["votes"])
    how = ["--chain=" + known["<chain>"], f"--rpc={known['http://127.0.0.1:9650']}", "--key-file=key.txt"]
    life.do("contract", "deploy", "contracts/bridge/contracts.json:TestInbox", *how)


class NoNode:
    """The service's chain is somewhere else."""
    def rpc(self):
        return None


def test_a_webhook_tells_of_a_balance_that_ends(env):
    """Days before, to the URL for operational events of who has webhooks on the chain; and that it is mended."""
    with Life(env) as life:
        life.do("network", "up", "--nodes=2")
        made = life.do("l1", "create", "mine", f"--network-dir={life.dir}", "--force", "--balance=0.2", *life.keys())
        uri = life.nodes()["node1"]["uri"]
        chain = f"{uri.replace('http', 'ws')}/ext/bc/{made['blockchainID']}/ws"
        ops = Sink()
        service = Stack(None, life.folder / "candela-webhooks", NoNode(), 0, chain, ["--l1-look=200ms"])
        try:
            same(service.ask("PATCH", "/v1/notifications", "b", {"ops_url": ops.url})[0], 200)
            service.make("b", url=ops.url, event_type="address_activity",
                         config={"addresses": ["0x" + ME.hex()]})
            told = json.loads(ops.take(60)[1])
            data = told["data"]
            same((told["event_type"], data["subnet_id"], data["state"], data["severity"], data["cause"]),
                 ("l1.health", made["subnetID"], "runs", "warning", "balances"))
            match(data["message"], "day")
            life.do("l1", "top-up", "mine", "--all", "--amount=5", *life.keys())
            data = json.loads(ops.take(60)[1])["data"]
            while data["severity"] != "well":  # two validators: one that fails halts it
                same(data["cause"] != "balances", True)
                data = json.loads(ops.take(60)[1])["data"]
        finally:
            service.close()
            ops.close()


def count_nets(life):
    return len(ask(life.nodes()["node1"], "/ext/bc/P", "platform.getSubnets")["nets"]) - 1


def test_killed_between_any_two_steps(env):
    """`l1 create` is killed again and again; in the end there is one L1, made once."""
    rng = random.Random(5)
    with Life(env) as life:
        life.do("network", "up", "--nodes=2")
        words = ["l1", "create", "mine", f"--network-dir={life.dir}", "--force"]
        kills = 0
        for i in range(12):
            p = life.start(*words, *life.keys())
            try:
                p.communicate(timeout=0.02 + rng.random() * 0.25 * (i % 4))
                break
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
                p.communicate()
                kills += 1
                life.do("network", "up")  # nodes that it had stopped
        made = life.do(*words, *life.keys())
        print(f"   killed {kills} times")
        same(count_nets(life), 1, "nets")
        chains = ask(life.nodes()["node1"], "/ext/bc/P", "platform.validates", subnetID=made["subnetID"])
        same(chains["blockchainIDs"], [made["blockchainID"]])
        again = life.do(*words, *life.keys())
        same(again, made)


def test_proof_of_stake(env):
    """Who stakes comes, and has the stake back when it leaves."""
    with Life(env) as life:
        life.do("network", "up", "--nodes=2")
        staker = Account(b"stakes")
        staker.file(life.home / "staker.txt")
        made = life.do("l1", "create", "mine", f"--network-dir={life.dir}", "--kind=pos", "--churn-percent=100",
                       "--min-stake=10", "--min-stake-duration=1s", "--force", f"--alloc=0x{staker.address.hex()}:500",
                       *life.keys())
        life.do("network", "add", "--nodes=1")
        life.do("network", "track", made["subnetID"], "node3")
        nodes = life.nodes()
        # who stakes pays on the P-Chain, too
        life.do("send", "--chain=P", f"--to={p_address(life)}", "--amount=20", *life.keys())
        how = [f"--rpc={nodes['node1']['uri']}", "--key-file=staker.txt"]
        chain = rpc(nodes["node1"], made["blockchainID"])
        life.refused("TooLittleStake", "l1", "join", "mine", f"--node={nodes['node3']['uri']}", "--stake=9", *how)
        life.refused("who stakes validates", "l1", "add-validator", "mine", f"--node={nodes['node3']['uri']}", *how)
        joined = life.do("l1", "join", "mine", f"--node={nodes['node3']['uri']}", "--stake=40", *how)
        same((joined["status"], joined["weight"]), ("active", "40"))
        held = int(chain("eth_getBalance", "0x" + MANAGER.hex(), "latest"), 16)
        same(held, 40 * 10**18)
        same(life.do("l1", "join", "mine", f"--node={nodes['node3']['uri']}", "--stake=40", *how), joined)
        life.refused("what they stake", "l1", "set-weight", "mine", joined["nodeID"], "--weight=9", *life.keys())
        life.refused("NotTheStaker", "l1", "remove-validator", "mine", joined["nodeID"], *life.keys(), "--force")
        before = int(chain("eth_getBalance", "0x" + staker.address.hex(), "latest"), 16)
        time.sleep(2)  # what has begun in this second can't end in it
        life.do("l1", "remove-validator", "mine", joined["validationID"], *how)
        same(int(chain("eth_getBalance", "0x" + MANAGER.hex(), "latest"), 16), 0)
        after = int(chain("eth_getBalance", "0x" + staker.address.hex(), "latest"), 16)
        assert 39 * 10**18 < after - before < 40 * 10**18, after - before
        attacks(life, made, nodes["node1"])


def p_address(life):
    """The staker's address on the P-Chain of this network."""
    (life.home / "password.txt").write_text("a password of no worth")
    key = life.do("keys", "import", "--network-id=1337", "--password-file=password.txt", "staker.txt")
    return next(a for a in re.findall(r"P-custom1[a-z0-9]+", json.dumps(key)))


def attacks(life, made, node):
    """Messages of the P-Chain that were taken once, or say something else, change nothing."""
    chain = rpc(node, made["blockchainID"])
    number = int(chain("eth_chainId"), 16)

    def send(signature, *args, signed=None):
        nonce = int(chain("eth_getTransactionCount", "0x" + ME.hex(), "pending"), 16)
        access = [(OWN, evm.words(signed))] if signed else ()
        raw = evm.transaction(number, nonce, MANAGER, call_data(signature, *args), 1_500_000, 10 * 10**9, access)
        tx = chain("eth_sendRawTransaction", raw)
        wait_for("its receipt", lambda: chain("eth_getTransactionReceipt", tx) is not None)
        return chain("eth_getTransactionReceipt", tx)["status"]

    def state():
        return [chain("eth_call", {"to": "0x" + MANAGER.hex(), "data": "0x" + call_data(f).hex()}, "latest")
                for f in ("l1TotalWeight()", "subnetID()", "isValidatorSetInitialized()")]

    def signed(payload, justification, sender=b"", source=bytes(32)):
        call = bytes(2) + (1).to_bytes(4, "big") + len(sender).to_bytes(4, "big") + sender + \
            len(payload).to_bytes(4, "big") + payload
        m = bytes(2) + (1337).to_bytes(4, "big") + source + len(call).to_bytes(4, "big") + call
        got = ask(node, "/v1/warp", "warp.getMessageAggregateSignature", chain="P", message="0x" + m.hex(),
                  justification="0x" + justification.hex(), subnetID=made["subnetID"], quorumNum="67")
        return bytes.fromhex(got["message"][2:])

    before = state()
    net = bytes.fromhex(before[1][2:])
    first = hashlib.sha256(net + bytes(4)).digest()
    registered = signed(bytes(5) + b"\2" + first + b"\1", b"")
    # it is registered: nothing waits for that
    same(send("completeValidatorRegistration(uint32)", 0, signed=registered), "0x0")
    same(send("completeValidatorRemoval(uint32)", 0, signed=registered), "0x0")
    same(send("completeValidatorWeightUpdate(uint32)", 0, signed=registered), "0x0")
    # nobody has signed it; there is no such message
    same(send("completeValidatorRegistration(uint32)", 0), "0x0")
    same(send("completeValidatorRegistration(uint32)", 1, signed=registered), "0x0")
    broken = registered[:-1] + bytes([registered[-1] ^ 1])
    same(send("completeValidatorRegistration(uint32)", 0, signed=broken), "0x0")
    same(send("resendRegisterValidatorMessage(bytes32)", first), "0x0")
    same(send("resendValidatorRemovalMessage(bytes32)", first), "0x0")
    same(send("withdraw()"), "0x0")
    same(state(), before)


def test_with_nodes_of_the_original(env):
    """Three of ours and two that run the original's program, with candela-evm as their plugin, validate one L1: three have no
    quorum, so what the manager was told they have signed together."""
    program = gonode.build("avalanchego", f"{gonode.MODULE}/main")
    with Life(env) as life:
        life.do("network", "up", "--nodes=5", "--go=2", f"--go-program={program}")
        ours = next(n for n in life.nodes().values() if n["program"] == "candela")
        how = [f"--rpc={ours['uri']}", f"--l1-rpc={ours['uri']}", "--key-file=key.txt"]
        made = life.do("l1", "create", "mine", f"--network-dir={life.dir}", "--balance=3", *how)
        nodes = life.nodes()
        go = next(n for n in nodes.values() if n["program"] != "candela")
        for n in (go, nodes[ours["name"]]):
            wait_for("the chain answers", lambda: answers(n, made))
            tx = Sender(n, made["blockchainID"]).send(bytes(19) + b"\x77", b"")["transactionHash"]
            for other in nodes.values():
                wait_for("the transfer everywhere",
                         lambda: rpc(other, made["blockchainID"])("eth_getTransactionReceipt", tx) is not None)
        heads = {rpc(n, made["blockchainID"])("eth_getBlockByNumber", "latest", False)["stateRoot"] for n in nodes.values()}
        same(len(heads), 1, "state roots")
        gone = life.do("l1", "remove-validator", "mine", go["nodeID"], *how)
        same(gone["status"], "removed")


def answers(node, made):
    try:
        return rpc(node, made["blockchainID"])("eth_chainId") is not None
    except (AssertionError, OSError, ValueError):
        return False
