#!/usr/bin/env python3
"""Checks that every [spec:file#section] in a comment names a section that exists in spec/."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ANCHOR = re.compile(r"\[spec:([a-z0-9-]+)#([A-Za-z0-9.]+)\]")


def sections(path):
    """Section numbers of a document: those of its headings ("## 3.1 Title", "### B2. Names") and of bold entries ("**D 3.")."""
    found = set()
    for line in path.read_text().splitlines():
        m = re.match(r"#+ +([A-Z]?\d+(?:\.\d+)*|[A-Z])\.?(?:\s|$)", line)
        if m:
            found.add(m[1])
        m = re.match(r"\*\*D (\d+)\.", line)
        if m:
            found.add("D" + m[1])
    return found


def main():
    known = {p.stem: sections(p) for p in (ROOT / "spec").glob("*.md")}
    problems = []
    count = 0
    for folder in ("src", "apps", "services", "fuzz", "bench", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".c", ".h", ".def", ".md", ".py"):
                continue
            for no, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                for m in ANCHOR.finditer(line):
                    count += 1
                    if m[2] not in known.get(m[1], ()):
                        problems.append(f"{path.relative_to(ROOT)}:{no}: {m[0]} does not exist in spec/")
    print("\n".join(problems))
    print(f"{count} anchors, {len(problems)} dangling")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
