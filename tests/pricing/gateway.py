"""A gateway as a process, requests to it, and checks that count. Standard library only."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("CANDELA_TESTDATA", ROOT / "../shared/testdata"))
KEY = "CG-testkey123"


class Skip(Exception):
    """Raised by a test that cannot run here; the text is the reason."""


def same(got, want, what=""):
    assert got == want, f"{what + ': ' if what else ''}got {got!r}, want {want!r}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Answer:
    def __init__(self, r):
        self.status, self.headers, self.body = r.status, r.headers, r.read()

    def json(self):
        assert self.body.endswith(b"\n") and not self.body.endswith(b"\n\n"), self.body[-20:]
        return json.loads(self.body)


class Gateway:
    """candela-pricing on a free port; settings are its environment variables."""

    def __init__(self, program, upstream, **settings):
        self.port = free_port()
        self.log = tempfile.TemporaryFile("w+b")
        env = {"PATH": os.environ["PATH"], "UPSTREAM_API_KEY": KEY, "PORT": str(self.port), "BIND": "127.0.0.1",
               "UPSTREAM_URL": upstream, "UPSTREAM_RATE_PER_MIN": "60000", **{k: str(v) for k, v in settings.items()}}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        self.process = subprocess.Popen([program], env=env, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 20
        while True:
            try:
                same(self.get("/health").status, 200)
                return
            except OSError:
                assert self.process.poll() is None and time.monotonic() < end, self.logged()
                time.sleep(0.02)

    def ask(self, method, target, headers=None, body=None, timeout=60):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            conn.request(method, target, body, headers or {})
            return Answer(conn.getresponse())
        finally:
            conn.close()

    def get(self, target, headers=None, timeout=60):
        return self.ask("GET", target, headers, timeout=timeout)

    def raw(self, data, wait=3):
        """Sends bytes as they are, reads until the server closes or falls silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as s:
            s.settimeout(wait)
            out = b""
            try:
                s.sendall(data)
                while part := s.recv(65536):
                    out += part
            except (TimeoutError, ConnectionError):
                pass
            return out

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def rss_mb(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no VmRSS")

    def stop(self, how=signal.SIGTERM):
        """Ends the process; gives its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop()
        if kind is None:
            text = self.logged()
            assert KEY not in text, "the key is in the log"
            assert "Sanitizer" not in text and "runtime error" not in text, text[-3000:]


def run(test, *args):
    """Calls a test and prints how it went: True, False, or None when it cannot run here."""
    begin = time.monotonic()
    try:
        test(*args)
        print(f"ok      {test.__name__}  {time.monotonic() - begin:.1f} s", flush=True)
        return True
    except Skip as why:
        print(f"SKIP {test.__name__}: {why}", flush=True)
        return False if os.environ.get("CI") == "true" else None
    except Exception:  # noqa: BLE001 - every failure is told
        print(f"FAILED  {test.__name__}\n{traceback.format_exc()}", flush=True)
        return False
