#!/usr/bin/env python3
"""A market data provider for tests: the shapes of the real one, faults on command, and a record of every request.

  GET .../coins/markets?vs_currency=usd&ids=a,b   what the mode says
  GET /control?mode=ok|429|500|bad-json|drop|hang|slow|half|drip|short|long|huge|flaky
              [&retry=5|<HTTP date>] [&ms=300] [&share=0.5]
  GET /requests                                   what came so far; /requests?clear=1 forgets it

bitcoin, ethereum, shib (null volume and change, a tiny price, a name that wants escaping) and lux are known, and every
t<number>. Standard library only. usage: tests/pricing/fixture.py [--port 8099]
"""
import argparse
import asyncio
import json
import random
import re
import threading
import urllib.parse

TOKENS = {
    "bitcoin": {"symbol": "btc", "name": "Bitcoin", "current_price": 97234.56, "market_cap": 1923456789012,
                "total_volume": 45678901234, "price_change_percentage_24h": 2.34,
                "last_updated": "2025-01-24T12:00:00.000Z", "market_cap_rank": 1, "roi": None},
    "ethereum": {"symbol": "eth", "name": "Ethereum", "current_price": 3311.1, "market_cap": 398765432101.0,
                 "total_volume": 21000000000.5, "price_change_percentage_24h": -1.234567891,
                 "last_updated": "2025-01-24T12:00:00.000Z"},
    "shib": {"symbol": "shib", "name": "Shib <&> Inu", "current_price": 1.234e-8, "market_cap": 1.5e22,
             "total_volume": None, "price_change_percentage_24h": None, "last_updated": None},
    "lux": {"symbol": "lux", "name": "Lux", "current_price": 12.5, "market_cap": 1000000, "total_volume": 5000,
            "price_change_percentage_24h": 0.5, "last_updated": "2025-01-24T12:00:00.000Z"},
}
LIMITED = b'{"status":{"error_code":429,"error_message":"You\'ve exceeded the Rate Limit."}}'
FAULTS = ("500", "429", "bad-json", "drop", "half", "short")


def token(ident):
    """One element of the answer; None for an id that nobody knows."""
    if ident in TOKENS:
        return {"id": ident, **TOKENS[ident]}
    if re.fullmatch(r"t[0-9]{1,6}", ident):
        return {"id": ident, "symbol": ident, "name": ident.upper(), "current_price": 1 + int(ident[1:]) / 8,
                "market_cap": 1, "total_volume": 2, "price_change_percentage_24h": 0.25,
                "last_updated": "2025-01-24T12:00:00.000Z"}
    return None


class Fixture:
    """The provider on a thread of its own; attributes may be set from outside at any time."""

    def __init__(self, port=0):
        self.mode, self.retry, self.ms, self.share = "ok", None, 300, 0.5
        self.requests = []  # (target, {header: value})
        self.random = random.Random(1)
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(port, ready), daemon=True)
        self.thread.start()
        ready.wait()

    def run(self, port, ready):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(
            asyncio.start_server(self.serve, "127.0.0.1", port, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0.01))
        self.loop.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def base(self):
        return f"http://127.0.0.1:{self.port}/api/v3"

    def set(self, mode, **more):
        self.mode = mode
        for key, value in more.items():
            setattr(self, key, value)

    def calls(self):
        return [t for t, _ in self.requests]

    async def serve(self, reader, writer):
        try:
            while await self.request(reader, writer):
                pass
        except (asyncio.CancelledError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()

    async def request(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        target = head[0].split(" ")[1]
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        path, _, query = target.partition("?")
        args = dict(urllib.parse.parse_qsl(query))
        if path == "/control":
            self.set(args.get("mode", "ok"), retry=args.get("retry"), ms=int(args.get("ms", 300)),
                     share=float(args.get("share", 0.5)))
            return await self.send(writer, 200, b"{}")
        if path == "/requests":
            body = json.dumps([{"target": t, "headers": h} for t, h in self.requests]).encode()
            if args.get("clear"):
                self.requests.clear()
            return await self.send(writer, 200, body)
        self.requests.append((target, headers))
        if not path.endswith("/coins/markets"):
            return await self.send(writer, 404, b'{"error":"no such route"}')
        rows = [t for t in (token(i) for i in args.get("ids", "").split(",")) if t]
        rows = rows[:int(args.get("per_page", 100))]
        rows.reverse()  # in no order that one could rely on
        return await self.answer(writer, json.dumps(rows).encode())

    async def send(self, writer, status, body, headers=(), length=None):
        lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json",
                 f"Content-Length: {len(body) if length is None else length}", *headers]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        return length is None

    async def answer(self, writer, body):
        mode = self.mode
        if mode == "flaky":
            mode = self.random.choice(FAULTS) if self.random.random() < self.share else "ok"
        if mode == "429":
            retry = [] if self.retry is None else [f"Retry-After: {self.retry}"]
            return await self.send(writer, 429, LIMITED, retry)
        if mode == "500":
            return await self.send(writer, 500, b"<html>secret inside</html>")
        if mode == "bad-json":
            return await self.send(writer, 200, b"<!DOCTYPE html>")
        if mode == "drop":
            return False
        if mode == "hang":
            await asyncio.sleep(3600)
            return False
        if mode == "slow":
            await asyncio.sleep(self.ms / 1000)
        if mode == "half":
            return await self.send(writer, 200, body[:len(body) // 2], length=len(body))
        if mode == "short":  # more comes than was announced
            return await self.send(writer, 200, body, length=max(len(body) - 7, 0))
        if mode == "long":  # less comes, and then nothing
            await self.send(writer, 200, body, length=len(body) + 7)
            await asyncio.sleep(3600)
            return False
        if mode == "huge":
            return await self.send(writer, 200, b"[" + b" " * (9 << 20) + b"]")
        if mode == "drip":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            for i in range(len(body)):
                writer.write(body[i:i + 1])
                await writer.drain()
                await asyncio.sleep(0.05)
            return True
        return await self.send(writer, 200, body)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--port", type=int, default=8099)
    opt = args.parse_args()
    fixture = Fixture(opt.port)
    print(f"provider for tests at {fixture.base()}, faults at http://127.0.0.1:{fixture.port}/control", flush=True)
    try:
        fixture.thread.join()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
