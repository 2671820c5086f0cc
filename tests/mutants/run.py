#!/usr/bin/env python3
"""Plants faults, one at a time, and asks whether the tests of the touched library notice; ends with `N passed, M failed`.

usage: tests/mutants/run.py [--only TEXT] [--least 97] [--tests REGEX] | --check

A fault is a small patch in one of the lists beside this file:

    == words that say what is wrong now
    src/net/http/parse.c
    - the line as it is
    + the line as it is not

The lines with "-" stand once in the file, one after the other; a line with two blanks in front is one that stays, to tell places
apart. `equivalent: why` behind the words: no test can notice, so that it is not tried. A line `@ e2e/dev`, or `@ lab`, at the head of a
list names a test, or a library whose tests are asked, too, when those of the library have noticed nothing. The source is a worktree of HEAD in build/mutants, built
with the address sanitizer; nothing is changed elsewhere. Noticed is what fails in `ctest -L ^lib-<library>$`, or hangs; what does not
compile is a mistake in the list.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREE = ROOT / "build" / "mutants"
PRESET = "asan"
BUILD = TREE / "build" / PRESET
TEST_LIMIT_S = 120     # a test that takes so long hangs
RSS_MAX_MIB = 4096     # of a program that went wrong


class Mutant:
    def __init__(self, name, equivalent, path, old, new, also):
        self.name, self.equivalent, self.path, self.old, self.new, self.also = name, equivalent, path, old, new, also

    def lib(self):
        """The library of the file: the nearest folder above that has a list of sources."""
        folder = pathlib.PurePosixPath(self.path).parent
        while not re.search(r"^cd_library\(", (ROOT / folder / "CMakeLists.txt").read_text()
                            if (ROOT / folder / "CMakeLists.txt").is_file() else "", re.M):
            folder = folder.parent
        parts = folder.parts[1:] if folder.parts[0] == "src" else folder.parts[1:]
        return "_".join(parts)


def read_list(path):
    mutants, name, equivalent, file, old, new, also = [], None, "", None, [], [], []

    def done():
        if name is not None:
            mutants.append(Mutant(name, equivalent, file, "\n".join(old), "\n".join(new), also))

    for line in path.read_text().splitlines():
        if line.startswith("== "):
            done()
            name, _, equivalent = line[3:].partition(" equivalent: ")
            file, old, new = None, [], []
        elif line.startswith("@ "):
            also.append(line[2:].strip())
        elif file is None and line.strip():
            file = line.strip()
        elif line.startswith("- "):
            old.append(line[2:])
        elif line.startswith("+ "):
            new.append(line[2:])
        elif line.startswith("  "):
            old.append(line[2:])
            new.append(line[2:])
    done()
    return mutants


def sh(*cmd, cwd=None):
    env = {"CANDELA_TESTDATA": str((ROOT / "../shared/testdata").resolve()),
           "ASAN_OPTIONS": f"hard_rss_limit_mb={RSS_MAX_MIB}"}
    p = subprocess.run(cmd, cwd=cwd, capture_output=True, text=True, env={**env, **os.environ})
    return p.returncode, p.stdout + p.stderr


def must(*cmd, cwd=None):
    code, text = sh(*cmd, cwd=cwd)
    if code != 0:
        sys.exit(f"{' '.join(map(str, cmd))}: {text[-2000:]}")


def set_up():
    """A worktree of HEAD, configured."""
    if not (TREE / ".git").exists():
        must("git", "worktree", "prune", cwd=ROOT)
        must("git", "worktree", "add", "--detach", "--force", TREE, "HEAD", cwd=ROOT)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    must("git", "checkout", "--force", "--detach", head, cwd=TREE)
    third = TREE / "build" / "third_party"
    third.parent.mkdir(exist_ok=True)
    if not third.exists():
        third.symlink_to(ROOT / "build" / "third_party")
    must("cmake", "--preset", PRESET, cwd=TREE)


def build(*targets):
    return sh("cmake", "--build", "--preset", PRESET, "--target", *targets, cwd=TREE)


def test(*which):
    return sh("ctest", "--test-dir", str(BUILD), *which, "--stop-on-failure", "--timeout", str(TEST_LIMIT_S), "--no-tests=error",
              "-j", "2")


def test_all(lib, which, also):
    """Those of the library, then, while nothing was noticed, the others: (exit code, output)."""
    code, out = test("-L", f"^lib-{lib}$", *(["-R", which] if which else []))
    for other in also:
        if code == 0:
            is_e2e = other.startswith("e2e/")
            code, out = build("candela" if is_e2e else f"tests_{other}")
            code, out = test(*(["-R", f"^{other}$"] if is_e2e else ["-L", f"^lib-{other}$"])) if code == 0 else (code, out)
    return code, out


def plant(m, which):
    """What became of it: killed, survived, or a mistake in the list."""
    path = TREE / m.path
    text = path.read_text()
    if text.count(m.old + "\n") != 1:
        return f"the lines are there {text.count(m.old)} times"
    path.write_text(text.replace(m.old + "\n", m.new + "\n"))
    try:
        code, out = build(f"tests_{m.lib()}")
        if code != 0:
            error = re.search(r"error: .*", out)
            return f"does not compile: {error[0] if error else out[-300:]}"
        return "killed" if test_all(m.lib(), which, m.also)[0] != 0 else "survived"
    finally:
        path.write_text(text)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--only", default="", help="those whose list, file or words contain this")
    args.add_argument("--least", type=float, default=97, help="per cent that must be noticed")
    args.add_argument("--tests", default="", help="only tests whose names match")
    args.add_argument("--check", action="store_true", help="only whether each place is still there, once")
    opt = args.parse_args()
    mutants = [m for f in sorted(HERE.glob("*.mut")) for m in read_list(f) if opt.only in f"{f.stem} {m.path} {m.name}"]
    if not mutants:
        sys.exit(f"no fault contains {opt.only!r}")
    if opt.check:
        lost = [m for m in mutants if (ROOT / m.path).read_text().count(m.old + "\n") != 1]
        print("\n".join(f"FAIL {m.path}: {m.name}: its lines are not there once" for m in lost))
        print(f"{len(mutants) - len(lost)} passed, {len(lost)} failed")
        return 1 if lost else 0
    set_up()
    count = {"killed": 0, "survived": 0, "equivalent": 0, "mistakes": 0}
    sound = set()
    for m in mutants:
        start = time.monotonic()
        if m.equivalent:
            count["equivalent"] += 1
            continue
        if m.lib() not in sound:  # what fails anyway would kill everything
            code, out = build(f"tests_{m.lib()}")
            if code == 0:
                code, out = test_all(m.lib(), opt.tests, m.also)
            if code != 0:
                sys.exit(f"the tests of {m.lib()} fail without a fault: {out[-2000:]}")
            sound.add(m.lib())
        end = plant(m, opt.tests)
        kind = end if end in count else "mistakes"
        count[kind] += 1
        print(f"{'ok' if kind == 'killed' else 'FAIL'} {m.path}: {m.name}: {end} ({time.monotonic() - start:.0f} s)", flush=True)
    tried = count["killed"] + count["survived"]
    rate = 100 * count["killed"] / max(tried, 1)
    print(f"{tried} planted, {rate:.1f} % noticed, {count['equivalent']} that nobody can notice")
    is_good = rate >= opt.least and count["mistakes"] == 0 and tried
    print(f"{count['killed']} passed, {0 if is_good else max(count['survived'] + count['mistakes'], 1)} failed")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
