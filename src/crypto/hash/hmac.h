/* crypto/hash/hmac.h - HMAC-SHA-512, and PBKDF2 over it and over HMAC-SHA-256, for key derivation (BIP-32, BIP-39,
 * key files); HMAC-SHA-256 for many short messages under one key. Wraps OpenSSL, except the last. Threading: pure. */
#ifndef CD_CRYPTO_HMAC_H
#define CD_CRYPTO_HMAC_H

#include "crypto/hash/sha2.h"

/* cd_hmac_sha512 computes HMAC-SHA-512(key, data) (RFC 2104). */
void cd_hmac_sha512(u8 out[64], cd_bytes key, cd_bytes data);

/* A key of HMAC-SHA-256 whose two padded blocks are hashed already; as secret as the key. */
typedef struct cd_hmac_sha256_key {
    cd_sha256_ctx inner, outer;
} cd_hmac_sha256_key;

/* cd_hmac_sha256_init makes a key ready. cd_hmac_sha256_parts computes HMAC-SHA-256 of the parts one behind the
 * other. */
void cd_hmac_sha256_init(cd_hmac_sha256_key *out, cd_bytes key);
void cd_hmac_sha256_parts(u8 out[32], const cd_hmac_sha256_key *key, const cd_bytes *parts, usize cnt);

/* cd_pbkdf2_sha512 and _sha256 stretch a password into out_len bytes (RFC 8018). rounds >= 1. */
void cd_pbkdf2_sha512(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds);
void cd_pbkdf2_sha256(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds);

#endif
