/* crypto/ec/p256.h - ECDSA verification over P-256 (secp256r1). Wraps OpenSSL. Threading: pure. [FIPS 186-5] */
#ifndef CD_CRYPTO_P256_H
#define CD_CRYPTO_P256_H

#include "base/bytes.h"

/* cd_p256_verify says whether sig (r || s, big-endian) is a signature of msg by pub (x || y); false for malformed
 * input too: numbers out of range, a point that is not on the curve. s may lie in the lower or the upper half of its
 * range. */
bool cd_p256_verify(const cd_hash32 *msg, const u8 sig[64], const u8 pub[64]) CD_CHECK;

/* cd_p256_is_point says whether x || y is a point of the curve, with coordinates below the field's prime. */
bool cd_p256_is_point(const u8 pub[64]) CD_CHECK;

#endif
