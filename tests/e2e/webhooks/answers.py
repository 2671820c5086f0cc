"""Receivers over TLS, HTTP/2 and HTTP/1.1 that answer in every way, and what the whole service makes of it."""
import datetime
import json
import queue
import shutil
import socket
import subprocess
import tempfile
import threading

import clients
from harness import same
from mail import certificate
from stack import BOB, Stack
from suite import WORK, accept_c, install

LIMIT_S = 15
SANITISED_KIB = 1 << 30  # sanitizers reserve more than any program, and keep what is freed

# path: (state, status, error), and the least and the most seconds to the next attempt
ANSWERS = {
    "ok": ("delivered", 200, None), "created": ("delivered", 201, None), "none": ("delivered", 204, None),
    "odd": ("delivered", 299, None), "hints": ("delivered", 200, None), "chunks": ("delivered", 200, None),
    "long": ("delivered", 200, None), "bomb": ("delivered", 200, None), "drips": ("delivered", 200, None),
    "silent": ("retrying", None, "timeout", 1, 1), "gone": ("failed", 410, "status"),
    "later": ("retrying", 429, "status", 120, 120), "date": ("retrying", 503, "status", 597, 600),
    "breaks": ("retrying", None, "protocol", 1, 1), "floods": ("retrying", None, "protocol", 1, 1),
    **{f"moved?{n}": ("retrying", n, "status", 1, 1) for n in (301, 302, 303, 307, 308)},
}


class Receiver:
    def __init__(self, key, cert, *more):
        script = WORK / "answers.mjs"
        shutil.copy(clients.HERE / "webhooks" / "answers.mjs", script)
        self.process = subprocess.Popen(["node", str(script), key, cert, *more], stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())
        self.got = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.got.put(json.loads(line))

    def close(self):
        self.process.kill()
        self.process.wait()


class Setting:
    """A service that believes one certificate, and webhooks of C for each address that a transfer goes to."""

    def __init__(self, env, folder):
        install()
        self.key, self.cert = certificate(folder)
        self.stack = Stack(env.binary, env.webhooks, flags=[f"--ca-file={self.cert}"])
        self.open = []

    def receiver(self, *more):
        self.open.append(Receiver(self.key, self.cert, *more))
        return self.open[-1]

    def hook(self, url, to=BOB):
        return self.stack.make("c", url=url, name="of a test", event_type="ADDRESS_ACTIVITY", filters={"to": to})

    def newest(self, hook):
        path = f"/v1/webhooks/{hook['id']}/deliveries"
        listed = self.stack.get(path, "c")[1]
        return listed and self.stack.get(f"{path}/{listed[0]['id']}", "c")[1]

    def first_attempt(self, hook, timeout=20):
        """The delivery after its first attempt."""
        self.stack.until(lambda: (self.newest(hook) or {}).get("attempts"), "no attempt", timeout)
        return self.newest(hook)

    def close(self):
        self.stack.close()
        for r in self.open:
            r.close()


def seconds(text):
    return datetime.datetime.fromisoformat(text).timestamp()


def check_answer(s, hook, path, want):
    d = s.first_attempt(hook, LIMIT_S + 10)
    state, status, error, *wait = want
    a = d["attempts"][0]
    same((d["status"], a["status_code"], a["error"] or None), (state, status, error), path)
    if wait:
        end = seconds(a["at"]) + a["response_time_ms"] / 1000
        waits = seconds(d["next_attempt_at"]) - end
        assert wait[0] - 0.1 <= waits <= wait[1] + 0.5, f"{path}: {waits} s to the next attempt"
    return a


