/* crypto/hash/argon2id.h - Argon2id (RFC 9106), which makes guessing passwords cost memory and time. By libargon2:
 * libsodium's has one lane only, and users' passwords of other nodes were stretched with four.
 * Threading: pure; one thread works, however many lanes there are. */
#ifndef CD_CRYPTO_ARGON2ID_H
#define CD_CRYPTO_ARGON2ID_H

#include "base/bytes.h"

/* The cost: passes over KiB of memory, in so many lanes. */
typedef struct cd_argon2id_cost {
    u32 passes;
    u32 memory_kib;
    u32 lanes;
} cd_argon2id_cost;

/* cd_argon2id stretches a password into out_len bytes. The caller has bounded the cost.
 * Errors: CD_EINVAL for a cost or lengths that the RFC does not allow (a salt has 8 bytes at least), CD_ENOMEM. */
cd_err cd_argon2id(u8 *out, u32 out_len, cd_bytes password, cd_bytes salt, const cd_argon2id_cost *cost) CD_CHECK;

#endif
