#include "node/chain/chains.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/version.h"
#include "codec/json.h"
#include "node/finality.h"
#include "node/peers/catchup.h"

enum {
    LOOK_MS = 5,           /* between two looks whether a closing chain is idle */
    CALLS_GRACE_MS = 2000, /* for calls that run when a chain closes; then they are told to end */
};

typedef enum stage {
    OPENING,
    OPEN,
    LEAVING, /* until nobody is left */
    ENDING,
} stage;

typedef struct row {
    cd_chains *all;
    stage stage;
    cd_node_chain *chain;
    cd_service *service; /* NULL before the stage OPEN */
    bool is_first;
    bool is_silent; /* at the start: who opens waits, and is not told */
    bool has_health;
    bool has_names;
    u64 left_ms; /* the loop's time at which the stage LEAVING began */
    bool is_hurried;
    cd_chains_told *told;
    void *told_ctx;
    cd_loop_task opened; /* opened and ended carry word from the executor to the loop */
    cd_loop_task ended;
    cd_err err; /* err and why: what became of the opening */
    cd_errinfo why;
} row;

struct cd_chains {
    cd_chains_cfg cfg;
    cd_node_names *names;
    cd_node_routes *routes; /* that an operator has added */
    cd_node_validators validators;
    cd_catchup *catchup;
    bool has_ended; /* all chains; rows may still say that they are open */
    row **rows;
    usize cnt;
    cd_timer *look;
    const cd_node_chain_cfg *first; /* of the chain that is the first one; NULL: none was opened at the start */
    u64 accepted;                   /* of the first chain, for the times that it has ended */
};

/* --- rows --- */

static void row_forget(row *r)
{
    cd_chains *cs = r->all;
    usize i = 0;
    while (cs->rows[i] != r) {
        i++;
    }
    cs->cnt--;
    memmove(cs->rows + i, cs->rows + i + 1, (cs->cnt - i) * sizeof *cs->rows);
    if (r->has_names) {
        cd_node_names_forget(cs->names, cd_node_chain_id(r->chain));
    }
    cd_service_free(r->service);
    cd_node_chain_free(r->chain);
    cd_free(r);
}

static void tell(row *r, cd_err err, const cd_errinfo *why)
{
    cd_chains_told *told = r->told;
    r->told = NULL;
    if (told != NULL) {
        told(r->told_ctx, err, why);
    }
}

static void health_leave(row *r)
{
    if (r->has_health) {
        r->has_health = false;
        cd_health_remove(r->all->cfg.health, cd_node_chain_name(r->chain));
    }
}

/* The VM is open: now it has names. */
static void row_opened(row *r)
{
    cd_chains *cs = r->all;
    const cd_chains_cfg *cfg = &cs->cfg;
    if (r->err != CD_OK) {
        cd_errinfo why = r->why;
        cd_err err = r->err;
        cd_chains_told *told = r->told;
        void *ctx = r->told_ctx;
        row_forget(r);
        if (told != NULL) {
            told(ctx, err, &why);
        }
        return;
    }
    r->service = cd_service_new(cfg->front, r->chain, cfg->is_admin_remote, cfg->serves_early, cfg->env.share.ws_out);
    r->stage = r->stage == OPENING ? OPEN : r->stage;
    if (cfg->health != NULL) {
        r->has_health = true;
        const cd_hash32 tags[] = {{{0}}, *cd_node_chain_id(r->chain)}; /* the primary network, and itself */
        cd_health_add(cfg->health, cd_node_chain_name(r->chain), CD_HEALTH_HEALTH, cd_node_chain_health, r->chain);
        cd_health_tag(cfg->health, cd_node_chain_name(r->chain), tags, CD_COUNT(tags));
    }
    tell(r, CD_OK, &r->why);
}

