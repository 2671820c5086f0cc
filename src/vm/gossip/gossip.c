#include "vm/gossip/gossip.h"

#include "base/log/metrics.h"
#include "base/mem/mem.h"
#include "vm/gossip/push.h"
#include "vm/gossip/stakers.h"

#include <stdio.h>

const cd_gossip_params cd_gossip_px = {
    .push_ns = 500 * CD_NS_PER_MS,
    .regossip_ns = 30 * CD_NS_PER_SEC,
    .pull_ns = 1500 * CD_NS_PER_MS,
    .stake = 0.9,
    .validators = 100,
    .re_validators = 10,
};

const cd_gossip_params cd_gossip_c = {
    .push_ns = 100 * CD_NS_PER_MS,
    .regossip_ns = 30 * CD_NS_PER_SEC,
    .pull_ns = 1000 * CD_NS_PER_MS,
    .stake = 0.9,
    .validators = 100,
    .re_validators = 10,
};

/* A new filter is made for at least FILTER_CNT IDs, and for FILTER_CHURN times as many as are in the set. */
enum { FILTER_CNT = 8192, FILTER_CHURN = 3 };
static const double filter_p = 0.01;
static const double filter_p_max = 0.05;

/* Counters of a topic's traffic in one direction: things and their bytes. */
typedef struct passed {
    cd_counter *cnt;
    cd_counter *bytes;
} passed;

struct cd_gossip_topic {
    cd_gossip *g;
    u64 handler;
    const cd_gossip_set *set;
    const cd_gossip_params *params;
    cd_p2p_bloom known;
    cd_gossip_push push;
    u64 push_at_ns;
    u64 pull_at_ns;
    bool is_asking; /* a question of ours is not answered yet */
    u32 request_id;
    cd_node_id asked;
    passed sent_push, sent_pull, got_push, got_pull; /* NULL inside: no metrics are kept */
    cd_gauge *unsent;
    cd_gauge *sent;
};

struct cd_gossip {
    const cd_vm_ctx *ctx;
    const cd_vm_sender *sender; /* NULL: there are no peers */
    cd_gossip_stakers stakers;
    cd_p2p_mux mux;
    cd_gossip_asks asks;
    cd_gossip_topic *topics[CD_GOSSIP_TOPICS_MAX];
    u32 topic_cnt;
    u32 request_id; /* of the next question: odd, as the SDK's are */
    bool is_on;
};

static u64 now_of(const cd_gossip *g)
{
    return cd_clock_mono_ns(g->ctx->clock);
}

static void count(const passed *p, usize cnt, usize bytes)
{
    if (p->cnt != NULL) {
        cd_counter_add(p->cnt, cnt);
        cd_counter_add(p->bytes, bytes);
    }
}

/* --- what is known --- */

static bool know(void *arg, const cd_hash32 *id, cd_bytes item)
{
    cd_gossip_topic *t = arg;
    (void)item;
    (void)cd_p2p_bloom_add(&t->known, cd_bytes_of(id->b, sizeof id->b));
    return true;
}

static void filter_reset(cd_gossip_topic *t)
{
    u64 cnt = cd_max_u64(FILTER_CNT, t->set->cnt(t->set->ctx) * FILTER_CHURN);
    cd_p2p_bloom_reset(&t->known, t->g->ctx->rng, (u32)cd_min_u64(cnt, UINT32_MAX), filter_p, filter_p_max);
    t->set->each(t->set->ctx, know, t);
}

void cd_gossip_known(cd_gossip_topic *t, const cd_hash32 *id)
{
    if (t->g->sender != NULL && !cd_p2p_bloom_add(&t->known, cd_bytes_of(id->b, sizeof id->b))) {
        filter_reset(t);
    }
}

void cd_gossip_push_out(cd_gossip_topic *t, const cd_hash32 *id)
{
    if (t->g->sender != NULL) {
        cd_gossip_push_put(&t->push, id, now_of(t->g));
    }
}

/* --- pushing --- */

/* A message that is being put together. */
typedef struct parcel {
    cd_gossip_topic *topic;
    cd_buf body;
    usize bytes;
} parcel;

static usize say(void *ctx, const cd_hash32 *id)
{
    parcel *p = ctx;
    const cd_gossip_set *set = p->topic->set;
    cd_bytes item;
    if (!set->get(set->ctx, &item, id)) {
        return 0;
    }
    cd_p2p_gossip_put(&p->body, item);
    p->bytes += item.n;
    return item.n;
}

