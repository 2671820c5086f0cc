"""candela-cli network: several nodes as one command runs them, and the document about it."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import time

import gonode
import txs
from harness import ROOT, Rpc, match, same

CUSTOM = "X-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"
PATIENCE_S = 120


class Network:
    """A network in a folder of its own; whatever happens, it is down in the end."""

    def __init__(self, env):
        self.cli = env.binary.parent / "candela-cli"
        self.dir = pathlib.Path(env.dir()) / "net"

    def __enter__(self):
        return self

    def __exit__(self, *how):
        self.run("down")

    def run(self, *words):
        p = subprocess.run([str(self.cli), "network", *words, f"--dir={self.dir}", "--json"], capture_output=True,
                           text=True, timeout=300)
        return p.returncode, p.stdout, p.stderr

    def do(self, *words):
        code, out, err = self.run(*words)
        same((code, err), (0, ""), " ".join(words))
        return json.loads(out)

    def nodes(self, *words):
        return {n["name"]: n for n in self.do(*(words or ("status",)))["nodes"]}

    def refuses(self, pattern, *words):
        code, out, err = self.run(*words)
        assert code != 0 and out == "", f"{words} was taken"
        match(json.loads(err)["error"], pattern)


def ask(node, path, method, **params):
    host, port = node["uri"].removeprefix("http://").split(":")
    reply = Rpc(host, int(port), path).post(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    assert "result" in reply, f"{method}: {reply}"
    return reply["result"]


def wait_for(what, is_so):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.1)


def pay(node):
    """A transfer on X, made here, given to one node; its ID."""
    chain = ask(node, "/ext/info", "info.getBlockchainID", alias="X")["blockchainID"]
    asset = ask(node, "/ext/bc/P", "platform.getStakingAssetID")["assetID"]
    wallet = txs.Wallet(1337, asset, {"X": chain})
    coins = [txs.Coin(txs.from_hex(u)) for u in
             ask(node, "/ext/bc/X", "avm.getUTXOs", addresses=[CUSTOM], encoding="hex")["utxos"]]
    coin = max((c for c in coins if c.is_good), key=lambda c: c.amount)
    tx = wallet.base("X", coin, 5_000_000, 1_000_000)
    return ask(node, "/ext/bc/X", "avm.issueTx", tx=tx, encoding="hex")["txID"]


def has(node, tx):
    return ask(node, "/ext/bc/X", "avm.getTxStatus", txID=tx)["status"] == "Accepted"


def test_examples_of_the_document(env):
    """Each `$ candela-cli …` of docs/local-network.md prints what stands below it, … standing for anything."""
    cli = env.binary.parent / "candela-cli"
    home = env.dir()
    text = (ROOT / "docs" / "local-network.md").read_text()
    blocks = re.findall(r"```console\n(.*?)```", text, re.S)
    assert len(blocks) >= 12, blocks
    try:
        for block in blocks:
            command, want = block.split("\n", 1)
            words = shlex.split(command.removeprefix("$ "))
            same(words[0], "candela-cli")
            p = subprocess.run([str(cli), *words[1:]], capture_output=True, text=True, timeout=300,
                               env=dict(os.environ, HOME=home))
            pattern = ".*?".join(map(re.escape, want.split("…")))
            assert re.fullmatch(pattern, p.stdout + p.stderr, re.S), f"{command}: {p.stdout + p.stderr}"
            same(p.returncode, 1 if p.stderr else 0, command)
    finally:
        subprocess.run([str(cli), "network", "down"], env=dict(os.environ, HOME=home), capture_output=True, timeout=300)


def test_who_is_away_has_everything_in_the_end(env):
    with Network(env) as net:
        start = time.monotonic()
        nodes = net.nodes("up", "--network-profile=upstream")
        print(f"five nodes up and agreeing: {time.monotonic() - start:.1f} s")
        same([n["state"] for n in nodes.values()], ["running"] * 5)
        first = pay(nodes["node1"])
        wait_for("a transfer on all", lambda: all(has(n, first) for n in nodes.values()))

        net.do("partition", "node5")
        second = pay(nodes["node2"])
        majority = [nodes[f"node{i}"] for i in range(1, 5)]
        wait_for("most go on", lambda: all(has(n, second) for n in majority))
        same(has(nodes["node5"], second), False)
        net.do("heal")
        wait_for("who was parted follows", lambda: has(nodes["node5"], second))

        net.do("kill", "node4")
        third = pay(nodes["node3"])
        rest = [nodes[f"node{i}"] for i in (1, 2, 3, 5)]
        wait_for("the others go on", lambda: all(has(n, third) for n in rest))
        again = net.nodes("start", "node4")
        same(again["node4"]["uri"], nodes["node4"]["uri"])
        wait_for("who was away follows", lambda: has(nodes["node4"], third))
        wait_for("all have the same last block", lambda: len({
            ask(n, "/ext/index/X/block", "index.getLastAccepted", encoding="hex")["id"] for n in nodes.values()}) == 1)


def test_snapshots(env):
    with Network(env) as net:
        nodes = net.nodes("up", "--nodes=2", "--network-profile=upstream")
        first = pay(nodes["node1"])
        wait_for("on both", lambda: all(has(n, first) for n in nodes.values()))
        net.do("snapshot", "one")
        second = pay(nodes["node2"])
        wait_for("on both", lambda: all(has(n, second) for n in nodes.values()))
        for _ in range(2):
            back = net.nodes("restore", "one")
            same({n: back[n]["uri"] for n in back}, {n: nodes[n]["uri"] for n in nodes})
            same([has(n, first) for n in nodes.values()], [True] * 2)
            same([has(n, second) for n in nodes.values()], [False] * 2)
        third = pay(nodes["node1"])  # it goes on from there
        wait_for("on both", lambda: all(has(n, third) for n in nodes.values()))
        net.refuses('there is a snapshot "one" already', "snapshot", "one")
        net.refuses('there is no snapshot "two"', "restore", "two")
        net.refuses("is no name for a snapshot", "snapshot", "../one")
        same([n["state"] for n in net.nodes().values()], ["running"] * 2)  # also where nothing was done
        same(net.do("snapshots"), ["one"])


def test_with_nodes_of_the_original(env):
    """Some of five run the original's program."""
    program = gonode.build("avalanchego", f"{gonode.MODULE}/main")
    with Network(env) as net:
        nodes = net.nodes("up", "--go=2", f"--go-program={program}")
        same([n["program"] for n in nodes.values()], ["go"] * 2 + ["candela"] * 3)
        for name in ("node1", "node5", "node3", "node4"):  # given to one of either kind, it reaches all
            tx = pay(nodes[name])
            wait_for(f"a transfer of {name} on all", lambda tx=tx: all(has(n, tx) for n in nodes.values()))
        net.refuses("node1 and node2 run the original's program", "partition", "node1")
        net.do("kill", "node5")
        tx = pay(nodes["node1"])
        net.do("start", "node5")
        wait_for("who was away follows", lambda: all(has(n, tx) for n in nodes.values()))
        wait_for("all have the same last block", lambda: len({
            ask(n, "/ext/index/X/block", "index.getLastAccepted", encoding="hex")["id"] for n in nodes.values()}) == 1)


def test_what_is_refused(env):
    with Network(env) as net:
        net.refuses("there is no network in", "status")
        net.refuses("network: up, status,")
        net.refuses("--program: /nowhere is no program", "up", "--program=/nowhere")
        net.refuses("--nodes: one at least", "up", "--nodes=1", "--go=2", "--go-program=/bin/true")
        net.refuses("the original's program knows only", "up", "--go=1", "--go-program=/bin/true",
                    "--network-profile=product")
        net.refuses("there is no network in", "status")  # nothing is left behind that could be taken for one
    with Network(env) as net:
        code, out, err = net.run("up", "--nodes=1", "--program=/bin/false")
        same((code, out), (1, ""))
        match(json.loads(err)["error"], "^node1 has ended")
        same(net.nodes()["node1"]["state"], "down")
    with Network(env) as net:
        net.do("up", "--nodes=1")
        net.refuses("there is no node \"node7\"; there are node1", "kill", "node7")
        net.refuses("network kill NODE", "kill")
        net.refuses("node1 runs", "start", "node1")
        net.do("kill", "node1")
        net.refuses("node1 does not run", "kill", "node1")
        net.refuses('unknown command "bogus"', "bogus")