static void row_ended(row *r)
{
    cd_executor_tip tip;
    cd_errinfo none = {0};
    cd_executor_tip_get(cd_node_chain_executor(r->chain), &tip);
    r->all->accepted += r->is_first ? tip.accepted : 0;
    health_leave(r);
    cd_chains_told *told = r->told;
    void *ctx = r->told_ctx;
    row_forget(r);
    if (told != NULL) {
        told(ctx, CD_OK, &none);
    }
}

/* --- from the executor to the loop --- */

static void on_opened_task(cd_loop_task *t)
{
    row_opened(cd_list_of(t, row, opened));
}

static void on_ended_task(cd_loop_task *t)
{
    row_ended(cd_list_of(t, row, ended));
}

static void on_opened(void *ctx, cd_err err, const cd_errinfo *why)
{
    row *r = ctx;
    r->err = err;
    r->why = *why;
    if (!r->is_silent) {
        cd_loop_post(cd_front_loop(r->all->cfg.front), &r->opened);
    }
}

static void on_ended(void *ctx)
{
    row *r = ctx;
    if (r->all->cfg.front != NULL) {
        cd_loop_post(cd_front_loop(r->all->cfg.front), &r->ended);
    }
}

/* --- opening --- */

static cd_err on_run(void *ctx, void (*job)(void *arg), void *arg)
{
    const row *r = ctx;
    return r->service == NULL ? CD_ECLOSED : cd_service_run(r->service, job, arg);
}

static void on_state(void *ctx, cd_buf *out)
{
    const cd_chains_cfg *cfg = &((const row *)ctx)->all->cfg;
    cfg->state(cfg->ctx, out);
}

static bool on_final(void *ctx, cd_node_final *by_bls, cd_node_final *final)
{
    const row *r = ctx;
    cd_node_finality *f = r->all->cfg.env.finality;
    if (f != NULL) {
        cd_node_finality_get(f, by_bls, final, cd_node_chain_id(r->chain));
    }
    return f != NULL;
}

static u64 on_finality(void *ctx, cd_buf *report)
{
    const row *r = ctx;
    cd_node_finality *f = r->all->cfg.env.finality;
    if (f != NULL && report != NULL) {
        cd_node_finality_report(f, report, cd_node_chain_id(r->chain));
    }
    return f == NULL ? 0 : cd_node_finality_mark(f, cd_node_chain_id(r->chain));
}

/* A name or an id may stand for one chain only, whatever that one is doing. */
static cd_err check_names(const cd_chains *cs, const row *fresh, const cd_node_chain_cfg *cfg, cd_errinfo *why)
{
    bool is_taken = cs->cfg.health != NULL && cd_health_has(cs->cfg.health, cfg->aliases[0]);
    for (usize i = 0; i < cs->cnt; i++) {
        const row *r = cs->rows[i];
        if (r == fresh) {
            continue;
        }
        if (cd_hash32_eq(cd_node_chain_id(r->chain), cd_node_chain_id(fresh->chain))) {
            return cd_fail(why, CD_EEXIST, "the chain %s is there already", cfg->aliases[0]);
        }
    }
    for (usize k = 0; k < cfg->alias_cnt; k++) {
        cd_hash32 other;
        if (cd_node_names_find(cs->names, &other, cd_bytes_str(cfg->aliases[k])) == CD_OK) {
            return cd_fail(why, CD_EEXIST, "another chain is called %s", cfg->aliases[k]);
        }
    }
    return is_taken ? cd_fail(why, CD_EEXIST, "something else of the node is called %s", cfg->aliases[0]) : CD_OK;
}

