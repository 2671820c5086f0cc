"""What the scripts of web3.py share: a connected client, contracts deployed, a line a check.

usage of the scripts: NAME.py URL     prints "ok NAME" or "FAIL NAME: reason" for every check
"""
import json
import pathlib
import sys
import time
import traceback

from web3 import HTTPProvider, Web3
from web3.middleware import ExtraDataToPOAMiddleware

CONTRACTS = json.loads((pathlib.Path(__file__).parents[2] / "build" / "e2e" / "contracts.json").read_text())

url = sys.argv[1]


def connect():
    """Extra data of blocks holds the fee window and is longer than Ethereum's: web3.py wants to be told."""
    client = Web3(HTTPProvider(url))
    client.middleware_onion.inject(ExtraDataToPOAMiddleware, layer=0)
    return client


w3 = connect()
alice, bob, carol = w3.eth.accounts[:3]
failed = 0


def check(test):
    global failed
    name = test.__name__.replace("_", " ")
    start = time.monotonic()
    try:
        test()
        print(f"ok {name} ({time.monotonic() - start:.1f} s)", flush=True)
    except Exception as e:  # noqa: BLE001 - a test may fail in any way
        failed += 1
        line = [f for f in traceback.extract_tb(e.__traceback__) if f.filename == sys.argv[0]][-1].lineno
        print(f"FAIL {name}: {type(e).__name__}: {str(e)[:400]!r} (line {line})", flush=True)


def fails(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


def mined(tx_hash):
    receipt = w3.eth.wait_for_transaction_receipt(tx_hash, poll_latency=0.01)
    assert receipt.status == 1
    return receipt


def deploy(name, *args):
    c = w3.eth.contract(abi=CONTRACTS[name]["abi"], bytecode=CONTRACTS[name]["bytecode"])
    return w3.eth.contract(mined(c.constructor(*args).transact({"from": alice})).contractAddress, abi=c.abi)


def finish():
    sys.exit(1 if failed else 0)
