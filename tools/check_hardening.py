#!/usr/bin/env python3
"""Checks that docs/hardening.md names tests that exist: each `file: words` of a row is a file that contains these words."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    problems, named, unheld = [], 0, 0
    for no, line in enumerate((ROOT / "docs" / "hardening.md").read_text().splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| found |"):
            continue
        unheld += "**open**" in line
        for path, words in re.findall(r"`([\w./-]+): ([^`]+)`", line):
            file = ROOT / path
            text = file.read_text() if file.is_file() else ""
            for word in words.split():
                named += 1
                if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
                    problems.append(f"docs/hardening.md:{no}: {path} has no {word}")
    print("\n".join(problems))
    print(f"{named} named, {len(problems)} missing, {unheld} open")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
