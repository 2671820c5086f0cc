#!/usr/bin/env python3
"""Runs the benchmarks of spec/bench.md with Candela and the installed peers, and compares them.

    bench/run.py [evm|crypto|trie|import]...    default: all four
    bench/run.py --build                        only build the peers

The programs run in turn on the same bytes, pinned to one CPU, for several rounds; the fastest round of each
counts. Beside every few workloads the speed of OpenSSL's SHA-256 is measured: cal_ns is the time it needs for
1 MiB, so that figures of different days and hosts can be compared as ns / cal_ns. Results go to
build/bench/GROUP.jsonl, one JSON object per workload and program; a summary is printed. A peer that cannot be
built here is left out with a SKIP line. Exits 1 when a program failed or gave a wrong result.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench"
PEERS = ROOT / "bench" / "peers"
GROUPS = ["evm", "crypto", "trie", "import"]
IMPLEMENTATIONS = ["c", "geth", "revm"]
TITLES = {"c": "candela", "geth": "geth", "revm": "revm"}

# The field that counts for each group; smaller is better.
TIME_FIELD = {"evm": "ns", "crypto": "ns", "trie": "ns_per_op", "import": "cpu_ms"}

EVM_PARTS = ["contract", "ipsilon_main", "ipsilon_micro", "micro", "precompile"]
CRYPTO_PARTS = ["keccak", "sha256", "ripemd160", "blake2f", "ecrecover", "secp256k1", "p256", "modexp", "bn254", "kzg", "bls"]
IMPORT_CHAINS = ["eth", "erc20", "swap"]

# Workloads that an analysing interpreter reduces to almost nothing; means are also given without them.
JUMPDEST_FILES = {"ipsilon_micro/JUMPDEST_n0_empty", "ipsilon_micro/loop_with_many_jumpdests_empty"}
DEGENERATE = re.compile(r"^micro/(push\d*_pop|dup_pop|swap\d*|pc_pop|gas_pop|jumpdest)$")

FLOOR = 0.95  # no single workload may fall below this share of the better peer's speed


# --- programs -------------------------------------------------------------------------------------------------


def newest(folder, suffixes):
    return max(p.stat().st_mtime for p in folder.rglob("*") if p.name.endswith(suffixes))


def build_peer(name, tool, command, environment, binary, suffixes):
    """The peer's program, built when its sources are newer; None and a reason when that is not possible."""
    source = PEERS / name
    if binary.exists() and binary.stat().st_mtime >= newest(source, suffixes):
        return binary, None
    if shutil.which(tool) is None:
        return None, f"{tool} is not installed"
    print(f"building peer {name}", file=sys.stderr)
    binary.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=source, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return None, f"{tool} failed: {lines[-1] if lines else 'no message'}"
    os.utime(binary)  # cargo leaves the time alone when only a comment changed
    return binary, None


def find_programs(candela, only=None):
    """Programs by implementation; prints SKIP with the reason for those that are missing."""
    programs, target = {}, OUT / "peers"
    if candela.exists():
        programs["c"] = [str(candela), "bench"]
    else:
        print(f"SKIP candela: {candela} is not built")
    geth, revm = target / "peer-geth", target / "revm" / "release" / "peer-revm"
    peers = {
        "geth": ("go", ["go", "build", "-p", "1", "-trimpath", "-o", str(geth), "."], {"GOFLAGS": "-mod=readonly -buildvcs=false"}, geth,
                 (".go", "go.mod", "go.sum")),
        "revm": ("cargo", ["cargo", "build", "--release", "--locked", "-j", "1"], {"CARGO_TARGET_DIR": str(target / "revm")}, revm,
                 (".rs", ".toml", "Cargo.lock")),
    }
    for name, recipe in peers.items():
        if only and name not in only:
            continue
        binary, why = build_peer(name, *recipe)
        if binary:
            programs[name] = [str(binary)]
        else:
            print(f"SKIP {name}: {why}")
    return programs


