#!/usr/bin/env python3
"""Nodes under mixed hostile load, and whether their good clients notice; ends with `N passed, M failed`.

usage: tests/faults/hostile.py --bin build/release/bin/candela [--seconds 20] [--rss-mib 160] [--p99 2]

Two nodes at a time: one of the development network, one with P-, X- and C-Chain and a staking port (hostile_primary.py).
Hostile, all at once: malformed HTTP, JSON and WebSocket frames, huge and refused batches, deep JSON, getLogs over everything
and from two hundred connections that do not read, endless calls (alone, and by the hundred on "pending"), traces without an
end, slow writers, slow readers, subscribers that never read, thousands of subscriptions, HTTP/2 streams whose bodies never come,
upgrades to HTTP/2 behind which nothing comes, replacements that swell the pool, bodies of the largest size that stop half way, floods
of connections; at the other node nonsense for every service, users by the hundred, pages, subscriptions to everything, and at its
staking port garbage, half-open and dripping handshakes, wrong frames, and peers that shake hands and then flood all chains and
handlers. Good: readers on one connection,
readers with a new connection each time, a sender that waits for receipts, a subscriber that wants every head in order, readers of
P-, X-, C-Chain and pages, a peer that stays.
One hour when CANDELA_TEST_FULL is 1, with a line of memory and waiting times every minute. The random choices repeat with CANDELA_SEED.
"""
import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import pathlib
import random
import re
import resource
import sys
import time

sys.dont_write_bytecode = True
E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "ws")]
from harness import ACCOUNTS, Env, match  # noqa: E402 - found through the path just set
from hostile_load import LOGGER, Load  # noqa: E402
from hostile_primary import PrimaryLoad, make_keys, start  # noqa: E402


CACHES_MIB = 64  # half of the budget, which what was read may fill and keep


def rss_mib(pid, field="VmRSS:"):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field)) / 1024


def own_mib(pid):
    """Memory that belongs to the process alone: code and constants are the system's to take away."""
    return rss_mib(pid, "RssAnon:")


