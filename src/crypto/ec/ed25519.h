/* crypto/ec/ed25519.h - Ed25519 signatures (RFC 8032). Wraps OpenSSL. Threading: pure. */
#ifndef CD_CRYPTO_ED25519_H
#define CD_CRYPTO_ED25519_H

#include "base/bytes.h"

/* cd_ed25519_public gives the public key of a secret seed. */
void cd_ed25519_public(u8 out[32], const u8 seed[32]);

/* cd_ed25519_sign signs a message; the same message gets the same signature. */
void cd_ed25519_sign(u8 out[64], const u8 seed[32], cd_bytes message);

/* cd_ed25519_verify: CD_OK, or CD_ESIG. */
cd_err cd_ed25519_verify(const u8 public[32], const u8 signature[64], cd_bytes message) CD_CHECK;

#endif
