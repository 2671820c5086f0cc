#!/usr/bin/env python3
"""How long collecting takes: twenty validators on this machine, messages of the C-Chain that all of them have accepted, each
asked for once over HTTP (warp_getMessageAggregateSignature), by two thirds of the stake and by all of it. One JSON line each.

usage: bench/collect.py [--nodes N] [--messages N] [--program FILE]"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import network_suite  # noqa: E402 - found through the path just set
import warp_suite  # noqa: E402

LIMIT_MS = 30


def collect(rpc, message, quorum):
    start = time.perf_counter()
    warp_suite.collects(rpc, message, quorum)
    return (time.perf_counter() - start) * 1000


def report(name, times, nodes):
    times.sort()
    p50 = times[len(times) // 2]
    print(json.dumps({"group": "warp", "name": f"collect, {name}", "validators": nodes, "messages": len(times),
                      "p50_ms": round(p50, 1), "p95_ms": round(times[len(times) * 95 // 100], 1), "limit_ms": LIMIT_MS}))
    return p50 > LIMIT_MS


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--nodes", type=int, default=20)
    args.add_argument("--messages", type=int, default=40)
    args.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "candela"))
    opt = args.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="candela-bench-"))
    binary = pathlib.Path(opt.program).resolve()
    try:
        with network_suite.Network(types.SimpleNamespace(binary=binary, dir=lambda: str(folder))) as net:
            nodes = net.nodes("up", f"--nodes={opt.nodes}")
            sender = warp_suite.Sender(nodes["node1"])
            said = [sender.say(b"message %d" % i)[0] for i in range(opt.messages)]
            warp_suite.on_all(nodes, said[-1])
            rpc = warp_suite.rpc_of(nodes["node1"])
            half = opt.messages // 2
            missed = report("two thirds", [collect(rpc, m, 67) for m in said[:half]], opt.nodes)
            missed = report("all", [collect(rpc, m, 100) for m in said[half:]], opt.nodes) or missed
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
