#include "sim/sim.h"

#include "base/mem/mem.h"
#include "sim/sim_priv.h"

#define SECOND_US ((u64)CD_SIM_MILLION)

enum { JUDGE_US = 100000, TX_NEAR_US = 10000, TX_SPREAD_US = 300000 };

void cd_sim_default(cd_sim_cfg *cfg)
{
    cfg->nodes = cfg->nodes == 0 ? 5 : cfg->nodes;
    cfg->roles = cfg->roles == 0 ? CD_SIM_ROLES : cfg->roles;
    cfg->duration_us = cfg->duration_us == 0 ? 60 * SECOND_US : cfg->duration_us;
    cfg->interval_us = cfg->interval_us == 0 ? 2 * SECOND_US : cfg->interval_us;
    cfg->spread_us = cfg->spread_us == 0 ? TX_SPREAD_US : cfg->spread_us;
    cfg->bits_per_s = cfg->bits_per_s == 0 ? 100 * SECOND_US : cfg->bits_per_s;
    cfg->bound_us = cfg->bound_us == 0 ? 120 * SECOND_US : cfg->bound_us;
    cfg->params = cfg->params.k == 0 ? cd_snow_params_default() : cfg->params;
    cfg->threads = cfg->threads == 0 || cfg->trace != NULL ? 1 : (u32)cd_min_u64(cfg->threads, LANES_MAX);
}

static cd_err check(const cd_sim_cfg *c, cd_errinfo *why)
{
    if (c->nodes > CD_SIM_NODES_MAX) {
        return cd_fail(why, CD_EINVAL, "a world has 1 to %d nodes, not %u", CD_SIM_NODES_MAX, c->nodes);
    }
    if (c->byzantine_ppm > CD_SIM_MILLION) {
        return cd_fail(why, CD_EINVAL, "more than all of the stake cannot lie");
    }
    for (u32 i = 0; i < c->act_cnt; i++) {
        const cd_sim_act *a = &c->acts[i];
        for (u32 j = 0; j < a->nodes.cnt; j++) {
            if (a->nodes.r[j].from > a->nodes.r[j].to || a->nodes.r[j].to >= c->nodes) {
                return cd_fail(why, CD_EINVAL, "there are nodes 0 to %u, and no node %u", c->nodes - 1,
                               a->nodes.r[j].to);
            }
        }
    }
    return cd_snow_params_check(&c->params, why);
}

/* --- who lies --- */

static u32 role_of(world *w)
{
    u32 bits[8];
    u32 cnt = 0;
    for (u32 bit = 1; bit <= CD_SIM_ROLES; bit <<= 1) {
        if ((w->cfg.roles & bit) != 0) {
            bits[cnt++] = bit;
        }
    }
    u32 role = bits[cd_rng_below(&w->rng, cnt)];
    return role | (cd_rng_below(&w->rng, 2) == 0 ? bits[cd_rng_below(&w->rng, cnt)] : 0);
}

/* Draws as many liars as the share of the stake allows; all nodes have equal stake. */
static void choose_liars(world *w)
{
    u32 n = w->cfg.nodes;
    u32 want = (u32)((u64)n * w->cfg.byzantine_ppm / CD_SIM_MILLION);
    while (w->liar_cnt < want) {
        sim_node *node = &w->nodes[cd_rng_below(&w->rng, n)];
        if (!node->is_liar) {
            node->is_liar = true;
            node->roles = role_of(w);
            w->liar_cnt++;
        }
    }
}

/* --- life of a world --- */

static void open_lanes(world *w)
{
    for (u32 i = 0; i < w->cfg.threads; i++) {
        w->lanes[i].is_alone = true;
        w->lanes[i].zstd = cd_zstd_new(CD_P2P_FRAME_MAX);
    }
    if (w->cfg.threads > 1 && cd_pool_new(&w->pool, w->cfg.threads - 1, 16, "sim", NULL) != CD_OK) {
        w->pool = NULL; /* without a pool the run has one thread */
    }
}

