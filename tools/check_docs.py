#!/usr/bin/env python3
"""Checks that public headers say what they must: each begins with its path and purpose, and a comment covers every
function, type, field and macro (tools/house_comments.py knows which). Doxygen tells what none covers.

  check_docs.py          warnings, exit status 1 when there are any
  check_docs.py --html   and the reference, in build/docs/html
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import house_comments

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A header with gaps, to see that they are found: the names with "bare" in them, and no others.
PLANTED = """/* planted.h - a header with gaps. */

/* fine_a and fine_b are a family. */
int fine_a(void);
int fine_b(void);

/* One type. */
typedef struct fine_type {
    int fine_field, fine_too; /* both */
    int fine_by_type;
} fine_type;
int bare_behind_type(void);

/* --- a divider says nothing --- */
int bare_after_divider(void);

static inline int bare_inline(void)
{
    return 0;
}

/* Two, with a blank line between them. */
static inline int fine_inline(void)
{
    return 0;
}

static inline int fine_inline_too(void)
{
    return 0;
}

typedef struct bare_type {
    int bare_field;
} bare_type;

#define BARE_bare_MACRO 1
"""
GAPS = {"bare_behind_type", "bare_after_divider", "bare_inline", "bare_type", "bare_field", "BARE_bare_MACRO"}


def public_headers():
    for folder in ("src", "services"):
        for path in sorted((ROOT / folder).rglob("*.h")):
            if "/test/" not in path.as_posix() and not path.name.endswith("_priv.h"):
                yield path


def doxygen(headers, out, html):
    """The warnings of Doxygen over headers in its own form; the reference goes to out."""
    out.mkdir(parents=True, exist_ok=True)
    config = f"""@INCLUDE = {ROOT}/docs/Doxyfile
INPUT = {headers}
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = {"YES" if html else "NO"}
GENERATE_TAGFILE = {"" if html else out / "tags"}
STRIP_FROM_PATH = {headers}/src {headers}
INCLUDE_PATH = {headers}/src {headers} {ROOT}/src {ROOT}
"""
    run = subprocess.run(["doxygen", "-"], input=config, cwd=ROOT, capture_output=True, text=True, check=False)
    warnings = [line.replace(f"{headers}/", "") for line in run.stderr.splitlines() if line.strip()]
    if run.returncode != 0 and not warnings:
        warnings = [f"doxygen ended with status {run.returncode}: {run.stdout}"]
    return warnings


def main():
    html = "--html" in sys.argv[1:]
    if shutil.which("doxygen") is None:
        sys.exit("doxygen is not installed (make setup)")
    problems = []
    count = 0
    with tempfile.TemporaryDirectory() as tmp:
        for path in public_headers():
            count += 1
            rel = path.relative_to(ROOT).as_posix()
            text = path.read_text()
            if not text.startswith("/* " + rel.removeprefix("src/")):
                problems.append(f"{rel}:1: does not begin with its path and purpose")
            to = pathlib.Path(tmp) / "headers" / rel
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(house_comments.for_doxygen(text))
        planted = pathlib.Path(tmp) / "planted"
        planted.mkdir()
        (planted / "planted.h").write_text(house_comments.for_doxygen(PLANTED))
        found = "\n".join(doxygen(planted, planted / "out", False))
        if set(re.findall(r"(?:Member|Compound) (\w+)", found)) != GAPS:
            problems.append(f"tools/check_docs.py: finds other gaps than it should:\n{found}")
        out = ROOT / "build" / "docs" if html else pathlib.Path(tmp) / "out"
        problems += doxygen(pathlib.Path(tmp) / "headers", out, html)
    print("\n".join(problems))
    print(f"{count} headers, {len(problems)} gaps")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
