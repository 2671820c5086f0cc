"""Every kind of event that contracts deployed by Hardhat make, at every face: each delivery byte for byte as the oracle
has it, none missing, none too many, and all of them accepted by verifiers of public packages."""
import collections
import json
import os
import shutil
import subprocess
import time

import clients
import oracle
from harness import ACCOUNTS, same
from stack import ALICE, BOB
from suite import WORK, accept_b, accept_c, altered, judged
from world import A_SECRET, World

CAROL = ACCOUNTS[2]
HEIR = "0x00000000000000000000000000000000000e1234"
PROJECT = WORK / "hardhat"
A_TYPES = ["transfer", "erc20_transfer", "erc721_transfer", "erc1155_transfer", "contract_event", "new_block"]
B_TYPES = ["address_activity", "token_transfer", "nft_transfer", "mined_transaction", "log"]
C_TYPES = ["ADDRESS_ACTIVITY", "MINED_TRANSACTION", "NFT_ACTIVITY", "TOKEN_TRANSFER", "INTERNAL_TRANSFER", "NEW_BLOCK"]

_world = None


class Hardhat:
    """The project: it deploys, says what, waits, and acts."""

    def __init__(self, node):
        with clients.Lock():
            for folder in ("contracts", "scripts"):
                shutil.copytree(clients.HERE / "webhooks" / "hardhat" / folder, PROJECT / folder, dirs_exist_ok=True)
            shutil.copy(clients.HERE / "hardhat" / "hardhat.config.cjs", PROJECT)
            self.run(node, "compile")
        self.process = self.start(node, "run", "--no-compile", "scripts/kinds.cjs")
        self.at = self.line()

    def start(self, node, *args):
        env = {**os.environ, "CANDELA_URL": node.url, "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true"}
        return subprocess.Popen(["node", str(clients.WORK / "node_modules/hardhat/internal/cli/bootstrap.js"), *args],
                                cwd=PROJECT, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def run(self, node, *args):
        p = self.start(node, *args)
        said, _ = p.communicate(timeout=clients.SCRIPT_LIMIT_S)
        same(p.returncode, 0, said[-800:])

    def line(self):
        said = ""
        for said in self.process.stdout:
            if said.startswith("{"):
                return json.loads(said)
        raise AssertionError(f"hardhat ended: {said}")

    def act(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        txs = self.line()
        same(self.process.wait(clients.SCRIPT_LIMIT_S), 0)
        return txs


def world_of(env):
    global _world
    if _world is None:
        _world = World(env)
    return _world


def test_everything_that_contracts_of_a_hardhat_project_do(env):
    w = world_of(env)
    every = [w.hook("a", A_TYPES), w.hook("c", C_TYPES)]
    every += [w.hook("a", [t]) for t in A_TYPES] + [w.hook("c", [t]) for t in C_TYPES]
    every.append(w.hook("b", ["nft_transfer"]))
    project = Hardhat(w.stack.node)
    at = project.at
    coin, relic, crate, herald, purse = (at[k] for k in ("Coin", "Relic", "Crate", "Herald", "Purse"))
    by = ["0x" + a[2:].rjust(64, "0") for a in (ALICE, BOB)]
    tag, two = w.stack.rpc("web3_sha3", "0x" + b"tag".hex()), "0x" + "2".rjust(64, "0")
    four = w.stack.rpc("web3_sha3", "0x" + b"Four(uint256,address,bytes32,string)".hex())
    filtered = [
        ("a", ["transfer", "erc20_transfer", "erc721_transfer", "erc1155_transfer"], {"address": BOB}),
        ("a", A_TYPES, {"addresses": [coin, herald, CAROL]}),
        ("a", ["erc20_transfer", "transfer", "contract_event"], {"minValue": "1000"}),
        ("a", ["contract_event"], {"contract": herald, "topics": [None, None, by]}),
        ("a", ["contract_event", "erc20_transfer"], {"topics": [[oracle.TRANSFER, four], []]}),
        ("b", ["address_activity"], {"addresses": [CAROL, BOB, ALICE, HEIR]}),
        ("b", ["address_activity"], {"addresses": [BOB, ALICE], "direction": "incoming"}),
        ("b", ["address_activity"], {"addresses": [BOB, ALICE], "direction": "outgoing"}),
        ("b", ["address_activity"], {"addresses": [at["Purse"], coin.upper().replace("X", "x")]}),
        ("b", ["token_transfer"], {"contracts": [coin, at["Mute"], at["Old"]]}),
        ("b", ["token_transfer"], {"addresses": [BOB], "contracts": [coin], "min_value": "60"}),
        ("b", ["nft_transfer"], {"addresses": [CAROL]}),
        ("b", ["nft_transfer"], {"contracts": [crate], "token_ids": ["2", 1]}),
        ("b", ["nft_transfer"], {"token_ids": ["7", str(2 ** 256 - 1)]}),
        ("b", ["log"], {"addresses": [herald, coin]}),
        ("b", ["log"], {"addresses": [herald], "topics": [None, two]}),
        ("b", ["log"], {"topics": [None, None, by, [tag, two]]}),
        ("b", ["log"], {"topics": [[oracle.SINGLE, four], None, by[0]]}),
        ("c", ["ADDRESS_ACTIVITY"], {"address": [BOB, CAROL, ALICE]}),
        ("c", ["ADDRESS_ACTIVITY", "TOKEN_TRANSFER", "MINED_TRANSACTION"], {"address": CAROL, "minValue": "1"}),
        ("c", ["ADDRESS_ACTIVITY", "MINED_TRANSACTION"], {"functionSelector": ["0xa9059cbb", "0x68656c6c"]}),
        ("c", ["TOKEN_TRANSFER"], {"tokenContract": coin, "from": ALICE, "minValue": "100"}),
        ("c", ["TOKEN_TRANSFER", "NFT_ACTIVITY"], {"topicHash": oracle.TRANSFER, "to": BOB}),
        ("c", ["NFT_ACTIVITY"], {"contract": [relic, crate], "tokenId": ["7", "1"]}),
        ("c", ["INTERNAL_TRANSFER"], {"address": HEIR, "minValue": "4"}),
        ("c", ["INTERNAL_TRANSFER"], {"from": purse}),
        ("c", ["MINED_TRANSACTION"], {"address": BOB}),
    ]
    hooks = every + [w.hook(*f) for f in filtered]
    txs = project.act()
    last = w.height
    got = w.check(hooks)
    for h in hooks:
        assert len(got[h]) > 0, f"nothing for {h.face} {h.types} {vars(h)}"
    check_coverage(got)
    check_receivers(w, got)
    check_mined(w, txs, last)
    check_past(w, last)
    w.stack.settle()
    said = w.stack.run("audit", f"--chain=lux={w.stack.node.url}/ext/bc/C/rpc")
    assert " 0 differences\n" in said, said


def check_coverage(got):
    """Nothing of the tables of [spec:webhooks#3] has not been seen."""
    seen, data = set(), []
    for h, deliveries in got.items():
        for _, body in deliveries:
            e = json.loads(body)
            kind = e.get("event") or e.get("event_type") or e["type"]
            seen.add(kind)
            data.append((kind, e if "event" in e else e["data"]))
    same(seen, {*A_TYPES, *B_TYPES, *C_TYPES} - {"mined_transaction"})
    values = {(kind, k, v) for kind, d in data for k, v in d.items() if isinstance(v, (str, type(None), int))}
    for want in [("transfer", "to", None), ("address_activity", "value", "0"), ("address_activity", "to", None),
                 ("address_activity", "direction", "incoming"), ("token_transfer", "symbol", ""),
                 ("token_transfer", "symbol", "C\u00f8IN\u2713"), ("token_transfer", "symbol", "OLD"),
                 ("nft_transfer", "quantity", 2 ** 200), ("nft_transfer", "standard", "ERC721"),
                 *[("ADDRESS_ACTIVITY", "category", c) for c in ("native", "erc20", "contract")],
                 *[("NFT_ACTIVITY", "action", a) for a in ("mint", "transfer", "burn")],
                 *[("INTERNAL_TRANSFER", "callType", t) for t in ("CALL", "CREATE", "CREATE2", "SELFDESTRUCT")],
                 *[("INTERNAL_TRANSFER", "depth", d) for d in (1, 2)], ("TOKEN_TRANSFER", "valueFormatted", None),
                 ("TOKEN_TRANSFER", "valueFormatted", "0.05"), ("TOKEN_TRANSFER", "valueFormatted", "5.0"),
                 ("MINED_TRANSACTION", "status", "reverted"), ("MINED_TRANSACTION", "contractAddress", None)]:
        assert want in values, f"not seen: {want}"
    assert any(d["metadata"] and d["metadata"]["tokenURI"] == "ipfs://relic/7" for k, d in data if k == "NFT_ACTIVITY")
    same({len(d["topics"]) for k, d in data if k == "contract_event"}, {0, 1, 2, 3, 4})


def check_receivers(w, got):
    """Plain HMAC in Python and in Node, and the packages of both, accept all, and nothing altered or late."""
    from standardwebhooks.webhooks import Webhook
    for h, deliveries in got.items():
        made = w.made[h.id]
        if h.face == "b":
            for head, body in deliveries:
                assert accept_b(made["signing_secret"], head, body)
                same(Webhook(made["standard_secret"]).verify(body, head)["webhook_id"], h.id)
        else:
            secret = A_SECRET if h.face == "a" else made["secret"]
            assert all(accept_c(secret, head, body) for head, body in deliveries)
    # In Node, one program for all of a kind would need one secret: the longest of each kind will do.
    longest = {face: max((h for h in got if h.face == face), key=lambda h: len(got[h])) for face in "abc"}
    for face, kind, secret in [("a", "c", A_SECRET), ("b", "b", w.made[longest["b"].id]["signing_secret"]),
                               ("b", "standard", w.made[longest["b"].id]["standard_secret"]),
                               ("c", "c", w.made[longest["c"].id]["secret"])]:
        deliveries = got[longest[face]]
        bad = [(deliveries[0][0], altered(deliveries[0][1]), False)]
        if face == "b":
            bad.append((*deliveries[0], True))
        same(judged(kind, secret, [*((h, b, False) for h, b in deliveries), *bad]),
             [True] * len(deliveries) + [False] * len(bad), f"{face} in Node by {kind}")


def check_mined(w, txs, last):
    """Hashes of transactions that are mined already, and of one that is not yet: each is told of once."""
    hashes = [txs[k] for k in ("plain", "createPaid", "createFails", "coinPoor", "again pay")]
    blocks = [int(w.stack.rpc("eth_getTransactionByHash", h)["blockNumber"], 16) for h in hashes]
    w.stack.rpc("evm_setAutomine", False)
    later = w.stack.send(value=77)
    old = [w.hook("b", ["mined_transaction"], {"tx_hashes": [*hashes, later]}),
           w.hook("c", ["MINED_TRANSACTION"], {"txHash": [*hashes, later]})]
    w.stack.rpc("evm_mine")
    w.stack.rpc("evm_setAutomine", True)
    for h in old:
        h.begin = 0
    want = {h: oracle.events(w.chain, h, 1, last + 1) for h in old}
    same([len(e) for e in want.values()], [6, 6], f"of blocks {blocks}")
    w.collect({h: 6 for h in old})
    for h in old:
        # in what order those of the past are found is free
        got = sorted(w.got[h.id], key=lambda d: int(d[0]["x-svc-sequence"]))
        order = {body: n for n, (_, body) in enumerate(got)}
        want[h].sort(key=lambda e: order.get(e[1], 99))
        w.compare(h, want[h])


def check_past(w, last):
    """Webhooks that want all that was before them; ledgers and previews that say the same as the oracle."""
    made = {"a": {"events": A_TYPES}, "b": {"event_type": "nft_transfer", "config": {}},
            "c": {"event_types": C_TYPES, "filters": {}}}
    late = [w.hook("a", A_TYPES, begin=1), w.hook("b", ["nft_transfer"], begin=1), w.hook("c", C_TYPES, begin=1)]
    got = w.check(late)
    for h in late:
        number = "blockNumber" if h.face == "a" else "block_number"
        rows = w.stack.get(f"/v1/webhooks/{h.id}/ledger?from_block=1&to_block={last}", h.face)[1]["blocks"]
        told = [json.loads(body) for _, body in got[h]]
        blocks = collections.Counter(number_of(e) for e in told)
        same({r[number]: r["matches"] for r in rows}, {n: k for n, k in blocks.items() if n <= last})
        status, seen = w.stack.ask("POST", "/v1/webhooks/preview", h.face, {"chain": "lux", "blocks": w.height, **made[h.face]})
        same((status, seen["events"], seen["blocks"]), (200, len(told), w.height))
        same(len(seen["payloads"]), 20)
        facts = [facts_of(e) for e in told]
        assert all(facts_of(p) in facts for p in seen["payloads"]), f"{h.face}: a preview of what is not told"


def facts_of(event):
    """An event without what only a webhook that is there gives it."""
    return {k: v for k, v in event.items() if k not in ("id", "webhook_id")}


def number_of(event):
    d = event if "blockNumber" in event else event["data"]
    return d["blockNumber" if "blockNumber" in d else "block_number"]


def test_what_waits_in_the_mempool(env):
    w = world_of(env)
    rpc = w.stack.rpc
    rpc("evm_setAutomine", False)
    canary = w.hook("c", ["PENDING_TRANSACTION"])

    def sings():
        w.stack.send(value=1)
        time.sleep(0.05)
        return not w.sink.got.empty()

    w.stack.until(sings, "the service does not look at the mempool", 5)
    hooks = [w.hook("c", ["PENDING_TRANSACTION"]), w.hook("c", ["PENDING_TRANSACTION"], {"to": BOB, "minValue": "5"}),
             w.hook("c", ["PENDING_TRANSACTION"], {"functionSelector": "transfer(address,uint256)"})]
    before = time.time()
    sent = [w.stack.send(value=4), w.stack.send(value=5), w.stack.send(value=6, gasPrice=hex(10 ** 11)),
            rpc("eth_sendTransaction", {"from": ALICE, "data": "0x6001600c60003960016000f300"}),
            w.stack.send(value=0, data="0xa9059cbb" + "00" * 64), w.stack.send(value=8, data="0xa905")]
    txs = [rpc("eth_getTransactionByHash", h) for h in sent]
    w.collect({hooks[0]: 6, hooks[1]: 3, hooks[2]: 1})
    after = time.time()
    rpc("evm_mine")
    rpc("evm_setAutomine", True)
    for h, which in zip(hooks, [(0, 1, 2, 3, 4, 5), (1, 2, 5), (4,)]):
        got = {json.loads(b)["data"]["transactionHash"]: (head, b) for head, b in w.got[h.id]}
        same(set(got), {sent[i] for i in which})
        seen, want = {}, {}
        for tx in (txs[i] for i in which):
            at = json.loads(got[tx["hash"]][1])["createdAt"]
            assert oracle.stamp(int(before * 1000), True) <= at <= oracle.stamp(int(after * 1000) + 1, True), at
            ms = round(oracle.datetime.datetime.fromisoformat(at).timestamp() * 1000)
            seen[tx["hash"]] = int(got[tx["hash"]][0]["x-svc-sequence"])
            want[tx["hash"]] = oracle.pending(w.chain, h, tx, ms)
        w.compare(h, [want[k] for k in sorted(want, key=seen.get)])


def test_end(env):
    if _world is not None:
        _world.stack.close()
