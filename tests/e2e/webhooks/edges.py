"""What surrounds the interfaces: where webhooks may not send to, what tiers and keys allow, the command line.

CANDELA_NAMES is the library made of names.c."""
import concurrent.futures
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import threading
import time

from faces import ADDR, Client, all_hold, ask
from harness import ACCOUNTS, ROOT, Skip, match, same

BOB = ACCOUNTS[1]
GOOD = {"a": {"events": ["transfer"], "chain": "lux"},
        "b": {"event_type": "nft_transfer", "chain": "lux", "config": {}},
        "c": {"name": "n", "event_type": "NEW_BLOCK", "chain": "lux"}}


class Service:
    """candela-webhooks with these flags, and nothing that makes testing easier unless it is among them."""

    def __init__(self, env, *flags, names=None):
        self.program, self.dir = str(env.webhooks), env.dir()
        self.environ = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}
        ws = env.node.url.replace("http", "ws") + "/ext/bc/C/ws"
        more = {}
        if names is not None:
            library = os.environ.get("CANDELA_NAMES")
            if library is None:
                raise Skip("CANDELA_NAMES is not set")
            more = {"LD_PRELOAD": library, "CANDELA_TEST_NAMES": str(names),
                    "ASAN_OPTIONS": "verify_asan_link_order=0"}
        self.process = subprocess.Popen(
            [self.program, "serve", f"--data-dir={self.dir}", f"--chain=lux={ws}", "--port=0", "--log-format=json", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environ | more)
        ports = queue.Queue()

        def read(out):
            for line in out:
                if m := re.search(r'"msg":"listening","port":(\d+)', line):
                    ports.put(m[1])
            ports.put(None)

        threading.Thread(target=read, args=(self.process.stdout,), daemon=True).start()
        port = ports.get(timeout=30)
        assert port is not None, "the service ended"
        self.url = "http://127.0.0.1:" + port
        end = time.monotonic() + 20
        while ask(self.url, "GET", "/ready").status != 200:
            assert time.monotonic() < end, "the service is not ready"
            time.sleep(0.02)

    def run(self, *args):
        p = subprocess.run([self.program, *args, f"--data-dir={self.dir}"], capture_output=True, text=True, timeout=30,
                           env=self.environ)
        return p.returncode, p.stdout, p.stderr

    def client(self, face, project=None, *flags):
        code, out, err = self.run("keys", "create", f"--variant={face}", f"--project={project or 'p' + face}", *flags)
        same(code, 0, err)
        return Client(self.url, face, out.strip())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        same(self.process.wait(30), 0, "exit code")


class Receiver:
    """Answers 200, or at /away a redirect to where; counts who connects."""

    def __init__(self, host, port=0, where=""):
        self.cnt = 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                receiver.cnt += 1
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(302 if self.path == "/away" else 200)
                self.send_header("Location", where)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer((host, port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# --- addresses of receivers -------------------------------------------------------------------------

NAMES = {  # what a name leads to: each is refused when one of its addresses is not on the public internet
    "private.test": "10.0.0.1", "loop.test": "127.0.0.1", "meta.test": "169.254.169.254", "mixed.test": "8.8.8.8 192.168.1.1",
    "last.test": "8.8.8.8 1.1.1.1 9.9.9.9 172.16.0.1", "six.test": "::1", "local6.test": "fd00::1", "link6.test": "fe80::1",
    "mapped.test": "::ffff:10.0.0.1", "nat64.test": "64:ff9b::7f00:1", "6to4.test": "2002:7f00:1::", "both.test": "8.8.8.8 ::1",
    "shared.test": "100.64.0.1", "zero.test": "0.0.0.0", "bench.test": "198.18.0.1", "doc.test": "203.0.113.1",
    "multi.test": "224.0.0.1", "future.test": "240.0.0.1", "wide.test": "255.255.255.255", "teredo.test": "2001::1",
    "doc6.test": "2001:db8::1", "multi6.test": "ff02::1", "any6.test": "::", "embed.test": "::ffff:169.254.169.254",
}
HOSTS = [  # numeric hosts, IPv6 with addresses inside, names of the machine, two readers who see two hosts, IDN
    "0", "1", "127.1", "127.0.1", "0x7f.1", "0x7f000001", "017700000001", "2130706433", "3232235777", "0xA9FEA9FE",
    "169.254.43518", "0251.0376.0251.0376", "127.0.0.1.", "127.000.000.001", "256.256.256.256", "127.0.0.1.1", "4294967297",
    "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.1", "192.0.2.1", "192.88.99.1",
    "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "255.255.255.255",
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::10.0.0.1]",
    "[2002:a00:1::]", "[2001::1]", "[2001:db8::1]", "[fe80::1]", "[fe80::1%25eth0]", "[fd12:3456::1]", "[ff02::1]", "[100::1]",
    "localhost", "LOCALHOST.", "a.localhost", "nowhere.test",
    "example.com@127.0.0.1", "127.0.0.1@example.com", "example.com%40127.0.0.1", "127.0.0.1%2f.example.com", "%6cocalhost",
    "①②⑦.0.0.1", "１２７.0.0.1", "ⓛocalhost", "bücher.test", "127。0。0。1", "example\u00ad.com", "exa\tmple.com", "exa mple.com",
    *NAMES,
]
URLS = [*(f"https://{h}/" for h in HOSTS), "https:///", "https://", "https:/10.0.0.1/", "//10.0.0.1/", "http://example.com/",
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com:70/", "unix:///run/x.sock", "https://good.test:22/",
        "https://good.test:6379/", "https://good.test:0/", "https://good.test:65536/", "https://good.test\\@10.0.0.1/",
        "https://good.test#@10.0.0.1/", "https://good.test/\r\nX: 1", "javascript:alert(1)", ""]


def names_file(env, names):
    path = os.path.join(env.dir(), "names")
    with open(path + ".new", "w") as f:
        f.writelines(f"{k} {v}\n" for k, v in names.items())
    os.replace(path + ".new", path)
    return path


def test_hostile_addresses_are_refused_at_creation(env):
    """Over all three interfaces, when it is made and when it is changed [8]."""
    assert len(URLS) >= 60
    with Service(env, "--no-rate-limit", names=names_file(env, NAMES | {"good.test": "8.8.8.8"})) as s:
        for face, good in GOOD.items():
            c = s.client(face)
            made = c("POST", "/v1/webhooks", good | {"url": "https://good.test/hook"})
            same(made.status, 201, "what leads to the public internet")
            path = "/v1/webhooks/" + made.json["id"]

            def check(url):
                for r in (c("POST", "/v1/webhooks", good | {"url": url}), c("PATCH", path, {"url": url})):
                    same(r.status, 422 if face == "c" else 400)
                    same(c.error(r)[1], "url")

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                wrong = [e for e in pool.map(lambda u: tried(check, u), URLS) if e]
            assert not wrong, f"{face}: {wrong[:5]}"
            listed = c("GET", "/v1/webhooks").json
            same([h["url"] for h in (listed if face == "c" else listed["webhooks"])], ["https://good.test/hook"])


def tried(check, url):
    try:
        check(url)
    except Exception as e:  # noqa: BLE001 - told with its row
        return f"{url!r}: {e}"


def test_a_name_that_changes_is_refused_at_the_attempt(env):
    """Every attempt looks the name up again; what it leads to now decides, and redirects are not followed [8]."""
    trap = Receiver("127.0.0.2")
    good = Receiver("127.0.0.1", trap.port, f"http://127.0.0.2:{trap.port}/")
    later = {"one.test": "127.0.0.2", "two.test": "127.0.0.1 127.0.0.2", "three.test": "10.0.0.1", "four.test": "::1",
             "five.test": "::ffff:127.0.0.2", "six.test": "169.254.169.254"}
    path = names_file(env, dict.fromkeys([*later, "still.test"], "127.0.0.1"))
    try:
        with Service(env, "--allow-http", "--allow-cidr=127.0.0.1/32", names=path) as s:
            c = s.client("b", "rebind", "--tier=enterprise")
            def create(n):
                return c("POST", "/v1/webhooks", GOOD["b"] | {"url": f"http://{n}:{good.port}/hook"}, Idempotency_Key=n)

            made = {n: create(n) for n in [*later, "still.test"]}
            hooks = {n: r.json["id"] for n, r in made.items()}
            hooks["away"] = c("POST", "/v1/webhooks", GOOD["b"] | {"url": f"http://127.0.0.1:{good.port}/away"}).json["id"]

            def test(n):
                return c("POST", f"/v1/webhooks/{hooks[n]}/test").json

            for n in [*later, "still.test"]:
                same(test(n)["status_code"], 200, n)
            with open(path, "w") as f:
                f.writelines(f"{k} {v}\n" for k, v in (later | {"still.test": "127.0.0.1"}).items())
            time.sleep(5.2)  # an answer serves for five seconds: the address was checked, whatever the name says
            for n in later:
                r = test(n)
                same([r["success"], r["status_code"], r["error"]], [False, None, "ssrf"], n)
                same(create(n).body, made[n].body, "what was answered once is answered again")
                same(c("POST", "/v1/webhooks", GOOD["b"] | {"url": f"http://{n}:{good.port}/hook"}, Idempotency_Key="x" + n).status,
                     400, "and new ones are refused")
            same(test("still.test")["status_code"], 200)
            r = test("away")
            same([r["success"], r["status_code"]], [False, 302])
            same([good.cnt, trap.cnt], [len(later) + 3, 0], "requests at the receiver, and where none may go")
    finally:
        good.close()
        trap.close()


# --- tiers and keys ---------------------------------------------------------------------------------

def test_tiers_and_keys(env):
    with Service(env, "--allow-http", "--allow-cidr=127.0.0.0/8") as s:
        for tier, rate, webhooks in (("free", 25, 5), ("payg", 300, 100), ("growth", 500, 250), ("enterprise", 1000, 500)):
            c = s.client("b", "tier-" + tier, "--tier=" + tier)
            r = c("GET", "/v1/usage")
            same([r.head["X-RateLimit-Limit"], r.json["webhooks"]["limit"]], [str(rate), webhooks], tier)
        c = s.client("b", "free")
        body = GOOD["b"] | {"url": "http://127.0.0.1:9999/"}
        made = [c("POST", "/v1/webhooks", body) for _ in range(6)]
        same([r.status for r in made], [201] * 5 + [403])
        same(c.error(made[5]), ("webhook_limit_reached", None))
        c("DELETE", "/v1/webhooks/" + made[0].json["id"])
        same(c("POST", "/v1/webhooks", body).status, 201, "room again")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda _: c("GET", "/v1/webhooks?limit=1"), range(120)))
        over = [r for r in got if r.status == 429]
        assert over and {r.status for r in got} == {200, 429}, [r.status for r in got]
        by_second = {}
        for r in got:
            by_second.setdefault(r.head["X-RateLimit-Reset"], []).append(r)
        assert max(sum(r.status == 200 for r in rs) for rs in by_second.values()) <= 25
        same({(r.head["Retry-After"], r.head["X-RateLimit-Remaining"], c.error(r)[0]) for r in over},
             {("1", "0", "rate_limited")})
        time.sleep(1.1)
        same(c("GET", "/v1/webhooks").status, 200, "in the next second")
        reader = s.client("b", "free", "--read-only", "--label=reader")
        same([reader("GET", "/v1/webhooks").status, reader("POST", "/v1/webhooks", body).status,
              reader("POST", "/v1/webhooks/preview", body).status], [200, 403, 200])
        same(reader.error(reader("DELETE", "/v1/webhooks/x"))[0], "insufficient_scope")
        short = s.client("c", "short", "--expires=1s")
        r = short("GET", "/v1/webhooks")
        same([r.status, r.head["X-Svc-Quota-Remaining"]], [200, "1000"])
        gone = re.search(r"(key_\w+) .*reader", s.run("keys", "list", "--project=free")[1])[1]
        same(s.run("keys", "revoke", gone, "--project=free")[0], 0)
        time.sleep(3.1)
        same([reader("GET", "/v1/webhooks").status, short("GET", "/v1/webhooks").status], [401, 401], "revoked, expired")
        same(s.run("projects", "set", "--project=free", "--tier=payg")[0], 0)
        time.sleep(2.1)
        same(c("GET", "/v1/usage").json["tier"], "payg", "beside the running service")


