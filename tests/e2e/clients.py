"""Brings the pinned packages of the client suites into build/e2e, once per lock file, and runs scripts there."""
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

from harness import ROOT, Skip, same

HERE = ROOT / "tests" / "e2e"
WORK = ROOT / "build" / "e2e"  # packages and what is compiled live here, out of the source tree
PYTHON = WORK / "python"
NODE_MIN = 18
INSTALL_LIMIT_S = 600
SCRIPT_LIMIT_S = 300


def missing(why):
    """A tool that is not there: a reason to skip on a developer's machine, a failure where CI runs."""
    assert os.environ.get("CI") != "true", why
    raise Skip(why)


def need_node():
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            missing(f"{tool} is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE_MIN:
        missing(f"node {version} is older than {NODE_MIN}")


def once(name, sources, command, limit=INSTALL_LIMIT_S):
    """Runs command in WORK unless it succeeded already with these sources."""
    want = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()
    stamp = WORK / f"{name}.sha256"
    if stamp.exists() and stamp.read_text() == want:
        return
    p = subprocess.run(command, cwd=WORK, capture_output=True, text=True, timeout=limit)
    assert p.returncode == 0, f"{' '.join(command[:3])}: {p.stderr[-500:]}"
    stamp.write_text(want)


class Lock:
    """Suites that run at the same time install one after another."""

    def __enter__(self):
        WORK.mkdir(parents=True, exist_ok=True)
        self.file = open(WORK / ".lock", "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def install():
    """npm packages, scripts and compiled contracts side by side in WORK."""
    need_node()
    with Lock():
        for source in [HERE / "package.json", HERE / "package-lock.json", HERE / ".npmrc", *HERE.glob("*.mjs")]:
            if not (WORK / source.name).exists() or (WORK / source.name).read_bytes() != source.read_bytes():
                shutil.copy(source, WORK / source.name)
        shutil.copytree(HERE / "contracts", WORK / "contracts", dirs_exist_ok=True)
        once("installed", [HERE / "package-lock.json"], ["npm", "ci", "--no-progress"])
        contracts = sorted((HERE / "contracts").glob("*.sol"))
        once("compiled", [HERE / "package-lock.json", HERE / "compile.mjs", *contracts],
             ["node", "compile.mjs", "contracts.json", *[c.stem for c in contracts]])
        once("uniswap", [HERE / "package-lock.json", HERE / "uniswap.mjs"], ["node", "uniswap.mjs", "uniswap.json"])


def install_python():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        missing("pip is not installed")
    with Lock():
        once("installed-python", [HERE / "requirements.txt"],
             [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--upgrade",
              "--target", str(PYTHON), "-r", str(HERE / "requirements.txt")])


def run_script(env, command, extra=None):
    """Runs a script that prints a line a check, "ok NAME" or "FAIL NAME: reason"."""
    p = subprocess.run(command, cwd=WORK, capture_output=True, text=True, timeout=SCRIPT_LIMIT_S,
                       env={**os.environ, **(extra or {})})
    lines = [line for line in p.stdout.splitlines() if line.startswith(("ok ", "FAIL "))]
    for line in lines:
        env.note(line.startswith("ok "), line)
    if not lines or p.returncode != 0 and not any(line.startswith("FAIL ") for line in lines):
        raise AssertionError(f"{command[1]} ended with {p.returncode}: {p.stderr[-800:]}")


def run_javascript(env, script):
    """A JavaScript against a node of its own, which ends as it should."""
    install()
    node = env.start()
    run_script(env, ["node", script, node.url])
    same(node.end(), 0, "exit code after SIGTERM")


def run_python(env, script):
    """The same for a script of ours with the packages of requirements.txt."""
    install()
    install_python()
    node = env.start()
    run_script(env, [sys.executable, str(HERE / script), node.url],
               {"PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1"})
    same(node.end(), 0, "exit code after SIGTERM")
