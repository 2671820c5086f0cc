#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy) over every C file of ours, or over those named.

usage: tools/check_tidy.py BUILD_DIR [FILE.c ...]

BUILD_DIR is a configured build of any preset, for its compile_commands.json. A file that was clean is not read again
until it, a header of ours that it includes, its flags, the checks or clang-tidy change: build/tidy/clean.txt remembers.
All files on two cores take about three minutes, a warm run a second.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "build" / "tidy"
KNOWN = SCRATCH / "clean.txt"
KNOWN_MAX = 20000
FOLDERS = ("src/", "services/", "apps/", "fuzz/", "tests/", "bench/")
# What says how a file is read; the rest is for gcc, which knows flags that clang does not.
FLAG = re.compile(r"-[DUIm]|-std=|-isystem|-include")
WITH_VALUE = ("-isystem", "-include", "-I", "-D")
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)


class Closure:
    """Digests of files together with all they include by quotes, which is what is ours."""

    def __init__(self):
        self.parts = {}  # path -> (digest of the text, paths it includes)

    def part(self, path):
        if path not in self.parts:
            text = path.read_bytes()
            found = []
            for m in INCLUDE.finditer(text):
                name = m[1].decode()
                for folder in (path.parent, ROOT / "src", ROOT):
                    if (folder / name).is_file():
                        found.append((folder / name).resolve())
                        break
            self.parts[path] = hashlib.sha256(text).hexdigest(), found
        return self.parts[path]

    def digest(self, path):
        seen, todo = {path}, [path]
        while todo:
            for p in self.part(todo.pop())[1]:
                if p not in seen:
                    seen.add(p)
                    todo.append(p)
        return " ".join(sorted(self.part(p)[0] for p in seen))


def flags_of(command):
    flags, words = [], iter(shlex.split(command)[1:])
    for word in words:
        if FLAG.match(word):
            flags.append(word)
            if word in WITH_VALUE:
                flags.append(next(words))
    return flags


def entries(build, wanted):
    """path -> flags, of the files asked for."""
    rows = {}
    for row in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(row["file"]).resolve()
        rel = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        if rel.startswith(FOLDERS) and rel.endswith(".c") and (not wanted or path in wanted):
            rows[path] = flags_of(row["command"])
    return rows


def checks_of(path):
    """Following every path takes nearly all of the time: that is for what users run, not for tests."""
    rel = path.relative_to(ROOT).as_posix()
    is_test = rel.startswith(("tests/", "fuzz/")) or "/test/" in rel
    return ["--checks=-clang-analyzer-*"] if is_test else []


def check(path, flags):
    cmd = ["clang-tidy", "--quiet", *checks_of(path), str(path), "--", "-xc", *flags]
    run = subprocess.run(cmd, capture_output=True, text=True)
    return run.returncode, run.stdout or run.stderr


IS_SAMPLE = os.environ.get("CI") == "true" and os.environ.get("CANDELA_TEST_FULL") != "1"


def in_sample(path):
    return hashlib.sha256(path.relative_to(ROOT).as_posix().encode()).digest()[0] % 2 == 0


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = {pathlib.Path(f).resolve() for f in sys.argv[2:]}
    if shutil.which("clang-tidy") is None:
        print("SKIP clang-tidy is not installed")
        return 0
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout
    common = version + (ROOT / ".clang-tidy").read_text() + (ROOT / "third_party/Cargo.lock").read_text()
    closure = Closure()
    keys = {}
    rows = entries(build, wanted)
    for path, flags in rows.items():
        text = "\n".join((common, *checks_of(path), path.as_posix(), *flags, closure.digest(path)))
        keys[path] = hashlib.sha256(text.encode()).hexdigest()
    known = KNOWN.read_text().split() if KNOWN.exists() else []
    clean = set(known)
    # The longest first, so that the cores end together. CI has no memory of what was clean: it looks at a half, fixed by name.
    todo = sorted((p for p in keys if keys[p] not in clean and (not IS_SAMPLE or in_sample(p))), key=lambda p: -p.stat().st_size)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for path, (code, text) in zip(todo, pool.map(lambda p: check(p, rows[p]), todo)):
            if code == 0:
                known.append(keys[path])
            else:
                failed += 1
                print(text.replace(str(ROOT) + "/", ""), flush=True)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    KNOWN.write_text("\n".join(known[-KNOWN_MAX:]) + "\n")
    print(f"{len(keys)} files, {len(todo)} looked at{' (a sample)' if IS_SAMPLE else ''}, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
