/* chains/evmchain/core/world/proof.h - Merkle proofs of accounts and their storage, at the head and as of older
 * versions.
 *
 *   head    the standing tries: microseconds, on the executor            cd_world_prove
 *   past    stored tries of a frozen kv, private to the caller, with     cd_world_past
 *           every account set back or on to the version asked for:
 *           one seek and one put for each account changed between the stored tries and that version
 *           (about 8 microseconds each on disk), on any thread
 *
 * A past that is open proves any number of accounts at the price of one, so a batch of requests shares it. It needs
 * that the version is kept (world/reader.h).
 *
 * Threading: cd_world_prove is confined to the executor; a past is confined, many may use one frozen kv.
 * [spec:eth-rpc#3] [EIP-1186] */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_PROOF_H
#define CD_CHAINS_EVMCHAIN_WORLD_PROOF_H

#include "chains/evmchain/core/world/world.h"

/* Proof of one slot, present or not (value zero). */
typedef struct cd_world_slot_proof {
    cd_u256 value;
    cd_trie_proof proof;
} cd_world_slot_proof;

/* Proof of one account, present or not. Everything lies in the arena given. */
typedef struct cd_world_proof {
    cd_hash32 root; /* of the state that the proof leads to */
    bool found;
    cd_account account; /* when not found: nothing, with the hashes of no storage and no code */
    cd_trie_proof proof;
    cd_world_slot_proof *slots; /* one a key asked for; without nodes when the account has no storage */
} cd_world_proof;

/* cd_world_prove proves the account addr and cnt of its slots in the accepted state; keys are the 32-byte words that
 * contracts use. */
cd_err cd_world_prove(cd_world *w, cd_world_proof *out, cd_arena *a, const cd_addr20 *addr, const cd_hash32 *keys,
                      usize cnt, cd_errinfo *why) CD_CHECK;

typedef struct cd_world_past cd_world_past;

/* Which past state is opened. */
typedef struct cd_world_past_cfg {
    cd_kv *kv; /* a frozen snapshot that outlives it */
    cd_account_form form;
    u64 version;       /* clamped to the newest */
    cd_pool *pool;     /* for hashing; NULL = inline */
    usize max_changed; /* accounts changed between the stored tries and version; 0 = 1,000,000 */
} cd_world_past_cfg;

/* cd_world_past_open makes the account trie as of a version. Errors: CD_EMISSING when that state is not kept, CD_ELIMIT
 * beyond max_changed, those of the store. */
cd_err cd_world_past_open(cd_world_past **out, const cd_world_past_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_world_past_close(cd_world_past *p); /* NULL is allowed */

/* cd_world_past_prove is cd_world_prove as of that version. */
cd_err cd_world_past_prove(cd_world_past *p, cd_world_proof *out, cd_arena *a, const cd_addr20 *addr,
                           const cd_hash32 *keys, usize cnt, cd_errinfo *why) CD_CHECK;

/* cd_world_past_trie borrows the account trie as of that version, cd_world_past_storage_trie opens the storage trie of
 * the account whose address has a hash; it is the caller's and ends before the past. Neither may be changed. The first
 * of the latter reads which slots differ, for all. Errors: CD_ENOENT when there is no such account, CD_ELIMIT beyond
 * max_changed slots, CD_ECORRUPT, those of the store. */
cd_trie *cd_world_past_trie(cd_world_past *p);
cd_err cd_world_past_storage_trie(cd_world_past *p, cd_trie **out, const cd_hash32 *account, cd_errinfo *why) CD_CHECK;

#endif
