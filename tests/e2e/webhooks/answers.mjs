// A receiver over TLS, HTTP/2 and HTTP/1.1 on one port, that answers as the path says. Prints a line of JSON for each request:
// {"path", "version", "headers", "body", "connection"}; the first line is its port.
//
//   node answers.mjs KEY CERTIFICATE [plain]
import { createSecureServer } from "node:http2";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [key, cert, plain] = process.argv.slice(2);
const connections = new Map();
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

function forever(res, piece, ms) {
    const timer = setInterval(() => res.write(piece), ms);
    res.on("close", () => clearInterval(timer));
    res.on("error", () => clearInterval(timer));
}

const answers = {
    ok: (req, res) => res.end("thanks"),
    created: (req, res) => res.writeHead(201).end(),
    none: (req, res) => res.writeHead(204).end(),
    odd: (req, res) => res.writeHead(299).end(),
    hints: (req, res) => (res.writeEarlyHints({ link: "</x>; rel=preload" }), res.end()),
    chunks: (req, res) => ([..."in chunks"].forEach((c) => res.write(c)), res.end()),
    long: (req, res) => forever(res, Buffer.alloc(1 << 16), 1),
    drips: (req, res) => (res.write("d"), forever(res, "d", 200)),
    bomb: (req, res) => res.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(200 << 20))),
    silent: () => {},
    gone: (req, res) => res.writeHead(410).end(),
    later: (req, res) => res.writeHead(429, { "retry-after": "120" }).end("slow down"),
    date: (req, res) => res.writeHead(503, { "retry-after": new Date(Date.now() + 600_000).toUTCString() }).end(),
    moved: (req, res) => res.writeHead(Number(req.url.split("?")[1]), { location: "/elsewhere" }).end(),
    breaks: (req, res) => res.stream ? res.stream.close(2) : req.socket.destroy(),
    floods: (req, res) => res.writeHead(200, Object.fromEntries([...Array(90).keys()].map((i) => [`x-${i}`, "x".repeat(1000)])))
        .end(),
};

function serve(req, res) {
    const pieces = [];
    const socket = req.stream?.session?.socket ?? req.socket;
    if (!connections.has(socket)) {
        connections.set(socket, connections.size);
    }
    req.on("error", () => {});
    res.on("error", () => {});
    req.on("data", (piece) => pieces.push(piece));
    req.on("end", () => {
        const path = req.url.slice(1).split("?")[0];
        const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !name.startsWith(":")));
        say({ path, version: req.httpVersion, headers, body: Buffer.concat(pieces).toString(),
            connection: connections.get(socket) });
        answers[path](req, res);
    });
}

const server = plain ? createServer(serve)
    : createSecureServer({ key: readFileSync(key), cert: readFileSync(cert), allowHTTP1: true }, serve);
server.on("sessionError", () => {});
server.on("tlsClientError", () => {});
server.on("clientError", (e, socket) => socket.destroy());
server.listen(0, "127.0.0.1", () => say(server.address().port));
