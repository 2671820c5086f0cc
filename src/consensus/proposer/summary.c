/* State summaries: the VM's own, with the outer block at their height around them. Those from before the first outer
 * block are handed on as they are. */
#include "consensus/proposer/proposer_priv.h"

static const cd_vm_sync_ops *inner_sync(const proposer *p)
{
    return p->inner->ops->sync;
}

static bool summary_is_enabled(cd_vm *vm)
{
    const proposer *p = (proposer *)(void *)vm;
    return inner_sync(p)->is_enabled(p->inner);
}

static cd_err around(proposer *p, cd_vm_summary *out, cd_arena *a, const cd_vm_summary *inner)
{
    cd_hash32 id;
    cd_vm_block *b;
    cd_outer_summary parts;
    cd_buf bytes = {0};
    if (inner->height < p->fork_height) {
        *out = *inner;
        return CD_OK;
    }
    CD_TRY(cd__index_at(p, &id, inner->height));
    CD_TRY(cd_blocks_get(&p->blocks, &b, &id));
    cd_outer_summary_put(&bytes, p->fork_height, b->bytes, inner->bytes);
    cd_blocks_release(&p->blocks, b);
    *out = (cd_vm_summary){.height = inner->height, .bytes = cd_arena_dup(a, cd_buf_bytes(&bytes))};
    cd_buf_fini(&bytes);
    cd_err e = cd_outer_summary_parse(&parts, out->bytes, NULL);
    CD_ASSERT(e == CD_OK);
    out->id = parts.id;
    return CD_OK;
}

static cd_err summary_ongoing(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    proposer *p = (proposer *)(void *)vm;
    cd_vm_summary inner;
    cd_outer_summary parts;
    cd_buf kept = {0};
    CD_TRY(inner_sync(p)->ongoing(p->inner, &inner, a));
    cd_err e = cd__index_summary(p, &kept);
    if (e == CD_OK) {
        e = cd_outer_summary_parse(&parts, cd_buf_bytes(&kept), NULL);
    }
    if (e == CD_OK && cd_bytes_eq(parts.inner, inner.bytes)) {
        *out = (cd_vm_summary){.id = parts.id, .height = inner.height, .bytes = cd_arena_dup(a, cd_buf_bytes(&kept))};
    } else if (e == CD_OK || e == CD_ENOENT) {
        e = around(p, out, a, &inner);
    }
    cd_buf_fini(&kept);
    return e;
}

static cd_err summary_last(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    proposer *p = (proposer *)(void *)vm;
    cd_vm_summary inner;
    CD_TRY(inner_sync(p)->last(p->inner, &inner, a));
    return around(p, out, a, &inner);
}

static cd_err summary_at(cd_vm *vm, cd_vm_summary *out, cd_arena *a, u64 height)
{
    proposer *p = (proposer *)(void *)vm;
    cd_vm_summary inner;
    CD_TRY(inner_sync(p)->at(p->inner, &inner, a, height));
    return around(p, out, a, &inner);
}

static cd_err summary_parse(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    proposer *p = (proposer *)(void *)vm;
    cd_outer_summary parts;
    cd_vm_summary inner;
    cd_vm_block *b;
    if (cd_outer_summary_parse(&parts, bytes, NULL) != CD_OK) {
        return inner_sync(p)->parse(p->inner, out, a, bytes, why);
    }
    CD_TRY(inner_sync(p)->parse(p->inner, &inner, a, parts.inner, why));
    CD_TRY(cd_blocks_parse(&p->blocks, &b, parts.block, why));
    bool is_of_it = outer_of(b)->kind != OUTER_BARE && b->height == inner.height && parts.fork_height <= inner.height;
    cd_blocks_release(&p->blocks, b);
    if (!is_of_it) {
        return cd_fail(why, CD_EFORMAT, "the block of the summary is not that of its height");
    }
    *out = (cd_vm_summary){.id = parts.id, .height = inner.height, .bytes = cd_arena_dup(a, bytes)};
    return CD_OK;
}

/* Puts the outer block into the index now. That it is the last accepted one follows from the VM when the sync has
 * ended. */
static cd_err put_block(proposer *p, const cd_outer_summary *parts, cd_bytes summary, cd_errinfo *why)
{
    cd_vm_block *b;
    CD_TRY(cd_blocks_parse(&p->blocks, &b, parts->block, why));
    cd_kv_batch_for(&p->batch, p->cfg.kv);
    bool is_first = p->fork_height == NO_FORK;
    u64 fork = p->fork_height;
    p->fork_height = is_first ? parts->fork_height : fork;
    if (is_first) {
        cd__index_fork(&p->batch, parts->fork_height);
    }
    cd__index_put(&p->batch, p, outer_of(b));
    cd__index_put_summary(&p->batch, summary);
    cd_err e = cd_kv_commit(p->cfg.kv, &p->batch, CD_KV_SYNC, why);
    p->fork_height = e == CD_OK ? p->fork_height : fork;
    cd_blocks_release(&p->blocks, b);
    return e;
}

static cd_err summary_accept(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why)
{
    proposer *p = (proposer *)(void *)vm;
    cd_outer_summary parts;
    cd_vm_summary inner;
    cd_arena a = {0};
    if (cd_outer_summary_parse(&parts, s->bytes, NULL) != CD_OK) {
        return inner_sync(p)->accept(p->inner, mode, s, why);
    }
    if (s->height <= p->blocks.last_height) {
        *mode = CD_VM_SYNC_SKIPPED;
        return CD_OK;
    }
    cd_err e = inner_sync(p)->parse(p->inner, &inner, &a, parts.inner, why);
    e = e != CD_OK ? e : put_block(p, &parts, s->bytes, why);
    e = e != CD_OK ? e : inner_sync(p)->accept(p->inner, mode, &inner, why);
    cd_arena_fini(&a);
    return e;
}

static void summary_progress(cd_vm *vm, cd_vm_sync_progress *out)
{
    const proposer *p = (proposer *)(void *)vm;
    if (inner_sync(p)->progress != NULL) {
        inner_sync(p)->progress(p->inner, out);
    }
}

const cd_vm_sync_ops cd__summary_ops = {
    .is_enabled = summary_is_enabled,
    .ongoing = summary_ongoing,
    .last = summary_last,
    .at = summary_at,
    .parse = summary_parse,
    .accept = summary_accept,
    .progress = summary_progress,
};
