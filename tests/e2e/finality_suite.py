"""candela-cli finality: certificates checked by somebody who has a checkpoint and trusts nothing else, and what is wrong
with wrong ones. [spec:finality#2] [spec:finality#5]"""
import json
import pathlib
import re
import shlex
import subprocess

from cli_suite import run
from harness import ROOT, match, same
from network_suite import Network, ask, wait_for

VALIDATORS, DAYS = 7, 34
EWOQ = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"


def sample(env):
    """A network's files, made once."""
    folder = pathlib.Path(env.dir())
    program = env.binary.parent.parent / "test" / "finality_sample"
    assert program.is_file(), f"{program}: no such program, build it first"
    subprocess.run([program, folder, str(VALIDATORS), str(DAYS)], check=True, capture_output=True, timeout=120)
    return folder


def verify(env, folder, cert, *flags):
    code, out, err = run(env, "finality", "verify", cert, "--checkpoint=network.checkpoint", "--json", *flags, cwd=folder)
    same(err, "", cert)
    return code, json.loads(out)


def test_verdicts(env):
    folder = sample(env)
    for type_, want in enumerate([(3, "bls-final"), (3, "threshold"), (0, "final"), (0, "final")]):
        code, got = verify(env, folder, f"type{type_}.cert")
        same((code, got["verdict"], got["type"], got["epoch"], got["setChanges"]), (*want, type_, 0, 0))
        code, out, err = run(env, "finality", "verify", f"type{type_}.cert", "--checkpoint=network.checkpoint", cwd=folder)
        match(out, {"final": "^FINAL: block", "bls-final": "^FINAL BY BLS ALONE: ", "threshold": "^NOT FINAL: "}[want[1]])
    # as hexadecimal digits, and from standard input
    data = (folder / "type2.cert").read_bytes()
    (folder / "type2.hex").write_text("0x" + data.hex() + "\n")
    same(verify(env, folder, "type2.hex")[0], 0)
    code, out, err = run(env, "finality", "verify", "-", "--checkpoint=network.checkpoint", stdin=data, cwd=folder)
    same(code, 0, err)


def test_set_changes(env):
    folder = sample(env)
    code, got = verify(env, folder, "last.cert")
    same((code, got["verdict"], got["of"]), (1, "refused", "certificate"))
    code, got = verify(env, folder, "last.cert", "--changes=year.changes")
    same((code, got["verdict"], got["epoch"], got["quantumSafeChanges"]), (0, "final", DAYS, True))
    assert 1 < got["setChanges"] < DAYS, got
    code, got = verify(env, folder, "last.cert", "--changes=day.changes")
    same((code, got["verdict"], got["setChanges"]), (3, "bls-final", DAYS))
    code, out, err = run(env, "finality", "verify", "last.cert", "--checkpoint=network.checkpoint",
                         "--changes=day.changes", cwd=folder)
    match(out, "not safe against quantum computers")
    # a block of the first epoch does not need them
    code, got = verify(env, folder, "type3.cert", "--changes=year.changes")
    same((code, got["setChanges"]), (0, 0))


def test_tampered(env):
    folder = sample(env)
    for name, at, reason in (("type2.cert", 3, "CHAIN"), ("type2.cert", 40, "BLS"), ("type2.cert", 90, "TOTAL"),
                             ("type2.cert", 98, "WEIGHT"), ("type2.cert", 120, "BLS_FORM|BLS"),
                             ("type2.cert", 20000, "LATTICE"), ("type3.cert", 9000, "MLDSA"),
                             ("type0.cert", 0, "VERSION")):
        data = bytearray((folder / name).read_bytes())
        data[at] ^= 1
        (folder / "bad").write_bytes(data)
        code, got = verify(env, folder, "bad")
        same((code, got["verdict"]), (1, "refused"), reason)
        match(got["reason"], f"^({reason})$", str(at))
        code, out, err = run(env, "finality", "verify", "bad", "--checkpoint=network.checkpoint", cwd=folder)
        match(out, "^REFUSED, the certificate: ")
    data = bytearray((folder / "year.changes").read_bytes())
    data[200] ^= 1
    (folder / "bad").write_bytes(data)
    code, got = verify(env, folder, "last.cert", "--changes=bad")
    same((code, got["of"]), (1, "set changes"), str(got))
    data = bytearray((folder / "network.checkpoint").read_bytes())
    data[200] ^= 1
    (folder / "bad").write_bytes(data)
    code, out, err = run(env, "finality", "verify", "type2.cert", "--checkpoint=bad", cwd=folder)
    same((code, out), (1, ""))
    match(err, "sum does not match")
    same(verify(env, folder, "type2.cert", "--chain=X")[1]["reason"], "CHAIN")


