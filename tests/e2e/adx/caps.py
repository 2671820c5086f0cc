"""Frequency caps in the memory of one exchange, and by the same rules where two share them through Valkey: one cap for both,
through restarts of theirs and of the store."""
import concurrent.futures
import json
import os
import re
import shutil
import socket
import subprocess

from world import MINIMAL, SLOT, Exchange, campaign

CONFIG = {"campaigns": [campaign(freq={"cap": 3})], "slots": [SLOT]}


class Store:
    """A Valkey or Redis of its own, without files."""

    def __init__(self, w, program):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.w, self.program, self.folder = w, program, w.folder()
        self.start()

    def start(self):
        # The checker of redis-tools is the server under another name; the package starts no service.
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir",
                                         self.folder], executable=self.program, stdout=subprocess.DEVNULL)
        self.w.until(lambda: self.says("PING").startswith(b"+PONG"), "the store")

    def says(self, command):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as s:
                s.sendall(command.encode() + b"\r\n")
                return s.recv(1 << 20)
        except OSError:
            return b""

    def keys(self):
        return re.findall(rb"candela:adx:caps:\S+", self.says("KEYS *"))

    def kill(self):
        self.process.kill()
        self.process.wait(30)


def check(x, device, cap=3, campaign_id="c", query=""):
    body = json.dumps({"device_id": device, "campaign_id": campaign_id, "cap": cap})
    status, answer, _ = x.call("POST", "/frequency/check" + query, body)
    return json.loads(answer)["allowed"] if status == 200 else status


def shows(x, device):
    return x.bid(dict(MINIMAL, device={"ifa": device}))[0] == 200


def is_shared(w, pair):
    """Until both go by the store: one counts a device of its own, the other sees it."""
    w.names = getattr(w, "names", 0)

    def look():
        w.names += 1
        a = [check(pair[k], f"probe{w.names}", 1) for k in (0, 1)]
        w.names += 1
        b = [check(pair[k], f"probe{w.names}", 1) for k in (1, 0)]
        return a == b == [True, False]
    return w.until(look, "the caps are shared")


def rules(w, pair):
    """What holds wherever the counters are."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda i: check(pair[i % 2], "tv"), range(400)))
    w.check(got.count(True) == 3 and got.count(False) == 397, f"of 400 at once {got.count(True)} are allowed")
    w.check([check(pair[1], "look", 1, query="?peek=1"), check(pair[0], "look", 1), check(pair[1], "look", 1, query="?peek=1")]
            == [True, True, False], "looking counts nothing")
    w.check([check(pair[0], "two", 2), check(pair[1], "two", 9), check(pair[1], "two", 9)] == [True, True, False], "two caps")
    w.check(check(pair[0], "zero", 0) is False and check(pair[0], "", 1) == 400 and check(pair[0], "x" * 257, 1) == 400, "odd ones")
    got = [shows(pair[i % 2], "couch") for i in range(8)]
    w.check(got == [True] * 3 + [False] * 5, f"a campaign's cap is one for both: {got}")
    w.check(not shows(pair[0], "") and shows(pair[1], "phone"), "other devices")


def run(w):
    alone = Exchange(w, CONFIG)
    rules(w, (alone, alone))
    w.check(alone.stop() == 0, "stops")
    program = shutil.which("valkey-server") or shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if program is None:
        print("SKIP caps: no Valkey and no Redis here (package redis-tools)")
        w.check("CI" not in os.environ, "no Valkey and no Redis")
        w.passed += 1
        return
    store = Store(w, program)
    try:
        both(w, store)
    finally:
        store.kill()


def both(w, store):
    data = w.folder()
    flag = f"--shared-caps=redis://127.0.0.1:{store.port}"
    pair = [Exchange(w, CONFIG, flag, data=data) for _ in range(2)]
    is_shared(w, pair)
    rules(w, pair)
    names = store.keys()
    w.check(len(names) > 4 and not any(d in n for n in names for d in (b"tv", b"couch", b"phone", b"two")), "no names in the store")
    w.check(all(0 < int(store.says(f"TTL {n.decode()}")[1:]) <= 2 * 86400 for n in names), "all of it ends with its epoch")
    pair[0].kill()
    pair[0].start()
    is_shared(w, pair)
    w.check(check(pair[0], "tv") is False and not shows(pair[0], "couch"), "who was killed knows what was shown")
    store.kill()
    w.check(check(pair[0], "alone", 1) is True and check(pair[0], "alone", 1) is False, "without a store each goes by its own")
    w.check(check(pair[1], "tv") in (True, False) and shows(pair[1], "new"), "and answers")
    store.start()
    is_shared(w, pair)
    w.check([check(pair[0], "after", 1), check(pair[1], "after", 1)] == [True, False], "the store is back")
    for x in pair:
        w.check(x.stop() == 0, "stops")
    w.ledger(data)
