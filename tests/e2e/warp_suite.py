"""Warp: messages that the C-Chain of five nodes sends, what their validators sign, and messages that come back to
contracts. [spec:warp] [spec:precompiles-core#9] [spec:eth-rpc#8]"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.request

import evm
import gonode
import txs
from harness import Rpc, RpcError, Skip, match, same
from network_suite import Network, ask, wait_for
from plugin_suite import L1_GENESIS, vm_id

ME = bytes.fromhex("8db97c7cece249c2b98bdc0226cc4c2a57bf52fc")
OWN = bytes.fromhex("0000000000000000000000000000000000016201")
LEGACY = bytes.fromhex("0200000000000000000000000000000000000005")
SENT = "0x56600c567728a800c0aa927500f831cb451df66a7af570eb4df4dfbf4674887d"
SEND, GET_ID, GET, GET_HASH = (bytes.fromhex(s) for s in ("ee5b48eb", "4213cf78", "6f825350", "ce7f5929"))
DURANGO = 0x5fcb13d0  # from when on Warp can be on, on networks of one's own
STRANGER = "2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm"


def rpc_of(node, chain=None):
    host, port = node["uri"].removeprefix("http://").split(":")
    return Rpc(host, int(port), f"/ext/bc/{chain or 'C'}/rpc")


def word(n):
    return n.to_bytes(32, "big")


def abi_bytes(data):
    return word(32) + word(len(data)) + data + b"\0" * (-len(data) % 32)


class Cli:
    """candela-cli warp, by way of a node."""

    def __init__(self, env, node):
        self.cli, self.uri = env.binary.parent / "candela-cli", node["uri"]

    def run(self, command, *words):
        rpc = () if command == "decode" else (f"--rpc={self.uri}",)
        return subprocess.run([str(self.cli), "warp", command, *words, *rpc, "--json"], capture_output=True, text=True,
                              timeout=60)

    def __call__(self, *words):
        p = self.run(*words)
        same((p.returncode, p.stderr), (0, ""), str(words))
        return json.loads(p.stdout)

    def fails(self, *words):
        p = self.run(*words)
        assert p.returncode != 0 and p.stdout == "", f"{words} was taken"
        return json.loads(p.stderr)["error"]


class Sender:
    """The funded account of the C-Chain."""

    def __init__(self, node, chain=None):
        self.rpc = rpc_of(node, chain)
        self.chain = int(self.rpc("eth_chainId"), 16)

    def send(self, to, data, access=(), gas=2_000_000):
        nonce = int(self.rpc("eth_getTransactionCount", "0x" + ME.hex(), "pending"), 16)
        raw = evm.transaction(self.chain, nonce, to, data, gas, 500_000_000_000, access)
        tx = self.rpc("eth_sendRawTransaction", raw)
        wait_for(f"receipt of {tx}", lambda: self.rpc("eth_getTransactionReceipt", tx) is not None)
        return self.rpc("eth_getTransactionReceipt", tx)

    def say(self, what, through=OWN):
        """Sends a message; its ID as logs have it, and the unsigned message."""
        receipt = self.send(through, SEND + abi_bytes(what))
        same(receipt["status"], "0x1")
        log = next(x for x in receipt["logs"] if x["topics"][0] == SENT)
        data = bytes.fromhex(log["data"][2:])
        message = data[64:64 + int.from_bytes(data[32:64], "big")]
        same(log["topics"][2], "0x" + hashlib.sha256(message).hexdigest())
        return log["topics"][2], message, receipt


def on_all(nodes, mid):
    for node in nodes.values():
        wait_for("the message everywhere", lambda: has(node, mid))


def has(node, mid, chain=None):
    try:
        return rpc_of(node, chain)("warp_getMessage", mid) is not None
    except RpcError:
        return False


def refused(call, pattern):
    try:
        call()
    except RpcError as e:
        match(e.message, pattern)
        return
    raise AssertionError(f"taken: {pattern}")


def collects(rpc, mid, quorum=67, net=""):
    return bytes.fromhex(rpc("warp_getMessageAggregateSignature", mid, quorum, net)[2:])


def signers(message):
    """How many bits of a signed message are set."""
    n = int.from_bytes(message[38:42], "big")
    rest = message[42 + n:]
    size = int.from_bytes(rest[4:8], "big")
    same(len(rest), 8 + size + 96)
    return bin(int.from_bytes(rest[8:8 + size], "big")).count("1")


# A contract that stores what getVerifiedWarpMessage(0) says: the hash of the answer at slot 0, the last word of it at
# slot 1 when the call data is empty; it passes its call data on to the precompile at the address in the first word.
def reader():
    """Runtime: to = word 0 of the call data, the rest is the input; slot 0: keccak of the result; slot 1: its size;
    slot 2: success."""
    code = bytes.fromhex(
        "60203603" "6020" "6000" "37"      # memory[0..] = calldata[32..]   (size, source, destination)
        "6000" "6000" "60203603" "6000" "6000" "600035" "5a" "f1"  # call(gas, word 0, 0, 0, size - 32, 0, 0)
        "600255"                           # slot 2 = success
        "3d" "6000" "6000" "3e"            # memory[0..] = result
        "3d" "600155"                      # slot 1 = size
        "3d" "6000" "20" "600055" "00")    # slot 0 = keccak(result)
    init = bytes.fromhex("60") + bytes([len(code)]) + bytes.fromhex("600c60003960") + bytes([len(code)]) + \
        bytes.fromhex("6000f3")
    return init + code


def call_through(contract, sender, to, data, access):
    receipt = sender.send(contract, b"\0" * 12 + to + data, access)
    same(receipt["status"], "0x1")
    at = "0x" + contract.hex()
    slots = [sender.rpc("eth_getStorageAt", at, hex(i), receipt["blockNumber"]) for i in range(3)]
    return slots, receipt


def valid_answer(chain, payload):
    tuple_ = chain + b"\0" * 12 + ME + word(96) + word(len(payload)) + payload + b"\0" * (-len(payload) % 32)
    return word(64) + word(1) + tuple_


def test_messages_are_signed_and_come_back(env):
    with Network(env) as net:
        nodes = net.nodes("up", "--nodes=5")
        first = nodes["node1"]
        sender = Sender(first)
        rpc = sender.rpc
        chain_id = sender.rpc("eth_call", {"to": "0x" + OWN.hex(), "data": "0x" + GET_ID.hex()}, "latest")
        chain = bytes.fromhex(chain_id[2:])

        # sent from both addresses, known everywhere, signed by each node
        for through in (OWN, LEGACY):
            mid, message, receipt = sender.say(b"hello from " + through[-2:], through)
            same(message[6:38], chain)
            on_all(nodes, mid)
            same(rpc("warp_getMessage", mid), "0x" + message.hex())
            one = {n["name"]: rpc_of(n)("warp_getMessageSignature", mid) for n in nodes.values()}
            same(len(set(one.values())), 5)

        # collected: at the quorum, or from all
        start = time.monotonic()
        signed = collects(rpc, mid)
        print(f"collected from five validators: {(time.monotonic() - start) * 1000:.0f} ms")
        same(signed[:len(message)], message)
        assert 4 <= signers(signed) <= 5, signers(signed)
        whole = collects(rpc, mid, 100)
        same(signers(whole), 5)
        same(rpc_of(nodes["node3"])("warp_getMessageAggregateSignature", mid, 100, ""), "0x" + whole.hex())
        times = []
        for i in range(20):
            other, _, _ = sender.say(b"measured %d" % i) if i == 0 else (mid, None, None)
            start = time.monotonic()
            collects(rpc, mid, 60 + i)
            times.append((time.monotonic() - start) * 1000)
        print(f"collecting, p50 of 20: {sorted(times)[10]:.1f} ms")

        # by the node's service, the same bytes
        same(ask(first, "/v1/warp", "warp.getMessageAggregateSignature", chain="C", messageID=cb58_of(mid),
                 quorumNum=100)["message"], "0x" + whole.hex())
        same(ask(first, "/v1/warp", "warp.getMessage", chain="C", messageID=cb58_of(mid))["message"],
             "0x" + message.hex())

        # from the command line
        cli = Cli(env, first)
        same(cli("sign", mid, "--quorum=100")["message"], "0x" + whole.hex())
        same(cli("sign", "0x" + message.hex(), "--chain=C", "--quorum=100")["message"], "0x" + whole.hex())
        same(cli("verify", "0x" + whole.hex())["signers"], 5)
        match(cli.fails("verify", "0x" + whole[:-1].hex() + "00"), "signature")
        match(cli.fails("verify", "0x" + signed.hex(), "--net-id=" + STRANGER), "unknown validator")
        match(cli.fails("sign", "0x00"), "failed to parse warp unsigned message")
        match(cli.fails("sign", STRANGER), "not found")
        same(cli("decode", "0x" + whole.hex())["kind"], "warp-message")
        key = net.dir / "node1" / "staking" / "signer.key"
        same(cli("sign", "0x" + message.hex(), f"--signer-key-file={key}")["signature"], one["node1"])

        # refusals in the original's words
        for method in ("warp_getMessage", "warp_getMessageSignature"):
            refused(lambda: rpc(method, STRANGER), f"failed to get message {STRANGER} with error not found")
        refused(lambda: rpc("warp_getBlockSignature", STRANGER),
                f"failed to get signature for block {STRANGER} with error failed to validate block message: 2: "
                f"failed to get block {STRANGER}: not found")
        refused(lambda: rpc("warp_getMessageAggregateSignature", mid, 67, "nonsense"),
                'failed to parse subnetID: "nonsense"')
        refused(lambda: rpc("warp_getMessageAggregateSignature", mid, 67, STRANGER),
                r"cannot aggregate signatures from network with no validators \(SubnetID: " + STRANGER)
        refused(lambda: rpc("warp_getMessageAggregateSignature", mid, 101, ""), "quorum")

        # an accepted block is attested
        block = receipt["blockHash"]
        attested = bytes.fromhex(rpc("warp_getBlockAggregateSignature", block, 67, "")[2:])
        same(attested[48:80].hex(), block[2:])
        assert len(bytes.fromhex(rpc("warp_getBlockSignature", block)[2:])) == 96

        # it comes back to a contract, by both addresses; a message that was changed does not
        made = sender.send(b"", reader())
        contract = bytes.fromhex(made["contractAddress"][2:])
        payload = b"hello from " + LEGACY[-2:]
        for at in (OWN, LEGACY):
            slots, receipt = call_through(contract, sender, at, GET + word(0), [(at, evm.words(signed))])
            same(slots[2], "0x" + word(1).hex())
            same(slots[0], "0x" + evm.keccak(valid_answer(chain, payload)).hex())
            forged = bytearray(signed)
            forged[len(message) - 1] ^= 1
            slots, bad = call_through(contract, sender, at, GET + word(0), [(at, evm.words(bytes(forged)))])
            same(slots[2], "0x" + word(1).hex())
            assert slots[0] != "0x" + evm.keccak(valid_answer(chain, payload)).hex()
            assert results_of(rpc, bad) not in (b"", results_of(rpc, receipt)), "the header says which failed"
            slots, _ = call_through(contract, sender, at, GET_HASH + word(0), [(at, evm.words(attested))])
            same(slots[0], "0x" + evm.keccak(chain + bytes.fromhex(block[2:]) + word(1)).hex())

        # every node has the same blocks
        head = rpc("eth_blockNumber")
        for node in nodes.values():
            wait_for("the same head", lambda: rpc_of(node)("eth_blockNumber") == head)
        same(len({rpc_of(n)("eth_getBlockByNumber", head, False)["hash"] for n in nodes.values()}), 1)

        # a quorum without one node, none without two of five
        net.do("kill", "node5")
        mid, message, _ = sender.say(b"four are enough")
        assert signers(collects(rpc, mid, 80)) == 4
        refused(lambda: rpc("warp_getMessageAggregateSignature", mid, 81, ""),
                "failed to aggregate signatures: signature weight is insufficient: 81")
        net.nodes("start", "node5")
        on_all(net.nodes(), mid)
        same(signers(collects(rpc, mid, 100)), 5)  # what it missed, it signs


def results_of(rpc, receipt):
    """The part of a header's extra data behind the fee window."""
    block = rpc("eth_getBlockByNumber", receipt["blockNumber"], False)
    return bytes.fromhex(block["extraData"][2:])[80:]