/* Makes a row and begins to open its chain; after an error there is none. */
static cd_err row_start(cd_chains *cs, row **out, const cd_node_chain_cfg *cfg, bool is_first, bool is_silent,
                        cd_errinfo *why)
{
    if (cs->cnt >= cs->cfg.max) {
        return cd_fail(why, CD_ELIMIT, "this node has room for %u chain%s", cs->cfg.max, cs->cfg.max == 1 ? "" : "s");
    }
    row *r = cd_new(row);
    *r = (row){.all = cs, .is_first = is_first, .is_silent = is_silent};
    r->opened.fn = on_opened_task;
    r->ended.fn = on_ended_task;
    cd_front *f = cs->cfg.front;
    const cd_node_hands hands = {
        .loop = f == NULL ? NULL : cd_front_loop(f),
        .run = on_run,
        .state = on_state,
        .final = on_final,
        .finality = on_finality,
        .ctx = r,
    };
    const cd_node_chain_events events = {.opened = on_opened, .ended = on_ended, .ctx = r};
    cd_err e = cd_node_chain_new(&r->chain, &cs->cfg.env, cfg, &hands, !is_first, &events, why);
    if (e != CD_OK) {
        cd_free(r);
        return e;
    }
    cs->rows = cd_realloc(cs->rows, (cs->cnt + 1) * sizeof(row *));
    cs->rows[cs->cnt++] = r;
    e = check_names(cs, r, cfg, why);
    if (e == CD_OK) {
        r->has_names = true;
        for (usize i = 0; i < cfg->alias_cnt; i++) {
            (void)!cd_node_names_add(cs->names, cd_bytes_str(cfg->aliases[i]), cd_node_chain_id(r->chain));
        }
        cd_buf id = {0};
        cd_id_put(&id, cd_node_chain_id(r->chain));
        (void)!cd_node_names_add(cs->names, cd_buf_bytes(&id), cd_node_chain_id(r->chain));
        cd_buf_fini(&id);
    }
    e = e != CD_OK ? e : cd_node_chain_start(r->chain, why);
    if (e != CD_OK) {
        row_forget(r);
        return e;
    }
    *out = r;
    return CD_OK;
}

cd_err cd_chains_open(cd_chains *cs, const cd_node_chain_cfg *cfgs, usize cnt, cd_errinfo *why)
{
    cd_err err = CD_OK;
    usize before = cs->cnt;
    cs->first = cnt == 0 ? NULL : cfgs;
    for (usize i = 0; i < cnt && err == CD_OK; i++) {
        row *r;
        err = row_start(cs, &r, &cfgs[i], i == 0, true, why);
    }
    for (usize i = before; i < cs->cnt;) {
        row *r = cs->rows[i];
        cd_errinfo own = {0};
        cd_err e = cd_node_chain_await(r->chain, &own);
        if (e != CD_OK && err == CD_OK) {
            err = e;
            if (why != NULL) {
                *why = own;
            }
        }
        row_opened(r); /* frees the row when the chain could not be opened */
        i += e == CD_OK;
    }
    return err;
}

/* --- leaving --- */

static void row_leave(row *r)
{
    cd_chains *cs = r->all;
    health_leave(r);
    if (cs->cfg.front == NULL) {
        cd_node_chain_end(r->chain);
        row_ended(r);
        return;
    }
    r->stage = LEAVING;
    r->left_ms = cd_loop_now_ms(cd_front_loop(cs->cfg.front));
    cd_service_leave(r->service);
    cd_timer_start(cs->look, 0, LOOK_MS);
}

static void on_look(void *ctx)
{
    cd_chains *cs = ctx;
    u64 now = cd_loop_now_ms(cd_front_loop(cs->cfg.front));
    bool has_more = false;
    for (usize i = 0; i < cs->cnt; i++) {
        row *r = cs->rows[i];
        if (r->stage != LEAVING) {
            continue;
        }
        if (cd_service_is_idle(r->service)) {
            r->stage = ENDING;
            cd_node_chain_end(r->chain);
        } else if (!r->is_hurried && now - r->left_ms >= CALLS_GRACE_MS) {
            r->is_hurried = true;
            cd_service_hurry(r->service);
        }
        has_more = has_more || r->stage == LEAVING;
    }
    if (!has_more) {
        cd_timer_stop(cs->look);
    }
}

/* --- orders --- */

typedef struct order {
    cd_loop_task task; /* first */
    cd_chains *all;
    const cd_node_chain_cfg *opens; /* the chain to open; NULL: the order is to close one */
    char name[64];                  /* the chain to close, by alias or id */
    cd_chains_told *told;
    void *ctx;
} order;

