"""Pages of the primary network: what they say of P and X, and of money that crosses, is what the methods answer.
[spec:pchain-xchain#4] [spec:pchain-xchain#8]"""
import hashlib
import html
import http.client
import json
import pathlib
import re
import threading
import time
import urllib.parse

from harness import match, same
from money_suite import ACCOUNT, DAY, EWOQ, ME, VM, Cli
from primary_suite import DATA, recorded, result

PAGE = 25
HOSTILE = "<b>x</b>\"'&"


class Pages:
    """Fetches pages and their words."""

    def __init__(self, node):
        self.node = node
        self.at = urllib.parse.urlsplit(node.url).netloc

    def get(self, path, want=200):
        c = http.client.HTTPConnection(self.at, timeout=30)
        c.request("GET", "/explorer" + path)
        r = c.getresponse()
        text = r.read().decode()
        same(r.status, want, path)
        c.close()
        return text, r.headers

    def source(self, path, want=200):
        return self.get(path, want)[0]

    def text(self, path, want=200):
        """What people read, blanks as one."""
        return words(main_of(self.source(path, want)))


def main_of(page):
    return re.search(r"<main.*</main>", page, re.S)[0]


def words(markup):
    markup = re.sub(r"<svg.*?</svg>|<button.*?</button>", "", markup, flags=re.S)
    markup = re.sub(r"</?(?:td|th|dd|dt|p|h1|h2|tr|div|li|a|time)\b[^>]*>", " ", markup)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def has(text, *facts):
    for fact in facts:
        assert str(fact) in text, f"no {fact} in: {text[:1500]}"


def count(n):
    return f"{int(n):,}"


def lux(units, decimals):
    """An amount as a page writes it."""
    whole, part = divmod(int(units), 10 ** decimals)
    return f"{whole:,}" + (f".{part:0{decimals}d}".rstrip("0") if part else "")


def p_api(node, method, **params):
    return result(node, "/ext/bc/P", f"platform.{method}", **params)


def x_api(node, method, **params):
    return result(node, "/ext/bc/X", f"avm.{method}", **params)


def p_txs(node):
    """Every transaction of the P-Chain with its height."""
    for height in range(1, int(p_api(node, "getHeight")["height"]) + 1):
        block = p_api(node, "getBlockByHeight", height=height, encoding="json")["block"]
        for tx in (block.get("txs") or []) + ([block["tx"]] if "tx" in block else []):
            yield height, block, tx


def x_txs(node):
    for height in range(1, int(x_api(node, "getHeight")["height"]) + 1):
        block = x_api(node, "getBlockByHeight", height=height, encoding="json")["block"]
        for tx in block["txs"]:
            yield height, block, tx


def lived(env, network="local"):
    """A node on which every kind of transaction was made, and what was made."""
    cli = Cli(env, network, flags=("--explorer=on",))
    to, made = f"--to={ME}", {}

    def do(name, *args):
        made[name] = cli.tx(*args)
        return made[name]

    do("send", "p-transfer", to, "--amount=2")
    do("p-export-x", "p-export", "--destination=X", "--amount=1")
    do("x-import-p", "x-import", "--source=P")
    do("x-send", "x-transfer", to, "--amount=2")
    do("x-export-c", "x-export", "--destination=C", "--amount=2")
    do("c-import-x", "c-import", "--source=X")
    do("c-export-p", "c-export", "--destination=P", "--amount=1")
    do("p-import-c", "p-import", "--source=C")
    do("waits", "x-export", "--destination=P", "--amount=1.5")
    coin = do("coin", "create-asset", "--name=Test Coin", "--symbol=TST", "--denomination=2", "--amount=10.5", "--mintable")
    do("mint", "mint", f"--asset={coin}", "--amount=4.25")
    do("coin-send", "x-transfer", f"--asset={coin}", to, "--amount=3")
    art = do("art", "create-asset", "--name=Art", "--symbol=ART", "--nft-groups=2")
    do("nft", "mint-nft", f"--asset={art}", "--group=1", "--payload=a picture")
    do("nft-send", "send-nft", f"--asset={art}", "--group=1", to)
    node, key, pop = cli.identity()
    do("validator", "add-validator", f"--node-id={node}", f"--bls-key={key}", f"--bls-pop={pop}", "--amount=2000",
       f"--duration={DAY}", "--delegation-fee=2.5")
    do("delegator", "add-delegator", f"--node-id={node}", "--amount=25", "--duration=29h")
    net = f"--net-id={do('net', 'create-net')}"
    do("net-validator", "add-net-validator", net, f"--node-id={node}", "--weight=20", "--duration=25h")
    do("net-remove", "remove-net-validator", net, f"--node-id={node}")
    do("net-transfer", "transfer-net", net, to)
    chain = do("chain", "create-chain", net, "--name=a chain", f"--vm-id={VM}",
               f"--genesis-file={cli.file('g.json', '{}')}")
    do("convert", "convert-net", net, f"--chain-id={chain}", "--manager=0xfeed", f"--validator={node}:100:1:{key}:{pop}")
    (l1,) = p_api(cli.node, "getCurrentValidators", subnetID=net[9:])["validators"]
    validation = f"--validation-id={l1['validationID']}"
    do("increase", "increase-l1-balance", validation, "--amount=1")
    cli.l1 = l1
    return cli, made, node


