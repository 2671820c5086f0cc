#!/usr/bin/env python3
"""Runs the benchmarks of spec/bench.md with Candela and the installed peers, and compares them.

    bench/run.py [evm|worst|crypto|trie|import|rpc|ws|proc|pricing|webhooks|adx]...    default: all eleven
    bench/run.py --quick [GROUP]...                         a look in a few minutes, figures are soft
    bench/run.py --build                                    only build the peers

The programs run in turn on the same bytes, pinned to one CPU, for several rounds; the fastest
round of each counts. Beside every few workloads the speed of OpenSSL's SHA-256 is measured: cal_ns
is the time it needs for 1 MiB, so that figures of different days and hosts can be compared as
ns / cal_ns. Results go to build/bench/GROUP.jsonl, one JSON object per workload and program; a
summary is printed. A peer that cannot be built here is left out with a SKIP line. Exits 1 when a
program failed or gave a wrong result.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing

import servers
import targets
from results import OUT, TIME_FIELD, TITLES
from summary import print_summary, print_targets

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEERS = ROOT / "bench" / "peers"
CRYPTO_INPUTS = ROOT / "bench" / "crypto.json"
WORST = ROOT / "bench" / "worst"
CANDELA = ROOT / "build" / "release" / "bin" / "candela-evmtool"

EVM_PARTS = ["contract/", "ipsilon_main/", "micro/", "precompile/"]  # micro/: ipsilon_micro/ too
CRYPTO_PARTS = ["keccak", "sha256", "ripemd160", "blake2f", "ecrecover", "secp256k1", "p256"]
CRYPTO_PARTS += ["modexp", "bn254", "kzg", "bls"]
PATIENCE = 1200  # seconds for one run of a program
IMPORT_CHAINS = ["eth", "erc20", "swap"]
# What is not given: as spec/bench.md wants it, and with --quick.
DEFAULTS = {"rounds": (3, 1), "seconds": (10, 2), "min_ms": (120, 20)}
DEFAULTS |= {"sizes": (["1000", "10000", "100000"], ["1000", "10000"])}


class Recipe(typing.NamedTuple):
    """How a peer is built."""

    binary: pathlib.Path
    command: list
    environment: dict
    sources: tuple  # endings of the files it is made of


def build_peer(name, recipe):
    """Builds a peer when its sources are newer than its program; the reason when that fails."""
    folder, binary = PEERS / name, recipe.binary
    sources = [p for p in folder.rglob("*") if p.name.endswith(recipe.sources)]
    if binary.exists() and binary.stat().st_mtime >= max(p.stat().st_mtime for p in sources):
        return None
    tool = recipe.command[0]
    if shutil.which(tool) is None:
        return f"{tool} is not installed"
    print(f"building peer {name}", file=sys.stderr)
    binary.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | recipe.environment
    done = subprocess.run(
        recipe.command, cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return f"{tool} failed: {lines[-1] if lines else 'no message'}"
    os.utime(binary)  # cargo leaves the time alone when nothing in the code changed
    return None


def find_programs(candela, wanted):
    """Programs by implementation; prints SKIP with the reason for those that are missing."""
    programs = {}
    if "c" in wanted:
        if candela.exists():
            programs["c"] = [str(candela), "bench"]
        else:
            print(f"SKIP candela: {candela} is not built")
    geth = OUT / "peers" / "peer-geth"
    revm = OUT / "peers" / "revm" / "release" / "peer-revm"
    recipes = {
        "geth": Recipe(
            binary=geth,
            command=["go", "build", "-p", "1", "-trimpath", "-o", str(geth), "."],
            environment={"GOFLAGS": "-mod=readonly -buildvcs=false"},
            sources=(".go", "go.mod", "go.sum"),
        ),
        "revm": Recipe(
            binary=revm,
            command=["cargo", "build", "--release", "--locked", "-j", "1"],
            environment={"CARGO_TARGET_DIR": str(revm.parents[1])},
            sources=(".rs", ".toml", "Cargo.lock"),
        ),
    }
    for name in [name for name in recipes if name in wanted]:
        why = build_peer(name, recipes[name])
        if why is None:
            programs[name] = [str(recipes[name].binary)]
        else:
            print(f"SKIP {name}: {why}")
    return programs


class Runner:
    """Runs programs pinned to CPUs and keeps the best result of each workload."""

    def __init__(self, group, args):
        self.time_field, self.cpus = TIME_FIELD[group], args.cpus
        self.roots, self.txs = expectations(group, args.data)
        self.best, self.failures, self.cal_ns = {}, [], None

    def pinned(self, command, cpu_count):
        if shutil.which("taskset") is None:
            return command
        return ["taskset", "-c", ",".join(map(str, self.cpus[:cpu_count])), *command]

    def calibrate(self):
        """Takes the time OpenSSL needs for SHA-256 of 1 MiB; the best seen counts."""
        if shutil.which("openssl") is None:
            return
        speed = ["openssl", "speed", "-evp", "sha256", "-bytes", "16384", "-seconds", "1"]
        done = subprocess.run(self.pinned(speed, 1), capture_output=True, text=True)
        found = re.search(r"sha256\s+([0-9.]+)k", done.stdout)
        if found:
            cal_ns = (1 << 20) / (float(found[1]) * 1000) * 1e9
            self.cal_ns = min(self.cal_ns or cal_ns, cal_ns)

    def run(self, implementation, command, cpu_count):
        """Runs a program once and takes in its lines."""
        title = TITLES[implementation]
        pinned = self.pinned(command, cpu_count)
        try:
            done = subprocess.run(pinned, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.failures.append(f"{title}: {' '.join(command[1:4])}: no end in {PATIENCE} s")
            return
        for line in done.stdout.splitlines():
            try:
                result = json.loads(line)
                name = result["name"]
                result[self.time_field] = float(result[self.time_field])
            except (ValueError, KeyError, TypeError):
                self.failures.append(f"{title}: unreadable line: {line[:120]}")
                continue
            if name in self.roots and result.get("root") != self.roots[name]:
                self.failures.append(f"{title}: {name}: root {result.get('root')} is wrong")
                continue
            if name in self.txs:
                result["us_per_tx"] = result["cpu_ms"] * 1000 / self.txs[name]
            self.keep(implementation, name, cpu_count, result)
        if done.returncode != 0:
            tail = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            self.failures.append(f"{title}: {' '.join(command[1:4])}: {tail[0]}")

    def keep(self, implementation, name, cpu_count, result):
        result["threads"] = cpu_count
        key = (name, implementation, cpu_count)
        old = self.best.setdefault(key, result)
        walls = [r["wall_ms"] for r in (old, result) if "wall_ms" in r]
        if result[self.time_field] < old[self.time_field]:
            self.best[key] = result
        if walls:  # the fastest wall time may come from another round than the least CPU time
            self.best[key]["wall_ms"] = min(walls)

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w") as out:
            for key in sorted(self.best):
                out.write(json.dumps(self.best[key] | {"cal_ns": self.cal_ns}) + "\n")


def expectations(group, data):
    """Roots and transaction counts by workload name, where the data folder tells them."""
    if group == "trie":
        sizes = json.loads((data / "meta" / "trie-roots.json").read_text())["roots"]
        roots = {f"update_hash_{n}": r["root_after_updates"] for n, r in sizes.items()}
        for step in ("insert", "hash", "commit", "prove", "stacktrie"):
            roots |= {f"{step}_{n}": r["root"] for n, r in sizes.items()}
        return roots, {}
    if group == "import":
        chains = json.loads((data / "blocks" / "blocks.json").read_text()).items()
        return {n: c["state_root"] for n, c in chains}, {n: c["txs"] for n, c in chains}
    return {}, {}


def pieces(group, args):
    """A group's work in pieces that all programs run in turn: arguments by program, CPUs."""
    found = []
    if group == "evm":
        for part in [args.only] if args.only else EVM_PARTS:
            ours = [str(args.data), "--only", part, "--min-ms", str(args.min_ms)]
            found.append(({"c": ours, "geth": ["evm", *ours], "revm": ["evm", *ours]}, 1))
    elif group == "worst":
        ours = [str(WORST), "--only", args.only or "worst/", "--min-ms", str(args.min_ms)]
        found.append(({"c": ours, "geth": ["evm", *ours]}, 1))
    elif group == "crypto":
        for part in [args.only] if args.only else CRYPTO_PARTS:
            command = ["crypto", str(CRYPTO_INPUTS), "--only", part, "--min-ms", str(args.min_ms)]
            found.append((dict.fromkeys(TITLES, command), 1))
    elif group == "trie":
        for size in args.sizes:
            found.append((dict.fromkeys(TITLES, ["trie", size]), 1))
    else:
        for chain in [args.only] if args.only else IMPORT_CHAINS:
            rounds = "1" if args.quick else "3"
            command = ["import", str(args.data / "blocks"), chain, "--rounds", rounds]
            for threads in range(1, min(2, len(args.cpus)) + 1):
                ours = [*command, "--threads", str(threads)]
                found.append(({"c": ours, "geth": command}, threads))
    return found


