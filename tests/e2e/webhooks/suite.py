"""Webhooks from a development network to receivers written with public packages."""
import hashlib
import hmac
import json
import shutil
import signal
import subprocess
import sys
import time
from unittest import mock

import clients
from harness import ACCOUNTS, same
from stack import ALICE, BOB, Stack

WORK = clients.WORK / "webhooks"
PYTHON = WORK / "python"
CAROL = ACCOUNTS[2]


def install():
    clients.install()
    with clients.Lock():
        WORK.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json", "receiver.mjs"):
            shutil.copy(clients.HERE / "webhooks" / name, WORK)
        shutil.copy(clients.HERE / ".npmrc", WORK)
        clients.once("installed-receivers", [clients.HERE / "webhooks" / "package-lock.json"],
                     ["npm", "ci", "--no-progress", "--prefix", str(WORK)])
        needs = clients.HERE / "webhooks" / "requirements.txt"
        clients.once("installed-receivers-python", [needs],
                     [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                      "--upgrade", "--target", str(PYTHON), "-r", str(needs)])
    if str(PYTHON) not in sys.path:
        sys.path.insert(0, str(PYTHON))


class Chain:
    """Contracts of every kind, and calls to them."""

    def __init__(self, stack):
        self.rpc = stack.rpc
        built = json.loads((clients.WORK / "contracts.json").read_text())
        self.token = self.deploy(built["Token"]["bytecode"] + word(10 ** 24))
        self.item = self.deploy(built["Item"]["bytecode"])
        self.bag = self.deploy(built["Bag"]["bytecode"])
        # passes what it is sent on to BOB: CALL(gas, BOB, callvalue, 0, 0, 0, 0)
        code = "600060006000600034" + "73" + BOB[2:] + "5af100"
        self.purse = self.deploy(f"0x60{len(code) // 2:02x}80600b6000396000f3" + code)

    def done(self, tx):
        receipt = self.rpc("eth_getTransactionReceipt", tx)
        same(receipt["status"], "0x1", "a transaction of the test")
        return receipt

    def deploy(self, code):
        return self.done(self.rpc("eth_sendTransaction", {"from": ALICE, "data": code}))["contractAddress"]

    def call(self, to, signature, *words, value=0, sender=ALICE):
        selector = self.rpc("web3_sha3", "0x" + signature.encode().hex())[:10]
        tx = self.rpc("eth_sendTransaction", {"from": sender, "to": to, "value": hex(value),
                                              "data": selector + "".join(words)})
        self.done(tx)
        return tx

    def everything(self, item=7):
        """One of each kind, with a token that was not there before; gives the hash of the plain transfer."""
        tx = self.rpc("eth_sendTransaction", {"from": ALICE, "to": BOB, "value": hex(5)})
        self.call(self.token, "transfer(address,uint256)", word(BOB), word(50_000))
        self.call(self.item, "mint(address,uint256)", word(ALICE), word(item))
        self.call(self.item, "transferFrom(address,address,uint256)", word(ALICE), word(BOB), word(item))
        self.call(self.bag, "fill(address,uint256[],uint256[])", word(BOB), word(96), word(192), word(2), word(1),
                  word(2), word(2), word(10), word(20))
        self.rpc("eth_sendTransaction", {"from": ALICE, "to": self.purse, "value": hex(9)})
        return tx


def word(v):
    return v[2:].rjust(64, "0") if isinstance(v, str) else f"{v:064x}"


def sign(secret, *parts):
    return hmac.new(secret.encode(), b"".join(parts), hashlib.sha256).hexdigest()


def accept_b(secret, head, body, now=None):
    at = head["x-svc-timestamp"]
    is_fresh = at.isdecimal() and abs((now or time.time()) - int(at)) <= 300
    return is_fresh and hmac.compare_digest(sign(secret, at.encode(), b".", body), head["x-svc-signature"])


def accept_c(secret, head, body):
    return hmac.compare_digest("sha256=" + sign(secret, body), head["x-svc-signature"])


def judged(kind, secret, deliveries):
    """What the receiver in Node says to each of (headers, body, late)."""
    text = json.dumps({"kind": kind, "secret": secret,
                       "deliveries": [{"headers": h, "body": b.decode(), "late": late} for h, b, late in deliveries]})
    p = subprocess.run(["node", "receiver.mjs"], cwd=WORK, input=text, capture_output=True, text=True, timeout=60)
    same(p.returncode, 0, p.stderr)
    return [line.startswith("ok") for line in p.stdout.splitlines()]


def altered(body):
    return body.replace(b'"chain":"lux"', b'"chain":"moo"', 1)


_stack = None


