#!/usr/bin/env python3
"""Checks that includes follow the layer table in cmake/layers.cmake; prints each forbidden edge and its rule."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
SERVICES = ROOT / "services"

# Third-party headers and the one file (or folder) that may know each.
WRAPPERS = {
    "yyjson.h": ["src/codec/json"],
    "blst": ["src/crypto/bls/"],
    "ckzg.h": ["src/crypto/bls/kzg"],
    "secp256k1": ["src/crypto/ec/secp256k1"],
    "openssl/": ["src/crypto/", "src/net/"],
    "sodium": ["src/crypto/cipher/xchacha", "src/crypto/hash/scrypt", "src/crypto/zk/ristretto"],
    "argon2": ["src/crypto/hash/argon2id"],
    "zxcvbn": ["src/wallet/users"],
    "gmp.h": ["src/crypto/modexp", "src/num/test/"],
    "rocksdb/": ["src/store/kv_rocksdb"],
    "ares.h": ["src/net/dns"],
    "uv.h": ["src/net/"],
    "curl/": ["src/net/http/client", "src/net/smtp"],
    "hiredis": ["src/net/redis"],
    "sqlite3.h": ["services/common/sql_sqlite", "services/common/sql_sums"],
    "libpq-fe.h": ["services/common/sql_pg"],
    "expat.h": ["services/adx/vast/tree"],
    "llhttp.h": ["src/net/"],
    "nghttp2/": ["src/net/http/http2", "src/grpc/conn"],
    "zlib.h": ["src/codec/gzip", "src/net/ws/deflate"],
    "cmocka.h": ["/test/", "tests/"],
}


# What others copy into programs of their own: nothing of ours, and OpenSSL as it comes.
SHIPPED = {"services/webhook/receiver/candela_webhook.h": "openssl/"}


def table():
    """library -> (rank, allowed libraries), read from the one table."""
    rows = {}
    text = (ROOT / "cmake" / "layers.cmake").read_text()
    for m in re.finditer(r'"([a-z0-9/]+) +(\d+) :([a-z0-9/\s]*)"', text):
        rows[m[1]] = (int(m[2]), set(m[3].split()))
    return rows


def library_of(path, rows):
    """The library a path (below src/, or as included) belongs to: the longest row that is a prefix."""
    rel = path if isinstance(path, str) else path.relative_to(ROOT).as_posix().removeprefix("src/")
    fits = [lib for lib in rows if rel.startswith(lib + "/")]
    return max(fits, key=len) if fits else None


def check_file(path, rows, problems):
    lib = library_of(path, rows)
    rel = path.relative_to(ROOT).as_posix()
    if lib is None:
        problems.append(f"{rel}: folder is not in cmake/layers.cmake")
        return
    is_test = "/test/" in rel
    for no, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
        if not m:
            continue
        inc = m[1]
        where = f"{rel}:{no}"
        if ".." in inc:
            problems.append(f"{where}: relative include {inc} (always \"lib/mod.h\")")
        target = library_of(inc, rows)
        if rel in SHIPPED:
            if '"' in line or ("/" in inc and not inc.startswith(SHIPPED[rel])):
                problems.append(f"{where}: {rel} is for programs that have {SHIPPED[rel]} alone")
            continue
        if target is not None:
            if "<" in line:
                problems.append(f"{where}: <{inc}> is ours: use quotes")
            if target != lib and target not in rows[lib][1] and not is_test:
                problems.append(f"{where}: {lib} may not use {target} (cmake/layers.cmake)")
            if inc.endswith("_priv.h") and target != lib:
                problems.append(f"{where}: {inc} is private to {target}")
            continue
        for header, allowed in WRAPPERS.items():
            if inc.startswith(header) or inc == header:
                if path.suffix == ".h" and not inc.startswith("cmocka") and not rel.endswith("_priv.h"):
                    problems.append(f"{where}: a public header may not include {inc}")
                if not is_test and not any(a in rel for a in allowed):
                    problems.append(f"{where}: {inc} is known to {', '.join(allowed)} only")


def main():
    rows = table()
    problems = []
    for lib, (rank, allowed) in rows.items():
        for other in allowed:
            if rows[other][0] >= rank:
                problems.append(f"cmake/layers.cmake: {lib} (rank {rank}) lists {other} (rank {rows[other][0]})")
    files = [p for root in (SRC, SERVICES) for p in sorted(root.rglob("*")) if p.suffix in (".c", ".h", ".def")]
    for path in files:
        check_file(path, rows, problems)
    print("\n".join(problems))
    print(f"{len(files)} files, {len(problems)} forbidden edges")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
