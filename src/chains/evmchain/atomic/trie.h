/* chains/evmchain/atomic/trie.h - what accepted blocks did to shared memory, as a trie that nodes can agree on, and
 * fetch from each other.
 *
 *   accept ──► log: height u64 ‖ peer chain ID ─► its requests ──► every few heights: trie, root by height
 *   sync   ──► log, from leafs of a summary's root ──► trie, root looked at ──► shared memory, height by height
 *
 *   'z' ‖ 'r' ‖ height ‖ chain   requests: codec 0, list of removed keys, list of elements
 *   'z' ‖ 'n' ‖ hash             nodes of the trie; every committed root stays readable
 *   'z' ‖ 'R' ‖ height           root behind this height, a multiple of the interval
 *   'z' ‖ 'c'                    the first height whose requests shared memory lacks; absent: it has all
 *   'z' ‖ 'v'                    the log is whole (a store of before the trie has none)
 *
 * Threading: confined to the executor. [spec:evm-chain#9] [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_ATOMIC_TRIE_H
#define CD_CHAINS_EVMCHAIN_ATOMIC_TRIE_H

#include "chains/evmchain/atomic/tx.h"
#include "store/trie.h"
#include "vm/shared.h"

enum { CD_ATOMIC_KEY = 40 };

/* The trie of one chain. */
typedef struct cd_atomic_trie {
    cd_kv *kv;    /* borrowed */
    u64 interval; /* heights between two roots; not 0 */
    u64 last;     /* the newest height with a root; 0: none, the trie is empty */
    cd_hash32 root;
    bool has_cursor; /* shared memory lacks what begins at cursor, once the chain is there */
    u64 cursor;
    cd_kv_batch batch;
    cd_trie *built; /* of a sync: NULL when none is being built */
    u64 built_to;   /* the height up to which its log is in */
    u8 built_at[CD_ATOMIC_KEY];
} cd_atomic_trie;

/* cd_atomic_trie_open reads where it stands. Errors: CD_ECORRUPT, the store's. */
cd_err cd_atomic_trie_open(cd_atomic_trie *t, cd_kv *kv, u64 interval) CD_CHECK;
void cd_atomic_trie_close(cd_atomic_trie *t);

/* cd_atomic_trie_is_logged tells whether the log is whole, cd_atomic_trie_logged appends that it is. */
cd_err cd_atomic_trie_is_logged(const cd_atomic_trie *t, bool *is) CD_CHECK;
void cd_atomic_trie_logged(cd_kv_batch *batch);

/* cd_atomic_trie_log appends what the transactions of an accepted block do, to a batch for the chain's kv. */
void cd_atomic_trie_log(cd_kv_batch *batch, u64 height, const cd_atomic_tx *txs, usize cnt);

/* cd_atomic_trie_advance makes the roots up to an accepted height that are not there yet. Errors: the store's. */
cd_err cd_atomic_trie_advance(cd_atomic_trie *t, u64 height, cd_errinfo *why) CD_CHECK;

/* cd_atomic_trie_root_at gives the root behind a height, cd_atomic_trie_at opens the trie of a root, which is the
 * caller's. Errors: CD_ENOENT, those of cd_trie_open. */
cd_err cd_atomic_trie_root_at(const cd_atomic_trie *t, cd_hash32 *out, u64 height) CD_CHECK;
cd_err cd_atomic_trie_at(const cd_atomic_trie *t, cd_trie **out, const cd_hash32 *root) CD_CHECK;

/* cd_atomic_trie_own says that the chain itself accepts a block: what a sync that came to nothing would have shared
 * memory catch up with is forgotten, in the block's batch (NULL: at once). */
void cd_atomic_trie_own(cd_atomic_trie *t, cd_kv_batch *batch, u64 height);

/* --- sync --- */

/* cd_atomic_trie_take appends a leaf of a summary's trie. Errors: CD_ECORRUPT when it is none of these. */
cd_err cd_atomic_trie_take(cd_kv_batch *batch, const cd_trie_item *leaf, cd_errinfo *why) CD_CHECK;

/* cd_atomic_trie_build does a piece of making the trie up to height of what was taken, own: the chain's height of
 * before, from behind which shared memory will lack all; *more false: it stands. Errors: CD_EPROOF when its root is
 * another; the store's. */
cd_err cd_atomic_trie_build(cd_atomic_trie *t, u64 own, u64 height, const cd_hash32 *root, bool *more,
                            cd_errinfo *why) CD_CHECK;

/* cd_atomic_trie_apply does a piece of bringing shared memory to height, which the chain stands at; *more false: it is
 * there. Errors: CD_ECORRUPT, those of apply, the store's. */
cd_err cd_atomic_trie_apply(cd_atomic_trie *t, const cd_vm_shared *shared, u64 height, bool *more,
                            cd_errinfo *why) CD_CHECK;

#endif
