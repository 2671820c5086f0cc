#!/usr/bin/env python3
"""Drives pages in headless Chromium; ends with `N passed, M failed`.

usage: tests/e2e/browser/run.py adx|pricing|explorer|index|primary|project|finality|webhooks PROGRAM [--node CANDELA] [--shots FOLDER]

PROGRAM is for finality the candela program, beside which ../web/finality.html is; for adx the candela-adx program; for pricing the page test of services/pricing, which serves the page with a provider that is played; for explorer,
index, primary and project the candela program (primary: every kind of transaction of P, X and C was made; project: a Hardhat project has deployed and used contracts); for webhooks
candela-webhooks, with the node that it follows. Packages are pinned by
package-lock.json and installed into build/e2e/browser, once. CANDELA_TEST_FULL=1 looks at more pages."""
import argparse
import atexit
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import types

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import clients  # noqa: E402 - found through the path just set
import hardhat_suite  # noqa: E402
import harness  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
WORK = harness.ROOT / "build" / "e2e" / "browser"
LIMIT_S = 900


def install():
    clients.need_node()
    if shutil.which(os.environ.get("CHROMIUM", "chromium")) is None:
        clients.missing("chromium is not installed")
    with clients.Lock():
        WORK.mkdir(parents=True, exist_ok=True)
        for source in [HERE / "package.json", HERE / "package-lock.json", HERE.parent / ".npmrc", *HERE.glob("*.mjs")]:
            shutil.copy(source, WORK / source.name)
        clients.once("installed-browser", [HERE / "package-lock.json"],
                     ["npm", "ci", "--no-progress", "--prefix", str(WORK)])


def serve_pricing(program):
    server = subprocess.Popen([program, "serve", "0"], stdout=subprocess.PIPE, text=True)
    return server, f"http://127.0.0.1:{int(server.stdout.readline())}"


