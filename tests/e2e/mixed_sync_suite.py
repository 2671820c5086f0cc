"""State sync between nodes of the original and ours, both ways: validators of both kinds stand for the same summaries, a newcomer
of ours fetches the state from nodes of the original alone, one of theirs from ours alone. [spec:evm-chain#13] [spec:p2p#10]"""
import os
import pathlib
import time

import evm
import gonode
import txs
from harness import match, same
from mixed_suite import GoMember
from peers_suite import PATIENCE_S, Member, c_chain, is_bootstrapped, wait_for
from sync_suite import GAS_PRICE, SENDER, Five, Newcomer, config, place, same_state
from transfers_suite import FEE

# How many blocks are fetched and executed; validators of the original need a second for each, and make no more than THEIRS.
BLOCKS = int(os.environ.get("CANDELA_CATCH_UP_BLOCKS", "20000" if os.environ.get("CANDELA_TEST_FULL") == "1" else "100"))
THEIRS = int(os.environ.get("CANDELA_CATCH_UP_THEIRS", "1000"))


class Mixed(Five):
    """Five validators, each ours (c) or the original's (g), whose C-Chains offer summaries often."""

    def __init__(self, env, kinds):
        self.kinds = kinds
        self.program, _ = gonode.programs()
        super().__init__(env)

    def member(self, env, staker, number):
        return Member(env, staker) if self.kinds[number] == "c" else GoMember(env, staker, self.program)

    def of(self, kind):
        return [m for m, k in zip(self.all, self.kinds) if k == kind]

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
    net = Mixed(env, "cggcg")
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


def make_blocks(node, cnt):
    """So many blocks on the C-Chain, of one transfer each."""
    rpc = node.node.rpc("/ext/bc/C/rpc")
    chain_id = int(rpc("eth_chainId"), 16)
    for nonce in range(cnt):
        raw = evm.transaction(chain_id, nonce, bytes([0xcc] * 18 + list(nonce.to_bytes(2, "big"))), b"", 21_000, GAS_PRICE, value=1)
        rpc("eth_sendRawTransaction", raw)
        end = time.monotonic() + PATIENCE_S
        while int(rpc("eth_blockNumber"), 16) <= nonce:
            assert time.monotonic() < end, f"no block of transfer {nonce}"
            time.sleep(0.002)
    rpc.close()


def catch_up(new, name, tip):
    """Waits until a newcomer that has just been started stands where the others do, as long as the blocks may take."""
    began = time.monotonic()
    blocks = int(tip["number"], 16)
    end = began + PATIENCE_S + blocks / 10
    while not is_bootstrapped(new):
        assert time.monotonic() < end, f"{name} has not caught up"
        assert new.node.process.poll() is None, f"{name} has ended"
        time.sleep(0.1)
    print(f"{name}: {blocks} blocks in {time.monotonic() - began:.1f} s", flush=True)
    wait_for("the same tip", lambda: c_chain(new, "eth_getBlockByNumber", "latest", False)["hash"] == tip["hash"])
    same(c_chain(new, "eth_getBlockByNumber", "latest", False)["stateRoot"], tip["stateRoot"])
    same(c_chain(new, "eth_getTransactionCount", SENDER, "latest"), hex(blocks))


def with_blocks(env, kinds, blocks):
    """A network with so many blocks, and the last of them."""
    net = Mixed(env, kinds)
    began = time.monotonic()
    make_blocks(net.all[0], blocks)
    print(f"{blocks} blocks made in {time.monotonic() - began:.1f} s", flush=True)
    tip = c_chain(net.all[0], "eth_getBlockByNumber", "latest", False)
    same(int(tip["number"], 16), blocks)
    return net, tip


def test_blocks_of_ours_for_theirs(env):
    net, tip = with_blocks(env, "ccccc", BLOCKS)
    new = GoNewcomer(env, net).start(**{"state-sync-enabled": False})
    catch_up(new, "one of the original, from ours", tip)
    same(new.node.end(), 0)
    same(new.node.complaints(), [])
    for m in net.all:
        same(m.node.end(), 0)


def test_blocks_of_theirs_for_ours(env):
    net, tip = with_blocks(env, "ggggg", min(BLOCKS, THEIRS))
    for inside in (True, False):
        new = Newcomer(env, net, inside).start(**{"state-sync-enabled": False})
        catch_up(new, f"ours, {'the VM in the node' if inside else 'the VM a plugin'}, from those of the original", tip)
        same(new.node.end(), 0)
    for m in net.all:
        same(m.node.end(), 0)
        same(m.node.complaints(), [])
