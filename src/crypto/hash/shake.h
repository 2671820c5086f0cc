/* crypto/hash/shake.h - SHAKE128 and SHAKE256 (FIPS 202): hashes with as many bytes of result as are asked for.
 * Threading: a stream is confined. */
#ifndef CD_CRYPTO_SHAKE_H
#define CD_CRYPTO_SHAKE_H

#include "base/bytes.h"

/* Bytes of a block of each. */
enum { CD_SHAKE128_RATE = 168, CD_SHAKE256_RATE = 136 };

/* A stream: init, any number of updates, end, any number of fills. */
typedef struct cd_shake {
    u64 state[25];
    u32 rate;
    u32 used; /* bytes of the block that were taken in, or given out */
} cd_shake;

/* See cd_shake; rate is one of the two. */
void cd_shake_init(cd_shake *s, u32 rate);
void cd_shake_update(cd_shake *s, cd_bytes in);
void cd_shake_end(cd_shake *s);
void cd_shake_fill(cd_shake *s, u8 *out, usize n);

#endif