def serve_explorer(program):
    """A development network of its own, and the contracts that the client suites compile."""
    clients.install()
    shutil.copy(clients.WORK / "contracts.json", WORK / "contracts.json")
    server = subprocess.Popen([program, "--network-id=dev", "--in-memory", "--http-port=0", "--log-format=json"],
                              stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if '"msg":"ready"' in line:
            # what it says from here on nobody reads
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return server, json.loads(line)["rpc"]
    raise RuntimeError("the node did not get ready")


def serve_project(program):
    """The same with what a Hardhat project has deployed and done."""
    server, origin = serve_explorer(program)
    node = types.SimpleNamespace(url=origin)
    try:
        hardhat_suite.copy_project()
        shutil.copytree(HERE.parent / "hardhat" / "scripts", hardhat_suite.PROJECT / "scripts", dirs_exist_ok=True)
        p = hardhat_suite.hardhat(node, "run", "scripts/explorer.cjs")
        assert p.returncode == 0, (p.stdout + p.stderr)[-2000:]
        (WORK / "project.json").write_text(p.stdout.strip().splitlines()[-1])
    except BaseException:
        server.terminate()
        raise
    return server, origin


def serve_adx(program):
    """An exchange with campaigns of which one has a hostile name, a bidder, paid impressions and a sealed auction."""
    sys.path.insert(0, str(HERE.parent / "adx"))
    import world  # noqa: PLC0415 - only this page needs it
    w = world.World(pathlib.Path(program).resolve())
    d1 = w.bidder()
    x = world.Exchange(w, {"campaigns": [world.campaign(), world.campaign("c2", adomain=["<script>x</script>"], cpm="2.00")],
                           "dsps": [world.dsp("d1", d1, timeout_ms=80)], "slots": [world.SLOT]}, "--client-rate=0")
    for _ in range(4):
        token = re.search(r"/t/impression\?b=([\w-]+)", x.get("/vast?slot=s1")[1].decode())[1]
        assert x.get(f"/t/impression?b={token}")[0] == 204
    (w.root / "keys.json").write_bytes(x.get("/auction/keys")[1])
    made = {"slot_id": "s1", "reserve": "1000000", "duration_ms": 5000, "reveal_ms": 300}
    auction = json.loads(x.call("POST", "/auction/create", json.dumps(made))[1])["auction_id"]
    for i, value in enumerate((5000000, 2500000, 31000000, 900000, 7000000)):
        bid = subprocess.run([program, "seal-bid", f"--bidder=d{i}", f"--value={value}", f"--keys={w.root}/keys.json",
                              f"--auction-id={auction}"], capture_output=True, text=True, check=True)
        status = x.call("POST", "/auction/sealed", json.dumps(json.loads(bid.stdout)["body"]))[0]
        assert status == 200, status
    w.until(lambda: x.get(f"/auction/outcome?auction_id={auction}")[0] == 200, "the outcome")
    miners = [miner(w, x, "--tunnel=direct", "--public-ip=203.0.113.7"), miner(w, x, "--tunnel=none")]
    (WORK / "adx.json").write_text(json.dumps({"auction": auction, "miners": miners}))
    atexit.register(w.close)
    return x.process, f"http://127.0.0.1:{x.port}"


def miner(w, x, *flags):
    """A miner of the exchange; where its page is."""
    data = w.folder()
    process = subprocess.Popen([w.bin, "miner", "start", "--port=0", "--bind=127.0.0.1", f"--data-dir={data}", "--log-format=json",
                                f"--exchange=http://127.0.0.1:{x.port}", "--wallet=0x52908400098527886E0F7030069857D2E4169EE7", *flags],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    atexit.register(process.kill)
    for line in process.stdout:
        if '"listening"' in line:
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return f"http://127.0.0.1:{json.loads(line)['port']}"
    raise RuntimeError("the miner did not get ready")


def serve_finality(program):
    """The page, a block of a development network with its proofs, a network's certificates of that block, and somebody who
    answers as a node would."""
    build = pathlib.Path(program).resolve().parent.parent
    page = build / "web" / "finality.html"
    if not page.is_file():
        raise harness.Skip("the page is not built: it needs clang and lld")
    node, origin = serve_explorer(program)
    try:
        facts = chain_facts(harness.Rpc("127.0.0.1", int(origin.rsplit(":", 1)[1].split("/")[0]), "/v1/bc/C/rpc"))
    finally:
        node.terminate()
        node.wait()
    folder = WORK / "finality"
    folder.mkdir(exist_ok=True)
    subprocess.run([build / "test" / "finality_sample", folder, "21", "365", facts["hash"][2:]], check=True, capture_output=True)
    # the same block in that of a proposer, which has an ID of its own
    inner = bytes.fromhex(facts["block"][2:])
    unsigned = bytes(6) + b"\x07" * 32 + bytes(7) + b"\1" + bytes(7) + b"\x2a" + bytes(4) + len(inner).to_bytes(4, "big") + inner
    facts["wrapped"] = "0x" + (unsigned + (3).to_bytes(4, "big") + b"sig").hex()
    outer = WORK / "finality-outer"
    outer.mkdir(exist_ok=True)
    subprocess.run([build / "test" / "finality_sample", outer, "4", "1", hashlib.sha256(unsigned).hexdigest()], check=True, capture_output=True)
    vectors = pathlib.Path(os.environ.get("CANDELA_TESTDATA", harness.ROOT.parent / "shared" / "testdata")) / "p2p" / "proposervm_blocks.json"
    facts["proposers"] = json.loads(vectors.read_text())["blocks"] if vectors.is_file() else []
    (WORK / "finality.json").write_text(json.dumps({"folder": str(folder), "outer": str(outer), **facts}))

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, kind, data):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):  # noqa: N802 - the base class's name
            self.answer("text/html; charset=utf-8", page.read_bytes())

        def do_POST(self):  # noqa: N802
            ask = json.loads(self.rfile.read(int(self.headers["content-length"])))
            same = {"info.getFinalityCertificate": ("certificate", "type2.cert"), "info.getFinalityChanges": ("changes", "year.changes")}
            key, name = same[ask["method"]]
            self.answer("application/json", json.dumps({"result": {key: "0x" + (folder / name).read_bytes().hex()}}).encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return types.SimpleNamespace(terminate=server.shutdown, wait=server.server_close), f"http://127.0.0.1:{server.server_address[1]}"


def chain_facts(ask):
    """A block with a payment and a contract that has stored something, its header, and the proofs of both."""
    sender = ask("eth_accounts")[0]
    code = "0x602a60005560016000f3"  # stores 42 in slot 0 and leaves one byte of code
    made = ask("eth_sendTransaction", {"from": sender, "data": code, "gas": "0x20000"})
    for _ in range(100):
        receipt = ask("eth_getTransactionReceipt", made)
        if receipt:
            break
        time.sleep(0.05)
    number = receipt["blockNumber"]
    return {"hash": receipt["blockHash"], "header": ask("debug_getRawHeader", number), "block": ask("debug_getRawBlock", number),
            "receiptRaw": ask("debug_getRawReceipts", number), "index": receipt["transactionIndex"],
            "account": ask("eth_getProof", sender, [], number), "contract": ask("eth_getProof", receipt["contractAddress"], ["0x0", "0x1"], number),
            "nobody": ask("eth_getProof", "0x" + "12" * 20, [], number)}


def serve_primary(program):
    """A node on which every kind of transaction of P, X and C was made."""
    import pages_suite  # noqa: PLC0415 - only these pages need it
    env = harness.Env(pathlib.Path(program).resolve())
    atexit.register(env.close)
    cli, made, node = pages_suite.lived(env)
    (WORK / "primary.json").write_text(json.dumps({"made": made, "node": node, "me": pages_suite.ME}))
    return types.SimpleNamespace(terminate=lambda: None, wait=lambda: None), cli.node.url


SERVE = {"finality": serve_finality, "adx": serve_adx, "pricing": serve_pricing, "explorer": serve_explorer, "index": serve_explorer, "primary": serve_primary, "project": serve_project}


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("page", choices=[*SERVE, "webhooks"])
    args.add_argument("program")
    args.add_argument("--node", default="", help="the candela program, for webhooks")
    args.add_argument("--shots", default="", help="a folder for pictures of what was seen")
    opt = args.parse_args()
    try:
        install()
    except harness.Skip as why:
        print(f"SKIP {why}\n0 passed, 0 failed")
        return 0
    if opt.shots:
        os.makedirs(opt.shots, exist_ok=True)
    extent = "full" if os.environ.get("CANDELA_TEST_FULL") == "1" else "sample"
    stack = None
    if opt.page == "webhooks":
        sys.path.insert(0, str(HERE.parent / "webhooks"))
        import stack as stacks  # noqa: PLC0415 - only this page needs it
        stack = stacks.Stack(opt.node, opt.program)
        stack.fill()
        server, origin = stack.service, stack.url
        os.environ["WEBHOOK_KEY"] = stack.keys["b"]
    else:
        try:
            server, origin = SERVE[opt.page](opt.program)
        except harness.Skip as why:
            print(f"SKIP {why}\n0 passed, 0 failed")
            return 0
    try:
        shots = [str(pathlib.Path(opt.shots).resolve())] if opt.shots else []
        p = subprocess.run(["node", f"{opt.page}.mjs", origin, extent, *shots], cwd=WORK,
                           timeout=LIMIT_S)
        return p.returncode
    finally:
        if stack is not None:
            stack.close()
        else:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
