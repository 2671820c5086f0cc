"""Public clients of the provider's API with nothing changed but the base URL, and an OpenAPI fuzzer [spec:pricing#7].

Packages are pinned in tests/pricing/clients and installed below build/e2e/pricing, once."""
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys

from gateway import ROOT, Gateway, Skip, same

HERE = ROOT / "tests/pricing/clients"
WORK = ROOT / "build/e2e/pricing"
PYTHON = WORK / "python"
BITCOIN = {"eur": 97234.56, "eur_24h_change": 2.34, "eur_24h_vol": 45678901234, "eur_market_cap": 1923456789012,
           "last_updated_at": 1737720000, "usd": 97234.56, "usd_24h_change": 2.34, "usd_24h_vol": 45678901234,
           "usd_market_cap": 1923456789012}


def once(name, sources, command):
    """Runs command in WORK unless it succeeded already with these sources."""
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        want = hashlib.sha256(b"".join((HERE / s).read_bytes() for s in sources)).hexdigest()
        stamp = WORK / f"{name}.sha256"
        for source in sources:
            shutil.copy(HERE / source, WORK / source)
        if not stamp.exists() or stamp.read_text() != want:
            done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, timeout=600)
            same(done.returncode, 0, done.stderr[-500:])
            stamp.write_text(want)


def install_python():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        raise Skip("pip is not installed")
    once("python", ["requirements.txt"], [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                                          "--no-deps", "--upgrade", "--target", str(PYTHON), "-r", "requirements.txt"])
    return os.environ | {"PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1"}


def check_client(opt, fixture, command, env):
    with Gateway(opt.bin, fixture.base()) as g:
        url = f"http://127.0.0.1:{g.port}"
        done = subprocess.run([*command, url], cwd=WORK, capture_output=True, text=True, timeout=120, env=env)
        same(done.returncode, 0, done.stderr[-800:])
        price, rounded = json.loads(done.stdout)
        same(set(price), {"bitcoin", "ethereum"})
        same(price["bitcoin"], BITCOIN)
        same(rounded, {"bitcoin": {"usd": 97234.6}})


def test_python_client(opt, fixture):
    env = install_python()
    check_client(opt, fixture, [sys.executable, HERE / "pycoingecko_client.py"], env)


def test_javascript_client(opt, fixture):
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is not installed")
    once("node", ["package.json", "package-lock.json", ".npmrc"], ["npm", "ci", "--no-progress"])
    shutil.copy(HERE / "official.mjs", WORK / "official.mjs")
    check_client(opt, fixture, ["node", "official.mjs"], os.environ)


def test_openapi_fuzzer(opt, fixture):
    """Schemathesis finds nothing; a fixed seed and few examples unless --full. /events has no end, it is left out."""
    env = install_python()
    with Gateway(opt.bin, fixture.base()) as g:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{g.port}/openapi.json",
                   "--exclude-path=/events", "--request-timeout=10", "--no-color",
                   f"--max-examples={500 if opt.full else 10}"]
        command += ["--phases=examples,coverage,fuzzing"] if opt.full else ["--phases=fuzzing", "--seed=1"]
        done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, timeout=3000, env=env)
        same(done.returncode, 0, done.stdout[-3000:] + done.stderr[-500:])
        assert "6 passed" in done.stdout or "No issues found" in done.stdout or "7 passed" in done.stdout, done.stdout


TESTS = [test_python_client, test_javascript_client, test_openapi_fuzzer]
