"""Unchanged clients that listen: filters by polling, subscriptions over WebSocket."""
from clients import run_javascript, run_python


def test_clients_of_javascript(env):
    run_javascript(env, "live.mjs")


def test_web3_py(env):
    run_python(env, "web3_live.py")
