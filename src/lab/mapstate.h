/* lab/mapstate.h - a whole world state as sorted arrays: the states that tests start from and end with.
 *
 *   genesis accounts ──► mapstate ──source──► cd_state ──changes──► next mapstate
 *
 * A mapstate never changes once made, and shares what did not change with the one it came from, so
 * old states stay reachable (side branches of block tests) for as long as the arena they lie in.
 * Roots are computed with the trie's sorted builder. Meant for states of up to some hundred
 * thousand entries.
 *
 * Threading: frozen, except that making one uses the caller's arena and builder. */
#ifndef CD_LAB_MAPSTATE_H
#define CD_LAB_MAPSTATE_H

#include "evm/state/state.h"
#include "store/trie.h"
#include "types/genesis.h"

/* A slot of storage. */
typedef struct cd_map_slot {
    cd_u256 key;
    cd_u256 value; /* never zero */
} cd_map_slot;

/* An account with all that is in it. */
typedef struct cd_map_account {
    cd_addr20 addr;
    cd_hash32 addr_hash; /* keccak256 of addr: the trie's key */
    cd_account acc;
    cd_bytes code;
    const cd_map_slot *slots; /* ascending by key */
    usize slot_cnt;
} cd_map_account;

/* Gives the hash of an ancestor block; see cd_state_source. */
typedef cd_err cd_map_block_hash(void *ctx, cd_hash32 *out, u64 number);

/* A state in memory: accounts as a test or a document lists them. */
typedef struct cd_mapstate {
    cd_state_source src;            /* first: the EVM is given its address */
    const cd_map_account *accounts; /* ascending by address */
    usize account_cnt;
    cd_hash32 root;
    cd_map_block_hash *block_hash; /* set by the owner before execution; NULL: all zero */
    void *block_hash_ctx;
} cd_mapstate;

/* cd_mapstate_new makes the state that holds exactly these accounts (ascending, as
 * cd_genesis_alloc_parse gives them; zero slots do not count). Everything lies in the arena; b is
 * scratch. */
cd_mapstate *cd_mapstate_new(cd_arena *a, cd_trie_build *b, const cd_genesis_account *accounts, usize cnt);

/* cd_mapstate_next makes the state that is base with the changes of st, which was executed on it.
 * cd_mapstate_root gives only the root of that state. Errors: those of st. */
cd_err cd_mapstate_next(cd_mapstate **out, cd_arena *a, cd_trie_build *b, const cd_mapstate *base,
                        cd_state *st) CD_CHECK;
cd_err cd_mapstate_root(cd_hash32 *out, cd_trie_build *b, const cd_mapstate *base, cd_state *st) CD_CHECK;

/* cd_mapstate_find gives an account or NULL. */
const cd_map_account *cd_mapstate_find(const cd_mapstate *m, const cd_addr20 *addr);

#endif
