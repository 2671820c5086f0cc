"""Nodes of the original and of ours as one network: they agree, catch up from each other, and go on when some are
killed. [spec:p2p#10] [spec:consensus#4]"""
import json
import os
import random
import shutil
import signal
import time

import gonode
from harness import same
from peers_suite import Member, health, is_bootstrapped, stakers, wait_for

# How long nodes of each network are killed and restarted; given, or with everything: else they are not.
MINUTES = int(os.environ.get("CANDELA_MIXED_MINUTES", "60" if os.environ.get("CANDELA_TEST_FULL") == "1" else "0"))


class GoMember(Member):
    """The same with a node of the original."""

    def __init__(self, env, staker, program):
        super().__init__(env, staker)
        self.program = program

    def start(self, beacons, *flags, decides="true"):
        port = 0 if self.address is None else self.address.rsplit(":", 1)[1]
        node = gonode.GoNode(self.program, self.data, *self.keys, f"--sybil-protection-enabled={decides}",
                             "--staking-host=127.0.0.1", f"--staking-port={port}", "--public-ip=127.0.0.1",
                             "--bootstrap-ips=" + ",".join(b.address for b in beacons),
                             "--bootstrap-ids=" + ",".join(b.id for b in beacons), *flags)
        self.env.nodes.append(node)
        self.node = node.wait_ready()
        self.address = node.staking_address
        return self


class OurMember(Member):
    def start(self, beacons, *flags, decides="true"):
        return super().start(beacons, "--health-check-frequency=1s", *flags, decides=decides)


def network(env, kinds):
    """Members by a letter each (g, c), all started; the traffic program."""
    node, traffic = gonode.programs()
    made = [GoMember(env, s, node) if k == "g" else OurMember(env, s) for k, s in zip(kinds, stakers())]
    for m in made:
        m.start([] if m is made[0] else made[:1])
    wait_for("all have caught up", lambda: all(is_bootstrapped(m) for m in made))
    return made, traffic


def tips(member):
    """Of P, X and C; None while a check has not run yet."""
    checks = health(member)["checks"]
    return [checks[chain].get("message", {}).get("engine", {}).get("consensus", {}).get("lastAcceptedID")
            for chain in "PXC"]


def ask(member, path, method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    reply = member.node.rpc(path).post(body)
    assert "result" in reply, reply
    return reply["result"]


def what_is_there(member):
    """State of the three chains, as far as clients see it."""
    block = ask(member, "/ext/bc/C/rpc", "eth_getBlockByNumber", ["latest", False])
    utxos = [sorted(ask(member, f"/ext/bc/{chain}", f"{service}.getUTXOs",
                        {"addresses": [f"{chain}-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"], "limit": 1024})["utxos"])
             for chain, service in (("P", "platform"), ("X", "avm"))]
    heights = [ask(member, "/ext/bc/P", "platform.getHeight", {}), ask(member, "/ext/bc/X", "avm.getHeight", {})]
    return block["hash"], block["stateRoot"], heights, utxos


def same_state(members):
    """Health tells what was so when it was last looked at: it is the last to agree."""
    for what in (what_is_there, tips):
        wait_for(f"the same: {what.__name__}",
                 lambda: (first := what(members[0])) and all(what(m) == first for m in members[1:]) and None not in first)


def restart(member, members, beacon):
    """Starts one that ended while the others went on, and waits until it has what they have."""
    member.start([beacon])
    wait_for("the one that was killed has caught up", lambda: is_bootstrapped(member))
    same_state(members)


def test_three_go_and_two_c(env):
    members, program = network(env, "gggcc")
    same(gonode.traffic(program, members[0].node, "PXCM", 1), {"P": 1, "X": 1, "C": 1, "M": 1})
    same(gonode.traffic(program, members[3].node, "PXCM", 1), {"P": 1, "X": 1, "C": 1, "M": 1})
    same_state(members)
    for gone, at, beacon in ((members[4], members[0], members[1]), (members[2], members[3], members[4])):
        gone.node.end(signal.SIGKILL)
        same(gonode.traffic(program, at.node, "PXC", 2), {"P": 2, "X": 2, "C": 2})
        restart(gone, members, beacon)
    # Those that have nothing get everything, from the others' kind too.
    for fresh in (members[3], members[1]):
        fresh.node.end(signal.SIGTERM)
        shutil.rmtree(fresh.data)
        os.mkdir(fresh.data)
        restart(fresh, members, members[0])
    same(gonode.traffic(program, members[1].node, "XC", 1), {"X": 1, "C": 1})
    same_state(members)
    wait_for("everybody speaks to everybody", lambda: all(len(m.peers()) == 4 for m in members))
    for m in members:
        same([p["benched"] for p in m.peers().values()], [[]] * 4)
    for m in members:
        same(m.node.end(), 0)
    same([line for m in members[:3] for line in m.node.complaints()], [])


def test_one_go_among_four_c(env):
    members, program = network(env, "ccccg")
    same(gonode.traffic(program, members[4].node, "PXC", 1), {"P": 1, "X": 1, "C": 1})
    same_state(members)
    for m in members:
        same(m.node.end(), 0)
    same(members[4].node.complaints(), [])


def an_hour_of_kills(env):
    for kinds in ("gggcc", "ggccc"):
        members, program = network(env, kinds)
        chance = random.Random(kinds)
        end = time.monotonic() + MINUTES * 60
        while time.monotonic() < end:
            gone = chance.choice(members[1:])
            gone.node.end(chance.choice([signal.SIGKILL, signal.SIGTERM]))
            at = chance.choice([m for m in members if m is not gone])
            for chains in ("PXC", "M"):
                gonode.traffic(program, at.node, chains, 1)
            restart(gone, members, members[0])
            time.sleep(chance.uniform(0, 20))
        same_state(members)
        for m in members:
            same(m.node.end(), 0)
        same([line for m in members if isinstance(m, GoMember) for line in m.node.complaints()], [])


if MINUTES != 0:
    test_an_hour_of_kills = an_hour_of_kills
