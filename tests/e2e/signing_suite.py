"""Validators make blocks final over the network, and give strangers what they need to check it. [spec:finality#6]"""
import http.client
import json
import pathlib
import shutil

from cli_suite import run
from finality_suite import verify
from harness import Rpc, match, same
from network_suite import Network, ask, wait_for

EWOQ = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"


def test_a_network_makes_its_blocks_final(env):
    """Five validators sign over the network, one of them is dead for a while; a stranger checks what comes of it."""
    def final(node, chain, height):
        state = ask(node, "/ext/info", "info.finality", chain=chain)["final"]
        return state is not None and int(state["height"]) >= height

    with Network(env) as net:
        nodes = net.nodes("up", "--nodes=5")
        key = pathlib.Path(env.dir()) / "key.txt"
        key.write_text(EWOQ)

        def pay():
            code, out, err = run(env, "send", "--chain=C", "--to=0x1111111111111111111111111111111111111111", "--amount=1",
                                 f"--key-file={key}", f"--rpc={nodes['node1']['uri']}", "--json")
            same(code, 0, err)

        pay()
        for node in nodes.values():
            wait_for("the first block is final", lambda: final(node, "C", 1))
        state = ask(nodes["node2"], "/ext/info", "info.finality", chain="C")["final"]
        same(state["type"], "bls+mldsa")

        def tag(node, name):
            host, port = node["uri"].removeprefix("http://").split(":")
            return int(Rpc(host, int(port), "/ext/bc/C/rpc")("eth_getBlockByNumber", name, False)["number"], 16)

        for node in nodes.values():
            wait_for("clients are told", lambda: tag(node, "finalized") == tag(node, "safe") == tag(node, "latest") == 1)
        # Who trusts node1's checkpoint needs to believe nobody about node2's certificate.
        folder = pathlib.Path(env.dir())
        (folder / "network.checkpoint").write_text(
            ask(nodes["node1"], "/ext/info", "info.getFinalityCheckpoint", encoding="hexnc")["checkpoint"])
        (folder / "block.cert").write_text(ask(nodes["node2"], "/ext/info", "info.getFinalityCertificate", chain="C",
                                               blockID=state["blockID"], encoding="hexnc")["certificate"])
        code, got = verify(env, folder, "block.cert")
        same((code, got["verdict"], got["type"]), (0, "final", 3))
        # The same by one command that asks node3.
        code, got = verify(env, folder, f"C/{state['height']}", f"--rpc={nodes['node3']['uri']}")
        same((code, got["verdict"]), (0, "final"))
        code, out, err = run(env, "finality", "verify", "block.cert", "--checkpoint=network.checkpoint", "--chain=X",
                             cwd=folder)
        same(code, 1, "a certificate is for its chain")
        # People see it, too, with links from the lamps.
        host, port = nodes["node1"]["uri"].removeprefix("http://").split(":")

        def page(path):
            c = http.client.HTTPConnection(host, int(port), timeout=30)
            c.request("GET", "/explorer" + path)
            return c.getresponse().read().decode()

        match(page(""), 'href="/explorer/finality">Quantum-final</a>')
        match(page("/finality"), r"(?s)BLS and ML-DSA<span class=\"sub\">type 3, [45] signatures.*finality verify C/1")
        # One of five is dead: four fifths go on. Back again, it hears of what it missed.
        net.do("kill", "node5")
        pay()
        wait_for("a block without node5 is final", lambda: final(nodes["node3"], "C", 2))
        wait_for("whose name stands there", lambda: nodes["node5"]["nodeID"][:12] in page("/finality"))
        net.nodes("up")
        back = net.nodes()["node5"]
        pay()
        wait_for("node5 has it final, too", lambda: final(back, "C", 3))
        wait_for("and says so", lambda: tag(back, "finalized") == 3)
        match(str(ask(back, "/ext/info", "info.getFinalityCertificate", chain="C", height=3, encoding="hexnc")), "certificate")


def test_a_dealt_threshold_key(env):
    """Four validators with shares of a threshold key: blocks are final by BLS and a lattice signature of the group."""
    def last(node):
        return ask(node, "/ext/info", "info.finality", chain="C")["final"]

    folder = pathlib.Path(env.dir())
    with Network(env) as net:
        nodes = net.nodes("up", "--nodes=4")
        code, out, err = run(env, "finality", "deal", ",".join(n["nodeID"] for n in nodes.values()), "--out=keys", cwd=folder)
        same(code, 0, err)
        net.do("down")
        for name, n in nodes.items():
            staking = net.dir / name / "staking"
            (staking / "finality.group").write_bytes((folder / "keys" / "group.key").read_bytes())
            (staking / "finality.share").write_bytes((folder / "keys" / f"{n['nodeID']}.share").read_bytes())
        nodes = net.nodes("up")
        key = folder / "key.txt"
        key.write_text(EWOQ)
        code, out, err = run(env, "send", "--chain=C", "--to=0x1111111111111111111111111111111111111111", "--amount=1",
                             f"--key-file={key}", f"--rpc={nodes['node1']['uri']}", "--json")
        same(code, 0, err)
        for n in nodes.values():
            wait_for("final by the threshold key", lambda: last(n) is not None and last(n)["type"] == "bls+threshold")
        (folder / "network.checkpoint").write_text(
            ask(nodes["node1"], "/ext/info", "info.getFinalityCheckpoint")["checkpoint"])
        code, got = verify(env, folder, f"C/{last(nodes['node1'])['height']}", f"--rpc={nodes['node4']['uri']}")
        same((code, got["verdict"], got["type"]), (0, "final", 2))


