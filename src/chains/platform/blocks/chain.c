#include "chains/platform/blocks/chain.h"

#include "base/mem/mem.h"
#include "chains/platform/blocks/chain_priv.h"

/* --- opening --- */

/* The genesis block names its genesis as its parent. */
static cd_err check_genesis(cd_kv *kv, const cd_pgenesis *g, cd_errinfo *why)
{
    const cd_pstate s = {.kv = kv};
    cd_hash32 id;
    CD_TRY(cd_pstate_block_id_get(&s, &id, 0));
    return cd_hash32_eq(&id, &g->block_id) ? CD_OK : cd_fail(why, CD_EFOREIGN, "the chain began with another genesis");
}

/* Writes the genesis in one piece. */
static cd_err begin(cd_kv *kv, const cd_pgenesis *g, const cd_p_rules *rules, cd_errinfo *why)
{
    cd_layer *layer;
    cd_overlay *ov = cd_overlay_new(kv);
    cd_err e = cd_overlay_begin(ov, &layer, NULL);
    if (e == CD_OK) {
        const cd_pstate s = {.kv = cd_layer_kv(layer)};
        e = cd_pgenesis_apply(g, &s, &rules->reward, why);
        cd_layer_seal(layer);
        e = e != CD_OK ? e : cd_layer_flatten(layer, NULL, CD_KV_SYNC, why);
    }
    cd_overlay_free(ov);
    return e;
}