def test_every_transaction_has_a_page(env):
    cli, made, node_id = lived(env)
    pages = Pages(cli.node)
    kinds = set()
    for height, block, tx in p_txs(cli.node):
        page = pages.text(f"/P/tx/{tx['id']}")
        answer = p_api(cli.node, "getTx", txID=tx["id"], encoding="json")["tx"]
        has(page, tx["id"], count(height), "Committed")
        for out in answer["unsignedTx"].get("outputs", []) + answer["unsignedTx"].get("stake", []):
            has(page, lux(out["output"]["amount"], 9))
        kinds.add(re.search(r"<h1>(.*?)</h1>", pages.source(f"/P/tx/{tx['id']}"))[1])
        listed = pages.text(f"/P/block/{height}")
        has(listed, tx["id"][:8], block["id"][:8])
    for kind in ("Transfer", "Export", "Import", "Add a validator", "Add a delegator", "Create a network", "Create a chain",
                 "Add a validator of a network", "Remove a validator of a network", "Transfer a network",
                 "Convert a network to an L1", "Increase the balance of an L1 validator"):
        assert kind in kinds, f"no {kind} among {sorted(kinds)}"
    for height, block, tx in x_txs(cli.node):
        page = pages.text(f"/X/tx/{tx['id']}")
        has(page, tx["id"], count(height), "Accepted")
        has(pages.text(f"/X/block/{block['id']}"), tx["id"][:8], f"Block {count(height)}")
    for name, sentence in {
            "send": "Sent 2 ", "validator": "Made NodeID-", "delegator": "Delegated 25 ", "net": "Created the network",
            "net-validator": "with weight 20 until", "net-remove": "Removed NodeID-", "net-transfer": "Gave the network",
            "chain": "Created the chain a chain", "convert": "an L1 with 1 validator", "increase": "Paid 1 ",
            "p-export-x": "Exported 1 ", "p-import-c": "from C"}.items():
        has(pages.text(f"/P/tx/{made[name]}"), sentence)
    for name, sentence in {
            "coin": "Created the asset Test Coin (TST) with 2 decimals", "mint": "Minted 4.25 TST", "coin-send": "TST",
            "art": "Created the asset Art (ART)", "nft": "Minted 1 NFT of ART, group 1", "nft-send": "Gave an NFT of ART",
            "x-import-p": "Imported", "x-export-c": "Exported 2 "}.items():
        has(pages.text(f"/X/tx/{made[name]}"), sentence)
    crossings(pages, made)
    stakers(cli, pages, node_id)
    networks(cli, pages, made)
    assets(cli, pages, made)
    addresses(cli, pages, made)
    searches(pages, made, node_id)
    small(pages)


def crossings(pages, made):
    """An export leads to its import, and back, whatever the chains; what waits says so."""
    for a, export, b, import_ in (("P", "p-export-x", "X", "x-import-p"), ("X", "x-export-c", "C", "c-import-x"),
                                  ("C", "c-export-p", "P", "p-import-c")):
        there = pages.source(f"/{a}/tx/{made[export]}")
        match(there, rf'id="crossing".*Imported in.*/explorer/{b}/tx/{made[import_]}')
        match(pages.source(f"/{b}/tx/{made[import_]}"), rf'id="crossing".*Exported in.*/explorer/{a}/tx/{made[export]}')
    has(pages.text(f"/X/tx/{made['waits']}"), "Not imported yet")


