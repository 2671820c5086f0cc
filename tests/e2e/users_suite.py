"""Users of the node's keystore: made, moved to another node, guessed at; what they own is spent by name and password, on
P and X and between both. [spec:node-api#9] [spec:node-api#5] [spec:node-api#6]"""
import hashlib
import http.client
import json
import time

from harness import match, same

WAIT_S = 30
EWOQ = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN"
BOB = {"username": "bob", "password": "N_+=_jJ;^(<;{4,:*m6CET}'&N;83FYK.wtNpwp-Jt"}
NODE = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
UNIT = 10 ** 9
DAY_S = 86400


class Api:
    """A node with a keystore, whose methods are called by name."""

    def __init__(self, env, *flags, network="local", data_dir=None):
        self.node = env.start("--sybil-protection-enabled=false", *flags, network=network, data_dir=data_dir)
        self.ids = []

    def raw(self, path, method, params):
        conn = http.client.HTTPConnection(self.node.host, self.node.port, timeout=60)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        conn.request("POST", path, body, {"Content-Type": "application/json"})
        answer = json.loads(conn.getresponse().read())
        conn.close()
        return answer

    def __call__(self, method, **params):
        path = {"platform": "/v1/bc/P", "xvm": "/v1/bc/X", "avm": "/v1/bc/X", "wallet": "/v1/bc/X/wallet",
                "keystore": "/v1/keystore", "info": "/v1/info", "lux": "/v1/bc/C/lux",
                "avax": "/v1/bc/C/avax"}[method.split(".")[0]]
        answer = self.raw(path, method, params)
        assert "result" in answer, f"{method}: {answer}"
        return answer["result"]

    def refused(self, words, method, **params):
        path = {"platform": "/v1/bc/P", "xvm": "/v1/bc/X", "keystore": "/v1/keystore",
                "lux": "/v1/bc/C/lux"}[method.split(".")[0]]
        answer = self.raw(path, method, params)
        assert "error" in answer, f"{method}: {answer}"
        match(answer["error"]["message"], words, method)

    def settled(self, chain, tx_id):
        """Waits until a transaction is decided."""
        good = {"P": "Committed", "X": "Accepted", "C": "Accepted"}[chain]
        end = time.monotonic() + WAIT_S
        while True:
            status = self({"P": "platform.getTxStatus", "X": "xvm.getTxStatus", "C": "lux.getAtomicTxStatus"}[chain], txID=tx_id)
            if status["status"] == good:
                return tx_id
            assert time.monotonic() < end, f"{tx_id}: {status}"
            time.sleep(0.05)

    def pay(self, method, **params):
        """A transaction of bob's, waited for."""
        done = self(method, **BOB, **params)
        chain = {"platform": "P", "lux": "C", "avax": "C"}.get(method.split(".")[0], "X")
        return self.settled(chain, done.get("txID") or done["assetID"])


def hexc(data):
    return "0x" + (data + hashlib.sha256(data).digest()[-4:]).hex()


def test_life_of_a_user(env):
    folder = env.dir()
    api = Api(env, "--api-keystore-enabled", data_dir=folder)
    same(api("keystore.listUsers"), {"users": []})
    same(api("keystore.createUser", **BOB), {})
    api.refused("user already exists: bob", "keystore.createUser", **BOB)
    api.refused("password is too weak", "keystore.createUser", username="al", password="password1")
    api.refused("empty username", "keystore.createUser", password=BOB["password"])
    key = api("platform.importKey", **BOB, privateKey=EWOQ)
    same(api("platform.listAddresses", **BOB), {"addresses": [key["address"]]})
    same(api("platform.exportKey", **BOB, address=key["address"]), {"privateKey": EWOQ})
    made = api("xvm.createAddress", **BOB)["address"]
    match(made, "^X-local1")
    api.refused('problem retrieving user "bob": incorrect password: user "bob"', "platform.listAddresses", username="bob",
                password="x")
    # kill -9 loses nothing; another node takes the user in with its keys.
    moved = api("keystore.exportUser", **BOB, encoding="hex")["user"]
    api.node.kill()
    again = Api(env, "--api-keystore-enabled", data_dir=folder)
    same(again("platform.listAddresses", **BOB), {"addresses": [key["address"]]})
    other = Api(env, "--api-keystore-enabled")
    other.refused('incorrect password: user "bob"', "keystore.importUser", username="bob", password="y", user=moved)
    same(other("keystore.importUser", **BOB, user=moved, encoding="hex"), {})
    same(other("xvm.listAddresses", **BOB), {"addresses": [made]})
    same(other("keystore.deleteUser", **BOB), {})
    same(other("keystore.listUsers"), {"users": []})


def test_without_the_flag(env):
    api = Api(env)
    conn = http.client.HTTPConnection(api.node.host, api.node.port)
    conn.request("POST", "/v1/keystore", '{"jsonrpc":"2.0","id":1,"method":"keystore.listUsers"}',
                 {"Content-Type": "application/json"})
    same(conn.getresponse().status, 404)
    api.refused("this node keeps no keys", "xvm.send", **BOB)
    api.refused("can't find method", "platform.createAddress", **BOB)


