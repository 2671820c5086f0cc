#!/usr/bin/env python3
"""Checks that public headers say what they must: a comment at the top, and one over every run of declarations.

A function is documented when a comment stands right above it, or above the run of declarations (no blank line
between) that it belongs to: one comment may speak of a family.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def check(path, problems):
    rel = path.relative_to(ROOT).as_posix()
    text = path.read_text()
    if not text.startswith("/* " + rel.removeprefix("src/")):
        problems.append(f"{rel}:1: does not begin with its path and purpose")
    documented = False
    family = False  # inside a run of inline bodies, which blank lines separate
    in_comment = False
    depth = 0
    for no, line in enumerate(text.splitlines(), 1):
        if in_comment:
            in_comment = "*/" not in line
            documented = True
            continue
        if line.startswith("/*"):
            in_comment = "*/" not in line
            is_divider = bool(re.match(r"/\* -{3}", line))
            documented = not is_divider
            family = family and not is_divider
            continue
        if not line.strip():
            if depth == 0:
                documented = False
            continue
        m = re.match(r"(?!#|typedef|struct|enum|union|extern|return|static inline|\})[A-Za-z].*?\b(cd_[a-z0-9_]+)\(", line)
        is_inline = line.startswith("CD_INLINE")
        if depth == 0 and m:
            family = is_inline and (family or documented)
        if depth == 0 and m and not documented and not family:
            problems.append(f"{rel}:{no}: {m[1]} has no comment")
        depth += line.count("{") - line.count("}")


def main():
    problems = []
    headers = [p for d in ("src", "services") for p in sorted((ROOT / d).rglob("*.h")) if "/test/" not in p.as_posix()]
    for path in headers:
        if not path.name.endswith("_priv.h"):
            check(path, problems)
    print("\n".join(problems))
    print(f"{len(headers)} headers, {len(problems)} gaps")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
