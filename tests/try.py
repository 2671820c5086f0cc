#!/usr/bin/env python3
"""All services with what they need around them, in the foreground, until Ctrl-C: the ad exchange on port 8080 with a miner on 8081,
pricing on 8082, webhooks on 8091, 8092 and 8093 (spec/decisions.md D 38).

usage: tests/try.py build/release/bin    (PORT: of the pricing gateway, 8082)
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def stop(running):
    """Each ends what it began; who does not within ten seconds is ended."""
    for p in running:
        if p.poll() is None:
            p.terminate()
    for p in running:
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()


def main():
    programs = pathlib.Path(sys.argv[1])
    port = os.environ.pop("PORT", "8082")  # of pricing alone: the others would take it for theirs
    parts = [([HERE / "pricing/try.py", programs / "candela-pricing"], {"PORT": port}),
             ([HERE / "e2e/adx/try.py", programs / "candela-adx"], {}),
             ([HERE / "e2e/webhooks/try.py", programs / "candela", programs / "candela-webhooks"], {})]
    running = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for words, env in parts:  # a group of its own each: Ctrl-C is ours to pass on
            running.append(subprocess.Popen([str(w) for w in words], env=os.environ | env, start_new_session=True))
        while all(p.poll() is None for p in running):
            time.sleep(0.2)
        return 1  # one of them could not go on, and has said why
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        stop(running)


if __name__ == "__main__":
    sys.exit(main())
