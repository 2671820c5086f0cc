#!/usr/bin/env python3
"""Prints the comparison tables of the benchmark results that bench/run.py saved.

    bench/summary.py [--all] [GROUP]...    default: every build/bench/GROUP.jsonl there is

All ratios are speeds: 2 means twice as fast. Means are geometric. Numbers in brackets are targets.
"""

import argparse
import json
import math
import pathlib
import re

OUT = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench"

# The field that counts for each group, in the order of the tables; smaller is better.
TIME_FIELD = {"evm": "ns", "worst": "ns", "crypto": "ns", "trie": "ns_per_op", "import": "cpu_ms"}
TIME_FIELD |= {"rpc": "cpu_us_per_req", "ws": "cpu_us", "proc": "value"}

TITLES = {"c": "candela", "geth": "geth", "revm": "revm"}
PEERS = ["geth", "revm"]

# Workloads that an analysing interpreter reduces to almost nothing: means are also given without.
JUMPDEST = re.compile("ipsilon_micro/(JUMPDEST_n0_empty|loop_with_many_jumpdests_empty)")
DEGENERATE = re.compile(r"micro/(push\d*_pop|dup_pop|swap\d*|pc_pop|gas_pop|jumpdest)")

# Rows of the evm table: title, prefix of the names, names left out, targets against geth and revm.
EVM_ROWS = [
    ("contract", "contract/", None, (6, 3)),
    ("ipsilon_main", "ipsilon_main/", None, (4, 2.3)),
    ("ipsilon_micro", "ipsilon_micro/", None, (5, 3)),
    ("ipsilon_micro, no JUMPDEST files", "ipsilon_micro/", JUMPDEST, (5, 3)),
    ("micro", "micro/", None, (4.2, 2.3)),
    ("micro, no degenerate files", "micro/", DEGENERATE, (4.2, 2.3)),
    ("precompile", "precompile/", None, (1.15, None)),
]

FLOOR = 0.95  # no single evm workload may fall below this share of the better peer's speed
WORST_SPEED, WORST_MGAS_S = 0.9, 50  # hostile byte code: least speed against geth, and of its own
TRIE_TARGET = 6  # insert + hash + commit at N = 100000 against geth
SORTED_ROOT_TARGET = 1 / 0.6  # against the Rust builder
IMPORT_TARGET = 2.7  # CPU time of a transaction against geth
# Server CPU time of a request or notification against geth; what a node of its own may need.
RPC_TARGETS = {"eth_getLogs_2000": 15, "eth_getBlockByNumber_400": 15}
RPC_TARGETS |= dict.fromkeys(["eth_blockNumber", "eth_getBalance", "web3_clientVersion"], 5)
RPC_TARGETS_AT = "64"  # connections
SUBSCRIBERS_TARGET = 5  # with 1000 connections
PROC_LIMITS = {"start_ms": 50, "rss_idle_mb": 30, "explorer_ms": 50, "explorer_kb": 60}
SECOND_THREAD_TARGET = 0.6  # wall time of an import with two threads to one with one


class Results:
    """Times of one group by implementation and workload; those with two threads apart."""

    def __init__(self, lines, field):
        self.times, self.two_threads = {}, {}
        for line in lines:
            place = self.two_threads if line.get("threads", 1) > 1 else self.times
            place.setdefault(line["impl"], {})[line["name"]] = line
        self.field = field
        self.names = sorted({name for lines in self.times.values() for name in lines})

    def time(self, impl, name, field=None, two_threads=False):
        line = (self.two_threads if two_threads else self.times).get(impl, {}).get(name, {})
        return line.get(field or self.field)

    def speed(self, fast, slow, name):
        """Speed of one implementation relative to another on a workload, or None."""
        return ratio(self.time(slow, name), self.time(fast, name))

    def mean(self, fast, slow, names):
        speeds = [s for s in (self.speed(fast, slow, name) for name in names) if s]
        return math.exp(sum(map(math.log, speeds)) / len(speeds)) if speeds else None

    def against_better_peer(self, names):
        """(speed relative to the better peer, name) of the workloads that can be compared."""
        found = []
        for name in names:
            speeds = [s for s in (self.speed("c", peer, name) for peer in PEERS) if s]
            if speeds:
                found.append((min(speeds), name))
        return sorted(found)


