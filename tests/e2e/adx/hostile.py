"""Bidders that are slow, dead, wrong or hostile harm nobody but themselves."""
import json
import socket
import threading
import time

from world import MINIMAL, Exchange, answer_of, campaign, dsp

GOOD = {"id": "g", "impid": "1", "price": 20, "crid": "c", "adm": "<VAST version='4.2'/>", "adomain": ["g.example"]}


def raw_server(answer):
    """A server that sends bytes of its own; None: it only listens."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(64)

    def serve():
        while True:
            try:
                c, _ = s.accept()
            except OSError:
                return
            if answer is not None:
                threading.Thread(target=talk, args=(c,), daemon=True).start()

    def talk(c):
        try:
            c.recv(65536)
            for part in answer:
                c.sendall(part)
                time.sleep(0.01)
            c.close()
        except OSError:
            pass
    threading.Thread(target=serve, daemon=True).start()
    return s


def moved(url):
    """An answer that leads elsewhere."""
    return f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n".encode()


def run(w):
    wrong_answers(w)
    bad_servers(w)
    tokens(w)


def answers():
    """Bodies that are wrong in ways of their own."""
    deep = b'{"id":"1","seatbid":' + b"[" * 5000 + b"]" * 5000 + b"}"
    bid = lambda **more: json.dumps({"id": "1", "seatbid": [{"seat": "X", "bid": [  # noqa: E731
        {k: v for k, v in dict(GOOD, **more).items() if v is not None}]}]}).encode()
    return {
        "no JSON": b"<html>", "empty object": b"{}", "array": b"[]", "other id": b'{"id":"2","seatbid":[]}',
        "deep": deep, "binary": bytes(range(256)), "no price": bid(price=None), "text price": bid(price="99"),
        "negative": bid(price=-5), "huge": b'{"id":"1","seatbid":[{"bid":[{"id":"x","impid":"1","price":1e308}]}]}',
        "other imp": bid(impid="9"), "no crid": bid(crid=None), "no markup": bid(adm=None), "number id": bid(id=7),
        "many": json.dumps({"id": "1", "seatbid": [{"bid": [dict(GOOD, id=str(i), impid="9") for i in range(5000)]}]})
        .encode(),
        "other currency": b'{"id":"1","cur":"JPY","seatbid":[{"bid":[' + json.dumps(dict(GOOD, price=99)).encode() +
                          b"]}]}",
        "too long": b" " * ((1 << 20) + 10),
    }


def wrong_answers(w):
    good, bad = w.bidder(answer_of([GOOD], "G")), w.bidder()
    for name, body in answers().items():
        bad.answer = lambda request, body=body: (200, body)
        x = Exchange(w, {"dsps": [dsp("good", good), dsp("bad", bad)]})
        status, got, _ = x.bid(MINIMAL)
        w.check(status == 200 and got["seatbid"][0]["seat"] == "G", f"{name}: the good bid wins")
        told = x.explain("1")
        w.check(all(b["loss"] != 0 for b in told["bids"] if b["bidder"] == "bad"), f"{name}: {told}"[:300])
        w.check(x.stop() == 0, f"{name}: stops")
    for status in (301, 400, 404, 429, 500, 503):
        bad.answer = lambda request, status=status: (status, b"")
        x = Exchange(w, {"dsps": [dsp("good", good), dsp("bad", bad)]})
        w.check(x.bid(MINIMAL)[0] == 200, f"status {status}")
        w.check([d["end"] for d in x.explain("1")["bidders"]] == ["answer", "broken"], f"status {status}: explained")
        x.stop()


def bad_servers(w):
    good = w.bidder(answer_of([GOOD], "G"))
    slow = w.bidder(lambda request: (time.sleep(2), (204, b""))[1])
    servers = {"silent": raw_server(None), "no HTTP": raw_server([b"hello\r\n\r\n"]),
               "cut": raw_server([b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"]),
               "endless": raw_server([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"] + [b"1\r\n \r\n"] * 1000),
               "drip": raw_server([b"HTTP/1.1 200 OK\r\nX: "] + [b"a"] * 1000),
               "redirect": raw_server([moved(good.url("/bid"))]),
               "long head": raw_server([b"HTTP/1.1 200 OK\r\n"] + [b"A: " + b"b" * 9000 + b"\r\n"] * 50)}
    dead = socket.socket()
    dead.bind(("127.0.0.1", 0))
    port = dead.getsockname()[1]
    dead.close()
    url = lambda p: {"url": f"http://127.0.0.1:{p}/", "timeout_ms": 100}  # noqa: E731
    x = Exchange(w, {"dsps": [dsp("good", good), dsp("slow", slow, timeout_ms=100),
                              dict(url(port), id="dead"),
                              *(dict(url(s.getsockname()[1]), id=n.replace(" ", "-")) for n, s in servers.items())],
                     "campaigns": [campaign(cpm="2.00")]}, "--auction-timeout=150ms")
    for i in range(12):
        status, got, _ = x.bid(dict(MINIMAL, id="1"))
        w.check(status == 200 and got["seatbid"][0]["seat"] == "G", f"round {i}")
    told = {d["id"]: d["end"] for d in x.explain("1")["bidders"]}
    w.check(told["good"] == "answer", f"{told}")
    w.check(len(good.requests) == 12, f"nobody is followed elsewhere: {len(good.requests)}")
    w.check(all(told[n] == "paused" for n in ("dead", "slow", "silent")), f"left alone after failures: {told}")
    w.check(all(e in ("paused", "broken", "late", "too_slow") for n, e in told.items() if n != "good"), f"{told}")
    w.check(x.stop() == 0, "stops")
    for s in servers.values():
        s.close()


def tokens(w):
    """Beacons of strangers cost nothing and change nothing."""
    x = Exchange(w, {"campaigns": [campaign()]})
    other = Exchange(w, {"campaigns": [campaign()]})
    token = other.bid(MINIMAL)[1]["seatbid"][0]["bid"][0]["adm"].split("impression?b=")[1].split("]")[0]
    w.check(other.get(f"/t/impression?b={token}")[0] == 204, "its own token")
    bad = [token, "", "A", "A" * 600, "%00", "-" * 80, token + "A", token[:-1], token.swapcase(), "=" * 40]
    w.check(all(x.get(f"/t/impression?b={t}")[0] in (400, 414) for t in bad), "tokens of others")
    short = Exchange(w, {"campaigns": [campaign()]}, "--token-life=1s")
    token = short.bid(MINIMAL)[1]["seatbid"][0]["bid"][0]["adm"].split("impression?b=")[1].split("]")[0]
    w.until(lambda: short.get(f"/t/start?b={token}") and short.metric("adx_beacons_refused_total") > 0, "it expires")
    w.check(short.get(f"/t/impression?b={token}")[0] == 204 and short.metric("adx_impressions_total") == 0,
            "a token that is over is answered and not paid")
