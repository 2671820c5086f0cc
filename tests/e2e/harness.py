"""What the end-to-end suites share: a node as a process, a JSON-RPC client, checks that count.

Standard library only. A node gets a free port and says on its first log lines where it listens."""
import http.client
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_LIMIT_S = 30
STOP_LIMIT_S = 15

# The development accounts, in the order of the phrase "test test ... junk" [spec:dev-rpc#2.4].
ACCOUNTS = [
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc", "0x90f79bf6eb2c4f870365e785982e1f101e93b906",
    "0x15d34aaf54267db7d7c367839aaf71a00a2c6a65",
]


class Skip(Exception):
    """Raised by a test that cannot run here; the text is the reason."""


def same(got, want, what=""):
    assert got == want, f"{what + ': ' if what else ''}got {got!r}, want {want!r}"


def match(text, pattern, what=""):
    assert re.search(pattern, text), f"{what + ': ' if what else ''}{text!r} does not match {pattern!r}"


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


class Rpc:
    """One keep-alive connection to one URL path; for one thread."""

    def __init__(self, host, port, path="/", timeout=30, trust=None):
        self.path = path
        self.conn = (http.client.HTTPConnection(host, port, timeout=timeout) if trust is None else
                     http.client.HTTPSConnection(host, port, timeout=timeout, context=trust))

    def post(self, body):
        self.conn.request("POST", self.path, body, {"Content-Type": "application/json"})
        r = self.conn.getresponse()
        text = r.read()
        assert r.status == 200, f"status {r.status}: {text[:200]!r}"
        return json.loads(text)

    def __call__(self, method, *params):
        reply = self.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        if "error" in reply:
            raise RpcError(reply["error"])
        return reply["result"]

    def batch(self, calls):
        """calls: (method, params) pairs; gives their results in order."""
        out = []
        for start in range(0, len(calls), 500):
            part = calls[start:start + 500]
            body = [{"jsonrpc": "2.0", "id": i, "method": m, "params": p} for i, (m, p) in enumerate(part)]
            for i, reply in enumerate(self.post(json.dumps(body))):
                same(reply["id"], i)
                assert "result" in reply, reply
                out.append(reply["result"])
        return out

    def close(self):
        self.conn.close()


class Node:
    """A candela process. Its output is read all the time, and kept in .lines."""

    def __init__(self, binary, *flags, data_dir=None, port=0, env=None, network="dev"):
        args = [str(binary), f"--network-id={network}", f"--http-port={port}", "--log-format=json", *flags]
        args.append("--in-memory" if data_dir is None else f"--data-dir={data_dir}")
        self.lines = []
        self.ready = queue.Queue()
        self.started = time.monotonic()
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace", env=env)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if m := re.search(r'"rpc":"https?://([^:"]+):(\d+)"', line):
                self.ready.put((m[1], int(m[2])))
        self.ready.put(None)

    def wait_ready(self):
        where = self.ready.get(timeout=START_LIMIT_S)
        assert where is not None, "the node ended: " + " | ".join(self.lines[-5:])
        self.host, self.port = where
        self.ready_s = time.monotonic() - self.started
        return self

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def rpc(self, path="/"):
        return Rpc(self.host, self.port, path)

    def end(self, sig=signal.SIGTERM):
        """Sends sig and gives the exit code (negative: the signal that ended it)."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            code = self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"still running {STOP_LIMIT_S} s after signal {sig}") from None
        self.reader.join()
        return code

    def kill(self):
        self.end(signal.SIGKILL)


class Env:
    """What a test gets: the program, folders that go away again, one shared node in memory."""

    def __init__(self, binary):
        self.binary = pathlib.Path(binary)
        self.full = os.environ.get("CANDELA_TEST_FULL") == "1"
        self.passed = self.failed = 0
        self.nodes = []
        self.dirs = []
        self._shared = None

    def dir(self):
        self.dirs.append(tempfile.mkdtemp(prefix="candela-e2e-"))
        return self.dirs[-1]

    def spawn(self, *flags, **how):
        n = Node(self.binary, *flags, **how)
        self.nodes.append(n)
        return n

    def start(self, *flags, **how):
        return self.spawn(*flags, **how).wait_ready()

    @property
    def node(self):
        if self._shared is None or self._shared.process.poll() is not None:
            self._shared = self.start()
        return self._shared

    def run(self, *args, timeout=START_LIMIT_S, env=None):
        """The program to its end: (exit code, stdout, stderr)."""
        p = subprocess.run([str(self.binary), *args], capture_output=True, text=True, timeout=timeout,
                           env=dict(os.environ, **(env or {})))
        return p.returncode, p.stdout, p.stderr

    def note(self, passed, line):
        self.passed += passed
        self.failed += not passed
        print(line, flush=True)

    def close(self):
        for n in self.nodes:
            n.kill()
        for d in self.dirs:
            shutil.rmtree(d, ignore_errors=True)


def run_suite(module, env):
    """Runs the test_ functions of a module in the order in which they are written."""
    tests = [f for name, f in vars(module).items() if name.startswith("test_")]
    for test in tests:
        name = test.__name__.removeprefix("test_").replace("_", " ")
        start = time.monotonic()
        try:
            test(env)
            env.note(True, f"ok {name} ({time.monotonic() - start:.1f} s)")
        except Skip as why:
            print(f"SKIP {name}: {why}", flush=True)
        except Exception as e:  # noqa: BLE001 - a test may fail in any way
            at = e.__traceback__
            while at.tb_next is not None and at.tb_next.tb_frame.f_code.co_filename == module.__file__:
                at = at.tb_next
            env.note(False, f"FAIL {name}: {type(e).__name__}: {str(e)[:600]} "
                            f"({pathlib.Path(module.__file__).name}:{at.tb_lineno})")
