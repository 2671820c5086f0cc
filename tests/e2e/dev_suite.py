"""The methods of a development network: what Hardhat's node was recorded to do, snapshots, clock, edits, impersonation, a
restart in the middle of it all. [spec:dev-rpc]"""
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import clients
import dev_transcripts
from harness import ACCOUNTS, Node, Rpc, RpcError, match, same

AA = "0x" + "aa".rjust(40, "0")
WEI = 10 ** 18

# Where a decision of ours differs from Hardhat [spec:dev-rpc#1] [spec:dev-rpc#2]; places of exchanges.
DIFFERENT = {
    "protocol-errors": {5: "a number may be decimal text", 6: "or a JSON number", 14: "block numbers have no leading zeros"},
    "accounts": {11: "setNonce does not ask for an empty pool", 12: "the same"},
    "automine": {36: "an interval may be hexadecimal"},
    "time": {22: "a timestamp may be its parent's"},
    "call-defaults": {2: "calls without from come from the zero address", 3: "the same", 4: "block fields", 5: "block fields",
                      8: "blocks may be overridden"},
    "headers": {15: "block fields", 24: "block fields"},
    "reverts": {60: "traceCall knows tracers"},
    "tx-errors": {4: "a nonce gap queues", 20: "a value needs a balance", 22: "the same"},
    "filters": {9: "a block filter begins behind the head", 19: "an unknown filter is an error"},
    "console-log": {8: "all tracers are known"},
}
# Options that Hardhat refuses would make blocks that the rest of the recording does not have.
NOT_ASKED = {"mining": {8, 9}}
# Where nothing is sent when its gas cannot be estimated, heights differ from theirs.
NO_HEIGHTS = {"reverts"}
SCENARIOS = ["identity", "protocol-errors", "snapshot-revert", "snapshot-extras", "mining", "time", "automine", "headers",
             "accounts", "impersonation", "reverts", "tx-errors", "console-log", "reset", "blocks", "call-defaults", "filters"]


class Fresh:
    """A node of its own."""

    def __init__(self, env, *flags, data_dir=None):
        self.node = Node(env.binary, *flags, data_dir=data_dir)

    def __enter__(self):
        self.node.wait_ready()
        return self.node

    def __exit__(self, *_):
        self.node.end()


def refused(rpc, pattern, *call, code=-32000):
    try:
        got = rpc(*call)
    except RpcError as e:
        same(e.code, code, str(e))
        match(e.message, pattern)
        return
    raise AssertionError(f"{call[0]}: no error but {str(got)[:200]}")


def pay(rpc, sender=ACCOUNTS[0], to=AA, value=1, **more):
    return rpc("eth_sendTransaction", {"from": sender, "to": to, "value": hex(value), "gas": "0x5208", **more})


def balance(rpc, addr=AA, at="latest"):
    return int(rpc("eth_getBalance", addr, at), 16)


def head(rpc):
    return rpc("eth_getBlockByNumber", "latest", False)


def height(rpc):
    return int(rpc("eth_blockNumber"), 16)


def test_transcripts(env):
    wrong = {}
    for name in SCENARIOS:
        with Fresh(env) as node:
            rpc = node.rpc()
            found = dev_transcripts.Replay(rpc, name not in NO_HEIGHTS).run(name, NOT_ASKED.get(name, ()))
            for place in DIFFERENT.get(name, {}):
                found.pop(place, None)
            wrong.update({(name, place): what for place, what in found.items()})
    assert not wrong, "\n".join(f"{k}: {str(v)[:500]}" for k, v in wrong.items())


def test_console_lines(env):
    with Fresh(env) as node:
        dev_transcripts.Replay(node.rpc()).run("console-log")
        # Once for the call, once for the transaction, once direct; an estimate that works prints nothing.
        want = ["value is 42", "plain", "value is 42", "plain", "direct"]
        wait_until(lambda: len(told(node)) >= len(want))
        same(told(node), want)
        rpc = node.rpc()
        same(rpc("hardhat_setLoggingEnabled", False), True)
        rpc("eth_call", {"to": "0x000000000000000000636F6e736F6c652e6c6f67", "data": "0x41304fac" + "20".rjust(64, "0") +
                         "1".rjust(64, "0") + "61".ljust(64, "0")})
        rpc("hardhat_setLoggingEnabled", True)
        same(told(node), want)


def told(node):
    return [line.split('"text":"')[1][:-2] for line in list(node.lines) if '"msg":"console.log"' in line]


def wait_until(done, limit_s=10):
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_estimates_that_fail_say_why(env):
    """As calls do: on the console, of eth_estimateGas and of a sending that names no gas; of those that succeed nothing."""
    with Fresh(env) as node:
        rpc = node.rpc()
        rpc("hardhat_setCode", AA, "0x6308c379a05f5260205f60045260205ffd")  # too short for a reason
        for call in (("eth_estimateGas", {"from": ACCOUNTS[0], "to": AA}),
                     ("eth_sendTransaction", {"from": ACCOUNTS[0], "to": AA})):
            before = sum("call failed" in line for line in node.lines)
            try:
                rpc(*call)
            except RpcError as e:
                same(e.code, 3, call)
            else:
                raise AssertionError(f"{call[0]}: no error")
            wait_until(lambda n=before: sum("call failed" in line for line in list(node.lines)) == n + 1)
        rpc("eth_estimateGas", {"from": ACCOUNTS[0], "to": ACCOUNTS[1]})
        refused(rpc, "gas required exceeds", "eth_estimateGas", {"from": ACCOUNTS[0], "to": AA, "gas": "0x5209"})
        wait_until(lambda: sum("call failed" in line for line in list(node.lines)) == 3)


