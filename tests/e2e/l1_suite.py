"""An L1 whose validators validate nothing else: they find each other, decide, go on without one of them, and stop or go on
with the money that pays for their places. [spec:pchain-xchain#4] [spec:p2p#6]"""
import hashlib
import json
import pathlib
import re
import subprocess
import time
import urllib.request

import txs
from harness import Rpc, Skip, same
from network_suite import Network, ask, wait_for
from plugin_suite import L1_GENESIS, vm_id
from warp_suite import ME, Sender, cb58_of

DURANGO = 1709740800


def genesis():
    got = json.loads(L1_GENESIS)
    got["timestamp"] = hex(DURANGO)
    got["config"]["warpConfig"] = {"blockTimestamp": DURANGO}
    return json.dumps(got)


def rpc(node, chain):
    host, port = node["uri"].removeprefix("http://").split(":")
    return Rpc(host, int(port), f"/ext/bc/{chain}/rpc")


class L1:
    """Three nodes validate the primary network, four others an L1 of theirs."""

    def __init__(self, env, net, manager="0xfeed"):
        self.net, self.folder = net, pathlib.Path(env.binary).parent
        if not (self.folder / "candela-evm").exists():
            raise Skip("candela-evm is not built")
        net.nodes("up", "--nodes=3")
        nodes = net.nodes("add", "--nodes=4")
        self.names = [name for name, n in nodes.items() if not n["validates"]]
        same(len(self.names), 4)
        self.uri = nodes["node1"]["uri"]
        (net.dir / "key.txt").write_text(f"{txs.SECRET:064x}")
        (net.dir / "l1.json").write_text(genesis())
        self.subnet = self.tx("create-net")
        self.chain = self.tx("create-chain", f"--net-id={self.subnet}", "--name=mine", f"--vm-id={vm_id('subnetevm')}",
                             f"--genesis-file={net.dir / 'l1.json'}")
        flags = []
        for name in self.names:
            got = ask(nodes[name], "/ext/info", "info.getNodeID")
            pop = got["nodePOP"]
            flags.append(f"--validator={got['nodeID']}:100:5:{pop['publicKey']}:{pop['proofOfPossession']}")
        self.tx("convert-net", f"--net-id={self.subnet}", f"--chain-id={self.chain}", f"--manager={manager}", *flags)
        for name in self.names:
            config = net.dir / name / "configs" / "chains" / self.chain
            config.mkdir(parents=True, exist_ok=True)
            (config / "config.json").write_text('{"warp-api-enabled": true}')
        self.nodes = net.nodes("track", self.subnet, *self.names)
        self.uri = self.nodes["node1"]["uri"]
        self.members = [self.nodes[name] for name in self.names]
        for n in self.members:
            wait_for("the chain answers", lambda: self.answers(n))

    def tx(self, kind, *flags):
        p = subprocess.run([str(self.folder / "candela-cli"), "tx", "run", kind, *flags, f"--rpc={self.uri}",
                            f"--key-file={self.net.dir / 'key.txt'}", "--json"], capture_output=True, text=True, timeout=120)
        same((p.returncode, p.stderr), (0, ""), kind)
        return json.loads(p.stdout)["txID"]

    def refused(self, kind, *flags, at, why="refused: the chain would stand still"):
        p = subprocess.run([str(self.folder / "candela-cli"), "tx", "run", kind, *flags, f"--rpc={at['uri']}",
                            f"--key-file={self.net.dir / 'key.txt'}"], capture_output=True, text=True, timeout=120)
        assert p.returncode == 1 and why in p.stderr, p

    def health(self, node):
        return ask(node, "/ext/bc/P", "platform.getL1Health", subnetID=self.subnet)

    def gauge(self, node, name):
        """One of the L1's figures as node tells it; -1: it does not."""
        with urllib.request.urlopen(f"{node['uri']}/ext/metrics") as r:
            found = re.search(rf'{name}{{[^}}]*subnet="{self.subnet}"[^}}]*}} (\d+)', r.read().decode())
        return int(found[1]) if found else -1

    def answers(self, node):
        try:
            return rpc(node, self.chain)("eth_chainId") == hex(99999)
        except (AssertionError, OSError, ValueError):
            return False

    def pay(self, at, *members):
        """A transfer that is given to one of them, and is in the same block on all."""
        tx = Sender(at, self.chain).send(bytes(19) + b"\x77", b"")["transactionHash"]
        for n in members:
            wait_for("the transfer everywhere", lambda: rpc(n, self.chain)("eth_getTransactionReceipt", tx))
        same(len({rpc(n, self.chain)("eth_getTransactionReceipt", tx)["blockHash"] for n in members}), 1)

    def validation_of(self, node):
        rows = ask({"uri": self.uri}, "/ext/bc/P", "platform.getCurrentValidators", subnetID=self.subnet)["validators"]
        mine = ask(node, "/ext/info", "info.getNodeID")["nodeID"]
        return next(r for r in rows if r["nodeID"] == mine)


