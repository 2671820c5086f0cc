/* crypto/hash/blake2x.h - BLAKE2Xb: bytes without end out of a key of 32 bytes and an empty message, as the lattice
 * signatures draw their numbers. Four blocks are made at a time. Threading: a stream is confined. [spec:finality#3] */
#ifndef CD_CRYPTO_BLAKE2X_H
#define CD_CRYPTO_BLAKE2X_H

#include "base/bytes.h"

enum { CD_BLAKE2X_ROOM = 256 };

/* A stream of bytes; a copy of it goes on from the same place. */
typedef struct cd_blake2x {
    u64 root[8]; /* hash of the key, from which every block is made */
    u32 next;    /* number of the block that comes behind room */
    u32 used;    /* bytes of room that have been given out */
    u8 room[CD_BLAKE2X_ROOM];
} cd_blake2x;

/* cd_blake2x_init starts the stream of key. cd_blake2x_fill gives its next n bytes, at most 256 GiB in all.
 * cd_blake2x_wipe forgets it. */
void cd_blake2x_init(cd_blake2x *x, const u8 key[32]);
void cd_blake2x_fill(cd_blake2x *x, void *out, usize n);
void cd_blake2x_wipe(cd_blake2x *x);

/* cd_blake2x_u64 gives the next eight bytes as a number, the first byte the highest. */
u64 cd_blake2x_u64(cd_blake2x *x);

#endif
