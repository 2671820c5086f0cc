#include "node/front/service.h"

#include "base/mem/mem.h"
#include "node/api/api.h"
#include "node/api/index.h"
#include "rpc/endpoint.h"

#include <stdatomic.h>

/* One route. */
typedef struct route {
    const cd_vm_handler *handler;
    cd_bytes path;
    cd_rpc_endpoint *endpoint; /* NULL: the handler is a raw one, or nothing is served */
    u64 *told; /* calls of each method that the metrics know of; NULL: another route has the same table */
} route;

struct cd_service {
    cd_front *front;
    cd_node_chain *chain;
    const cd_node_pages *pages;
    bool is_admin_remote;
    bool serves_early; /* although the chain has not caught up */
    route *routes;
    usize cnt;
    cd_service *next;     /* of the chain's next validator in this process; NULL: there is none */
    cd_index_api *blocks; /* this and the next three are NULL when the chain has no index */
    cd_index_api *none;
    cd_rpc_endpoint *blocks_endpoint;
    cd_rpc_endpoint *none_endpoint;
    /* Pages that run what others wrote take turns as one source, which leaves half of the threads to others. */
    cd_rpc_source *heavy;
    atomic_uint heavy_cnt; /* those that wait or run */
    atomic_uint running;   /* raw requests, pages and jobs of pages that have begun and not ended */
};

/* --- lanes --- */

static cd_err run_lane(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    cd_service *s = ctx;
    switch (lane) {
    case CD_RPC_FAST:
    case CD_RPC_TRY:
    case CD_RPC_READ:
        return cd_front_run(s->front, job);
    case CD_RPC_OWNER:
        return cd_executor_run(cd_node_chain_executor(s->chain), job);
    }
    CD_UNREACHABLE();
}

static void begin(cd_service *s)
{
    (void)atomic_fetch_add(&s->running, 1);
}

/* The reader's last touch of s: afterwards s may be freed. */
static void end(cd_service *s)
{
    (void)atomic_fetch_sub(&s->running, 1);
}

/* Work of the pages that no request waits for. */
typedef struct work_job {
    cd_rpc_job job; /* first */
    cd_service *service;
    void (*fn)(void *arg);
    void *arg;
} work_job;

static void do_work(cd_rpc_job *job)
{
    work_job *w = (work_job *)(void *)job;
    w->fn(w->arg);
    end(w->service);
    cd_free(w);
}

cd_err cd_service_run(cd_service *s, void (*fn)(void *arg), void *arg)
{
    work_job *w = cd_new(work_job);
    *w = (work_job){.job = {.run = do_work, .kind = s->pages}, .service = s, .fn = fn, .arg = arg};
    begin(s);
    cd_err e = cd_front_run(s->front, &w->job);
    if (e != CD_OK) {
        end(s);
        cd_free(w);
    }
    return e;
}

/* --- pages --- */

typedef struct page_job {
    cd_rpc_job job; /* first */
    cd_service *service;
    cd_http_req *req;
    bool is_heavy;
} page_job;

enum { HEAVY_MAX = 64 };

static void serve_page(cd_rpc_job *job)
{
    page_job *p = (page_job *)(void *)job;
    const cd_node_pages *pages = p->service->pages;
    pages->serve(pages->ctx, p->req);
    if (p->is_heavy) {
        (void)atomic_fetch_sub(&p->service->heavy_cnt, 1);
    }
    end(p->service);
    cd_free(p);
}

static void refuse(cd_http_req *req)
{
    cd_http_req_add_header(req, "Retry-After", "1");
    cd_http_reply_error(req, 503, "too many requests wait; try again in a moment");
}

