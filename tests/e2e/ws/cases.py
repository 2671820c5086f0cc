#!/usr/bin/env python3
"""The public WebSocket case list (groups 1 to 7, 9 and 10: 301 cases; 12 and 13: compression) against an echo server.

usage: tests/e2e/ws/cases.py --server build/debug/test/ws_echo [--messages 10] [--only 6.4] [-v]

The numbers and what each case demands are those of the list that is commonly run against WebSocket servers; the cases
are written here from their descriptions. Where the list tolerates more than one behaviour, this runner wants the
strict one: the Close code of the list's first choice, and an orderly end of the connection. Groups 12 and 13 send
--messages messages a case instead of 1,000. Ends with `N passed, M failed`.
"""
import argparse
import concurrent.futures
import pathlib
import random
import re
import struct
import subprocess
import sys
import traceback
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from wire import BINARY, CLOSE, CONT, PING, PONG, TEXT, Client, close_payload, frame, frames  # noqa: E402

PROTOCOL, BAD_DATA = 1002, 1007
CASES = {}


def same(got, want, what):
    def short(x):
        text = repr(x)
        return text if len(text) < 200 else f"{text[:120]} ... ({len(text)})"
    assert got == want, f"{what}: got {short(got)}, want {short(want)}"


def case(number, fn, *args):
    assert number not in CASES, number
    CASES[number] = (fn, args)


def orderly_end(c, got, codes):
    """The rest of a connection: a Close frame with one of the codes, and nothing behind it."""
    rest = c.rest()
    assert rest, "the connection ended without a Close frame"
    op, payload = rest[0]
    same(op, CLOSE, "behind " + repr(got)[:80])
    same(len(rest), 1, "frames at the end")
    code = struct.unpack(">H", payload[:2])[0] if payload else None
    assert code in codes, f"close code {code}, want {codes}"


def say(c, data, chop=0):
    for part in data if isinstance(data, list) else [data]:
        c.send(part, chop)


def fine(port, data, want, chop=0):
    """What is sent is legal: the wanted answers come, then the connection closes as we ask, with nothing else."""
    with Client(port) as c:
        say(c, data, chop)
        got = [c.message()[:2] for _ in want]
        same(got, want, "answers")
        c.send(frame(CLOSE, close_payload(1000)))
        orderly_end(c, got, [1000])


def failed(port, data, want, code=PROTOCOL, chop=0):
    """The wanted answers come, then the server fails the connection with the code."""
    with Client(port) as c:
        say(c, data, chop)
        got = [c.message()[:2] for _ in want]
        same(got, want, "answers")
        orderly_end(c, got, [code])


# ---- 1 framing, 2 pings, 3 reserved bits, 4 opcodes ----

for kind, op, fill in ((1, TEXT, b"*"), (2, BINARY, b"\xfe")):
    for i, size in enumerate((0, 125, 126, 127, 128, 65535, 65536, 65536), 1):
        case(f"1.{kind}.{i}", fine, frame(op, fill * size), [(op, fill * size)], 997 if i == 8 else 0)

HELLO = b"Hello, world!"
ODD = b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff"
TEN = [b"payload-%d" % i for i in range(10)]
for i, payload in enumerate((b"", HELLO, ODD, b"\xfe" * 125), 1):
    case(f"2.{i}", fine, frame(PING, payload), [(PONG, payload)])
case("2.5", failed, frame(PING, b"\xfe" * 126), [])
case("2.6", fine, frame(PING, b"\xfe" * 125), [(PONG, b"\xfe" * 125)], 1)
case("2.7", fine, frame(PONG), [])
case("2.8", fine, frame(PONG, b"unsolicited pong payload"), [])
case("2.9", fine, frame(PONG, b"unsolicited pong payload") + frame(PING, b"ping payload"), [(PONG, b"ping payload")])
case("2.10", fine, b"".join(frame(PING, p) for p in TEN), [(PONG, p) for p in TEN])
case("2.11", fine, b"".join(frame(PING, p) for p in TEN), [(PONG, p) for p in TEN], 1)

