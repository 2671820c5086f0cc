"""Results of the benchmarks: the lines that bench/run.py saved, compared with each other."""
import json
import math
import pathlib
import re

OUT = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench"

# The field that counts for each group, in the order of the tables; smaller is better.
TIME_FIELD = {"evm": "ns", "worst": "ns", "crypto": "ns", "trie": "ns_per_op", "import": "cpu_ms"}
TIME_FIELD |= {"rpc": "cpu_us_per_req", "ws": "cpu_us", "proc": "value"}

TITLES = {"c": "candela", "geth": "geth", "revm": "revm"}
PEERS = ["geth", "revm"]


class Results:
    """Times of one group by implementation and workload; those with two threads apart."""

    def __init__(self, lines, field):
        self.times, self.two_threads = {}, {}
        for line in lines:
            place = self.two_threads if line.get("threads", 1) > 1 else self.times
            place.setdefault(line["impl"], {})[line["name"]] = line
        self.field = field
        self.names = sorted({name for lines in self.times.values() for name in lines})

    def time(self, impl, name, field=None, two_threads=False):
        line = (self.two_threads if two_threads else self.times).get(impl, {}).get(name, {})
        return line.get(field or self.field)

    def speed(self, fast, slow, name):
        """Speed of one implementation relative to another on a workload, or None."""
        return ratio(self.time(slow, name), self.time(fast, name))

    def mean(self, fast, slow, names):
        speeds = [s for s in (self.speed(fast, slow, name) for name in names) if s]
        return math.exp(sum(map(math.log, speeds)) / len(speeds)) if speeds else None

    def against_better_peer(self, names):
        """(speed relative to the better peer, name) of the workloads that can be compared."""
        found = []
        for name in names:
            speeds = [s for s in (self.speed("c", peer, name) for peer in PEERS) if s]
            if speeds:
                found.append((min(speeds), name))
        return sorted(found)


def ratio(a, b):
    return a / b if a and b else None


def load(group):
    """The saved lines of a group."""
    return [json.loads(line) for line in (OUT / f"{group}.jsonl").read_text().splitlines()]


def part_of(name):
    """What a workload of the crypto and trie groups belongs to: keccak256/32, update_hash_1000."""
    return re.sub(r"_\d+$", "", name.split("/")[0])
