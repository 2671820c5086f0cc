#!/usr/bin/env python3
"""A node under mixed hostile load, and whether its good clients notice; ends with `N passed, M failed`.

usage: tests/faults/hostile.py --bin build/release/bin/candela [--seconds 20] [--rss-mib 160] [--p99 2]

Hostile, all at once: malformed HTTP, JSON and WebSocket frames, huge and refused batches, deep JSON, getLogs over everything
and from two hundred connections that do not read, endless calls (alone, and by the hundred on "pending"), traces without an
end, slow writers, slow readers, subscribers that never read, thousands of subscriptions, HTTP/2 streams whose bodies never come,
replacements that swell the pool, bodies of the largest size that stop half way, floods of connections. Good: readers on one connection,
readers with a new connection each time, a sender that waits for receipts, a subscriber that wants every head in order.
One hour when CANDELA_TEST_FULL is 1, with a line of memory and waiting times every minute. The random choices repeat with CANDELA_SEED.
"""
import argparse
import asyncio
import base64
import json
import logging
import multiprocessing
import os
import pathlib
import random
import resource
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "ws")]
import harness  # noqa: E402 - found through the path just set
from harness import ACCOUNTS, Env, match  # noqa: E402
from wire import PING, PONG, TEXT, CLOSE, frame, frames  # noqa: E402

PATIENCE_S = 10   # a good client's answer
RETRIES = 5       # of a new connection that the flood kept out
FLOOD = 600       # connections of one flooder

# Code that emits 40 logs when called: PUSH0 PUSH0 LOG0, forty times, STOP; behind code that returns it.
LOGS = "5f5fa0" * 40 + "00"
LOGGER = "0x" + f"60{len(LOGS) // 2:02x}" + "80" + "600a" + "5f" + "39" + "5f" + "f3" + "00" + LOGS
LOOP = "0x5b5f56"  # JUMPDEST PUSH0 JUMP


def call(method, *params, nr=1):
    return {"jsonrpc": "2.0", "id": nr, "method": method, "params": params}


