"""Every fact on 200 pages of P and X is what the API answers: all pairs of details and all rows of inputs, outputs,
transactions and delegators. A label that this file does not know fails the run. [spec:pchain-xchain#4]
[spec:pchain-xchain#8]"""
import base64
import datetime
import re
import urllib.parse

from harness import same
from money_suite import ME
from pages_suite import PAGE, Pages, cb58, count, lived, lux, main_of, p_api, p_txs, words, x_api, x_txs

WANTED = 200
WITH_WORDS = {"Time", "From", "Until", "Uptime", "Time left"}  # how long ago, and the like, stands beside the fact


def utc(seconds):
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def pairs(page):
    """[(label, words, markup)] of a page, in its order."""
    return [(words(dt), words(dd), dd) for dt, dd in re.findall(r"<dt[^>]*>(.*?)</dt>\s*<dd[^>]*>(.*?)</dd>", page, re.S)]


def table(page, caption):
    """Rows of a table, each the words of its cells; None where there is no such table."""
    found = re.search(rf'<table[^>]*><caption class="sr">{caption}</caption>(.*?)</table>', page, re.S)
    if found is None:
        return None
    body = found[1].split("<tbody>")[1]
    return [[words(td) for td in re.findall(r"<td[^>]*>(.*?)</td>", tr, re.S)] for tr in re.findall(r"<tr>(.*?)</tr>", body, re.S)]


def size(encoded):
    """Of bytes as checksummed hexadecimal text."""
    n = (len(encoded) - 2) // 2 - 4
    return f"{n:,} B" if n < 1000 else None


class Chain:
    """What one chain's API tells."""

    def __init__(self, cli, letter):
        self.cli, self.node, self.letter = cli, cli.node, letter
        self.api = p_api if letter == "P" else x_api
        self.native = p_api(self.node, "getStakingAssetID")["assetID"]
        self.assets = {self.native: ("AVAX", 9)}
        self.unspent = set()
        at = {}
        while True:
            got = self.api(self.node, "getUTXOs", addresses=[f"{letter}-{ME}"], encoding="hex", limit=1024, **at)
            for text in got["utxos"]:
                raw = bytes.fromhex(text[2:])
                self.unspent.add((cb58(raw[2:34]), int.from_bytes(raw[34:38], "big")))
            if int(got["numFetched"]) < 1024:
                break
            at = {"startIndex": got["endIndex"]}

    def amount(self, asset, units):
        if asset not in self.assets:
            about = x_api(self.node, "getAssetDescription", assetID=asset)
            self.assets[asset] = (about["symbol"], int(about["denomination"]))
        symbol, digits = self.assets[asset]
        return f"{lux(units, digits)} {symbol}"

    def whole(self, tx_id):
        return (self.api(self.node, "getTx", txID=tx_id, encoding="json")["tx"],
                self.api(self.node, "getTx", txID=tx_id, encoding="hex")["tx"])


def ins_of(u):
    return (u.get("inputs") or []) + (u.get("importedInputs") or [])


def outs_of(u):
    """Outputs in the order in which they are counted."""
    staked = [dict(o, is_staked=True) for o in u.get("stake") or []]
    return (u.get("outputs") or []) + staked + (u.get("exportedOutputs") or [])


def moved(rows, kind, asset):
    return sum(int(r[kind].get("amount", 0)) for r in rows if r["assetID"] == asset)


def fee(chain, u):
    paid = sum(int(v["balance"]) for v in u.get("validators") or []) if isinstance(u.get("validators"), list) else 0
    paid += int(u.get("balance") or 0)
    return moved(ins_of(u), "input", chain.native) - moved(outs_of(u), "output", chain.native) - paid


def owners(o):
    return " ".join(o["addresses"])


def genesis_size(u):
    """Of a chain: base64 or hexadecimal text, as the JSON form has it."""
    text = u["genesisData"]
    raw = bytes.fromhex(text[2:]) if text.startswith("0x") else base64.b64decode(text)
    return len(raw)


def first_of_l1(chain, u):
    """The test's networks become L1s with one validator."""
    (v,) = u["validators"]
    node = "NodeID-" + cb58(bytes.fromhex(v["nodeID"][2:]))
    return f"{node} weight {count(v['weight'])}, balance {chain.amount(chain.native, v['balance'])}"


