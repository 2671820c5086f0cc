"""Settlement: batches of impressions and payouts of miners, from the ledger to the contracts of a development network,
through kills of the exchange and of the node. What the chain has is what the ledger has, to the nano-dollar."""
import hashlib
import http.client
import json
import os
import random
import re
import signal
import subprocess
import threading
import time

from miners import Origin, Stranger, served, stats, with_file
from world import ROOT, Exchange, campaign

KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"  # of the network's second account
PUBLISHERS = ["0x" + "b1" * 20, "0x" + "b2" * 20, "0x" + "B3" * 20]
# A token that says yes to everything: PUSH1 1, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN behind its constructor.
TOKEN = "0x69600160005260206000f3600052600a6016f3"
NANO = 10**9  # of the token's units in a nano-dollar


class Chain:
    """A development network on the disk, that can be killed; and calls to it."""

    def __init__(self, w):
        self.w, self.data, self.port = w, w.folder(), 0
        w.exchanges.append(self)
        self.start()

    def start(self):
        self.log = self.data / f"log-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [self.w.node, "--network-id=dev", f"--http-port={self.port}", f"--data-dir={self.data}/node",
             "--log-format=json"], stdout=self.log.open("wb"), stderr=subprocess.STDOUT)
        self.w.until(lambda: re.search(r'"rpc":"http://[^"]*:(\d+)"', self.log.read_text()), "the node")
        self.port = int(re.search(r'"rpc":"http://[^"]*:(\d+)"', self.log.read_text())[1])

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def rpc(self, method, *params):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request("POST", "/", json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                  {"Content-Type": "application/json"})
        answer = json.loads(c.getresponse().read())
        c.close()
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def sha3(self, text):
        return self.rpc("web3_sha3", "0x" + text.encode().hex())

    def data_of(self, signature, *words):
        out = self.sha3(signature)[:10]
        for word in words:
            out += (word[2:].rjust(64, "0") if isinstance(word, str) else f"{word:064x}")
        return out

    def send(self, to, data, account=0):
        tx = {"from": self.rpc("eth_accounts")[account], "data": data, "gas": hex(5_000_000)}
        if to:
            tx["to"] = to
        receipt = self.rpc("eth_getTransactionReceipt", self.rpc("eth_sendTransaction", tx))
        assert receipt["status"] == "0x1", f"{data[:10]} reverted"
        return receipt

    def call(self, to, signature, *words):
        answer = self.rpc("eth_call", {"to": to, "data": self.data_of(signature, *words)}, "latest")[2:]
        return [int(answer[i:i + 64], 16) for i in range(0, len(answer), 64)]

    def deploy(self):
        """Token and escrow, whose exchange is the account of KEY."""
        made = json.loads((ROOT / "services/adx/contracts/contracts.json").read_text())["contracts"]["EscrowManager"]
        self.token = self.send(None, TOKEN)["contractAddress"]
        self.escrow = self.send(None, made["bytecode"] + self.token[2:].rjust(64, "0"))["contractAddress"]
        self.send(self.escrow, self.data_of("setExchange(address)", self.rpc("eth_accounts")[1]))

    def fund(self, name, nano, holdback=0):
        self.send(self.escrow, self.data_of("fundCampaign(bytes32,uint256,uint16)", self.sha3(name), nano * NANO, holdback))

    def spent(self, name):
        return self.call(self.escrow, "getCampaign(bytes32)", self.sha3(name))[4]


def config(chain, folder, campaigns, slots=None, **more):
    key = folder / "exchange.key"
    if not key.exists():
        key.write_text(KEY + "\n")
        key.chmod(0o600)
    return {"campaigns": campaigns,
            "slots": slots or [{"id": f"s{i}", "publisher": p, "floor_cpm": "1.00"} for i, p in enumerate(PUBLISHERS)],
            "escrow": {"rpc": chain.url, "contract": chain.escrow, "token": chain.token, "key_file": str(key),
                       "interval_s": 1, **more}}


def settlement(x):
    status, body, _ = x.get("/settlement")
    return json.loads(body) if status == 200 else {}


def play(x, slot="s0", cnt=1):
    """Impressions that were paid."""
    paid = 0
    for _ in range(cnt):
        try:
            token = re.search(r"/t/impression\?b=([\w-]+)", x.get(f"/vast?slot={slot}")[1].decode())
            paid += token is not None and x.get(f"/t/impression?b={token[1]}")[0] == 204
        except (OSError, http.client.HTTPException):
            pass
    return paid


