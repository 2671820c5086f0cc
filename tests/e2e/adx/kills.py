"""Two exchanges on one ledger, killed at random points under load: nothing that was answered is lost, nothing is paid
twice, no budget is exceeded, the books balance every time."""
import http.client
import os
import random
import threading
import time

from world import MINIMAL, SLOT, Exchange, campaign

FULL = os.environ.get("CANDELA_TEST_FULL") == "1"
KILLS = 1000 if FULL else 12
BUDGET = 40.0


def run(w):
    rng = random.Random(20)
    data = w.folder()
    config = {"campaigns": [campaign(budget=f"{BUDGET:.2f}", cpm="2.00")], "slots": [SLOT]}
    pair = [Exchange(w, config, "--token-life=2s", data=data) for _ in range(2)]
    acked, seen, stop = {}, [], threading.Event()
    threads = [threading.Thread(target=player, args=(pair, i, acked, seen, stop), daemon=True) for i in range(6)]
    for t in threads:
        t.start()
    for i in range(KILLS):
        time.sleep(rng.uniform(0.05, 0.4))
        victim = rng.choice(pair)
        victim.kill()
        if i % 4 == 0 or i == KILLS - 1:
            w.ledger(data)
        victim.start()
    time.sleep(0.5)
    stop.set()
    for t in threads:
        t.join(30)
    # What was answered is paid: once more, each is a replay.
    before = w.ledger(data, "publisher/0xbb")
    tokens = list(acked)
    for t in tokens[-300:]:
        pair[0].get(f"/t/impression?b={t}")
    after = w.ledger(data, "publisher/0xbb", "escrow/c1", "leased/c1", "fees")
    w.check(len(acked) > KILLS, f"{len(acked)} impressions were answered")
    w.check(before["spent"] == after["spent"], "replays pay nothing")
    price = 10**6  # the slot's floor: one competitor pays it
    w.check(after["spent"] % price == 0 and after["spent"] >= len(acked) * price,
            f"{len(acked)} answered, {after['spent'] // price} paid")
    w.check(after["spent"] <= len(seen) * price, f"{len(seen)} tokens, {after['spent'] // price} paid")
    w.check(after["spent"] == after["publisher/0xbb"] + after["fees"], "debit is credit and fees")
    total = after["spent"] + after["escrow/c1"] + after["leased/c1"]
    w.check(total == round(BUDGET * 10**9), f"total is {total}")
    for x in pair:
        w.check(x.stop() == 0, "stops")


def player(pair, number, acked, seen, stop):
    """Asks for ads and plays them; sometimes late, sometimes twice."""
    rng = random.Random(number)
    while not stop.is_set():
        x = rng.choice(pair)
        try:
            body = x.get("/vast?slot=s1")[1].decode()
            if "impression?b=" not in body:
                time.sleep(0.02)
                continue
            token = body.split("impression?b=")[1].split("]")[0]
            seen.append(token)
            for _ in range(rng.choice((1, 1, 1, 2))):
                if rng.choice(pair).get(f"/t/impression?b={token}")[0] == 204:
                    acked[token] = True
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)
