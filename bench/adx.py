#!/usr/bin/env python3
"""The group adx: what one request to the ad exchange costs [spec:bench#8].

    bench/adx.py [--seconds 4] [--rounds 3] [--bin build/release/bin/candela-adx]

wrk asks over 16 kept connections; what counts is the exchange's CPU time of a request, all threads, the least of the
rounds. Workloads: bid-none (nobody bids), bid-local (one campaign), bid-dsp-none (one HTTP bidder that answers 204),
bid-dsp (one that bids), vast (one campaign), freq-check (one counter). Beside them idle, the memory of an exchange with
nothing to do; what bench-proofs measures; and settle: transactions a second while impressions are paid as fast as they
come (--chain NODE). The peer, prebid-server (prebid.py), answers the bid-dsp workloads too, the same bytes and the same
bidders: ours may take an eighth of its time. It is left out with a SKIP line where PREBID_SERVER does not name it.
Results: build/bench/adx.jsonl."""
import argparse
import http.client
import json
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/e2e/adx"))
import prebid  # noqa: E402 - beside this file
from world import MINIMAL, SLOT, Exchange, World, answer_of, campaign  # noqa: E402 - found through the path above

LIMITS = {"freq-check": 10, "bid-local": 15, "bid-dsp-none": 60, "bid-dsp": 60, "vast": 30}
PROOFS = {"verify_us": 700, "verify_of_32_us": 250, "settle_32_us": 150_000, "verify_outcome_32_us": 30_000, "check_us": 10,
          "check_new_us": 10, "counters_bytes": 400_000_000}
IDLE_MB = 20
PEER_RATIO = 8
SMALL = {"id": "g", "impid": "1", "price": 2.5, "crid": "c", "adomain": ["g.example"], "mtype": 2,
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
    """Name, program, exchange, path and body of each; what bids over HTTP is another exchange or a small server."""
    for name, x, path, body in ours(w):
        yield name, "candela", x, path, body
        if name.startswith("bid-dsp") and prebid.home():
            peer = prebid.Prebid(w, x.bidder)
            try:
                yield name, "prebid-server", peer, prebid.PATH, body
            finally:
                peer.close()


def bids(w):
    """A bidder that bids SMALL, until the world is closed."""
    answer = w.folder() / "answer.json"
    answer.write_bytes(answer_of([SMALL])({"id": "1"})[1])
    process = subprocess.Popen([ROOT / "bench/bidder.py", answer], stdout=subprocess.PIPE, text=True)
    w.exchanges.append(types.SimpleNamespace(process=process, kill=process.kill))
    return f"http://127.0.0.1:{int(process.stdout.readline())}/bid"


def ours(w):
    big = campaign(budget="9000000.00")
    local = Exchange(w, {"campaigns": [big], "slots": [SLOT]})
    none = Exchange(w, {})
    yield "bid-none", none, "/rtb/bid", MINIMAL
    yield "bid-local", local, "/rtb/bid", MINIMAL
    yield "vast", local, "/vast?slot=s1&w=640&h=360", None
    yield "freq-check", none, "/frequency/check", {"device_id": "d", "campaign_id": "c", "cap": 10000}
    for name, bidder in (("bid-dsp-none", f"http://127.0.0.1:{none.port}/rtb/bid"), ("bid-dsp", bids(w))):
        x = Exchange(w, {"dsps": [{"id": "d", "url": bidder, "seat": "D", "timeout_ms": 500}]}, "--auction-timeout=1s")
        x.bidder = bidder
        yield name, x, "/rtb/bid", prebid.REQUEST


def idle_mb(w):
    x = Exchange(w, {"campaigns": [campaign()], "slots": [SLOT]})
    status = pathlib.Path(f"/proc/{x.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def proofs(program, out, rounds):
    """Range proofs, outcomes and ten million counters, by bench-proofs; gives how many are above their limits."""
    runs = [json.loads(subprocess.run([program], capture_output=True, text=True, check=True).stdout) for _ in range(rounds)]
    least = {name: min(run[name] for run in runs) for name in PROOFS}
    out.write(json.dumps({"group": "adx", "name": "proofs", "program": "candela", **least}) + "\n")
    for name, got in least.items():
        print(f"{name:22} {got:13,.1f}   limit {PROOFS[name]:,}", flush=True)
    return sum(got > PROOFS[name] for name, got in least.items())


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
    if prebid.home() is None:
        print("SKIP prebid-server: PREBID_SERVER does not name its folder")
    w = World(pathlib.Path(opt.bin).resolve())
    over = 0
    try:
        with (OUT / "adx.jsonl").open("w") as out:
            took = {}
            for name, program, x, path, body in workloads(w):
                least = min(load(x, path, body, opt.seconds, w.root / "wrk.lua") for _ in range(opt.rounds))
                took[name, program] = least
                limit = LIMITS.get(name) if program == "candela" else PEER_RATIO * took[name, "candela"]
                over += limit is not None and (least > limit if program == "candela" else least < limit)
                out.write(json.dumps({"group": "adx", "name": name, "program": program, "cpu_us": round(least, 2)}) + "\n")
                says = "" if limit is None else f"   limit {limit}" if program == "candela" else (
                    f"   {least / took[name, 'candela']:.1f} times ours, at least {PEER_RATIO}")
                print(f"{name:12} {program:13} {least:7.1f} us of CPU{says}", flush=True)
            mb = idle_mb(w)
            over += mb > IDLE_MB
            out.write(json.dumps({"group": "adx", "name": "idle", "program": "candela", "mb": round(mb, 1)}) + "\n")
            print(f"idle           {mb:7.1f} MB          limit {IDLE_MB}", flush=True)
            beside = pathlib.Path(opt.bin).with_name("bench-proofs")
            if beside.exists():
                over += proofs(beside, out, opt.rounds)
            else:
                print("SKIP proofs: bench-proofs is not built")
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
