"""Subscriptions and filters against a running node: what is told, from where on, and that nothing is told twice or left out,
however often a client is killed and comes back [spec:eth-rpc#7] [spec:dev-rpc#2.8]."""
import json
import pathlib
import signal
import sys
import threading
import time

from harness import STOP_LIMIT_S, ACCOUNTS, RpcError, same, match

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "ws"))
import wire  # noqa: E402 - found through the path just set

# f(n, topic): emits n logs with the topics 0xfeed and topic, the data of the i-th is i.
EMITTER = "0x601f8060095f395ff3" + "5f5b5f35811015601d57805f5260203561feed60205fa26001016001565b00"
TOPIC = "0x" + "feed".rjust(64, "0")


class Ws:
    """A connection that keeps answers and notifications apart."""

    def __init__(self, node):
        self.client = wire.Client(node.port, "/", host=node.host)
        self.notes = []
        self.ids = 0

    def _take(self):
        op, text, _ = self.client.message()
        if op == wire.CLOSE:
            raise EOFError(text[2:].decode())
        return json.loads(text)

    def __call__(self, method, *params):
        self.ids += 1
        self.client.send(wire.frame(1, json.dumps({"jsonrpc": "2.0", "id": self.ids, "method": method,
                                                   "params": params}).encode()))
        while True:
            m = self._take()
            if m.get("id") == self.ids:
                if "error" in m:
                    raise RpcError(m["error"])
                return m["result"]
            self.notes.append(m["params"])

    def note(self):
        return self.notes.pop(0) if self.notes else self._take()["params"]

    def results(self, cnt):
        return [self.note()["result"] for _ in range(cnt)]

    def close(self):
        self.client.__exit__()


def deploy(rpc):
    tx = rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "data": EMITTER})
    return rpc("eth_getTransactionReceipt", tx)["contractAddress"]


def call_data(cnt, topic):
    return "0x" + f"{cnt:064x}{topic:064x}"


def emit(rpc, addr, cnt, topic=1, sender=0):
    return rpc("eth_sendTransaction", {"from": ACCOUNTS[sender], "to": addr, "data": call_data(cnt, topic)})


def key(log):
    return int(log["blockNumber"], 16), int(log["logIndex"], 16)


def refused(call, method, params, code, pattern):
    try:
        got = call(method, *params)
    except RpcError as e:
        same(e.code, code, method)
        match(e.message, pattern, method)
        return e
    raise AssertionError(f"{method}: no error but {got!r}")


def test_what_is_told(env):
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    ws = Ws(node)
    subs = {ws("eth_subscribe", *p): name for name, p in {
        "heads": ["newHeads"], "all": ["logs", {}], "one": ["logs", {"address": addr, "topics": [TOPIC, [None]]}],
        "none": ["logs", {"address": ACCOUNTS[0]}], "hash": ["newAcceptedTransactions"],
        "full": ["newAcceptedTransactions", True], "pending": ["newPendingTransactions"],
        "pendingFull": ["newPendingTransactions", True], "final": ["newFinalizedHeads"],
        "finalLogs": ["logs", {"finality": "final"}], "finalFull": ["newAcceptedTransactions", True, {"finality": "final"}],
        "acceptedHeads": ["newHeads", {"finality": "accepted"}]}.items()}
    tx = emit(rpc, addr, 3)
    got = {}
    for _ in range(17):
        n = ws.note()
        same(set(n), {"subscription", "result"})
        got.setdefault(subs[n["subscription"]], []).append(n["result"])
    logs = rpc("eth_getLogs", {"address": addr})
    block = rpc("eth_getBlockByNumber", "latest", False)
    same(len(logs), 3)
    same(got["all"], logs)
    same(got["one"], logs)
    same(got["hash"], [tx])
    same(got["pending"], [tx])
    same(got["full"], [rpc("eth_getTransactionByHash", tx)])
    same([(t["hash"], t["blockHash"]) for t in got["pendingFull"]], [(tx, None)])
    assert "none" not in got
    # Every accepted block of a development network is final.
    same((got["final"], got["acceptedHeads"]), (got["heads"], got["heads"]))
    same((got["finalLogs"], got["finalFull"]), (got["all"], got["full"]))
    head = got["heads"][0]
    same({k: block[k] for k in head}, head)
    assert "transactions" not in head and head["hash"] == block["hash"]
    heads = next(s for s, name in subs.items() if name == "heads")
    same(ws("eth_unsubscribe", heads), True)
    refused(ws, "eth_unsubscribe", [heads], -32000, "^subscription not found$")
    refused(ws, "eth_subscribe", ["syncing"], -32601, '^no "syncing" subscription in eth namespace$')
    refused(ws, "eth_subscribe", ["logs"], -32602, "^missing value for required argument 1$")
    refused(ws, "eth_subscribe", ["logs", {"topics": [None] * 5}], -32000, "^exceed max topics$")
    refused(ws, "eth_subscribe", ["newHeads", {"finality": "soon"}], -32602, 'finality is "accepted" or "final"$')
    refused(ws, "eth_subscribe", ["logs", {"finality": True}], -32602, 'finality is "accepted" or "final"$')
    refused(ws, "eth_subscribe", ["newFinalizedHeads", {"cursor": "0.99.0.0"}], -32000, "after last final block 2$")
    refused(ws, "eth_subscribe", ["newHeads", {"cursor": "0.1.2"}], -32602, "not a cursor$")
    refused(ws, "eth_subscribe", ["newHeads", {"fromBlock": "0x99"}], -32000,
            "^requested from block 153 after last accepted block 2$")
    refused(ws, "eth_subscribe", ["newHeads", {"cursor": "0.99.0.0"}], -32000, "after last accepted block 2$")
    ws.close()


