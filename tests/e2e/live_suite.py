"""Unchanged clients that listen: filters by polling, subscriptions over WebSocket."""
from clients import install, run_python, run_script


def test_clients_of_javascript(env):
    install()
    run_script(env, ["node", "live.mjs", env.start().url])


def test_web3_py(env):
    install()
    run_python(env, "web3_live.py", env.start().url)
