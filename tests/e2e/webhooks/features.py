"""What webhooks can be given beside an address: nodes behind TLS, who is told of operations, certificates, events by
name; each with a stack of its own.

Standard library and the openssl program."""
import contextlib
import hashlib
import hmac
import json
import pathlib
import shutil
import ssl
import subprocess
import time

import clients
import harness
from harness import Skip, same
import suite
from stack import ALICE, BOB, Stack


def openssl(*args):
    if shutil.which("openssl") is None:
        raise Skip("no openssl program")
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def certificate(folder, name="cert", names="DNS:localhost,IP:127.0.0.1", days=2):
    """A self-signed certificate and its key as PEM files."""
    cert, key = f"{folder}/{name}.pem", f"{folder}/{name}-key.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days),
            "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", cert)
    return cert, key


@contextlib.contextmanager
def stack(env, **how):
    s = Stack(env.binary, env.webhooks, **how)
    try:
        yield s
    finally:
        s.close()


class TlsNode(harness.Node):
    """A node that speaks HTTPS only, and can be started again at the same place."""

    def __init__(self, env, folder, port=0):
        cert, key = f"{folder}/cert.pem", f"{folder}/cert-key.pem"
        self.trust = ssl.create_default_context(cafile=cert)
        super().__init__(env.binary, "--http-tls-enabled", f"--http-tls-cert-file={cert}",
                         f"--http-tls-key-file={key}", data_dir=f"{folder}/node", port=port)
        self.wait_ready()

    def rpc(self, path="/"):
        return harness.Rpc("127.0.0.1", self.port, path, trust=self.trust)


def test_a_node_behind_tls(env):
    folder = env.dir()
    cert, _ = certificate(folder)
    node = TlsNode(env, folder)
    chain = f"wss://localhost:{node.port}/ext/bc/C/ws"
    try:
        with stack(env, node=node, chain=chain, flags=[f"--ca-file={cert}"]) as s:
            sink = s.sink()
            s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [BOB]})
            begin = time.monotonic()
            for n in range(20):
                tx = s.send(value=n + 1)
                same(json.loads(sink.take()[1])["data"]["tx_hash"], tx)
            took = time.monotonic() - begin
            # it is told of new blocks: asking, it would learn of one a second
            assert took < 10, f"20 blocks took {took:.1f} s: the node is polled"
            node.kill()
            node = TlsNode(env, folder, node.port)
            s.node, s.rpc = node, node.rpc()
            tx = s.send(value=77)
            same(json.loads(sink.take(30)[1])["data"]["tx_hash"], tx)
            lost = [x for x in s.lines if "WebSocket connection to the node" in x]
            assert lost, "nothing is said of a connection that is lost"
    finally:
        node.kill()