def test_pages_of_strangers(env):
    api = Api(env, "--api-keystore-enabled")
    conn = http.client.HTTPConnection(api.node.host, api.node.port)
    conn.request("POST", "/v1/keystore", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "keystore.createUser",
                                                     "params": BOB}),
                 {"Content-Type": "application/json", "Origin": "https://evil.example"})
    assert b'"result"' not in conn.getresponse().read()
    same(api("keystore.listUsers"), {"users": []})


def test_money_of_a_user(env):
    api = Api(env, "--api-keystore-enabled")
    api("keystore.createUser", **BOB)
    p_addr = api("platform.importKey", **BOB, privateKey=EWOQ)["address"]
    x_addr = api("xvm.importKey", **BOB, privateKey=EWOQ)["address"]
    # P: networks, delegation, export.
    net = api.pay("platform.createNet", controlKeys=[p_addr], threshold=1)
    same(api("platform.getNet", netID=net)["controlKeys"], [p_addr])
    now = int(time.time())
    api.pay("platform.addNetValidator", nodeID=NODE, startTime=now + 60, endTime=now + DAY_S * 2, weight=7, netID=net)
    chain = api.pay("platform.createBlockchain", netID=net, vmID="srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy",
                    name="mine", genesisData=hexc(b"{}"), encoding="hex")
    assert chain in [c["id"] for c in api("platform.getBlockchains")["blockchains"]]
    api.pay("platform.addDelegator", nodeID=NODE, startTime=now + 60, endTime=now + DAY_S * 30, stakeAmount=25 * UNIT)
    before = int(api("platform.getBalance", addresses=[p_addr])["balance"])
    api.pay("platform.exportLUX", amount=3 * UNIT, to=x_addr)
    assert before - 4 * UNIT < int(api("platform.getBalance", addresses=[p_addr])["balance"]) <= before - 3 * UNIT
    api.refused("have a BLS key", "platform.addValidator", **BOB, nodeID=NODE, startTime=now + 60, endTime=now + DAY_S * 30,
                stakeAmount=2000 * UNIT, delegationFeeRate=10)
    api.refused("between 0 and 100, inclusive", "platform.addValidator", **BOB, nodeID=NODE, delegationFeeRate=100.5)
    # X: payments one behind the other without waiting, assets, NFTs, back to P.
    api.pay("xvm.import", sourceChain="P", to=x_addr)
    friend = api("xvm.createAddress", **BOB)["address"]
    sent = [api("wallet.send", **BOB, assetID="AVAX", amount=5, to=friend, memo="hi")["txID"] for _ in range(5)]
    sent.append(api("avm.sendMultiple", **BOB, outputs=[{"assetID": "AVAX", "amount": 5, "to": friend},
                                                       {"assetID": "AVAX", "amount": "7", "to": friend}])["txID"])
    same(len(set(sent)), 6)
    for tx in sent:
        api.settled("X", tx)
    same(api("xvm.getBalance", address=friend, assetID="AVAX")["balance"], "37")
    fixed = api.pay("xvm.createFixedCapAsset", name="Fixed", symbol="FIX", denomination=2,
                    initialHolders=[{"address": x_addr, "amount": 1000}, {"address": friend, "amount": "10"}])
    same(api("xvm.getBalance", address=friend, assetID=fixed)["balance"], "10")
    more = api.pay("xvm.createVariableCapAsset", name="More", symbol="MORE", denomination=0,
                   minterSets=[{"minters": [x_addr], "threshold": 1}])
    api.pay("xvm.mint", assetID=more, amount=500, to=friend)
    same(api("xvm.getBalance", address=friend, assetID=more)["balance"], "500")
    nft = api.pay("xvm.createNFTAsset", name="Nifty", symbol="NFT",
                  minterSets=[{"minters": [x_addr], "threshold": 1}, {"minters": [friend], "threshold": 1}])
    api.pay("xvm.mintNFT", assetID=nft, payload=hexc(b"hello"), encoding="hex", to=x_addr,
            **{"from": [x_addr]})
    api.pay("xvm.sendNFT", assetID=nft, groupID=0, to=friend)
    api.pay("xvm.export", assetID="AVAX", amount=UNIT, to=p_addr)
    api.pay("platform.importLUX", sourceChain="X", to=p_addr)
    # Only some of the addresses pay; what they have not got, they do not pay.
    api.refused("from addresses have no keys or funds", "xvm.mint", **BOB, assetID=more, amount=1, to=friend,
                **{"from": [friend]})
    api.refused("insufficient funds", "xvm.send", **BOB, assetID=fixed, amount=11, to=x_addr, **{"from": [friend]})
    api.refused("amount must be positive", "xvm.send", **BOB, assetID="AVAX", amount=0, to=friend)
    api.refused("no outputs to send", "xvm.sendMultiple", **BOB, outputs=[])
    api.refused("max memo length is 256", "xvm.send", **BOB, assetID="AVAX", amount=1, to=friend, memo="m" * 257)
    api.refused("asset 'NONE' not found", "xvm.send", **BOB, assetID="NONE", amount=1, to=friend)
    api.refused("no minters provided", "xvm.createNFTAsset", **BOB, name="N", symbol="N")


