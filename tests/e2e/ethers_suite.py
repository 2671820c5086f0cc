"""An unchanged ethers v6 client deploys, sends and reads; the node is killed; the client finds everything again."""
from clients import install, run_script
from harness import same


def test_ethers_client_before_and_after_kill_9(env):
    install()
    data = env.dir()
    notes = env.dir() + "/seen.json"
    node = env.start(data_dir=data)
    run_script(env, ["node", "ethers_erc20.mjs", "before", node.url, notes])
    node.kill()
    node = env.start(data_dir=data)
    run_script(env, ["node", "ethers_erc20.mjs", "after", node.url, notes])
    same(node.end(), 0, "exit code after SIGTERM")
