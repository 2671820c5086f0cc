/* chains/evmchain/sync/client.h - a chain that is brought to the state of a summary by what peers answer.
 *
 *   summary ─► clear ─► gather: blocks, accounts, storage, code ─► build tries, look at the root ─► move ─► adopted
 *                          │ every answer proves itself (check.h) and is stored together with what is left to do
 *                          └ several peers at a time; who lies is asked no more, who refuses is asked later
 *
 * What is gathered stands beside the chain's state (core/adopt.h), so that a stop at any moment loses nothing and the
 * chain is as it was until the whole is there. A sync that nobody helps with any more ends without having come to
 * anything; what was gathered waits for the next one to the same summary. Memory: a few answers, whatever the state's
 * size. Threading: confined to the executor. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_SYNC_CLIENT_H
#define CD_CHAINS_EVMCHAIN_SYNC_CLIENT_H

#include "base/log/log.h"
#include "base/os/rng.h"
#include "chains/evmchain/sync/side.h"
#include "chains/evmchain/sync/wire.h"
#include "codec/ids.h"
#include "store/kv.h"
#include "types/account_rlp.h"
#include "types/header.h"
#include "vm/sender.h"

enum {
    CD_SYNC_ANCESTORS = 256, /* blocks below the summary's that are fetched with it */
    CD_SYNC_OPEN_MAX = 4,    /* questions that one peer has at a time */
};

typedef struct cd_sync_client cd_sync_client;

/* What it works with; borrowed. */
typedef struct cd_sync_client_cfg {
    cd_kv *kv; /* the chain's */
    cd_header_layout layout;
    cd_account_form form;
    cd_sync_family family;
    const cd_clock *clock;
    cd_rng *rng;
    const cd_vm_sender *sender;
    const cd_sync_side *side; /* NULL: nothing goes with the state */
    u32 leafs_max;            /* asked for at a time; 0: CD_SYNC_LEAFS_MAX */
    u32 asks_max;             /* questions at a time; 0: 16 */
    const cd_node_id *ids;    /* who is asked; none: every peer */
    u32 id_cnt;
    cd_logger *log; /* NULL allowed */
    const char *name;
    /* adopted: the state of the block stands in the store, and the chain is to follow. over: the sync has ended,
     * whether or not it came to that; nothing more is asked. */
    cd_err (*adopted)(void *ctx, const cd_hash32 *block, u64 height, cd_errinfo *why);
    void (*over)(void *ctx);
    void *ctx;
} cd_sync_client_cfg;

/* cd_sync_client_new copies cfg. Nothing is asked before cd_sync_client_begin. */
cd_sync_client *cd_sync_client_new(const cd_sync_client_cfg *cfg) __attribute__((returns_nonnull));
void cd_sync_client_free(cd_sync_client *c); /* NULL is allowed */

/* cd_sync_client_ongoing gives the summary that a sync which was stopped was for. Errors: CD_ENOENT. */
cd_err cd_sync_client_ongoing(const cd_sync_client *c, cd_sync_summary *out) CD_CHECK;

/* cd_sync_client_begin begins, or goes on where it was stopped if the summary is the same. Errors: the store's. */
cd_err cd_sync_client_begin(cd_sync_client *c, const cd_sync_summary *s, cd_errinfo *why) CD_CHECK;

/* --- what peers say --- */

/* Peers come and go. */
void cd_sync_client_connected(cd_sync_client *c, const cd_node_id *peer);
void cd_sync_client_disconnected(cd_sync_client *c, const cd_node_id *peer);

/* An answer, or none; false: the question was somebody else's. */
bool cd_sync_client_response(cd_sync_client *c, const cd_node_id *from, u32 request_id, cd_bytes msg);
bool cd_sync_client_failed(cd_sync_client *c, const cd_node_id *from, u32 request_id);

/* cd_sync_client_wake does what is due and gives when to be called next (monotonic ns, UINT64_MAX: no need). */
u64 cd_sync_client_wake(cd_sync_client *c);

/* What a sync has done since the start of the program, and how far it is. */
typedef struct cd_sync_stats {
    bool is_active;
    u64 height;   /* of the summary */
    u64 accounts; /* this and the next three: stored */
    u64 slots;
    u64 codes;
    u64 blocks;
    u64 requests; /* of imports and exports: leafs of the trie beside */
    u64 asked;    /* questions */
    u64 refused;  /* without an answer */
    u64 lies;     /* answers that do not prove themselves; each costs a peer its place */
    u32 peers;    /* who may be asked */
    u32 permille;
    u64 left_s; /* seconds; 0: not known */
} cd_sync_stats;
/* cd_sync_client_stats reads them. */
void cd_sync_client_stats(const cd_sync_client *c, cd_sync_stats *out);

#endif
