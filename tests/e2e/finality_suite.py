"""candela-cli finality: certificates checked by somebody who has a checkpoint and trusts nothing else, and what is wrong
with wrong ones. [spec:finality#2] [spec:finality#5]"""
import http.server
import json
import pathlib
import re
import shlex
import subprocess
import threading

from cli_suite import run
from harness import ROOT, match, same

VALIDATORS, DAYS = 7, 34


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


class Liar:
    """Answers as a node would, with what it is given; asked: what it was asked for."""

    def __init__(self, answers):
        self.asked = []
        liar = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802 - the base class's name
                ask = json.loads(self.rfile.read(int(self.headers["content-length"])))
                liar.asked.append((self.path, ask["method"], ask["params"]))
                text = json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": answers[ask["method"]]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def test_a_node_that_need_not_be_trusted(env):
    folder = sample(env)
    data = {name: "0x" + (folder / name).read_bytes().hex() for name in ("last.cert", "type2.cert", "year.changes")}
    answers = {"info.getFinalityCertificate": {"certificate": data["last.cert"]},
               "info.getFinalityChanges": {"changes": data["year.changes"]}}
    node = Liar(answers)
    try:
        ask = lambda word: verify(env, folder, word, f"--rpc={node.url}")  # noqa: E731
        block = json.loads(run(env, "finality", "decode", "last.cert", "--json", cwd=folder)[1])
        same(ask("C/77")[1]["verdict"], "final")
        same([a[1:] for a in node.asked], [("info.getFinalityCertificate", {"chain": "C", "height": "77"}),
                                           ("info.getFinalityChanges", {"epoch": "0"})])
        for name in (block["blockID"], block["blockHash"]):
            same(ask(f"C/{name}")[0], 0)
            same(node.asked[-2][2], {"chain": "C", "blockID": block["blockHash"]})
        same(ask("X/77")[1]["reason"], "CHAIN")
        code, out, err = run(env, "finality", "verify", "C/77", "--checkpoint=network.checkpoint", f"--rpc={node.url}", cwd=folder)
        match(out, "the node's word")
        # it gives the certificate of another block, or other bytes
        answers["info.getFinalityCertificate"] = {"certificate": data["type2.cert"]}
        code, out, err = run(env, "finality", "verify", f"C/{block['blockID']}", "--checkpoint=network.checkpoint",
                             f"--rpc={node.url}", cwd=folder)
        same((code, out), (1, ""))
        match(err, "another block")
        answers["info.getFinalityCertificate"] = {"certificate": data["last.cert"][:-1] + ("1" if data["last.cert"][-1] == "0" else "0")}
        same(ask("C/77")[0], 1)
        for wrong in ({}, {"certificate": "zz"}, {"certificate": 7}, None):
            answers["info.getFinalityCertificate"] = wrong
            code, out, err = run(env, "finality", "verify", "C/77", "--checkpoint=network.checkpoint", f"--rpc={node.url}", cwd=folder)
            same((code, out), (1, ""))
            match(err, "^error: ")
    finally:
        node.close()


def test_arguments(env):
    folder = sample(env)
    for args, text in ((["verify", "type2.cert"], "--checkpoint is missing"), (["verify"], "that command goes"),
                       (["verify", "type2.cert", "--checkpoint=network.checkpoint", "--chain=Y"], "neither an ID nor a name of a chain")):
        code, out, err = run(env, "finality", *args, cwd=folder)
        same((code, out), (2, ""))
        match(err, text)
    code, out, err = run(env, "finality", "verify", "none.cert", "--checkpoint=network.checkpoint", cwd=folder)
    same((code, out), (1, ""))


def test_deal(env):
    """A dealt key: files for their owner's eyes, and none is ever written over."""
    folder = pathlib.Path(env.dir())
    nodes = ["NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ",
             "NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN", "NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu"]
    (folder / "nodes").write_text("\n".join(nodes) + "\n")
    code, out, err = run(env, "finality", "deal", "nodes", "--out=keys", "--json", cwd=folder)
    same((code, err), (0, ""))
    same((json.loads(out)["threshold"], sorted(json.loads(out)["nodes"])), (3, sorted(nodes)))
    files = {f.name: f.read_bytes() for f in (folder / "keys").iterdir()}
    same(sorted(files), sorted(["group.key", *(f"{n}.share" for n in nodes)]))
    same({(folder / "keys" / name).stat().st_mode & 0o777 for name in files}, {0o600})
    for words, text in (([",".join(nodes), "--out=keys"], "exists"), ([",".join(nodes[:2]), "--out=other"], "3 validators or more"),
                        ([",".join([*nodes, nodes[0]]), "--out=other"], "named twice"), (["nodes"], "--out is missing")):
        code, out, err = run(env, "finality", "deal", *words, cwd=folder)
        assert code != 0 and out == "", (code, out)
        match(err, text)
    same({f.name: f.read_bytes() for f in (folder / "keys").iterdir()}, files)


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
