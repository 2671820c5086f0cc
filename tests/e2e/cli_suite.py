"""candela-cli: every vector of the node's API through `decode`, what is wrong with wrong input, and keys.
[spec:node-api#2.1] [spec:pchain-xchain#2] [spec:decisions#D17]"""
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import subprocess

from harness import ACCOUNTS, ROOT, match, same

TESTDATA = pathlib.Path(os.environ.get("CANDELA_TESTDATA", ROOT.parent / "shared" / "testdata"))
VECTORS = TESTDATA / "node-api" / "vectors"
OUTER = TESTDATA / "p2p" / "proposervm_blocks.json"
NO_FX = "11111111111111111111111111111111LpoYY"


def run(env, *args, stdin=b"", cwd=None):
    program = env.binary.parent / "candela-cli"
    assert program.is_file(), f"{program}: no such program, build it first"
    p = subprocess.run([str(program), *args], input=stdin, capture_output=True, timeout=30, cwd=cwd,
                       env={k: v for k, v in os.environ.items() if not k.startswith(("CANDELA_", "LUXD_", "AVAGO_"))})
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def decode(env, text, *flags, stdin=b""):
    code, out, err = run(env, "decode", "--json", *flags, text, stdin=stdin)
    same((code, err), (0, ""), text[:80])
    return json.loads(out)


def refused(env, text, pattern, *flags):
    code, out, err = run(env, "decode", *flags, text)
    same((code > 0, out), (True, ""), text[:80])
    match(err, "^error: ")
    match(err, pattern, text[:80])
    same(len(err.splitlines()), 1)


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


def ours(value):
    """A recorded JSON value in the words of product networks; what was never read there is empty, not null."""
    text = json.dumps(value, separators=(",", ":")).replace('"subnet', '"net')
    return json.loads(text.replace('"memo":null', '"memo":"0x"').replace('"credentials":null', '"credentials":[]'))


def without_fx(value):
    """The recorder of the X-Chain's vectors had no extensions; their IDs are zero there."""
    return json.loads(re.sub(r'"fxID": "\w+"', f'"fxID": "{NO_FX}"', json.dumps(value)))


def checked(digits):
    """Bytes with the checksum of the node's hex."""
    return "0x" + digits + hashlib.sha256(bytes.fromhex(digits)).hexdigest()[-8:]


def test_transactions_of_the_p_chain(env):
    rows = vectors("pchain-txs")
    same(len(rows), 25)
    for row in rows:
        got = decode(env, row["issueTxParam"])
        same((got["kind"], got["id"], got["bytes"]), ("p-tx", row["id"], row["len"]), row["name"])
        same(got["signingHash"], "0x" + row["sigHash"], row["name"])
        same(got["value"], ours(row["json"]), row["name"])
        bare = decode(env, row["unsignedHex"], "--as=p-unsigned")
        same(bare["signingHash"], "0x" + row["sigHash"], row["name"])
        refused(env, row["hex"][:-2], "not a p-tx: ", "--as=p-tx")


def test_transactions_of_the_x_chain(env):
    rows = vectors("xchain-txs")
    same(len(rows), 9)
    for row in rows:
        got = decode(env, checked(row["hex"]))
        same((got["kind"], got["id"]), ("x-tx", row["id"]), row["name"])
        same(got["signingHash"], "0x" + row["sigHash"], row["name"])
        same(without_fx(got["value"]), row["json"], row["name"])
        bare = decode(env, row["unsignedHex"])
        same((bare["kind"], bare["signingHash"]), ("x-unsigned", "0x" + row["sigHash"]), row["name"])


def test_atomic_transactions_of_the_c_chain(env):
    rows = vectors("cchain-atomic-txs")
    same(len(rows), 4)
    for row in rows:
        got = decode(env, row["hex"])
        same((got["kind"], got["id"], got["type"]), ("c-tx", row["id"], row["decoded"]["typeID"]), row["name"])
        same(got["signingHash"], "0x" + row["sigHash"], row["name"])
        value = got["value"]["unsignedTx"]
        for key in ("networkID", "blockchainID"):
            same(value[key], row["decoded"][key], row["name"])
        same(got["addressPrefix"], {12345: "local", 1337: "custom"}[value["networkID"]])
        for key in ("importedInputs", "exportedOutputs"):
            same([i["assetID"] for i in value.get(key, [])], [i["assetID"] for i in row["decoded"].get(key, [])])


def test_blocks(env):
    for name, kind, cnt in (("pchain-blocks", "p-block", 11), ("xchain-blocks", "x-block", 2)):
        rows = vectors(name)
        same(len(rows), cnt)
        for row in rows:
            got = decode(env, row["hex"], "--network-id=1337")
            same((got["kind"], got["id"]), (kind, row["id"]), row["name"])
            want = ours(row["json"])
            same(without_fx(got["value"]) if kind[0] == "x" else got["value"], want, row["name"])


