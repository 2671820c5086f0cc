"""Every response of a suite, read strictly with the types of a public OpenRTB library (a Go module, built once)."""
import fcntl
import os
import pathlib
import shutil
import subprocess

from world import ROOT

SOURCE = pathlib.Path(__file__).resolve().parent / "strict"
PROGRAM = ROOT / "build/e2e-adx/strict"
BUILD_LIMIT_S = 300


def build():
    """The program; None without go, or where its module cannot be had."""
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    with PROGRAM.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if PROGRAM.exists() and PROGRAM.stat().st_mtime >= max(f.stat().st_mtime for f in SOURCE.iterdir()):
            return PROGRAM
        if shutil.which("go") is None:
            return None
        done = subprocess.run(["go", "build", "-trimpath", "-o", PROGRAM, "."], cwd=SOURCE, capture_output=True, text=True,
                              env=dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false"), check=False, timeout=BUILD_LIMIT_S)
        if done.returncode != 0:
            print(done.stderr[-500:])
            return None
        return PROGRAM


def verdicts(program, responses):
    """What the library says of each (version, text): "ok", or what is wrong."""
    lines = "".join(f"{version} {text.decode()}\n" for version, text in responses)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def check(w):
    """Checks what the world's exchanges have answered."""
    if not w.responses:
        return
    program = build()
    if program is None:
        print("SKIP strict: the reader of OpenRTB cannot be built (package golang-go)")
        w.check("CI" not in os.environ, "strict: the reader is missing")
        return
    said = verdicts(program, [("2", b'{"id":"1","unheard_of":1}'), *w.responses])
    w.check(said[0] != "ok" and len(said) == len(w.responses) + 1, f"strict: {len(w.responses)} responses, {len(said)} verdicts")
    for (_, text), verdict in zip(w.responses, said[1:], strict=False):
        w.check(verdict == "ok", f"strict: {verdict}: {text[:300]}")
