"""What publishers, players and bidders see: auctions, versions, notices, documents, beacons, the books."""
import gzip
import json
import os
import re
import signal
import subprocess
import urllib.parse

from strict import xmllint
from world import MINIMAL, SLOT, TESTDATA, Exchange, answer_of, campaign, dsp


def run(w):
    auctions(w)
    transport(w)
    campaigns(w)
    pods(w)
    forwarded(w)
    documents(w)
    others(w)
    reload(w)
    kept(w)
    commands(w)


def path_of(doc, path):
    for key in re.findall(r"[^.\[\]]+", path):
        doc = doc[int(key)] if key.isdigit() and isinstance(doc, list) else doc[key]
    return doc


def auctions(w):
    """testdata/adx/openrtb/own through the whole program, with every loss heard by its bidder."""
    names = "abc"
    bidders = {n: w.bidder() for n in names}
    x = Exchange(w, {"dsps": [dsp(n, bidders[n]) for n in names], "fx": {"EUR": {"USD": "1.25"}}})
    folder = TESTDATA / "openrtb/own"
    if not folder.exists():
        w.check("CI" not in os.environ, "testdata is missing")
        return
    for path in sorted(folder.glob("*.json")):
        case = json.loads(path.read_text())
        for n in names:
            bidders[n].answer = lambda request: (204, b"")
            bidders[n].notices.clear()
        for d in case["dsp_bids"]:
            b = bidders[d["dsp"]]
            bids = [dict(bid, lurl=b.url(f"/loss/{bid['id']}/${{AUCTION_LOSS}}/${{AUCTION_MIN_TO_WIN}}/"
                                         "${AUCTION_PRICE}"),
                         nurl=b.url(f"/win/{bid['id']}/${{AUCTION_PRICE}}").replace("http:", "http:"))
                    for bid in d["bids"]]
            if any(imp.get("secure") for imp in case["request"].get("imp", [])):
                bids = [{k: v for k, v in bid.items() if k != "nurl"} for bid in bids]
            b.answer = answer_of(bids, d["seat"], d.get("cur", "USD"))
        status, body, headers = x.bid(case["request"], **case.get("headers", {}))
        expect = case["expect"]
        w.check(status == expect["status"], f"{path.name}: {status}")
        if "body" in expect:
            w.check(body == expect["body"], f"{path.name}: {body}")
        for name, value in expect.get("headers", {}).items():
            w.check(headers.get(name) == value, f"{path.name}: {name} {headers.get(name)}")
        for where, value in expect.get("body_paths", {}).items():
            w.check(path_of(body, where) == value, f"{path.name}: {where}")
        if "winner_seat" in expect and body:
            seat = body["seatbid"][0]
            w.check(seat["seat"] == expect["winner_seat"], f"{path.name}: {seat['seat']}")
            w.check(seat["bid"][0]["price"] == float(expect["price"]), f"{path.name}: {seat['bid'][0]['price']}")
            w.check(body["cur"] == expect.get("cur", "USD"), f"{path.name}: {body['cur']}")
        losses(w, path.name, expect, bidders)


def losses(w, name, expect, bidders):
    heard = lambda: [n for b in bidders.values() for n in b.notices if n.startswith("/loss/")]  # noqa: E731
    if not expect.get("loss"):
        return
    w.until(lambda: len(heard()) >= len(expect["loss"]), f"{name}: losses")
    for bid, code in expect["loss"].items():
        mine = [n.split("/")[2:] for n in heard() if n.split("/")[2] == bid]
        w.check(len(mine) == 1 and mine[0][1] == str(code), f"{name}: {bid} heard {mine}")
        to_win = expect.get("min_to_win", {}).get(bid)
        w.check(to_win is None or mine[0][2] == to_win, f"{name}: {bid} min_to_win {mine}")
        w.check(mine and mine[0][3] == "", f"{name}: {bid} heard a price")
    won = [n for b in bidders.values() for n in b.notices if n.startswith("/win/")]
    w.check(all(n.split("/")[3] not in ("", "${AUCTION_PRICE}") for n in won), f"{name}: {won}")


