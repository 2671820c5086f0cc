/* Services as Go's gorilla/rpc/json2 serves them: service.method, one object of parameters, no batches. */
#include "base/text.h"
#include "rpc/jsonrpc_priv.h"
#include "rpc/origin.h"

/* --- reading --- */

static bool name_is(cd_bytes key, const char *name)
{
    return cd_text_same(key, cd_bytes_str(name));
}

/* The members as errors of the envelope echo them, all four. */
static cd_bytes echo(cd_rpc_req *r, cd_json version, cd_json method)
{
    cd_buf out = {0};
    cd_json_w w = {.out = &out};
    const struct {
        const char *key;
        cd_json val;
        const char *none;
    } members[] = {
        {"jsonrpc", version, "\"\""},
        {"method", method, "\"\""},
        {"params", r->single.params, "null"},
        {"id", r->single.id, "null"},
    };
    cd_json_w_obj(&w);
    for (usize i = 0; i < CD_COUNT(members); i++) {
        bool must_be_text = i < 2;
        bool is_there = must_be_text ? cd_json_kind_of(members[i].val) == CD_JSON_STR
                                     : cd_json_kind_of(members[i].val) != CD_JSON_NONE;
        cd_buf raw = {0};
        if (is_there) {
            cd_json_raw(&raw, members[i].val);
        } else {
            cd_buf_str(&raw, members[i].none);
        }
        cd_json_w_key(&w, members[i].key);
        cd_json_w_raw(&w, cd_buf_bytes(&raw));
        cd_buf_fini(&raw);
    }
    cd_json_w_obj_end(&w);
    cd_bytes kept = cd_arena_dup(&r->arena, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return kept;
}

static void refuse(cd_rpc_req *r, int code, const char *message)
{
    r->error_code = code;
    r->error_message = message;
}

static void refuse_syntax(cd_rpc_req *r, cd_bytes body)
{
    cd_buf text = {0};
    bool is_blank = true;
    for (usize i = 0; i < body.n && is_blank; i++) {
        is_blank = body.p[i] == ' ' || body.p[i] == '\t' || body.p[i] == '\r' || body.p[i] == '\n';
    }
    if (is_blank) {
        cd_buf_str(&text, "EOF");
    } else {
        cd__rpc_syntax_error(&text, body);
    }
    refuse(r, CD_RPC_PARSE, cd_arena_str(&r->arena, cd_buf_bytes(&text)));
    r->error_data = echo(r, (cd_json){0}, (cd_json){0});
    cd_buf_fini(&text);
}

static const char *kind_name(cd_json v)
{
    switch (cd_json_kind_of(v)) {
    case CD_JSON_BOOL:
        return "bool";
    case CD_JSON_NUM:
        return "number";
    case CD_JSON_STR:
        return "string";
    case CD_JSON_ARR:
        return "array";
    case CD_JSON_OBJ:
        return "object";
    case CD_JSON_NONE:
    case CD_JSON_NULL:
        break;
    }
    return "null";
}

static bool is_text_or_null(cd_json v)
{
    cd_json_kind k = cd_json_kind_of(v);
    return k == CD_JSON_NONE || k == CD_JSON_NULL || k == CD_JSON_STR;
}

/* Finds the method, or says in Go's words why there is none. */
static void resolve(cd_rpc_req *r)
{
    cd__rpc_one *one = &r->single;
    const char *dot = one->name.n == 0 ? NULL : memchr(one->name.p, '.', one->name.n);
    usize at = dot == NULL ? one->name.n : (usize)((const u8 *)dot - one->name.p);
    int len = (int)cd_min_u64(one->name.n, 200);
    one->method = cd_rpc_table_find(r->service->table, one->name);
    if (one->method != NULL) {
        return;
    }
    if (dot == NULL || memchr(dot + 1, '.', one->name.n - at - 1) != NULL) {
        refuse(r, CD_RPC_SERVER,
               cd_arena_fmt(&r->arena, "rpc: service/method request ill-formed: \"%.*s\"", len,
                            (const char *)one->name.p));
        return;
    }
    if (dot[1] >= 'A' && dot[1] <= 'Z' && at + 1 < one->name.n) {
        refuse(r, CD_RPC_SERVER, "method must start with a non-uppercase letter");
        return;
    }
    bool has_service = cd_rpc_table_has_service(r->service->table, cd_bytes_sub(one->name, 0, at));
    char *shown = cd_arena_str(&r->arena, cd_bytes_sub(one->name, 0, (usize)len));
    if (at + 1 < (usize)len && shown[at + 1] >= 'a' && shown[at + 1] <= 'z') {
        shown[at + 1] = (char)(shown[at + 1] - 'a' + 'A');
    }
    refuse(r, CD_RPC_SERVER,
           cd_arena_fmt(&r->arena, "rpc: can't find %s \"%s\"", has_service ? "method" : "service", shown));
}

void cd__json2_parse(cd_rpc_req *r, cd_bytes body)
{
    cd_json v;
    cd_json version = {0};
    cd_json method = {0};
    cd__rpc_one *one = &r->single;
    one->sort = CD__RPC_CALL;
    r->ones = one;
    if (cd_json_parse(&v, &r->arena, body, 0, NULL) != CD_OK) {
        refuse_syntax(r, body);
        return;
    }
    r->cnt = 1;
    cd_json_it it = cd_json_iter(v);
    while (cd_json_kind_of(v) == CD_JSON_OBJ && cd_json_next(&it)) {
        if (name_is(it.key, "jsonrpc")) {
            version = it.val;
        } else if (name_is(it.key, "method")) {
            method = it.val;
        } else if (name_is(it.key, "params")) {
            one->params = it.val;
        } else if (name_is(it.key, "id")) {
            one->id = it.val;
        }
    }
    const char *wrong = NULL;
    if (cd_json_kind_of(v) != CD_JSON_OBJ && cd_json_kind_of(v) != CD_JSON_NULL) {
        wrong = cd_arena_fmt(&r->arena, "json: cannot unmarshal %s into Go value of type json2.serverRequest",
                             kind_name(v));
    } else if (!is_text_or_null(version) || !is_text_or_null(method)) {
        bool is_version = !is_text_or_null(version);
        wrong =
            cd_arena_fmt(&r->arena, "json: cannot unmarshal %s into Go struct field serverRequest.%s of type string",
                         kind_name(is_version ? version : method), is_version ? "jsonrpc" : "method");
    }
    cd_bytes text = {0};
    if (wrong != NULL) {
        refuse(r, CD_RPC_PARSE, wrong);
        r->error_data = echo(r, version, method);
    } else if (cd_json_str(&text, version, NULL) != CD_OK || !cd_bytes_eq(text, cd_bytes_str("2.0"))) {
        refuse(r, CD_RPC_INVALID_REQUEST, "jsonrpc must be 2.0");
        r->error_data = echo(r, version, method);
    } else {
        if (cd_json_str(&text, method, NULL) == CD_OK) {
            one->name = text;
        }
        resolve(r);
    }
}

/* --- writing --- */

static void put_id(cd_buf *out, cd_json id)
{
    cd_buf_str(out, ",\"id\":");
    if (cd_json_kind_of(id) == CD_JSON_NONE) {
        cd_buf_str(out, "null");
    } else {
        cd_json_raw(out, id);
    }
    cd_buf_str(out, "}\n");
}

static void put_error(cd_buf *out, cd_json id, int code, const char *message, cd_bytes data)
{
    cd_json_w w = {.out = out};
    cd_buf_fmt(out, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":%d,\"message\":", code);
    cd_json_w_cstr(&w, message);
    cd_buf_str(out, ",\"data\":");
    cd_buf_put(out, data.n == 0 ? cd_bytes_str("null") : data);
    cd_buf_u8(out, '}');
    put_id(out, id);
}

/* Go writes these so that an answer may stand in a page; outside of strings JSON has none of them. */
static bool is_html(u8 c)
{
    return c == '<' || c == '>' || c == '&';
}

/* Most answers have none, which memchr finds out many bytes at a time. */
static bool has_html(const u8 *p, usize n)
{
    return n != 0 && (memchr(p, '<', n) != NULL || memchr(p, '>', n) != NULL || memchr(p, '&', n) != NULL);
}

static void escape_html(cd_buf *out, usize start)
{
    enum { MORE = 5 };
    usize cnt = 0;
    if (!has_html(out->p + start, out->n - start)) {
        return;
    }
    for (usize i = start; i < out->n; i++) {
        cnt += is_html(out->p[i]);
    }
    usize from = out->n;
    (void)cd_buf_extend(out, cnt * MORE);
    for (usize to = out->n; to != from;) {
        u8 c = out->p[--from];
        if (is_html(c)) {
            static const char digits[] = "0123456789abcdef";
            const char text[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            to -= sizeof text;
            memcpy(out->p + to, text, sizeof text);
        } else {
            out->p[--to] = c;
        }
    }
}

void cd__json2_serve(cd_rpc_req *r, cd_buf *out)
{
    const cd__rpc_one *one = &r->single;
    cd_json_kind id = cd_json_kind_of(one->id);
    bool is_silent = (id == CD_JSON_NONE || id == CD_JSON_NULL) && r->error_code != CD_RPC_PARSE;
    usize start = out->n;
    if (r->error_message != NULL) {
        put_error(out, one->id, r->error_code, r->error_message, r->error_data);
    } else {
        void *scope = cd__rpc_scope_new(r);
        cd_json_w w = {.out = out};
        cd_rpc_call call = cd__rpc_call_of(r, one, scope, &w);
        u64 start_ns = cd__rpc_tell_start(r);
        call.splices = NULL;
        cd_buf_str(out, "{\"jsonrpc\":\"2.0\",\"result\":");
        cd_err e = cd_rpc_origin_check(&call, r->origins);
        e = e != CD_OK || call.method->args == NULL ? e : cd__rpc_args_read(&call);
        e = e != CD_OK ? e : one->method->fn(&call);
        if (e == CD_EAGAIN && call.wait != NULL && call.wait->ctx != NULL) {
            out->n = start;
            r->is_waiting = true;
            cd__rpc_scope_end(r, scope);
            return;
        }
        cd_rpc_method_called(one->method);
        if (e == CD_OK) {
            put_id(out, one->id);
        } else {
            out->n = start;
            if (call.error_message == NULL) {
                cd_rpc_set_error(&call, CD_RPC_SERVER, "%s", cd_err_str(e));
            }
            put_error(out, one->id, call.error_code, call.error_message, (cd_bytes){0});
        }
        cd__rpc_tell(r, one, start_ns, e == CD_OK ? NULL : call.error_message);
        cd__rpc_scope_end(r, scope);
    }
    if (is_silent) {
        out->n = start;
    }
    escape_html(out, start);
}

void cd__json2_refuse(cd_rpc_req *r, cd_buf *out, int code, const char *message)
{
    put_error(out, r->single.id, code, message, (cd_bytes){0});
}