def run_group(group, programs, args):
    runner = Runner(group, args)
    for number in range(args.rounds):
        for commands, cpu_count in pieces(group, args):
            runner.calibrate()
            for implementation, program in programs.items():
                if implementation in commands:
                    runner.run(implementation, program + commands[implementation], cpu_count)
        runner.calibrate()
        print(f"{group}: round {number + 1} of {args.rounds} done", file=sys.stderr)
    runner.save(OUT / f"{group}.jsonl")
    return runner


def run_servers(group, programs, args):
    """Runs a group that loads nodes, which repeats for itself what is judged."""
    runner = Runner(group, args)
    runner.calibrate()
    for result in servers.run_group(group, programs, args, runner.failures):
        runner.keep(result["impl"], result["name"], 1, result)
        print(f"{group}: {result['impl']} {result['name']} done", file=sys.stderr)
    runner.calibrate()
    runner.save(OUT / f"{group}.jsonl")
    return runner


def run_scripts(scripts):
    """Runs groups that are programs of their own; the worst exit code."""
    return max((subprocess.run([sys.executable, ROOT / "bench" / name]).returncode for name in scripts), default=0)


def main():
    parser = argparse.ArgumentParser(description="benchmarks of Candela and its peers")
    add = parser.add_argument
    groups = list(TIME_FIELD)
    add("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(groups)}; default all")
    add("--candela", type=pathlib.Path, default=CANDELA, help="the candela-evmtool to run")
    add("--quick", action="store_true", help="one short round, fewer sizes and connections")
    add("--rounds", type=int, help="how often everything is run (default 3)")
    add("--only", metavar="TEXT", help="only workloads (import: the chain) of this name")
    add("--seconds", type=int, help="how long each load of the rpc group lasts (default 10)")
    add("--min-ms", type=int, help="least time of a workload in a round (default 120)")
    add("--sizes", nargs="+", help="numbers of trie keys (default 1000 10000 100000)")
    add("--impl", nargs="+", choices=list(TITLES), default=list(TITLES), help="run only these")
    add("--all", action="store_true", help="print every workload, not only means")
    add("--build", action="store_true", help="build the peers and stop")
    default = os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata")
    add("--testdata", type=pathlib.Path, default=default)
    args = parser.parse_args()
    for name, (value, quick) in DEFAULTS.items():
        if getattr(args, name) is None:
            setattr(args, name, quick if args.quick else value)
    own = {"pricing": "prices.py", "webhooks": "webhooks.py", "adx": "adx.py"}  # groups that are programs of their own
    scripts = [script for group, script in own.items() if group in args.groups or not args.groups]
    if args.groups and set(args.groups) <= set(own):
        return run_scripts(scripts)
    args.groups = [group for group in args.groups if group not in own]
    unknown = [group for group in args.groups if group not in groups]
    if unknown:
        parser.error(f"unknown group {unknown[0]}")

    programs = find_programs(args.candela, args.impl)
    if args.build:
        return 0 if {"geth", "revm"} & set(args.impl) <= set(programs) else 1
    args.data = args.testdata / "bench-evm"
    if not args.data.is_dir():
        print(f"SKIP no folder bench-evm below {args.testdata}")
        return 1 if os.environ.get("CI") == "true" else 0
    if not programs:
        print("SKIP no program to run")
        return 1
    # The last CPU first: interrupts and other people's work tend to sit on CPU 0.
    args.cpus = sorted(os.sched_getaffinity(0), reverse=True)
    if os.getloadavg()[0] > 0.5:
        print(f"note: load average {os.getloadavg()[0]:.1f}, figures are soft", file=sys.stderr)

    failures = []
    for group in args.groups or groups:
        runner = (run_servers if group in servers.RUN else run_group)(group, programs, args)
        print_summary(group, args.all)
        failures += runner.failures
    print_targets(args.groups or groups)
    failures += targets.missed(args.groups or groups)
    for failure in dict.fromkeys(failures):
        print(f"FAILED {failure}")
    return 1 if run_scripts(scripts) != 0 or failures else 0


if __name__ == "__main__":
    sys.exit(main())
