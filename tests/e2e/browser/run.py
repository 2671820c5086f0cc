#!/usr/bin/env python3
"""Drives pages in headless Chromium; ends with `N passed, M failed`.

usage: tests/e2e/browser/run.py pricing|explorer|index|project|webhooks PROGRAM [--node CANDELA] [--shots FOLDER]

PROGRAM is for pricing the page test of services/pricing, which serves the page with a provider that is played; for explorer,
index and project the candela program (project: a Hardhat project has deployed and used contracts); for webhooks
candela-webhooks, with the node that it follows. Packages are pinned by
package-lock.json and installed into build/e2e/browser, once. CANDELA_TEST_FULL=1 looks at more pages."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
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


SERVE = {"pricing": serve_pricing, "explorer": serve_explorer, "index": serve_explorer, "project": serve_project}


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
        server, origin = SERVE[opt.page](opt.program)
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
