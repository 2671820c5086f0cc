#include "node/peers/link_priv.h"

#include "base/mem/mem.h"

/* ANCESTORS_MAX: questions of one node for ancestors that wait; each may take the engine 50 ms. */
enum { LAG_MIN = 8, TELL_EVERY_S = 30, ANCESTORS_MAX = 10 };

/* What the engine is to hear. */
typedef struct news {
    cd_rpc_job job;    /* first */
    cd_loop_task task; /* the way back */
    cd_list held;
    cd_link *link;
    enum { JOINED, GONE, FAILED, MESSAGE } kind;
    cd_node_id node;
    u32 request;
    u32 response;  /* of FAILED: the answer that did not come */
    cd_p2p_in *in; /* of a MESSAGE */
    u64 expires_ns;
    u64 used_ns; /* what the engine took for it */
} news;

/* What is known of a connected node. */
typedef struct link_node {
    u64 height;    /* its last accepted one, as it said */
    u32 ancestors; /* its questions for ancestors that wait */
} link_node;

/* --- to the engine --- */

static news *news_new(cd_link *l, u32 kind, const cd_node_id *node, u32 request)
{
    news *n = cd_new(news);
    n->link = l;
    n->kind = kind;
    n->node = *node;
    n->request = request;
    return n;
}

static bool is_late(const news *n)
{
    return cd_clock_mono_ns(n->link->cfg.clock) > n->expires_ns;
}

/* A message belongs to the network, on the loop. */
static void give_back(cd_loop_task *t)
{
    news *n = (news *)(void *)((u8 *)t - offsetof(news, task));
    link_node *from = cd_hmap_get(&n->link->nodes, &n->node);
    if (from != NULL && n->in->msg.op == CD_P2P_GET_ANCESTORS && from->ancestors != 0) {
        from->ancestors--;
    }
    n->link->cfg.used(n->link->cfg.ctx, &n->node, n->used_ns);
    cd_p2p_in_done(n->in);
    cd_free(n);
}

static void run_news(cd_rpc_job *job)
{
    news *n = (news *)(void *)job;
    cd_link *l = n->link;
    u64 start = cd_clock_mono_ns(n->link->cfg.clock);
    switch (n->kind) {
    case JOINED:
        cd_record_peer(l->record, &n->node, true);
        cd_snowman_connected(l->engine, &n->node);
        if (l->bootstrap != NULL) {
            cd_bootstrap_connected(l->bootstrap, &n->node);
        }
        break;
    case GONE:
        cd_record_peer(l->record, &n->node, false);
        cd_snowman_disconnected(l->engine, &n->node);
        if (l->bootstrap != NULL) {
            cd_bootstrap_disconnected(l->bootstrap, &n->node);
        }
        break;
    case FAILED:
        cd__link_unanswered(l, &n->node, n->request, n->response);
        break;
    case MESSAGE:
        if (!is_late(n)) {
            cd__link_hear(l, &n->node, n->in->msg.op, n->in->msg.body);
        }
        n->used_ns = cd_clock_mono_ns(l->cfg.clock) - start;
        n->task.fn = give_back;
        cd_loop_post(l->cfg.loop, &n->task);
        return;
    }
    cd_free(n);
}

static cd_err send(news *n)
{
    n->job.run = run_news;
    return cd_executor_run_first(n->link->executor, &n->job);
}

/* What must be heard, in its order. */
static void tell_surely(news *n)
{
    cd_link *l = n->link;
    cd_err e = cd_list_is_empty(&l->held) ? send(n) : CD_EFULL;
    if (e == CD_EFULL) {
        cd_list_push_back(&l->held, &n->held);
    } else if (e != CD_OK) {
        cd_free(n);
    }
}

static void send_held(cd_link *l)
{
    cd_list_each_safe(it, &l->held)
    {
        news *n = cd_list_of(it, news, held);
        cd_list_del(it);
        cd_err e = send(n);
        if (e == CD_EFULL) {
            cd_list_push_front(&l->held, &n->held);
            return;
        }
        if (e != CD_OK) {
            cd_free(n);
        }
    }
}

/* --- from the router --- */