def test_raw_forms(env):
    """Bytes of headers, blocks, receipts and transactions, as go-ethereum's development mode has them."""
    with Fresh(env) as node:
        rpc = node.rpc()
        h = rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "value": "0x1"})
        block = rpc("eth_getBlockByNumber", "latest", False)
        same(rpc("web3_sha3", rpc("debug_getRawHeader", "latest")), block["hash"])
        assert rpc("debug_getRawTransaction", h)[2:] in rpc("debug_getRawBlock", block["number"])
        same(len(rpc("debug_getRawReceipts", block["hash"])), 1)


def test_fixtures_cost_the_same_every_time(env):
    """loadFixture of Hardhat's helpers, many times over."""
    with Fresh(env) as node:
        rpc = node.rpc()
        pay(rpc)
        took = []
        for _ in range(200):
            start = time.monotonic()
            snapshot = rpc("evm_snapshot")
            for value in range(5):
                pay(rpc, value=value + 1)
            same((height(rpc), balance(rpc)), (6, 16))
            same(rpc("evm_revert", snapshot), True)
            took.append(time.monotonic() - start)
        same((height(rpc), balance(rpc)), (1, 1))
        early, late = sorted(took[:50])[25], sorted(took[-50:])[25]
        assert late < 3 * early + 0.005, f"{early} s at first, {late} s at last"


