"""The requests of a browser's wallet."""
from clients import run_javascript


def test_wallet_in_a_browser(env):
    run_javascript(env, "wallet.mjs")