def stakers(cli, pages, node_id):
    answer = p_api(cli.node, "getCurrentValidators")["validators"]
    page = pages.source("/P/validators")
    has(words(main_of(page)), f"{count(len(answer))} in all")
    for v in answer[:PAGE]:
        assert f"/explorer/P/validator/{v['nodeID']}" in page, v["nodeID"]
        one = pages.text(f"/P/validator/{v['nodeID']}")
        has(one, v["nodeID"], lux(v["weight"], 9), lux(v["potentialReward"], 9))
    (me,) = p_api(cli.node, "getCurrentValidators", nodeIDs=[node_id])["validators"]
    one = pages.text(f"/P/validator/{node_id}")
    has(one, me["signer"]["publicKey"][-4:], lux(me["delegatorWeight"], 9), me["delegators"][0]["txID"][:8],
        "of the period gone")


def networks(cli, pages, made):
    has(pages.text("/P/networks"), "1 in all", "L1", "First balance ends in", "more than 10 years", "a chain")
    page = pages.text(f"/P/network/{made['net']}")
    (l1,) = p_api(cli.node, "getCurrentValidators", subnetID=made["net"])["validators"]
    has(page, "L1", "0xfeed", l1["nodeID"][:12], count(l1["weight"]), "Active", "a chain")
    has(page, "No validator can fail: one of one vote, and any one that fails halts it.", "First balance ends in",
        "Warning", "the address of its manager is none of a contract")
    balance = re.search(r"([0-9.]+) \w+ ?for", page)[1]
    assert 1.9 < float(balance) <= 2.0 and int(l1["balance"]) <= 2 * 10 ** 9, (balance, l1["balance"])
    has(pages.text(f"/P/chain/{made['chain']}"), "a chain", VM, "/v1/bc/")


def assets(cli, pages, made):
    page = pages.text("/X/assets")
    for name in ("coin", "art"):
        is_ = x_api(cli.node, "getAssetDescription", assetID=made[name])
        has(page, is_["name"], is_["symbol"])
        has(pages.text(f"/X/asset/{made[name]}"), is_["assetID"], is_["name"], is_["symbol"], is_["denomination"])
    has(pages.text(f"/X/asset/{made['coin']}"), "10.5 TST", "right to mint")


def addresses(cli, pages, made):
    for chain, other in ("PX", "XP"):
        page = pages.text(f"/{chain}/address/{chain}-{ME}")
        free = p_api(cli.node, "getBalance", addresses=[f"P-{ME}"])
        has(page, lux(free["unlocked"], 9), f"UTXOs on the {chain}-Chain", f"On the {other}-Chain")
        for row in x_api(cli.node, "getAllBalances", address=f"X-{ME}")["balances"]:
            digits = 2 if row["asset"] == made["coin"] else 9
            has(page, lux(row["balance"], digits))
        has(page, "1.5", "waits to be imported on P")
        has(page, f"P-{ME}", f"X-{ME}", f"C-{ME}")
    pages.text("/P/address/P-nobody", 404)


def searches(pages, made, node_id):
    for typed, to in ((made["net"], "/P/network/"), (made["validator"], "/P/tx/"), (made["coin"], "/X/asset/"),
                      (made["c-import-x"], "/C/tx/"), (node_id, "/P/validator/"), (f"P-{ME}", "/P/address/"),
                      (f"X-{ME}", "/X/address/"), ("P/1", "/P/block/1"), ("x/1", "/X/block/1")):
        for place in ("", "/P", "/X"):
            _, headers = pages.get(f"{place}/search?q={urllib.parse.quote(typed)}", 303)
            assert headers["Location"].startswith("/explorer" + to), (typed, place, headers["Location"])
    _, headers = pages.get("/P/search?q=3", 303)
    same(headers["Location"], "/explorer/P/block/3")
    _, headers = pages.get(f"/search?q={ACCOUNT}", 303)
    match(headers["Location"], "^/explorer/address/")
    _, headers = pages.get(f"/{made['chain']}", 303)  # a chain of a virtual machine that has no pages
    same(headers["Location"], f"/explorer/P/chain/{made['chain']}")
    for path in ("/P/tx/nothing", "/P/block/999999", "/X/tx/11111111111111111111111111111111LpoYY", "/P/network/x",
                 "/X/asset/x", "/P/validator/NodeID-x", "/P/nothing", "/X/validators", "/C/tx/x", "/P/chain/x"):
        match(pages.text(path, 404), r"^N[oa]\w* |^This")
    for hostile in (HOSTILE, "<script>alert(1)</script>", "\u202eright"):
        for place in ("/P/tx/", "/P/block/", "/P/address/", "/P/network/", "/X/asset/", "/P/chain/", "/P/validator/", "/P/"):
            page = pages.source(place + urllib.parse.quote(hostile), 404)
            assert hostile not in page, f"{place}{hostile} is markup"


