"""Clients of a node, good and hostile ones: what hostile.py and hostile_primary.py are made of."""
import asyncio
import base64
import json
import pathlib
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "ws")]
from harness import ACCOUNTS  # noqa: E402 - found through the path just set
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
    """Of a node of the development network; its subclass has another one."""

    name = "dev"
    path = "/"  # where requests go that name no other place
    KINDS = ("good read", "good send", "good head", "fresh reader")  # of good clients, which all must get on

    def __init__(self, node, rng, logger=None):
        self.node, self.rng, self.logger = node, rng, logger
        self.latency, self.failures, self.done, self.rss = [], [], {}, []
        self.idle = 0
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

    def request(self, body, length=None, extra="", path=None):
        n = len(body) if length is None else length
        return (f"POST {path or self.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {n}\r\n"
                f"{extra}\r\n").encode() + body

    async def answer(self, r):
        """One answer with a Content-Length: (status, body)."""
        head = await r.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        n = next((int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:")), 0)
        return status, await r.readexactly(n)

    async def upgrade(self, window=None, path="/"):
        r, w = await self.connect(window)
        key = base64.b64encode(self.rng.randbytes(16)).decode()
        w.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        head = await r.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            w.close()
            raise ConnectionError(head[:40])
        return r, w

    # ---- good clients ----

    async def ask(self, r, w, method, *params, path=None, members=None):
        """members: parameters by name, in place of those by position."""
        start = time.monotonic()
        body = call(method, *params) if members is None else dict(call(method), params=members)
        w.write(self.request(json.dumps(body).encode(), path=path))
        status, body = await asyncio.wait_for(self.answer(r), PATIENCE_S)
        self.latency.append(time.monotonic() - start)
        if status == 503:
            raise ConnectionError("503")
        reply = json.loads(body)
        assert status == 200 and "result" in reply, (status, reply)
        return reply["result"]

    async def fresh(self, path=None, method="eth_chainId", members=None):
        """A connection that is let in; the flood may keep it out for a moment."""
        for i in range(RETRIES):
            try:
                r, w = await self.connect()
                await self.ask(r, w, method, path=path, members=members)
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

    async def silent_upgrades(self):
        """Who asks for HTTP/2 and never speaks it; half of them close their half."""
        held = await asyncio.gather(*(self.connect() for _ in range(50)), return_exceptions=True)
        held = [c for c in held if not isinstance(c, BaseException)]
        try:
            for i, (_, w) in enumerate(held):
                w.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                        b"HTTP2-Settings: AAMAAABk\r\n\r\n")
                if i % 2:
                    w.write_eof()
            await asyncio.sleep(2)
        finally:
            for _, w in held:
                w.close()

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

    def good_ones(self):
        return [("keep-alive reader", self.keep_alive_reader)] * 3 + [("fresh reader", self.fresh_reader)] * 2 + \
            [("sender", self.sender), ("subscriber", self.subscriber)]

    def hostile_ones(self):
        return [self.bad_http, self.bad_json, self.logs, self.batches, self.slow_writer, self.slow_reader,
                self.deaf_subscriber, self.bad_frames, self.flood] * 2 + [
                    self.endless_call, self.pending_batch, self.endless_trace, self.many_subscriptions, self.open_streams,
                    self.pool_swell, self.half_bodies, self.log_crowd, self.silent_upgrades]

    def end_of_others(self):
        """(is it so, what) of those who are no clients."""
        return []
