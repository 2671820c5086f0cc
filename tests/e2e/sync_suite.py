"""A node that fetches the state of the C-Chain instead of executing its blocks, from two of five validators, one of which is
killed meanwhile, as is the node itself, with the VM in the node and in a process of its own. In the end it has what all have,
and goes on with them. [spec:evm-chain#13] [spec:plugin#3]"""
import base64
import json
import os
import pathlib
import signal
import time

import evm
import txs
from harness import RpcError, match, same
from peers_suite import PATIENCE_S, c_chain, health, is_bootstrapped, wait_for
from transfers_suite import FEE, Network, ask

INTERVAL = 128  # blocks between two summaries
ROUND = 16      # accounts and slots that a call of the contract makes
GAS_PRICE = 10**12

# Counts on from storage[0]: storage[n] = n, and 1 wei to the account 2^96 + n, ROUND times.
LOOP = bytes.fromhex(f"600054 60{ROUND:02x} 8101 90"
                     "5b 6001 01 80 80 55 6000 6000 6000 6000 6001 85 6c01000000000000000000000000 01 6000 f1 50"
                     "8181 10 6008 57 600055 00".replace(" ", ""))
INIT = bytes([0x60, len(LOOP), 0x60, 12, 0x60, 0, 0x39, 0x60, len(LOOP), 0x60, 0, 0xf3]) + LOOP
SENDER = "0x" + txs.ACCOUNT.hex()


def config(**more):
    """The chain's configuration as a flag; None: the key is left away."""
    keys = {"commit-interval": INTERVAL // 2, "state-sync-commit-interval": INTERVAL, "state-history": 16, **more}
    text = json.dumps({k: v for k, v in keys.items() if v is not None})
    return "--chain-config-content=" + base64.b64encode(json.dumps(
        {"C": {"Config": base64.b64encode(text.encode()).decode()}}).encode()).decode()


def place(inside):
    """Where the VM of the C-Chain is: in the node's process, or in one of its own behind the plugin protocol."""
    return f"--evm-in-process={str(inside).lower()}"


class Five(Network):
    """Five validators whose C-Chains offer summaries often, two of them out of a plugin."""

    def start(self, member):
        others = [m for m in self.members if m is not member and m.address is not None]
        member.start(others[:1], "--index-enabled", place(member not in self.all[3:]), config(), decides="true")

    def send(self, to, data, gas, value=0):
        """Sends a transaction to one of them and waits until it is accepted there."""
        at = self.members[0]
        nonce = int(c_chain(at, "eth_getTransactionCount", SENDER, "latest"), 16)
        raw = evm.transaction(self.chain_id, nonce, to, data, gas, GAS_PRICE, value=value)
        tx = c_chain(at, "eth_sendRawTransaction", raw)
        end = time.monotonic() + PATIENCE_S
        while (got := c_chain(at, "eth_getTransactionReceipt", tx)) is None:
            assert time.monotonic() < end, f"not accepted: {tx}"
            time.sleep(0.005)
        same(got["status"], "0x1")
        return got

    def height(self):
        return int(c_chain(self.members[0], "eth_blockNumber"), 16)

    def fill(self):
        """A contract with many slots, many accounts, imports and exports, and blocks beyond two summaries."""
        self.chain_id = int(c_chain(self.members[0], "eth_chainId"), 16)
        self.contract = self.send(b"", INIT, 300_000)["contractAddress"]
        to = bytes.fromhex(self.contract[2:])
        self.send(to, b"", 1_500_000, value=10**6)
        for _ in range(90):
            self.send(to, b"", 1_500_000)
        self.issue("X", self.wallet.exported("X", self.coins("X")[0], "C", 7_000_000_000, FEE))
        self.issue("C", self.wallet.imported_to_c(self.coins("C", "X")[0], "X", FEE))
        nonce = int(c_chain(self.members[0], "eth_getTransactionCount", SENDER, "latest"), 16)
        self.issue("C", self.wallet.exported_from_c("P", 2_000_000_000, FEE, nonce))
        while self.height() < 2 * INTERVAL + 20:
            self.send(bytes([0xee] * 18 + list(self.height().to_bytes(2, "big"))), b"", 21_000, value=1)


class Newcomer:
    """A node that validates nothing, with a data directory of its own."""

    def __init__(self, env, net, inside=True):
        self.env, self.net, self.inside, self.data, self.node = env, net, inside, env.dir(), None

    def start(self, *flags, **more):
        beacons = self.net.all
        self.node = self.env.start(
            "--network-id=local", "--sybil-protection-enabled=true", "--staking-host=127.0.0.1", place(self.inside),
            "--bootstrap-ips=" + ",".join(b.address for b in beacons), "--bootstrap-ids=" + ",".join(b.id for b in beacons),
            config(**{"state-sync-enabled": True, "state-sync-min-blocks": 100, **more}), *flags, data_dir=self.data)
        return self

    def info(self, method, **params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"info.{method}", "params": params})
        return self.node.rpc("/ext/info").post(body)

    def has_said(self, words):
        return any(words in line for line in self.node.lines)

    def step(self):
        """How far it is, as health tells; nothing before the first look."""
        assert self.node.process.poll() is None, self.node.lines[-8:]
        return health(self)["checks"].get("C", {}).get("message", {}).get("engine", {}).get("bootstrap", {})

    def kill_plugin(self):
        """Kills the process that has the C-Chain's VM."""
        pid = self.node.process.pid
        for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                if b"candela-evm" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)
                    return
        raise AssertionError(f"no plugin of process {pid}")


