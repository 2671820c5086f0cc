"""kill -9 under load: of everything that a walk along the chain finds, every webhook is told, with the same bytes for the
same event id, the same number and the same place in its chain of hashes, without a gap."""
import hashlib
import json
import os
import random
import resource
import signal
import threading
import time

from harness import ACCOUNTS, RpcError, match, same
from stack import ALICE, BOB, Stack

CAROL = ACCOUNTS[2]
KILLS = 10
BURST, REST_S = 10, 0.2  # transactions of the load
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def token_code():
    """A token that gives anybody anything: transfer(to, amount) is a log; four bytes of calldata ask for its names."""
    give = bytes.fromhex("6024355f52" "600435" "33" "7f" + TRANSFER[2:] + "60205fa300")
    names = bytes.fromhex("5b5f3560e01c63313ce56714")  # decimals()?
    symbol = bytes.fromhex("634b494c4c60e01b5f5260205ff3")
    head = 8  # CALLDATASIZE == 4: to the names
    at = head + len(give)
    dest = at + len(names) + 3 + len(symbol)
    run = (bytes([0x36, 0x60, 4, 0x14, 0x60, at, 0x57, 0x5B]) + give + names + bytes([0x60, dest, 0x57]) + symbol +
           bytes.fromhex("5b60065f5260205ff3"))
    return "0x" + (bytes([0x60, len(run), 0x80, 0x60, 9, 0x5F, 0x39, 0x5F, 0xF3]) + run).hex()


def word(v):
    return v[2:].rjust(64, "0") if isinstance(v, str) else f"{v:064x}"


class Load(threading.Thread):
    """Sends transfers of both kinds until it is stopped; a node that is gone comes back."""

    def __init__(self, stack, token):
        super().__init__(daemon=True)
        self.stack, self.token = stack, token
        self.rng = random.Random(7)
        self.stop = threading.Event()
        self.error = None

    def send(self, rpc, n):
        to = self.rng.choice([BOB, CAROL])
        if n % 2 == 0:
            rpc("eth_sendTransaction", {"from": ALICE, "to": to, "value": hex(n + 1)})
        else:
            rpc("eth_sendTransaction", {"from": ALICE, "to": self.token, "gas": "0x186a0",
                                        "data": "0xa9059cbb" + word(to) + word(n + 1)})

    def run(self):
        rpc, n = self.stack.node.rpc(), 0
        while not self.stop.is_set():
            try:
                for _ in range(BURST):
                    self.send(rpc, n)
                    n += 1
            except RpcError as e:
                self.error = e
                return
            except Exception:  # noqa: BLE001 - the node was killed
                rpc.close()
                rpc = self.stack.node.rpc()
            self.stop.wait(REST_S * self.rng.random())


