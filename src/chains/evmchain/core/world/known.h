/* chains/evmchain/core/world/known.h - what was read last of the newest state, so that it is not looked for in the
 * store again: accounts and slots of one version, and code by its hash.
 *
 * Every thing has one place, by a hash of its key: who chooses keys that meet there gains nothing but reads of the
 * store. An entry of another version is no entry, so nothing has to be removed when the state changes.
 *
 * Threading: shared. */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_KNOWN_H
#define CD_CHAINS_EVMCHAIN_WORLD_KNOWN_H

#include "base/mem/arena.h"
#include "types/account.h"

typedef struct cd_known cd_known;

/* cd_known_new gives an empty memory; its tables take room as they are used. */
cd_known *cd_known_new(void) __attribute__((returns_nonnull));

/* cd_known_free allows NULL. */
void cd_known_free(cd_known *k);

/* cd_known_account gives an account as of version, which is not 0, if it is known; *exists false: there is none, and
 * *out is untouched. cd_know_account remembers it; NULL: there is none. */
bool cd_known_account(cd_known *k, cd_account *out, bool *exists, u64 version, const cd_addr20 *addr);
void cd_know_account(cd_known *k, u64 version, const cd_addr20 *addr, const cd_account *account);

/* The same for the value of a slot. */
bool cd_known_slot(cd_known *k, cd_u256 *out, u64 version, const cd_addr20 *addr, const cd_u256 *slot);
void cd_know_slot(cd_known *k, u64 version, const cd_addr20 *addr, const cd_u256 *slot, const cd_u256 *value);

/* cd_known_code gives a copy of the code of a hash in the arena, if it is known. cd_know_code remembers what has the
 * size of a contract's. */
bool cd_known_code(cd_known *k, cd_bytes *out, cd_arena *a, const cd_hash32 *hash);
void cd_know_code(cd_known *k, const cd_hash32 *hash, cd_bytes code);

#endif
