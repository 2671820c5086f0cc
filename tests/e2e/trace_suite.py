"""The debug_trace methods on a running node: results that agree with receipts and state, overrides, and the words of errors.
[spec:eth-rpc#6]"""
from feed_suite import Ws
from harness import ACCOUNTS, RpcError, same

# Contracts of evm-chain/rpc-transcript-l1-*.jsonl: one stores and logs its input, one reverts with "nope".
LOGGER = "365f5f375f355f553363deadbeef365fa260205ff3"
NOPE = ("6064600a5f3960645ffd08c379a0" + "20".rjust(64, "0") + "4".rjust(64, "0") + "6e6f7065".ljust(64, "0"))
ELEVENS = "11" * 32
TRACERS = ["callTracer", "flatCallTracer", "prestateTracer", "4byteTracer", "noopTracer", "muxTracer"]


def init_code(runtime):
    """Deploys a runtime: PUSH1 n, DUP1, PUSH1 9, PUSH0, CODECOPY, PUSH0, RETURN."""
    return f"0x60{len(runtime) // 2:02x}8060095f395ff3" + runtime


def send(rpc, **tx):
    tx = {"from": ACCOUNTS[0], "gas": "0x30d40", **tx}
    return rpc("eth_getTransactionReceipt", rpc("eth_sendTransaction", tx))


def deploy(rpc, runtime):
    r = send(rpc, data=init_code(runtime))
    same(r["status"], "0x1")
    same(rpc("eth_getCode", r["contractAddress"], "latest"), "0x" + runtime)
    return r["contractAddress"]


def proxy_of(target):
    return "365f5f375f5f60205f5f73" + target[2:] + "5af15f5260205ff3"


def fails(rpc, message, *call, code=-32000):
    try:
        result = rpc(*call)
    except RpcError as e:
        same((e.code, str(e)), (code, f"{code}: {message}"))
        return
    raise AssertionError(f"{call[0]}: no error but {str(result)[:200]}")


def test_traces_agree_with_receipts(env):
    rpc = env.node.rpc()
    logger = deploy(rpc, LOGGER)
    proxy = deploy(rpc, proxy_of(logger))
    r = send(rpc, to=proxy, data="0x" + ELEVENS, value="0x0")
    tx = r["transactionHash"]
    nested = rpc("debug_traceTransaction", tx, {"tracer": "callTracer", "tracerConfig": {"withLog": True}})
    same((nested["gasUsed"], nested["gas"], nested["type"]), (r["gasUsed"], "0x30d40", "CALL"))
    inner, = nested["calls"]
    same((inner["from"], inner["to"], inner["input"]), (proxy, logger, "0x" + ELEVENS))
    same([(e["address"], e["topics"], e["data"]) for e in inner["logs"]],
         [(e["address"], e["topics"], e["data"]) for e in r["logs"]])
    flat = rpc("debug_traceTransaction", tx, {"tracer": "flatCallTracer"})
    same([f["traceAddress"] for f in flat], [[], [0]])
    same({f["transactionHash"] for f in flat}, {tx})
    same({f["blockHash"] for f in flat}, {r["blockHash"]})
    steps = rpc("debug_traceTransaction", tx)
    same((steps["gas"], steps["failed"], len(steps["structLogs"])), (int(r["gasUsed"], 16), False, 33))
    same(rpc("debug_traceTransaction", tx, {"tracer": "4byteTracer"}), {"0x11111111-28": 2})
    diff = rpc("debug_traceTransaction", tx, {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}})
    same(diff["post"][logger]["storage"], {"0x" + "00" * 32: "0x" + ELEVENS})
    same(diff["post"][ACCOUNTS[0]]["balance"], rpc("eth_getBalance", ACCOUNTS[0], "latest"))
    both = rpc("debug_traceTransaction", tx, {"tracer": "muxTracer", "tracerConfig": {
        "callTracer": {"withLog": True}, "flatCallTracer": {}}})
    same(both, {"callTracer": nested, "flatCallTracer": flat})


def test_blocks(env):
    rpc = env.node.rpc()
    r = send(rpc, to=ACCOUNTS[1], value="0x5")
    want = [{"txHash": r["transactionHash"],
             "result": rpc("debug_traceTransaction", r["transactionHash"], {"tracer": "callTracer"})}]
    same(want[0]["result"]["value"], "0x5")
    same(rpc("debug_traceBlockByNumber", r["blockNumber"], {"tracer": "callTracer"}), want)
    same(rpc("debug_traceBlockByHash", r["blockHash"], {"tracer": "callTracer"}), want)
    for tracer in TRACERS:
        same(len(rpc("debug_traceBlockByNumber", "latest", {"tracer": tracer})), 1)


def test_reverts_and_calls(env):
    rpc = env.node.rpc()
    nope = deploy(rpc, NOPE)
    call = {"from": ACCOUNTS[0], "to": nope}
    t = rpc("debug_traceCall", call, "latest", {"tracer": "callTracer"})
    same((t["error"], t["revertReason"], t["gas"]), ("execution reverted", "nope", "0x2faf080"))
    t = rpc("debug_traceCall", call)
    same((t["failed"], t["returnValue"][:8], [s["op"] for s in t["structLogs"]]),
         (True, "08c379a0", ["PUSH1", "PUSH1", "PUSH0", "CODECOPY", "PUSH1", "PUSH0", "REVERT"]))


