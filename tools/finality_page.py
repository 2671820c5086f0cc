#!/usr/bin/env python3
"""Makes the page that checks finality: one HTML file with the verifier, compiled to WebAssembly, inside.

usage: finality_page.py OUT.html --clang CLANG --linker WASM-LD --crates FOLDER

Needs clang with a wasm32 target and lld. Prints the size of the page, plain and compressed."""
import argparse
import base64
import concurrent.futures
import gzip
import hashlib
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ["src/finality/wasm/module.c", "src/finality/wasm/mldsa.c",
       *(f"src/finality/cert/{n}.c" for n in ("book", "cert", "epoch", "verify")),
       *(f"src/crypto/lattice/{n}.c" for n in ("poly", "ringtail", "sample")),
       *(f"src/crypto/hash/{n}.c" for n in ("blake2", "blake2_avx512", "blake2_words", "blake2x", "blake3", "keccak", "sha2", "shake")),
       "src/crypto/cpu.c",
       *(f"src/crypto/bls/{n}.c" for n in ("bls", "bls12381"))]
FLAGS = ["--target=wasm32", "-O2", "-std=gnu17", "-ffunction-sections", "-fdata-sections", "-fvisibility=hidden",
         "-mbulk-memory", "-fno-strict-aliasing", f"-ffile-prefix-map={ROOT}=", "-isystem", str(ROOT / "src/finality/wasm/libc"), f"-I{ROOT}/src"]
STACK, MEMORY = 512 << 10, 384 << 20


def sources(crates):
    """Each source with the flags of its own."""
    blst, blake3 = crates / "blst-0.3.17/blst", crates / "blake3-1.8.2/c"
    mldsa = crates / "oqs-sys-0.11.0+liboqs-0.13.0/liboqs/src/sig/ml_dsa/pqcrystals-dilithium-standard_ml-dsa-65_ref"
    for name in OWN:
        yield ROOT / name, ["-Wall", "-Wextra", "-Werror", "-isystem", str(blst / "bindings"), "-isystem", str(blake3)]
    yield blst / "src/server.c", ["-w", "-D__BLST_NO_ASM__", "-D__BLST_NO_CPUID__"]
    for name in ("blake3", "blake3_dispatch", "blake3_portable"):
        yield blake3 / f"{name}.c", ["-w"]
    for name in ("ntt", "packing", "poly", "polyvec", "reduce", "rounding", "sign", "symmetric-shake"):
        yield mldsa / f"{name}.c", ["-w", "-DDILITHIUM_MODE=3"]


def module(opt):
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for i, (path, flags) in enumerate(sources(pathlib.Path(opt.crates))):
            obj = pathlib.Path(folder) / f"{i}.o"
            jobs.append((obj, [opt.clang, *FLAGS, *flags, "-c", str(path), "-o", str(obj)]))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for _ in pool.map(lambda job: subprocess.run(job[1], check=True), jobs):
                pass
        out = pathlib.Path(folder) / "finality.wasm"
        subprocess.run([opt.linker, "--no-entry", "--gc-sections", "-O2", "--strip-all", "--stack-first", "-z",
                        f"stack-size={STACK}", f"--max-memory={MEMORY}", "-o", str(out), *(str(job[0]) for job in jobs)],
                       check=True)
        return out.read_bytes()


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("out")
    args.add_argument("--clang", required=True)
    args.add_argument("--linker", required=True)
    args.add_argument("--crates", required=True)
    opt = args.parse_args()
    script = (ROOT / "web/finality.js").read_text()
    script = script.replace("@wasm@", base64.b64encode(module(opt)).decode())
    style = re.sub(r"/\*.*?\*/", "", (ROOT / "web/candela.css").read_text(), flags=re.S)
    style += ".lamp.big { width: 18px; height: 18px; } #verdict { padding-top: 14px; flex-wrap: nowrap; gap: 14px; } input[type=file].field { height: auto; padding: 6px 10px; }"
    style += " #ask label, #fetch label, #proofs label { display: grid; gap: 6px; }"
    policy = f"default-src 'none'; script-src {digest(script)} 'wasm-unsafe-eval'; style-src {digest(style)}; connect-src http: https:; base-uri 'none'; form-action 'none'"
    page = (ROOT / "web/finality.html").read_text()
    for name, text in (("policy", policy), ("style", style), ("script", script)):
        page = page.replace(f"@{name}@", text)
    out = pathlib.Path(opt.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page)
    data = page.encode()
    print(f"{out.name}: {len(data):,} bytes, {len(gzip.compress(data, 9)):,} compressed")


if __name__ == "__main__":
    main()