def test_blocks_of_proposers(env):
    rows = json.loads(OUTER.read_text())["blocks"]
    same(len(rows), 4)
    for row in rows:
        got = decode(env, row["hex"], "--as=proposer-block")
        same(decode(env, got["id"])["hex"], "0x" + row["id"], row["name"])
        value = got["value"]
        same(decode(env, value["parentID"])["hex"], "0x" + row["parent"], row["name"])
        same((value["inner"], value["content"]), ("0x" + row["inner"], None), row["name"])
        same(value["isOption"], "timestamp" not in row)
        if not value["isOption"]:
            same((value["time"], value["pChainHeight"]), (row["timestamp"], row["p_chain_height"]))
            who = row["proposer"] if "cert_der" in row else None
            same(value["proposer"], who)
    inner = vectors("pchain-blocks")[-1]
    size = len(inner["hex"]) // 2
    got = decode(env, "000000000001" + "11" * 32 + f"{size:08x}" + inner["hex"])
    same((got["kind"], got["value"]["content"]["id"]), ("proposer-block", inner["id"]))


def test_unspent_outputs(env):
    rows = vectors("utxos")
    same(len(rows), 9)
    for row in rows:
        kind = row["chain"].lower() + "-utxo"
        got = decode(env, row["encoded"], "--network-id=custom", f"--as={kind}")
        same((got["inputID"], without_fx(got["value"])), (row["inputID"], without_fx(row["json"])), row["name"])
        alone = decode(env, row["hex"])
        assert kind in [alone["kind"], *alone["alternatives"]], (row["name"], alone["kind"], alone["alternatives"])


def test_names_in_every_form(env):
    data = vectors("encodings")
    for row in data["vmIDs"]:
        for text in (row["id"], row["hex"], "0x" + row["hex"], checked(row["hex"])):
            got = decode(env, text)
            same((got["kind"], got["id"], got["hex"]), ("id", row["id"], "0x" + row["hex"]), text)
        same(got.get("text"), row["name"])
    for key in data["keys"]:
        for text in key["bech32"].values():
            got = decode(env, text)
            same((got["kind"], got["chain"], got["hex"]), ("address", text[0], "0x" + key["shortIDHex"]), text)
            assert text in got["addresses"], (text, got["addresses"])
            same(got["shortID"], key["shortIDCB58"])
            same(decode(env, text[2:])["addresses"], got["addresses"])
        got = decode(env, key["shortIDHex"], "--as=address", "--network-id=testnet")
        same(got["addresses"], [key["bech32"][f"{c}-test"] for c in "PXC"])
        for text in (key["ethAddress"], key["ethAddress"].lower(), key["ethAddress"][2:].lower()):
            same(decode(env, text)["address"], key["ethAddress"], text)
    node = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
    got = decode(env, node)
    same((got["kind"], got["nodeID"]), ("node-id", node))
    same(decode(env, got["hex"], "--as=node-id"), got)


def test_messages_of_warp(env):
    data = vectors("l1-messages")
    kinds = {"RegisterL1Validator": 1, "L1ValidatorWeight": 3}
    for row in data["signedWarp"]:
        got = decode(env, row["hex"])
        same(got["kind"], "warp-message")
        same(got["value"]["signerIndices"], [0])
        call = got["value"]["content"]["value"]
        same(call["sourceAddress"], "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc")
        same((call["content"]["kind"], call["content"]["type"]), ("p-payload", kinds[row["of"]]))
        bare, = (r for r in data["unsignedWarp"] if r["of"] == row["of"])
        alone = decode(env, bare["hex"])
        same((alone["kind"], alone["id"]), ("warp-unsigned", got["id"]))
        same(alone["value"]["content"], got["value"]["content"])
    for i, row in enumerate(data["payloads"]):
        got = decode(env, row["hex"])
        same((got["kind"], got["type"], got.get("validationID")), ("p-payload", i, row.get("validationID")))
        if "json" in row:
            same(got["value"], ours(row["json"]))
    hashed = data["payloads"][0]["hex"]
    same(decode(env, hashed)["alternatives"], ["warp-payload"])
    same(decode(env, decode(env, hashed, "--as=warp-payload")["value"]["blockID"])["hex"], "0x" + hashed[12:])
    row = data["conversionData"]
    got = decode(env, row["hex"], "--as=p-conversion")
    same((got["conversionID"], got["value"]), (row["conversionID"], ours(row["json"])))