def test_snapshot_brings_the_pool_back(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        rpc("evm_setAutomine", False)
        first, gap = pay(rpc), pay(rpc, nonce="0x5")
        pool = rpc("txpool_content")
        snapshot = rpc("evm_snapshot")
        rpc("evm_mine")
        late = pay(rpc)
        assert rpc("eth_getTransactionReceipt", first) is not None
        same(rpc("evm_revert", snapshot), True)
        same(rpc("txpool_content"), pool)
        same([rpc("eth_getTransactionReceipt", h) for h in (first, gap, late)], [None] * 3)
        assert rpc("eth_getTransactionByHash", late) is None
        rpc("evm_mine")
        same(rpc("eth_getTransactionReceipt", first)["status"], "0x1")
        same(rpc("evm_revert", snapshot), False)


def test_time(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        pay(rpc)
        now = int(head(rpc)["timestamp"], 16)
        # time.increase(0) of the helpers: the same timestamp again.
        same(rpc("evm_setNextBlockTimestamp", hex(now)), str(now))
        same(rpc("hardhat_mine"), True)
        same(int(head(rpc)["timestamp"], 16), now)
        rpc("evm_setNextBlockTimestamp", now + 1000)
        rpc("hardhat_setNextBlockBaseFeePerGas", "0x77359400")
        rpc("hardhat_setPrevRandao", "0x" + "7".rjust(64, "0"))
        for _ in range(10):
            pending = rpc("eth_getBlockByNumber", "pending", False)
            rpc("eth_call", {"to": AA}, "pending")
        same(int(pending["timestamp"], 16), now + 1000)
        same(pending["baseFeePerGas"], "0x77359400")
        pay(rpc)
        b = head(rpc)
        same((int(b["timestamp"], 16), b["baseFeePerGas"], int(b["mixHash"], 16)), (now + 1000, "0x77359400", 7))
        pay(rpc)
        b = head(rpc)
        assert now + 1000 < int(b["timestamp"], 16) < now + 1010, b
        same(int(b["mixHash"], 16), 0)
        refused(rpc, f"^Timestamp {now} is lower than the previous block's timestamp", "evm_setNextBlockTimestamp", now)
        same(rpc("anvil_setBlockTimestampInterval", 7), None)
        start = int(head(rpc)["timestamp"], 16)
        rpc("evm_mine", {"blocks": 3})
        rpc("hardhat_mine", 2, 100)
        same(int(head(rpc)["timestamp"], 16), start + 3 * 7 + 7 + 100)
        same(rpc("anvil_removeBlockTimestampInterval"), True)
        same(rpc("anvil_removeBlockTimestampInterval"), False)


def test_pending_block(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        empty = rpc("eth_getBlockByNumber", "pending", True)
        same((empty["number"], empty["hash"], empty["nonce"], empty["transactions"]), ("0x1", None, None, []))
        rpc("evm_setAutomine", False)
        first, second, gap = pay(rpc, value=3), pay(rpc, value=4), pay(rpc, nonce="0x9")
        rpc("hardhat_setCoinbase", ACCOUNTS[4])
        rpc("evm_setBlockGasLimit", 1_000_000)
        b = rpc("eth_getBlockByNumber", "pending", True)
        same([t["hash"] for t in b["transactions"]], [first, second])
        same((b["parentHash"], b["miner"], b["gasLimit"], b["gasUsed"]),
             (head(rpc)["hash"], ACCOUNTS[4], hex(1_000_000), hex(42000)))
        same([t["blockHash"] for t in b["transactions"]], [None, None])
        same((balance(rpc, at="pending"), balance(rpc)), (7, 0))
        same(rpc("eth_getTransactionCount", ACCOUNTS[0], "pending"), "0x2")
        same(rpc("eth_getBlockTransactionCountByNumber", "pending"), "0x2")
        rpc("evm_mine")
        mined = head(rpc)
        for key in ("stateRoot", "transactionsRoot", "receiptsRoot", "gasUsed", "logsBloom"):
            same(mined[key], b[key], key)
        same(rpc("eth_getTransactionByHash", gap)["blockHash"], None)


def test_blocks_by_the_clock(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        rpc("evm_setAutomine", False)
        rpc("evm_setIntervalMining", [30, 50])
        h = pay(rpc)
        wait_until(lambda: height(rpc) >= 3)
        same(rpc("eth_getTransactionReceipt", h)["status"], "0x1")
        rpc("evm_setIntervalMining", 0)
        at = height(rpc)
        time.sleep(0.15)
        same(height(rpc), at)
        same(rpc("anvil_setIntervalMining", 5), None)
        same(rpc("anvil_getIntervalMining"), 5)


def test_names_decide_the_result_only(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        for name, result in [("hardhat_setBalance", True), ("anvil_setBalance", None), ("evm_setAccountBalance", True),
                             ("tenderly_setBalance", None)]:
            same(rpc(name, AA, len(name)), result)
            same(balance(rpc), len(name))
        same(rpc("anvil_addBalance", AA, "0x" + "f" * 64), None)
        same(balance(rpc), 2 ** 256 - 1)
        for n in (5, "5", "0x5", "0x0005"):
            rpc("anvil_setNonce", AA, n)
            same(rpc("eth_getTransactionCount", AA, "latest"), "0x5")
        for n in (-1, 1.5, "0x", "", "0x10000000000000000", None, [], True):
            refused(rpc, "", "anvil_setNonce", AA, n, code=-32602)
        refused(rpc, "^too many arguments, want at most 0$", "evm_snapshot", 1, code=-32602)
        refused(rpc, "^missing value for required argument 1$", "hardhat_setBalance", AA, code=-32602)
        refused(rpc, "does not exist/is not available", "anvil_deal", AA, 1, code=-32601)
        refused(rpc, "does not exist/is not available", "evm_setMinGasPrice", 1, code=-32601)
        refused(rpc, "^anvil_setMinGasPrice is not supported when EIP-1559 is active$", "anvil_setMinGasPrice", 1)
        refused(rpc, "^forking is not supported$", "hardhat_reset", {"forking": {"jsonRpcUrl": "http://x"}})
        refused(rpc, "^forking is not supported$", "anvil_reset", {"jsonRpcUrl": "http://x"})
        same(rpc("anvil_reset", {"forking": {"blockNumber": None}}), None)
        refused(rpc, "Rollback depth must not exceed current chain height: current height 0, depth 1", "anvil_rollback",
                code=-32602)


def test_sending_words(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        refused(rpc, "unknown account", "eth_sendTransaction", {"from": AA, "to": AA})
        refused(rpc, "contract creation without any data", "eth_sendTransaction", {"from": ACCOUNTS[0]})
        price = {"maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x1"}
        refused(rpc, "max fee per gas less than block base fee|underpriced", "eth_sendTransaction",
                {"from": ACCOUNTS[0], "to": AA, "gas": "0x5208", **price})
        same(rpc("txpool_status"), {"pending": "0x0", "queued": "0x0"})
        pay(rpc)
        refused(rpc, "nonce too low: next nonce 1, tx nonce 0", "eth_sendTransaction",
                {"from": ACCOUNTS[0], "to": AA, "gas": "0x5208", "nonce": "0x0"})
        refused(rpc, "insufficient funds for gas \\* price \\+ value", "eth_sendTransaction",
                {"from": ACCOUNTS[0], "to": AA, "gas": "0x5208", "value": hex(10 ** 30)})
        refused(rpc, "exceeds block gas limit", "eth_sendTransaction",
                {"from": ACCOUNTS[0], "to": AA, "gas": hex(31_000_000)})
        refused(rpc, "intrinsic gas too low", "eth_sendTransaction", {"from": ACCOUNTS[0], "to": AA, "gas": "0x5000"})
        # One that cannot pay the next block waits where nobody builds blocks at once.
        rpc("evm_setAutomine", False)
        rpc("hardhat_setNextBlockBaseFeePerGas", hex(5 * 10 ** 9))
        cheap = {"maxFeePerGas": hex(2 * 10 ** 9), "maxPriorityFeePerGas": "0x1"}
        h = pay(rpc, **cheap)
        rpc("evm_mine")
        assert rpc("eth_getTransactionReceipt", h) is None
        rpc("evm_setAutomine", True)
        rpc("hardhat_setNextBlockBaseFeePerGas", hex(5 * 10 ** 9))
        refused(rpc, "^max fee per gas less than block base fee: address 0x7099", "eth_sendTransaction",
                {"from": ACCOUNTS[1], "to": AA, "gas": "0x5208", **cheap})




def token():
    """balanceOf(who) reads the slot that is the word who; enough of a token for dealERC20."""
    # PUSH1 4 CALLDATALOAD SLOAD PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
    return "0x600435545f5260205ff3"


def test_tokens(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        rpc("hardhat_setCode", AA, token())
        same(rpc("anvil_dealERC20", ACCOUNTS[1], AA, 1234), None)
        data = "0x70a08231" + ACCOUNTS[1][2:].rjust(64, "0")
        same(int(rpc("eth_call", {"to": AA, "data": data}), 16), 1234)
        refused(rpc, "^Unable to set ERC20 balance, no slot found$", "anvil_dealERC20", AA, ACCOUNTS[2], 1, code=-32603)


ECRECOVER = "0x" + "1".rjust(40, "0")


def recovered(rpc, sig, at="latest"):
    data = "0x" + "11" * 32 + sig[130:132].rjust(64, "0") + sig[2:130]
    got = rpc("eth_call", {"to": ECRECOVER, "data": data}, at)
    return None if got == "0x" else "0x" + got[26:]


def test_signatures_may_be_declared(env):
    nonsense = "0x" + "ab" * 64 + "1b"
    # The call data to ecrecover; what it gives goes into slot 0.
    probe = "0x" + "365f5f37602060806080365f60015afa506080515f5500"
    with tempfile.TemporaryDirectory() as data:
        with Fresh(env, data_dir=data) as node:
            rpc = node.rpc()
            real = rpc("eth_sign", ACCOUNTS[0], "0x11")
            other = recovered(rpc, real)
            before = recovered(rpc, nonsense)
            snapshot = rpc("evm_snapshot")
            same(rpc("anvil_impersonateSignature", nonsense[:-2] + "00", AA), None)
            same(rpc("hardhat_impersonateSignature", real, ACCOUNTS[4]), True)
            same((recovered(rpc, nonsense), recovered(rpc, real)), (AA, ACCOUNTS[4]))
            assert recovered(rpc, nonsense[:-2] + "1c") != AA
            rpc("evm_revert", snapshot)
            same((recovered(rpc, nonsense), recovered(rpc, real)), (before, other))
            rpc("anvil_impersonateSignature", nonsense, AA)
            rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ECRECOVER, "gas": "0x7530"})  # a touch leaves it there
            rpc("hardhat_setCode", ACCOUNTS[4][:-2] + "ff", probe)
            h = rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[4][:-2] + "ff", "gas": "0x30d40",
                                            "data": "0x" + "11" * 32 + "1b".rjust(64, "0") + "ab" * 64})
            same(int(rpc("eth_getStorageAt", ACCOUNTS[4][:-2] + "ff", "0x0", "latest"), 16), int(AA, 16))
            shown = views(rpc, h)
            for bad in ("0x", "0x" + "00" * 64, "0x" + "00" * 64 + "02"):
                refused(rpc, "a signature is 65 bytes", "anvil_impersonateSignature", bad, AA, code=-32602)
            node.end(signal.SIGKILL)
        with Fresh(env, data_dir=data) as node:
            rpc = node.rpc()
            same(views(rpc, h), shown)
            same(recovered(rpc, nonsense), AA)


def test_mined_blocks_in_detail(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        rpc("hardhat_setCode", AA, token())
        rpc("hardhat_setStorageAt", AA, "0x5", "0x" + "2a".rjust(64, "0"))
        rpc("evm_setAutomine", False)
        at = int(head(rpc)["timestamp"], 16) + 100
        asked = "0x70a08231" + "5".rjust(64, "0")
        hashes = [pay(rpc, value=0, gas="0xc350", data=asked),
                  rpc("eth_sendTransaction", {"from": ACCOUNTS[1], "data": "0x5f5ffd", "gas": "0x186a0"}),
                  rpc("eth_sendTransaction", {"from": ACCOUNTS[2], "data": "0xfe", "gas": "0x186a0"})]
        blocks = rpc("evm_mine_detailed", {"timestamp": at, "blocks": 2})
        same([int(b["number"], 16) for b in blocks], [1, 2])
        same(int(blocks[0]["timestamp"], 16), at)
        same(sorted(t["hash"] for t in blocks[0]["transactions"]), sorted(hashes))
        by_hash = {t["hash"]: t for t in blocks[0]["transactions"]}
        ends = [(by_hash[h]["output"], by_hash[h]["revertReason"]) for h in hashes]
        same(ends, [("0x" + "2a".rjust(64, "0"), None), ("0x", None), ("0x", "invalid opcode")])
        for b in blocks:
            plain = rpc("eth_getBlockByNumber", b["number"], True)
            for t in b["transactions"]:
                del t["output"], t["revertReason"]
            same(b, plain)
        # Error("no")
        words = ("08c379a0" + "20".rjust(64, "0") + "2".rjust(64, "0") + b"no".hex().ljust(64, "0"))
        code = "0x6064600a5f3960645ffd" + words
        rpc("hardhat_setCode", AA, code)
        pay(rpc, value=0, gas="0xc350")
        same(rpc("anvil_mine_detailed")[0]["transactions"][0]["revertReason"], "no")
        same(rpc("hardhat_mine_detailed", {"blocks": 0}), [])
        refused(rpc, "^invalid argument 0: at most 256 blocks at once, not 257$", "evm_mine_detailed", {"blocks": 257},
                code=-32602)
        refused(rpc, "^invalid argument 0: at most 10000000 blocks at once, not 4294967296$", "hardhat_mine", "0x100000000",
                code=-32602)
        refused(rpc, "at most 10000000 blocks", "evm_mine", {"blocks": 10 ** 8}, code=-32602)
        refused(rpc, "timestamp would be beyond 63 bits", "hardhat_mine", 1000, 2 ** 60)
        same(height(rpc), 3)


def test_kill_keeps_edits_and_clock(env):
    slot = "0x" + "5".rjust(64, "0")
    with tempfile.TemporaryDirectory() as data:
        with Fresh(env, data_dir=data) as node:
            rpc = node.rpc()
            pay(rpc)
            rpc("evm_increaseTime", 5000)
            rpc("hardhat_setCoinbase", AA)
            rpc("hardhat_setStorageAt", AA, "0x5", "0x" + "2a".rjust(64, "0"))
            rpc("hardhat_setBalance", AA, hex(WEI))
            node.end(signal.SIGKILL)
        with Fresh(env, data_dir=data) as node:
            rpc = node.rpc()
            same(int(rpc("eth_getStorageAt", AA, slot, "latest"), 16), 42)
            same((balance(rpc), rpc("eth_coinbase")), (WEI, AA))
            before = int(head(rpc)["timestamp"], 16)
            pay(rpc)
            b = head(rpc)
            assert int(b["timestamp"], 16) >= before + 4000, "the clock fell back"
            same(b["miner"], AA)
            same(int(rpc("eth_getStorageAt", AA, slot, "latest"), 16), 42)
            node.end(signal.SIGKILL)
        with Fresh(env, data_dir=data) as node:
            rpc = node.rpc()  # opening recomputes the root of block and edits
            same(height(rpc), 2)
            same(int(rpc("eth_getStorageAt", AA, slot, "0x1"), 16), 42)


def test_impersonation_outlives_a_restart(env):
    with tempfile.TemporaryDirectory() as data:
        with Fresh(env, data_dir=data) as node:
            rpc = node.rpc()
            rpc("hardhat_setCode", AA, token())
            rpc("hardhat_setBalance", AA, hex(WEI))
            rpc("anvil_impersonateAccount", AA)
            listed = rpc("eth_accounts")
            same((len(listed), AA in listed), (10, False))  # [spec:decisions#D52]
            h = pay(rpc, sender=AA, to=ACCOUNTS[3], value=7)
            shown = views(rpc, h)
            same((shown[0]["from"], shown[0]["r"], shown[0]["v"]), (AA, "0xaa", "0x0"))
            rpc("hardhat_stopImpersonatingAccount", AA)
            refused(rpc, "unknown account", "eth_sendTransaction", {"from": AA, "to": AA})
            refused(rpc, "unknown account", "personal_sign", "0x00", AA)
            same(len(rpc("eth_sendUnsignedTransaction", {"from": AA, "to": AA, "gas": "0x7530"})), 66)
            rpc("anvil_autoImpersonateAccount", True)
            pay(rpc, sender=AA, to=ACCOUNTS[3])
        with Fresh(env, data_dir=data) as node:
            rpc = node.rpc()
            same(views(rpc, h), shown)
            refused(rpc, "unknown account", "eth_sendTransaction", {"from": AA, "to": AA})


def views(rpc, h):
    return [rpc("eth_getTransactionByHash", h), rpc("eth_getTransactionReceipt", h),
            rpc("debug_traceTransaction", h, {"tracer": "callTracer"})]


def test_revert_is_seen_on_every_connection(env):
    with Fresh(env) as node:
        one, two = node.rpc(), node.rpc()
        for _ in range(50):
            snapshot = two("evm_snapshot")
            h = pay(one)
            assert two("eth_getTransactionReceipt", h) is not None
            same(two("evm_revert", snapshot), True)
            same(one("eth_getTransactionReceipt", h), None)
            same(height(one), 0)


def test_dump_and_load(env):
    with Fresh(env) as node:
        rpc = node.rpc()
        rpc("hardhat_setCode", AA, token())
        rpc("hardhat_setStorageAt", AA, "0x5", "0x" + "2a".rjust(64, "0"))
        pay(rpc, value=77, gas="0x7530")
        rpc("anvil_setTime", 2_000_000_000)
        rpc("evm_mine")
        dump = rpc("anvil_dumpState")
    assert dump.startswith("0x1f8b")
    with Fresh(env, "--dev-genesis-time=1600000000") as node:
        rpc = node.rpc()
        same(rpc("anvil_loadState", dump), True)
        same((height(rpc), balance(rpc), rpc("eth_getCode", AA, "latest")), (0, 77, token()))
        same(int(rpc("eth_getStorageAt", AA, "0x5", "latest"), 16), 42)
        pay(rpc, gas="0x7530")
        assert int(head(rpc)["timestamp"], 16) >= 2_000_000_000
        same(balance(rpc), 78)
        bare = '{"accounts":{"' + AA + '":{"balance":"0x9"}}}'
        same(rpc("hardhat_loadState", "0x" + bare.encode().hex()), True)
        same((balance(rpc), rpc("eth_getCode", AA, "latest")), (9, "0x"))
        for bad in ("0x", "0x1f8b08", "0x" + b"{}".hex(), "0x" + b'{"accounts":{"0x12":{}}}'.hex()):
            refused(rpc, "^Failed to decode state dump", "anvil_loadState", bad, code=-32602)
        same(balance(rpc), 9)


def written(rpc):
    """Some of everything that a block can hold here; gives a transaction nobody signed."""
    rpc("hardhat_setBalance", AA, hex(WEI))
    rpc("hardhat_setCode", AA, token())
    rpc("hardhat_setStorageAt", AA, "0x5", "0x" + "2a".rjust(64, "0"))
    pay(rpc, gas="0xc350", data="0x70a08231" + "5".rjust(64, "0"))
    rpc("hardhat_setStorageAt", AA, "0x5", "0x" + "0".rjust(64, "0"))
    rpc("hardhat_setStorageAt", AA, "0x6", "0x" + "1".rjust(64, "0"))
    rpc("anvil_impersonateAccount", AA)
    h = pay(rpc, sender=AA, to=ACCOUNTS[3])
    rpc("hardhat_mine", 5000, 12)
    rpc("hardhat_setNextBlockBaseFeePerGas", 7_000_000_000)
    rpc("evm_mine")
    rpc("evm_setBlockGasLimit", 20_000_000)
    rpc("hardhat_setCoinbase", AA)
    rpc("hardhat_mine", 1000)
    rpc("hardhat_setPrevRandao", "0x" + "77" * 32)
    rpc("evm_mine")
    rpc("hardhat_setNonce", ACCOUNTS[4], 9)
    return h


def whole(rpc, h):
    """What a chain that written() made shows of itself."""
    shown = [rpc("eth_getBlockByNumber", hex(n), True) for n in (0, 1, 2, 3, 1000, 5002, 5003, 5500, 6004)]
    slots = [rpc("eth_getStorageAt", AA, "0x5", at) for at in ("0x0", "0x1", "latest")]
    return shown + slots + views(rpc, h) + [height(rpc), rpc("eth_coinbase"), rpc("eth_getTransactionCount", ACCOUNTS[4])]


def test_large_dumps_come_back(env):
    """A dump of 33 MB, which is what this node gave, is loaded by a call; a stranger's page may not send as much."""
    with Fresh(env) as node:
        rpc = node.rpc()
        codes = {f"0x{i + 0x1000:040x}": "0x60" + os.urandom(24000).hex() for i in range(680)}
        rpc.batch([("anvil_setCode", [a, c]) for a, c in codes.items()])
        dump = rpc("anvil_dumpState")
        assert len(dump) > 32_900_000, len(dump)
    with Fresh(env) as node:
        rpc = node.rpc()
        same(rpc("anvil_loadState", dump), True)
        for a, c in codes.items():
            same(rpc("eth_getCode", a, "latest"), c)
            break
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "anvil_loadState", "params": [dump]}).encode()
        request = urllib.request.Request(node.url, body, {"Content-Type": "application/json",
                                                          "Origin": "https://page.example"})
        try:
            urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            same(e.code, 413)
        except (urllib.error.URLError, ConnectionError):
            pass  # the answer came before all was sent
        else:
            raise AssertionError("a stranger's dump was taken")


def test_dump_with_the_chain(env):
    fixed = "--dev-genesis-time=1700000000"
    with Fresh(env, fixed) as node:
        rpc = node.rpc()
        h = written(rpc)
        want = whole(rpc, h)
        dump = rpc("anvil_dumpState")
    assert len(dump) < 40_000, "runs of empty blocks are written out"
    with Fresh(env, fixed) as node:
        rpc = node.rpc()
        same(rpc("anvil_loadState", dump), True)
        same(whole(rpc, h), want)
        doc = json.loads(gzip.decompress(bytes.fromhex(dump[2:])))
        again = json.loads(gzip.decompress(bytes.fromhex(rpc("hardhat_dumpState")[2:])))
        same(again["accounts"], doc["accounts"])
        for member in ("edits", "next", "head", "genesis"):  # runs may be cut into other pieces
            same(again["candela"][member], doc["candela"][member], member)
        same([e["after"] for e in doc["candela"]["edits"]], [0, 1, 6004])
        rpc("evm_mine")
        same(int(head(rpc)["gasLimit"], 16), 20_000_000)
        rpc("anvil_reset")
        same(rpc("anvil_loadState", dump), True)
        same(whole(rpc, h), want)
        # What does not hold together leaves nothing behind.
        rpc("anvil_reset")
        for member, value in [("head", "0x" + "00" * 32), ("edits", doc["candela"]["edits"][1:]), ("records", []),
                              ("blocks", doc["candela"]["blocks"][1:]), ("version", "x")]:
            bad = {**doc, "candela": {**doc["candela"], member: value}}
            refused(rpc, "^Failed to decode state dump", "anvil_loadState", "0x" + json.dumps(bad).encode().hex(), code=-32602)
            same((height(rpc), balance(rpc)), (0, 0), member)
    with Fresh(env) as node:
        rpc = node.rpc()  # another genesis: the accounts alone
        same(rpc("anvil_loadState", dump), True)
        same((height(rpc), rpc("eth_getTransactionCount", ACCOUNTS[4]), rpc("eth_getCode", AA)), (0, "0x9", token()))


def test_state_files(env):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "state.json"
        with Fresh(env, f"--state={file}", "--state-interval=1") as node:
            rpc = node.rpc()
            h = written(rpc)
            want = whole(rpc, h)
            wait_until(file.exists)
            node.end(signal.SIGTERM)
        same(json.loads(file.read_text())["best_block_number"], 6004)
        with Fresh(env, f"--load-state={file}", data_dir=folder) as node:  # the genesis comes along
            rpc = node.rpc()
            same(whole(rpc, h), want)
            pay(rpc)
        with Fresh(env, f"--load-state={file}", data_dir=folder) as node:  # does not fall back to the file
            rpc = node.rpc()
            same((height(rpc), rpc("eth_getTransactionReceipt", h)["status"]), (6005, "0x1"))
        with Fresh(env, f"--load-state={file}", "--dev-genesis-time=1600000000") as node:
            rpc = node.rpc()
            same((height(rpc), rpc("eth_getTransactionCount", ACCOUNTS[4])), (0, "0x9"))
        foreign = pathlib.Path(folder) / "foreign.json"
        foreign.write_text('{"accounts":{"' + AA + '":{"nonce":1,"balance":"0x9","code":"0x","storage":{}}},"blocks":[{}]}')
        with Fresh(env, f"--load-state={foreign}") as node:
            same(balance(node.rpc()), 9)
        foreign.write_text('{"accounts":{"0x12":{}}}')
        for flags, words in [([f"--load-state={foreign}"], f"error: {foreign}: Failed to decode state dump: "),
                             ([f"--load-state={folder}/none"], "none"),
                             ([f"--state={file}", f"--dump-state={file}"], "--state is --load-state and --dump-state in one"),
                             (["--state-interval=5"], "--state-interval needs a file"),
                             ([f"--abi={folder}/none"], "none"), ([f"--abi={foreign}"], "no ABI in there")]:
            code, out, err = env.run("--network-id=dev", "--in-memory", "--http-port=0", *flags)
            same(code, 1, out + err)
            match(err, re.escape(words))


def test_lines_of_the_documents(env):
    """What docs/dev-network.md says where the chain differs from Ethereum, as it stands there."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "dev-network.md").read_text()
    part = text[text.index("## Where it differs from Ethereum"):text.index("## What it does not do")]
    blocks = re.findall(r"```(\w*)\n(.*?)```", part, re.S)
    python, = (body for kind, body in blocks if kind == "python")
    genesis, = (body for kind, body in blocks if kind == "json")
    lines = [body.strip() for kind, body in blocks if kind == ""]
    same(len(lines), 2)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "genesis.json").write_text(genesis)
        for line in lines:
            flags = [f.replace("genesis.json", f"{folder}/genesis.json") for f in line.split()
                     if f not in ("candela", "--network-id=dev", "--in-memory")]
            with Fresh(env, *flags) as node:
                rpc = Rpc("127.0.0.1", node.port)
                same(rpc("eth_chainId"), "0x1092" if "genesis" in line else "0x539")
                h = rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "value": "0x1"})
                same(rpc("eth_getTransactionReceipt", h)["status"], "0x1")
                if "node.example" in line:
                    ask = urllib.request.Request(f"http://127.0.0.1:{node.port}/v1/health", headers={"Host": "node.example"})
                    with urllib.request.urlopen(ask) as r:
                        same(r.status, 200)
    with Fresh(env) as node:
        rpc = node.rpc()
        rpc("evm_mine")
        assert len(rpc("eth_getBlockByNumber", "latest", False)["extraData"]) > 2 + 2 * 32
        clients.install_python()
        p = subprocess.run([sys.executable, "-c", python.replace("127.0.0.1:8545", f"127.0.0.1:{node.port}")],
                           capture_output=True, text=True, timeout=120,
                           env={**os.environ, "PYTHONPATH": str(clients.PYTHON), "PYTHONDONTWRITEBYTECODE": "1"})
        same((p.returncode, p.stdout), (0, "1\n"), p.stderr[-500:])


def test_names_of_errors(env):
    """Custom errors in words, from artifacts as Hardhat and Foundry leave them, and bare ABIs."""
    def error(name):
        return [{"type": "error", "name": name, "inputs": [{"name": "need", "type": "uint256"}, {"name": "who", "type": "address"}]}]

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, doc in [("hh/contracts/A.sol/A.json", {"_format": "hh-sol-artifact-1", "contractName": "A", "abi": error("A")}),
                          ("hh/contracts/A.sol/A.dbg.json", {"buildInfo": "x"}), ("hh/build-info/1.json", {"abi": error("No")}),
                          ("out/B.sol/B.json", {"abi": error("B"), "bytecode": {"object": "0x"}}), ("C.json", error("C"))]:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(json.dumps(doc))
        (root / "out/notes.json").write_text("not JSON")
        with Fresh(env, f"--abi={root}/hh,{root}/out", f"--abi={root}/C.json", "--dev-throw-on-revert") as node:
            rpc = node.rpc()
            for name in "ABC":
                data = rpc("web3_sha3", "0x" + f"{name}(uint256,address)".encode().hex())[:10] + f"{1234:064x}" + AA[2:].rjust(64, "0")
                code = "0x6044600a5f3960445ffd" + data[2:]
                rpc("hardhat_setCode", AA, code)
                for method, *more in (("eth_call", "latest"), ("eth_sendTransaction",)):
                    try:
                        rpc(method, {"from": ACCOUNTS[0], "to": AA, "gas": "0x30d40"}, *more)
                    except RpcError as e:
                        same((e.code, e.message, e.data), (3, "execution reverted", data))
                    else:
                        raise AssertionError("no error")
                told_of = f"reverted: {name}(1,234, 0x0000…00AA)"
                wait_until(lambda words=told_of: any(words in line for line in list(node.lines)))
                sent = rpc("eth_getBlockByNumber", "latest", False)["transactions"][0]
                with urllib.request.urlopen(f"http://127.0.0.1:{node.port}/explorer/tx/{sent}") as r:
                    assert f"{name}: need 1234, who 0x" in r.read().decode(), "the page does not know the error"
            same((height(rpc), rpc("eth_getBlockTransactionCountByNumber", "latest")), (3, "0x1"))
            tx = rpc("eth_getBlockByNumber", "latest", False)["transactions"][0]
            wait_until(lambda: any(tx in line for line in list(node.lines)))
            same(rpc("eth_getTransactionReceipt", tx)["status"], "0x0")
            assert any("notes.json" in line for line in node.lines), "a file was passed over in silence"


def validators_of(node, cnt):
    """How each validator of the process is asked: by its own port, by the first one's routes."""
    def ports():
        return [int(m[1]) for line in list(node.lines)
                if (m := re.search(r'another validator.*"rpc":"http://[^:]+:(\d+)"', line))]

    wait_until(lambda: len(ports()) == cnt - 1)
    return ([node.rpc()] + [Rpc(node.host, port) for port in ports()],
            [node.rpc("/v1/bc/C/rpc")] + [node.rpc(f"/v1/bc/C-{i}/rpc") for i in range(2, cnt + 1)])


def all_hold_the_same(rpcs, height_is):
    heads = [head(rpc) for rpc in rpcs]
    for other in heads[1:]:
        same(other, heads[0])
    same(int(heads[0]["number"], 16), height_is)
    same(len({balance(rpc) for rpc in rpcs}), 1)


def test_validators(env):
    """Five validators in one process: whatever is done through one of them holds for all, at once."""
    with Fresh(env, "--validators=5") as node:
        rpcs, routes = validators_of(node, 5)
        h = pay(rpcs[0], value=5)
        for rpc in rpcs + routes:
            same(rpc("eth_getTransactionReceipt", h)["status"], "0x1")
        all_hold_the_same(rpcs + routes, 1)
        h = pay(rpcs[4], sender=ACCOUNTS[1])
        same(rpcs[2]("eth_getTransactionByHash", h)["blockNumber"], "0x2")
        snapshot = rpcs[1]("evm_snapshot")
        rpcs[2]("hardhat_setBalance", AA, "0x123456")
        all_hold_the_same(rpcs, 2)
        same(balance(rpcs[3]), 0x123456)
        rpcs[3]("evm_mine")
        rpcs[0]("hardhat_mine", "0x64", "0x3c")
        all_hold_the_same(rpcs, 103)
        rpcs[1]("evm_increaseTime", 86400)
        rpcs[0]("evm_mine")
        assert int(head(rpcs[4])["timestamp"], 16) > time.time() + 86000
        # What no rule gives, and an account without a key.
        rpcs[4]("hardhat_setNextBlockBaseFeePerGas", "0x9999999999")
        rpcs[4]("hardhat_setPrevRandao", "0x" + "22" * 32)
        rpcs[4]("evm_setBlockGasLimit", "0x5000000")
        rpcs[4]("hardhat_setCoinbase", "0x" + "33" * 20)
        rpcs[0]("evm_mine")
        all_hold_the_same(rpcs, 105)
        same((head(rpcs[1])["mixHash"], head(rpcs[1])["gasLimit"]), ("0x" + "22" * 32, "0x5000000"))
        rpcs[0]("hardhat_impersonateAccount", AA)
        rpcs[0]("hardhat_setBalance", AA, hex(WEI))
        h = pay(rpcs[3], sender=AA, to=ACCOUNTS[0])
        same(rpcs[1]("eth_getTransactionReceipt", h)["from"], AA)
        all_hold_the_same(rpcs, 106)
        rpcs[2]("hardhat_setCode", AA, "0x602a60005260206000f3")
        same([int(rpc("eth_call", {"to": AA}, "latest"), 16) for rpc in rpcs], [42] * 5)
        same(rpcs[2]("evm_revert", snapshot), True)
        all_hold_the_same(rpcs, 2)
        rpcs[3]("hardhat_rollback", "0x1")
        all_hold_the_same(rpcs + routes, 1)
        rpcs[0]("evm_setAutomine", False)
        waiting = [pay(rpcs[i % 5], sender=a) for i, a in enumerate(rpcs[0]("eth_accounts")[:8])]
        same(rpcs[0]("eth_getBlockTransactionCountByNumber", "pending"), "0x8")
        rpcs[4]("evm_mine")
        same({rpcs[i % 5]("eth_getTransactionReceipt", h)["blockNumber"] for i, h in enumerate(waiting)}, {"0x2"})
        rpcs[1]("evm_setIntervalMining", [5, 10])
        wait_until(lambda: height(rpcs[4]) >= 6)
        rpcs[1]("evm_setIntervalMining", 0)
        all_hold_the_same(rpcs, height(rpcs[0]))
        refused(rpcs[0], "nonce", "hardhat_setNonce", ACCOUNTS[0], "0x0")
        dump = rpcs[1]("hardhat_dumpState")
        rpcs[0]("hardhat_reset")
        all_hold_the_same(rpcs, 0)
        rpcs[2]("hardhat_loadState", dump)
        same(len({balance(rpc) for rpc in rpcs}), 1)
        same(len({head(rpc)["stateRoot"] for rpc in rpcs}), 1)
        for path in ("/v1/bc/C-1/rpc", "/v1/bc/C-6/rpc", "/v1/bc/C-02x/rpc", "/v1/bc/C-/rpc", "/v1/bc/P-2"):
            ask = urllib.request.Request(f"{node.url}{path}", data=b"{}")
            try:
                urllib.request.urlopen(ask)
            except urllib.error.HTTPError as e:
                same(e.code, 404, path)
            else:
                raise AssertionError(f"{path} is served")


def test_validators_of_kept_data(env):
    """The others begin as copies of what the first one has kept, after a kill too, and alone it goes on as well."""
    with tempfile.TemporaryDirectory() as folder:
        for flags, sig in ((("--validators=3",), signal.SIGKILL), (("--validators=5",), signal.SIGTERM), ((), signal.SIGTERM)):
            node = Node(env.binary, *flags, data_dir=folder).wait_ready()
            rpcs = validators_of(node, int(flags[0][-1]))[0] if flags else [node.rpc()]
            had = height(rpcs[0])
            all_hold_the_same(rpcs, had)
            pay(rpcs[-1], value=7)
            rpcs[-1]("hardhat_addBalance", AA, "0x5")
            all_hold_the_same(rpcs, had + 1)
            node.end(sig)
        node = Node(env.binary, data_dir=folder).wait_ready()
        same((height(node.rpc()), balance(node.rpc())), (3, 36))
        node.end()
    p = subprocess.run([env.binary, "--network-id=local", "--validators=2", "--in-memory"], capture_output=True, text=True,
                       timeout=60, check=False)
    same(p.returncode, 1)
    match(p.stdout + p.stderr, "--validators is for the dev network")
