#!/usr/bin/env python3
"""Compares the interpreter's instruction counts with bench/baseline.json: a gate that load cannot move.

    bench/instructions.py             one line a count, then `N passed, M failed`
    bench/instructions.py --update    takes the counts of this build as the new baseline

Callgrind counts what happens inside the top-level message call of five workloads: `first` is the first
call of a fresh EVM (code analysis and the direct interpreter), `again` the mean of the two after it
(translation, then the translated code). A count that moved by more than 2 % fails, fewer instructions
too: then the baseline is taken anew, in the commit that explains why. The baseline belongs to the
release preset with gcc 12; valgrind knows no AVX-512, so what is chosen at run time is the AVX2 code.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BASELINE = ROOT / "bench" / "baseline.json"
CANDELA = ROOT / "build" / "release" / "bin" / "candela-evmtool"

WORKLOADS = [
    "contract/erc20_transfer",
    "contract/quicksort_10k",
    "ipsilon_main/sha1_shifts_5311",
    "ipsilon_main/snailtracer_benchmark",
    "ipsilon_micro/loop_with_many_jumpdests_empty",
]
TOLERANCE = 0.02
COUNTED = "cd_evm_call"  # everything inside this function, nothing outside
PATIENCE = 120  # seconds for one run


def count(candela, path, reps):
    """Instructions of the first `reps` calls of one workload."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*valgrind, f"--toggle-collect={COUNTED}", str(candela), "bench", str(path)]
    done = subprocess.run(
        [*command, "--reps", str(reps)], capture_output=True, text=True, timeout=PATIENCE
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found or int(found[1]) == 0:
        tail = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"exit code {done.returncode}, nothing counted: {tail[0]}")
    return int(found[1])


def measure(candela, data, name):
    path = data / f"{name.replace('/', '_')}.json"
    first = count(candela, path, 1)
    return {"first": first, "again": (count(candela, path, 3) - first) // 2}


def compare(name, counts, baseline):
    """Prints a line for each count; how many are within the tolerance."""
    passed = 0
    for kind, now in counts.items():
        before = baseline.get(name, {}).get(kind)
        change = now / before - 1 if before else None
        is_good = change is not None and abs(change) <= TOLERANCE
        passed += is_good
        shown = "no baseline" if change is None else f"{change:+.2%}"
        verdict = "" if is_good else "  FAILED"
        print(f"{name:<46}{kind:<6}{now:>13,}  {shown:>8}{verdict}", flush=True)
    return passed


def main():
    parser = argparse.ArgumentParser(description="gate on instruction counts")
    add = parser.add_argument
    add("--update", action="store_true", help="write the baseline instead of comparing")
    add("--candela", type=pathlib.Path, default=CANDELA, help="the candela-evmtool to run")
    default = os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata")
    add("--testdata", type=pathlib.Path, default=default)
    args = parser.parse_args()
    data = args.testdata / "bench-evm"
    missing = None
    if shutil.which("valgrind") is None:
        missing = "valgrind is not installed"
    elif not data.is_dir():
        missing = f"no folder bench-evm below {args.testdata}"
    elif not args.candela.exists():
        missing = f"{args.candela} is not built"
    if missing:
        print(f"SKIP {missing}")
        return 1 if args.update or os.environ.get("CI") == "true" else 0

    baseline = {} if args.update else json.loads(BASELINE.read_text())
    found, passed, failed = {}, 0, 0
    for name in WORKLOADS:
        try:
            counts = measure(args.candela, data, name)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{name}: {error}  FAILED", flush=True)
            failed += 1
            continue
        found[name] = counts
        if args.update:
            print(f"{name:<46}" + "".join(f"{k} {n:,}  " for k, n in counts.items()).rstrip())
        else:
            good = compare(name, counts, baseline)
            passed += good
            failed += len(counts) - good
    if args.update:
        if not failed:
            BASELINE.write_text(json.dumps(found, indent=1) + "\n")
        return 1 if failed else 0
    if failed:
        print("meant? then: bench/instructions.py --update, and say why in the commit")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
