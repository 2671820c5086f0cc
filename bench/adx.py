#!/usr/bin/env python3
"""The group adx: what one request to the ad exchange costs [spec:bench#8].

    bench/adx.py [--seconds 4] [--rounds 3] [--bin build/release/bin/candela-adx]

wrk asks over 16 kept connections; what counts is the exchange's CPU time of a request, all threads, the least of the
rounds. Workloads: bid-none (nobody bids), bid-local (one campaign), bid-dsp-none (one HTTP bidder that answers 204),
bid-dsp (one that bids), vast (one campaign), freq-check (one counter). Beside them idle, the memory of an exchange with
nothing to do, and settle: transactions a second while impressions are paid as fast as they come (--chain NODE). The peer,
prebid-server, is left out with a SKIP line where its program is not given by PREBID_SERVER. Results:
build/bench/adx.jsonl."""
import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/e2e/adx"))
from world import MINIMAL, SLOT, Exchange, World, answer_of, campaign, dsp  # noqa: E402 - found through the path above

LIMITS = {"freq-check": 10, "bid-local": 15, "bid-dsp-none": 60, "bid-dsp": 60, "vast": 30}
IDLE_MB = 20
SMALL = {"id": "g", "impid": "1", "price": 2.5, "crid": "c", "adomain": ["g.example"],
         "adm": "<VAST version='4.2' xmlns='http://www.iab.com/VAST'/>"}


def cpu_us(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks) / 1000


def load(x, path, body, seconds, script):
    lines = [] if body is None else ['wrk.method = "POST"', 'wrk.headers["Content-Type"] = "application/json"',
                                     f"wrk.body = [[{json.dumps(body)}]]"]
    script.write_text("\n".join(lines))
    before = cpu_us(x.process.pid)
    done = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{x.port}{path}"],
                          capture_output=True, text=True, check=True).stdout
    spent = cpu_us(x.process.pid) - before
    if "Non-2xx" in done:
        raise RuntimeError(done)
    return spent / int(re.search(r"(\d+) requests in", done)[1])


def workloads(w):
    """Name, exchange, path and body of each; what bids over HTTP is another exchange or a small server."""
    big = campaign(budget="9000000.00")
    local = Exchange(w, {"campaigns": [big], "slots": [SLOT]})
    none = Exchange(w, {})
    silent = dict(dsp("d", w.bidder()), url=f"http://127.0.0.1:{none.port}/rtb/bid")
    yield "bid-none", none, "/rtb/bid", MINIMAL
    yield "bid-local", local, "/rtb/bid", MINIMAL
    yield "vast", local, "/vast?slot=s1&w=640&h=360", None
    yield "freq-check", none, "/frequency/check", {"device_id": "d", "campaign_id": "c", "cap": 10000}
    yield "bid-dsp-none", Exchange(w, {"dsps": [silent]}, "--auction-timeout=1s"), "/rtb/bid", MINIMAL
    bids = w.bidder(answer_of([SMALL]))
    yield "bid-dsp", Exchange(w, {"dsps": [dsp("d", bids)]}, "--auction-timeout=1s"), "/rtb/bid", MINIMAL


def idle_mb(w):
    x = Exchange(w, {"campaigns": [campaign()], "slots": [SLOT]})
    status = pathlib.Path(f"/proc/{x.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def settle(w, node, seconds):
    """Impressions paid a second, and transactions a second that settle them."""
    import chain as chains  # noqa: PLC0415 - brings packages of its own
    w.node = pathlib.Path(node).resolve()
    chain = chains.Chain(w)
    chain.deploy()
    chain.fund("s1", 10**15)
    folder = w.folder()
    x = Exchange(w, chains.config(chain, folder, [campaign("s1", budget="900000.00")], interval_s=5), data=folder)
    began = time.monotonic()
    ends = [time.monotonic() + seconds] * 16
    paid = []
    threads = [threading.Thread(target=lambda end=end: paid.append(pay(x, end))) for end in ends]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    w.until(lambda: chains.settled(x, sum(paid) * 1_000_000), "settled", 60)
    return sum(paid) / seconds, x.metric("adx_settlement_sent_total") / (time.monotonic() - began)


def pay(x, end):
    """Impressions over one connection until the time is up."""
    c = http.client.HTTPConnection("127.0.0.1", x.port, timeout=20)
    cnt = 0
    while time.monotonic() < end:
        c.request("GET", "/vast?slot=s0")
        token = re.search(rb"/t/impression\?b=([\w-]+)", c.getresponse().read())[1].decode()
        c.request("GET", f"/t/impression?b={token}")
        r = c.getresponse()
        r.read()
        cnt += r.status == 204
    c.close()
    return cnt


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--seconds", type=int, default=4)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--bin", default=ROOT / "build/release/bin/candela-adx")
    args.add_argument("--chain", help="the candela program, for the row settle")
    opt = args.parse_args()
    if shutil.which("wrk") is None:
        print("SKIP adx: wrk is not installed")
        return 0
    OUT.mkdir(parents=True, exist_ok=True)
    if "PREBID_SERVER" not in os.environ:
        print("SKIP prebid-server: PREBID_SERVER does not name its program")
    w = World(pathlib.Path(opt.bin).resolve())
    over = 0
    try:
        with (OUT / "adx.jsonl").open("w") as out:
            for name, x, path, body in workloads(w):
                least = min(load(x, path, body, opt.seconds, w.root / "wrk.lua") for _ in range(opt.rounds))
                limit = LIMITS.get(name)
                over += limit is not None and least > limit
                out.write(json.dumps({"group": "adx", "name": name, "program": "candela", "cpu_us": round(least, 2)}) +
                          "\n")
                print(f"{name:14} {least:7.1f} us of CPU{'' if limit is None else f'   limit {limit}'}", flush=True)
            mb = idle_mb(w)
            over += mb > IDLE_MB
            out.write(json.dumps({"group": "adx", "name": "idle", "program": "candela", "mb": round(mb, 1)}) + "\n")
            print(f"idle           {mb:7.1f} MB          limit {IDLE_MB}", flush=True)
            if opt.chain:
                impressions, sent = settle(w, opt.chain, 10)
                over += sent > 1
                out.write(json.dumps({"group": "adx", "name": "settle", "program": "candela",
                                      "impressions_s": round(impressions), "transactions_s": round(sent, 2)}) + "\n")
                print(f"settle         {impressions:7.0f} impressions/s, {sent:.2f} transactions/s", flush=True)
    finally:
        w.close()
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