static row *row_of(const cd_chains *cs, cd_bytes name)
{
    cd_hash32 id;
    bool is_name = cd_node_names_find(cs->names, &id, name) == CD_OK;
    for (usize i = 0; i < cs->cnt; i++) {
        row *r = cs->rows[i];
        bool is_it = is_name ? cd_hash32_eq(cd_node_chain_id(r->chain), &id) : cd_node_chain_has_id(r->chain, name);
        if (r->stage == OPEN && is_it) {
            return r;
        }
    }
    return NULL;
}

static void order_done(const order *o, cd_err e, const cd_errinfo *why)
{
    if (o->told != NULL) {
        o->told(o->ctx, e, why);
    }
}

static void order_open(const order *o)
{
    cd_chains *cs = o->all;
    cd_errinfo why = {0};
    row *r;
    bool is_stepped = cs->cfg.front == NULL;
    cd_err e = row_start(cs, &r, o->opens, o->opens == cs->first, is_stepped, &why);
    if (e != CD_OK) {
        order_done(o, e, &why);
        return;
    }
    r->told = o->told;
    r->told_ctx = o->ctx;
    if (is_stepped) {
        row_opened(r);
    }
}

static void order_close(const order *o)
{
    cd_errinfo why = {0};
    row *r = row_of(o->all, cd_bytes_str(o->name));
    if (r == NULL) {
        cd_err e = cd_fail(&why, CD_ENOENT, "no chain %s is open", o->name);
        order_done(o, e, &why);
        return;
    }
    if (cd_node_chain_cfg_of(r->chain)->validators != NULL) {
        cd_err e = cd_fail(&why, CD_EUNSUPPORTED, "chain %s ends with the node: it says who validates", o->name);
        order_done(o, e, &why);
        return;
    }
    r->told = o->told;
    r->told_ctx = o->ctx;
    row_leave(r);
}

static void on_order(cd_loop_task *t)
{
    order *o = (order *)(void *)t;
    if (o->opens != NULL) {
        order_open(o);
    } else {
        order_close(o);
    }
    cd_free(o);
}

static void order_give(order *o)
{
    o->task.fn = on_order;
    if (o->all->cfg.front == NULL) {
        on_order(&o->task);
    } else {
        cd_loop_post(cd_front_loop(o->all->cfg.front), &o->task);
    }
}

void cd_chains_order_open(cd_chains *cs, const cd_node_chain_cfg *cfg, cd_chains_told *told, void *ctx)
{
    order *o = cd_new(order);
    *o = (order){.all = cs, .opens = cfg, .told = told, .ctx = ctx};
    order_give(o);
}

void cd_chains_order_close(cd_chains *cs, const char *name, cd_chains_told *told, void *ctx)
{
    order *o = cd_new(order);
    *o = (order){.all = cs, .told = told, .ctx = ctx};
    usize n = strlen(name);
    if (n < sizeof o->name) {
        memcpy(o->name, name, n); /* a longer name stays empty, which no chain has */
    }
    order_give(o);
}

usize cd_chains_late(const cd_chains *cs, cd_hash32 *out, usize max)
{
    return cd_catchup_late(cs->catchup, out, max);
}

/* --- routes --- */

static cd_bytes part_behind(cd_bytes path, usize n)
{
    return cd_bytes_sub(path, n, path.n - n);
}

/* Splits what follows "/v1" or "/ext" and below ("/bc/") into the chain's name and its route. */
static cd_bytes split(cd_bytes path, const char *below, cd_bytes *route)
{
    usize at = (path.n > 1 && path.p[1] == 'v' ? sizeof "/v1" - 1 : sizeof "/ext" - 1) + strlen(below);
    cd_bytes rest = part_behind(path, at);
    const u8 *slash = rest.n == 0 ? NULL : memchr(rest.p, '/', rest.n);
    usize n = slash == NULL ? rest.n : (usize)(slash - rest.p);
    *route = part_behind(rest, n);
    return cd_bytes_of(rest.p, n);
}

