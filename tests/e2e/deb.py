#!/usr/bin/env python3
"""The node's Debian package: it is built and unpacks, its program runs, its unit leaves an attacker little, licences of what is compiled
in lie beside it, container files have what it needs; ends with `N passed, M failed`.

usage: tests/e2e/deb.py --bin build/release/bin/candela
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPOSURE_MAX = 2.0  # of systemd's scale from 0 to 10


def package(binary):
    if shutil.which("dpkg-shlibdeps") is None:
        return "SKIP no dpkg-dev here"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([ROOT / "packaging/deb.sh", binary, folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        root = pathlib.Path(folder) / "unpacked"
        subprocess.run(["dpkg", "-x", done.stdout.strip(), root], check=True)
        done = subprocess.run([root / "usr/bin/candela", "--version"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("candela/"), done
        assert (root / "etc/candela/node.env").stat().st_mode & 0o777 == 0o600
        doc = root / "usr/share/doc/candela"
        told = (doc / "copyright").read_text()
        texts = {p.relative_to(doc / "licences").parts[0] for p in (doc / "licences").rglob("*") if p.is_file()}
        # Every bundled row of NOTICE has its owner named and, unless it is under our own licence, its text.
        owners = told[told.index("whose they are"):]
        for name, licence in re.findall(r"^  (\S+) +\S+ +(.+?)  +bundled", told, re.M):
            assert re.search(rf"^  {re.escape(name)} +Copyright", owners, re.M), f"nobody owns {name}"
            short = {"libcurl": "curl-sys", "liboqs": "oqs-sys", "libsecp256k1": "secp256k1-sys", "yyjson": "yyjson-sys",
                     "llhttp": "httptools"}
            assert licence.startswith("Apache-2.0") or short.get(name, name) in texts, f"no licence of {name}: {texts}"
    return "ok"


def image(binary):
    """Container files: bases that cannot change unnoticed, and every library that the program needs."""
    if shutil.which("dpkg-shlibdeps") is None:
        return "SKIP no dpkg-dev here"
    files = sorted((ROOT / "packaging").glob("*/Containerfile"))
    bases = {base for f in files for base in re.findall(r"^FROM (\S+)", f.read_text(), re.M)}
    assert len(files) == 4 and len(bases) == 1, (files, bases)
    assert re.fullmatch(r"debian:bookworm-slim@sha256:[0-9a-f]{64}", *bases), bases
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([ROOT / "packaging/deb.sh", binary, folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        fields = subprocess.run(["dpkg-deb", "-f", done.stdout.strip(), "Depends"], capture_output=True, text=True, check=True).stdout
    needed = {d.split()[0] for d in fields.split(", ")} - {"libc6"}
    if "libasan8" in needed:  # what only a build with sanitizers needs: they, and libraries that a release has inside
        needed -= {"libasan8", "libubsan1", "librocksdb7.8", "libargon2-1", "libstdc++6"}
    missing = needed - set((ROOT / "packaging/node/Containerfile").read_text().split())
    assert not missing, missing
    return "ok"


def unit(_):
    if shutil.which("systemd-analyze") is None:
        return "SKIP no systemd-analyze here"
    file = ROOT / "packaging" / "node" / "candela.service"
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    exposure = float(done.stdout.split("service: ")[1].split()[0])
    assert exposure <= EXPOSURE_MAX, exposure
    return "ok"


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--bin", required=True)
    opt = args.parse_args()
    passed = failed = 0
    for test in (package, image, unit):
        try:
            end = test(opt.bin)
            passed += end == "ok"
        except Exception as e:  # noqa: BLE001 - a test may fail in any way
            end, failed = f"FAIL {type(e).__name__}: {e}", failed + 1
        print(f"{end} {test.__name__}" if end == "ok" else f"{end} ({test.__name__})", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