ECHO = [(TEXT, HELLO)]
case("3.1", failed, frame(TEXT, HELLO, rsv=1), [])
case("3.2", failed, frame(TEXT, HELLO) + frame(TEXT, HELLO, rsv=2) + frame(PING), ECHO)
case("3.3", failed, [frame(TEXT, HELLO), frame(TEXT, HELLO, rsv=3), frame(PING)], ECHO)
case("3.4", failed, frame(TEXT, HELLO) + frame(TEXT, HELLO, rsv=4) + frame(PING), ECHO, PROTOCOL, 1)
case("3.5", failed, frame(BINARY, ODD, rsv=5), [])
case("3.6", failed, frame(BINARY, HELLO, rsv=6), [])
case("3.7", failed, frame(CLOSE, rsv=7), [])

for group, base in ((1, 3), (2, 11)):
    case(f"4.{group}.1", failed, frame(base), [])
    case(f"4.{group}.2", failed, frame(base + 1, b"reserved opcode payload"), [])
    for i, payload in ((3, b""), (4, HELLO), (5, HELLO)):
        case(f"4.{group}.{i}", failed, frame(TEXT, HELLO) + frame(base + i - 1, payload) + frame(PING), ECHO, PROTOCOL,
             1 if i == 5 else 0)

# ---- 5 fragments ----

F = [b"fragment%d" % i for i in range(1, 6)]


def frag(*parts):
    """(op, fin, payload) to frames."""
    return [frame(op, payload, fin) for op, fin, payload in parts]


TWO = frag((TEXT, False, F[0]), (CONT, True, F[1]))
PINGED = frag((TEXT, False, F[0]), (PING, True, b"ping payload"), (CONT, True, F[1]))
LOST = frag((CONT, True, b"non-continuation payload"), (TEXT, True, HELLO))
LOST_OPEN = frag((CONT, False, b"non-continuation payload"), (TEXT, True, HELLO))
case("5.1", failed, b"".join(frag((PING, False, F[0]), (CONT, True, F[1]))), [])
case("5.2", failed, b"".join(frag((PONG, False, F[0]), (CONT, True, F[1]))), [])
# One piece, one piece a frame, one piece a byte.
for i, (data, chop) in enumerate(((b"".join(TWO), 0), (TWO, 0), (TWO, 1)), 3):
    case(f"5.{i}", fine, data, [(TEXT, F[0] + F[1])], chop)
for i, (data, chop) in enumerate(((b"".join(PINGED), 0), (PINGED, 0), (PINGED, 1)), 6):
    case(f"5.{i}", fine, data, [(PONG, b"ping payload"), (TEXT, F[0] + F[1])], chop)
for first, data in ((9, LOST), (12, LOST_OPEN)):
    for i, (d, chop) in enumerate(((b"".join(data), 0), (data, 0), (data, 1))):
        case(f"5.{first + i}", failed, d, [], PROTOCOL, chop)
case("5.15", failed, b"".join(TWO + frag((CONT, False, F[2]), (TEXT, True, F[3]))), [(TEXT, F[0] + F[1])])
case("5.16", failed, b"".join(frag((CONT, False, F[0]), (TEXT, False, F[1]), (CONT, True, F[2])) * 2), [])
case("5.17", failed, b"".join(frag((CONT, True, F[0]), (TEXT, False, F[1]), (CONT, True, F[2])) * 2), [])
case("5.18", failed, b"".join(frag((TEXT, False, F[0]), (TEXT, True, F[1]))), [])


def pings_between(port, apart):
    """The first ping is answered before the message is whole."""
    one = frag((TEXT, False, F[0]), (CONT, False, F[1]), (PING, True, b"pongme 1!"))
    two = frag((CONT, False, F[2]), (CONT, False, F[3]), (PING, True, b"pongme 2!"), (CONT, True, F[4]))
    with Client(port) as c:
        say(c, one if apart else b"".join(one))
        same(c.message()[:2], (PONG, b"pongme 1!"), "first answer")
        say(c, two if apart else b"".join(two))
        same([c.message()[:2] for _ in range(2)], [(PONG, b"pongme 2!"), (TEXT, b"".join(F))], "answers")
        c.send(frame(CLOSE, close_payload(1000)))
        orderly_end(c, [], [1000])


