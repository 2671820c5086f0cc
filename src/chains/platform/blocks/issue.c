#include "chains/platform/blocks/chain_priv.h"
#include "chains/platform/fees/complexity.h"
#include "chains/utxo/store.h"

/* --- may it wait? --- */

static cd_err gas_ok(const cd_pstate *s, const cd_p_rules *rules, const cd_p_tx *tx, cd_errinfo *why)
{
    cd_gas_dims dims;
    u64 gas = 0;
    u64 capacity;
    cd_err e = cd_gas_complexity(&dims, tx, rules->legacy_stakers, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to calculate tx complexity");
    }
    e = cd_p_gas_of(&gas, &dims, &rules->gas.weights);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to calculate tx gas");
    }
    CD_TRY(cd_pstate_num_get(s, &capacity, CD_PSTATE_FEE_CAPACITY));
    if (gas > capacity) {
        return cd_fail(why, CD_ELIMIT, "tx exceeds current gas capacity: %llu > %llu", (unsigned long long)gas,
                       (unsigned long long)capacity);
    }
    return CD_OK;
}

/* As if it were alone in a block that is built now. */
static cd_err verify_in(cd_pchain *c, cd_layer *layer, const cd_ptx *tx, cd_errinfo *why)
{
    pblk *tip = cd__pchain_tip(c);
    const cd_pstate before = cd__pchain_state(c, tip, 0);
    const cd_pstate s = {.kv = cd_layer_kv(layer), .height = c->blocks.last_height + 1};
    cd_arena a = {0};
    cd_p_moves moves = {.cnt = 0};
    cd_p_exec x;
    u64 time;
    bool is_capped;
    bool changed;
    CD_TRY(cd_p_next_time(&time, &is_capped, &before, c->cfg.rules, cd__pchain_wall(c)));
    CD_TRY(cd_p_advance(&changed, &s, c->cfg.rules, time));
    CD_TRY(gas_ok(&s, c->cfg.rules, &tx->tx, why));
    CD_TRY(cd__pchain_exec(c, &x, &s, &moves, &a));
    cd_err e = cd_p_exec_standard(&x, tx, why);
    cd_arena_fini(&a);
    return e == CD_OK ? CD_OK : cd_fail_under(why, e, "failed execution");
}

static cd_err verify_tx(cd_pchain *c, const cd_ptx *tx, cd_errinfo *why)
{
    cd_layer *layer;
    if (!c->is_bootstrapped) {
        return cd_fail(why, CD_EAGAIN, "chain not synced");
    }
    cd_err e = cd__pchain_warp(c, &tx->tx, 0, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed verifying warp messages");
    }
    CD_TRY(cd__pchain_layer(c, &layer, cd__pchain_tip(c)));
    e = verify_in(c, layer, tx, why);
    cd_layer_drop(layer);
    return e;
}

/* Who owns the first thing that is consumed: zero when that is not known. */
static cd_addr20 source_of(cd_pchain *c, const cd_ptx *tx)
{
    cd_addr20 out = {{0}};
    cd_arena a = {0};
    cd_hash32 *ids;
    cd_utxo u;
    usize cnt;
    cd_ptx_inputs(&ids, &cnt, &a, &tx->tx);
    const cd_pstate s = cd_pchain_preferred(c);
    if (cnt != 0 && cd_utxo_get(&u, s.kv, &a, &cd_p_utxo_table, &ids[0]) == CD_OK) {
        const cd_owners *owners = cd_utxo_owners(&u.out);
        if (owners != NULL && owners->addrs.cnt != 0) {
            out = *(const cd_addr20 *)owners->addrs.v;
        }
    }
    cd_arena_fini(&a);
    return out;
}

static cd_err issue(cd_pchain *c, bool *is_new, const cd_ptx *tx, cd_errinfo *why)
{
    *is_new = false;
    if (cd_p_pool_find(c->pool, &tx->id) != NULL) {
        return CD_OK; /* it waits already: whoever asks again is told the same */
    }
    cd_err e = verify_tx(c, tx, why);
    if (e != CD_OK) {
        if (c->is_bootstrapped) {
            cd_p_pool_drop(c->pool, &tx->id, why->msg);
        }
        return cd_fail_under(why, e, "failed verification");
    }
    const cd_addr20 source = source_of(c, tx);
    e = cd_p_pool_add(c->pool, tx, &source, why);
    if (e != CD_OK && e != CD_EFULL) {
        cd_p_pool_drop(c->pool, &tx->id, why->msg);
    }
    *is_new = e == CD_OK;
    return e;
}

cd_err cd_pchain_issue(cd_pchain *c, cd_hash32 *id, bool *is_new, cd_bytes bytes, cd_errinfo *why)
{
    cd_errinfo own = {0};
    cd_arena a = {0};
    cd_ptx tx;
    *is_new = false;
    why = why != NULL ? why : &own;
    cd_err e = cd_ptx_parse(&tx, &a, bytes, 0, why);
    if (e != CD_OK) {
        (void)cd_fail_under(why, e, "couldn't parse tx");
    } else {
        *id = tx.id;
        e = issue(c, is_new, &tx, why);
    }
    cd_arena_fini(&a);
    return e;
}

static cd_err hear(cd_pchain *c, const cd_ptx *tx, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_bytes reason;
    cd_p_status status = cd_p_pool_pending(c->pool, &reason, &a, &tx->id);
    cd_arena_fini(&a);
    if (status != CD_P_STATUS_UNKNOWN) {
        return status == CD_P_STATUS_PROCESSING ? CD_EEXIST : CD_EBUSY;
    }
    CD_TRY(verify_tx(c, tx, why));
    const cd_addr20 source = source_of(c, tx);
    return cd_p_pool_add(c->pool, tx, &source, why);
}

cd_err cd_pchain_hear(cd_pchain *c, cd_hash32 *id, cd_bytes bytes, cd_errinfo *why)
{
    cd_errinfo own = {0};
    cd_arena a = {0};
    cd_ptx tx;
    why = why != NULL ? why : &own;
    cd_err e = cd_ptx_parse(&tx, &a, bytes, 0, why);
    if (e == CD_OK) {
        *id = tx.id;
        e = hear(c, &tx, why);
    }
    cd_arena_fini(&a);
    return e;
}
