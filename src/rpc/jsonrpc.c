#include "rpc/jsonrpc.h"

#include "base/hmap.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

enum { BATCH_MAX = 1000, NAME_MAX_LEN = 64 };
#define RESPONSE_MAX ((usize)25000000)

/* Names are padded with zeros to one size so that they can be keys of a plain map. */
typedef struct method_key {
    char name[NAME_MAX_LEN];
} method_key;

struct cd_rpc_table {
    cd_hmap methods; /* method_key -> const cd_rpc_method * */
};

static bool key_of(method_key *out, cd_bytes name)
{
    if (name.n >= NAME_MAX_LEN) {
        return false;
    }
    *out = (method_key){0};
    memcpy(out->name, name.p, name.n);
    return true;
}

cd_rpc_table *cd_rpc_table_new(void)
{
    cd_rpc_table *t = cd_new(cd_rpc_table);
    cd_hmap_init(&t->methods, CD_HASH_KEYED, sizeof(method_key), sizeof(const cd_rpc_method *));
    return t;
}

void cd_rpc_table_free(cd_rpc_table *t)
{
    if (t != NULL) {
        cd_hmap_fini(&t->methods);
        cd_free(t);
    }
}

void cd_rpc_table_add(cd_rpc_table *t, const cd_rpc_method *methods, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        method_key key;
        bool is_new;
        CD_ASSERT(key_of(&key, cd_bytes_str(methods[i].name)));
        const cd_rpc_method **place = cd_hmap_put(&t->methods, &is_new, &key);
        CD_ASSERT(is_new);
        *place = &methods[i];
    }
}

static const cd_rpc_method *find(const cd_rpc_table *t, cd_bytes name)
{
    method_key key;
    if (!key_of(&key, name)) {
        return NULL;
    }
    const cd_rpc_method **place = cd_hmap_get(&t->methods, &key);
    return place == NULL ? NULL : *place;
}

cd_err cd_rpc_fail(cd_rpc_call *call, int code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    call->error_code = code;
    call->error_message = cd_arena_str(call->arena, cd_bytes_str(text));
    return CD_EINVAL;
}

/* --- one call ----------------------------------------------------------------------------------- */

static void write_head(cd_json_w *w, cd_json id)
{
    cd_json_w_obj(w);
    cd_json_w_key(w, "jsonrpc");
    cd_json_w_cstr(w, "2.0");
    cd_json_w_key(w, "id");
    if (cd_json_kind_of(id) == CD_JSON_NONE) {
        cd_json_w_null(w);
    } else {
        cd_buf raw = {0};
        cd_json_raw(&raw, id);
        cd_json_w_raw(w, cd_buf_bytes(&raw));
        cd_buf_fini(&raw);
    }
}

static void write_error(cd_json_w *w, cd_json id, int code, const char *message, const char *data)
{
    write_head(w, id);
    cd_json_w_key(w, "error");
    cd_json_w_obj(w);
    cd_json_w_key(w, "code");
    cd_json_w_i64(w, code);
    cd_json_w_key(w, "message");
    cd_json_w_cstr(w, message);
    if (data != NULL) {
        cd_json_w_key(w, "data");
        cd_json_w_raw(w, cd_bytes_str(data));
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

static bool id_is_valid(cd_json id)
{
    switch (cd_json_kind_of(id)) {
    case CD_JSON_NUM:
    case CD_JSON_STR:
    case CD_JSON_NULL:
        return true;
    case CD_JSON_NONE:
    case CD_JSON_BOOL:
    case CD_JSON_ARR:
    case CD_JSON_OBJ:
        return false;
    }
    return false;
}

static cd_err check_params(cd_rpc_call *call, const cd_rpc_method *m)
{
    cd_json_kind kind = cd_json_kind_of(call->params);
    if (kind == CD_JSON_NULL) {
        call->params = (cd_json){0};
    } else if (kind != CD_JSON_NONE && kind != CD_JSON_ARR) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "non-array args");
    }
    usize len = cd_json_len(call->params);
    if (len > m->max) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "too many arguments, want at most %u",
                           m->max);
    }
    for (usize i = 0; i < m->required; i++) {
        if (!cd_json_has(cd_json_at(call->params, i))) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                               "missing value for required argument %zu", i);
        }
    }
    return CD_OK;
}