case("5.19", pings_between, False)
case("5.20", pings_between, True)

# ---- 6 UTF-8 ----

GREEK = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"
MIXED = "Hello-µ@ßöäüàá-UTF-8!!".encode()
SPLIT = len("Hello-µ@ßöä".encode())
case("6.1.1", fine, frame(TEXT), [(TEXT, b"")])
case("6.1.2", fine, b"".join(frag((TEXT, False, b""), (CONT, False, b""), (CONT, True, b""))), [(TEXT, b"")])
case("6.1.3", fine, b"".join(frag((TEXT, False, b""), (CONT, False, b"middle frame payload"), (CONT, True, b""))),
     [(TEXT, b"middle frame payload")])
case("6.2.1", fine, frame(TEXT, MIXED), [(TEXT, MIXED)])
case("6.2.2", fine, b"".join(frag((TEXT, False, MIXED[:SPLIT]), (CONT, True, MIXED[SPLIT:]))), [(TEXT, MIXED)])
case("6.2.3", fine, frames(TEXT, MIXED, 1), [(TEXT, MIXED)])
case("6.2.4", fine, frames(TEXT, GREEK, 1), [(TEXT, GREEK)])
SURROGATE = GREEK + b"\xed\xa0\x80edited"
case("6.3.1", failed, frame(TEXT, SURROGATE), [], BAD_DATA)
case("6.3.2", failed, frames(TEXT, SURROGATE, 1), [], BAD_DATA)


def fails_fast(port, parts, one_frame):
    """The first part is no reason to fail; the second is, at once: the third is never sent."""
    with Client(port) as c:
        if one_frame:
            whole = frame(TEXT, b"".join(parts))
            at = len(whole) - sum(map(len, parts))
            c.send(whole[:at + len(parts[0])])
        else:
            c.send(frame(TEXT, parts[0], False))
        assert c.is_silent(0.3), "answered too early"
        if one_frame:
            c.send(whole[at + len(parts[0]):at + len(parts[0]) + len(parts[1])])
        else:
            c.send(frame(CONT, parts[1], False))
        orderly_end(c, [], [BAD_DATA])


BEYOND = GREEK + b"\xf4\x90\x80\x80edited"
THREE = (BEYOND[:11], BEYOND[11:15], BEYOND[15:])
EXACT = (BEYOND[:12], BEYOND[12:13], BEYOND[13:])
for i, (parts, one_frame) in enumerate(((THREE, False), (EXACT, False), (THREE, True), (EXACT, True)), 1):
    case(f"6.4.{i}", fails_fast, parts, one_frame)

# The sections of Markus Kuhn's decoder stress test, and non-characters. Python's strict decoder says what is UTF-8.
LONELY = [bytes(b for c in range(lo, hi) for b in (c, 0x20))
          for lo, hi in ((0xc0, 0xdf), (0xe0, 0xef), (0xf0, 0xf7), (0xf8, 0xfb), (0xfc, 0xfd))]
CUT = [b"\xc0", b"\xe0\x80", b"\xf0\x80\x80", b"\xf8\x80\x80\x80", b"\xfc\x80\x80\x80\x80",
       b"\xdf", b"\xef\xbf", b"\xf7\xbf\xbf", b"\xfb\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf"]
CONTINUATION = [b"\x80", b"\xbf"] + [(b"\x80\xbf" * 3)[:n] for n in range(2, 7)] + [bytes(range(0x80, 0xbf))]


def overlong(two, three, four, five, six):
    return [bytes.fromhex(x) for x in (two, three, four, five, six)]


NONCHARS = [b"\xef\xbf\xbe", b"\xef\xbf\xbf"]
for plane in range(1, 17):
    NONCHARS += [chr(plane << 16 | 0xfffe).encode(), chr(plane << 16 | 0xffff).encode()]
HIGH, LOW = ("d800", "db7f", "db80", "dbff"), ("dc00", "df80", "dfff")


