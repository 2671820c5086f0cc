"""What the gateway does with its cache and a provider that fails in every way [spec:pricing#7]."""
import asyncio
import concurrent.futures
import contextlib
import email.utils
import http.client
import json
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse

from gateway import KEY, ROOT, Gateway, Skip, free_port, same

ROUTES = [("/price/bitcoin", lambda v: v["price"]), ("/prices?ids=bitcoin", lambda v: v["prices"]["bitcoin"]["price"]),
          ("/simple/price?ids=bitcoin", lambda v: v["bitcoin"]["usd"])]
PRICE = 97234.56


def wait_for(what, seconds=10):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def ids_of(target):
    return urllib.parse.parse_qs(target.partition("?")[2])["ids"][0].split(",")


async def burst(port, targets):
    """One connection for each target, all asked at the same moment; gives (status, body) of each."""
    conns = []
    for start in range(0, len(targets), 500):
        part = targets[start:start + 500]
        conns += await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in part))
    for (_, writer), target in zip(conns, targets):
        writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())

    async def answer(reader, writer):
        text = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        head, _, body = text.partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), body

    return await asyncio.gather(*(answer(*c) for c in conns))


def test_life_of_a_price(opt, fixture):
    with Gateway(opt.bin, fixture.base(), CACHE_TTL_S=1) as g:
        same(g.get("/ready").status, 503)
        for cached, kind in ((False, "MISS"), (True, "HIT")):
            a = g.get("/price/bitcoin")
            v = a.json()
            same((a.status, v["price"], v["symbol"], v["name"], v["cached"]), (200, PRICE, "btc", "Bitcoin", cached))
            same(a.headers["X-Cache"], kind)
            assert a.headers["X-Price-Source"] and a.headers["Age"] == "0", a.headers
        same(g.get("/ready").status, 200)
        same(len(fixture.requests), 1)
        fixture.set("500")
        time.sleep(1.1)
        a = g.get("/price/bitcoin")
        same((a.status, a.json()["cached"], a.headers["X-Cache"]), (200, True, "STALE"))
        assert int(a.headers["Age"]) >= 1
        fixture.set("ok")
        wait_for(lambda: g.get("/price/bitcoin").headers["X-Cache"] == "MISS", 40)
        same(g.get("/price/bitcoin").headers["X-Cache"], "HIT")


def test_provider_request(opt, fixture):
    """The request as the provider's documentation has it, with the key in its header only."""
    with Gateway(opt.bin, fixture.base()) as g:
        g.get("/price/Bitcoin?currency=EUR")
    (target, headers), = fixture.requests
    assert target.startswith("/api/v3/coins/markets?vs_currency=eur&ids=bitcoin&order=market_cap_desc&per_page="), target
    assert target.endswith("&page=1&sparkline=false"), target
    same((headers["accept"], headers["x-cg-demo-api-key"]), ("application/json", KEY))
    assert KEY not in target


def test_stale_for_every_failure(opt, fixture):
    quick = ("429", "500", "bad-json", "drop", "hang", "half")
    for mode in quick + (("short", "long", "huge", "drip") if opt.full else ()):
        fixture.set("ok")
        with Gateway(opt.bin, fixture.base(), CACHE_TTL_S=1, UPSTREAM_TIMEOUT_MS=300) as g:
            same(g.get("/price/bitcoin").status, 200)
            fixture.set(mode)
            time.sleep(1.05)
            for target, price in ROUTES:
                a = g.get(target)
                same((a.status, a.headers["X-Cache"], price(a.json())), (200, "STALE", PRICE), f"{mode} {target}")
                same(a.headers["Cache-Control"], "public, max-age=3600")
            for target in ("/price/t5", "/prices?ids=t5", "/simple/price?ids=t5"):
                a = g.get(target)
                assert a.status in (502, 503), f"{mode} {target}: {a.status} {a.body}"
                same((a.headers["Cache-Control"], a.headers["Content-Type"]), ("no-store", "application/json"))
                assert set(a.json()) == {"error"} and b"coins/markets" not in a.body and b"secret" not in a.body, a.body
                assert a.status == 502 or int(a.headers["Retry-After"]) >= 1, a.headers