def same_state(net, new):
    """What the newcomer says of accounts, storage and code is what a validator says, as of the same block."""
    old = net.members[0]
    root = [c_chain(m, "eth_getBlockByNumber", "latest", False)["stateRoot"] for m in (old, new)]
    same(root[0], root[1])
    for method, *params in (
        ("eth_getBalance", SENDER), ("eth_getBalance", "0x" + f"{2**96 + 77:040x}"), ("eth_getTransactionCount", SENDER),
        ("eth_getStorageAt", net.contract, "0x4d"), ("eth_getCode", net.contract),
        ("eth_getProof", net.contract, ["0x5"]), ("eth_call", {"to": net.contract, "from": SENDER, "gas": hex(2_000_000)}),
    ):
        same(c_chain(new, method, *params, "latest"), c_chain(old, method, *params, "latest"), method)
    assert int(c_chain(new, "eth_getStorageAt", net.contract, "0x4d", "latest"), 16) == 0x4d


def by_two_servers(env, net, inside, stop):
    """A newcomer asks two validators, slowly; it is killed on its way, and what stop does happens later."""
    summary = net.height() // INTERVAL * INTERVAL
    new = Newcomer(env, net, inside)
    slowly = {"state-sync-request-size": 1, "max-outbound-active-requests": 1,
              "state-sync-ids": ",".join(m.id for m in net.all[3:])}
    new.start(**slowly)
    wait_for("a sync", lambda: new.has_said("the sync of the state begins"))
    wait_for("some of it", lambda: new.step().get("stateItems", 0) > 20)
    new.node.kill()
    assert not new.has_said("the state is here"), new.node.lines[-3:]
    new.start(**slowly)
    wait_for("it goes on", lambda: new.has_said("the sync of the state goes on where it was"))
    wait_for("some more", lambda: (at := new.step()).get("step") == "syncing state" and at["stateItems"] > 20)
    assert 0 < new.step()["statePermille"] < 1000, new.step()
    stop(new)
    wait_for("the newcomer has caught up", lambda: is_bootstrapped(new))
    assert new.has_said("the state is here"), new.node.lines
    wait_for("the same height", lambda: c_chain(new, "eth_blockNumber") == hex(net.height()))
    same_state(net, new)

    # It has not executed what is before the summary, and says so where it matters.
    done = [json.loads(line) for line in new.node.lines if "the chain has caught up" in line and '"chain":"C"' in line]
    same(done[0]["executed"], net.height() - summary)
    with_txs = hex(summary - 3)
    same(c_chain(new, "eth_getBlockByNumber", with_txs, True), c_chain(net.members[0], "eth_getBlockByNumber", with_txs, True))
    for method, param in (("eth_getBlockReceipts", with_txs), ("eth_getLogs", {"fromBlock": with_txs})):
        try:
            c_chain(new, method, param)
            raise AssertionError(method)
        except RpcError as e:
            match(e.message, "not kept")

    # It goes on with the others: blocks, imports, and after a restart.
    net.send(bytes.fromhex(net.contract[2:]), b"", 1_500_000)
    wait_for("a new block", lambda: c_chain(new, "eth_blockNumber") == hex(net.height()))
    same_state(net, new)
    net.issue("X", net.wallet.exported("X", net.coins("X")[0], "C", 7_000_000_000, FEE))
    net.issue("C", net.wallet.imported_to_c(net.coins("C", "X")[0], "X", FEE))
    wait_for("an import", lambda: c_chain(new, "eth_blockNumber") == hex(net.height()))
    same_state(net, new)
    coins = [ask(m, "C", "getUTXOs", addresses=[f"C-{txs.ADDRESS}"], encoding="hex", sourceChain="X")["numFetched"]
             for m in (net.members[0], new)]
    same(coins[0], coins[1])
    new.node.kill()
    new.start()
    wait_for("it is back", lambda: is_bootstrapped(new))
    same_state(net, new)
    assert not new.has_said("the sync of the state begins"), "it syncs again"
    same(new.node.end(), 0)


def test_a_state_from_two_servers(env):
    net = Five(env)
    net.fill()

    # The process that has the VM ends on the way, too.
    def kill_plugin(new):
        said = len(new.node.lines)
        new.kill_plugin()
        wait_for("it goes on again", lambda: any("goes on where it was" in line for line in new.node.lines[said:]))

    by_two_servers(env, net, False, kill_plugin)

    # One of the two servers ends, and is gone for good.
    def kill_server(_):
        net.members.pop().node.kill()

    by_two_servers(env, net, True, kill_server)
    net.issue("P", net.wallet.imported("P", net.coins("P", "C")[0], "C", FEE))

    # Others take the word of one node for which state it is; that they are at their genesis is reason enough to ask.
    first = net.members[0]
    for inside in (True, False):
        other = Newcomer(env, net, inside)
        other.start(f"--state-sync-ips={first.address}", f"--state-sync-ids={first.id}", **{"state-sync-enabled": None})
        wait_for("another has caught up", lambda: is_bootstrapped(other))
        match("\n".join(other.node.lines), r'the state is here.*lies"?[=:]0')
        same_state(net, other)
        same(other.node.end(), 0)
        same(pathlib.Path(other.data).exists(), True)
    for m in net.members:
        same(m.node.end(signal.SIGTERM), 0)
