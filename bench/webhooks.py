#!/usr/bin/env python3
"""The group webhooks: matching, deliveries beside bare POSTs, beside receivers that hang, in a full store [spec:webhooks#10].

    bench/webhooks.py [--seconds 3] [--rounds 4] [--webhooks 500] [--hanging 10000] [--stored 1000000]

bench-deliveries loads the deliverer, its store on the disk and a receiver on loopback. What counts is the processor time
of the sending process: deliveries to the receiver of the POSTs over as many connections, by the same client in the same
run. The other deliveries go to 250 receivers.
Deliveries beside receivers that hang are compared with those beside the same receivers when they answer, by processes that
run at the same time: what else the machine does is the same for all. A third one, shown and not judged, writes the same
events for paused webhooks. Those in a full store are compared with those in an empty one, in pairs, and the middle one of
the ratios is taken. Rates want two quiet CPUs: they are shown, and not judged.
bench-first-byte sends transactions one by one to a development network whose service tells its receiver of each; judged
is the time from the request of the transaction, which is longer than that from the acceptance of its block: the answer
comes behind that. Results: build/bench/webhooks.jsonl.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e" / "webhooks"))
from stack import ALICE, BOB, Stack  # noqa: E402 - found through the path just set

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench"
BIN = ROOT / "build" / "release" / "bin"
BUSY = 64  # connections of the POSTs
CPU_LIMIT = 2.5  # of a bare POST
HANGING_LIMIT = 0.99  # of the deliveries without
WINDOWS = 40  # of --seconds, of those beside receivers that hang
STORED_LIMIT = 0.95  # of the deliveries in an empty store
MATCH_LIMIT_US = 5000
RATE_WANTED = 20000
FIRST_BYTE_LIMIT_US = {"p50": 2000, "p99": 10000}
FILES = 30000  # descriptors: a socket for every receiver that hangs


def lines(command):
    """The JSON lines of a program."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True, timeout=1200)
    return [json.loads(line) for line in done.stdout.splitlines()]


def deliveries(args, *more, folder=None):
    """POSTs, then deliveries, in a store of their own or the one in folder."""
    with tempfile.TemporaryDirectory(prefix="candela-bench-") as own:
        return lines([BIN / "bench-deliveries", folder or own, "-s", args.seconds, "-w", args.webhooks, *more])


def beside(args):
    """The windows in which all ran: beside receivers that hang, the same that answer, the same whose webhooks are paused."""
    kinds = ([], ["-a"], ["-p"])
    with tempfile.TemporaryDirectory(prefix="candela-bench-") as own, ThreadPoolExecutor(len(kinds)) as pool:
        def run(number):
            folder = pathlib.Path(own) / str(number)
            folder.mkdir()
            more = ["-h", args.hanging, "-r", WINDOWS, "-t", 1000, *kinds[number]]
            return [r for r in deliveries(args, *more, folder=folder) if r["name"].startswith("beside")]

        every = list(pool.map(run, range(len(kinds))))
    begin = max(rows[0]["from_s"] for rows in every)
    end = min(rows[-1]["to_s"] for rows in every)
    return [[r for r in rows if begin <= r["from_s"] and r["to_s"] <= end] for rows in every]


def cpu_of(rows):
    return sum(r["cpu_us"] * r["per_s"] for r in rows) / sum(r["per_s"] for r in rows)


def first_byte(count):
    """The times of bench-first-byte, behind a node and a service of its own."""
    stack = Stack(BIN / "candela", BIN / "candela-webhooks")
    try:
        command = [BIN / "bench-first-byte", stack.node.port, count, ALICE, BOB]
        with subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            url = f"http://127.0.0.1:{int(p.stdout.readline())}/hook"
            stack.make("b", url=url, event_type="address_activity", config={"addresses": [BOB]})
            return json.loads(p.communicate("go\n", timeout=600)[0])
    finally:
        stack.close()


def best(rows):
    return {"per_s": max(r["per_s"] for r in rows), "cpu_us": min(r["cpu_us"] for r in rows)}


def ratio(with_it, without):
    """Deliveries per processor second: the quarters of the pairs, the middle one counts."""
    return statistics.quantiles(b["cpu_us"] / a["cpu_us"] for a, b in zip(with_it, without))


def shown(quarters):
    return f"{quarters[1]:.3f} of it (half of the pairs {quarters[0]:.3f} to {quarters[2]:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--webhooks", type=int, default=500)
    parser.add_argument("--hanging", type=int, default=10000)
    parser.add_argument("--stored", type=int, default=1000000)
    parser.add_argument("--transactions", type=int, default=1000)
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    if os.getloadavg()[0] > 0.5:
        print(f"note: load average {os.getloadavg()[0]:.1f}, figures are soft", file=sys.stderr)

    found = {}

    def keep(rows, **names):
        for row in rows:
            found.setdefault(names.get(row["name"], row["name"]), []).append(row)

    with tempfile.TemporaryDirectory(prefix="candela-bench-") as full:
        deliveries(args, "-n", args.stored, folder=full)
        for _ in range(args.rounds):
            keep(deliveries(args, "-f", BUSY, "-o", 1))
            keep(deliveries(args), deliver="deliver_empty")
            keep(deliveries(args, folder=full), deliver="deliver_full")
    hung, answering, paused = beside(args)
    keep(hung + answering + paused)
    results = {name: best(rows) for name, rows in found.items()}
    results["first_byte"] = first_byte(args.transactions)
    results["match"] = lines([BIN / "bench-webhook-match"])[0]
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / "webhooks.jsonl", "w", encoding="utf-8") as out:
        for name, row in results.items():
            out.write(json.dumps({"group": "webhooks", "impl": "candela", "name": name} | row) + "\n")

    cpu = results["deliver"]["cpu_us"] / results["post"]["cpu_us"]
    hanging = cpu_of(answering) / cpu_of(hung)
    full = ratio(found["deliver_full"], found["deliver_empty"])
    match_us = results["match"]["match_us_p50"]
    tried = statistics.median(r["hanging_per_s"] for r in hung)
    print(f"{'webhooks':18}{'per second':>12}{'CPU us':>10}")
    for name in found:
        print(f"{name:18}{results[name]['per_s']:12.0f}{results[name]['cpu_us']:10.2f}")
    spread = results["deliver_empty"]["cpu_us"] / results["post"]["cpu_us"]
    print(f"CPU of a delivery by that of a POST: {cpu:.2f} [{CPU_LIMIT}], to 250 receivers {spread:.2f}")
    print(f"deliveries a second: {results['deliver_empty']['per_s']:.0f} [{RATE_WANTED}]")
    print(f"beside {args.hanging} that hang, {tried:.0f} attempts a second: {hanging:.3f} of it [{HANGING_LIMIT}], "
          f"{cpu_of(paused) / cpu_of(hung):.3f} of that beside paused webhooks")
    print(f"behind {args.stored} that are stored: {shown(full)} [{STORED_LIMIT}]")
    late = results["first_byte"]["from_request_us"]
    print(f"transaction to first byte: p50 {late['p50']} us [{FIRST_BYTE_LIMIT_US['p50']}], "
          f"p99 {late['p99']} us [{FIRST_BYTE_LIMIT_US['p99']}]")
    print(f"5,000 logs against 100,000 webhooks: {match_us} us [{MATCH_LIMIT_US}]")
    holds = all(late[k] < v for k, v in FIRST_BYTE_LIMIT_US.items())
    holds = holds and cpu <= CPU_LIMIT and hanging >= HANGING_LIMIT and full[1] >= STORED_LIMIT and match_us <= MATCH_LIMIT_US
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
