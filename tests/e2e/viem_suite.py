"""An unchanged viem client: public, wallet and test actions, proofs checked by an independent verifier."""
from clients import install, run_script


def test_viem_client(env):
    install()
    run_script(env, ["node", "viem.mjs", env.start().url])
