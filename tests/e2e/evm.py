"""Transactions of EVM chains with fees and access lists (type 2), made and signed here, without the program that is
tested. [EIP-1559] [EIP-2930]"""
import hashlib

import txs

MASK = (1 << 64) - 1


def rotated(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK if n else x


def round_constants():
    bits, r = [], 1
    for _ in range(168):
        bits.append(r & 1)
        r = (r << 1) ^ (0x171 if r & 0x80 else 0)
    return [sum(bits[7 * i + j] << ((1 << j) - 1) for j in range(7)) for i in range(24)]


CONSTANTS = round_constants()


def permute(a):
    for constant in CONSTANTS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[(x + 4) % 5] ^ rotated(c[(x + 1) % 5], 1) for x in range(5)]
        a = [a[i] ^ d[i % 5] for i in range(25)]
        x, y, lane = 1, 0, a[1]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            lane, a[x + 5 * y] = a[x + 5 * y], rotated(lane, ((t + 1) * (t + 2) // 2) % 64)
        a = [a[i] ^ (~a[i - i % 5 + (i + 1) % 5] & MASK & a[i - i % 5 + (i + 2) % 5]) for i in range(25)]
        a[0] ^= constant
    return a


def keccak(data):
    rate, state = 136, [0] * 25
    data = bytearray(data) + b"\x01" + b"\0" * (rate - 1 - len(data) % rate)
    data[-1] |= 0x80
    for at in range(0, len(data), rate):
        for i in range(rate // 8):
            state[i] ^= int.from_bytes(data[at + 8 * i:at + 8 * i + 8], "little")
        state = permute(state)
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


def rlp(item):
    def head(n, base):
        if n < 56:
            return bytes([base + n])
        size = n.to_bytes((n.bit_length() + 7) // 8, "big")
        return bytes([base + 55 + len(size)]) + size
    if isinstance(item, int):
        item = item.to_bytes((item.bit_length() + 7) // 8, "big")
    if isinstance(item, (list, tuple)):
        body = b"".join(map(rlp, item))
        return head(len(body), 0xc0) + body
    return item if len(item) == 1 and item[0] < 0x80 else head(len(item), 0x80) + item


def signature(digest):
    z = int.from_bytes(digest, "big")
    k = int.from_bytes(hashlib.sha256(txs.SECRET.to_bytes(32, "big") + digest).digest(), "big") % txs.N
    x, y = txs.times(txs.G, k)
    s = pow(k, -1, txs.N) * (z + x * txs.SECRET) % txs.N
    return (y & 1, x, s) if s <= txs.N // 2 else (1 - (y & 1), x, txs.N - s)


def words(data):
    """Bytes as a predicate: 0xff behind them, zeros up to whole words."""
    data += b"\xff"
    data += b"\0" * (-len(data) % 32)
    return [data[i:i + 32] for i in range(0, len(data), 32)]


def transaction(chain, nonce, to, data, gas, price, access=(), value=0):
    """The signed bytes, as hex. access: (address, [storage keys])."""
    fields = [chain, nonce, 10**9, price, gas, to, value, data, [[a, list(keys)] for a, keys in access]]
    digest = keccak(b"\x02" + rlp(fields))
    return "0x" + (b"\x02" + rlp(fields + list(signature(digest)))).hex()
