"""Sealed auctions and frequency caps: what bidders, doubters and devices see, and what kills may not take."""
import http.client
import json
import os
import random
import re
import subprocess
import threading

import voprf
from world import ROOT, SLOT, Exchange, campaign, dsp

KILLS = 300 if os.environ.get("CANDELA_TEST_FULL") == "1" else 12
ZEROS = "00" * 32


def run(w):
    default_auction(w)
    created_auction(w)
    refusals(w)
    kills(w)
    counters(w)
    tokens(w)
    campaigns(w)
    commands(w)
    dashboard(w)


# --- sealed auctions ---

def post(x, path, body):
    status, answer, _ = x.call("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return status, json.loads(answer)


def look(x, path):
    status, answer, _ = x.get(path)
    return status, json.loads(answer)


def seal(w, bidder, value, auction=None, keys=None):
    flags = [f"--bidder={bidder}", f"--value={value}"]
    flags += [f"--auction-id={auction}"] if auction else []
    flags += [f"--keys={keys}"] if keys else []
    done = subprocess.run([w.bin, "seal-bid", *flags], capture_output=True, text=True, check=False)
    w.check(done.returncode == 0, f"seal-bid: {done.stderr.strip()}")
    made = json.loads(done.stdout)
    return made["body"], made["opening"]


def verify(w, outcome, *flags):
    done = subprocess.run([w.bin, "verify-outcome", *flags], input=json.dumps(outcome), capture_output=True, text=True,
                          check=False)
    return done.returncode == 0, done.stderr + done.stdout


def outcome_of(w, x, auction):
    def settled():
        status, doc = look(x, f"/auction/outcome?auction_id={auction}")
        return doc if status == 200 else None
    return w.until(settled, "an outcome")


def keys_of(x):
    status, keys = look(x, "/auction/keys")
    path = x.data / "keys.json"
    path.write_text(json.dumps(keys))
    return keys, path


def code(answer):
    return answer.get("error", {}).get("code")


def default_auction(w):
    """One that is always open; bids in envelopes open by themselves."""
    x = Exchange(w, {})
    keys, path = keys_of(x)
    status, current = look(x, "/auction/current")
    w.check(status == 200 and current["state"] == "open" and current["default"] and current["reserve"] == "500000",
            f"current: {current}")
    acks = {}
    bids = {"dsp-a": 2_000_000, "dsp-b": 3_500_000, "dsp-c": 3_000_000}
    sealed = {name: seal(w, name, value, keys=path)[0] for name, value in bids.items()}
    for name, body in sealed.items():
        status, acks[name] = post(x, "/auction/sealed", body)
        w.check(status == 200 and acks[name]["status"] == "accepted", f"{name}: {acks[name]}")
    by_auction = {}
    for name, ack in acks.items():
        by_auction.setdefault(ack["auction_id"], []).append(name)
    for auction, names in by_auction.items():  # mostly one; a slow machine may spread them
        doc = outcome_of(w, x, auction)
        values = sorted((bids[n] for n in names), reverse=True)
        price = max([500_000] + values[1:2])
        w.check(doc["status"] == "settled" and doc["winner_id"] == max(names, key=bids.get), f"winner: {doc}")
        w.check(doc["clearing_price"] == str(price) and doc["fee_nusd"] == str(price // 1000), f"price: {doc}")
        w.check(doc["forfeited"] == [] and doc["n_bids"] == len(names), f"bids: {doc}")
        check_document(w, x, doc)
        for name in names:
            receipt = x.data / "receipt.json"
            receipt.write_text(json.dumps(acks[name]))
            flags = [f"--receipt={receipt}", f"--commitment={sealed[name]['commitment']}",
                     f"--key={keys['receipt_ed25519']}"]
            w.check(verify(w, doc, *flags)[0], f"{name}: the receipt holds")
            w.check(not verify(w, doc, *flags[:2], f"--key={'11' * 32}")[0], f"{name}: another's receipt")
            status, least = look(x, f"/auction/min-to-win?auction_id={auction}&seq={acks[name]['seq']}")
            w.check(status == 200 and least == {"min_to_win": str(price), "unit": "micro_cpm"}, f"least: {least}")
        status, seen = look(x, f"/auction/{auction}")
        w.check(status == 200 and seen["state"] == "settled" and seen["clearing_price"] == str(price), f"seen: {seen}")
    w.check(look(x, "/auction/current")[1]["auction_id"] not in by_auction, "the next one is open")
    w.check(x.stop() == 0, "stops")


def check_document(w, x, doc):
    """It verifies by route and command, and no changed one does."""
    w.check(post(x, "/auction/verify", doc) == (200, {"valid": True}), "the route verifies")
    w.check(verify(w, doc)[0], "the command verifies")
    changes = [("reserve", str(int(doc["reserve"]) + 1)), ("clearing_price", str(int(doc["clearing_price"]) + 1)),
               ("auction_id", "11" * 32), ("log_head", "22" * 32), ("winner_id", "somebody"),
               ("proof", doc["proof"][:-2] + ("00" if doc["proof"][-2:] != "00" else "01"))]
    for key, value in changes:
        status, answer = post(x, "/auction/verify", {**doc, key: value})
        w.check(status == 200 and answer["valid"] is False and answer["reason"], f"changed {key}: {answer}")
    if len(doc["bids"]) > 1:
        fewer = {**doc, "bids": doc["bids"][:-1], "n_bids": len(doc["bids"]) - 1}
        w.check(post(x, "/auction/verify", fewer)[1]["valid"] is False, "a bid left out")


def create(x, **more):
    body = {"slot_id": "s1", "reserve": "1000000", "duration_ms": 400, "reveal_ms": 600, **more}
    return post(x, "/auction/create", body)


def created_auction(w):
    """Opened by the exchange's owner; without an envelope bidders open their bids themselves, or forfeit them."""
    x = Exchange(w, {}, "--admin-token=secret")
    w.check(create(x)[0] == 401, "creating wants the token")
    x.stop()
    x = Exchange(w, {})
    status, made = create(x, duration_ms=3000)
    w.check(status == 200 and made["status"] == "created", f"created: {made}")
    auction = made["auction_id"]
    bids = {n: seal(w, n, v, auction) for n, v in {"a": 5_000_000, "b": 4_000_000, "late": 9_000_000}.items()}
    for name, (body, _) in bids.items():
        status, ack = post(x, "/auction/sealed", body)
        w.check(status == 200 and ack["auction_id"] == auction, f"{name}: {ack}")
    status, again = post(x, "/auction/sealed", bids["a"][0])
    w.check(status == 200 and again["seq"] == 0, "the same bid has the same answer")
    w.check(code(post(x, "/auction/sealed", seal(w, "a", 1, auction)[0])[1]) == "duplicate", "one bid a bidder")
    opening = {"auction_id": auction, "bidder_id": "a", **bids["a"][1]}
    status, early = post(x, "/auction/reveal", opening)
    w.check(code(early) == "too_early" or status == 200, f"early: {early}")
    w.until(lambda: look(x, f"/auction/{auction}")[1]["state"] == "reveal", "the reveal phase")
    w.check(code(post(x, "/auction/sealed", seal(w, "z", 1, auction)[0])[1]) == "auction_closed", "too late to bid")
    wrong = {**opening, "value": "5000001"}
    w.check(post(x, "/auction/reveal", wrong)[0] == 422, "an opening that does not fit")
    for name in "ab":
        status, said = post(x, "/auction/reveal", {"auction_id": auction, "bidder_id": name, **bids[name][1]})
        w.check(status == 200, f"{name} opens: {said}")
    w.check(look(x, f"/auction/{auction}")[1].get("opened") == [0, 1], "who has opened is public")
    doc = outcome_of(w, x, auction)
    w.check(doc["winner_id"] == "a" and doc["clearing_price"] == "4000000" and doc["forfeited"] == [2], f"{doc}")
    w.check(doc["second_seq"] == 1 and len(doc["second_blinding"]) == 64, "who set the price")
    check_document(w, x, doc)
    # Nobody reaches the reserve.
    auction = create(x, duration_ms=1500)[1]["auction_id"]
    _, path = keys_of(x)
    post(x, "/auction/sealed", seal(w, "a", 999_999, auction, path)[0])
    doc = outcome_of(w, x, auction)
    w.check(doc["status"] == "void" and doc["winner_seq"] is None, f"void: {doc}")
    w.check(verify(w, doc)[0], "a void auction has a proof too")
    x.stop()


def refusals(w):
    x = Exchange(w, {}, "--client-rate=0")
    body, _ = seal(w, "a", 1000)
    cases = [({**body, "commitment": "xx"}, 400, "malformed"), ({**body, "range_proof": "00"}, 400, "malformed"),
             ({**body, "bidder_id": ""}, 400, "malformed"), ([], 400, "malformed"),
             ({k: v for k, v in body.items() if k != "range_proof"}, 400, "malformed"),
             ({**body, "encrypted_bid": "!!"}, 400, "malformed"),
             ({**body, "auction_id": "11" * 32}, 404, "unknown_auction"),
             ({**body, "bidder_id": "b"}, 422, "invalid_range_proof"),
             ({**body, "range_proof": "11" + body["range_proof"][2:]}, 422, "invalid_range_proof")]
    for changed, status, name in cases:
        got = post(x, "/auction/sealed", changed)
        w.check(got[0] == status and code(got[1]) == name, f"{name}: {got}")
    w.check(x.call("POST", "/auction/sealed", b"{")[0] == 400, "no JSON")
    w.check(x.get("/auction/sealed")[0] == 405, "GET of a POST route")
    w.check(x.get("/auction/xyz")[0] == 404 and x.get("/auction/" + "11" * 32)[0] == 404, "no such auction")
    w.check(x.get("/auction/outcome")[0] == 400, "an outcome of what?")
    w.check(x.get("/auction/outcome?auction_id=" + "11" * 32)[0] == 404, "an outcome of nothing")
    w.check(post(x, "/auction/verify", {})[1]["valid"] is False, "nothing to verify")
    w.check(post(x, "/auction/create", {"slot_id": "s", "reserve": "x"})[0] == 400, "a reserve that is none")
    w.check(post(x, "/auction/create", {"slot_id": "s", "reserve": "1", "duration_ms": 0})[0] == 400, "no time")
    upper = {**body, "commitment": "0x" + body["commitment"].upper()}
    w.check(post(x, "/auction/sealed", upper)[0] == 200, "hex may be upper case, with 0x")
    x.stop()
    x = Exchange(w, {}, "--client-rate=3")
    got = [x.get("/auction/keys")[0] for _ in range(40)]
    w.check(200 in got and 429 in got, f"a limit for each address: {sorted(set(got))}")
    x.stop()


def kills(w):
    """Every bid that was acknowledged is in the outcome where its receipt says, whenever the exchange is killed."""
    rng = random.Random(7)
    x = Exchange(w, {}, "--client-rate=0")
    keys, path = keys_of(x)
    acked, seen, n = [], set(), 0
    for _ in range(KILLS):
        status, made = create(x, duration_ms=60_000 if rng.random() < 0.3 else 300, reveal_ms=300)
        auction, killer = made["auction_id"] if status == 200 else None, None
        while killer is None or killer.is_alive():
            n += 1
            body, _ = seal(w, f"b{n}", rng.randrange(10**7), auction, path)
            try:
                status, ack = post(x, "/auction/sealed", body)
            except (OSError, http.client.HTTPException):
                break
            if status == 200:
                acked.append((ack, body["commitment"]))
                seen.add(ack["auction_id"])
                if killer is None:
                    killer = threading.Timer(rng.uniform(0, 0.5), x.process.kill)
                    killer.start()
            elif code(ack) == "auction_closed":
                auction = None  # the default auction is always open
        killer.join()
        x.process.wait(30)
        x.start()
        w.check(keys_of(x)[0]["receipt_ed25519"] == keys["receipt_ed25519"], "the key has survived")
    receipt = x.data / "receipt.json"
    held = 0
    for ack, commitment in acked:
        status, now = look(x, f"/auction/{ack['auction_id']}")
        if status == 200 and now["state"] in ("open", "reveal"):
            w.check(now["n_bids"] > ack["seq"], f"bid {ack['seq']} of {now}")
            continue
        doc = outcome_of(w, x, ack["auction_id"])
        receipt.write_text(json.dumps(ack))
        ok, text = verify(w, doc, f"--receipt={receipt}", f"--commitment={commitment}",
                          f"--key={keys['receipt_ed25519']}")
        w.check(ok, f"bid {ack['seq']}: {text}")
        held += 1
    print(f"{KILLS} kills, {len(acked)} bids acknowledged in {len(seen)} auctions, {held} in outcomes")
    w.check(len(acked) >= KILLS, "bids were acknowledged")
    x.stop()


# --- frequency caps ---

def check(x, device, name, cap, query=""):
    return post(x, "/frequency/check" + query, {"device_id": device, "campaign_id": name, "cap": cap})


def counters(w):
    x = Exchange(w, {})
    first = check(x, "d", "c", 2)[1]
    w.check(first["allowed"] and first["campaign_id"] == "c" and len(first["receipt"]) == 32 and
            first["reset_at"].endswith("T00:00:00Z"), f"first: {first}")
    w.check(check(x, "d", "c", 2, "?peek=1")[1]["allowed"], "looking does not count")
    w.check(check(x, "d", "c", 2)[1]["allowed"], "the second")
    third = check(x, "d", "c", 2)[1]
    w.check(third["allowed"] is False and third["reason"] == "cap_exceeded", f"third: {third}")
    w.check(check(x, "d", "c", 9)[1]["allowed"] is False, "the smaller cap rules")
    w.check(check(x, "d", "other", 1)[1]["allowed"] and check(x, "e", "c", 1)[1]["allowed"], "others have their own")
    w.check(check(x, "d", "none", 0)[1]["allowed"] is False, "a cap of nothing")
    for body in ({"device_id": "", "campaign_id": "c", "cap": 1}, {"device_id": "d", "campaign_id": "c", "cap": -1},
                 {"device_id": "d", "campaign_id": "c"}, {"device_id": "d" * 257, "campaign_id": "c", "cap": 1},
                 {"device_id": "d", "campaign_id": "c", "cap": 10001}):
        w.check(post(x, "/frequency/check", body)[0] == 400, f"refused: {list(body.values())[-1]}")
    allowed = []
    threads = [threading.Thread(target=lambda: allowed.extend(
        check(x, "crowd", "c", 3)[1]["allowed"] for _ in range(25))) for _ in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    w.check(len(allowed) == 1000 and sum(allowed) == 3, f"{sum(allowed)} of {len(allowed)} allowed")
    w.check(x.metric('adx_freq_checks_total{outcome="denied"}') >= 997, "denials are counted")
    x.stop()
    found = [p for p in x.data.iterdir() if p.is_file() and b"crowd" in p.read_bytes()]
    w.check(not found, f"a device's name is in {found}")
    x = Exchange(w, {}, "--freq-window=1s")
    w.check(check(x, "d", "c", 1)[1]["allowed"], "in an epoch")
    w.until(lambda: check(x, "d", "c", 1)[1]["allowed"], "the next epoch")
    x.stop()


def tokens(w):
    """Blinded tokens: as many as the cap, each good once, also when the exchange is killed behind the answer."""
    x = Exchange(w, {}, "--client-rate=0")
    nonces = [os.urandom(32) for _ in range(3)]
    blinded = [voprf.blind(n) for n in nonces]
    ask = {"device_id": "d", "campaign_id": "c", "cap": 3, "blinded": [p.hex() for _, p in blinded]}
    status, issued = post(x, "/frequency/tokens", ask)
    w.check(status == 200 and len(issued["evaluated"]) == 3 and len(issued["proof"]) == 128, f"issued: {issued}")
    w.check(post(x, "/frequency/tokens", {**ask, "blinded": ask["blinded"][:1]})[0] == 429, "not more than the cap")
    w.check(post(x, "/frequency/tokens", {**ask, "blinded": ["ff" * 32], "device_id": "e"})[0] == 400, "no point")
    made = [voprf.finish(n, s, bytes.fromhex(e))
            for n, (s, _), e in zip(nonces, blinded, issued["evaluated"])]

    def redeem(i, **more):
        return post(x, "/frequency/redeem", {"campaign_id": "c", "epoch_id": issued["epoch_id"],
                                             "nonce": nonces[i].hex(), "token": made[i].hex(), **more})[1]
    w.check(redeem(0) == {"allowed": True}, "a token")
    w.check(redeem(0) == {"allowed": False, "reason": "spent"}, "is good once")
    w.check(redeem(1, campaign_id="x") == {"allowed": False, "reason": "invalid"}, "for its campaign")
    w.check(redeem(1, token="00" * 64) == {"allowed": False, "reason": "invalid"}, "a guess is none")
    w.check(redeem(1) == {"allowed": True}, "the second")
    x.kill()
    x.start()
    w.check(redeem(1) == {"allowed": False, "reason": "spent"}, "spent before the kill")
    w.check(redeem(2) == {"allowed": True}, "made before the kill")
    x.stop()


def campaigns(w):
    """A campaign's cap holds for each device, and for requests that name none it does not bid."""
    x = Exchange(w, {"campaigns": [campaign(freq={"cap": 2})], "slots": [SLOT]})

    def ask(**device):
        return x.bid({"id": "1", "test": 1, "imp": [{"id": "1", "video": {"w": 1920, "h": 1080}}], "device": device})[1]
    w.check(["seatbid" in ask(ifa="d1") for _ in range(4)] == [True, True, False, False], "two for a device")
    w.check(ask(ifa="d1").get("nbr") == 9, "and why")
    w.check("seatbid" in ask(ifa="d2"), "another device")
    w.check("seatbid" not in ask(), "no device")
    two = {"id": "2", "test": 1, "device": {"ifa": "d3"},
           "imp": [{"id": str(i), "video": {"w": 1920, "h": 1080}} for i in range(3)]}
    bids = [b for s in x.bid(two)[1].get("seatbid", []) for b in s["bid"]]
    w.check(len(bids) == 2, f"two of three in one request: {len(bids)}")
    w.check(b"<InLine>" in x.get("/vast?slot=s1&ifa=d4")[1] and b"<InLine>" not in x.get("/vast?slot=s1")[1], "players")
    x.stop()


def commands(w):
    for name in ("seal-bid", "verify-outcome", "exchange"):
        done = subprocess.run([w.bin, name, "--help"], capture_output=True, text=True, check=False)
        w.check(done.returncode == 0 and f"candela-adx {name}" in done.stdout, f"{name} --help")
    done = subprocess.run([w.bin, "seal-bid", "--value=1"], capture_output=True, text=True, check=False)
    w.check(done.returncode == 1 and "--bidder" in done.stderr, f"no bidder: {done.stderr}")
    w.check(not verify(w, {"auction_id": ZEROS})[0], "no outcome")


def dashboard(w):
    """Every metric and label of the packaged dashboard is there to be shown."""
    text = (ROOT / "packaging/adx/grafana.json").read_text()
    x = Exchange(w, {"dsps": [dsp("d1", w.bidder())]})
    x.bid({"id": "1", "imp": [{"id": "1", "video": {"w": 1920, "h": 1080}}]})
    there = x.get("/metrics")[1].decode()
    names = set(re.findall(r"adx_[a-z_]+", text))
    w.check(len(names) >= 12, f"{len(names)} metrics")
    for name in names:
        w.check(re.search(rf"^{name}[{{ ]", there, re.M), f"no {name}")
    for label in set(re.findall(r"{{([a-z]+)}}", text)) - {"instance"}:
        w.check(f'{label}="' in there, f"no label {label}")
    x.stop()
