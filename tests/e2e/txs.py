"""Transactions of P, X and C, made and signed here, without the program that is tested. [spec:pchain-xchain] [spec:evm-chain#9]

One key owns everything: the funded public test key of the local network."""
import hashlib
import struct

SECRET = 0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027
OWNER = bytes.fromhex("3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c")
ACCOUNT = bytes.fromhex("8db97c7cece249c2b98bdc0226cc4c2a57bf52fc")
ADDRESS = "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"

# --- text ---

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def cb58(text):
    number = 0
    for c in text:
        number = number * 58 + ALPHABET.index(c)
    zeros = len(text) - len(text.lstrip("1"))
    data = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    assert hashlib.sha256(data[:-4]).digest()[-4:] == data[-4:], text
    return data[:-4]


def to_hex(data):
    return "0x" + (data + hashlib.sha256(data).digest()[-4:]).hex()


def from_hex(text):
    data = bytes.fromhex(text[2:])
    assert hashlib.sha256(data[:-4]).digest()[-4:] == data[-4:], text
    return data[:-4]


# --- signatures: secp256k1 with the curve's usual constants ---

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def add(a, b):
    if a is None or b is None:
        return b if a is None else a
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(point, k):
    out = None
    while k:
        out = add(out, point) if k & 1 else out
        point, k = add(point, point), k >> 1
    return out


def sign(data):
    """65 bytes: r, s, which of the two points."""
    digest = hashlib.sha256(data).digest()
    z = int.from_bytes(digest, "big")
    k = int.from_bytes(hashlib.sha256(SECRET.to_bytes(32, "big") + digest).digest(), "big") % N
    x, y = times(G, k)
    s = pow(k, -1, N) * (z + x * SECRET) % N
    odd = y & 1
    if s > N // 2:
        s, odd = N - s, odd ^ 1
    return x.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([odd])


# --- the codec ---

OUTPUT, INPUT, CREDENTIAL = 7, 5, 9
TYPES = {("P", "base"): 34, ("P", "import"): 17, ("P", "export"): 18, ("X", "base"): 0, ("X", "import"): 3,
         ("X", "export"): 4, ("C", "import"): 0, ("C", "export"): 1}


def u32(n):
    return struct.pack(">I", n)


def u64(n):
    return struct.pack(">Q", n)


def many(items):
    return u32(len(items)) + b"".join(items)


class Coin:
    """An output that the key can spend: its bytes as getUTXOs gives them."""

    def __init__(self, data):
        self.tx, self.index, self.asset = data[2:34], data[34:38], data[38:70]
        kind, self.amount, locked, threshold, owners = struct.unpack(">IQQII", data[70:98])
        self.is_good = (kind, locked, threshold, owners) == (OUTPUT, 0, 1, 1) and data[98:] == OWNER

    def spent(self):
        return self.tx + self.index + self.asset + u32(INPUT) + u64(self.amount) + u32(1) + u32(0)


class Wallet:
    """Knows the chains of a network by one of its nodes."""

    def __init__(self, network, asset, chains):
        self.network, self.asset = network, cb58(asset)
        self.chains = {name: cb58(text) for name, text in chains.items()}

    def output(self, amount):
        return self.asset + u32(OUTPUT) + u64(amount) + u64(0) + u32(1) + many([OWNER])

    def head(self, chain, kind):
        return b"\0\0" + u32(TYPES[chain, kind]) + u32(self.network) + self.chains[chain]

    def signed(self, unsigned, inputs):
        credential = u32(CREDENTIAL) + many([sign(unsigned)])
        return to_hex(unsigned + many([credential] * inputs))

    def base(self, chain, coin, amount, fee):
        """Pays an amount to the key itself, from one coin."""
        outs = sorted([self.output(amount), self.output(coin.amount - amount - fee)])
        body = self.head(chain, "base") + many(outs) + many([coin.spent()]) + many([])
        return self.signed(body, 1)

    def exported(self, chain, coin, to, amount, fee):
        body = (self.head(chain, "export") + many([self.output(coin.amount - amount - fee)]) + many([coin.spent()]) +
                many([]) + self.chains[to] + many([self.output(amount)]))
        return self.signed(body, 1)

    def imported(self, chain, coin, source, fee):
        body = (self.head(chain, "import") + many([self.output(coin.amount - fee)]) + many([]) + many([]) +
                self.chains[source] + many([coin.spent()]))
        return self.signed(body, 1)

    def exported_from_c(self, to, amount, fee, nonce):
        spent = ACCOUNT + u64(amount + fee) + self.asset + u64(nonce)
        body = self.head("C", "export") + self.chains[to] + many([spent]) + many([self.output(amount)])
        return self.signed(body, 1)

    def imported_to_c(self, coin, source, fee):
        paid = ACCOUNT + u64(coin.amount - fee) + self.asset
        body = self.head("C", "import") + self.chains[source] + many([coin.spent()]) + many([paid])
        return self.signed(body, 1)
