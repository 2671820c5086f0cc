#!/usr/bin/env python3
"""candela-evm as the plugin of a node of the original: builds peer/ out of its pinned Go module, and runs it.

usage: guest.py --plugin BINARY --testdata DIR      Ends with `N passed, M failed`, or SKIP where Go cannot build it.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE.parent.parent.parent / "build" / "e2e-guest"


def skip(reason):
    print(f"SKIP {reason}")
    sys.exit(0)


def build():
    """The program, built once. CGo: the module's BLS library is C."""
    WORK.mkdir(parents=True, exist_ok=True)
    binary = WORK / "peer"
    sources = list((HERE / "peer").iterdir())
    if not binary.exists() or binary.stat().st_mtime < max(f.stat().st_mtime for f in sources):
        if shutil.which("go") is None:
            skip("go is not installed (package golang-go)")
        env = dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false")
        p = subprocess.run(["go", "build", "-p", "1", "-trimpath", "-o", binary, "."],
                           cwd=HERE / "peer", env=env, capture_output=True, text=True, timeout=1500)
        if p.returncode != 0:
            print(p.stderr)
            if os.environ.get("CI"):
                sys.exit(1)
            skip("the Go program cannot be built")
    return binary


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--testdata", required=True)
    args = parser.parse_args()
    if not pathlib.Path(args.testdata, "evm-chain").is_dir():
        skip("no testdata/evm-chain")
    full = os.environ.get("CANDELA_TEST_FULL") == "1"
    env = dict(os.environ, LONG_BLOCKS="10000" if full else "500")
    sys.exit(subprocess.run([build(), pathlib.Path(args.plugin).resolve(), args.testdata], env=env,
                            timeout=1200 if full else 300).returncode)


if __name__ == "__main__":
    main()
