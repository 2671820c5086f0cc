#include "services/common/upstream.h"

#include "base/mem/mem.h"

#include <stdio.h>

enum {
    TIMEOUT_MS = 30000,
    RECEIPTS_MAX = 100, /* in one request, where they are asked for one by one */
    METHOD_NOT_FOUND = -32601,
    METHOD_NOT_SUPPORTED = -32004, /* EIP-1474 */
};

#define ANSWER_MAX ((usize)128 << 20)

/* --- calls --- */

struct cd_call {
    cd_http_call *http;
    cd_arena *mem;
    usize cnt;
    u32 depth_max;
    usize answer_max;
    cd_call_fn *fn;
    void *ctx;
};

bool cd_answer_is_unknown(const cd_answer *a)
{
    static const char *const words[] = {"does not exist", "not found", "not available", "not supported",
                                        "unsupported method"};
    for (usize i = 0; a->is_error && i < CD_COUNT(words); i++) {
        if (strstr(a->message, "ethod") != NULL && strstr(a->message, words[i]) != NULL) {
            return true;
        }
    }
    return a->is_error && (a->code == METHOD_NOT_FOUND || a->code == METHOD_NOT_SUPPORTED);
}

static cd_err answer_read(cd_answer *out, cd_arena *mem, cd_json v)
{
    cd_json error = cd_json_get(v, "error");
    cd_bytes message = {0};
    double code = 0;
    out->result = cd_json_get(v, "result");
    out->is_error = cd_json_has(error);
    out->message = "";
    if (!out->is_error) {
        return cd_json_kind_of(out->result) == CD_JSON_NONE ? CD_EPROTO : CD_OK;
    }
    if (cd_json_f64(&code, cd_json_get(error, "code"), NULL) == CD_OK && code > -1e9 && code < 1e9) {
        out->code = (i64)code;
    }
    if (cd_json_str(&message, cd_json_get(error, "message"), NULL) == CD_OK) {
        out->message = cd_arena_str(mem, message);
    }
    return CD_OK;
}

/* Puts each answer in the place of its ask; every ask must have one. */
static cd_err answers_read(cd_answer *out, const cd_call *c, cd_json doc)
{
    usize found = 0;
    if (cd_json_kind_of(doc) == CD_JSON_OBJ && c->cnt == 1) {
        return answer_read(out, c->mem, doc);
    }
    bool *is_there = cd_arena_array(c->mem, bool, c->cnt);
    for (cd_json_it it = cd_json_iter(doc); cd_json_next(&it); found++) {
        u64 id;
        if (it.key.n != 0 || cd_json_u64(&id, cd_json_get(it.val, "id"), NULL) != CD_OK || id >= c->cnt ||
            is_there[id]) {
            return CD_EPROTO;
        }
        is_there[id] = true;
        CD_TRY(answer_read(&out[id], c->mem, it.val));
    }
    return found == c->cnt ? CD_OK : CD_EPROTO;
}

static void on_http(void *ctx, const cd_http_result *r)
{
    cd_call *c = ctx;
    cd_answer *answers = cd_arena_array(c->mem, cd_answer, c->cnt);
    cd_errinfo why = {0};
    cd_json doc = {0};
    cd_err err = r->err;
    const char *reason = r->reason;
    c->http = NULL;
    if (err == CD_OK) {
        err = cd_json_parse_deep(&doc, c->mem, r->body, c->answer_max, c->depth_max, &why);
        reason = why.msg;
    }
    if (err == CD_OK) {
        err = answers_read(answers, c, doc);
        reason = "the node's answer is no JSON-RPC answer";
    }
    if (err != CD_OK && r->err == CD_OK && r->status != 200) {
        err = CD_EPROTO;
        reason = cd_arena_fmt(c->mem, "the node answers with status %u", r->status);
    }
    c->fn(c->ctx, err, reason, answers);
    cd_free(c);
}

