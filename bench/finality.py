#!/usr/bin/env python3
"""How soon blocks are final: five validators on this machine, transfers on the C-Chain one after the other, and the times
that the nodes themselves measured from accepting a block to its certificates (metrics finality_bls_seconds and
finality_final_seconds, read between the bounds of their buckets). One JSON line each, without and with a threshold key.

usage: bench/finality.py [--nodes N] [--blocks N] [--program FILE]"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import types
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import network_suite  # noqa: E402 - found through the path just set

KEY = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"
PACE_S = 3.5  # one final certificate in 3 s: who measures more often measures the pace
LIMITS_MS = {"bls": 20, "final": 1000}


def buckets(node, name):
    """[(upper bound in seconds, blocks up to there)] of a histogram."""
    text = urllib.request.urlopen(node["uri"] + "/v1/metrics", timeout=10).read().decode()
    rows = re.findall(rf'\w*{name}_bucket{{[^}}]*le="([^"]+)"[^}}]*}} (\d+)', text)
    return [(float(le), int(cnt)) for le, cnt in rows]


def share(nodes, name, part):
    """The time within which that part of all blocks of all nodes was done, in ms."""
    all_rows = [buckets(n, name) for n in nodes]
    rows = [(r[0][0], sum(b[1] for b in r)) for r in zip(*all_rows)]
    want, low, below = rows[-1][1] * part, 0.0, 0
    for high, cnt in rows:
        if cnt >= want and cnt > below:
            return rows[-1][1], round((low + (high - low) * (want - below) / (cnt - below)) * 1000, 1)
        low, below = high, cnt
    return 0, None


def measure(cli, net, nodes, key, what, opt):
    for _ in range(opt.blocks):
        subprocess.run([cli, "send", "--chain=C", "--to=0x1111111111111111111111111111111111111111", "--amount=1",
                        f"--key-file={key}", f"--rpc={nodes[0]['uri']}"], check=True, capture_output=True)
        time.sleep(PACE_S)
    missed = False
    for name, limit in LIMITS_MS.items():
        cnt, p50 = share(nodes, f"finality_{name}_seconds", 0.5)
        p95 = share(nodes, f"finality_{name}_seconds", 0.95)[1]
        print(json.dumps({"group": "finality", "name": f"{name}, {what}", "nodes": len(nodes), "blocks": cnt, "p50_ms": p50,
                          "p95_ms": p95, "limit_ms": limit}), flush=True)
        missed = missed or p50 is None or p50 > limit
    return missed


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--nodes", type=int, default=5)
    args.add_argument("--blocks", type=int, default=15)
    args.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "candela"))
    opt = args.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="candela-bench-"))
    binary = pathlib.Path(opt.program).resolve()
    cli = str(binary.parent / "candela-cli")
    (folder / "key.txt").write_text(KEY)
    try:
        with network_suite.Network(types.SimpleNamespace(binary=binary, dir=lambda: str(folder))) as net:
            nodes = list(net.nodes("up", f"--nodes={opt.nodes}").values())
            missed = measure(cli, net, nodes, folder / "key.txt", "ML-DSA", opt)
            subprocess.run([cli, "finality", "deal", ",".join(n["nodeID"] for n in nodes), f"--out={folder / 'keys'}"],
                           check=True, capture_output=True)
            net.do("down")
            for n in nodes:
                staking = net.dir / n["name"] / "staking"
                shutil.copy(folder / "keys" / "group.key", staking / "finality.group")
                shutil.copy(folder / "keys" / f"{n['nodeID']}.share", staking / "finality.share")
            nodes = list(net.nodes("up").values())
            missed = measure(cli, net, nodes, folder / "key.txt", "threshold", opt) or missed
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