def ratio(a, b):
    return a / b if a and b else None


def show(value, target=None):
    text = "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.2f}"
    return f"{text} ({target:.3g})" if target else text


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def part_of(name):
    """What a workload of the crypto and trie groups belongs to: keccak256/32, update_hash_1000."""
    return re.sub(r"_\d+$", "", name.split("/")[0])


def ratio_table(results, rows):
    """One line of means a row; a row is (title, names, targets against geth and revm)."""
    head = ["", "n", "candela/geth", "candela/revm", "revm/geth", "worst against the better peer"]
    lines = []
    for title, names, targets in rows:
        if not names:
            continue
        line = [title, len(names)]
        line += [show(results.mean("c", p, names), t) for p, t in zip(PEERS, targets)]
        line.append(show(results.mean("revm", "geth", names)))
        worst = results.against_better_peer(names)[:1]
        line.append(f"{worst[0][0]:.2f} {worst[0][1].split('/')[-1]}" if worst else "-")
        lines.append(line)
    table(head, lines)


def evm_tables(results):
    rows = []
    for title, prefix, left_out, targets in EVM_ROWS:
        names = [name for name in results.names if name.startswith(prefix)]
        if left_out:
            names = [name for name in names if not left_out.fullmatch(name)]
        rows.append((title, names, targets))
    ratio_table(results, rows)
    for speed, name in results.against_better_peer(results.names):
        if speed < FLOOR:
            print(f"below {FLOOR} of the better peer: {name} {speed:.2f}")


def worst_tables(results):
    rows = []
    for name in results.names:
        line = [name]
        for impl in ("c", "geth"):
            line.append(show(results.time(impl, name, "mgas_s"), WORST_MGAS_S if impl == "c" else None))
        rows.append([*line, show(results.speed("c", "geth", name), WORST_SPEED)])
    table(["hostile byte code, Mgas/s", "candela", "geth", "candela/geth"], rows)


def missed_targets(groups):
    """What hostile byte code gets below its bounds, one sentence each."""
    results = Results(load("worst"), TIME_FIELD["worst"]) if "worst" in groups else None
    missed = []
    for name in results.names if results else []:
        mgas_s, speed = results.time("c", name, "mgas_s"), results.speed("c", "geth", name)
        if mgas_s and mgas_s < WORST_MGAS_S:
            missed.append(f"{name}: {mgas_s:.1f} Mgas/s, at least {WORST_MGAS_S} wanted")
        if speed and speed < WORST_SPEED:
            missed.append(f"{name}: {speed:.2f} of geth's speed, at least {WORST_SPEED} wanted")
    return missed


def crypto_tables(results):
    parts = sorted({part_of(name) for name in results.names})
    rows = [(p, [n for n in results.names if part_of(n) == p], (None, None)) for p in parts]
    ratio_table(results, rows)


def trie_tables(results):
    steps = ["insert", "hash", "commit", "prove", "update_hash", "stacktrie"]
    rows = []
    for step in steps:
        names = [name for name in results.names if part_of(name) == step]
        rows.append((step, names, (None, SORTED_ROOT_TARGET if step == "stacktrie" else None)))
    ratio_table(results, rows)
    sums = []
    for size in sorted({int(name.rsplit("_", 1)[1]) for name in results.names}):
        cost = {}
        for impl in ("c", "geth"):
            each = [results.time(impl, f"{step}_{size}") for step in steps[:3]]
            cost[impl] = sum(each) if all(each) else None
        target = TRIE_TARGET if size == 100000 else None
        speed = show(ratio(cost["geth"], cost["c"]), target)
        sums.append([f"N = {size}", show(cost["c"]), show(cost["geth"]), speed])
    print()
    table(["insert + hash + commit, ns per key", "candela", "geth", "candela/geth"], sums)


