#include "rpc/jsonrpc.h"

#include <stdatomic.h>

#include "base/log/log.h"
#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "rpc/jsonrpc_priv.h"
#include "rpc/origin.h"

enum {
    FAST_BATCH_MAX = 32, /* a longer batch leaves the net loop, whatever it calls */
    NAME_SHOWN_MAX = 200,
};

/* A batch leaves the owner's thread to others after so long, and comes back behind them. */
#define OWNER_TURN_NS (2 * CD_NS_PER_MS)

cd_rpc_req *cd_rpc_req_new(void)
{
    return cd_new(cd_rpc_req);
}

void cd_rpc_req_free(cd_rpc_req *r)
{
    if (r != NULL) {
        cd_arena_fini(&r->arena);
        cd_free(r);
    }
}

/* --- reading --- */

static bool key_is(cd_bytes key, const char *name, usize len)
{
    return key.n == len && memcmp(key.p, name, len) == 0;
}

static bool ends_with(cd_bytes s, const char *end)
{
    usize n = strlen(end);
    return s.n > n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Everything but an array or an object may be an id. */
static bool id_is_valid(cd_json id)
{
    cd_json_kind k = cd_json_kind_of(id);
    return k != CD_JSON_NONE && k != CD_JSON_ARR && k != CD_JSON_OBJ;
}

static cd__rpc_sort sort_of(const cd_rpc_req *r, const cd__rpc_one *one, bool has_version, bool has_id)
{
    bool has_answer = cd_json_kind_of(one->result) != CD_JSON_NONE || cd_json_kind_of(one->error) != CD_JSON_NONE;
    if (!has_version || (has_id && cd_json_kind_of(one->id) == CD_JSON_NONE)) {
        return CD__RPC_INVALID;
    }
    if (one->name.n == 0) {
        bool is_answer = has_id && has_answer && cd_json_kind_of(one->params) == CD_JSON_NONE;
        return is_answer ? CD__RPC_ANSWER : CD__RPC_INVALID;
    }
    if (!has_id) {
        return CD__RPC_NOTIFICATION;
    }
    if (one->method == NULL && r->service->kinds_cnt != 0) {
        if (ends_with(one->name, "_subscribe")) {
            return CD__RPC_SUBSCRIBE;
        }
        if (ends_with(one->name, "_unsubscribe")) {
            return CD__RPC_UNSUBSCRIBE;
        }
    }
    return CD__RPC_CALL;
}

static void read_one(const cd_rpc_req *r, cd__rpc_one *one, cd_json v)
{
    cd_json version = {0};
    cd_json id = {0};
    cd_bytes text;
    *one = (cd__rpc_one){0};
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        return;
    }
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        if (key_is(it.key, "method", 6)) {
            one->name = (cd_bytes){0};
            if (cd_json_str(&text, it.val, NULL) == CD_OK) {
                one->name = text;
            }
        } else if (key_is(it.key, "params", 6)) {
            one->params = it.val;
        } else if (key_is(it.key, "id", 2)) {
            id = it.val;
        } else if (key_is(it.key, "jsonrpc", 7)) {
            version = it.val;
        } else if (key_is(it.key, "result", 6)) {
            one->result = it.val;
        } else if (key_is(it.key, "error", 5)) {
            one->error = it.val;
        }
    }
    bool has_version = cd_json_str(&text, version, NULL) == CD_OK && key_is(text, "2.0", 3);
    one->id = id_is_valid(id) ? id : (cd_json){0};
    one->method = cd_rpc_table_find(r->service->table, one->name);
    one->sort = sort_of(r, one, has_version, cd_json_kind_of(id) != CD_JSON_NONE);
}

static void refuse(cd_rpc_req *r, int code, const char *message)
{
    r->error_code = code;
    r->error_message = message;
}

/* The id of the first call of a batch that is too long; none when there is no call in it. */
static cd_json first_id(const cd_rpc_req *r, cd_json batch)
{
    cd_json_it it = cd_json_iter(batch);
    while (cd_json_next(&it)) {
        cd__rpc_one one;
        read_one(r, &one, it.val);
        if (one.sort == CD__RPC_CALL || one.sort == CD__RPC_SUBSCRIBE || one.sort == CD__RPC_UNSUBSCRIBE) {
            return one.id;
        }
    }
    return (cd_json){0};
}

