"""What webhooks must be told, worked out from JSON-RPC answers alone: a second reading of [spec:webhooks#3] and #5.

Standard library only. Asks other methods than the service does: receipts and traces one transaction at a time."""
import datetime
import hashlib
import json
import unicodedata

ZERO = "0x" + "0" * 40
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
SINGLE = "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"
BATCH = "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"
TX, LOG, INNER, BLOCK, PENDING = 1, 2, 3, 4, 5
COIN = "LUX"
ERC = {"erc20": {"erc20_transfer", "address_activity", "token_transfer", "ADDRESS_ACTIVITY", "TOKEN_TRANSFER"},
       "erc721": {"erc721_transfer", "nft_transfer", "NFT_ACTIVITY"},
       "erc1155": {"erc1155_transfer", "nft_transfer", "NFT_ACTIVITY"}}
ACTIVITY = {"address_activity", "ADDRESS_ACTIVITY"}


def num(quantity):
    return int(quantity, 16)


def raw(text):
    return bytes.fromhex(text[2:])


def words(data):
    return [data[i:i + 32] for i in range(0, len(data), 32)]


def parse_move(log):
    """(standard, operator, from, to, [(id, value)]) of a log that is a transfer, else None."""
    topics, data = log["topics"], raw(log["data"])
    party = ["0x" + t[26:] for t in topics]
    if not topics or any(num(t) >> 160 for t in topics[1:3]):
        return None
    if topics[0] == TRANSFER and len(topics) == 3 and len(data) == 32:
        return "erc20", None, party[1], party[2], [(None, int.from_bytes(data))]
    if topics[0] == TRANSFER and len(topics) == 4 and not data:
        return "erc721", None, party[1], party[2], [(num(topics[3]), 1)]
    if topics[0] == SINGLE and len(topics) == 4 and len(data) == 64:
        w = words(data)
        return "erc1155", party[1], party[2], party[3], [(int.from_bytes(w[0]), int.from_bytes(w[1]))]
    if topics[0] == BATCH and len(topics) == 4:
        def array(slot):
            at = int.from_bytes(data[32 * slot:32 * slot + 32])
            n = int.from_bytes(data[at:at + 32])
            return [int.from_bytes(w) for w in words(data[at + 32:at + 32 + 32 * n])]
        return "erc1155", party[1], party[2], party[3], list(zip(array(0), array(1), strict=True))
    return None


def inners(frame, depth=0, path=()):
    """Internal transfers of a callTracer frame, in order of execution: (path, type, from, to, value)."""
    if "error" in frame:
        return
    value = num(frame.get("value") or "0x0")
    if depth and value and frame["type"] in ("CALL", "CREATE", "CREATE2", "SELFDESTRUCT"):
        yield list(path), frame["type"], frame["from"], frame["to"], value
    for i, call in enumerate(frame.get("calls", [])):
        yield from inners(call, depth + 1, (*path, i))


def units(value, decimals):
    if decimals is None:
        return None
    whole, part = divmod(value, 10 ** decimals)
    return f"{whole}." + (f"{part:0{decimals}d}".rstrip("0") if part else "0")