/* Serves one element of a request; writes nothing for a notification. */
static void serve_one(const cd_rpc_table *t, cd_json_w *w, cd_arena *arena, void *ctx, cd_json req)
{
    cd_json id = cd_json_get(req, "id");
    cd_bytes version;
    cd_bytes name;
    bool is_valid = cd_json_kind_of(req) == CD_JSON_OBJ &&
                    cd_json_str(&version, cd_json_get(req, "jsonrpc"), NULL) == CD_OK &&
                    cd_bytes_eq(version, cd_bytes_str("2.0")) &&
                    cd_json_str(&name, cd_json_get(req, "method"), NULL) == CD_OK;
    bool is_notification = cd_json_kind_of(id) == CD_JSON_NONE;
    if (!is_valid || (!is_notification && !id_is_valid(id))) {
        write_error(w, id_is_valid(id) ? id : (cd_json){0}, CD_RPC_INVALID_REQUEST,
                    "invalid request", NULL);
        return;
    }
    cd_buf scratch = {0};
    cd_json_w quiet = {.out = &scratch};
    cd_json_w *out = is_notification ? &quiet : w;
    usize start = out->out->n;
    bool comma = out->comma;

    cd_rpc_call call = {
        .ctx = ctx, .arena = arena, .params = cd_json_get(req, "params"), .out = out};
    const cd_rpc_method *m = find(t, name);
    cd_err e;
    if (m == NULL) {
        e = cd_rpc_fail(&call, CD_RPC_NO_METHOD, "the method %.*s does not exist/is not available",
                        (int)cd_min_u64(name.n, 200), (const char *)name.p);
    } else {
        e = check_params(&call, m);
    }
    if (e == CD_OK) {
        write_head(out, id);
        cd_json_w_key(out, "result");
        e = m->fn(&call);
        if (e == CD_OK) {
            cd_json_w_obj_end(out);
        } else if (call.error_message == NULL) {
            (void)cd_rpc_fail(&call, CD_RPC_SERVER, "%s", cd_err_str(e));
        }
    }
    if (e != CD_OK) {
        /* Whatever the handler had written of its result goes. */
        out->out->n = start;
        out->comma = comma;
        write_error(out, id, call.error_code, call.error_message, call.error_data);
    }
    cd_buf_fini(&scratch);
}

/* --- requests ----------------------------------------------------------------------------------- */

/* The id of the first call of a batch; none when it holds only notifications and junk. */
static cd_json first_id(cd_json batch)
{
    cd_json_it it = cd_json_iter(batch);
    while (cd_json_next(&it)) {
        cd_json id = cd_json_get(it.val, "id");
        if (id_is_valid(id) && cd_json_kind_of(cd_json_get(it.val, "method")) == CD_JSON_STR) {
            return id;
        }
    }
    return (cd_json){0};
}

static void serve_batch(const cd_rpc_table *t, cd_buf *reply, cd_arena *arena, void *ctx,
                        cd_json batch, const cd_rpc_limits *limits)
{
    usize batch_max = limits->batch_max == 0 ? BATCH_MAX : limits->batch_max;
    usize response_max = limits->response_max == 0 ? RESPONSE_MAX : limits->response_max;
    usize len = cd_json_len(batch);
    cd_json_w w = {.out = reply};
    if (len == 0) {
        write_error(&w, (cd_json){0}, CD_RPC_INVALID_REQUEST, "empty batch", NULL);
        return;
    }
    cd_json_w_arr(&w);
    if (len > batch_max) {
        write_error(&w, first_id(batch), CD_RPC_INVALID_REQUEST, "batch too large", NULL);
        cd_json_w_arr_end(&w);
        return;
    }
    cd_json_it it = cd_json_iter(batch);
    bool is_full = false;
    while (cd_json_next(&it)) {
        if (is_full) {
            cd_json id = cd_json_get(it.val, "id");
            if (id_is_valid(id)) {
                write_error(&w, id, CD_RPC_TOO_LARGE, "response too large", NULL);
            }
            continue;
        }
        serve_one(t, &w, arena, ctx, it.val);
        is_full = reply->n > response_max;
    }
    if (reply->n == 1) {
        reply->n = 0; /* notifications only */
        return;
    }
    cd_json_w_arr_end(&w);
}

void cd_rpc_serve(const cd_rpc_table *t, cd_buf *reply, void *ctx, cd_bytes body,
                  const cd_rpc_limits *limits)
{
    static const cd_rpc_limits defaults;
    cd_arena arena = {0};
    cd_json req;
    cd_json_w w = {.out = reply};
    if (cd_json_parse(&req, &arena, body, 0, NULL) != CD_OK) {
        write_error(&w, (cd_json){0}, CD_RPC_PARSE, "parse error", NULL);
    } else if (cd_json_kind_of(req) == CD_JSON_ARR) {
        serve_batch(t, reply, &arena, ctx, req, limits == NULL ? &defaults : limits);
    } else {
        serve_one(t, &w, &arena, ctx, req);
    }
    cd_arena_fini(&arena);
}