def stack_of(env):
    global _stack
    if _stack is None:
        install()
        _stack = Stack(env.binary, env.webhooks)
        _stack.chain = Chain(_stack)
    return _stack


def test_receivers_of_public_packages(env):
    s = stack_of(env)
    sink = s.sink()
    hook = s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [BOB]},
                  standard_headers=True)
    for n in range(20):
        s.send(value=n)
    got = [sink.take() for _ in range(20)]
    from standardwebhooks.webhooks import Webhook, WebhookVerificationError
    import standardwebhooks.webhooks as package
    python = Webhook(hook["standard_secret"])
    for head, body in got:
        same(python.verify(body, head)["webhook_id"], hook["id"])
        assert accept_b(hook["signing_secret"], head, body)
    head, body = got[0]
    late = package.datetime.fromtimestamp(time.time() + 301, package.timezone.utc)
    for bad, clock in ((altered(body), None), (body, late)):
        try:
            with mock.patch.object(package, "datetime", wraps=package.datetime) as d:
                if clock is not None:
                    d.now.return_value = clock
                python.verify(bad, head)
        except WebhookVerificationError:
            continue
        raise AssertionError("a tampered or late delivery was accepted")
    assert not accept_b(hook["signing_secret"], head, altered(body))
    assert not accept_b(hook["signing_secret"], head, body, time.time() + 302)
    tries = [*((h, b, False) for h, b in got), (head, altered(body), False), (head, body, True)]
    same(judged("standard", hook["standard_secret"], tries), [True] * 20 + [False] * 2, "the package in Node")
    same(judged("b", hook["signing_secret"], tries), [True] * 20 + [False] * 2, "plain HMAC in Node")
    other = s.make("c", name="c", url=sink.url, event_type="NEW_BLOCK")
    s.send()
    got = [sink.take() for _ in range(2)]
    got = [(h, b) for h, b in got if h["x-svc-webhook-id"] == other["id"]]
    same(judged("c", other["secret"], [(*got[0], False), (got[0][0], altered(got[0][1]), False)]), [True, False])
    # the program itself judges a recorded request
    raw = b"POST /hook HTTP/1.1\r\n" + b"".join(f"{k}: {v}\r\n".encode() for k, v in head.items()) + b"\r\n" + body
    same(s.run("verify", "--variant=b", f"--secret={hook['signing_secret']}", text=raw).strip(), "genuine")
    s.ask("DELETE", f"/v1/webhooks/{hook['id']}", "b")
    s.ask("DELETE", f"/v1/webhooks/{other['id']}", "c")


def test_a_failing_receiver_pauses_and_resumes(env):
    s = stack_of(env)
    sink = s.sink(410)
    hook = s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [CAROL]})
    path = f"/v1/webhooks/{hook['id']}"
    s.send(to=CAROL)
    sink.take()
    s.until(lambda: s.get(path, "b")[1]["status"] == "paused", "410 pauses at once")
    s.send(to=CAROL)
    s.until(lambda: any(d["status"] == "skipped" for d in s.get(path + "/deliveries", "b")[1]["deliveries"]),
            "what matches while it is paused is recorded")
    sink.status = 200
    same(s.ask("PATCH", path, "b", {"status": "active", "replay": "skipped"})[0], 200)
    head, _ = sink.take()
    same(head["x-svc-sequence"], "2")
    s.ask("DELETE", path, "b")


def test_programs_beside_the_service(env):
    """Another process that closes the database takes nothing with it."""
    s = stack_of(env)
    s.run("keys", "list", "--project=pb")
    sink = s.sink()
    hook = s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [CAROL]})
    for n in range(3):
        s.send(to=CAROL, value=n)
        sink.take()
    s.run("keys", "list", "--project=pb")
    s.end(signal.SIGKILL)
    s.start()
    status, record = s.get(f"/v1/webhooks/{hook['id']}", "b")
    same((status, record["url"]), (200, sink.url), "a webhook that was made beside another program")
    blocks = s.get(f"/v1/webhooks/{hook['id']}/ledger?from_block=0", "b")[1]["blocks"]
    same([b["matches"] for b in blocks], [1, 1, 1])
    s.ask("DELETE", f"/v1/webhooks/{hook['id']}", "b")


def test_an_orderly_end(env):
    s = stack_of(env)
    start = time.monotonic()
    same(s.end(signal.SIGTERM), 0, "exit code after SIGTERM")
    assert time.monotonic() - start < 10, "it took its time to stop"
    assert '"level":"error"' not in "".join(s.lines), [x for x in s.lines if '"error"' in x][:3]
    s.start()


def test_end(env):
    if _stack is not None:
        _stack.close()