def run(w):
    if not w.node.exists():
        w.check("CI" not in os.environ, "the node's program is not there")
        print("SKIP chain: no candela beside candela-adx")
        return
    chain = Chain(w)
    chain.deploy()
    batches(w, chain)
    waits(w, chain)
    payouts(w, chain)
    load(w, chain)
    kills(w, chain)


def settled(x, nano):
    s = settlement(x)
    return s.get("settled") == str(nano) and s["unsettled"] == "0" and s["chain"]["equal"] and s["chain"]["compared"]


def batches(w, chain):
    """Impressions of three publishers: one transaction, three claims."""
    folder = w.folder()
    chain.fund("b1", 10**12, 1000)
    x = Exchange(w, config(chain, folder, [campaign("b1")]), "--admin-token=tok", data=folder)
    auth = {"Authorization": "Bearer tok"}
    w.check(x.get("/settlement")[0] == 401 and x.get("/settlement/claims?publisher=x")[0] == 401, "who runs it may look")
    x.get = lambda path, **h: x.call("GET", path, headers={**auth, **h})
    w.check(x.get("/settlement/claims")[0] == 400, "claims want a publisher")
    for i in range(3):
        w.check(play(x, f"s{i}", 4 + i) == 4 + i, "played")
    w.check(play(x, "unknown", 2) == 2, "of a publisher without an address")
    w.until(lambda: settled(x, 15_000_000), "15 impressions at a milli-dollar each")
    w.check(chain.spent("b1") == 15_000_000 * NANO, "the contract has them")
    got = 0
    for p in PUBLISHERS:
        claims = json.loads(x.get(f"/settlement/claims?publisher={p}")[1])
        for c in claims:
            got += int(c["amount"])
            proof = "".join(h[2:] for h in c["proof"])
            data = chain.data_of("claimFromBatch(bytes32,bytes32,address,uint256,bytes32[])", c["merkleRoot"],
                                 c["reservationId"], c["publisher"].lower(), int(c["amount"]), 160, len(c["proof"])) + proof
            chain.send(chain.escrow, data, 5)
    w.check(got == 15_000_000 * NANO, f"claims are the sum: {got}")
    balances = [chain.call(chain.escrow, "publisherBalances(address)", p.lower())[0] for p in PUBLISHERS]
    parts = [n * 1_000_000 * NANO for n in (4, 5, 6)]
    w.check(balances == [p * 9 // 10 - p // 1000 for p in parts], f"nine tenths less the fee: {balances}")
    row = settlement(x)["newest"][0]
    w.check(row["state"] == "done" and 0 < row["gas"] < 130_000 and row["impressions"] > 0, str(row))
    w.check(x.stop() == 0, "stops")
    books = w.ledger(x.data, "onchain/b1", "tochain/b1")
    w.check(books and books["onchain/b1"] == 15_000_000 and books["tochain/b1"] == 0, str(books))


def waits(w, chain):
    """A campaign without money on the chain keeps nobody waiting; neither does a node that is away."""
    folder = w.folder()
    chain.fund("w1", 10**12)
    x = Exchange(w, config(chain, folder, [campaign("w1", adomain=["w1.example"]), campaign("w2", cpm="13.00")]), data=folder)
    w.check(play(x, "s0", 3) == 3, "the dearer campaign wins")
    w.until(lambda: "nsufficient budget" in settlement(x)["trouble"], "the contract's reason is told")
    x.write(config(chain, folder, [campaign("w1")]))
    x.process.send_signal(signal.SIGHUP)
    w.until(lambda: b"cr-w1" in x.get("/vast?slot=s0")[1], "the other campaign")
    paid = play(x, "s0", 5)
    w.until(lambda: settlement(x)["settled"] == str(paid * 1_000_000), "goes on")
    chain.fund("w2", 10**12)
    w.until(lambda: settled(x, (paid + 3) * 1_000_000), "settles once it is funded", 40)
    chain.kill()
    paid += play(x, "s1", 4)
    w.until(lambda: settlement(x)["chain"]["trouble"] != "", "the node is away")
    chain.start()
    w.until(lambda: settled(x, (paid + 3) * 1_000_000), "the node is back", 40)
    w.check(x.metric("adx_settlement_differs") == 0, "chain and ledger are equal")
    x.stop()
    for change, word in (({"key_file": "/nowhere"}, "nowhere"), ({"decimals": 6}, "decimals"), ({"contract": "0x12"}, "contract"),
                         ({"interval_s": 0}, "interval_s")):
        bad = folder / "bad.json"
        bad.write_text(json.dumps(config(chain, folder, [], **change)))
        done = subprocess.run([w.bin, "exchange", "--port=0", f"--config={bad}", f"--data-dir={w.folder()}"],
                              capture_output=True, text=True, check=False, timeout=20)
        w.check(done.returncode == 1 and word in done.stderr, f"{change}: {done.stderr}")


def payouts(w, chain):
    """What a miner has earned is sent to its wallet, once."""
    folder, media = w.folder(), os.urandom(3000)
    origin = Origin({"/a": media})
    name = hashlib.sha256(media).hexdigest()
    right = Origin({f"/media/{name}": media})
    chain.fund("p1", 10**12)
    x = Exchange(w, config(chain, folder, [with_file(origin, "/a", "p1")], payout_min="0.0001"), "--client-rate=0",
                 "--reward-period=3s", data=folder)
    s = Stranger(x, port=right.port)
    s.register()
    s.beat([name])
    files, token = served(w, type("X", (), {"get": staticmethod(lambda p: x.get(p.replace("s1", "s0")))}))
    x.get(f"/t/impression?b={token}")
    s.say("report", deliveries=[{"token": files[0].split("m=")[1], "bytes": "3000"}])
    w.until(lambda: float(stats(x, s.id)["rewards"]["paid"]) > 0, "paid", 40)
    paid = next(r for r in settlement(x)["newest"] if r["kind"] == "payout")
    tx = chain.rpc("eth_getTransactionByHash", paid["tx"])
    w.check(tx["to"].lower() == chain.token.lower(), "the token's contract")
    w.check(tx["input"] == chain.data_of("transfer(address,uint256)", s.wallet.lower(), int(paid["nano_usd"]) * NANO),
            "the wallet and the amount")
    s.ws.close()
    x.stop()
    books = w.ledger(x.data, f"miner/{s.id}", f"paid/{s.id}", "fees")
    w.check(books and books[f"miner/{s.id}"] + books[f"paid/{s.id}"] == books["rewards"], str(books))
    w.check(books and books["spent"] == books["earned"] + books["fees"] + books["rewards"], str(books))


def load(w, chain):
    """Thousands of impressions: not more than a transaction a second, and all of them there."""
    folder = w.folder()
    chain.fund("l1", 10**12)
    x = Exchange(w, config(chain, folder, [campaign("l1", budget="100000.00")]), "--client-rate=0", data=folder)
    began, paid = time.monotonic(), []
    threads = [threading.Thread(target=lambda i=i: paid.append(play(x, f"s{i % 3}", 150))) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    w.until(lambda: settled(x, sum(paid) * 1_000_000), "all are settled", 40)
    seconds = time.monotonic() - began
    sent = x.metric("adx_settlement_sent_total")
    w.check(sent <= seconds + 1, f"{sum(paid)} impressions, {sent} transactions in {seconds:.1f} s")
    print(f"{sum(paid)} impressions in {sent:.0f} transactions, {seconds:.1f} s", flush=True)
    w.check(chain.spent("l1") == sum(paid) * 1_000_000 * NANO, "the contract has them")
    x.stop()


def kills(w, chain):
    """Exchange, a second one on the same ledger, and node are killed at any moment; afterwards nothing is missing, and
    nothing is there twice."""
    rng = random.Random(7)
    folder, second = w.folder(), w.folder()
    chain.fund("k1", 10**12)
    full = os.environ.get("CANDELA_TEST_FULL") == "1"
    db = f"--db=sqlite:{folder}/ledger.db"
    made = config(chain, folder, [campaign("k1", budget="100000.00")])
    x = Exchange(w, made, "--token-life=2s", db, data=folder)
    (second / "beacon.key").write_bytes((folder / "beacon.key").read_bytes())
    (second / "beacon.key").chmod(0o600)
    y = Exchange(w, made, "--token-life=2s", db, data=second)
    for round_ in range(100 if full else 12):
        play(rng.choice((x, y)), f"s{round_ % 3}", rng.randrange(1, 8))
        time.sleep(rng.random() * 1.5)
        victim = rng.choice((x, y, x, y, chain))
        victim.kill()
        victim.start()
    w.until(lambda: all(e.metric("adx_settlement_differs") == 0 for e in (x, y)), "compared", 60)
    x.stop()
    y.stop()
    z = Exchange(w, made, db, data=folder)
    w.until(lambda: settlement(z)["unsettled"] == "0" and settlement(z)["open"] == 0 and settlement(z)["chain"]["compared"],
            "everything is settled", 90)
    w.until(lambda: settlement(z)["chain"]["equal"], "chain and ledger are equal")
    z.stop()
    books = w.ledger(folder, "onchain/k1", "tochain/k1")
    w.check(books and books["onchain/k1"] == books["spent"] and books["tochain/k1"] == 0, str(books))
    w.check(books and chain.spent("k1") == books["spent"] * NANO, f"{chain.spent('k1')} {books}")
