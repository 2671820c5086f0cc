"""Miners: honest ones that serve and are paid, and those that lie, flood, or never answer."""
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from world import Exchange, campaign, packages

packages()
from Crypto.PublicKey import ECC  # noqa: E402 - of the packages
from Crypto.Signature import eddsa  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"
SLOT = {"id": "s1", "publisher": "0xbb", "w": 1280, "h": 720, "floor_cpm": "1.00"}


class Origin:
    """An advertiser's server of files; `ranges` off answers everything whole."""

    def __init__(self, files, ranges=True):
        self.files, self.asked = files, []
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802 - the library's name
                origin.asked.append((self.path, self.headers.get("Range")))
                body = origin.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                wanted = re.match(r"bytes=(\d+)-(\d+)$", self.headers.get("Range") or "")
                if wanted and ranges:
                    first, last = int(wanted[1]), min(int(wanted[2]), len(body) - 1)
                    part = body[first:last + 1]
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
                else:
                    part = body
                    self.send_response(200)
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                self.wfile.write(part)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"


def with_file(origin, path, name="c1", **more):
    body = origin.files[path]
    c = campaign(name, **more)
    c["creatives"][0]["files"] = [{"url": origin.url(path), "type": "video/mp4", "w": 1280, "h": 720, "bitrate": 1000,
                                   "sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}]
    return c


class Miner:
    """The real program."""

    def __init__(self, w, exchange, *flags, data=None, name="miner", env=None):
        self.w, self.exchange = w, exchange
        self.data = data or w.folder()
        self.flags, self.env = flags, env
        self.process = None
        w.exchanges.append(self)
        self.start()

    def start(self):
        self.log = self.data / f"log-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [self.w.bin, "miner", "start", "--port=0", "--bind=127.0.0.1", f"--data-dir={self.data}",
             f"--exchange=http://127.0.0.1:{self.exchange.port}", "--log-format=json", *self.flags],
            stdout=self.log.open("wb"), stderr=subprocess.STDOUT, env={**os.environ, "WALLET": WALLET, **(self.env or {})})
        self.port = int(self.wait_log('"listening"')["port"])

    wait_log = Exchange.wait_log
    call = Exchange.call
    get = Exchange.get
    kill = Exchange.kill
    stop = Exchange.stop

    @property
    def world(self):
        return self.w

    def stats(self):
        return json.loads(self.get("/stats")[1])

    def ask(self, word):
        return subprocess.run([self.w.bin, "miner", word, f"--data-dir={self.data}"], capture_output=True, text=True,
                              check=False)


class Stranger:
    """A miner of our own making, that says what it is told to."""

    def __init__(self, exchange, key=None, port=None, wallet=WALLET):
        self.key = key or ECC.generate(curve="ed25519")
        self.public = self.key.public_key().export_key(format="raw")
        self.id = hashlib.sha256(self.public).digest()[:8].hex()
        self.ws = connect(f"ws://127.0.0.1:{exchange.port}/miner/connect", compression=None, open_timeout=10)
        self.url = f"http://127.0.0.1:{port}" if port else ""
        self.wallet = wallet
        self.seq = 0
        self.hello = self.read()
        self.challenge = bytes.fromhex(self.hello["challenge"])

    def read(self, timeout=10):
        return json.loads(json.loads(self.ws.recv(timeout=timeout))["payload"])

    def wait(self, kind, timeout=15):
        end = time.monotonic() + timeout
        while True:
            message = self.read(max(0.1, end - time.monotonic()))
            if message["type"] == kind:
                return message

    def message(self, kind, **members):
        self.seq += 1
        payload = json.dumps({"type": kind, "seq": self.seq, **members})
        sig = eddsa.new(self.key, "rfc8032").sign(b"adx/miner/v1m" + self.challenge + payload.encode())
        return json.dumps({"payload": payload, "sig": sig.hex()})

    def say(self, kind, **members):
        self.ws.send(self.message(kind, **members))

    def register(self):
        self.say("register", key=self.public.hex(), wallet=self.wallet, tunnel="direct", public_url=self.url,
                 cache_size=10 << 30)
        return self.wait("registered")

    def beat(self, have=()):
        self.say("heartbeat", public_url=self.url, tunnel_state="up", have=list(have),
                 cache={"size": 10 << 30, "used": 0, "objects": 0, "hits": 0, "misses": 0})

    def refusal(self, timeout=15):
        """What it is told before it is hung up on; None when it is not."""
        told = ""
        try:
            end = time.monotonic() + timeout
            while time.monotonic() < end:
                message = self.read(max(0.1, end - time.monotonic()))
                told = message.get("message", told)
        except ConnectionClosed:
            return told
        except TimeoutError:
            return None
        return None


