#include "chains/platform/fees/complexity.h"
#include "chains/platform/txs/exec_priv.h"

#include "base/table/hmap.h"

#include <string.h>

/* Money that must stay together: of an asset, and locked until then for these owners. Zero behind the asset: free. */
typedef struct group {
    cd_hash32 asset_id;
    u64 locktime;
    cd_hash32 owner; /* SHA-256 of the owners' encoding */
} group;

typedef struct sums {
    u64 consumed;
    u64 produced;
} sums;

static group group_of(const cd_hash32 *asset_id, u64 locktime, const cd_owners *owners)
{
    group g;
    memset(&g, 0, sizeof g);
    g.asset_id = *asset_id;
    if (locktime != 0) {
        cd_buf b = {0};
        cd_linear_put(&b, &cd_owners_type, owners);
        g.locktime = locktime;
        cd_fx_hash(&g.owner, cd_buf_bytes(&b));
        cd_buf_fini(&b);
    }
    return g;
}

static cd_err add_to(u64 *sum, u64 more, cd_errinfo *why)
{
    return cd_add_u64(sum, *sum, more) ? CD_OK : cd_fail(why, CD_EINVAL, "overflow");
}

/* --- what comes in --- */

static cd_err input_add(cd_p_exec *x, const cd__flow *f, cd_hmap *all, const cd_p_input *in, const cd_credential *cred,
                        const cd_utxo *utxo, cd_errinfo *why)
{
    const cd_fx_at at = {.hash = &f->tx->hash, .now = f->now};
    const cd_linear_any *out = &utxo->out;
    const cd_linear_any *inner = &in->in;
    u64 locktime = 0;
    if (!cd_hash32_eq(&utxo->asset_id, &in->asset_id)) {
        return cd_fail(why, CD_EINVAL, "input asset ID does not match UTXO asset ID: %s != %s",
                       cd_text_id(&in->asset_id).s, cd_text_id(&utxo->asset_id).s);
    }
    if (out->is->id == CD_P_LOCK_OUT) {
        locktime = ((const cd_locked *)out->v)->locktime;
        out = &((const cd_locked *)out->v)->inner;
    }
    if (inner->is->id == CD_P_LOCK_IN) {
        const cd_locked *lock = inner->v;
        if (lock->locktime != locktime) {
            return cd_fail(why, CD_EINVAL, "input locktime does not match UTXO locktime: %llu != %llu",
                           (unsigned long long)lock->locktime, (unsigned long long)locktime);
        }
        inner = &lock->inner;
    } else if (f->now < locktime) {
        return cd_fail(why, CD_EINVAL, "locked funds not marked as locked");
    }
    cd_err e = cd_fx_spend(x->fx, &at, inner->v, cred, out->v, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to verify transfer");
    }
    const cd_transfer_output *o = out->v;
    group g = group_of(&utxo->asset_id, f->now < locktime ? locktime : 0, &o->owners);
    return add_to(&((sums *)cd_hmap_put(all, NULL, &g))->consumed, o->amount, why);
}

static cd_err base_utxo(cd_p_exec *x, const cd__flow *f, cd_utxo *out, const cd_p_input *in, cd_errinfo *why)
{
    cd_hash32 id;
    cd_utxo_id(&id, &in->tx_id, in->output_idx);
    cd_err e = cd_utxo_get(out, x->state->kv, f->a, &cd_p_utxo_table, &id);
    if (e == CD_ENOENT && f->imported != NULL) {
        return cd_fail(why, CD_EINVAL, "failed to get UTXO %s:%u: not found", cd_text_id(&in->tx_id).s, in->output_idx);
    }
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EINVAL, "failed to read consumed UTXO %s:%u due to: not found", cd_text_id(&in->tx_id).s,
                       in->output_idx);
    }
    return e;
}

