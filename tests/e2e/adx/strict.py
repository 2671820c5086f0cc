"""Every response of a suite, read strictly with the types of a public OpenRTB library (a Go module, built once), and every
VAST document of ours, held against the schema of its version."""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess

from world import ROOT, TESTDATA

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


def xmllint(w, document, version, text):
    """A document is valid by the schema of its version, once macros are no brackets; 2.0, 3.0 and 4.3 have none here."""
    folder = TESTDATA / "vast/xsd"
    schema = next(iter(sorted(folder.glob(f"*{version}*.xsd"))), None) if folder.exists() else None
    if schema is None:
        return
    plain = re.sub(r"\[([A-Z]+)\]", r"\1", document)
    done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", str(schema), "-"], input=plain.encode(),
                          capture_output=True, check=False)
    w.check(done.returncode == 0, f"{text}: {done.stderr.decode()[:300]}")


def check(w):
    """Checks what the world's exchanges have answered."""
    for text in w.documents.values():
        xmllint(w, text, re.search(r'<VAST[^>]* version="([\d.]+)"', text)[1], "a document")
    responses(w)


def responses(w):
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
