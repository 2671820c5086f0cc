/* crypto/hash/ripemd160.h - RIPEMD-160 of a whole input. Threading: pure. */
#ifndef CD_CRYPTO_RIPEMD160_H
#define CD_CRYPTO_RIPEMD160_H

#include "base/bytes.h"

/* A RIPEMD-160 digest. */
typedef struct cd_hash20 {
    u8 b[20];
} cd_hash20;

/* cd_ripemd160 hashes in.n bytes; out may lie inside the input. */
void cd_ripemd160(cd_hash20 *out, cd_bytes in);

#endif