def small(pages):
    """Pages work without scripts, and the first one is small."""
    for chain in "PX":
        c = http.client.HTTPConnection(pages.at, timeout=30)
        c.request("GET", f"/explorer/{chain}", headers={"Accept-Encoding": "gzip"})
        r = c.getresponse()
        size = len(r.read())
        assert size <= 6000, f"{chain}: {size} bytes"
        c.close()


def test_chains_leave_and_come_back(env):
    cli = Cli(env, flags=("--explorer=on",))
    pages = Pages(cli.node)
    head = p_api(cli.node, "getHeight")["height"]
    has(pages.text("/P"), "P-Chain height", count(head))
    done = cli.pay("transfer", "--source=P", "--destination=C", "--amount=2.5")
    match(pages.source(f"/P/tx/{done['export']['txID']}"), f"/explorer/C/tx/{done['import']['txID']}")
    c = pages.text(f"/C/tx/{done['import']['txID']}")
    has(c, "Imported", "from P", done["export"]["txID"][:8])
    same(pages.get("/P/nothing/at/all", 404)[1]["Content-Type"], "text/html; charset=utf-8")
    same(EWOQ in pages.source("/P"), False)


def cb58(raw):
    """As node-api says: base58 of the bytes and the last four of their SHA-256."""
    letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    raw += hashlib.sha256(raw).digest()[-4:]
    n, out = int.from_bytes(raw, "big"), ""
    while n:
        n, digit = divmod(n, 58)
        out = letters[digit] + out
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + out


def crowded(env, cnt):
    """A node of network 1337 with so many validators from the beginning."""
    config = json.loads((DATA / "vectors" / "genesis.json").read_text())[1]["config"]
    config["startTime"], config["initialStakeDurationOffset"] = int(time.time()) - 3600, 60
    like = config["initialStakers"][0]
    config["initialStakers"] = [
        {"nodeID": "NodeID-" + cb58(hashlib.sha256(str(i).encode()).digest()[:20]),
         "rewardAddress": like["rewardAddress"], "delegationFee": 20000} for i in range(cnt)]
    path = pathlib.Path(env.dir()) / "genesis.json"
    path.write_text(json.dumps(config))
    return env.start("--network-profile=upstream", f"--genesis-file={path}", "--sybil-protection-enabled=false",
                     "--explorer=on", data_dir=env.dir(), network="1337")


def test_two_thousand_validators(env):
    """Every one stands on a page, in the order of stake; the first page stays small."""
    recorded("net1337-flows")
    node = crowded(env, 2000)
    pages = Pages(node)
    answer = {v["nodeID"]: v for v in p_api(node, "getCurrentValidators")["validators"]}
    same(len(answer), 2000)
    stakes = []
    path = "/P/validators"
    while path:
        page = pages.source(path)
        row = [m for m in re.findall(r"/explorer/P/validator/(NodeID-\w+)", page)]
        assert 0 < len(row) <= PAGE, (path, len(row))
        stakes += [(answer[n]["weight"], n) for n in row]
        after = re.search(r'href="/explorer(/P/validators\?from=\d+)"', page)
        path = after and after[1]
    same(len({n for _, n in stakes}), 2000)
    weights = [int(w) for w, _ in stakes]
    same(weights, sorted(weights, reverse=True))
    has(pages.text("/P"), "2,000")
    small(pages)


def test_a_chain_ahead_of_the_clock(env):
    """Ages are told from the newest block when that is of the future."""
    node = env.start(network="dev")
    rpc, pages = node.rpc(), Pages(node)
    rpc("evm_increaseTime", 40 * 86400)
    rpc("evm_mine")
    rpc("evm_increaseTime", 3600)
    rpc("evm_mine")
    page = pages.text("/block/C/2")
    has(page, "accepted 0 s ago")
    has(pages.text("/block/C/1"), "accepted 1 h ago")
    assert not re.search(r"\bin \d+ (?:s|min|h|d)\b", pages.text("")), "an age of the future"