/* Of a chain that several validators in this process decide each has a port. */
static cd_service *of_port(const cd_chains *cs, cd_service *s, const cd_http_req *req)
{
    return cd_service_validator(s, cd_front_place(cs->cfg.front, req));
}

static void on_chain(void *ctx, cd_http_req *req)
{
    cd_bytes route;
    cd_bytes name = split(cd_http_req_path(req), "/bc/", &route);
    cd_service *s = cd_chains_find(ctx, name);
    if (s == NULL) {
        cd_http_reply_not_found(req);
    } else {
        cd_service_serve(of_port(ctx, s, req), req, route);
    }
}

/* "/v1/index/P/block": the chain by the first of its names. */
static void on_index(void *ctx, cd_http_req *req)
{
    cd_bytes kind;
    cd_bytes name = split(cd_http_req_path(req), "/index/", &kind);
    const row *r = row_of(ctx, name);
    if (r == NULL || kind.n < 2 || !cd_bytes_eq(name, cd_bytes_str(cd_node_chain_name(r->chain)))) {
        cd_http_reply_not_found(req);
    } else {
        cd_service_serve_index(r->service, req, part_behind(kind, 1));
    }
}

/* "/v1/warp": the service of the chain that the parameters name; they are an object, or an array with one. */
static void on_warp(void *ctx, cd_http_req *req)
{
    enum { BODY_MAX = 256 << 10 };
    cd_arena a = {0};
    cd_json all = {0};
    cd_bytes name = {0};
    cd_service *s = NULL;
    if (cd_json_parse(&all, &a, cd_http_req_body(req), BODY_MAX, NULL) == CD_OK) {
        cd_json params = cd_json_get(all, "params");
        params = cd_json_kind_of(params) == CD_JSON_ARR ? cd_json_at(params, 0) : params;
        if (cd_json_str(&name, cd_json_get(params, "chain"), NULL) == CD_OK) {
            s = cd_chains_find(ctx, name);
        }
    }
    if (s == NULL) {
        cd_http_reply_error(req, 404, "\"chain\" among the parameters is the name or id of a chain that runs here");
    } else {
        cd_service_serve(s, req, cd_bytes_str("/warp"));
    }
    cd_arena_fini(&a);
}

/* "/v1/P": the same as "/v1/bc/P"; or what an operator has given an endpoint as another path, whose route then stands
 * in front of the rest, in text. */
static cd_service *find_direct(const cd_chains *cs, cd_bytes path, cd_bytes *route, cd_buf *text)
{
    cd_node_route other;
    cd_bytes name = split(path, "/", route);
    cd_service *s = cd_chains_find(cs, name);
    if (s != NULL || !cd_node_routes_find(cs->routes, &other, name)) {
        return s;
    }
    cd_buf_put(text, other.route);
    cd_buf_put(text, *route);
    *route = cd_buf_bytes(text);
    return cd_chains_find(cs, other.chain);
}

static void on_direct(void *ctx, cd_http_req *req)
{
    cd_bytes route;
    cd_buf text = {0};
    cd_service *s = find_direct(ctx, cd_http_req_path(req), &route, &text);
    if (s == NULL) {
        cd_http_reply_not_found(req);
    } else {
        cd_service_serve(of_port(ctx, s, req), req, route);
    }
    cd_buf_fini(&text);
}

static usize direct_body_max(void *ctx, cd_bytes path)
{
    cd_bytes route;
    cd_buf text = {0};
    const cd_service *s = find_direct(ctx, path, &route, &text);
    usize max = s == NULL ? 0 : cd_service_body_max(s, route);
    cd_buf_fini(&text);
    return max;
}

static usize chain_body_max(void *ctx, cd_bytes path)
{
    cd_bytes route;
    cd_bytes name = split(path, "/bc/", &route);
    const cd_service *s = cd_chains_find(ctx, name);
    return s == NULL ? 0 : cd_service_body_max(s, route);
}

