"""kill -9 at random moments while transactions stream in: what was acknowledged is in a block afterwards, and the
head's state fits the blocks. The same for orderly stops, which must be no different."""
import json
import os
import random
import signal
import threading
import time

from harness import ACCOUNTS, RpcError, same

SENDERS = 4
SINK = "0x00000000000000000000000000000000feed0001"

# Adds one to slot 0 and writes an empty log: 5f54600101 5f55 5f5fa0, behind code that returns these ten bytes.
COUNTER = "0x69" + "5f546001015f555f5fa0" + "5f52600a6016f3"


class Sender(threading.Thread):
    """Sends from one unlocked account until the node is gone; keeps the hashes it was given."""

    def __init__(self, node, who, counter, seed):
        super().__init__(daemon=True)
        self.rpc, self.who, self.counter = node.rpc(), who, counter
        self.rng = random.Random(seed)
        self.hashes = []
        self.error = None

    def run(self):
        try:
            while True:
                tx = {"from": self.who, "to": SINK, "value": "0x1", "gas": "0x5208"}
                if self.rng.random() < 0.5:
                    tx = {"from": self.who, "to": self.counter, "gas": "0x186a0"}
                self.hashes.append(self.rpc("eth_sendTransaction", tx))
        except RpcError as e:
            self.error = e  # an answer, and a wrong one
        except Exception:  # noqa: BLE001 - the connection broke, or 503: the node ends
            pass
        finally:
            self.rpc.close()


def number(text):
    return int(text, 16)


def check_chain(rpc, state, acknowledged):
    """Looks at everything since the last round; state keeps what is known of the chain so far."""
    head = number(rpc("eth_blockNumber"))
    assert head >= state["head"], f"the head went back from {state['head']} to {head}"
    blocks = rpc.batch([("eth_getBlockByNumber", [hex(n), True]) for n in range(state["head"] + 1, head + 1)])
    for b in blocks:
        same(b["parentHash"], state["hash"], f"parent of block {b['number']}")
        state["hash"] = b["hash"]
        for tx in b["transactions"]:
            state["mined"].add(tx["hash"])
            state["to_sink"] += tx["to"] == SINK
            state["to_counter"] += tx["to"] == state["counter"]
    state["head"] = head
    lost = [h for h in acknowledged if h not in state["mined"]]
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged transactions are in no block, e.g. {lost[0]}"
    receipts = rpc.batch([("eth_getTransactionReceipt", [h]) for h in acknowledged])
    assert all(r["status"] == "0x1" for r in receipts)
    same(number(rpc("eth_getBalance", SINK, "latest")), state["to_sink"], "balance of the sink")
    same(number(rpc("eth_getStorageAt", state["counter"], "0x0", "latest")), state["to_counter"], "counter")
    nonces = rpc.batch([("eth_getTransactionCount", [a, "latest"]) for a in ACCOUNTS[:SENDERS]])
    same(sum(map(number, nonces)), len(state["mined"]), "nonces of the senders")


def logs_of(rpc, address):
    """All of them, in as many parts as the node wants."""
    logs, start = [], 0
    while True:
        query = {"fromBlock": hex(start), "toBlock": "latest", "address": address}
        try:
            return logs + rpc("eth_getLogs", query)
        except RpcError as e:
            logs += rpc("eth_getLogs", dict(query, toBlock=e.data["to"]))
            start = number(e.data["to"]) + 1


def stream(env, sig, rounds):
    """Ends the node with sig while four accounts send, looks at what the next one finds, and again."""
    seed = int(os.environ.get("CANDELA_SEED", "0")) or random.randrange(1, 1 << 32)
    print(f"seed {seed} (CANDELA_SEED={seed} repeats the moments)", flush=True)
    rng = random.Random(seed)
    data = env.dir()
    node = env.start(data_dir=data)
    rpc = node.rpc()
    deploy = rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "data": COUNTER})
    counter = rpc("eth_getTransactionReceipt", deploy)["contractAddress"]
    state = {"head": 0, "hash": rpc("eth_getBlockByNumber", "0x0", False)["hash"], "mined": set(),
             "to_sink": 0, "to_counter": 0, "counter": counter}
    total, slowest = 0, 0.0
    for i in range(rounds):
        senders = [Sender(node, ACCOUNTS[j], counter, rng.random()) for j in range(SENDERS)]
        for s in senders:
            s.start()
        time.sleep(rng.uniform(0, 0.2))
        same(node.end(sig), -sig if sig == signal.SIGKILL else 0, "exit code")
        for s in senders:
            s.join()
            assert s.error is None, f"round {i}: {s.error}"
        if rng.random() < 0.2:  # and once more while it starts
            again = env.spawn(data_dir=data)
            time.sleep(rng.uniform(0, 0.1))
            again.kill()
        node = env.start(data_dir=data)
        slowest = max(slowest, node.ready_s)
        acknowledged = [h for s in senders for h in s.hashes]
        total += len(acknowledged)
        check_chain(node.rpc(), state, acknowledged)
    assert total > rounds, f"only {total} transactions in {rounds} rounds"
    logs = logs_of(node.rpc(), counter)
    same(len(logs), state["to_counter"], "logs of the counter")
    same(node.end(), 0, "exit code after SIGTERM")
    print(json.dumps({"rounds": rounds, "acknowledged": total, "blocks": state["head"],
                      "slowest_start_s": round(slowest, 2)}), flush=True)


def test_kill_9_while_transactions_stream_in(env):
    stream(env, signal.SIGKILL, 1000 if env.full else 100)


def test_kill_9_while_transactions_wait(env):
    """Without automine everything acknowledged is in the pool: it waits, or is in a block, in the next process."""
    rng = random.Random(int(os.environ.get("CANDELA_SEED", "0")) or None)
    data = env.dir()
    total, acknowledged = 0, []
    for i in range(500 if env.full else 20):
        node = env.start(data_dir=data)
        rpc = node.rpc()
        found = rpc.batch([("eth_getTransactionByHash", [h]) for h in acknowledged])
        lost = [h for h, tx in zip(acknowledged, found) if tx is None]
        assert not lost, f"round {i}: {len(lost)} of {len(acknowledged)} acknowledged transactions are gone"
        rpc("evm_mine")
        receipts = rpc.batch([("eth_getTransactionReceipt", [h]) for h in acknowledged])
        assert all(r is not None and r["status"] == "0x1" for r in receipts), f"round {i}: they are in no block"
        rpc("evm_setAutomine", False)
        senders = [Sender(node, ACCOUNTS[j], SINK, rng.random()) for j in range(SENDERS)]
        for s in senders:
            s.start()
        time.sleep(rng.uniform(0, 0.1))
        node.kill()
        for s in senders:
            s.join()
            assert s.error is None, f"round {i}: {s.error}"
        acknowledged = [h for s in senders for h in s.hashes]
        total += len(acknowledged)
    print(json.dumps({"acknowledged": total}), flush=True)
    assert total > 20, total


def test_sigterm_while_transactions_stream_in(env):
    stream(env, signal.SIGTERM, 100 if env.full else 10)
