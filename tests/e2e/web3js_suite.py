"""An unchanged web3.js 4 client over HTTP."""
from clients import run_javascript


def test_web3_js_client(env):
    run_javascript(env, "web3js.mjs")