static void read_batch(cd_rpc_req *r, cd_json batch)
{
    usize len = cd_json_len(batch);
    if (len == 0) {
        refuse(r, CD_RPC_INVALID_REQUEST, "empty batch");
        return;
    }
    r->is_batch = true;
    if (r->service->limits.batch_max != 0 && len > r->service->limits.batch_max) {
        refuse(r, CD_RPC_INVALID_REQUEST, "batch too large");
        r->error_id = first_id(r, batch);
        return;
    }
    r->ones = cd_arena_alloc(&r->arena, len * sizeof *r->ones);
    cd_json_it it = cd_json_iter(batch);
    while (cd_json_next(&it)) {
        read_one(r, &r->ones[r->cnt++], it.val);
    }
}

static void read_body(cd_rpc_req *r, cd_bytes body)
{
    cd_json v;
    if (cd_json_parse(&v, &r->arena, body, 0, NULL) != CD_OK) {
        refuse(r, CD_RPC_PARSE, "parse error");
        if (r->session != NULL) {
            /* On a connection that stays go-ethereum lets its decoder speak. */
            cd_buf text = {0};
            cd__rpc_syntax_error(&text, body);
            r->error_message = cd_arena_str(&r->arena, cd_buf_bytes(&text));
            cd_buf_fini(&text);
        }
    } else if (cd_json_kind_of(v) == CD_JSON_ARR) {
        read_batch(r, v);
    } else {
        r->ones = &r->single;
        r->cnt = 1;
        read_one(r, r->ones, v);
    }
}

cd_rpc_lane cd_rpc_req_parse(cd_rpc_req *r, const cd_rpc_service *s, struct cd_rpc_session *session, cd_bytes body,
                             u64 since_ns)
{
    cd_arena arena = r->arena;
    cd_arena_reset(&arena);
    *r = (cd_rpc_req){.service = s, .session = session, .arena = arena};
    r->deadline_ns = s->limits.duration_ns == 0 ? UINT64_MAX : since_ns + s->limits.duration_ns;
    r->lane = CD_RPC_FAST;
    if (s->form == CD_RPC_JSON2) {
        cd__json2_parse(r, body);
    } else {
        read_body(r, body);
    }
    for (usize i = 0; i < r->cnt; i++) {
        cd__rpc_one *one = &r->ones[i];
        r->has_subs = r->has_subs || one->sort == CD__RPC_SUBSCRIBE || one->sort == CD__RPC_UNSUBSCRIBE;
        if (one->method != NULL) {
            one->lane = s->lane == NULL ? one->method->lane : s->lane(s->ctx, one->method, one->params);
            r->lane = one->lane > r->lane ? one->lane : r->lane;
        }
    }
    if (r->is_batch && (r->lane != CD_RPC_FAST || r->cnt > FAST_BATCH_MAX)) {
        r->lane = r->ones[0].lane == CD_RPC_OWNER ? CD_RPC_OWNER : CD_RPC_READ;
    }
    return r->lane;
}

/* --- writing --- */

static void put(cd_buf *out, const char *text, usize len)
{
    cd_buf_put(out, cd_bytes_of(text, len));
}
#define PUT(out, literal) put((out), (literal), sizeof(literal) - 1)

static void put_id(cd_buf *out, cd_json id)
{
    PUT(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (cd_json_kind_of(id) == CD_JSON_NONE) {
        PUT(out, "null");
    } else {
        cd_json_raw(out, id);
    }
}

static void put_error(cd_buf *out, cd_json id, int code, const char *message, const char *data)
{
    cd_json_w w = {.out = out};
    put_id(out, id);
    PUT(out, ",\"error\":{\"code\":");
    cd_json_w_i64(&w, code);
    PUT(out, ",\"message\":");
    cd_json_w str = {.out = out};
    cd_json_w_cstr(&str, message);
    if (data != NULL) {
        PUT(out, ",\"data\":");
        cd_buf_str(out, data);
    }
    PUT(out, "}}");
}

/* --- serving --- */

void *cd__rpc_scope_new(cd_rpc_req *r)
{
    void *scope = r->service->scope_size == 0 ? NULL : cd_arena_zalloc(&r->arena, r->service->scope_size);
    if (r->service->begin != NULL) {
        r->service->begin(r->service->ctx, scope);
    }
    return scope;
}

void cd__rpc_scope_end(cd_rpc_req *r, void *scope)
{
    if (r->service->end != NULL) {
        r->service->end(r->service->ctx, scope);
    }
}

cd_rpc_call cd__rpc_call_of(cd_rpc_req *r, const cd__rpc_one *one, void *scope, cd_json_w *out)
{
    return (cd_rpc_call){
        .ctx = r->service->ctx,
        .scope = scope,
        .service = r->service,
        .method = one->method,
        .session = r->session,
        .arena = &r->arena,
        .params = one->params,
        .out = out,
        .splices = r->splices,
        .lane = r->lane,
        .foreign = r->foreign,
        .deadline_ns = r->deadline_ns,
        .wait = r->may_wait && !r->is_batch ? &r->wait : NULL,
    };
}

static cd_err check_params(cd_rpc_call *call)
{
    const cd_rpc_method *m = call->method;
    cd_json_kind kind = cd_json_kind_of(call->params);
    if (kind == CD_JSON_NULL) {
        call->params = (cd_json){0};
    } else if (kind != CD_JSON_NONE && kind != CD_JSON_ARR) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "non-array args");
    }
    usize len = cd_json_len(call->params);
    if (len > m->max) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "too many arguments, want at most %u", m->max);
    }
    for (usize i = 0; i < m->required; i++) {
        if (!cd_json_has(cd_json_at(call->params, i))) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "missing value for required argument %zu", i);
        }
    }
    return CD_OK;
}

