/* chains/evmchain/core/world/walk.h - all accounts, or all slots of one, as of a version, in the order of their
 * hashes; and what changed between two versions.
 *
 *   flat table      a    c d e        the history table decides for every hash with an entry above the version
 *   history         a  b   d          (absent: it is skipped), the flat table for all others
 *
 * What is walked are hashes: the addresses and keys behind them are known when the world was told to keep preimages,
 * and only of what came into being since.
 *
 * Threading: a walk is confined, many may use one frozen kv. [spec:evm-chain#10] */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_WALK_H
#define CD_CHAINS_EVMCHAIN_WORLD_WALK_H

#include "chains/evmchain/core/world/reader.h"

typedef struct cd_world_walk cd_world_walk;

/* cd_world_walk_accounts / _slots stand before the first hash >= start (NULL = the first). kv is a frozen snapshot that
 * outlives the walk, version one that is kept in it or CD_WORLD_NEWEST. */
cd_err cd_world_walk_accounts(cd_world_walk **out, cd_kv *kv, u64 version, const cd_hash32 *start) CD_CHECK;
cd_err cd_world_walk_slots(cd_world_walk **out, cd_kv *kv, u64 version, const cd_hash32 *account,
                           const cd_hash32 *start) CD_CHECK;
void cd_world_walk_free(cd_world_walk *w); /* NULL is allowed */

/* cd_world_walk_next steps to the next hash; false at the end or on an error (cd_world_walk_err tells). */
bool cd_world_walk_next(cd_world_walk *w);
cd_err cd_world_walk_err(const cd_world_walk *w) CD_CHECK;

/* The hash stood on, borrowed until the next step, and what belongs to it. */
const cd_hash32 *cd_world_walk_hash(const cd_world_walk *w);
cd_err cd_world_walk_account(const cd_world_walk *w, cd_account *out, cd_account_form form) CD_CHECK;
cd_err cd_world_walk_slot(const cd_world_walk *w, cd_u256 *out) CD_CHECK;

/* cd_world_addr_of / cd_world_key_of give the address or slot key of a hash. Errors: CD_ENOENT when it is not kept. */
cd_err cd_world_addr_of(cd_kv *kv, cd_addr20 *out, const cd_hash32 *hash) CD_CHECK;
cd_err cd_world_key_of(cd_kv *kv, cd_u256 *out, const cd_hash32 *hash) CD_CHECK;

/* cd_world_modified gives the addresses of the accounts that differ between two versions, storage and code included,
 * ascending, in arena memory. No preimages are needed. Errors: CD_EMISSING when from is not kept, CD_ELIMIT when more
 * than max accounts were touched in between. */
cd_err cd_world_modified(cd_kv *kv, cd_addr20 **out, usize *cnt, cd_arena *a, u64 from, u64 to, usize max) CD_CHECK;

/* What the edits after a block made of one account (development network): as it is behind the last of them. Only
 * slots that an edit set. */
typedef struct cd_world_edit_slot {
    cd_u256 key;
    cd_u256 value;
} cd_world_edit_slot;
/* An account that was edited. */
typedef struct cd_world_edit {
    cd_addr20 addr;
    cd_account account;
    cd_world_edit_slot *slots;
    usize slot_cnt;
} cd_world_edit;

/* cd_world_edits finds the lowest height >= *height after which there were edits, and gives them, accounts ascending
 * by hash, in arena memory. kv keeps preimages. Errors: CD_ENOENT when there are none, CD_ECORRUPT, the store's. */
cd_err cd_world_edits(cd_kv *kv, cd_world_edit **out, usize *cnt, cd_arena *a, cd_account_form form,
                      u64 *height) CD_CHECK;

#endif
