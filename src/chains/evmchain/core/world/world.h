/* chains/evmchain/core/world/world.h - the accounts and storage of an EVM chain, for every block that is still in play.
 *
 *            flat tables (the truth)                      tries (a cache for roots)
 *   base ── layer of block 8 ── layer of block 9          account trie, storage tries: in memory, standing
 *       └── layer of block 8'                             at one block, moved along the tree when asked
 *
 * Reads go to the flat tables: layers of blocks that are not accepted, then a cache, then the store. A root
 * is computed by moving the tries to the parent and applying the block's changed keys; they are written out
 * every few blocks only. Which keys changed since is in a journal ('J'), so that after a crash the tries catch
 * up from the flat tables and must arrive at the recorded root. Accepting a block is one atomic batch.
 *
 *   'c' ‖ code hash   contract code                  'J' ‖ version    keys that an accepted version changed
 *   'P' ‖ hash        its preimage, when kept        'X' ‖ …          what they held before (world/reader.h)
 *   'T'               version and root of the stored tries
 *   'V'               versions: head, oldest readable, pruned up to; number of 'X'    (other tables: store/flat.h)
 *
 * Threading: confined to the chain's executor. [spec:architecture#6] [spec:evm-chain#10] */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_WORLD_H
#define CD_CHAINS_EVMCHAIN_WORLD_WORLD_H

#include "base/thread/pool.h"
#include "evm/state/state.h"
#include "store/flat.h"
#include "store/overlay.h"
#include "types/account_rlp.h"

typedef struct cd_world cd_world;

/* The state after one block that is not accepted yet. NULL stands for the last accepted block's. */
typedef struct cd_world_view cd_world_view;

/* What a world is opened with. */
typedef struct cd_world_cfg {
    cd_kv *kv;            /* borrowed */
    cd_account_form form; /* of accounts in the trie */
    cd_pool *pool;        /* for hashing; NULL = inline */
    u64 commit_interval;  /* blocks between two writings of the tries; 0 = 4096 */
    usize trie_bytes;     /* tries in memory beyond which they are written out; 0 = 256 MiB */
    usize cache_bytes;    /* accounts and slots kept from the store; 0 = 64 MiB */
    u64 history;          /* blocks before the head whose state stays readable; 0 = none, UINT64_MAX = all */
    u64 summaries;        /* the states of the two newest multiples of so many blocks stay readable too; 0 = none */
    bool preimages;       /* keep address and key for the hashes of what comes into being */
} cd_world_cfg;

/* cd_world_open opens the state in cfg->kv, or an empty one, and lets the tries catch up.
 * Errors: CD_ECORRUPT when they do not arrive at the recorded root, those of the store. */
cd_err cd_world_open(cd_world **out, const cd_world_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_world_close drops what is not accepted. Nothing needs it to be called before a stop. NULL is allowed. */
void cd_world_close(cd_world *w);

/* cd_world_head gives the last accepted block; false in a fresh store. */
bool cd_world_head(const cd_world *w, cd_flat_head *out);

/* A reader of one view for the EVM. src must be the first thing handed on; the struct stays where it is while it
 * is used. block_hash is the owner's to fill in. */
typedef struct cd_world_source {
    cd_state_source src;
    cd_world *world;
    cd_world_view *view;
    cd_arena code_arena; /* code handed out */
} cd_world_source;

/* cd_world_source_init reads as of view (NULL = accepted); fini ends what was lent. */
void cd_world_source_init(cd_world_source *s, cd_world *w, cd_world_view *view);
void cd_world_source_fini(cd_world_source *s);

/* cd_world_apply computes the state root after the changes in st, which was executed on parent, and keeps them
 * as a new view. */
cd_err cd_world_apply(cd_world *w, cd_world_view **out, cd_hash32 *root, cd_world_view *parent, cd_state *st,
                      cd_errinfo *why) CD_CHECK;

/* cd_world_accept writes view, whose parent is accepted, with extra (NULL = none) in one batch and drops its
 * siblings; view ends. On failure nothing has changed. The height in head ascends, or stays: then view is an edit of
 * the state after that block, and head carries the edited root. Errors: CD_ELIMIT after 2^20 - 1 edits of one block. */
cd_err cd_world_accept(cd_world *w, cd_world_view *view, const cd_kv_batch *extra, const cd_flat_head *head,
                       cd_kv_sync sync, cd_errinfo *why) CD_CHECK;

/* The same in two steps, for who commits more than this in one batch: cd_world_accept_put appends what accepting view
 * writes to batch, which is for the world's kv, and changes nothing; once that is committed, and with no other call in
 * between, cd_world_accepted follows. Without it the view is as before. */
cd_err cd_world_accept_put(cd_world *w, cd_world_view *view, cd_kv_batch *batch, const cd_flat_head *head,
                           cd_errinfo *why) CD_CHECK;
void cd_world_accepted(cd_world *w);

/* cd_world_version gives the version of the accepted state (world/reader.h); there must be a head. */
u64 cd_world_version(const cd_world *w);

/* cd_world_truncate takes the accepted state back to version (cd_world_version of an earlier moment, or
 * cd_world_version_of a height), with extra (NULL = none: blocks, receipts, indices that go) in one batch, at a cost of
 * what was changed since. head is the one of that version, its root included. All views end. On failure nothing has
 * changed. Errors: CD_EMISSING when that state is not kept, CD_ECORRUPT when it does not have head's root. */
cd_err cd_world_truncate(cd_world *w, u64 version, const cd_kv_batch *extra, const cd_flat_head *head, cd_kv_sync sync,
                         cd_errinfo *why) CD_CHECK;

/* cd_world_reload stands at what the store holds now, which another (adopt.h) has changed as a whole. All views end.
 * Errors: as cd_world_open. */
cd_err cd_world_reload(cd_world *w, cd_errinfo *why) CD_CHECK;

/* cd_world_drop forgets view and everything built on it. */
void cd_world_drop(cd_world *w, cd_world_view *view);

/* cd_world_flush writes the tries out now. */
cd_err cd_world_flush(cd_world *w, cd_errinfo *why) CD_CHECK;

/* Figures for metrics. */
typedef struct cd_world_stats {
    u64 version;
    u64 oldest;          /* version from which on the state can be read */
    u64 history_entries; /* values before, stored */
    usize cache_bytes;   /* reserved; memory is taken as entries come into use */
    u64 cache_hits;
    u64 cache_misses;
    usize trie_bytes; /* standing tries */
    usize trie_cnt;
    u64 trie_lag;       /* blocks by which the stored tries are behind */
    u64 flush_failures; /* writings of the tries that failed; each is tried again with the next block */
    usize view_cnt;
} cd_world_stats;
/* cd_world_stats_get reads them. On the owner. */
void cd_world_stats_get(cd_world *w, cd_world_stats *out);

#endif
