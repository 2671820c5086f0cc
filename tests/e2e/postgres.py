"""A PostgreSQL server of a test's own, in a temporary folder, reached by its socket; it can die as in a crash."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import clients
from harness import same

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")


class Postgres:
    def __init__(self):
        if not (BIN / "postgres").exists():
            clients.missing("PostgreSQL is not installed")
        self.who = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
        self.dir = tempfile.mkdtemp(prefix="candela-pg-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        if self.who:
            shutil.chown(self.dir, **self.who)
        self.do("initdb", "-D", f"{self.dir}/data", "-U", "rig", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.url = f"postgresql:///postgres?host={self.dir}&user=rig"
        self.start()

    def do(self, *args):
        p = subprocess.run([BIN / args[0], *args[1:]], capture_output=True, text=True, **self.who)
        same(p.returncode, 0, p.stderr)
        return p.stdout

    def start(self):
        self.process = subprocess.Popen(
            [BIN / "postgres", "-D", f"{self.dir}/data", "-k", self.dir, "-c", "listen_addresses=", "-c", "fsync=off"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.who)
        end = time.monotonic() + 30
        while subprocess.run([BIN / "pg_isready", "-q", "-h", self.dir, "-U", "rig"], **self.who).returncode != 0:
            assert time.monotonic() < end, "PostgreSQL does not start"
            time.sleep(0.05)

    def die(self):
        """As a crash would have it: no check point, nobody is asked."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)

    def close(self):
        if self.process.poll() is None:
            self.die()
        shutil.rmtree(self.dir, ignore_errors=True)