def test_one_interface_alone(env):
    """--variant: keys of others are not taken, and errors have the form of this one."""
    for face in "abc":
        with Service(env, "--variant=" + face) as s:
            for other in "abc":
                same(s.client(other)("GET", "/v1/webhooks").status, 200 if other == face else 401, f"{other} at {face}")
            r = ask(s.url, "GET", "/v1/webhooks")
            same([r.status, list(r.json)], [401, ["detail"] if face == "c" else ["error"]])
            same(r.head["WWW-Authenticate"], None if face == "b" else "Bearer")
            same(list(ask(s.url, "GET", "/v1/nothing").json), ["detail"] if face == "c" else ["error"])
            scheme, = ask(s.url, "GET", "/openapi.json").json["components"]["securitySchemes"].values()
            same(scheme["type"], "http" if face == "a" else "apiKey")


# --- the command line -------------------------------------------------------------------------------

def test_what_commands_say(env):
    good, other, nobody = env.dir(), env.dir(), env.dir()
    key = os.path.join(other, "key")
    with open(key, "w") as f:
        f.write("ab" * 32)
    os.chmod(key, 0o600)
    loose, garbage = os.path.join(other, "loose"), os.path.join(other, "garbage")
    for path, text in ((loose, "ab" * 32), (garbage, "this is no database" * 100)):
        with open(path, "w") as f:
            f.write(text)
    os.chmod(loose, 0o644)
    chain, base = "--chain=lux=ws://127.0.0.1:1/ws", f"--data-dir={good}"
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    rows = [  # arguments, exit code, what is printed
        ([], 0, r"(?s)Commands\n  serve .*Example\n  candela-webhooks serve --chain"),
        (["--help"], 0, "Commands"),
        (["--version"], 0, r"^candela-webhooks/\d+\.\d+\.\d+\n$"),
        (["serve", "--version"], 0, r"^candela-webhooks/\d+\.\d+\.\d+\n$"),
        (["serv"], 2, "did you mean serve"),
        *[([c, "--help"], 0, f"(?s)^candela-webhooks.*Example: candela-webhooks {c}.*Environment: ")
          for c in ("serve", "keys", "projects", "audit", "verify")],
        (["serve", "--no-rate-limits", chain], 2, "(?s)unknown flag --no-rate-limits.*candela-webhooks serve --help"),
        (["serve", "--port=65536", chain], 2, "--port must be between 0 and 65535"),
        (["serve", "--variant=d", chain], 2, "--variant must be one of a, b, c, all"),
        (["serve", base], 1, "--chain is wanted, such as lux=ws://"),
        (["serve", base, "--chain=lux"], 1, "--chain must be NAME=URL"),
        (["serve", base, "--chain=lux=ftp://x"], 1, "--chain lux must lead to ws://"),
        (["serve", base, chain, chain], 1, "--chain lux is there twice"),
        (["serve", base, chain, "--chain-http=moon=http://x/"], 1, "--chain-http moon=http://x/ belongs to no --chain"),
        (["serve", base, chain, "--jitter=2"], 1, "--jitter must be 0 to 1"),
        (["serve", base, chain, "--header-brand=a b"], 1, "--header-brand must be letters and digits"),
        (["serve", base, chain, "--allow-cidr=10"], 1, "10 is no network"),
        (["serve", base, chain, "--ca-file=/nothing.pem"], 1, "/nothing.pem"),
        (["serve", base, chain, "--smtp=mail.test"], 1, "does not begin with smtp://"),
        (["serve", base, chain, "--worker=../x"], 1, "--worker must be letters, digits"),
        (["serve", base, chain, "--db=mysql://x"], 1, "sqlite:PATH or postgresql://"),
        (["serve", base, chain, "--db=postgresql://nobody@127.0.0.1:1/x"], 1, 'port 1 failed: Connection refused'),
        (["serve", base, chain, f"--db=sqlite:{garbage}"], 1, "file is not a database"),
        (["serve", base, chain, f"--port={port}"], 1, f"cannot listen on 127.0.0.1 port {port}: address already in use"),
        (["serve", f"--data-dir={key}", chain], 1, "exists and is no directory"),
        (["serve", base, chain, f"--master-key-file={loose}"], 1, "others may read the master key"),
        (["serve", base, chain, f"--master-key-file={garbage}"], 1, "garbage"),
        (["keys"], 2, r"usage: candela-webhooks keys create\|list\|revoke"),
        (["keys", "drop", base], 2, "usage: "),
        (["keys", "create", base], 2, "--project is wanted"),
        (["keys", "create", base, "--project=p", "--variant=b", "--email=nobody"], 2, "--email must be one e-mail address"),
        (["keys", "create", base, "--project=p"], 2, 'there is no project "p"; give --variant'),
        (["keys", "create", base, "--project=p", "--variant=b"], 0, r"^sk_[0-9A-Za-z]{40}\n$"),
        (["keys", "create", base, "--project=p"], 0, r"^sk_[0-9A-Za-z]{40}\n$"),
        (["keys", "create", base, "--project=p", "--variant=c"], 1, 'project "p" is of variant b'),
        (["keys", "create", base, "--project=p", "--tier=growth"], 1, 'project "p" is of tier free'),
        (["keys", "list", base, "--project=q"], 1, "there is no such project"),
        (["keys", "list", base, "--project=p"], 0, r"(?m)^key_[0-9a-f]{16}  sk_….{4}  write  "),
        (["keys", "revoke", "key_x", base, "--project=p"], 1, "give --project and the id of one of its keys"),
        (["keys", "list", f"--data-dir={nobody}", "--project=p"], 1, "master.key is not there: no service has run here"),
        (["keys", "list", base, "--project=p", f"--master-key-file={key}"], 1, "sealed with another master key"),
        (["serve", base, chain, "--port=0", f"--master-key-file={key}"], 1, "sealed with another master key"),
        (["projects", "list", base], 0, r"(?m)^prj_\w+ +b +free "),
        (["projects", "set", base, "--project=p", "--tier=payg"], 0, "p is payg"),
        (["audit", base], 2, "one --chain is wanted"),
        (["audit", base, "--chain=lux=http://127.0.0.1:1/"], 1, "the node of lux does not answer: "),
        (["verify"], 2, "--secret is wanted"),
        (["verify", "--secret=x"], 1, "no empty line ends the head"),
    ]

    def check(args, code, text):
        p = subprocess.run([str(env.webhooks), *args], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL,
                           env={"PATH": os.environ["PATH"], "HOME": nobody})
        same(p.returncode, code, p.stdout + p.stderr)
        match(p.stdout if code == 0 else p.stderr, text)
        assert code == 0 or not p.stdout, "errors go to standard error"

    all_hold(rows, check)
    taken.close()
    body = b'{"id":"evt_1"}'
    mac = hmac.new(b"a secret", body, hashlib.sha256).hexdigest()
    for sent, variant, code in ((body, "a", 0), (body, "c", 0), (body + b" ", "c", 1), (body, "b", 1), (body, "standard", 1)):
        p = subprocess.run([str(env.webhooks), "verify", f"--variant={variant}", "--secret=a secret"], capture_output=True,
                           input=b"POST / HTTP/1.1\r\nX-Svc-Signature: sha256=" + mac.encode() + b"\r\n\r\n" + sent)
        same([p.returncode, p.stdout], [code, b"" if code else b"genuine\n"], variant)
    same(os.listdir(nobody), [], "commands that only look make nothing")


