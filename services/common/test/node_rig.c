#include "services/common/test/node_rig.h"

#include "base/mem/mem.h"
#include "codec/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define A   "0xa000000000000000000000000000000000000000"
#define B   "0xb000000000000000000000000000000000000000"
#define C   "0xc000000000000000000000000000000000000000"
#define D   "0xd000000000000000000000000000000000000000"
#define T   "0x7000000000000000000000000000000000000000"
#define PAD "0x000000000000000000000000"

cd_addr20 node_addr(u8 first)
{
    return (cd_addr20){.b = {first}};
}

cd_hash32 node_hash(const node_rig *n, u64 number)
{
    cd_hash32 h = {.b = {0xb1, n->fork_at != 0 && number >= n->fork_at}};
    cd_put_be64(h.b + 24, number);
    return h;
}

static void hash_put(cd_buf *out, const cd_hash32 *h)
{
    cd_json_w w = {.out = out};
    cd_json_w_hex(&w, cd_bytes_of(h->b, 32));
}

static void tx_hash_put(cd_buf *out, u64 number)
{
    cd_hash32 h = {.b = {0xaa}};
    cd_put_be64(h.b + 24, number);
    hash_put(out, &h);
}

static void tx_put(cd_buf *out, u64 number)
{
    cd_buf_str(out, "{\"hash\":");
    tx_hash_put(out, number);
    cd_buf_fmt(out,
               ",\"from\":\"" A "\",\"to\":\"" B "\",\"value\":\"0x%llx\",\"input\":\"0x\","
               "\"gas\":\"0x5208\",\"nonce\":\"0x%llx\"}",
               (unsigned long long)number, (unsigned long long)number);
}

static void block_put(const node_rig *n, cd_buf *out, u64 number)
{
    cd_hash32 own = node_hash(n, number);
    cd_hash32 parent = node_hash(n, number - 1);
    cd_buf_fmt(out, "{\"number\":\"0x%llx\",\"hash\":", (unsigned long long)number);
    hash_put(out, &own);
    cd_buf_str(out, ",\"parentHash\":");
    hash_put(out, &parent);
    cd_buf_fmt(out,
               ",\"timestamp\":\"0x%llx\",\"gasUsed\":\"0x1\",\"gasLimit\":\"0x2\","
               "\"transactions\":[",
               1768473000ull + number);
    if (number > n->empty_to || number % 1000 == 0) {
        tx_put(out, number);
    }
    cd_buf_str(out, "]}");
}

static void receipt_put(cd_buf *out, u64 number)
{
    cd_buf_str(out, "{\"transactionHash\":");
    tx_hash_put(out, number);
    cd_buf_fmt(out,
               ",\"blockNumber\":\"0x%llx\",\"status\":\"0x1\",\"gasUsed\":\"0x5208\",\"logs\":["
               "{\"address\":\"" T "\",\"logIndex\":\"0x0\",\"topics\":["
               "\"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef\","
               "\"" PAD "%s\",\"" PAD "%s\"],\"data\":\"0x%064llx\"}]}",
               (unsigned long long)number, &A[2], &C[2], (unsigned long long)number);
}

/* The block that a request is about: by number or by hash. NULL: it is not there. */
static bool number_of(const node_rig *n, u64 *out, cd_json which)
{
    cd_hash32 hash;
    cd_bytes tag = {0};
    (void)!cd_json_str(&tag, which, NULL);
    if (cd_bytes_eq(tag, cd_bytes_str("finalized"))) {
        *out = n->final;
        return !n->no_final;
    }
    if (cd_json_fixed(hash.b, 32, which, NULL) == CD_OK) {
        *out = cd_be64(hash.b + 24);
    } else if (cd_json_qty_u64(out, which, NULL) != CD_OK) {
        *out = n->head;
    }
    return *out <= n->head;
}