def cesu(code):
    c = int(code, 16)
    return bytes([0xe0 | c >> 12, 0x80 | c >> 6 & 63, 0x80 | c & 63])


SEQUENCES = [
    [b"hello$world", b"hello\xc2\xa2world", b"hello\xe2\x82\xacworld", b"hello\xf0\xa4\xad\xa2world", GREEK],
    [GREEK[:n] for n in range(1, len(GREEK) + 1)],
    [b"\x00", b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80"],
    [b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"],
    [b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"],
    [b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf"],
    [b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80"],
    CONTINUATION,
    LONELY,
    CUT,
    [b"".join(CUT)],
    [b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"],
    overlong("c0af", "e080af", "f08080af", "f8808080af", "fc80808080af"),
    overlong("c1bf", "e09fbf", "f08fbfbf", "f887bfbfbf", "fc83bfbfbfbf"),
    overlong("c080", "e08080", "f0808080", "f880808080", "fc8080808080"),
    [cesu(c) for c in HIGH + LOW],
    [cesu(h) + cesu(lo) for h in HIGH for lo in ("dc00", "dfff")],
    NONCHARS,
    [b"\xef\xbf" + bytes([c]) for c in range(0xb9, 0xc0)],
]


def is_utf8(data):
    try:
        data.decode()
        return True
    except UnicodeDecodeError:
        return False


for group, sequences in enumerate(SEQUENCES, 5):
    for i, text in enumerate(sequences, 1):
        if is_utf8(text):
            case(f"6.{group}.{i}", fine, frame(TEXT, text), [(TEXT, text)])
        else:
            case(f"6.{group}.{i}", failed, frame(TEXT, text), [], BAD_DATA)

# ---- 7 closing ----


def closing(port, data, want, codes):
    """We begin to close, in our own way."""
    with Client(port) as c:
        say(c, data)
        got = [c.message()[:2] for _ in want]
        same(got, want, "answers")
        orderly_end(c, got, codes)


BYE = frame(CLOSE, close_payload(1000))
LONG = (b"BAsd7&jh23" * 26215)[:256 * 1024]
case("7.1.1", fine, frame(TEXT, b"Hello World!"), [(TEXT, b"Hello World!")])
case("7.1.2", closing, BYE + frame(CLOSE), [], [1000])
case("7.1.3", closing, BYE + frame(PING), [], [1000])
case("7.1.4", closing, BYE + frame(TEXT, b"Hello World!"), [], [1000])
case("7.1.5", closing, frame(TEXT, F[0], False) + BYE + frame(CONT, F[1]), [], [1000])
case("7.1.6", closing, frame(TEXT, LONG) + frame(TEXT, b"Hello World!") + BYE + frame(PING),
     [(TEXT, LONG), (TEXT, b"Hello World!")], [1000])
case("7.3.1", closing, frame(CLOSE), [], [None, 1000])
case("7.3.2", closing, frame(CLOSE, b"a"), [], [PROTOCOL])
case("7.3.3", closing, BYE, [], [1000])
case("7.3.4", closing, frame(CLOSE, close_payload(1000, b"Hello World!")), [], [1000])
case("7.3.5", closing, frame(CLOSE, close_payload(1000, b"*" * 123)), [], [1000])
case("7.3.6", closing, frame(CLOSE, close_payload(1000, b"*" * 124)), [], [PROTOCOL])
case("7.5.1", closing, frame(CLOSE, close_payload(1000, SURROGATE)), [], [PROTOCOL, BAD_DATA])
for i, code in enumerate((1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999), 1):
    case(f"7.7.{i}", closing, frame(CLOSE, close_payload(code)), [], [1000, code])
for i, code in enumerate((0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999), 1):
    case(f"7.9.{i}", closing, frame(CLOSE, close_payload(code)), [], [PROTOCOL])
for i, code in enumerate((5000, 65535), 1):
    case(f"7.13.{i}", closing, frame(CLOSE, close_payload(code)), [], [1000, code, PROTOCOL])

# ---- 9 sizes and speed, 10 fragments of odd size ----

KIB, MIB = 1024, 1024 * 1024


def big(port, op, pattern, size, fragment, chop):
    payload = (pattern * (size // len(pattern) + 1))[:size]
    fine(port, frames(op, payload, fragment or size), [(op, payload)], chop)


def many(port, op, fill, size):
    payload = fill * size
    with Client(port) as c:
        for _ in range(1000):
            c.send(frame(op, payload))
            same(c.message()[:2], (op, payload), "echo")
        c.send(BYE)
        orderly_end(c, [], [1000])


for group, op, pattern in ((1, TEXT, b"BAsd7&jh23"), (2, BINARY, b"\x00\xfe\x23\xfa\xf0")):
    for i, size in enumerate((64 * KIB, 256 * KIB, MIB, 4 * MIB, 8 * MIB, 16 * MIB), 1):
        case(f"9.{group}.{i}", big, op, pattern, size, 0, 0)
for group, op, pattern in ((3, TEXT, b"*"), (4, BINARY, b"\xfe")):
    for i, size in enumerate((64, 256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB), 1):
        case(f"9.{group}.{i}", big, op, pattern, 4 * MIB, size, 0)
for group, op, pattern in ((5, TEXT, b"BAsd7&jh23"), (6, BINARY, b"\x00\xfe\x23\xfa\xf0")):
    for i, chop in enumerate((64, 128, 256, 512, 1024, 2048), 1):
        case(f"9.{group}.{i}", big, op, pattern, MIB, 0, chop)
for group, op, fill in ((7, TEXT, b"*"), (8, BINARY, b"\xfe")):
    for i, size in enumerate((0, 16, 64, 256, 1024, 4096), 1):
        case(f"9.{group}.{i}", many, op, fill, size)
case("10.1.1", big, TEXT, b"*", 65536, 1300, 0)
PLAIN_CASES = len(CASES)

# ---- 12, 13 permessage-deflate ----


def corpus(kind):
    """256 KiB of the kind of data that the list uses; made here, the same in every run."""
    rng = random.Random(kind)
    words = ["lux", "block", "Träger", "hash", "the", "of", "und", "Gretchen", "0x", "log", "naïve", "é"]
    out = []
    size = 0
    while size < 256 * KIB:
        if kind == "json":
            part = '{"number":"0x%x","topic":"%s","gas":%d},' % (rng.getrandbits(64), rng.choice(words), rng.randrange(9999))
        elif kind == "html":
            part = '<tr class="%s"><td>%d</td></tr>\n' % (rng.choice(words), rng.randrange(100))
        elif kind == "text":
            part = " ".join(rng.choices(words, k=12)) + ".\n"
        elif kind == "picture":
            part = "".join(chr(x % 128) for x in range(rng.randrange(100), rng.randrange(100, 200)))
        else:
            part = "".join(map(chr, rng.choices(range(256), k=200)))
        out.append(part)
        size += len(part)
    return "".join(out)


DATA = [("json", TEXT), ("picture", BINARY), ("text", BINARY), ("html", TEXT), ("document", BINARY)]
SIZES = [(16, 0), (64, 0), (256, 0), (1024, 0), (4096, 0), (8192, 0), (16384, 0), (32768, 0), (65536, 0), (131072, 0),
         (8192, 256), (16384, 256), (32768, 256), (65536, 256), (131072, 256), (131072, 1024), (131072, 4096),
         (131072, 32768)]
OFFERS = [
    "permessage-deflate; client_max_window_bits",
    "permessage-deflate; client_max_window_bits; server_no_context_takeover",
    "permessage-deflate; client_max_window_bits; server_max_window_bits=9",
    "permessage-deflate; client_max_window_bits; server_max_window_bits=15",
    "permessage-deflate; client_max_window_bits; server_no_context_takeover; server_max_window_bits=9",
    "permessage-deflate; client_max_window_bits; server_no_context_takeover; server_max_window_bits=15",
    "permessage-deflate; client_max_window_bits; server_no_context_takeover; server_max_window_bits=9, "
    "permessage-deflate; client_max_window_bits; server_no_context_takeover, permessage-deflate; client_max_window_bits",
]
MESSAGES = 10


class Deflate:
    """The client's half, as the server's answer wants it."""

    def __init__(self, answer, offer):
        params = dict((k.strip(), v.strip()) for k, _, v in (p.partition("=") for p in answer.split(";")))
        assert "permessage-deflate" in params, f"no compression agreed: {answer!r}"
        first = offer.split(",")[0]
        if "server_no_context_takeover" in first:
            assert "server_no_context_takeover" in params, answer
        if m := re.search(r"server_max_window_bits=(\d+)", first):
            same(params.get("server_max_window_bits"), m[1], "window")
        self.keeps_ours = "client_no_context_takeover" not in params
        self.keeps_theirs = "server_no_context_takeover" not in params
        self.our_bits = int(params.get("client_max_window_bits") or 15)
        self.their_bits = int(params.get("server_max_window_bits") or 15)
        self.ours = self.theirs = None

    def pack(self, data):
        if self.ours is None or not self.keeps_ours:
            self.ours = zlib.compressobj(wbits=-self.our_bits)
        return (self.ours.compress(data) + self.ours.flush(zlib.Z_SYNC_FLUSH))[:-4]

    def unpack(self, data):
        if self.theirs is None or not self.keeps_theirs:
            self.theirs = zlib.decompressobj(wbits=-self.their_bits)
        return self.theirs.decompress(data + b"\x00\x00\xff\xff")


def compressed(port, offer, op, kind, size, fragment):
    text = corpus(kind)
    with Client(port, offers=offer) as c:
        z = Deflate(c.headers.get("sec-websocket-extensions", ""), offer)
        at = 0
        wire = plain = 0
        for _ in range(MESSAGES):
            part = (text + text)[at:at + size]
            at = (at + size) % len(text)
            data = part.encode("utf-8" if op == TEXT else "latin-1", "replace")
            packed = z.pack(data)
            c.send(frames(op, packed, fragment or len(packed), rsv=4))
            got_op, payload, rsv = c.message()
            wire += len(payload)
            plain += len(data)
            assert rsv in (0, 4)
            same((got_op, z.unpack(payload) if rsv else payload), (op, data), "echo")
        if size >= 1024 and kind != "document":
            assert wire < plain * 0.8, f"{wire} of {plain} bytes: not compressed"
        c.send(BYE)
        orderly_end(c, [], [1000])


for group, (kind, op) in enumerate(DATA, 1):
    for i, (size, fragment) in enumerate(SIZES, 1):
        case(f"12.{group}.{i}", compressed, OFFERS[0], op, kind, size, fragment)
for group, offer in enumerate(OFFERS, 1):
    for i, (size, fragment) in enumerate(SIZES, 1):
        case(f"13.{group}.{i}", compressed, offer, TEXT, "json", size, fragment)

# ---- the runner ----


def run(number, port):
    fn, args = CASES[number]
    try:
        fn(port, *args)
        return number, None
    except Exception as e:  # whatever goes wrong is this case's failure
        return number, "".join(traceback.format_exception_only(e)).strip()


def main():
    global MESSAGES
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--server", required=True, help="the echo server program")
    args.add_argument("--messages", type=int, default=MESSAGES, help="of a case of groups 12 and 13")
    args.add_argument("--only", default="", help="cases whose number begins so")
    args.add_argument("-v", action="store_true", help="name the cases that pass, too")
    opt = args.parse_args()
    MESSAGES = opt.messages
    assert (PLAIN_CASES, len(CASES)) == (301, 517), (PLAIN_CASES, len(CASES))
    numbers = [n for n in CASES if n.startswith(opt.only)]
    bad = 0
    server = subprocess.Popen([opt.server], stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline().rsplit(" ", 1)[1])
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for number, problem in pool.map(lambda n: run(n, port), numbers):
                bad += problem is not None
                if problem is not None or opt.v:
                    print(f"{'FAIL' if problem else 'ok'} case {number}{': ' + problem if problem else ''}", flush=True)
    finally:
        server.terminate()
        code = server.wait(30)
    if code != 0:
        print(f"FAIL the server ended with {code}")
        bad += 1
    print(f"{len(numbers) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
