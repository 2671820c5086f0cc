#!/usr/bin/env python3
"""The HTTP server as other people's tools see it: h2spec, nghttp2's and curl's clients, OpenSSL.

usage: tests/e2e/http/conformance.py --server build/debug/test/http_echo --node build/debug/bin/candela

h2spec is built by Go out of the pinned module in h2spec/, into build/e2e-http. Ends with `N passed, M failed`.
"""
import argparse
import gzip
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import xml.etree.ElementTree

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402 - found through the path just set
from harness import Skip, match, same  # noqa: E402

WORK = HERE.parents[2] / "build" / "e2e-http"

# Of h2spec's cases the one that cannot pass where HTTP/1 is spoken too: what is no preface is read as a request
# of HTTP/1, and refused as one.
NOT_HTTP2 = "Sends invalid connection preface"


class Server:
    """An http_echo process; with tls, a certificate of its own."""

    def __init__(self, binary, tls=False, mode=None):
        self.dir = tempfile.mkdtemp(prefix="candela-http-")
        self.cert, self.key = f"{self.dir}/cert.pem", f"{self.dir}/key.pem"
        args = [str(binary), "0"]
        if tls:
            self.certify("localhost")
            args += [self.cert, self.key] + ([mode] if mode else [])
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[-1])
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"

    def certify(self, name):
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "365",
            "-keyout", self.key, "-out", self.cert + ".new", "-subj", f"/CN={name}",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        os.replace(self.cert + ".new", self.cert)

    def context(self):
        return ssl.create_default_context(cafile=self.cert)

    def dial(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def dial_tls(self, context=None):
        return (context or self.context()).wrap_socket(self.dial(), server_hostname="localhost")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(10)
        shutil.rmtree(self.dir, ignore_errors=True)
        same(code, 0, "exit code of the server")


def run(*args, timeout=300, stdin=None, ok=True):
    p = subprocess.run(args, capture_output=True, text=True, timeout=timeout, input=stdin)
    assert not ok or p.returncode == 0, f"{args[0]}: exit {p.returncode}: {p.stderr[-300:]}"
    return p.stdout + p.stderr


def tool(name, package):
    if shutil.which(name) is None:
        raise Skip(f"{name} is not installed (package {package})")


# ---- HTTP/2 ----

def h2spec():
    """Builds it once."""
    WORK.mkdir(parents=True, exist_ok=True)
    binary = WORK / "h2spec"
    sources = list((HERE / "h2spec").iterdir())
    if not binary.exists() or binary.stat().st_mtime < max(f.stat().st_mtime for f in sources):
        tool("go", "golang-go")
        env = dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false")
        p = subprocess.run(["go", "build", "-p", "1", "-trimpath", "-o", binary, "github.com/summerwind/h2spec/cmd/h2spec"],
                           cwd=HERE / "h2spec", env=env, capture_output=True, text=True, timeout=600)
        if p.returncode != 0:
            raise Skip(f"h2spec cannot be built: {p.stderr.strip().splitlines()[-1]}")
    return binary


def h2spec_cases(env, server, *flags):
    """Runs all cases: (those that passed, the names of the others)."""
    report = f"{server.dir}/h2spec.xml"
    run(h2spec(), "-p", str(server.port), "-P", "/", "-o", "5", "-j", report, *flags, timeout=600, ok=False)
    passed, failed = 0, []
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None or case.find("skipped") is not None
        failed += [case.get("classname")] if bad else []
        passed += not bad
    print(f"h2spec {' '.join(flags)}: {passed} of {passed + len(failed)} cases; not: {failed}")
    env.passed += passed - 1  # this test itself is counted as one
    return passed, failed


def test_h2spec_over_cleartext(env):
    with Server(env.binary) as server:
        passed, failed = h2spec_cases(env, server)
        assert set(failed) <= {NOT_HTTP2}, failed
        assert passed >= 144, passed


def test_h2spec_over_tls(env):
    with Server(env.binary, tls=True) as server:
        passed, failed = h2spec_cases(env, server, "-t", "-k", "-S")
        same(failed, [])
        assert passed >= 146, passed


def test_h2load(env):
    tool("h2load", "nghttp2-client")
    for tls in (False, True):
        with Server(env.binary, tls) as server:
            with open(f"{server.dir}/body", "w") as f:
                f.write("x" * 46)
            out = run("h2load", "-n", "20000", "-c", "20", "-m", "20", "-d", f.name, server.url + "/")
            match(out, "20000 succeeded, 0 failed, 0 errored")
            out = run("h2load", "-n", "6", "-c", "2", "-m", "3", server.url + "/big")
            match(out, "6 succeeded, 0 failed, 0 errored")
            match(out, str(6 * (64 << 20)))


def test_nghttp(env):
    tool("nghttp", "nghttp2-client")
    with Server(env.binary) as server:
        with open(f"{server.dir}/body", "wb") as f:
            f.write(os.urandom(1 << 20))
        for flags in ([], ["-u"]):  # prior knowledge, then Upgrade
            out = run("nghttp", "-v", "-n", *flags, "-d", f.name, server.url + "/grpc")
            match(out, r"\) :status: 200")
            match(out, r"\) grpc-status: 0")
            same(out.count("DATA frame <length") > 64, True, "frames of data both ways")
        out = run("nghttp", "-v", "-n", server.url + "/nowhere")
        match(out, r"\) :status: 404")


def test_curl(env):
    tool("curl", "curl")
    with Server(env.binary, tls=True) as tls, Server(env.binary) as plain:
        body = f"{tls.dir}/body"
        with open(body, "wb") as f:
            f.write(os.urandom(3 << 20))
        want = pathlib.Path(body).read_bytes()
        for server, flag in ((plain, "--http1.0"), (plain, "--http1.1"), (plain, "--http2"),
                             (plain, "--http2-prior-knowledge"), (tls, "--http1.1"), (tls, "--http2")):
            got = f"{tls.dir}/got"
            version = run("curl", "-sS", flag, "--cacert", tls.cert, "--data-binary", f"@{body}", "-o", got,
                          "-w", "%{http_version} %{response_code}", server.url + "/echo")
            same(pathlib.Path(got).read_bytes() == want, True, flag)
            same(version, {"--http1.0": "1.1", "--http1.1": "1.1"}.get(flag, "2") + " 200", flag)
            run("curl", "-sS", flag, "--cacert", tls.cert, "--compressed", "-o", got, server.url + "/text")
            same(pathlib.Path(got).read_text().splitlines()[-1], "line 19995")
            refused = run("curl", "-sS", flag, "--cacert", tls.cert, "-X", "PUT", "-D", "-", server.url + "/text")
            match(refused.lower(), "allow: get, head\n")


# ---- TLS ----

def s_client(server, *flags, stdin="", timeout=20):
    return run("openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", *flags, stdin=stdin, timeout=timeout,
               ok=False)


def test_https(env):
    with Server(env.binary, tls=True) as server:
        with urllib.request.urlopen(server.url + "/", context=server.context()) as r:
            same(json.loads(r.read()), {"id": 1, "result": "12345678"})
        conn = http.client.HTTPSConnection("localhost", server.port, context=server.context())
        for size in (0, 1, 16383, 16384, 16385, 100000, 5 << 20):
            body = os.urandom(size)
            conn.request("POST", "/echo", body)
            r = conn.getresponse()
            same((r.status, r.read() == body), (200, True), f"{size} bytes")
        conn.request("GET", "/text", headers={"Accept-Encoding": "gzip"})
        r = conn.getresponse()
        same(r.headers["Content-Encoding"], "gzip")
        same(len(gzip.decompress(r.read()).splitlines()), 4000)
        conn.close()
        with server.dial_tls() as s:  # a pipeline in one record
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            got = b""
            while got.count(b"12345678") < 50:
                part = s.recv(65536)
                assert part, "cut off"
                got += part


def test_versions_and_ciphers(env):
    weak = ["-cipher", "ALL:COMPLEMENTOFALL@SECLEVEL=0"]
    with Server(env.binary, tls=True) as server:
        for flag in ("-tls1", "-tls1_1"):
            match(s_client(server, flag, *weak), "alert protocol version|no protocols available")
        match(s_client(server, "-tls1_2"), r"New, TLSv1\.2, Cipher is ECDHE-ECDSA-AES256-GCM-SHA384")
        match(s_client(server, "-tls1_3"), r"New, TLSv1\.3, Cipher is TLS_AES_256_GCM_SHA384")
        for cipher in ("ECDHE-ECDSA-AES128-SHA256", "AES256-SHA", "AECDH-NULL-SHA", "ECDHE-ECDSA-AES256-CCM8"):
            match(s_client(server, "-tls1_2", "-cipher", cipher + "@SECLEVEL=0"), "handshake failure|Cipher is \\(NONE\\)")
        out = s_client(server, "-tls1_2", "-alpn", "h2,http/1.1")
        match(out, "ALPN protocol: h2")
        match(out, "Compression: NONE")
        match(out, "Secure Renegotiation IS supported")
        match(s_client(server, "-tls1_2", "-alpn", "imap"), "no application protocol")
        out = s_client(server, "-tls1_2", stdin="R\n")
        match(out, "RENEGOTIATING")
        match(out, "no renegotiation|unexpected message|handshake failure|closed")
        match(s_client(server, "-tls1_3", "-early_data", "/dev/null"), "Early data was not sent|not sent")
        with urllib.request.urlopen(server.url + "/", context=server.context()) as r:
            same(r.status, 200, "afterwards")


def test_certificates(env):
    with Server(env.binary, tls=True) as server:
        for context, why in ((ssl.create_default_context(), "self.signed certificate"),):
            try:
                server.dial_tls(context).close()
                raise AssertionError("an unknown certificate was accepted")
            except ssl.SSLCertVerificationError as e:
                match(str(e), why)
        old = server.dial_tls()
        for ask in (lambda: None, lambda: server.process.send_signal(signal.SIGHUP)):
            before = ssl.get_server_certificate(("127.0.0.1", server.port))
            server.certify("another")
            ask()  # the first is found by itself
            while ssl.get_server_certificate(("127.0.0.1", server.port)) == before:
                match(server.process.stdout.readline(), "^(new certificate|TLS key: .*)$")  # it may look between the files
        old.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        match(old.recv(1000).decode(), "^HTTP/1.1 200 OK")
        old.close()
        pathlib.Path(server.key).write_text("nothing")
        server.process.send_signal(signal.SIGHUP)
        while (line := server.process.stdout.readline()) == "new certificate\n":
            pass  # the signal and the look at the files may both have told of the last one
        match(line, "^TLS key: ")
        server.dial_tls().close()
        p = subprocess.run([str(env.binary), "0", server.cert, server.key], capture_output=True, text=True, timeout=20)
        same(p.returncode, 1)
        match(p.stderr, "^error: TLS key: ")


def test_mutual(env):
    with Server(env.binary, tls=True, mode="mutual") as server:
        try:
            with server.dial_tls() as s:
                s.recv(10)
            raise AssertionError("a client without a certificate was let in")
        except ssl.SSLError as e:
            match(str(e), "CERTIFICATE_REQUIRED|certificate required")
        context = server.context()
        context.load_cert_chain(server.cert, server.key)
        with server.dial_tls(context) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            match(s.recv(1000).decode(), "^HTTP/1.1 200 OK")


def test_slow_and_silent_clients(env):
    """Time-outs of one second hold on every layer, however the client drips."""
    with Server(env.binary, tls=True, mode="quick") as server:
        def drip(s, data):
            start = time.monotonic()
            try:
                for i in range(len(data)):
                    s.sendall(data[i:i + 1])
                    time.sleep(0.05)
                    if time.monotonic() - start > 10:
                        raise AssertionError("still welcome after ten seconds")
            except OSError:
                pass
            return s

        silent = [server.dial() for _ in range(200)]  # no handshake at all
        start = time.monotonic()
        with server.dial_tls() as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            match(s.recv(1000).decode(), "^HTTP/1.1 200 OK", "beside 200 silent connections")
        assert time.monotonic() - start < 5
        threads = []
        results = {}

        def spawn(name, fn):
            def body():
                try:
                    results[name] = fn()
                except Exception as e:  # noqa: BLE001 - reported below
                    results[name] = repr(e)
            threads.append(threading.Thread(target=body))
            threads[-1].start()

        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
        spawn("hello", lambda: drip(server.dial(), hello).close() or "closed")
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 400
        spawn("head", lambda: drip(server.dial_tls(), request).recv(100)[:12].decode())
        post = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400\r\n\r\n" + b"a" * 300
        spawn("body", lambda: drip(server.dial_tls(), post).recv(100)[:12].decode())
        spawn("idle", lambda: server.dial_tls().recv(100))
        for t in threads:
            t.join()
        same(results.get("hello"), "closed")
        # The answer may be lost when bytes are still on their way to a closed socket.
        assert results.get("head") == "HTTP/1.1 408" or "Error" in results.get("head"), results
        assert results.get("body") == "HTTP/1.1 408" or "Error" in results.get("body"), results
        same(results.get("idle"), b"")
        for s in silent:
            s.settimeout(10)
            same(s.recv(10), b"")
            s.close()


def test_plain_http_to_https(env):
    with Server(env.binary, tls=True) as server:
        with server.dial() as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            match(s.recv(1000).decode(), "^HTTP/1.1 400 Bad Request\r\n")


def test_node(env):
    """The node itself over HTTPS, by both versions; what it says when its files are no good."""
    tool("curl", "curl")
    call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
    with Server(env.binary, tls=True) as files:
        flags = ["--http-tls-enabled", f"--http-tls-cert-file={files.cert}", f"--http-tls-key-file={files.key}"]
        node = harness.Node(env.node_binary, *flags).wait_ready()
        try:
            for version in ("1.1", "2"):
                out = run("curl", "-sS", f"--http{version}", "--cacert", files.cert, "-H", "Content-Type: application/json",
                          "-d", call, "-w", " %{http_version}", f"https://localhost:{node.port}/")
                same(out.split(), ['{"jsonrpc":"2.0","id":1,"result":"0x539"}', version])
            with files.context().wrap_socket(socket.create_connection(("127.0.0.1", node.port)),
                                             server_hostname="localhost") as s:  # wss
                s.sendall(b"GET /v1/bc/C/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                          b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
                match(s.recv(1000).decode(), "^HTTP/1.1 101 ")
                text = call.encode()
                s.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
                match(s.recv(1000)[2:].decode(), '"result":"0x539"')
            files.certify("another")
            node.process.send_signal(signal.SIGHUP)
            out = run("curl", "-sS", "--cacert", files.cert, f"https://localhost:{node.port}/v1/health")
            same(json.loads(out)["healthy"], True)
        finally:
            same(node.end(), 0)
        for flags, why in (([], "HTTPS needs a certificate and a key"),
                           ([f"--http-tls-cert-file={files.key}", f"--http-tls-key-file={files.key}"], "TLS certificate"),
                           (["--http-tls-cert-file=/none", f"--http-tls-key-file={files.key}"], "/none: cannot open")):
            p = subprocess.run([env.node_binary, "--in-memory", "--http-port=0", "--http-tls-enabled", *flags],
                               capture_output=True, text=True, timeout=30)
            same(p.returncode, 1)
            match(p.stderr, "^error: .*" + why)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--server", required=True, help="the http_echo program")
    args.add_argument("--node", required=True, help="the candela program")
    opt = args.parse_args()
    env = harness.Env(pathlib.Path(opt.server).resolve())
    env.node_binary = str(pathlib.Path(opt.node).resolve())
    harness.run_suite(sys.modules[__name__], env)
    print(f"{env.passed} passed, {env.failed} failed")
    return 1 if env.failed else 0


if __name__ == "__main__":
    sys.exit(main())
