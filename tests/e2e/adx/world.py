"""What the suites stand in: exchanges that are started, stopped and killed, bidders that do as they are told."""
import fcntl
import gzip
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[3]
KEPT = 2000  # responses of a suite
TESTDATA = pathlib.Path(os.environ.get("CANDELA_TESTDATA", ROOT / "../shared/testdata")) / "adx"


def packages():
    """Brings the packages of requirements.txt into build/e2e-adx/python, once, and makes them importable."""
    pins, target = pathlib.Path(__file__).with_name("requirements.txt"), ROOT / "build/e2e-adx/python"
    target.mkdir(parents=True, exist_ok=True)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = target / ".installed"
        if not stamp.exists() or stamp.read_text() != pins.read_text():
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                            "--upgrade", "--target", str(target), "-r", str(pins)], check=True, timeout=600)
            stamp.write_text(pins.read_text())
    sys.path.insert(0, str(target))


class Bidder:
    """An HTTP server on a port of its own. `answer(request) -> (status, body)` decides; GETs are remembered."""

    def __init__(self, answer=None):
        self.answer = answer or (lambda request: (204, b""))
        self.requests, self.notices = [], []
        bidder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):  # noqa: N802 - the library's name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = json.loads(body)
                bidder.requests.append(request)
                status, answer = bidder.answer(request)
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass

            def do_GET(self):  # noqa: N802
                bidder.notices.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Exchange:
    def __init__(self, world, config, *flags, data=None):
        self.world = world
        self.data = data or world.folder()
        self.config = self.data / f"config-{len(world.exchanges)}.json"
        self.write(config)
        self.flags = flags
        self.process = None
        world.exchanges.append(self)
        self.start()

    def write(self, config):
        self.has_others = bool(config.get("dsps"))  # bidders, whose documents are as valid as they make them
        self.config.write_text(json.dumps(config))

    def start(self):
        self.log = self.data / f"log-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [self.world.bin, "exchange", "--port=0", "--bind=127.0.0.1", f"--config={self.config}",
             f"--data-dir={self.data}", "--log-format=json", *([f"--db={self.world.db}"] if self.world.db else []),
             *self.flags], stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT)
        self.port = int(self.wait_log('"listening"')["port"])
        self.world.until(lambda: self.get("/ready")[0] == 200, "ready")

    def wait_log(self, word):
        def look():
            for line in self.log.read_text().splitlines():
                if word in line:
                    return json.loads(line)
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text())
            return None
        return self.world.until(look, word)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def call(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            c.request(method, path, body=body, headers=headers or {})
            r = c.getresponse()
            answer, head = r.read(), {k.lower(): v for k, v in r.getheaders()}
            if path.startswith("/rtb/bid") and r.status == 200:
                self.world.keep(answer, head)
            if path.startswith("/vast") and r.status == 200 and not getattr(self, "has_others", False):
                self.world.keep_document(answer.decode())
            return r.status, answer, head
        finally:
            c.close()

    def get(self, path, **headers):
        return self.call("GET", path, headers=headers)

    def bid(self, request, query="", **headers):
        head = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        body = request if isinstance(request, (bytes, str)) else json.dumps(request)
        status, answer, got = self.call("POST", "/rtb/bid" + query, body, head)
        return status, json.loads(answer) if answer else None, got

    def explain(self, name):
        status, body, _ = self.get("/rtb/explain/" + urllib.parse.quote(name, safe=""))
        return json.loads(body) if status == 200 else None

    def metric(self, name):
        for line in self.get("/metrics")[1].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None


class World:
    def __init__(self, program):
        self.bin = program
        self.db = None  # of the ledger; None: a file in the data directory
        self.passed = self.failed = 0
        self.exchanges, self.bidders = [], []
        self.responses = {}  # (major version, text) of what /rtb/bid answered; the values say nothing
        self.documents = {}  # by shape: what /vast answered
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="adx-e2e-"))

    def folder(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.root))

    def check(self, ok, text):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {text}", flush=True)
        return ok

    def until(self, fn, text, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = fn()
            if got:
                return got
            time.sleep(0.01)
        raise RuntimeError(f"waited in vain: {text}")

    def bidder(self, answer=None):
        self.bidders.append(Bidder(answer))
        return self.bidders[-1]

    def ledger(self, data, *accounts):
        """The books, checked by the program; None and a failed check when they do not balance."""
        where = f"--db={self.db}" if self.db else f"--data-dir={data}"
        done = subprocess.run([self.bin, "ledger", where, f"--account={','.join(accounts)}"], capture_output=True,
                              text=True, check=False)
        if not self.check(done.returncode == 0, f"ledger: {done.stderr.strip()}"):
            return None
        return {k: int(v) if isinstance(v, str) else v for k, v in json.loads(done.stdout).items()}

    def keep(self, answer, head):
        """Notes a response for the strict reader."""
        text = gzip.decompress(answer) if head.get("content-encoding") == "gzip" else answer
        if len(self.responses) < KEPT:
            self.responses[(head["x-openrtb-version"][0], text)] = None

    def keep_document(self, text):
        """Notes a document, one of those that are alike but for tokens and ids."""
        if len(self.documents) < KEPT:
            self.documents.setdefault(re.sub(r"\?b=[\w-]+|[0-9a-f]{16,}|:\d+/", "", text), text)

    def close(self):
        for e in self.exchanges:
            if e.process.poll() is None:
                e.kill()
        for b in self.bidders:
            b.close()
        shutil.rmtree(self.root, ignore_errors=True)


def campaign(name="c1", **more):
    return {"id": name, "advertiser": "0xaa", "seat": "house", "adomain": [f"{name}.example"], "cat": ["IAB8-9"],
            "cpm": "12.50", "budget": "1000.00", "start": "2020-01-01T00:00:00Z", "end": "2090-01-01T00:00:00Z",
            "creatives": [{"id": f"cr-{name}", "universal_ad_id": "ad-id.org:CNPA0484000H", "duration": 15,
                           "click": "https://a.example/?a=1&b=]]>", "title": "Fish & <Chips>",
                           "files": [{"url": "https://cdn.example/a.mp4", "type": "video/mp4", "w": 1920, "h": 1080,
                                      "bitrate": 4000}]}], **more}


def dsp(name, bidder, **more):
    return {"id": name, "url": bidder.url("/bid"), "seat": name.upper(), "timeout_ms": 500, **more}


SLOT = {"id": "s1", "publisher": "0xbb", "w": 1280, "h": 720, "floor_cpm": "1.00", "poddur": 60,
        "error_url": "https://pub.example/noad?c=[ERRORCODE]"}
MINIMAL = {"id": "1", "imp": [{"id": "1", "video": {"w": 1920, "h": 1080}}]}


def answer_of(bids, seat="A", cur="USD"):
    """A bidder that always bids this."""
    def answer(request):
        return 200, json.dumps({"id": request["id"], "cur": cur, "seatbid": [{"seat": seat, "bid": bids}]}).encode()
    return answer
