"""Mutation of Ethereum state tests.

A case is a state test with one fork, one set of transaction values and no expectations. Everything
is drawn from the random.Random that the caller passes, so a case is a function of its seed. Cases
stay inside what the state test format says the same way to everyone: transaction types exist at
the fork, fees fit 128 bits, the balances' sum fits 256, and no account has storage without code
and nonce (creation there, EIP-7610, is where public clients part ways).
"""

import copy

FORKS = ["Istanbul", "Berlin", "London", "Paris", "Shanghai", "Cancun", "Prague"]
BERLIN, LONDON, PARIS, CANCUN, PRAGUE = 1, 2, 3, 5, 6

# Opcodes that mutations prefer, by kind; the others, undefined ones too, come by a random byte.
STATE_OPS = bytes.fromhex("313b3c3f40475455 5c5df0f1f2f4f5fa ff")
WORD_OPS = bytes([*range(0x01, 0x0C), *range(0x10, 0x1E)])
MEMORY_OPS = bytes.fromhex("20353739 3d3e5152 53595ea0 a1a2a4f3 fd")
CONTEXT_OPS = bytes.fromhex("30323334 36383a41 42434445 4648494a 585a")
STACK_OPS = bytes.fromhex("505f6061 7f808183 8f90919f")
FLOW_OPS = bytes.fromhex("0056575b fe")

# Init code for CREATE: stores, reverts, deploys zeros, destroys itself, fails, deploys 0xEF.
INIT_CODES = [
    bytes.fromhex(code)
    for code in ("600160005500", "60006000fd", "60206000f3", "33ff", "fe", "60ef60005360016000f3")
]

JUMPDEST, PUSH0, PUSH1, PUSH32 = 0x5B, 0x5F, 0x60, 0x7F

MAX_CODE = 24576
MAX_GAS = 4_000_000
MAX_BALANCE = 2**240  # the sum of all balances stays below 2^256, as on any chain
WORDS = [0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 96, 128, 192, 213, 255, 256, 1023, 1024, 0x6000]
WORDS += [2**16 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 33, 2**64 - 1, 2**64]
WORDS += [2**127, 2**128 - 1, 2**255 - 1, 2**255, 2**256 - 32, 2**256 - 2, 2**256 - 1]


def parse_int(text):
    """Value of a number in a state test: 0x… or decimal; "0x" is zero."""
    if text in ("", "0x"):
        return 0
    return int(text, 16) if text.startswith("0x") else int(text)


def quantity(number):
    """Text of a number, in whole bytes: some parsers refuse an odd number of digits."""
    digits = f"{number:x}"
    return "0x" + digits.zfill(len(digits) + len(digits) % 2)


def unhex(text):
    digits = text[2:] if text.startswith("0x") else text
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


def precompile(rng):
    return rng.randrange(1, 19).to_bytes(20, "big")


def word(rng, addresses):
    """An operand worth trying: a corner number, an address, a small or a random number."""
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(WORDS)
    if kind < 0.65 and addresses:
        return int(rng.choice(addresses), 16)
    if kind < 0.72:
        return int.from_bytes(precompile(rng), "big")
    if kind < 0.92:
        return rng.randrange(0, 512)
    return rng.getrandbits(256)


def push(value):
    """The shortest PUSH1..PUSH32 of a value, as an instruction."""
    data = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
    return [PUSH1 - 1 + len(data), data, None]


def disassemble(code):
    """Instructions [opcode, immediate, target].

    The target is the JUMPDEST whose offset the immediate spells, or None.
    """
    instructions, offsets, i = [], {}, 0
    while i < len(code):
        size = code[i] - PUSH1 + 1 if PUSH1 <= code[i] <= PUSH32 else 0
        instruction = [code[i], code[i + 1 : i + 1 + size], None]
        if code[i] == JUMPDEST:
            offsets[i] = instruction
        instructions.append(instruction)
        i += 1 + size
    for instruction in instructions:
        if 1 <= len(instruction[1]) <= 4:
            instruction[2] = offsets.get(int.from_bytes(instruction[1], "big"))
    return instructions


def assemble(instructions, relink):
    """Bytes of the instructions; with relink, jump targets follow the JUMPDESTs that moved."""
    if relink:
        at, offsets = 0, {}
        for instruction in instructions:
            offsets.setdefault(id(instruction), at)
            at += 1 + len(instruction[1])
        for instruction in instructions:
            if instruction[2] is not None and id(instruction[2]) in offsets:
                size = len(instruction[1])
                target = offsets[id(instruction[2])] % (1 << (8 * size))
                instruction[1] = target.to_bytes(size, "big")
    return b"".join(bytes([op]) + data for op, data, _ in instructions)


