"""Nodes as processes that speak to each other over loopback. [spec:p2p#6] [spec:node-api#3]"""
import base64
import http.client
import json
import os
import pathlib
import signal
import time

from harness import ROOT, Skip, match, same

PATIENCE_S = 120


def stakers():
    data = pathlib.Path(os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata"))
    path = data / "node-api" / "vectors" / "local-stakers.json"
    if not path.is_file():
        raise Skip("no test data: CANDELA_TESTDATA")
    return json.loads(path.read_text())


def text64(data):
    return base64.b64encode(data).decode()


class Member:
    """A validator of the local network, by the keys that everybody knows."""

    def __init__(self, env, staker):
        self.env, self.id, self.data, self.node, self.address = env, staker["nodeID"], env.dir(), None, None
        self.keys = [f"--staking-tls-cert-file-content={text64(staker['certPEM'].encode())}",
                     f"--staking-tls-key-file-content={text64(staker['keyPEM'].encode())}",
                     f"--staking-signer-key-file-content={text64(bytes.fromhex(staker['blsSecretKeyHex']))}"]

    def start(self, beacons, *flags, decides="false"):
        port = 0 if self.address is None else self.address.rsplit(":", 1)[1]
        self.node = self.env.start("--network-id=local", f"--sybil-protection-enabled={decides}", *self.keys,
                                   "--staking-host=127.0.0.1", f"--staking-port={port}",
                                   "--bootstrap-ips=" + ",".join(b.address for b in beacons),
                                   "--bootstrap-ids=" + ",".join(b.id for b in beacons), *flags, data_dir=self.data)
        process = json.loads((pathlib.Path(self.data) / "local" / "process.json").read_text())
        match(process["stakingAddress"], r"^127\.0\.0\.1:\d+$")
        self.address = process["stakingAddress"]
        return self

    def info(self, method, **params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"info.{method}", "params": params})
        return self.node.rpc("/ext/info").post(body)

    def peers(self, **params):
        got = self.info("peers", **params)["result"]
        same(got["numPeers"], str(len(got["peers"])))
        return {p["nodeID"]: p for p in got["peers"]}


def wait_for(what, is_so):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.1)


def is_bootstrapped(member, chains=("P", "X", "C")):
    return all(member.info("isBootstrapped", chain=c)["result"]["isBootstrapped"] for c in chains)


def health(member):
    return member.node.rpc("/ext/health").post('{"jsonrpc":"2.0","id":1,"method":"health.health"}')["result"]


def test_three_see_each_other(env):
    a, b, c = (Member(env, s) for s in stakers()[:3])
    a.start([])
    b.start([a])
    c.start([a])  # which tells it of b

    def are_all_there():
        return all(set(m.peers()) == {x.id for x in (a, b, c)} - {m.id} for m in (a, b, c))

    wait_for("three of three", are_all_there)
    row = a.peers(nodeIDs=[b.id])
    same(set(row), {b.id})
    same(row[b.id]["publicIP"], b.address)
    match(row[b.id]["version"], r"^candela/1\.(1[3-9]|[2-9]\d)\.\d+$")
    same(row[b.id]["trackedSubnets"], ["11111111111111111111111111111111LpoYY"])
    same(row[b.id]["benched"], [])
    same(a.info("getNodeIP")["result"], {"ip": a.address})
    network = health(a)["checks"]["network"]["message"]
    same((network["connectedPeers"], network["sendFailRate"]), (2, 0))
    match(network["timeSinceLastMsgReceived"], r"^\d+\.\d{3}ms$")
    same(health(a)["checks"]["bls"]["message"], "node has the correct BLS key")
    up = a.info("uptime")["result"]  # without a P-Chain that counts, others have nothing to tell
    assert 20 <= float(up["weightedAveragePercentage"]) <= 60, up

    c.node.end(signal.SIGKILL)
    wait_for("the killed one is gone", lambda: set(a.peers()) == {b.id} and set(b.peers()) == {a.id})
    c.start([b])
    wait_for("three of three again", are_all_there)
    for m in (c, b, a):
        same(m.node.end(), 0)


def test_a_stranger_validates_nothing(env):
    a = Member(env, stakers()[0]).start([])
    stranger = env.start("--network-id=local", "--sybil-protection-enabled=false", "--staking-host=127.0.0.1",
                         f"--bootstrap-ips={a.address}", f"--bootstrap-ids={a.id}", data_dir=env.dir())
    ask = '{"jsonrpc":"2.0","id":1,"method":"info.%s"}'
    info = stranger.rpc("/ext/info")
    wait_for("a stranger is let in", lambda: len(a.peers()) == 1)
    wait_for("and knows whom it speaks to", lambda: info.post(ask % "peers")["result"]["numPeers"] == "1")
    match(info.post(ask % "uptime")["error"]["message"], "couldn't get node uptime")