def test_overrides(env):
    rpc = env.node.rpc()
    somewhere = "0x00000000000000000000000000000000000c0de5"

    def run(code, config=None, **call):
        overrides = {somewhere: {"code": "0x" + code, "balance": "0x7"}}
        config = {"tracer": "callTracer", "stateOverrides": overrides, **(config or {})}
        return rpc("debug_traceCall", {"to": somewhere, **call}, "latest", config)

    word = "5f5260205ff3"  # PUSH0 MSTORE, PUSH1 32, PUSH0, RETURN
    same(int(run("47" + word)["output"], 16), 7)  # SELFBALANCE
    same(int(run("48" + word)["output"], 16), 0)  # BASEFEE: who pays nothing sees none
    same(int(run("43" + word, {"blockOverrides": {"number": "0x1234"}})["output"], 16), 0x1234)
    same(int(run("42" + word, {"blockOverrides": {"time": "0xffffffff"}})["output"], 16), 0xffffffff)
    slot = "0x" + "1".rjust(64, "0")
    diff = {somewhere: {"code": "0x600154" + word, "stateDiff": {slot: "0x" + ELEVENS}}}
    t = rpc("debug_traceCall", {"to": somewhere}, "latest", {"tracer": "callTracer", "stateOverrides": diff})
    same(t["output"], "0x" + ELEVENS)
    fails(rpc, "account 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 has both 'state' and 'stateDiff'",
          "debug_traceCall", {"to": somewhere}, "latest",
          {"stateOverrides": {ACCOUNTS[0]: {"state": {}, "stateDiff": {}}}})
    # Nothing of it remains.
    same(rpc("eth_getCode", somewhere, "latest"), "0x")


def test_state_before_a_transaction(env):
    rpc = env.node.rpc()
    logger = deploy(rpc, LOGGER)
    r = send(rpc, to=logger, data="0x" + ELEVENS)
    config = {"tracer": "prestateTracer"}
    probe = {"from": ACCOUNTS[0], "to": logger, "data": "0x" + "22" * 32}
    storage = lambda t: t[logger]["storage"]["0x" + "00" * 32]  # noqa: E731
    same(storage(rpc("debug_traceCall", probe, r["blockNumber"], config)), "0x" + ELEVENS)
    same(storage(rpc("debug_traceCall", probe, r["blockNumber"], {**config, "txIndex": "0x0"})), "0x" + "00" * 32)
    before = hex(int(r["blockNumber"], 16) - 1)
    same(storage(rpc("debug_traceCall", probe, before, config)), "0x" + "00" * 32)
    fails(rpc, f"transaction index 9 out of range for block {r['blockHash']}",
          "debug_traceCall", probe, r["blockNumber"], {**config, "txIndex": "0x9"})


def test_chain(env):
    node = env.node
    rpc = node.rpc()
    start = rpc("eth_blockNumber")
    blocks = [send(rpc, to=ACCOUNTS[1], value=hex(i))["blockNumber"] for i in range(5)]
    ws = Ws(node)
    sub = ws("debug_subscribe", "traceChain", start, blocks[-1], {"tracer": "callTracer"})
    for number in blocks:
        note = ws.note()
        same(note["subscription"], sub)
        same(note["result"], {
            "block": number, "hash": rpc("eth_getBlockByNumber", number, False)["hash"],
            "traces": rpc("debug_traceBlockByNumber", number, {"tracer": "callTracer"})})
    same(ws("debug_unsubscribe", sub), True)
    ws.close()


def test_roots_between_transactions(env):
    rpc = env.node.rpc()
    r = send(rpc, to=ACCOUNTS[1], value="0x5")
    same(rpc("debug_intermediateRoots", r["blockHash"]), [rpc("eth_getBlockByHash", r["blockHash"], False)["stateRoot"]])


def test_errors(env):
    rpc = env.node.rpc()
    nobody = "0x" + "01".ljust(64, "0")
    tx = send(rpc, to=ACCOUNTS[1], value="0x1")["transactionHash"]
    fails(rpc, "transaction not found", "debug_traceTransaction", nobody)
    fails(rpc, "genesis is not traceable", "debug_traceBlockByNumber", "0x0")
    fails(rpc, f"block {nobody} not found", "debug_traceBlockByHash", nobody)
    fails(rpc, f"bad block {nobody} not found", "debug_traceBadBlock", nobody)
    fails(rpc, "cannot query unfinalized data", "debug_traceBlockByNumber", "0xffffff")
    fails(rpc, "ReferenceError: nosuchTracer is not defined at <eval>:1:2(0)",
          "debug_traceTransaction", tx, {"tracer": "nosuchTracer"})
    fails(rpc, "execution timeout", "debug_traceTransaction", tx, {"timeout": "1ns"})
    fails(rpc, 'time: invalid duration "soon"', "debug_traceTransaction", tx, {"timeout": "soon"})
    fails(rpc, "cannot use diffMode with includeEmpty", "debug_traceTransaction", tx,
          {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True, "includeEmpty": True}})
    fails(rpc, "tracing failed: insufficient funds for gas * price + value", "debug_traceCall",
          {"from": "0x" + "77" * 20, "to": ACCOUNTS[0], "value": "0x1"}, "latest", {"tracer": "callTracer"})
    fails(rpc, "missing value for required argument 0", "debug_traceTransaction", code=-32602)
    try:
        rpc("debug_traceBlock", "0xc0")
        raise AssertionError("an empty list is no block")
    except RpcError as e:
        assert str(e).startswith("-32000: could not decode block: "), e
