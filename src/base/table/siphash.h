/* base/table/siphash.h - SipHash-1-3: a keyed hash for tables whose keys come from outside.
 *
 * Not for signatures or anything stored. Threading: pure. */
#ifndef CD_BASE_SIPHASH_H
#define CD_BASE_SIPHASH_H

#include "base/bytes.h"

/* A secret key of SipHash, so that nobody outside can choose what collides. */
typedef struct cd_sipkey {
    u64 k0;
    u64 k1;
} cd_sipkey;

/* cd_siphash13 hashes b under key (one round per word, three to finish). */
u64 cd_siphash13(cd_sipkey key, cd_bytes b);

/* cd_siphash24 is the original with two and four rounds. */
u64 cd_siphash24(cd_sipkey key, cd_bytes b);

#endif
