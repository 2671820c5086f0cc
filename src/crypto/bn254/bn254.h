/* crypto/bn254/bn254.h - the curve alt_bn128 as the EVM sees it: add, multiply, pairing check.
 *
 * Encodings follow EIP-196 and EIP-197: a G1 point is x || y, a G2 point x.c1 || x.c0 || y.c1 || y.c0,
 * every number 32 bytes big-endian and below the field prime; infinity is all zeros. Every input
 * point is checked to lie on its curve, a G2 point also in the group of prime order.
 * Data are public: nothing here is constant-time. Threading: pure. */
#ifndef CD_CRYPTO_BN254_H
#define CD_CRYPTO_BN254_H

#include "base/bytes.h"

/* cd_bn254_add adds two G1 points (in: P || Q). Errors: CD_EPOINT on a number that is not below the
 * prime or a point off the curve. out may overlap in. */
cd_err cd_bn254_add(u8 out[64], const u8 in[128]) CD_CHECK;

/* cd_bn254_mul multiplies a G1 point by a scalar (in: P || k, k any 256-bit number). Errors: CD_EPOINT.
 * out may overlap in. */
cd_err cd_bn254_mul(u8 out[64], const u8 in[96]) CD_CHECK;

/* cd_bn254_pairing sets *is_one to whether the product of e(P_i, Q_i) is one (in: pairs of a G1 and a
 * G2 point, 192 bytes each; none gives true). Errors: CD_EINVAL when in.n is no multiple of 192,
 * CD_EPOINT. Memory is constant in the number of pairs. */
cd_err cd_bn254_pairing(bool *is_one, cd_bytes in) CD_CHECK;

#endif