def stats(x, name=None):
    return json.loads(x.get("/miner/stats" + (f"?id={name}" if name else ""))[1])


def fetch(url, **headers):
    host, path = re.match(r"http://([^/]+)(/.*)", url).groups()
    c = http.client.HTTPConnection(host, timeout=20)
    try:
        c.request("GET", path, headers=headers)
        r = c.getresponse()
        return r.status, r.read(), {k.lower(): v for k, v in r.getheaders()}
    finally:
        c.close()


def vast(x, query="slot=s1"):
    doc = x.get("/vast?" + query)[1].decode()
    files = [u.replace("&amp;", "&") for u in re.findall(r"<MediaFile[^>]*><!\[CDATA\[(.*?)\]\]>", doc)]
    beacon = re.search(r"/t/impression\?b=([\w-]+)", doc)
    return files, beacon and beacon[1]


def served(w, x):
    """A document that sends its player to a miner."""
    return w.until(lambda: [v for v in [vast(x)] if len(v[0]) == 2], "a player is sent to a miner")[0]


def run(w):
    earn(w)
    whole_objects(w)
    commands(w)
    tunnels(w)
    corrupt(w)
    rules(w)
    liars(w)
    proofs(w)
    daemon(w)
    kills(w)


def earn(w):
    """Assigned, fetched, audited, played, reported, paid at the end of the period, to the nano-dollar."""
    media = os.urandom(300_000)
    origin = Origin({"/a.mp4": media})
    x = Exchange(w, {"campaigns": [with_file(origin, "/a.mp4")], "slots": [SLOT]}, "--reward-period=6s")
    m = Miner(w, x, "--tunnel=direct", "--public-ip=127.0.0.1", "--cache-size=10MB")
    w.until(lambda: m.stats()["have"] == 1, "the object is fetched")
    files, token = served(w, x)
    w.check(files[0].startswith(f"http://127.0.0.1:{m.port}/media/") and files[1] == origin.url("/a.mp4"), str(files))
    status, body, head = fetch(files[0])
    w.check(status == 200 and body == media and head["accept-ranges"] == "bytes", "whole")
    w.check(head["access-control-allow-origin"] == "*" and "immutable" in head["cache-control"], "headers")
    status, body, head = fetch(files[0], Range="bytes=100-199")
    w.check(status == 206 and body == media[100:200] and head["content-range"] == "bytes 100-199/300000", "part")
    status, body, _ = fetch(files[0], Range="bytes=-50")
    w.check(status == 206 and body == media[-50:], "the end")
    w.check(fetch(files[0], Range="bytes=300000-")[0] == 416, "416")
    w.check(m.get("/media/" + "0" * 64)[0] == 404 and m.get("/media/zz")[0] == 404, "404")
    w.check(m.call("POST", "/health")[0] == 405 and json.loads(m.get("/health")[1])["tunnel"]["state"] == "up", "health")
    w.check(x.get(f"/t/impression?b={token}")[0] == 204, "paid")
    w.until(lambda: stats(x)["impressions"] == 1, "the impression counts")
    w.until(lambda: float(m.stats()["last_credit"] or 0) > 0, "the period is credited", 30)
    s = stats(x, m.stats()["id"])
    # 300000 + 100 + 50 bytes were sent, at most a tenth more than the object has is paid
    w.check(s["bytes_transferred"] == "300150" and s["rewards"]["base"] == "0.000500", str(s))
    w.check(s["rewards"]["bandwidth"] == "0.000030" and s["miners"] == {"registered": 1, "active": 1}, str(s))
    w.check(s["by_miner"][0]["wallet"] == WALLET.lower() and s["by_miner"][0]["state"] == "active", str(s["by_miner"]))
    ad = m.get("/ad?slot=s1&w=640&h=360")
    w.check(ad[0] == 200 and f"127.0.0.1:{m.port}/media/".encode() in ad[1], "/ad names this miner")
    w.check(m.get("/ad")[0] == 400, "/ad wants a slot")
    status, body, head = x.get("/film", Range="bytes=10-19")
    w.check(status == 206 and body == media[10:20] and head["content-range"] == "bytes 10-19/300000", f"film {status} {head}")
    w.check(x.get("/film", Range="bytes=299990-")[1] == media[-10:], "the film's end")
    w.check(x.get("/film", Range="nonsense")[1] == media, "the film's beginning")
    w.check(json.loads(m.ask("status").stdout)["exchange"]["registered"], "status")
    earned = json.loads(m.ask("earnings").stdout)
    w.check(earned["rewards"]["base"] == "0.000500", "earnings")
    w.check(m.get("/metrics")[1].count(b"adx_miner_media_bytes_total") > 0, "metrics")
    none = m.get("/ad?slot=s1", **{"User-Agent": "x"})
    w.check(none[0] == 200, "/ad again")
    done = m.ask("stop")
    w.check(done.returncode == 0 and m.process.wait(20) == 0, f"stop {done.stderr}")
    w.check(m.ask("status").returncode == 1, "status without a miner")
    x.stop()
    books = w.ledger(x.data, "fees", f"miner/{earned['by_miner'][0]['id']}")
    w.check(books and books["spent"] == books["earned"] + books["fees"] + books["rewards"], str(books))
    w.check(books and books["rewards"] >= 500000 + 30015, str(books))


