"""The admin route of the chain: who may use it, where its files are. [spec:eth-rpc#10] [spec:decisions#D10]"""
import http.client
import json
import pathlib
import socket

from harness import ACCOUNTS, match, same
from keystore_suite import config


def ask(host, port, path, method, params):
    conn = http.client.HTTPConnection(host, port, timeout=30)
    conn.request("POST", path, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                 {"Content-Type": "application/json"})
    r = conn.getresponse()
    text = r.read().decode()
    conn.close()
    return r.status, text


def own_address():
    """An address of this machine that is not the loopback's; None where there is no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        return s.getsockname()[0]


def test_files_stay_in_the_folder(env):
    data = env.dir()
    node = env.start(data_dir=data)
    node.rpc()("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "value": "0x1"})
    folder = pathlib.Path(data) / "dev" / "chainData" / "C" / "admin"
    for root in ("/v1/bc/C/admin", "/ext/bc/C/admin"):
        for method, params in (("admin.startCPUProfiler", {}), ("admin.stopCPUProfiler", {}),
                               ("admin.memoryProfile", {}), ("admin.setLogLevel", {"level": "info"})):
            same(ask(node.host, node.port, root, method, params),
                 (200, '{"jsonrpc":"2.0","result":{},"id":1}\n'))
    same(sorted(f.name for f in folder.iterdir()), ["cpu.profile", "mem.profile"])
    match(ask(node.host, node.port, root, "admin.getVMConfig", {})[1], r'"config":\{.*"eth-apis"')
    for name in ("../x", "/tmp/x", "a/b"):
        match(ask(node.host, node.port, root, "admin_exportChain", [name])[1], "give a name without")
    match(ask(node.host, node.port, root, "admin_exportChain", ["chain.gz"])[1], '"result":true')
    match(ask(node.host, node.port, root, "admin_importChain", ["chain.gz"])[1], "nothing new in the file")
    match(ask(node.host, node.port, "/", "admin_exportChain", ["x"])[1], "does not exist/is not available")


def test_other_machines_are_refused(env):
    mine = own_address()
    if mine is None or mine.startswith("127."):
        return  # nobody else is there
    for flags, status in (((), 403), (("--api-admin-remote",), 200)):
        node = env.start("--http-host=0.0.0.0", "--http-allowed-hosts=*", *flags)
        same(ask(mine, node.port, "/v1/bc/C/admin", "admin.getVMConfig", {})[0], status)
        same(ask("127.0.0.1", node.port, "/v1/bc/C/admin", "admin.getVMConfig", {})[0], 200)
        same(ask(mine, node.port, "/", "eth_chainId", [])[0], 200)


def test_off_when_told_so(env):
    node = env.start(config(**{"admin-api-enabled": False}))
    same(ask(node.host, node.port, "/v1/bc/C/admin", "admin.getVMConfig", {})[0], 404)
