#!/usr/bin/env python3
"""Range proofs of ours and of the Rust crate `bulletproofs`, each checked by the other.

usage: rangeproofs.py --ours PROGRAM [--seeds N] [--time]

Every size (1, 2, 4 ... 32 commitments), valid proofs and ones with a byte changed: both sides must say the same.
--time also compares what one verification costs: ours may take 1.1 times the other's at most. The peer is built from
its lock file into build/peers; without cargo, or where it cannot be built, SKIP.
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "build" / "peers" / "bulletproofs"
LIMIT = 1.1


class Side:
    """A program that answers a line with a line."""

    def __init__(self, program):
        self.process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"no answer to {line[:60]}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def build_peer():
    """The peer's program, or the reason why there is none."""
    if shutil.which("cargo") is None:
        return None, "cargo is not installed"
    done = subprocess.run(
        ["cargo", "build", "--release", "--locked", "-j", "1"],
        cwd=HERE / "bulletproofs", env=os.environ | {"CARGO_TARGET_DIR": str(OUT)}, capture_output=True, text=True,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return None, lines[-1] if lines else "cargo failed"
    return OUT / "release" / "bulletproofs-peer", None


def changed(line, rng):
    """The claim with one bit of its proof turned over."""
    head, proof = line.rsplit(" ", 1)
    data = bytearray.fromhex(proof)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return f"{head} {data.hex()}"


def compare(ours, theirs, seeds):
    problems, asked = [], 0
    rng = random.Random(20)
    for cnt in (1, 2, 4, 8, 16, 32):
        for seed in range(seeds if cnt < 8 else 1):
            for maker, name in ((ours, "ours"), (theirs, "theirs")):
                claim = maker.ask(f"prove {cnt} {seed}")
                wrong = changed(claim, rng)
                for line, want in ((claim, "1"), (wrong, "0")):
                    asked += 2
                    got = ours.ask(line), theirs.ask(line)
                    if got != (want, want):
                        problems.append(f"{cnt} commitments, seed {seed}, proof is {name}: want {want}, got {got}")
    print(f"{asked} verifications")
    return problems


def compare_time(ours, theirs):
    """The best of several turns each, taken alternately."""
    best = {}
    for _ in range(15):
        for name, side in (("ours", ours), ("theirs", theirs)):
            took = float(side.ask("time 1 100"))
            best[name] = min(took, best.get(name, took))
    print(f"one verification: ours {best['ours']:.0f} us, theirs {best['theirs']:.0f} us")
    if best["ours"] > LIMIT * best["theirs"]:
        return [f"ours is slower than {LIMIT} times theirs"]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--time", action="store_true")
    args = parser.parse_args()
    peer, why = build_peer()
    if peer is None:
        print(f"SKIP bulletproofs: {why}")
        return 0
    ours, theirs = Side(args.ours), Side(peer)
    problems = compare(ours, theirs, args.seeds)
    if args.time:
        problems += compare_time(ours, theirs)
    ours.close()
    theirs.close()
    print("\n".join(problems) or "the two agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
