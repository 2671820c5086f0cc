/* chains/evmchain/sync/serve.h - what this node gives others who sync: summaries, leafs, blocks, code.
 *
 *   question ──► throttle ──► leafs   tries as of a summary's height, opened once for all who ask
 *                             blocks  accepted ones, newest first
 *                             code    by hash
 *
 * Summaries are those of the two newest heights that are multiples of the interval; the chain keeps their states
 * (cd_chain_cfg.summaries). A copy of tries is dropped when nobody has asked for a minute.
 * Chains of the L1 family only: a summary of the C-Chain has the root of the atomic trie, which this node does not
 * keep. Threading: confined to the executor. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_SYNC_SERVE_H
#define CD_CHAINS_EVMCHAIN_SYNC_SERVE_H

#include "base/os/clock.h"
#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/sync/side.h"
#include "chains/evmchain/sync/wire.h"
#include "codec/ids.h"

typedef struct cd_sync_server cd_sync_server;

enum {
    CD_SYNC_ASKS_MAX = 1000, /* questions of one peer that are answered in CD_SYNC_ASKS_S seconds */
    CD_SYNC_ASKS_S = 10,
    CD_SYNC_CHANGED_MAX = 200000, /* accounts, and slots, changed since a summary, up to which it can be served */
};

/* What it serves from; borrowed. */
typedef struct cd_sync_server_cfg {
    cd_chain *chain;
    const cd_clock *clock;
    cd_sync_family family;
    const cd_sync_side *side; /* NULL: nothing goes with the state */
    u64 interval;             /* blocks between two summaries; 0: there are none */
} cd_sync_server_cfg;

/* cd_sync_server_new copies cfg; cd_sync_server_free ends it. */
cd_sync_server *cd_sync_server_new(const cd_sync_server_cfg *cfg) __attribute__((returns_nonnull));
void cd_sync_server_free(cd_sync_server *s); /* before the chain closes; NULL is allowed */

/* cd_sync_server_answer appends the answer to a peer's question; deadline_ns is monotonic. Errors: CD_ETYPE when msg is
 * no question at all (nothing was counted), CD_EBUSY when the peer asks too often, CD_ENOENT when there is nothing to
 * give, or in a form that nobody may ask; the store's. */
cd_err cd_sync_server_answer(cd_sync_server *s, cd_buf *out, const cd_node_id *peer, cd_bytes msg,
                             u64 deadline_ns) CD_CHECK;

/* cd_sync_server_last gives the newest summary, cd_sync_server_at that of a height. Errors: CD_ENOENT, the store's. */
cd_err cd_sync_server_last(cd_sync_server *s, cd_sync_summary *out) CD_CHECK;
cd_err cd_sync_server_at(cd_sync_server *s, cd_sync_summary *out, u64 height) CD_CHECK;

/* cd_sync_server_wake drops what was not asked for and gives when to be called next (monotonic ns). */
u64 cd_sync_server_wake(cd_sync_server *s);

#endif
