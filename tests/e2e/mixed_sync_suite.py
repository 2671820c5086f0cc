"""State sync between nodes of the original and ours, both ways: validators of both kinds stand for the same summaries, a newcomer
of ours fetches the state from nodes of the original alone, one of theirs from ours alone. [spec:evm-chain#13] [spec:p2p#10]"""
import pathlib

import gonode
import txs
from harness import match, same
from mixed_suite import GoMember
from peers_suite import Member, c_chain, is_bootstrapped, wait_for
from sync_suite import Five, Newcomer, config, place, same_state
from transfers_suite import FEE

KINDS = "cggcg"  # of the validators: ours, the original's


class Mixed(Five):
    """Five validators of both kinds whose C-Chains offer summaries often."""

    def __init__(self, env):
        self.program, _ = gonode.programs()
        super().__init__(env)

    def member(self, env, staker, number):
        return Member(env, staker) if KINDS[number] == "c" else GoMember(env, staker, self.program)

    def of(self, kind):
        return [m for m, k in zip(self.all, KINDS) if k == kind]

    def start(self, member):
        others = [m for m in self.members if m is not member and m.address is not None]
        flags = ["--index-enabled", config()] + ([] if isinstance(member, GoMember) else [place(member is self.all[0])])
        member.start(others[:1], *flags, decides="true")


class GoNewcomer(Newcomer):
    """A node of the original that validates nothing."""

    def start(self, *flags, **more):
        beacons = self.net.all
        node = gonode.GoNode(
            self.net.program, self.data, "--sybil-protection-enabled=true", "--staking-host=127.0.0.1", "--staking-port=0",
            "--public-ip=127.0.0.1", "--bootstrap-ips=" + ",".join(b.address for b in beacons),
            "--bootstrap-ids=" + ",".join(b.id for b in beacons),
            config(**{"state-sync-enabled": True, "state-sync-min-blocks": 100, **more}), *flags)
        self.env.nodes.append(node)
        self.node = node.wait_ready()
        return self

    def log(self):
        return (pathlib.Path(self.data) / "logs" / "C.log").read_text(errors="replace")


def goes_on(net, new):
    """The newcomer has what all have, and takes blocks and imports as they do."""
    wait_for("the newcomer has caught up", lambda: is_bootstrapped(new))
    wait_for("the same height", lambda: c_chain(new, "eth_blockNumber") == hex(net.height()))
    same_state(net, new)
    net.send(bytes.fromhex(net.contract[2:]), b"", 1_500_000)
    net.issue("X", net.wallet.exported("X", net.coins("X")[0], "C", 7_000_000_000, FEE))
    net.issue("C", net.wallet.imported_to_c(net.coins("C", "X")[0], "X", FEE))
    wait_for("new blocks", lambda: c_chain(new, "eth_blockNumber") == hex(net.height()))
    same_state(net, new)


def test_states_between_both_kinds(env):
    net = Mixed(env)
    net.fill()
    ours, theirs = (",".join(m.id for m in net.of(kind)) for kind in "cg")

    for inside in (True, False):
        new = Newcomer(env, net, inside).start(**{"state-sync-ids": theirs})
        goes_on(net, new)
        match("\n".join(new.node.lines), r'the state is here.*lies"?[=:]0')
        same(new.node.end(), 0)

    new = GoNewcomer(env, net).start(**{"state-sync-ids": ours})
    goes_on(net, new)
    match(new.log(), "stateSync completed")
    same(new.node.end(), 0)
    for node in [new.node] + [m.node for m in net.of("g")]:
        same(node.complaints(), [])
    for m in net.all:
        same(m.node.end(), 0)
