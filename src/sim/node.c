#include "base/mem/mem.h"
#include "base/table/list.h"
#include "consensus/proposer/proposer.h"
#include "sim/sim_priv.h"

enum { STEPS_MAX = 1000 };

/* --- what a VM and its engine get --- */

static u64 node_mono(const cd_clock *c)
{
    const sim_node *n = cd_list_of((uintptr_t)c, sim_node, clock);
    return n->now_us * 1000;
}

/* A node's clock may be wrong, but never shows a time before the first block. */
static u64 node_wall(const cd_clock *c)
{
    const sim_node *n = cd_list_of((uintptr_t)c, sim_node, clock);
    i64 s = (i64)CD_SIM_GENESIS_S + n->skew_s;
    return (u64)s * CD_NS_PER_SEC + n->now_us * 1000;
}

static void node_notify(cd_vm_host *host, cd_vm_event what)
{
    const sim_node *n = cd_list_of(host, sim_node, host);
    if (n->engine != NULL) {
        n->engine->ops->notify(n->engine, what);
    }
}

static void push(fresh **list, u32 *cnt, u32 *cap, const fresh *f)
{
    if (*cnt == *cap) {
        *cap = *cap == 0 ? 8 : *cap * 2;
        *list = cd_realloc(*list, *cap * sizeof **list);
    }
    (*list)[(*cnt)++] = *f;
}

/* --- what it did --- */

static void trace_block(const sim_node *n, char kind, const cd_vm_block *b)
{
    cd_sim_trace_put(n->w->cfg.trace, kind, n->now_us, "%u %s %s %llu", n->no, cd_sim_trace_id(&b->id).s,
                     cd_sim_trace_id(&b->parent).s, (unsigned long long)b->height);
}

static void on_built(void *ctx, const cd_vm_block *b)
{
    sim_node *n = ctx;
    const fresh f = {.id = b->id, .at_us = n->now_us};
    push(&n->built, &n->built_cnt, &n->built_cap, &f);
    n->last_built = b->id;
    trace_block(n, 'b', b);
}

static void on_verified(void *ctx, const cd_vm_block *b)
{
    trace_block(ctx, 's', b);
}

static void on_accepted(void *ctx, const cd_vm_block *b)
{
    sim_node *n = ctx;
    const fresh f = {.id = b->id, .height = b->height, .at_us = n->now_us};
    push(&n->fresh, &n->fresh_cnt, &n->fresh_cap, &f);
    cd_sim_trace_put(n->w->cfg.trace, 'a', n->now_us, "%u %s %llu", n->no, cd_sim_trace_id(&b->id).s,
                     (unsigned long long)b->height);
}

static void on_rejected(void *ctx, const cd_vm_block *b)
{
    sim_node *n = ctx;
    n->stats.rejected++;
    cd_sim_trace_put(n->w->cfg.trace, 'r', n->now_us, "%u %s", n->no, cd_sim_trace_id(&b->id).s);
}

static void on_refused(void *ctx, const cd_vm_block *b, const char *why)
{
    sim_node *n = ctx;
    n->stats.refused++;
    cd_sim_trace_put(n->w->cfg.trace, 'x', n->now_us, "%u %s %s", n->no, cd_sim_trace_id(&b->id).s, why);
}

/* --- starting and stopping --- */

static cd_err open_vm(sim_node *n, cd_vm **out, cd_errinfo *why)
{
    const cd_sim_signer *signer = &n->w->stake.nodes[n->no];
    const cd_proposer_cfg cfg = {
        .inner = cd_sim_chain_open, .kv = n->own_kv, .staking = &signer->staking, .delay_s = CD_PROPOSER_DELAY_S};
    const cd_vm_ctx ctx = {.kv = &n->disk.kv,
                           .host = &n->host,
                           .clock = &n->clock,
                           .rng = &n->engine_rng,
                           .validators = &n->view.ops,
                           .dev = &n->chain_cfg,
                           .is_stepped = true,
                           .node_id = n->id,
                           .name = "S"};
    if (n->w->cfg.is_bare) {
        CD_TRY(cd_sim_chain_open(out, &ctx, why));
        n->chain = *out;
    } else {
        CD_TRY(cd_proposer_open(out, &cfg, &ctx, why));
        n->chain = cd_proposer_inner(*out);
    }
    return CD_OK;
}