class Chain:
    """Blocks and contracts of a chain, as its node tells them."""

    def __init__(self, rpc, name="lux", traces=True):
        self.rpc, self.traces = rpc, traces
        self.name = name
        self.id = num(rpc("eth_chainId"))
        self.blocks, self.tokens = {}, {}

    def block(self, number):
        if number not in self.blocks:
            b = self.rpc("eth_getBlockByNumber", hex(number), True)
            for tx in b["transactions"]:
                tx["receipt"] = self.rpc("eth_getTransactionReceipt", tx["hash"])
                tx["inners"] = []
                if self.traces:
                    tx["inners"] = list(inners(self.rpc("debug_traceTransaction", tx["hash"], {"tracer": "callTracer"})))
            self.blocks[number] = b
        return self.blocks[number]

    def ask(self, to, data, at="latest"):
        try:
            return raw(self.rpc("eth_call", {"to": to, "data": data}, at))
        except Exception:  # noqa: BLE001 - a call that reverts is an answer
            return b""

    def text(self, answer, most=64):
        if len(answer) == 32:
            answer = answer.rstrip(b"\0")
        elif len(answer) >= 64:
            answer = answer[64:64 + int.from_bytes(answer[32:64])]
        else:
            return None
        text = "".join(c for c in answer.decode(errors="ignore") if unicodedata.category(c) != "Cc")
        while len(text.encode()) > most:
            text = text[:-1]
        return text

    def token(self, contract):
        """(symbol, name, decimals), None for what it does not say"""
        if contract not in self.tokens:
            symbol, name = (self.text(self.ask(contract, s)) for s in ("0x95d89b41", "0x06fdde03"))
            decimals = self.ask(contract, "0x313ce567")
            self.tokens[contract] = symbol, name, int.from_bytes(decimals) if len(decimals) == 32 else None
        return self.tokens[contract]

    def uri(self, standard, contract, token_id, number):
        selector = "0xc87b56dd" if standard == "erc721" else "0x0e89341c"
        return self.text(self.ask(contract, f"{selector}{token_id:064x}", hex(number)), 2048)


def moved(tx):
    return num(tx["value"]) if tx["receipt"]["status"] == "0x1" else 0


class Item:
    """Something that can be an event."""

    def __init__(self, kind, index, types, tx=None, value=0, parties=(None, None), contract=None, **more):
        self.kind, self.index, self.types, self.tx, self.value = kind, index, types, tx, value
        self.sender, self.to = parties
        self.contract = contract
        self.log, self.move, self.inner = (more.get(k) for k in ("log", "move", "inner"))


def items(block):
    """What can be an event of a block, in order."""
    yield Item(BLOCK, 0, {"new_block", "NEW_BLOCK"})
    for tx in block["transactions"]:
        yield Item(TX, num(tx["transactionIndex"]), {"address_activity", "mined_transaction", "ADDRESS_ACTIVITY",
                                                     "MINED_TRANSACTION", *(["transfer"] if moved(tx) else [])},
                   tx, moved(tx), (tx["from"], tx["to"]), tx["to"])
        for log in tx["receipt"]["logs"]:
            move = parse_move(log)
            yield Item(LOG, num(log["logIndex"]), {"contract_event", "log", *(ERC[move[0]] if move else [])}, tx, 0,
                       move[2:4] if move else (None, None), log["address"], log=log, move=move)
        for i, inner in enumerate(tx["inners"]):
            yield Item(INNER, i, {"INTERNAL_TRANSFER"}, tx, inner[4], inner[2:4], inner=inner)


def listed(v):
    """One value or a list of them, addresses in lower case."""
    return [x.lower() if isinstance(x, str) else x for x in (v if isinstance(v, list) else [v])]


