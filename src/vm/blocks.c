#include "vm/blocks.h"

void cd_blocks_init(cd_blocks *bs, const cd_blocks_ops *ops, void *owner, const cd_hash32 *last, u64 height)
{
    *bs = (cd_blocks){.ops = ops, .owner = owner, .last = *last, .last_height = height};
    /* Peers can choose the IDs of blocks by trying hashes; a keyed map keeps them from choosing its order. */
    cd_hmap_init(&bs->by_id, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(cd_vm_block *));
}

void cd_blocks_fini(cd_blocks *bs)
{
    void *at;
    for (usize it = 0; cd_hmap_next(&bs->by_id, &it, NULL, &at);) {
        bs->ops->free(bs->owner, *(cd_vm_block **)at);
    }
    cd_hmap_fini(&bs->by_id);
}

/* --- the map --- */

cd_vm_block *cd_blocks_find(const cd_blocks *bs, const cd_hash32 *id)
{
    cd_vm_block **at = cd_hmap_get(&bs->by_id, id);
    return at == NULL ? NULL : *at;
}

cd_vm_block *cd_blocks_hold(cd_vm_block *b)
{
    CD_ASSERT(b->own.refs < UINT32_MAX);
    b->own.refs++;
    return b;
}

void cd_blocks_release(cd_blocks *bs, cd_vm_block *b)
{
    CD_ASSERT(b->own.refs != 0);
    if (--b->own.refs == 0) {
        (void)cd_hmap_del(&bs->by_id, &b->id);
        bs->ops->free(bs->owner, b);
    }
}

/* The status of a block that was read: accepted if it is one of the accepted chain. */
static cd_vm_status status_of(const cd_blocks *bs, const cd_vm_block *b)
{
    cd_hash32 at;
    if (b->height > bs->last_height) {
        return CD_VM_UNKNOWN;
    }
    bool is_ours = cd_hash32_eq(&b->id, &bs->last) ||
                   (bs->ops->id_at_height(bs->owner, &at, b->height) == CD_OK && cd_hash32_eq(&at, &b->id));
    return is_ours ? CD_VM_ACCEPTED : CD_VM_UNKNOWN;
}

void cd_blocks_restart(cd_blocks *bs, const cd_hash32 *last, u64 height)
{
    void *at;
    CD_ASSERT(bs->verified_cnt == 0);
    bs->preferred = NULL;
    bs->last = *last;
    bs->last_height = height;
    for (usize it = 0; cd_hmap_next(&bs->by_id, &it, NULL, &at);) {
        cd_vm_block *b = *(cd_vm_block **)at;
        b->status = status_of(bs, b);
    }
}

static cd_vm_block *take(cd_blocks *bs, cd_vm_block *b)
{
    cd_vm_block *known = cd_blocks_find(bs, &b->id);
    if (known != NULL) {
        bs->ops->free(bs->owner, b);
        return cd_blocks_hold(known);
    }
    b->span = b->span == 0 ? 1 : b->span;
    b->status = status_of(bs, b);
    *(cd_vm_block **)cd_hmap_put(&bs->by_id, NULL, &b->id) = b;
    return cd_blocks_hold(b);
}

/* Adds a verified block to the tree, which holds it until it is decided. */
static void into_tree(cd_blocks *bs, cd_vm_block *b, cd_vm_block *parent)
{
    b->own.above = parent;
    b->own.is_orphan = false;
    b->own.below = NULL;
    b->own.next = NULL;
    if (parent != NULL) {
        b->own.next = parent->own.below;
        parent->own.below = b;
    }
    b->status = CD_VM_VERIFIED;
    bs->verified_cnt++;
    (void)cd_blocks_hold(b);
}

void cd_blocks_add(cd_blocks *bs, cd_vm_block **out, cd_vm_block *b, bool is_verified)
{
    cd_vm_block *taken = take(bs, b);
    if (is_verified && taken == b) {
        into_tree(bs, b, bs->preferred);
    }
    *out = taken;
}

cd_err cd_blocks_parse(cd_blocks *bs, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    cd_hash32 id;
    cd_vm_block *b = NULL;
    if (bs->ops->id_of != NULL) {
        CD_TRY(bs->ops->id_of(bs->owner, &id, bytes, why));
        b = cd_blocks_find(bs, &id);
        /* An ID need not cover every byte (a signature behind the block): decode judges bytes that differ. */
        if (b != NULL && cd_bytes_eq(b->bytes, bytes)) {
            *out = cd_blocks_hold(b);
            return CD_OK;
        }
    }
    CD_TRY(bs->ops->decode(bs->owner, &b, bytes, why));
    *out = take(bs, b);
    return CD_OK;
}

cd_err cd_blocks_get(cd_blocks *bs, cd_vm_block **out, const cd_hash32 *id)
{
    cd_vm_block *b = cd_blocks_find(bs, id);
    if (b == NULL) {
        CD_TRY(bs->ops->load(bs->owner, &b, id));
        *out = take(bs, b);
        return CD_OK;
    }
    *out = cd_blocks_hold(b);
    return CD_OK;
}

/* --- the tree --- */

static cd_err wrong(cd_errinfo *why, const cd_vm_block *b, const char *verb)
{
    static const char *const names[] = {"not verified", "verified", "accepted", "rejected"};
    return cd_fail(why, CD_EBUSY, "a block that is %s cannot be %s", names[b->status], verb);
}

