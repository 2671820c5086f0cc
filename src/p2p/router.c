#include "p2p/router.h"

#include "base/mem/mem.h"
#include "base/table/list.h"

typedef struct route {
    cd_list all;
    cd_p2p_chain chain;
} route;

/* Something to be told with the next tick: a message to ourselves, or a failure. */
typedef struct later {
    struct later *next;
    cd_p2p_in *in; /* NULL: a failure */
    cd_p2p_request failed;
} later;

struct cd_p2p_router {
    cd_p2p_router_cfg cfg;
    cd_p2p_net *net;
    cd_p2p_requests *requests;
    cd_rng rng;
    cd_list chains;  /* in the order of their registration */
    cd_hmap benches; /* node ID -> u32: on how many chains the node is benched */
    later *first;
    later **last;
};

static u64 now_of(const cd_p2p_router *r)
{
    return cd_clock_mono_ns(r->cfg.clock);
}

static route *find(const cd_p2p_router *r, cd_bytes id)
{
    for (cd_list *it = r->chains.next; id.n == sizeof(cd_hash32) && it != &r->chains; it = it->next) {
        route *c = cd_list_of(it, route, all);
        if (memcmp(c->chain.id.b, id.p, id.n) == 0) {
            return c;
        }
    }
    return NULL;
}

static bool is_own(const cd_p2p_router *r, const cd_node_id *node)
{
    return memcmp(node, &r->cfg.own, sizeof *node) == 0;
}

static bool is_benched(const cd_p2p_router *r, const cd_node_id *node)
{
    return cd_hmap_get(&r->benches, node) != NULL;
}

/* --- later --- */

static void tell_later(cd_p2p_router *r, cd_p2p_in *in, const cd_p2p_request *failed)
{
    later *l = cd_new(later);
    l->in = in;
    if (failed != NULL) {
        l->failed = *failed;
    }
    *r->last = l;
    r->last = &l->next;
}

static void tell_failed(void *ctx, const cd_p2p_request *q)
{
    cd_p2p_router *r = ctx;
    const route *c = find(r, cd_bytes_of(q->chain.b, sizeof q->chain.b));
    if (c != NULL) {
        c->chain.failed(c->chain.ctx, &q->node, q->request_id, q->response);
    }
}

/* --- messages --- */

/* Has a handler answer an AppRequest, which it does at once. */
static void ask_mux(cd_p2p_router *r, const route *c, const cd_p2p_in *in)
{
    const cd_p2p_chain_msg *m = in->msg.body;
    cd_buf response = {0};
    i32 code = cd_p2p_mux_request(c->chain.mux, &response, &in->from, m->data, now_of(r));
    cd_p2p_chain_msg out = {.request_id = m->request_id, .data = cd_buf_bytes(&response)};
    if (code != CD_P2P_APP_OK) {
        out.error_code = code;
        out.data = out.data.n == 0 ? cd_bytes_str(cd_p2p_app_text(code)) : out.data;
    }
    cd_hash32 id = c->chain.id;
    cd_p2p_router_say(r, &id, &in->from, code == CD_P2P_APP_OK ? CD_P2P_APP_RESPONSE : CD_P2P_APP_ERROR, &out);
    cd_buf_fini(&response);
}

/* Handles a message that a peer sent unasked. True: it has gone to the chain, which owns it now. */
static bool on_ask(cd_p2p_router *r, const route *c, cd_p2p_in *in)
{
    const cd_p2p_chain_msg *m = in->msg.body;
    bool is_refused = (c->chain.is_busy != NULL && c->chain.is_busy(c->chain.ctx)) ||
                      (c->chain.is_allowed != NULL && !c->chain.is_allowed(c->chain.ctx, &in->from));
    if (is_refused || in->msg.op == CD_P2P_SIMPLEX) { /* no chain of ours has the engine Simplex */
        return false;
    }
    if (c->chain.mux != NULL && in->msg.op == CD_P2P_APP_REQUEST) {
        ask_mux(r, c, in);
        return false;
    }
    if (c->chain.mux != NULL && in->msg.op == CD_P2P_APP_GOSSIP) {
        cd_p2p_mux_gossip(c->chain.mux, &in->from, m->data);
        return false;
    }
    bool expires = in->msg.op != CD_P2P_APP_GOSSIP;
    u64 patience = cd_min_u64(m->deadline, r->cfg.deadline_max_ns);
    c->chain.message(c->chain.ctx, in, expires ? in->came_ns + patience : UINT64_MAX);
    return true;
}

static bool on_answer(cd_p2p_router *r, const route *c, cd_p2p_in *in)
{
    const cd_p2p_chain_msg *m = in->msg.body;
    cd_p2p_request q = {.node = in->from,
                        .chain = c->chain.id,
                        .request_id = m->request_id,
                        .response = in->msg.op == CD_P2P_APP_ERROR ? CD_P2P_APP_RESPONSE : in->msg.op};
    if (!cd_p2p_requests_answer(r->requests, &q, now_of(r))) {
        return false;
    }
    c->chain.message(c->chain.ctx, in, UINT64_MAX);
    return true;
}

