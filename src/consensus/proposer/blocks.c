#include "consensus/proposer/proposer_priv.h"

#include "base/mem/mem.h"

/* --- objects --- */

static outer_block *object_new(cd_bytes bytes, cd_vm_block *inner)
{
    outer_block *o = cd_alloc(sizeof *o + bytes.n);
    memcpy(o->bytes, bytes.p, bytes.n);
    o->pub.bytes = cd_bytes_of(o->bytes, bytes.n);
    o->pub.height = inner->height;
    o->pub.span = inner->span;
    o->pub.time = inner->time;
    o->inner = inner;
    return o;
}

outer_block *cd__outer_bare(cd_vm_block *inner)
{
    outer_block *o = object_new(inner->bytes, inner);
    o->kind = OUTER_BARE;
    o->pub.id = inner->id;
    o->pub.parent = inner->parent;
    o->time = (i64)inner->time;
    return o;
}

outer_block *cd__outer_make(cd_bytes bytes, const cd_outer *parts, cd_vm_block *inner)
{
    outer_block *o = object_new(bytes, inner);
    o->kind = parts->is_option ? OUTER_OPTION : OUTER_CHILD;
    o->pub.id = parts->id;
    o->pub.parent = parts->parent;
    if (!parts->is_option) {
        o->pub.time = (u64)parts->time;
        o->time = parts->time;
        o->pchain_height = parts->pchain_height;
        o->has_proposer = parts->cert.n != 0;
    }
    return o;
}

static void outer_free(void *owner, cd_vm_block *b)
{
    const proposer *p = proposer_of(owner);
    p->inner->ops->release(p->inner, outer_of(b)->inner);
    cd_free(b);
}

/* --- reading --- */

/* Finds whose block it is, and checks that node's signature. */
static cd_err check_signature(const proposer *p, cd_node_id *proposer_id, const cd_outer *o, cd_errinfo *why)
{
    u8 header[CD_OUTER_HEADER_LEN];
    const cd_staking *s = p->cfg.staking;
    if (o->cert.n == 0) {
        return CD_OK;
    }
    if (s == NULL) {
        return cd_fail(why, CD_EUNSUPPORTED, "signature provided when none was expected");
    }
    cd_errinfo cert = {0};
    cd_err e = s->node_of(s, proposer_id, o->cert, &cert);
    if (e != CD_OK) {
        return cd_fail(why, e, "invalid certificate: %s", cert.msg[0] != '\0' ? (const char *)cert.msg : cd_err_str(e));
    }
    cd_outer_header(header, &p->ctx.chain_id, &o->parent, &o->id);
    return s->check(s, o->cert, cd_bytes_of(header, sizeof header), o->signature, why);
}

static cd_err decode_outer(proposer *p, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    cd_outer parts;
    cd_node_id proposer_id = {0};
    cd_vm_block *inner;
    CD_TRY(cd_outer_parse(&parts, bytes, why));
    CD_TRY(check_signature(p, &proposer_id, &parts, why));
    CD_TRY(p->inner->ops->parse(p->inner, &inner, parts.inner, why));
    outer_block *o = cd__outer_make(bytes, &parts, inner);
    o->proposer = proposer_id;
    *out = &o->pub;
    return CD_OK;
}

/* Bytes that are no outer block may be one of the VM's; when they are neither, the error is that of the outer block. */
static cd_err outer_decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    proposer *p = proposer_of(owner);
    cd_vm_block *inner;
    cd_err e = decode_outer(p, out, bytes, why);
    if (e != CD_OK && p->inner->ops->parse(p->inner, &inner, bytes, NULL) == CD_OK) {
        *out = &cd__outer_bare(inner)->pub;
        e = CD_OK;
    }
    return e;
}

static cd_err outer_id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    cd_outer parts;
    if (cd_outer_parse(&parts, bytes, NULL) == CD_OK) {
        *out = parts.id;
        return CD_OK;
    }
    cd_vm_block *b;
    CD_TRY(outer_decode(owner, &b, bytes, why));
    *out = b->id;
    outer_free(owner, b);
    return CD_OK;
}

static cd_err outer_load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    proposer *p = proposer_of(owner);
    outer_block *o;
    cd_vm_block *inner;
    cd_err e = cd__index_get(p, &o, id);
    if (e == CD_OK) {
        *out = &o->pub;
    }
    if (e != CD_ENOENT) {
        return e;
    }
    CD_TRY(p->inner->ops->get(p->inner, &inner, id));
    if (inner->status != CD_VM_ACCEPTED || inner->height >= p->fork_height) {
        p->inner->ops->release(p->inner, inner);
        return CD_ENOENT;
    }
    *out = &cd__outer_bare(inner)->pub;
    return CD_OK;
}

static cd_err outer_id_at(void *owner, cd_hash32 *id, u64 height)
{
    return cd__index_at(proposer_of(owner), id, height);
}

cd_err cd__outer_stamp(proposer *p, const outer_block *o, i64 *time, u64 *pchain_height)
{
    cd_vm_block *parent = NULL;
    if (o->kind == OUTER_OPTION) {
        CD_TRY(cd_blocks_get(&p->blocks, &parent, &o->pub.parent));
    }
    const outer_block *from = parent == NULL ? o : outer_of(parent);
    *time = from->time;
    *pchain_height = from->pchain_height;
    if (parent != NULL) {
        cd_blocks_release(&p->blocks, parent);
    }
    return CD_OK;
}

