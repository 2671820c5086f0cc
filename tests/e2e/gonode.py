"""The original's node as a process, and traffic by its wallet: built out of its pinned Go module (p2p/node)."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from harness import ROOT, Rpc, Skip

SOURCE = pathlib.Path(__file__).resolve().parent / "p2p" / "node"
WORK = ROOT / "build" / "e2e-p2p"
MODULE = "github.com/ava-labs/avalanchego"
START_LIMIT_S = 60
BUILD_LIMIT_S = 1500


def build(name, package):
    """A program of the module, built once. CGo: the module's libraries are C in part."""
    WORK.mkdir(parents=True, exist_ok=True)
    binary = WORK / name
    if not binary.exists() or binary.stat().st_mtime < max(f.stat().st_mtime for f in SOURCE.iterdir()):
        if shutil.which("go") is None:
            raise Skip("go is not installed (package golang-go)")
        p = subprocess.run(["go", "build", "-p", "2", "-trimpath", "-o", binary, package], cwd=SOURCE,
                           env=dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false"), capture_output=True,
                           text=True, timeout=BUILD_LIMIT_S)
        if p.returncode != 0:
            print(p.stderr)
            if os.environ.get("CI"):
                raise AssertionError(f"{package} cannot be built")
            raise Skip(f"{package} cannot be built")
    return binary


def programs():
    """(the node, the traffic)"""
    return build("avalanchego", f"{MODULE}/main"), build("traffic", ".")


class GoNode:
    """A node of the original on network 12345, as harness.Node as far as it goes."""

    def __init__(self, binary, data_dir, *flags):
        self.data, self.lines = pathlib.Path(data_dir), []
        self.context = self.data / "process.json"
        self.context.unlink(missing_ok=True)
        self.out = open(self.data / "out.log", "ab")
        # It wants as many files as a server has; a test machine may have fewer.
        args = [str(binary), "--network-id=local", "--http-port=0", "--fd-limit=16000", f"--data-dir={data_dir}",
                "--health-check-frequency=2s", "--log-level=info", "--log-display-level=off", *flags]
        self.process = subprocess.Popen(args, stdout=self.out, stderr=subprocess.STDOUT)

    def wait_ready(self):
        end = time.monotonic() + START_LIMIT_S
        while not self.context.exists() or not self.context.read_text().strip():
            assert self.process.poll() is None, "the node ended: " + (self.data / "out.log").read_text()[-600:]
            assert time.monotonic() < end, f"the node is not up after {START_LIMIT_S} s"
            time.sleep(0.05)
        said = json.loads(self.context.read_text())
        self.staking_address = said["stakingAddress"]
        self.url = said["uri"]
        self.host, port = self.url.removeprefix("http://").rsplit(":", 1)
        self.port = int(port)
        return self

    def rpc(self, path):
        return Rpc(self.host, self.port, path)

    def end(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"still running 30 s after signal {sig}") from None
        finally:
            self.out.close()
        return code

    def kill(self):
        self.end(signal.SIGKILL)

    def complaints(self):
        """Lines of its logs that say that something is wrong."""
        found = []
        for log in (self.data / "logs").glob("*.log"):
            found += [line for line in log.read_text(errors="replace").splitlines() if " ERROR " in line or " FATAL " in line]
        return found


def traffic(program, node, chains, count, limit_s=120):
    """Rounds of transfers on chains, by the wallet; what was accepted on each."""
    p = subprocess.run([str(program), "--uri", node.url, "--chains", chains, "--count", str(count),
                        "--limit", f"{limit_s}s"], capture_output=True, text=True, timeout=limit_s + 30)
    assert p.returncode == 0, f"traffic {chains} at {node.url}: {p.stdout} {p.stderr}"
    return json.loads(p.stdout)
