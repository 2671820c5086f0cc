#include "base/mem/mem.h"
#include "chains/platform/blocks/chain_priv.h"
#include "chains/platform/fees/complexity.h"
#include "crypto/hash/sha2.h"

/* --- from bytes --- */

static void take_txs(pblk *p)
{
    const cd_p_tx *txs = p->body->txs.v;
    cd_bytes message;
    p->tx_cnt = p->body->txs.cnt;
    p->txs = cd_arena_array(&p->arena, cd_ptx, p->tx_cnt);
    for (usize i = 0; i < p->tx_cnt; i++) {
        cd_ptx_make(&p->txs[i], &p->arena, &txs[i]);
        p->b.needs_context = p->b.needs_context || cd_ptx_is_warp(&message, &txs[i]);
    }
    if (pblk_is_proposal(p)) {
        cd_ptx_make(&p->proposed, &p->arena, &p->body->tx);
    }
}

static cd_err read_block(pblk *p, cd_bytes bytes, u64 genesis_time, cd_errinfo *why)
{
    cd_p_block parsed = {.body = {.is = NULL}};
    p->b.bytes = cd_arena_dup(&p->arena, bytes);
    CD_TRY(cd_linear_parse(&parsed, &cd_p_block_table, &p->arena, p->b.bytes, 0, why));
    cd_sha256(&p->b.id, p->b.bytes);
    p->kind = cd_p_block_kind(&parsed);
    p->body = cd_p_block_body_of(&parsed);
    p->b.parent = p->body->parent;
    p->b.height = p->body->height;
    p->b.span = 1;
    bool is_timed = p->kind >= CD_P_BANFF_PROPOSAL;
    p->b.time = is_timed ? p->body->time : genesis_time;
    take_txs(p);
    return CD_OK;
}

static cd_err decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    cd_pchain *c = owner;
    pblk *p = cd_new(pblk);
    cd_err e = read_block(p, bytes, c->genesis_time, why);
    if (e != CD_OK) {
        cd_arena_fini(&p->arena);
        cd_free(p);
        return e;
    }
    *out = &p->b;
    return CD_OK;
}

static cd_err id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    (void)owner;
    (void)why;
    cd_sha256(out, bytes);
    return CD_OK;
}

static cd_err load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    cd_pchain *c = owner;
    const cd_pstate s = cd_pchain_accepted(c);
    cd_arena a = {0};
    cd_bytes bytes;
    cd_err e = cd_pstate_block_get(&s, &bytes, &a, id);
    e = e != CD_OK ? e : decode(c, out, bytes, NULL);
    cd_arena_fini(&a);
    return e;
}

static cd_err id_at_height(void *owner, cd_hash32 *id, u64 height)
{
    const cd_pstate s = cd_pchain_accepted(owner);
    return cd_pstate_block_id_get(&s, id, height);
}

static void free_block(void *owner, cd_vm_block *b)
{
    pblk *p = pblk_of(b);
    cd__pchain_unlayer(owner, p);
    cd_arena_fini(&p->arena);
    cd_free(p);
}

/* --- verifying --- */

/* The gas of all transactions comes first, so that a block that is too large costs little. */
static cd_err use_gas(cd_pchain *c, const cd_pstate *s, pblk *p, cd_errinfo *why)
{
    cd_gas_dims sum = {0};
    cd_p_gas_state gas;
    u64 used = 0;
    for (usize i = 0; i < p->tx_cnt; i++) {
        cd_gas_dims one;
        cd_err e = cd_gas_complexity(&one, &p->txs[i].tx, c->cfg.rules->legacy_stakers, why);
        if (e != CD_OK) {
            cd_p_pool_drop(c->pool, &p->txs[i].id, why != NULL ? why->msg : cd_err_str(e));
            return e;
        }
        CD_TRY(cd_gas_add(&sum, &one));
    }
    CD_TRY(cd_p_gas_of(&used, &sum, &c->cfg.rules->gas.weights));
    CD_TRY(cd_pstate_num_get(s, &gas.capacity, CD_PSTATE_FEE_CAPACITY));
    CD_TRY(cd_pstate_num_get(s, &gas.excess, CD_PSTATE_FEE_EXCESS));
    CD_TRY(cd_gas_consume(&gas, used, why));
    CD_TRY(cd_pstate_num_set(s, CD_PSTATE_FEE_CAPACITY, gas.capacity));
    return cd_pstate_num_set(s, CD_PSTATE_FEE_EXCESS, gas.excess);
}

static void find_signers(cd_pchain *c, pblk *p)
{
    cd_fx_signed *all = cd_arena_array(&p->arena, cd_fx_signed, p->tx_cnt);
    for (usize i = 0; i < p->tx_cnt; i++) {
        all[i] = (cd_fx_signed){.hash = p->txs[i].hash, .creds = &p->txs[i].tx.creds};
    }
    cd_fx_recover(c->fx, all, p->tx_cnt);
}

