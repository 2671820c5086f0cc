/* crypto/hash/blake3.h - BLAKE3, plain: a running hash with 32 bytes of result. Threading: a stream is confined.
 * [spec:finality#3] */
#ifndef CD_CRYPTO_BLAKE3_H
#define CD_CRYPTO_BLAKE3_H

#include "base/bytes.h"

/* A running hash: init, any number of updates, final (which changes nothing). */
typedef struct cd_blake3 {
    _Alignas(8) u8 own[1920];
} cd_blake3;

/* See cd_blake3. */
void cd_blake3_init(cd_blake3 *h);
void cd_blake3_update(cd_blake3 *h, cd_bytes in);
void cd_blake3_final(const cd_blake3 *h, u8 out[32]);

#endif