static void trace_nodes(const world *w)
{
    for (u32 i = 0; i < w->cfg.nodes && w->cfg.trace != NULL; i++) {
        cd_buf name = {0};
        cd_node_id_put(&name, &w->nodes[i].id);
        cd_sim_trace_put(w->cfg.trace, 'n', 0, "%u %s %d", i, cd_buf_cstr(&name), w->nodes[i].is_liar ? 1 : 0);
        cd_buf_fini(&name);
    }
}

static void open_world(world *w, const cd_sim_cfg *cfg)
{
    w->cfg = *cfg;
    w->rng = cd_rng_seeded(cfg->seed);
    w->loss_ppm = cfg->loss_ppm;
    w->second_rules_s = cfg->second_rules_us == 0 ? UINT64_MAX : CD_SIM_GENESIS_S + cfg->second_rules_us / SECOND_US;
    w->ask_size = (u32)((sizeof(ask) + cfg->params.k * sizeof(u16) + 7) & ~(usize)7);
    w->whole_since_us = UINT64_MAX;
    w->calm_since_us = UINT64_MAX;
    w->wheel = cd_sim_wheel_new(cd__world_least_latency_us(cfg->latency));
    cd_hmap_init(&w->born, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(u64));
    open_lanes(w);
    cd_sim_stake_init(&w->stake, cfg->seed, cfg->nodes);
    w->nodes = cd_new_array(sim_node, cfg->nodes);
    for (u32 i = 0; i < cfg->nodes; i++) {
        cd__world_node_init(&w->nodes[i], w, i);
    }
    choose_liars(w);
    trace_nodes(w);
    for (u32 i = 0; i < cfg->nodes; i++) {
        cd__world_node_up(&w->nodes[i]);
    }
    w->chain_cap = 1024;
    w->chain = cd_new_array(agreed, w->chain_cap);
    w->chain[w->chain_cnt++] = (agreed){.id = w->nodes[0].audit.last};
    for (u32 i = 0; i < cfg->act_cnt; i++) {
        cd__world_acts_add(w, &cfg->acts[i]);
    }
    cd__world_plan(w);
}

static void close_world(world *w)
{
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        cd__world_node_fini(&w->nodes[i]);
    }
    cd_free(w->nodes);
    cd_sim_stake_fini(&w->stake);
    cd_sim_wheel_free(w->wheel);
    cd__world_acts_fini(w);
    cd_hmap_fini(&w->born);
    cd_free(w->chain);
    cd_pool_free(w->pool);
    for (u32 i = 0; i < w->cfg.threads; i++) {
        cd_buf_fini(&w->lanes[i].frame);
        cd_buf_fini(&w->lanes[i].out);
        cd_arena_fini(&w->lanes[i].arena);
        cd_zstd_free(w->lanes[i].zstd);
    }
    cd_free(w->part.starts);
}

/* --- transactions --- */

static void send_txs(world *w)
{
    if (!w->is_ending && w->now_us + w->cfg.quiet_us >= w->cfg.duration_us) {
        w->is_ending = true;
        w->quiet++;
    }
    while (w->now_us >= w->next_tx_us) {
        if (w->next_tx_us != 0 && w->quiet == 0) {
            w->last_tx++;
            for (u32 i = 0; i < w->cfg.nodes; i++) {
                const cd_sim_mail m = {.at_us = w->now_us + TX_NEAR_US + cd_rng_below(&w->rng, w->cfg.spread_us),
                                       .order = (u64)w->cfg.nodes << 40 | w->tx_seq++,
                                       .arg = w->last_tx,
                                       .to = i,
                                       .from = w->cfg.nodes,
                                       .kind = MAIL_TX};
                (void)cd_sim_wheel_put(w->wheel, &m, NULL);
            }
        }
        w->next_tx_us = w->now_us + 1 + cd_rng_below(&w->rng, 2 * w->cfg.interval_us);
    }
}

