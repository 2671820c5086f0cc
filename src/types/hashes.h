/* types/hashes.h - hashes of empty things that turn up as field values. Threading: frozen. */
#ifndef CD_TYPES_HASHES_H
#define CD_TYPES_HASHES_H

#include "types/account.h" /* CD_HASH_EMPTY_CODE, CD_HASH_EMPTY_TRIE */

/* keccak256 of the RLP of an empty list: sha3Uncles of a block without uncles, logs hash of no
 * logs. */
extern const cd_hash32 CD_HASH_EMPTY_LIST;

#endif