def test_an_l1_of_its_own(env):
    with Network(env) as net:
        l1 = L1(env, net)
        m = l1.members
        peers = {p["nodeID"]: p for p in ask(m[0], "/ext/info", "info.peers")["peers"]}
        others = [ask(n, "/ext/info", "info.getNodeID")["nodeID"] for n in m[1:]]
        for node in others:
            assert l1.subnet in str(peers[node]), peers[node]
        l1.pay(m[0], *m)
        l1.pay(m[1], *m)
        how = l1.health(m[0])
        same((how["state"], how["quorum"]), ("runs", "One of four validators can fail, whichever; two can halt it."))
        same((how["unreachable"], how["signsMessages"], {v["reach"] for v in how["validators"]}), (0, True, {"connected"}))
        # Three quarters of the weight go on.
        net.do("kill", l1.names[3])
        l1.pay(m[0], *m[:3])
        wait_for("it is missed", lambda: l1.health(m[0])["unreachable"] == 1)
        how = l1.health(m[0])
        same((how["state"], how["findings"][0]["cause"], how["canFail"]), ("slow", "unreachable", 0))
        wait_for("the gauges say so", lambda: l1.gauge(m[0], "l1_unreachable_validators") == 1)
        same((l1.gauge(m[0], "l1_voting_permille"), l1.gauge(m[0], "l1_state")), (750, 1))
        check = ask(m[0], "/ext/health", "health.health")["checks"][f"l1-{l1.subnet}"]
        assert check["message"]["quorum"], check
        # Another one is not to be let go of now.
        l1.refused("disable-l1-validator", f"--validation-id={l1.validation_of(m[2])['validationID']}", at=m[0])
        # It has what it missed when it is back.
        net.nodes("start", l1.names[3])
        m[3] = net.nodes()[l1.names[3]]
        wait_for("it is back", lambda: l1.answers(m[3]))
        head = rpc(m[0], l1.chain)("eth_blockNumber")
        wait_for("it has caught up", lambda: rpc(m[3], l1.chain)("eth_blockNumber") == head)
        # One that is let go of counts no more: the others need nobody's vote but their own.
        gone = l1.validation_of(m[3])
        l1.tx("disable-l1-validator", f"--validation-id={gone['validationID']}")
        wait_for("it is disabled", lambda: int(l1.validation_of(m[3])["balance"]) == 0)
        l1.pay(m[0], *m[:3])
        l1.tx("increase-l1-balance", f"--validation-id={gone['validationID']}", "--amount=3")
        wait_for("it counts again", lambda: int(l1.validation_of(m[3])["balance"]) > 0)
        l1.pay(m[3], *m)


def registration(l1, node, expiry, weight=10):
    """What a manager asks for; the validator's owners are nobody in particular."""
    keys = ask(node, "/ext/info", "info.getNodeID")
    owner = (1).to_bytes(4, "big") + (1).to_bytes(4, "big") + bytes(19) + b"\1"
    return keys, (bytes(2) + (1).to_bytes(4, "big") + txs.cb58(l1.subnet) + (20).to_bytes(4, "big") +
                  txs.cb58(keys["nodeID"].removeprefix("NodeID-")) + bytes.fromhex(keys["nodePOP"]["publicKey"][2:]) +
                  expiry.to_bytes(8, "big") + owner + owner + weight.to_bytes(8, "big"))


def never_there(l1, payload):
    """The P-Chain's word that a registration is not used and never will be; None: its validators refuse."""
    field = b"\x12" + bytes([len(payload) & 127 | 128, len(payload) >> 7]) + payload
    claim = bytes(5) + b"\2" + hashlib.sha256(payload).digest() + b"\0"
    call = bytes(2) + (1).to_bytes(4, "big") + bytes(4) + len(claim).to_bytes(4, "big") + claim
    message = bytes(2) + (1337).to_bytes(4, "big") + bytes(32) + len(call).to_bytes(4, "big") + call
    try:
        return ask(l1.members[0], "/v1/warp", "warp.getMessageAggregateSignature", chain="P", message="0x" + message.hex(),
                   justification="0x" + field.hex(), subnetID=l1.subnet, quorumNum="67")["message"]
    except AssertionError as e:
        assert "can still be registered" in str(e) or "exists" in str(e), e
        return None


def test_registrations_expire(env):
    """A registration is used once, and not after its time; then the validators say that it will never come."""
    with Network(env) as net:
        l1 = L1(env, net, "0x" + ME.hex())
        sender, end = Sender(l1.members[0], l1.chain), int(time.time()) + 120

        def signed(payload):
            mid, _, _ = sender.say(payload)
            return ask(l1.members[0], "/v1/warp", "warp.getMessageAggregateSignature", chain=l1.chain, messageID=cb58_of(mid),
                       subnetID=l1.subnet, quorumNum="67")["message"]

        def flags(keys, message):
            return "--amount=1", f"--bls-pop={keys['nodePOP']['proofOfPossession']}", f"--message-file={message}"

        keys, first = registration(l1, l1.nodes["node1"], end)
        other_keys, second = registration(l1, l1.nodes["node2"], end)
        used = signed(first)
        same(never_there(l1, first), None)
        time.sleep(35)  # the P-Chain judges by the validators of half a minute ago
        l1.tx("register-l1-validator", *flags(keys, used))
        time.sleep(35)  # there is one more who has to sign
        l1.refused("register-l1-validator", *flags(keys, signed(first)), at=l1.nodes["node1"], why="already issued")
        same(never_there(l1, first), None)
        time.sleep(max(0, end + 2 - time.time()))
        l1.refused("register-l1-validator", *flags(other_keys, signed(second)), at=l1.members[0], why="expir")
        same(never_there(l1, second), None)  # the chain's time is that of its last block
        l1.tx("create-net")
        wait_for("the P-Chain's word", lambda: never_there(l1, second) is not None)
