#include "consensus/proposer/proposer_priv.h"

#include "crypto/hash/sha2.h"

/* How long to wait when it is not known whose turn it is, or when the VM cannot build. */
#define RETRY_NS CD_NS_PER_SEC

static const outer_block *preferred(const proposer *p)
{
    cd_vm_block *b = cd_blocks_preferred(&p->blocks);
    return b == NULL ? p->last : outer_of(b);
}

/* The block to build on, and when. */
typedef struct plan {
    const outer_block *parent;
    i64 parent_time;
    u64 parent_pchain_height;
    i64 now;
    i64 at; /* the first moment at which this node may propose a child */
} plan;

/* The node's first slot at or after from; it is remembered until it is over. */
static cd_err next_slot(proposer *p, const plan *pl, u64 from, u64 *slot, cd_errinfo *why)
{
    turn *t = &p->turn;
    const cd_window at = {
        .height = pl->parent->pub.height + 1, .pchain_height = pl->parent_pchain_height, .slot = from};
    if (!t->is_known || t->slot < from || !cd_hash32_eq(&t->parent, &pl->parent->pub.id)) {
        cd_err e = cd_windower_next(p->windower, slot, &at, &p->ctx.node_id, why);
        if (e != CD_OK) {
            return e;
        }
        t->slot = *slot;
        t->parent = pl->parent->pub.id;
        t->is_known = true;
    }
    *slot = t->slot;
    return CD_OK;
}

/* The first outer block may come at once; every other one waits for the node's slot and the least delay. */
static cd_err plan_make(proposer *p, plan *out, cd_errinfo *why)
{
    plan pl = {.parent = preferred(p), .now = cd__proposer_now(p), .at = INT64_MIN};
    u64 slot = 0;
    CD_TRY(cd__outer_stamp(p, pl.parent, &pl.parent_time, &pl.parent_pchain_height));
    if (pl.parent->kind != OUTER_BARE) {
        u64 from = cd_max_u64(cd__proposer_slot(pl.parent_time, pl.now), p->cfg.delay_s / CD_WINDOW_S);
        cd_err e = next_slot(p, &pl, from, &slot, why);
        if (e != CD_OK && e != CD_ENOENT) {
            return e;
        }
        slot = e == CD_OK ? slot : 0;
        pl.at = pl.parent_time + (i64)cd_max_u64(slot * CD_WINDOW_S, p->cfg.delay_s);
    }
    *out = pl;
    return CD_OK;
}

static cd_err own_pchain_height(const proposer *p, u64 *out, u64 parents)
{
    const cd_vm_validators *v = p->ctx.validators;
    u64 height = 0;
    if (v != NULL) {
        CD_TRY(p->cfg.uses_current_height ? v->current(v, &height) : v->minimum(v, &height));
    }
    *out = cd_max_u64(height, parents);
    return CD_OK;
}

/* Whether the block is to be signed; it is not when anybody may propose. */
static cd_err is_signed_at(proposer *p, const plan *pl, i64 time, bool *out, cd_errinfo *why)
{
    cd_node_id expected;
    const cd_window at = {
        .height = pl->parent->pub.height + 1,
        .pchain_height = pl->parent_pchain_height,
        .slot = cd__proposer_slot(pl->parent_time, time),
    };
    *out = false;
    if (pl->parent->kind == OUTER_BARE) {
        return CD_OK;
    }
    cd_err e = cd_windower_expected(p->windower, &expected, &at, why);
    if (e == CD_ENOENT) {
        return CD_OK;
    }
    if (e == CD_OK && memcmp(expected.b, p->ctx.node_id.b, sizeof expected.b) != 0) {
        return cd_fail(why, CD_ENOENT, "it is not this node's turn to propose a block");
    }
    *out = e == CD_OK;
    return e;
}

/* Makes the bytes around a block of the VM, and the object of the outer block, which takes over a use of inner. */
static cd_err wrap(proposer *p, outer_block **out, cd_outer *o, bool is_signed, cd_vm_block *inner, cd_errinfo *why)
{
    u8 header[CD_OUTER_HEADER_LEN];
    cd_buf bytes = {0};
    cd_buf signature = {0};
    cd_err e = CD_OK;
    o->inner = inner->bytes;
    o->cert = is_signed ? p->cfg.staking->cert : (cd_bytes){0};
    cd_outer_put(&bytes, o);
    cd_sha256(&o->id, cd_buf_bytes(&bytes));
    if (is_signed) {
        cd_outer_header(header, &p->ctx.chain_id, &o->parent, &o->id);
        e = p->cfg.staking->sign(p->cfg.staking, &signature, cd_bytes_of(header, sizeof header), why);
    }
    if (e == CD_OK) {
        if (!o->is_option) {
            cd_outer_put_signature(&bytes, cd_buf_bytes(&signature));
        }
        *out = cd__outer_make(cd_buf_bytes(&bytes), o, inner);
        (*out)->proposer = is_signed ? p->ctx.node_id : (cd_node_id){0};
    }
    cd_buf_fini(&signature);
    cd_buf_fini(&bytes);
    return e;
}