def transport(w):
    x = Exchange(w, {"campaigns": [campaign()], "slots": [SLOT]}, "--admin-token=tok")
    w.check(x.call("GET", "/rtb/bid")[0] == 405 and x.call("GET", "/rtb/bid")[2]["allow"] == "POST", "405")
    w.check(x.call("POST", "/health")[0] == 200 and json.loads(x.get("/health")[1])["status"] == "healthy", "health")
    body = json.dumps(MINIMAL)
    w.check(x.call("POST", "/rtb/bid", body, {"Content-Type": "text/plain"})[0] == 415, "415")
    w.check(x.call("POST", "/rtb/bid", body)[0] == 200, "no type is JSON")
    w.check(x.call("POST", "/rtb/bid", body, {"Content-Type": "application/json; charset=utf-8"})[0] == 200, "charset")
    packed = gzip.compress(body.encode())
    w.check(x.call("POST", "/rtb/bid", packed, {"Content-Encoding": "gzip"})[0] == 200, "gzip")
    w.check(x.call("POST", "/rtb/bid", b"nonsense", {"Content-Encoding": "gzip"})[0] == 400, "no gzip")
    bomb = gzip.compress(b" " * (64 << 20))
    w.check(x.call("POST", "/rtb/bid", bomb, {"Content-Encoding": "gzip"})[0] == 400, "a gzip bomb")
    w.check(x.call("POST", "/rtb/bid", b"x" * ((1 << 20) + 1))[0] == 413, "413")
    status, _, head = x.bid(MINIMAL, x_openrtb_version="2.5")
    w.check(status == 200 and head["x-openrtb-version"] == "2.5", "2.5")
    w.check(x.bid(MINIMAL, x_openrtb_version="4.0")[0] == 400, "4.0")
    for bad in ('{"id":"1"', "[]", '"x"', '{"id":"1","imp":[]}', '{"id":"1","imp":[{"id":"1"}]}', ""):
        status, answer, _ = x.call("POST", "/rtb/bid", bad)
        w.check(status == 400 and answer == b"", f"400 {bad}")
    bad = {"id": "1", "imp": [{"id": "1", "video": {"w": -1, "h": 5}}]}
    status, answer, _ = x.bid(bad, query="?debug=1")
    w.check(status == 400 and answer["path"] == "imp[0].video.w", f"debug {answer}")
    _, answer, _ = x.bid(dict(bad, test=1))
    w.check(answer and answer["path"] == "imp[0].video.w", f"test {answer}")
    _, answer, _ = x.bid(dict(MINIMAL, imp=[{"id": "1", "audio": {"mimes": ["a/b"]}}], site={"id": "s"},
                              ext={"adx": {"nbr": 1}}))
    w.check(answer == {"id": "1", "nbr": 500}, f"ext.adx.nbr {answer}")
    w.check(x.get("/rtb/explain/1")[0] == 401, "explain wants the token")
    status, doc, _ = x.get("/rtb/explain/1", Authorization="Bearer tok")
    w.check(status == 200 and json.loads(doc)["result"] == "unsold", "explain")
    w.check(x.get("/nowhere")[0] == 404 and x.call("DELETE", "/vast")[0] == 405, "404, 405")


def beacons_of(document):
    return re.findall(r"/t/(\w+)\?b=([\w-]+)", document)


def campaigns(w):
    """A local campaign from request to ledger; a beacon pays once."""
    x = Exchange(w, {"campaigns": [campaign()], "slots": [SLOT]})
    status, body, _ = x.bid(dict(MINIMAL, id="req-7", imp=[dict(MINIMAL["imp"][0], tagid="s1", exp=30)]))
    bid = body["seatbid"][0]["bid"][0]
    w.check(status == 200 and bid["price"] == 1 and bid["mtype"] == 2 and bid["dur"] == 15, f"local bid {bid}")
    w.check(bid["exp"] == 30 and bid["adm"].startswith("<?xml"), "exp and adm")
    explained = x.explain("req-7")
    w.check(explained["result"] == "sold" and explained["bids"][0]["loss"] == 0, "explained by request")
    w.check(x.explain(body["bidid"]) == explained, "explained by auction")
    events = beacons_of(bid["adm"])
    w.check({e for e, _ in events} >= {"impression", "error", "start", "complete", "click"}, "events")
    token = next(t for e, t in events if e == "impression")
    w.check(x.get(f"/t/start?b={token}")[0] == 204 and x.metric("adx_impressions_total") == 0, "start does not pay")
    statuses = [x.get(f"/t/impression?b={token}")[0] for _ in range(20)]
    w.check(statuses == [204] * 20 and x.metric("adx_impressions_total") == 1, "one impression pays once")
    w.check(x.metric("adx_beacons_replayed_total") == 19, "replays are counted")
    status, pixel, head = x.get(f"/t/impression.gif?b={token}")
    w.check(status == 200 and pixel[:6] == b"GIF89a" and head["content-type"] == "image/gif", "gif")
    broken = ("A" if token[20] != "A" else "B").join((token[:20], token[21:]))
    w.check(x.get(f"/t/impression?b={broken}")[0] == 400, "a changed token")
    w.check(x.get("/t/impression")[0] == 400 and x.get(f"/t/nothing?b={token}")[0] == 404, "no token, no event")
    w.check(x.stop() == 0, "stops")
    books = w.ledger(x.data, "publisher/0xbb", "escrow/c1", "leased/c1")
    w.check(books and books["spent"] == 1000000 and books["publisher/0xbb"] == 999000 and books["fees"] == 1000, books)
    w.check(books and books["escrow/c1"] == 1000 * 10**9 - 10**6 and books["leased/c1"] == 0, books)
    small = Exchange(w, {"campaigns": [campaign(budget="0.003", cpm="1.00")]})
    sold = [small.bid(MINIMAL)[0] for _ in range(10)]
    w.check(sold == [200] * 5 + [204] * 5, f"0.003 USD are five impressions at 0.50 and one bid at 1.00: {sold}")
    _, body, _ = small.bid(dict(MINIMAL, test=1))
    w.check(body["nbr"] == 504, f"budget exhausted: {body}")


