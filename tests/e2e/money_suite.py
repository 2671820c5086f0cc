"""candela-cli and money: balances, payments, transfers between chains, and transactions of every kind against a node.
[spec:pchain-xchain#4] [spec:pchain-xchain#8] [spec:decisions#D17]"""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import time
from decimal import Decimal

from cli_suite import run
from harness import ROOT, Skip, match, same
from primary_suite import result

EWOQ = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"
ME = "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
ACCOUNT = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
OTHER = "0x1111111111111111111111111111111111111111"
VM = "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"
DAY = "30h"


class Cli:
    """The program with a node and a key."""

    def __init__(self, env, network="local", data_dir=None, flags=()):
        self.env, self.dir = env, pathlib.Path(env.dir())
        self.node = env.start("--sybil-protection-enabled=false", *flags, data_dir=data_dir or env.dir(), network=network)
        self.key = self.file("key.txt", EWOQ)

    def file(self, name, text):
        (self.dir / name).write_text(text)
        return str(self.dir / name)

    def any(self, *args, stdin=b""):
        return run(self.env, *args, stdin=stdin, cwd=self.dir)

    def __call__(self, *args):
        code, out, err = self.any(*args, "--json", f"--rpc={self.node.url}")
        assert code == 0, f"{args}: {out} {err}"
        return json.loads(out)

    def pay(self, *args):
        return self(*args, f"--key-file={self.key}")

    def tx(self, kind, *flags):
        done = self.pay("tx", "run", kind, *flags)
        assert done["status"] in ("Committed", "Accepted"), f"{kind}: {done}"
        return done["txID"]

    def refused(self, pattern, *args, code=None):
        got, out, err = self.any(*args)
        same((got != 0, out), (True, ""), str(args))
        if code is not None:
            same(got, code, str(args))
        match(err, pattern, str(args))

    def has(self, chain):
        """What the key has on a chain, in tokens."""
        for row in self("balance", f"P-{ME}", ACCOUNT):
            if row["chain"] == chain:
                return Decimal(row["assets"][0]["balance"] if chain == "X" else row["balance"])
        raise AssertionError(chain)

    def identity(self):
        is_ = result(self.node, "/ext/info", "info.getNodeID")
        return is_["nodeID"], is_["nodePOP"]["publicKey"], is_["nodePOP"]["proofOfPossession"]


def test_what_was_imported_is_not_reverted(env):
    """On the development network the chain goes back, but not behind money that left another chain."""
    cli = Cli(env, network="dev")
    rpc = cli.node.rpc()
    before = rpc("evm_snapshot")
    done = cli.pay("transfer", "--source=P", "--destination=C", "--amount=2.5")
    same(done["import"]["status"], "Accepted")
    behind = rpc("evm_snapshot")
    head = rpc("eth_blockNumber")
    had = rpc("eth_getBalance", ACCOUNT, "latest")
    reply = rpc.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "evm_revert", "params": [before]}))
    match(json.dumps(reply), "has atomic transactions and cannot be taken back")
    same((rpc("eth_blockNumber"), rpc("eth_getBalance", ACCOUNT, "latest")), (head, had))
    rpc("evm_mine")
    same(rpc("evm_revert", behind), True)
    same((rpc("eth_blockNumber"), rpc("eth_getBalance", ACCOUNT, "latest")), (head, had))


def test_payments_and_transfers(env):
    cli = Cli(env)
    same(cli("balance", f"X-{ME}", OTHER)[2], {"chain": "C", "account": OTHER, "balance": "0"})
    same(cli.has("P"), Decimal(30_000_000))
    for source, destination in ("PX", "PC", "XP", "XC", "CP", "CX"):
        before = cli.has(source), cli.has(destination)
        done = cli.pay("transfer", f"--source={source}", f"--destination={destination}", "--amount=2.5")
        same((done["export"]["chain"], done["import"]["chain"]), (source, destination))
        gone, came = before[0] - cli.has(source), cli.has(destination) - before[1]
        assert Decimal("2.5") <= gone < Decimal("2.51"), f"{source}{destination}: {gone} gone"
        assert Decimal("2.49") < came <= Decimal("2.5"), f"{source}{destination}: {came} came"
    for chain in "PX":
        same(cli.pay("send", f"--chain={chain}", f"--to={chain}-{ME}", "--amount=3")["send"]["chain"], chain)
    # Behind two blocks that came quickly a third one is made when its time has come, not when somebody calls.
    same(cli.pay("send", "--chain=C", f"--to={OTHER}", "--amount=0.000000001")["send"]["status"], "Accepted")
    same(cli("balance", OTHER)[0]["balance"], "0.000000001")
    code, out, err = cli.any("transfer", "--source=P", "--destination=X", "--amount=1", f"--key-file={cli.key}",
                             f"--rpc={cli.node.url}")
    same(code, 0)
    match(err, r"^export on P: \w+ issued\nexport on P: \w+ Committed\nimport on X: \w+ issued\nimport on X: \w+ Accepted\n$")


