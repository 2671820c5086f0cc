"""The requests of a browser's wallet."""
from clients import install, run_script


def test_wallet_in_a_browser(env):
    install()
    run_script(env, ["node", "wallet.mjs", env.start().url])