class Records:
    """What receivers got: for each webhook its events by id, and what came with them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.rng = random.Random(11)
        self.hooks = {}
        self.requests = 0
        self.wrong = None

    def __call__(self, head, body):
        event = json.loads(body)
        got = (int(head["x-svc-sequence"]), head["x-svc-event-hash"], head["x-svc-chain"], body)
        with self.lock:
            self.requests += 1
            had = self.hooks.setdefault(head["x-svc-webhook-id"], {}).setdefault(event["id"], got)
            if had != got:
                self.wrong = self.wrong or f"{event['id']}: {had} became {got}"
            luck = self.rng.random() if head["x-svc-attempt"] == "1" else 1
        if luck < 0.06:
            raise ConnectionError("as the test wants it")
        return 500 if luck < 0.12 else 200

    def events(self, hook):
        with self.lock:
            return dict(self.hooks.get(hook, {}))


def keys_a(event):
    if event["event"] == "new_block":
        return "block", event["blockNumber"], event["blockHash"]
    return event["event"], event["txHash"], event.get("logIndex"), event["to"], int(event["value"])


def keys_b(event):
    d = event["data"]
    return d["tx_hash"], d["contract"], d["to"], int(d["value"])


def keys_c(event):
    d = event["data"]
    if event["type"] == "NEW_BLOCK":
        return "block", d["blockNumber"], d["blockHash"]
    return d["transactionHash"], d["logIndex"], d["to"], int(d["value"])


def walk(rpc, first, last, token):
    """What the three webhooks must have been told of, from blocks and receipts alone."""
    a, b, c = [], [], []
    blocks = rpc.batch([("eth_getBlockByNumber", [hex(n), True]) for n in range(first, last + 1)])
    receipts = rpc.batch([("eth_getBlockReceipts", [hex(n)]) for n in range(first, last + 1)])
    for block, of_block in zip(blocks, receipts):
        number = int(block["number"], 16)
        a.append(("block", number, block["hash"]))
        c.append(("block", number, block["hash"]))
        for tx, receipt in zip(block["transactions"], of_block):
            same(receipt["transactionHash"], tx["hash"])
            same(receipt["status"], "0x1")
            value = int(tx["value"], 16)
            if tx["to"] == BOB:
                a.append(("transfer", tx["hash"], None, BOB, value))
            if tx["to"] in (BOB, CAROL):
                b.append((tx["hash"], None, tx["to"], value))
            for log in receipt["logs"]:
                same((log["address"], log["topics"][0]), (token, TRANSFER))
                to, amount = "0x" + log["topics"][2][26:], int(log["data"], 16)
                at = int(log["logIndex"], 16)
                b.append((tx["hash"], token, to, amount))
                c.append((tx["hash"], at, to, amount))
                if to == BOB:
                    a.append(("erc20_transfer", tx["hash"], at, BOB, amount))
    return a, b, c


def check_hook(events, want, key_of):
    """Exactly the events that are wanted, numbered without a gap, their chain of hashes unbroken."""
    same(sorted(map(repr, (key_of(json.loads(e[3])) for e in events.values()))), sorted(map(repr, want)), "events")
    rows = sorted(events.values())
    same([r[0] for r in rows], list(range(1, len(want) + 1)), "sequence")
    chain = bytes(32)
    for sequence, h, link, body in rows:
        chain = hashlib.sha256(chain + bytes.fromhex(h) + hashlib.sha256(body).digest()).digest()
        same(chain.hex(), link, f"chain of hashes at {sequence}")


def make_hooks(s, url):
    return [
        s.make("a", url=url, events=["transfer", "erc20_transfer", "new_block"], filters={"address": BOB})["id"],
        s.make("b", url=url, event_type="address_activity", config={"addresses": [BOB, CAROL]})["id"],
        s.make("c", name="c", url=url, event_types=["TOKEN_TRANSFER", "NEW_BLOCK"])["id"],
    ]


def judge(s, records, hooks, first, token):
    """Waits for what is still to come; all of it must be right then. Gives a line about it."""
    last = int(s.rpc("eth_blockNumber"), 16)
    wants = walk(s.rpc, first, last, token)
    for hook, want in zip(hooks, wants):
        s.until(lambda: len(records.events(hook)) >= len(want),  # noqa: B023 - used at once
                f"{hook}: an event was lost", 120)
    for hook, want, key_of in zip(hooks, wants, (keys_a, keys_b, keys_c)):
        check_hook(records.events(hook), want, key_of)
    same(records.wrong, None)
    match(s.run("audit", f"--chain=lux={s.node.url}/ext/bc/C/rpc"), " 0 differences\n")
    return f"{last - first + 1} blocks, {sum(map(len, wants))} events, {records.requests} requests"


def kill_and_start(s, rng, node_too, data_dir, env):
    """One death of the service, at times together with the node, or again while it starts."""
    time.sleep(rng.uniform(0, 0.5))
    if node_too:
        s.node.kill()
        s.end(signal.SIGKILL)
        s.node = env.start(data_dir=data_dir, port=s.node.port)
        s.rpc = s.node.rpc()
    else:
        s.end(signal.SIGKILL)
    while rng.random() < 0.2:
        s.spawn()
        time.sleep(rng.uniform(0, 0.08))
        s.end(signal.SIGKILL)
    s.start()


def test_a_full_disk_is_said_and_waited_for(env):
    """A limit on the size of files stands in for a disk that is full, from under the service."""
    s = Stack(env.binary, env.webhooks)
    try:
        records = Records()
        sink = s.sink(records)
        s.settle()
        hook = s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [BOB, CAROL]})["id"]
        first = int(s.rpc("eth_blockNumber"), 16) + 1
        for n in range(10):
            s.send(value=n)
        s.settle()
        resource.prlimit(s.service.pid, resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        for n in range(50):
            s.send(value=n)
        s.until(lambda: s.get("/ready", None)[0] == 503, "nobody says that the disk is full")
        match(s.get("/ready", None)[1]["problem"], "database: ")
        for n in range(50):
            s.send(value=n)
        same(s.ask("PATCH", f"/v1/webhooks/{hook}", "b", {"status": "paused"})[0], 503)
        resource.prlimit(s.service.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        s.until(lambda: s.get("/ready", None)[0] == 200, "the disk has room, and that is not noticed")
        s.settle()
        want = [(tx["hash"], None, BOB, int(tx["value"], 16)) for n in range(first, first + 110)
                for tx in s.rpc("eth_getBlockByNumber", hex(n), True)["transactions"]]
        s.until(lambda: len(records.events(hook)) >= len(want), "an event was lost", 90)
        check_hook(records.events(hook), want, keys_b)
        same(records.wrong, None)
        lines = "".join(s.lines)
        match(lines, "the database takes nothing.*database: ")
        match(lines, "the database works again")
        assert lines.count("blocks not written") < 10, "one trouble is told over and over"
    finally:
        s.close()


def test_kills_lose_nothing(env):
    seed = int(os.environ.get("CANDELA_SEED", "20261122"))
    kills = int(os.environ.get("CANDELA_KILLS", "1000" if env.full else KILLS))
    rng = random.Random(seed)
    data_dir = env.dir()
    s = Stack(env.binary, env.webhooks, node=env.start(data_dir=data_dir))
    try:
        token = s.rpc("eth_getTransactionReceipt",
                      s.rpc("eth_sendTransaction", {"from": ALICE, "data": token_code()}))["contractAddress"]
        s.settle()
        records = Records()
        sink = s.sink(records)
        sink.got.put = lambda _: None  # records has it
        hooks = make_hooks(s, sink.url)
        first = int(s.rpc("eth_blockNumber"), 16) + 1
        load = Load(s, token)
        load.start()
        try:
            for n in range(kills):
                kill_and_start(s, rng, n % 20 == 6, data_dir, env)
                assert load.error is None, load.error
                assert records.wrong is None, records.wrong
                if n % 100 == 99:
                    print(f"{n + 1} kills, {records.requests} requests", flush=True)
        finally:
            load.stop.set()
            load.join()
        s.rpc = s.node.rpc()  # the one of before was idle for too long, perhaps
        s.settle()
        print(f"{kills} kills, {judge(s, records, hooks, first, token)}, seed {seed}", flush=True)
    finally:
        s.close()
