#!/usr/bin/env python3
"""Prints the comparison tables of the benchmark results that bench/run.py saved.

    bench/summary.py [--all] [GROUP]...    default: every build/bench/GROUP.jsonl there is

All ratios are speeds: 2 means twice as fast. Means are geometric. Numbers in brackets are targets.
"""

import argparse

import targets
from results import OUT, PEERS, TIME_FIELD, TITLES, Results, load, part_of, ratio


def show(value, target=None):
    text = "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.2f}"
    return f"{text} ({target:.3g})" if target else text


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def ratio_table(results, rows):
    """One line of means a row; a row is (title, names, bounds against geth and revm)."""
    head = ["", "n", "candela/geth", "candela/revm", "revm/geth", "worst against the better peer"]
    lines = []
    for title, names, bounds in rows:
        if not names:
            continue
        line = [title, len(names)]
        line += [show(results.mean("c", p, names), t) for p, t in zip(PEERS, bounds)]
        line.append(show(results.mean("revm", "geth", names)))
        worst = results.against_better_peer(names)[:1]
        line.append(f"{worst[0][0]:.2f} {worst[0][1].split('/')[-1]}" if worst else "-")
        lines.append(line)
    table(head, lines)


def evm_tables(results):
    rows = []
    for title, prefix, left_out, bounds in targets.EVM_ROWS:
        rows.append((title, targets.evm_names(results, prefix, left_out), bounds))
    ratio_table(results, rows)
    for speed, name in results.against_better_peer(results.names):
        if speed < targets.FLOOR:
            print(f"below {targets.FLOOR} of the better peer: {name} {speed:.2f}")


def worst_tables(results):
    rows = []
    for name in results.names:
        line = [name]
        for impl in ("c", "geth"):
            line.append(show(results.time(impl, name, "mgas_s"), targets.WORST_MGAS_S if impl == "c" else None))
        rows.append([*line, show(results.speed("c", "geth", name), targets.WORST_SPEED)])
    table(["hostile byte code, Mgas/s", "candela", "geth", "candela/geth"], rows)


def crypto_tables(results):
    parts = sorted({part_of(name) for name in results.names})
    rows = [(p, [n for n in results.names if part_of(n) == p], (None, None)) for p in parts]
    ratio_table(results, rows)


def trie_tables(results):
    steps = ["insert", "hash", "commit", "prove", "update_hash", "stacktrie"]
    rows = []
    for step in steps:
        names = [name for name in results.names if part_of(name) == step]
        rows.append((step, names, (None, targets.SORTED_ROOT_TARGET if step == "stacktrie" else None)))
    ratio_table(results, rows)
    sums = []
    for size in sorted({int(name.rsplit("_", 1)[1]) for name in results.names}):
        cost = {}
        for impl in ("c", "geth"):
            each = [results.time(impl, f"{step}_{size}") for step in steps[:3]]
            cost[impl] = sum(each) if all(each) else None
        target = targets.TRIE_TARGET if size == targets.TRIE_SIZE else None
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
        line.append(show(results.speed("c", "geth", name), targets.IMPORT_TARGET))
        for impl, target in (("c", targets.SECOND_THREAD_TARGET), ("geth", None)):
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


def rpc_tables(results):
    fields = ["cpu_us_per_req", "rps", "p50_us", "p99_us"]
    server_table(results, "method/connections", fields, targets.rpc_target)


def ws_tables(results):
    server_table(results, "clients", ["cpu_us", "p50_ms", "p99_ms"], targets.ws_target)


def proc_tables(results):
    rows = []
    for name in results.names:
        ours = show(results.time("c", name), targets.PROC_LIMITS.get(name))
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


def print_targets(groups):
    """Every target, one line each."""
    found = targets.targets(groups)
    if found:
        print()
        rows = [[t.name, show(t.got), t.wanted(), "met" if t.is_met else "MISSED"] for t in found]
        table(["targets", "is", "wanted", ""], rows)


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