def pods(w):
    x = Exchange(w, {"campaigns": [campaign(f"c{i}", cat=[f"IAB{i}"], cpm=f"{10 + i}.00") for i in range(1, 6)] +
                     [campaign("same", cat=["IAB5-3"], cpm="14.50"), campaign("twin", cat=["IAB30"], cpm="14.00",
                                                                             adomain=["c5.example"])],
                     "slots": [SLOT]})
    status, body, _ = x.get("/vast?slot=s1&adcount=6")
    doc = body.decode()
    ads = re.findall(r'<Ad id="[^"]+" sequence="(\d+)"', doc)
    w.check(status == 200 and ads == ["1", "2", "3", "4"], f"four of 15 s fill 60 s: {ads}")
    names = re.findall(r"<Advertiser>(\w+)\.example", doc)
    w.check(names == ["c5", "c4", "c3", "c2"], f"no advertiser or category twice: {names}")
    prices = re.findall(r'currency="USD">([\d.]+)<', doc)
    w.check(len(prices) == 4 and all(float(a) >= float(b) for a, b in zip(prices, prices[1:])), f"{prices}")
    w.check(len({t for e, t in beacons_of(doc) if e == "impression"}) == 4, "four tokens")
    explained = x.explain("nothing")
    w.check(explained is None, "an auction nobody had")


def forwarded(w):
    """What bidders get: our time, our node, their version."""
    old, new, late = w.bidder(), w.bidder(), w.bidder()
    x = Exchange(w, {"seller": {"asi": "adx.example"}, "slots": [SLOT], "dsps": [
        dsp("old", old, version="2.5"), dsp("new", new, gzip=False, headers={"X-Key": "k"}),
        dsp("rare", late, qps=1)]})
    request = {"id": "q", "tmax": 300, "imp": [{"id": "1", "tagid": "s1", "rwdd": 1, "ssai": 2,
                                                "video": {"w": 640, "h": 360, "poddur": 30}}],
               "source": {"tid": "t", "ext": {"schain": {"complete": 1, "ver": "1.0", "nodes": [{"asi": "a"}]}}},
               "regs": {"gdpr": 1}, "user": {"consent": "c", "ext": {"eids": [1]}}, "unknown": {"stays": True}}
    for _ in range(3):
        w.check(x.bid(request)[0] == 204, "nobody bids")
    a, b = old.requests[0], new.requests[0]
    w.check(a["unknown"] == b["unknown"] == {"stays": True} and a["at"] == b["at"] == 2, "unknown and at")
    w.check(0 < a["tmax"] <= 290 and 0 < b["tmax"] <= 290, f"tmax {a['tmax']}")
    w.check([n["asi"] for n in b["source"]["schain"]["nodes"]] == ["a", "adx.example"], "schain in 2.6")
    w.check([n["asi"] for n in a["source"]["ext"]["schain"]["nodes"]] == ["a", "adx.example"], "schain in 2.5")
    w.check(b["source"]["schain"]["nodes"][1]["sid"] == "0xbb" and "schain" not in a["source"], "sid, one place")
    w.check(a["regs"] == {"ext": {"gdpr": 1}} and b["regs"] == {"gdpr": 1}, "regs")
    w.check(a["user"] == {"ext": {"consent": "c", "eids": [1]}} and b["user"] == {"consent": "c", "eids": [1]}, "user")
    w.check("rwdd" not in a["imp"][0] and a["imp"][0]["ext"]["prebid"]["is_rewarded_inventory"] == 1, "rwdd in 2.5")
    w.check("poddur" not in a["imp"][0]["video"] and b["imp"][0]["video"]["poddur"] == 30, "pods in 2.6 alone")
    w.check("ssai" not in a["imp"][0] and b["imp"][0]["ssai"] == 2, "ssai in 2.6 alone")
    w.check(len(old.requests) == 3 and len(late.requests) == 1, f"qps: {len(late.requests)} of 3")


