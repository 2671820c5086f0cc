"""The groups rpc, ws and proc: nodes as processes, their CPU time from /proc.

Every node is a development network on loopback, loaded with the same signed transactions (400 token
transfers a block) through the same requests. It is pinned to one CPU, what loads it to another.
"""

import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import time

LOAD = pathlib.Path(__file__).resolve().parent / "load"
OWNER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"  # first account of development networks
TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"  # Transfer
SETUP_BLOCKS = 4
CONNECTIONS = [1, 64, 1024]
JUDGED = 64  # connections of the figures that have a target: measured in every round
SUBSCRIBERS = {1: 50, 100: 50, 1000: 5}  # connections: blocks; more notifications say no more
QUICK_CONNECTIONS = [64]
QUICK_SUBSCRIBERS = {1: 5, 1000: 1}
CPUCLOCK_SCHED = 2  # of the clock of a process, as clock_getcpuclockid(3) makes it


class BenchError(Exception):
    """A node or a load program did not do what it should."""


FAILURES = (BenchError, OSError, http.client.HTTPException, subprocess.SubprocessError)


class Server:
    """A node of its own in a fresh folder; use it in a with statement."""

    def __init__(self, impl, program, cpu):
        self.impl = impl
        self.folder = tempfile.TemporaryDirectory(prefix="candela-bench-")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        data = pathlib.Path(self.folder.name)
        if impl == "c":
            arguments = [f"--data-dir={data}", f"--http-port={self.port}", "--log-level=warn"]
        else:
            arguments = ["--datadir", data, "--port", str(self.port), "--fund", OWNER]
        self.log = open(data / "log", "w+")
        command = ["taskset", "-c", str(cpu), *program, *arguments]
        started = time.monotonic()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.start_ms = self.start_cpu_ms = None
        try:
            while self.start_ms is None:
                try:
                    self.call("eth_blockNumber")
                    self.start_ms = (time.monotonic() - started) * 1000
                    self.start_cpu_ms = self.cpu_seconds() * 1000
                except ConnectionRefusedError:
                    if self.process.poll() is not None or time.monotonic() - started > 60:
                        raise BenchError(f"{impl} does not start: {self.last_words()}") from None
                    time.sleep(0.0005)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stop()
        self.log.close()
        self.folder.cleanup()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def last_words(self):
        self.log.seek(0)
        return (self.log.read().strip().splitlines() or ["no message"])[-1]

    def post(self, body):
        """One request on a connection of its own: an old one may have made room for a load's."""
        self.connection.close()
        headers = {"Content-Type": "application/json", "Host": "localhost"}
        self.connection.request("POST", "/", body, headers)
        return self.connection.getresponse().read()

    def call(self, method, *params):
        answer = json.loads(self.post(request(method, *params)))
        if "result" not in answer:
            raise BenchError(f"{self.impl}: {method}: {answer.get('error')}")
        return answer["result"]

    def stat(self):
        """Fields of /proc/PID/stat behind the name, the state first."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        return text.rpartition(")")[2].split()

    def cpu_seconds(self):
        """CPU time of all its threads, of those that ended too, to the nanosecond."""
        return time.clock_gettime((~self.process.pid << 3) | CPUCLOCK_SCHED)

    def threads(self):
        return int(self.stat()[17])

    def rss_mb(self):
        return int(self.stat()[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def data_kb(self):
        files = [p for p in pathlib.Path(self.folder.name).rglob("*") if p.is_file()]
        return sum(p.stat().st_blocks for p in files if p.name != "log") / 2

    def queue(self, transactions):
        """Gives transactions to the pool."""
        calls = [request("eth_sendRawTransaction", tx) for tx in transactions]
        for answer in json.loads(self.post("[" + ",".join(calls) + "]")):
            if "result" not in answer:
                raise BenchError(f"{self.impl}: a transaction is refused: {answer.get('error')}")

    def mine(self, count):
        """Makes a block, which must hold the count transactions of the pool."""
        self.call("evm_mine")
        got = int(self.call("eth_getBlockTransactionCountByNumber", "latest"), 16)
        if got != count:
            raise BenchError(f"{self.impl}: a block of {got} transactions instead of {count}")

    def load(self, blocks):
        if self.impl == "c":
            self.call("evm_setAutomine", False)
        for block in blocks:
            self.queue(block)
            self.mine(len(block))


def request(method, *params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def make_blocks(args, count):
    """Blocks of signed transactions: the set-up, then count blocks of token transfers."""
    contracts = json.loads((args.data / "src" / "contracts.json").read_text())
    init = contracts["Token"]["init"]
    command = [args.candela.parent / "bench-transfers", "1337", init, str(count)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [block.split() for block in text.strip().split("\n\n")]


def token_of(server):
    """The token's address: what the only transaction of block 1 made."""
    block = server.call("eth_getBlockByNumber", "0x1", False)
    return server.call("eth_getTransactionReceipt", block["transactions"][0])["contractAddress"]