static cd_err inputs_add(cd_p_exec *x, const cd__flow *f, cd_hmap *all, cd_errinfo *why)
{
    const cd_p_base *base = cd_ptx_base(&f->tx->tx);
    const cd_p_import *import = f->imported != NULL ? f->tx->tx.body.v : NULL;
    CD_ASSERT(base != NULL); /* who spends nothing does not come here */
    const cd_linear_list *ins = &base->ins;
    u32 more = import != NULL ? import->imported.cnt : 0;
    const cd_linear_any *creds = f->tx->tx.creds.v;
    u64 cnt = (u64)ins->cnt + more;
    cd_utxo *utxos = cd_arena_array(f->a, cd_utxo, ins->cnt);
    for (u32 i = 0; i < ins->cnt; i++) {
        CD_TRY(base_utxo(x, f, &utxos[i], (const cd_p_input *)ins->v + i, why));
    }
    if (cnt != f->cred_cnt) {
        return cd_fail(why, CD_EINVAL, "wrong number of credentials: %llu inputs != %u credentials",
                       (unsigned long long)cnt, f->cred_cnt);
    }
    for (u32 i = 0; i < ins->cnt; i++) {
        CD_TRY(input_add(x, f, all, (const cd_p_input *)ins->v + i, creds[i].v, &utxos[i], why));
    }
    for (u32 i = 0; i < more; i++) {
        CD_TRY(input_add(x, f, all, (const cd_p_input *)import->imported.v + i, creds[ins->cnt + i].v, &f->imported[i],
                         why));
    }
    return CD_OK;
}

/* --- what goes out --- */

static const cd_transfer_output *inner_of(const cd_linear_any *out, u64 *locktime)
{
    *locktime = 0;
    if (out->is->id == CD_P_LOCK_OUT) {
        *locktime = ((const cd_locked *)out->v)->locktime;
        return ((const cd_locked *)out->v)->inner.v;
    }
    return out->v;
}

static cd_err outputs_add(cd_hmap *all, const cd_linear_list *outs, cd_errinfo *why)
{
    for (u32 i = 0; i < outs->cnt; i++) {
        const cd_p_output *out = (const cd_p_output *)outs->v + i;
        u64 locktime;
        const cd_transfer_output *o = inner_of(&out->out, &locktime);
        group g = group_of(&out->asset_id, locktime, &o->owners);
        CD_TRY(add_to(&((sums *)cd_hmap_put(all, NULL, &g))->produced, o->amount, why));
    }
    return CD_OK;
}

/* Locked outputs are covered by what was locked alike, and what is missing there by free money. */
static cd_err locked_covered(cd_hmap *all, const cd_linear_list *outs, cd_errinfo *why)
{
    for (u32 i = 0; i < outs->cnt; i++) {
        const cd_p_output *out = (const cd_p_output *)outs->v + i;
        u64 locktime;
        const cd_transfer_output *o = inner_of(&out->out, &locktime);
        if (locktime == 0) {
            continue;
        }
        group g = group_of(&out->asset_id, locktime, &o->owners);
        group free = group_of(&out->asset_id, 0, NULL);
        (void)cd_hmap_put(all, NULL, &free);
        sums *locked = cd_hmap_put(all, NULL, &g);
        sums *unlocked = cd_hmap_get(all, &free); /* now that nothing moves */
        if (locked->produced <= locked->consumed) {
            continue;
        }
        u64 missing = locked->produced - locked->consumed;
        if (missing > unlocked->consumed) {
            return cd_fail(why, CD_EINVAL, "insufficient locked funds: %s needs %llu more %s for locktime %llu",
                           cd_text_id(&g.owner).s, (unsigned long long)(missing - unlocked->consumed),
                           cd_text_id(&g.asset_id).s, (unsigned long long)locktime);
        }
        unlocked->consumed -= missing;
        locked->produced = locked->consumed;
    }
    return CD_OK;
}

static cd_err free_covered(const cd_hmap *all, const cd_hash32 *asset_id, cd_errinfo *why)
{
    group g = group_of(asset_id, 0, NULL);
    const sums *s = cd_hmap_get(all, &g);
    if (s == NULL || s->produced <= s->consumed) {
        return CD_OK;
    }
    return cd_fail(why, CD_EINVAL, "insufficient unlocked funds: needs %llu more %s",
                   (unsigned long long)(s->produced - s->consumed), cd_text_id(asset_id).s);
}

static cd_err all_covered(const cd_hmap *all, const cd_linear_list *outs, cd_errinfo *why)
{
    for (u32 i = 0; i < outs->cnt; i++) {
        CD_TRY(free_covered(all, &((const cd_p_output *)outs->v)[i].asset_id, why));
    }
    return CD_OK;
}