def random_op(rng):
    kind = rng.random()
    if kind < 0.25:
        return rng.choice(STATE_OPS)
    if kind < 0.45:
        return rng.choice(MEMORY_OPS)
    if kind < 0.6:
        return rng.choice(WORD_OPS)
    if kind < 0.72:
        return rng.choice(CONTEXT_OPS)
    if kind < 0.86:
        return rng.choice(STACK_OPS)
    if kind < 0.93:
        return rng.choice(FLOW_OPS)
    return rng.randrange(256)


# Opcodes that take and leave equally many words: one in another's place keeps the code running.
ALIKE = [
    bytes.fromhex("01020304050607 0a0b 1011121314 161718 1a1b1c1d 20"),
    bytes.fromhex("1519313f404951545c"),
    bytes.fromhex("5253555d"),
    CONTEXT_OPS,
    bytes.fromhex("37393e5e"),
    bytes.fromhex("f1f2"),
    bytes.fromhex("f4fa"),
    bytes.fromhex("f3fd"),
]


def similar_op(rng, op):
    groups = [group for group in ALIKE if op in group]
    return rng.choice(groups[0]) if groups else random_op(rng)


def random_instruction(rng, addresses):
    op = random_op(rng)
    if PUSH1 <= op <= PUSH32:
        size = op - PUSH1 + 1
        return [op, (word(rng, addresses) % (1 << (8 * size))).to_bytes(size, "big"), None]
    return [op, b"", None]


def snippet(rng, addresses):
    """A well-formed use of one state, memory or call opcode, its operands pushed."""

    def small():
        return push(rng.choice((0, 0, 1, 2, 32, 33, 64, rng.randrange(300))))

    def any_word():
        return push(word(rng, addresses))

    def op(choices):
        return [rng.choice(choices), b"", None]

    kind = rng.randrange(10)
    if kind == 0:  # SSTORE
        body = [any_word(), small(), op([0x55])]
    elif kind == 1:  # TSTORE, TLOAD
        body = [any_word(), small(), op([0x5D]), small(), op([0x5C])]
    elif kind in (2, 3, 4):  # the calls
        call = op([0xF1, 0xF2, 0xF4, 0xFA])
        value = [small()] if call[0] in (0xF1, 0xF2) else []
        gas = push(rng.choice((0, 700, 2300, 5000, 30000, 10**6, 2**64)))
        body = [small(), small(), small(), small(), *value, any_word(), gas, call]
    elif kind == 5:  # CREATE or CREATE2 of a small init code
        init = rng.choice(INIT_CODES)
        create = op([0xF0, 0xF5])
        salt = [small()] if create[0] == 0xF5 else []
        place = [push(len(init)), push(32 - len(init)), small()]
        body = [push(int.from_bytes(init, "big")), push(0), op([0x52]), *salt, *place, create]
    elif kind == 6:  # MSTORE, then a reader of memory
        reader = op([0x20, 0xA0, 0xF3, 0xFD])
        body = [any_word(), small(), op([0x52, 0x53]), small(), small(), reader]
    elif kind == 7:  # the copies
        body = [small(), small(), small(), op([0x37, 0x39, 0x3E, 0x5E])]
    elif kind == 8:  # arithmetic, the result stored
        body = [any_word(), any_word(), any_word(), op(WORD_OPS), small(), op([0x55])]
    else:  # queries, SLOAD, SELFDESTRUCT
        body = [any_word(), op([0x31, 0x3B, 0x3F, 0x40, 0x49, 0x54, 0xFF])]
    if rng.random() < 0.3:
        body += [small(), op([0x55])]
    return body


