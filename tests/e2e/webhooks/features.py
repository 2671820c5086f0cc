"""What webhooks can be given beside an address: nodes behind TLS, each with a stack of its own.

Standard library and the openssl program."""
import contextlib
import json
import shutil
import ssl
import subprocess
import time

import harness
from harness import Skip, same
from stack import BOB, Stack


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