def test_genesis_from_a_file(env):
    for name in ("genesis", "genesis-lux", "genesis-single-staker"):
        for row in vectors(name):
            file = pathlib.Path(env.dir()) / "genesis.bin"
            file.write_bytes(bytes.fromhex(row["genesisHex"]))
            got = decode(env, str(file))
            same((got["kind"], got["bytes"]), ("p-genesis", row["genesisLen"]), name)
            same((got["hash"], got["assetID"]), ("0x" + row["genesisHash"], row["assetID"]), name)
            same(got["blockID"], row["genesisBlock"]["id"], name)
            same([(c["name"], c["id"]) for c in got["chains"]], [(c["name"], c["id"]) for c in row["chains"]], name)
            same(len(got["value"]["utxos"]), len(row["utxos"]), name)
            file.write_text(row["genesisHex"] + "\n")
            same(decode(env, str(file)), got)
            same(decode(env, "-", stdin=row["genesisHex"].encode()), got)
            x = decode(env, row["chains"][0]["genesisDataHex"])
            same((x["kind"], len(x["value"]["genesisAssets"])), ("x-genesis", 1), name)


def test_wrong_input_is_told(env):
    for row in vectors("encodings")["invalidIDs"]:
        if row["input"]:
            words = row["idFromStringError"]
            words = "0 bytes are no id" if words.startswith("invalid hash length") else re.escape(words)
            refused(env, row["input"], words, "--as=id")
            refused(env, row["input"], re.escape(row["nodeIDFromStringError"]), "--as=node-id")
    refused(env, "", "nothing to decode")
    refused(env, "0x0", "odd length")
    refused(env, "0xzz", "invalid byte")
    refused(env, "P-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e29", "checksum")
    refused(env, "0x8Db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC", r"EIP-55.*0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC")
    key = vectors("encodings")["keys"][0]["privateKey"]
    refused(env, key, "private key")
    assert key[11:] not in "".join(map(str, run(env, "decode", key))), "the key is in the answer"
    refused(env, "00" * 45, "45 bytes that are no kind known")
    refused(env, "ff" * 45, "no type ID")
    refused(env, "00", "--as must be .* got \"p-txs\"", "--as=p-txs")
    refused(env, "00", "failed to parse network name", "--network-id=nowhere")
    code, out, err = run(env, "decode", "--json", "0x0")
    same((code, out, list(json.loads(err))), (1, "", ["error"]))
    same(run(env, "decode")[0], 2)


def test_damaged_bytes_are_shown_or_refused(env):
    """Whatever a bit of a vector is turned into, the program ends in order."""
    dice = random.Random(1)
    rows = [r["hex"] for name in ("pchain-txs", "xchain-txs", "pchain-blocks", "xchain-blocks", "cchain-atomic-txs")
            for r in vectors(name)] + [r["hex"] for r in vectors("l1-messages")["signedWarp"]]
    refusals = 0
    for row in rows * 3:
        b = bytearray.fromhex(row)
        b[dice.randrange(min(len(b), 200))] ^= 1 << dice.randrange(8)
        code, out, err = run(env, "decode", "--json", b.hex())
        assert code in (0, 1), (b.hex(), err[:400])
        assert len(json.loads(err if code else out)) > 0
        refusals += code
    assert 0 < refusals < 3 * len(rows), refusals


def keys(env, folder, *args, stdin=b""):
    code, out, err = run(env, "keys", args[0], "--json", f"--keystore={folder}/keys",
                         f"--password-file={folder}/password", "--lightkdf", *args[1:], stdin=stdin)
    return json.loads(out) if code == 0 and err == "" else (code, out, json.loads(err)["error"])


def folder_with_password(env, password="correct horse"):
    folder = pathlib.Path(env.dir())
    (folder / "password").write_text(password + "\n")
    return folder


def test_keys_are_imported_in_every_form(env):
    for row in vectors("encodings")["keys"]:
        for text in (row["privateKey"], row["privateKeyHex"], "0x" + row["privateKeyHex"] + "\n"):
            folder = folder_with_password(env)
            got = keys(env, folder, "import", "--network-id=local", "-", stdin=text.encode())
            same(got["address"], row["ethAddress"])
            for name, prefix in (("mainnet", "lux"), ("testnet", "test"), ("devnet", "dev"), ("custom", "custom"),
                                 ("local", "local")):
                same(got["networks"][name], [row["bech32"][f"{c}-{prefix}"] for c in "PXC"])
            assert row["privateKeyHex"] not in json.dumps(got) + pathlib.Path(got["file"]).read_text()
            same(os.stat(got["file"]).st_mode & 0o777, 0o600)
            same(keys(env, folder, "list"), [{"address": row["ethAddress"], "file": got["file"]}])
            same(keys(env, folder, "show", row["ethAddress"].lower()), got)
            same(keys(env, folder, "export", row["ethAddress"]),
                 {"address": row["ethAddress"], "privateKey": row["privateKey"], "hex": "0x" + row["privateKeyHex"]})
            same(keys(env, folder, "import", "--network-id=local", "-", stdin=text.encode())[0], 1)


