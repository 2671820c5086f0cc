#!/usr/bin/env python3
"""Runs one end-to-end suite against a candela program; ends with `N passed, M failed`.

usage: tests/e2e/run.py --bin build/release/bin/candela [--minutes N] SUITE
"""
import argparse
import importlib
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402 - found through the path just set

SUITES = ["ethers", "hardhat", "viem", "web3js", "web3py", "live", "wallet", "http", "trace", "feed", "dev",
          "process", "kill", "keystore", "admin", "chains", "contracts", "cli", "peers", "transfers",
          "network", "mixed", "primary", "wallets", "money", "users", "plugin", "outside", "record", "pages",
          "warp", "l1", "l1_life", "finality", "signing", "relay", "model", "sync", "mixed_sync", "ipcs", "facts"]


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("suite", choices=SUITES)
    args.add_argument("--bin", required=True, help="the candela program")
    args.add_argument("--minutes", type=int, help="mixed: how long nodes of each network are killed and restarted")
    opt = args.parse_args()
    if opt.minutes is not None:
        os.environ["CANDELA_MIXED_MINUTES"] = str(opt.minutes)
    if not pathlib.Path(opt.bin).is_file():
        args.error(f"{opt.bin}: no such program, build it first")
    env = harness.Env(pathlib.Path(opt.bin).resolve())
    try:
        harness.run_suite(importlib.import_module(f"{opt.suite}_suite"), env)
    finally:
        env.close()
    print(f"{env.passed} passed, {env.failed} failed")
    return 1 if env.failed else 0


if __name__ == "__main__":
    sys.exit(main())