static void greet(sim_node *n)
{
    world *w = n->w;
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        const sim_node *other = &w->nodes[i];
        if (i != n->no && other->is_up) {
            cd_snowman_connected(n->engine, &other->id);
            cd_snowman_connected(other->engine, &n->id);
        }
    }
}

static cd_err start_engine(sim_node *n, cd_errinfo *why)
{
    const cd_snowman_cfg cfg = {
        .door = {.store = &n->disk.kv, .chain = &n->disk.kv, .sync = CD_KV_NOSYNC},
        .params = n->w->cfg.params,
        .net = &n->net,
        .validators = &n->view.ops,
        .self = n->id,
        .rng = &n->engine_rng,
        .name = "S",
    };
    CD_TRY(cd_snowman_new(&n->engine, &cfg, why));
    return n->engine->ops->start(n->engine, &n->audit.vm, why);
}

void cd__world_node_up(sim_node *n)
{
    world *w = n->w;
    cd_errinfo why = {0};
    cd_vm *below = NULL;
    const cd_sim_witness witness = {.built = on_built,
                                    .verified = on_verified,
                                    .accepted = on_accepted,
                                    .rejected = on_rejected,
                                    .refused = on_refused,
                                    .ctx = n};
    n->now_us = w->now_us;
    n->life++;
    if (open_vm(n, &below, &why) != CD_OK) {
        n->is_stuck = true;
        w->result.halts++;
        cd_sim_trace_put(w->cfg.trace, 'w', n->now_us, "node %u does not start: %s", n->no, why.msg);
        return;
    }
    cd_sim_audit_open(&n->audit, below, &witness);
    cd_err e = start_engine(n, &why);
    CD_ASSERT(e == CD_OK);
    memset(n->asks, 0, (usize)ASKS * w->ask_size);
    cd_buf_clear(&n->stale);
    n->first_ask = 1;
    n->last_ask = 0;
    n->is_stuck = false;
    n->is_dying = false;
    n->is_up = true;
    n->wake_us = UINT64_MAX;
    n->watch = (cd_sim_watch){.trace = w->cfg.trace, .node = n->no};
    greet(n);
    cd_sim_trace_put(w->cfg.trace, 'u', n->now_us, "%u", n->no);
    cd__world_alarm(n, MAIL_TICK, n->now_us + 1000 + cd_rng_below(&n->net_rng, CD_SNOWMAN_TICK_MS * 1000ull));
}

void cd__world_node_down(sim_node *n)
{
    world *w = n->w;
    n->is_up = false;
    n->life++;
    n->engine->ops->stop(n->engine);
    cd_snowman_free(n->engine);
    n->audit.vm.ops->close(&n->audit.vm);
    n->engine = NULL;
    n->chain = NULL;
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        sim_node *other = &w->nodes[i];
        if (other->is_up) {
            other->now_us = cd_max_u64(other->now_us, w->now_us);
            cd_snowman_disconnected(other->engine, &n->id);
        }
    }
    cd_sim_trace_put(w->cfg.trace, 'd', w->now_us, "%u", n->no);
}

void cd__world_node_init(sim_node *n, world *w, u32 no)
{
    const cd_sim_signer *signer = &w->stake.nodes[no];
    n->w = w;
    n->no = no;
    n->id = signer->id;
    n->lane = &w->lanes[0];
    n->clock = (cd_clock){.mono_ns = node_mono, .wall_ns = node_wall};
    n->host = (cd_vm_host){.notify = node_notify};
    n->region = no % REGIONS;
    n->bits_per_s = w->cfg.bits_per_s;
    n->chain_cfg.second_rules_s = w->second_rules_s;
    n->engine_rng = cd_rng_seeded(cd_rng_u64(&w->rng));
    n->net_rng = cd_rng_seeded(cd_rng_u64(&w->rng));
    n->lie_rng = cd_rng_seeded(cd_rng_u64(&w->rng));
    n->asks = cd_alloc((usize)ASKS * w->ask_size);
    cd_sim_disk_init(&n->disk);
    n->own_kv = cd_kv_prefix_open(&n->disk.kv, cd_bytes_str("~w"));
    cd_sim_view_init(&n->view, &w->stake, &n->now_us);
    cd__world_net_init(n);
}