void cd_service_serve_page(cd_service *s, cd_http_req *req)
{
    if (s->pages->serve_here(s->pages->ctx, req)) {
        return;
    }
    bool is_heavy = s->pages->is_heavy != NULL && s->pages->is_heavy(s->pages->ctx, req);
    if (is_heavy && atomic_fetch_add(&s->heavy_cnt, 1) >= HEAVY_MAX) {
        (void)atomic_fetch_sub(&s->heavy_cnt, 1);
        refuse(req);
        return;
    }
    page_job *p = cd_new(page_job);
    *p = (page_job){
        .job = {.run = serve_page, .kind = is_heavy ? (const void *)&s->heavy : s->pages},
        .service = s,
        .req = req,
        .is_heavy = is_heavy,
    };
    p->job.source = is_heavy ? s->heavy : NULL;
    begin(s);
    if (cd_front_run(s->front, &p->job) != CD_OK) {
        (void)atomic_fetch_sub(&s->heavy_cnt, is_heavy ? 1 : 0);
        end(s);
        refuse(req);
        cd_free(p);
    }
}

/* --- routes --- */

static route *route_of(const cd_service *s, cd_bytes path)
{
    for (usize i = 0; i < s->cnt; i++) {
        if (cd_bytes_eq(s->routes[i].path, path)) {
            return &s->routes[i];
        }
    }
    return NULL;
}

static u32 over_of(u32 vm_over)
{
    return ((vm_over & CD_VM_HTTP) != 0 ? (u32)CD_RPC_OVER_HTTP : 0) |
           ((vm_over & CD_VM_WS) != 0 ? (u32)CD_RPC_OVER_WS : 0);
}

static void raw_over(void *ctx)
{
    end(ctx);
}

static void serve_raw(cd_service *s, const cd_vm_handler *h, cd_http_req *req)
{
    if ((h->over & CD_VM_LOCAL) != 0 && !s->is_admin_remote && !cd_http_req_is_local(req)) {
        cd_http_reply_error(req, 403, "only for clients on the node's own machine");
        return;
    }
    begin(s);
    cd_http_req_watch(req, raw_over, s);
    h->serve(h->ctx, req);
}

static void serve_route(cd_service *s, const route *r, cd_http_req *req, u32 over)
{
    if (r->endpoint != NULL) {
        cd_rpc_endpoint_serve(r->endpoint, req, over);
    } else {
        serve_raw(s, r->handler, req);
    }
}

/* What a chain says before it has caught up would be old. [spec:decisions#D11] */
static void refuse_early(cd_http_req *req)
{
    cd_buf_str(cd_http_req_out(req), "API call rejected because chain is not done bootstrapping\n");
    cd_http_reply(req, 503, "text/plain; charset=utf-8");
}

void cd_service_serve(cd_service *s, cd_http_req *req, cd_bytes path)
{
    const route *r = route_of(s, path);
    if (r == NULL) {
        cd_http_reply_not_found(req);
        return;
    }
    bool is_early = !cd_node_chain_is_bootstrapped(s->chain);
    if (is_early && !s->serves_early) {
        refuse_early(req);
        return;
    }
    if (is_early) {
        cd_http_req_add_header(req, "X-Bootstrapping", "true");
    }
    serve_route(s, r, req, over_of(r->handler->over));
}

void cd_service_serve_main(cd_service *s, cd_http_req *req)
{
    if (s->cnt == 0) {
        cd_http_reply_not_found(req);
    } else {
        serve_route(s, &s->routes[0], req, CD_RPC_OVER_HTTP | CD_RPC_OVER_WS);
    }
}

void cd_service_serve_index(cd_service *s, cd_http_req *req, cd_bytes kind)
{
    cd_rpc_endpoint *e = cd_bytes_eq(kind, cd_bytes_str("block")) ? s->blocks_endpoint
                         : cd_bytes_eq(kind, cd_bytes_str("tx")) || cd_bytes_eq(kind, cd_bytes_str("vtx"))
                             ? s->none_endpoint
                             : NULL;
    if (e == NULL) {
        cd_http_reply_not_found(req);
    } else {
        cd_rpc_endpoint_serve(e, req, CD_RPC_OVER_HTTP);
    }
}