def test_from_the_past(env):
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    for i in range(100):
        emit(rpc, addr, 1 + i % 3, i % 5)
    rpc("hardhat_mine", "0x5dc")
    emit(rpc, addr, 2, 1)
    head = int(rpc("eth_blockNumber"), 16)
    want = rpc("eth_getLogs", {"fromBlock": "0x0", "topics": [None, "0x" + "1".rjust(64, "0")]})
    ws = Ws(node)
    ws("eth_subscribe", "logs", {"fromBlock": "earliest", "topics": [None, "0x" + "1".rjust(64, "0")], "cursor": True})
    notes = [ws.note() for _ in want]
    same([n["result"] for n in notes], want)
    # Going on from each cursor gives exactly the rest, and what comes after.
    for i in range(0, len(notes), 7):
        other = Ws(node)
        other("eth_subscribe", "logs", {"cursor": notes[i]["cursor"], "topics": [None, "0x" + "1".rjust(64, "0")]})
        same(other.results(len(want) - i - 1), want[i + 1:])
        emit(rpc, addr, 1, 1)
        last = ws.note()["result"]
        want.append(last)
        notes.append({"result": last})
        same(other.results(1), [last])
        other.close()
        if i > 30:
            break
    heads = Ws(node)
    heads("eth_subscribe", "newHeads", {"fromBlock": "0x0"})
    same([int(h["number"], 16) for h in heads.results(head + 1)], list(range(head + 1)))
    txs = Ws(node)
    txs("eth_subscribe", "newAcceptedTransactions", False, {"fromBlock": "0x2"})
    same(txs.results(1), rpc("eth_getBlockByNumber", "0x2", False)["transactions"])
    for c in (ws, heads, txs):
        c.close()


def test_reverts(env):
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    ws = Ws(node)
    ws("eth_subscribe", "logs", {"address": addr, "cursor": True})
    log_filter = rpc("eth_newFilter", {"address": addr})
    block_filter = rpc("eth_newBlockFilter")
    snapshot = rpc("evm_snapshot")
    emit(rpc, addr, 1, 7)
    gone = ws.note()
    same(len(rpc("eth_getFilterChanges", log_filter)), 1)
    emit(rpc, addr, 2, 8)
    ws.results(2)
    rpc("evm_revert", snapshot)
    same(rpc("eth_getFilterChanges", log_filter), [])
    refused(ws, "eth_subscribe", ["logs", {"cursor": gone["cursor"]}], -32000,
            "^cursor is behind a revert, restart at height 2$")
    emit(rpc, addr, 1, 9)
    log = ws.note()["result"]
    same((int(log["blockNumber"], 16), int(log["topics"][1], 16), log["removed"]), (2, 9, False))
    same(rpc("eth_getFilterChanges", log_filter), [log])
    same(rpc("eth_getFilterChanges", block_filter), [log["blockHash"]])
    same(rpc("eth_getLogs", {"fromBlock": "0x0"}), [log])
    ws.close()