void cd__world_node_fini(sim_node *n)
{
    if (n->is_up) {
        n->engine->ops->stop(n->engine);
        cd_snowman_free(n->engine);
        n->audit.vm.ops->close(&n->audit.vm);
    }
    cd_kv_close(n->own_kv);
    cd_sim_disk_fini(&n->disk);
    cd_free(n->asks);
    cd_free(n->fresh);
    cd_free(n->built);
    cd_buf_fini(&n->twin);
    cd_buf_fini(&n->stale);
}

/* --- questions --- */

static void fail(sim_node *n, u32 request, u32 to, bool is_get)
{
    static const cd_node_id nobody;
    const cd_node_id *id = to == NOBODY ? &nobody : &n->w->nodes[to].id;
    n->stats.failures++;
    if (to != NOBODY) {
        cd_sim_trace_put(n->w->cfg.trace, 'f', n->now_us, "%u %u %u", n->no, request, to);
    }
    if (is_get) {
        cd_snowman_get_failed(n->engine, id, request);
    } else {
        cd_snowman_query_failed(n->engine, id, request);
    }
}

/* Reports a failure to the engine for every node that has not answered. The engine may ask meanwhile, which may reuse
 * the place of a. */
static void give_up(sim_node *n, ask *a)
{
    u32 request = a->request;
    bool is_get = a->is_get;
    u16 cnt = a->cnt;
    u16 silent[CD_SNOW_K_MAX];
    memcpy(silent, a->to, cnt * sizeof silent[0]);
    a->request = 0;
    for (u32 i = 0; i < cnt; i++) {
        if (silent[i] != UINT16_MAX) {
            fail(n, request, silent[i], is_get);
        }
    }
}

/* Gives a place for a question. When more than ASKS questions were asked since, the place may still hold an older one:
 * that is set aside and given up at the next tick, since the engine is in the middle of asking now. */
ask *cd__world_node_open_ask(sim_node *n, u32 request, bool is_get)
{
    ask *a = cd__world_ask_at(n, request);
    if (a->request != 0) {
        cd_buf_put(&n->stale, cd_bytes_of(a, n->w->ask_size));
    }
    a->request = request;
    a->is_get = is_get;
    a->until_us = n->now_us + TIMEOUT_US;
    n->last_ask = request;
    return a;
}

/* Marks the answer of one node to a question. False: the node was not asked, or has answered. */
static bool answered(sim_node *n, u32 request, u32 from, bool is_get)
{
    ask *a = cd__world_ask_at(n, request);
    if (request == 0 || a->request != request || a->is_get != is_get) {
        return false;
    }
    for (u32 i = 0; i < a->cnt; i++) {
        if (a->to[i] == from) {
            a->to[i] = UINT16_MAX;
            a->open--;
            a->request = a->open == 0 ? 0 : request;
            return true;
        }
    }
    return false;
}

static void timeouts(sim_node *n)
{
    while (n->stale.n != 0) {
        ask *a = (ask *)(void *)(n->stale.p + n->stale.n - n->w->ask_size);
        n->stale.n -= n->w->ask_size;
        give_up(n, a);
    }
    while (n->first_ask <= n->last_ask) {
        ask *a = cd__world_ask_at(n, n->first_ask);
        if (a->request == n->first_ask) {
            if (a->until_us > n->now_us) {
                return;
            }
            give_up(n, a);
        }
        n->first_ask++;
    }
}

/* --- hearing --- */

static bool copy_id(cd_hash32 *out, cd_bytes b)
{
    if (b.n != sizeof out->b) {
        return false;
    }
    memcpy(out->b, b.p, sizeof out->b);
    return true;
}

static void hear_chits(sim_node *n, const sim_node *from, const cd_p2p_chain_msg *m)
{
    cd_snow_chits c = {.accepted_height = m->height};
    if (!copy_id(&c.preferred, m->preferred_id) || !copy_id(&c.preferred_at_height, m->preferred_id_at_height) ||
        !copy_id(&c.accepted, m->accepted_id)) {
        return;
    }
    if (answered(n, m->request_id, from->no, false)) {
        n->stats.votes++;
    }
    cd_sim_trace_put(n->w->cfg.trace, 'v', n->now_us, "%u %u %u %s %llu", n->no, m->request_id, from->no,
                     cd_sim_trace_id(&c.preferred).s, (unsigned long long)m->height);
    cd_snowman_chits(n->engine, &from->id, m->request_id, &c);
}

