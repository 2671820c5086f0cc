"""One beacon, replayed as fast as wrk can at two exchanges on one ledger, one of which is killed and started again meanwhile:
it pays once. Twenty thousand times; a million when CANDELA_TEST_FULL is 1."""
import os
import random
import re
import subprocess

from world import SLOT, Exchange, campaign

REPLAYS = 1_000_000 if os.environ.get("CANDELA_TEST_FULL") == "1" else 20_000
CLIENTS = 32
SLICE_S = 1
KILLS_MIN = 4


def run(w):
    rng = random.Random(20)
    data = w.folder()
    config = {"campaigns": [campaign(budget="40.00", cpm="2.00")], "slots": [SLOT]}
    pair = [Exchange(w, config, "--token-life=1h", data=data) for _ in range(2)]
    beacon = "/t/impression?b=" + pair[0].get("/vast?slot=s1")[1].decode().split("impression?b=")[1].split("]")[0]
    # Nobody has heard of it yet: the first of all may come to either, and be cut off by the kill.
    played = kills = 0
    while played < REPLAYS or kills < KILLS_MIN:
        players = [replay(x.port, beacon) for x in pair]
        try:
            players[0].wait(rng.uniform(0, SLICE_S))
        except subprocess.TimeoutExpired:
            pass
        victim = pair[kills % 2]
        victim.kill()
        played += sum(answered(w, p) for p in players)
        victim.start()
        kills += 1
        if kills % 4 == 0:
            w.ledger(data)
    ledger = w.ledger(data, "publisher/0xbb", "escrow/c1", "leased/c1", "fees")
    price = 10**6  # the slot's floor: one competitor pays it
    print(f"{played} replays, {kills} kills, paid {ledger['spent'] / price:g} times", flush=True)
    w.check(ledger["spent"] == price, "it is paid once")
    w.check(ledger["spent"] == ledger["publisher/0xbb"] + ledger["fees"], "debit is credit and fees")
    for x in pair:
        w.check(x.get(beacon)[0] == 204, "a replay is taken, and pays nothing")
        w.check(x.stop() == 0, "stops")
    w.check(w.ledger(data)["spent"] == price, "and so it stays")


def replay(port, beacon):
    return subprocess.Popen(["wrk", "-t1", f"-c{CLIENTS}", f"-d{SLICE_S}s", f"http://127.0.0.1:{port}{beacon}"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def answered(w, player):
    """How many were taken; every answer is that."""
    out = player.communicate(timeout=60)[0]
    w.check("Non-2xx" not in out, f"each is answered as the first: {out}")
    return int(re.search(r"(\d+) requests in", out).group(1))