def tx_facts(chain, height, block, tx, u, encoded):
    """{label: words of the page}, for all labels that pages of transactions have."""
    v = u.get("validator") or {}
    facts = {
        "Block": lambda: count(height),
        "Time": lambda: utc(block["time"]),
        "Fee, burned": lambda: chain.amount(chain.native, fee(chain, u)),
        "Size": lambda: size(encoded),
        "Validator": lambda: v.get("nodeID") or u.get("nodeID") or first_of_l1(chain, u),
        "Until": lambda: utc(v["end"]),
        "Reward to": lambda: owners(u.get("validationRewardsOwner") or u["rewardsOwner"]),
        "Delegation reward to": lambda: owners(u["delegationRewardsOwner"]),
        "Delegation fee": lambda: f"{u['shares'] / 10000:.2f} %",
        "BLS key": lambda: u["signer"]["publicKey"],
        "Owner": lambda: owners(u.get("owner") or u["newOwner"]),
        "Virtual machine": lambda: u["vmID"],
        "Genesis": lambda: f"{genesis_size(u)} B",
        "Manager's chain": lambda: u["chainID"],
        "Manager": lambda: u["address"],
        "Validation ID": lambda: u["validationID"],
        "Symbol": lambda: u["symbol"],
        "Memo": lambda: bytes.fromhex(u["memo"][2:]).decode(),
    }
    return facts


def check_pairs(page, facts, path):
    found = pairs(page)
    for label, text, markup in found:
        assert label in facts, f"{path}: nothing is known of {label!r}: {text}"
        want = facts[label]()
        if want is not None:
            is_it = want in text if label in WITH_WORDS else want == text
            assert is_it, f"{path}: {label}: {text!r}, the API says {want!r}"
    return {label for label, *_ in found}


def check_rows(chain, page, path, tx_id, u):
    ins = table(page, "Inputs")
    outs = table(page, "Outputs")
    if ins is not None:
        want = [r for r in ins_of(u) if "amount" in r["input"]]
        assert len(ins) >= len(want), f"{path}: {len(ins)} inputs, {len(want)} wanted"
        for r in want:
            text = f"output {r['outputIndex']} of {r['txID']}"
            amount = chain.amount(r["assetID"], r["input"]["amount"])
            assert any(text in a and amount == b for a, b in ins), f"{path}: no input {text}, {amount} in {ins}"
    want = [o for o in outs_of(u) if "amount" in o["output"]]
    if not want:
        return
    assert outs is not None, f"{path}: no outputs"
    rows = list(outs)
    for o in want:
        amount = chain.amount(o["assetID"], o["output"]["amount"])
        fits = [r for r in rows if r[1] == amount and all(a[2:] in r[0] for a in o["output"].get("addresses", []))]
        assert fits, f"{path}: no output of {amount} in {rows}"
        rows.remove(fits[0])
        assert not o.get("is_staked") or any("staked" in r[0] for r in fits), f"{path}: not staked: {fits}"
    own = [o for o in u.get("outputs") or []]
    for i, o in enumerate(own):
        if "amount" not in o["output"] or o["output"].get("addresses") != [f"{chain.letter}-{ME}"] or i >= len(outs):
            continue
        is_spent = (tx_id, i) not in chain.unspent
        same(bool(re.search(r"\bspent\b", outs[i][0])), is_spent, f"{path}: output {i} is spent: {outs[i]}")


def check_block(chain, pages, height, block):
    path = f"/{chain.letter}/block/{height}"
    page = main_of(pages.source(path))
    encoded = chain.api(chain.node, "getBlockByHeight", height=height, encoding="hex")["block"]
    txs = (block.get("txs") or []) + ([block["tx"]] if "tx" in block else [])
    assert f"Block {count(height)}" in words(page), path
    assert block["id"] in words(page), path
    check_pairs(page, {
        "Kind": lambda: "Proposal" if "tx" in block else "Standard" if block.get("txs") else None,
        "Time": lambda: utc(block["time"]),
        "Parent": lambda: block["parentID"],
        "Size": lambda: size(encoded),
    }, path)
    listed = table(page, "Transactions") or []
    same([any(t["id"] in row[0] for row in listed) for t in txs], [True] * len(txs), f"{path}: {listed}")
    same(len(listed), len(txs), path)


def check_tx(chain, pages, height, block, tx):
    path = f"/{chain.letter}/tx/{tx['id']}"
    page = main_of(pages.source(path))
    told, encoded = chain.whole(tx["id"])
    u = told["unsignedTx"]
    same(told["id"], tx["id"])
    assert tx["id"] in words(page), path
    seen = check_pairs(page, tx_facts(chain, height, block, tx, u, encoded), path)
    assert {"Block", "Time", "Size"} <= seen, f"{path}: {seen}"
    check_rows(chain, page, path, tx["id"], u)


