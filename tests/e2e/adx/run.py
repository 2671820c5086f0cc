#!/usr/bin/env python3
"""The ad exchange end to end: candela-adx with bidders, players and kills; ends with `N passed, M failed`.

usage: tests/e2e/adx/run.py --bin build/release/bin/candela-adx [SUITE]

SUITE is a file beside this one (default: suite). CANDELA_TEST_FULL=1 kills the exchange a thousand times."""
import argparse
import importlib
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import strict  # noqa: E402 - found through the path just set
import world  # noqa: E402


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--bin", required=True, help="the candela-adx program")
    args.add_argument("--node", help="the candela program, for suites with a chain; beside the other when not given")
    args.add_argument("suite", nargs="?", default="suite")
    opt = args.parse_args()
    w = world.World(pathlib.Path(opt.bin).resolve())
    w.node = pathlib.Path(opt.node).resolve() if opt.node else w.bin.parent / "candela"
    try:
        importlib.import_module(opt.suite).run(w)
        strict.check(w)
    finally:
        w.close()
    print(f"{w.passed} passed, {w.failed} failed")
    return 1 if w.failed or not w.passed else 0


if __name__ == "__main__":
    sys.exit(main())