class Runner:
    """Runs programs pinned to CPUs and keeps the best result of each workload."""

    def __init__(self, cpus):
        self.cpus, self.best, self.failures, self.cal_ns = cpus, {}, [], None
        self.taskset = ["taskset"] if shutil.which("taskset") else []

    def calibrate(self):
        """Time OpenSSL needs for SHA-256 of 1 MiB, the best seen so far counts; None without openssl."""
        if shutil.which("openssl") is None:
            return
        command = self.pinned(["openssl", "speed", "-evp", "sha256", "-bytes", "16384", "-seconds", "1"], self.cpus[:1])
        text = subprocess.run(command, capture_output=True, text=True).stdout
        found = re.search(r"sha256\s+([0-9.]+)k", text)
        if found:
            cal_ns = (1 << 20) / (float(found.group(1)) * 1000) * 1e9
            self.cal_ns = min(self.cal_ns or cal_ns, cal_ns)

    def pinned(self, command, cpus):
        return self.taskset + ["-c", ",".join(map(str, cpus))] + command if self.taskset else command

    def run(self, implementation, command, cpus, time_field, extra=None):
        done = subprocess.run(self.pinned(command, cpus), capture_output=True, text=True)
        for line in done.stdout.splitlines():
            try:
                result = json.loads(line) | (extra or {})
                key = (result["name"], implementation, result.get("threads", 1))
                value = result[time_field]
            except (ValueError, KeyError, TypeError):
                self.failures.append(f"{TITLES[implementation]}: unreadable line: {line[:120]}")
                continue
            old = self.best.get(key)
            if old is None or value < old[time_field]:
                if old and "wall_ms" in old:
                    result["wall_ms"] = min(result["wall_ms"], old["wall_ms"])
                self.best[key] = result
            elif "wall_ms" in old:
                old["wall_ms"] = min(result["wall_ms"], old["wall_ms"])
        if done.returncode != 0:
            tail = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            self.failures.append(f"{TITLES[implementation]}: {' '.join(command[1:4])}: {tail[0]}")


# --- groups ---------------------------------------------------------------------------------------------------


def group_jobs(group, args):
    """A group's work in pieces that all programs run in turn: (arguments by implementation, CPUs, fields to add)."""
    data = pathlib.Path(args.testdata) / "bench-evm"
    roots = data / "meta" / "trie-roots.json"
    limits = ["--min-ms", str(args.min_ms)]
    inputs = str(ROOT / "bench" / "crypto.json")
    everyone = lambda arguments: {name: arguments for name in IMPLEMENTATIONS}
    if group == "evm":
        parts = [args.only] if args.only else [part + "/" for part in EVM_PARTS]
        jobs = []
        for part in parts:
            ours = [str(data), "--only", part, *limits]
            jobs.append(({"c": ours, "geth": ["evm", *ours], "revm": ["evm", *ours]}, 1, {}))
        return jobs
    if group == "crypto":
        parts = [args.only] if args.only else CRYPTO_PARTS
        return [(everyone(["crypto", inputs, "--only", part, *limits]), 1, {}) for part in parts]
    if group == "trie":
        sizes = args.sizes or ["1000", "10000", "100000"]
        return [(everyone(["trie", size, "--roots", str(roots)]), 1, {}) for size in sizes]
    jobs = []
    for chain in [args.only] if args.only else IMPORT_CHAINS:
        for threads in (1, 2):
            if threads > len(args.cpus):
                continue
            blocks = [str(data / "blocks"), chain]
            ours = ["import", *blocks, "--threads", str(threads)]
            jobs.append(({"c": ours, "geth": ["import", *blocks, "--rounds", "1"]}, threads, {"threads": threads}))
    return jobs


def run_group(group, programs, args):
    runner = Runner(args.cpus)
    jobs = group_jobs(group, args)
    for number in range(args.rounds):
        for arguments, threads, extra in jobs:
            runner.calibrate()
            for implementation, program in programs.items():
                if implementation not in arguments:
                    continue
                command = program + arguments[implementation]
                runner.run(implementation, command, args.cpus[:threads], TIME_FIELD[group], extra)
        runner.calibrate()
        print(f"{group}: round {number + 1} of {args.rounds} done", file=sys.stderr)
    add_derived(group, runner, args)
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / f"{group}.jsonl", "w") as out:
        for key in sorted(runner.best):
            out.write(json.dumps(runner.best[key]) + "\n")
    return runner