static cd_service *first_of(const cd_chains *cs)
{
    for (usize i = 0; i < cs->cnt; i++) {
        if (cs->rows[i]->is_first && cs->rows[i]->stage == OPEN) {
            return cs->rows[i]->service;
        }
    }
    return NULL;
}

/* Who looks at "/" with a browser, or with curl, is told where things are. */
static void tell_places(const cd_chains *cs, cd_http_req *req)
{
    cd_buf *out = cd_http_req_out(req);
    cd_buf_fmt(out, "candela " CD_VERSION ", network %s\n\n", cs->cfg.env.network->name);
    cd_buf_str(out, "  POST /            JSON-RPC, also at /v1/bc/C/rpc\n"
                    "  GET  /            WebSocket, also at /v1/bc/C/ws\n"
                    "  GET  /openrpc.json   the methods\n");
    if (cs->cfg.pages_root != NULL) {
        cd_buf_fmt(out, "  GET  %s     the chain as pages\n", cs->cfg.pages_root);
    }
    cd_buf_str(out, "  GET  /v1/health   and /v1/metrics, /v1/info, unless they are turned off\n");
    cd_http_reply(req, 200, "text/plain; charset=utf-8");
}

static void on_root(void *ctx, cd_http_req *req)
{
    cd_service *s = first_of(ctx);
    u32 method = cd_http_req_method(req);
    if (s == NULL) {
        cd_http_reply_not_found(req);
    } else if ((method == CD_HTTP_GET || method == CD_HTTP_HEAD) && !cd_http_req_offers_upgrade(req, "websocket")) {
        tell_places(ctx, req);
    } else {
        cd_service_serve_main(of_port(ctx, s, req), req);
    }
}

static usize root_body_max(void *ctx, cd_bytes path)
{
    const cd_service *s = first_of(ctx);
    (void)path;
    return s == NULL ? 0 : cd_service_body_max(s, (cd_bytes){0});
}

/* The OpenRPC document of the chain that the root of a development network speaks to. */
static void on_openrpc(void *ctx, cd_http_req *req)
{
    const cd_service *s = first_of(ctx);
    cd_bytes text = s == NULL ? (cd_bytes){0} : cd_service_openrpc(s);
    if (text.n == 0) {
        cd_http_reply_not_found(req);
        return;
    }
    cd_buf_put(cd_http_req_out(req), text);
    cd_http_reply(req, 200, "application/json");
}

/* The row whose pages have the longest root that path is at or below. */
static row *row_of_page(const cd_chains *cs, cd_bytes path)
{
    row *found = NULL;
    usize longest = 0;
    for (usize i = 0; i < cs->cnt; i++) {
        row *r = cs->rows[i];
        const cd_node_pages *pages = cd_node_chain_cfg_of(r->chain)->pages;
        usize n = pages == NULL || r->stage != OPEN ? 0 : strlen(pages->root);
        bool fits = n != 0 && path.n >= n && memcmp(path.p, pages->root, n) == 0 && (path.n == n || path.p[n] == '/');
        if (fits && n > longest) {
            longest = n;
            found = r;
        }
    }
    return found;
}

static void on_page(void *ctx, cd_http_req *req)
{
    const row *r = row_of_page(ctx, cd_http_req_path(req));
    if (r == NULL) {
        cd_http_reply_not_found(req);
    } else {
        cd_service_serve_page(r->service, req);
    }
}

