#!/usr/bin/env python3
"""grpcio against our server, and against our client (serve). Prints a line a check, "ok NAME" or "FAIL NAME: reason".

usage: grpcio_client.py client ADDRESS | serve
"""
import concurrent.futures
import sys

import grpc

UNARY = "/grpc.testing.TestService/UnaryCall"
EMPTY = "/grpc.testing.TestService/EmptyCall"
FAILED = []


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(raw):
    """The fields of a message: number to value, the last one that came."""
    out, at = {}, 0

    def number():
        nonlocal at
        v, shift = 0, 0
        while True:
            byte = raw[at]
            at += 1
            v |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return v

    while at < len(raw):
        tag = number()
        if tag & 7 == 0:
            out[tag >> 3] = number()
        else:
            n = number()
            out[tag >> 3] = raw[at:at + n]
            at += n
    return out


def check(name, ok, reason=""):
    print(f"ok grpcio/{name}" if ok else f"FAIL grpcio/{name}: {reason}")
    if not ok:
        FAILED.append(name)


def code_of(call, request, **options):
    try:
        call(request, **options)
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


def client(address):
    with grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        unary, empty = channel.unary_unary(UNARY), channel.unary_unary(EMPTY)
        check("empty_unary", empty(b"") == b"")
        body = fields(fields(unary(field(2, 314159) + field(3, field(2, bytes(271828)))))[1])
        check("large_unary", len(body[2]) == 314159)
        got = code_of(unary, field(7, field(1, 2) + field(2, b"test status message")))
        check("status_code_and_message", got == (grpc.StatusCode.UNKNOWN, "test status message"), got)
        text = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n"
        got = code_of(unary, field(7, field(1, 2) + field(2, text.encode())))
        check("special_status_message", got == (grpc.StatusCode.UNKNOWN, text), got)
        got = code_of(channel.unary_unary("/grpc.testing.TestService/UnimplementedCall"), b"")
        check("unimplemented_method", got[0] == grpc.StatusCode.UNIMPLEMENTED, got)
        got = code_of(channel.unary_unary("/grpc.testing.UnimplementedService/UnimplementedCall"), b"")
        check("unimplemented_service", got[0] == grpc.StatusCode.UNIMPLEMENTED, got)
        _, call = unary.with_call(b"", metadata=[("x-grpc-test-echo-initial", "test_initial_metadata_value"),
                                                 ("x-grpc-test-echo-trailing-bin", b"\x0a\x0b\x0a\x0b\x0a\x0b")])
        first = dict(call.initial_metadata())
        last = dict(call.trailing_metadata())
        check("custom_metadata", first.get("x-grpc-test-echo-initial") == "test_initial_metadata_value" and
              last.get("x-grpc-test-echo-trailing-bin") == b"\x0a\x0b\x0a\x0b\x0a\x0b", (first, last))
        got = code_of(empty, b"", timeout=-1)
        check("deadline", got[0] == grpc.StatusCode.DEADLINE_EXCEEDED, got)
        got = code_of(unary, b"x", compression=grpc.Compression.Gzip)
        check("compressed_is_refused", got[0] in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INVALID_ARGUMENT), got)
        futures = [unary.future(field(2, i * 100)) for i in range(100)]
        sizes = [len(fields(fields(f.result())[1]).get(2, b"")) for f in futures]
        check("many_at_once", sizes == [i * 100 for i in range(100)], sizes)
        health = channel.unary_unary("/grpc.health.v1.Health/Check")
        check("health", health(b"") == b"\x08\x01" and health(field(1, b"grpc.testing.TestService")) == b"\x08\x01")


class Service(grpc.GenericRpcHandler):
    """The unary part of grpc.testing.TestService."""

    def service(self, details):
        calls = {UNARY: self.unary, EMPTY: lambda request, context: b""}
        handler = calls.get(details.method)
        return handler and grpc.unary_unary_rpc_method_handler(handler)

    @staticmethod
    def unary(request, context):
        asked = fields(request)
        if 7 in asked:
            status = fields(asked[7])
            context.set_code(grpc.StatusCode.UNKNOWN)
            context.set_details(status[2].decode())
            return b""
        return field(1, field(2, bytes(asked.get(2, 0))))


def serve():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Service(),))
    print("port", server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        client(sys.argv[2])
        sys.exit(bool(FAILED))