class Hook:
    """A webhook: what it was made with, and from which block on it is told."""

    def __init__(self, face, made, types, filters=None, begin=0):
        self.face, self.id, self.types, self.begin = face, made["id"], types, begin
        f = dict(filters or {})
        self.addresses = [x for k in ("address", "addresses") if k in f for x in listed(f.pop(k))]
        self.contracts = [x for k in ("contract", "contracts", "tokenContract") if k in f for x in listed(f.pop(k))]
        self.sender, self.to = listed(f.pop("from", [])), listed(f.pop("to", []))
        self.least = int(f.pop("minValue", f.pop("min_value", 0)))
        self.ids = [int(x) for x in listed(f.pop("tokenId", f.pop("token_ids", [])))]
        self.txs = listed(f.pop("txHash", f.pop("tx_hashes", [])))
        self.selectors = listed(f.pop("functionSelector", []))
        self.direction = f.pop("direction", "both")
        self.topics = [t if isinstance(t, list) else [] if t is None else [t] for t in f.pop("topics", [])]
        if "topicHash" in f:
            self.topics = [listed(f.pop("topicHash"))]
        assert not f, f

    def takes(self, it, kind):
        """An event of this type, but for values and ids, which are a part's."""
        if it.kind == BLOCK:
            return True
        parties = [it.sender, it.to]
        if kind in ("contract_event", "log"):
            parties = [it.contract]
        elif kind in ("erc20_transfer", "erc721_transfer", "erc1155_transfer"):
            parties.append(it.contract)
        topics = it.log["topics"] if it.log else []
        return (not self.addresses or any(p in self.addresses for p in parties)) \
            and (not self.sender or it.sender in self.sender) and (not self.to or it.to in self.to) \
            and (not self.contracts or it.contract in self.contracts) \
            and (not self.selectors or selector(it.tx) in self.selectors) \
            and (not self.txs or it.tx["hash"] in self.txs) \
            and all(not t or (i < len(topics) and topics[i] in t) for i, t in enumerate(self.topics))

    def watched(self, it):
        """(position in the list, direction) of each address that an event of activity is for."""
        if not self.addresses:
            found = [(0, "outgoing")]
        else:
            found = [(self.addresses.index(p), way) for p, way in ((it.sender, "outgoing"), (it.to, "incoming"))
                     if p in self.addresses and not (way == "incoming" and it.to == it.sender)]
        return sorted(f for f in found if self.direction in ("both", f[1]))


def selector(tx):
    return tx["input"][:10] if tx["to"] and len(tx["input"]) >= 10 else None