def test_a_network_makes_its_blocks_final(env):
    """Five validators sign over the network; two of them are dead for a while; a stranger checks what comes of it."""
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
            return int(ask(nodes["node1"], "/ext/info", "info.finality", chain="C")["signed"]["height"]
                       if ask(nodes["node1"], "/ext/info", "info.finality", chain="C")["signed"] else 0)

        pay()
        for node in nodes.values():
            wait_for("the first block is final", lambda: final(node, "C", 1))
        state = ask(nodes["node2"], "/ext/info", "info.finality", chain="C")["final"]
        same(state["type"], "mldsa")
        # Who trusts node1's checkpoint needs to believe nobody about node2's certificate.
        folder = pathlib.Path(env.dir())
        (folder / "network.checkpoint").write_text(
            ask(nodes["node1"], "/ext/info", "info.getCheckpoint", encoding="hexnc")["checkpoint"])
        (folder / "block.cert").write_text(ask(nodes["node2"], "/ext/info", "info.getCertificate", chain="C",
                                               blockID=state["blockID"], encoding="hexnc")["certificate"])
        code, got = verify(env, folder, "block.cert")
        same((code, got["verdict"], got["type"]), (0, "final", 3))
        code, out, err = run(env, "finality", "verify", "block.cert", "--checkpoint=network.checkpoint", "--chain=X",
                             cwd=folder)
        same(code, 1, "a certificate is for its chain")
        # One of five is dead: four fifths go on. Back again, it hears of what it missed.
        net.do("kill", "node5")
        pay()
        wait_for("a block without node5 is final", lambda: final(nodes["node3"], "C", 2))
        net.nodes("up")
        back = net.nodes()["node5"]
        pay()
        wait_for("node5 has it final, too", lambda: final(back, "C", 3))
        match(str(ask(back, "/ext/info", "info.getCertificate", chain="C", height=3, encoding="hexnc")), "certificate")


def test_without_validators(env):
    node = env.start("--sybil-protection-enabled=false", network="local")
    at = {"uri": node.url}
    try:
        ask(at, "/ext/info", "info.finality", chain="C")
        raise RuntimeError("a lone node made something final")
    except AssertionError as e:
        match(str(e), "this node decides without validators")


def test_arguments(env):
    folder = sample(env)
    for args, text in ((["verify", "type2.cert"], "--checkpoint is missing"), (["verify"], "that command goes"),
                       (["verify", "type2.cert", "--checkpoint=network.checkpoint", "--chain=Y"], "neither an ID nor a name")):
        code, out, err = run(env, "finality", *args, cwd=folder)
        same((code, out), (2, ""))
        match(err, text)
    code, out, err = run(env, "finality", "verify", "none.cert", "--checkpoint=network.checkpoint", cwd=folder)
    same((code, out), (1, ""))


def test_decode(env):
    folder = sample(env)
    shown = {}
    for name in ("network.checkpoint", "year.changes", "type2.cert", "type3.cert"):
        code, out, err = run(env, "finality", "decode", name, "--json", cwd=folder)
        same((code, err), (0, ""), name)
        shown[name] = json.loads(out)
    point = shown["network.checkpoint"]
    same((point["kind"], point["epoch"], len(point["validators"]), point["thresholdKey"]), ("checkpoint", 0, VALIDATORS, True))
    same(sum(int(v["weight"]) for v in point["validators"]), int(point["totalWeight"]))
    same(sorted(point["chains"]), ["C", "P", "X"])
    same(shown["type2.cert"]["chainID"], point["chains"]["C"])
    same(shown["year.changes"]["changes"][-1]["epoch"], DAYS)
    nodes = {v["nodeID"] for v in point["validators"]}
    assert nodes.issuperset(shown["type3.cert"]["mldsaSigners"]), shown["type3.cert"]
    code, out, err = run(env, "finality", "decode", "deadbeef", cwd=folder)
    same((code, out), (1, ""))
    match(err, "no certificate")


def test_example_program(env):
    folder = sample(env)
    program = env.binary.parent / "is-final"
    for args, code, text in ((["type2.cert"], 0, "final: good"), (["type0.cert"], 1, "not final: good"),
                             (["last.cert"], 1, "not final: the total weight is not that of the set"),
                             (["last.cert", "year.changes"], 0, "final: good"),
                             (["last.cert", "day.changes"], 1, "not final: good"),
                             (["year.changes"], 1, "not final: the version is not 0")):
        p = subprocess.run([program, "network.checkpoint", *args], cwd=folder, capture_output=True, text=True, timeout=60)
        same((p.returncode, p.stdout, p.stderr), (code, text + "\n", ""), str(args))


def test_examples_of_the_document(env):
    """Each `$ candela-cli …` of docs/finality.md prints what stands below it, beside the sample."""
    folder = sample(env)
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "docs" / "finality.md").read_text(), re.S)
    assert len(blocks) >= 3, blocks
    for block in blocks:
        command, want = block.split("\n", 1)
        words = shlex.split(command.removeprefix("$ "))
        same(words[0], "candela-cli")
        code, out, err = run(env, *words[1:], cwd=folder)
        same(out + err, want, command)
