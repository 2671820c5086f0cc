#!/usr/bin/env python3
"""Lists public functions that no program calls: those that nothing calls at all, then, with --tests, those that only
tests do. A list to look through, not a check: what a coming caller needs may be there before it.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "services", "apps", "bench", "fuzz", "tests")
DECLARED = re.compile(r"^(?!#|typedef|return|static|CD_INLINE|\s)[\w\s*]*?\b(cd_[a-z0-9_]+)\s*\(", re.M)


def code_of(path):
    """A file without comments and texts."""
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(errors="replace"), flags=re.S)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', re.sub(r"//[^\n]*", " ", text))


def main():
    paths = [p for d in FOLDERS for p in sorted((ROOT / d).rglob("*")) if p.suffix in (".c", ".h", ".def", ".inc")]
    code = {p.relative_to(ROOT).as_posix(): code_of(p) for p in paths}
    in_program = {f: f.split("/")[0] in ("src", "services", "apps") and "/test/" not in f for f in code}
    named = collections.defaultdict(collections.Counter)  # name -> file -> how often
    declared = collections.Counter()  # prototypes and definitions of a name
    home = {}
    for file, text in code.items():
        for word in re.findall(r"\bcd_\w+", text):
            named[word][file] += 1
        if in_program[file]:
            for m in DECLARED.finditer(text):
                declared[m[1]] += 1
                if file.endswith(".h"):
                    home.setdefault(m[1], file)
    for name, file in sorted(home.items(), key=lambda item: item[1]):
        if sum(n for f, n in named[name].items() if in_program[f]) > declared[name]:
            continue
        tests = [f for f in named[name] if not in_program[f]]
        if not tests:
            print(f"{file}: {name}: nobody")
        elif "--tests" in sys.argv[1:]:
            print(f"{file}: {name}: {' '.join(tests)}")


if __name__ == "__main__":
    main()