def documents(w):
    wrapped = w.bidder(answer_of([{"id": "w", "impid": "1", "price": 30, "crid": "c",
                                   "adm": "https://dsp.example/vast?x=1&y=]]>&[CACHEBUSTING]"}]))
    own = Exchange(w, {"campaigns": [campaign()], "slots": [SLOT]})
    none = Exchange(w, {"slots": [SLOT]})
    foreign = Exchange(w, {"dsps": [dsp("d", wrapped)], "slots": [SLOT]})
    for version in ("2.0", "3.0", "4.0", "4.1", "4.2", "4.3"):
        for x, what in ((own, "inline"), (none, "none"), (foreign, "wrapper"), (own, "pod")):
            query = f"slot=s1&version={version}" + ("&adcount=3" if what == "pod" else "")
            status, body, head = x.get(f"/vast?{query}", Origin="https://player.example")
            text = body.decode()
            w.check(status == 200 and f'version="{version}"' in text, f"{what} {version}")
            w.check(head["access-control-allow-origin"] == "https://player.example" and
                    head["access-control-allow-credentials"] == "true" and head["cache-control"] == "no-store", "CORS")
            done = subprocess.run(["xmllint", "--noout", "-"], input=body, capture_output=True, check=False)
            w.check(done.returncode == 0, f"{what} {version}: {done.stderr.decode()[:300]}")
            if version in ("4.0", "4.1", "4.2"):
                xmllint(w, text, version, f"{what} {version}")
            if what == "wrapper":
                w.check("<VASTAdTagURI><![CDATA[https://dsp.example/vast?x=1&y=%5D%5D%3E&[CACHEBUSTING]]]>" in text, "tag")
    for bad in ("", "?w=1", "?slot=s1&w=0", "?slot=s1&w=16385", "?slot=s1&h=x", "?slot=s1&version=5.0",
                "?slot=s1&adcount=21", "?slot=%zz"):
        w.check(own.get("/vast" + bad)[0] == 400, f"/vast{bad}")
    w.check(own.get("/vast?slot=unknown")[2]["access-control-allow-origin"] == "*", "any origin")


def inline_of(text):
    """What a bidder sends: an IAB sample, as it is."""
    return {"id": "w", "impid": "1", "price": 30, "crid": "c", "adm": text, "dur": 15}


