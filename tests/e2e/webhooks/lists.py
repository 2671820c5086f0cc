"""Lists of addresses that change while blocks come: each block is told by one of a webhook's lists, once, and from the block
that the answer names by the new one."""
import collections
import json
import random
import threading
import time

from harness import ACCOUNTS, same
from stack import ALICE
from world import World

HOOKS, CHANGES, CHANGES_FULL = 5, 40, 1000


class Load:
    """Transfers to anybody, block after block, until it ends."""

    def __init__(self, rpc, rnd):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(rpc, rnd))

    def run(self, rpc, rnd):
        while not self.stop.is_set():
            rpc("eth_sendTransaction", {"from": ALICE, "to": rnd.choice(ACCOUNTS[1:]), "value": "0x1"})
            time.sleep(0.003)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def change(w, rnd, hook, lists):
    """Another list; notes (the head when it was asked for, the block from which it holds, the list)."""
    add, remove = ([a for a in ACCOUNTS[1:] if rnd.random() < 0.3] for _ in range(2))
    remove = [a for a in remove if a not in add]
    height = w.height
    status, answer = w.stack.ask("POST", f"/v1/webhooks/{hook.id}/addresses", "b", {"add": add, "remove": remove})
    new = (lists[-1][2] | set(add)) - set(remove)
    if new:
        same(status, 200, answer)
        lists.append((height, answer["effective_from_block"], new))
    else:
        same(status, 400, "nothing left to watch")


def test_lists_that_change_under_load(env):
    w = World(env)
    rnd = random.Random(11)
    try:
        hooks = [w.hook("b", ["address_activity"], {"addresses": [ACCOUNTS[1]]}) for _ in range(HOOKS)]
        lists = {h: [(h.begin, h.begin, {ACCOUNTS[1]})] for h in hooks}
        with Load(w.stack.node.rpc(), random.Random(12)):
            for _ in range(CHANGES_FULL if env.full else CHANGES):
                time.sleep(rnd.uniform(0, 0.05))
                hook = rnd.choice(hooks)
                change(w, rnd, hook, lists[hook])
        w.stack.settle()
        time.sleep(1)
        w.collect({})
        last = w.height
        for h in hooks:
            check_blocks(w, h, lists[h], last)
        said = w.stack.run("audit", f"--chain=lux={w.stack.node.url}/ext/bc/C/rpc")
        assert " 0 differences\n" in said, said
    finally:
        w.stack.close()


def check_blocks(w, hook, lists, last):
    deliveries = w.got.get(hook.id, [])
    same(sorted(int(head["x-svc-sequence"]) for head, _ in deliveries), list(range(1, len(deliveries) + 1)), "sequence")
    told = collections.defaultdict(list)
    for _, body in deliveries:
        data = json.loads(body)["data"]
        told[data["block_number"]].append(data["tx_hash"])
    for number in range(hook.begin, last + 1):
        txs = w.chain.block(number)["transactions"]
        surely = max(i for i, (_, begin, _) in enumerate(lists) if begin <= number)
        may = [i for i, (asked, _, _) in enumerate(lists) if i == surely or (i > surely and asked <= number)]
        wants = [[tx["hash"] for tx in txs if tx["to"] in lists[i][2]] for i in may]
        assert told[number] in wants, f"block {number}: {told[number]}, wanted is one of {wants}"