static cd_err open_state(cd_hash32 *last, u64 *height, u64 *genesis_time, const cd_pchain_cfg *cfg, cd_errinfo *why)
{
    const cd_pstate s = {.kv = cfg->kv};
    cd_arena a = {0};
    cd_pgenesis g;
    cd_err e = cd_pgenesis_read(&g, &a, cfg->genesis, why);
    if (e == CD_OK) {
        e = cd_pstate_last_get(&s, last);
        e = e == CD_ENOENT ? begin(cfg->kv, &g, cfg->rules, why) : e == CD_OK ? check_genesis(cfg->kv, &g, why) : e;
    }
    e = e != CD_OK ? e : cd_pstate_last_get(&s, last);
    e = e != CD_OK ? e : cd_pstate_num_get(&s, height, CD_PSTATE_LAST_HEIGHT);
    if (e == CD_OK) {
        *genesis_time = g.state.time;
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_pchain_open(cd_pchain **out, const cd_pchain_cfg *cfg, cd_errinfo *why)
{
    cd_hash32 last;
    u64 height;
    u64 genesis_time;
    CD_TRY(open_state(&last, &height, &genesis_time, cfg, why));
    cd_pchain *c = cd_new(cd_pchain);
    c->cfg = *cfg;
    c->genesis_time = genesis_time;
    c->overlay = cd_overlay_new(cfg->kv);
    c->fx = cd_fx_new(0);
    c->sets = cd_sets_new(cfg->kv, cfg->clock);
    c->uptime = cd_uptime_new(cfg->kv, cfg->clock);
    cd_sets_count_uptime(c->sets, c->uptime);
    c->pool = cd_p_pool_new(cfg->clock);
    cd_blocks_init(&c->blocks, &cd__pchain_ops, c, &last, height);
    cd_sets_accepted(c->sets, height);
    *out = c;
    return CD_OK;
}

void cd_pchain_close(cd_pchain *c)
{
    if (c == NULL) {
        return;
    }
    if (c->is_bootstrapped) {
        (void)!cd_uptime_stop(c->uptime);
    }
    cd_blocks_fini(&c->blocks);
    cd_overlay_free(c->overlay);
    cd_p_pool_free(c->pool);
    cd_uptime_free(c->uptime);
    cd_sets_free(c->sets);
    cd_fx_free(c->fx);
    cd_free(c);
}

cd_err cd_pchain_bootstrapped(cd_pchain *c, bool is_bootstrapped)
{
    if (is_bootstrapped && !c->is_bootstrapped) {
        CD_TRY(cd_uptime_start(c->uptime));
    }
    if (!is_bootstrapped && c->is_bootstrapped) {
        CD_TRY(cd_uptime_stop(c->uptime));
    }
    c->is_bootstrapped = is_bootstrapped;
    return CD_OK;
}

/* --- parts --- */

cd_blocks *cd_pchain_blocks(cd_pchain *c)
{
    return &c->blocks;
}

cd_sets *cd_pchain_sets(cd_pchain *c)
{
    return c->sets;
}

cd_uptime *cd_pchain_uptime(cd_pchain *c)
{
    return c->uptime;
}

cd_p_pool *cd_pchain_pool(cd_pchain *c)
{
    return c->pool;
}

const cd_p_rules *cd_pchain_rules(const cd_pchain *c)
{
    return c->cfg.rules;
}

u64 cd__pchain_wall(const cd_pchain *c)
{
    return cd_clock_wall_s(c->cfg.clock);
}

/* --- states --- */

cd_pstate cd__pchain_state(cd_pchain *c, pblk *p, u64 height)
{
    return (cd_pstate){.kv = p == NULL ? c->cfg.kv : cd_layer_kv(p->layer), .height = height};
}

cd_pstate cd_pchain_accepted(cd_pchain *c)
{
    return cd__pchain_state(c, NULL, c->blocks.last_height);
}

pblk *cd__pchain_tip(cd_pchain *c)
{
    cd_vm_block *b = cd_blocks_preferred(&c->blocks);
    /* Its sibling was accepted, and the engine has not said yet that it is rejected: what it stood on is gone. */
    return b == NULL || pblk_of(b)->layer == NULL ? NULL : pblk_of(b);
}

cd_pstate cd_pchain_preferred(cd_pchain *c)
{
    pblk *tip = cd__pchain_tip(c);
    return cd__pchain_state(c, tip, tip == NULL ? c->blocks.last_height : tip->b.height);
}

cd_err cd__pchain_layer(cd_pchain *c, cd_layer **out, pblk *parent)
{
    return cd_overlay_begin(c->overlay, out, parent == NULL ? NULL : parent->layer);
}

void cd__pchain_onlayer(cd_pchain *c, pblk *p, cd_layer *layer)
{
    p->layer = layer;
    p->next = c->layered;
    if (c->layered != NULL) {
        c->layered->prev = p;
    }
    c->layered = p;
    for (usize i = 0; i < p->tx_cnt; i++) {
        cd_p_pool_hold(c->pool, &p->txs[i].id);
    }
}

void cd__pchain_unlayer(cd_pchain *c, pblk *p)
{
    if (p->layer == NULL) {
        return;
    }
    for (usize i = 0; i < p->tx_cnt; i++) {
        cd_p_pool_unhold(c->pool, &p->txs[i].id);
    }
    if (p->prev != NULL) {
        p->prev->next = p->next;
    } else {
        c->layered = p->next;
    }
    if (p->next != NULL) {
        p->next->prev = p->prev;
    }
    p->prev = NULL;
    p->next = NULL;
    p->layer = NULL;
}

cd_err cd__pchain_on_proposal(cd_pchain *c, bool *out, pblk *parent)
{
    cd_vm_block *last;
    if (parent != NULL) {
        *out = pblk_is_proposal(parent);
        return CD_OK;
    }
    CD_TRY(cd_blocks_get(&c->blocks, &last, &c->blocks.last));
    *out = pblk_is_proposal(pblk_of(last));
    cd_blocks_release(&c->blocks, last);
    return CD_OK;
}

/* --- rules in common --- */

cd_err cd__pchain_exec(cd_pchain *c, cd_p_exec *out, const cd_pstate *s, cd_p_moves *moves, cd_arena *a)
{
    *out = (cd_p_exec){.rules = c->cfg.rules,
                       .state = s,
                       .fx = c->fx,
                       .shared = c->cfg.shared,
                       .is_bootstrapped = c->is_bootstrapped,
                       .moves = moves,
                       .arena = a};
    return cd_p_price(&out->price, s, c->cfg.rules);
}

cd_err cd__pchain_free_of(const cd_p_moves *m, pblk *ancestor, cd_errinfo *why)
{
    for (pblk *p = ancestor; p != NULL && m->taken_cnt != 0; p = (pblk *)(void *)p->b.own.above) {
        for (usize i = 0; i < p->moves.taken_cnt; i++) {
            for (usize k = 0; k < m->taken_cnt; k++) {
                if (cd_hash32_eq(&p->moves.taken[i], &m->taken[k])) {
                    return cd_fail(why, CD_EINVAL,
                                   "block contains a transaction that conflicts with a transaction in a parent block");
                }
            }
        }
    }
    return CD_OK;
}

cd_err cd__pchain_warp(cd_pchain *c, const cd_p_tx *tx, u64 height, cd_errinfo *why)
{
    const cd_vm_validators *v = c->cfg.validators != NULL ? c->cfg.validators : cd_sets_validators(c->sets);
    if (!c->is_bootstrapped) {
        return CD_OK;
    }
    return cd_p_warp_check(tx, v, c->cfg.rules->network_id, height != 0 ? height : c->blocks.last_height, why);
}
