/* chains/evmchain/world/world_priv.h - what the files of world share: views with their changes, the read cache and
 * the standing tries. */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_WORLD_PRIV_H
#define CD_CHAINS_EVMCHAIN_WORLD_WORLD_PRIV_H

#include "base/hmap.h"
#include "chains/evmchain/world/world.h"

/* --- changes of one block ------------------------------------------------------------------------ */

typedef struct cd__world_slot {
    cd_hash32 hash; /* keccak256 of the key */
    cd_u256 key;
    cd_u256 value; /* zero = gone */
    bool has_key;  /* false for slots that went with a wiped account: only their hash is known */
} cd__world_slot;

/* Slots are those at [slot, slot + slot_cnt) of the change set, ascending by hash. */
typedef struct cd__world_acct {
    cd_hash32 hash; /* keccak256 of addr */
    cd_addr20 addr;
    bool exists;
    usize slot;
    usize slot_cnt;
    cd_account account; /* storage_root filled in once the storage trie is hashed */
} cd__world_acct;

/* Accounts ascend by hash. */
typedef struct cd__world_changes {
    cd__world_acct *accts;
    usize acct_cnt;
    cd__world_slot *slots;
    usize slot_cnt;
} cd__world_changes;

struct cd_world_view {
    cd_world_view *parent; /* NULL = accepted */
    cd_layer *layer;
    cd_arena arena; /* holds changes */
    cd__world_changes changes;
    cd_world_view *next; /* all views of the world */
};

/* --- read cache of the accepted state ------------------------------------------------------------ */

typedef struct cd__world_cache_acct {
    cd_addr20 addr;
    bool is_used;
    bool found;
    cd_hash32 hash;
    cd_account account;
} cd__world_cache_acct;

typedef struct cd__world_cache_slot {
    cd_addr20 addr;
    bool is_used;
    cd_u256 key;
    cd_hash32 hash;
    cd_u256 value;
} cd__world_cache_slot;

/* Direct-mapped, indexed by a keyed hash; memory is touched as entries come into use. */
typedef struct cd__world_cache {
    cd__world_cache_acct *accts;
    cd__world_cache_slot *slots;
    u64 acct_mask;
    u64 slot_mask;
    u64 seed;
} cd__world_cache;

void cd__world_cache_init(cd__world_cache *c, usize bytes);
void cd__world_cache_fini(cd__world_cache *c);

/* The place where an account or slot belongs; the caller looks at is_used, addr (and key). */
cd__world_cache_acct *cd__world_cache_acct_at(cd__world_cache *c, const cd_addr20 *addr);
cd__world_cache_slot *cd__world_cache_slot_at(cd__world_cache *c, const cd_addr20 *addr,
                                              const cd_u256 *key);

/* cd__world_cache_update takes over the changes of an accepted block. */
void cd__world_cache_update(cd__world_cache *c, const cd__world_changes *ch);

/* --- standing tries ------------------------------------------------------------------------------ */

/* The tries of the whole state at one block, `at` (NULL = the accepted one). */
typedef struct cd__world_tries {
    cd_trie *accounts; /* NULL: nothing is open, the next use catches up from the store */
    cd_hmap storage; /* account hash -> cd_trie *; a trie that changed since the last flush stays */
    cd_world_view *at;
    u64 flushed_height; /* what the stored tries stand at */
    bool has_flushed;
} cd__world_tries;

struct cd_world {
    cd_world_cfg cfg;
    cd_overlay *overlay;
    cd_world_view *views;
    cd_flat_head head;
    bool has_head;
    cd__world_cache cache;
    cd__world_tries tries;
    cd_kv_batch scratch;
};

/* The kv of a view (NULL = the accepted state). */
cd_kv *cd__world_kv(cd_world *w, cd_world_view *view);

/* cd__tries_move stands the tries at view. On an error they are closed (and catch up later). */
cd_err cd__tries_move(cd_world *w, cd_world_view *to, cd_errinfo *why) CD_CHECK;

/* cd__tries_apply brings the tries, which stand at the parent, to the state after ch: fills in the storage roots
 * of ch and gives the state root. The caller sets tries.at. Errors as move. */
cd_err cd__tries_apply(cd_world *w, cd__world_changes *ch, cd_hash32 *root,
                       cd_errinfo *why) CD_CHECK;

/* cd__tries_flush appends the changed nodes, the head record of the stored tries and the deletion of the journal
 * to batch; the tries stand at the accepted block. cd__tries_mem counts what they hold. */
cd_err cd__tries_flush(cd_world *w, cd_kv_batch *batch) CD_CHECK;
usize cd__tries_mem(cd_world *w);

/* cd__tries_close forgets everything in memory. */
void cd__tries_close(cd_world *w);

/* cd__journal_put appends the record of an accepted block's changed keys. */
void cd__journal_put(cd_kv_batch *batch, u64 height, const cd__world_changes *ch);

/* Value of a slot as stored: RLP of the number without leading zeros; gives the length, 0 for zero. */
usize cd__slot_enc(u8 out[33], const cd_u256 *value);
cd_err cd__slot_dec(cd_u256 *out, cd_bytes in) CD_CHECK;

#endif
