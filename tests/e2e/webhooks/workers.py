"""Several workers on one PostgreSQL: what one is told all know, what one leaves behind others finish, and a server that
dies in between loses nothing. The server is this suite's own, in a temporary folder, by an ordinary user, without TCP."""
import hashlib
import hmac
import json
import random
import signal
import subprocess
import time

import kills
from harness import ACCOUNTS, match, same
from postgres import Postgres
from stack import ALICE, BOB, Stack

CAROL = ACCOUNTS[2]
DEATHS, DEATHS_FULL = 4, 100


class Worker(Stack):
    """One more process of a stack's service."""

    def __init__(self, first, name):  # pylint: disable=super-init-not-called
        self.program, self.port, self.node, self.rpc = first.program, 0, first.node, first.rpc
        self.dir, self.keys, self.sinks = first.dir, first.keys, []
        self.chain_url, self.env, self.flags = None, None, [*first.flags[:1], f"--worker={name}"]
        self.start()

    def close(self):
        if self.service.poll() is None:
            self.end(signal.SIGKILL)


class Cluster:
    def __init__(self, env, names):
        self.pg = Postgres()
        self.first = Stack(env.binary, env.webhooks, flags=[f"--db={self.pg.url}", f"--worker={names[0]}"])
        self.workers = [self.first, *(Worker(self.first, n) for n in names[1:])]

    def settle(self):
        for w in self.workers:
            w.rpc = w.node.rpc()  # the one of before was idle for too long, perhaps
            w.settle()

    def close(self):
        for w in reversed(self.workers):
            w.close()
        self.pg.close()


def take(sink, n):
    return [sink.take() for _ in range(n)]


def quiet(sink):
    time.sleep(0.3)
    assert sink.got.empty(), f"nothing was to come, but {sink.got.get()}"


def test_what_one_is_told_all_know(env):
    c = Cluster(env, ["one", "two"])
    try:
        one, two = c.workers
        c.settle()
        sink = one.sink()
        hook = one.make("b", url=sink.url, event_type="address_activity", config={"addresses": [BOB]})
        path = f"/v1/webhooks/{hook['id']}"
        for n in range(10):
            one.send(value=n)
        take(sink, 10)
        for n in range(10):  # what the answer says holds from the very next block on, whoever writes it
            old, new = (BOB, CAROL) if n % 2 == 0 else (CAROL, BOB)
            status, said = c.workers[n % 2].ask("POST", path + "/addresses", "b", {"add": [new], "remove": [old]})
            same(status, 200, said)
            same(said["effective_from_block"] <= int(one.rpc("eth_blockNumber"), 16) + 1, True)
            one.send(to=old, value=1)
            one.send(to=new, value=2)
            same([kills.keys_b(json.loads(b))[2:] for _, b in take(sink, 1)], [(new, 2)])
        quiet(sink)
        fresh = two.ask("POST", path + "/rotate-secret", "b", {"grace_seconds": 0})[1]["signing_secret"]
        time.sleep(0.3)
        for n in range(10):
            one.send(value=n)
        for head, body in take(sink, 10):
            text = head["x-svc-timestamp"].encode() + b"." + body
            same(head["x-svc-signature"], hmac.new(fresh.encode(), text, hashlib.sha256).hexdigest(), "the new secret")
        same(one.ask("PATCH", path, "b", {"status": "paused"})[0], 200)
        for n in range(10):
            one.send(value=n)
        c.settle()
        quiet(sink)
        same(two.ask("PATCH", path, "b", {"status": "active", "replay": "skipped"})[0], 200)
        same(len(take(sink, 10)), 10)
        same(two.ask("DELETE", path, "b")[0], 200)
        one.send()
        c.settle()
        quiet(sink)
    finally:
        c.close()


def test_a_name_is_taken_once(env):
    c = Cluster(env, ["one"])
    try:
        here = c.first.dir.name
        for folder in (here, env.dir()):
            p = subprocess.run([str(env.webhooks), "serve", f"--data-dir={folder}", f"--master-key-file={here}/master.key",
                                "--port=0", "--worker=one", f"--chain=lux={c.first.node.url}/ext/bc/C/rpc",
                                f"--db={c.pg.url}"], capture_output=True, text=True, timeout=60)
            assert p.returncode != 0
            match(p.stdout + p.stderr, 'another process goes by the name of .{1,2}one')
    finally:
        c.close()


class Overlaps(kills.Records):
    """Records that notice two attempts of one event at the same time."""

    def __init__(self):
        super().__init__()
        self.running = set()

    def __call__(self, head, body):
        which = head["x-svc-webhook-id"], head["x-svc-sequence"]
        with self.lock:
            if which in self.running:
                self.wrong = self.wrong or f"two attempts of {which} at the same time"
            self.running.add(which)
        try:
            time.sleep(0.002)
            return super().__call__(head, body)
        finally:
            with self.lock:
                self.running.discard(which)


def test_the_dead_leave_nothing_behind(env):
    deaths = DEATHS_FULL if env.full else DEATHS
    rng = random.Random(5)
    c = Cluster(env, ["one", "two", "three"])
    s = c.first
    try:
        c.settle()
        token = s.rpc("eth_getTransactionReceipt",
                      s.rpc("eth_sendTransaction", {"from": ALICE, "data": kills.token_code()}))["contractAddress"]
        c.settle()
        records = Overlaps()
        sink = s.sink(records)
        sink.got.put = lambda _: None
        hooks = kills.make_hooks(s, sink.url)
        first = int(s.rpc("eth_blockNumber"), 16) + 1
        load = kills.Load(s, token)
        load.start()
        try:
            for n in range(deaths):
                time.sleep(rng.uniform(0.2, 1))
                w = rng.choice(c.workers)
                w.end(signal.SIGKILL)
                time.sleep(rng.uniform(0, 0.5))
                if n % 4 == 2:
                    c.pg.die()
                    time.sleep(rng.uniform(0, 0.5))
                    c.pg.start()
                w.start()
                assert load.error is None, load.error
            w = c.workers.pop()  # for good: others finish what it had
            w.end(signal.SIGKILL)
            time.sleep(1)
        finally:
            load.stop.set()
            load.join()
        c.settle()
        spent = kills.judge(s, records, hooks, first, token)
        print(f"{deaths} deaths, {spent}", flush=True)
    finally:
        c.close()
