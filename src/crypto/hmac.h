/* crypto/hmac.h - HMAC-SHA-512, and PBKDF2 over it and over HMAC-SHA-256, for key derivation (BIP-32, BIP-39, key files).
 * Wraps OpenSSL. Threading: pure. */
#ifndef CD_CRYPTO_HMAC_H
#define CD_CRYPTO_HMAC_H

#include "base/bytes.h"

/* cd_hmac_sha512 computes HMAC-SHA-512(key, data) (RFC 2104). */
void cd_hmac_sha512(u8 out[64], cd_bytes key, cd_bytes data);

/* cd_pbkdf2_sha512 and _sha256 stretch a password into out_len bytes (RFC 8018). rounds >= 1. */
void cd_pbkdf2_sha512(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds);
void cd_pbkdf2_sha256(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds);

#endif