def test_retry_after(opt, fixture):
    for retry in (lambda: "2", lambda: email.utils.formatdate(time.time() + 3, usegmt=True)):
        fixture.set("429", retry=retry())
        fixture.requests.clear()
        with Gateway(opt.bin, fixture.base()) as g:
            begin = time.monotonic()
            a = g.get("/price/bitcoin")
            same(a.status, 503)
            assert 1 <= int(a.headers["Retry-After"]) <= 4, a.headers
            fixture.set("ok", retry=None)
            while g.get("/price/bitcoin").status == 503:
                same(len(fixture.requests), 1, "calls during the pause")
                time.sleep(0.05)
            assert time.monotonic() - begin > 0.9
            same(len(fixture.requests), 2)


def test_one_call_for_all(opt, fixture):
    cnt = 10000 if opt.full else 1000
    fixture.set("slow", ms=1500)
    with Gateway(opt.bin, fixture.base()) as g:
        answers = asyncio.run(burst(g.port, ["/price/bitcoin"] * cnt))
        same({s for s, _ in answers}, {200})
        same({json.loads(b)["price"] for _, b in answers}, {PRICE})
        same(len(fixture.requests), 1)


def test_keep_alive_connections(opt, fixture):
    """Connections that stay, each of which asks several times."""
    cnt = 10000 if opt.full else 500

    async def many(port):
        conns = []
        for _ in range(0, cnt, 500):
            conns += await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(500)))
        for _ in range(3):
            for _, writer in conns:
                writer.write(b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\n\r\n")
            for reader, _ in conns:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
                assert head.startswith(b"HTTP/1.1 200 "), head
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
        for _, writer in conns:
            writer.close()

    with Gateway(opt.bin, fixture.base()) as g:
        g.get("/price/bitcoin")
        asyncio.run(many(g.port))
        same(len(fixture.requests), 1)


def test_batches(opt, fixture):
    with Gateway(opt.bin, fixture.base(), BATCH_WINDOW_MS=300) as g:
        answers = asyncio.run(burst(g.port, [f"/price/t{i}" for i in range(100)]))
        same({s for s, _ in answers}, {200})
        same(len(fixture.requests), 1)
        same(len(ids_of(fixture.requests[0][0])), 100)
        fixture.requests.clear()
        a = g.get("/prices?ids=" + ",".join(f"t{i}" for i in range(100, 701)))
        same((a.status, len(a.json()["prices"])), (200, 601))
        same(sorted(len(ids_of(t)) for t in fixture.calls()), [101, 250, 250])
        same(list(a.json()["prices"]), sorted(f"t{i}" for i in range(100, 701)))
        fixture.requests.clear()
        a = g.get("/prices?ids=ethereum,ETHEREUM,ethereum,%20ethereum")
        same((list(a.json()["prices"]), len(fixture.requests)), (["ethereum"], 1))
        same(ids_of(fixture.requests[0][0]), ["ethereum"])
        fixture.requests.clear()
        a = g.get("/simple/price?ids=t1,t2&vs_currencies=eur,gbp,jpy")
        same((a.status, len(fixture.requests)), (200, 3))


def test_unknown_is_remembered(opt, fixture):
    with Gateway(opt.bin, fixture.base(), NEGATIVE_TTL_S=1) as g:
        for _ in range(3):
            a = g.get("/price/nosuch")
            same((a.status, a.json()), (404, {"error": "token not found: nosuch"}))
        same(len(fixture.requests), 1)
        time.sleep(1.1)
        same(g.get("/price/nosuch").status, 404)
        same(len(fixture.requests), 2)


def test_null_numbers(opt, fixture):
    with Gateway(opt.bin, fixture.base()) as g:
        a = g.get("/price/shib")
        v = a.json()
        same((v["price"], v["change_24h"], v["volume_24h"], v["market_cap"], v["name"]),
             (1.234e-8, 0, 0, 1.5e22, "Shib <&> Inu"))
        assert b'"price":1.234e-8,' in a.body and b'"market_cap":1.5e+22,' in a.body, a.body
        a = g.get("/simple/price?ids=shib&include_24hr_vol=true&include_24hr_change=true&include_market_cap=true"
                  "&include_last_updated_at=true&precision=3")
        same(a.json(), {"shib": {"last_updated_at": None, "usd": 0, "usd_24h_change": 0, "usd_24h_vol": 0,
                                 "usd_market_cap": 1.5e22}})
        a = g.get("/simple/price?ids=bitcoin&include_last_updated_at=true&precision=1")
        same(a.json(), {"bitcoin": {"last_updated_at": 1737720000, "usd": 97234.6}})


def test_hostile_names(opt, fixture):
    """Nothing of these is ever sent on."""
    names = ["bit coin&x=1", "a/b", "..", "%", "\x00", "\r\nX-Evil: 1", "ü", "'\"<script>", "a" * 129, "-a", "a,b&ids=c",
             "bitcoin#x", "bitcoin?x"]
    with Gateway(opt.bin, fixture.base()) as g:
        for name in names:
            a = g.get("/price/" + urllib.parse.quote(name, safe=""))
            assert "X-Evil" not in a.headers, (name, a.headers)
            if name != "..":  # a segment of the path, even so written
                same((a.status, a.json()), (404, {"error": "token not found: " + name}))
            a = g.get("/price/bitcoin?currency=" + urllib.parse.quote(name, safe=""))
            same(a.status, 404, name)
        for raw in ("%ff%fe", "%c3%28", "%ed%a0%80"):
            a = g.get("/price/" + raw)
            assert a.status == 404 and "\ufffd" in a.json()["error"], a.body
            same(g.get("/prices?ids=" + raw).json()["prices"], {})
            same(g.get("/simple/price?ids=" + raw).json(), {})
        for raw in ("/price/%", "/price/%1", "/prices?ids=%zz", "/simple/price?ids=a&vs_currencies=%u1234"):
            same(g.get(raw).status, 400, raw)
        same(fixture.requests, [])
        # The same through the raw socket, and what no client library would send.
        for line in (b"GET /price/\xff\xfe HTTP/1.1", b"GET /prices?ids=\xc3\x28 HTTP/1.1"):
            got = g.raw(line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert got.split(b" ")[1] in (b"200", b"400", b"404"), got[:200]
        same(g.get("/health").status, 200)


def test_limits(opt, fixture):
    fixture.set("ok")
    with Gateway(opt.bin, fixture.base()) as g:
        a = g.get("/prices?ids=" + "a" * 65536)
        same((a.status, a.headers["Content-Type"]), (414, "application/json"))
        same(set(a.json()), {"error"})
        got = g.raw(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 70000 + b"\r\n\r\n")
        assert b" 431 " in got[:20], got[:100]
        ids = [f"t{i}" for i in range(9999)] + ["bitcoin"]
        before = g.rss_mb()
        a = g.get("/simple/price?ids=" + ",".join(ids))
        same((a.status, len(a.json()), len(fixture.requests)), (200, 10000, 40))
        same(g.get("/simple/price?ids=" + ",".join(["a"] * 10001)).status, 400)
        same(g.get("/simple/price?ids=" + ",".join(ids[:1000]) + "&vs_currencies=" + ",".join(["a"] * 1001)).status, 400)
        same(g.get("/simple/price?ids=" + ",".join(ids[:1000]) + "&vs_currencies=" + ",".join(f"c{i}" for i in range(66))).status,
             400)
        if "ASAN_OPTIONS" not in g.process.args and not opt.asan:
            assert g.rss_mb() - before < 40, (before, g.rss_mb())


def test_smuggling(opt, fixture):
    """Bytes that two servers could read differently are refused, and the connection ends."""
    bad = [
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 30\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nabcde",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\nHost: x\n\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\n folded: 1\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\nabcde\r\n0\r\n\r\n",
        b"GET /price/bitcoin HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ]
    with Gateway(opt.bin, fixture.base()) as g:
        for data in bad:
            got = g.raw(data + b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
            status = int(got.split(b" ")[1])
            assert status in (400, 501, 505), (data, got)
            same(got.count(b"HTTP/1.1 "), 1, data)
            json.loads(got.partition(b"\r\n\r\n")[2])
            assert b"Access-Control-Allow-Origin: *" in got, got
        same(g.get("/price/bitcoin").status, 200)


def test_pipelining(opt, fixture):
    with Gateway(opt.bin, fixture.base()) as g:
        g.get("/price/bitcoin")
        got = g.raw(b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\n\r\nHEAD /price/bitcoin HTTP/1.1\r\nHost: x\r\n\r\n"
                    b"GET /price/t7 HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        same(got.count(b"HTTP/1.1 200 OK"), 4, got)
        assert got.index(b'"id":"bitcoin"') < got.index(b'"id":"t7"') < got.index(b'"status":"ok"')


def test_snapshot(opt, fixture):
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/cache"
        with Gateway(opt.bin, fixture.base(), CACHE_FILE=file, CACHE_TTL_S=1) as g:
            same(g.get("/prices?ids=bitcoin,shib").status, 200)
            same(g.stop(), 0)
        fixture.set("drop")
        time.sleep(1)
        with Gateway(opt.bin, fixture.base(), CACHE_FILE=file, CACHE_TTL_S=1) as g:
            same(g.get("/ready").status, 200)
            a = g.get("/price/bitcoin")
            same((a.status, a.json()["price"], a.headers["X-Cache"]), (200, PRICE, "STALE"))
            same(g.get("/simple/price?ids=shib").json(), {"shib": {"usd": 1.234e-8}})
            same(g.get("/price/ethereum").status in (502, 503), True)
        with open(file, "r+b") as f:
            f.seek(10)
            f.write(b"\xff" * 8)
        with Gateway(opt.bin, fixture.base(), CACHE_FILE=file) as g:
            same(g.get("/ready").status, 503)


def flaky_run(opt, fixture, seconds, gateways):
    """No error for any id seen before at any of the gateways, while half of the provider's answers fail."""
    ids = [f"t{i}" for i in range(40)] + ["bitcoin", "shib"]
    rand = random.Random(7)
    for g in gateways:
        same(len(g.get("/prices?ids=" + ",".join(ids)).json()["prices"]), len(ids))
    fixture.set("flaky", share=0.5)
    end = time.monotonic() + seconds
    asked = 0
    kinds = set()

    def client(seed, g):
        nonlocal asked
        mine = random.Random(seed)
        while time.monotonic() < end:
            some = mine.sample(ids, 3)
            target = mine.choice([f"/price/{some[0]}", "/prices?ids=" + ",".join(some),
                                  "/simple/price?ids=" + ",".join(some)])
            a = g.get(target)
            same(a.status, 200, target)
            v = a.json()
            same(len(v.get("prices", v if "simple" in target else [1] * 3)) if "/price/" not in target else 3, 3, target)
            kinds.add(a.headers["X-Cache"])
            asked += 1
            time.sleep(0.01)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(client, rand.random(), gateways[i % len(gateways)]) for i in range(4)]:
            done.result()
    same(kinds, {"HIT", "MISS", "STALE"})
    assert asked > 10 * seconds, asked


FLAKY = {"CACHE_TTL_S": 1, "UPSTREAM_TIMEOUT_MS": 500}


def test_half_of_the_time(opt, fixture):
    with Gateway(opt.bin, fixture.base(), **FLAKY) as g:
        flaky_run(opt, fixture, 3600 if opt.hour else 5, [g])


def test_events(opt, fixture):
    with Gateway(opt.bin, fixture.base(), CACHE_TTL_S=1) as g:
        def listen(query, last=None):
            s = socket.create_connection(("127.0.0.1", g.port), timeout=10)
            more = f"Last-Event-ID: {last}\r\n" if last else ""
            s.sendall(f"GET /events{query} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode())
            return s

        def until(s, text):
            got = b""
            while text not in got:
                part = s.recv(65536)
                assert part, got
                got += part
            return got

        every = listen("")
        until(every, b"retry: ")
        one = listen("?ids=ethereum")
        until(one, b"retry: ")
        g.get("/price/bitcoin")
        got = until(every, b'"id":"bitcoin"')
        assert b"event: price" in got, got
        ident = got.split(b"id: ")[1].split(b"\n")[0].decode()
        g.get("/price/ethereum")
        until(every, b'"id":"ethereum"')
        got = until(one, b'"id":"ethereum"')
        assert b"bitcoin" not in got, got
        again = listen("", ident)
        got = until(again, b'"id":"ethereum"')
        assert b"bitcoin" not in got and b"gap" not in got, got
        for s in (every, one, again):
            s.close()


def test_metrics_and_secrets(opt, fixture):
    with Gateway(opt.bin, fixture.base(), ACCESS_LOG=1) as g:
        fixture.set("500")
        g.get("/price/ethereum")
        fixture.set("ok")
        g.get("/health?x_cg_demo_api_key=CLIENTSECRET")
        text = g.get("/metrics").body.decode()
        for name in ("pricing_requests_total{", 'pricing_cache_total{result="', "pricing_upstream_requests_total{",
                     "pricing_upstream_seconds_bucket{", "pricing_cache_entries", "pricing_breaker_state"):
            assert name in text, name
        assert KEY not in text
        assert KEY not in g.get("/openapi.json").body.decode()
        same(g.stop(), 0)
        log = [json.loads(line) for line in g.logged().splitlines()]
        asked = [(e["method"], e["path"], e["status"]) for e in log if e["msg"] == "request"]
        assert ("GET", "/health", 200) in asked and ("GET", "/price/ethereum", 502) in asked, asked
        assert "CLIENTSECRET" not in g.logged()


def test_page(opt, fixture):
    """People get the page at "/", with what it needs from the same service; a stop does not wait for its visitors."""
    with Gateway(opt.bin, fixture.base()) as g:
        page = g.get("/?id=bitcoin")
        same(page.status, 200)
        text = page.body.decode()
        assert page.headers["Content-Type"].startswith("text/html"), page.headers
        assert "default-src 'self'" in page.headers["Content-Security-Policy"]
        same(page.headers.get_all("Vary").count("Accept-Encoding"), 1)
        assert "97,234.56" in text, text
        files = re.findall(r'(?:href|src)="(/assets/[^"]+)"', text)
        assert len(files) >= 3, files
        for name in files:
            same(g.get(name).status, 200)
        same(g.get("/assets/none.css").status, 404)
        same(g.get("/?id=nosuchtoken").status, 404)
        fixture.set("hang")
        with socket.create_connection(("127.0.0.1", g.port)) as slow:
            slow.sendall(b"GET /?id=ethereum HTTP/1.1\r\nHost: x\r\n\r\n")
            wait_for(lambda: len(fixture.calls()) >= 3)
            same(g.stop(), 0)
            assert b" 503 " in slow.recv(1000)


def test_dashboard(opt, fixture):
    """Every metric and label of the dashboard is there to be shown."""
    text = (ROOT / "packaging/pricing/grafana.json").read_text()
    with Gateway(opt.bin, fixture.base()) as g:
        g.get("/price/bitcoin")
        there = g.get("/metrics").body.decode()
    names = set(re.findall(r"pricing_[a-z_]+", text))
    assert len(names) >= 6, names
    for name in names:
        assert re.search(rf"^{name}[{{ ]", there, re.M), name
    for label in set(re.findall(r"{{([a-z]+)}}", text)) - {"instance"}:
        assert f'{label}="' in there, label


def test_no_key(opt, fixture):
    for env in ({}, {"UPSTREAM_API_KEY": ""}):
        done = subprocess.run([opt.bin], env={"PATH": "/usr/bin:/bin", "PORT": "0", **env}, capture_output=True, timeout=20)
        same((done.returncode, done.stdout, done.stderr.count(b"\n")), (1, b"", 1))
        assert b"UPSTREAM_API_KEY" in done.stderr, done.stderr


def test_disconnect_does_not_abort(opt, fixture):
    fixture.set("slow", ms=700)
    with Gateway(opt.bin, fixture.base()) as g:
        with socket.create_connection(("127.0.0.1", g.port)) as s:
            s.sendall(b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\n\r\n")
            wait_for(lambda: fixture.requests)
        a = g.get("/price/bitcoin")
        same((a.status, len(fixture.requests)), (200, 1))


def test_stop_with_a_provider_that_hangs(opt, fixture):
    fixture.set("hang")
    with Gateway(opt.bin, fixture.base()) as g, socket.create_connection(("127.0.0.1", g.port)) as s:
        s.settimeout(20)
        s.sendall(b"GET /price/bitcoin HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(lambda: fixture.requests)
        same(g.stop(), 0)
        got = s.recv(65536)
        assert got.startswith(b"HTTP/1.1 503 ") and b"Connection: close" in got and b"Retry-After: 1" in got, got


@contextlib.contextmanager
def shared_store():
    """A Valkey or Redis of its own; gives the setting that points to it."""
    # The checker of redis-tools is the server under another name; the package starts no service.
    server = shutil.which("valkey-server") or shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if server is None:
        raise Skip("no Valkey and no Redis here (tools/setup.sh installs redis-tools)")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        store = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
                                 executable=server, stdout=subprocess.DEVNULL)
        try:
            time.sleep(0.3)
            yield {"SHARED_CACHE": f"redis://127.0.0.1:{port}"}
        finally:
            store.terminate()
            store.wait()


def test_two_instances_one_store(opt, fixture):
    with shared_store() as shared:
        fixture.set("slow", ms=500)
        with Gateway(opt.bin, fixture.base(), **shared) as a, Gateway(opt.bin, fixture.base(), **shared) as b:
            time.sleep(0.3)
            cnt = 2000 if opt.full else 200

            async def both():
                return await asyncio.gather(burst(a.port, ["/price/bitcoin"] * cnt),
                                            burst(b.port, ["/price/bitcoin"] * cnt))

            for answers in asyncio.run(both()):
                same({s for s, _ in answers}, {200})
            same(len(fixture.requests), 1)
            fixture.set("ok")
            same(a.get("/price/t1").status, 200)
            fixture.set("drop")
            same(b.get("/price/t1").status, 200)


def test_claims_of_the_dead_and_of_the_slow(opt, fixture):
    """Whoever fetches keeps its claim for as long as that takes; when it is killed, another goes on."""
    with shared_store() as shared, Gateway(opt.bin, fixture.base(), **shared) as a, \
            Gateway(opt.bin, fixture.base(), **shared) as b, concurrent.futures.ThreadPoolExecutor(4) as pool:
        time.sleep(0.3)
        fixture.set("slow", ms=5000)
        first = pool.submit(a.get, "/price/t1")
        time.sleep(0.3)
        second = pool.submit(b.get, "/price/t1")
        same((first.result().status, second.result().status), (200, 200))
        same(len(fixture.requests), 1)  # the claim outlived its two seconds
        fixture.set("hang")
        lost = pool.submit(a.get, "/price/t2")
        time.sleep(0.5)
        a.process.kill()
        fixture.set("ok")
        same(b.get("/price/t2", timeout=10).status, 200)  # not after a minute
        try:
            lost.result()
            raise AssertionError("an answer of the dead")
        except (OSError, http.client.HTTPException):
            pass


def test_half_of_the_time_two_instances(opt, fixture):
    with shared_store() as shared, Gateway(opt.bin, fixture.base(), **shared, **FLAKY) as a, \
            Gateway(opt.bin, fixture.base(), **shared, **FLAKY) as b:
        flaky_run(opt, fixture, 3600 if opt.hour else 5, [a, b])


TESTS = [v for k, v in list(globals().items()) if k.startswith("test_")]