/* Every answer that the engine waits for, so that it does not wait for ever. */
static void on_failed(void *ctx, const cd_node_id *node, u32 request, u32 response)
{
    if (response == CD_P2P_APP_RESPONSE) {
        cd_inbox_failed(cd_sender_inbox(((cd_link *)ctx)->sender), node, request);
    } else if (cd_p2p_op_kind(response) == CD_P2P_ANSWER) {
        news *n = news_new(ctx, FAILED, node, request);
        n->response = response;
        tell_surely(n);
    }
}

static bool is_for_vm(u32 op)
{
    return op == CD_P2P_APP_REQUEST || op == CD_P2P_APP_RESPONSE || op == CD_P2P_APP_ERROR || op == CD_P2P_APP_GOSSIP;
}

/* Whether a node may ask for ancestors once more. */
static bool is_patient(const link_node *from, u32 op)
{
    return op != CD_P2P_GET_ANCESTORS || from == NULL || from->ancestors < ANCESTORS_MAX;
}

static void on_message(void *ctx, cd_p2p_in *in, u64 expires_ns)
{
    cd_link *l = ctx;
    const cd_p2p_chain_msg *m = in->msg.body;
    u32 op = in->msg.op;
    if (is_for_vm(op)) {
        cd_inbox_message(cd_sender_inbox(l->sender), in, expires_ns);
        return;
    }
    link_node *from = cd_hmap_get(&l->nodes, &in->from);
    news *n = news_new(l, MESSAGE, &in->from, m->request_id);
    n->in = in;
    n->expires_ns = expires_ns;
    if (from != NULL && op == CD_P2P_CHITS) {
        from->height = m->height;
    }
    if (cd__link_is_well_formed(op, m) && is_patient(from, op) && send(n) == CD_OK) {
        if (from != NULL && op == CD_P2P_GET_ANCESTORS) {
            from->ancestors++;
        }
        return;
    }
    cd_free(n);
    on_failed(l, &in->from, m->request_id, op); /* whoever asked is not left waiting */
    cd_p2p_in_done(in);
}

static void on_connected(void *ctx, const cd_node_id *node, const cd_p2p_peer_info *peer)
{
    cd_link *l = ctx;
    *(link_node *)cd_hmap_put(&l->nodes, NULL, node) = (link_node){0};
    tell_surely(news_new(l, JOINED, node, 0));
    cd_inbox_connected(cd_sender_inbox(l->sender), peer);
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    cd_link *l = ctx;
    (void)cd_hmap_del(&l->nodes, node);
    tell_surely(news_new(l, GONE, node, 0));
    cd_inbox_disconnected(cd_sender_inbox(l->sender), node);
}

/* --- time --- */

static void run_tick(cd_rpc_job *job)
{
    cd_link *l = cd_list_of(job, cd_link, tick_job);
    if (l->bootstrap != NULL) {
        cd_bootstrap_tick(l->bootstrap, cd_clock_mono_ns(l->cfg.clock));
        cd_bootstrap_progress now = cd_bootstrap_progress_get(l->bootstrap);
        cd_mutex_lock(&l->lock);
        l->progress = now;
        cd_mutex_unlock(&l->lock);
    }
    cd_snowman_tick(l->engine);
    cd_record_look(l->record, l->engine);
    atomic_store(&l->is_ticking, false);
}

u64 cd_link_behind(const cd_link *l)
{
    cd_executor_tip tip;
    void *at;
    usize ahead = 0;
    u64 least = UINT64_MAX;
    cd_executor_tip_get(l->executor, &tip);
    for (usize it = 0; cd_hmap_next(&l->nodes, &it, NULL, &at);) {
        u64 h = ((const link_node *)at)->height;
        bool is_ahead = h > tip.height + tip.processing + LAG_MIN;
        ahead += is_ahead;
        least = is_ahead && h < least ? h : least;
    }
    return ahead * 2 > cd_hmap_cnt(&l->nodes) ? least : 0;
}

/* Now and then, as long as it is so. */
static void tell_behind(cd_link *l)
{
    u64 height = cd_link_behind(l);
    u64 now = cd_clock_mono_ns(l->cfg.clock);
    if (height != 0 && (l->told_ns == 0 || now - l->told_ns > TELL_EVERY_S * CD_NS_PER_SEC)) {
        l->told_ns = now;
        cd_log_warn(l->cfg.log, "the chain is behind its peers, and this version fetches what it missed block by block",
                    CD_F("chain", l->cfg.name), CD_F("peers_are_beyond", height));
    }
}