static void token_put(node_rig *n, cd_buf *out, cd_json params)
{
    cd_bytes data = {0};
    (void)!cd_json_str(&data, cd_json_get(cd_json_at(params, 0), "data"), NULL);
    if (n->confused != 0) {
        n->confused--;
        cd_buf_str(out, "\"error\":{\"code\":-32000,\"message\":\"header not found\"}");
    } else if (n->is_dumb) {
        cd_buf_str(out, "\"error\":{\"code\":3,\"message\":\"execution reverted\"}");
    } else if (data.n >= 10 && memcmp(data.p, "0x313ce567", 10) == 0) {
        cd_buf_fmt(out, "\"result\":\"0x%064x\"", 6);
    } else { /* "TOK\x01" as a string */
        cd_buf_fmt(out, "\"result\":\"0x%064x%064x544f4b01%056x\"", 32, 4, 0);
    }
}

static void answer(node_rig *n, cd_buf *out, cd_json ask)
{
    cd_bytes method = {0};
    cd_json params = cd_json_get(ask, "params");
    u64 id = 0;
    u64 number = 0;
    (void)!cd_json_u64(&id, cd_json_get(ask, "id"), NULL);
    (void)!cd_json_str(&method, cd_json_get(ask, "method"), NULL);
    bool is_there = number_of(n, &number, cd_json_at(params, 0));
    const char *name = (const char *)method.p;
    usize name_n = method.n;
#define IS(text) (name_n == sizeof text - 1 && memcmp(name, text, name_n) == 0)
    cd_buf_fmt(out, "{\"jsonrpc\":\"2.0\",\"id\":%llu,", (unsigned long long)id);
    if ((n->no_receipts && IS("eth_getBlockReceipts")) ||
        (n->no_traces && name_n > 6 && memcmp(name, "debug_", 6) == 0)) {
        cd_buf_str(out, "\"error\":{\"code\":-32004,\"message\":\"Method is not supported\"}");
    } else if (IS("eth_blockNumber")) {
        cd_buf_fmt(out, "\"result\":\"0x%llx\"", (unsigned long long)n->head);
    } else if (IS("eth_call")) {
        n->calls++;
        token_put(n, out, params);
    } else if (IS("eth_getTransactionByHash")) {
        cd_buf_str(out, "\"result\":");
        tx_put(out, number);
    } else if (!is_there) {
        cd_buf_str(out, "\"result\":null");
    } else if (IS("eth_getTransactionReceipt")) {
        cd_buf_str(out, "\"result\":");
        receipt_put(out, number);
    } else if (IS("eth_getBlockReceipts")) {
        cd_buf_str(out, "\"result\":[");
        if (number > n->empty_to || number % 1000 == 0) {
            receipt_put(out, n->lying != 0 ? number + 7 : number);
        }
        n->lying -= n->lying != 0;
        cd_buf_str(out, "]");
    } else if (IS("debug_traceBlockByHash") || IS("debug_traceBlockByNumber")) {
        assert_true(number != 0);
        n->traces++;
        cd_buf_str(out, "\"result\":[{\"txHash\":");
        tx_hash_put(out, number);
        cd_buf_str(out, ",\"result\":{\"type\":\"CALL\",\"calls\":[{\"type\":\"CALL\",\"from\":\"" B "\",\"to\":\"" D
                        "\",\"value\":\"0x1\"}]}}]");
    } else {
        assert_true(IS("eth_getBlockByHash") || IS("eth_getBlockByNumber"));
        cd_buf_str(out, "\"result\":");
        block_put(n, out, number);
    }
    cd_buf_u8(out, '}');
#undef IS
}

static void on_http(void *ctx, cd_http_req *r)
{
    node_rig *n = ctx;
    cd_arena mem = {0};
    cd_json doc;
    cd_buf *out = cd_http_req_out(r);
    n->requests++;
    if (n->failing != 0) {
        n->failing--;
        cd_http_reply(r, 500, "text/plain");
        return;
    }
    assert_int_equal(cd_json_parse(&doc, &mem, cd_http_req_body(r), 0, NULL), CD_OK);
    if (n->batch_max != 0 && cd_json_len(doc) > n->batch_max) {
        cd_http_reply(r, 413, "text/plain");
        cd_arena_fini(&mem);
        return;
    }
    if (cd_json_kind_of(doc) == CD_JSON_OBJ) {
        answer(n, out, doc);
    } else {
        cd_buf_u8(out, '[');
        for (cd_json_it it = cd_json_iter(doc); cd_json_next(&it);) {
            cd_buf_str(out, out->n == 1 ? "" : ",");
            answer(n, out, it.val);
        }
        cd_buf_u8(out, ']');
    }
    cd_arena_fini(&mem);
    cd_http_reply(r, 200, "application/json");
}

