/* vm/shared/memory.h - shared memory on the node's store: one part of it for all chains, one object for each chain.
 *
 *   part ── memory of P ─┐                      sha256(codec 0, smaller id, larger id)
 *        ── memory of X ─┼─ shared: a pair ──►  ├ elements for the smaller   ├ elements for the larger
 *        └─ memory of C ─┘                      └ by trait, taken early      └ by trait, taken early
 *
 * Keys in the part begin with the ID of the pair and one byte, the table:
 *
 *   0 / 2   key              element (present, value, traits)  left for the chain of the smaller / larger id
 *   1 / 3   u16, trait, key  nothing                           the same by trait, of so many bytes
 *   4 / 5   key              element (not present)             taken before it came
 *
 * What was taken early has rows of its own, so that two chains that accept at the same time, in either order, end with
 * the same: a key that has both rows is gone. Threading: get and indexed are shared, apply is confined to who has the
 * batch. [spec:pchain-xchain#9] */
#ifndef CD_VM_SHARED_MEMORY_H
#define CD_VM_SHARED_MEMORY_H

#include "vm/shared.h"

/* Bounds of an element, in bytes and traits; a key has one byte at least. Far above what a transaction of 256 KiB can
 * put. */
enum {
    CD_VM_MEMORY_KEY_MAX = 256,
    CD_VM_MEMORY_TRAIT_MAX = 128,
    CD_VM_MEMORY_TRAITS_MAX = 16384,
    CD_VM_MEMORY_VALUE_MAX = 1 << 20,
};

/* Shared memory as one chain sees it. */
typedef struct cd_vm_memory {
    cd_vm_shared shared; /* first: what the VM is given */
    cd_kv *part;
    cd_hash32 chain_id;
} cd_vm_memory;

/* cd_vm_memory_init makes the memory of a chain on part, which all chains of a node have together and which is
 * borrowed. There is nothing to end.
 *
 * Beyond what the interface says: apply gives CD_EEXIST for a key that is removed a second time before it came,
 * CD_ELIMIT for what is not within the bounds above, CD_EINVAL when a chain is its own peer; it is called once for a
 * batch, and a key stands in it once. indexed gives CD_ECORRUPT for an entry that does not lead to an element. */
void cd_vm_memory_init(cd_vm_memory *m, cd_kv *part, const cd_hash32 *chain_id);

/* cd_vm_memory_pair gives the ID of the pair of two chains, in whatever order they are named. */
void cd_vm_memory_pair(cd_hash32 *out, const cd_hash32 *a, const cd_hash32 *b);

#endif
