/* crypto/hash/scrypt.h - scrypt (RFC 7914), which makes guessing passwords cost memory.
 *
 * By libsodium, which takes every cost of the RFC; OpenSSL refuses those of key files in use (n of 2^16 and more with
 * r = 1). Threading: pure. */
#ifndef CD_CRYPTO_SCRYPT_H
#define CD_CRYPTO_SCRYPT_H

#include "base/bytes.h"

/* The cost: n, a power of two from 2 to 2^31, blocks of 128 r bytes each, gone through p times. */
typedef struct cd_scrypt_cost {
    u64 n;
    u32 r;
    u32 p;
} cd_scrypt_cost;

/* cd_scrypt_mem gives the bytes that a cost takes, UINT64_MAX when they cannot be counted. */
u64 cd_scrypt_mem(const cd_scrypt_cost *cost);

/* cd_scrypt stretches a password into out_len bytes. The caller has bounded the cost.
 * Errors: CD_EINVAL for a cost that the RFC does not allow, CD_ENOMEM. */
cd_err cd_scrypt(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, const cd_scrypt_cost *cost) CD_CHECK;

#endif