def test_keys_of_a_phrase(env):
    folder = folder_with_password(env)
    phrase = folder / "phrase"
    phrase.write_text("  test test test test test test\ntest test test test test  junk \n")
    for i, addr in enumerate(ACCOUNTS[:3]):
        got = keys(env, folder, "import", "--network-id=local", f"--account-index={i}", str(phrase))
        same(got["address"].lower(), addr)
    other = keys(env, folder, "import", "--network-id=local", "--coin-type=9000", str(phrase))
    assert other["address"].lower() not in ACCOUNTS
    same(len(keys(env, folder, "list")), 4)


def test_created_keys_differ_and_have_their_price(env):
    folder = folder_with_password(env)
    made = [keys(env, folder, "create")["address"] for _ in range(3)]
    same(len(set(made)), 3)
    same(sorted(a["address"] for a in keys(env, folder, "list")), sorted(made))
    code, out, err = run(env, "keys", "create", "--json", f"--keystore={folder}/keys", "--password-file=-",
                         stdin=b"slow\n")
    same((code, err), (0, ""))
    cost = json.loads(pathlib.Path(json.loads(out)["file"]).read_text())["crypto"]["kdfparams"]["n"]
    same(cost, 262144)


def test_keys_that_are_refused(env):
    folder = folder_with_password(env)
    ewoq = vectors("encodings")["keys"][0]
    for net in ("mainnet", "testnet", "devnet", "1", "2", "3", "5"):
        code, out, err = keys(env, folder, "import", f"--network-id={net}", "-", stdin=ewoq["privateKey"].encode())
        same((code, out), (1, ""))
        match(err, r"refusing to use a publicly known key on network \w+net")
    same(keys(env, folder, "list"), [])
    for text, why in (("one two three", "12, 15, 18"), ("00" * 32, "no private key"), ("", "12, 15, 18"),
                      (ewoq["privateKey"][:-1] + "M", "checksum"), ("a " * 5000, "4096")):
        match(keys(env, folder, "import", "-", stdin=text.encode())[2], why)
    match(keys(env, folder, "show", "0x" + "11" * 20)[2], "no key file of 0x1111")
    match(keys(env, folder, "show", "0x11")[2], "40 digits")
    addr = keys(env, folder, "create")["address"]
    (folder / "password").write_text("wrong\n")
    code, out, err = keys(env, folder, "export", addr)
    same((code, out), (1, ""))
    match(err, "could not decrypt key with given password")
    (folder / "password").write_text("\n")
    match(keys(env, folder, "create")[2], "password is empty")
    same(run(env, "keys")[0], 2)
    same(run(env, "keys", "create", f"--keystore={folder}/keys")[0], 2)


def test_version_help_and_unknown_commands(env):
    code, version, err = run(env, "--version")
    same((code, err), (0, ""))
    match(version, r"^candela-cli/\d+\.\d+\.\d+\S*\n$")
    same(run(env, "decode", "--version")[1], version)
    for args in (["help"], ["decode", "--help"], ["keys", "--help"]):
        code, text, err = run(env, *args)
        same((code, err), (0, ""))
        match(text, args[0] if len(args) == 2 else "decode")
        match(text, r"Example")
        assert max(map(len, text.splitlines())) <= 100, text
    code, out, err = run(env, "decod")
    same((code, out), (2, ""))
    match(err, 'unknown command "decod"; did you mean decode')


def test_examples_of_the_document(env):
    """Each `$ candela-cli …` of docs/cli.md prints what stands below it, in one folder and in their order; key files
    are called by the time at which they are made."""
    folder = folder_with_password(env)
    (folder / "password").rename(folder / "password.txt")
    (folder / "phrase.txt").write_text("test " * 11 + "junk\n")
    text = (ROOT / "docs" / "cli.md").read_text()
    blocks = re.findall(r"```console\n(.*?)```", text, re.S)
    assert len(blocks) >= 4, blocks
    for block in blocks:
        command, want = block.split("\n", 1)
        words = shlex.split(command.removeprefix("$ "))
        same(words[0], "candela-cli")
        code, out, err = run(env, *words[1:], cwd=folder)
        same(re.sub("UTC--.*?Z--", "UTC--…--", out + err), want, command)
        same(code, 1 if err else 0, command)