static void ws_say(node_rig *n, const char *text)
{
    assert_int_equal(cd_ws_send_bytes(n->ws, CD_WS_TEXT, cd_bytes_str(text)), CD_OK);
}

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    node_rig *n = ctx;
    cd_arena mem = {0};
    cd_json doc;
    cd_bytes what = {0};
    (void)w;
    (void)kind;
    assert_int_equal(cd_json_parse(&doc, &mem, data, 0, NULL), CD_OK);
    (void)!cd_json_str(&what, cd_json_at(cd_json_get(doc, "params"), 0), NULL);
    if (cd_bytes_eq(what, cd_bytes_str("newHeads"))) {
        n->heads_on = true;
        ws_say(n, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x1\"}");
    } else if (n->tells_hashes && cd_json_has(cd_json_at(cd_json_get(doc, "params"), 1))) {
        ws_say(n, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":\"no such "
                  "parameter\"}}");
    } else if (cd_bytes_eq(what, cd_bytes_str("newPendingTransactions"))) {
        n->pending_on = true;
        ws_say(n, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"0x2\"}");
    } else {
        assert_true(cd_bytes_eq(what, cd_bytes_str("0x2")));
        n->pending_on = false;
        ws_say(n, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":true}");
    }
    cd_arena_fini(&mem);
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    node_rig *n = ctx;
    (void)code;
    (void)reason;
    n->ws = NULL;
    n->heads_on = false;
    n->pending_on = false;
}

static void on_ws(void *ctx, cd_http_req *r)
{
    static const cd_ws_events events = {.message = on_message, .closed = on_closed};
    node_rig *n = ctx;
    n->ws = cd_ws_accept(n->hub, r, &events, n);
}

void node_open(node_rig *n, cd_loop *loop, u64 head)
{
    const cd_http_cfg cfg = {0};
    const cd_http_route routes[] = {
        {.path = "/", .methods = CD_HTTP_POST, .handler = on_http, .ctx = n},
        {.path = "/ws", .methods = CD_HTTP_GET, .handler = on_ws, .ctx = n},
    };
    *n = (node_rig){.loop = loop, .head = head};
    n->server = cd_http_server_new(loop, &cfg);
    n->hub = cd_ws_hub_new(loop, NULL);
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(n->server, &routes[i]);
    }
    assert_int_equal(cd_http_server_listen(n->server, "127.0.0.1", 0, NULL), CD_OK);
    (void)snprintf(n->http_url, sizeof n->http_url, "http://127.0.0.1:%u/", cd_http_server_port(n->server));
    (void)snprintf(n->ws_url, sizeof n->ws_url, "ws://127.0.0.1:%u/ws", cd_http_server_port(n->server));
}

static void on_stopped(void *ctx)
{
    cd_loop_stop(((node_rig *)ctx)->loop);
}

void node_close(node_rig *n)
{
    cd_http_server_stop(n->server, 1000, on_stopped, n);
    cd_loop_run(n->loop);
    cd_http_server_free(n->server);
    cd_ws_hub_free(n->hub);
}

void node_mine(node_rig *n, u64 head)
{
    cd_buf text = {0};
    n->head = head;
    if (n->ws != NULL && n->heads_on) {
        cd_buf_str(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\"params\":{"
                          "\"subscription\":\"0x1\",\"result\":");
        block_put(n, &text, head);
        cd_buf_str(&text, "}}");
        ws_say(n, cd_buf_cstr(&text));
        cd_buf_fini(&text);
    }
}

void node_pend(node_rig *n, u64 nonce)
{
    cd_buf text = {0};
    assert_true(n->ws != NULL && n->pending_on);
    cd_buf_str(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\"params\":{"
                      "\"subscription\":\"0x2\",\"result\":");
    if (n->tells_hashes) {
        tx_hash_put(&text, nonce);
    } else {
        tx_put(&text, nonce);
    }
    cd_buf_str(&text, "}}");
    ws_say(n, cd_buf_cstr(&text));
    cd_buf_fini(&text);
}

void node_cut(node_rig *n)
{
    n->heads_on = false;
    n->pending_on = false;
    cd_ws_abort(n->ws);
}