def test_every_transaction(env):
    cli = Cli(env)
    to = f"--to={ME}"
    cli.tx("p-transfer", to, "--amount=2")
    cli.tx("p-export", "--destination=X", "--amount=1")
    cli.tx("x-import", "--source=P")
    cli.tx("x-transfer", to, "--amount=2")
    cli.tx("x-export", "--destination=C", "--amount=2")
    cli.tx("c-import", "--source=X")
    cli.tx("c-export", "--destination=P", "--amount=1")
    cli.tx("p-import", "--source=C")
    coin = cli.tx("create-asset", "--name=Test Coin", "--symbol=TST", "--denomination=2", "--amount=10.5", "--mintable")
    cli.tx("mint", f"--asset={coin}", "--amount=4.25")
    cli.tx("x-transfer", f"--asset={coin}", to, "--amount=3")
    assets = {r["asset"]: r["balance"] for r in cli("balance", ME)[1]["assets"]}
    same(assets[coin], "14.75")
    art = cli.tx("create-asset", "--name=Art", "--symbol=ART", "--nft-groups=2")
    cli.tx("mint-nft", f"--asset={art}", "--group=1", "--payload=a picture")
    cli.tx("send-nft", f"--asset={art}", "--group=1", to)
    node, key, pop = cli.identity()
    cli.tx("add-validator", f"--node-id={node}", f"--bls-key={key}", f"--bls-pop={pop}", "--amount=2000",
           f"--duration={DAY}", "--delegation-fee=2.5")
    cli.tx("add-delegator", f"--node-id={node}", "--amount=25", "--duration=29h")
    (me,) = result(cli.node, "/ext/bc/P", "platform.getCurrentValidators", nodeIDs=[node])["validators"]
    same((me["delegationFee"], len(me["delegators"])), ("2.5000", 1))
    net = f"--net-id={cli.tx('create-net')}"
    cli.tx("add-net-validator", net, f"--node-id={node}", "--weight=20", "--duration=25h")
    cli.tx("remove-net-validator", net, f"--node-id={node}")
    cli.tx("transfer-net", net, to)
    chain = cli.tx("create-chain", net, "--name=a chain", f"--vm-id={VM}", f"--genesis-file={cli.file('g.json', '{}')}")
    cli.tx("convert-net", net, f"--chain-id={chain}", "--manager=0xfeed", f"--validator={node}:100:1:{key}:{pop}")
    (l1,) = result(cli.node, "/ext/bc/P", "platform.getCurrentValidators", subnetID=net[9:])["validators"]
    validation = f"--validation-id={l1['validationID']}"
    cli.tx("increase-l1-balance", validation, "--amount=1")
    # Its only validator pays; without that it would stand still, which nobody does by mistake.
    how = cli("l1", "diagnose", net[9:], f"--peer={cli.node.url}")
    same((how["state"], how["validators"][0]["active"], how["peers"][0]["keyIsRegistered"]), ("runs", True, True))
    same(how["quorum"], "No validator can fail: one of one vote, and any one that fails halts it.")
    assert {"manager"} <= {f["cause"] for f in how["findings"]}, how["findings"]
    how = cli("l1", "status", net[9:])
    (row,) = how["validators"]
    same((how["state"], row["nodeID"], row["share"], row["weight"]), ("runs", node, "100.0%", "100"))
    same((row["votes"], row["topUp"], row["validationID"]), (True, False, l1["validationID"]))
    same(row["daysLeft"], None)  # two tokens last for over ten years here
    disable = "tx", "run", "disable-l1-validator", validation, f"--key-file={cli.key}", f"--rpc={cli.node.url}"
    cli.refused("refused: the chain would stand still: .* 0.0% of the weight.*--force", *disable)
    cli.tx("disable-l1-validator", validation, "--force")
    how = cli("l1", "diagnose", net[9:])
    same((how["state"], how["findings"][0]["severity"], how["findings"][0]["cause"]), ("halted", "halt", "balances"))
    (row,) = cli("l1", "status", net[9:])["validators"]
    same((row["balance"], row["daysLeft"], row["topUp"], row["votes"]), ("0", 0, True, False))
    cli.tx("increase-l1-balance", validation, "--amount=1")  # what the finding says helps
    same(cli("l1", "diagnose", net[9:])["state"], "runs")
    cli.refused("is no L1", "l1", "diagnose", chain, f"--rpc={cli.node.url}")
    cli.refused("is no L1", "l1", "status", chain, f"--rpc={cli.node.url}")
    cli.refused("that command goes", "l1", "status", code=2)
    # What a Warp message of the L1 would have to say is looked at by the chain.
    message = cli.file("m.hex", "00" * 8)
    cli.refused("error", "tx", "run", "set-l1-weight", f"--message-file={message}", f"--key-file={cli.key}",
                f"--rpc={cli.node.url}", "--json")
    known = {row["name"] for row in cli("tx", "list")}
    same(len(known), 26)