/* --- a bucket --- */

static void run_range(world *w, const cd_sim_mail *const *mail, u32 from, u32 to, lane *l)
{
    for (u32 i = from; i < to; i++) {
        sim_node *n = &w->nodes[mail[i]->to];
        n->lane = l;
        cd__world_node_hear(n, mail[i]);
    }
}

static void run_part(void *arg, usize i, u32 slot)
{
    world *w = arg;
    run_range(w, w->part.mail, w->part.starts[i], w->part.starts[i + 1], &w->lanes[slot]);
}

/* Divides the mail into parts of whole nodes, one part for each thread. */
static u32 cut(world *w, const cd_sim_mail *const *mail, u32 cnt)
{
    u32 want = w->cfg.threads * 4;
    u32 parts = 0;
    if (w->part.starts == NULL) {
        w->part.starts = cd_new_array(u32, want + 2);
    }
    for (u32 i = 0, at = 0; i < want && at < cnt; i++) {
        w->part.starts[parts++] = at;
        at = (u32)cd_max_u64(at + 1, (u64)cnt * (i + 1) / want);
        while (at < cnt && mail[at]->to == mail[at - 1]->to) {
            at++;
        }
    }
    w->part.starts[parts] = cnt;
    return parts;
}

static void collect(world *w, lane *l)
{
    for (usize at = 0; at < l->out.n;) {
        const cd_sim_mail *m = (const cd_sim_mail *)(const void *)(l->out.p + at);
        (void)cd_sim_wheel_put(w->wheel, m, m + 1);
        at += sizeof *m + m->n + (8u - m->n % 8u) % 8u;
    }
    cd_buf_clear(&l->out);
}

static void run_parallel(world *w, const cd_sim_mail *const *mail, u32 cnt)
{
    w->part.mail = mail;
    for (u32 i = 0; i < w->cfg.threads; i++) {
        w->lanes[i].is_alone = false;
    }
    cd_pool_for(w->pool, cut(w, mail, cnt), run_part, w);
    for (u32 i = 0; i < w->cfg.threads; i++) {
        w->lanes[i].is_alone = true;
        collect(w, &w->lanes[i]);
    }
}

/* Takes the effects of nodes on the world, in the order of the nodes' numbers. */
static void settle(world *w, const cd_sim_mail *const *mail, u32 cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        sim_node *n = &w->nodes[mail[i]->to];
        if (i + 1 < cnt && mail[i + 1]->to == n->no) {
            continue;
        }
        n->lane = &w->lanes[0];
        cd__world_judge_news(w, n);
        if (n->is_dying && n->is_up) {
            cd__world_node_down(n);
        }
    }
}

static void bucket(world *w)
{
    u32 cnt;
    const cd_sim_mail *const *mail = cd_sim_wheel_next(w->wheel, &w->now_us, &cnt);
    cd__world_acts_due(w);
    send_txs(w);
    if (cnt >= PARALLEL_MIN && w->pool != NULL) {
        run_parallel(w, mail, cnt);
    } else {
        run_range(w, mail, 0, cnt, &w->lanes[0]);
    }
    settle(w, mail, cnt);
    cd_sim_wheel_done(w->wheel);
    if (w->now_us >= w->next_judge_us) {
        w->next_judge_us = w->now_us + JUDGE_US;
        cd__world_judge_time(w);
    }
}

cd_err cd_sim_run(cd_sim_result *out, const cd_sim_cfg *cfg, cd_errinfo *why)
{
    cd_sim_cfg full = *cfg;
    cd_sim_default(&full);
    CD_TRY(check(&full, why));
    world *w = cd_new(world);
    open_world(w, &full);
    while (w->now_us < full.duration_us && !(full.stops && w->result.violations != 0)) {
        bucket(w);
    }
    cd__world_judge_end(w);
    *out = w->result;
    close_world(w);
    cd_free(w);
    return CD_OK;
}