def test_without_validators(env):
    node = env.start("--sybil-protection-enabled=false", network="local")
    at = {"uri": node.url}
    try:
        ask(at, "/ext/info", "info.finality", chain="C")
        raise RuntimeError("a lone node made something final")
    except AssertionError as e:
        match(str(e), "this node decides without validators")


def older(net, seconds):
    """The network begins anew, as if it had been there for that long."""
    path = net.dir / "genesis.json"
    net.do("down")
    genesis = json.loads(path.read_text())
    genesis["startTime"] -= seconds
    path.write_text(json.dumps(genesis))
    for db in net.dir.glob("node*/custom"):
        shutil.rmtree(db)
    return net.nodes("up")


def test_a_stranger_follows_the_set(env):
    """A validator is added, so that an epoch begins, which the set before signs: who has nothing but the old checkpoint
    believes a certificate of the new set, and no other list of changes."""
    folder = pathlib.Path(env.dir())
    with Network(env) as net:
        net.nodes("up", "--nodes=4")
        nodes = older(net, 3600)
        nodes = {n["name"]: n for n in net.do("add")["nodes"]}
        info = ask(nodes["node5"], "/ext/info", "info.getNodeID")
        key = folder / "key.txt"
        key.write_text(EWOQ)
        how = f"--key-file={key}", f"--rpc={nodes['node1']['uri']}", "--json"

        def do(*words):
            code, out, err = run(env, *words, *how)
            same(code, 0, err)
            return json.loads(out)

        def point(node):
            return bytes.fromhex(ask(node, "/ext/info", "info.getFinalityCheckpoint", encoding="hexnc")["checkpoint"][2:])

        def keys(node):
            (folder / "now").write_bytes(point(node))
            shown = json.loads(run(env, "finality", "decode", "now", "--json", cwd=folder)[1])
            return shown["epoch"], [v["nodeID"] for v in shown["validators"] if v["mldsa"]]

        do("send", "--chain=C", "--to=0x1111111111111111111111111111111111111111", "--amount=1")
        wait_for("all keys are announced", lambda: len(keys(nodes["node2"])[1]) == 4)
        (folder / "network.checkpoint").write_bytes(point(nodes["node1"]))
        pop = info["nodePOP"]
        do("tx", "run", "add-validator", f"--node-id={info['nodeID']}", f"--bls-key={pop['publicKey']}",
           f"--bls-pop={pop['proofOfPossession']}", "--amount=2000", "--duration=30h", "--delegation-fee=2.5")
        for n in nodes.values():
            wait_for("an epoch begins", lambda: keys(n)[0] == 1)
        wait_for("the new one's key is known", lambda: info["nodeID"] in keys(nodes["node3"])[1])

        def changes(node):
            return bytes.fromhex(ask(node, "/ext/info", "info.getFinalityChanges", epoch="0", encoding="hexnc")["changes"][2:])

        for name in ("node1", "node2", "node3", "node4"):
            wait_for("the set is signed", lambda: len(changes(nodes[name])) > 6)

        def followed():
            do("send", "--chain=C", "--to=0x1111111111111111111111111111111111111111", "--amount=1")
            state = ask(nodes["node2"], "/ext/info", "info.finality", chain="C")["final"]
            code, got = verify(env, folder, f"C/{state['height']}", f"--rpc={nodes['node3']['uri']}")
            same((code, got["verdict"]), (0, "final"), str(got))
            return got["epoch"] == 1 and got["setChanges"] == 1 and got["quantumSafeChanges"]

        # Blocks are of the epoch before for as long as their P-Chain height is, half a minute.
        wait_for("a certificate of the new set", followed)
        # What was forged leads nowhere: the list of a liar, and a new set without its signatures.
        state = ask(nodes["node2"], "/ext/info", "info.finality", chain="C")["final"]
        cert = ask(nodes["node4"], "/ext/info", "info.getFinalityCertificate", chain="C", height=state["height"], encoding="hexnc")
        (folder / "new.cert").write_text(cert["certificate"])
        good = changes(nodes["node1"])
        (folder / "good").write_bytes(good)
        same(verify(env, folder, "new.cert", "--changes=good")[0], 0)
        bad = bytearray(good)
        bad[-1000] ^= 1
        (folder / "bad").write_bytes(bad)
        code, got = verify(env, folder, "new.cert", "--changes=bad")
        same((code, got["of"]), (1, "set changes"), str(got))
        code, got = verify(env, folder, "new.cert")
        same(code, 1, "without the change, the new set is not believed")
        match(got["reason"], "^(TOTAL|STRANGER)$")