def check_validator(chain, pages, v):
    path = f"/P/validator/{v['nodeID']}"
    page = main_of(pages.source(path))
    seen = check_pairs(page, {
        "Own stake": lambda: chain.amount(chain.native, v["weight"]),
        "Delegated": lambda: f"{chain.amount(chain.native, v.get('delegatorWeight') or 0)} by {v.get('delegatorCount') or 0}",
        "Time left": lambda: "of the period gone",
        "From": lambda: utc(v["startTime"]),
        "Until": lambda: utc(v["endTime"]),
        "Reward at most": lambda: chain.amount(chain.native, v["potentialReward"]),
        "Uptime": lambda: f"{int(float(v['uptime']) * 100) / 100:.2f} %",
        "BLS key": lambda: v["signer"]["publicKey"],
        "Added in": lambda: v["txID"],
    }, path)
    assert {"Own stake", "Delegated", "From", "Until", "Added in"} <= seen, f"{path}: {seen}"
    rows = table(page, "Delegators") or []
    delegators = (v.get("delegators") or [])[:PAGE]
    same(len(rows), len(delegators), path)
    for d in delegators:
        want = [d["txID"], chain.amount(chain.native, d["weight"]), chain.amount(chain.native, d["potentialReward"])]
        assert any(want[0] in r[0] and r[1:3] == want[1:] for r in rows), f"{path}: no {want} in {rows}"


def check_history(chain, pages):
    """All transactions of an address over all pages, newest first: those that spent its outputs or made some for it."""
    me, want, made, path = f"P-{ME}", [], set(), f"/P/address/P-{ME}"
    for height, _, tx in p_txs(chain.node):
        u = chain.whole(tx["id"])[0]["unsignedTx"]
        spends = any((r["txID"], r["outputIndex"]) in made for r in u.get("inputs") or [])
        if spends or any(me in o["output"].get("addresses", []) for o in outs_of(u)):
            want.append((-height, tx["id"]))
        made |= {(tx["id"], i) for i, o in enumerate(u.get("outputs") or []) if me in o["output"].get("addresses", [])}
    got, pages_cnt = [], 0
    while path:
        source = main_of(pages.source(path))
        section = re.search(r'<section class="panel" id="history">(.*?)</section>', source, re.S)
        rows = re.findall(r'/explorer/P/tx/(\w+)\?in=(\d+)', section[1]) if section else []
        got += [(-int(height), tx) for tx, height in dict(rows).items()]
        assert len(dict(rows)) <= PAGE, path
        after = re.search(r'href="/explorer(/P/address/[^"]*\?behind=[^"#]*)', section[1]) if section else None
        path, pages_cnt = after and after[1].replace("&amp;", "&"), pages_cnt + 1
    assert pages_cnt > 1, "one page is no test of pages"
    same([h for h, _ in got], sorted(h for h, _ in got), "the order")
    same(sorted(got), sorted(set(want)), "the history")
    for hostile in ("x", "1-", "-1", "99999999999999999999-" + tx["id"], "<b>", "5-" + "1" * 90):
        pages.source(f"/P/address/{me}?behind={urllib.parse.quote(hostile)}")


def test_every_fact_on_two_hundred_pages(env):
    cli, *_ = lived(env)
    to, pages, done = f"--to={ME}", Pages(cli.node), 0
    for i in range(45):
        cli.tx("p-transfer", to, f"--amount={1 + i / 8}")
        cli.tx("x-transfer", to, f"--amount={2 + i / 16}")
    for letter, txs in (("P", p_txs), ("X", x_txs)):
        chain, blocks = Chain(cli, letter), {}
        for height, block, tx in txs(cli.node):
            blocks[height] = block
            check_tx(chain, pages, height, block, tx)
            done += 1
        for height, block in blocks.items():
            check_block(chain, pages, height, block)
            done += 1
    chain = Chain(cli, "P")
    for v in p_api(cli.node, "getCurrentValidators")["validators"]:
        (whole,) = p_api(cli.node, "getCurrentValidators", nodeIDs=[v["nodeID"]])["validators"]
        check_validator(chain, pages, whole)
        done += 1
    check_history(chain, pages)
    assert done >= WANTED, f"{done} pages"
    print(f"{done} pages")
