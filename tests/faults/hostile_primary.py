"""A node with P-, X- and C-Chain, a staking port, index, keystore and explorer, under load of its own: what hostile.py
runs beside that of the development network."""
import asyncio
import json
import os
import pathlib
import ssl
import subprocess
import threading

from harness import ROOT
from hostile_load import PATIENCE_S, Load, call
from wire import TEXT, frame

FLAGS = ["--index-enabled", "--api-keystore-enabled", "--explorer=on", "--index", "--staking-host=127.0.0.1", "--staking-port=0"]
ALONE = ["--sybil-protection-enabled=false"]
VECTORS = pathlib.Path(os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata")) / "node-api" / "vectors"
PEERS = 3         # hostile ones that shake hands
HALF_OPEN = 200   # connections to the staking port that say nothing


class Peer:
    """hostile_peer as a process; what it prints is counted."""

    def __init__(self, binary, network, address, node_id, *words):
        self.seen = {"connected": 0, "disconnected": 0}
        self.process = subprocess.Popen([binary, str(network), address, node_id, *words], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.seen[line.strip()] = self.seen.get(line.strip(), 0) + 1

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class PrimaryLoad(Load):
    """Good clients and hostile ones of such a node."""

    name = "primary"
    path = "/ext/bc/C/rpc"
    KINDS = ("good primary read", "good page", "fresh reader")

    def __init__(self, node, rng, data_dir):
        super().__init__(node, rng)
        where = json.loads(next(pathlib.Path(data_dir).rglob("process.json")).read_text())["stakingAddress"]
        self.staking = (where.rsplit(":", 1)[0], int(where.rsplit(":", 1)[1]))
        self.node_id = self.info("info.getNodeID")["nodeID"]
        self.network = self.info("info.getNetworkID")["networkID"]
        rpc = node.rpc("/ext/bc/C/rpc")
        self.chain_id = rpc("eth_chainId")
        rpc.close()
        # of a key that everybody knows
        self.ewoq = {"12345": "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"}.get(
            self.network, "P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p")
        self.chains = ["11111111111111111111111111111111LpoYY"] + [
            self.info("info.getBlockchainID", alias=c)["blockchainID"] for c in "XC"]
        self.peers = []

    def info(self, method, **params):
        rpc = self.node.rpc("/ext/info")
        reply = rpc.post(json.dumps(dict(call(method), params=params)))
        rpc.close()
        return reply["result"]

    def begin_peers(self, folder):
        """The good peer says nothing and stays; the others say anything."""
        binary = pathlib.Path(folder) / "hostile_peer"
        assert binary.is_file(), f"{binary}: no such program, build it first"
        address = f"{self.staking[0]}:{self.staking[1]}"
        self.good_peer = Peer(binary, self.network, address, self.node_id, "quiet")
        self.peers = [Peer(binary, self.network, address, self.node_id, *self.chains) for _ in range(PEERS)]

    def end_of_others(self):
        seen = dict(self.good_peer.seen)
        for p in [self.good_peer, *self.peers]:
            p.end()
        self.done["hostile peer connected"] = sum(p.seen["connected"] for p in self.peers)
        return [(seen == {"connected": 1, "disconnected": 0}, f"the good peer stays: {seen}"),
                (all(p.seen["connected"] for p in self.peers), "hostile peers get as far as talking")]

    # ---- good clients ----

    async def get(self, r, w, path):
        w.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return await asyncio.wait_for(self.page(r), PATIENCE_S)

    async def page(self, r):
        head = await r.readuntil(b"\r\n\r\n")
        if b"transfer-encoding: chunked" not in head.lower():
            n = next(int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:"))
            return int(head.split(b" ", 2)[1]), await r.readexactly(n)
        body = b""
        while n := int(await r.readline(), 16):
            body += await r.readexactly(n)
            await r.readline()
        await r.readline()
        return int(head.split(b" ", 2)[1]), body

    async def primary_reader(self):
        asks = [("/ext/bc/P", "platform.getHeight", {}), ("/ext/bc/X", "avm.getHeight", {}),
                ("/ext/bc/P", "platform.getBalance", {"addresses": [self.ewoq]}), ("/ext/info", "info.getNodeID", {}),
                ("/ext/bc/P", "platform.getCurrentValidators", {}), ("/ext/info", "info.peers", {})]
        r, w = await self.fresh("/ext/info", "info.getNetworkID", {})
        while self.running():
            for path, method, params in asks:
                await self.ask(r, w, method, path=path, members=params)
            assert await self.ask(r, w, "eth_chainId", path="/ext/bc/C/rpc") == self.chain_id
            self.count("good primary read")
            await asyncio.sleep(0.05)
        w.close()

    async def page_reader(self):
        r, w = await self.fresh("/ext/info", "info.getNetworkID", {})
        while self.running():
            for path in ("/explorer", "/v1/health/liveness"):
                status, body = await self.get(r, w, path)
                assert status == 200 and body, (path, status)
            self.count("good page")
            await asyncio.sleep(0.1)
        w.close()

    def good_ones(self):
        return [("primary reader", self.primary_reader)] * 2 + [("page reader", self.page_reader),
                                                                ("fresh reader", self.fresh_primary)]

    async def fresh_primary(self):
        r, w = await self.fresh("/ext/info", "info.getNetworkID", {})
        w.close()
        await asyncio.sleep(0.1)

    # ---- hostile ones: the services ----

    async def post_bad(self, path, body, allowed=(200, 400, 404, 405, 413, 415, 503)):
        r, w = await self.connect()
        try:
            w.write(self.request(body, path=path))
            status, _ = await asyncio.wait_for(self.answer(r), PATIENCE_S)
            assert status in allowed, status
        finally:
            w.transport.abort()

    async def bad_services(self):
        rng = self.rng
        path, methods = rng.choice([
            ("/ext/bc/P", ["platform.getUTXOs", "platform.issueTx", "platform.getBlock", "platform.getTx", "platform.getRewardUTXOs",
                           "platform.getValidatorsAt", "platform.getBlockByHeight", "platform.getStake", "platform.nothing"]),
            ("/ext/bc/X", ["avm.getUTXOs", "avm.issueTx", "avm.getTx", "avm.getAddressTxs", "avm.getBlock", "avm.send"]),
            ("/ext/bc/C/rpc", ["eth_getLogs", "eth_sendRawTransaction", "debug_traceBlockByNumber", "eth_feeHistory"]),
            ("/ext/index/P/block", ["index.getContainerRange", "index.getIndex", "index.getContainerByID"]),
            ("/ext/index/X/tx", ["index.getContainerRange", "index.isAccepted"]),
            ("/ext/info", ["info.uptime", "info.peers", "info.isBootstrapped", "info.getTxFee"])])
        odd = [None, -1, 1 << 64, "0x", "0x" + "ff" * rng.randrange(40000), "x" * 70000, [[]] * 2000, {"a": {}}, 1e308,
               [self.ewoq] * rng.choice([1, 1024, 5000]), "\u0000", True, self.chains[1]]
        keys = ["addresses", "tx", "encoding", "txID", "blockID", "height", "limit", "startIndex", "numToFetch", "sourceChain",
                "nodeIDs", "chain", "id", "index", "assetID", "cursor"]
        params = {k: rng.choice(odd) for k in rng.sample(keys, rng.randrange(6))}
        await self.post_bad(path, json.dumps({"jsonrpc": "2.0", "id": 1, "method": rng.choice(methods),
                                              "params": rng.choice([params, [params], []])}).encode())

    async def many_users(self):
        """Each takes a slow hash of its password, and a place in the store."""
        name, word = self.rng.randbytes(8).hex(), "correct horse battery " + str(self.rng.random())
        method = self.rng.choice(["createUser", "deleteUser", "listUsers", "exportUser", "importUser"])
        await self.post_bad("/ext/keystore", json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": f"keystore.{method}",
             "params": {"username": name, "password": word, "user": "0x" + "00" * 2000, "encoding": "hex"}}).encode())

    async def pages(self):
        rng = self.rng
        path = rng.choice(["/explorer/search?q=", "/explorer/block/", "/explorer/tx/", "/explorer/address/", "/explorer/token/",
                           "/explorer/p/", "/explorer/x/", "/explorer/blocks?from=", "/explorer/logs?address="])
        tail = rng.choice(["0x" + rng.randbytes(20).hex(), "0x" + rng.randbytes(32).hex(), "%00", "%f0%9f%98%80" * 500,
                           "9" * 5000, "..%2f..%2fetc", "<script>", "-1", self.ewoq])
        await self.throw(f"GET {path}{tail} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode().replace(b"<", b"%3c"), wait=1)

    async def subscriptions(self):
        """WebSocket of the C-Chain and of the X-Chain's events, thousands of wishes, nothing read."""
        r, w = await self.upgrade(window=4096, path=self.rng.choice(["/ext/bc/C/ws", "/ext/bc/X/events"]))
        try:
            one = frame(TEXT, json.dumps(self.rng.choice([
                call("eth_subscribe", "newHeads"), call("eth_subscribe", "logs", {"topics": ["0x" + "22" * 32] * 4}),
                {"newSet": {}}, {"addAddresses": {"addresses": [self.ewoq] * 100}},
                {"newBloom": {"maxElements": 1 << 40, "collisionProb": 1e-9}}])).encode())
            w.write(one * 1000)
            await asyncio.sleep(2)
        finally:
            w.transport.abort()

    # ---- hostile ones: the staking port ----

    async def to_staking(self):
        return await asyncio.open_connection(*self.staking)

    async def staking_garbage(self):
        r, w = await self.to_staking()
        try:
            w.write(self.rng.choice([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + self.rng.randbytes(500),
                                     self.rng.randbytes(self.rng.randrange(1, 20000)), b"GET / HTTP/1.1\r\n\r\n", b""]))
            await asyncio.wait_for(r.read(1 << 16), 1)
        finally:
            w.transport.abort()

    async def staking_half_open(self):
        held = await asyncio.gather(*(self.to_staking() for _ in range(HALF_OPEN)), return_exceptions=True)
        try:
            await asyncio.sleep(self.rng.uniform(0, 3))
        finally:
            for c in held:
                if not isinstance(c, BaseException):
                    c[1].transport.abort()

    async def staking_loris(self):
        """A handshake of TLS, a byte at a time."""
        r, w = await self.to_staking()
        try:
            for b in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60):
                w.write(bytes([b]))
                await asyncio.sleep(0.1)
        finally:
            w.transport.abort()

    def tls(self):
        """With the keys of a node that was made for this."""
        c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
        c.minimum_version = ssl.TLSVersion.TLSv1_3
        c.load_cert_chain(self.keys / "staker.crt", self.keys / "staker.key")
        return c

    async def staking_frames(self):
        """Through TLS, with a certificate that is right: frames that are not."""
        r, w = await asyncio.open_connection(*self.staking, ssl=self.tls())
        rng = self.rng
        try:
            w.write(rng.choice([
                (0xffffffff).to_bytes(4, "big") + b"x" * 100, (2 << 20).to_bytes(4, "big") + b"x" * 1000, b"\0\0\0\0" * 5000,
                (1 << 21).to_bytes(4, "big") + bytes(1 << 20),
                b"".join(len(m := rng.randbytes(rng.randrange(1, 300))).to_bytes(4, "big") + m for _ in range(50)),
                b"".join((2 + len(m)).to_bytes(4, "big") + b"\x12" + bytes([len(m)]) + m
                         for m in [b"\x28\xb5\x2f\xfd" + rng.randbytes(100)] * 20)]))
            await asyncio.wait_for(r.read(1 << 16), 3)
            await asyncio.sleep(rng.uniform(0, 3))
        finally:
            w.transport.abort()

    async def staking_flood(self):
        """Handshakes that are whole, one after the other, and gone."""
        context = self.tls()
        held = await asyncio.gather(*(asyncio.open_connection(*self.staking, ssl=context) for _ in range(20)),
                                    return_exceptions=True)
        for c in held:
            if not isinstance(c, BaseException):
                c[1].transport.abort()

    def hostile_ones(self):
        return [self.bad_services, self.many_users, self.pages, self.subscriptions, self.staking_garbage, self.staking_half_open,
                self.staking_loris, self.staking_frames, self.staking_flood, self.bad_http, self.bad_json, self.open_streams,
                self.slow_writer, self.half_bodies, self.flood]


def make_keys(env):
    """Certificate and key of somebody, by a node that lives for a moment."""
    data = env.dir()
    env.start(*ALONE, data_dir=data, network="local").kill()
    found = next(pathlib.Path(data).rglob("staker.crt"))
    return found.parent


def start(env, *flags):
    """A node that alone validates a network of its own, so that it makes blocks final; where the keys and the genesis for
    that are not there, one of the local network. (node, data directory)"""
    data = env.dir()
    genesis = VECTORS / "genesis-single-staker.json"
    if not genesis.is_file():
        print("SKIP a network of one validator: no test data, CANDELA_TESTDATA", flush=True)
        return env.start(*flags, *FLAGS, *ALONE, data_dir=data, network="local"), data
    who = json.loads((VECTORS / "local-stakers.json").read_text())[0]
    files = {"cert": who["certPEM"].encode(), "key": who["keyPEM"].encode(), "signer": bytes.fromhex(who["blsSecretKeyHex"]),
             "genesis": json.dumps(json.loads(genesis.read_text())[0]["config"]).encode()}
    folder = pathlib.Path(env.dir())
    for name, text in files.items():
        (folder / name).write_bytes(text)
    return env.start(*flags, *FLAGS, "--network-profile=upstream", "--finality-enabled", f"--genesis-file={folder / 'genesis'}",
                     f"--staking-tls-cert-file={folder / 'cert'}", f"--staking-tls-key-file={folder / 'key'}",
                     f"--staking-signer-key-file={folder / 'signer'}", data_dir=data, network="1337"), data