def whole_objects(w):
    """Objects in many pieces; an origin that serves no ranges; one that serves something else."""
    big, small, other = os.urandom(9_000_000), os.urandom(1000), os.urandom(1000)
    origin = Origin({"/big": big, "/small": small})
    fake = Origin({"/other": other}, ranges=False)
    lying = with_file(fake, "/other", "c3")
    lying["creatives"][0]["files"][0]["sha256"] = hashlib.sha256(b"not this").hexdigest()
    config = {"campaigns": [with_file(origin, "/big", "c1"), with_file(origin, "/small", "c2"), lying], "slots": [SLOT]}
    x = Exchange(w, config)
    m = Miner(w, x, "--tunnel=direct", "--public-ip=127.0.0.1", "--cache-size=64MB")
    w.until(lambda: m.stats()["have"] == 2 and m.stats()["fetch_failures"] > 0, "two of three")
    w.check(m.stats()["assigned"] == 3, "three are assigned")
    name = hashlib.sha256(big).hexdigest()
    status, body, _ = m.get(f"/media/{name}")
    w.check(status == 200 and body == big, "a stream")
    status, body, head = m.get(f"/media/{name}", Range="bytes=0-")
    w.check(status == 206 and body == big[:4 << 20], "a range is cut")
    w.check(head["content-range"] == f"bytes 0-{(4 << 20) - 1}/9000000", head["content-range"])
    w.check(m.get("/media/" + lying["creatives"][0]["files"][0]["sha256"])[0] == 404, "what has another digest is not kept")
    m.stop()
    x.stop()


def commands(w):
    def run_miner(*args, env=None):
        return subprocess.run([w.bin, "miner", *args], capture_output=True, text=True, check=False, timeout=30,
                              env={**os.environ, **(env or {})})
    w.check(run_miner().returncode == 1 and "Usage" in run_miner().stdout, "no command")
    w.check(run_miner("dance").returncode == 1 and "Usage" in run_miner("dance").stdout, "unknown command")
    w.check(run_miner("version").stdout.startswith("candela-adx/"), "version")
    folder = w.folder()
    none = run_miner("start", "--port=0", f"--data-dir={folder}")
    w.check(none.returncode == 1 and "wallet" in none.stderr, f"no wallet: {none.stderr}")
    bad = run_miner("start", "--port=0", f"--data-dir={folder}", f"--wallet={WALLET}", "--cache-size=10")
    w.check(bad.returncode == 1 and "cache-size" in bad.stderr, f"cache size: {bad.stderr}")
    bad = run_miner("start", "--port=0", f"--data-dir={folder}", f"--wallet={WALLET}", "--tunnel=direct")
    w.check(bad.returncode == 1 and "public-ip" in bad.stderr, f"direct: {bad.stderr}")
    bad = run_miner("start", "--port=0", f"--data-dir={folder}", f"--wallet={WALLET}", "--exchange=gopher://x")
    w.check(bad.returncode == 1 and "exchange" in bad.stderr, f"exchange: {bad.stderr}")
    w.check(run_miner("start", "--tunnel=pigeon").returncode == 2, "no such tunnel")
    link = subprocess.run([w.bin.parent / "adx-miner"], capture_output=True, text=True, check=False)
    w.check(link.returncode == 1 and "Usage" in link.stdout, "adx-miner")
    link = subprocess.run([w.bin.parent / "adxd", "--port=0", f"--data-dir={folder}"], capture_output=True, text=True,
                          check=False)
    w.check(link.returncode == 1 and "node-id" in link.stderr, f"adxd: {link.stderr}")


