"""An unchanged viem client: public, wallet and test actions, proofs checked by an independent verifier."""
from clients import run_javascript


def test_viem_client(env):
    run_javascript(env, "viem.mjs")