cd_err cd_blocks_verify(cd_blocks *bs, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd_vm_block *parent = NULL;
    if (b->status == CD_VM_ACCEPTED) {
        return CD_OK;
    }
    if (b->status == CD_VM_REJECTED || b->own.is_orphan) {
        return wrong(why, b, "verified");
    }
    bool is_again = b->status == CD_VM_VERIFIED;
    if (is_again && (!b->needs_context || b->own.pchain_height == ctx->pchain_height)) {
        return CD_OK;
    }
    if (!cd_hash32_eq(&b->parent, &bs->last)) {
        parent = cd_blocks_find(bs, &b->parent);
        if (parent == NULL || parent->status != CD_VM_VERIFIED || parent->own.is_orphan) {
            return cd_fail(why, CD_ENOENT, "the parent is neither verified nor last accepted");
        }
    }
    u64 below = parent == NULL ? bs->last_height : parent->height;
    if (b->height <= below || b->height - below != b->span) {
        return cd_fail(why, CD_EINVAL, "height %llu on a parent of height %llu", (unsigned long long)b->height,
                       (unsigned long long)below);
    }
    CD_TRY(bs->ops->verify(bs->owner, b, parent, ctx, why));
    b->own.pchain_height = ctx->pchain_height;
    if (!is_again) {
        into_tree(bs, b, parent);
    }
    return CD_OK;
}

cd_err cd_blocks_accept(cd_blocks *bs, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    if (b->status != CD_VM_VERIFIED) {
        return wrong(why, b, "accepted");
    }
    if (b->own.is_orphan || !cd_hash32_eq(&b->parent, &bs->last)) {
        return cd_fail(why, CD_EBUSY, "the parent is not the last accepted block");
    }
    return bs->ops->accept(bs->owner, b, batch, why);
}

/* Marks b and its descendants as orphans, whose ancestor was rejected. Goes down the tree without recursion. */
static void make_orphans(cd_blocks *bs, cd_vm_block *b)
{
    cd_vm_block *at = b;
    while (at != NULL) {
        at->own.is_orphan = true;
        if (bs->preferred == at) {
            bs->preferred = NULL;
        }
        if (at->own.below != NULL) {
            at = at->own.below;
            continue;
        }
        while (at != b && at->own.next == NULL) {
            at = at->own.above;
        }
        at = at == b ? NULL : at->own.next;
    }
}

static void out_of_tree(cd_blocks *bs, cd_vm_block *b, cd_vm_status status)
{
    if (b->own.above != NULL) {
        cd_vm_block **at = &b->own.above->own.below;
        while (*at != b) {
            at = &(*at)->own.next;
        }
        *at = b->own.next;
    }
    for (cd_vm_block *k = b->own.below; k != NULL;) {
        cd_vm_block *next = k->own.next;
        k->own.above = NULL;
        k->own.next = NULL;
        k = next;
    }
    b->own.above = NULL;
    b->own.below = NULL;
    b->own.next = NULL;
    b->status = status;
    if (bs->preferred == b) {
        bs->preferred = NULL;
    }
    bs->verified_cnt--;
    cd_blocks_release(bs, b);
}

cd_err cd_blocks_accepted(cd_blocks *bs, cd_vm_block *b, cd_errinfo *why)
{
    CD_ASSERT(b->status == CD_VM_VERIFIED && cd_hash32_eq(&b->parent, &bs->last));
    bs->last = b->id;
    bs->last_height = b->height;
    cd_err e = bs->ops->accepted(bs->owner, b, why);
    out_of_tree(bs, b, CD_VM_ACCEPTED);
    return e;
}

cd_err cd_blocks_reject(cd_blocks *bs, cd_vm_block *b)
{
    if (b->status != CD_VM_VERIFIED) {
        return CD_EBUSY;
    }
    bs->ops->reject(bs->owner, b);
    make_orphans(bs, b);
    out_of_tree(bs, b, CD_VM_REJECTED);
    return CD_OK;
}

cd_err cd_blocks_prefer(cd_blocks *bs, const cd_hash32 *id)
{
    if (cd_hash32_eq(id, &bs->last)) {
        bs->preferred = NULL;
        return CD_OK;
    }
    cd_vm_block *b = cd_blocks_find(bs, id);
    if (b == NULL || b->status != CD_VM_VERIFIED || b->own.is_orphan) {
        return CD_ENOENT;
    }
    bs->preferred = b;
    return CD_OK;
}

cd_vm_block *cd_blocks_preferred(const cd_blocks *bs)
{
    return bs->preferred;
}

/* --- what a VM need not have --- */

cd_err cd_vm_ancestors(cd_vm *vm, cd_buf *out, const cd_hash32 *id, u32 cnt_max, usize bytes_max, const cd_clock *clock,
                       u64 until_ns)
{
    enum { LENGTH = 4 };
    cd_hash32 at = *id;
    usize used = 0;
    for (u32 i = 0; i < cnt_max; i++) {
        cd_vm_block *b;
        cd_err e = vm->ops->get(vm, &b, &at);
        if (e != CD_OK) {
            return i == 0 ? e : CD_OK;
        }
        bool fits = b->bytes.n + LENGTH <= bytes_max - used;
        if (fits) {
            used += b->bytes.n + LENGTH;
            u8 length[LENGTH];
            cd_put_be32(length, (u32)b->bytes.n);
            cd_buf_put(out, cd_bytes_of(length, LENGTH));
            cd_buf_put(out, b->bytes);
        }
        at = b->parent;
        bool is_first = b->height == 0;
        vm->ops->release(vm, b);
        if (!fits || is_first || (clock != NULL && cd_clock_mono_ns(clock) >= until_ns)) {
            break;
        }
    }
    return CD_OK;
}

void cd_vm_parse_many(cd_vm *vm, cd_vm_block **out, const cd_bytes *in, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        out[i] = NULL;
        if (vm->ops->parse(vm, &out[i], in[i], NULL) != CD_OK) {
            out[i] = NULL;
        }
    }
}