usize cd_service_body_max(const cd_service *s, cd_bytes path)
{
    const route *r = path.n != 0 ? route_of(s, path) : s->cnt != 0 ? &s->routes[0] : NULL;
    return r == NULL || r->handler->service == NULL ? 0 : r->handler->service->limits.body_max;
}

cd_bytes cd_service_openrpc(const cd_service *s)
{
    const cd_rpc_service *first = s->cnt == 0 ? NULL : s->routes[0].handler->service;
    return first == NULL ? (cd_bytes){0} : first->openrpc;
}

cd_err cd_service_ask(cd_service *s, cd_bytes path, cd_buf *reply, cd_bytes body)
{
    const route *r = route_of(s, path);
    if (r == NULL || r->handler->service == NULL) {
        return CD_ENOENT;
    }
    cd_rpc_serve(r->handler->service, reply, body);
    return CD_OK;
}

/* --- the object --- */

static bool has_table(const cd_service *s, usize cnt, const cd_rpc_table *t)
{
    bool has = false;
    for (usize i = 0; i < cnt; i++) {
        const cd_rpc_service *service = s->routes[i].handler->service;
        has = has || (service != NULL && service->table == t);
    }
    return has;
}

static void open_route(cd_service *s, usize i, const cd_vm_handler *h, usize share)
{
    route *r = &s->routes[i];
    *r = (route){.handler = h, .path = cd_bytes_str(h->route)};
    if (h->service == NULL) {
        return;
    }
    if (!has_table(s, i, h->service->table)) {
        r->told = cd_new_array(u64, cd_rpc_table_cnt(h->service->table) + 1);
    }
    if (s->front != NULL) {
        cd_rpc_endpoint_cfg cfg = {
            .lanes = {.run = run_lane, .ctx = s},
            .service = h->service,
            .is_local_only = (h->over & CD_VM_LOCAL) != 0 && !s->is_admin_remote,
            .answers_max = share,
        };
        cd_front_endpoint_cfg(s->front, &cfg);
        r->endpoint = cd_rpc_endpoint_new(&cfg);
    }
}

static void open_index(cd_service *s)
{
    const cd_containers *containers = cd_node_chain_containers(s->chain);
    if (containers == NULL || s->front == NULL) {
        return;
    }
    s->blocks = cd_index_api_new(containers);
    s->none = cd_index_api_new(NULL);
    s->blocks_endpoint = cd_api_endpoint(s->front, cd_index_api_service(s->blocks), false);
    s->none_endpoint = cd_api_endpoint(s->front, cd_index_api_service(s->none), false);
}

static cd_service *service_new(cd_front *f, cd_node_chain *chain, cd_vm *vm, bool is_admin_remote, bool serves_early,
                               usize share)
{
    cd_service *s = cd_new(cd_service);
    usize cnt = 0;
    const cd_vm_handler *handlers = vm->ops->handlers(vm, &cnt);
    s->front = f;
    s->chain = chain;
    s->is_admin_remote = is_admin_remote;
    s->serves_early = serves_early;
    s->routes = cd_new_array(route, cnt + 1);
    for (; s->cnt < cnt; s->cnt++) {
        open_route(s, s->cnt, &handlers[s->cnt], share);
    }
    return s;
}

cd_service *cd_service_new(cd_front *f, cd_node_chain *chain, bool is_admin_remote, bool serves_early, usize share)
{
    cd_service *next = NULL;
    for (u32 i = cd_node_chain_validators(chain); i-- > 1;) {
        cd_service *s = service_new(f, chain, cd_node_chain_validator(chain, i), is_admin_remote, serves_early, share);
        s->next = next;
        next = s;
    }
    cd_service *s = service_new(f, chain, cd_node_chain_vm(chain), is_admin_remote, serves_early, share);
    s->next = next;
    s->pages = cd_node_chain_cfg_of(chain)->pages;
    s->heavy = s->pages == NULL ? NULL : cd_rpc_source_new();
    open_index(s);
    return s;
}

