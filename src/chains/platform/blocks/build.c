#include "chains/platform/blocks/chain_priv.h"
#include "chains/platform/fees/complexity.h"
#include "chains/platform/state/nets.h"

/* How long a quiet chain sleeps at most. */
enum { SLEEP_MAX_S = 3600 };

/* --- what goes into a block --- */

/* A block as it is put together. */
typedef struct draft {
    cd_pchain *c;
    pblk *parent;
    cd_pstate state; /* of a layer that is dropped in the end */
    cd_arena arena;
    cd_p_exec exec;
    cd_p_moves moves;
    cd_p_tx *txs;
    u32 tx_cnt;
    u32 tx_cap;
    cd_gas_dims sum;
    u64 capacity;
    u64 pchain_height;
} draft;

static void add_tx(draft *d, const cd_p_tx *tx)
{
    if (d->tx_cnt == d->tx_cap) {
        u32 cap = d->tx_cap == 0 ? 16 : 2 * d->tx_cap;
        cd_p_tx *all = cd_arena_array(&d->arena, cd_p_tx, cap);
        for (u32 i = 0; i < d->tx_cnt; i++) {
            all[i] = d->txs[i];
        }
        d->txs = all;
        d->tx_cap = cap;
    }
    d->txs[d->tx_cnt++] = *tx;
}

/* Tries one that waits. *is_full: there is no gas left for it. What can never be in a block is dropped. */
static cd_err try_tx(draft *d, const cd_ptx *tx, bool *is_full)
{
    cd_errinfo why = {0};
    cd_gas_dims sum = d->sum;
    cd_gas_dims one;
    cd_bytes there;
    u64 gas;
    cd_err e = cd_pstate_tx_get(&d->state, &there, NULL, &d->arena, &tx->id);
    if (e == CD_OK) {
        return CD_OK; /* in a block that is not decided */
    }
    CD_TRY(e == CD_ENOENT ? CD_OK : e);
    CD_TRY(cd_gas_complexity(&one, &tx->tx, d->c->cfg.rules->legacy_stakers, &why));
    CD_TRY(cd_gas_add(&sum, &one));
    CD_TRY(cd_p_gas_of(&gas, &sum, &d->c->cfg.rules->gas.weights));
    *is_full = gas > d->capacity;
    if (*is_full) {
        return CD_OK;
    }
    cd_p_moves before = d->moves;
    e = cd__pchain_warp(d->c, &tx->tx, d->pchain_height, &why);
    e = e != CD_OK ? e : cd_p_exec_standard(&d->exec, tx, &why);
    e = e != CD_OK ? e : cd__pchain_free_of(&d->moves, d->parent, &why);
    if (e == CD_EIO || e == CD_ECORRUPT) {
        return e;
    }
    if (e != CD_OK) {
        d->moves = before;
        cd_p_pool_drop(d->c->pool, &tx->id, why.msg);
        return CD_OK;
    }
    d->sum = sum;
    add_tx(d, &tx->tx);
    return CD_OK;
}

static cd_err pack(draft *d)
{
    bool is_full = false;
    CD_TRY(cd__pchain_exec(d->c, &d->exec, &d->state, &d->moves, &d->arena));
    CD_TRY(cd_pstate_num_get(&d->state, &d->capacity, CD_PSTATE_FEE_CAPACITY));
    for (const cd_p_pooled *at = cd_p_pool_first(d->c->pool); at != NULL && !is_full;) {
        const cd_p_pooled *next = at->next; /* at may be dropped */
        CD_TRY(try_tx(d, &at->tx, &is_full));
        at = next;
    }
    return CD_OK;
}

/* Who leaves next by a proposal, and whether now is its time. Errors: CD_ENOENT when there is nobody. */
static cd_err next_to_reward(cd_hash32 *tx_id, bool *is_now, const cd_pstate *s, u64 time)
{
    cd_p_staker_iter it;
    cd_p_staker one;
    bool found = false;
    CD_TRY(cd_pstate_stakers(s, &it, CD_P_CURRENT));
    while (!found && cd_p_staker_next(&it, &one)) {
        found = one.priority != CD_P_CURRENT_PERMISSIONED;
    }
    cd_err e = it.err;
    cd_p_staker_iter_fini(&it);
    if (found) {
        *tx_id = one.tx_id;
        *is_now = one.end == time;
    }
    return found || e != CD_OK ? e : CD_ENOENT;
}

static cd_err finish(draft *d, cd_vm_block **out, cd_p_block_type kind, u64 time, const cd_hash32 *rewarded,
                     cd_errinfo *why)
{
    cd_blocks *bs = &d->c->blocks;
    cd_p_reward_validator reward;
    cd_p_block_body body = {.time = time, .txs = {.v = d->txs, .cnt = d->tx_cnt}};
    cd_buf bytes = {0};
    body.parent = d->parent == NULL ? bs->last : d->parent->b.id;
    body.height = (d->parent == NULL ? bs->last_height : d->parent->b.height) + 1;
    if (kind == CD_P_BANFF_PROPOSAL) {
        reward.tx_id = *rewarded;
        body.tx = (cd_p_tx){.body = cd_p_body(CD_P_REWARD_VALIDATOR, &reward)};
    }
    cd_p_block b = cd_p_block_of(kind, &body);
    cd_linear_put(&bytes, &cd_p_block_table, &b);
    cd_err e = cd_blocks_parse(bs, out, cd_buf_bytes(&bytes), why);
    cd_buf_fini(&bytes);
    return e;
}