static cd_err check_call(const cd_rpc_req *r, cd_rpc_call *call, const cd__rpc_one *one)
{
    if (call->method == NULL) {
        return cd_rpc_fail(call, CD_RPC_NO_METHOD, "the method %.*s does not exist/is not available",
                           (int)cd_min_u64(one->name.n, NAME_SHOWN_MAX), (const char *)one->name.p);
    }
    if (cd_rpc_is_late(call)) {
        return cd_rpc_fail_late(call);
    }
    CD_TRY(cd_rpc_origin_check(call, r->origins));
    return call->method->args == NULL ? check_params(call) : cd__rpc_args_read(call);
}

u64 cd__rpc_tell_start(const cd_rpc_req *r)
{
    return cd_log_is_on(r->log, CD_LOG_DEBUG) ? cd_clock_mono_ns(cd_clock_real()) : 0;
}

void cd__rpc_tell(const cd_rpc_req *r, const cd__rpc_one *one, u64 start_ns, const char *error)
{
    if (start_ns == 0) {
        return;
    }
    cd_bytes name = cd_bytes_sub(one->name, 0, (usize)cd_min_u64(one->name.n, NAME_SHOWN_MAX));
    u64 us = (cd_clock_mono_ns(cd_clock_real()) - start_ns) / 1000;
    if (error == NULL) {
        cd_log_debug(r->log, "request", CD_F("method", name), CD_F("us", us));
    } else {
        cd_log_debug(r->log, "request", CD_F("method", name), CD_F("us", us), CD_F("error", error));
    }
}

/* Runs a call; its answer goes to out. Gives the bytes of the result. */
static usize serve_call(cd_rpc_req *r, cd_buf *out, const cd__rpc_one *one, void *scope)
{
    usize start = out->n;
    u32 splices = r->splices == NULL ? 0 : r->splices->cnt;
    cd_json_w w = {.out = out};
    cd_rpc_call call = cd__rpc_call_of(r, one, scope, &w);
    u64 start_ns = cd__rpc_tell_start(r);
    cd_err e = check_call(r, &call, one);
    if (e == CD_OK) {
        put_id(out, one->id);
        PUT(out, ",\"result\":");
        usize result_at = out->n;
        e = call.method->fn(&call);
        if (e == CD_EAGAIN && r->lane == CD_RPC_TRY) {
            out->n = start;
            r->must_read = true;
            return 0;
        }
        if (e == CD_EAGAIN && call.wait != NULL && call.wait->ctx != NULL) {
            out->n = start;
            r->is_waiting = true;
            return 0;
        }
        cd_rpc_method_called(call.method);
        /* What the owner has changed is told, however long it took. */
        if (e == CD_OK && (one->lane == CD_RPC_OWNER || !cd_rpc_is_late(&call))) {
            usize size = out->n - result_at;
            size += r->splices == NULL ? 0 : cd_splices_size(r->splices, splices);
            CD_ASSERT(size != 0);
            cd_buf_u8(out, '}');
            cd__rpc_tell(r, one, start_ns, NULL);
            return size;
        }
        if (e == CD_OK) {
            (void)cd_rpc_fail_late(&call);
        } else if (call.error_message == NULL) {
            cd_rpc_set_error(&call, CD_RPC_SERVER, "%s", cd_err_str(e));
        }
    }
    out->n = start; /* whatever the handler had written of its result goes */
    if (r->splices != NULL) {
        cd_splices_cut(r->splices, splices);
    }
    put_error(out, one->id, call.error_code, call.error_message, call.error_data);
    cd__rpc_tell(r, one, start_ns, call.error_message);
    return 0;
}