def test_logs_behind_the_first_fifty(env):
    node = env.start(network="dev")
    rpc, pages = node.rpc(), Pages(node)
    (sender, *_) = rpc("eth_accounts")
    # PUSH1 120, then a loop: LOG1 with the counter as its topic.
    code = "60785b60019003" "806000" "6000" "a1" "80600257" "00"
    init = f"60{len(code) // 2:02x}80600b6000396000f3" + code
    made = rpc("eth_getTransactionReceipt", rpc("eth_sendTransaction", {"from": sender, "data": "0x" + init}))
    sent = rpc("eth_sendTransaction", {"from": sender, "to": made["contractAddress"], "gas": "0x100000"})
    logs = rpc("eth_getTransactionReceipt", sent)["logs"]
    same(len(logs), 120)
    seen, path = [], f"/tx/{sent}"
    while path:
        page = pages.source(path)
        seen += re.findall(r"Topic 0</dt><dd class=\"mono\">(0x\w+)", page)
        after = re.search(r'rel="next" href="(\?logs=\d+)#logs"', page)
        path = after and f"/tx/{sent}{after[1]}"
    same(seen, [x["topics"][0] for x in logs])
    for odd in ("-1", "9999999999999999999", "x", "120"):
        has(pages.text(f"/tx/{sent}?logs={odd}"), "0 to 49 of 120")


def test_heavy_pages_do_not_hold_up_light_ones(env):
    """A transaction that computes for long runs again on its page: pages of blocks do not wait for many of those."""
    node = env.start(network="dev")
    rpc, pages = node.rpc(), Pages(node)
    (sender, *_) = rpc("eth_accounts")
    code = "5b6000600020505a61ffff10600057" + "00"  # hashes until little gas is left
    init = f"60{len(code) // 2:02x}80600b6000396000f3" + code
    made = rpc("eth_getTransactionReceipt", rpc("eth_sendTransaction", {"from": sender, "data": "0x" + init}))
    sent = rpc("eth_sendTransaction", {"from": sender, "to": made["contractAddress"], "gas": "0xe4e1c0"})
    assert int(rpc("eth_getTransactionReceipt", sent)["gasUsed"], 16) > 10 ** 7
    done, refused = [], []

    def ask():
        c = http.client.HTTPConnection(pages.at, timeout=120)
        c.request("GET", f"/explorer/tx/{sent}?view=opcodes&at=100")
        r = c.getresponse()
        r.read()
        (done if r.status == 200 else refused).append((r.status, r.headers["Retry-After"]))
        c.close()

    ask()  # from here on the node knows what such a page costs
    done.clear()
    crowd = [threading.Thread(target=ask) for _ in range(100)]
    for one in crowd:
        one.start()
    while not done:
        time.sleep(0.01)
    for _ in range(10):
        has(pages.text("/blocks"), "Blocks")
    assert len(done) + len(refused) < len(crowd), "pages of blocks came after all the heavy ones"
    for one in crowd:
        one.join()
    assert refused and set(refused) == {(503, "1")} and len(done) >= 64, (len(done), set(refused))
    has(pages.text(f"/tx/{sent}"), "Success")


def test_empty_blocks_do_not_hide_transactions(env):
    node = env.start(network="dev")
    rpc, pages = node.rpc(), Pages(node)
    (a, b, *_) = rpc("eth_accounts")
    sent = [rpc("eth_sendTransaction", {"from": a, "to": b, "value": hex(i + 1)}) for i in range(30)]
    rpc("hardhat_mine", "0x2710")
    rpc("evm_mine")
    has(pages.source(""), sent[-1])
    seen, path, steps = [], "/txs", 0
    while path:
        page, steps = pages.source(path), steps + 1
        seen += re.findall(r'<tr data-id="(0x\w{64})"', page)
        after = re.search(r'rel="next" href="/explorer(/txs[^"]*)"', page)
        path = after and html.unescape(after[1])
    same(seen, sent[::-1])
    assert steps <= 4, steps
    for odd in ("?from=-1", "?from=99999999999&tx=5", "?from=3&tx=x", "?from=3&tx=18446744073709551615"):
        pages.text("/txs" + odd)