async def run_all(loads, tasks, watch):
    """Runs the tasks until the load ends; watch is called now and then."""
    while loads[0].running() and watch():
        await asyncio.sleep(0.25)
    for load in loads:
        load.end = 0
    for t in tasks:
        t.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def waits_of(load, seen=0):
    waits = sorted(load.latency[seen:]) or [0]
    return {"answers": len(waits), "median_ms": round(1e3 * waits[len(waits) // 2], 2),
            "p99_ms": round(1e3 * waits[len(waits) * 99 // 100], 1), "slowest_ms": round(1e3 * waits[-1], 1)}


async def tell_minutes(load):
    """A line a minute: what the node takes, how long good clients waited, and what the node says about the disk."""
    minute = 0
    while True:
        seen = len(load.latency)
        await asyncio.sleep(60)
        minute += 1
        print(json.dumps({"node": load.name, "minute": minute, "rss_mib": round(load.rss[-1]), **waits_of(load, seen),
                          "failures": len(load.failures), "last_failure": load.failures[-1] if load.failures else None,
                          "slow_disk_ms": [int(m[1]) for line in load.node.lines
                                           if (m := re.search(r"disk is slow.*?\bms\D+(\d+)", line))]}), flush=True)


async def attack(load):
    bad = [b for b in load.hostile_ones() if any(part in b.__name__ for part in load.only.split(","))]
    await run_all([load], [asyncio.create_task(load.hostile(b.__name__, b)) for b in bad], lambda: True)


async def serve(loads):
    def watch():
        for load in loads:
            if load.node.process.poll() is None:
                load.rss.append(rss_mib(load.node.process.pid))
        return all(load.node.process.poll() is None for load in loads)
    tasks = []
    for load in loads:
        tasks += [asyncio.create_task(load.good(*g)) for g in load.good_ones()] + [asyncio.create_task(tell_minutes(load))]
    await run_all(loads, tasks, watch)


def attacker(load, out):
    """The hostile side, in a process of its own: its work does not delay the good clients' clocks."""
    asyncio.run(attack(load))
    out.send((load.done, load.failures))


def drive(loads, seconds):
    pipes, processes = [], []
    for load in loads:
        load.end = time.monotonic() + seconds
        ours, theirs = multiprocessing.Pipe()
        pipes.append(ours)
        processes.append(multiprocessing.get_context("fork").Process(target=attacker, args=(load, theirs)))
    for process in processes:
        process.start()
    asyncio.run(serve(loads))
    for load, ours, process in zip(loads, pipes, processes):
        assert ours.poll(seconds + 60), "the hostile side is stuck"
        done, failures = ours.recv()
        process.join()
        load.done.update(done)
        load.failures += failures


def settle(load, limit_s=60):
    """Memory after the end of the load, as soon as it is near that of an idle node: what its caches may keep aside."""
    end = time.monotonic() + limit_s
    while (now := own_mib(load.node.process.pid)) > load.idle + CACHES_MIB and time.monotonic() < end:
        time.sleep(0.5)
    return now


def checks(load, opt, exit_code):
    """(what, is it so, detail)"""
    latency, rss = sorted(load.latency), load.rss
    p99 = latency[len(latency) * 99 // 100]
    quarter = max(1, len(rss) // 4)
    early, late = sorted(rss[quarter:2 * quarter])[quarter // 2], sorted(rss[-quarter:])[quarter // 2]
    yield "the node stays, and stops when told", exit_code == 0, f"exit code {exit_code}"
    yield "nobody good is refused or told wrong", not load.failures, "; ".join(load.failures[:5])
    yield "good clients are served in time", p99 <= opt.p99, f"p99 {p99:.3f} s"
    yield "all kinds of good clients got on", all(load.done.get(k, 0) > 0 for k in load.KINDS), str(load.done)
    if opt.rss_mib == 0:
        return
    yield "memory is bounded", max(rss) <= opt.rss_mib, f"{max(rss):.0f} MiB"
    yield "memory does not grow", late <= early * 1.5 + 64, f"{early:.0f} to {late:.0f} MiB"


def begin_dev(env, seed):
    node = env.start("--memory=128MiB", data_dir=env.dir())
    rpc = node.rpc()
    deploy = rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "data": LOGGER, "gas": "0x100000"})
    logger = rpc("eth_getTransactionReceipt", deploy)["contractAddress"]
    match(rpc("eth_getCode", logger, "latest"), "^0x5f5fa0")
    rpc.close()
    return Load(node, random.Random(seed), logger)


def begin_primary(env, seed):
    keys = make_keys(env)
    node, data_dir = start(env, "--memory=128MiB")
    load = PrimaryLoad(node, random.Random(seed + 1), data_dir)
    load.keys = keys
    load.begin_peers(env.binary.parent.parent / "test")
    return load


def end(env, load, opt):
    node = load.node
    if opt.rss_mib != 0 and node.process.poll() is None:
        rest = settle(load)
        ok = rest <= load.idle + CACHES_MIB
        env.note(ok, f"{'ok' if ok else 'FAIL'} {load.name}: memory is given back: {load.idle:.0f} MiB idle, "
                     f"{rest:.0f} after the load")
    for ok, what in load.end_of_others():
        env.note(ok, f"{'ok' if ok else 'FAIL'} {load.name}: {what}")
    code = node.end() if node.process.poll() is None else node.process.returncode
    for what, ok, detail in checks(load, opt, code):
        env.note(ok, f"{'ok' if ok else 'FAIL'} {load.name}: {what}: {detail}")
    print(json.dumps({"node": load.name, "seconds": opt.seconds, **waits_of(load), "rss_max_mib": round(max(load.rss)),
                      "counts": load.done}))
    if code != 0:
        print("\n".join(node.lines[-30:]))


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    full = os.environ.get("CANDELA_TEST_FULL") == "1"
    args.add_argument("--bin", required=True, help="the candela program")
    args.add_argument("--seconds", type=float, default=3600 if full else 20)
    args.add_argument("--rss-mib", type=float, default=160,
                      help="most memory, a quarter above the budget that a node is given; 0: not looked at")
    args.add_argument("--only", default="", help="attacks whose names contain one of these words")
    args.add_argument("--nodes", default="dev,primary", help="which nodes: dev, primary or both")
    args.add_argument("--p99", type=float, default=2.0, help="seconds that a good client waits at most, 99 times of 100")
    opt = args.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    sys.set_int_max_str_digits(0)

    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    seed = int(os.environ.get("CANDELA_SEED", "0")) or random.randrange(1, 1 << 32)
    print(f"seed {seed}", flush=True)
    env = Env(pathlib.Path(opt.bin).resolve())
    begin = {"dev": begin_dev, "primary": begin_primary}
    try:
        loads = [begin[name](env, seed) for name in opt.nodes.split(",")]
        for load in loads:
            load.only = opt.only
            load.idle = own_mib(load.node.process.pid)
        drive(loads, opt.seconds)
        for load in loads:
            end(env, load, opt)
    finally:
        env.close()
    print(f"{env.passed} passed, {env.failed} failed")
    return 1 if env.failed else 0


if __name__ == "__main__":
    sys.exit(main())