void cd_link_tick(cd_link *l)
{
    if (!l->is_joined || l->has_left) {
        return;
    }
    send_held(l);
    cd_inbox_tick(cd_sender_inbox(l->sender));
    tell_behind(l);
    if (!atomic_exchange(&l->is_ticking, true) && cd_executor_run_first(l->executor, &l->tick_job) != CD_OK) {
        atomic_store(&l->is_ticking, false);
    }
}

/* --- life --- */

static void on_join(cd_loop_task *t)
{
    cd_link *l = (cd_link *)(void *)((u8 *)t - offsetof(cd_link, join_task));
    const cd_p2p_chain chain = {
        .id = l->cfg.chain,
        .subnet = l->cfg.net,
        .ctx = l,
        .message = on_message,
        .failed = on_failed,
        .connected = on_connected,
        .disconnected = on_disconnected,
    };
    if (!l->has_left) {
        l->is_joined = cd_p2p_router_add(l->cfg.router, &chain) == CD_OK;
        CD_ASSERT(l->is_joined);
    }
}

/* A node without its record is better than none. */
static void open_record(cd_link *l)
{
    cd_errinfo why = {0};
    const cd_link_cfg *c = &l->cfg;
    if (c->record_dir != NULL && cd_record_open(&l->record, c->record_dir, c->name, &c->own, c->clock, &why) != CD_OK) {
        cd_log_error(c->log, "nothing is recorded", CD_F("chain", c->name), CD_F("error", (const char *)why.msg));
    }
}

cd_link *cd_link_new(const cd_link_cfg *cfg)
{
    cd_link *l = cd_new(cd_link);
    cd__link_say_init(l);
    l->cfg = *cfg;
    l->join_task.fn = on_join;
    l->tick_job.run = run_tick;
    const cd_sender_cfg sender = {
        .loop = cfg->loop,
        .router = cfg->router,
        .wake = cfg->wake,
        .used = cfg->used,
        .ctx = cfg->ctx,
        .clock = cfg->clock,
        .chain = cfg->chain,
    };
    l->sender = cd_sender_new(&sender);
    open_record(l);
    cd_list_init(&l->held);
    cd_hmap_init(&l->nodes, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(link_node));
    cd_mutex_init(&l->lock);
    return l;
}

void cd_link_free(cd_link *l)
{
    if (l == NULL) {
        return;
    }
    cd_list_each_safe(it, &l->held)
    {
        cd_free(cd_list_of(it, news, held));
    }
    cd_sender_free(l->sender);
    cd_record_close(l->record);
    cd_hmap_fini(&l->nodes);
    cd_mutex_fini(&l->lock);
    cd_free(l);
}

const cd_snow_net *cd_link_net(const cd_link *l)
{
    return &l->net;
}

const cd_bootstrap_net *cd_link_asks(const cd_link *l)
{
    return &l->asks;
}

void cd_link_bind(cd_link *l, cd_engine *engine, cd_engine *bootstrap, cd_executor *executor)
{
    l->engine = engine;
    l->bootstrap = bootstrap;
    l->executor = executor;
    cd_inbox_bind(cd_sender_inbox(l->sender), executor);
}

const cd_vm_sender *cd_link_sender(const cd_link *l)
{
    return cd_sender_for_vm(l->sender);
}

void cd_link_ear(cd_link *l, const cd_inbox_ear *ear)
{
    cd_inbox_ear_set(cd_sender_inbox(l->sender), ear);
}

void cd_link_vm(cd_link *l, cd_vm *vm)
{
    cd_inbox_vm(cd_sender_inbox(l->sender), vm);
}

void cd_link_progress(cd_link *l, cd_bootstrap_progress *out)
{
    cd_mutex_lock(&l->lock);
    *out = l->progress;
    cd_mutex_unlock(&l->lock);
}

void cd_link_join(cd_link *l)
{
    cd_loop_post(l->cfg.loop, &l->join_task);
}

void cd_link_leave(cd_link *l)
{
    l->has_left = true;
    cd_sender_leave(l->sender);
    if (l->is_joined) {
        l->is_joined = false;
        cd_p2p_router_remove(l->cfg.router, &l->cfg.chain);
    }
}
