/* Services as Go's gorilla/rpc/json2 serves them: service.method, one object of parameters, no batches. */
#include "rpc/jsonrpc_priv.h"

static const char bad_argument[] =
    "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See "
    "documentation for example calls";

/* --- reading ------------------------------------------------------------------------------------ */

static bool name_is(cd_bytes key, const char *name)
{
    usize n = strlen(name);
    for (usize i = 0; i < key.n && i < n; i++) {
        u8 c = key.p[i] >= 'A' && key.p[i] <= 'Z' ? key.p[i] | 0x20 : key.p[i];
        if (c != (u8)name[i]) {
            return false;
        }
    }
    return key.n == n;
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
    bool has_service = false;
    for (usize i = 0; i < cd_rpc_table_cnt(r->service->table) && !has_service; i++) {
        const char *known = cd_rpc_table_at(r->service->table, i)->name;
        has_service = strncmp(known, (const char *)one->name.p, at + 1) == 0;
    }
    char *shown = cd_arena_str(&r->arena, cd_bytes_sub(one->name, 0, (usize)len));
    if (at + 1 < (usize)len && shown[at + 1] >= 'a' && shown[at + 1] <= 'z') {
        shown[at + 1] = (char)(shown[at + 1] - 'a' + 'A');
    }
    refuse(r, CD_RPC_SERVER,
           cd_arena_fmt(&r->arena, "rpc: can't find %s \"%s\"", has_service ? "method" : "service",
                        shown));
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
        wrong = cd_arena_fmt(&r->arena,
                             "json: cannot unmarshal %s into Go value of type json2.serverRequest",
                             kind_name(v));
    } else if (!is_text_or_null(version) || !is_text_or_null(method)) {
        bool is_version = !is_text_or_null(version);
        wrong = cd_arena_fmt(
            &r->arena,
            "json: cannot unmarshal %s into Go struct field serverRequest.%s of type string",
            kind_name(is_version ? version : method), is_version ? "jsonrpc" : "method");
    }
    cd_bytes text = {0};
    if (wrong != NULL) {
        refuse(r, CD_RPC_PARSE, wrong);
        r->error_data = echo(r, version, method);
    } else if (cd_json_str(&text, version, NULL) != CD_OK ||
               !cd_bytes_eq(text, cd_bytes_str("2.0"))) {
        refuse(r, CD_RPC_INVALID_REQUEST, "jsonrpc must be 2.0");
        r->error_data = echo(r, version, method);
    } else {
        if (cd_json_str(&text, method, NULL) == CD_OK) {
            one->name = text;
        }
        resolve(r);
    }
}

/* --- writing ------------------------------------------------------------------------------------ */

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

/* Takes the object out of the array that some clients wrap it in. Methods of the other form keep theirs. */
static cd_err check_params(cd_rpc_call *call)
{
    if (strchr(call->method->name, '.') == NULL) {
        return CD_OK;
    }
    if (cd_json_kind_of(call->params) == CD_JSON_ARR) {
        call->params = cd_json_at(call->params, 0);
    }
    switch (cd_json_kind_of(call->params)) {
    case CD_JSON_NONE:
    case CD_JSON_NULL:
        call->params = (cd_json){0};
        return CD_OK;
    case CD_JSON_OBJ:
        return CD_OK;
    case CD_JSON_BOOL:
    case CD_JSON_NUM:
    case CD_JSON_STR:
    case CD_JSON_ARR:
        break;
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", bad_argument);
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
        call.splices = NULL;
        cd_buf_str(out, "{\"jsonrpc\":\"2.0\",\"result\":");
        cd_err e = check_params(&call);
        cd_rpc_method_called(one->method);
        e = e != CD_OK ? e : one->method->fn(&call);
        if (e == CD_OK) {
            put_id(out, one->id);
        } else {
            out->n = start;
            if (call.error_message == NULL) {
                cd_rpc_set_error(&call, CD_RPC_SERVER, "%s", cd_err_str(e));
            }
            put_error(out, one->id, call.error_code, call.error_message, (cd_bytes){0});
        }
        cd__rpc_scope_end(r, scope);
    }
    if (is_silent) {
        out->n = start;
    }
}

void cd__json2_refuse(cd_rpc_req *r, cd_buf *out, int code, const char *message)
{
    put_error(out, r->single.id, code, message, (cd_bytes){0});
}