# --- rpc ------------------------------------------------------------------------------------------


def workloads(server):
    """Request bodies by name of the workload, after a check of what such requests answer."""
    head = int(server.call("eth_blockNumber"), 16)
    token = token_of(server)
    blocks = [server.call("eth_getBlockByNumber", number, True) for number in ("0x2", "0x3")]
    accounts = [tx["to"] for block in blocks for tx in block["transactions"]]
    balance = [("eth_getBalance", account, "latest") for account in accounts]
    token_balance = [
        ("eth_call", {"to": token, "data": "0x70a08231" + account[2:].rjust(64, "0")}, "latest")
        for account in accounts[:100]
    ]
    logs = ("eth_getLogs", {"fromBlock": hex(head - 4), "address": token, "topics": [TOPIC]})
    block = ("eth_getBlockByNumber", "latest", True)
    draw = random.Random(1)
    batches = [[request(*draw.choice(balance)) for _ in range(100)] for _ in range(20)]

    held = [int(server.call(*call), 16) for call in token_balance]
    if sum(held) != 100 * 10**9 or len(set(held)) == 1:
        raise BenchError(f"{server.impl}: the token's balances are wrong")
    if any(int(server.call(*call), 16) == 0 for call in balance):
        raise BenchError(f"{server.impl}: an account without balance")
    if len(server.call(*logs)) != 2000 or len(server.call(*block)["transactions"]) != 400:
        raise BenchError(f"{server.impl}: eth_getLogs or eth_getBlockByNumber is incomplete")
    if server.post("[" + ",".join(batches[0]) + "]").count(b'"result"') != 100:
        raise BenchError(f"{server.impl}: a batch is answered in part")
    return {
        "eth_blockNumber": [request("eth_blockNumber")],
        "eth_getBalance": [request(*call) for call in balance],
        "eth_call": [request(*call) for call in token_balance],
        "eth_getLogs_2000": [request(*logs)],
        "eth_getBlockByNumber_400": [request(*block)],
        "batch_100": ["[" + ",".join(batch) + "]" for batch in batches],
        "web3_clientVersion": [request("web3_clientVersion")],
    }