cd_service *cd_service_validator(cd_service *s, u32 idx)
{
    cd_service *at = s;
    for (; at != NULL && idx != 0; idx--) {
        at = at->next;
    }
    return at == NULL ? s : at;
}

void cd_service_free(cd_service *s)
{
    if (s == NULL) {
        return;
    }
    cd_service_free(s->next);
    for (usize i = 0; i < s->cnt; i++) {
        cd_rpc_endpoint_free(s->routes[i].endpoint);
        cd_free(s->routes[i].told);
    }
    cd_rpc_endpoint_free(s->blocks_endpoint);
    cd_rpc_endpoint_free(s->none_endpoint);
    cd_index_api_free(s->blocks);
    cd_index_api_free(s->none);
    cd_rpc_source_unref(s->heavy);
    cd_free(s->routes);
    cd_free(s);
}

void cd_service_leave(cd_service *s)
{
    for (usize i = 0; i < s->cnt; i++) {
        if (s->routes[i].endpoint != NULL) {
            cd_rpc_endpoint_leave(s->routes[i].endpoint);
        } else if (s->routes[i].handler->leave != NULL) {
            s->routes[i].handler->leave(s->routes[i].handler->ctx);
        }
    }
    if (s->pages != NULL) {
        s->pages->leave(s->pages->ctx);
    }
    if (s->next != NULL) {
        cd_service_leave(s->next);
    }
}

void cd_service_hurry(cd_service *s)
{
    for (usize i = 0; i < s->cnt; i++) {
        if (s->routes[i].handler->service != NULL) {
            cd_rpc_table_end(s->routes[i].handler->service->table);
        }
    }
    if (s->next != NULL) {
        cd_service_hurry(s->next);
    }
}

bool cd_service_is_idle(const cd_service *s)
{
    bool is_idle = atomic_load(&s->running) == 0;
    for (usize i = 0; i < s->cnt && is_idle; i++) {
        const cd_vm_handler *h = s->routes[i].handler;
        is_idle = s->routes[i].endpoint != NULL ? cd_rpc_endpoint_is_idle(s->routes[i].endpoint)
                                                : h->is_idle == NULL || h->is_idle(h->ctx);
    }
    if (s->blocks_endpoint != NULL) {
        is_idle = is_idle && cd_rpc_endpoint_is_idle(s->blocks_endpoint) && cd_rpc_endpoint_is_idle(s->none_endpoint);
    }
    return is_idle && (s->next == NULL || cd_service_is_idle(s->next));
}

void cd_service_part(cd_service *s)
{
    for (usize i = 0; i < s->cnt; i++) {
        const cd_vm_handler *h = s->routes[i].handler;
        if (s->routes[i].endpoint == NULL && h->leave != NULL && h->is_idle != NULL) {
            h->leave(h->ctx);
            (void)h->is_idle(h->ctx);
        }
    }
    if (s->next != NULL) {
        cd_service_part(s->next);
    }
}

/* Methods that were never called are left out. What was counted stays, also of chains that are closed. */
void cd_service_metrics(cd_service *s, cd_metrics *metrics)
{
    for (usize i = 0; i < s->cnt; i++) {
        const route *r = &s->routes[i];
        usize cnt = r->told == NULL ? 0 : cd_rpc_table_cnt(r->handler->service->table);
        for (usize k = 0; k < cnt; k++) {
            const cd_rpc_method *m = cd_rpc_table_at(r->handler->service->table, k);
            u64 calls = cd_rpc_method_calls(m);
            if (calls != r->told[k]) {
                const cd_label label = {"method", m->name};
                cd_counter_add(cd_metrics_counter(metrics, "rpc_calls_total", "Calls of a method", &label, 1),
                               calls - r->told[k]);
                r->told[k] = calls;
            }
        }
    }
    if (s->next != NULL) {
        cd_service_metrics(s->next, metrics);
    }
}
