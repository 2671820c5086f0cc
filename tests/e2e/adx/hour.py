"""Requests as fast as they are wanted, with bidders that are slow, dead, wrong or hostile: no error but the ones they cause,
answers within the deadline, memory flat. A quarter of a minute; an hour when CANDELA_TEST_FULL is 1 (ADX_SECONDS: as long as
it says, ADX_RATE: requests a second)."""
import http.client
import json
import os
import pathlib
import threading
import time

from hostile import moved, raw_server
from world import MINIMAL, SLOT, Exchange, answer_of, campaign, dsp

SECONDS = float(os.environ.get("ADX_SECONDS", 3600 if os.environ.get("CANDELA_TEST_FULL") == "1" else 12))
RATE = int(os.environ.get("ADX_RATE", 5000 if os.environ.get("CANDELA_TEST_FULL") == "1" else 300))
DEADLINE_MS = 100
CLIENTS = 16
GOOD = {"id": "g", "impid": "1", "price": 20, "crid": "c", "adomain": ["g.example"],
        "adm": "<VAST version='4.2' xmlns='http://www.iab.com/VAST'/>"}


def memory_mb(x):
    status = pathlib.Path(f"/proc/{x.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def client(x, end, seen):
    """Asks at an even rate; notes milliseconds and what was no answer."""
    c = http.client.HTTPConnection("127.0.0.1", x.port, timeout=20)
    body, head = json.dumps(MINIMAL), {"Content-Type": "application/json"}
    due = time.monotonic()
    while due < end:
        time.sleep(max(0, due - time.monotonic()))
        due += CLIENTS / RATE
        began = time.monotonic()
        try:
            c.request("POST", "/rtb/bid", body, head)
            r = c.getresponse()
            r.read()
            seen.append(((time.monotonic() - began) * 1000, r.status))
        except OSError as e:
            seen.append((0, str(e)))
            c.close()


def run(w):
    dead = raw_server(None)
    closed = raw_server([b""])
    rude = raw_server([b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"x" * 65536])

    def slow(request):
        time.sleep(0.5)
        return 204, b""
    bidders = {"good": w.bidder(answer_of([GOOD])), "slow": w.bidder(slow), "broken": w.bidder(lambda r: (200, b"{")),
               "errors": w.bidder(lambda r: (500, b"no")), "huge": w.bidder(lambda r: (200, b"[" * 3_000_000))}
    dsps = [dsp(n, b, timeout_ms=80, qps=20 if n != "good" else 40) for n, b in bidders.items()]
    drip = raw_server([b"HTTP/1.1 200 OK\r\nX: "] + [b"a"] * 1000)
    redirect = raw_server([moved(f"http://127.0.0.1:{rude.getsockname()[1]}/")])
    for name, s in (("dead", dead), ("closed", closed), ("rude", rude), ("drip", drip), ("redirect", redirect)):
        dsps.append({"id": name, "url": f"http://127.0.0.1:{s.getsockname()[1]}/", "seat": name, "timeout_ms": 80, "qps": 20})
    x = Exchange(w, {"campaigns": [campaign(budget="9000000.00")], "slots": [SLOT], "dsps": dsps},
                 f"--auction-timeout={DEADLINE_MS}ms", "--token-life=5s")
    seen, end = [], time.monotonic() + SECONDS
    threads = [threading.Thread(target=client, args=(x, end, seen), daemon=True) for _ in range(CLIENTS)]
    for t in threads:
        t.start()
    time.sleep(SECONDS / 2)
    half = memory_mb(x)
    for t in threads:
        t.join(SECONDS + 60)
    after = memory_mb(x)
    times = sorted(ms for ms, _ in seen)
    p99 = times[len(times) * 99 // 100]
    wrong = [s for _, s in seen if s not in (200, 204)]
    print(f"{len(seen)} requests in {SECONDS:.0f} s, p50 {times[len(times) // 2]:.1f} ms, p99 {p99:.1f} ms, {half:.0f} then "
          f"{after:.0f} MB", flush=True)
    w.check(not wrong, f"no errors: {wrong[:5]}")
    w.check(all(s == 200 for _, s in seen), "the campaign bids in every one")
    w.check(after < half * 1.2 + 16, f"memory is flat: {half:.0f} to {after:.0f} MB")
    w.check(bool(bidders["good"].requests) and x.get("/health")[0] == 200, "and is well")
    if os.environ.get("CANDELA_TEST_FULL") == "1":  # a time, so only where the machine is ours
        w.check(p99 <= DEADLINE_MS + 5, f"p99 {p99:.1f} ms")
    w.check(x.stop() == 0, "stops")
    w.ledger(x.data)
