#!/usr/bin/env python3
"""The primary network beside the original's node, in one run: processor time of a request, from the clocks of the
processes, for what clients ask most; from exec to ready, and memory ten seconds later. Of answers
below a kilobyte most is the kernel's part on both sides, so the rest is judged there (own_us). Both nodes have the genesis of
network 1337 with 2,000 validators and an address with 1,024 outputs, without sybil protection, each on one processor,
wrk on another. One JSON line each; a limit that is missed ends it with status 1.

usage: bench/primary.py [--seconds N] [--rounds N] [--only NAME] [--program FILE]"""
import argparse
import concurrent.futures
import hashlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import gonode  # noqa: E402 - found through the path just set
import pages_suite  # noqa: E402
from servers import CPUCLOCK_SCHED, LOAD, BenchError  # noqa: E402

VALIDATORS, OUTPUTS, CONNECTIONS = 2000, 1024, 64
READ, HEAVY = 5, 10  # so many times less processor time than the original
SMALL = 1000  # bytes
READY_MS, IDLE_MB = 60, 40
FIRST_MS, FIRST_KB = 10, 6  # the explorer's first page of P, behind the start
START_LIMIT_S = 60
IDLE_S = 10


def genesis():
    """The configuration of network 1337, and the address with many outputs."""
    config = json.loads((pages_suite.DATA / "vectors" / "genesis.json").read_text())[1]["config"]
    now = int(time.time())
    config["startTime"], config["initialStakeDurationOffset"] = now - 3600, 60
    like = config["initialStakers"][0]
    config["initialStakers"] = [
        {"nodeID": "NodeID-" + pages_suite.cb58(hashlib.sha256(str(i).encode()).digest()[:20]),
         "rewardAddress": like["rewardAddress"], "delegationFee": 20000} for i in range(VALIDATORS)]
    staked = set(config["initialStakedFunds"])
    rich = next(a for a in config["allocations"] if a["avaxAddr"] not in staked)
    rich["unlockSchedule"] = [{"amount": 10 ** 9 + i, "locktime": now + 10 ** 6 + i} for i in range(OUTPUTS)]
    return config, rich["avaxAddr"]