def test_an_l1_is_watched(env):
    """A node that tracks an L1 says in time that a balance ends, where its operator looks."""
    data = env.dir()
    cli = Cli(env, data_dir=data)
    node, key, pop = cli.identity()
    net = f"--net-id={cli.tx('create-net')}"
    chain = cli.tx("create-chain", net, "--name=a chain", f"--vm-id={VM}", f"--genesis-file={cli.file('g.json', '{}')}")
    address = "0x" + "11" * 20
    cli.refused("refused: the chain would stand still", "tx", "run", "convert-net", net, f"--chain-id={chain}",
                f"--manager={address}", f"--validator={node}:100:0:{key}:{pop}", f"--key-file={cli.key}",
                f"--rpc={cli.node.url}")
    cli.tx("convert-net", net, f"--chain-id={chain}", f"--manager={address}", f"--validator={node}:100:0.01:{key}:{pop}")
    id_ = net[9:]
    for within, soon in ("168h", False), ("100000h", True):
        (row,) = cli("l1", "status", id_, f"--within={within}")["validators"]
        same((row["topUp"], row["votes"]), (soon, True))
        assert 110 <= row["daysLeft"] <= 115, row  # 10,000,000 base units, at one a second
    same(cli.node.end(), 0)
    for within, error in ("1h", None), ("1000000h", "balances of the L1's validators end soon"):
        cli.node = env.start("--sybil-protection-enabled=false", f"--track-subnets={id_}", f"--l1-warning={within}",
                             "--health-check-frequency=100ms", data_dir=data, network="local")
        end = time.monotonic() + 30
        while (check := result(cli.node, "/ext/health", "health.health")["checks"][f"l1-{id_}"])["message"] is None:
            assert time.monotonic() < end, "nobody looks at the L1"
            time.sleep(0.1)
        same((check.get("error"), check["message"]["state"]), (error, "runs"))
        same([f["cause"] for f in check["message"]["findings"]][:1], ["balances"] if error else ["concentrated"])
        same(cli.node.end(), 0)
        same("an L1 needs its operators" in "".join(cli.node.lines), error is not None)


def test_stakers_of_before_durango(env):
    """On product networks the older kinds add stakers still. [spec:decisions#D3]"""
    cli = Cli(env, "777")
    node, _, _ = cli.identity()
    soon = 60 + int(time.time())
    times = f"--start={soon}", f"--end={soon + 20 * 86400}"
    cli.tx("add-legacy-validator", f"--node-id={node}", "--amount=2000", *times)
    cli.tx("add-legacy-delegator", f"--node-id={node}", "--amount=25", *times)
    pending = result(cli.node, "/v1/bc/P", "platform.getPendingValidators")
    same((len(pending["validators"]), len(pending["delegators"])), (1, 1))


