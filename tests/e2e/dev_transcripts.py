"""Replays what Hardhat's node was recorded to answer (testdata dev-rpc) and says where ours differs in what binds: effects and
their sequence, signatures, revert data, logs. Hashes, snapshot ids and times are mapped from theirs to ours as they appear.
[spec:dev-rpc#6]"""
import json
import os
import pathlib

from harness import ROOT, Skip

# Hashes, base fees, gas limits and texts of errors are Hardhat's own; what is listed here is compared.
BLOCK_KEYS = ["number"]
HEIGHTS = {"number", "blockNumber"}
RECEIPT_KEYS = ["blockNumber", "status", "contractAddress", "to", "from", "type", "transactionIndex"]
TX_KEYS = ["blockNumber", "nonce", "to", "from", "value", "input", "type", "transactionIndex"]
LOG_KEYS = ["address", "topics", "data", "logIndex", "removed"]
HASHES = {"eth_sendTransaction", "eth_sendRawTransaction"}
SHAPE = {"eth_feeHistory", "eth_getProof", "hardhat_metadata", "web3_clientVersion", "eth_gasPrice", "eth_estimateGas",
         "eth_maxPriorityFeePerGas", "debug_traceTransaction", "debug_traceCall", "eth_newFilter", "eth_newBlockFilter",
         "eth_newPendingTransactionFilter", "evm_mine", "eth_syncing", "eth_coinbase"}
SLACK_S = 5


def load(name):
    root = pathlib.Path(os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata")) / "dev-rpc"
    if not root.is_dir():
        if os.environ.get("CI") == "true":
            raise AssertionError(f"{root} is missing")
        raise Skip(f"{root} is missing")
    return json.loads((root / f"{name}.json").read_text())["exchanges"]


class Replay:
    def __init__(self, rpc, heights=True):
        self.rpc = rpc
        self.heights = heights  # they are comparable
        self.names = {}  # theirs -> ours: hashes, filter ids
        self.ids = {}  # snapshots
        self.shift = None  # what our times are ahead of theirs
        self.offset = None  # the same of clock offsets

    def ours(self, method, v):
        """A parameter of theirs in our names."""
        if isinstance(v, list):
            return [self.ours(method, x) for x in v]
        if isinstance(v, dict):
            return {k: self.ours(method, x) for k, x in v.items()}
        if method == "evm_revert":
            return self.ids.get(v, v)
        if method in ("evm_setNextBlockTimestamp", "evm_mine") and isinstance(v, (str, int)):
            t = int(v, 0) if isinstance(v, str) else v
            if 1_700_000_000 < t < 1_900_000_000:
                return type(v)(t + self.shift) if not str(v).startswith("0x") else hex(t + self.shift)
        return self.names.get(v, v) if isinstance(v, str) else v

    def clock(self):
        if self.shift is None:
            now = int(self.rpc("eth_getBlockByNumber", "0x0", False)["timestamp"], 16)
            self.shift = now - GENESIS_TIME

    def objects(self, keys, want, got):
        return all(self.ours("", want[k]) == got.get(k) for k in keys
                   if k in want and (self.heights or k not in HEIGHTS))

    def agrees(self, method, want, got):
        if method in HASHES:
            self.names[want] = got
            return len(got) == 66
        if method == "evm_snapshot":
            self.ids[want] = got
            return int(got, 16) > 0
        if method == "evm_increaseTime":
            if self.offset is None:
                self.offset = int(want) - int(got)
            return abs(int(want) - int(got) - self.offset) <= SLACK_S
        if method == "evm_setNextBlockTimestamp":
            t = int(want)
            return int(got) == (t + self.shift if t < 1_900_000_000 else t)
        if method in ("eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"):
            self.names[want] = got
            return True
        if method in SHAPE:
            return type(want) is type(got)
        if method == "eth_accounts":
            return want[:10] == got[:10]
        if isinstance(want, dict) and isinstance(got, dict):
            if "parentHash" in want:
                self.names.setdefault(want["hash"], got["hash"])
                if want["number"] is None:  # pending: theirs is null, which no client likes
                    want = {**want, "number": got["number"]}
                return self.objects(BLOCK_KEYS, want, got) and len(want["transactions"]) == len(got["transactions"])
            if "cumulativeGasUsed" in want:
                return self.objects(RECEIPT_KEYS, want, got) and self.agrees("logs", want["logs"], got["logs"])
            return self.objects(TX_KEYS, want, got)
        if isinstance(want, list) and isinstance(got, list):
            if len(want) != len(got):
                return False
            return all(self.objects(LOG_KEYS, w, g) for w, g in zip(want, got) if isinstance(w, dict) and "topics" in w)
        return want == got

    def run(self, name, skip=()):
        """Gives {place: (method, note, theirs, ours)} of what differs; skip: places that are not even asked."""
        out = {}
        self.clock()
        for i, x in enumerate(load(name)):
            q, want = x["request"], x["response"]
            if isinstance(q, list) or "method" not in q or i in skip:
                continue
            method = q["method"]
            q = {**q, "params": self.ours(method, q.get("params"))} if "params" in q else q
            got = self.rpc.post(json.dumps({"jsonrpc": "2.0", "id": 1, **q}))
            if "error" in want and want["error"]["code"] == -32004:
                continue  # Hardhat does not have it
            if "error" in want and "result" in got:
                # Mined, and told as an error: ours is the hash.
                fine = self.mined(want["error"].get("data"), got["result"])
            elif "error" in want or "error" in got:
                fine = "error" in want and "error" in got and self.same_failure(want["error"], got["error"])
            else:
                fine = self.agrees(method, want["result"], got["result"])
            if not fine:
                out[i] = (method, x.get("note", ""), want.get("result", want.get("error")),
                          got.get("result", got.get("error")))
        return out

    def mined(self, data, got):
        if not isinstance(data, dict) or "txHash" not in data:
            return False
        self.names[data["txHash"]] = got
        return len(got) == 66

    def same_failure(self, want, got):
        """Revert data is to the byte; code, words and layout are Hardhat's own."""
        data = want.get("data")
        data = data.get("data") if isinstance(data, dict) else data
        return not isinstance(data, str) or data == got.get("data") or "data" not in got and data == "0x"


# Of the recordings' genesis block.
GENESIS_TIME = 1795271694
