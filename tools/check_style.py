#!/usr/bin/env python3
"""Checks what spec/style.md says of the shape of the code and what no formatter sees.

  - no line of a C file is wider than 120 columns, counted in characters
  - sections are told apart by /* --- words --- */ and by no other banner
  - a program's source has at most 300 lines
  - goto goes to `out`, forward, of which a function has one (the interpreter's dispatch aside)
  - subjects of commits have at most 72 characters, of those that are not on the branch main yet: later nobody can mend them

usage: tools/check_style.py [--fix]     --fix breaks comments that are too wide; code is clang-format's
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "services", "apps", "fuzz", "bench", "tests")
COLUMNS = 120
APP_LINES = 300
SUBJECT = 72
DISPATCH = "src/evm/interp/"
DIVIDER = re.compile(r"/\* --- \S(.*\S)? --- \*/")
BANNER = re.compile(r"\s*(//|/\*|\*).*?([-=*#~_])\2{2,}")
GOTO = re.compile(r"\bgoto\s+(\*?\w+)")


def break_comments(lines):
    """Lines of comments that are too wide, broken at a blank; what is left over goes in front of the next line of prose."""
    out = []
    rest = ""
    front = ""  # of a line that goes on
    for line in lines:
        if rest and line.startswith(front) and line[len(front) : len(front) + 1].strip():
            line = front + rest + line[len(front) - 1 :]
        elif rest:
            out.append(front + rest)
        rest = ""
        m = re.match(r"( *)(/\*|\*) ", line)
        if len(line) > COLUMNS and m:
            front = m[1] + (" * " if m[2] == "/*" else "* ")
            end = len(line) - 3 if line.endswith(" */") else len(line)
            cut = line.rfind(" ", len(front) + 1, min(COLUMNS + 1, end))
            if cut > 0:
                line, rest = line[:cut], line[cut + 1 :]
        out.append(line)
        if rest.endswith("*/"):
            out.append(front + rest)
            rest = ""
    return out


def code_of(line):
    """A line without texts and comments, so that words in them are not taken for code."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"/\*.*?\*/|//.*|/\*.*|^\s*\*.*", "", line)


def check_file(path, rel, problems, fix):
    lines = path.read_text().splitlines()
    if fix and any(len(line) > COLUMNS for line in lines):
        lines = break_comments(lines)
        path.write_text("\n".join(lines) + "\n")
    if rel.startswith("apps/") and path.suffix == ".c" and len(lines) > APP_LINES:
        problems.append(f"{rel}:1: {len(lines)} lines, a program's source has at most {APP_LINES}")
    out_at = 0  # line of the label of the function
    for no, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            problems.append(f"{rel}:{no}: {len(line)} columns")
        if line.startswith("/* ---") or BANNER.match(line):
            if line.startswith("/*") and not DIVIDER.fullmatch(line):
                problems.append(f"{rel}:{no}: a divider is /* --- words --- */")
            elif line.lstrip().startswith("//"):
                problems.append(f"{rel}:{no}: a divider is /* --- words --- */")
        if rel.startswith(DISPATCH):
            continue
        if line.startswith("}"):
            out_at = 0
        code = code_of(line)
        if re.match(r"\s*out:", code):
            if out_at != 0:
                problems.append(f"{rel}:{no}: a second label out")
            out_at = no
        m = GOTO.search(code)
        if m and m[1] != "out":
            problems.append(f"{rel}:{no}: goto {m[1]}: only `out` is gone to")
        elif m and out_at != 0:
            problems.append(f"{rel}:{no}: goto goes back")


def git(*words):
    """What git says; nothing where there is no history: a source archive, a shallow clone."""
    out = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return out.stdout.splitlines() if out.returncode == 0 else []


def check_subjects(problems):
    for line in git("log", "--format=%h %s", "main..HEAD"):
        commit, subject = line.split(" ", 1)
        if len(subject) > SUBJECT:
            problems.append(f"{commit}: a subject of {len(subject)} characters: {subject}")


def main():
    problems = []
    cnt = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".inc"):
                cnt += 1
                check_file(path, path.relative_to(ROOT).as_posix(), problems, "--fix" in sys.argv[1:])
    check_subjects(problems)
    print("\n".join(problems))
    print(f"{cnt} files, {len(problems)} problems of style")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