def cb58_of(mid):
    data = bytes.fromhex(mid[2:])
    number, text = int.from_bytes(data + hashlib.sha256(data).digest()[-4:], "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = txs.ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def test_the_p_chain_signs_what_is_so(env):
    """Without an L1 there is nothing true to say to its manager: refused by each validator with the original's code."""
    with Network(env) as net:
        nodes = net.nodes("up", "--nodes=2")
        node = nodes["node1"]
        inner = bytes.fromhex("0000" "00000003") + b"\7" * 32 + (2).to_bytes(8, "big") + (9).to_bytes(8, "big")
        payload = bytes.fromhex("0000" "00000001" "00000000") + len(inner).to_bytes(4, "big") + inner
        message = bytes(2) + (1337).to_bytes(4, "big") + bytes(32) + len(payload).to_bytes(4, "big") + payload
        reply = post(node, "/v1/warp", "warp.getMessageSignature", chain="P", message="0x" + message.hex())
        match(reply["error"]["message"], r'failed to get signature with error 11: validation "\w+" does not exist')
        reply = post(node, "/v1/bc/P/warp", "warp.getMessageAggregateSignature", message="0x" + message.hex())
        match(reply["error"]["message"], r"signature weight is insufficient: 67\*\d+ > 100\*0; last refusal: NodeID-")
        reply = post(node, "/v1/warp", "warp.getMessage", chain="P", messageID=STRANGER)
        match(reply["error"]["message"], "not found")


def post(node, path, method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    req = urllib.request.Request(node["uri"] + path, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(req, timeout=60) as r:
        return json.loads(r.read())


# --- two chains: the C-Chain, and an L1 whose EVM is a plugin ---

def l1_genesis():
    genesis = json.loads(L1_GENESIS)
    genesis["timestamp"] = hex(DURANGO)
    genesis["config"]["warpConfig"] = {"blockTimestamp": DURANGO}
    return json.dumps(genesis)


class TwoChains:
    """A net of three validators with a chain of its own, beside the C-Chain."""

    def __init__(self, env, net):
        self.env, self.net = env, net
        self.dir = net.dir
        self.folder = pathlib.Path(env.binary).parent
        if not (self.folder / "candela-evm").exists():
            raise Skip("candela-evm is not built")
        nodes = net.nodes("up", "--nodes=3")
        (self.dir / "key.txt").write_text(f"{txs.SECRET:064x}")
        self.uri = nodes["node1"]["uri"]
        self.subnet = self.tx("create-net")
        for n in nodes.values():
            self.tx("add-net-validator", f"--net-id={self.subnet}", f"--node-id={n['nodeID']}", "--weight=20",
                    "--duration=25h")
        (self.dir / "l1.json").write_text(l1_genesis())
        self.chain = self.tx("create-chain", f"--net-id={self.subnet}", "--name=mine", f"--vm-id={vm_id('subnetevm')}",
                             f"--genesis-file={self.dir / 'l1.json'}")
        for name in nodes:
            plugins = self.dir / name / "plugins"
            plugins.mkdir(exist_ok=True)
            shutil.copy(self.folder / "candela-evm", plugins / vm_id("subnetevm"))
            config = self.dir / name / "configs" / "chains" / self.chain
            config.mkdir(parents=True)
            (config / "config.json").write_text('{"warp-api-enabled": true}')
        net.do("down")
        os.environ["CANDELA_TRACK_SUBNETS"] = self.subnet
        try:
            self.nodes = net.nodes("up")
        finally:
            del os.environ["CANDELA_TRACK_SUBNETS"]
        for n in self.nodes.values():
            wait_for("the chain of the plugin", lambda: self.answers(n))

    def tx(self, kind, *flags):
        p = subprocess.run([str(self.folder / "candela-cli"), "tx", "run", kind, *flags, f"--rpc={self.uri}",
                            f"--key-file={self.dir / 'key.txt'}", "--json"], capture_output=True, text=True, timeout=120)
        same((p.returncode, p.stderr), (0, ""), kind)
        return json.loads(p.stdout)["txID"]

    def answers(self, node):
        try:
            return rpc_of(node, self.chain)("eth_chainId") == hex(99999)
        except (AssertionError, OSError, ValueError):
            return False


def test_messages_between_two_chains(env):
    """A message of the C-Chain is vouched for by the validators of the chain that receives it, one of the L1 by its own:
    both ways through plugins, which sign, collect and check by way of their nodes."""
    with Network(env) as net:
        two = TwoChains(env, net)
        c, l1 = Sender(two.nodes["node1"]), Sender(two.nodes["node2"], two.chain)
        ids = {s: bytes.fromhex(s.rpc("eth_call", {"to": "0x" + a.hex(), "data": "0x" + GET_ID.hex()}, "latest")[2:])
               for s, a in ((c, OWN), (l1, OWN))}
        readers = {s: bytes.fromhex(s.send(b"", reader())["contractAddress"][2:]) for s in (c, l1)}
        # (who sends, who receives, whose validators sign)
        for source, target, subnet in ((c, l1, two.subnet), (l1, c, two.subnet)):
            what = b"from " + ids[source][:4]
            mid, message, _ = source.say(what)
            same(message[6:38], ids[source])
            chain = None if source is c else two.chain
            for node in two.nodes.values():
                wait_for("the message everywhere", lambda: has(node, mid, chain))
            signed = collects(source.rpc, mid, 100, subnet)
            same(signers(signed), 3)
            slots, receipt = call_through(readers[target], target, OWN, GET + word(0), [(OWN, evm.words(signed))])
            same(slots[0], "0x" + evm.keccak(valid_answer(ids[source], what)).hex())
            # Signed by too few, it is no message, which the header of the block says.
            weak = collects(source.rpc, mid, 30, subnet)
            if signers(weak) == 1:
                slots, bad = call_through(readers[target], target, OWN, GET + word(0), [(OWN, evm.words(weak))])
                assert slots[0] != "0x" + evm.keccak(valid_answer(ids[source], what)).hex()
                assert results_of(target.rpc, bad) != results_of(target.rpc, receipt)
        head = l1.rpc("eth_blockNumber")
        for node in two.nodes.values():
            wait_for("the same head", lambda: rpc_of(node, two.chain)("eth_blockNumber") == head)
        same(len({rpc_of(n, two.chain)("eth_getBlockByNumber", head, False)["hash"] for n in two.nodes.values()}), 1)


def test_with_nodes_of_the_original(env):
    """Two of five nodes run the original's program: each side signs for the other, collects from the other, and takes
    the other's blocks with predicates."""
    program = gonode.build("avalanchego", f"{gonode.MODULE}/main")
    with Network(env) as net:
        nodes = net.nodes("up", "--nodes=5", "--go=2", f"--go-program={program}")
        go = next(n for n in nodes.values() if n["program"] != "candela")
        ours = next(n for n in nodes.values() if n["program"] == "candela")
        for sends, collecting in ((ours, go), (go, ours), (ours, ours), (go, go)):
            sender = Sender(sends)
            what = b"%s %s" % (sends["name"].encode(), collecting["name"].encode())
            mid, message, _ = sender.say(what, LEGACY)
            for n in nodes.values():
                wait_for("the message everywhere", lambda: has(n, cb58_of(mid)))
            signed = collects(rpc_of(collecting), cb58_of(mid), 100)
            same(signers(signed), 5)
            same(signed[:len(message)], message)
            chain = message[6:38]
            made = sender.send(b"", reader())
            contract = bytes.fromhex(made["contractAddress"][2:])
            back = Sender(collecting)
            wait_for("the contract", lambda: back.rpc("eth_getCode", "0x" + contract.hex(), "latest") != "0x")
            slots, _ = call_through(contract, back, LEGACY, GET + word(0), [(LEGACY, evm.words(signed))])
            same(slots[0], "0x" + evm.keccak(valid_answer(chain, what)).hex())
            forged = signed[:-1] + bytes([signed[-1] ^ 1])
            call_through(contract, back, LEGACY, GET + word(0), [(LEGACY, evm.words(forged))])
        head = Sender(go).rpc("eth_blockNumber")
        for n in nodes.values():
            wait_for("the same head", lambda: rpc_of(n)("eth_blockNumber") == head)
        same(len({rpc_of(n)("eth_getBlockByNumber", head, False)["hash"] for n in nodes.values()}), 1)