static void hear_message(sim_node *n, const sim_node *from, const cd_p2p_msg *msg)
{
    const cd_p2p_chain_msg *m = msg->body;
    cd_hash32 id;
    switch (msg->op) {
    case CD_P2P_PUSH_QUERY:
        cd_snowman_push_query(n->engine, &from->id, m->request_id, m->data, m->height);
        break;
    case CD_P2P_PULL_QUERY:
        if (copy_id(&id, m->data)) {
            cd_snowman_pull_query(n->engine, &from->id, m->request_id, &id, m->height);
        }
        break;
    case CD_P2P_CHITS:
        hear_chits(n, from, m);
        break;
    case CD_P2P_GET:
        if (copy_id(&id, m->data) && !(cd__world_lies(n) && cd__world_lie_get(n, from->no, m->request_id, &id))) {
            cd_snowman_get(n->engine, &from->id, m->request_id, &id);
        }
        break;
    case CD_P2P_PUT:
        (void)answered(n, m->request_id, from->no, true);
        cd_snowman_put(n->engine, &from->id, m->request_id, m->data);
        break;
    default:
        break; /* no honest node sends this here */
    }
}

static void hear_frame(sim_node *n, const cd_sim_mail *m)
{
    cd_p2p_msg msg;
    usize unpacked;
    cd_arena_reset(&n->lane->arena);
    if (cd_p2p_msg_parse(&msg, &unpacked, &n->lane->arena, n->lane->zstd, cd_sim_mail_bytes(m), NULL) == CD_OK) {
        hear_message(n, &n->w->nodes[m->from], &msg);
    }
}

static void hear_tick(sim_node *n)
{
    timeouts(n);
    cd_snowman_tick(n->engine);
    if (cd__world_lies(n)) {
        cd__world_lie_tick(n);
    }
    cd__world_alarm(n, MAIL_TICK, n->now_us + CD_SNOWMAN_TICK_MS * 1000ull);
}

/* Lets the VM do what is due, and the engine what follows from it. */
static void run_due(sim_node *n)
{
    u64 due_us = UINT64_MAX;
    bool again = true;
    for (u32 steps = 0; again; steps++) {
        u64 due = n->audit.vm.ops->wake(&n->audit.vm);
        due_us = due == UINT64_MAX ? due : due / 1000 + 1;
        again = n->engine->ops->step(n->engine);
        if (steps == STEPS_MAX) {
            n->broken = n->broken == NULL ? "an engine builds block after block without end" : n->broken;
            again = false;
        }
    }
    if (due_us < n->wake_us) {
        n->wake_us = due_us;
        cd__world_alarm(n, MAIL_WAKE, due_us);
    }
}

void cd__world_node_hear(sim_node *n, const cd_sim_mail *m)
{
    if (!n->is_up || n->is_dying || (m->life != 0 && m->life != n->life)) {
        return;
    }
    n->now_us = cd_max_u64(n->now_us, m->at_us);
    n->stats.events++;
    switch ((mail_kind)m->kind) {
    case MAIL_FRAME:
        hear_frame(n, m);
        break;
    case MAIL_TICK:
        hear_tick(n);
        break;
    case MAIL_WAKE:
        n->wake_us = UINT64_MAX;
        break;
    case MAIL_TX:
        cd_sim_chain_submit(n->chain, m->arg);
        break;
    }
    /* A VM's due work changes only with a call to it, or with time, of which an alarm tells. */
    bool is_stirred = m->kind != MAIL_FRAME || n->audit.changes != n->changes;
    if (is_stirred) {
        run_due(n);
        n->changes = n->audit.changes;
    }
    n->is_dying = n->disk.has_failed;
    if (!n->is_dying) {
        cd_sim_watch_look(&n->watch, n->engine, n->now_us);
        cd__world_judge_node(n, is_stirred);
    }
}