def tunnels(w):
    """A fake client program: prints its URL, dies, is started again with growing pauses; secrets stay out of ps."""
    x = Exchange(w, {"slots": [SLOT]})
    folder = w.folder()
    script = folder / "tunnel.sh"
    script.write_text(f"""#!/bin/sh
echo x >> {folder}/starts
echo "$TUNNEL_AUTH_TOKEN" > {folder}/secret
echo $$ > {folder}/pid
echo "see https://docs.example/help for more"
if [ $(wc -l < {folder}/starts) -gt 1 ]; then echo "https://second.example:8443/ is ready"; fi
sleep 1000 &
wait
""")
    script.chmod(0o755)
    m = Miner(w, x, "--tunnel=cloudflare", f"--tunnel-cmd=exec {script}", env={"AUTH_TOKEN": "s3cret"})
    w.until(lambda: m.stats()["tunnel"]["state"] == "up", "up")
    w.check(m.stats()["tunnel"]["public_url"] == "https://docs.example/help", "the first URL of any kind is taken")
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    w.until(lambda: m.stats()["tunnel"]["restarts"] == 1, "started again")
    w.until(lambda: m.stats()["tunnel"]["state"] == "up", "up again")
    w.check((folder / "secret").read_text().strip() == "s3cret", "the secret is in the environment")
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    w.check("s3cret" not in shown, "and not on a command line")
    w.until(lambda: stats(x)["by_miner"][0]["public_url"].startswith("https://"), "the exchange hears of it")
    pid = int((folder / "pid").read_text())
    m.stop()
    w.check(not pathlib.Path(f"/proc/{pid}").exists(), "the program ends with the miner")
    missing = Miner(w, x, "--tunnel=ngrok", env={"PATH": "/nonexistent"})
    w.until(lambda: missing.stats()["tunnel"]["state"] == "down", "a program that is not there")
    w.check(missing.get("/health")[0] == 200, "is no reason not to serve")
    missing.stop()
    x.stop()


def corrupt(w):
    """A cached file that changed is never served."""
    media = os.urandom(5000)
    origin = Origin({"/a": media})
    x = Exchange(w, {"campaigns": [with_file(origin, "/a")], "slots": [SLOT]})
    m = Miner(w, x, "--tunnel=direct", "--public-ip=127.0.0.1", "--cache-size=1MB")
    name = hashlib.sha256(media).hexdigest()
    w.until(lambda: m.get(f"/media/{name}")[0] == 200, "served")
    path = m.data / "cache" / name
    path.write_bytes(b"x" + media[1:])
    w.check(m.get(f"/media/{name}")[0] == 404, "not served")
    w.until(lambda: m.get(f"/media/{name}")[:2] == (200, media), "fetched again")
    m.kill()
    path.write_bytes(media[:-1])
    m.start()
    w.until(lambda: m.get(f"/media/{name}")[:2] == (200, media), "after a kill too")
    again = subprocess.run([w.bin, "miner", "start", "--port=0", f"--data-dir={m.data}", f"--wallet={WALLET}"],
                           capture_output=True, text=True, check=False, timeout=20)
    w.check(again.returncode == 1, f"one miner for a directory: {again.stderr}")
    m.stop()
    x.stop()