class Node:
    """A process on the first processor, asked over HTTP."""

    def __init__(self, kind, program, *flags):
        self.kind = kind
        self.folder = tempfile.TemporaryDirectory(prefix="candela-bench-")
        data = self.folder.name
        common = ["--http-port=0", "--sybil-protection-enabled=false", f"--data-dir={data}", *flags]
        if kind == "go":
            common += ["--fd-limit=16000", "--log-level=info", "--log-display-level=off", "--staking-port=0"]
        else:
            common += ["--log-level=warn", f"--process-context-file={data}/process.json"]
        self.out = open(os.path.join(data, "out.log"), "w+b")
        self.started = time.monotonic()
        self.process = subprocess.Popen(["taskset", "-c", "0", str(program), *common], stdout=self.out, stderr=self.out)
        try:
            self.ready_ms = self.wait()
        except BaseException:
            self.close()
            raise

    def wait(self):
        """Until all three chains have caught up."""
        context = pathlib.Path(self.folder.name) / "process.json"
        limit = self.started + START_LIMIT_S
        while not context.exists() or not context.read_text().strip():
            self.check(limit)
        self.port = int(json.loads(context.read_text())["uri"].rsplit(":", 1)[1])
        todo = ["P", "X", "C"]
        while todo:
            self.check(limit)
            answer = self.ask("/ext/info", "info.isBootstrapped", {"chain": todo[0]})
            if answer.get("result", {}).get("isBootstrapped"):
                todo.pop(0)
        return (time.monotonic() - self.started) * 1000

    def check(self, limit):
        if self.process.poll() is not None or time.monotonic() > limit:
            self.out.seek(0)
            raise BenchError(f"{self.kind} does not start: {self.out.read()[-400:].decode(errors='replace')}")
        time.sleep(0.0005)

    def post(self, path, body):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        conn.request("POST", path, body, {"Content-Type": "application/json", "Host": "localhost"})
        text = conn.getresponse().read()
        conn.close()
        return text

    def ask(self, path, method, params):
        return json.loads(self.post(path, call(method, params)))

    def family(self):
        """The process and those it has started: the C-Chain may be a plugin."""
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                todo += [int(p) for p in (task / "children").read_text().split()]
        return found

    def cpu_s(self):
        """All of it, and the kernel's share in it: what a request over loopback costs whoever answers it."""
        family = self.family()
        fields = [pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in family]
        user, kernel = (sum(int(f[i]) for f in fields) for i in (11, 12))
        return sum(time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED) for pid in family), user, kernel

    def memory_mb(self):
        """Of all of them; pages that they share count once."""
        texts = [pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in self.family()]
        return sum(int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("Pss:")) / 1e3

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.out.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def call(method, params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def workloads(config, address):
    """(name, path, params, so many times less than the original)"""
    one = config["initialStakers"][7]["nodeID"]
    poor = config["allocations"][-1]["avaxAddr"].replace("X-", "P-")
    rows = [("info." + m, p, READ) for m, p in (
        ("getNodeVersion", {}), ("getNodeID", {}), ("getNetworkID", {}), ("getBlockchainID", {"alias": "X"}),
        ("isBootstrapped", {"chain": "P"}), ("peers", {}))]
    rows += [("platform." + m, p, READ) for m, p in (
        ("getHeight", {}), ("getTimestamp", {}), ("getCurrentSupply", {}), ("getMinStake", {}), ("getFeeState", {}),
        ("getStakingAssetID", {}), ("getBlockByHeight", {"height": 0, "encoding": "hex"}), ("getSubnets", {}),
        ("getBalance", {"addresses": [poor]}), ("getBlockchains", {}), ("getValidatorsAt", {"height": 0}))]
    rows += [("platform.getCurrentValidators of one", {"nodeIDs": [one]}, READ),
             ("platform.getCurrentValidators", {}, HEAVY),
             ("platform.getUTXOs", {"addresses": [address.replace("X-", "P-")]}, HEAVY)]
    return [(name, "/ext/info" if name.startswith("info.") else "/ext/bc/P", params, least) for name, params, least in rows]


def load(node, path, body, seconds):
    """Processor time of a request in microseconds: all, and without the kernel's."""
    with tempfile.NamedTemporaryFile("w", suffix=".requests") as file:
        file.write(body + "\n")
        file.flush()
        size = len(node.post(path, body)) * 9 // 10
        command = ["taskset", "-c", str(os.cpu_count() - 1), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s",
                   "--timeout", "20s", "-s", LOAD / "wrk.lua", f"http://localhost:{node.port}{path}", "--", file.name,
                   str(size), path]
        before = node.cpu_s()
        done = subprocess.run(command, capture_output=True, text=True)
        spent, user, kernel = (b - a for a, b in zip(before, node.cpu_s()))
    if done.returncode != 0 or not done.stdout.strip().endswith("}"):
        raise BenchError(f"wrk: {(done.stderr or done.stdout).strip()[-200:]}")
    got = json.loads(done.stdout.strip().splitlines()[-1])
    if got["errors"] or not got["requests"]:
        raise BenchError(f"{node.kind}: {body[:80]}: {got}: {node.post(path, body)[:200]}")
    cost = spent / got["requests"] * 1e6
    return cost, cost * user / max(user + kernel, 1)


def compare(nodes, name, path, params, least, opt):
    body = call(name.split()[0], params)
    sizes, cost = [], {}
    for n in nodes:
        text = n.post(path, body)
        if b'"result"' not in text:
            raise BenchError(f"{n.kind}: {name}: {text[:300]}")
        sizes.append(len(text))
        load(n, path, body, 1)
        cost[n.kind] = min(load(n, path, body, opt.seconds) for _ in range(opt.rounds))
    (all_c, own_c), (all_go, own_go) = cost["c"], cost["go"]
    ratio, own = all_go / all_c, own_go / max(own_c, 0.01)
    is_floor = sizes[0] < SMALL  # most of it is the kernel's, on both sides
    return {"name": name, "cpu_us": round(all_c, 1), "go_cpu_us": round(all_go, 1), "own_us": round(own_c, 1),
            "go_own_us": round(own_go, 1), "bytes": sizes[0], "go_bytes": sizes[1], "ratio": round(ratio, 1),
            "own_ratio": round(own, 1), "judged": "own_ratio" if is_floor else "ratio", "at_least": least,
            "met": (own if is_floor else ratio) >= least}


def requests(opt, ours, theirs):
    config, address = genesis()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        flags = ["--network-id=1337", f"--genesis-file={file.name}"]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = [pool.submit(Node, "c", ours, "--network-profile=upstream", *flags),
                       pool.submit(Node, "go", theirs, *flags)]
            with waiting[0].result() as c, waiting[1].result() as go:
                for name, path, params, least in workloads(config, address):
                    if opt.only in name:
                        yield compare([c, go], name, path, params, least, opt)


def processes(opt, ours, theirs):
    if opt.only not in "process":
        return
    flags = ["--network-id=local"]
    ready = []
    for _ in range(max(opt.rounds, 3)):
        with Node("c", ours, *flags) as node:
            ready.append(node.ready_ms)
    with Node("c", ours, *flags) as node, Node("go", theirs, *flags) as go:
        time.sleep(IDLE_S)
        yield {"name": "process ready_ms", "got": round(min(ready), 1), "go": round(go.ready_ms, 1), "at_most": READY_MS,
               "met": min(ready) <= READY_MS}
        idle = node.memory_mb()
        yield {"name": "process idle_mb", "got": round(idle, 1), "go": round(go.memory_mb(), 1), "at_most": IDLE_MB,
               "met": idle <= IDLE_MB}


def first_page(opt, ours):
    """The explorer's page of P with all those validators: nothing is kept of it before."""
    if opt.only not in "explorer":
        return
    took, size = [], 0
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(genesis()[0], file)
        file.flush()
        for _ in range(max(opt.rounds, 3)):
            with Node("c", ours, "--network-profile=upstream", "--network-id=1337", f"--genesis-file={file.name}",
                      "--explorer=on") as node:
                conn = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
                started = time.monotonic()
                conn.request("GET", "/explorer/P", headers={"Accept-Encoding": "gzip"})
                answer = conn.getresponse()
                size = len(answer.read()) / 1000
                took.append((time.monotonic() - started) * 1000)
                conn.close()
                if answer.status != 200:
                    raise BenchError(f"/explorer/P: status {answer.status}")
    yield {"name": "explorer first_ms", "got": round(min(took), 1), "at_most": FIRST_MS, "met": min(took) <= FIRST_MS}
    yield {"name": "explorer first_kb", "got": round(size, 1), "at_most": FIRST_KB, "met": size <= FIRST_KB}


def programs(opt, folder):
    """Figures of the benchmarks in C, which say their limits themselves."""
    for name in ("bench-platform", "bench-sets", "bench-xvm"):
        if opt.only not in name:
            continue
        done = subprocess.run([folder / name], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            row = json.loads(line)
            judged = [key.removeprefix("limit_") for key in row if key.startswith("limit_")]
            yield row | {"met": all(row[key] <= row["limit_" + key] for key in judged)}


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--seconds", type=int, default=3)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--only", default="")
    args.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "candela"))
    opt = args.parse_args()
    ours = pathlib.Path(opt.program).resolve()
    theirs = gonode.programs()[0]
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    missed = 0
    with open(out / "primary.jsonl", "w") as file:
        parts = [programs(opt, ours.parent), processes(opt, ours, theirs), first_page(opt, ours), requests(opt, ours, theirs)]
        for part in parts:
            for row in part:
                missed += not row["met"]
                line = json.dumps({"group": "primary", **row})
                print(line, flush=True)
                print(line, file=file, flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
