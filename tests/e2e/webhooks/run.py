#!/usr/bin/env python3
"""Webhooks end to end: a development network, candela-webhooks, receivers; ends with `N passed, M failed`.

usage: tests/e2e/webhooks/run.py --node build/release/bin/candela --bin build/release/bin/candela-webhooks [SUITE]

SUITE is a file beside this one (default: suite). CANDELA_TEST_FULL=1 kills the service a thousand times."""
import argparse
import importlib
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import harness  # noqa: E402 - found through the path just set


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--node", required=True, help="the candela program")
    args.add_argument("--bin", required=True, help="the candela-webhooks program")
    args.add_argument("suite", nargs="?", default="suite")
    opt = args.parse_args()
    env = harness.Env(pathlib.Path(opt.node).resolve())
    env.webhooks = pathlib.Path(opt.bin).resolve()
    try:
        harness.run_suite(importlib.import_module(opt.suite), env)
    finally:
        env.close()
    print(f"{env.passed} passed, {env.failed} failed")
    return 1 if env.failed else 0


if __name__ == "__main__":
    sys.exit(main())