def mutate_code(rng, code, pool, addresses):
    """One to four edits of the byte code, on instruction or (seldom) on byte level."""
    if rng.random() < 0.06:
        data = bytearray(code or b"\x00")
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data[: rng.randrange(1, len(data) + 1)] if rng.random() < 0.3 else data)
    ops = disassemble(code)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        at = rng.randrange(len(ops) + 1)
        kind = rng.random()
        if kind < 0.15:
            ops[at:at] = [random_instruction(rng, addresses)]
        elif kind < 0.28:
            ops[at : at + 1] = [random_instruction(rng, addresses)]
        elif kind < 0.44:
            plain = [op for op in ops if not op[1]]
            if plain:
                chosen = rng.choice(plain)
                chosen[0] = similar_op(rng, chosen[0])
        elif kind < 0.48:
            del ops[at : at + rng.choice((1, 1, 2, 5))]
        elif kind < 0.68:
            ops[at:at] = snippet(rng, addresses)
        elif kind < 0.8:
            donor = disassemble(rng.choice(pool))
            if donor:
                start = rng.randrange(len(donor))
                ops[at:at] = donor[start : start + rng.randrange(1, 24)]
        elif kind < 0.94:
            pushes = [i for i, op in enumerate(ops) if PUSH1 <= op[0] <= PUSH32]
            if pushes:
                old = ops[rng.choice(pushes)]
                size = len(old[1])
                old[1] = (word(rng, addresses) % (1 << (8 * size))).to_bytes(size, "big")
                old[2] = None
        elif len(ops) < 2000:
            end = at + rng.randrange(1, 8)
            ops[at:at] = copy.deepcopy(ops[at:end])
    return assemble(ops, rng.random() < 0.85)


