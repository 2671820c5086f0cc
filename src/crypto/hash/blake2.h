/* crypto/hash/blake2.h - the BLAKE2b compression function with a free number of rounds. Threading: pure.
 * [RFC 7693 3.2] [EIP-152] */
#ifndef CD_CRYPTO_BLAKE2_H
#define CD_CRYPTO_BLAKE2_H

#include "base/base.h"

/* cd_blake2b_f mixes the message block m into the state h: rounds may be any number (BLAKE2b itself
 * uses 12), t is the low and high word of the byte counter, last marks the final block. All words are
 * numbers; the caller reads and writes the little-endian bytes. */
void cd_blake2b_f(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds);

#endif