static void add_routes(cd_chains *cs)
{
    static const char *const roots[] = {"/v1/bc/*", "/ext/bc/*"};
    static const char *const directs[] = {"/v1/*", "/ext/*"};
    static const char *const indices[] = {"/v1/index/*", "/ext/index/*"};
    static const char *const warps[] = {"/v1/warp", "/ext/warp"};
    const cd_chains_cfg *cfg = &cs->cfg;
    cd_http_server *http = cd_front_server(cfg->front);
    for (usize i = 0; i < CD_COUNT(roots); i++) {
        const cd_http_route chain = {
            .path = roots[i], .methods = CD_HTTP_ANY, .handler = on_chain, .ctx = cs, .body_max_of = chain_body_max};
        cd_http_server_route(http, &chain);
        const cd_http_route warp = {.path = warps[i], .methods = CD_HTTP_POST, .handler = on_warp, .ctx = cs};
        cd_http_server_route(http, &warp);
        if (cfg->env.has_index) {
            const cd_http_route index = {.path = indices[i], .methods = CD_HTTP_ANY, .handler = on_index, .ctx = cs};
            cd_http_server_route(http, &index);
        }
    }
    if (cfg->env.network->is_dev) {
        /* Any tool that expects a node at this port talks to "/". */
        const cd_http_route root = {.path = "/",
                                    .methods = CD_HTTP_POST | CD_HTTP_GET,
                                    .handler = on_root,
                                    .ctx = cs,
                                    .body_max_of = root_body_max};
        cd_http_server_route(http, &root);
    }
    for (usize i = 0; i < CD_COUNT(roots); i++) {
        /* What nobody else serves. */
        const cd_http_route direct = {.path = directs[i],
                                      .methods = CD_HTTP_ANY,
                                      .handler = on_direct,
                                      .ctx = cs,
                                      .body_max_of = direct_body_max};
        cd_http_server_route(http, &direct);
    }
    const cd_http_route openrpc = {.path = "/openrpc.json", .methods = CD_HTTP_GET, .handler = on_openrpc, .ctx = cs};
    cd_http_server_route(http, &openrpc);
    if (cfg->pages_root != NULL) {
        cd_buf below = {0};
        cd_buf_fmt(&below, "%s/*", cfg->pages_root);
        const cd_http_route root = {
            .path = cfg->pages_root, .methods = CD_HTTP_GET, .handler = on_page, .ctx = cs, .is_page = true};
        const cd_http_route page = {.path = cd_buf_cstr(&below),
                                    .methods = CD_HTTP_GET | CD_HTTP_POST,
                                    .handler = on_page,
                                    .ctx = cs,
                                    .is_page = true};
        cd_http_server_route(http, &root);
        cd_http_server_route(http, &page);
        cd_buf_fini(&below);
    }
}

/* --- the object --- */

cd_chains *cd_chains_new(const cd_chains_cfg *cfg)
{
    cd_chains *cs = cd_new(cd_chains);
    cs->cfg = *cfg;
    cs->names = cd_node_names_new();
    cs->routes = cd_node_routes_new();
    cd_node_validators_init(&cs->validators);
    cs->catchup = cd_catchup_new();
    cs->cfg.env.catchup = cs->catchup;
    cs->cfg.env.names = cs->names;
    cs->cfg.env.validators = &cs->validators;
    if (cfg->front != NULL) {
        cs->look = cd_timer_new(cd_front_loop(cfg->front), on_look, cs);
        add_routes(cs);
    }
    return cs;
}

void cd_chains_free(cd_chains *cs)
{
    if (cs != NULL) {
        CD_ASSERT(cs->cnt == 0);
        cd_timer_free(cs->look);
        cd_node_names_free(cs->names);
        cd_node_routes_free(cs->routes);
        cd_catchup_free(cs->catchup);
        cd_free(cs->rows);
        cd_free(cs);
    }
}

cd_service *cd_chains_find(const cd_chains *cs, cd_bytes name)
{
    const row *r = row_of(cs, name);
    if (r != NULL) {
        return r->service;
    }
    /* "C-2" is what the second validator of C in this process says. */
    usize n = name.n;
    u32 idx = 0;
    u32 unit = 1;
    while (n != 0 && unit <= 1000 && name.p[n - 1] >= '0' && name.p[n - 1] <= '9') {
        idx += unit * (u32)(name.p[--n] - '0');
        unit *= 10;
    }
    r = n > 1 && name.p[n - 1] == '-' ? row_of(cs, cd_bytes_of(name.p, n - 1)) : NULL;
    bool is_there = r != NULL && idx >= 2 && idx <= cd_node_chain_validators(r->chain);
    return is_there ? cd_service_validator(r->service, idx - 1) : NULL;
}