def flatten(test, rng):
    """A fresh case from a state test: one of its transactions, the fork drawn anew."""
    tx = test["transaction"]
    index = rng.randrange(len(tx["data"]))
    lists = tx.get("accessLists")
    flat = {key: tx[key] for key in ("nonce", "secretKey", "sender", "to")}
    flat["data"] = [tx["data"][index]]
    flat["gasLimit"] = [quantity(min(parse_int(rng.choice(tx["gasLimit"])), MAX_GAS))]
    flat["value"] = [rng.choice(tx["value"])]
    if flat["value"][0].startswith("0x:"):
        flat["value"] = ["0x01"]
    if lists and lists[index] is not None:
        flat["accessLists"] = [copy.deepcopy(lists[index])]
    for key in ("gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "maxFeePerBlobGas"):
        if key in tx:
            flat[key] = quantity(min(parse_int(tx[key]), 2**100))
    if tx.get("blobVersionedHashes"):
        flat["blobVersionedHashes"] = list(tx["blobVersionedHashes"])
    env = {key: value for key, value in test["env"].items() if key.startswith("current")}
    return {"env": env, "pre": copy.deepcopy(test["pre"]), "transaction": flat}


def is_delegation(code):
    """Code that names another account (EIP-7702)."""
    return code.startswith("0xef0100") and len(code) == 2 + 2 * 23


def fit_fork(case, fork):
    """Makes the environment and the transaction sayable at the fork; see the module's comment."""
    env, tx = case["env"], case["transaction"]
    env.setdefault("currentDifficulty", "0x020000")
    if fork >= LONDON:
        env.setdefault("currentBaseFee", "0x0a")
    else:
        env.pop("currentBaseFee", None)
    if fork >= PARIS:
        env.setdefault("currentRandom", "0x" + "00" * 31 + "02")
    else:
        env.pop("currentRandom", None)
    if fork >= CANCUN:
        env.setdefault("currentExcessBlobGas", "0x00")
    else:
        env.pop("currentExcessBlobGas", None)
    env.pop("currentBeaconRoot", None)
    env.pop("currentWithdrawalsRoot", None)

    blobs = tx.get("blobVersionedHashes")
    if fork < CANCUN or not blobs or not tx["to"]:
        tx.pop("blobVersionedHashes", None)
        tx.pop("maxFeePerBlobGas", None)
    else:
        tx.setdefault("maxFeePerBlobGas", "0x0a")
    if fork < LONDON and "maxFeePerGas" in tx:
        tx["gasPrice"] = tx.pop("maxFeePerGas")
        tx.pop("maxPriorityFeePerGas", None)
    if fork < BERLIN:
        tx.pop("accessLists", None)
    if "maxFeePerGas" in tx:
        tx.pop("gasPrice", None)
        tx.setdefault("maxPriorityFeePerGas", "0x00")
    elif "blobVersionedHashes" in tx:
        tx["maxFeePerGas"] = tx.pop("gasPrice", "0x0a")
        tx["maxPriorityFeePerGas"] = "0x00"
    else:
        tx.setdefault("gasPrice", "0x0a")

    for account in case["pre"].values():
        if parse_int(account["balance"]) > MAX_BALANCE:
            account["balance"] = quantity(MAX_BALANCE)
        bare = account["code"] in ("", "0x") and parse_int(account["nonce"]) == 0
        if bare and any(parse_int(v) for v in account["storage"].values()):
            account["nonce"] = "0x01"
        code = account["code"].lower()
        if code.startswith("0xef01") and (fork < PRAGUE or not is_delegation(code)):
            account["code"] = "0x00" + code[4:]  # some take it for a delegation, or refuse it
    case["post"] = {
        FORKS[fork]: [
            {
                "hash": "0x" + "00" * 32,
                "logs": "0x" + "00" * 32,
                "indexes": {"data": 0, "gas": 0, "value": 0},
            }
        ]
    }


class Mutator:
    """Draws cases from a corpus of state tests."""

    def __init__(self, corpus):
        self.corpus = corpus  # callable: rng -> state test
        self.pool = [b"\x60\x00"]  # code of the tests seen, for splicing

    def case(self, rng):
        test = self.corpus(rng)
        case = flatten(test, rng)
        for account in case["pre"].values():
            code = unhex(account["code"])
            if 0 < len(code) <= 2048:
                if len(self.pool) < 256:
                    self.pool.append(code)
                elif rng.random() < 0.05:
                    self.pool[rng.randrange(256)] = code
        fork = rng.choice((0, 1, 2, 3, 4, 5, 5, 5, PRAGUE, PRAGUE))
        steps = rng.choice((1, 1, 2, 3, 5))
        for _ in range(steps):
            kind = rng.random()
            if kind < 0.62:
                self.change_code(rng, case)
            elif kind < 0.82:
                self.change_tx(rng, case, fork)
            elif kind < 0.93:
                self.change_state(rng, case)
            else:
                self.change_env(rng, case)
        fit_fork(case, fork)
        return case

    def change_code(self, rng, case):
        pre, tx = case["pre"], case["transaction"]
        addresses = sorted(pre)
        if not tx["to"] and rng.random() < 0.6:
            tx["data"] = [
                "0x" + mutate_code(rng, unhex(tx["data"][0]), self.pool, addresses)[:60000].hex()
            ]
            return
        with_code = [a for a in addresses if len(pre[a]["code"]) > 2]
        target = tx["to"] if tx["to"] in pre and rng.random() < 0.6 else None
        if target is None:
            if not with_code:
                return
            target = rng.choice(with_code)
        if target == tx["sender"] and rng.random() < 0.95:
            return
        old = unhex(pre[target]["code"])
        pre[target]["code"] = "0x" + mutate_code(rng, old, self.pool, addresses)[:MAX_CODE].hex()

    def change_tx(self, rng, case, fork):
        pre, tx = case["pre"], case["transaction"]
        addresses = sorted(pre)
        kind = rng.randrange(9)
        if kind == 0:
            floor = rng.choice((0, 20000, 21000, 21000, 53000, 60000))
            tx["gasLimit"] = [
                quantity(
                    floor
                    + rng.choice(
                        (0, rng.randrange(3000), rng.randrange(200_000), rng.randrange(MAX_GAS))
                    )
                )
            ]
        elif kind == 1:
            tx["value"] = [
                quantity(
                    rng.choice(
                        (
                            0,
                            1,
                            rng.randrange(10**6),
                            parse_int(pre.get(tx["sender"], {}).get("balance", "0x0")),
                            2**255,
                        )
                    )
                )
            ]
        elif kind == 2:
            data = bytearray(unhex(tx["data"][0]) or b"\x00" * rng.randrange(1, 260))
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(len(data))
                piece = word(rng, addresses).to_bytes(32, "big")[-rng.choice((1, 4, 32)) :]
                data[at : at + len(piece)] = piece
            tx["data"] = [
                "0x"
                + bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.2 else data).hex()
            ]
        elif kind == 3:
            tx["to"] = rng.choice(
                (
                    rng.choice(addresses),
                    rng.choice(addresses),
                    "0x" + precompile(rng).hex(),
                    "0x" + rng.randbytes(20).hex(),
                    "",
                )
            )
            if not tx["to"] and rng.random() < 0.8:
                tx["data"] = ["0x" + rng.choice(self.pool).hex()]
        elif kind == 4 and fork >= BERLIN:
            entries = []
            for _ in range(rng.randrange(4)):
                address = rng.choice(
                    addresses + ["0x" + precompile(rng).hex(), case["env"]["currentCoinbase"]]
                )
                slots = list(pre.get(address, {"storage": {}})["storage"])[:3] + [
                    quantity(rng.randrange(4))
                ]
                keys = [f"0x{parse_int(rng.choice(slots)):064x}" for _ in range(rng.randrange(4))]
                entries.append({"address": address, "storageKeys": keys})
            tx["accessLists"] = [entries]
        elif kind == 5:
            base = parse_int(case["env"].get("currentBaseFee", "0x0a"))
            if fork >= LONDON and rng.random() < 0.7:
                tx["maxFeePerGas"] = quantity(max(0, base + rng.choice((-1, 0, 1, 10, 1000))))
                tx["maxPriorityFeePerGas"] = quantity(rng.choice((0, 0, 1, 10, 2000)))
            else:
                tx.pop("maxFeePerGas", None)
                tx.pop("maxPriorityFeePerGas", None)
                tx["gasPrice"] = quantity(max(0, base + rng.choice((-1, 0, 1, 10, 1000))))
        elif kind == 6:
            tx["nonce"] = quantity(max(0, parse_int(tx["nonce"]) + rng.choice((-1, 1))))
        elif kind == 7 and fork >= CANCUN and tx["to"]:
            hashes = ["0x01" + rng.randbytes(31).hex() for _ in range(rng.randrange(1, 7))]
            if rng.random() < 0.1:
                hashes[0] = "0x02" + hashes[0][4:]
            tx["blobVersionedHashes"] = hashes
            tx["maxFeePerBlobGas"] = quantity(rng.choice((0, 1, 1, 2, 10, 10**6)))
        else:
            tx["gasLimit"] = [
                quantity(max(0, parse_int(tx["gasLimit"][0]) - rng.randrange(1, 50000)))
            ]

    def change_state(self, rng, case):
        pre = case["pre"]
        addresses = sorted(pre)
        address = rng.choice(addresses)
        account = pre[address]
        kind = rng.randrange(8)
        if kind == 0:
            account["balance"] = quantity(
                rng.choice(
                    (
                        0,
                        1,
                        rng.randrange(10**7),
                        rng.getrandbits(64),
                        rng.getrandbits(100),
                        MAX_BALANCE,
                    )
                )
            )
        elif kind == 1 and address != case["transaction"]["sender"]:
            account["nonce"] = quantity(
                rng.choice((0, 1, rng.randrange(300), 2**64 - 2, 2**64 - 1))
            )
        elif kind in (2, 3):
            slots = list(account["storage"])
            slot = rng.choice(slots) if slots and rng.random() < 0.6 else quantity(rng.randrange(5))
            account["storage"][slot] = quantity(rng.choice((0, 1, word(rng, addresses))))
        elif (
            kind == 4
            and len(addresses) > 2
            and address not in (case["transaction"]["sender"], case["transaction"]["to"])
        ):
            del pre[address]
        elif kind == 5:
            new = rng.choice(
                (
                    "0x" + precompile(rng).hex(),
                    "0x" + rng.randbytes(20).hex(),
                    case["env"]["currentCoinbase"],
                )
            )
            code = "0x" + rng.choice(self.pool).hex() if rng.random() < 0.6 else "0x"
            pre.setdefault(
                new,
                {
                    "balance": quantity(rng.choice((0, 1, 10**9))),
                    "nonce": quantity(rng.choice((0, 1))),
                    "code": code,
                    "storage": {},
                },
            )
        elif kind == 6:
            account["code"] = "0xef0100" + rng.choice(addresses)[2:]
        else:
            other = rng.choice(addresses)
            if case["transaction"]["sender"] not in (address, other):
                account["code"], pre[other]["code"] = pre[other]["code"], account["code"]

    def change_env(self, rng, case):
        env = case["env"]
        addresses = sorted(case["pre"])
        kind = rng.randrange(7)
        if kind == 0:
            env["currentCoinbase"] = rng.choice(
                addresses + ["0x" + precompile(rng).hex(), "0x" + rng.randbytes(20).hex()]
            )
        elif kind == 1:
            env["currentNumber"] = quantity(rng.choice((0, 1, 2, 255, 256, 257, 10**6, 2**32)))
        elif kind == 2:
            env["currentTimestamp"] = quantity(rng.choice((0, 1, 1000, 10**9, 2**40)))
        elif kind == 3:
            env["currentBaseFee"] = quantity(rng.choice((0, 1, 7, 10, 11, 1000)))
        elif kind == 4:
            env["currentRandom"] = "0x" + rng.randbytes(32).hex()
        elif kind == 5:
            env["currentGasLimit"] = quantity(
                rng.choice((21000, 100_000, MAX_GAS, 30_000_000, 2**62))
            )
        else:
            env["currentExcessBlobGas"] = quantity(
                rng.choice((0, 1, 393216, 3 * 10**6, 10**7, 5 * 10**7))
            )
