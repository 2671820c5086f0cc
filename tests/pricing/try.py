#!/usr/bin/env python3
"""The gateway with the provider of the tests, in the foreground, until Ctrl-C.

usage: tests/pricing/try.py build/release/bin/candela-pricing    (PORT: 8080)
"""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from fixture import Fixture  # noqa: E402 - beside this file


def main():
    fixture = Fixture()
    port = os.environ.get("PORT", "8080")
    env = os.environ | {"PORT": port, "UPSTREAM_API_KEY": "for-trying-out", "UPSTREAM_URL": f"tests={fixture.base()}"}
    print(f"""provider for tests on port {fixture.port}; it knows bitcoin, ethereum, shib, lux and t1, t2, ...
  curl localhost:{port}/price/bitcoin
  curl 'localhost:{port}/prices?ids=bitcoin,lux&currency=eur'
  curl 'localhost:{port}/simple/price?ids=bitcoin,ethereum&vs_currencies=usd,eur'
let it fail: curl 'localhost:{fixture.port}/control?mode=500' (429, drop, hang, bad-json, ...; ok)""", flush=True)
    process = subprocess.Popen([sys.argv[1]], env=env)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        return process.wait()
    except KeyboardInterrupt:
        return process.wait()
    finally:
        fixture.close()


if __name__ == "__main__":
    sys.exit(main())