class Load:
    def __init__(self, node, rng, logger):
        self.node, self.rng, self.logger = node, rng, logger
        self.latency, self.failures, self.done = [], [], {}
        self.only = ""  # attacks whose names contain one of these words, separated by commas
        self.end = float("inf")

    def running(self):
        return time.monotonic() < self.end

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    async def connect(self, window=None):
        sock = socket.socket()
        sock.setblocking(False)
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        await asyncio.get_running_loop().sock_connect(sock, (self.node.host, self.node.port))
        return await asyncio.open_connection(sock=sock, limit=1 << 26)

    def request(self, body, length=None, extra=""):
        n = len(body) if length is None else length
        return (f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {n}\r\n"
                f"{extra}\r\n").encode() + body

    async def answer(self, r):
        """One answer with a Content-Length: (status, body)."""
        head = await r.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        n = next((int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:")), 0)
        return status, await r.readexactly(n)

    async def upgrade(self, window=None):
        r, w = await self.connect(window)
        key = base64.b64encode(self.rng.randbytes(16)).decode()
        w.write(f"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        head = await r.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            w.close()
            raise ConnectionError(head[:40])
        return r, w

    # ---- good clients ----

    async def ask(self, r, w, method, *params):
        start = time.monotonic()
        w.write(self.request(json.dumps(call(method, *params)).encode()))
        status, body = await asyncio.wait_for(self.answer(r), PATIENCE_S)
        self.latency.append(time.monotonic() - start)
        if status == 503:
            raise ConnectionError("503")
        reply = json.loads(body)
        assert status == 200 and "result" in reply, (status, reply)
        return reply["result"]

    async def fresh(self):
        """A connection that is let in; the flood may keep it out for a moment."""
        for i in range(RETRIES):
            try:
                r, w = await self.connect()
                await self.ask(r, w, "eth_chainId")
                return r, w
            except (OSError, EOFError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.4)
        raise AssertionError(f"not let in, {RETRIES} times")

    async def good(self, what, fn):
        while self.running():
            try:
                await fn()
                self.count(what)
            except Exception as e:  # noqa: BLE001 - each is a failure of the node
                if self.running():
                    self.failures.append(f"{what}: {type(e).__name__}: {str(e)[:200]}")
                await asyncio.sleep(0.2)

    async def keep_alive_reader(self):
        r, w = await self.fresh()
        while self.running():
            head = await self.ask(r, w, "eth_getBlockByNumber", "latest", False)
            assert await self.ask(r, w, "eth_getBalance", ACCOUNTS[4], head["number"]) != "0x0"
            self.count("good read")
            await asyncio.sleep(0.05)
        w.close()

    async def fresh_reader(self):
        r, w = await self.fresh()
        w.close()
        await asyncio.sleep(0.1)

    async def sender(self):
        r, w = await self.fresh()
        while self.running():
            h = await self.ask(r, w, "eth_sendTransaction", {"from": ACCOUNTS[0], "to": self.logger, "gas": "0x30000"})
            receipt = await self.ask(r, w, "eth_getTransactionReceipt", h)
            assert receipt["status"] == "0x1" and len(receipt["logs"]) == 40, receipt
            self.count("good send")
            await asyncio.sleep(0.1)
        w.close()

    async def message(self, r, w):
        """The next text of a server, whose frames have no masks; pings are answered."""
        while True:
            op, n = await r.readexactly(2)
            n = struct.unpack(">H", await r.readexactly(2))[0] if n == 126 else \
                struct.unpack(">Q", await r.readexactly(8))[0] if n == 127 else n
            payload = await r.readexactly(n)
            if op & 15 == TEXT:
                return json.loads(payload)
            assert op & 15 in (PING, PONG), (op, payload)
            if op & 15 == PING:
                w.write(frame(PONG, payload))

    async def subscriber(self):
        for _ in range(RETRIES):
            try:
                r, w = await self.upgrade()
                break
            except (OSError, EOFError):
                await asyncio.sleep(0.4)
        else:
            raise AssertionError("no WebSocket")
        w.write(frame(TEXT, json.dumps(call("eth_subscribe", "newHeads")).encode()))
        last = None
        while self.running():
            m = await asyncio.wait_for(self.message(r, w), PATIENCE_S)
            if m.get("method") == "eth_subscription":
                number = int(m["params"]["result"]["number"], 16)
                assert last is None or number == last + 1, f"head {number} behind {last}"
                last = number
                self.count("good head")
        w.close()

    # ---- hostile ones ----

    async def hostile(self, what, fn):
        while self.running():
            try:
                await asyncio.wait_for(fn(), 30)
                self.count(what)
            except (OSError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
                self.count(what)  # cut off: as it should be
            except Exception as e:  # noqa: BLE001 - a wrong answer to a wrong request
                self.failures.append(f"{what}: {type(e).__name__}: {str(e)[:200]}")
            await asyncio.sleep(self.rng.uniform(0, 0.05))

    async def throw(self, data, wait=0.2):
        """Sends anything, reads what comes for a moment, goes."""
        r, w = await self.connect()
        try:
            w.write(data)
            await w.drain()
            return await asyncio.wait_for(r.read(1 << 20), wait)
        except asyncio.TimeoutError:
            return b""
        finally:
            w.transport.abort()

    async def bad_http(self):
        rng = self.rng
        body = json.dumps(call("eth_blockNumber")).encode()
        good = self.request(body)
        data = rng.choice([
            rng.randbytes(rng.randrange(1, 5000)),
            b"GET " + b"/" * rng.randrange(1, 100000) + b" HTTP/1.1\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * rng.randrange(1, 20000) + b"\r\n",
            self.request(body, length=rng.choice([-1, 1 << 63, 1 << 64, "1,2", "0x10", 5 << 20, (5 << 20) + 1])),
            self.request(body, extra="Content-Length: 3\r\n"),
            self.request(body, extra="Transfer-Encoding: chunked\r\n"),
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + rng.choice([
                b"zz\r\n", b"ffffffffffffffff\r\nx", b"5\r\nabcdeXX", b"1;" + b"a" * 70000 + b"\r\nx\r\n"]),
            good[:rng.randrange(len(good))],
            bytes(c if rng.random() > 0.02 else rng.randrange(256) for c in good),
            good * rng.randrange(1, 200),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(rng.randrange(2000)),
        ])
        await self.throw(data)

    async def bad_json(self):
        rng = self.rng
        depth = rng.choice([100, 10000, 1000000])
        good = json.dumps(call("eth_getBlockByNumber", "latest", True)).encode()
        body = rng.choice([
            b"[" * depth, b'{"a":' * depth, b'{"params":' + b"[" * depth + b"]" * depth + b"}",
            b'"' + b"\\u0000" * 10000 + b'"', b"1" * 100000, b"1e" + b"9" * 1000, b'"\xff\xfe\xc0\x80"', b"",
            bytes(c if rng.random() > 0.05 else rng.randrange(256) for c in good),
            good[:rng.randrange(len(good))], b"[" + b"1," * 100000 + b"1]",
            b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"eth_chainId"}',
            json.dumps(call("x" * 100000)).encode(),
        ])
        r, w = await self.connect()
        try:
            w.write(self.request(body))
            status, text = await asyncio.wait_for(self.answer(r), PATIENCE_S)
            assert status in (200, 400, 413, 503), status
            if status == 200 and text:
                json.loads(text)
        finally:
            w.transport.abort()

    async def batches(self):
        rng = self.rng
        one = rng.choice([call("eth_getBlockByNumber", "latest", True), call("eth_chainId"),
                          call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}), call("nothing"), 7])
        body = json.dumps([one] * rng.choice([10, 1000, 1001, 20000])).encode()
        r, w = await self.connect()
        try:
            w.write(self.request(body))
            status, _ = await asyncio.wait_for(self.answer(r), 30)
            assert status in (200, 413, 503), status
        finally:
            w.transport.abort()

    async def logs(self):
        body = json.dumps(call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest", "address": [self.logger] * 50,
                                               "topics": [[None]] * 4 if self.rng.random() < 0.3 else []})).encode()
        await self.throw(self.request(body), 2)

    async def endless_call(self):
        r, w = await self.connect()
        try:
            w.write(self.request(json.dumps(call("eth_call", {"to": self.logger}, "latest",
                                                 {self.logger: {"code": LOOP}})).encode()))
            await asyncio.wait_for(r.read(1000), 10)
        finally:
            w.transport.abort()
        await asyncio.sleep(0.5)

    async def slow_writer(self):
        r, w = await self.connect()
        try:
            for c in self.request(b"{}")[:40]:
                w.write(bytes([c]))
                await asyncio.sleep(0.5)
        finally:
            w.transport.abort()

    async def slow_reader(self):
        big = json.dumps([call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})] * 50).encode()
        r, w = await self.connect(window=4096)
        w.transport.pause_reading()
        try:
            w.write(self.request(big) * 5)
            await asyncio.sleep(20)
        finally:
            w.transport.abort()

    async def deaf_subscriber(self):
        r, w = await self.upgrade(window=4096)
        w.transport.pause_reading()
        try:
            for what in (["newHeads"], ["logs", {}], ["newPendingTransactions"]) * 10:
                w.write(frame(TEXT, json.dumps(call("eth_subscribe", *what)).encode()))
            await asyncio.sleep(20)
        finally:
            w.transport.abort()

    async def bad_frames(self):
        rng = self.rng
        r, w = await self.upgrade()
        try:
            w.write(rng.choice([
                rng.randbytes(rng.randrange(1, 5000)),
                b"\x81\xff" + struct.pack(">Q", 1 << 62) + b"mask",
                b"\x81\x05hello",
                frame(TEXT, b"\xff\xfe"),
                frames(TEXT, b"[" * 200000, 7),
                frame(PING, b"x" * 125) * 20000,
                frame(TEXT, b"{}") * 5000,
                frame(CLOSE, b"\x00"),
                frame(TEXT, b"[" * 3000000),
            ]))
            await asyncio.wait_for(r.read(1 << 16), 1)
        finally:
            w.transport.abort()

    async def pending_batch(self):
        """Calls that never end, by the hundred, where only the chain's owner knows the state."""
        one = call("eth_call", {"to": self.logger}, "pending", {self.logger: {"code": LOOP}})
        await self.throw(self.request(json.dumps([one] * 100).encode()), 5)

    async def endless_trace(self):
        body = json.dumps(call("debug_traceCall", {"to": self.logger}, "latest",
                               {"enableMemory": True, "stateOverrides": {self.logger: {"code": LOOP}}})).encode()
        await self.throw(self.request(body), 10)

    async def many_subscriptions(self):
        r, w = await self.upgrade()
        try:
            one = frame(TEXT, json.dumps(call("eth_subscribe", "logs", {"topics": ["0x" + "11" * 32] * 4})).encode())
            w.write(one * 3000)
            await asyncio.wait_for(r.read(1 << 20), 5)
            await asyncio.sleep(1)
        finally:
            w.transport.abort()

    async def open_streams(self):
        """HTTP/2 requests with large headers whose bodies never come."""
        def text(b):
            n = len(b)
            size = bytes([n]) if n < 127 else bytes([127, (n - 127) % 128 + 128, (n - 127) // 128])
            return size + b
        head = b"\x83\x86\x84" + b"\x01" + text(b"localhost") + b"".join(
            b"\x00" + text(b"x-%d" % i) + text(self.rng.randbytes(1900).hex().encode()[:3800]) for i in range(4))
        data = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04\x00" + bytes(4)
        for stream in range(1, 121, 2):
            data += len(head).to_bytes(3, "big") + b"\x01\x04" + stream.to_bytes(4, "big") + head
        r, w = await self.connect()
        try:
            w.write(data)
            await asyncio.sleep(5)
        finally:
            w.transport.abort()

    async def pool_swell(self):
        """Replacements of small transactions by large ones, behind a gap so that none is mined."""
        r, w = await self.connect()
        nonce = hex(1_000_000 + self.rng.randrange(64))
        try:
            for size, price in ((0, 3), (100_000, 6), (0, 12), (100_000, 24)):
                tx = {"from": ACCOUNTS[3], "to": ACCOUNTS[4], "nonce": nonce, "gas": "0x600000", "gasPrice": hex(price * 10 ** 9),
                      "data": "0x" + "00" * size}
                w.write(self.request(json.dumps(call("eth_sendTransaction", tx)).encode()))
                status, _ = await asyncio.wait_for(self.answer(r), 30)
                assert status in (200, 503), status
        finally:
            w.transport.abort()

    async def half_bodies(self):
        r, w = await self.connect()
        try:
            w.write(self.request(b" " * (12 << 20), length=15 << 20))
            await asyncio.sleep(5)
        finally:
            w.transport.abort()

    async def log_crowd(self):
        body = json.dumps(call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})).encode()
        held = await asyncio.gather(*(self.connect(window=4096) for _ in range(200)), return_exceptions=True)
        held = [c for c in held if not isinstance(c, BaseException)]
        try:
            for _, w in held:
                w.transport.pause_reading()
                w.write(self.request(body))
            await asyncio.sleep(5)
        finally:
            for _, w in held:
                w.transport.abort()

    async def flood(self):
        held = await asyncio.gather(*(self.connect() for _ in range(FLOOD)), return_exceptions=True)
        try:
            await asyncio.sleep(self.rng.uniform(0, 2))
        finally:
            for c in held:
                if not isinstance(c, BaseException):
                    c[1].transport.abort()
        await asyncio.sleep(1)


