"""The client's side of blinded tokens (RFC 9497, VOPRF with ristretto255 and SHA-512), on libsodium."""
import ctypes
import ctypes.util
import hashlib
import os

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
assert sodium.sodium_init() >= 0
DST = b"HashToGroup-OPRFV1-\x01-ristretto255-SHA512"


def call(name, size, *args):
    out = ctypes.create_string_buffer(size)
    if getattr(sodium, name)(out, *args) not in (0, size):
        raise ValueError(name)
    return out.raw


def expand(message, size=64):
    """expand_message_xmd of RFC 9380 with SHA-512, one block."""
    prime = DST + bytes([len(DST)])
    first = hashlib.sha512(bytes(128) + message + size.to_bytes(2, "big") + b"\0" + prime).digest()
    return hashlib.sha512(first + b"\1" + prime).digest()[:size]


def blind(nonce):
    """A random scalar, and the point that the server is sent."""
    wide = ctypes.create_string_buffer(os.urandom(64), 64)
    scalar = ctypes.create_string_buffer(32)
    sodium.crypto_core_ristretto255_scalar_reduce(scalar, wide)
    point = call("crypto_core_ristretto255_from_hash", 32, expand(nonce))
    return scalar.raw, call("crypto_scalarmult_ristretto255", 32, scalar.raw, point)


def finish(nonce, scalar, evaluated):
    """The token: what the server computes from the nonce alone."""
    inverse = call("crypto_core_ristretto255_scalar_invert", 32, scalar)
    point = call("crypto_scalarmult_ristretto255", 32, inverse, evaluated)
    return hashlib.sha512(len(nonce).to_bytes(2, "big") + nonce + b"\0\x20" + point + b"Finalize").digest()
