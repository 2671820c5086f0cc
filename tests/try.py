#!/usr/bin/env python3
"""All services with what they need around them, in the foreground, until Ctrl-C.

usage: tests/try.py build/release/bin    (PORT: of the pricing gateway, 8080)
"""
import pathlib
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    programs = pathlib.Path(sys.argv[1])
    parts = [[HERE / "pricing/try.py", programs / "candela-pricing"],
             [HERE / "e2e/webhooks/try.py", programs / "candela", programs / "candela-webhooks"]]
    running = [subprocess.Popen([str(word) for word in part]) for part in parts]
    signal.signal(signal.SIGTERM, lambda *_: [p.terminate() for p in running])
    try:
        return max(p.wait() for p in running)
    except KeyboardInterrupt:
        return max(p.wait() for p in running)


if __name__ == "__main__":
    sys.exit(main())