static cd_err build_child(proposer *p, cd_vm_block **out, const plan *pl, cd_errinfo *why)
{
    cd_outer o = {.parent = pl->parent->pub.id, .time = pl->now < pl->parent_time ? pl->parent_time : pl->now};
    bool is_signed;
    outer_block *made = NULL;
    cd_vm_block *inner;
    CD_TRY(is_signed_at(p, pl, o.time, &is_signed, why));
    CD_TRY(own_pchain_height(p, &o.pchain_height, pl->parent_pchain_height));
    const cd_vm_block_ctx ctx = {.pchain_height = pl->parent->kind == OUTER_BARE ? 0 : o.pchain_height};
    cd_err e = p->inner->ops->build(p->inner, &inner, &ctx, why);
    if (e != CD_OK) {
        p->turn.is_wanted = e != CD_ENOENT;
        return e;
    }
    e = wrap(p, &made, &o, is_signed, inner, why);
    if (e != CD_OK) {
        p->inner->ops->release(p->inner, inner);
        return e;
    }
    cd_blocks_add(&p->blocks, out, &made->pub, false);
    return CD_OK;
}

cd_err cd__proposer_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    proposer *p = (proposer *)(void *)vm;
    plan pl;
    (void)ctx;
    p->turn.is_told = false;
    cd_err e = plan_make(p, &pl, why);
    if (e == CD_OK && pl.now < pl.at) {
        return cd_fail(why, CD_ENOENT, "it is not this node's turn to propose a block");
    }
    e = e != CD_OK ? e : build_child(p, out, &pl, why);
    if (e != CD_OK && e != CD_ENOENT) {
        p->turn.not_before_ns = cd_clock_mono_ns(p->ctx.clock) + RETRY_NS;
    }
    return e;
}

cd_err cd__proposer_options(cd_vm *vm, cd_vm_block *out[2], cd_vm_block *block, cd_errinfo *why)
{
    proposer *p = (proposer *)(void *)vm;
    const outer_block *o = outer_of(block);
    const cd_vm_ops *ops = p->inner->ops;
    cd_vm_block *inner[2];
    if (o->kind != OUTER_CHILD || ops->options == NULL) {
        return CD_ENOENT;
    }
    CD_TRY(ops->options(p->inner, inner, o->inner, why));
    for (u32 i = 0; i < 2; i++) {
        cd_outer parts = {.is_option = true, .parent = block->id};
        outer_block *made = NULL;
        cd_err e = wrap(p, &made, &parts, false, inner[i], why);
        CD_ASSERT(e == CD_OK); /* only signing can fail, and nothing is signed here */
        cd_blocks_add(&p->blocks, &out[i], &made->pub, false);
    }
    return CD_OK;
}

/* --- when --- */

void cd__proposer_want(proposer *p)
{
    p->turn.is_wanted = true;
    p->turn.is_told = false;
    p->turn.not_before_ns = 0;
    (void)cd__proposer_due(p);
}

void cd__proposer_moved(proposer *p)
{
    p->turn.is_told = false;
}

u64 cd__proposer_due(proposer *p)
{
    turn *t = &p->turn;
    plan pl;
    u64 now = cd_clock_mono_ns(p->ctx.clock);
    if (!t->is_wanted || t->is_told || p->state != CD_VM_NORMAL) {
        return UINT64_MAX;
    }
    if (now < t->not_before_ns) {
        return t->not_before_ns;
    }
    if (plan_make(p, &pl, NULL) != CD_OK) {
        t->not_before_ns = now + RETRY_NS;
        return t->not_before_ns;
    }
    if (pl.now < pl.at) {
        return now + ((u64)pl.at * CD_NS_PER_SEC - cd_clock_wall_ns(p->ctx.clock));
    }
    t->is_told = true;
    p->ctx.host->notify(p->ctx.host, CD_VM_WANTS_BLOCK);
    return UINT64_MAX;
}
