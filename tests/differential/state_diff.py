#!/usr/bin/env python3
"""Differential fuzzing of state tests: several EVM implementations must agree on mutated cases.

Each implementation is a process that reads names of state test files on standard input and answers
each with one JSON line per case {"name","fork","index","root","logs","error"} and an empty line.
Compared are the post state root and the hash of the logs; whether the transaction was valid shows
in the root, since a valid one raises the sender's nonce. Every batch of cases is a function of the
seed and its number, so `--seed S --first K --batches 1` repeats batch K. What differs is reduced to
a small file in the output folder. Ends with `N passed, M failed` and exits 1 when something
failed; says SKIP when nothing can be compared.
"""

import argparse
import copy
import json
import os
import pathlib
import queue
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from mutate import FORKS, Mutator, fit_fork, parse_int, unhex

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "bench" / "peers"
CANDELA = ROOT / "build" / "release" / "bin" / "candela-evmtool"
ANSWER_SECONDS = 120  # for one batch; far above what the gas in it can take
MAX_SOURCE = (
    100_000  # bytes of a corpus file; the few bigger ones would slow every batch they are in
)


class Implementation:
    """One implementation as a long-running process; started again when it dies."""

    def __init__(self, name, command):
        self.name, self.command, self.process = name, shlex.split(command), None

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.answers, self.tail = queue.Queue(), []
        threading.Thread(
            target=self.read_answers, args=(self.process, self.answers), daemon=True
        ).start()
        threading.Thread(
            target=self.read_errors, args=(self.process, self.tail), daemon=True
        ).start()

    @staticmethod
    def read_answers(process, answers):
        lines = []
        for line in process.stdout:
            if line.strip():
                lines.append(line)
            else:
                answers.put(lines)
                lines = []
        answers.put(None)

    @staticmethod
    def read_errors(process, tail):
        for line in process.stderr:
            tail.append(line.decode(errors="replace").rstrip())
            del tail[:-20]

    def ask(self, path):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(f"{path}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the reader thread reports the end

    def answer(self):
        """Results by case name; or None and a reason: it died, hung or spoke nonsense."""
        try:
            lines = self.answers.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            lines, why = None, f"no answer in {ANSWER_SECONDS} s"
        else:
            why = "ended: " + " | ".join(self.tail[-3:])
        if lines is not None:
            try:
                return {case["name"]: case for case in map(json.loads, lines)}, None
            except (ValueError, KeyError) as error:
                why = f"unreadable answer: {error}"
        self.stop()
        return None, why

    def run(self, path):
        self.ask(path)
        return self.answer()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def outcome(case):
    """What must be equal, or None when the implementation gave up on the case (a peer's panic)."""
    if case is None or case.get("error", "").startswith("panic"):
        return None
    return (case["root"], case["logs"])


class Fuzzer:
    def __init__(self, args, implementations):
        self.args, self.implementations = args, implementations
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="state-diff-"))
        self.files = self.find_corpus()
        self.cache = {}
        self.mutator = Mutator(self.pick)
        self.passed = self.failed = self.undecided = 0

    def find_corpus(self):
        root = pathlib.Path(self.args.testdata) / "ethereum-state"
        slow = set((root / "slow.txt").read_text().split())
        files = [p for part in ("general", "eest") for p in sorted((root / part).rglob("*.json"))]
        return [
            p
            for p in files
            if str(p.relative_to(root)) not in slow and p.stat().st_size <= MAX_SOURCE
        ]

    def pick(self, rng):
        path = rng.choice(self.files)
        tests = self.cache.get(path)
        if tests is None:
            tests = self.cache[path] = list(json.loads(path.read_text()).values())
        return rng.choice(tests)

    def batch(self, number):
        """Cases of one batch by name. The splice pool starts anew: nothing earlier matters."""
        rng = random.Random(f"{self.args.seed}/{number}")
        self.mutator.pool = [b"\x60\x00"]
        return {f"b{number}c{i}": self.mutator.case(rng) for i in range(self.args.cases)}

    def write(self, cases, name):
        path = self.scratch / f"{name}.json"
        path.write_text(json.dumps(cases))
        return path

    def run(self):
        """Asks for one batch while the next is being made."""
        started = time.monotonic()
        number, waiting = self.args.first, None
        while True:
            over = (
                number - self.args.first >= self.args.batches
                if self.args.batches
                else time.monotonic() - started >= self.args.seconds
            )
            fresh = None
            if not over:
                cases = self.batch(number)
                fresh = (cases, self.write(cases, f"batch{number % 2}"))
                number += 1
            if waiting:
                self.collect(*waiting)
            if fresh is None:
                break
            for implementation in self.implementations:
                implementation.ask(fresh[1])
            waiting = fresh
            if sys.stderr.isatty():
                rate = (self.passed + self.failed) / (time.monotonic() - started)
                print(f"\r{rate:.0f} cases/s, {self.failed} failed ", end="", file=sys.stderr)
        return time.monotonic() - started

    def collect(self, cases, path):
        results = {i.name: i.answer()[0] for i in self.implementations}
        for name, case in cases.items():
            found = {i.name: (results[i.name] or {}).get(name) for i in self.implementations}
            lost = [i for i in found if found[i] is None]
            if lost:  # find the guilty case by running each alone
                found = self.run_alone(case)
            if self.judge(found):
                self.report(name, case, found)

    def run_alone(self, case):
        path = self.write({"case": case}, "alone")
        found = {}
        for implementation in self.implementations:
            results, why = implementation.run(path)
            found[implementation.name] = (results or {}).get("case") or {
                "lost": why or "no line for the case"
            }
        return found

    @staticmethod
    def differs(found):
        """True when an implementation has no answer or two answers differ."""
        if Fuzzer.lost(found):
            return True
        return len({outcome(case) for case in found.values()} - {None}) > 1

    @staticmethod
    def lost(found):
        """Implementations without an answer: while a case is reduced, they must stay the same."""
        return {name for name, case in found.items() if "lost" in case}

    def judge(self, found):
        """Counts a case; true when implementations differ on it."""
        if self.differs(found):
            self.failed += 1
            return True
        self.passed += 1
        self.undecided += None in map(outcome, found.values())
        return False

    def report(self, name, case, found):
        small = self.reduce(case) if self.failed <= self.args.reduce else case
        folder = pathlib.Path(self.args.output)
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"seed{self.args.seed}-{name}"
        (folder / f"{stem}.json").write_text(json.dumps({stem: small}, indent=1))
        (folder / f"{stem}-full.json").write_text(json.dumps({stem: case}))
        again = self.run_alone(small)
        print(f"DIFFERS {stem} {next(iter(case['post']))}")
        for implementation, result in again.items():
            shown = {k: v for k, v in result.items() if k not in ("name", "fork", "index", "pass")}
            print(f"  {implementation}: {json.dumps(shown)}")
        sys.stdout.flush()

    def reduce(self, case):
        """Drops accounts, slots, code and transaction parts while the difference stays."""
        tries = 300
        lost = self.lost(self.run_alone(case))

        def keeps(candidate):
            nonlocal tries
            tries -= 1
            try:
                fit_fork(candidate, FORKS.index(next(iter(candidate["post"]))))
            except (KeyError, ValueError):
                return False
            found = self.run_alone(candidate)
            return self.differs(found) and self.lost(found) == lost

        def attempt(edit):
            nonlocal case
            if tries <= 0:
                return False
            candidate = copy.deepcopy(case)
            edit(candidate)
            if candidate != case and keeps(candidate):
                case = candidate
                return True
            return False

        for address in sorted(case["pre"]):
            attempt(lambda c: c["pre"].pop(address))
        attempt(lambda c: c["transaction"].pop("accessLists", None))
        attempt(lambda c: c["transaction"].update(data=["0x"]))
        attempt(lambda c: c["transaction"].update(value=["0x00"]))
        for address in sorted(case["pre"]):
            attempt(lambda c: c["pre"][address].update(storage={}))
            attempt(lambda c: c["pre"][address].update(code="0x"))
            for cut in ("tail", "head"):
                size = len(unhex(case["pre"][address]["code"])) // 2
                while size > 0 and tries > 0:
                    code = unhex(case["pre"][address]["code"])
                    shorter = code[:-size] if cut == "tail" else code[size:]
                    if not attempt(lambda c: c["pre"][address].update(code="0x" + shorter.hex())):
                        size //= 2
        return case

    def close(self):
        for implementation in self.implementations:
            implementation.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)