def test_filters(env):
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    ids = [rpc("eth_newFilter", {"address": addr, "topics": [TOPIC]}), rpc("eth_newBlockFilter"),
           rpc("eth_newPendingTransactionFilter")]
    for i in ids:
        match(i, "^0x[1-9a-f][0-9a-f]*$")
        same(rpc("eth_getFilterChanges", i), [])
    hashes = [emit(rpc, addr, 2, i) for i in range(3)]
    logs = rpc("eth_getLogs", {"fromBlock": "0x0", "address": addr})
    same(len(logs), 6)
    same(rpc("eth_getFilterChanges", ids[0]), logs)
    same(rpc("eth_getFilterChanges", ids[0]), [])
    same(rpc("eth_getFilterChanges", ids[1]),
         [rpc("eth_getBlockByNumber", hex(n), False)["hash"] for n in range(2, 5)])
    same(rpc("eth_getFilterChanges", ids[2]), hashes)
    same(rpc("eth_getFilterLogs", ids[0]), logs[4:])
    refused(rpc, "eth_getFilterLogs", [ids[1]], -32000, "^filter not found$")
    for i in ids:
        same(rpc("eth_uninstallFilter", i), True)
        same(rpc("eth_uninstallFilter", i), False)
        refused(rpc, "eth_getFilterChanges", [i], -32000, "^filter not found$")
    refused(rpc, "eth_getFilterChanges", ["0x"], -32000, "^filter not found$")
    refused(rpc, "eth_newFilter", [{"fromBlock": "0x5", "toBlock": "0x1"}], -32000, "^invalid block range params$")


def test_too_much(env):
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    for _ in range(6):
        rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": addr, "data": call_data(4000, 3), "gas": "0x989680"})
    e = refused(rpc, "eth_getLogs", [{"fromBlock": "0x1", "address": addr}], -32000,
                r"^query returned more than 20000 results\. Try with this block range \[0x1, 0x6\]\.$")
    same(e.data, {"from": "0x1", "to": "0x6", "limit": 20000})
    part = rpc("eth_getLogs", {"fromBlock": e.data["from"], "toBlock": e.data["to"], "address": addr})
    rest = rpc("eth_getLogs", {"fromBlock": "0x7", "address": addr})
    same((len(part), len(rest)), (20000, 4000))


def test_slow_client(env):
    """Somebody who does not read is sent away with the place to go on from."""
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    ws = Ws(node)
    ws("eth_subscribe", "logs", {"address": addr})
    for _ in range(24):
        rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": addr, "data": call_data(4000, 3), "gas": "0x989680"})
    seen = []
    try:
        while True:
            seen.append(key(ws.note()["result"]))
    except EOFError as why:
        match(str(why), r"^too slow, resume at 0\.\d+\.0\.\d+$")
        cursor = str(why).split()[-1]
    back = Ws(node)
    back("eth_subscribe", "logs", {"address": addr, "cursor": cursor})
    while len(seen) < 24 * 4000:
        seen.append(key(back.note()["result"]))
    want = [(2 + i // 4000, i % 4000) for i in range(24 * 4000)]
    same(seen, want)
    back.close()
    # What lies in the past waits for its client, however slow.
    late = Ws(node)
    late("eth_subscribe", "logs", {"address": addr, "fromBlock": "0x0"})
    emit(rpc, addr, 1)
    time.sleep(1)
    same([key(late.note()["result"]) for _ in range(len(want) + 1)], want + [(26, 0)])
    late.close()


def test_stop_with_subscribers(env):
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    for _ in range(5):
        emit(rpc, addr, 200)
    clients = [Ws(node) for _ in range(20)]
    for i, ws in enumerate(clients):
        ws("eth_subscribe", "logs", {"address": addr, "fromBlock": "0x0"} if i % 2 else {})
        ws("eth_subscribe", "newHeads")
        ws("eth_subscribe", "newPendingTransactions", i % 3 == 0)
    rpc("eth_newPendingTransactionFilter")
    emit(rpc, addr, 100)
    node.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    for ws in clients:
        ws.close()
    same(node.process.wait(STOP_LIMIT_S), 0)  # a second signal would end it at once
    assert not any("Sanitizer" in line for line in node.lines), node.lines[-20:]


def test_killed_subscriber(env):
    """During load a subscriber is killed and reconnects 200 times: it has every log exactly once."""
    node = env.start()
    rpc = node.rpc()
    addr = deploy(rpc)
    done = threading.Event()

    def load(sender):
        own = node.rpc()
        i = 0
        while not done.is_set():
            emit(own, addr, i % 7, i % 3, sender)
            i += 1

    threads = [threading.Thread(target=load, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    seen = []
    cursor = {"fromBlock": "0x0", "cursor": True}
    try:
        for i in range(200):
            ws = Ws(node)
            ws("eth_subscribe", "logs", {"address": addr, **cursor})
            for _ in range(1 + i * 7 % 40):
                n = ws.note()
                seen.append(n["result"])
                cursor = {"cursor": n["cursor"]}
            ws.close()  # in the middle of what is being sent
    finally:
        done.set()
        for t in threads:
            t.join()
    want = rpc("eth_getLogs", {"fromBlock": "0x0", "address": addr})
    ws = Ws(node)
    ws("eth_subscribe", "logs", {"address": addr, **cursor})
    while len(seen) < len(want):
        seen.append(ws.note()["result"])
    same([key(x) for x in seen], [key(x) for x in want])
    same(seen, want)
    ws.close()
