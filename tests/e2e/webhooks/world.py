"""A service whose webhooks all lead to one sink, and what the oracle says of them."""
import hashlib
import time

import oracle
from harness import same
from stack import Stack
from suite import install

A_SECRET = "of a receiver's own choice"


class World:
    """A service with a sink, and what the oracle needs to know of each webhook."""

    def __init__(self, env, traces=True, **how):
        install()
        self.stack = Stack(env.binary, env.webhooks, **how)
        self.sink = self.stack.sink()
        self.chain = oracle.Chain(self.stack.node.rpc(), traces=traces)
        self.hooks, self.made, self.got = [], {}, {}

    @property
    def height(self):
        return int(self.stack.rpc("eth_blockNumber"), 16)

    def hook(self, face, types, filters=None, begin=None, **more):
        """Makes a webhook; it is told from the next block on, or from `begin`."""
        begin = self.height + 1 if begin is None else begin
        body = {"url": self.sink.url, "from_block": begin, **more}
        if face == "a":
            body |= {"events": types, "filters": filters or {}, "secret": A_SECRET}
        elif face == "b":
            body |= {"event_type": types[0], "config": filters or {}, "standard_headers": True}
        else:
            body |= {"name": "of a test", "event_types": types, "filters": filters or {}}
        made = self.stack.make(face, **body)
        hook = oracle.Hook(face, made, types, filters, begin)
        self.hooks.append(hook)
        self.made[hook.id] = made
        return hook

    def collect(self, want):
        """Takes deliveries until each webhook has as many as it wants, and a while longer."""
        end = time.monotonic() + 60
        for hook, n in want.items():
            while len(self.got.get(hook.id, [])) < n:
                assert time.monotonic() < end, f"{hook.face} {hook.types}: {len(self.got.get(hook.id, []))} of {n}"
                head, body = self.sink.take(30)
                self.got.setdefault(head["x-svc-webhook-id"], []).append((head, body))
        time.sleep(0.3)
        while not self.sink.got.empty():
            head, body = self.sink.got.get()
            self.got.setdefault(head["x-svc-webhook-id"], []).append((head, body))

    def check(self, hooks, first=1, last=None):
        """What these have been told is what the oracle has, up to the head or to `last`."""
        last = self.height if last is None else last
        want = {h: oracle.events(self.chain, h, first, last) for h in hooks}
        self.collect({h: len(e) for h, e in want.items()})
        return {h: self.compare(h, e) for h, e in want.items()}

    def compare(self, hook, want):
        """want: (h, body) in order; the headers say the same, and chain them."""
        got = sorted(self.got.pop(hook.id, []), key=lambda d: int(d[0]["x-svc-sequence"]))
        what = f"{hook.face} {hook.types}"
        for n, ((head, body), (h, right)) in enumerate(zip(got, want)):
            same(body.decode(), right.decode(), f"{what} event {n}")
        same(len(got), len(want), f"{what}: events")
        before = bytes(32)
        for n, (head, body) in enumerate(got):
            h = want[n][0]
            before = hashlib.sha256(before + h + hashlib.sha256(body).digest()).digest()
            same((head["x-svc-sequence"], head["x-svc-attempt"], head["x-svc-event-hash"], head["x-svc-chain"]),
                 (str(n + 1), "1", h.hex(), before.hex()), what)
            same((head["content-type"], head["user-agent"]), ("application/json", "Svc-Webhooks/1.0"))
        return got
