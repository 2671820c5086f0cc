#!/usr/bin/env python3
"""The whole node on a disk that is full or broken: one line says so, it ends, and nothing acknowledged is gone.

usage: tests/faults/disk.py --bin build/release/bin/candela --shim build/release/test/io_faults.so
"""
import argparse
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402 - found through the path just set
from harness import ACCOUNTS, RpcError, match, same  # noqa: E402

TX = {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "value": "0x1"}


class Disk:
    """A directory whose disk is bad while the flag file exists."""

    def __init__(self, env, variable):
        self.data = env.dir()
        self.bad = pathlib.Path(self.data + ".bad")
        self.env = dict(os.environ, LD_PRELOAD=env.shim, IO_FAULTS_DIR=self.data)
        self.env[variable] = str(self.bad)

    def spawn(self, env):
        return env.spawn(data_dir=self.data, env=self.env)


def while_serving(env, variable, words):
    disk = Disk(env, variable)
    node = disk.spawn(env).wait_ready()
    rpc = node.rpc()
    acknowledged = [rpc("eth_sendTransaction", TX) for _ in range(3)]
    disk.bad.touch()
    try:
        for _ in range(100):
            acknowledged.append(rpc("eth_sendTransaction", TX))
        raise AssertionError("transactions are taken that nobody can keep")
    except RpcError as e:
        match(str(e), "no space left on device|input/output error")
    same(node.process.wait(harness.STOP_LIMIT_S), 1, "exit code")
    node.reader.join()
    errors = [m for m in map(json.loads, node.lines) if m["level"] == "error"]
    same(len(errors), 1, f"lines of error in {node.lines}")
    match(errors[0]["msg"], words)
    disk.bad.unlink()
    node = disk.spawn(env).wait_ready()
    receipts = node.rpc().batch([("eth_getTransactionReceipt", [h]) for h in acknowledged])
    assert all(r is not None and r["status"] == "0x1" for r in receipts), "an acknowledged transaction is gone"
    node.rpc()("eth_sendTransaction", TX)
    same(node.end(), 0, "exit code after SIGTERM")


def while_starting(env, variable, words):
    disk = Disk(env, variable)
    for first in (True, False):
        disk.bad.touch()
        node = disk.spawn(env)
        same(node.process.wait(harness.START_LIMIT_S), 1, "exit code")
        node.reader.join()
        match(node.lines[0], "^error: .*(" + words + ")", "first start" if first else "second start")
        disk.bad.unlink()
        same(disk.spawn(env).wait_ready().end(), 0, "exit code after SIGTERM")


def test_the_disk_fills_up_while_serving(env):
    while_serving(env, "IO_FAULTS_FULL", "the disk is full")


def test_the_disk_breaks_while_serving(env):
    while_serving(env, "IO_FAULTS_BROKEN", "the data directory cannot be written")


def test_the_disk_is_full_at_the_start(env):
    while_starting(env, "IO_FAULTS_FULL", "[Nn]o space left")


def test_the_disk_is_broken_at_the_start(env):
    while_starting(env, "IO_FAULTS_BROKEN", "Input/output error")


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--bin", required=True, help="the candela program")
    args.add_argument("--shim", required=True, help="io_faults.c as a library to preload")
    opt = args.parse_args()
    env = harness.Env(opt.bin)
    env.shim = str(pathlib.Path(opt.shim).resolve())
    try:
        harness.run_suite(sys.modules[__name__], env)
    finally:
        env.close()
    print(f"{env.passed} passed, {env.failed} failed")
    return 1 if env.failed else 0


if __name__ == "__main__":
    sys.exit(main())
