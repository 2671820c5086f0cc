/* chains/evmchain/sync/side.h - the seat of a second trie that goes with the state: that of imports and exports
 * (chains/evmchain/atomic), of which state sync knows nothing more than its keys.
 *
 *   serve   root_at, trie                     client   first ─► take … ─► build ─► the chain stands there ─► apply
 *
 * Threading: confined to the executor. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_SYNC_SIDE_H
#define CD_CHAINS_EVMCHAIN_SYNC_SIDE_H

#include "store/trie.h"

enum { CD_SYNC_SIDE_KEY = 40 }; /* bytes; the first eight are a height */

/* Of all: the store's errors, and those of the member. */
typedef struct cd_sync_side {
    /* root_at gives the root behind a height, CD_ENOENT when there is none; trie opens it for reading. */
    cd_err (*root_at)(void *ctx, cd_hash32 *root, u64 height);
    cd_err (*trie)(void *ctx, cd_trie **out, const cd_hash32 *root);
    /* first tells from which height on leafs are not here. take appends one to a batch for the chain's kv: CD_ECORRUPT
     * when it means nothing. build does a piece of making the trie of what was taken: CD_EPROOF when it has another
     * root. apply does a piece of what the blocks up to height, where the chain stands now, did elsewhere. */
    u64 (*first)(void *ctx);
    cd_err (*take)(void *ctx, cd_kv_batch *batch, const cd_trie_item *leaf, cd_errinfo *why);
    cd_err (*build)(void *ctx, u64 height, const cd_hash32 *root, bool *more, cd_errinfo *why);
    cd_err (*apply)(void *ctx, u64 height, bool *more, cd_errinfo *why);
    void *ctx;
} cd_sync_side;

#endif