def rules(w):
    """Who does not keep to the protocol is told why and cut off; the exchange goes on."""
    x = Exchange(w, {"slots": [SLOT]}, "--client-rate=0")
    honest = Stranger(x)
    honest.register()
    honest.beat()

    def refused(what, say, *words):
        s = Stranger(x)
        say(s)
        told = s.refusal()
        w.check(told is not None and all(word in told for word in words), f"{what}: {told}")

    refused("no JSON", lambda s: s.ws.send("hello"), "")
    refused("no text", lambda s: s.ws.send(b"\x00\x01"), "text")
    refused("not registered", lambda s: s.beat(), "register")
    refused("wallet", lambda s: s.say("register", key=s.public.hex(), wallet="0x12", tunnel="none", cache_size=1), "wallet")

    def other_key(s):
        s.say("register", key=Stranger(x).public.hex(), wallet=WALLET, tunnel="none", cache_size=1)
    refused("another's key", other_key, "signature")

    def old_challenge(s):
        s.challenge = honest.challenge
        s.say("register", key=s.public.hex(), wallet=WALLET, tunnel="none", cache_size=1)
    refused("another connection's challenge", old_challenge, "signature")

    def twice(s):
        s.register()
        message = s.message("report", deliveries=[])
        s.ws.send(message)
        s.ws.send(message)
    refused("a message again", twice, "seq")

    def flood(s):
        s.register()
        try:
            for _ in range(200):
                s.beat()
        except ConnectionClosed:
            pass
    refused("too many messages", flood, "")

    def large(s):
        try:
            s.ws.send("x" * 600_000)
        except ConnectionClosed:
            pass
    refused("too large a message", large, "")
    refused("too many deliveries", lambda s: (s.register(), s.say("report", deliveries=[{}] * 201)), "200")
    refused("javascript:", lambda s: s.say("register", key=s.public.hex(), wallet=WALLET, tunnel="none", cache_size=1,
                                           public_url="javascript:alert(1)"), "public_url")
    silent = Stranger(x)
    w.check(silent.refusal(20) is not None, "who never registers is hung up on")
    crowd = []
    status = None
    for _ in range(80):
        try:
            crowd.append(Stranger(x))
        except Exception as e:  # noqa: BLE001 - the client's own error holds the status
            status = str(e)
            break
    w.check(status and "503" in status and len(crowd) < 70, f"one address has a bounded number: {status} {len(crowd)}")
    for s in crowd:
        s.ws.close()
    double = Stranger(x, honest.key)
    double.register()
    w.check("another connection" in (honest.refusal() or ""), "the newest connection of a key counts")
    w.check(x.get("/health")[0] == 200 and x.metric("adx_miners_refused_total") > 10, "the exchange is well")
    w.check(x.get("/miner/stats?id=nothing")[0] == 400 and x.get("/miner/stats?id=" + "0" * 16)[0] == 404, "stats of nobody")
    double.ws.close()
    w.check(x.stop() == 0, "stops")


def liars(w):
    """Claims without content, other content, deliveries that were not paid, or of others: none is paid."""
    media = os.urandom(2000)
    origin = Origin({"/a": media})
    name = hashlib.sha256(media).hexdigest()
    x = Exchange(w, {"campaigns": [with_file(origin, "/a")], "slots": [SLOT]}, "--client-rate=0")
    nothing = Origin({})
    wrong = Origin({f"/media/{name}": b"y" * 2000})
    liar, cheat = Stranger(x, port=nothing.port), Stranger(x, port=wrong.port)
    for s in (liar, cheat):
        s.register()
        w.check([o["sha256"] for o in s.wait("assign")["objects"]] == [name], "assigned")
        s.beat([name])
    w.until(lambda: x.metric('adx_miner_audits_total{end="failed"}') == 2, "both are found out")
    w.check(all(len(vast(x)[0]) == 1 for _ in range(10)), "no player is sent to them")
    right = Origin({f"/media/{name}": media})
    good = Stranger(x, port=right.port)
    good.register()
    good.beat([name])
    files, token = served(w, x)
    ticket = files[0].split("m=")[1]
    liar.say("report", deliveries=[{"token": ticket, "bytes": "2000"}])
    good.say("report", deliveries=[{"token": ticket, "bytes": str(2**64 - 1)}, {"token": "x", "bytes": "1"},
                                   {"token": ticket[:-1] + ("A" if ticket[-1] != "A" else "B"), "bytes": "5"},
                                   {"bytes": 5}, 7, None])
    good.wait("report")
    w.check(stats(x)["impressions"] == 0, "what was not paid does not count")
    x.get(f"/t/impression?b={token}")
    w.until(lambda: stats(x, good.id)["impressions"] == 1, "what was paid does")
    w.check(stats(x, good.id)["bytes_transferred"] == "2200", "at most a tenth more than the object has")
    for _ in range(3):
        good.say("report", deliveries=[{"token": ticket, "bytes": "9999999"}])
        good.wait("report")
    w.check(stats(x, good.id)["bytes_transferred"] == "2200" and stats(x, liar.id)["impressions"] == 0, "once, to one")
    w.check(x.get(f"/t/impression?b={ticket}")[0] == 400, "a miner's token is no beacon")
    good.ws.close()
    w.until(lambda: len(vast(x)[0]) == 1, "who has gone is not used")
    for s in (liar, cheat):
        s.ws.close()
    x.stop()