def test_nobody_is_spoken_to_unless_asked(env):
    data = env.dir()
    node = env.start("--network-id=local", "--sybil-protection-enabled=false", data_dir=data)
    same(json.loads((pathlib.Path(data) / "local" / "process.json").read_text())["stakingAddress"], "")
    got = node.rpc("/ext/health").post('{"jsonrpc":"2.0","id":1,"method":"health.health"}')["result"]
    same("network" in got["checks"], False)


def test_beacons_that_are_none(env):
    node_id = stakers()[0]["nodeID"]
    for flags, pattern in (
        (["--bootstrap-ips=127.0.0.1:1"], r"expected the number of bootstrapIPs \(1\) to match the number of bootstrapIDs \(0\)"),
        ([f"--bootstrap-ids={node_id}"], r"expected the number of bootstrapIPs \(0\) to match the number of bootstrapIDs \(1\)"),
        (["--bootstrap-ips=127.0.0.1", f"--bootstrap-ids={node_id}"], "couldn't parse bootstrap ip 127.0.0.1"),
        (["--bootstrap-ips=127.0.0.1:1", "--bootstrap-ids=NodeID-x"], "couldn't parse bootstrap peer id NodeID-x"),
        (["--state-sync-ips=127.0.0.1:1"], r"expected the number of stateSyncIPs \(1\) to match the number of stateSyncIDs \(0\)"),
    ):
        code, out, err = env.run("--network-id=local", "--in-memory", "--http-port=0", *flags)
        same((code, out), (1, ""))
        match(err, "^error: couldn't load node config: " + pattern)


# Transfers of 1 wei to 0x…dead by the funded public test key of network 12345, nonces 0 and 1.
TRANSFERS = (
    "0xf8678085e8d4a5100082520894000000000000000000000000000000000000dead0180830150f3a0697fca5e69b54ab936647e2998c2d13393"
    "b5fbdc9dc427218f4ef177b28caa21a06234eaede3345ff0ca33a987b6ff6c962a26eabce35f1b0ea7665d4a13bfba0d",
    "0xf8670185e8d4a5100082520894000000000000000000000000000000000000dead0180830150f3a0d2d85f2cd31f50efb33204b71fc340eaf3"
    "dbb543ab2df852e45f6737e3d3979aa07e7abcf77cfb4d4d6164fe011fe73e7445c7a023f18b96a25228251f27eb8150",
)


def c_chain(member, method, *params):
    return member.node.rpc("/ext/bc/C/rpc")(method, *params)


def last_accepted(member, chain):
    return health(member)["checks"][chain]["message"]["engine"]["consensus"]


def last_of(member, part):
    return health(member)["checks"]["P"]["message"][part]


def connected(member):
    """Who is connected, as the P-Chain of a member says."""
    body = '{"jsonrpc":"2.0","id":1,"method":"platform.getCurrentValidators","params":{}}'
    rows = member.node.rpc("/ext/bc/P").post(body)["result"]["validators"]
    return {r["nodeID"]: r["connected"] for r in rows}


def transfer(members, number):
    """Sends one to the first of the members, and waits until all have accepted the same block."""
    tx = c_chain(members[0], "eth_sendRawTransaction", TRANSFERS[number])
    wait_for(f"transfer {number} on all", lambda: all(c_chain(m, "eth_getTransactionReceipt", tx) for m in members))
    same(len({c_chain(m, "eth_getTransactionReceipt", tx)["blockHash"] for m in members}), 1)
    wait_for("equal last accepted heights",  # as health tells them, which is a moment behind
             lambda: all(last_accepted(m, "C")["lastAcceptedHeight"] == number + 1 for m in members))
    same(len({last_accepted(m, "C")["lastAcceptedID"] for m in members}), 1)
    for m in members:
        same(c_chain(m, "eth_getBalance", "0x000000000000000000000000000000000000dEaD", "latest"), hex(number + 1))


