#!/usr/bin/env python3
"""Writes the files of web/ as C: bytes, gzip'd bytes, a name with the hash of the bytes, a tag.

usage: embed_web.py OUT.c FILE...      (the order is that of cd_web_file in src/web/assets.h)

Scripts go without indentation and lines that are comments: a browser has no use for them."""
import gzip
import hashlib
import pathlib
import sys

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def array(name, data):
    rows = (", ".join(str(b) for b in data[i:i + 24]) for i in range(0, len(data), 24))
    return f"static const u8 {name}[] = {{\n    " + ",\n    ".join(rows) + "};\n"


def trim(path):
    """A script's lines as a browser needs them. A text that spans lines would lose blanks, so there may be none."""
    lines = path.read_text().splitlines()
    long = [n for n, line in enumerate(lines, 1) if line.count("`") % 2 != 0]
    if long:
        sys.exit(f"{path}:{long[0]}: a text in backquotes ends on another line")
    kept = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("//")]
    return ("\n".join(kept) + "\n").encode()


def main():
    out, files = sys.argv[1], [pathlib.Path(f) for f in sys.argv[2:]]
    text = ['#include "web/assets.h"\n\n']
    rows = []
    for i, path in enumerate(files):
        data = trim(path) if path.suffix == ".js" else path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        text.append(array(f"body_{i}", data))
        text.append(array(f"gzip_{i}", gzip.compress(data, 9, mtime=0)))
        rows.append(f'    {{.name = "{path.stem}-{digest[:10]}{path.suffix}",\n'
                    f'     .type = "{TYPES[path.suffix]}",\n'
                    f'     .etag = "W/\\"{digest[:32]}\\"",\n'
                    f'     .body = {{.p = body_{i}, .n = sizeof body_{i}}},\n'
                    f'     .gzip = {{.p = gzip_{i}, .n = sizeof gzip_{i}}}}},\n')
    text.append("\nstatic const cd_web_asset files[CD_WEB_FILES] = {\n" + "".join(rows) + "};\n")
    text.append("\nconst cd_web_asset *cd_web_asset_get(cd_web_file f)\n{\n    return &files[f];\n}\n")
    pathlib.Path(out).write_text("".join(text))


if __name__ == "__main__":
    main()
