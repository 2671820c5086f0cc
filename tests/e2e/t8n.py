#!/usr/bin/env python3
"""`candela-evmtool t8n` on the cases of go-ethereum's own `evm t8n`, which come with its Go module; ends with `N passed, M failed`.

usage: tests/e2e/t8n.py --bin build/release/bin/candela-evmtool

The module's version is the one that the benchmarks' peer is built from. Left out are Osaka, which no chain of ours has, blocks that make
requests (Prague's contracts), and the words about a transaction that cannot be decoded."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# folder, transactions, environment, fork, reward, what is written, exit code, what is expected
CASES = [
    ("1", "txs.json", "env.json", "Frontier+1346", "", "alloc result", 3, None),
    ("1", "txs.json", "env.json", "Byzantium", "", "alloc result", 0, "exp.json"),
    ("3", "txs.json", "env.json", "Berlin", "", "alloc result", 0, "exp.json"),
    ("4", "txs.json", "env.json", "Berlin", "", "alloc result", 4, None),
    ("5", "txs.json", "env.json", "Byzantium", "0x80", "alloc result", 0, "exp.json"),
    ("13", "txs.json", "env.json", "London", "", "body", 0, "exp.json"),
    ("13", "signed_txs.rlp", "env.json", "London", "", "result", 0, "exp2.json"),
    ("14", "txs.json", "env.json", "London", "", "result", 0, "exp.json"),
    ("14", "txs.json", "env.uncles.json", "London", "", "result", 0, "exp2.json"),
    ("14", "txs.json", "env.uncles.json", "Berlin", "", "result", 0, "exp_berlin.json"),
    ("19", "txs.json", "env.json", "London", "", "result", 0, "exp_london.json"),
    ("19", "txs.json", "env.json", "ArrowGlacier", "", "result", 0, "exp_arrowglacier.json"),
    ("19", "txs.json", "env.json", "GrayGlacier", "", "result", 0, "exp_grayglacier.json"),
    ("23", "txs.json", "env.json", "Berlin", "", "result", 0, "exp.json"),
    ("24", "txs.json", "env.json", "Paris", "", "alloc result", 0, "exp.json"),
    ("24", "txs.json", "env-missingrandom.json", "Paris", "", "", 3, None),
    ("25", "txs.json", "env.json", "Paris", "", "alloc result", 0, "exp.json"),
    ("26", "txs.json", "env.json", "Shanghai", "", "alloc result", 0, "exp.json"),
    ("28", "txs.rlp", "env.json", "Cancun", "", "alloc result", 0, "exp.json"),
    ("29", "txs.json", "env.json", "Cancun", "", "alloc result", 0, "exp.json"),
    ("30", "txs_more.rlp", "env.json", "Cancun", "", "alloc result", 0, "exp.json"),
    # ours: what is in none of theirs
    ("1", "none.json", "env.json", "Byzantium", "", "", 11, None),
    ("1", "env.json", "txs.json", "Byzantium", "", "", 10, None),
    ("26", "txs.json", "env.json", "Cancun", "", "", 3, None),
]


def skip(why):
    if os.environ.get("CI") == "true":
        sys.exit(f"{why}: CI must not skip")
    print(f"SKIP {why}\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)


def cases_folder():
    if shutil.which("go") is None:
        skip("go is not installed")
    p = subprocess.run(["go", "mod", "download", "-json", "github.com/ethereum/go-ethereum"], capture_output=True, text=True,
                       cwd=ROOT / "bench" / "peers" / "geth")
    if p.returncode != 0:
        skip(f"the Go module cannot be had: {(p.stderr or p.stdout)[-200:]}")
    return pathlib.Path(json.loads(p.stdout)["Dir"]) / "cmd" / "evm" / "testdata"


def without_reasons(doc):
    """Words about bytes that are no transaction are each program's own."""
    for r in doc.get("result", {}).get("rejected", []):
        if "rlp: " in r["error"] or r["error"].startswith("transaction: "):
            r["error"] = "cannot be decoded"
    return doc


def run(binary, folder, txs, env, fork, reward, outputs, code, want):
    cmd = [binary, "t8n", f"--input.alloc={folder}/alloc.json", f"--input.txs={folder}/{txs}",
           f"--input.env={folder}/{env}", f"--state.fork={fork}"]
    cmd += [f"--output.{k}={'stdout' if k in outputs.split() else ''}" for k in ("alloc", "result", "body")]
    cmd += [f"--state.reward={reward}"] if reward else []
    p = subprocess.run(cmd, capture_output=True, text=True)
    if p.returncode != code:
        return f"exit code {p.returncode}, want {code}: {p.stderr[:200]}"
    if want is None:
        return None
    got, expected = without_reasons(json.loads(p.stdout)), without_reasons(json.loads((folder / want).read_text()))
    for part in sorted(set(got) | set(expected)):
        if got.get(part) != expected.get(part):
            return f"{part}: {json.dumps(got.get(part))[:1500]}, want {json.dumps(expected.get(part))[:1500]}"
    return None


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--bin", required=True)
    opt = args.parse_args()
    root = cases_folder()
    failed = 0
    for name, txs, env, fork, reward, outputs, code, want in CASES:
        why = run(opt.bin, root / name, txs, env, fork, reward, outputs, code, want)
        failed += why is not None
        print(f"{'ok' if why is None else 'FAIL'} {name} {txs} {env} {fork}{': ' + why if why else ''}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
