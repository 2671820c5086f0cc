"""A WebSocket client that can say anything: single frames, wrong ones too, cut into pieces as asked.

Standard library only. It checks what a server may send: no masks, no fragments of control frames."""
import base64
import hashlib
import os
import socket
import struct

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LIMIT_S = 60


class Broken(Exception):
    """The server did what no server may do."""


def xor(data, key):
    n = len(data)
    mask = (key * (n // 4 + 1))[:n]
    return (int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")).to_bytes(n, "big")


def frame(op, payload=b"", fin=True, rsv=0):
    """One frame of a client. payload may be longer than a control frame allows."""
    n = len(payload)
    size = bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n) if n < 65536 else b"\xff" + struct.pack(">Q", n)
    key = os.urandom(4)
    return bytes([(0x80 if fin else 0) | rsv << 4 | op]) + size + key + xor(payload, key)


def frames(op, payload, size, rsv=0):
    """A message in frames of at most size bytes."""
    parts = [payload[i:i + size] for i in range(0, len(payload), size)] or [b""]
    return b"".join(frame(op if i == 0 else CONT, p, i == len(parts) - 1, rsv if i == 0 else 0)
                    for i, p in enumerate(parts))


def close_payload(code, reason=b""):
    return struct.pack(">H", code) + reason


class Client:
    def __init__(self, port, path="/", offers=None, host="127.0.0.1"):
        self.sock = socket.create_connection((host, port), LIMIT_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = bytearray()
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key.decode()}"]
        if offers:
            lines.append(f"Sec-WebSocket-Extensions: {offers}")
        self.sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        while b"\r\n\r\n" not in self.buf:
            self._more()
        head, _, rest = bytes(self.buf).partition(b"\r\n\r\n")
        self.buf = bytearray(rest)
        status, *fields = head.decode().split("\r\n")
        if not status.startswith("HTTP/1.1 101 "):
            raise Broken(status)
        self.headers = {k.lower(): v.strip() for k, _, v in (f.partition(":") for f in fields)}
        want = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        if self.headers.get("sec-websocket-accept") != want:
            raise Broken("wrong Sec-WebSocket-Accept")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def _more(self):
        data = self.sock.recv(1 << 20)
        if not data:
            raise EOFError
        self.buf += data

    def send(self, data, chop=0):
        """chop: size of the pieces, each with a system call of its own; 0: one piece. A server that has closed
        need not take the rest."""
        try:
            for i in range(0, len(data), chop or max(len(data), 1)):
                self.sock.sendall(data[i:i + chop] if chop else data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def recv(self):
        """The next frame as (fin, rsv, op, payload); EOFError at the end of the connection."""
        while len(self.buf) < 2:
            self._more()
        b0, b1 = self.buf[0], self.buf[1]
        if b1 & 0x80:
            raise Broken("a server's frame is masked")
        n, at = b1 & 0x7f, 2
        if n >= 126:
            at = 4 if n == 126 else 10
            while len(self.buf) < at:
                self._more()
            n = struct.unpack(">H" if at == 4 else ">Q", self.buf[2:at])[0]
        while len(self.buf) < at + n:
            self._more()
        payload = bytes(self.buf[at:at + n])
        del self.buf[:at + n]
        fin, rsv, op = bool(b0 & 0x80), b0 >> 4 & 7, b0 & 15
        if op >= CLOSE and (not fin or n > 125 or rsv):
            raise Broken("not a proper control frame")
        return fin, rsv, op, payload

    def message(self):
        """The next message or control frame as (op, payload, rsv), its frames put together."""
        fin, rsv, op, payload = self.recv()
        parts = [payload]
        while not fin:
            fin, more_rsv, cont, payload = self.recv()
            if cont != CONT or more_rsv:
                raise Broken("frames of a message do not belong together")
            parts.append(payload)
        return op, b"".join(parts), rsv

    def rest(self, limit=20):
        """Everything until the connection ends."""
        got = []
        try:
            while len(got) < limit:
                got.append(self.message()[:2])
        except (EOFError, ConnectionResetError):
            return got
        raise Broken("the connection does not end")

    def is_silent(self, seconds):
        """Nothing comes for a while."""
        self.sock.settimeout(seconds)
        try:
            self._more()
            return False
        except TimeoutError:
            return not self.buf
        except EOFError:
            return False
        finally:
            self.sock.settimeout(LIMIT_S)
