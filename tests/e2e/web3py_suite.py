"""An unchanged web3.py client over HTTP, proofs checked by an independent verifier."""
from clients import run_python


def test_web3_py_client(env):
    run_python(env, "web3_client.py")