def test_signed_elsewhere_by_two(env):
    """Two owners: the transaction goes from the machine with a network to each of theirs, and back."""
    cli = Cli(env)
    cli.file("password.txt", "a long password\n")
    made = []
    for i in range(2):
        code, out, err = cli.any("keys", "create", "--keystore=keys", "--lightkdf", "--password-file=password.txt", "--json",
                                 "--network-id=local")
        same((code, err), (0, ""))
        made.append(json.loads(out))
    addresses = [m["networks"]["local"][0] for m in made]
    cli.tx("p-transfer", *[f"--to={a}" for a in addresses], "--threshold=2", "--amount=7")
    utxos = cli("utxos", "--chain=P", *addresses)
    same((len(utxos), utxos[0]["output"]["amount"], sorted(utxos[0]["output"]["addresses"])),
         (1, 7_000_000_000, sorted(addresses)))
    draft = cli("tx", "build", "p-transfer", *[f"--from={a}" for a in addresses], f"--to={ME}", "--amount=6")
    path = cli.file("draft.json", json.dumps(draft))
    cli.refused("has not signed yet", "tx", "issue", path, f"--rpc={cli.node.url}")
    code, _, err = cli.any("tx", "sign", path, f"--key-file={cli.key}")
    same(code, 1)
    match(err, "none of these keys is asked to sign")
    for m in made:
        code, out, err = cli.any("tx", "sign", path, "--keystore=keys", f"--key={m['address']}",
                                 "--password-file=password.txt", "--json")
        same((code, err), (0, ""))
        path = cli.file("draft.json", out)
    same(cli("tx", "issue", path)["status"], "Committed")
    shown = json.loads(cli.any("decode", "--json", "--as=p-unsigned", draft["unsigned"])[1])
    same(shown["value"]["networkID"], 12345)


def test_what_is_refused(env):
    cli = Cli(env)
    rpc, key = f"--rpc={cli.node.url}", f"--key-file={cli.key}"
    for pattern, *args in (
            ("insufficient funds: needs", "send", "--chain=P", f"--to={ME}", "--amount=40000000", key, rpc),
            ("another network", "send", "--chain=P", "--to=P-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28", "--amount=1", key, rpc),
            ("is no amount", "send", "--chain=P", f"--to={ME}", "--amount=1e3", key, rpc),
            ("is no amount", "send", "--chain=P", f"--to={ME}", "--amount=0.0000000001", key, rpc),
            ("is no amount", "send", "--chain=P", f"--to={ME}", "--amount=99999999999999", key, rpc),
            ("0x and 40 digits", "send", "--chain=C", f"--to={ME}", "--amount=1", key, rpc),
            ("who signs", "send", "--chain=P", f"--to={ME}", "--amount=1", rpc),
            ("two chains", "transfer", "--source=P", "--destination=P", "--amount=1", key, rpc),
            ("nothing to be imported", "tx", "run", "p-import", "--source=X", key, rpc),
            ("no transaction \"p-pay\"", "tx", "run", "p-pay", key, rpc),
            ("--node-id: there is none", "tx", "run", "add-delegator", "--amount=25", "--duration=30h", key, rpc),
            ("until when", "tx", "run", "add-delegator", "--node-id=NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", "--amount=25",
             key, rpc),
            ("no right to mint|not found|has no right", "tx", "run", "mint", "--asset=AVAX", "--amount=1", key, rpc),
            ("no answer from", "balance", ME, "--rpc=http://127.0.0.1:1"),
            ("a URL such as", "balance", ME, "--rpc=127.0.0.1"),
            ("status 404", "balance", ME, f"--rpc={cli.node.url}/nowhere"),
            ("that command goes", "tx", "build", rpc)):
        cli.refused(pattern, *args)
    cli.refused('^{"error":"', "balance", ME, "--rpc=http://127.0.0.1:1", "--json")
    # The test keys pay nowhere where money has a value.
    real = Cli(env, "mainnet")
    real.refused("refusing to use a publicly known key on network mainnet", "send", "--chain=P",
                 "--to=P-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28", "--amount=1", f"--key-file={real.key}",
                 f"--rpc={real.node.url}")