/* The chain ID with which the body of every message of a chain begins, those of Simplex included. */
static cd_bytes chain_of(const cd_p2p_in *in)
{
    const cd_bytes *id = in->msg.body;
    _Static_assert(offsetof(cd_p2p_chain_msg, chain_id) == 0, "the ID of the chain stands first");
    return *id;
}

static void on_message(void *ctx, cd_p2p_in *in)
{
    cd_p2p_router *r = ctx;
    const route *c = cd_p2p_op_kind(in->msg.op) == CD_P2P_LINK ? NULL : find(r, chain_of(in));
    bool is_taken = c != NULL && (cd_p2p_op_kind(in->msg.op) == CD_P2P_ASK ? on_ask(r, c, in) : on_answer(r, c, in));
    if (!is_taken) {
        cd_p2p_in_done(in);
    }
}

/* --- who is there --- */

static bool tracks(const cd_p2p_chain *c, const cd_p2p_peer_info *peer)
{
    bool does = cd_hash32_is_zero(&c->subnet);
    for (u32 i = 0; !does && i < peer->subnets_cnt; i++) {
        does = cd_hash32_eq(&peer->subnets[i], &c->subnet);
    }
    return does;
}

static void on_connected(void *ctx, const cd_p2p_peer_info *peer)
{
    cd_p2p_router *r = ctx;
    cd_list_each(it, &r->chains)
    {
        const cd_p2p_chain *c = &cd_list_of(it, route, all)->chain;
        if (!is_benched(r, &peer->node) && tracks(c, peer)) {
            c->connected(c->ctx, &peer->node, peer);
        }
    }
}

static void tell_gone(cd_p2p_router *r, const cd_node_id *node)
{
    cd_list_each(it, &r->chains)
    {
        const cd_p2p_chain *c = &cd_list_of(it, route, all)->chain;
        c->disconnected(c->ctx, node);
    }
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    if (!is_benched(ctx, node)) {
        tell_gone(ctx, node);
    }
}

/* Chains see a node as disconnected while it is benched on any of them. */
static void on_benched(void *ctx, const cd_hash32 *chain, const cd_node_id *node, bool is_benched_now)
{
    cd_p2p_router *r = ctx;
    u32 *cnt = cd_hmap_put(&r->benches, NULL, node);
    (void)chain;
    *cnt = is_benched_now ? *cnt + 1 : *cnt - 1;
    bool is_first = is_benched_now && *cnt == 1;
    bool is_over = *cnt == 0;
    if (is_over) {
        (void)cd_hmap_del(&r->benches, node);
    }
    const cd_p2p_peer_info *peer = r->net == NULL ? NULL : cd_p2p_net_peer(r->net, node);
    if (is_first && peer != NULL) {
        tell_gone(r, node);
    } else if (is_over && peer != NULL) {
        on_connected(r, peer);
    }
}

/* --- sending --- */

void cd_p2p_router_say(cd_p2p_router *r, const cd_hash32 *chain, const cd_node_id *to, u32 op, cd_p2p_chain_msg *m)
{
    m->chain_id = cd_bytes_of(chain->b, sizeof chain->b);
    const cd_p2p_msg msg = {.op = op, .body = m};
    if (is_own(r, to)) {
        cd_p2p_in *in = cd_p2p_in_own(to, &msg, now_of(r));
        if (in != NULL) {
            tell_later(r, in, NULL);
        }
    } else if (r->net != NULL) {
        (void)cd_p2p_net_send(r->net, to, &msg);
    }
}

void cd_p2p_router_ask(cd_p2p_router *r, const cd_hash32 *chain, const cd_node_id *to, u32 op, cd_p2p_chain_msg *m)
{
    u64 now = now_of(r);
    u64 timeout = 0;
    cd_p2p_request q = {.node = *to, .chain = *chain, .request_id = m->request_id, .response = cd_p2p_op_response(op)};
    if (!is_own(r, to) && (r->net == NULL || !cd_p2p_net_is_connected(r->net, to))) {
        cd_p2p_requests_unsent(r->requests, now);
        tell_later(r, NULL, &q);
        return;
    }
    if (cd_p2p_requests_add(r->requests, &timeout, &q, !is_own(r, to) && op != CD_P2P_GET, now) != CD_OK) {
        tell_later(r, NULL, &q);
        return;
    }
    m->deadline = timeout;
    cd_p2p_router_say(r, chain, to, op, m); /* without room in the queue it becomes a failure when its time is up */
}

u32 cd_p2p_router_gossip(cd_p2p_router *r, const cd_hash32 *chain, const cd_p2p_sample *to, u32 op, cd_p2p_chain_msg *m)
{
    const route *c = find(r, cd_bytes_of(chain->b, sizeof chain->b));
    m->chain_id = cd_bytes_of(chain->b, sizeof chain->b);
    const cd_p2p_msg msg = {.op = op, .body = m};
    return c == NULL || r->net == NULL ? 0 : cd_p2p_net_gossip(r->net, &c->chain.subnet, to, &msg);
}

