#!/usr/bin/env python3
"""Runs suites against the pricing gateway; ends with `N passed, M failed`.

usage: tests/pricing/run.py --bin build/release/bin/candela-pricing [--full] [--only NAME] SUITE...
"""
import argparse
import concurrent.futures
import importlib
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from fixture import Fixture  # noqa: E402 - found through the path just set
from gateway import run  # noqa: E402

SUITES = ["behaviour", "transcript", "clients", "package"]


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("suites", nargs="+", choices=SUITES)
    args.add_argument("--bin", required=True, help="the candela-pricing program")
    args.add_argument("--full", action="store_true", help="thousands of connections, long fuzzing")
    args.add_argument("--hour", action="store_true", help="the provider fails for a real hour")
    args.add_argument("--asan", action="store_true", help="a sanitizer is on: memory is not looked at")
    args.add_argument("--only", default="", help="tests with this in their name")
    opt = args.parse_args()
    opt.bin = str(pathlib.Path(opt.bin).resolve())

    def with_fixture(test):
        fixture = Fixture()
        try:
            return run(test, opt, fixture)
        finally:
            fixture.close()

    # They mostly wait, each for its own gateway and provider.
    tests = [t for suite in opt.suites for t in importlib.import_module(suite).TESTS if opt.only in t.__name__]
    with concurrent.futures.ThreadPoolExecutor(1 if opt.full else 6) as pool:
        results = list(pool.map(with_fixture, tests))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if False not in results else 1


if __name__ == "__main__":
    sys.exit(main())
