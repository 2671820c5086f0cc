#include "chains/evmchain/blocks.h"

#include "base/mem/mem.h"
#include "codec/rlp.h"
#include "crypto/hash/keccak.h"

/* The engine's object; the chain's own lives as long as it. */
typedef struct evm_block {
    cd_vm_block pub; /* first */
    cd_chain_block *own;
} evm_block;

static cd_chain_block *own_of(const cd_vm_block *b)
{
    return b == NULL ? NULL : ((const evm_block *)(const void *)b)->own;
}

static cd_vm_block *wrap(const cd_evm_blocks *x, cd_chain_block *b)
{
    const cd_block *head = cd_chain_head(x->chain);
    evm_block *v = cd_new(evm_block);
    v->own = b;
    v->pub = (cd_vm_block){
        .id = b->block.hash,
        .parent = b->run == NULL ? b->block.header.parent_hash : head->hash,
        .height = b->block.header.number,
        .time = b->block.header.time,
        .bytes = b->rlp,
        .span = b->run == NULL ? 1 : b->block.header.number - head->header.number,
        .needs_context = cd_chain_needs_context(x->chain, b),
    };
    return &v->pub;
}

/* The hash of the header, which is the first item of the list. */
static cd_err on_id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    (void)owner;
    cd_rlp whole = cd_rlp_init(bytes);
    cd_rlp list = cd_rlp_list(&whole);
    cd_rlp_item header = cd_rlp_next(&list);
    if (whole.err != CD_OK || list.err != CD_OK || !header.is_list) {
        return cd_fail(why, CD_EFORMAT, "not a block: no list with a header");
    }
    cd_keccak256(out, header.raw);
    return CD_OK;
}

static cd_err on_decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    const cd_evm_blocks *x = owner;
    cd_chain_block *b;
    cd_vm_block *known = NULL;
    cd_dev_record dev = {0};
    if (x->lead != NULL) {
        /* What a development network chose for a block is no part of its bytes. */
        cd_hash32 id;
        CD_TRY(on_id_of(owner, &id, bytes, why));
        if (cd_blocks_get(&x->lead->blocks, &known, &id) == CD_OK) {
            dev = own_of(known)->dev;
        }
    }
    cd_err e = cd_chain_parse_as(x->chain, &b, bytes, &dev, why);
    if (known != NULL) {
        cd_blocks_release(&x->lead->blocks, known);
    }
    CD_TRY(e);
    *out = wrap(x, b);
    return CD_OK;
}

static cd_err on_load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    const cd_evm_blocks *x = owner;
    cd_chain_block *b;
    CD_TRY(cd_chain_stored(x->chain, &b, id));
    *out = wrap(x, b);
    return CD_OK;
}

static cd_err on_id_at_height(void *owner, cd_hash32 *id, u64 height)
{
    cd_arena a = {0};
    cd_block b;
    cd_err e = cd_chain_block_at(((cd_evm_blocks *)owner)->chain, &b, NULL, &a, height);
    if (e == CD_OK) {
        *id = b.hash;
    }
    cd_arena_fini(&a);
    return e;
}

static void on_free(void *owner, cd_vm_block *b)
{
    cd_chain_drop(((cd_evm_blocks *)owner)->chain, own_of(b));
    cd_free(b);
}

static cd_err on_verify(void *owner, cd_vm_block *b, cd_vm_block *parent, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    const cd_evm_blocks *x = owner;
    own_of(b)->pchain_height = ctx->pchain_height;
    return cd_chain_verify_on(x->chain, own_of(b), own_of(parent), cd_clock_wall_ns(x->clock) / CD_NS_PER_MS, why);
}

static cd_err on_accept(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    return cd_chain_accept_put(((cd_evm_blocks *)owner)->chain, own_of(b), batch, why);
}

static cd_err on_accepted(void *owner, cd_vm_block *b, cd_errinfo *why)
{
    const cd_evm_blocks *x = owner;
    CD_TRY(cd_chain_accepted(x->chain, own_of(b), why));
    return x->accepted == NULL ? CD_OK : x->accepted(x->ctx, own_of(b));
}

static void on_reject(void *owner, cd_vm_block *b)
{
    cd_chain_reject(((cd_evm_blocks *)owner)->chain, own_of(b));
}

static const cd_blocks_ops ops = {
    .id_of = on_id_of,
    .decode = on_decode,
    .load = on_load,
    .id_at_height = on_id_at_height,
    .free = on_free,
    .verify = on_verify,
    .accept = on_accept,
    .accepted = on_accepted,
    .reject = on_reject,
};

void cd_evm_blocks_init(cd_evm_blocks *x)
{
    const cd_block *head = cd_chain_head(x->chain);
    cd_blocks_init(&x->blocks, &ops, x, &head->hash, head->header.number);
}

void cd_evm_blocks_fini(cd_evm_blocks *x)
{
    cd_blocks_fini(&x->blocks);
}

void cd_evm_blocks_add(cd_evm_blocks *x, cd_vm_block **out, cd_chain_block *b)
{
    cd_blocks_add(&x->blocks, out, wrap(x, b), b->view != NULL);
}

cd_chain_block *cd_evm_blocks_preferred(const cd_evm_blocks *x)
{
    return own_of(cd_blocks_preferred(&x->blocks));
}
