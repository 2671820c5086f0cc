"""The commands of docs/adx.md, as they stand there: from nothing to the first paid impression, and the other pieces."""
import json
import os
import re
import signal
import socket
import subprocess
import time

from world import ROOT


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def blocks(text, heading):
    """The code blocks below a heading: (language, code)."""
    part = text.split(f"\n## {heading}", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```(\w+)\n(.*?)```", part, re.S)


def run(w):
    text = (ROOT / "docs/adx.md").read_text()
    folder, port = w.folder(), free_port()
    env = {**os.environ, "PATH": f"{w.bin.parent}:{os.environ['PATH']}"}

    def sh(code):
        code = code.replace("localhost:8080", f"127.0.0.1:{port}").replace("--config=adx.json", f"--config=adx.json --port={port}")
        return subprocess.run(["bash", "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)
    first = blocks(text, "The first paid impression")
    began = time.monotonic()
    (folder / "adx.json").write_text(first[0][1])
    w.check(json.loads(first[0][1])["slots"][0]["id"] == "preroll", "the configuration is JSON")
    lines = first[1][1].splitlines()
    server = subprocess.Popen(["bash", "-c", "exec " + lines[0].rstrip("& ").replace(
        "--config=adx.json", f"--config=adx.json --port={port}")], cwd=folder, env=env, stdout=subprocess.DEVNULL)
    try:
        w.until(lambda: sh("curl -sf localhost:8080/ready").returncode == 0, "ready")
        seen = [sh(c) for c in re.split(r"\n(?=curl)", "\n".join(lines[1:]))]
        w.check(all(s.returncode == 0 for s in seen), str([s.stderr for s in seen]))
        w.check("<Impression" in seen[0].stdout and '"seatbid"' in seen[1].stdout and '"sold"' in seen[2].stdout, "three answers")
        beacon = re.search(r"<Impression[^>]*><!\[CDATA\[(.*?)\]\]>", seen[0].stdout)[1]
        w.check(sh(f"curl -s -o /dev/null -w '%{{http_code}}' '{beacon}'").stdout == "204", "the impression is paid")
        books = sh("candela-adx ledger --data-dir=adx-data --account=publisher/0xbb,fees")
        w.check(json.loads(books.stdout)["publisher/0xbb"] == "999000", f"the books: {books.stdout}{books.stderr}")
        print(f"from nothing to the first paid impression: {time.monotonic() - began:.1f} s", flush=True)
        if sh("jq --version").returncode == 0:
            sealed = next(code for language, code in blocks(text, "Sealed auctions") if language == "sh")
            steps = sealed.split("curl -s \"localhost:8080/auction/outcome", 1)
            w.check(sh(steps[0]).returncode == 0, "a sealed bid")
            wait = 'until curl -sf "localhost:8080/auction/outcome?auction_id=$(jq -r .auction_id receipt.json)" >/dev/null; do sleep 0.1; done\n'
            done = sh(wait + "curl -s \"localhost:8080/auction/outcome" + steps[1])
            w.check(done.returncode == 0, f"its outcome is checked: {done.stdout}{done.stderr}")
        else:
            w.check("CI" not in os.environ, "jq is not installed")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    escrow = next(code for language, code in blocks(text, "On the chain") if language == "json")
    w.check("rpc" in json.loads("{" + escrow.replace("…", "") + "}")["escrow"], "the escrow's example is JSON")
    for command in re.findall(r"candela-adx [a-z-]+(?: start)?(?: --[\w-]+)?", text):
        words = command.split()
        if words[1] == "miner" and words[2:3] != ["start"]:
            continue
        known = subprocess.run([w.bin, *[x for x in words[1:] if not x.startswith("--")], "--help"], capture_output=True,
                               text=True, check=False)
        w.check(known.returncode == 0, f"{command}: {known.stderr}")
        for flag in (x for x in words if x.startswith("--") and x != "--help"):
            w.check(flag in known.stdout, f"{command}: no {flag}")
