"""Dialogues over raw HTTP: what a careless or hostile client may send, and the answer it gets."""
import http.client
import json
import re
import socket
import time

from harness import ACCOUNTS, RpcError, match, same

JSON = {"Content-Type": "application/json"}
CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": "0x539"}
BODY_MAX = 5 << 20


def ask(env, method="POST", path="/", body=None, headers=None):
    """One request on a connection of its own: (status, headers, body)."""
    conn = http.client.HTTPConnection(env.node.host, env.node.port, timeout=30)
    try:
        conn.request(method, path, body, JSON if headers is None else headers)
        r = conn.getresponse()
        return r.status, r.headers, r.read()
    finally:
        conn.close()


def post(env, body):
    status, headers, text = ask(env, body=body if isinstance(body, (str, bytes)) else json.dumps(body))
    same(status, 200)
    same(headers["Content-Type"], "application/json")
    return json.loads(text)


def raw(env, data, timeout=10):
    """Sends bytes as they are and reads until the server closes or falls silent."""
    with socket.create_connection((env.node.host, env.node.port), timeout=timeout) as s:
        s.settimeout(2)
        out = b""
        try:
            s.sendall(data)
            while part := s.recv(65536):
                out += part
        except (TimeoutError, ConnectionError):
            pass
        return out


def error(code, message, ident=1):
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}}


def alive(env):
    same(post(env, CALL), ANSWER, "the node afterwards")


def test_malformed_json(env):
    want = error(-32700, "parse error", None)
    deep = "[" * 100000
    for body in ("", "{", "'f", "{]", '{"jsonrpc":"2.0"', "nul", '"\\u12"', "\x00", deep, deep + "]" * 100000,
                 b"\xff\xfe", b'{"a":"\xff"}', "[1,]", "01", "1e", '{"a":1,}'):
        start = time.monotonic()
        same(post(env, body), want, repr(body[:40]))
        assert time.monotonic() - start < 2
    alive(env)


