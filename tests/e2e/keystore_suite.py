"""Accounts of the node: key files that other programs read and write, and what signs with them. [spec:eth-rpc#4]"""
import base64
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import time

from clients import HERE, PYTHON, WORK, install, install_python
from harness import ACCOUNTS, RpcError, match, same

PASSWORD = "correct horse \u00e4\u00f6\u00fc"
KEY = "0x" + "4c" * 32
GROUPS = ["eth", "net", "web3", "internal-eth", "internal-blockchain", "internal-transaction", "internal-account",
          "internal-personal"]


def config(**keys):
    text = base64.b64encode(json.dumps({"eth-apis": GROUPS, **keys}).encode()).decode()
    return "--chain-config-content=" + base64.b64encode(json.dumps({"C": {"Config": text}}).encode()).decode()


def refused(rpc, pattern, method, *params):
    try:
        got = rpc(method, *params)
    except RpcError as e:
        match(e.message, pattern, method)
    else:
        raise AssertionError(f"{method}: answered {got!r}")


def script(*args):
    tool = args[0]
    command = ["node", str(WORK / tool)] if tool.endswith(".mjs") else [sys.executable, str(HERE / tool)]
    p = subprocess.run([*command, *args[1:]], cwd=WORK, capture_output=True, text=True, timeout=120,
                       env={**os.environ, "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1"})
    same(p.returncode, 0, f"{tool}: {p.stderr[-600:]}")
    return p.stdout.strip()


def fund(rpc, who):
    rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": who, "value": hex(10 ** 18)})


def test_new_account_is_a_file_that_others_open(env):
    install()
    install_python()
    data = env.dir()
    node = env.start(config(), data_dir=data)
    rpc = node.rpc()
    addr = rpc("personal_newAccount", PASSWORD)
    folder = pathlib.Path(data) / "dev" / "chainData" / "C" / "keystore"
    files = list(folder.iterdir())
    same(len(files), 1)
    match(files[0].name, r"^UTC--\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{9}Z--" + addr[2:].lower() + "$")
    same(stat.S_IMODE(files[0].stat().st_mode), 0o600)
    same(stat.S_IMODE(folder.stat().st_mode), 0o700)
    key = script("keyfiles.py", "open", str(files[0]), PASSWORD)
    same(script("keyfiles.mjs", "open", str(files[0]), PASSWORD), key)
    refused(rpc, "account already exists", "personal_importRawKey", key[2:], "other")
    fund(rpc, addr)
    to = "0x" + "77" * 20
    refused(rpc, "authentication needed: password or unlock", "eth_sendTransaction", {"from": addr, "to": to})
    refused(rpc, "could not decrypt key with given password", "personal_sendTransaction", {"from": addr, "to": to}, "x")
    tx = rpc("personal_sendTransaction", {"from": addr, "to": to, "value": "0x1"}, PASSWORD)
    same(rpc("eth_getTransactionReceipt", tx)["status"], "0x1")
    sig = rpc("personal_sign", "0x616263", addr, PASSWORD)
    same(rpc("personal_ecRecover", "0x616263", sig), addr.lower())
    refused(rpc, "account unlock with HTTP access is forbidden", "personal_unlockAccount", addr, PASSWORD)
    same(node.end(), 0)
    secrets = (PASSWORD, "correct horse", key[2:])
    for line in node.lines:
        assert not any(s in line for s in secrets), line
    rpc = env.start(config(), data_dir=data).rpc()
    assert addr.lower() in rpc("personal_listAccounts"), "gone after a restart"


def test_files_of_others_are_accounts(env):
    install()
    install_python()
    made = env.dir()
    folder = pathlib.Path(env.dir()) / "keys"
    flags = config(**{"keystore-directory": str(folder), "keystore-insecure-unlock-allowed": True})
    rpc = env.start(flags).rpc()
    before = rpc("eth_accounts")
    script("keyfiles.py", "make", made, KEY, PASSWORD)
    script("keyfiles.mjs", "make", made, KEY, PASSWORD)
    for name in ("scrypt.json", "pbkdf2.json", "ethers.json"):
        shutil.copy(f"{made}/{name}", folder)
        mine, = (a for a in rpc("eth_accounts") if a not in before)
        same([w["url"] for w in rpc("personal_listWallets")], [f"keystore://{folder}/{name}"])
        fund(rpc, mine)
        same(rpc("personal_unlockAccount", mine, PASSWORD, 60), True)
        tx = rpc("eth_sendTransaction", {"from": mine, "to": ACCOUNTS[1], "value": "0x1"})
        same(rpc("eth_getTransactionReceipt", tx)["status"], "0x1")
        same(rpc("personal_lockAccount", mine), True)
        refused(rpc, "authentication needed", "eth_sign", mine, "0x00")
        (folder / name).unlink()
        refused(rpc, "unknown account", "eth_sign", mine, "0x00")


def test_unlocked_keys_are_locked_when_their_time_is_up(env):
    node = env.start(config(**{"keystore-directory": env.dir(), "keystore-insecure-unlock-allowed": True}))
    rpc = node.rpc()
    addr = rpc("personal_importRawKey", KEY, "")
    same(rpc("personal_unlockAccount", addr, "", 1), True)
    sig = rpc("eth_sign", addr, "0x616263")
    same(rpc("personal_sign", "0x616263", addr, ""), sig)
    late = time.monotonic() + 10
    while rpc("personal_listWallets")[0]["status"] != "Locked":
        assert time.monotonic() < late, "still unlocked"
        time.sleep(0.1)
    refused(rpc, "authentication needed", "eth_sign", addr, "0x616263")


def test_one_batch_pays_and_reads_the_receipt(env):
    rpc = env.start(config(**{"keystore-directory": env.dir()})).rpc()
    addr = rpc("personal_importRawKey", KEY[2:], "pw")
    fund(rpc, addr)
    signed = rpc("personal_signTransaction", {"from": addr, "to": ACCOUNTS[1], "gas": "0x5208", "nonce": "0x0",
                                              "gasPrice": hex(10 ** 11)}, "pw")
    tx = signed["tx"]["hash"]
    same(rpc("eth_getTransactionReceipt", tx), None)
    same(rpc.batch([("eth_getTransactionReceipt", [tx]),
                    ("personal_sendTransaction", [{"from": addr, "to": ACCOUNTS[1], "gas": "0x5208", "nonce": "0x0",
                                                   "gasPrice": hex(10 ** 11)}, "pw"])])[1], tx)
    same(rpc("eth_getTransactionReceipt", tx)["status"], "0x1")


def test_off_unless_switched_on(env):
    rpc = env.node.rpc()
    refused(rpc, "does not exist", "personal_listAccounts")
    refused(rpc, "does not exist", "personal_newAccount", "x")
    code, out, err = env.run("--network-id=dev", "--in-memory", "--http-port=0",
                             config(**{"keystore-external-signer": "http://127.0.0.1:8550"}))
    same(code, 1)
    match(out + err, r"keystore-external-signer")
    same(len(re.findall("Traceback|AddressSanitizer", out + err)), 0)