def run_wrk(server, bodies, connections, seconds, cpu):
    """One run of wrk; its figures with the server's CPU time, or None if nothing was answered."""
    with tempfile.NamedTemporaryFile("w", suffix=".requests") as file:
        file.write("\n".join(bodies) + "\n")
        file.flush()
        least = int(0.9 * min(len(server.post(body)) for body in bodies[:50]))
        url = f"http://localhost:{server.port}/"
        command = ["taskset", "-c", str(cpu), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s"]
        command += ["--timeout", "10s", "-s", LOAD / "wrk.lua", url, "--", file.name, str(least)]
        before = server.cpu_seconds()
        done = subprocess.run(command, capture_output=True, text=True)
        spent = server.cpu_seconds() - before
    if done.returncode != 0 or not done.stdout.strip().endswith("}"):
        raise BenchError(f"wrk: {(done.stderr or done.stdout).strip()[-200:]}")
    result = json.loads(done.stdout.strip().splitlines()[-1])
    requests = result.pop("requests")
    if requests == 0:
        return None
    result["rps"] = requests / result.pop("wall_us") * 1e6
    return result | {"cpu_us_per_req": spent / requests * 1e6, "rss_mb": server.rss_mb()}


def best_of_rounds(server, bodies, connections, args):
    """Warms up, measures, and gives the round that took the least CPU time."""
    rounds = args.rounds if connections == JUDGED else 1
    run_wrk(server, bodies, connections, min(2, args.seconds), args.cpus[-1])  # a slow one: nothing
    runs = [
        run_wrk(server, bodies, connections, args.seconds, args.cpus[-1]) for _ in range(rounds)
    ]
    return min(filter(None, runs), key=lambda run: run["cpu_us_per_req"], default=None)


def run_rpc(impl, program, args):
    blocks = make_blocks(args, 10)
    with Server(impl, program, args.cpus[0]) as server:
        server.load(blocks)
        for name, bodies in workloads(server).items():
            if args.only and args.only not in name:
                continue
            for connections in QUICK_CONNECTIONS if args.quick else CONNECTIONS:
                result = best_of_rounds(server, bodies, connections, args)
                if result is None:
                    print(f"{impl}: {name}/{connections}: no answer in {args.seconds} s")
                else:
                    yield {"impl": impl, "name": f"{name}/{connections}", **result}


# --- ws -------------------------------------------------------------------------------------------


def run_ws(impl, program, args):
    subscribers = QUICK_SUBSCRIBERS if args.quick else SUBSCRIBERS
    blocks = make_blocks(args, sum(subscribers.values()))
    with Server(impl, program, args.cpus[0]) as server:
        server.load(blocks[:SETUP_BLOCKS])
        todo = blocks[SETUP_BLOCKS:]
        for connections, count in subscribers.items():
            result = fan_out(server, args, connections, todo[:count])
            todo = todo[count:]
            yield {"impl": impl, "name": f"subscribers/{connections}", **result}


def fan_out(server, args, connections, blocks):
    """Mines blocks while clients listen: CPU time of a notification and its delay."""
    program = args.candela.parent / "bench-subscribers"
    command = ["taskset", "-c", str(args.cpus[-1]), program, str(server.port), str(connections)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*command, token_of(server), TOPIC], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as clients:
        if clients.stdout.readline() != "ready\n":
            raise BenchError(f"{server.impl}: {clients.stderr.read().strip()}")
        spent, delays = 0, []
        for block in blocks:
            server.queue(block)
            before, start = server.cpu_seconds(), time.monotonic_ns()
            print(len(block), file=clients.stdin, flush=True)
            server.mine(len(block))
            end = clients.stdout.readline()
            if not end:
                raise BenchError(f"{server.impl}: {clients.stderr.read().strip()}")
            delays.append((int(end) - start) / 1e6)
            spent += server.cpu_seconds() - before
        rss = server.rss_mb()
        clients.stdin.close()
    delays.sort()
    told = connections * sum(len(block) + 1 for block in blocks)
    return {
        "cpu_us": spent / told * 1e6,
        "p50_ms": delays[len(delays) // 2],
        "p99_ms": delays[len(delays) * 99 // 100],
        "notifications": told,
        "rss_mb": rss,
    }


# --- proc -----------------------------------------------------------------------------------------


def explorer_figures(server):
    """The explorer's first page with 100,000 blocks: least time of 20, and bytes on the wire."""
    server.call("hardhat_mine", hex(100_000))
    figures = {"explorer_ms": float("inf")}
    for _ in range(20):
        started = time.monotonic()
        server.connection.request("GET", "/explorer", headers={"Accept-Encoding": "gzip"})
        answer = server.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise BenchError(f"/explorer: status {answer.status}")
        figures["explorer_ms"] = min(figures["explorer_ms"], (time.monotonic() - started) * 1000)
        figures["explorer_kb"] = len(body) / 1024
    return figures


def run_proc(impl, program, args):
    figures = {}
    for _ in range(max(args.rounds, 3)):
        with Server(impl, program, args.cpus[0]) as server:
            for name, value in ("start_ms", server.start_ms), ("start_cpu_ms", server.start_cpu_ms):
                figures[name] = min(figures.get(name, value), value)
    with Server(impl, program, args.cpus[0]) as server:
        time.sleep(2 if args.quick else 10)
        figures["rss_idle_mb"] = server.rss_mb()
        figures["threads"] = server.threads()
        server.stop()
        figures["db_kb"] = server.data_kb()
    if impl == "c":
        with Server(impl, program, args.cpus[0]) as server:
            figures |= explorer_figures(server)
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, program[0]], check=True)
        figures["binary_kb"] = os.path.getsize(stripped.name) / 1024
    for name, value in figures.items():
        yield {"impl": impl, "name": name, "value": value}


RUN = {"rpc": run_rpc, "ws": run_ws, "proc": run_proc}


def run_group(group, programs, args, failures):
    """Runs a group with each node in turn: its result lines. What failed is added to failures."""
    tools = ["taskset"] + ["wrk"] * (group == "rpc") + ["strip"] * (group == "proc")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        print(f"SKIP {group}: {missing[0]} is not installed")
        return
    nodes = {}
    if "c" in programs:
        nodes["c"] = [str(args.candela.parent / "candela")]
    if "geth" in programs:
        nodes["geth"] = [programs["geth"][0], "node"]
    for impl, program in nodes.items():
        try:
            for result in RUN[group](impl, program, args):
                if result.get("errors"):
                    failures.append(f"{impl}: {result['name']}: {result['errors']} errors")
                yield {"bench": group, **result}
        except FAILURES as error:
            failures.append(f"{group}: {error}")
