#!/usr/bin/env python3
"""Unchanged foreign clients against the echo server: npm `ws`, PyPI `websockets`. Ends with `N passed, M failed`.

usage: tests/e2e/ws/clients.py --server build/debug/test/ws_echo

Both come at the versions and hashes pinned here into build/e2e-ws; what cannot be installed is skipped, unless
CI=true.
"""
import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE.parents[2] / "build" / "e2e-ws"
PIP = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--require-hashes",
       "--platform", "any", "--implementation", "py", "--abi", "none", "--only-binary=:all:"]
tally = {"passed": 0, "failed": 0, "skipped": 0}


def note(ok, line):
    tally["passed" if ok else "failed"] += 1
    print(line, flush=True)


def skip(what, why):
    if os.environ.get("CI") == "true":
        note(False, f"FAIL {what}: {why}")
    else:
        tally["skipped"] += 1
        print(f"SKIP {what}: {why}")


def install(what, pin, command):
    """Runs command once for each content of the file that pins; false when it fails."""
    stamp = WORK / f"{what}.sha256"
    want = hashlib.sha256((HERE / pin).read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == want:
        return True
    p = subprocess.run(command, cwd=WORK, capture_output=True, text=True, timeout=300)
    if p.returncode == 0:
        stamp.write_text(want)
    return p.returncode == 0


def npm_ws(port):
    if shutil.which("npm") is None:
        return skip("ws", "npm is not installed")
    for name in ("package.json", "package-lock.json", ".npmrc", "clients.mjs"):
        shutil.copy(HERE / name, WORK / name)
    if not install("npm", "package-lock.json", ["npm", "ci", "--no-progress"]):
        return skip("ws", "npm ci failed")
    p = subprocess.run(["node", "clients.mjs", str(port)], cwd=WORK, capture_output=True, text=True, timeout=300)
    lines = p.stdout.splitlines()
    for line in lines:
        note(line.startswith("ok "), line)
    if p.returncode != sum(line.startswith("FAIL ") for line in lines) or not lines:
        note(False, f"FAIL ws: ended with {p.returncode}: {p.stderr[-500:]}")


def python_websockets(port):
    target = WORK / "python"
    pip = [sys.executable, *PIP, "--python-version", "%d.%d" % sys.version_info[:2], "--target", str(target),
           "--upgrade", "-r", str(HERE / "requirements.txt")]
    if not install("pip", "requirements.txt", pip):
        return skip("websockets", "pip install failed")
    sys.path.insert(0, str(target))
    from websockets.exceptions import ConnectionClosedError
    from websockets.sync.client import connect

    url = f"ws://127.0.0.1:{port}/"
    text = "naïve text " * 20000

    def messages(compression):
        with connect(url, compression=compression, max_size=None) as ws:
            for data in ("", "hello", text, b"", b"\xfe\x00" * 100000):
                ws.send(data)
                assert ws.recv() == data
            ws.send(["in ", "three ", "pieces"])
            assert ws.recv() == "in three pieces"
            assert ws.ping(b"payload").wait(10)
        assert (ws.protocol.close_code, ws.protocol.close_rcvd.code) == (1000, 1000)

    def too_big():
        with connect(url + "small") as ws:
            try:
                ws.send("x" * 65537)
                ws.recv()
                raise AssertionError("no end")
            except ConnectionClosedError as e:
                assert e.rcvd.code == 1009, e

    for name, fn in (("plain", lambda: messages(None)), ("compressed", lambda: messages("deflate")),
                     ("a message that is too big", too_big)):
        try:
            fn()
            note(True, f"ok websockets: {name}")
        except Exception as e:  # whatever goes wrong is this check's failure
            note(False, f"FAIL websockets: {name}: {e!r}")


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--server", required=True, help="the echo server program")
    opt = args.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen([opt.server], stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline().rsplit(" ", 1)[1])
        with open(WORK / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            npm_ws(port)
            python_websockets(port)
    finally:
        server.terminate()
        code = server.wait(30)
    if code != 0:
        note(False, f"FAIL the server ended with {code}")
    print(f"{tally['passed']} passed, {tally['failed']} failed, {tally['skipped']} skipped")
    return 1 if tally["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
