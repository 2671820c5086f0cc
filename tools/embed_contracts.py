#!/usr/bin/env python3
"""Writes the code that contracts have on a chain as C.

usage: embed_contracts.py CONTRACTS.json OUT.c HEADER NAME=SYMBOL...     SYMBOL: a cd_bytes that HEADER declares"""
import json
import pathlib
import sys


def main():
    source, out, header, *names = sys.argv[1:]
    contracts = json.loads(pathlib.Path(source).read_text())["contracts"]
    text = [f'#include "{header}"\n\n']
    for row in names:
        name, symbol = row.split("=")
        code = bytes.fromhex(contracts[name]["runtime"][2:])
        lines = (", ".join(str(b) for b in code[i:i + 24]) for i in range(0, len(code), 24))
        text.append(f"static const u8 {symbol}_code[] = {{\n    " + ",\n    ".join(lines) + "};\n"
                    f"const cd_bytes {symbol} = {{{symbol}_code, sizeof {symbol}_code}};\n\n")
    pathlib.Path(out).write_text("".join(text))


if __name__ == "__main__":
    main()