def others(w):
    """Documents of others get our beacons, and stay valid; what is no document loses, and the next one wins."""
    bidder, second = w.bidder(), w.bidder()
    x = Exchange(w, {"dsps": [dsp("d", bidder), dsp("e", second)], "slots": [SLOT]})
    for version in ("4.0", "4.1", "4.2"):
        for path in sorted((TESTDATA / "vast/samples" / version).glob("*.xml")):
            bidder.answer = answer_of([inline_of(path.read_text())])
            doc = x.get(f"/vast?slot=s1&version={version}")[1].decode()
            xmllint(w, doc, version, path.name)
            token = [t for e, t in beacons_of(doc) if e == "impression"]
            w.check(token and x.get(f"/t/impression?b={token[0]}")[0] == 204, f"{path.name}: paid")
    paid = x.metric("adx_impressions_total")
    for bad in ("not XML", "<VAST", "<!DOCTYPE VAST [<!ENTITY a 'b'>]><VAST>&a;</VAST>", "<html/>",
                "<VAST version='4.2'/>", "<VAST>" + "<a>" * 100 + "</a>" * 100 + "</VAST>"):
        bidder.answer = answer_of([inline_of(bad)])
        second.answer = answer_of([dict(inline_of("https://dsp.example/tag"), price=5)], "E")
        doc = x.get("/vast?slot=s1")[1].decode()
        w.check("https://dsp.example/tag" in doc, f"the next wins over {bad[:20]}")
    bidder.answer = answer_of([dict(inline_of("<VAST"), id=str(i), price=99 - i) for i in range(60)])
    doc = x.get("/vast?slot=s1")[1].decode()
    w.check("https://dsp.example/tag" in doc, "sixty broken documents of one bidder")
    w.check(x.metric("adx_impressions_total") == paid, "nothing is paid unseen")
    bidder.answer = lambda request: (204, b"")
    sample = inline_of("<VAST version='3.0'><Ad><InLine><AdSystem>a</AdSystem><AdTitle>t</AdTitle><Impression>u"
                       "</Impression><Creatives/></InLine></Ad></VAST>")
    burl = bidder.url("/bill/${AUCTION_PRICE}/${AUCTION_IMP_TS}")
    second.answer = answer_of([dict(sample, burl=burl, nurl=bidder.url("/win"))])
    got = x.bid(MINIMAL)[1]["seatbid"][0]["bid"][0]
    w.check("burl" not in got and got["adm"].count("<Impression") == 2, "ours beside theirs")
    token = next(t for e, t in beacons_of(got["adm"]) if e == "impression")
    w.until(lambda: "/win" in bidder.notices, "nurl")
    for _ in range(5):
        x.get(f"/t/impression?b={token}")
    bills = w.until(lambda: [n for n in bidder.notices if n.startswith("/bill/")], "burl")
    w.check(len(bills) == 1 and re.fullmatch(r"/bill/[\d.]+/\d{13}", bills[0]), f"burl once, with price and time: {bills}")


def kept(w):
    """What is to be fetched when an impression comes is fetched after a kill too, once."""
    bidder = w.bidder()
    bidder.answer = answer_of([{"id": "b1", "impid": "1", "price": 3, "crid": "x", "adomain": ["a.example"],
                                "adm": "https://v.example/tag.xml", "burl": bidder.url("/bill/${AUCTION_PRICE}/${AUCTION_IMP_TS}")}])
    x = Exchange(w, {"dsps": [dsp("d", bidder)]})
    _, body, _ = x.bid(MINIMAL)
    token = next(t for e, t in beacons_of(body["seatbid"][0]["bid"][0]["adm"]) if e == "impression")
    w.until(lambda: x.get("/ready")[0] == 200, "the clerk has written")
    x.get("/settlement")  # behind what was posted before
    x.kill()
    x.start()
    w.check([x.get(f"/t/impression?b={token}")[0] for _ in range(5)] == [204] * 5, "paid after a kill")
    w.until(lambda: [n for n in bidder.notices if n.startswith("/bill/")], "burl after a kill")
    x.stop()
    w.check(len([n for n in bidder.notices if n.startswith("/bill/")]) == 1, f"once: {bidder.notices}")


def reload(w):
    x = Exchange(w, {"campaigns": [campaign()]})
    x.write({"campaigns": "nonsense"})
    x.process.send_signal(signal.SIGHUP)
    x.wait_log("not read")
    w.check(x.bid(MINIMAL)[0] == 200, "a broken configuration changes nothing")
    x.write({})
    x.process.send_signal(signal.SIGHUP)
    w.until(lambda: x.bid(MINIMAL)[0] == 204, "without the campaign")
    w.check(True, "reloaded")


def commands(w):
    def sh(*args, name=None):
        return subprocess.run([name or w.bin, *args], capture_output=True, text=True, check=False)
    w.check(sh("--version").stdout.startswith("candela-adx/"), "version")
    w.check("Examples" in sh("help").stdout and sh().returncode == 1, "help")
    text = sh("exchange", "--help").stdout
    w.check(all(f in text for f in ("--floor-cpm", "--auction-timeout", "--config", "--data-dir", "--at")), "flags")
    w.check(sh("--help", name=w.bin.parent / "adx-exchange").stdout == text, "adx-exchange")
    wrong = sh("exchang")
    w.check(wrong.returncode == 2 and "exchange" in wrong.stderr, "a slip of the keyboard")
    w.check(sh("exchange", "--floor-cpm=x", "--port=0", f"--data-dir={w.folder()}").returncode == 1, "floor")
    w.check(sh("exchange", "--config=/nowhere", "--port=0", f"--data-dir={w.folder()}").returncode == 1, "config")