def import_tables(results):
    rows = []
    for name in results.names:
        line = [name]
        for impl in ("c", "geth"):
            line.append(show(results.time(impl, name, "us_per_tx")))
        line.append(show(results.speed("c", "geth", name), IMPORT_TARGET))
        for impl, target in (("c", SECOND_THREAD_TARGET), ("geth", None)):
            two = results.time(impl, name, "wall_ms", two_threads=True)
            line.append(show(ratio(two, results.time(impl, name, "wall_ms")), target))
        rows.append(line)
    head = ["CPU us per transaction", "candela", "geth", "candela/geth"]
    table(head + ["candela wall 2 threads/1", "geth wall 2/1"], rows)


def server_table(results, head, fields, target):
    """One line a workload: the fields of both nodes, then how much less CPU time ours takes."""
    rows = []
    for name in sorted(results.names, key=lambda n: (n.split("/")[0], int(n.split("/")[1]))):
        line = [name]
        for field in fields:
            line += [show(results.time(impl, name, field)) for impl in ("c", "geth")]
        rows.append([*line, show(results.speed("c", "geth", name), target(*name.split("/")))])
    columns = [f"{impl} {field}" for field in fields for impl in ("candela", "geth")]
    table([head, *columns, "geth/candela"], rows)


def rpc_target(name, connections):
    return RPC_TARGETS.get(name) if connections == RPC_TARGETS_AT else None


def ws_target(_, connections):
    return SUBSCRIBERS_TARGET if connections == "1000" else None


def rpc_tables(results):
    fields = ["cpu_us_per_req", "rps", "p50_us", "p99_us"]
    server_table(results, "method/connections", fields, rpc_target)


def ws_tables(results):
    server_table(results, "clients", ["cpu_us", "p50_ms", "p99_ms"], ws_target)


def proc_tables(results):
    rows = []
    for name in results.names:
        ours = show(results.time("c", name), PROC_LIMITS.get(name))
        theirs = show(results.time("geth", name))
        rows.append([name, ours, theirs, show(results.speed("c", "geth", name))])
    table(["", "candela", "geth", "geth/candela"], rows)


TABLES = {
    "evm": evm_tables,
    "worst": worst_tables,
    "crypto": crypto_tables,
    "trie": trie_tables,
    "import": import_tables,
    "rpc": rpc_tables,
    "ws": ws_tables,
    "proc": proc_tables,
}


def load(group):
    return [json.loads(line) for line in (OUT / f"{group}.jsonl").read_text().splitlines()]


def print_targets(groups):
    """What the node has to reach beside geth, or for itself, one line each."""
    rows = []
    for group, target in (("rpc", rpc_target), ("ws", ws_target)):
        results = Results(load(group), TIME_FIELD[group]) if group in groups else None
        for name in results.names if results else []:
            least, speed = target(*name.split("/")), results.speed("c", "geth", name)
            if least and speed:
                rows.append([name, show(speed), f">= {least}", "met" if speed >= least else "MISSED"])
    results = Results(load("proc"), TIME_FIELD["proc"]) if "proc" in groups else None
    for name, most in PROC_LIMITS.items() if results else []:
        value = results.time("c", name)
        if value:
            rows.append([name, show(value), f"<= {most}", "met" if value <= most else "MISSED"])
    if rows:
        print()
        table(["targets of the node", "is", "wanted", ""], rows)


def print_summary(group, show_all=False):
    lines = load(group)
    results = Results(lines, TIME_FIELD[group])
    cal = min((line["cal_ns"] for line in lines if line.get("cal_ns")), default=None)
    print(f"\n{group}" + (f" (1 cal = {cal:.0f} ns)" if cal else ""))
    TABLES[group](results)
    if show_all:
        rows = []
        for name in results.names:
            row = [name] + [show(results.time(impl, name)) for impl in TITLES]
            rows.append(row + [show(results.speed("c", peer, name)) for peer in PEERS])
        print()
        table([TIME_FIELD[group], *TITLES.values(), "candela/geth", "candela/revm"], rows)


def main():
    parser = argparse.ArgumentParser(description="tables of saved benchmark results")
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("--all", action="store_true", help="print every workload")
    args = parser.parse_args()
    for group in args.groups or [g for g in TIME_FIELD if (OUT / f"{g}.jsonl").exists()]:
        print_summary(group, args.all)
    print_targets([g for g in TIME_FIELD if (OUT / f"{g}.jsonl").exists()])


if __name__ == "__main__":
    main()
