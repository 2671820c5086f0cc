"""What the benchmarks have to reach [spec:bench#9]: the bounds, and which results keep them.

All ratios are speeds: 2 means twice as fast. Means are geometric."""
import re
import typing

from results import PEERS, TIME_FIELD, Results, load, part_of, ratio

# Workloads that an analysing interpreter reduces to almost nothing: means are also given without.
JUMPDEST = re.compile("ipsilon_micro/(JUMPDEST_n0_empty|loop_with_many_jumpdests_empty)")
DEGENERATE = re.compile(r"micro/(push\d*_pop|dup_pop|swap\d*|pc_pop|gas_pop|jumpdest)")

# Rows of the evm table: title, prefix of the names, names left out, targets against geth and revm.
EVM_ROWS = [
    ("contract", "contract/", None, (6, 3)),
    ("ipsilon_main", "ipsilon_main/", None, (4, 2.3)),
    ("ipsilon_micro", "ipsilon_micro/", None, (5, 3)),
    ("ipsilon_micro, no JUMPDEST files", "ipsilon_micro/", JUMPDEST, (5, 3)),
    ("micro", "micro/", None, (4.2, 2.3)),
    ("micro, no degenerate files", "micro/", DEGENERATE, (4.2, 2.3)),
    ("precompile", "precompile/", None, (1.15, None)),
]

FLOOR = 0.95  # no single evm workload may fall below this share of the better peer's speed
WORST_SPEED, WORST_MGAS_S = 0.9, 50  # hostile byte code: least speed against geth, and of its own
CRYPTO_SPEED = 1.0  # every row of the table, against the better peer
CRYPTO_NOISE = 0.02  # where a peer runs the same library, two runs differ by as much
TRIE_SIZE, TRIE_TARGET = 100000, 6  # keys; insert + hash + commit against geth
SORTED_ROOT_TARGET = 1 / 0.6  # against the Rust builder
PROOF_TARGET = 2  # against geth
IMPORT_TARGET = 2.7  # CPU time of a transaction against geth
# Server CPU time of a request or notification against geth; what a node of its own may need.
RPC_TARGETS = {"eth_call": 10, "eth_getBalance": 6.5, "eth_getLogs_2000": 15, "eth_getBlockByNumber_400": 15}
RPC_TARGETS |= dict.fromkeys(["eth_blockNumber", "web3_clientVersion"], 5)
RPC_TARGETS_AT = "64"  # connections
SUBSCRIBERS_TARGET = 5  # with 1000 connections
PROC_LIMITS = {"start_ms": 20, "rss_idle_mb": 16, "explorer_ms": 50, "explorer_kb": 60}
SECOND_THREAD_TARGET = 0.6  # wall time of an import with two threads to one with one


class Target(typing.NamedTuple):
    """One bound, and what was measured."""

    name: str
    got: float
    bound: float
    is_least: bool = True  # else the most that is allowed

    @property
    def is_met(self):
        return self.got >= self.bound if self.is_least else self.got <= self.bound

    def wanted(self):
        return f"{'>=' if self.is_least else '<='} {self.bound:.3g}"


def evm_names(results, prefix, left_out):
    names = [name for name in results.names if name.startswith(prefix)]
    return [name for name in names if not left_out or not left_out.fullmatch(name)]


def rpc_target(name, connections):
    return RPC_TARGETS.get(name) if connections == RPC_TARGETS_AT else None


def ws_target(_, connections):
    return SUBSCRIBERS_TARGET if connections == "1000" else None


def of_evm(results):
    for title, prefix, left_out, bounds in EVM_ROWS:
        names = evm_names(results, prefix, left_out)
        for peer, bound in zip(PEERS, bounds):
            yield f"{title}, against {peer}", results.mean("c", peer, names), bound
    for speed, name in results.against_better_peer(results.names)[:1]:
        yield f"the slowest, {name}, against the better peer", speed, FLOOR


def of_worst(results):
    for name in results.names:
        yield f"{name}, Mgas/s", results.time("c", name, "mgas_s"), WORST_MGAS_S
        yield f"{name}, against geth", results.speed("c", "geth", name), WORST_SPEED


def of_crypto(results):
    for part in sorted({part_of(name) for name in results.names}):
        names = [name for name in results.names if part_of(name) == part]
        means = [mean for peer in PEERS if (mean := results.mean("c", peer, names))]
        yield f"{part}, against the better peer", min(means, default=None), CRYPTO_SPEED - CRYPTO_NOISE


def of_trie(results):
    cost = {}
    for impl in ("c", "geth"):
        each = [results.time(impl, f"{step}_{TRIE_SIZE}") for step in ("insert", "hash", "commit")]
        cost[impl] = sum(each) if all(each) else None
    yield f"insert + hash + commit of {TRIE_SIZE} keys, against geth", ratio(cost["geth"], cost["c"]), TRIE_TARGET
    yield "sorted root, against revm", results.speed("c", "revm", f"stacktrie_{TRIE_SIZE}"), SORTED_ROOT_TARGET
    yield "proofs, against geth", results.speed("c", "geth", f"prove_{TRIE_SIZE}"), PROOF_TARGET


def of_import(results):
    for name in results.names:
        yield f"import {name}, against geth", results.speed("c", "geth", name), IMPORT_TARGET
        two = ratio(results.time("c", name, "wall_ms", two_threads=True), results.time("c", name, "wall_ms"))
        yield f"import {name}, wall time of two threads", two, SECOND_THREAD_TARGET, False


def of_servers(target):
    def give(results):
        for name in results.names:
            yield f"{name}, against geth", results.speed("c", "geth", name), target(*name.split("/"))

    return give


def of_proc(results):
    for name, most in PROC_LIMITS.items():
        yield name, results.time("c", name), most, False


OF_GROUP = {"evm": of_evm, "worst": of_worst, "crypto": of_crypto, "trie": of_trie, "import": of_import,
            "rpc": of_servers(rpc_target), "ws": of_servers(ws_target), "proc": of_proc}


def targets(groups):
    """Every target whose workload was measured."""
    found = []
    for group in groups:
        rows = OF_GROUP[group](Results(load(group), TIME_FIELD[group]))
        found += [Target(*row) for row in rows if row[1] is not None and row[2] is not None]
    return found


def missed(groups):
    """A sentence for each target that is missed."""
    return [f"{t.name}: {t.got:.2f}, wanted {t.wanted()}" for t in targets(groups) if not t.is_met]