/* What a session has answered beforehand; over HTTP nothing can be subscribed to. */
static usize serve_sub(const cd_rpc_req *r, cd_buf *out, const cd__rpc_one *one)
{
    if (r->session == NULL) {
        if (one->sort == CD__RPC_SUBSCRIBE) {
            put_error(out, one->id, CD_RPC_NO_METHOD, "notifications not supported", NULL);
        } else {
            put_error(out, one->id, CD_RPC_SERVER, "subscription not found", NULL);
        }
        return 0;
    }
    if (one->error_message != NULL) {
        put_error(out, one->id, one->error_code, one->error_message, NULL);
        return 0;
    }
    put_id(out, one->id);
    PUT(out, ",\"result\":");
    usize at = out->n;
    if (one->sort == CD__RPC_SUBSCRIBE) {
        cd_json_w w = {.out = out};
        cd_json_w_str(&w, one->sub_id);
    } else {
        PUT(out, "true");
    }
    usize size = out->n - at;
    cd_buf_u8(out, '}');
    return size;
}

/* Serves one element, which writes nothing when it wants no answer. */
static usize serve_one(cd_rpc_req *r, cd_buf *out, const cd__rpc_one *one, void *scope)
{
    switch (one->sort) {
    case CD__RPC_INVALID:
        put_error(out, one->id, CD_RPC_INVALID_REQUEST, "invalid request", NULL);
        return 0;
    case CD__RPC_CALL:
        return serve_call(r, out, one, scope);
    case CD__RPC_NOTIFICATION: {
        cd_buf quiet = {0};
        cd_splices *splices = r->splices;
        r->splices = NULL;
        (void)serve_call(r, &quiet, one, scope);
        r->splices = splices;
        cd_buf_fini(&quiet);
        return 0;
    }
    case CD__RPC_SUBSCRIBE:
    case CD__RPC_UNSUBSCRIBE:
        return serve_sub(r, out, one);
    case CD__RPC_ANSWER:
        return 0;
    }
    CD_UNREACHABLE();
}

static bool wants_answer(const cd__rpc_one *one)
{
    return one->sort != CD__RPC_NOTIFICATION && one->sort != CD__RPC_ANSWER;
}

/* Begins the next element of a batch: the comma, or the bracket of the first. */
static void put_next(cd_buf *out, usize start)
{
    cd_buf_u8(out, out->n == start ? '[' : ',');
}

/* Brings what is counted of an answer up to date; false when there is no room for more of it. */
static bool count_writing(cd_rpc_writing *w, usize *mine, usize now)
{
    if (w == NULL) {
        return true;
    }
    usize all = atomic_fetch_add(&w->bytes, now - *mine) + now - *mine; /* modulo 2^64 */
    *mine = now;
    return all <= w->max || all == now;
}

/* Serves the next element of a batch, or says why not. */
static void serve_next(cd_rpc_req *r, cd_buf *out, void *scope)
{
    const cd__rpc_one *one = &r->ones[r->next++];
    usize max = r->service->limits.response_max;
    bool is_full = max != 0 && r->sum > max;
    if (!wants_answer(one)) {
        if (!is_full) {
            (void)serve_one(r, out, one, scope);
        }
        return;
    }
    put_next(out, r->start);
    if (is_full) {
        put_error(out, one->id, CD_RPC_TOO_LARGE, "response too large", NULL);
    } else if (!r->has_room) {
        put_error(out, one->id, CD_RPC_BUSY, "too many large answers are being written", NULL);
    } else {
        r->sum += serve_one(r, out, one, scope);
        r->has_room = count_writing(r->writing, &r->counted, out->cap);
    }
}

/* The lane in which the batch goes on: what changes something is the owner's, and nothing but that and what is quick
 * runs there, so that nobody waits for the long calls of others. */
static cd_rpc_lane lane_next(const cd_rpc_req *r)
{
    cd_rpc_lane lane = r->ones[r->next].lane;
    if (lane == CD_RPC_OWNER || r->lane == CD_RPC_FAST) {
        return lane;
    }
    return lane == CD_RPC_FAST ? r->lane : CD_RPC_READ;
}

static void begin_batch(cd_rpc_req *r, const cd_buf *out)
{
    r->start = out->n;
    r->has_room = count_writing(r->writing, &r->counted, out->cap);
}

static void end_batch(cd_rpc_req *r, cd_buf *out)
{
    (void)count_writing(r->writing, &r->counted, 0);
    if (out->n != r->start) {
        cd_buf_u8(out, ']');
    }
}