def proofs(w):
    """Outcomes are checked for a fee; the program tells forged ones; who says yes to everything is left alone."""
    x = Exchange(w, {"slots": [SLOT]}, "--client-rate=0")
    honest = Miner(w, x)
    w.until(lambda: honest.stats()["exchange"]["registered"], "registered")
    yes = Stranger(x)
    yes.register()
    yes.beat()
    stop = threading.Event()

    def parrot():
        try:
            while not stop.is_set():
                try:
                    message = yes.read(1)
                except TimeoutError:
                    yes.beat()
                    continue
                if message["type"] == "proof_task":
                    yes.say("proof_task", task=message["task"], valid=False)
        except ConnectionClosed:
            pass
    thread = threading.Thread(target=parrot, daemon=True)
    thread.start()

    def bid(n):
        made = subprocess.run([w.bin, "seal-bid", f"--bidder=b{n}", "--value=2500000"], capture_output=True, text=True,
                              check=True)
        return x.call("POST", "/auction/sealed", json.dumps(json.loads(made.stdout)["body"]))[0]
    for n in range(6):
        w.check(bid(n) == 200, "bid")
        time.sleep(0.3)  # into different default auctions, more or less
    w.until(lambda: honest.stats()["proofs_checked"] >= 2 and x.metric('adx_miner_proofs_total{end="failed"}') >= 1,
            "proofs are checked, and wrong answers seen", 60)
    w.until(lambda: float(stats(x, honest.stats()["id"])["rewards"]["proof_fees"]) >= 0.002, "the fee is credited")
    w.check('"id":"' not in honest.log.read_text() or honest.process.poll() is None, "the miner is well")
    stop.set()
    thread.join(5)
    yes.ws.close()
    honest.stop()
    x.stop()


def daemon(w):
    """Both in one process: the miner serves for its own exchange, and has the fees of its auctions."""
    media = os.urandom(4000)
    origin = Origin({"/a": media})
    folder = w.folder()
    config = folder / "adx.json"
    config.write_text(json.dumps({"campaigns": [with_file(origin, "/a")], "slots": [SLOT]}))

    class Both(Miner):
        def start(self):
            self.log = self.data / f"log-{time.monotonic_ns()}"
            self.process = subprocess.Popen(
                [w.bin, "daemon", "--node-id=home", "--port=0", "--miner-port=0", "--bind=127.0.0.1",
                 f"--config={config}", f"--data-dir={self.data}", f"--wallet={WALLET}", "--tunnel=direct",
                 "--public-ip=127.0.0.1", "--cache-size=1MB", "--log-format=json", "--reward-period=4s"],
                stdout=self.log.open("wb"), stderr=subprocess.STDOUT)
            line = self.wait_log('"node"')
            self.port, self.miner_port, self.name = int(line["port"]), int(line["miner_port"]), line["miner"]
    d = Both(w, None, data=folder)
    w.until(lambda: d.get("/ready")[0] == 200, "ready")
    files, token = served(w, d)
    w.check(fetch(files[0])[:2] == (200, media), "media")
    for _ in range(3):
        _, t = vast(d)
        d.get(f"/t/impression?b={t}")
    d.get(f"/t/impression?b={token}")
    w.until(lambda: stats(d)["impressions"] == 1, "counts")
    w.until(lambda: stats(d)["rewards"]["auction_fees"] == "0.000004", "fees of its auctions", 30)
    w.check(d.stop() == 0, "stops")
    books = w.ledger(d.data, "fees", f"miner/{d.name}")
    w.check(books and books["spent"] == 4_000_000, str(books))


def kills(w):
    """The exchange is killed at any moment; miners come back, and nothing is counted twice."""
    media = os.urandom(1000)
    origin = Origin({"/a": media})
    port = None
    x = Exchange(w, {"campaigns": [with_file(origin, "/a")], "slots": [SLOT]}, "--client-rate=0")
    right = Origin({f"/media/{hashlib.sha256(media).hexdigest()}": media})
    key, billed, name = ECC.generate(curve="ed25519"), 0, hashlib.sha256(media).hexdigest()
    told = []
    for _ in range(4):
        s = Stranger(x, key, port=right.port)
        s.register()
        s.beat([name])
        for _ in range(3):
            files, token = served(w, x)
            told.append({"token": files[0].split("m=")[1], "bytes": "1000"})
            billed += x.get(f"/t/impression?b={token}")[0] == 204
        s.say("report", deliveries=told)
        s.wait("report")
        s.say("report", deliveries=told)
        x.kill()
        s.ws.close()
        x.start()
    s = stats(x, s.id)
    w.check(s["impressions"] == billed == 12 and s["bytes_transferred"] == "12000", f"{billed} {s}")
    x.stop()
    w.ledger(x.data)
