/* chains/evmchain/core/world/world_priv.h - what the files of world share: views with their changes, the read cache,
 * the journal of changed keys, the history table and the standing tries. */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_WORLD_PRIV_H
#define CD_CHAINS_EVMCHAIN_WORLD_WORLD_PRIV_H

#include "base/table/hmap.h"
#include "chains/evmchain/core/world/proof.h"
#include "chains/evmchain/core/world/reader.h"

/* --- changes of one block --- */

typedef struct cd__world_slot {
    cd_hash32 hash; /* keccak256 of the key */
    cd_u256 key;
    cd_u256 value;  /* zero = gone */
    cd_u256 before; /* zero = was not there */
    bool has_key;   /* false for slots that went with a wiped account: only their hash is known */
} cd__world_slot;

/* Slots are those at [slot, slot + slot_cnt) of the change set, ascending by hash. */
typedef struct cd__world_acct {
    cd_hash32 hash; /* keccak256 of addr */
    cd_addr20 addr;
    bool exists;
    bool existed;
    usize slot;
    usize slot_cnt;
    cd_account account; /* storage_root filled in once the storage trie is hashed */
    cd_account before;
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

/* cd__changes_collect takes the changes in st, executed on parent, into arena memory; new code goes to batch.
 * cd__changes_put_flat appends the values after. */
cd_err cd__changes_collect(cd_world *w, cd__world_changes *out, cd_arena *a, cd_kv_batch *batch, cd_world_view *parent,
                           cd_state *st) CD_CHECK;
void cd__changes_put_flat(cd_kv_batch *batch, const cd__world_changes *ch, cd_account_form form);

/* Value of a slot as stored: RLP of the number without leading zeros; gives the length, 0 for zero. */
usize cd__slot_enc(u8 out[33], const cd_u256 *value);
cd_err cd__slot_dec(cd_u256 *out, cd_bytes in) CD_CHECK;

/* Contract code by hash. Errors of get: CD_ECORRUPT when it is not there. */
void cd__code_put(cd_kv_batch *batch, const cd_hash32 *hash, cd_bytes code);
cd_err cd__world_code_get(cd_kv *kv, cd_bytes *out, cd_arena *a, const cd_hash32 *hash) CD_CHECK;

/* --- read cache of the accepted state --- */

typedef struct cd__world_cache_acct {
    cd_addr20 addr;
    u32 epoch; /* valid when it is the cache's */
    bool found;
    cd_hash32 hash;
    cd_account account;
} cd__world_cache_acct;

typedef struct cd__world_cache_slot {
    cd_addr20 addr;
    u32 epoch;
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
    u64 hits;
    u64 misses;
    u32 epoch;
} cd__world_cache;

void cd__world_cache_init(cd__world_cache *c, usize bytes);
void cd__world_cache_fini(cd__world_cache *c);

/* cd__world_cache_bytes is what it may take; cd__world_cache_forget drops all entries at once. */
usize cd__world_cache_bytes(const cd__world_cache *c);
void cd__world_cache_forget(cd__world_cache *c);

/* The place where an account or slot belongs, and whether it is what lies there. */
cd__world_cache_acct *cd__world_cache_acct_at(cd__world_cache *c, const cd_addr20 *addr);
cd__world_cache_slot *cd__world_cache_slot_at(cd__world_cache *c, const cd_addr20 *addr, const cd_u256 *key);

CD_INLINE bool cd__cache_has_acct(const cd__world_cache *c, const cd__world_cache_acct *x, const cd_addr20 *addr)
{
    return x->epoch == c->epoch && cd_addr20_eq(&x->addr, addr);
}

CD_INLINE bool cd__cache_has_slot(const cd__world_cache *c, const cd__world_cache_slot *x, const cd_addr20 *addr,
                                  const cd_u256 *key)
{
    return x->epoch == c->epoch && cd_addr20_eq(&x->addr, addr) && cd_u256_eq(&x->key, key);
}

/* cd__world_cache_update takes over the changes of an accepted block. */
void cd__world_cache_update(cd__world_cache *c, const cd__world_changes *ch);

/* --- journal of changed keys --- */

/* cd__journal_put appends the record of the keys that an accepted version changed; has_history: entries of the history
 * table belong to it. cd__journal_del appends its deletion. */
void cd__journal_put(cd_kv_batch *batch, u64 version, bool has_history, const cd__world_changes *ch);
void cd__journal_del(cd_kv_batch *batch, u64 version);

/* One account of a record, ascending by hash. */
typedef struct cd__journal_acct {
    cd_hash32 hash; /* of addr, once cd__journal_hash was called */
    cd_addr20 addr;
    u32 slot_cnt;
    const u8 *slots; /* hashes, 32 bytes each, ascending; borrowed until the next record */
} cd__journal_acct;

/* Reading upwards: open, next for each record up to version last, hash where the hashes of a record are wanted; close
 * gives the error that ended it early. */
typedef struct cd__journal {
    u64 version; /* of the record */
    bool has_history;
    cd__journal_acct *accts;
    usize acct_cnt;
    usize acct_cap;
    cd_kv_iter *it;
    cd_err err;
} cd__journal;

cd_err cd__journal_open(cd__journal *j, cd_kv *kv, u64 from) CD_CHECK;
bool cd__journal_next(cd__journal *j, u64 last);
void cd__journal_hash(cd__journal *j);
cd_err cd__journal_close(cd__journal *j) CD_CHECK;

/* cd__journal_last gives the highest version <= last that has a record. Errors: CD_ENOENT. */
cd_err cd__journal_last(cd_kv *kv, u64 *version, u64 last) CD_CHECK;

/* cd__journal_slot gives the i-th slot hash. */
CD_INLINE cd_hash32 cd__journal_slot(const cd__journal_acct *a, u32 i)
{
    cd_hash32 h;
    memcpy(h.b, a->slots + 32 * (usize)i, 32);
    return h;
}

/* --- history --- */

/* The letter of the history table. */
enum { CD__HISTORY = 'X' };

/* How far the past reaches, as versions: from oldest on it can be read; entries up to pruned are deleted. */
typedef struct cd__world_marks {
    u64 head;
    u64 oldest;
    u64 pruned;
    u64 entries; /* of the history table */
} cd__world_marks;

/* The record of marks. Errors of get: CD_ENOENT in a fresh store, CD_ECORRUPT. */
cd_err cd__marks_get(cd_kv *kv, cd__world_marks *out) CD_CHECK;
void cd__marks_put(cd_kv_batch *batch, const cd__world_marks *m);

/* cd__history_get replaces out by the value of a flat key as of version; cd__history_before by what version overwrote,
 * from its own entry (CD_ECORRUPT when there is none). Errors: CD_ENOENT when the key was not there. */
cd_err cd__history_get(cd_kv *kv, cd_buf *out, cd_bytes flat_key, u64 version) CD_CHECK;
cd_err cd__history_before(cd_kv *kv, cd_buf *out, cd_bytes flat_key, u64 version) CD_CHECK;

/* cd__history_expand makes a value of an entry, which is stored shortened. Errors: CD_ENOENT when it says that there
 * was none. */
cd_err cd__history_expand(cd_buf *out, cd_bytes entry, bool is_account) CD_CHECK;

/* cd__history_put appends the values before version and gives their number; cd__history_del the deletion of one. */
usize cd__history_put(cd_kv_batch *batch, u64 version, const cd__world_changes *ch, cd_account_form form);
void cd__history_del(cd_kv_batch *batch, cd_bytes flat_key, u64 version);

/* cd__history_prune appends the deletion of entries up to the version target, oldest first, and moves the marks. It
 * stops behind the record with which budget entries are reached. flushed: see cd__world_tries. */
cd_err cd__history_prune(cd_kv *kv, cd_kv_batch *batch, cd__world_marks *m, u64 target, u64 flushed,
                         usize budget) CD_CHECK;

/* cd__preimages_put appends the addresses and slot keys that come into being. */
void cd__preimages_put(cd_kv_batch *batch, const cd__world_changes *ch);

/* --- tries as of a version --- */

/* cd__past_accounts lends the account trie, which the borrower may change. cd__past_storage opens the storage tries
 * of the accounts in wanted (address -> cd_trie *, NULL): they are the caller's, none after an error. One reading of
 * the journal serves all of them. Errors: CD_ECORRUPT, those of the store. */
cd_trie *cd__past_accounts(cd_world_past *p);
cd_err cd__past_storage(cd_world_past *p, cd_hmap *wanted, cd_errinfo *why) CD_CHECK;

/* --- standing tries --- */

/* The tries of the whole state at one block, `at` (NULL = the accepted one). */
typedef struct cd__world_tries {
    cd_trie *accounts; /* NULL: nothing is open, the next use catches up from the store */
    cd_hmap storage;   /* account hash -> cd_trie *; a trie that changed since the last flush stays */
    cd_world_view *at;
    u64 flushed; /* version the stored tries stand at */
    bool has_flushed;
} cd__world_tries;

struct cd_world {
    cd_world_cfg cfg;
    cd_overlay *overlay;
    cd_world_view *views;
    cd_flat_head head;
    bool has_head;
    cd__world_marks marks;
    cd__world_cache cache;
    cd__world_tries tries;
    cd_kv_batch scratch;     /* for the store */
    cd_kv_batch layer_batch; /* for a layer */
    struct {
        cd_world_view *view; /* whose acceptance is in somebody's batch; NULL: none */
        cd_flat_head head;
        cd__world_marks marks;
    } put;
    u64 flush_failures;
};

/* The kv of a view (NULL = the accepted state). */
cd_kv *cd__world_kv(cd_world *w, cd_world_view *view);

/* Keys of the flat tables. */
typedef struct cd__flat_key {
    cd_hash32 account;
    cd_hash32 slot;
    bool is_slot;
} cd__flat_key;

typedef struct cd__key_list {
    cd__flat_key *keys;
    usize cnt;
    usize cap;
} cd__key_list;

/* cd__keys_add appends the account itself (slot NULL) or one of its slots, _record all keys of a hashed journal record;
 * cd__keys_sort puts accounts before their slots, ascending by hash, and drops what is there twice. */
void cd__keys_add(cd__key_list *l, const cd_hash32 *account, const cd_hash32 *slot);
void cd__keys_add_record(cd__key_list *l, const cd__journal *j);
void cd__keys_sort(cd__key_list *l);

/* cd__stored_get reads which version and root the stored tries have, false in a fresh store; cd__stored_put appends
 * it. */
cd_err cd__stored_get(cd_kv *kv, bool *found, u64 *version, cd_hash32 *root) CD_CHECK;
void cd__stored_put(cd_kv_batch *batch, u64 version, const cd_hash32 *root);

/* cd__tries_move stands the tries at view. On an error they are closed (and catch up later). */
cd_err cd__tries_move(cd_world *w, cd_world_view *to, cd_errinfo *why) CD_CHECK;

/* cd__tries_set sets every key of the sorted list to what the flat tables of kv say. The caller sets tries.at.
 * Errors as move. */
cd_err cd__tries_set(cd_world *w, const cd__key_list *l, cd_kv *kv, cd_errinfo *why) CD_CHECK;

/* cd__tries_apply brings the tries, which stand at the parent, to the state after ch: fills in the storage roots
 * of ch and gives the state root. The caller sets tries.at. Errors as move. */
cd_err cd__tries_apply(cd_world *w, cd__world_changes *ch, cd_hash32 *root, cd_errinfo *why) CD_CHECK;

/* cd__tries_find borrows the storage trie of an account if it is open. One that is not has not changed since the tries
 * were written out: the store has it, with the root in the account where the tries stand. */
cd_trie *cd__tries_find(cd_world *w, const cd_hash32 *account);

/* cd__tries_flush appends the changed nodes and the record of the stored tries to batch; the tries stand at version, an
 * accepted one. cd__tries_mem counts what they hold. */
void cd__tries_flush(cd_world *w, cd_kv_batch *batch, u64 version);
usize cd__tries_mem(cd_world *w);

/* cd__tries_close forgets everything in memory. */
void cd__tries_close(cd_world *w);

#endif