static cd_err balance(cd_p_exec *x, const cd__flow *f, cd_hmap *all, u64 burned, cd_errinfo *why)
{
    static const cd_linear_list none;
    const cd_p_base *base = cd_ptx_base(&f->tx->tx);
    CD_ASSERT(base != NULL);
    const cd_linear_list *outs = &base->outs;
    const cd_linear_list *more = f->outs != NULL ? f->outs : &none;
    group native = group_of(&x->rules->asset_id, 0, NULL);
    CD_TRY(inputs_add(x, f, all, why));
    CD_TRY(add_to(&((sums *)cd_hmap_put(all, NULL, &native))->produced, burned, why));
    CD_TRY(outputs_add(all, outs, why));
    CD_TRY(outputs_add(all, more, why));
    CD_TRY(locked_covered(all, outs, why));
    CD_TRY(locked_covered(all, more, why));
    CD_TRY(free_covered(all, &x->rules->asset_id, why));
    CD_TRY(all_covered(all, outs, why));
    return all_covered(all, more, why);
}

cd_err cd__flow_check(cd_p_exec *x, const cd__flow *f, cd_errinfo *why)
{
    cd_gas_dims dims;
    u64 burned;
    cd_hmap all;
    CD_TRY(cd_gas_complexity(&dims, &f->tx->tx, x->rules->legacy_stakers, why));
    if (cd_gas_fee(&burned, &dims, &x->rules->gas.weights, x->price) != CD_OK ||
        !cd_add_u64(&burned, burned, f->burned)) {
        return cd_fail(why, CD_EINVAL, "adding fee: overflow");
    }
    cd_hmap_init(&all, CD_HASH_KEYED, sizeof(group), sizeof(sums));
    cd_err e = balance(x, f, &all, burned, why);
    cd_hmap_fini(&all);
    return e;
}

/* --- writing --- */

void cd__utxo_add(cd_kv_batch *b, const cd_hash32 *tx_id, u32 idx, const cd_hash32 *asset_id, const cd_linear_any *out)
{
    const cd_utxo u = {.tx_id = *tx_id, .output_idx = idx, .asset_id = *asset_id, .out = *out};
    cd_utxo_put(b, &cd_p_utxo_table, &u);
}

/* Lists the transaction for all owners of an output. */
static void list(const cd_p_exec *x, cd_kv_batch *b, const cd__flow *f, const cd_linear_any *out)
{
    const cd_owners *owners = cd_utxo_owners(out);
    for (u32 i = 0; owners != NULL && i < owners->addrs.cnt; i++) {
        cd_pstate_list_tx(x->state, b, (const cd_addr20 *)owners->addrs.v + i, &f->tx->id);
    }
}

static void list_all(const cd_p_exec *x, cd_kv_batch *b, const cd__flow *f, const cd_linear_list *outs)
{
    for (u32 i = 0; outs != NULL && i < outs->cnt; i++) {
        list(x, b, f, &((const cd_p_output *)outs->v)[i].out);
    }
}

cd_err cd__flow_write(cd_p_exec *x, const cd__flow *f, const cd_transfer_output *refund)
{
    const cd_p_base *base = cd_ptx_base(&f->tx->tx);
    CD_ASSERT(base != NULL);
    cd_kv_batch b = {0};
    cd_err e = CD_OK;
    for (u32 i = 0; i < base->ins.cnt && e == CD_OK; i++) {
        const cd_p_input *in = (const cd_p_input *)base->ins.v + i;
        cd_utxo u;
        cd_hash32 id;
        cd_utxo_id(&id, &in->tx_id, in->output_idx);
        e = cd_utxo_get(&u, x->state->kv, f->a, &cd_p_utxo_table, &id);
        if (e == CD_OK) {
            cd_utxo_del(&b, &u);
            list(x, &b, f, &u.out);
        }
    }
    list_all(x, &b, f, &base->outs);
    list_all(x, &b, f, f->outs);
    for (u32 i = 0; i < base->outs.cnt; i++) {
        const cd_p_output *out = (const cd_p_output *)base->outs.v + i;
        cd__utxo_add(&b, &f->tx->id, i, &out->asset_id, &out->out);
    }
    if (refund != NULL) {
        cd_transfer_output own = *refund;
        const cd_linear_any out = cd_p_part(CD_P_TRANSFER_OUTPUT, &own);
        cd__utxo_add(&b, &f->tx->id, base->outs.cnt, &x->rules->asset_id, &out);
    }
    e = e != CD_OK ? e : cd_kv_commit(x->state->kv, &b, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&b);
    return e != CD_OK ? e : cd_pstate_tx_put(x->state, &f->tx->id, f->tx->bytes, CD_P_STATUS_COMMITTED);
}
