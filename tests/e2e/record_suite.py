"""What a node at work records, and the debugger that shows it, and traces of the simulator."""
import pathlib
import re
import subprocess
import urllib.request

from harness import match, same
from peers_suite import Member, is_bootstrapped, stakers, transfer, wait_for


class Replay:
    """candela replay of a file: its page, until it is told to end."""

    def __init__(self, env, path):
        self.process = subprocess.Popen([env.binary, "replay", str(path)], stdout=subprocess.PIPE, text=True)
        self.summary = self.process.stdout.readline()
        self.address = re.match(r"(http://127\.0\.0\.1:\d+)/", self.process.stdout.readline())[1]

    def page(self, query):
        with urllib.request.urlopen(self.address + query, timeout=30) as reply:
            same(reply.status, 200)
            return reply.read().decode()

    def end(self):
        self.process.terminate()
        same(self.process.wait(30), 0)


def lines_of(path, kind):
    return [line for line in path.read_text().splitlines() if line.startswith(kind + " ")]


def test_five_record_one(env):
    members = [Member(env, s) for s in stakers()]
    records = pathlib.Path(env.dir())
    for m in members:
        flags = [f"--record={records}"] if m is members[0] else []
        m.start(members[:1] if m is not members[0] else [], *flags, decides="true")
    wait_for("five of five", lambda: all(len(m.peers()) == 4 for m in members))
    wait_for("all have caught up", lambda: all(is_bootstrapped(m) for m in members))
    transfer(members, 0)
    for m in members:
        same(m.node.end(), 0)
    trace = records / "C.trace"
    for kind in "nuqvpsacm":
        assert lines_of(trace, kind), f"no line of kind {kind}"
    accepted = lines_of(trace, "a")[-1].split()
    same(accepted[4], "1")
    show = Replay(env, trace)
    match(show.summary, r"^\S+: \d+ lines, 5 nodes, \d+ blocks$")
    at = trace.read_text().splitlines().index(lines_of(trace, "a")[-1])
    page = show.page(f"/?at={at}&node=0")
    assert accepted[3][:8] in page and "NodeID-" in page, page
    show.end()


def test_a_run_replayed(env):
    trace = pathlib.Path(env.dir()) / "run.trace"
    args = ["sim", "--nodes=6", "--byzantine=0.2", "--duration=40s", f"--trace={trace}"]
    out = [subprocess.run([env.binary, *args], capture_output=True, text=True, check=False) for _ in range(2)]
    same([o.returncode for o in out], [0, 0])
    same(*[re.sub(r"^wall clock.*\n", "", o.stdout, flags=re.M) for o in out])
    match(out[0].stdout.splitlines()[-2], r"^accepted \d+ blocks, heights \d+ to \d+ on 5 honest nodes$")
    same(out[0].stdout.splitlines()[-1], "0 violations")
    show = Replay(env, trace)
    steps = int(re.search(r"(\d+) lines", show.summary)[1])
    there = show.page(f"/?at={steps // 2}&node=2")
    assert "Node 2" in there and "Confidence" in there, there
    show.page(f"/?at={steps}")
    same(show.page(f"/?at={steps // 2}&node=2"), there)
    show.end()


def test_what_is_refused(env):
    def run(*args):
        p = subprocess.run([env.binary, *args], capture_output=True, text=True, check=False)
        return p.returncode, p.stderr.splitlines()[0]

    scenario = pathlib.Path(env.dir()) / "bad.sim"
    scenario.write_text("nodes 5\nat 5s crash 7\n")
    same(run("sim", f"--scenario={scenario}"),
         (2, f'error: {scenario}: line 2: no nodes such as 0-3,7 ("nodes" stands before): "7"'))
    same(run("sim", "--byzantine=2"), (2, "error: --byzantine must be a share such as 0.2, 20% or 1/5, got 2"))
    same(run("sim", "--hours=1", "--duration=1m"), (2, "error: --hours and --duration say the same"))
    same(run("replay"), (2, "error: that command goes: candela replay FILE"))
    same(run("replay", str(scenario)), (1, 'error: this is no trace: its first line is not "candela-trace 1"'))
