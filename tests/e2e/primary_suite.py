"""P-, X- and C-Chain of a real node, asked what the original was asked: the exchanges of testdata/node-api.
[spec:node-api] [spec:pchain-xchain]

Recorded transactions are issued as they were signed. Answers are compared member by member; DIFFERS says where ours are
others, and why. A row of it that hides nothing fails the run."""
import http.client
import json
import os
import pathlib
import time

from harness import ROOT, Skip, match, same

DATA = pathlib.Path(os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata")) / "node-api"
EWOQ_P = "P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"
WAIT_S = 30

CLOCK = "blocks carry the time of their making"
VERSION = "names this program and its versions"
ORDER = "UTXOs of an address are in the order of their IDs here, the newest first there"
PRODUCT = "kept, as the product has it; the recorded original has dropped it"
YOUNG = "the lowest height of recent blocks moves after 30 s; the recorded node had been up for longer"
GRANITE = "rules after Fortuna are unscheduled here [spec:decisions#D6]"
ALIASES = "the names of both families are there [spec:decisions#D29]"
LOGGER = "one logger, main, for all chains"
RUNS = "chains of the primary network are validated by every node, peers or not"

# (transcript, part of the exchange's name, part of the member's path, why)
DIFFERS = [
    ("net1337-info", "getNodeVersion", "/result/", VERSION),
    ("net1337-info", "getNodeID", "/result/node", "keys made by the node itself"),
    ("net1337-info", "getNodeIP", "/result/ip", "ports chosen by the system"),
    ("net1337-info", "getNetworkName", "/result/networkName", "the row of 1337 has a name [spec:decisions#D2]"),
    ("net1337-info", "info.uptime", "", "a lone node answers for itself [spec:node-api#3]"),
    ("net1337-info", "info.upgrades", "/result/graniteTime", GRANITE),
    ("net1337-info", "info.upgrades", "/result/heliconTime", GRANITE),
    ("net1337-platform", "getProposedHeight", "/result/height", YOUNG),
    ("net1337-platform", "getValidatorsAt {\"height\": \"proposed\"", "/result/NodeID", YOUNG),
    ("net1337-platform", "getBalance", "/result/utxoIDs", ORDER),
    ("net1337-platform", "getUTXOs", "/result/utxos", ORDER),
    ("net1337-platform", "getUTXOs", "/result/endIndex", ORDER),
    ("net1337-platform", "\"encoding\": \"json\"", "/error/message", ORDER),
    ("net1337-platform", "getPendingValidators", "", PRODUCT),
    ("net1337-platform", "getBlockchainStatus", "/result/status", RUNS),
    ("net1337-xvm", "getAddressTxs", "", PRODUCT),
    ("net1337-xvm", "wallet.send", "/error/message", "a method here, for users of a keystore"),
    ("net1337-reward-lifecycle", "staked owner balance", "/result/utxoIDs", ORDER),
    ("net1337-cchain", "avax.issueTx", "/error/message", "the type is refused by its number"),
    ("net1337-cchain", "avax.version", "", PRODUCT),
    ("net1337-cchain", "web3_clientVersion", "/result", VERSION),
    ("net1337-cchain", "admin.getVMConfig", "/result/config/", "the keys and defaults of this VM"),
    ("net12345-info", "getNodeVersion", "/result/", VERSION),
    ("net12345-info", "getNodeIP", "/result/ip", "ports chosen by the system"),
    ("net12345-info", "info.peers", "/result/", "the recorded node had a peer"),
    ("net12345-info", "info.upgrades", "/result/graniteTime", GRANITE),
    ("net12345-info", "info.upgrades", "/result/heliconTime", GRANITE),
    ("net1337-flows", "X block 1", "/result/block", CLOCK),
    ("net12345-admin", "getChainAliases", "/result/aliases", ALIASES),
    ("net12345-admin", "getLoggerLevel {}", "/result/loggerLevels", LOGGER),
    ("net12345-admin", "setLoggerLevel {\"loggerName\": \"X\", \"logLevel\": \"debug\"}", "", LOGGER),
    ("net12345-admin", "getConfig", "/result/", "the flags of this program"),
    ("net12345-admin", "lockProfile", "", "locks are not counted"),
    ("net12345-admin", "after admin.alias", "/result/height", "the recorded node had blocks"),
    ("net12345-http-envelope", "method two dots", "/error/message", "the name as it was sent"),
    ("net12345-http-envelope", "trailing garbage", "", "what follows the call is refused"),
    ("net12345-http-envelope", "route /ext//info", "", "no redirect for what no client sends"),
    ("net12345-http-envelope", "route /v1/info", "", "the product's own route"),
    ("net12345-http-envelope", "cors preflight", "status", "204, as the product has it [spec:node-api#1]"),
    ("net12345-http-envelope", "api-route header unknown", "", "routes are chosen by the path alone"),
]


def recorded(name):
    if not DATA.is_dir():
        raise Skip(f"{DATA} is not here")
    return json.loads((DATA / "transcripts" / f"{name}.json").read_text())


def ask(node, request):
    """Gives status, headers, body of one recorded request."""
    conn = http.client.HTTPConnection(node.host, node.port, timeout=30)
    conn.request(request["method"], request["path"], request["body"], request["headers"])
    r = conn.getresponse()
    out = r.status, dict(r.getheaders()), r.read().decode()
    conn.close()
    return out


def call(node, route, method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    status, _, text = ask(node, {"method": "POST", "path": route, "body": body,
                                 "headers": {"Content-Type": "application/json"}})
    same(status, 200, route)
    return json.loads(text)


def result(node, route, method, **params):
    reply = call(node, route, method, **params)
    assert "result" in reply, f"{method} {params}: {reply}"
    return reply["result"]


def read(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def unlike(want, got, at=""):
    """Where two values differ: (path, wanted, got)."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(set(want) | set(got)):
            yield from unlike(want.get(key, "(absent)"), got.get(key, "(absent)"), f"{at}/{key}")
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, pair in enumerate(zip(want, got)):
            yield from unlike(*pair, f"{at}/{i}")
    elif want != got:
        yield at, want, got


class Replay:
    """Compares one transcript, and what of DIFFERS it used."""

    def __init__(self, node, name):
        self.node, self.name, self.bad, self.used = node, name, [], set()

    def reason(self, exchange, path):
        for row in DIFFERS:
            if row[0] == self.name and row[1] in exchange and row[2] in path:
                self.used.add(row)
                return row[3]
        return None

    def check(self, x):
        status, _, body = ask(self.node, x["request"])
        want = read(x["response"]["body"])
        if "final status" in x["name"]:  # blocks come when they are ready
            end = time.monotonic() + WAIT_S
            while read(body) != want and time.monotonic() < end:
                time.sleep(0.02)
                body = ask(self.node, x["request"])[2]
        if "status right after" in x["name"]:
            match(body, '"(Processing|Committed|Accepted|Unknown)"', x["name"])
            return
        found = list(unlike(want, read(body)))
        if status != x["response"]["status"]:
            found.append(("status", x["response"]["status"], status))
        for path, *values in found:
            if self.reason(x["name"], path) is None:
                self.bad.append(f"{x['name']} {path}: want {str(values[0])[:200]}, got {str(values[1])[:200]}")

    def all(self, least):
        exchanges = recorded(self.name)
        assert len(exchanges) >= least, f"{self.name} has {len(exchanges)} exchanges"
        for x in exchanges:
            self.check(x)
        assert not self.bad, f"{len(self.bad)} differ: " + " | ".join(self.bad[:5])
        left = [r for r in DIFFERS if r[0] == self.name and r not in self.used]
        assert not left, f"no difference hides behind {left}"


def files_of_1337(env):
    recorded("net1337-flows")
    path = pathlib.Path(env.dir()) / "genesis.json"
    path.write_text(json.dumps(json.loads((DATA / "vectors" / "genesis.json").read_text())[1]["config"]))
    return path


def open_1337(env, genesis, data, height):
    """Network 1337 as it was recorded: in upstream's units, its five stakers rewarded at once (ten blocks)."""
    node = env.start("--network-profile=upstream", f"--genesis-file={genesis}", "--sybil-protection-enabled=false",
                     "--index-enabled", data_dir=data, network="1337")
    end = time.monotonic() + WAIT_S
    while int(result(node, "/ext/bc/P", "platform.getHeight")["height"]) < height:
        assert time.monotonic() < end, "the stakers of the genesis are not rewarded"
        time.sleep(0.05)
    return node


def test_reads_of_a_fresh_network(env):
    node = open_1337(env, files_of_1337(env), env.dir(), 10)
    for name, least in (("net1337-info", 20), ("net1337-platform", 70), ("net1337-xvm", 20),
                        ("net1337-cchain", 12)):
        Replay(node, name).all(least)


def totals(node):
    """What must survive anything: balances of the test key on each chain, supply, heights."""
    x_key = EWOQ_P.replace("P-", "X-")
    rpc = "/ext/bc/C/rpc"
    return {
        "P": result(node, "/ext/bc/P", "platform.getBalance", addresses=[EWOQ_P])["balance"],
        "supply": result(node, "/ext/bc/P", "platform.getCurrentSupply")["supply"],
        "X": sorted(map(str, result(node, "/ext/bc/X", "avm.getAllBalances", address=x_key)["balances"])),
        "C": node.rpc(rpc)("eth_getBalance", "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC", "latest"),
        "heights": [result(node, "/ext/bc/P", "platform.getHeight"), result(node, "/ext/bc/X", "avm.getHeight"),
                    node.rpc(rpc)("eth_blockNumber")],
        "genesis": node.rpc(rpc)("eth_getBlockByNumber", "0x0", False)["hash"],
    }


def test_signed_transactions_in_all_directions(env):
    """P to X, X to C, C to P: refused, accepted and told in the words of the record; then the node is killed."""
    genesis, data = files_of_1337(env), env.dir()
    node = open_1337(env, genesis, data, 10)
    Replay(node, "net1337-flows").all(70)
    before = totals(node)
    node.kill()
    node = open_1337(env, genesis, data, 10)
    same(totals(node), before)
    # Accepted transactions are still there, under the same IDs and with the same bytes.
    for x in recorded("net1337-flows"):
        if "getTx hex" in x["name"] or "final status" in x["name"]:
            same(read(ask(node, x["request"])[2]), read(x["response"]["body"]), x["name"])
    containers_are_proposers(node)


def containers_are_proposers(node):
    """The index has the blocks of proposers, in their order, and inside them those of the chain."""
    for chain, get in (("P", "platform.getBlockByHeight"), ("X", "avm.getBlockByHeight")):
        last = int(result(node, f"/ext/index/{chain}/block", "index.getLastAccepted", encoding="hex")["index"])
        for i in range(last + 1):
            c = result(node, f"/ext/index/{chain}/block", "index.getContainerByIndex", index=str(i), encoding="hex")
            inner = result(node, f"/ext/bc/{chain}", get, height=i + 1)["block"]
            assert inner[2:-8] in c["bytes"], f"{chain} {i}: the block is not in its container"
            assert len(c["bytes"]) > len(inner), f"{chain} {i}: the container is the block itself"
            same(result(node, f"/ext/index/{chain}/block", "index.getIndex", id=c["id"])["index"], str(i))


def test_killed_after_each_acknowledged_transaction(env):
    genesis, data = files_of_1337(env), env.dir()
    node = open_1337(env, genesis, data, 10)
    done, kills = [], 0
    for x in recorded("net1337-flows"):
        body = read(x["request"]["body"] or "{}")
        if ".issueTx" not in body.get("method", "") or "result" not in read(x["response"]["body"]):
            if "final status" in x["name"]:
                Replay(node, "net1337-flows").check(x)
                done.append(x)
                before = totals(node)
                node.kill()
                kills += 1
                node = open_1337(env, genesis, data, 10)
                same(totals(node), before, x["name"])
            continue
        same(read(ask(node, x["request"])[2]), read(x["response"]["body"]), x["name"])
    assert kills >= 8, f"{kills} kills"
    for x in done:
        same(read(ask(node, x["request"])[2]), read(x["response"]["body"]), x["name"])


def test_rewards_of_the_first_stakers(env):
    node = open_1337(env, files_of_1337(env), env.dir(), 10)
    Replay(node, "net1337-reward-lifecycle").all(40)


def keys_of_staker_1(env):
    """Flags for the keys of the first well-known staker."""
    who = json.loads((DATA / "vectors" / "local-stakers.json").read_text())[0]
    path = pathlib.Path(env.dir())
    (path / "cert").write_text(who["certPEM"])
    (path / "key").write_text(who["keyPEM"])
    (path / "signer").write_bytes(bytes.fromhex(who["blsSecretKeyHex"]))
    return who["nodeID"], (f"--staking-tls-cert-file={path / 'cert'}", f"--staking-tls-key-file={path / 'key'}",
                           f"--staking-signer-key-file={path / 'signer'}")


def test_the_only_validator(env):
    """Sybil protection is on, and the node is who validates: it is connected to itself, so that it earns its reward."""
    recorded("net1337s-l1-warp")
    node_id, keys = keys_of_staker_1(env)
    genesis = pathlib.Path(env.dir()) / "genesis.json"
    genesis.write_text(json.dumps(json.loads((DATA / "vectors" / "genesis-single-staker.json").read_text())[0]["config"]))
    flags = ("--network-profile=upstream", f"--genesis-file={genesis}", *keys)
    data = env.dir()
    for run in range(2):
        node = env.start(*flags, data_dir=data, network="1337")
        (only,) = result(node, "/ext/bc/P", "platform.getCurrentValidators")["validators"]
        same((only["nodeID"], only["connected"]), (node_id, True))
        replay = Replay(node, "net1337s-l1-warp")
        for x in recorded("net1337s-l1-warp")[:5]:  # the network; what follows has deadlines that have passed
            if "issueTx" not in x["name"] or run == 0:
                replay.check(x)
        assert not replay.bad, replay.bad
        node.kill()


def test_envelope(env):
    node = env.start("--sybil-protection-enabled=false", data_dir=env.dir(), network="local")
    Replay(node, "net12345-http-envelope").all(60)


def test_info_of_a_well_known_staker(env):
    recorded("net12345-info")
    _, keys = keys_of_staker_1(env)
    node = env.start("--sybil-protection-enabled=false", *keys, data_dir=env.dir(), network="local")
    Replay(node, "net12345-info").all(20)


def test_admin(env):
    data = env.dir()
    node = env.start("--sybil-protection-enabled=false", "--api-admin-enabled", data_dir=data, network="local")
    Replay(node, "net12345-admin").all(29)
    profiles = pathlib.Path(data) / "profiles"
    same(sorted(f.name for f in profiles.iterdir()), ["cpu.profile", "mem.profile", "stacktrace.txt"])
    match((profiles / "cpu.profile").read_text(), r"^# CPU time of the threads in \d+ ms\n")
    match((profiles / "stacktrace.txt").read_text(), r"[RS] +\d+ ms  candela")
    same(result(node, "/ext/admin", "admin.getConfig")["http-port"], 0)
    assert "key" not in result(node, "/ext/admin", "admin.getConfig")["staking-tls-key-file-content"]


def test_backup_and_restore(env):
    """A copy made between two transactions, taken back at the next start; the chains go on from there."""
    genesis, data = files_of_1337(env), env.dir()
    flags = ("--network-profile=upstream", f"--genesis-file={genesis}", "--sybil-protection-enabled=false",
             "--api-admin-enabled", "--evm-in-process")
    node = env.start(*flags, data_dir=data, network="1337")
    issues = [x for x in recorded("net1337-flows") if ".issueTx" in (x["request"]["body"] or "") and
              "result" in read(x["response"]["body"])][:2]
    end = time.monotonic() + WAIT_S
    while totals(node)["heights"][0]["height"] != "10" and time.monotonic() < end:
        time.sleep(0.05)
    before = totals(node)
    made = result(node, "/v1/backup", "backup.create", path="before")
    same(made["version"], "1")
    assert int(made["bytes"]) > 0, made
    same(read(ask(node, issues[0]["request"])[2]), read(issues[0]["response"]["body"]))
    while totals(node) == before and time.monotonic() < end:
        time.sleep(0.05)
    assert totals(node) != before, "the transaction changed nothing"
    for params, pattern in (({"path": "before"}, "there is a backup before already"), ({"path": "../x"}, "up to 64 letters"),
                            ({"path": "x", "since": 1}, "since: a backup is whole"), ({}, "argument 'path' not given")):
        match(call(node, "/v1/backup", "backup.create", **params)["error"]["message"], pattern)
    match(call(node, "/v1/backup", "backup.restore", path="none")["error"]["message"], "there is no backup none")
    same(result(node, "/v1/backup", "backup.restore", path="before"), {"path": "before", "atNextStart": True})
    status = result(node, "/ext/backup", "backup.status")
    same((status["lastVersion"], status["inProgress"], status["restores"]), ("1", False, "before"))
    node.kill()
    node = env.start(*flags, data_dir=data, network="1337")
    same(totals(node), before)
    same(result(node, "/v1/backup", "backup.status")["restores"], "")
    same(read(ask(node, issues[0]["request"])[2]), read(issues[0]["response"]["body"]))
    while totals(node) == before and time.monotonic() < end:
        time.sleep(0.05)
    assert totals(node) != before, "the chain does not go on"
    same(node.end(), 0)
    mem = env.start("--sybil-protection-enabled=false", "--api-admin-enabled", network="local")
    match(call(mem, "/v1/backup", "backup.create", path="x")["error"]["message"], "keeps its data in memory")


def test_tokens(env):
    """Nobody gets in without one, but to where they are given out. [spec:node-api#9]"""
    password = pathlib.Path(env.dir()) / "password.txt"
    password.write_text("correct horse\n")
    node = env.start("--sybil-protection-enabled=false", "--api-auth-required", f"--api-auth-password-file={password}",
                     "--api-admin-enabled", network="local")

    def get(path, token=None, method="info.getNetworkID"):
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method})
        status, _, text = ask(node, {"method": "POST", "path": path, "headers": headers, "body": body})
        return status, text

    for path in ("/v1/info", "/ext/bc/C/rpc", "/v1/admin", "/v1/metrics", "/nowhere"):
        same(get(path), (401, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"auth token not provided"},"id":1}\n'))
    token = result(node, "/v1/auth", "auth.newToken", password="correct horse", endpoints=["/v1/info", "/v1/bc/P"])["token"]
    same(get("/v1/info", token)[0], 200)
    same(get("/v1/bc/P", token, "platform.getHeight")[0], 200)
    match(get("/v1/bc/X", token)[1], "does not allow access to this endpoint")
    match(get("/v1/info", token[:-2] + "xx")[1], "signature is invalid")
    match(call(node, "/v1/auth", "auth.newToken", password="x", endpoints=["*"])["error"]["message"], "incorrect password")
    same(result(node, "/ext/auth", "auth.revokeToken", password="correct horse", token=token), {})
    match(get("/v1/info", token)[1], "was revoked")
    same(result(node, "/ext/auth", "auth.changePassword", oldPassword="correct horse", newPassword="battery staple"), {})
    token = result(node, "/v1/auth", "auth.newToken", password="battery staple", endpoints=["*"])["token"]
    same(get("/ext/bc/C/rpc", token, "eth_chainId")[0], 200)
    same(node.end(), 0)
    password.write_text("short\n")
    for flag, pattern in ((f"--api-auth-password-file={password}", "password is too weak"),
                          ("--api-auth-password-file=nowhere.txt", "nowhere.txt"), ("--in-memory", "needs --api-auth-password-file")):
        code, out, err = env.run("--network-id=local", "--in-memory", "--http-port=0", "--api-auth-required", flag)
        same(code, 1)
        match(out + err, pattern)


def test_health_has_the_recorded_shape(env):
    """The checks of each chain, of the database and of readiness, with what they tell of an engine."""
    node = env.start("--sybil-protection-enabled=false", data_dir=env.dir(), network="local")
    for x in recorded("net12345-health"):
        if x["request"]["path"] != "/ext/health/readiness" and x["name"] != "health.health {}":
            continue
        status, _, text = ask(node, x["request"])
        want, got = (r.get("result", r) for r in (read(x["response"]["body"]), read(text)))
        same((status, got["healthy"]), (x["response"]["status"], want["healthy"]), x["name"])
        for name in sorted({"C", "P", "X", "bootstrapped", "database", "diskspace"} & set(want["checks"])):
            mine, theirs = got["checks"][name], want["checks"][name]
            same(sorted(mine), sorted(theirs), f"{x['name']} {name}")
            if name in ("C", "P", "X"):
                same(sorted(mine["message"]["engine"]["consensus"]), sorted(theirs["message"]["engine"]["consensus"]))


def test_both_families_of_routes(env):
    node = env.start("--sybil-protection-enabled=false", data_dir=env.dir(), network="local")
    for root in ("/v1", "/ext"):
        for alias in ("P", "11111111111111111111111111111111LpoYY"):
            same(result(node, f"{root}/bc/{alias}", "platform.getHeight"), {"height": "0"})
        same(result(node, f"{root}/info", "info.getNetworkID"), {"networkID": "12345"})
        get = {"method": "GET", "body": None, "headers": {}}
        same(ask(node, {**get, "path": f"{root}/health"})[0], 200)
        for path in (f"{root}/bc/Q", f"{root}/nothing", f"{root}/bc", f"{root}/index/P/block"):
            same((path, ask(node, {**get, "path": path})[0]), (path, 404))
    same(result(node, "/ext/bc/P", "platform.getTxStatus", txID="2Em6yiQ61rj2BsAZweYVMYdwoKaxayq9gDVdQsvA7ygApkPoT9"),
         {"status": "Unknown"})


def test_genesis_of_the_upstream_c_chain(env):
    """With the rules up to Fortuna, as recorded in evm-chain/cchain-genesis.json."""
    file = DATA.parent / "evm-chain" / "cchain-genesis.json"
    if not file.is_file():
        raise Skip(f"{file} is not here")
    want = [r["blockHash"] for r in json.loads(file.read_text())
            if (r["name"], r["upgradesActiveFromTimestamp1607144400"]) == ("ava_local", "Fortuna")]
    node = env.start("--sybil-protection-enabled=false", data_dir=env.dir(), network="local")
    same([node.rpc("/ext/bc/C/rpc")("eth_getBlockByNumber", "0x0", False)["hash"]], want)


def test_every_network_starts(env):
    for network, net_id, chain_id, prefix in (("mainnet", 1, 96369, "lux"), ("testnet", 2, 96368, "test"),
                                              ("devnet", 3, 96370, "dev"), ("custom", 1337, 1337, "custom"),
                                              ("local", 12345, 43112, "local"), ("777", 777, 43112, "custom")):
        node = env.start("--sybil-protection-enabled=false", data_dir=env.dir(), network=network)
        c = node.rpc("/v1/bc/C/rpc")
        same((network, c("eth_chainId")), (network, hex(chain_id)))
        same(c("eth_getBalance", "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC", "latest"), "0x295be96e64066972000000")
        same(result(node, "/v1/info", "info.getNetworkID"), {"networkID": str(net_id)})
        address = result(node, "/v1/bc/P", "platform.getCurrentValidators")["validators"][0]
        match(json.dumps(address), f"P-{prefix}1")
        same(node.end(), 0)


def test_well_known_keys(env):
    """Whose secret everybody has is no validator of a network where money has a value. [spec:decisions#D17]"""
    recorded("net12345-info")
    _, keys = keys_of_staker_1(env)
    for network in ("mainnet", "testnet", "devnet", "5"):
        for key in (keys, keys[2:]):
            code, out, err = env.run(f"--network-id={network}", f"--data-dir={env.dir()}", "--http-port=0",
                                     "--sybil-protection-enabled=false", *key)
            assert code != 0, f"{network} took {key}"
            match(out + err, "refusing to use a publicly known key on network (main|test|dev)net")


def test_what_is_refused(env):
    flag = "--network-profile=avalanche"
    code, out, err = env.run("--network-id=local", "--in-memory", "--http-port=0", flag, timeout=10)
    assert code != 0, f"{flag} was taken"
    match(out + err, "\"avalanche\"")
    file = pathlib.Path(env.dir()) / "genesis.json"
    file.write_text("{}")
    code, out, err = env.run("--network-id=local", "--in-memory", "--http-port=0", f"--genesis-file={file}")
    assert code != 0, "the genesis of a standard network was taken from a file"
    match(out + err, "overrides standard network")