/* Decisions of a block, and what they bring about. */
static cd_err decide_txs(cd_pchain *c, const cd_pstate *s, pblk *p, pblk *parent, bool *changed, cd_errinfo *why)
{
    cd_p_exec x;
    bool evicted;
    CD_TRY(cd__pchain_exec(c, &x, s, &p->moves, &p->arena)); /* the price is that of before the block */
    CD_TRY(use_gas(c, s, p, why));
    find_signers(c, p);
    for (usize i = 0; i < p->tx_cnt; i++) {
        cd_err e = cd_p_exec_standard(&x, &p->txs[i], why);
        if (e != CD_OK) {
            cd_p_pool_drop(c->pool, &p->txs[i].id, why != NULL ? why->msg : cd_err_str(e));
            return e;
        }
    }
    CD_TRY(cd__pchain_free_of(&p->moves, parent, why));
    CD_TRY(cd_p_evict(&evicted, s, c->cfg.rules));
    *changed = *changed || evicted || p->tx_cnt != 0;
    return CD_OK;
}

/* Is what is proposed possible, on either branch? Leaves nothing behind. */
static cd_err try_proposal(cd_pchain *c, cd_layer *decided, pblk *p, cd_errinfo *why)
{
    cd_layer *on[2] = {NULL, NULL};
    cd_err e = cd_overlay_begin(c->overlay, &on[0], decided);
    e = e != CD_OK ? e : cd_overlay_begin(c->overlay, &on[1], decided);
    if (e == CD_OK) {
        const cd_pstate commit = {.kv = cd_layer_kv(on[0]), .height = p->b.height + 1};
        const cd_pstate abort = {.kv = cd_layer_kv(on[1]), .height = p->b.height + 1};
        e = cd_p_exec_reward(&commit, &abort, &p->proposed, why);
    }
    for (usize i = 0; i < CD_COUNT(on); i++) {
        if (on[i] != NULL) {
            cd_layer_drop(on[i]);
        }
    }
    return e;
}

static cd_err note_block(const cd_pstate *s, const pblk *p)
{
    CD_TRY(cd_pstate_block_put(s, &p->b.id, p->b.height, p->b.bytes));
    return cd_pstate_last_set(s, &p->b.id, p->b.height);
}

/* A standard block or a proposal. */
static cd_err verify_decisions(cd_pchain *c, cd_layer *layer, pblk *p, pblk *parent, cd_errinfo *why)
{
    const cd_pstate s = {.kv = cd_layer_kv(layer), .height = p->b.height};
    bool changed;
    bool on_proposal;
    CD_TRY(cd__pchain_on_proposal(c, &on_proposal, parent));
    if (on_proposal) {
        return cd_fail(why, CD_EINVAL, "missing parent state: %s", cd_text_id(&p->b.parent).s);
    }
    CD_TRY(cd_p_time_ok(&s, c->cfg.rules, p->body->time, cd__pchain_wall(c), why));
    CD_TRY(cd_p_advance(&changed, &s, c->cfg.rules, p->body->time));
    CD_TRY(decide_txs(c, &s, p, parent, &changed, why));
    if (!pblk_is_proposal(p) && !changed) {
        return cd_fail(why, CD_EINVAL, "BanffStandardBlock performs no state changes");
    }
    return note_block(&s, p);
}

/* The other branch of an option is carried out beside it, and dropped. */
static cd_err verify_option(cd_pchain *c, cd_layer *layer, pblk *p, pblk *proposal, cd_layer *parent, cd_errinfo *why)
{
    cd_layer *other;
    if (p->b.time != proposal->b.time) {
        return cd_fail(
            why, CD_EINVAL,
            "option block proposed timestamp not matching parent block one parent block timestamp (%s) option "
            "block timestamp (%s)",
            cd_text_time(proposal->b.time).s, cd_text_time(p->b.time).s);
    }
    CD_TRY(cd_overlay_begin(c->overlay, &other, parent));
    const cd_pstate mine = {.kv = cd_layer_kv(layer), .height = p->b.height};
    const cd_pstate not_mine = {.kv = cd_layer_kv(other), .height = p->b.height};
    bool commits = p->kind == CD_P_BANFF_COMMIT;
    cd_err e = cd_p_exec_reward(commits ? &mine : &not_mine, commits ? &not_mine : &mine, &proposal->proposed, why);
    cd_layer_drop(other);
    return e != CD_OK ? e : note_block(&mine, p);
}

static cd_err verify_option_of(cd_pchain *c, cd_layer *layer, pblk *p, pblk *parent, cd_errinfo *why)
{
    cd_vm_block *last = NULL;
    if (parent == NULL) {
        CD_TRY(cd_blocks_get(&c->blocks, &last, &c->blocks.last));
    }
    pblk *proposal = parent != NULL ? parent : pblk_of(last);
    cd_err e = pblk_is_proposal(proposal)
                   ? verify_option(c, layer, p, proposal, parent == NULL ? NULL : parent->layer, why)
                   : cd_fail(why, CD_EINVAL, "missing parent state: %s", cd_text_id(&p->b.parent).s);
    if (last != NULL) {
        cd_blocks_release(&c->blocks, last);
    }
    return e;
}

