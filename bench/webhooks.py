#!/usr/bin/env python3
"""The group webhooks: matching, deliveries beside bare POSTs, and beside receivers that hang [spec:webhooks#10].

    bench/webhooks.py [--seconds 5] [--rounds 3] [--webhooks 500] [--hanging 10000]

bench-deliveries loads the deliverer, its store on the disk and a receiver on loopback. What counts is the processor time
of the sending process: deliveries with as many connections busy as the POSTs have, by the same client in the same run.
The best of the rounds is taken; they run in turn. Rates want two quiet CPUs: they are shown, and not judged.
Results: build/bench/webhooks.jsonl.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench"
BIN = ROOT / "build" / "release" / "bin"
BUSY = 64  # connections of the POSTs
CPU_LIMIT = 2.5  # of a bare POST
MATCH_LIMIT_US = 5000
RATE_WANTED = 20000
FILES = 30000  # descriptors: a socket for every receiver that hangs


def lines(command):
    """The JSON lines of a program."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True, timeout=600)
    return [json.loads(line) for line in done.stdout.splitlines()]


def deliveries(args, hanging, in_flight):
    """POSTs, then deliveries, in a store of their own."""
    with tempfile.TemporaryDirectory(prefix="candela-bench-") as folder:
        return lines([BIN / "bench-deliveries", folder, args.seconds, args.webhooks, hanging, in_flight])


def best(rows):
    return {"per_s": max(r["per_s"] for r in rows), "cpu_us": min(r["cpu_us"] for r in rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--webhooks", type=int, default=500)
    parser.add_argument("--hanging", type=int, default=10000)
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    if os.getloadavg()[0] > 0.5:
        print(f"note: load average {os.getloadavg()[0]:.1f}, figures are soft", file=sys.stderr)

    found = {name: [] for name in ("post", "deliver", "deliver_busy", "deliver_hanging")}
    for _ in range(args.rounds):
        for name, hanging, in_flight in (("deliver", 0, BUSY), ("deliver_busy", 0, 0),
                                         ("deliver_hanging", args.hanging, 0)):
            post, deliver = deliveries(args, hanging, in_flight)
            found["post"].append(post)
            found[name].append(deliver)
    results = {name: best(rows) for name, rows in found.items()}
    results["match"] = lines([BIN / "bench-webhook-match"])[0]
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / "webhooks.jsonl", "w", encoding="utf-8") as out:
        for name, row in results.items():
            out.write(json.dumps({"group": "webhooks", "impl": "candela", "name": name} | row) + "\n")

    ratio = results["deliver"]["cpu_us"] / results["post"]["cpu_us"]
    match_us = results["match"]["match_us_p50"]
    print(f"{'webhooks':18}{'per second':>12}{'CPU us':>10}")
    for name in found:
        print(f"{name:18}{results[name]['per_s']:12.0f}{results[name]['cpu_us']:10.2f}")
    print(f"CPU of a delivery by that of a POST: {ratio:.2f} [{CPU_LIMIT}]")
    print(f"deliveries a second: {results['deliver_busy']['per_s']:.0f} [{RATE_WANTED}]; beside {args.hanging} that hang: "
          f"{results['deliver_hanging']['per_s'] / results['deliver_busy']['per_s']:.2f} of it")
    print(f"5,000 logs against 100,000 webhooks: {match_us} us [{MATCH_LIMIT_US}]")
    return 0 if ratio <= CPU_LIMIT and match_us <= MATCH_LIMIT_US else 1


if __name__ == "__main__":
    sys.exit(main())
