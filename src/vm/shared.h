/* vm/shared.h - shared memory: what one chain leaves for another to take, UTXOs above all. The node implements it for
 * its VMs (vm/shared), the plugin bridge for those of other processes.
 *
 *   accept on A: apply put B ──► batch ──► one commit ──► get, indexed on B ──► accept on B: apply remove A
 *
 * An element is a key, a value and traits, by which it is found (the addresses of its owners). What a chain puts for
 * another is seen by that one alone, which alone removes it. Threading: get and indexed are shared; apply is confined
 * to the thread that has the batch. [spec:pchain-xchain#9] */
#ifndef CD_VM_SHARED_H
#define CD_VM_SHARED_H

#include "base/mem/arena.h"
#include "store/kv.h"

/* An element; all of it is borrowed. */
typedef struct cd_vm_shared_elem {
    cd_bytes key;
    cd_bytes value;
    const cd_bytes *traits;
    usize trait_cnt;
} cd_vm_shared_elem;

/* What a block does between its chain and one peer: removes keys of what peer left here, puts elements for peer. */
typedef struct cd_vm_shared_change {
    cd_hash32 peer;
    const cd_bytes *removes;
    usize remove_cnt;
    const cd_vm_shared_elem *puts;
    usize put_cnt;
} cd_vm_shared_change;

/* Where a walk through an index goes on: behind key within the elements of trait. Both empty: at the beginning. */
typedef struct cd_vm_shared_cursor {
    cd_bytes trait;
    cd_bytes key;
} cd_vm_shared_cursor;

typedef struct cd_vm_shared cd_vm_shared;
struct cd_vm_shared {
    /* get finds the value of a key that peer left for this chain. Errors: CD_ENOENT, the store's. */
    cd_err (*get)(const cd_vm_shared *s, cd_bytes *out, cd_arena *a, const cd_hash32 *peer, cd_bytes key);
    /* indexed gives the values of at most max elements that peer left for this chain and that have one of the traits:
     * trait after trait in the order of the bytes, keys ascending, none twice. at says where to begin and is moved on
     * behind the last that was given (its bytes lie in the arena). Errors: the store's. */
    cd_err (*indexed)(const cd_vm_shared *s, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *peer,
                      const cd_bytes *traits, usize trait_cnt, cd_vm_shared_cursor *at, usize max);
    /* apply appends to batch, the one that accept was given, what changes between this chain and its peers; the batch
     * is for the whole store afterwards. A key that is removed before its element has come stays refused when it comes
     * (it was taken while the other chain was behind). Errors: CD_EEXIST for a key that is put twice, the store's; then
     * nothing was appended. */
    cd_err (*apply)(const cd_vm_shared *s, cd_kv_batch *batch, const cd_vm_shared_change *changes, usize cnt);
};

#endif
