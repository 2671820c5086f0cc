"""An unchanged ethers v6 client deploys, sends and reads; the node is killed; the client finds everything again."""
import fcntl
import hashlib
import pathlib
import shutil
import subprocess

from harness import ROOT, Skip, same

HERE = pathlib.Path(__file__).resolve().parent
WORK = ROOT / "build" / "e2e"  # node_modules live here, out of the source tree
NODE_MIN = 18


def need_node():
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE_MIN:
        raise Skip(f"node {version} is older than {NODE_MIN}")


def install():
    """Brings the locked packages and the scripts beside each other, packages once per lock file."""
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in ("package.json", "package-lock.json", ".npmrc", "compile.mjs", "ethers_erc20.mjs"):
            shutil.copy(HERE / name, WORK / name)
        shutil.copytree(HERE / "contracts", WORK / "contracts", dirs_exist_ok=True)
        stamp = WORK / "installed.sha256"
        want = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
        if not stamp.exists() or stamp.read_text() != want:
            p = subprocess.run(["npm", "ci", "--no-progress"], cwd=WORK, capture_output=True, text=True, timeout=600)
            assert p.returncode == 0, f"npm ci: {p.stderr[-500:]}"
            stamp.write_text(want)


def run_script(env, phase, url, notes):
    p = subprocess.run(["node", "ethers_erc20.mjs", phase, url, notes], cwd=WORK, capture_output=True, text=True,
                       timeout=300)
    lines = p.stdout.splitlines()
    for line in lines:
        env.note(line.startswith("ok "), line)
    if p.returncode != 0 and not any(line.startswith("FAIL ") for line in lines):
        raise AssertionError(f"the {phase} script ended with {p.returncode}: {p.stderr[-800:]}")


def test_ethers_client_before_and_after_kill_9(env):
    need_node()
    install()
    data = env.dir()
    notes = env.dir() + "/seen.json"
    node = env.start(data_dir=data)
    run_script(env, "before", node.url, notes)
    node.kill()
    node = env.start(data_dir=data)
    run_script(env, "after", node.url, notes)
    same(node.end(), 0, "exit code after SIGTERM")