def test_settings_come_from_the_environment_too(env):
    place = env.dir()
    settings = {"DATA_DIR": place, "CHAIN": "lux=" + env.node.url + "/ext/bc/C/rpc", "PORT": "0", "LOG_FORMAT": "json"}
    first = subprocess.Popen([str(env.webhooks), "serve"], env={"PATH": os.environ["PATH"], **settings}, text=True,
                             stdout=subprocess.PIPE)
    try:
        line = json.loads(first.stdout.readline())
        same(line["msg"], "listening")
        second = subprocess.run([str(env.webhooks), "serve"], env={"PATH": os.environ["PATH"], **settings}, text=True,
                                capture_output=True, timeout=30)
        same([second.returncode, second.stdout], [1, ""])
        match(second.stderr, "worker main runs already")
        key = subprocess.run([str(env.webhooks), "keys", "create"], text=True, capture_output=True, timeout=30,
                             env={"PATH": os.environ["PATH"], **settings, "PROJECT": "p", "VARIANT": "b"})
        same(Client(f"http://127.0.0.1:{line['port']}", "b", key.stdout.strip())("GET", "/v1/webhooks").status, 200)
    finally:
        first.terminate()
        first.wait(30)


# --- the documentation -------------------------------------------------------------------------------

def test_the_first_webhook_as_documented(env):
    """The commands and programs of docs/webhooks.md, as they stand there but for the ports."""
    blocks = re.findall(r"(?ms)^```(sh|python|js)\n(.*?)^```", (ROOT / "docs/webhooks.md").read_text())
    start, make, receiver, act, others, node = (text for _, text in blocks)
    same([kind for kind, _ in blocks], ["sh", "sh", "python", "sh", "sh", "js"])
    place = pathlib.Path(env.dir())
    ports = [free_port() for _ in range(3)]

    def here(text):
        for name, port in zip(("8545", "8092", "9000"), ports):
            text = text.replace(name, str(port))
        text = text.replace("--in-memory", f"--in-memory --http-port={ports[0]}")
        return re.sub("localhost:809[13]", f"localhost:{ports[1]}", text.replace("serve ", f"serve --port={ports[1]} "))

    (place / "receiver.py").write_text(here(receiver))
    (place / "verify.mjs").write_text(node + 'const { kind, secret, headers, body } = JSON.parse(process.argv[2]);\n'
                                      'console.log((kind === "b" ? verifyB : verifyC)(secret, headers, Buffer.from(body)));\n')
    shell = subprocess.Popen(["bash"], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True, start_new_session=True,
                             env={"HOME": str(place), "PATH": f"{env.webhooks.parent}:{env.binary.parent}:{os.environ['PATH']}"})
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(x) for x in shell.stdout], daemon=True).start()

    def until(pattern):
        while True:
            if m := re.search(pattern, lines.get(timeout=20)):
                return m

    def say(text):
        shell.stdin.write(here(text) + "\n")
        shell.stdin.flush()

    try:
        say(start)
        until('"msg":"following"')
        say(make)
        secret = until(r'"signing_secret":"(\w+)"')[1]
        say(re.sub(r"whsec_\w+", secret, act).replace("receiver.py &", "receiver.py & sleep 1"))
        event = json.loads(until(r'1 (\{"id":"evt.*\})$')[1])
        same([event["event_type"], event["data"]["value"], event["data"]["direction"]], ["address_activity", "16", "incoming"])
        say("export KEY_A=$(candela-webhooks keys create --variant=a --project=a) "
            "KEY_C=$(candela-webhooks keys create --variant=c --project=c)\n" + others)
        until(r'"id":"wh-')
        c = until(r'"secret":"([\w-]{43})"')[1]
        for kind, head in (("b", lambda m: {"x-svc-timestamp": str(int(time.time())), "x-svc-signature": m}),
                           ("c", lambda m: {"x-svc-signature": "sha256=" + m})):
            body = "{}"
            text = f"{int(time.time())}.{body}" if kind == "b" else body
            mac = hmac.new(c.encode(), text.encode(), hashlib.sha256).hexdigest()
            for sent, want in ((mac, "true"), ("0" * 64, "false"), ("", "false")):
                p = subprocess.run(["node", "verify.mjs", json.dumps({"kind": kind, "secret": c, "headers": head(sent),
                                                                     "body": body})],
                                   cwd=place, capture_output=True, text=True, timeout=30)
                same(p.stdout.strip(), want, kind + p.stderr)
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(10)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
