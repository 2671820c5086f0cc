"""Key files with eth_account: makes them in a folder, or opens one that somebody else made.

usage: keyfiles.py make DIR KEY PASSWORD      writes DIR/scrypt.json and DIR/pbkdf2.json
       keyfiles.py open FILE PASSWORD         prints the key
"""
import json
import pathlib
import sys

from eth_account import Account


def main():
    what, path, *rest = sys.argv[1:]
    if what == "make":
        key, password = rest
        for kdf, cost in (("scrypt", 2 ** 14), ("pbkdf2", 10_000)):
            text = json.dumps(Account.encrypt(key, password, kdf=kdf, iterations=cost))
            (pathlib.Path(path) / f"{kdf}.json").write_text(text)
    else:
        print("0x" + bytes(Account.decrypt(pathlib.Path(path).read_text(), rest[0])).hex())


if __name__ == "__main__":
    main()