static cd_err check_messages(cd_pchain *c, pblk *p, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    for (usize i = 0; i < p->tx_cnt; i++) {
        CD_TRY(cd__pchain_warp(c, &p->txs[i].tx, ctx->pchain_height, why));
    }
    return CD_OK;
}

static cd_err verify_on(cd_pchain *c, cd_layer *layer, pblk *p, pblk *parent, cd_errinfo *why)
{
    u64 time;
    const cd_pstate before = cd__pchain_state(c, parent, 0);
    switch (p->kind) {
    case CD_P_BANFF_STANDARD:
    case CD_P_BANFF_PROPOSAL:
        return verify_decisions(c, layer, p, parent, why);
    case CD_P_BANFF_COMMIT:
    case CD_P_BANFF_ABORT:
        return verify_option_of(c, layer, p, parent, why);
    case CD_P_APRICOT_PROPOSAL:
    case CD_P_APRICOT_ABORT:
    case CD_P_APRICOT_COMMIT:
    case CD_P_APRICOT_STANDARD:
        CD_TRY(cd_pstate_num_get(&before, &time, CD_PSTATE_TIME));
        return cd_fail(why, CD_EINVAL, "apricot block issued after fork: timestamp = %s", cd_text_time(time).s);
    case CD_P_APRICOT_ATOMIC:
        CD_TRY(cd_pstate_num_get(&before, &time, CD_PSTATE_TIME));
        return cd_fail(
            why, CD_EINVAL,
            "the chain timestamp (%llu) is after the apricot phase 5 time, hence atomic transactions should go "
            "through the standard block",
            (unsigned long long)time);
    }
    CD_UNREACHABLE();
}

static cd_err verify(void *owner, cd_vm_block *b, cd_vm_block *above, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd_pchain *c = owner;
    pblk *p = pblk_of(b);
    pblk *parent = above == NULL ? NULL : pblk_of(above);
    cd_errinfo own = {0};
    cd_layer *layer;
    why = why != NULL ? why : &own; /* the words are kept for who asks after its transaction */
    CD_TRY(check_messages(c, p, ctx, why));
    if (p->layer != NULL) {
        return CD_OK; /* again, under another height */
    }
    if (parent != NULL && parent->layer == NULL) {
        return cd_fail(why, CD_ENOENT, "missing parent state: %s", cd_text_id(&b->parent).s);
    }
    CD_TRY(cd__pchain_layer(c, &layer, parent));
    cd_err e = verify_on(c, layer, p, parent, why);
    cd_layer_seal(layer);
    e = e == CD_OK && pblk_is_proposal(p) ? try_proposal(c, layer, p, why) : e;
    if (e != CD_OK) {
        cd_layer_drop(layer);
        p->moves = (cd_p_moves){.cnt = 0};
        return e;
    }
    cd__pchain_onlayer(c, p, layer);
    return CD_OK;
}

/* --- deciding --- */

static bool stands_on(const pblk *p, const pblk *below)
{
    for (const cd_vm_block *b = &p->b; b != NULL; b = b->own.above) {
        if (b == &below->b) {
            return true;
        }
    }
    return false;
}

/* Blocks whose layers go: those on b, or all others. */
static void unlayer(cd_pchain *c, pblk *b, bool those_on_it)
{
    for (pblk *p = c->layered; p != NULL;) {
        pblk *next = p->next;
        if (p != b && stands_on(p, b) == those_on_it) {
            cd__pchain_unlayer(c, p);
        }
        p = next;
    }
    cd__pchain_unlayer(c, b);
}

static cd_err accept(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    cd_pchain *c = owner;
    pblk *p = pblk_of(b);
    cd_layer_export(p->layer, batch);
    if (p->moves.cnt == 0) {
        return CD_OK;
    }
    const cd_vm_shared *shared = c->cfg.shared;
    if (shared == NULL) {
        return cd_fail(why, CD_EUNSUPPORTED, "there is no memory shared with other chains");
    }
    cd_kv_batch_widen(batch);
    return shared->apply(shared, batch, p->moves.changes, p->moves.cnt);
}

static cd_err accepted(void *owner, cd_vm_block *b, cd_errinfo *why)
{
    cd_pchain *c = owner;
    pblk *p = pblk_of(b);
    cd_layer *layer = p->layer;
    (void)why;
    unlayer(c, p, false);
    cd_layer_accept(layer);
    for (usize i = 0; i < p->tx_cnt; i++) {
        cd_p_pool_decided(c->pool, &p->txs[i].tx, &p->txs[i].id);
    }
    cd_sets_accepted(c->sets, b->height);
    return CD_OK;
}

static void reject(void *owner, cd_vm_block *b)
{
    cd_pchain *c = owner;
    pblk *p = pblk_of(b);
    cd_layer *layer = p->layer;
    if (layer != NULL) { /* else it went with what it stood on */
        unlayer(c, p, true);
        cd_layer_drop(layer);
    }
}

const cd_blocks_ops cd__pchain_ops = {
    .id_of = id_of,
    .decode = decode,
    .load = load,
    .id_at_height = id_at_height,
    .free = free_block,
    .verify = verify,
    .accept = accept,
    .accepted = accepted,
    .reject = reject,
};
