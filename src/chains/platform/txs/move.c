#include "chains/platform/state/nets.h"

#include "chains/platform/txs/exec_priv.h"

/* --- what a block gathers --- */

static cd_vm_shared_change *change_with(cd_p_exec *x, const cd_hash32 *peer)
{
    cd_p_moves *m = x->moves;
    for (usize i = 0; i < m->cnt; i++) {
        if (cd_hash32_eq(&m->changes[i].peer, peer)) {
            return &m->changes[i];
        }
    }
    if (m->cnt == m->cap) {
        usize cap = m->cap == 0 ? 4 : 2 * m->cap;
        cd_vm_shared_change *all = cd_arena_array(x->arena, cd_vm_shared_change, cap);
        if (m->cnt != 0) {
            memcpy(all, m->changes, m->cnt * sizeof *all);
        }
        m->changes = all;
        m->cap = cap;
    }
    m->changes[m->cnt] = (cd_vm_shared_change){.peer = *peer};
    return &m->changes[m->cnt++];
}

static void note_removes(cd_p_exec *x, const cd_hash32 *peer, const cd_hash32 *ids, usize cnt)
{
    cd_vm_shared_change *c = change_with(x, peer);
    cd_bytes *all = cd_arena_array(x->arena, cd_bytes, c->remove_cnt + cnt);
    if (c->remove_cnt != 0) {
        memcpy(all, c->removes, c->remove_cnt * sizeof *all);
    }
    for (usize i = 0; i < cnt; i++) {
        all[c->remove_cnt + i] = cd_arena_dup(x->arena, cd_bytes_of(ids[i].b, sizeof ids[i].b));
    }
    c->removes = all;
    c->remove_cnt += cnt;
}

static void note_puts(cd_p_exec *x, const cd_hash32 *peer, const cd_vm_shared_elem *puts, usize cnt)
{
    cd_vm_shared_change *c = change_with(x, peer);
    cd_vm_shared_elem *all = cd_arena_array(x->arena, cd_vm_shared_elem, c->put_cnt + cnt);
    if (c->put_cnt != 0) {
        memcpy(all, c->puts, c->put_cnt * sizeof *all);
    }
    memcpy(all + c->put_cnt, puts, cnt * sizeof *puts);
    c->puts = all;
    c->put_cnt += cnt;
}

static void note_taken(cd_p_exec *x, const cd_hash32 *ids, usize cnt)
{
    cd_p_moves *m = x->moves;
    if (m->taken_cnt + cnt > m->taken_cap) {
        usize cap = 2 * (m->taken_cnt + cnt);
        cd_hash32 *all = cd_arena_array(x->arena, cd_hash32, cap);
        if (m->taken_cnt != 0) {
            memcpy(all, m->taken, m->taken_cnt * sizeof *all);
        }
        m->taken = all;
        m->taken_cap = cap;
    }
    memcpy(m->taken + m->taken_cnt, ids, cnt * sizeof *ids);
    m->taken_cnt += cnt;
}

/* --- the two transactions --- */

/* Money moves between chains of the primary network. */
static cd_err peer_ok(cd_p_exec *x, const cd_hash32 *peer, cd_errinfo *why)
{
    cd_p_chain c;
    if (cd_hash32_eq(peer, &cd__p_primary)) {
        return cd_fail(why, CD_EINVAL, "same chainID");
    }
    cd_err e = cd_pstate_chain_get(x->state, &c, peer);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EINVAL, "failed to get subnet of \"%s\": not found", cd_text_id(peer).s);
    }
    CD_TRY(e);
    if (!cd_hash32_eq(&c.net_id, &cd__p_primary)) {
        return cd_fail(why, CD_EINVAL, "mismatched netIDs; expected \"%s\" got \"%s\"", cd_text_id(&cd__p_primary).s,
                       cd_text_id(&c.net_id).s);
    }
    return CD_OK;
}