def test_five_decide_together(env):
    members = [Member(env, s) for s in stakers()]
    for m in members:
        m.start(members[:1] if m is not members[0] else [], decides="true")
    wait_for("five of five", lambda: all(len(m.peers()) == 4 for m in members))
    wait_for("all have caught up", lambda: all(is_bootstrapped(m) for m in members))
    same(members[0].node.rpc("/ext/health/readiness").post("{}")["checks"]["bootstrapped"]["message"], [])
    transfer(members, 0)
    same(set(connected(members[0]).values()), {True})
    same(last_of(members[0], "networking"), {"disconnectedValidators": [], "percentConnected": 1})
    gone = members.pop()
    gone.node.end(signal.SIGKILL)
    transfer(members, 1)
    for m in members:
        wait_for("the P-Chain knows who is away", lambda m=m: connected(m)[gone.id] is False)
        same([connected(m)[x.id] for x in members], [True] * 4)
    wait_for("health too", lambda: last_of(members[0], "networking") ==
             {"disconnectedValidators": [gone.id], "percentConnected": 0.8})
    same(health(members[0])["healthy"], True)
    wait_for("peers tell each other", lambda: any(
        row["observedUptime"] != "0" for row in members[0].peers().values()))
    members.append(gone.start(members[:1], decides="true"))
    wait_for("the one that was gone has what it missed",
             lambda: len({last_accepted(m, "C").get("lastAcceptedID") for m in members}) == 1)
    assert any("the chain has caught up" in line and '"chain":"C"' in line for line in gone.node.lines), gone.node.lines
    for m in members:
        same(m.node.end(), 0)


def test_numbers_of_the_operator(env):
    """Five of a network whose operators vote and speak in another way than is usual."""
    flags = ("--consensus-sample-size=5", "--consensus-quorum-size=4", "--consensus-commit-threshold=5",
             "--consensus-frontier-poll-frequency=50ms", "--network-compression-type=none",
             "--network-ping-frequency=200ms", "--network-ping-timeout=20s", "--network-peer-list-pull-gossip-frequency=100ms",
             "--network-initial-timeout=4s", "--network-minimum-timeout=1s", "--throttler-inbound-bandwidth-refill-rate=1MiB")
    members = [Member(env, s) for s in stakers()]
    for m in members:
        m.start(members[:1] if m is not members[0] else [], *flags, decides="true")
    wait_for("five of five", lambda: all(len(m.peers()) == 4 for m in members))
    wait_for("all have caught up", lambda: all(is_bootstrapped(m) for m in members))
    members.pop().node.end(signal.SIGKILL)
    transfer(members, 0)
    wait_for("health wants more than four of five", lambda: "error" in health(members[0])["checks"]["P"])
    match(health(members[0])["checks"]["P"]["error"],
          r"^not connected to enough stake: connected to 80\.0+%; required at least 84\.0+%$")
    # One that asks nobody goes on from where it stands.
    for m in members:
        m.node.end(signal.SIGKILL)
    alone = members[0].start([], "--skip-bootstrap", "--network-health-max-time-since-msg-received=1m30s", decides="true")
    wait_for("it has not asked", lambda: is_bootstrapped(alone))
    same(c_chain(alone, "eth_getBalance", "0x000000000000000000000000000000000000dEaD", "latest"), "0x1")


def test_answers_before_it_has_caught_up(env):
    a = Member(env, stakers()[0]).start([], "--api-serve-while-bootstrapping", decides="true")
    same([is_bootstrapped(a, [c]) for c in "XC"], [False, False])
    conn = http.client.HTTPConnection(a.node.host, a.node.port, timeout=30)
    ask = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
    conn.request("POST", "/ext/bc/C/rpc", ask, {"Content-Type": "application/json"})
    reply = conn.getresponse()
    same((reply.status, reply.getheader("X-Bootstrapping"), json.loads(reply.read())["result"]), (200, "true", "0x0"))


def test_a_chain_that_is_not_there_yet(env):
    a = Member(env, stakers()[0]).start([], decides="true")  # P is as it stands; X and C wait for the others' stake
    same([is_bootstrapped(a, [c]) for c in "PXC"], [False, False, False])
    conn = http.client.HTTPConnection(a.node.host, a.node.port, timeout=30)
    for path in ("/ext/bc/X", "/ext/bc/C/rpc", "/ext/bc/P"):
        conn.request("POST", path, "{}", {"Content-Type": "application/json"})
        reply = conn.getresponse()
        same((reply.status, reply.read()), (503, b"API call rejected because chain is not done bootstrapping\n"))
    conn.request("GET", "/ext/health/readiness")
    reply = conn.getresponse()
    check = json.loads(reply.read())["checks"]["bootstrapped"]
    same((reply.status, check["error"], check["message"]),
         (503, "subnets not bootstrapped", ["11111111111111111111111111111111LpoYY"]))
    conn.request("GET", "/ext/health")
    reply = conn.getresponse()
    chain = json.loads(reply.read())["checks"]["X"]
    same(chain["message"]["engine"]["consensus"], {})
    same(chain["message"]["engine"]["bootstrap"]["step"], "waiting")
    same(len(chain["message"]["networking"]["disconnectedValidators"]), 4)
    match(chain["error"], r"^not connected to enough stake: connected to 20\.0+%; required at least 76\.0+%$")