static bool serve_batch(cd_rpc_req *r, cd_buf *out)
{
    if (r->next == 0) {
        begin_batch(r, out);
    }
    bool is_owner = r->lane == CD_RPC_OWNER;
    u64 end = is_owner ? cd_clock_mono_ns(cd_clock_real()) + OWNER_TURN_NS : UINT64_MAX;
    cd_rpc_lane lane = r->lane;
    void *scope = NULL;
    bool has_scope = false;
    while (r->next != r->cnt && (lane = lane_next(r)) == r->lane &&
           (!is_owner || cd_clock_mono_ns(cd_clock_real()) < end)) {
        bool changes = r->ones[r->next].lane == CD_RPC_OWNER;
        scope = has_scope ? scope : cd__rpc_scope_new(r);
        has_scope = !changes;
        serve_next(r, out, scope);
        if (changes) {
            cd__rpc_scope_end(r, scope); /* what follows sees the change */
        }
    }
    if (has_scope) {
        cd__rpc_scope_end(r, scope);
    }
    if (r->next != r->cnt) {
        r->lane = lane;
        return false;
    }
    end_batch(r, out);
    return true;
}

bool cd__rpc_req_has_begun(const cd_rpc_req *r)
{
    return r->is_batch && r->next != 0;
}

static void put_refusal(const cd_rpc_req *r, cd_buf *out)
{
    if (r->is_batch) {
        cd_buf_u8(out, '[');
    }
    put_error(out, r->error_id, r->error_code, r->error_message, NULL);
    if (r->is_batch) {
        cd_buf_u8(out, ']');
    }
}

/* False: the rest is for another thread, or for this one later. */
static bool serve(cd_rpc_req *r, cd_buf *reply)
{
    if (r->service->form == CD_RPC_JSON2) {
        cd__json2_serve(r, reply);
        return !r->is_waiting;
    } else if (r->error_message != NULL) {
        put_refusal(r, reply);
    } else if (r->is_batch) {
        return serve_batch(r, reply);
    } else {
        void *scope = cd__rpc_scope_new(r);
        (void)serve_one(r, reply, &r->single, scope);
        cd__rpc_scope_end(r, scope);
    }
    return !r->is_waiting;
}

bool cd__rpc_req_step(cd_rpc_req *r, cd_buf *reply)
{
    if (r->lane == CD_RPC_TRY) {
        r->lane = CD_RPC_READ;
    }
    return serve(r, reply);
}

void cd_rpc_req_serve(cd_rpc_req *r, cd_buf *reply)
{
    while (!cd__rpc_req_step(r, reply)) {
    }
}

bool cd__rpc_req_try(cd_rpc_req *r, cd_buf *reply)
{
    bool is_served = serve(r, reply);
    CD_ASSERT(is_served); /* one call, or a batch of quick ones */
    if (r->must_read) {
        r->must_read = false;
        r->lane = CD_RPC_READ;
        return false;
    }
    return true;
}

void cd_rpc_write_shared(cd_rpc_call *call, cd_shared *s)
{
    enum { COPY_MAX = 4096 }; /* copying so little costs less than a piece more to send */
    cd_json_w *w = call->out;
    cd_bytes text = cd_shared_bytes(s);
    if (call->splices == NULL || text.n <= COPY_MAX) {
        cd_json_w_raw(w, text);
        return;
    }
    cd_json_w_raw(w, (cd_bytes){0}); /* the comma, if one is due */
    (void)cd_shared_ref(s);
    if (!cd_splices_add(call->splices, w->out, s)) {
        cd_buf_put(w->out, text);
        cd_shared_unref(s);
    }
}

void cd_rpc_req_refuse(cd_rpc_req *r, cd_buf *reply, int code, const char *message)
{
    if (r->service->form == CD_RPC_JSON2) {
        cd__json2_refuse(r, reply, code, message);
        return;
    }
    if (r->error_message != NULL) {
        put_refusal(r, reply);
        return;
    }
    if (r->is_batch && r->next == 0) {
        begin_batch(r, reply);
    }
    for (; r->next < r->cnt; r->next++) {
        const cd__rpc_one *one = &r->ones[r->next];
        if (wants_answer(one)) {
            if (r->is_batch) {
                put_next(reply, r->start);
            }
            put_error(reply, one->id, code, message, NULL);
        }
    }
    if (r->is_batch) {
        end_batch(r, reply);
    }
}

void cd_rpc_serve(const cd_rpc_service *s, cd_buf *reply, cd_bytes body)
{
    cd_rpc_req *r = cd_rpc_req_new();
    (void)cd_rpc_req_parse(r, s, NULL, body, cd_clock_mono_ns(cd_clock_real()));
    cd_rpc_req_serve(r, reply);
    cd_rpc_req_free(r);
}