def test_invalid_requests(env):
    bad = error(-32600, "invalid request", None)
    for body in ("1", "null", '"x"', "true",
                 '{"id":[],"method":"eth_chainId"}', '{"id":{},"method":"eth_chainId"}', "{}"):
        same(post(env, body), bad, body)
    for body in ({"id": 1}, {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.1", "id": 1, "method": "eth_chainId"},
                 {"jsonrpc": 2.0, "id": 1, "method": "eth_chainId"}, {"id": 1, "method": "eth_chainId"},
                 {"jsonrpc": "2.0", "id": 1, "method": 5}, {"jsonrpc": "2.0", "id": 1, "method": ""}):
        same(post(env, body), error(-32600, "invalid request"), str(body))


def test_ids_come_back_as_they_were(env):
    for ident in ("0", "-7", "123456789012345678901234567890", '"x y"', '""', '"\\u00e9"', "1.5", "null"):
        text = ask(env, body='{"jsonrpc":"2.0","id":%s,"method":"eth_chainId"}' % ident)[2].decode()
        same(json.loads(text)["id"], json.loads(ident))
        if not ident.startswith('"\\'):
            assert f'"id":{ident},' in text, text
    match(text, r'^\{"jsonrpc":"2.0","id":null,"result":"0x539"\}\s*$')


def test_unknown_methods(env):
    for name in ("eth_nothing", "eth_chainid", "x" * 5000, "evm_\u2603"):
        reply = post(env, {"jsonrpc": "2.0", "id": 1, "method": name})["error"]
        same(reply["code"], -32601, name[:20])
        match(reply["message"], r"^the method .* does not exist/is not available$")


def test_parameters(env):
    def refused(method, params, code, words):
        reply = post(env, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert "error" in reply, f"{method} {params}: {reply}"
        same(reply["error"]["code"], code, f"{method} {params}: {reply['error']['message']}")
        match(reply["error"]["message"], words)

    who = ACCOUNTS[0]
    refused("eth_getBalance", {"address": who}, -32602, "^non-array args$")
    refused("eth_getBalance", [], -32602, "^missing value for required argument 0$")
    refused("eth_getBalance", [None], -32602, "^missing value for required argument 0$")
    refused("eth_chainId", [1], -32602, "^too many arguments, want at most 0$")
    refused("eth_getBalance", ["f39f", "latest"], -32602, "^invalid argument 0: .*hex string without 0x prefix")
    refused("eth_getBalance", ["0x1", "latest"], -32602, "^invalid argument 0: .*hex string")
    refused("eth_getBalance", ["0x12", "latest"], -32602, "has length 2, want 40 for common.Address")
    refused("eth_getBalance", [who[:-1] + "g", "latest"], -32602, "^invalid argument 0: .*invalid hex string")
    refused("eth_getBalance", [5, "latest"], -32602, "^invalid argument 0: ")
    refused("eth_getBalance", [who, "0x01"], -32602, "^invalid argument 1: .*leading zero digits")
    refused("eth_getBalance", [who, "0x"], -32602, "^invalid argument 1: .*hex string")
    refused("eth_getBalance", [who, "soon"], -32602, "^invalid argument 1: ")
    refused("eth_getBalance", [who, "0x1ffffffffffffffff"], -32602, "^invalid argument 1: ")
    refused("eth_getBalance", [who, {}], -32602, "^invalid argument 1: ")
    refused("eth_getBalance", [who, "0xffffff"], -32000, "^cannot query unfinalized data$")
    refused("eth_getBlockByHash", ["0x12", True], -32602, "has length 2, want 64 for common.Hash")
    refused("eth_getBlockByNumber", ["latest", "yes"], -32602, "^invalid argument 1: ")
    refused("eth_getLogs", ["all"], -32602, "^invalid argument 0: ")
    refused("eth_getLogs", [{"fromBlock": "0x5", "toBlock": "0x1"}], -32000, ".")
    refused("eth_getLogs", [{"topics": [[]] * 5}], -32000, "topics")
    refused("eth_getLogs", [{"address": ["0x00"]}], -32602, "^invalid argument 0: ")
    refused("eth_sendRawTransaction", ["0x"], -32000, ".")
    refused("eth_sendRawTransaction", ["0xc0"], -32000, ".")
    refused("eth_sendRawTransaction", ["0x" + "ff" * 64], -32000, ".")
    refused("eth_sendRawTransaction", ["0x02" + "f8" * 300], -32000, ".")
    refused("eth_sendRawTransaction", ["0x0"], -32602, "^invalid argument 0: ")
    refused("eth_sendTransaction", [{"from": who, "to": who, "value": "0x" + "f" * 64}], -32000, ".")
    refused("eth_sendTransaction", [{"from": who}], -32000, "contract creation without any data provided")
    refused("eth_sendTransaction", [{"from": "0x" + "11" * 20, "to": who}], -32000, "^unknown account$")
    refused("eth_sendTransaction", [{"from": who, "to": who, "chainId": "0x1"}], -32000, "chainId does not match")
    refused("eth_sendTransaction", [{"from": who, "to": who, "data": "0x01", "input": "0x02"}], -32602, "both")
    refused("eth_sendTransaction", [{"from": who, "to": who, "gasPrice": "0x1", "maxFeePerGas": "0x1"}], -32000,
            "both gasPrice and")
    refused("eth_call", [{"to": who, "data": "0x1"}, "latest"], -32602, "^invalid argument 0: ")
    refused("eth_call", ["x", "latest"], -32602, "^invalid argument 0: ")
    refused("eth_call", [{"data": "0xfe"}, "latest"], -32000, "invalid opcode")
    refused("eth_call", [{"data": "0x5b600056"}, "latest"], -32000, "out of gas")
    refused("eth_call", [{"data": "0x60006000fd"}, "latest"], 3, "^execution reverted$")
    refused("eth_feeHistory", ["0x1", "latest", [50, 25]], -32000, "invalid reward percentile")
    refused("eth_feeHistory", ["0x1", "latest", [101]], -32000, "invalid reward percentile")
    alive(env)


def test_batches(env):
    def one(i):
        return {"jsonrpc": "2.0", "id": i, "method": "eth_chainId"}

    bad = error(-32600, "invalid request", None)
    same(post(env, []), error(-32600, "empty batch", None))
    same(post(env, [1]), [bad])
    same(post(env, [1, None, []]), [bad] * 3)
    same(post(env, [one(1)]), [ANSWER])
    mixed = [one(1), 55, {"jsonrpc": "2.0", "id": 2, "method": "unknown_method"}, {"foo": "bar"},
             {"jsonrpc": "2.0", "method": "eth_chainId"}]
    same(post(env, mixed), [ANSWER, bad, error(-32601, "the method unknown_method does not exist/is not available", 2),
                            bad])
    full = post(env, [one(i) for i in range(1000)])
    same([r["id"] for r in full], list(range(1000)))
    same(post(env, [one(i) for i in range(7, 1008)]), [error(-32600, "batch too large", 7)])
    quiet = [{"jsonrpc": "2.0", "method": "eth_chainId"}] * 1001
    same(post(env, quiet), [error(-32600, "batch too large", None)])
    same(post(env, quiet + [one(3)]), [error(-32600, "batch too large", 3)])


def test_notifications_get_an_empty_answer(env):
    for body in ({"jsonrpc": "2.0", "method": "eth_chainId"}, [{"jsonrpc": "2.0", "method": "eth_nothing"}] * 2):
        status, _, text = ask(env, body=json.dumps(body))
        same((status, text), (200, b""))


def test_a_batch_of_transactions_in_order(env):
    rpc = env.node.rpc()
    before = int(rpc("eth_getTransactionCount", ACCOUNTS[2], "latest"), 16)
    tx = {"from": ACCOUNTS[2], "to": ACCOUNTS[3], "value": "0x1", "gas": "0x5208"}
    batch = [{"jsonrpc": "2.0", "id": i, "method": "eth_sendTransaction", "params": [tx]} for i in range(20)]
    hashes = [r["result"] for r in post(env, batch)]
    same(len(set(hashes)), 20)
    same(int(rpc("eth_getTransactionCount", ACCOUNTS[2], "latest"), 16), before + 20)
    for r in rpc.batch([("eth_getTransactionReceipt", [h]) for h in hashes]):
        same(r["status"], "0x1")


def test_content_types(env):
    for kind in ("application/json", "application/json; charset=utf-8", "Application/JSON", "application/json-rpc",
                 "application/jsonrequest", "application/json ;charset=utf-8"):
        status, _, text = ask(env, body=CALL, headers={"Content-Type": kind})
        same((status, json.loads(text)), (200, ANSWER), kind)
    for headers in ({"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"},
                    {"Content-Type": "application/jsonx"}, {"Content-Type": ""}, {}):
        status, _, text = ask(env, body=CALL.encode(), headers=headers)
        same(status, 415, str(headers))
        match(text.decode(), "invalid content type, only application/json is supported")


def test_body_size(env):
    padded = CALL[:-1] + ',"params":[]' + " " * (BODY_MAX - len(CALL) - 12) + "}"
    same(len(padded), BODY_MAX)
    same(post(env, padded), ANSWER)
    # Web pages of strangers have the usual limit, others on a development network room for its own dumps.
    stranger = "Origin: https://page.example\r\n"
    for origin, limit in ((stranger, BODY_MAX), ("", 128 << 20)):
        for size in (limit + 1, 1 << 40, 1 << 63):
            head = (f"POST / HTTP/1.1\r\nHost: localhost\r\n{origin}Content-Type: application/json\r\n"
                    f"Content-Length: {size}\r\n\r\n")
            out = raw(env, head.encode() + b"{")
            match(out.decode(), r"^HTTP/1\.1 413 ")
            if size == limit + 1:
                match(out.decode(), r"content length too large \(%d>%d\)" % (size, limit))
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    out = raw(env, b"POST / HTTP/1.1\r\nHost: localhost\r\n" + stranger.encode() +
              b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 81)
    match(out.decode(), r"^(HTTP/1\.1 413 |$)")  # the answer may be cut off: the client still sends
    alive(env)


def test_methods_and_paths(env):
    for path in ("/v1/bc/C/rpc", "/ext/bc/C/rpc"):
        same(ask(env, "GET", path)[::2], (200, b""))
        same(ask(env, "HEAD", path)[::2], (200, b""))
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            status, headers, _ = ask(env, method, path, CALL)
            same(status, 405, f"{method} {path}")
    same(ask(env, "GET", "/")[0], 200)
    same(ask(env, "HEAD", "/")[::2], (200, b""))
    for path in ("/v1", "/v1/bc/C/rpc/", "/V1/bc/C/rpc", "/v1/bc/D/rpc", "/index.html", "/v1/bc/C/../C/rpc"):
        status, headers, text = ask(env, "POST", path, CALL)
        same((status, text), (404, b"404 page not found\n"), path)
        same(headers["X-Content-Type-Options"], "nosniff")
    same(json.loads(ask(env, "POST", "/v1/bc/C/rpc?x=1", CALL)[2]), ANSWER)


def test_pages_of_other_origins(env):
    page = {"Origin": "https://app.example"}
    status, headers, _ = ask(env, body=CALL, headers={**JSON, **page})
    same((status, headers["Access-Control-Allow-Origin"]), (200, "*"))
    asks = {**page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    for path in ("/", "/v1/bc/C/rpc"):
        status, headers, text = ask(env, "OPTIONS", path, headers=asks)
        same((status, text), (204, b""), path)
        same(headers["Access-Control-Allow-Origin"], "*")
        same(headers["Access-Control-Allow-Methods"], "POST")
        same(headers["Access-Control-Allow-Headers"].lower(), "content-type")
    status, headers, _ = ask(env, "OPTIONS", "/", headers={**asks, "Access-Control-Request-Method": "PUT"})
    same((status, headers["Access-Control-Allow-Origin"]), (204, None))
    node = env.start("--http-allowed-origins=https://*.lux.network")
    for origin, want in (("https://app.lux.network", "https://app.lux.network"), ("https://app.example", None)):
        conn = http.client.HTTPConnection(node.host, node.port)
        conn.request("POST", "/", CALL, {**JSON, "Origin": origin})
        r = conn.getresponse()
        same((r.status, r.headers["Access-Control-Allow-Origin"]), (200, want), origin)
        conn.close()
    same(node.end(), 0)


def test_host_names(env):
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:8545", "[::1]:8545", "10.1.2.3"):
        same(ask(env, body=CALL, headers={**JSON, "Host": host})[0], 200, host)
    for host in ("evil.example", "localhost.evil.example", "evil.example:8545"):
        status, _, text = ask(env, body=CALL, headers={**JSON, "Host": host})
        same((status, text), (403, b"invalid host specified: --http-allowed-hosts says which are served\n"), host)


def test_requests_that_two_servers_could_read_differently(env):
    head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for lines in ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 4\r\nContent-Length: 5\r\n",
                  "Content-Length: -1\r\n", "Content-Length: 4x\r\n", "Content-Length : 4\r\n",
                  "Transfer-Encoding: chunked, identity\r\n", "Host: other\r\n", "X: a\nY: b\r\n", " folded\r\n"):
        match(raw(env, (head + lines + "\r\n0\r\n\r\n").encode()).decode(), r"^HTTP/1\.1 (400|501) ", lines)
    for junk in (b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"hello\r\n\r\n", b"\x00" * 100):
        match(raw(env, junk).decode(), r"^HTTP/1\.1 (400|501|505) ", repr(junk))
    match(raw(env, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70000 + b"\r\n\r\n").decode(),
          r"^HTTP/1\.1 431 ")
    match(raw(env, b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n").decode(), r"^HTTP/1\.1 (414|431) ")
    alive(env)


def test_pipelines_pieces_and_chunks(env):
    one = (f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           f"Content-Length: {len(CALL)}\r\n\r\n{CALL}").encode()
    same(raw(env, one * 5).count(b'"result":"0x539"'), 5, "five requests in one packet")
    with socket.create_connection((env.node.host, env.node.port), timeout=10) as s:
        for i in range(0, len(one), 7):
            s.sendall(one[i:i + 7])
            time.sleep(0.002)
        assert b'"result":"0x539"' in s.recv(65536)
        s.sendall(one)  # and the connection is kept
        assert b'"result":"0x539"' in s.recv(65536)
    chunked = (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n")
    for i in range(0, len(CALL), 10):
        part = CALL[i:i + 10].encode()
        chunked += b"%x\r\n%s\r\n" % (len(part), part)
    assert b'"result":"0x539"' in raw(env, chunked + b"0\r\n\r\n")
    match(raw(env, one.replace(b"HTTP/1.1", b"HTTP/1.0", 1)).decode(), r"^HTTP/1\.[01] 200 ")


def test_clients_that_leave(env):
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    full = head.replace(b"1000", b"%d" % len(CALL)) + CALL.encode()
    for data in (b"", b"P", head, head + b"{", full):
        for _ in range(40):
            s = socket.create_connection((env.node.host, env.node.port))
            s.sendall(data)
            s.close()
    idle = [socket.create_connection((env.node.host, env.node.port)) for _ in range(200)]
    alive(env)
    for s in idle:
        s.close()
    alive(env)


def test_state_of_old_blocks(env):
    rpc = env.node.rpc()
    before = int(rpc("eth_getBalance", ACCOUNTS[3], "latest"), 16)
    height = rpc("eth_blockNumber")
    rpc("eth_sendTransaction", {"from": ACCOUNTS[4], "to": ACCOUNTS[3], "value": "0x1"})
    old = rpc("eth_getBlockByNumber", height, False)["hash"]
    for block in (height, {"blockNumber": height}, {"blockHash": old}):
        same(int(rpc("eth_getBalance", ACCOUNTS[3], block), 16), before, block)
    same(int(rpc("eth_getBalance", ACCOUNTS[3], "latest"), 16), before + 1)
    for block in ("0x0", "earliest"):
        same(rpc("eth_getBalance", ACCOUNTS[4], block), hex(10 ** 22))
        same(rpc("eth_getCode", ACCOUNTS[4], block), "0x")
        same(rpc("eth_getStorageAt", ACCOUNTS[4], "0x0", block), "0x" + "00" * 32)
        same(rpc("eth_getTransactionCount", ACCOUNTS[4], block), "0x0")
    try:
        rpc("eth_getBalance", ACCOUNTS[4], {"blockHash": "0x" + "11" * 32})
    except RpcError as e:
        same((e.code, e.message), (-32000, "header not found"))
    else:
        raise AssertionError("state of a block that nobody knows")


def test_openrpc_document(env):
    status, headers, text = ask(env, "GET", "/openrpc.json", headers={})
    same((status, headers["Content-Type"]), (200, "application/json"))
    doc = json.loads(text)
    same(env.node.rpc()("rpc_discover"), doc)
    match(doc["openrpc"], r"^1\.\d+\.\d+$")
    assert doc["info"]["title"] and doc["info"]["version"]
    names = [m["name"] for m in doc["methods"]]
    same(len(names), len(set(names)), "names")
    assert {"eth_chainId", "eth_getLogs", "net_version", "rpc_modules"} <= set(names)
    for m in doc["methods"]:
        assert m["summary"] and "schema" in m["result"], m["name"]
        params = m["params"]
        same(len({p["name"] for p in params}), len(params), m["name"])
        optional = [not p["required"] for p in params]
        same(optional, sorted(optional), m["name"] + ": what may be left out stands last")
        assert all("schema" in p for p in params), m["name"]
    known = {"#/components/schemas/" + name for name in doc["components"]["schemas"]}
    used = set(re.findall(r'"\$ref": ?"([^"]*)"', text.decode()))
    assert used and used <= known, used - known
    modules = env.node.rpc()("rpc_modules")
    same(set(modules), {n.split("_")[0] for n in names})


def test_websocket_beside_http(env):
    """One path for both, and the paths of the chain."""
    for path, status in (("/", 101), ("/v1/bc/C/ws", 101), ("/ext/bc/C/ws", 101), ("/v1/bc/C/rpc", 200)):
        with socket.create_connection((env.node.host, env.node.port), timeout=10) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(4096)
            same(int(head.split()[1]), status, path)
            if status == 101:
                text = CALL.encode()
                s.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
                frame = s.recv(4096)
                same((frame[0], json.loads(frame[2:])), (0x81, ANSWER), path)
