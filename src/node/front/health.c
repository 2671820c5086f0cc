#include "node/front/health.h"

#include "base/mem/mem.h"
#include "codec/ids.h"
#include "net/http/query.h"
#include "rpc/named.h"

#include <stdio.h>

enum { ENDPOINTS_MAX = 2, FRESH_NS = 1000000000 /* unless said otherwise */ };

typedef struct check {
    const char *name;
    u32 kinds;
    cd_health_check *run;
    void *ctx;
    bool was_asked;
    u64 asked_ns; /* monotonic time */
    u64 wall_ns;
    u64 took_ns;
    u64 failures; /* failures one after the other */
    u64 first_failure_ns;
    const char *error; /* what is wrong; NULL: nothing is */
    cd_buf message;
    cd_hash32 tags[CD_HEALTH_TAGS_MAX];
    usize tag_cnt; /* 0: it is about the whole node */
} check;

struct cd_health {
    const cd_clock *clock;
    u64 fresh_ns;
    check *checks; /* by name */
    usize cnt;
    cd_rpc_table *table;
    cd_rpc_service service;
    cd_rpc_endpoint *endpoints[ENDPOINTS_MAX];
    usize endpoints_cnt;
};

/* --- checks --- */

/* The place of a name in the sorted list: where it is, or would be put. */
static usize place_of(const cd_health *h, const char *name)
{
    usize i = 0;
    while (i < h->cnt && strcmp(h->checks[i].name, name) < 0) {
        i++;
    }
    return i;
}

bool cd_health_has(const cd_health *h, const char *name)
{
    usize at = place_of(h, name);
    return at < h->cnt && strcmp(h->checks[at].name, name) == 0;
}

void cd_health_add(cd_health *h, const char *name, u32 kinds, cd_health_check *run, void *ctx)
{
    usize at = place_of(h, name);
    CD_ASSERT(!cd_health_has(h, name));
    h->checks = cd_realloc(h->checks, (h->cnt + 1) * sizeof *h->checks);
    memmove(h->checks + at + 1, h->checks + at, (h->cnt - at) * sizeof *h->checks);
    h->checks[at] = (check){.name = name, .kinds = kinds, .run = run, .ctx = ctx};
    h->cnt++;
}

void cd_health_remove(cd_health *h, const char *name)
{
    usize at = place_of(h, name);
    CD_ASSERT(cd_health_has(h, name));
    cd_buf_fini(&h->checks[at].message);
    h->cnt--;
    memmove(h->checks + at, h->checks + at + 1, (h->cnt - at) * sizeof *h->checks);
}

void cd_health_tag(cd_health *h, const char *name, const cd_hash32 *tags, usize cnt)
{
    CD_ASSERT(cd_health_has(h, name) && cnt <= CD_HEALTH_TAGS_MAX);
    check *c = &h->checks[place_of(h, name)];
    memcpy(c->tags, tags, cnt * sizeof *tags);
    c->tag_cnt = cnt;
}

/* Tags as somebody asks for them; none: everything is wanted. */
typedef struct wanted {
    const cd_bytes *tags;
    usize cnt;
} wanted;

static bool is_wanted(const check *c, const wanted *w)
{
    if (c->tag_cnt == 0 || w->cnt == 0) {
        return true;
    }
    for (usize i = 0; i < w->cnt; i++) {
        cd_hash32 id;
        bool is_id = cd_id_parse(&id, w->tags[i], NULL) == CD_OK;
        for (usize k = 0; k < c->tag_cnt && is_id; k++) {
            if (cd_hash32_eq(&c->tags[k], &id)) {
                return true;
            }
        }
    }
    return false;
}

static void ask(const cd_health *h, check *c)
{
    const cd_clock *clock = h->clock;
    u64 now = cd_clock_mono_ns(clock);
    if (c->was_asked && now - c->asked_ns < h->fresh_ns) {
        return;
    }
    c->was_asked = true;
    cd_buf_clear(&c->message);
    cd_json_w w = {.out = &c->message};
    c->wall_ns = cd_clock_wall_ns(clock);
    c->asked_ns = now;
    c->error = c->run(c->ctx, &w);
    c->took_ns = cd_clock_mono_ns(clock) - now;
    if (c->error == NULL) {
        c->failures = 0;
    } else if (c->failures++ == 0) {
        c->first_failure_ns = c->wall_ns;
    }
}

static void put_time(cd_json_w *w, const char *key, u64 wall_ns)
{
    char text[CD_TIME_TEXT_LEN];
    cd_time_fmt(text, wall_ns);
    cd_json_put_str(w, key, cd_bytes_of(text, sizeof text));
}

static void put_result(cd_json_w *w, const check *c)
{
    cd_json_w_obj(w);
    if (c->message.n != 0) {
        cd_json_put_raw(w, "message", cd_buf_bytes(&c->message));
    }
    if (c->error != NULL) {
        cd_json_put_cstr(w, "error", c->error);
    }
    put_time(w, "timestamp", c->wall_ns);
    cd_json_put_u64(w, "duration", c->took_ns);
    if (c->failures != 0) {
        cd_json_put_u64(w, "contiguousFailures", c->failures);
        put_time(w, "timeOfFirstFailure", c->first_failure_ns);
    }
    cd_json_w_obj_end(w);
}

