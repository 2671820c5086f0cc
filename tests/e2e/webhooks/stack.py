"""A development node, candela-webhooks behind it, and receivers: what the suites of webhooks stand on.

Standard library only."""
import contextlib
import http.server
import json
import pathlib
import queue
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402 - found through the path just set

ALICE, BOB = harness.ACCOUNTS[0], harness.ACCOUNTS[1]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def sum_pages(path):
    """Brings the checksums of a SQLite file's pages up to date, which another program has written (sql_sums.c)."""
    data = bytearray(pathlib.Path(path).read_bytes())
    size = int.from_bytes(data[16:18], "big")
    for at in range(0, len(data), size):
        s1, s2 = at & 0xFFFFFFFF, at >> 32 ^ 0x5BD1E995
        words = struct.unpack_from(f"<{size // 4 - 2}I", data, at)
        for a, b in zip(words[::2], words[1::2]):
            s1 = s1 + a + s2 & 0xFFFFFFFF
            s2 = s2 + b + s1 & 0xFFFFFFFF
        struct.pack_into("<II", data, at + size - 8, s1, s2)
    pathlib.Path(path).write_bytes(data)


class Sink:
    """A receiver that keeps what it got. status: what it answers, or a function of (headers, body); tls: a context, then
    the headers have whom the client's certificate names under "peer"."""

    def __init__(self, status=200, tls=None):
        self.status = status
        self.got = queue.Queue()
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                head = {k.lower(): v for k, v in self.headers.items()}
                if tls is not None:
                    head["peer"] = dict(x[0] for x in self.connection.getpeercert()["subject"])["commonName"]
                status = sink.status(head, body) if callable(sink.status) else sink.status
                sink.got.put((head, body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 1024

            def handle_error(self, request, client_address):
                """A service that was killed leaves connections behind."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}/hook"

    def take(self, timeout=10):
        return self.got.get(timeout=timeout)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Stack:
    def __init__(self, node_program, program, node=None, port=0, chain=None, flags=(), env=None):
        """port: None for those of the program, one a variant; chain: where the node is, instead of its WebSocket; flags and env: of the service."""
        self.program = str(program)
        self.chain_url, self.flags, self.env = chain, flags, env
        self.port = port
        self.own_node = node is None
        self.node = node or harness.Node(node_program).wait_ready()
        self.rpc = self.node.rpc()
        self.dir = tempfile.TemporaryDirectory(prefix="candela-webhooks-")
        self.keys = {v: self.run("keys", "create", f"--variant={v}", f"--project=p{v}", "--tier=enterprise").strip()
                     for v in "abc"}
        self.sinks = []
        self.service = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def run(self, *args, text=None):
        place = [f"--data-dir={self.dir.name}", *(f for f in self.flags if f.startswith("--db="))]
        p = subprocess.run([self.program, *args, *([] if args[0] == "verify" else place)],
                           input=text, capture_output=True, timeout=600)
        assert p.returncode == 0, p.stderr.decode()
        return p.stdout.decode()

    def spawn(self):
        """Starts the service; gives a queue that gets the port on which it listens, None when it ends before."""
        chain = self.chain_url or self.node.url.replace("http", "ws") + "/ext/bc/C/ws"
        self.service = subprocess.Popen(
            [self.program, "serve", f"--data-dir={self.dir.name}", f"--chain=lux={chain}",
             *([] if self.port is None else [f"--port={self.port}"]), "--allow-http", "--allow-cidr=127.0.0.0/8", "--no-rate-limit", "--log-format=json", *self.flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env,
            restore_signals=False)  # SIGXFSZ stays ignored, for limits on the size of files
        self.lines = []
        ready = queue.Queue()

        def read(out):
            for line in out:
                self.lines.append(line)
                if m := re.search(r'"msg":"listening","port":(\d+)', line):
                    ready.put(int(m[1]))
            ready.put(None)

        threading.Thread(target=read, args=(self.service.stdout,), daemon=True).start()
        return ready

    def start(self):
        port = self.spawn().get(timeout=30)
        assert port is not None, "the service ended: " + "".join(self.lines[-5:])
        self.url = f"http://127.0.0.1:{port}"
        self.until(lambda: self.get("/ready", None)[0] == 200, "the service is not ready")

    def until(self, fn, what, timeout=20):
        end = time.monotonic() + timeout
        while not fn():
            assert time.monotonic() < end, what() if callable(what) else what
            time.sleep(0.02)

    def ask(self, method, path, variant, body=None):
        """(status, decoded answer)"""
        head = {"Content-Type": "application/json"}
        if variant == "a":
            head["Authorization"] = "Bearer " + self.keys["a"]
        elif variant:
            head["X-API-Key"] = self.keys[variant]
        data = None if body is None else json.dumps(body).encode()
        r = urllib.request.Request(self.url + path, data, head, method=method)
        try:
            with urllib.request.urlopen(r, timeout=30) as a:
                text = a.read()
                return a.status, json.loads(text) if text else None
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read() or b"null")

    def get(self, path, variant):
        return self.ask("GET", path, variant)

    def make(self, variant, **body):
        status, hook = self.ask("POST", "/v1/webhooks", variant, {"chain": "lux", **body})
        assert status == 201, hook
        return hook

    def sink(self, status=200, tls=None):
        s = Sink(status, tls)
        self.sinks.append(s)
        return s

    def send(self, to=BOB, value=16, **more):
        return self.rpc("eth_sendTransaction", {"from": ALICE, "to": to, "value": hex(value), **more})

    def settle(self):
        """Every block that there is, is in the ledger."""
        head = int(self.rpc("eth_blockNumber"), 16)
        self.until(lambda: self.get("/v1/health", None)[1]["chains"][0]["block_number"] >= head, "it does not follow")

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(self.dir.name + "/webhooks.db")) as db:
            return db.execute(sql).fetchall()

    def forward(self, seconds):
        """Time passes for all that waits: the service finds it due when it begins anew."""
        harness.same(self.end(signal.SIGTERM), 0, "exit code after SIGTERM")
        ms = seconds * 1000
        with contextlib.closing(sqlite3.connect(self.dir.name + "/webhooks.db")) as db, db:
            db.execute("UPDATE delivery SET due = due - ?, next = next - ? WHERE due IS NOT NULL", (ms, ms))
            db.execute("UPDATE queue SET due = due - ? WHERE due IS NOT NULL", (ms,))
            db.execute("UPDATE mail SET next = next - ? WHERE next IS NOT NULL", (ms,))
        sum_pages(self.dir.name + "/webhooks.db")
        self.start()

    def fill(self):
        """Webhooks that do well, fail and are paused, with deliveries, for pages to show."""
        good, bad = self.sink(), self.sink(503)
        for s in (good, bad):
            self.make("b", url=s.url + "?tenant=0042", event_type="address_activity", config={"addresses": [BOB]})
        paused = self.make("b", url=good.url + "/paused", event_type="address_activity",
                           config={"addresses": [BOB]}, ops_url=good.url + "/operations")
        self.ask("PATCH", f"/v1/webhooks/{paused['id']}", "b", {"status": "paused"})
        for _ in range(5):
            self.send()
        for _ in range(6): # and that one was paused
            good.take()
        for _ in range(5):
            bad.take()

    def end(self, sig=signal.SIGTERM):
        self.service.send_signal(sig)
        return self.service.wait(30)

    def close(self):
        if self.service is not None and self.service.poll() is None:
            self.end(signal.SIGKILL)
        for s in self.sinks:
            s.close()
        if self.own_node:
            self.node.kill()
        self.dir.cleanup()