def test_accounts_of_a_user(env):
    """The C-Chain's methods of old: keys, and money that goes there from X and P, and back out of several accounts."""
    api = Api(env, "--api-keystore-enabled")
    rpc = lambda method, *params: api.raw("/v1/bc/C/rpc", method, list(params))["result"]
    api("keystore.createUser", **BOB)
    account = api("lux.importKey", **BOB, privateKey=EWOQ)["address"]
    same(account, "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC")
    same(api("avax.exportKey", **BOB, address=account.lower()),
         {"privateKey": EWOQ, "privateKeyHex": "0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"})
    api.refused("not found", "lux.exportKey", **BOB, address="0x" + "11" * 20)
    api.refused("40 hexadecimal digits", "lux.exportKey", **BOB, address="C-local1")
    api.refused("incorrect password", "lux.exportKey", username="bob", password="wrong", address=account)
    p_addr = api("platform.importKey", **BOB, privateKey=EWOQ)["address"]
    x_addr = api("xvm.importKey", **BOB, privateKey=EWOQ)["address"]
    c_addr = "C" + x_addr[1:]
    # From X and P to an account of nobody's.
    other = "0x" + "77" * 20
    api.pay("xvm.export", assetID="AVAX", amount=2 * UNIT, to=c_addr)
    api.pay("lux.import", sourceChain="X", to=other)
    have = int(rpc("eth_getBalance", other, "latest"), 16)
    assert 2 * UNIT - UNIT // 100 < have // 10 ** 9 < 2 * UNIT, have
    api.pay("platform.exportLUX", amount=UNIT, to=c_addr)
    api.pay("avax.import", sourceChain="P", to=other, baseFee="0x5d21dba00")
    api.refused("nothing to be imported", "lux.import", **BOB, sourceChain="P", to=other)
    api.refused("there is no ID with alias: nowhere", "lux.import", **BOB, sourceChain="nowhere", to=other)
    api.refused("another chain than this one", "lux.import", **BOB, sourceChain="C", to=other)
    # Out of one account; then of several, which have too little alone.
    before = int(rpc("eth_getBalance", account, "latest"), 16)
    api.pay("lux.exportLUX", amount=3 * UNIT, to=x_addr)
    assert 3 * UNIT <= (before - int(rpc("eth_getBalance", account, "latest"), 16)) // 10 ** 9 < 3 * UNIT + UNIT // 100
    api.pay("xvm.import", sourceChain="C", to=x_addr)
    api.pay("lux.export", assetID="AVAX", amount=UNIT, to=p_addr.split("-")[1], targetChain="P")
    api.pay("platform.importLUX", sourceChain="C", to=p_addr)
    ann = {"username": "ann", "password": BOB["password"]}
    api("keystore.createUser", **ann)
    for _ in range(2):
        address = api("xvm.createAddress", **ann)["address"]
        mine = api("lux.importKey", **ann, privateKey=api("xvm.exportKey", **ann, address=address)["privateKey"])["address"]
        api.pay("xvm.export", assetID="AVAX", amount=2 * UNIT, to="C" + address[1:])
        api.settled("C", api("lux.import", **ann, sourceChain="X", to=mine)["txID"])
    api.refused("insufficient funds", "lux.export", **ann, amount=4 * UNIT, to=x_addr)
    api.settled("C", api("lux.export", **ann, amount=3 * UNIT, to=x_addr)["txID"])
    api.refused("must be > 0", "lux.export", **BOB, amount=0, to=x_addr)
    api.refused("only the native one", "lux.export", **BOB, amount=1, to=x_addr, assetID=api.raw(
        "/v1/bc/P", "platform.getBlockchains", {})["result"]["blockchains"][0]["id"])
    api.refused("'targetChain' not given", "lux.export", **BOB, amount=1, to=x_addr.split("-")[1])
    api.refused("expected hrp", "lux.export", **BOB, amount=1, to="X-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28")


def test_validator_of_a_product_network(env):
    """addValidator as the seed has it: on networks of the product, with the transaction of old."""
    api = Api(env, "--api-keystore-enabled", "--network-profile=product")
    api("keystore.createUser", **BOB)
    api("platform.importKey", **BOB, privateKey=EWOQ)
    now = int(time.time())
    new = api("info.getNodeID")["nodeID"]
    end = now + 30 * DAY_S
    done = api("platform.addValidator", **BOB, nodeID=new, startTime=now + 60, endTime=end, stakeAmount=2000 * UNIT,
               rewardAddress=api("platform.listAddresses", **BOB)["addresses"][0], delegationFeeRate=2.5)
    api.settled("P", done["txID"])
    waiting = [v for v in api("platform.getPendingValidators")["validators"] + api("platform.getCurrentValidators")["validators"]
               if v["txID"] == done["txID"]]
    same(len(waiting), 1)
    same((waiting[0]["nodeID"], waiting[0]["delegationFee"]), (new, "2.5000"))
