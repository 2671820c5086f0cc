"""Webhooks that are stopped, started, given new secrets and replayed while blocks come and receivers fail: in the end each has
been told of everything, once as often as it may be, by a signature that it knows."""
import collections
import random
import time

import oracle
from harness import ACCOUNTS, same
from lists import Load
from stack import BOB
from suite import accept_b, accept_c
from world import A_SECRET, World

ROUNDS, ROUNDS_FULL = 60, 1000
FAILS = 2  # of an event of C, which is tried again after 1 s and 5 s: after a third it would wait for half a minute


class Play:
    """One webhook of each variant, all of what happens to BOB."""

    def __init__(self, w):
        self.w = w
        self.hooks = {"a": w.hook("a", ["transfer"], {"address": BOB}),
                      "b": w.hook("b", ["address_activity"], {"addresses": [BOB]}),
                      "c": w.hook("c", ["ADDRESS_ACTIVITY"], {"address": BOB})}
        made = {v: w.made[h.id] for v, h in self.hooks.items()}
        self.secrets = {"a": [A_SECRET], "b": [made["b"]["signing_secret"]], "c": [made["c"]["secret"]]}

    def ask(self, v, method, path="", body=None):
        status, answer = self.w.stack.ask(method, f"/v1/webhooks/{self.hooks[v].id}{path}", v, body)
        assert status in (200, 202), (v, method, path, status, answer)
        return answer

    def set(self, v, is_on, **more):
        words = {"a": ("disabled", "enabled"), "b": ("paused", "active")}
        self.ask(v, "PATCH", body={"is_active": is_on, **more} if v == "c" else {"status": words[v][is_on], **more})

    def rotate(self, v):
        answer = self.ask(v, "POST", "/rotate-secret", {"grace_seconds": 60})
        self.secrets[v].append(answer["signing_secret" if v == "b" else "secret"])

    def step(self, rnd):
        v = rnd.choice("abc")
        what = rnd.choice(["stop", "start", "start", "start and replay", "rotate", "confirm", "replay"])
        if what == "stop":
            self.set(v, False)
        elif what == "start":
            self.set(v, True)
        elif what == "start and replay":
            self.set(v, True, replay=rnd.choice(["skipped", "all"]))
        elif what == "rotate":
            self.rotate(v)
        elif what == "confirm":
            self.w.stack.ask("POST", f"/v1/webhooks/{self.hooks[v].id}/rotate-secret/confirm", v)
        else:
            self.ask(v, "POST", "/replay", {"from": "2020-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z",
                                            "status": ["failed", "skipped"]})

    def accepts(self, v, head, body):
        """With a secret that there was, by the signature or by that of the next secret."""
        prefix = "sha256=" if v != "b" else ""
        heads = [head] + ([{**head, "x-svc-signature": head["x-svc-signature-next"]}] if "x-svc-signature-next" in head else [])
        assert head["x-svc-signature"].startswith(prefix)
        accept = accept_b if v == "b" else accept_c
        return any(accept(s, h, body) for s in self.secrets[v] for h in heads)


def test_states_that_change_under_load(env):
    w = World(env)
    rnd = random.Random(5)
    try:
        p = Play(w)
        got = {h.id: {} for h in p.hooks.values()}  # by sequence, what was answered well
        fails = random.Random(7)
        failed = collections.Counter()  # by sequence

        def answer(head, body):
            hook, n = head["x-svc-webhook-id"], int(head["x-svc-sequence"])
            if hook == p.hooks["c"].id and failed[n] < FAILS and fails.random() < 0.1:
                failed[n] += 1
                return 500
            return 200 if got[hook].setdefault(n, body) == body else 400

        w.sink.status = answer
        with Load(w.stack.node.rpc(), random.Random(6)):
            for _ in range(ROUNDS_FULL if env.full else ROUNDS):
                time.sleep(rnd.uniform(0, 0.05))
                p.step(rnd)
        w.stack.rpc = w.chain.rpc = w.stack.node.rpc()  # the node has closed what was idle
        w.stack.settle()
        want = {v: oracle.events(w.chain, h, 1, w.height) for v, h in p.hooks.items()}
        for v in p.hooks:
            p.set(v, True, replay="skipped")

        def is_all_there():
            while not w.sink.got.empty():
                head, body = w.sink.got.get()
                v = next(v for v, h in p.hooks.items() if h.id == head["x-svc-webhook-id"])
                assert p.accepts(v, head, body), f"{v}: a signature of nobody"
            return all(len(got[p.hooks[v].id]) >= len(want[v]) for v in want)

        w.stack.until(is_all_there, lambda: str({v: (len(got[p.hooks[v].id]), len(want[v])) for v in want}), 40)
        for v, h in p.hooks.items():
            same([got[h.id][n] for n in sorted(got[h.id])], [body for _, body in want[v]], v)
            same(sorted(got[h.id]), list(range(1, len(want[v]) + 1)))
        said = w.stack.run("audit", f"--chain=lux={w.stack.node.url}/ext/bc/C/rpc")
        assert " 0 differences\n" in said, said
    finally:
        w.stack.close()
