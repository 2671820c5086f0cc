"""The C-Chain's VM as a process of its own: where it runs, and what is there when it or the node is killed.
[spec:decisions#D20]"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import evm
from harness import RpcError, match, same

ALONE = ("--sybil-protection-enabled=false", "--staking-port=0")
SENDER = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"
PAYEE = "0x00000000000000000000000000000000000000aa"
PATIENCE_S = 60
GAS = 21000
PRICE = 50 * 10**9


class Chain:
    """A node that decides alone, and payments of 1 from the known account of local networks."""

    def __init__(self, env):
        self.env, self.data, self.node = env, env.dir(), None

    def start(self, *flags):
        self.node = self.env.start(*ALONE, *flags, data_dir=self.data, network="local")
        return self

    def rpc(self, method, *params):
        rpc = self.node.rpc("/ext/bc/C/rpc")
        try:
            return rpc(method, *params)
        finally:
            rpc.close()

    def number(self, method, *params):
        return int(self.rpc(method, *params), 16)

    def pid(self):
        """Of the VM's process; None: it has none."""
        for task in pathlib.Path(f"/proc/{self.node.process.pid}/task").iterdir():
            try:
                for pid in map(int, (task / "children").read_text().split()):
                    if os.readlink(f"/proc/{pid}/exe").endswith("candela-evm"):
                        return pid
            except OSError:
                pass  # a thread or a process has ended meanwhile
        return None

    def state(self):
        """Payments that are in, and what they came to."""
        height = self.rpc("eth_blockNumber")
        sent = self.number("eth_getTransactionCount", SENDER, height)
        return sent, self.number("eth_getBalance", PAYEE, height)

    def send(self, nonce):
        return self.rpc("eth_sendRawTransaction",
                        evm.transaction(43112, nonce, bytes.fromhex(PAYEE[2:]), b"", GAS, PRICE, value=1))

    def wait(self, sent):
        end = time.monotonic() + PATIENCE_S
        while self.state()[0] < sent:
            assert time.monotonic() < end, f"{self.state()}, {sent} wanted: {self.node.lines[-5:]}"
            time.sleep(0.02)

    def back(self, old=None):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.pid() not in (None, old):
                    return self.state()
            except (AssertionError, RpcError, OSError):
                pass
            assert time.monotonic() < end, f"the chain is not back: {self.node.lines[-5:]}"
            time.sleep(0.05)

    def health(self):
        return self.node.rpc("/ext/health").post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "health.health"}))[
            "result"]


shared = {}


def chain(env):
    if "c" not in shared:
        shared["c"] = Chain(env).start()
    return shared["c"]


def test_where_it_runs(env):
    c = chain(env)
    same(c.pid() is not None, True, "a process of its own")
    same(c.health()["checks"]["plugins"]["message"]["C"], {"state": "running"})
    c.send(0)
    c.wait(1)
    same(c.node.end(), 0)
    inside = Chain(env).start("--evm-in-process")
    same(inside.pid(), None)
    inside.send(0)
    inside.wait(1)
    same(inside.node.end(), 0)
    same((inside.start().pid(), inside.state()), (None, (1, 1)), "the data stays where it began")
    same(inside.node.end(), 0)
    code, out, err = env.run("--network-id=local", "--http-port=0", *ALONE, f"--data-dir={c.data}", "--evm-in-process")
    same(code != 0, True)
    match(out + err, "began with its VM as a plugin")
    code, out, err = env.run("--network-id=local", "--http-port=0", *ALONE, f"--data-dir={inside.data}",
                             "--evm-in-process=false")
    same(code != 0, True)
    match(out + err, "comes too late")
    same(c.start().back(), (1, 1))


def test_where_it_cannot(env):
    for flags, pattern in ((("--network-id=dev",), "the dev network needs"),
                           (("--explorer=on", "--network-id=local"), "--explorer=on needs")):
        code, out, err = env.run("--in-memory", "--http-port=0", *flags, "--evm-in-process=false")
        same(code != 0, True)
        match(out + err, pattern)
    alone = pathlib.Path(env.dir()) / "candela"
    shutil.copy(env.binary, alone)
    p = subprocess.run([alone, "--network-id=local", "--http-port=0", f"--data-dir={env.dir()}"], capture_output=True,
                       text=True, timeout=30)
    same(p.returncode != 0, True)
    match(p.stdout + p.stderr, "no program for the C-Chain: neither a plugin \\\\?\"evm")


def test_in_memory(env):
    node = env.start(*ALONE, network="local")
    same(int(node.rpc("/ext/bc/C/rpc")("eth_blockNumber"), 16), 0)
    same(node.end(), 0)


def test_backups_are_refused(env):
    c = Chain(env).start("--api-admin-enabled")
    got = c.node.rpc("/ext/backup").post(json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "backup.create", "params": {"path": "a"}}))
    match(got["error"]["message"], "a store of its own")
    same(c.node.end(), 0)


def killed(env, kill, seed, rounds):
    """What was in a block when it was killed is there afterwards, and nothing that was not sent."""
    c = chain(env)
    rng = random.Random(seed)
    nonce = c.state()[0]
    for _ in range(rounds):
        before = c.state()
        same(before[0], before[1], "each payment is of 1, and counted")
        nonce = before[0]
        end = time.monotonic() + rng.random() * 0.3
        seen = before[0]
        try:
            while time.monotonic() < end:
                c.send(nonce)
                nonce += 1
                seen = max(seen, c.state()[0])
        except (AssertionError, RpcError, OSError):
            nonce = before[0]
        kill(c)
        after = c.state()
        same(after[0], after[1], "each payment is of 1, and counted")
        same(after[0] >= seen, True, f"{after[0]} payments are in, {seen} were seen")
    nonce = c.state()[0]
    pending = c.number("eth_getTransactionCount", SENDER, "pending")
    c.send(max(nonce, pending))
    c.wait(max(nonce, pending) + 1)
    print(f"   {rounds} times, {c.state()[0]} payments are in")


def kill_the_vm(c):
    pid = c.pid()
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
    c.back(pid)


def kill_the_node(c):
    c.node.kill()
    c.start().back()


def test_the_vm_killed_at_random_points(env):
    killed(env, kill_the_vm, 18, 200 if env.full else 4)


def test_the_node_killed_at_random_points(env):
    killed(env, kill_the_node, 19, 100 if env.full else 6)
