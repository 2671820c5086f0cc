#!/usr/bin/env python3
"""The HTTPS server under a TLS scanner (Debian's testssl.sh), two minutes. Ends with `N passed, M failed`.

usage: tests/e2e/http/scan.py --server build/release/test/http_echo
"""
import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402 - found through the paths just set
from conformance import Server, run, tool  # noqa: E402

# The certificate is the test's own.
EXPECTED = {"cert_chain_of_trust", "cert_revocation", "DNS_CAArecord"}


def test_nothing_is_found(env):
    tool("testssl", "testssl.sh")
    with Server(env.binary, tls=True) as server:
        report = f"{server.dir}/scan.json"
        run("testssl", "--quiet", "--color", "0", "--warnings", "batch", "--openssl-timeout", "20", "-p", "-s", "-f", "-P",
            "-S", "-U", "--jsonfile", report, f"127.0.0.1:{server.port}", timeout=1200, ok=False)
        findings = json.loads(pathlib.Path(report).read_text())
        bad = [f"{x['id']}: {x['finding']}" for x in findings
               if x["severity"] in ("LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL") and x["id"] not in EXPECTED]
        harness.same(bad, [])
        assert len(findings) > 50, len(findings)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--server", required=True, help="the http_echo program")
    opt = args.parse_args()
    env = harness.Env(pathlib.Path(opt.server).resolve())
    harness.run_suite(sys.modules[__name__], env)
    print(f"{env.passed} passed, {env.failed} failed")
    return 1 if env.failed else 0


if __name__ == "__main__":
    sys.exit(main())
