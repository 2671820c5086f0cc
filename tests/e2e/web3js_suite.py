"""An unchanged web3.js 4 client over HTTP and WebSocket."""
from clients import install, run_script


def test_web3_js_client(env):
    install()
    run_script(env, ["node", "web3js.mjs", env.start().url])
