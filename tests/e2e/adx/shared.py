"""The ledger on PostgreSQL: exchanges that are killed, miners that come back, settlement, and a database that dies under all
of them."""
import pathlib
import re
import sys
import time

import chain
import kills
import miners
from world import SLOT, Exchange, campaign

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402 - found through the path just set
from postgres import Postgres  # noqa: E402


def run(w):
    try:
        server = Postgres()
    except harness.Skip as why:
        print(f"SKIP shared: {why}")
        w.passed += 1
        return
    try:
        for part in (kills.run, miners.kills, lambda w: dies(w, server)):
            name = f"part{w.passed}"
            server.do("createdb", "-h", server.dir, "-U", "rig", name)
            w.db = f"postgresql:///{name}?host={server.dir}&user=rig"
            part(w)
        if w.node.exists():
            server.do("createdb", "-h", server.dir, "-U", "rig", "chain")
            w.db = f"postgresql:///chain?host={server.dir}&user=rig"
            net = chain.Chain(w)
            net.deploy()
            chain.batches(w, net)
    finally:
        server.close()


def dies(w, server):
    """The database dies while impressions come: what was answered 204 is there when it is back, once."""
    x = Exchange(w, {"campaigns": [campaign()], "slots": [SLOT]}, "--token-life=60s")
    acked, refused = set(), 0
    for i in range(60):
        if i == 20:
            server.die()
        if i == 40:
            server.start()
        token = re.search(r"/t/impression\?b=([\w-]+)", x.get("/vast?slot=s1")[1].decode())
        if token is None:
            time.sleep(0.05)
            continue
        status = x.get(f"/t/impression?b={token[1]}")[0]
        acked |= {token[1]} if status == 204 else set()
        refused += status == 503
    w.check(len(acked) >= 20 and refused > 0, f"{len(acked)} answered, {refused} refused")
    w.until(lambda: x.get("/settlement")[0] == 200, "the database is back")
    before = w.ledger(x.data)
    w.check(all(x.get(f"/t/impression?b={t}")[0] == 204 for t in acked), "again")
    after = w.ledger(x.data)
    w.check(before and after and before["spent"] == after["spent"] >= len(acked) * 10**6, f"{len(acked)} {before} {after}")
    w.check(x.stop() == 0, "stops")
