"""An L1 whose validators validate nothing else: they find each other, decide, go on without one of them, and stop or go on
with the money that pays for their places. [spec:pchain-xchain#4] [spec:p2p#6]"""
import json
import pathlib
import re
import subprocess
import urllib.request

import txs
from harness import Rpc, Skip, same
from network_suite import Network, ask, wait_for
from plugin_suite import L1_GENESIS, vm_id
from warp_suite import Sender

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

    def __init__(self, env, net):
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
        self.tx("convert-net", f"--net-id={self.subnet}", f"--chain-id={self.chain}", "--manager=0xfeed", *flags)
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

    def refused(self, kind, *flags, at):
        p = subprocess.run([str(self.folder / "candela-cli"), "tx", "run", kind, *flags, f"--rpc={at['uri']}",
                            f"--key-file={self.net.dir / 'key.txt'}"], capture_output=True, text=True, timeout=120)
        assert p.returncode == 1 and "refused: the chain would stand still" in p.stderr, p

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