cd_node_chain *cd_chains_find_chain(const cd_chains *cs, cd_bytes name)
{
    const row *r = row_of(cs, name);
    return r == NULL ? NULL : r->chain;
}

cd_node_names *cd_chains_names(const cd_chains *cs)
{
    return cs->names;
}

cd_node_routes *cd_chains_routes(const cd_chains *cs)
{
    return cs->routes;
}

const cd_vm_validators *cd_chains_seat(const cd_chains *cs)
{
    return &cs->validators.for_vms;
}

void cd_chains_make_final(cd_chains *cs, struct cd_node_finality *finality)
{
    cs->cfg.env.finality = finality;
}

const cd_vm_validators *cd_chains_validators(const cd_chains *cs)
{
    for (usize i = 0; i < cs->cnt && !cs->has_ended; i++) {
        const cd_node_chain *c = cs->rows[i]->chain;
        const cd_node_chain_cfg *cfg = cd_node_chain_cfg_of(c);
        if (cs->rows[i]->stage == OPEN && cfg->validators != NULL) {
            return cfg->validators(cd_node_chain_vm(c));
        }
    }
    return NULL;
}

u64 cd_chains_step(cd_chains *cs)
{
    u64 next = UINT64_MAX;
    for (usize i = 0; i < cs->cnt; i++) {
        next = cd_min_u64(next, cd_executor_step(cd_node_chain_executor(cs->rows[i]->chain)));
    }
    return next;
}

void cd_chains_metrics(cd_chains *cs)
{
    for (usize i = 0; i < cs->cnt; i++) {
        if (cs->rows[i]->stage == OPEN) {
            cd_node_chain_metrics(cs->rows[i]->chain);
            cd_service_metrics(cs->rows[i]->service, cs->cfg.env.metrics);
        }
    }
}

u64 cd_chains_accepted(const cd_chains *cs)
{
    return cs->accepted;
}

void cd_chains_hurry(cd_chains *cs)
{
    for (usize i = 0; i < cs->cnt; i++) {
        if (cs->rows[i]->service != NULL) {
            cd_service_hurry(cs->rows[i]->service);
        }
    }
}

static void end_all(cd_chains *cs, bool of_validators)
{
    for (usize i = 0; i < cs->cnt; i++) {
        if ((cd_node_chain_cfg_of(cs->rows[i]->chain)->validators != NULL) == of_validators) {
            cd_node_chain_end(cs->rows[i]->chain);
        }
    }
    for (usize i = 0; i < cs->cnt; i++) {
        if ((cd_node_chain_cfg_of(cs->rows[i]->chain)->validators != NULL) == of_validators) {
            cd_node_chain_join(cs->rows[i]->chain);
        }
    }
}

/* The one that may end next: who says who validates outlives who asks. */
static row *last_row(const cd_chains *cs)
{
    usize i = cs->cnt - 1;
    while (i != 0 && cd_node_chain_cfg_of(cs->rows[i]->chain)->validators != NULL) {
        i--;
    }
    bool is_all = cd_node_chain_cfg_of(cs->rows[i]->chain)->validators != NULL;
    return cs->rows[is_all ? cs->cnt - 1 : i];
}

void cd_chains_end(cd_chains *cs)
{
    cs->has_ended = true;
    if (cs->cfg.front == NULL) {
        while (cs->cnt != 0) {
            row_leave(last_row(cs));
        }
        return;
    }
    cd_timer_stop(cs->look);
    for (usize i = 0; i < cs->cnt; i++) {
        if (cs->rows[i]->service != NULL) {
            cd_service_part(cs->rows[i]->service);
        }
    }
    end_all(cs, false);
    end_all(cs, true); /* who says who validates outlives who asks */
}
