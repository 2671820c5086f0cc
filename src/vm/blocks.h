/* vm/blocks.h - the blocks of a VM as objects: one for an id, and the tree of those that are verified and not decided.
 *
 *                ┌─ B ── D        tree: verified blocks, each on a verified parent or on the last accepted block
 *   … ── A(cc) ──┤                map:  every block that somebody holds, or that is in the tree, by id
 *                └─ C
 *
 *   parse, get, built ──► in the map ── verify ──► in the tree ── accept, accepted ─┐
 *                                                     └────────── reject ───────────┴─► out of it
 *
 * A VM embeds cd_vm_block as the first member of its own block, and says in a cd_blocks_ops what is its own in
 * decoding, verifying and deciding; the functions here then are the members of its cd_vm_ops, wrong calls refused.
 * Not done here: choosing between branches, committing. Threading: confined. [spec:architecture#5] */
#ifndef CD_VM_BLOCKS_H
#define CD_VM_BLOCKS_H

#include "base/table/hmap.h"
#include "vm/vm.h"

/* The parts that differ from VM to VM. owner is what cd_blocks_init was given; a parent that is NULL is the last
 * accepted block. */
typedef struct cd_blocks_ops {
    /* id_of finds the id of bytes cheaply. Errors: as decode. NULL: decode tells it. */
    cd_err (*id_of)(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why);
    /* decode makes a block from a copy of bytes, and fills in its public part except for status. */
    cd_err (*decode)(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why);
    /* load makes a block from the store. Errors: CD_ENOENT. */
    cd_err (*load)(void *owner, cd_vm_block **out, const cd_hash32 *id);
    cd_err (*id_at_height)(void *owner, cd_hash32 *id, u64 height);
    void (*free)(void *owner, cd_vm_block *b);

    cd_err (*verify)(void *owner, cd_vm_block *b, cd_vm_block *parent, const cd_vm_block_ctx *ctx, cd_errinfo *why);
    cd_err (*accept)(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why);
    cd_err (*accepted)(void *owner, cd_vm_block *b, cd_errinfo *why);
    /* reject forgets what verifying b left; it may forget the same of b's descendants at once. */
    void (*reject)(void *owner, cd_vm_block *b);
} cd_blocks_ops;

/* The blocks of a VM that somebody holds or that are verified, by id. */
typedef struct cd_blocks {
    const cd_blocks_ops *ops;
    void *owner;
    cd_hmap by_id; /* cd_hash32 -> cd_vm_block * */
    cd_hash32 last;
    u64 last_height;
    cd_vm_block *preferred; /* the verified block to build on; NULL: the last accepted block */
    usize verified_cnt;
} cd_blocks;

/* cd_blocks_init begins with nothing but the last accepted block; _fini frees every block, whoever holds it. */
void cd_blocks_init(cd_blocks *bs, const cd_blocks_ops *ops, void *owner, const cd_hash32 *last, u64 height);
void cd_blocks_fini(cd_blocks *bs);

/* cd_blocks_restart makes another block the last accepted one, as a chain that goes back does. Nothing may be verified
 * and undecided (CD_ASSERT); blocks that are held count as not verified, and may be verified again. */
void cd_blocks_restart(cd_blocks *bs, const cd_hash32 *last, u64 height);

/* cd_blocks_add takes over a block that the VM has made. *out is the block to go on with: another one when the ID was
 * known, b is freed then. is_verified: making the block has shown that it is valid on the preferred block. The caller
 * holds *out. */
void cd_blocks_add(cd_blocks *bs, cd_vm_block **out, cd_vm_block *b, bool is_verified);

/* The same as the members of cd_vm_ops with these names. */
cd_err cd_blocks_parse(cd_blocks *bs, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why) CD_CHECK;
cd_err cd_blocks_get(cd_blocks *bs, cd_vm_block **out, const cd_hash32 *id) CD_CHECK;
void cd_blocks_release(cd_blocks *bs, cd_vm_block *b);
cd_err cd_blocks_verify(cd_blocks *bs, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why) CD_CHECK;
cd_err cd_blocks_accept(cd_blocks *bs, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why) CD_CHECK;
cd_err cd_blocks_accepted(cd_blocks *bs, cd_vm_block *b, cd_errinfo *why) CD_CHECK;
cd_err cd_blocks_reject(cd_blocks *bs, cd_vm_block *b) CD_CHECK;
cd_err cd_blocks_prefer(cd_blocks *bs, const cd_hash32 *id) CD_CHECK;

/* cd_blocks_hold gives one more use of b. cd_blocks_find borrows the block of an id that is in the map, or NULL. */
cd_vm_block *cd_blocks_hold(cd_vm_block *b);
cd_vm_block *cd_blocks_find(const cd_blocks *bs, const cd_hash32 *id);

/* cd_blocks_preferred borrows the block to build on; NULL: the last accepted one. */
cd_vm_block *cd_blocks_preferred(const cd_blocks *bs);

/* cd_vm_ancestors does what cd_vm_ops.ancestors does, for a VM without it: it goes from parent to parent, until
 * until_ns (monotonic) at most; clock NULL: as long as it takes. Errors: CD_ENOENT when id is not known. */
cd_err cd_vm_ancestors(cd_vm *vm, cd_buf *out, const cd_hash32 *id, u32 cnt_max, usize bytes_max, const cd_clock *clock,
                       u64 until_ns) CD_CHECK;

/* cd_vm_parse_many does what cd_vm_ops.parse_many does, for a VM without it. */
void cd_vm_parse_many(cd_vm *vm, cd_vm_block **out, const cd_bytes *in, usize cnt);

#endif
