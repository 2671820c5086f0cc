"""Five validators as processes, and money on P, X, C and between them: every transaction is given to another node, and one
node is killed and comes back meanwhile. In the end all have the same blocks and the same balances. [spec:p2p#8]"""
import json
import signal
import time

import txs
from harness import same
from peers_suite import TRANSFERS, Member, c_chain, is_bootstrapped, stakers, wait_for

FEE = 1_000_000  # more than any of them needs
PATHS = {"P": "/ext/bc/P", "X": "/ext/bc/X", "C": "/ext/bc/C/avax"}
METHODS = {"P": "platform", "X": "avm", "C": "avax"}


def ask(member, chain, method, **params):
    reply = member.node.rpc(PATHS[chain]).post(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"{METHODS[chain]}.{method}", "params": params}))
    assert "result" in reply, f"{chain} {method}: {reply}"
    return reply["result"]


class Network:
    """All validators of the local network, and the wallet of its funded key."""

    def __init__(self, env):
        self.members = [self.member(env, s, i) for i, s in enumerate(stakers())]
        self.all = list(self.members)
        self.turn = 0
        for m in self.members:
            self.start(m)
        wait_for("five of five", lambda: all(len(m.peers()) == 4 for m in self.members))
        wait_for("all have caught up", lambda: all(is_bootstrapped(m) for m in self.members))
        ids = {name: self.members[0].info("getBlockchainID", alias=name)["result"]["blockchainID"] for name in "XC"}
        ids["P"] = "11111111111111111111111111111111LpoYY"
        asset = ask(self.members[0], "P", "getStakingAssetID")["assetID"]
        self.wallet = txs.Wallet(12345, asset, ids)

    def member(self, env, staker, number):
        return Member(env, staker)

    def start(self, member):
        others = [m for m in self.members if m is not member and m.address is not None]
        member.start(others[:1], "--index-enabled", decides="true")

    def next(self):
        """Another node each time."""
        self.turn += 1
        return self.members[self.turn % len(self.members)]

    def coins(self, chain, source=None):
        more = {} if source is None else {"sourceChain": source}
        got = ask(self.members[0], chain, "getUTXOs", addresses=[f"{chain}-{txs.ADDRESS}"], encoding="hex", **more)
        coins = [txs.Coin(txs.from_hex(u)) for u in got["utxos"]]
        return sorted((c for c in coins if c.is_good and c.asset == self.wallet.asset), key=lambda c: -c.amount)

    def is_accepted(self, member, chain, tx):
        if chain == "C":
            return ask(member, "C", "getAtomicTxStatus", txID=tx)["status"] == "Accepted"
        return ask(member, chain, "getTxStatus", txID=tx)["status"] == {"P": "Committed", "X": "Accepted"}[chain]

    def issue(self, chain, tx):
        """Gives it to one node and waits until it is accepted by all; gives how long that took."""
        at = self.next()
        start = time.monotonic()
        tx_id = ask(at, chain, "issueTx", tx=tx, encoding="hex")["txID"]
        wait_for(f"{chain} {tx_id} on all", lambda: all(self.is_accepted(m, chain, tx_id) for m in self.members))
        return time.monotonic() - start

    def pay_on_c(self, number):
        tx = c_chain(self.next(), "eth_sendRawTransaction", TRANSFERS[number])
        wait_for(f"transfer {number} on all",
                 lambda: all(c_chain(m, "eth_getTransactionReceipt", tx) for m in self.members))

    def state(self, member):
        """What every node must have: last accepted containers, and all balances."""
        last = {}
        for chain in "PXC":
            reply = member.node.rpc(f"/ext/index/{chain}/block").post(
                '{"jsonrpc":"2.0","id":1,"method":"index.getLastAccepted","params":{"encoding":"hex"}}')
            last[chain] = reply["result"]["id"], reply["result"]["index"]
        return {
            "last": last,
            "P": ask(member, "P", "getBalance", addresses=[f"P-{txs.ADDRESS}"])["balance"],
            "X": ask(member, "X", "getBalance", address=f"X-{txs.ADDRESS}", assetID="AVAX")["balance"],
            "C": c_chain(member, "eth_getBalance", "0x" + txs.ACCOUNT.hex(), "latest"),
            "root": c_chain(member, "eth_getBlockByNumber", "latest", False)["stateRoot"],
        }


def test_money_goes_round_while_one_is_away(env):
    net = Network(env)
    wallet = net.wallet
    took = [net.issue("P", wallet.base("P", net.coins("P")[0], 5_000_000_000, FEE)),
            net.issue("X", wallet.base("X", net.coins("X")[0], 5_000_000_000, FEE))]
    net.pay_on_c(0)
    took.append(net.issue("X", wallet.exported("X", net.coins("X")[0], "C", 7_000_000_000, FEE)))

    away = net.members.pop()
    away.node.end(signal.SIGKILL)
    took.append(net.issue("C", wallet.imported_to_c(net.coins("C", "X")[0], "X", FEE)))
    took.append(net.issue("P", wallet.exported("P", net.coins("P")[0], "X", 3_000_000_000, FEE)))
    net.members.append(away)
    net.start(away)
    wait_for("the one that was away has caught up", lambda: is_bootstrapped(away))
    took.append(net.issue("X", wallet.imported("X", net.coins("X", "P")[0], "P", FEE)))
    net.pay_on_c(1)
    took.append(net.issue("C", wallet.exported_from_c("P", 2_000_000_000, FEE, 2)))
    took.append(net.issue("P", wallet.imported("P", net.coins("P", "C")[0], "C", FEE)))

    wait_for("five of five the same", lambda: len({str(net.state(m)) for m in net.members}) == 1)
    same(int(net.state(net.members[0])["last"]["X"][1]) >= 2, True)
    print(f"given to one, accepted by all, ms: {sorted(round(s * 1000) for s in took)}")
    for m in net.all:
        same(m.node.end(), 0)