cd_call *cd_call_new(cd_upstream *node, cd_arena *mem, const cd_ask *asks, usize cnt, u32 depth_max, cd_call_fn *fn,
                     void *ctx)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    cd_call *c = cd_new(cd_call);
    cd_buf body = {0};
    c->mem = mem;
    c->cnt = cnt;
    c->depth_max = depth_max == 0 ? CD_JSON_DEPTH_MAX : depth_max;
    c->answer_max = node->answer_max == 0 ? ANSWER_MAX : node->answer_max;
    c->fn = fn;
    c->ctx = ctx;
    cd_buf_str(&body, cnt == 1 ? "" : "[");
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(&body, "%s{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\",\"params\":%s}", i == 0 ? "" : ",", i,
                   asks[i].method, asks[i].params);
    }
    cd_buf_str(&body, cnt == 1 ? "" : "]");
    const cd_http_ask ask = {
        .method = CD_HTTP_POST,
        .url = node->url,
        .headers = headers,
        .headers_cnt = CD_COUNT(headers),
        .body = cd_buf_bytes(&body),
        .timeout_ms = node->timeout_ms == 0 ? TIMEOUT_MS : node->timeout_ms,
        .body_max = c->answer_max,
    };
    c->http = cd_http_client_call(node->http, &ask, on_http, c);
    cd_buf_fini(&body);
    return c;
}

void cd_call_cancel(cd_call *c)
{
    if (c != NULL) {
        cd_http_call_cancel(c->http);
        cd_free(c);
    }
}

/* --- blocks --- */

struct cd_fetch {
    cd_upstream *node;
    cd_fetched *out;
    cd_call *call;
    cd_fetch_fn *fn;
    void *ctx;
    bool wants_receipts; /* eth_getBlockReceipts is in the same request as the block */
    bool wants_traces;
    cd_json_it txs;  /* at the transactions whose receipts were not asked for yet */
    cd_buf receipts; /* the receipts that have come, as JSON text */
    usize receipts_cnt;
};

static void fetch_tell(cd_fetch *f, cd_err err, const char *reason)
{
    cd_buf_fini(&f->receipts);
    f->fn(f->ctx, err, reason);
    cd_free(f);
}

static void receipts_ask(cd_fetch *f);

static void on_receipts(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd_fetch *f = ctx;
    f->call = NULL;
    for (usize i = 0; err == CD_OK && i < f->receipts_cnt; i++) {
        if (answers[i].is_error || !cd_json_has(answers[i].result)) {
            err = answers[i].is_error ? CD_EPROTO : CD_ENOENT;
            reason = answers[i].is_error ? answers[i].message : "a receipt is not there";
            break;
        }
        cd_buf_u8(&f->receipts, f->receipts.n == 1 ? ' ' : ',');
        cd_json_raw(&f->receipts, answers[i].result);
    }
    if (err != CD_OK) {
        fetch_tell(f, err, reason);
    } else {
        receipts_ask(f);
    }
}

/* Asks for the receipts of the next transactions; without any left, what came is the array. */
static void receipts_ask(cd_fetch *f)
{
    cd_ask asks[RECEIPTS_MAX];
    usize n = 0;
    while (n < RECEIPTS_MAX && cd_json_next(&f->txs)) {
        cd_hash32 hash;
        char *params = cd_arena_alloc(&f->out->mem, 80);
        if (cd_json_fixed(hash.b, 32, cd_json_get(f->txs.val, "hash"), NULL) != CD_OK) {
            fetch_tell(f, CD_EPROTO, "a transaction without hash");
            return;
        }
        cd_buf text = {0};
        cd_json_w w = {.out = &text};
        cd_json_w_arr(&w);
        cd_json_w_hex(&w, cd_bytes_of(hash.b, 32));
        cd_json_w_arr_end(&w);
        (void)snprintf(params, 80, "%s", cd_buf_cstr(&text));
        cd_buf_fini(&text);
        asks[n++] = (cd_ask){.method = "eth_getTransactionReceipt", .params = params};
    }
    f->receipts_cnt = n;
    if (n != 0) {
        f->call = cd_call_new(f->node, &f->out->mem, asks, n, 0, on_receipts, f);
        return;
    }
    cd_buf_u8(&f->receipts, ']');
    cd_errinfo why = {0};
    cd_err err = cd_json_parse(&f->out->receipts, &f->out->mem, cd_buf_bytes(&f->receipts), 0, &why);
    fetch_tell(f, err, why.msg);
}