def test_files_of_the_x_chain(env):
    """Its configuration, and names of chains, lie where the C-Chain's do."""
    data = pathlib.Path(env.dir())
    plain = Cli(env)
    same(result(plain.node, "/ext/bc/X", "avm.getAddressTxs", address=f"X-{ME}", assetID="AVAX")["txIDs"], [])
    chain = result(plain.node, "/ext/info", "info.getBlockchainID", alias="X")["blockchainID"]
    folder = data / "configs" / "chains"
    (folder / "X").mkdir(parents=True)
    (folder / "X" / "config.json").write_text('{"index-transactions": true}')
    (folder / "aliases.json").write_text(json.dumps({chain: ["assets"], VM: ["elsewhere"]}))
    cli = Cli(env, "local", data_dir=str(data))
    paid = cli.tx("x-transfer", f"--to={ME}", "--amount=1")
    same(result(cli.node, "/ext/bc/assets", "avm.getAddressTxs", address=f"X-{ME}", assetID="AVAX")["txIDs"], [paid])
    same(result(cli.node, "/ext/info", "info.getBlockchainID", alias="assets")["blockchainID"], chain)
    same(cli.node.end(), 0)
    for text, pattern in (("{", "aliases.json"), ("[]", "CHAIN ID"), ('{"x":["y"]}', "smaller than the checksum"),
                          (json.dumps({chain: ["P"]}), "alias already mapped to an ID: P")):
        (folder / "aliases.json").write_text(text)
        code, out, err = env.run("--network-id=local", "--http-port=0", f"--data-dir={data}", "--sybil-protection-enabled=false")
        same((code, text), (1, text))
        match(out + err, pattern)


def test_genesis(env):
    cli = Cli(env)
    shown = json.loads(cli.any("genesis", "--json", "--network-id=local")[1])
    same({c["name"]: c["id"] for c in shown["chains"]},
         {f"{a}-Chain": result(cli.node, "/ext/info", "info.getBlockchainID", alias=a)["blockchainID"] for a in "XC"})
    same(shown["assetID"], result(cli.node, "/ext/bc/P", "platform.getStakingAssetID")["assetID"])
    same(len(shown["validators"]), 5)
    cli.refused("No such file", "genesis", "--network-id=1337", "nowhere.json")
    cli.refused("error: ", "genesis", "--network-id=1337", cli.file("bad.json", "{"))


def test_completion(env):
    cli = Cli(env)
    code, script, err = cli.any("completion", "bash")
    same((code, err), (0, ""))
    if shutil.which("bash") is None:
        raise Skip("bash is not installed")
    program = env.binary.parent
    ask = f"""PATH={program}:$PATH
{script}
words() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _candela_cli; echo "${{COMPREPLY[*]}}"; }}
words candela-cli tr
words candela-cli tx bu
words candela-cli tx build add-
words candela-cli balance --rp
"""
    p = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=30)
    same(p.stdout.splitlines(), ["transfer", "build",
                                 "add-validator add-delegator add-legacy-validator add-legacy-delegator add-net-validator",
                                 "--rpc"], p.stderr)
    code, script, _ = cli.any("completion", "zsh")
    same(code, 0)
    match(script, "#compdef candela-cli")


def test_documented_examples(env):
    """The boxes of docs/cli.md that need a node, one after the other; IDs and the rest of a line are what they are."""
    cli = Cli(env)
    text = (ROOT / "docs" / "cli.md").read_text()
    blocks = re.findall(r"```session\n(.*?)```", text, re.S)
    assert len(blocks) >= 5, blocks
    for block in blocks:
        command, want = block.split("\n", 1)
        words = shlex.split(command.removeprefix("$ "))
        same(words[0], "candela-cli")
        code, out, err = cli.any(*words[1:], f"--rpc={cli.node.url}")
        got = re.sub(r"\b[1-9A-HJ-NP-Za-km-z]{46,52}\b", "…", err + out)
        got = re.sub(r"(insufficient funds: needs) .*", r"\1 …", got)
        same(got, want, command)
        same(code, 1 if "error" in want else 0, command)