bool cd__outer_is_oracle(proposer *p, cd_vm_block *inner)
{
    cd_vm_block *options[2];
    const cd_vm_ops *ops = p->inner->ops;
    if (ops->options == NULL || ops->options(p->inner, options, inner, NULL) != CD_OK) {
        return false;
    }
    ops->release(p->inner, options[0]);
    ops->release(p->inner, options[1]);
    return true;
}

/* --- verifying and deciding --- */

static outer_block *parent_of(proposer *p, cd_vm_block *parent)
{
    return parent == NULL ? p->last : outer_of(parent);
}

/* The VM's tree keeps a verified block until it or a sibling is accepted: the wrapper remembers it, to reject it
 * then. */
static cd_err verify_inner(proposer *p, cd_vm_block *inner, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd_vm_block *held = NULL;
    CD_TRY(p->inner->ops->verify(p->inner, inner, ctx, why));
    if (inner->status == CD_VM_VERIFIED && cd_hmap_get(&p->undecided, &inner->id) == NULL) {
        cd_err e = p->inner->ops->get(p->inner, &held, &inner->id);
        CD_ASSERT(e == CD_OK && held == inner);
        *(cd_vm_block **)cd_hmap_put(&p->undecided, NULL, &inner->id) = held;
    }
    return CD_OK;
}

static cd_err outer_verify(void *owner, cd_vm_block *b, cd_vm_block *above, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    proposer *p = proposer_of(owner);
    outer_block *parent = parent_of(p, above);
    cd_vm_block_ctx inner_ctx = {0};
    (void)ctx;
    if (parent->child_cnt >= CD_PROPOSER_CHILDREN_MAX) {
        return cd_fail(why, CD_ELIMIT, "too many undecided blocks on one parent");
    }
    CD_TRY(cd__proposer_check(p, parent, outer_of(b), &inner_ctx, why));
    CD_TRY(verify_inner(p, outer_of(b)->inner, &inner_ctx, why));
    parent->child_cnt++;
    return CD_OK;
}

static cd_err outer_accept(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    proposer *p = proposer_of(owner);
    outer_block *o = outer_of(b);
    if (o->inner->status != CD_VM_ACCEPTED) {
        CD_TRY(p->inner->ops->accept(p->inner, o->inner, batch, why));
    }
    cd_kv_batch_widen(batch);
    cd_kv_batch_for(&p->batch, p->cfg.kv);
    cd__index_put(&p->batch, p, o);
    cd_kv_batch_append(batch, &p->batch);
    return CD_OK;
}

/* Rejects the VM's undecided blocks that do not descend from its last accepted one through other undecided ones. */
static void reject_others(proposer *p, const cd_hash32 *last)
{
    void *at;
    bool found = true;
    while (found) {
        found = false;
        for (usize it = 0; !found && cd_hmap_next(&p->undecided, &it, NULL, &at);) {
            cd_vm_block *b = *(cd_vm_block **)at;
            found = !cd_hash32_eq(&b->parent, last) && cd_hmap_get(&p->undecided, &b->parent) == NULL;
            if (found) {
                (void)cd_hmap_del(&p->undecided, &b->id);
                cd_err e = p->inner->ops->reject(p->inner, b);
                CD_ASSERT(e == CD_OK);
                p->inner->ops->release(p->inner, b);
            }
        }
    }
}

static cd_err outer_accepted(void *owner, cd_vm_block *b, cd_errinfo *why)
{
    proposer *p = proposer_of(owner);
    outer_block *o = outer_of(b);
    cd_err e = CD_OK;
    if (o->inner->status != CD_VM_ACCEPTED) {
        e = p->inner->ops->accepted(p->inner, o->inner, why);
    }
    cd_vm_block **held = cd_hmap_get(&p->undecided, &o->inner->id);
    if (held != NULL) {
        cd_vm_block *inner = *held;
        (void)cd_hmap_del(&p->undecided, &inner->id);
        p->inner->ops->release(p->inner, inner);
    }
    reject_others(p, &o->inner->id);
    p->fork_height = p->fork_height == NO_FORK ? b->height : p->fork_height;
    cd_blocks_release(&p->blocks, &p->last->pub);
    p->last = outer_of(cd_blocks_hold(b));
    return e;
}

/* The VM's block is not rejected: it may stand in other outer blocks. */
static void outer_reject(void *owner, cd_vm_block *b)
{
    cd_vm_block *parent = cd_blocks_find(&proposer_of(owner)->blocks, &b->parent);
    if (parent != NULL && outer_of(parent)->child_cnt != 0) {
        outer_of(parent)->child_cnt--;
    }
}

const cd_blocks_ops cd__outer_ops = {
    .id_of = outer_id_of,
    .decode = outer_decode,
    .load = outer_load,
    .id_at_height = outer_id_at,
    .free = outer_free,
    .verify = outer_verify,
    .accept = outer_accept,
    .accepted = outer_accepted,
    .reject = outer_reject,
};