static cd_err build_on(draft *d, cd_vm_block **out, cd_layer *layer, cd_errinfo *why)
{
    u64 time;
    bool is_capped;
    bool changed;
    bool is_now = false;
    cd_hash32 rewarded;
    const cd_pstate before = cd__pchain_state(d->c, d->parent, 0);
    d->state = (cd_pstate){.kv = cd_layer_kv(layer),
                           .height = (d->parent == NULL ? d->c->blocks.last_height : d->parent->b.height) + 1};
    CD_TRY(cd_p_next_time(&time, &is_capped, &before, d->c->cfg.rules, cd__pchain_wall(d->c)));
    CD_TRY(cd_p_advance(&changed, &d->state, d->c->cfg.rules, time));
    CD_TRY(pack(d));
    cd_err e = next_to_reward(&rewarded, &is_now, &before, time);
    CD_TRY(e == CD_ENOENT ? CD_OK : e);
    if (is_now) {
        return finish(d, out, CD_P_BANFF_PROPOSAL, time, &rewarded, why);
    }
    if (d->tx_cnt == 0 && !is_capped) {
        return cd_fail(why, CD_ENOENT, "no pending blocks");
    }
    return finish(d, out, CD_P_BANFF_STANDARD, time, NULL, why);
}

cd_err cd_pchain_build(cd_pchain *c, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    draft d = {.c = c, .parent = cd__pchain_tip(c), .pchain_height = ctx->pchain_height};
    cd_layer *layer;
    bool on_proposal;
    CD_TRY(cd__pchain_on_proposal(c, &on_proposal, d.parent));
    if (on_proposal) {
        return cd_fail(why, CD_ENOENT, "a proposal waits for one of its options");
    }
    CD_TRY(cd__pchain_layer(c, &layer, d.parent));
    cd_err e = build_on(&d, out, layer, why);
    cd_layer_drop(layer);
    cd_arena_fini(&d.arena);
    return e;
}

cd_err cd_pchain_is_due(cd_pchain *c, bool *is_due, u64 *at_s, u64 now_s)
{
    const cd_pstate s = cd_pchain_preferred(c);
    u64 change;
    CD_TRY(cd_p_next_change(&change, &s, c->cfg.rules, now_s + SLEEP_MAX_S));
    *is_due = change <= now_s || cd_p_pool_cnt(c->pool) != 0;
    *at_s = change;
    return CD_OK;
}

/* --- options --- */

/* Was the validator that is to be rewarded, or that its delegator chose, reachable long enough? What is not known is
 * decided in its favour. [spec:consensus#8] */
static bool prefers_commit(cd_pchain *c, const cd_ptx *proposal)
{
    static const cd_hash32 primary;
    const cd_pstate s = cd_pchain_accepted(c);
    const cd_p_reward_validator *t = proposal->tx.body.v;
    cd_arena a = {0};
    cd_bytes bytes;
    cd_ptx tx;
    cd_ptx_staker what;
    cd_p_staker validator;
    u64 need = c->cfg.rules->uptime_requirement;
    u64 up = 1;
    u64 span = 1;
    cd_err e = cd_pstate_tx_get(&s, &bytes, NULL, &a, &t->tx_id);
    e = e != CD_OK ? e : cd_ptx_parse(&tx, &a, bytes, bytes.n, NULL);
    e = e != CD_OK ? e : cd_ptx_staker_of(&what, &tx.tx) ? CD_OK : CD_EINVAL;
    e = e != CD_OK ? e : cd_pstate_validator_get(&s, &validator, CD_P_CURRENT, &primary, &what.who.node_id);
    e = e != CD_OK ? e : cd_uptime_get(c->uptime, &up, &span, &validator);
    cd_arena_fini(&a);
    return e != CD_OK || span == 0 || (unsigned __int128)up * CD_REWARD_PARTS >= (unsigned __int128)span * need;
}

static cd_err option(cd_pchain *c, cd_vm_block **out, const pblk *proposal, cd_p_block_type kind, cd_errinfo *why)
{
    cd_buf bytes = {0};
    cd_p_block_body body = {.time = proposal->b.time, .parent = proposal->b.id, .height = proposal->b.height + 1};
    cd_p_block b = cd_p_block_of(kind, &body);
    cd_linear_put(&bytes, &cd_p_block_table, &b);
    cd_err e = cd_blocks_parse(&c->blocks, out, cd_buf_bytes(&bytes), why);
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd_pchain_options(cd_pchain *c, cd_vm_block *out[2], cd_vm_block *b, cd_errinfo *why)
{
    pblk *p = pblk_of(b);
    if (!pblk_is_proposal(p)) {
        return cd_fail(why, CD_ENOENT, "block isn't an oracle");
    }
    bool commits = prefers_commit(c, &p->proposed);
    CD_TRY(option(c, &out[0], p, commits ? CD_P_BANFF_COMMIT : CD_P_BANFF_ABORT, why));
    cd_err e = option(c, &out[1], p, commits ? CD_P_BANFF_ABORT : CD_P_BANFF_COMMIT, why);
    if (e != CD_OK) {
        cd_blocks_release(&c->blocks, out[0]);
    }
    return e;
}