static void push(cd_gossip_topic *t, bool again, u64 now)
{
    cd_gossip *g = t->g;
    parcel p = {.topic = t};
    cd_buf msg = {0};
    usize cnt = cd_gossip_push_take(&t->push, again, CD_GOSSIP_MESSAGE_TARGET, t->params->regossip_ns, now, say, &p);
    if (cnt != 0) {
        cd_vm_gossip_to to = {.validators = again ? t->params->re_validators : t->params->validators,
                              .peers = again ? t->params->re_peers : t->params->peers};
        if (!again) {
            to.nodes = cd_gossip_stakers_top(&g->stakers, &to.node_cnt, t->params->stake, now);
        }
        cd_p2p_app_put(&msg, t->handler, cd_buf_bytes(&p.body));
        g->sender->gossip(g->sender, &to, cd_buf_bytes(&msg));
        count(&t->sent_push, cnt, p.bytes);
    }
    cd_buf_fini(&msg);
    cd_buf_fini(&p.body);
}

static u64 wake_push(cd_gossip_topic *t, u64 now)
{
    u64 due = cd_gossip_push_next(&t->push, t->params->regossip_ns, now);
    if (due <= now && t->push_at_ns <= now) {
        push(t, false, now);
        push(t, true, now);
        t->push_at_ns = now + t->params->push_ns;
        due = cd_gossip_push_next(&t->push, t->params->regossip_ns, now);
    }
    if (t->unsent != NULL) {
        cd_gauge_set(t->unsent, (i64)t->push.fresh_cnt);
        cd_gauge_set(t->sent, (i64)t->push.said_cnt);
    }
    return due == UINT64_MAX ? due : cd_max_u64(due, t->push_at_ns);
}

/* --- pulling --- */

static void ask(cd_gossip *g, const cd_node_id *whom, u32 request_id, u64 handler, cd_bytes body)
{
    cd_buf msg = {0};
    cd_p2p_app_put(&msg, handler, body);
    g->sender->request(g->sender, whom, request_id, cd_buf_bytes(&msg));
    cd_buf_fini(&msg);
}

static u32 next_request(cd_gossip *g)
{
    u32 id = g->request_id;
    g->request_id += 2;
    return id;
}

static void pull(cd_gossip_topic *t, const cd_node_id *whom)
{
    const cd_p2p_pull p = {.salt = cd_bytes_of(t->known.salt.b, sizeof t->known.salt.b),
                           .filter = cd_buf_bytes(&t->known.bytes)};
    cd_buf body = {0};
    cd_proto_put(&body, &cd_p2p_pull_table, &p);
    t->is_asking = true;
    t->asked = *whom;
    t->request_id = next_request(t->g);
    ask(t->g, whom, t->request_id, t->handler, cd_buf_bytes(&body));
    cd_buf_fini(&body);
}

bool cd_gossip_ask(cd_gossip *g, const cd_node_id *whom, u64 handler, cd_bytes body, cd_gossip_told *told, void *ctx)
{
    u32 id = g->request_id;
    if (g->sender == NULL || !cd_gossip_asks_put(&g->asks, id, whom, told, ctx)) {
        return false;
    }
    ask(g, whom, next_request(g), handler, body);
    return true;
}

void cd_gossip_forget(cd_gossip *g, const void *ctx)
{
    cd_gossip_asks_drop(&g->asks, ctx);
}

/* Asks one question at a time: a peer that answers slowly is not asked more often. */
static u64 wake_pull(cd_gossip_topic *t, u64 now)
{
    cd_gossip *g = t->g;
    cd_node_id whom;
    if (!g->is_on) {
        return UINT64_MAX;
    }
    if (t->pull_at_ns <= now) {
        t->pull_at_ns = now + t->params->pull_ns;
        if (!t->is_asking && cd_gossip_stakers_has(&g->stakers, &g->ctx->node_id, now) &&
            cd_gossip_stakers_any(&g->stakers, &whom, g->ctx->rng, now)) {
            pull(t, &whom);
        }
    }
    return t->pull_at_ns;
}

u64 cd_gossip_wake(cd_gossip *g)
{
    u64 next = UINT64_MAX;
    u64 now = now_of(g);
    for (u32 i = 0; i < g->topic_cnt && g->sender != NULL; i++) {
        next = cd_min_u64(next, wake_push(g->topics[i], now));
        next = cd_min_u64(next, wake_pull(g->topics[i], now));
    }
    return next;
}

