"""Accepted blocks as streams to other processes of the machine: asked for by method and by flag, read by good readers and
by bad ones. [spec:node-api#10]"""
import http.client
import json
import os
import pathlib
import socket
import stat
import struct
import time

from harness import ACCOUNTS, match, same

LIMIT_S = 30


def call(node, method, path="/v1/ipcs", **params):
    conn = http.client.HTTPConnection(node.host, node.port, timeout=LIMIT_S)
    conn.request("POST", path, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                 {"Content-Type": "application/json"})
    r = conn.getresponse()
    text = r.read()
    conn.close()
    return json.loads(text) if r.status == 200 else r.status


def result(node, method, path="/v1/ipcs", **params):
    answer = call(node, method, path, **params)
    assert "result" in answer, f"{method}: {answer}"
    return answer["result"]


class Reader:
    """Frames as the original's client reads them: eight bytes of length, then a container."""

    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(LIMIT_S)
        self.s.connect(path)

    def take(self, n):
        out = b""
        while len(out) < n:
            part = self.s.recv(n - len(out))
            if not part:
                raise EOFError
            out += part
        return out

    def frame(self):
        return self.take(struct.unpack(">Q", self.take(8))[0])

    def is_cut(self):
        try:
            while True:
                self.frame()
        except (EOFError, ConnectionError):
            return True


def settle(node):
    """A connection is known when a later request is answered."""
    call(node, "ipcs.getPublishedBlockchains")
    call(node, "ipcs.getPublishedBlockchains")


def pay(node):
    node.rpc()("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "value": "0x1"})


def containers(node, cnt):
    """The newest blocks as index.* has them."""
    last = int(result(node, "index.getLastAccepted", "/v1/index/C/block", encoding="hex")["index"])
    got = result(node, "index.getContainerRange", "/v1/index/C/block", startIndex=last + 1 - cnt, numToFetch=cnt,
                 encoding="hex")["containers"]
    return [bytes.fromhex(c["bytes"][2:])[:-4] for c in got]


def test_by_method(env):
    where = env.dir()
    node = env.start("--api-ipcs-enabled", f"--ipcs-path={where}", "--index-enabled")
    same(result(node, "ipcs.getPublishedBlockchains"), {"chains": []})
    c_id = result(node, "info.getBlockchainID", "/v1/info", alias="C")["blockchainID"]
    urls = result(node, "ipcs.publishBlockchain", blockchainID="C")
    net = result(node, "info.getNetworkID", "/v1/info")["networkID"]
    same(urls, {f"{k}URL": f"{where}/{net}-{c_id}-{k}" for k in ("consensus", "decisions")})
    same(result(node, "ipcs.publishBlockchain", blockchainID=c_id), urls)
    same(result(node, "ipcs.getPublishedBlockchains"), {"chains": [c_id]})
    same(stat.S_IMODE(os.stat(urls["consensusURL"]).st_mode), 0o600)
    readers = [Reader(urls[k]) for k in ("consensusURL", "decisionsURL", "consensusURL")]
    settle(node)
    for _ in range(20):
        pay(node)
    want = containers(node, 20)
    for r in readers:
        same([r.frame() for _ in want], want)
    same(result(node, "ipcs.unpublishBlockchain", blockchainID="C"), {})
    assert all(r.is_cut() for r in readers)
    same(list(pathlib.Path(where).iterdir()), [])
    same(result(node, "ipcs.unpublishBlockchain", blockchainID="C"), {})
    for method in ("ipcs.publishBlockchain", "ipcs.unpublishBlockchain"):
        for name in ("nosuch", "../../etc", "C\x00", ""):
            match(call(node, method, blockchainID=name)["error"]["message"], "there is no ID with alias: ")


def test_by_flag(env):
    where = env.dir()
    data = env.dir()
    flags = (f"--ipcs-path={where}", "--ipcs-chain-ids=P,C", "--index-enabled")
    node = env.start(*flags, data_dir=data)
    same(call(node, "ipcs.getPublishedBlockchains"), 404)
    names = sorted(f.name for f in pathlib.Path(where).iterdir())
    same(len(names), 4)
    path = str(next(f for f in pathlib.Path(where).glob("*-consensus") if "11111" not in f.name))
    node.kill()
    same(sorted(f.name for f in pathlib.Path(where).iterdir()), names)  # left by the kill, and taken over
    node = env.start(*flags, data_dir=data)
    reader = Reader(path)
    settle(node)
    pay(node)
    same([reader.frame()], containers(node, 1))
    second = env.run("--network-id=dev", "--http-port=0", "--in-memory", *flags)
    match(second[1] + second[2], "another process does")
    same(second[0], 1)
    pay(node)
    same([reader.frame()], containers(node, 1))
    same(node.end(), 0)
    assert reader.is_cut()
    same(list(pathlib.Path(where).iterdir()), [])
    for flag, why in (("--ipcs-chain-ids=nosuch", "no chain is called"), (f"--ipcs-path={where}/none", "cannot listen")):
        code, out, err = env.run("--network-id=dev", "--http-port=0", "--in-memory", *flags, flag)
        same(code, 1)
        match(out + err, why)


def test_bad_readers(env):
    """Readers that do not read, talk, or are too many: the chain goes on, a good reader hears all, memory is bounded."""
    where = env.dir()
    node = env.start("--api-ipcs-enabled", f"--ipcs-path={where}", "--index-enabled", "--ipcs-chain-ids=C")
    c_id = result(node, "info.getBlockchainID", "/v1/info", alias="C")["blockchainID"]
    path = str(next(pathlib.Path(where).glob(f"*-{c_id}-consensus")))
    good = Reader(path)
    sleepers = [Reader(path) for _ in range(10)]
    loud = Reader(path)
    settle(node)
    try:
        for _ in range(100):
            loud.s.sendall(bytes(65536))
    except ConnectionError:
        pass
    assert loud.is_cut()
    crowd = [Reader(path) for _ in range(200)]
    assert sum(r.is_cut() for r in crowd[5:]) == 195
    rpc = node.rpc()
    data = "0x" + "ff" * 100_000
    end = time.monotonic() + 120
    cnt = 0
    while not any("too slow" in line for line in node.lines):
        assert time.monotonic() < end, "nobody was cut off"
        rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "gas": hex(5_000_000), "data": data})
        same([good.frame()], containers(node, 1))
        cnt += 1
    assert cnt >= 20, f"cut off after {cnt} blocks"
    pay(node)
    same([good.frame()], containers(node, 1))
    assert all(r.is_cut() for r in sleepers)
