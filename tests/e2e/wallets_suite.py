"""Wallets that others wrote, unchanged: the original's Go wallet and API clients, and the JavaScript SDK of its network.

Both work on network 12345, as their own examples do, with the money of its public test key. [spec:decisions#D46]"""
import os
import re
import shutil
import subprocess

from clients import HERE, INSTALL_LIMIT_S, WORK, Lock, missing, need_node, once, run_script
from harness import same
from peers_suite import Member, is_bootstrapped, stakers, wait_for

GO_BUILD_LIMIT_S = 1800  # the first time it compiles all that the module needs
GO_MINOR_MIN = 21
ALONE = "--sybil-protection-enabled=false"


def golang():
    """The program, built once. CGo: the module's BLS library is C."""
    if shutil.which("go") is None:
        missing("go is not installed (package golang-go)")
    version = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True).stdout.strip()
    if (found := re.match(r"go1\.(\d+)", version)) and int(found[1]) < GO_MINOR_MIN:
        missing(f"{version} is older than go1.{GO_MINOR_MIN}, which fetches the version that the module asks for")
    source, binary = HERE / "wallets" / "golang", WORK / "wallets-golang"
    os.environ["GOFLAGS"] = "-mod=readonly -buildvcs=false"
    with Lock():
        once("wallets-golang", sorted(source.iterdir()),
             ["go", "build", "-C", str(source), "-p", "2", "-trimpath", "-o", str(binary), "."], GO_BUILD_LIMIT_S)
    return binary


def javascript():
    """The folder with the packages and the script."""
    need_node()
    source, folder = HERE / "wallets" / "js", WORK / "wallets"
    with Lock():
        shutil.copytree(source, folder, dirs_exist_ok=True)
        once("wallets-installed", [source / "package-lock.json"], ["npm", "ci", "--no-progress", "--prefix", str(folder)],
             INSTALL_LIMIT_S)
    return folder


def undecided(env):
    """What is left of five who decide together: a node that waits for the others with whatever it is given."""
    members = [Member(env, s) for s in stakers()]
    for m in members:
        m.start(members[:1] if m is not members[0] else [], decides="true")
    wait_for("five have caught up", lambda: all(is_bootstrapped(m) for m in members))
    for m in members[1:]:
        m.node.kill()
    return members[0].node


def test_go_wallet_and_clients(env):
    binary = golang()
    nodes = [env.start(ALONE, "--api-admin-enabled", "--index-enabled", data_dir=env.dir(), network="local"),
             env.start(ALONE, "--min-stake-duration=2s", data_dir=env.dir(), network="local"),
             undecided(env)]
    run_script(env, [str(binary), *[n.url for n in nodes]])
    for node in nodes:
        same(node.end(), 0, "exit code after SIGTERM")


def test_javascript_sdk(env):
    folder = javascript()
    node = env.start(ALONE, data_dir=env.dir(), network="local")
    run_script(env, ["node", str(folder / "sdk.mjs"), node.url])
    same(node.end(), 0, "exit code after SIGTERM")