u64 cd_p2p_router_tick(cd_p2p_router *r)
{
    later *l = r->first;
    r->first = NULL;
    r->last = &r->first;
    while (l != NULL) {
        later *next = l->next;
        if (l->in != NULL) {
            on_message(r, l->in);
        } else {
            tell_failed(r, &l->failed);
        }
        cd_free(l);
        l = next;
    }
    u64 now = now_of(r);
    u64 next = cd_p2p_requests_tick(r->requests, &r->rng, now);
    return r->first == NULL ? next : now;
}

/* --- chains --- */

typedef struct newcomer {
    const cd_p2p_router *r;
    const cd_p2p_chain *chain;
} newcomer;

static void tell_newcomer(void *ctx, const cd_p2p_peer_info *peer)
{
    const newcomer *x = ctx;
    if (!is_benched(x->r, &peer->node) && tracks(x->chain, peer)) {
        x->chain->connected(x->chain->ctx, &peer->node, peer);
    }
}

cd_err cd_p2p_router_add(cd_p2p_router *r, const cd_p2p_chain *chain)
{
    if (find(r, cd_bytes_of(chain->id.b, sizeof chain->id.b)) != NULL) {
        return CD_EEXIST;
    }
    route *c = cd_new(route);
    c->chain = *chain;
    cd_list_push_back(&r->chains, &c->all);
    if (r->net != NULL) {
        cd_p2p_net_each(r->net, tell_newcomer, &(newcomer){.r = r, .chain = &c->chain});
    }
    return CD_OK;
}

void cd_p2p_router_remove(cd_p2p_router *r, const cd_hash32 *id)
{
    route *c = find(r, cd_bytes_of(id->b, sizeof id->b));
    if (c != NULL) {
        cd_list_del(&c->all);
        cd_free(c);
    }
}

/* --- life --- */

static bool validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *subnet, const cd_node_id *node)
{
    const cd_p2p_owner *s = &((cd_p2p_router *)ctx)->cfg.staking;
    return s->validator(s->ctx, out, subnet, node);
}

static u64 weight_of_subnet(void *ctx, const cd_hash32 *subnet)
{
    const cd_p2p_owner *s = &((cd_p2p_router *)ctx)->cfg.staking;
    return s->weight(s->ctx, subnet);
}

static u32 uptime(void *ctx, const cd_node_id *node)
{
    const cd_p2p_owner *s = &((cd_p2p_router *)ctx)->cfg.staking;
    return s->uptime == NULL ? 0 : s->uptime(s->ctx, node);
}

/* A node's weight on a chain is that on the chain's subnet. */
static u64 weight_on_chain(void *ctx, const cd_hash32 *chain, const cd_node_id *node)
{
    cd_p2p_validator v;
    const route *c = find(ctx, cd_bytes_of(chain->b, sizeof chain->b));
    return c != NULL && validator(ctx, &v, &c->chain.subnet, node) ? v.weight : 0;
}

static u64 total_on_chain(void *ctx, const cd_hash32 *chain)
{
    const route *c = find(ctx, cd_bytes_of(chain->b, sizeof chain->b));
    return c == NULL ? 0 : weight_of_subnet(ctx, &c->chain.subnet);
}

cd_p2p_owner cd_p2p_router_owner(cd_p2p_router *r)
{
    return (cd_p2p_owner){.ctx = r,
                          .validator = validator,
                          .weight = weight_of_subnet,
                          .uptime = uptime,
                          .connected = on_connected,
                          .disconnected = on_disconnected,
                          .message = on_message};
}

void cd_p2p_router_bind(cd_p2p_router *r, cd_p2p_net *net)
{
    r->net = net;
}

const cd_p2p_requests *cd_p2p_router_requests(const cd_p2p_router *r)
{
    return r->requests;
}

cd_p2p_router *cd_p2p_router_new(const cd_p2p_router_cfg *cfg)
{
    cd_p2p_router *r = cd_new(cd_p2p_router);
    r->cfg = *cfg;
    r->cfg.deadline_max_ns = cfg->deadline_max_ns != 0 ? cfg->deadline_max_ns : 10 * CD_NS_PER_SEC;
    r->rng = cfg->seed == 0 ? cd_rng_os() : cd_rng_seeded(cfg->seed);
    r->cfg.requests.ctx = r;
    r->cfg.requests.failed = tell_failed;
    r->cfg.requests.weight = weight_on_chain;
    r->cfg.requests.total = total_on_chain;
    r->cfg.requests.benched = on_benched;
    r->requests = cd_p2p_requests_new(&r->cfg.requests, now_of(r));
    r->last = &r->first;
    cd_list_init(&r->chains);
    cd_hmap_init(&r->benches, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(u32));
    return r;
}

void cd_p2p_router_free(cd_p2p_router *r)
{
    if (r == NULL) {
        return;
    }
    while (r->first != NULL) {
        later *l = r->first;
        r->first = l->next;
        if (l->in != NULL) {
            cd_p2p_in_done(l->in);
        }
        cd_free(l);
    }
    cd_list_each_safe(it, &r->chains)
    {
        cd_free(cd_list_of(it, route, all));
    }
    cd_hmap_fini(&r->benches);
    cd_p2p_requests_free(r->requests);
    cd_free(r);
}
