"""Two EVM chains in one node: routes, pools, health, metrics, pages and stores of their own. [spec:node-api#3]"""
import http.client
import json
import pathlib
import time

from harness import ACCOUNTS, RpcError, match, same


def get(node, path):
    conn = http.client.HTTPConnection(node.host, node.port, timeout=30)
    conn.request("GET", path)
    r = conn.getresponse()
    text = r.read().decode()
    conn.close()
    return r.status, text


def genesis_of(env, chain_id):
    """A genesis file like the development network's, with another chain id."""
    data = env.dir()
    node = env.start(data_dir=data)
    node.kill()
    doc = json.loads((pathlib.Path(data) / "dev" / "genesis-C.json").read_text())
    doc["config"]["chainId"] = chain_id
    path = pathlib.Path(env.dir()) / "genesis.json"
    path.write_text(json.dumps(doc))
    return path


def pay(rpc, value):
    return rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "value": hex(value)})


def test_each_has_its_own(env):
    node = env.start(f"--chain=B={genesis_of(env, 4242)}")
    c, b = node.rpc("/v1/bc/C/rpc"), node.rpc("/ext/bc/B/rpc")
    same((c("eth_chainId"), b("eth_chainId"), node.rpc("/")("eth_chainId")), ("0x539", "0x1092", "0x539"))
    first = pay(c, 1)
    for n in (2, 3):
        pay(b, n)
    same((c("eth_blockNumber"), b("eth_blockNumber")), ("0x1", "0x2"))
    same(b("eth_getTransactionByHash", first), None)
    # What waits in one pool is not in the other.
    b("evm_setAutomine", False)
    pay(b, 4)
    same((c("txpool_status")["pending"], b("txpool_status")["pending"]), ("0x0", "0x1"))
    same((c("eth_blockNumber"), b("eth_blockNumber")), ("0x1", "0x2"))
    status, health = get(node, "/v1/health")
    same(status, 200)
    checks = json.loads(health)["checks"]
    heights = [checks[n]["message"]["engine"]["consensus"]["lastAcceptedHeight"] for n in ("C", "B")]
    same([int(h) for h in heights], [1, 2])
    metrics = get(node, "/v1/metrics")[1]
    match(metrics, r'snowman_last_accepted_height\{chain="C"\} 1\b')
    match(metrics, r'snowman_last_accepted_height\{chain="B"\} 2\b')


def test_pages_of_each(env):
    node = env.start(f"--chain=B={genesis_of(env, 4242)}")
    pay(node.rpc("/v1/bc/B/rpc"), 5)
    for root, name, head in (("/explorer", "C", 0), ("/explorer/B", "B", 1)):
        status, page = get(node, root)
        same(status, 200)
        match(page, f'href="{root}/block/{name}/{head}"')
        same(get(node, f"{root}/block/{name}/{head}")[0], 200)
        same(get(node, f"{root}/block/{name}/{head + 1}")[0], 404)


def test_both_survive_a_kill(env):
    data, file = env.dir(), genesis_of(env, 4242)
    node = env.start(f"--chain=B={file}", data_dir=data)
    for n in range(3):
        pay(node.rpc("/v1/bc/B/rpc"), n + 1)
    pay(node.rpc(), 1)
    heads = [node.rpc(f"/v1/bc/{n}/rpc")("eth_getBlockByNumber", "latest", False)["hash"] for n in "CB"]
    node.kill()
    node = env.start(f"--chain=B={file}", data_dir=data)
    same([node.rpc(f"/v1/bc/{n}/rpc")("eth_getBlockByNumber", "latest", False)["hash"] for n in "CB"], heads)
    node.kill()
    # Without it the other goes on, and it is still there when it comes back.
    node = env.start(data_dir=data)
    pay(node.rpc(), 2)
    same(get(node, "/v1/bc/B/rpc")[0], 404)
    node.end()
    node = env.start(f"--chain=B={file}", data_dir=data)
    same(node.rpc("/v1/bc/B/rpc")("eth_blockNumber"), "0x3")
    same(node.rpc("/v1/bc/C/rpc")("eth_blockNumber"), "0x2")