void cd_gossip_start(cd_gossip *g, bool is_on)
{
    for (u32 i = 0; i < g->topic_cnt && is_on && !g->is_on; i++) {
        g->topics[i]->pull_at_ns = now_of(g) + g->topics[i]->params->pull_ns;
    }
    g->is_on = is_on;
}

/* --- what comes --- */

/* A message whose things are being added. */
typedef struct delivery {
    const cd_gossip_topic *topic;
    const cd_node_id *from;
    usize cnt;
    usize bytes;
} delivery;

static void take(void *ctx, cd_bytes item)
{
    delivery *d = ctx;
    d->cnt++;
    d->bytes += item.n;
    d->topic->set->add(d->topic->set->ctx, d->from, item);
}

/* Adds a message's things to the set. A malformed message has no other consequence for its sender. */
static void deliver(const cd_gossip_topic *t, const passed *p, const cd_node_id *from, cd_bytes body)
{
    delivery d = {.topic = t, .from = from};
    (void)!cd_p2p_gossip_read(body, take, &d);
    count(p, d.cnt, d.bytes);
}

static void on_pushed(void *ctx, const cd_node_id *from, cd_bytes body)
{
    const cd_gossip_topic *t = ctx;
    deliver(t, &t->got_push, from, body);
}

static i32 on_asked(void *ctx, cd_buf *response, const cd_node_id *from, cd_bytes body)
{
    const cd_gossip_topic *t = ctx;
    const cd_p2p_gossip_set set = {.ctx = t->set->ctx, .each = t->set->each};
    usize before = response->n;
    (void)from;
    i32 code = cd_p2p_pull_answer(response, body, &set, CD_GOSSIP_MESSAGE_TARGET);
    if (code == CD_P2P_APP_OK) {
        count(&t->sent_pull, 1, response->n - before);
    }
    return code;
}

static bool is_validator(void *ctx, const cd_node_id *node)
{
    cd_gossip *g = ctx;
    return cd_gossip_stakers_has(&g->stakers, node, now_of(g));
}

static cd_gossip *of_vm(cd_vm *vm)
{
    return ((cd_gossip_vm *)(void *)vm)->gossip;
}

void cd_gossip_on_request(cd_vm *vm, const cd_node_id *from, u32 request_id, u64 deadline_ns, cd_bytes msg)
{
    cd_gossip *g = of_vm(vm);
    cd_buf response = {0};
    (void)deadline_ns;
    if (g->sender == NULL) {
        return;
    }
    i32 code = cd_p2p_mux_request(&g->mux, &response, from, msg, now_of(g));
    if (code == CD_P2P_APP_OK) {
        g->sender->response(g->sender, from, request_id, cd_buf_bytes(&response));
    } else {
        cd_bytes words = response.n == 0 ? cd_bytes_str(cd_p2p_app_text(code)) : cd_buf_bytes(&response);
        g->sender->error(g->sender, from, request_id, code, words);
    }
    cd_buf_fini(&response);
}

/* The topic whose question this answers, which is open no more; NULL: nobody asked. */
static cd_gossip_topic *answered(const cd_gossip *g, const cd_node_id *from, u32 request_id)
{
    for (u32 i = 0; i < g->topic_cnt; i++) {
        cd_gossip_topic *t = g->topics[i];
        if (t->is_asking && t->request_id == request_id && memcmp(&t->asked, from, sizeof *from) == 0) {
            t->is_asking = false;
            return t;
        }
    }
    return NULL;
}

void cd_gossip_on_response(cd_vm *vm, const cd_node_id *from, u32 request_id, cd_bytes msg)
{
    const cd_gossip_topic *t = answered(of_vm(vm), from, request_id);
    if (t != NULL) {
        deliver(t, &t->got_pull, from, msg);
    } else {
        (void)cd_gossip_asks_end(&of_vm(vm)->asks, request_id, from, CD_P2P_APP_OK, msg);
    }
}

void cd_gossip_on_failed(cd_vm *vm, const cd_node_id *from, u32 request_id, i32 code, cd_bytes message)
{
    if (answered(of_vm(vm), from, request_id) == NULL) {
        (void)cd_gossip_asks_end(&of_vm(vm)->asks, request_id, from, code == 0 ? CD_P2P_APP_UNEXPECTED : code, message);
    }
}

void cd_gossip_on_gossip(cd_vm *vm, const cd_node_id *from, cd_bytes msg)
{
    cd_p2p_mux_gossip(&of_vm(vm)->mux, from, msg);
}

