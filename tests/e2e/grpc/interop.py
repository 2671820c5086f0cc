#!/usr/bin/env python3
"""Our gRPC and others': the interop cases of the gRPC project that unary calls can run, with grpc-go and grpcio as client
and as server; and h2spec.

usage: interop.py --endpoint BINARY [--bench]        Ends with `N passed, M failed`. What is not there is skipped, and said.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE.parent.parent.parent / "build" / "e2e-grpc"
COUNT = {"ok": 0, "FAIL": 0}


class Skip(Exception):
    pass


class Server:
    """A process that prints its port and lives as long as its standard input is open."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        **more)
        line = self.process.stdout.readline().split()
        assert line[:1] == ["port"], f"{command[0]} did not start: {line}"
        self.port = int(line[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def count(name, command, **more):
    """Runs a client that prints a line a check."""
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, **more)
    for line in p.stdout.splitlines():
        if line.startswith(("ok ", "FAIL ")):
            COUNT[line.split()[0]] += 1
            if line.startswith("FAIL "):
                print(f"{name}: {line}")
    if p.returncode != 0 or "ok " not in p.stdout:
        COUNT["FAIL"] += 1
        print(f"{name}: ended with {p.returncode}: {p.stderr[-600:]}")


def go_build(folder, name, package):
    if shutil.which("go") is None:
        raise Skip("go is not installed (package golang-go)")
    WORK.mkdir(parents=True, exist_ok=True)
    binary = WORK / name
    if not binary.exists() or binary.stat().st_mtime < max(f.stat().st_mtime for f in folder.iterdir()):
        env = dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false")
        p = subprocess.run(["go", "build", "-p", "1", "-trimpath", "-o", binary, package], cwd=folder, env=env,
                           capture_output=True, text=True, timeout=1500)
        if p.returncode != 0:
            raise Skip(f"{name} cannot be built: {p.stderr.strip().splitlines()[-1]}")
    return binary


def grpc_go(endpoint):
    peer = go_build(HERE / "peer", "peer", ".")
    with Server([endpoint, "serve"]) as ours:
        count("grpc-go client", [peer, "client", f"127.0.0.1:{ours.port}"])
    with Server([peer, "server"]) as theirs:
        count("grpc-go server", [endpoint, "call", f"127.0.0.1:{theirs.port}"])


def ours_only(endpoint):
    with Server([endpoint, "serve"]) as ours:
        count("ourselves", [endpoint, "call", f"127.0.0.1:{ours.port}"])


def grpcio(endpoint):
    packages = WORK / "python"
    if not (packages / "grpc").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", packages,
               "-r", HERE / "requirements.txt"]
        p = subprocess.run([str(c) for c in pip], capture_output=True, text=True, timeout=600)
        if p.returncode != 0:
            raise Skip(f"grpcio cannot be installed: {p.stderr.strip().splitlines()[-1:]}")
    env = dict(os.environ, PYTHONPATH=str(packages))
    script = HERE / "grpcio_client.py"
    with Server([endpoint, "serve"]) as ours:
        count("grpcio client", [sys.executable, script, "client", f"127.0.0.1:{ours.port}"], env=env)
    with Server([sys.executable, script, "serve"], env=env) as theirs:
        count("grpcio server", [endpoint, "call", f"127.0.0.1:{theirs.port}"])


def h2spec(endpoint):
    """Its requests are none of gRPC: that they are answered (415) is what the cases need."""
    tool = go_build(HERE.parent / "http" / "h2spec", "h2spec", "github.com/summerwind/h2spec/cmd/h2spec")
    report = WORK / "h2spec.xml"
    with Server([endpoint, "serve"]) as ours:
        subprocess.run([tool, "-p", str(ours.port), "-P", "/", "-o", "5", "-j", report], capture_output=True, timeout=600)
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None or case.find("skipped") is not None
        COUNT["FAIL" if bad else "ok"] += 1
        if bad:
            print(f"h2spec: {case.get('package')} {case.get('classname')}")


def bench(endpoint):
    print(subprocess.run([endpoint, "bench", "20000"], capture_output=True, text=True, timeout=600).stdout)
    print("grpc-go:")
    peer = go_build(HERE / "peer", "peer", ".")
    print(subprocess.run([peer, "bench", "20000"], capture_output=True, text=True, timeout=600).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--bench", action="store_true")
    args = parser.parse_args()
    if args.bench:
        bench(args.endpoint)
        return
    for part in (ours_only, grpc_go, grpcio, h2spec):
        try:
            part(args.endpoint)
        except Skip as reason:
            print(f"SKIP {part.__name__}: {reason}")
    print(f"{COUNT['ok']} passed, {COUNT['FAIL']} failed")
    sys.exit(COUNT["FAIL"] != 0)


if __name__ == "__main__":
    main()
