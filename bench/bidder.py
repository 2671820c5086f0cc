#!/usr/bin/env python3
"""A bidder that costs little: the same answer to every POST, whatever it says. usage: bidder.py FILE (the answer's body)

Prints its port. Requests have a Content-Length; those of several auctions may come at once."""
import asyncio
import pathlib
import re
import sys

LENGTH = re.compile(rb"content-length: *(\d+)", re.I)


class Talk(asyncio.Protocol):
    answer = b""

    def connection_made(self, transport):
        self.transport, self.got = transport, b""

    def data_received(self, data):
        self.got += data
        while (end := self.got.find(b"\r\n\r\n")) >= 0:
            whole = end + 4 + int(LENGTH.search(self.got, 0, end + 2)[1])
            if len(self.got) < whole:
                return
            self.got = self.got[whole:]
            self.transport.write(self.answer)


async def main():
    body = pathlib.Path(sys.argv[1]).read_bytes()
    Talk.answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    server = await asyncio.get_running_loop().create_server(Talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
