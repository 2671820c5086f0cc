/* crypto/hash/sha2.h - SHA-256 (FIPS 180-4), one-shot and streaming. Threading: pure; a stream is confined. */
#ifndef CD_CRYPTO_SHA2_H
#define CD_CRYPTO_SHA2_H

#include "base/bytes.h"

/* cd_sha256 hashes in.n bytes; out may lie inside the input. */
void cd_sha256(cd_hash32 *out, cd_bytes in);

/* A running hash: init, any number of updates, final; final leaves the stream unusable until init. */
typedef struct cd_sha256_ctx {
    u32 h[8];
    u64 total; /* bytes absorbed */
    u8 block[64];
} cd_sha256_ctx;

/* A running hash: init, any number of updates, final. */
void cd_sha256_init(cd_sha256_ctx *c);
void cd_sha256_update(cd_sha256_ctx *c, cd_bytes in);
void cd_sha256_final(cd_sha256_ctx *c, cd_hash32 *out);

#endif
