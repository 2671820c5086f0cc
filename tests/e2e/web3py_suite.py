"""An unchanged web3.py client."""
from clients import install, run_python


def test_web3_py_client(env):
    install()
    run_python(env, "web3_client.py", env.start().url)
