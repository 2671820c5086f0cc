/* types/account.h - what an account is, in memory. Its trie encoding is in types/account_rlp.h.
 * Threading: pure. */
#ifndef CD_TYPES_ACCOUNT_H
#define CD_TYPES_ACCOUNT_H

#include "base/bytes.h"
#include "num/u256.h"

/* An account without its storage and code. */
typedef struct cd_account {
    cd_u256 balance; /* wei */
    u64 nonce;
    cd_hash32 code_hash;    /* keccak256 of the code; CD_HASH_EMPTY_CODE without one */
    cd_hash32 storage_root; /* root of the storage trie; CD_HASH_EMPTY_TRIE when empty */
} cd_account;

/* keccak256 of nothing, and the root of an empty trie (keccak256 of the RLP of an empty string). */
extern const cd_hash32 CD_HASH_EMPTY_CODE;
extern const cd_hash32 CD_HASH_EMPTY_TRIE;

#endif