def test_what_is_refused(env):
    file = genesis_of(env, 4242)
    for flag, words in ((f"--chain=C={file}", "C"), (f"--chain=B", "--chain=B"), ("--chain=B=/nowhere.json", "nowhere"),
                        (f"--chain=a/b={file}", "a/b")):
        code, out, err = env.run("--network-id=dev", "--in-memory", "--http-port=0", flag)
        assert code != 0, f"{flag} was taken"
        match(out + err, words)
    node = env.start(f"--chain=B={file}")
    same(get(node, "/v1/bc/X/rpc")[0], 404)
    try:
        node.rpc("/v1/bc/B/rpc")("no_such")
        raise AssertionError("no_such was answered")
    except RpcError as e:
        same(e.code, -32601)


def admin(node, method, **params):
    reply = node.rpc("/v1/admin").post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"admin.{method}",
                                                   "params": params}))
    if "error" in reply:
        raise RpcError(reply["error"])
    return reply["result"]


def chain_is(node, name, state, after=None):
    """Waits until a chain is in a state; after is called between two looks."""
    for _ in range(2000):
        now = admin(node, "getChainStates")["chains"][name]
        if now["state"] == state:
            return now
        if after is not None:
            after()
        time.sleep(0.01)
    raise AssertionError(f"{name} is {now}, not {state}")


def refusal(node, method, **params):
    try:
        admin(node, method, **params)
    except RpcError as e:
        return e.message
    raise AssertionError(f"{method} {params} was done")


def test_one_stopped_and_started_by_hand(env):
    node = env.start(f"--chain=B={genesis_of(env, 4242)}", "--api-admin-enabled")
    for n in (1, 2):
        pay(node.rpc("/v1/bc/B/rpc"), n)
    b_id = admin(node, "getChainStates")["chains"]["B"]["blockchainID"]
    # B is stopped by its id, and C serves all the while.
    same(admin(node, "stopChain", chain=b_id)["state"], "stopping")
    sent = [0]

    def keep_busy():
        pay(node.rpc("/v1/bc/C/rpc"), sent[0] + 1)
        sent[0] += 1

    keep_busy()
    chain_is(node, "B", "stopped", keep_busy)
    for path in ("/v1/bc/B/rpc", f"/ext/bc/{b_id}/rpc", "/explorer/B"):
        same((path, get(node, path)[0]), (path, 404))
    same("B" in json.loads(get(node, "/v1/health")[1])["checks"], False)
    keep_busy()
    match(refusal(node, "stopChain", chain="B"), "the chain B is stopped")
    # Started again it goes on where it was; the pages are back.
    same(admin(node, "startChain", chain="B")["state"], "starting")
    chain_is(node, "B", "running", keep_busy)
    match(refusal(node, "startChain", chain="B"), "the chain B is running")
    b = node.rpc("/v1/bc/B/rpc")
    same(b("eth_blockNumber"), "0x2")
    pay(b, 3)
    same(b("eth_blockNumber"), "0x3")
    same(get(node, "/explorer/B")[0], 200)
    same(int(node.rpc("/v1/bc/C/rpc")("eth_blockNumber"), 16), sent[0])
    # The chain that "/" speaks to is that again when it comes back.
    admin(node, "stopChain", chain="C")
    chain_is(node, "C", "stopped")
    same(get(node, "/")[0], 404)
    pay(node.rpc("/v1/bc/B/rpc"), 4)
    admin(node, "startChain", chain="C")
    chain_is(node, "C", "running")
    same(int(node.rpc("/")("eth_blockNumber"), 16), sent[0])
    match(refusal(node, "stopChain", chain="nope"), "there is no chain with alias/ID 'nope'")
    same(node.end(), 0)


def test_orders_are_for_those_who_may(env):
    # Off unless it is asked for; then not for pages of strangers.
    same(get(env.start(), "/v1/admin")[0], 404)
    node = env.start("--api-admin-enabled")
    conn = http.client.HTTPConnection(node.host, node.port, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "admin.stopChain", "params": {"chain": "C"}})
    conn.request("POST", "/v1/admin", body, {"Content-Type": "application/json", "Origin": "https://evil.example"})
    reply = json.loads(conn.getresponse().read())
    conn.close()
    assert "error" in reply, reply
    same(admin(node, "getChainStates")["chains"]["C"]["state"], "running")