def default_implementations(candela):
    """Commands of the programs that are built: ours, then the peers."""
    candidates = {
        "candela": (candela, "statetest --json -"),
        "geth": (PEERS / "peer-geth", "statetest -"),
        "revm": (PEERS / "revm" / "release" / "peer-revm", "statetest -"),
    }
    return {
        name: f"{shlex.quote(str(path))} {arguments}"
        for name, (path, arguments) in candidates.items()
        if path.exists()
    }


def main():
    parser = argparse.ArgumentParser(
        description="runs mutated state tests through several EVM implementations"
    )
    add = parser.add_argument
    add("--seconds", type=float, default=60, help="how long to run (default 60)")
    add("--batches", type=int, default=0, help="run this many batches instead of a time")
    add("--seed", type=int, default=1, help="0: a new one each time; printed (default 1)")
    add("--first", type=int, default=0, help="number of the first batch")
    add("--cases", type=int, default=64, help="cases in a batch")
    add("--reduce", type=int, default=5, help="reduce this many differing cases")
    add("--candela", type=pathlib.Path, default=CANDELA, help="the candela-evmtool to run")
    add(
        "--impl", action="append", metavar="NAME=COMMAND", help="run these instead of what is built"
    )
    default = os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata")
    add("--testdata", default=default)
    add("--output", default=ROOT / "build" / "differential", help="where differing cases go")
    args = parser.parse_args()
    args.seed = args.seed or int(time.time())

    commands = (
        dict(item.split("=", 1) for item in args.impl)
        if args.impl
        else default_implementations(args.candela)
    )
    if not (pathlib.Path(args.testdata) / "ethereum-state").is_dir():
        print(f"SKIP no folder ethereum-state below {args.testdata}")
        return 1 if os.environ.get("CI") == "true" else 0
    if len(commands) < 2:
        found = ", ".join(commands) or "none"
        print(f"SKIP two implementations are needed, found: {found} (peers: bench/run.py --build)")
        return 0

    fuzzer = Fuzzer(args, [Implementation(name, command) for name, command in commands.items()])
    try:
        seconds = fuzzer.run()
    finally:
        fuzzer.close()
    rate = (fuzzer.passed + fuzzer.failed) / max(seconds, 1e-9)
    names = ", ".join(commands)
    print(f"{names}: {rate:.0f} cases/s, seed {args.seed}")
    if fuzzer.undecided:
        print(f"{fuzzer.undecided} cases that an implementation gave up on")
    print(f"{fuzzer.passed} passed, {fuzzer.failed} failed")
    return 1 if fuzzer.failed else 0


if __name__ == "__main__":
    sys.exit(main())