static bool put_checks(cd_health *h, cd_json_w *w, u32 kind, const wanted *tags)
{
    bool is_well = true;
    cd_json_w_obj(w);
    cd_json_w_key(w, "checks");
    cd_json_w_obj(w);
    for (usize i = 0; i < h->cnt; i++) {
        check *c = &h->checks[i];
        if ((c->kinds & kind) != 0 && is_wanted(c, tags)) {
            ask(h, c);
            is_well = is_well && c->error == NULL;
            cd_json_w_key(w, c->name);
            put_result(w, c);
        }
    }
    cd_json_w_obj_end(w);
    cd_json_put_bool(w, "healthy", is_well);
    cd_json_w_obj_end(w);
    return is_well;
}

bool cd_health_fmt(cd_health *h, cd_buf *out, u32 kind)
{
    return cd_health_fmt_tags(h, out, kind, NULL, 0);
}

bool cd_health_fmt_tags(cd_health *h, cd_buf *out, u32 kind, const cd_bytes *tags, usize cnt)
{
    cd_json_w w = {.out = out};
    const wanted want = {.tags = tags, .cnt = cnt};
    return put_checks(h, &w, kind, &want);
}

void cd_health_put_since(cd_json_w *w, const char *key, u64 ns)
{
    cd_buf text = {0};
    cd_buf_fmt(&text, "%llu.%03llums", (unsigned long long)(ns / CD_NS_PER_MS), (unsigned long long)(ns / 1000 % 1000));
    cd_json_put_cstr(w, key, ns == 0 ? "0s" : cd_buf_cstr(&text));
    cd_buf_fini(&text);
}

usize cd_health_failing(const cd_health *h)
{
    usize cnt = 0;
    for (usize i = 0; i < h->cnt; i++) {
        cnt += h->checks[i].error != NULL;
    }
    return cnt;
}

/* --- routes --- */

static void reply(cd_health *h, cd_http_req *req, u32 kind)
{
    cd_arena a = {0};
    cd_bytes *tags = NULL;
    usize cnt = 0;
    (void)!cd_query_all(&tags, &cnt, &a, cd_http_req_query(req), "tag"); /* what cannot be read names no tag */
    bool is_well = cd_health_fmt_tags(h, cd_http_req_out(req), kind, tags, cnt);
    cd_arena_fini(&a);
    cd_buf_str(cd_http_req_out(req), "\n");
    cd_http_reply(req, is_well ? 200 : 503, "application/json");
}

static void on_health(void *ctx, cd_http_req *req)
{
    reply(ctx, req, CD_HEALTH_HEALTH);
}

static void on_readiness(void *ctx, cd_http_req *req)
{
    reply(ctx, req, CD_HEALTH_READINESS);
}

static void on_liveness(void *ctx, cd_http_req *req)
{
    reply(ctx, req, 0);
}

/* --- methods --- */

#define X CD_RPC_NAMED_DECL
#include "node/front/health.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/front/health.def"
#undef X
};

static cd_err answer(cd_rpc_call *call, u32 kind, const cd_rpc_strings *tags)
{
    const wanted want = {.tags = tags->v, .cnt = tags->n};
    (void)put_checks(call->ctx, call->out, kind, &want);
    return CD_OK;
}

cd_err cd__health_health(cd_rpc_call *call)
{
    return answer(call, CD_HEALTH_HEALTH, &((const cd__health_health_args *)call->args)->tags);
}

cd_err cd__health_readiness(cd_rpc_call *call)
{
    return answer(call, CD_HEALTH_READINESS, &((const cd__health_readiness_args *)call->args)->tags);
}

cd_err cd__health_liveness(cd_rpc_call *call)
{
    return answer(call, 0, &((const cd__health_liveness_args *)call->args)->tags);
}

cd_health *cd_health_new(const cd_clock *clock, u64 fresh_ns)
{
    cd_health *h = cd_new(cd_health);
    h->clock = clock;
    h->fresh_ns = fresh_ns != 0 ? fresh_ns : FRESH_NS;
    h->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(h->table, methods, CD_COUNT(methods));
    h->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = h->table, .ctx = h};
    return h;
}

void cd_health_free(cd_health *h)
{
    if (h == NULL) {
        return;
    }
    for (usize i = 0; i < h->endpoints_cnt; i++) {
        cd_rpc_endpoint_free(h->endpoints[i]);
    }
    for (usize i = 0; i < h->cnt; i++) {
        cd_buf_fini(&h->checks[i].message);
    }
    cd_rpc_table_free(h->table);
    cd_free(h->checks);
    cd_free(h);
}

void cd_health_routes(cd_health *h, cd_http_server *s, const char *prefix, cd_loop *loop, const cd_rpc_lanes *lanes)
{
    static const struct {
        const char *path;
        u32 methods;
        cd_http_handler *handler;
    } rows[] = {
        {"", CD_HTTP_GET, on_health},
        {"/health", CD_HTTP_ANY, on_health},
        {"/readiness", CD_HTTP_ANY, on_readiness},
        {"/liveness", CD_HTTP_ANY, on_liveness},
    };
    char path[64];
    const cd_rpc_endpoint_cfg cfg = {.loop = loop, .lanes = *lanes, .service = &h->service};
    CD_ASSERT(h->endpoints_cnt < ENDPOINTS_MAX);
    cd_rpc_endpoint *e = cd_rpc_endpoint_new(&cfg);
    h->endpoints[h->endpoints_cnt++] = e;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        (void)snprintf(path, sizeof path, "%s/health%s", prefix, rows[i].path);
        const cd_http_route route = {.path = path, .methods = rows[i].methods, .handler = rows[i].handler, .ctx = h};
        cd_http_server_route(s, &route);
    }
    /* Behind the route of GET, which comes first. */
    (void)snprintf(path, sizeof path, "%s/health", prefix);
    cd_rpc_endpoint_route(e, s, path, CD_RPC_OVER_HTTP);
}
