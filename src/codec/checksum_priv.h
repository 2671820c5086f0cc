/* codec/checksum_priv.h - the checksum behind IDs and hexadecimal text: the last four bytes of the SHA-256.
 * Threading: pure. [spec:node-api#2.1] */
#ifndef CD_CODEC_CHECKSUM_PRIV_H
#define CD_CODEC_CHECKSUM_PRIV_H

#include "crypto/hash/sha2.h"

enum { CD__CHECKSUM_LEN = 4 };

/* cd__checksum_of writes the checksum of b to out, which may lie behind it. */
static inline void cd__checksum_of(u8 out[CD__CHECKSUM_LEN], cd_bytes b)
{
    cd_hash32 hash;
    cd_sha256(&hash, b);
    memcpy(out, hash.b + sizeof hash.b - CD__CHECKSUM_LEN, CD__CHECKSUM_LEN);
}

#endif
