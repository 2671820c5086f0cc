"""The contracts of the ad exchange (services/adx/contracts), compiled and tested on the development network."""
import json
import os
import shutil
import subprocess

from clients import HERE, SCRIPT_LIMIT_S, WORK, install
from harness import ROOT, same

SOURCES = ROOT / "services" / "adx" / "contracts"
PROJECT = WORK / "adx-contracts"
REPORT = PROJECT / "report.json"
GAS = PROJECT / "gas.json"


def selectors():
    data = os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata")
    return os.path.join(data, "adx", "contract-selectors.json")


def copy_project():
    """Sources anew; what was compiled of them stays."""
    for folder in ("contracts", "test"):
        shutil.rmtree(PROJECT / folder, ignore_errors=True)
    shutil.copytree(HERE / "adx-contracts" / "test", PROJECT / "test")
    (PROJECT / "contracts").mkdir()
    for source in [*SOURCES.glob("*.sol"), HERE / "adx-contracts" / "TestDollar.sol"]:
        shutil.copy(source, PROJECT / "contracts")
    shutil.copy(HERE / "hardhat" / "hardhat.config.cjs", PROJECT)


def hardhat(node, *args):
    command = ["node", "../node_modules/hardhat/internal/cli/bootstrap.js", *args]
    env = {**os.environ, "CANDELA_URL": node.url, "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", "REPORT": str(REPORT),
           "GAS": str(GAS), "SELECTORS": str(selectors()), "COMMITTED": str(SOURCES / "contracts.json")}
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=SCRIPT_LIMIT_S, env=env)


def write_committed():
    """For whoever changes a contract: writes what is committed beside the sources (UPDATE=1)."""
    out = {"compiler": None, "contracts": {}}
    for name in ("AdSlotSFT", "EscrowManager"):
        artifact = json.loads((PROJECT / "artifacts" / "contracts" / f"{name}.sol" / f"{name}.json").read_text())
        debug = PROJECT / "artifacts" / "contracts" / f"{name}.sol" / f"{name}.dbg.json"
        build = json.loads((debug.parent / json.loads(debug.read_text())["buildInfo"]).read_text())
        out["compiler"] = build["solcLongVersion"]
        out["contracts"][name] = {"abi": artifact["abi"], "bytecode": artifact["bytecode"]}
    (SOURCES / "contracts.json").write_text(json.dumps(out, indent=1) + "\n")
    shutil.copy(GAS, SOURCES / "gas.json")


def test_contracts_of_the_exchange(env):
    install()
    copy_project()
    REPORT.unlink(missing_ok=True)
    GAS.unlink(missing_ok=True)
    node = env.start()
    p = hardhat(node, "test")
    assert REPORT.exists(), f"no test ran: {(p.stdout + p.stderr)[-800:]}"
    if os.environ.get("UPDATE") == "1":
        write_committed()
    report = json.loads(REPORT.read_text())
    for t in report["passes"]:
        env.note(True, f"ok {t['fullTitle']} ({t['duration'] / 1000:.1f} s)")
    for t in report["failures"]:
        why = t["err"]
        env.note(False, f"FAIL {t['fullTitle']}: {why.get('message', '')[:400]} {why.get('stack', '')[-200:]}")
    same(node.end(), 0, "exit code after SIGTERM")


def test_gas_is_what_was_reported(env):
    """Within one percent of services/adx/contracts/gas.json."""
    want = json.loads((SOURCES / "gas.json").read_text())
    got = json.loads(GAS.read_text())
    same(sorted(got), sorted(want), "calls in the gas report")
    for name, gas in got.items():
        env.note(abs(gas - want[name]) * 100 <= want[name], f"gas of {name}: {gas}, reported {want[name]}")