static cd_err read_imported(cd_p_exec *x, cd__flow *f, const cd_p_import *t, const cd_hash32 *ids, cd_errinfo *why)
{
    CD_TRY(peer_ok(x, &t->source_chain, why));
    f->imported = cd_arena_array(f->a, cd_utxo, t->imported.cnt);
    for (u32 i = 0; i < t->imported.cnt; i++) {
        cd_bytes bytes;
        cd_err e = x->shared == NULL ? CD_ENOENT
                                     : x->shared->get(x->shared, &bytes, f->a, &t->source_chain,
                                                      cd_bytes_of(ids[i].b, sizeof ids[i].b));
        if (e == CD_ENOENT) {
            return cd_fail(why, CD_EINVAL, "failed to get shared memory: not found");
        }
        CD_TRY(e);
        e = cd_utxo_parse(&f->imported[i], &cd_p_utxo_table, f->a, bytes, why);
        if (e != CD_OK) {
            return cd_fail_under(why, e, "failed to unmarshal UTXO");
        }
    }
    return CD_OK;
}

static cd_err import(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_import *t = f->tx->tx.body.v;
    cd_hash32 *ids = cd_arena_array(f->a, cd_hash32, t->imported.cnt);
    for (u32 i = 0; i < t->imported.cnt; i++) {
        const cd_p_input *in = (const cd_p_input *)t->imported.v + i;
        cd_utxo_id(&ids[i], &in->tx_id, in->output_idx);
    }
    for (usize i = 0; i < x->moves->taken_cnt; i++) {
        for (u32 k = 0; k < t->imported.cnt; k++) {
            if (cd_hash32_eq(&x->moves->taken[i], &ids[k])) {
                return cd_fail(why, CD_EINVAL, "block contains conflicting transactions");
            }
        }
    }
    if (x->is_bootstrapped) {
        CD_TRY(read_imported(x, f, t, ids, why));
        CD_TRY(cd__flow_check(x, f, why));
    }
    CD_TRY(cd__flow_write(x, f, NULL));
    note_taken(x, ids, t->imported.cnt);
    note_removes(x, &t->source_chain, ids, t->imported.cnt);
    return CD_OK;
}

/* An output for another chain, found by the addresses of its owners. */
static void exported(cd_vm_shared_elem *out, cd_arena *a, const cd_utxo *u)
{
    cd_buf bytes = {0};
    cd_hash32 id;
    const cd_owners *owners = cd_utxo_owners(&u->out);
    const cd_addr20 *addrs = owners->addrs.v;
    cd_bytes *traits = cd_arena_array(a, cd_bytes, owners->addrs.cnt);
    for (u32 i = 0; i < owners->addrs.cnt; i++) {
        traits[i] = cd_arena_dup(a, cd_bytes_of(addrs[i].b, sizeof addrs[i].b));
    }
    cd_utxo_id(&id, &u->tx_id, u->output_idx);
    cd_linear_put(&bytes, &cd_p_utxo_table, u);
    *out = (cd_vm_shared_elem){.key = cd_arena_dup(a, cd_bytes_of(id.b, sizeof id.b)),
                               .value = cd_arena_dup(a, cd_buf_bytes(&bytes)),
                               .traits = traits,
                               .trait_cnt = owners->addrs.cnt};
    cd_buf_fini(&bytes);
}

static cd_err export(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_export *t = f->tx->tx.body.v;
    if (x->is_bootstrapped) {
        CD_TRY(peer_ok(x, &t->destination_chain, why));
    }
    f->outs = &t->exported;
    cd_err e = cd__flow_check(x, f, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed verifySpend");
    }
    CD_TRY(cd__flow_write(x, f, NULL));
    cd_vm_shared_elem *puts = cd_arena_array(f->a, cd_vm_shared_elem, t->exported.cnt);
    for (u32 i = 0; i < t->exported.cnt; i++) {
        const cd_p_output *out = (const cd_p_output *)t->exported.v + i;
        const cd_utxo u = {
            .tx_id = f->tx->id, .output_idx = t->base.outs.cnt + i, .asset_id = out->asset_id, .out = out->out};
        exported(&puts[i], x->arena, &u);
    }
    note_puts(x, &t->destination_chain, puts, t->exported.cnt);
    return CD_OK;
}

cd_err cd__exec_move(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    return f->tx->tx.body.is->id == CD_P_IMPORT ? import(x, f, why) : export(x, f, why);
}