void cd_gossip_on_connected(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version)
{
    (void)version;
    cd_gossip_stakers_come(&of_vm(vm)->stakers, peer);
}

void cd_gossip_on_disconnected(cd_vm *vm, const cd_node_id *peer)
{
    cd_gossip_stakers_go(&of_vm(vm)->stakers, peer);
}

const cd_vm_app_ops cd_gossip_app_ops = {
    .request = cd_gossip_on_request,
    .response = cd_gossip_on_response,
    .failed = cd_gossip_on_failed,
    .gossip = cd_gossip_on_gossip,
    .connected = cd_gossip_on_connected,
    .disconnected = cd_gossip_on_disconnected,
};

/* --- life --- */

cd_gossip *cd_gossip_new(const cd_vm_ctx *ctx)
{
    cd_gossip *g = cd_new(cd_gossip);
    g->ctx = ctx;
    g->sender = ctx->sender;
    g->request_id = 1;
    g->mux.is_validator = is_validator;
    g->mux.ctx = g;
    cd_gossip_asks_init(&g->asks);
    cd_gossip_stakers_init(&g->stakers, ctx->validators, &ctx->subnet_id, &ctx->node_id);
    return g;
}

void cd_gossip_free(cd_gossip *g)
{
    if (g == NULL) {
        return;
    }
    for (u32 i = 0; i < g->topic_cnt; i++) {
        cd_p2p_bloom_fini(&g->topics[i]->known);
        cd_gossip_push_fini(&g->topics[i]->push);
        cd_free(g->topics[i]);
    }
    cd_p2p_mux_fini(&g->mux);
    cd_gossip_asks_fini(&g->asks);
    cd_gossip_stakers_fini(&g->stakers);
    cd_free(g);
}

cd_p2p_mux *cd_gossip_mux(cd_gossip *g)
{
    return &g->mux;
}

static passed metrics_of(cd_metrics *ms, const char *name, const char *io, const char *type)
{
    const cd_label labels[] = {{"io", io}, {"type", type}};
    char text[64];
    passed p;
    (void)snprintf(text, sizeof text, "%s_gossip_count", name);
    p.cnt = cd_metrics_counter(ms, text, "Things gossiped", labels, CD_COUNT(labels));
    (void)snprintf(text, sizeof text, "%s_gossip_bytes", name);
    p.bytes = cd_metrics_counter(ms, text, "Bytes of things gossiped", labels, CD_COUNT(labels));
    return p;
}

static cd_gauge *tracking_of(cd_metrics *ms, const char *name, const char *type)
{
    const cd_label label = {"type", type};
    char text[64];
    (void)snprintf(text, sizeof text, "%s_gossip_tracking", name);
    return cd_metrics_gauge(ms, text, "Things that are told to others", &label, 1);
}

static void open_metrics(cd_gossip_topic *t, cd_metrics *ms, const char *name)
{
    t->sent_push = metrics_of(ms, name, "sent", "push");
    t->sent_pull = metrics_of(ms, name, "sent", "pull");
    t->got_push = metrics_of(ms, name, "received", "push");
    t->got_pull = metrics_of(ms, name, "received", "pull");
    t->unsent = tracking_of(ms, name, "unsent");
    t->sent = tracking_of(ms, name, "sent");
}

cd_gossip_topic *cd_gossip_add(cd_gossip *g, u64 handler, const char *name, const cd_gossip_set *set,
                               const cd_gossip_params *params)
{
    CD_ASSERT(g->topic_cnt < CD_GOSSIP_TOPICS_MAX);
    cd_gossip_topic *t = cd_new(cd_gossip_topic);
    t->g = g;
    t->handler = handler;
    t->set = set;
    t->params = params;
    cd_gossip_push_init(&t->push);
    g->topics[g->topic_cnt++] = t;
    const cd_p2p_handler h = {
        .id = handler,
        .ctx = t,
        .request = on_asked,
        .gossip = on_pushed,
        .validators_only = true,
        .period_ns = CD_GOSSIP_ASKS_S * CD_NS_PER_SEC,
        .limit = CD_GOSSIP_ASKS_MAX,
    };
    cd_err e = cd_p2p_mux_add(&g->mux, &h, now_of(g));
    CD_ASSERT(e == CD_OK);
    if (g->sender != NULL) {
        filter_reset(t);
    }
    if (g->sender != NULL && g->ctx->metrics != NULL) {
        open_metrics(t, g->ctx->metrics, name);
    }
    return t;
}