def stamp(ms, with_ms):
    t = datetime.datetime.fromtimestamp(ms // 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return t + (f".{ms % 1000:03d}Z" if with_ms else "Z")


def identity(chain, hook, it, block_hash, sub):
    text = b"svc/event/v1" + chain.id.to_bytes(8) + block_hash + bytes([it.kind]) + \
        (raw(it.tx["hash"]) if it.tx else bytes(32)) + it.index.to_bytes(4) + sub.to_bytes(4) + hook.id.encode()
    return hashlib.sha256(text).digest()


def event_id(face, h, ms):
    if face == "a":
        return "evt-" + h.hex()[:24]
    digits, base, n, text = ("0123456789abcdefghijklmnopqrstuvwxyz", 36, int.from_bytes(h[:8]), "") if face == "b" else \
        ("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 32, ms << 80 | int.from_bytes(h[:10]), "")
    for _ in range(12 if face == "b" else 26):
        n, d = divmod(n, base)
        text = digits[d] + text
    return "evt_" + text


def events(chain, hook, first, last):
    """[(h, body)] of all that a webhook is told of these blocks."""
    out = []
    for number in range(max(first, hook.begin), last + 1):
        block = chain.block(number)
        for it in items(block):
            # by sub: activity comes first, the plain event last
            for kind in sorted((t for t in hook.types if t in it.types),
                               key=lambda t: (t == "contract_event", t not in ACTIVITY)):
                if not hook.takes(it, kind):
                    continue
                # C tells of one log by two types: the other one has the identities above 2^31.
                both = "ADDRESS_ACTIVITY" in hook.types and kind in ("MINED_TRANSACTION", "TOKEN_TRANSFER")
                for sub, part, way in subs(hook, it, kind):
                    h = identity(chain, hook, it, raw(block["hash"]), sub + (both << 31))
                    out.append((h, body(chain, hook, it, kind, part, way, block, h)))
    return out


def subs(hook, it, kind):
    """(sub, (id, value) or None, direction) of the events that an item is."""
    if kind in ("contract_event", "log"):
        return [(2 ** 32 - 1 if kind == "contract_event" else 0, None, None)] if moved(it.tx) >= hook.least else []
    parts = list(enumerate(it.move[4])) if it.move else [(0, None)]
    parts = [(s, p) for s, p in parts if (p[1] if p else it.value) >= hook.least or it.kind == BLOCK]
    parts = [(s, p) for s, p in parts if not hook.ids or p[0] in hook.ids]
    if kind in ACTIVITY:
        return [(at, p, way) for at, way in hook.watched(it) for _, p in parts]
    return [(s, p, None) for s, p in parts]


def body(chain, hook, it, kind, part, way, block, h):
    ms = num(block["timestamp"]) * 1000
    make = {"a": body_a, "b": body_b, "c": body_c}[hook.face]
    out = make(chain, hook, it, kind, part, way, block, event_id(hook.face, h, ms), ms)
    return json.dumps(out, separators=(",", ":"), ensure_ascii=False).encode()


def head_of(block, time):
    fee = block.get("baseFeePerGas")
    return {"blockHash": block["hash"], "parentHash": block["parentHash"], **time, "gasUsed": str(num(block["gasUsed"])),
            "gasLimit": str(num(block["gasLimit"])), "baseFeePerGas": fee and str(num(fee)),
            "transactionCount": len(block["transactions"])}


def body_a(chain, hook, it, kind, part, way, block, eid, ms):
    out = {"id": eid, "event": kind, "chain": chain.name, "blockNumber": num(block["number"])}
    time = {"timestamp": stamp(ms, False)}
    if kind == "new_block":
        return {**out, **time, **head_of(block, {})}
    is_move = part is not None
    out |= {"txHash": it.tx["hash"], "from": it.sender if is_move else it.tx["from"],
            "to": it.to if is_move else it.tx["to"], "value": str(part[1] if is_move else moved(it.tx)), **time}
    if it.log:
        out |= {"contract": it.contract, "logIndex": it.index}
    if kind == "erc20_transfer":
        symbol, _, decimals = chain.token(it.contract)
        out |= {"symbol": symbol, "decimals": decimals}
    elif kind == "erc721_transfer":
        out |= {"tokenId": str(part[0])}
    elif kind == "erc1155_transfer":
        out |= {"batchIndex": it.move[4].index(part), "operator": it.move[1], "tokenId": str(part[0])}
    elif kind == "contract_event":
        out |= {"topics": it.log["topics"], "data": it.log["data"]}
    return out


def mined(it, block, names):
    r = it.tx["receipt"]
    as_text = str if names[0] == "blockNumber" else int
    values = (num(block["number"]), block["hash"], it.tx["hash"], it.index, it.tx["from"], it.tx["to"], str(num(it.tx["value"])),
              "success" if r["status"] == "0x1" else "reverted", as_text(num(r["gasUsed"])),
              str(num(r["effectiveGasPrice"])), r["contractAddress"])
    return dict(zip(names, values, strict=True))


def body_b(chain, hook, it, kind, part, way, block, eid, ms):
    data = {"chain": chain.name, "block_number": num(block["number"]), "tx_hash": it.tx["hash"]}
    parties = {"from": it.sender, "to": it.to}
    symbol, _, decimals = chain.token(it.contract) if it.log else (None, None, None)
    if kind == "mined_transaction":
        data = {"chain": chain.name} | mined(it, block, ["block_number", "block_hash", "tx_hash", "transaction_index",
            "from", "to", "value", "status", "gas_used", "effective_gas_price", "contract_address"])
    elif kind == "address_activity":
        data |= {**parties, "value": str(part[1] if part else it.value), "asset": (symbol or "") if part else COIN,
                 "contract": it.contract if part else None, "direction": way}
    elif kind == "token_transfer":
        data |= {"contract": it.contract, **parties, "value": str(part[1]), "symbol": symbol or "", "decimals": decimals or 0}
    elif kind == "nft_transfer":
        data |= {"contract": it.contract, **parties, "token_id": str(part[0]), "standard": it.move[0].upper(),
                 "quantity": part[1]}
    else:
        data |= {"log_index": it.index, "contract": it.contract, "topics": it.log["topics"], "data": it.log["data"]}
    return {"id": eid, "event_type": kind, "webhook_id": hook.id, "created_at": stamp(ms, False), "data": data}


def body_c(chain, hook, it, kind, part, way, block, eid, ms):
    data = {"blockNumber": num(block["number"]), "transactionHash": it.tx and it.tx["hash"]}
    parties = {"from": it.sender, "to": it.to}
    symbol, name, decimals = chain.token(it.contract) if it.log else (None, None, None)
    token = {"address": it.contract, "symbol": symbol, "decimals": decimals}
    if kind == "NEW_BLOCK":
        head = head_of(block, {"timestamp": stamp(ms, False)})
        data = {"blockNumber": num(block["number"]), **head}
    elif kind == "MINED_TRANSACTION":
        data = mined(it, block, ["blockNumber", "blockHash", "transactionHash", "transactionIndex", "from", "to", "value",
                                 "status", "gasUsed", "effectiveGasPrice", "contractAddress"])
    elif kind == "INTERNAL_TRANSFER":
        path, call = it.inner[:2]
        data |= {"traceAddress": path, "callType": call, **parties, "value": str(it.value),
                 "valueFormatted": units(it.value, 18), "depth": len(path)}
    elif kind == "TOKEN_TRANSFER":
        data |= {"logIndex": it.index, **parties, "token": token, "value": str(part[1]),
                 "valueFormatted": units(part[1], decimals)}
    elif kind == "NFT_ACTIVITY":
        action = "mint" if it.sender == ZERO else "burn" if it.to == ZERO else "transfer"
        uri = chain.uri(it.move[0], it.contract, part[0], num(block["number"]) - (action == "burn"))
        meta = {"name": name, "symbol": symbol, "tokenURI": uri}
        data |= {"logIndex": it.index, **parties, "contract": it.contract, "tokenId": str(part[0]),
                 "standard": it.move[0].upper(), "quantity": str(part[1]), "action": action,
                 "metadata": meta if any(v is not None for v in meta.values()) else None}
    elif part:
        data |= {**parties, "value": str(part[1]), "valueFormatted": units(part[1], decimals), "asset": symbol,
                 "category": "erc20", "direction": way, "logIndex": it.index, "token": token, "functionSelector": None}
    else:
        native = it.value > 0 or (it.tx["to"] and not selector(it.tx))
        data |= {**parties, "value": str(it.value), "valueFormatted": units(it.value, 18), "asset": COIN,
                 "category": "native" if native else "contract", "direction": way, "logIndex": None, "token": None,
                 "functionSelector": selector(it.tx)}
    return {"id": eid, "type": kind, "createdAt": stamp(ms, True), "chain": chain.name, "chainId": chain.id, "data": data}


def pending(chain, hook, tx, ms):
    """(h, body) of a transaction that was first seen at ms."""
    it = Item(PENDING, 0, set(), tx, num(tx["value"]), (tx["from"], tx["to"]))
    h = identity(chain, hook, it, bytes(32), 0)
    fee = str(num(tx.get("maxFeePerGas") or tx["gasPrice"]))
    tip = str(num(tx.get("maxPriorityFeePerGas") or tx["gasPrice"]))
    data = {"transactionHash": tx["hash"], "from": tx["from"], "to": tx["to"], "value": str(it.value),
            "nonce": num(tx["nonce"]), "gas": str(num(tx["gas"])), "maxFeePerGas": fee, "maxPriorityFeePerGas": tip,
            "functionSelector": selector(tx), "firstSeenAt": stamp(ms, True)}
    out = {"id": event_id("c", h, ms), "type": "PENDING_TRANSACTION", "createdAt": stamp(ms, True), "chain": chain.name,
           "chainId": chain.id, "data": data}
    return h, json.dumps(out, separators=(",", ":"), ensure_ascii=False).encode()