static void on_block(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd_fetch *f = ctx;
    const cd_answer *block = &answers[0];
    const cd_answer *receipts = f->wants_receipts ? &answers[1] : NULL;
    const cd_answer *traces = f->wants_traces ? &answers[f->wants_receipts ? 2 : 1] : NULL;
    f->call = NULL;
    if (err == CD_OK && (block->is_error || !cd_json_has(block->result))) {
        err = block->is_error ? CD_EPROTO : CD_ENOENT;
        reason = block->is_error ? block->message : "the node does not have the block";
    }
    if (err == CD_OK && traces != NULL) {
        if (cd_answer_is_unknown(traces)) {
            f->node->no_traces = true;
        } else if (traces->is_error || !cd_json_has(traces->result)) {
            err = CD_EPROTO;
            reason = traces->is_error ? traces->message : "there are no traces";
        } else {
            f->out->traces = traces->result;
        }
    }
    bool one_by_one = receipts == NULL;
    if (err == CD_OK && receipts != NULL) {
        if (cd_answer_is_unknown(receipts)) {
            f->node->no_receipts = true;
            one_by_one = true;
        } else if (receipts->is_error || !cd_json_has(receipts->result)) {
            err = receipts->is_error ? CD_EPROTO : CD_ENOENT;
            reason = receipts->is_error ? receipts->message : "there are no receipts yet";
        } else {
            f->out->receipts = receipts->result;
        }
    }
    if (err == CD_OK) {
        f->out->block = block->result;
    }
    if (err != CD_OK || !one_by_one) {
        fetch_tell(f, err, reason);
        return;
    }
    f->txs = cd_json_iter(cd_json_get(f->out->block, "transactions"));
    cd_buf_u8(&f->receipts, '[');
    receipts_ask(f);
}

cd_fetch *cd_fetch_new(cd_upstream *node, cd_fetched *out, u64 number, const cd_hash32 *hash, u32 trace_depth,
                       cd_fetch_fn *fn, void *ctx)
{
    cd_fetch *f = cd_new(cd_fetch);
    cd_buf id = {0};
    cd_json_w w = {.out = &id};
    cd_ask asks[3];
    usize n = 0;
    if (hash != NULL) {
        cd_json_w_hex(&w, cd_bytes_of(hash->b, 32));
    } else {
        cd_json_w_qty(&w, number);
    }
    const char *which = cd_buf_cstr(&id);
    f->node = node;
    f->out = out;
    f->fn = fn;
    f->ctx = ctx;
    f->wants_receipts = !node->no_receipts;
    f->wants_traces = trace_depth != 0 && !node->no_traces && number != 0; /* genesis has none */
    asks[n++] = (cd_ask){
        .method = hash != NULL ? "eth_getBlockByHash" : "eth_getBlockByNumber",
        .params = cd_arena_fmt(&out->mem, "[%s,true]", which),
    };
    if (f->wants_receipts) {
        asks[n++] = (cd_ask){.method = "eth_getBlockReceipts", .params = cd_arena_fmt(&out->mem, "[%s]", which)};
    }
    if (f->wants_traces) {
        asks[n++] = (cd_ask){
            .method = hash != NULL ? "debug_traceBlockByHash" : "debug_traceBlockByNumber",
            .params = cd_arena_fmt(&out->mem, "[%s,{\"tracer\":\"callTracer\"}]", which),
        };
    }
    f->call = cd_call_new(node, &out->mem, asks, n, trace_depth, on_block, f);
    cd_buf_fini(&id);
    return f;
}

void cd_fetch_cancel(cd_fetch *f)
{
    if (f != NULL) {
        cd_call_cancel(f->call);
        cd_buf_fini(&f->receipts);
        cd_free(f);
    }
}