def test_every_answer_over_http2_and_http1(env):
    with tempfile.TemporaryDirectory() as folder:
        s = Setting(env, folder)
        try:
            receivers = {"2.0": s.receiver(), "1.1": s.receiver("plain")}
            # headers past all limits end the whole connection, so nothing else may be under way on it
            alone = {"2.0": s.receiver(), "1.1": s.receiver("plain")}
            before = memory(s)
            hooks = {}
            for version, r in receivers.items():
                base = f"http{'s' if version == '2.0' else ''}://localhost"
                ports = {path: (alone[version] if path == "floods" else r).port for path in ANSWERS}
                hooks |= {(version, path): s.hook(f"{base}:{port}/{path}") for path, port in ports.items()}
            s.stack.send()
            # first attempts are looked at before there are second ones, the slow ones last
            attempts = {}
            for version, path in sorted(hooks, key=lambda k: k[1] in ("silent", "drips")):
                attempts[version, path] = check_answer(s, hooks[version, path], path, ANSWERS[path])
            now = memory(s)
            assert now["VmRSS"] - before["VmRSS"] < 60 << 10 or now["VmSize"] > SANITISED_KIB, "KiB that answers cost"
            for version, r in receivers.items():
                check_requests(s, r, version, hooks[version, "ok"])
                same(attempts[version, "chunks"]["response_body"], "in chunks")
                same(attempts[version, "later"]["response_body"], "slow down")
                assert abs(attempts[version, "silent"]["response_time_ms"] - LIMIT_S * 1000) < 2000, "the limit of an attempt"
                gone = s.stack.get(f"/v1/webhooks/{hooks[version, 'gone']['id']}", "c")[1]
                same(gone["is_active"], True, "C goes on")
        finally:
            s.close()


def check_requests(s, r, version, hook):
    seen = {}
    while not r.got.empty():
        got = r.got.get()
        seen.setdefault(got["path"], got)
    same(set(seen), {p.split("?")[0] for p in ANSWERS} - {"floods"}, "where redirects lead nobody goes")
    same({g["version"] for g in seen.values()}, {version})
    ok = seen["ok"]
    assert accept_c(hook["secret"], ok["headers"], ok["body"].encode())
    same((ok["headers"]["x-webhook-event"], ok["headers"]["x-svc-attempt"]), ("ADDRESS_ACTIVITY", "1"))


def memory(s):
    """KiB of the service"""
    with open(f"/proc/{s.stack.service.pid}/status") as f:
        return {line.split(":")[0]: int(line.split()[1]) for line in f if line.startswith("Vm")}


def test_connections_are_kept_and_certificates_looked_at(env):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        s = Setting(env, folder)
        try:
            r = s.receiver()
            s.hook(f"https://localhost:{r.port}/ok")
            for _ in range(30):
                s.stack.send()
            got = [r.got.get(timeout=10) for _ in range(30)]
            assert len({g["connection"] for g in got}) <= 8, "connections for 30 deliveries"
            same(got[0]["headers"].get("host", f"localhost:{r.port}"), f"localhost:{r.port}")
            key, cert = certificate(other)
            stranger = Receiver(key, cert)
            s.open.append(stranger)
            said = {
                "nonsense": b"\x00\x01 what is this\r\n\r\n",
                "half": b"HTTP/1.1 200 OK\r\nContent-Le",
                "to the end": b"HTTP/1.1 200 OK\r\n\r\n",
                "early": b"HTTP/1.1 100 Continue\r\n\r\n",
            }
            servers = {name: answer_with(text) for name, text in said.items()}
            url = {name: f"http://localhost:{x.getsockname()[1]}/" for name, x in servers.items()}
            with socket.socket() as closed:
                closed.bind(("127.0.0.1", 0))
                hooks = [(s.hook(url), error) for url, error in [
                    (f"https://localhost:{stranger.port}/ok", "tls"),
                    (url["nonsense"], "protocol"), (url["nonsense"].replace("http", "https"), "tls"),
                    (url["half"], "protocol"), (url["to the end"], None), (url["early"], "protocol"),
                    (f"http://localhost:{closed.getsockname()[1]}/", "refused"),
                ]]
                s.stack.send()
                for hook, error in hooks:
                    same(s.first_attempt(hook)["attempts"][0]["error"] or None, error, hook["url"])
            for x in servers.values():
                x.close()
            assert stranger.got.empty(), "something was told to a stranger"
        finally:
            s.close()


def answer_with(text):
    """A server that says this to everybody, and hangs up."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                conn, _ = server.accept()
            except OSError:
                return
            with conn:
                conn.recv(1 << 16)
                conn.sendall(text)

    threading.Thread(target=serve, daemon=True).start()
    return server
