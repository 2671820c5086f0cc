"""A Hardhat project with the usual plugins, OpenZeppelin and Uniswap, its tests run over the network."""
import json
import os
import shutil
import subprocess

from clients import HERE, SCRIPT_LIMIT_S, WORK, install
from harness import same

PROJECT = WORK / "hardhat"
REPORT = PROJECT / "report.json"

# What contracts/Speaker.sol prints.
SPOKEN = [
    "", "-7", str(2 ** 256 - 1), "text true 0x0000000000000000000000000000000000001234", "0x00ff", "0xab",
    "0x" + "1".rjust(64, "0"), "0x000000000000000000000000000000000000beef holds 5 of 6, %o and %O", "100 %", "50% of it true",
    "1 false x", "1 two false 0x0000000000000000000000000000000000000004",
]


def copy_project():
    """Sources anew; what was compiled of them stays."""
    for folder in ("contracts", "test"):
        shutil.rmtree(PROJECT / folder, ignore_errors=True)
        shutil.copytree(HERE / "hardhat" / folder, PROJECT / folder)
    shutil.copy(HERE / "hardhat" / "hardhat.config.cjs", PROJECT)


def hardhat(node, *args, **extra):
    command = ["node", "../node_modules/hardhat/internal/cli/bootstrap.js", *args]
    env = {**os.environ, "CANDELA_URL": node.url, "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", **extra}
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=SCRIPT_LIMIT_S, env=env)


def test_project_of_tokens_governor_and_exchanges(env):
    install()
    copy_project()
    REPORT.unlink(missing_ok=True)
    node = env.start()
    p = hardhat(node, "test", REPORT=str(REPORT))
    assert REPORT.exists(), f"no test ran: {(p.stdout + p.stderr)[-800:]}"
    report = json.loads(REPORT.read_text())
    for t in report["passes"]:
        env.note(True, f"ok {t['fullTitle']} ({t['duration'] / 1000:.1f} s)")
    for t in report["failures"]:
        why = t["err"]
        env.note(False, f"FAIL {t['fullTitle']}: {why.get('message', '')[:400]} {why.get('stack', '')[-200:]}")
    same(node.end(), 0, "exit code after SIGTERM")
    said = [json.loads(line).get("text") for line in node.lines if '"console.log"' in line]
    assert "the lamp is 42 bright" in said, "console.log of a contract is not in the log"
    at = said.index("-7")
    same(said[at - 1:at - 1 + len(SPOKEN)], SPOKEN)