def add_derived(group, runner, args):
    """Adds cal_ns everywhere, and for imports the CPU time of a transaction."""
    metas = {}
    if group == "import":
        metas = json.loads((pathlib.Path(args.testdata) / "bench-evm" / "blocks" / "blocks.json").read_text())
    for (name, _, _), result in runner.best.items():
        result["cal_ns"] = round(runner.cal_ns) if runner.cal_ns else None
        if name in metas:
            result["us_per_tx"] = result["cpu_ms"] * 1000 / metas[name]["txs"]


# --- the summary ----------------------------------------------------------------------------------------------


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def show(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        print("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


class Times:
    """Best times of one group by implementation and workload (and threads)."""

    def __init__(self, runner, field):
        self.times = {}
        for (name, implementation, threads), result in runner.best.items():
            self.times.setdefault(implementation, {})[(name, threads)] = result[field]

    def names(self):
        return sorted({key for times in self.times.values() for key in times})

    def speed(self, fast, slow, keys):
        """Speed of one implementation relative to another, per workload that both ran."""
        a, b = self.times.get(fast, {}), self.times.get(slow, {})
        return {key: b[key] / a[key] for key in keys if key in a and key in b and a[key] > 0 and b[key] > 0}

    def against_best_peer(self, keys):
        """Candela's speed relative to the better peer of each workload."""
        peers = [self.speed("c", peer, keys) for peer in ("geth", "revm")]
        return {key: min(p[key] for p in peers if key in p) for key in keys if any(key in p for p in peers)}


def ratio_rows(times, sections):
    rows = []
    for title, keys, targets in sections:
        if not keys:
            continue
        cells = [title, len(keys)]
        for (fast, slow), target in zip((("c", "geth"), ("c", "revm"), ("revm", "geth")), targets + (None,)):
            mean = geomean(list(times.speed(fast, slow, keys).values()))
            cells.append(show(mean) + (f" ({target})" if target else ""))
        against = times.against_best_peer(keys)
        worst = min(against, key=against.get) if against else None
        cells.append(f"{against[worst]:.2f} {worst[0].split('/', 1)[-1]}" if worst else "-")
        rows.append(cells)
    return rows


RATIO_HEAD = ["group", "n", "candela/geth", "candela/revm", "revm/geth", "worst against the better peer"]

# Group, what belongs to it, and the targets for its means against geth and revm.
EVM_SECTIONS = [
    ("contract", lambda n: n.startswith("contract/"), (6, 3)),
    ("ipsilon_main", lambda n: n.startswith("ipsilon_main/"), (4, 2.3)),
    ("ipsilon_micro", lambda n: n.startswith("ipsilon_micro/"), (5, 3)),
    ("ipsilon_micro, no JUMPDEST files", lambda n: n.startswith("ipsilon_micro/") and n not in JUMPDEST_FILES, (None, None)),
    ("micro", lambda n: n.startswith("micro/"), (4.2, 2.3)),
    ("micro, no degenerate files", lambda n: n.startswith("micro/") and not DEGENERATE.match(n), (None, None)),
    ("precompile", lambda n: n.startswith("precompile/"), (1.15, None)),
]


def summarize(group, runner, show_all):
    times = Times(runner, TIME_FIELD[group])
    keys = times.names()
    cal = f", 1 cal = {runner.cal_ns:.0f} ns" if runner.cal_ns else ""
    print(f"\n{group}: geometric means of speed ratios (target){cal}")
    if group == "evm":
        sections = [(title, [k for k in keys if belongs(k[0])], targets) for title, belongs, targets in EVM_SECTIONS]
    elif group == "import":
        sections = []
    else:
        parts = sorted({re.split(r"[/_]", k[0])[0] for k in keys})
        targets = {"stacktrie": (None, 1.67)} if group == "trie" else {}
        sections = [(part, [k for k in keys if re.split(r"[/_]", k[0])[0] == part], targets.get(part, (None, None))) for part in parts]
    rows = ratio_rows(times, sections)
    if rows:
        table(RATIO_HEAD, rows)
    if group == "trie":
        summarize_trie(times, keys)
    if group == "import":
        summarize_import(runner)
    if show_all:
        detail = []
        for key in keys:
            each = [times.times.get(i, {}).get(key) for i in IMPLEMENTATIONS]
            ratios = [times.speed("c", peer, [key]).get(key) for peer in ("geth", "revm")]
            detail.append([key[0] if key[1] == 1 else f"{key[0]} ({key[1]} threads)"] + [show(v, 0 if v and v > 100 else 1) for v in each] + [show(r) for r in ratios])
        print()
        table([TIME_FIELD[group]] + [TITLES[i] for i in IMPLEMENTATIONS] + ["/geth", "/revm"], detail)
    if group == "evm":
        low = {key: value for key, value in times.against_best_peer(keys).items() if value < FLOOR}
        for key in sorted(low, key=low.get):
            print(f"below {FLOOR} of the better peer: {key[0]} {low[key]:.2f}")


def summarize_trie(times, keys):
    """Insert, hash and commit together: what building a trie of N keys costs a key."""
    rows = []
    for size in sorted({int(k[0].split("/")[1]) for k in keys}):
        steps = [(f"{step}/{size}", 1) for step in ("insert", "hash", "commit")]
        sums = {i: sum(t[s] for s in steps) for i, t in times.times.items() if all(s in t for s in steps)}
        ratio = sums["geth"] / sums["c"] if "c" in sums and "geth" in sums else None
        rows.append([f"N = {size}", show(sums.get("c"), 0), show(sums.get("geth"), 0), show(ratio) + (" (6)" if size == 100000 else "")])
    print()
    table(["insert + hash + commit, ns per key", "candela", "geth", "ratio"], rows)


def summarize_import(runner):
    rows = []
    for chain in IMPORT_CHAINS:
        get = lambda implementation, threads: runner.best.get((chain, implementation, threads))
        ours, theirs, two = get("c", 1), get("geth", 1), get("c", 2)
        ratio = theirs["us_per_tx"] / ours["us_per_tx"] if ours and theirs else None
        wall = two["wall_ms"] / ours["wall_ms"] if ours and two else None
        rows.append([chain, show(ours and ours["us_per_tx"], 1), show(theirs and theirs["us_per_tx"], 1), f"{show(ratio)} (2.7)", f"{show(wall)} (0.6)"])
    table(["CPU us per transaction", "candela", "geth", "ratio", "candela wall, 2 threads / 1"], rows)


def main():
    parser = argparse.ArgumentParser(description="benchmarks of Candela and its peers")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; default all")
    parser.add_argument("--candela", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "candela-evmtool")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is run (default 3)")
    parser.add_argument("--only", help="only workloads whose name contains this (import: the chain's name)")
    parser.add_argument("--min-ms", type=int, default=120, help="least time of a workload in a round (default 120)")
    parser.add_argument("--sizes", nargs="+", help="trie sizes (default 1000 10000 100000)")
    parser.add_argument("--all", action="store_true", help="print every workload")
    parser.add_argument("--build", action="store_true", help="build the peers and stop")
    parser.add_argument("--impl", nargs="+", choices=IMPLEMENTATIONS, help="run only these")
    parser.add_argument("--testdata", default=os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata"))
    args = parser.parse_args()
    unknown = [group for group in args.groups if group not in GROUPS]
    if unknown:
        parser.error(f"unknown group {unknown[0]}")

    # The last CPU first: interrupts and other people's work tend to sit on CPU 0.
    args.cpus = sorted(os.sched_getaffinity(0), reverse=True)
    programs = find_programs(args.candela, args.impl)
    if args.impl:
        programs = {name: program for name, program in programs.items() if name in args.impl}
    if args.build:
        return 0 if {"geth", "revm"} <= set(programs) else 1
    if not (pathlib.Path(args.testdata) / "bench-evm").is_dir():
        print(f"SKIP no folder bench-evm below {args.testdata}")
        return 1 if os.environ.get("CI") == "true" else 0
    if not programs:
        print("SKIP no program to run")
        return 1
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"note: load average {load:.1f}; the figures are soft", file=sys.stderr)

    failures = []
    for group in args.groups or GROUPS:
        runner = run_group(group, programs, args)
        summarize(group, runner, args.all)
        failures += runner.failures
    for failure in dict.fromkeys(failures):
        print(f"FAILED {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