def rss_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


async def run_all(load, tasks, watch):
    """Runs the tasks until the load ends; watch is called now and then."""
    while load.running() and watch():
        await asyncio.sleep(0.25)
    load.end = 0
    for t in tasks:
        t.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def tell_minutes(load, rss):
    """A line a minute: what the node takes, and how long good clients waited."""
    minute = 0
    while True:
        seen = len(load.latency)
        await asyncio.sleep(60)
        minute += 1
        waits = sorted(load.latency[seen:]) or [0]
        print(json.dumps({"minute": minute, "rss_mib": round(rss[-1]), "answers": len(waits),
                          "median_ms": round(1e3 * waits[len(waits) // 2], 2),
                          "p99_ms": round(1e3 * waits[len(waits) * 99 // 100], 1),
                          "slowest_ms": round(1e3 * waits[-1], 1), "failures": len(load.failures),
                          "last_failure": load.failures[-1] if load.failures else None}), flush=True)


async def attack(load):
    bad = [load.bad_http, load.bad_json, load.logs, load.batches, load.slow_writer, load.slow_reader,
           load.deaf_subscriber, load.bad_frames, load.flood] * 2 + [
               load.endless_call, load.pending_batch, load.endless_trace, load.many_subscriptions, load.open_streams,
               load.pool_swell, load.half_bodies, load.log_crowd]
    bad = [b for b in bad if any(part in b.__name__ for part in load.only.split(","))]
    await run_all(load, [asyncio.create_task(load.hostile(b.__name__, b)) for b in bad], lambda: True)


async def serve(load, rss):
    good = [("keep-alive reader", load.keep_alive_reader)] * 3 + [("fresh reader", load.fresh_reader)] * 2 + \
        [("sender", load.sender), ("subscriber", load.subscriber)]

    def watch():
        if load.node.process.poll() is None:
            rss.append(rss_mib(load.node.process.pid))
        return load.node.process.poll() is None
    tasks = [asyncio.create_task(load.good(*g)) for g in good] + [asyncio.create_task(tell_minutes(load, rss))]
    await run_all(load, tasks, watch)


def attacker(load, out):
    """The hostile side, in a process of its own: its work does not delay the good clients' clocks."""
    asyncio.run(attack(load))
    out.send((load.done, load.failures))


def drive(load, seconds):
    rss = []
    ours, theirs = multiprocessing.Pipe()
    load.end = time.monotonic() + seconds
    process = multiprocessing.get_context("fork").Process(target=attacker, args=(load, theirs))
    process.start()
    asyncio.run(serve(load, rss))
    assert ours.poll(seconds + 60), "the hostile side is stuck"
    done, failures = ours.recv()
    process.join()
    load.done.update(done)
    load.failures += failures
    return rss


def settle(node, idle, limit_s=60):
    """Memory after the end of the load, as soon as it is near that of an idle node: what its caches may keep aside."""
    end = time.monotonic() + limit_s
    while (now := rss_mib(node.process.pid)) > idle * 1.5 + 48 and time.monotonic() < end:
        time.sleep(0.5)
    return now


def checks(load, rss, opt, exit_code):
    """(what, is it so, detail)"""
    latency = sorted(load.latency)
    p99 = latency[len(latency) * 99 // 100]
    quarter = max(1, len(rss) // 4)
    early, late = sorted(rss[quarter:2 * quarter])[quarter // 2], sorted(rss[-quarter:])[quarter // 2]
    yield "the node stays, and stops when told", exit_code == 0, f"exit code {exit_code}"
    yield "nobody good is refused or told wrong", not load.failures, "; ".join(load.failures[:5])
    yield "good clients are served in time", p99 <= opt.p99, f"p99 {p99:.3f} s"
    yield "all kinds of good clients got on", all(
        load.done.get(k, 0) > 0 for k in ("good read", "good send", "good head", "fresh reader")), str(load.done)
    if opt.rss_mib == 0:
        return
    yield "memory is bounded", max(rss) <= opt.rss_mib, f"{max(rss):.0f} MiB"
    yield "memory does not grow", late <= early * 1.5 + 64, f"{early:.0f} to {late:.0f} MiB"


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    full = os.environ.get("CANDELA_TEST_FULL") == "1"
    args.add_argument("--bin", required=True, help="the candela program")
    args.add_argument("--seconds", type=float, default=3600 if full else 20)
    args.add_argument("--rss-mib", type=float, default=160,
                      help="most memory, a quarter above the budget that the node is given; 0: not looked at")
    args.add_argument("--only", default="", help="attacks whose names contain one of these words")
    args.add_argument("--p99", type=float, default=2.0, help="seconds that a good client waits at most, 99 times of 100")
    opt = args.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    sys.set_int_max_str_digits(0)

    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    seed = int(os.environ.get("CANDELA_SEED", "0")) or random.randrange(1, 1 << 32)
    env = Env(opt.bin)
    try:
        node = env.start("--memory=128MiB", data_dir=env.dir())
        rpc = node.rpc()
        deploy = rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "data": LOGGER, "gas": "0x100000"})
        logger = rpc("eth_getTransactionReceipt", deploy)["contractAddress"]
        match(rpc("eth_getCode", logger, "latest"), "^0x5f5fa0")
        rpc.close()
        load = Load(node, random.Random(seed), logger)
        load.only = opt.only
        idle = rss_mib(node.process.pid)
        rss = drive(load, opt.seconds)
        rest = settle(node, idle) if node.process.poll() is None else 0
        if opt.rss_mib != 0:
            ok = rest <= idle * 1.5 + 48
            env.note(ok, f"{'ok' if ok else 'FAIL'} memory is given back: {idle:.0f} MiB idle, {rest:.0f} after the load")
        code = node.end() if node.process.poll() is None else node.process.returncode
        for what, ok, detail in checks(load, rss, opt, code):
            env.note(ok, f"{'ok' if ok else 'FAIL'} {what}: {detail}")
        print(json.dumps({"seed": seed, "seconds": opt.seconds, "answers": len(load.latency),
                          "median_ms": round(1e3 * sorted(load.latency)[len(load.latency) // 2], 2),
                          "slowest_ms": round(1e3 * max(load.latency), 1), "rss_max_mib": round(max(rss)),
                          "counts": load.done}))
        if code != 0:
            print("\n".join(node.lines[-30:]))
    finally:
        env.close()
    print(f"{env.passed} passed, {env.failed} failed")
    return 1 if env.failed else 0


if __name__ == "__main__":
    sys.exit(main())