def test_a_node_that_is_not_believed(env):
    folder = env.dir()
    certificate(folder)
    other, _ = certificate(folder, "other")
    node = TlsNode(env, folder)
    try:
        s = subprocess.Popen([str(env.webhooks), "serve", f"--data-dir={folder}/w", "--port=0", "--log-format=json",
                              f"--chain=lux=wss://localhost:{node.port}/ext/bc/C/ws", f"--ca-file={other}"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said = next(line for line in s.stdout if '"node does not answer"' in line)
            harness.match(said, "(?i)certificate")
        finally:
            s.kill()
            s.wait()
    finally:
        node.kill()


def signed(hook_secret, head, body):
    want = hmac.new(hook_secret.encode(), head["x-svc-timestamp"].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(want, head["x-svc-signature"]), "the signature of an operational event"


def test_operations_are_told(env):
    with stack(env) as s:
        dead, ops, common = s.sink(410), s.sink(), s.sink()
        hook = s.make("b", url=dead.url + "?token=secret", event_type="address_activity",
                      config={"addresses": [BOB]}, ops_url=ops.url)
        other = s.make("b", url=dead.url, event_type="address_activity", config={"addresses": [BOB]})
        status, project = s.ask("PATCH", "/v1/notifications", "b", {"ops_url": common.url})
        same(status, 200, project)
        same(s.get("/v1/notifications", "b")[1]["ops_webhook"], project["ops_webhook"])
        s.send()
        head, body = ops.take()
        signed(hook["ops_secret"], head, body)
        event = json.loads(body)
        same((event["event_type"], event["data"]["webhook_id"], event["data"]["reason"], event["data"]["status"],
              event["data"]["last_status"], event["data"]["url"], event["webhook_id"], head["x-svc-sequence"]),
             ("webhook.paused", hook["id"], "gone", "paused", 410, dead.url, hook["ops_webhook"], "1"))
        head, body = common.take()
        signed(project["ops_secret"], head, body)
        same(json.loads(body)["data"]["webhook_id"], other["id"], "a webhook without a URL of its own")
        dead.status = 200
        same(s.ask("PATCH", f"/v1/webhooks/{hook['id']}", "b", {"status": "active"})[0], 200)
        head, body = ops.take()
        same((json.loads(body)["event_type"], head["x-svc-sequence"]), ("webhook.resumed", "2"))
        # it is in the ledger like any other, but not among the webhooks
        same(len(s.get("/v1/webhooks", "b")[1]["webhooks"]), 2)
        rows = f"/v1/webhooks/{hook['ops_webhook']}/deliveries"
        s.until(lambda: [d["status"] for d in s.get(rows, "b")[1]["deliveries"]] == ["delivered"] * 2,
                "what was told is not in the ledger")
        same(s.ask("POST", f"/v1/webhooks/{hook['ops_webhook']}/test", "b", {})[1]["success"], True)
        same(json.loads(ops.take()[1])["test"], True)
        same(s.ask("PATCH", f"/v1/webhooks/{hook['id']}", "b", {"ops_url": "http://10.0.0.1/"})[0], 400)
        status, answer = s.ask("PATCH", f"/v1/webhooks/{hook['id']}", "b", {"ops_url": None})
        same((status, "ops_url" in answer), (200, False))
        same(s.get(f"/v1/webhooks/{hook['ops_webhook']}", "b")[0], 404)


def test_certificates_of_webhooks(env):
    folder = env.dir()
    server = certificate(folder)
    pairs = [certificate(folder, name) for name in ("orders", "billing")]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*server)
    tls.verify_mode = ssl.CERT_REQUIRED
    for cert, _ in pairs:
        tls.load_verify_locations(cert)
    with stack(env, flags=[f"--ca-file={server[0]}"]) as s:
        sink = s.sink(tls=tls)
        texts = [[pathlib.Path(p).read_text() for p in pair] for pair in pairs]
        hooks = [s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [BOB]},
                        client_certificate=cert, client_key=key) for cert, key in texts]
        bare = s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [BOB]})
        names = {hooks[0]["id"]: "orders", hooks[1]["id"]: "billing"}

        def round_of(cnt):
            for _ in range(cnt):
                s.send()
            got = [sink.take()[0] for _ in range(2 * cnt)]
            same(sorted(h["x-svc-webhook-id"] for h in got), sorted(list(names) * cnt))
            for h in got:
                same(h["peer"], names[h["x-svc-webhook-id"]], "whose certificate was shown")

        round_of(10)
        path = f"/v1/webhooks/{bare['id']}/deliveries"
        s.until(lambda: s.get(path, "b")[1]["deliveries"][-1]["status"] == "retrying", "without a certificate it is refused")
        same(hooks[0]["client_certificate"]["subject"], "CN=orders")
        for db in pathlib.Path(s.dir.name).glob("webhooks.db*"):
            for _, key in texts:
                assert key.split()[5].encode() not in db.read_bytes(), "a key lies open in " + db.name
        s.end()
        s.start()
        round_of(3)
        # another pair from now on
        names[hooks[0]["id"]] = "billing"
        same(s.ask("PATCH", f"/v1/webhooks/{hooks[0]['id']}", "b",
                   {"client_certificate": texts[1][0], "client_key": texts[1][1]})[0], 200)
        round_of(3)


def test_logs_by_their_events(env):
    clients.install()
    with stack(env) as s:
        chain = suite.Chain(s)
        sink = s.sink()
        s.settle()
        names = ["event Transfer(address indexed from, address indexed to, uint256 value)",
                 "event Other(uint256)"]
        hook = s.make("b", url=sink.url, event_type="log", config={"addresses": [chain.token]}, abi=names)
        same(hook["abi"], names)
        chain.call(chain.token, "transfer(address,uint256)", suite.word(BOB), suite.word(50_000))
        same(json.loads(sink.take()[1])["data"]["decoded"],
             {"name": "Transfer", "args": {"from": ALICE, "to": BOB, "value": "50000"}})
        # another list holds from the next block on
        same(s.ask("PATCH", f"/v1/webhooks/{hook['id']}", "b", {"abi": names[1:]})[0], 200)
        chain.call(chain.token, "transfer(address,uint256)", suite.word(BOB), suite.word(1))
        same(json.loads(sink.take()[1])["data"]["decoded"], None)
        same(s.ask("PATCH", f"/v1/webhooks/{hook['id']}", "b", {"abi": None})[0], 200)
        chain.call(chain.token, "transfer(address,uint256)", suite.word(BOB), suite.word(2))
        same("decoded" in json.loads(sink.take()[1])["data"], False)
        # what was sent before is not looked at anew with what holds now
        harness.match(s.run("audit", f"--chain=lux={s.node.url}/ext/bc/C/rpc"), " 0 differences\n")
        same(s.ask("PATCH", f"/v1/webhooks/{hook['id']}", "b", {"abi": ["event A(uint257)"]})[1]["error"]["field"],
             "abi[0]")
