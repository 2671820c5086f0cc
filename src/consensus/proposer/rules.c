#include "consensus/proposer/proposer_priv.h"

i64 cd__proposer_now(const proposer *p)
{
    return (i64)cd_clock_wall_s(p->ctx.clock);
}

u64 cd__proposer_slot(i64 parent_time, i64 time)
{
    return time <= parent_time ? 0 : ((u64)time - (u64)parent_time) / CD_WINDOW_S;
}

static cd_err wrong_kind(cd_errinfo *why)
{
    return cd_fail(why, CD_EINVAL, "unexpected proposer block type");
}

/* Only in normal operation: before it, our P-Chain may not have reached the height that the block refers to. */
static cd_err check_pchain_height(const proposer *p, u64 height, cd_errinfo *why)
{
    u64 current = 0;
    if (p->ctx.validators != NULL) {
        CD_TRY(p->ctx.validators->current(p->ctx.validators, &current));
    }
    if (height > current) {
        return cd_fail(why, CD_EINVAL, "block P-chain height larger than current P-chain height: %llu > %llu",
                       (unsigned long long)height, (unsigned long long)current);
    }
    return CD_OK;
}

static cd_err check_inner_parent(const outer_block *parent, const outer_block *child, cd_errinfo *why)
{
    return cd_hash32_eq(&child->inner->parent, &parent->inner->id)
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "inner parentID didn't match expected parent");
}

static cd_err check_time(const proposer *p, i64 parent_time, i64 time, cd_errinfo *why)
{
    if (time < parent_time) {
        return cd_fail(why, CD_EINVAL, "time must monotonically increase");
    }
    return time <= cd__proposer_now(p) + CD_PROPOSER_SKEW_S ? CD_OK
                                                            : cd_fail(why, CD_EINVAL, "time is too far advanced");
}

/* The place of a child in the schedule. */
static cd_window window_of(const outer_block *child, i64 parent_time, u64 parent_pchain_height)
{
    return (cd_window){
        .height = child->pub.height,
        .pchain_height = parent_pchain_height,
        .slot = cd__proposer_slot(parent_time, child->time),
    };
}

static cd_err check_proposer(proposer *p, const outer_block *child, const cd_window *at, cd_errinfo *why)
{
    cd_node_id expected;
    cd_errinfo windows = {0};
    cd_err e = cd_windower_expected(p->windower, &expected, at, &windows);
    bool should_have = e == CD_OK;
    if (e != CD_OK && e != CD_ENOENT) {
        return cd_fail(why, e, "%s", windows.msg);
    }
    if (should_have && child->has_proposer && memcmp(expected.b, child->proposer.b, sizeof expected.b) != 0) {
        cd_buf name = {0};
        cd_node_id_put(&name, &expected);
        e = cd_fail(why, CD_EINVAL, "unexpected proposer for current window: slot %llu expects %s",
                    (unsigned long long)at->slot, cd_buf_cstr(&name));
        cd_buf_fini(&name);
        return e;
    }
    if (should_have != child->has_proposer) {
        return cd_fail(why, CD_EINVAL, "proposer mismatch: shouldHaveProposer (%s) != hasProposer (%s)",
                       should_have ? "true" : "false", child->has_proposer ? "true" : "false");
    }
    return CD_OK;
}

/* The rules for a child of a bare block: the first outer block, which has no proposer. */
static cd_err check_first(proposer *p, const outer_block *parent, const outer_block *child, cd_errinfo *why)
{
    if (child->kind != OUTER_CHILD || cd__outer_is_oracle(p, parent->inner)) {
        return wrong_kind(why);
    }
    if (p->state == CD_VM_NORMAL) {
        CD_TRY(check_pchain_height(p, child->pchain_height, why));
    }
    CD_TRY(check_inner_parent(parent, child, why));
    CD_TRY(check_time(p, parent->time, child->time, why));
    return child->has_proposer ? cd_fail(why, CD_EINVAL, "child of pre-fork block has proposer") : CD_OK;
}

static cd_err check_option(proposer *p, const outer_block *parent, const outer_block *child, cd_errinfo *why)
{
    if (parent->kind != OUTER_CHILD) {
        return wrong_kind(why);
    }
    if (!cd__outer_is_oracle(p, parent->inner)) {
        return cd_fail(why, CD_EINVAL, "block isn't an oracle");
    }
    return check_inner_parent(parent, child, why);
}

static cd_err check_child(proposer *p, const outer_block *parent, const outer_block *child, cd_errinfo *why)
{
    i64 time;
    u64 pchain_height;
    bool is_normal = p->state == CD_VM_NORMAL;
    if (cd__outer_is_oracle(p, parent->inner)) {
        return wrong_kind(why);
    }
    CD_TRY(cd__outer_stamp(p, parent, &time, &pchain_height));
    if (child->pchain_height < pchain_height) {
        return cd_fail(why, CD_EINVAL, "non monotonically increasing P-chain height");
    }
    if (is_normal) {
        CD_TRY(check_pchain_height(p, child->pchain_height, why));
    }
    CD_TRY(check_inner_parent(parent, child, why));
    CD_TRY(check_time(p, time, child->time, why));
    const cd_window at = window_of(child, time, pchain_height);
    return is_normal ? check_proposer(p, child, &at, why) : CD_OK;
}

cd_err cd__proposer_check(proposer *p, const outer_block *parent, const outer_block *child, cd_vm_block_ctx *inner_ctx,
                          cd_errinfo *why)
{
    i64 time;
    if (child->kind == OUTER_BARE) {
        return parent->kind == OUTER_BARE ? wrong_kind(why) : cd_fail(why, CD_EINVAL, "expected child to be signed");
    }
    if (parent->kind == OUTER_BARE) {
        *inner_ctx = (cd_vm_block_ctx){0};
        return check_first(p, parent, child, why);
    }
    if (child->kind == OUTER_OPTION) {
        CD_TRY(check_option(p, parent, child, why));
        return cd__outer_stamp(p, parent, &time, &inner_ctx->pchain_height);
    }
    inner_ctx->pchain_height = child->pchain_height;
    return check_child(p, parent, child, why);
}
