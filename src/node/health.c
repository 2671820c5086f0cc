#include "node/health.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>

enum { CHECKS_MAX = 8, ENDPOINTS_MAX = 2, FRESH_NS = 1000000000 };

typedef struct check {
    const char *name;
    u32 kinds;
    cd_health_check *run;
    void *ctx;
    u64 asked_ns; /* monotonic; 0: never */
    u64 wall_ns;
    u64 took_ns;
    u64 failures; /* in a row */
    u64 first_failure_ns;
    const char *error; /* NULL: well */
    cd_buf message;
} check;

struct cd_health {
    check checks[CHECKS_MAX];
    usize cnt;
    cd_rpc_table *table;
    cd_rpc_service service;
    cd_rpc_endpoint *endpoints[ENDPOINTS_MAX];
    usize endpoints_cnt;
};

/* --- checks ------------------------------------------------------------------------------------- */

void cd_health_add(cd_health *h, const char *name, u32 kinds, cd_health_check *run, void *ctx)
{
    CD_ASSERT(h->cnt < CHECKS_MAX);
    CD_ASSERT(h->cnt == 0 || strcmp(h->checks[h->cnt - 1].name, name) < 0);
    h->checks[h->cnt++] = (check){.name = name, .kinds = kinds, .run = run, .ctx = ctx};
}

static void ask(check *c)
{
    const cd_clock *clock = cd_clock_real();
    u64 now = cd_clock_mono_ns(clock);
    if (c->asked_ns != 0 && now - c->asked_ns < FRESH_NS) {
        return;
    }
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
    cd_json_w_key(w, key);
    cd_json_w_str(w, cd_bytes_of(text, sizeof text));
}

static void put_result(cd_json_w *w, const check *c)
{
    cd_json_w_obj(w);
    if (c->message.n != 0) {
        cd_json_w_key(w, "message");
        cd_json_w_raw(w, cd_buf_bytes(&c->message));
    }
    if (c->error != NULL) {
        cd_json_w_key(w, "error");
        cd_json_w_cstr(w, c->error);
    }
    put_time(w, "timestamp", c->wall_ns);
    cd_json_w_key(w, "duration");
    cd_json_w_u64(w, c->took_ns);
    if (c->failures != 0) {
        cd_json_w_key(w, "contiguousFailures");
        cd_json_w_u64(w, c->failures);
        put_time(w, "timeOfFirstFailure", c->first_failure_ns);
    }
    cd_json_w_obj_end(w);
}

static bool put_checks(cd_health *h, cd_json_w *w, u32 kind)
{
    bool is_well = true;
    cd_json_w_obj(w);
    cd_json_w_key(w, "checks");
    cd_json_w_obj(w);
    for (usize i = 0; i < h->cnt; i++) {
        check *c = &h->checks[i];
        if ((c->kinds & kind) != 0) {
            ask(c);
            is_well = is_well && c->error == NULL;
            cd_json_w_key(w, c->name);
            put_result(w, c);
        }
    }
    cd_json_w_obj_end(w);
    cd_json_w_key(w, "healthy");
    cd_json_w_bool(w, is_well);
    cd_json_w_obj_end(w);
    return is_well;
}

bool cd_health_fmt(cd_health *h, cd_buf *out, u32 kind)
{
    cd_json_w w = {.out = out};
    return put_checks(h, &w, kind);
}

usize cd_health_failing(const cd_health *h)
{
    usize cnt = 0;
    for (usize i = 0; i < h->cnt; i++) {
        cnt += h->checks[i].error != NULL;
    }
    return cnt;
}

/* --- routes ------------------------------------------------------------------------------------- */

static void reply(cd_health *h, cd_http_req *req, u32 kind)
{
    bool is_well = cd_health_fmt(h, cd_http_req_out(req), kind);
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

static cd_err call_health(cd_rpc_call *call)
{
    (void)put_checks(call->ctx, call->out, CD_HEALTH_HEALTH);
    return CD_OK;
}

static cd_err call_readiness(cd_rpc_call *call)
{
    (void)put_checks(call->ctx, call->out, CD_HEALTH_READINESS);
    return CD_OK;
}

static cd_err call_liveness(cd_rpc_call *call)
{
    (void)put_checks(call->ctx, call->out, 0);
    return CD_OK;
}

cd_health *cd_health_new(void)
{
    static const cd_rpc_method rows[] = {
        CD_RPC_ROW("", health.health, call_health, FAST, 0, 1, "tags?: Data -> Data", "All checks")
            CD_RPC_ROW("", health.readiness, call_readiness, FAST, 0, 1, "tags?: Data -> Data",
                       "Checks of whether the node can serve")
                CD_RPC_ROW("", health.liveness, call_liveness, FAST, 0, 1, "tags?: Data -> Data",
                           "Checks of whether the node must be started again")};
    cd_health *h = cd_new(cd_health);
    h->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(h->table, rows, CD_COUNT(rows));
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
    cd_free(h);
}

void cd_health_routes(cd_health *h, cd_http_server *s, const char *prefix, cd_loop *loop,
                      const cd_rpc_lanes *lanes)
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
        const cd_http_route route = {
            .path = path, .methods = rows[i].methods, .handler = rows[i].handler, .ctx = h};
        cd_http_server_route(s, &route);
    }
    /* Behind the route of GET, which comes first. */
    (void)snprintf(path, sizeof path, "%s/health", prefix);
    cd_rpc_endpoint_route(e, s, path, CD_RPC_OVER_HTTP);
}
