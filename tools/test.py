#!/usr/bin/env python3
"""Runs the test suites of one build and ends with one plain line of counts: `N passed, M failed, K skipped`.

usage: tools/test.py [--full] [--preset asan] [--release build/release] [--only LABEL]

Every ctest entry prints its own counts (cmocka's summary, or `N passed, M failed`); they are added up here, and
an entry that fails without a count counts as one failure. Logs: build/test/<suite>.log.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test"

# suite -> (preset, ctest label). Sanitizers on wherever time allows; the end-to-end tests drive the release
# binaries a user would run.
SUITES = [
    ("checks", "asan", "check"),
    ("unit", "asan", "unit"),
    ("threads", "tsan", "tsan"),
    ("fuzz replay", "asan", "fuzz"),
    ("vectors", "asan", "vector"),
    # Once more as users have it: the optimiser makes other things of what a program may not rely on.
    ("unit, release", "release", "unit"),
    ("vectors, release", "release", "vector"),
    ("state tests", "release", "state"),
    ("end to end", "release", "e2e"),
]


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def read_counts(log):
    """Adds up the counts of one ctest -V log."""
    counts = Counts()
    failed_entries = set(re.findall(r"^\s*\d+/\d+ Test\s+#(\d+): \S+ \.*\s*\*\*\*", log, re.M))
    passed_entries = set(re.findall(r"^\s*\d+/\d+ Test\s+#(\d+): \S+ \.*\s+Passed", log, re.M))
    counted_failure = set()
    counted = set()
    for m in re.finditer(r"^(\d+): (.*)$", log, re.M):
        entry, text = m[1], m[2]
        if c := re.search(r"\[  PASSED  \] (\d+) test\(s\)\.", text):
            counts.passed += int(c[1])
            counted.add(entry)
        elif c := re.search(r"\[  FAILED  \] (\d+) test\(s\), listed", text):
            counts.failed += int(c[1])
            counted_failure.add(entry)
        elif c := re.search(r"\[  SKIPPED \] (\d+) test\(s\), listed", text):
            counts.skipped += int(c[1])
        elif c := re.fullmatch(r"(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", text.strip()):
            counts.passed += int(c[1])
            counts.failed += int(c[2])
            counts.skipped += int(c[3] or 0)
            counted.add(entry)
            if int(c[2]):
                counted_failure.add(entry)
        elif text.startswith("SKIP "):
            counts.skipped += 1
    counts.failed += len(failed_entries - counted_failure)
    counts.passed += len(passed_entries - counted)  # a check that prints no count is one
    return counts


def run_suite(name, preset, label, jobs, full):
    """The counts of a suite; one that cannot be run, or has no tests, is a failure."""
    nothing = Counts()
    nothing.failed = 1
    build = ROOT / "build" / preset
    if not (build / "CTestTestfile.cmake").exists():
        print(f"  failed: {name}: build/{preset} is missing or not configured", flush=True)
        return nothing
    log_path = LOGS / (name.replace(" ", "-") + ".log")
    env = dict(os.environ, CANDELA_TEST_FULL="1" if full else "0")
    cmd = ["ctest", "--test-dir", str(build), "-L", f"^{label}$", "-V", "-j", str(jobs)]
    if not full:
        cmd += ["-LE", "^full$"]
    with open(log_path, "w") as log:
        code = subprocess.run(cmd, stdout=log, stderr=subprocess.STDOUT, env=env).returncode
    text = log_path.read_text(errors="replace")
    counts = read_counts(text)
    if "No tests were found" in text or not (counts.passed or counts.failed or counts.skipped):
        print(f"  failed: {name}: no tests with the label {label} in build/{preset}", flush=True)
        return nothing
    if code != 0 and counts.failed == 0:
        counts.failed = 1
    if counts.failed:
        for m in re.finditer(r"^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Subprocess|Not Run|.*\*\*\*)[^)]*\)", text, re.M):
            print(f"  failed: {m[1]}   (build/test/{log_path.name})", flush=True)
        tail = [line for line in text.splitlines() if re.search(r"FAIL|ERROR|error:|runtime error", line)]
        print("\n".join("    " + line[:200] for line in tail[:25]), flush=True)
    return counts


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--full", action="store_true", help="everything, no sampling")
    args.add_argument("--only", help="one suite")
    args.add_argument("--jobs", type=int, default=2)
    opt = args.parse_args()
    if opt.only and opt.only not in [name for name, _, _ in SUITES]:
        args.error(f"no suite {opt.only!r}: {', '.join(name for name, _, _ in SUITES)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    if opt.full:  # what the differential run compares with; it says so itself where none can be built
        subprocess.run([ROOT / "bench" / "run.py", "--build"])
    total, start = Counts(), time.monotonic()
    for name, preset, label in SUITES:
        if opt.only and opt.only != name:
            continue
        t = time.monotonic()
        counts = run_suite(name, preset, label, opt.jobs, opt.full)
        total.add(counts)
        state = f"{counts.passed:,} passed"
        if counts.failed:
            state += f", {counts.failed:,} FAILED"
        if counts.skipped:
            state += f", {counts.skipped:,} skipped"
        print(f"  {name:<14} {state:<40} {time.monotonic() - t:6.0f} s", flush=True)
    if total.skipped:
        print(f"  {total.skipped} tests were skipped: build/test/*.log say why, in lines with SKIP")
    if os.environ.get("CI") == "true" and total.skipped:
        print(f"  {total.skipped} tests were skipped: CI must not skip", flush=True)
        total.failed += 1
    print(f"\n  took {time.monotonic() - start:.0f} s")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
