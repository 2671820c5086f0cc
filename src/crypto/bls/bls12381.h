/* crypto/bls/bls12381.h - BLS12-381 group operations in the encodings of EIP-2537.
 *
 * A field element is 64 bytes big-endian (the top 16 zero), a G1 point x || y (128 bytes), a G2 point
 * x.c0 || x.c1 || y.c0 || y.c1 (256 bytes), a scalar 32 bytes (any value), infinity all zeros. Every
 * function takes exactly the precompile's input. Signatures are in crypto/bls/bls.h; both stand on blst,
 * which only crypto/bls/bls12381_priv.h includes.
 *
 * Errors of all functions: CD_EINVAL on an input length the operation does not have, CD_EPOINT on a
 * field element out of range, a point off the curve, or (multiplication and pairing only, as the EIP
 * has it) outside the group of prime order, CD_ENOMEM. Data are public: nothing here is constant-time.
 * Threading: pure. */
#ifndef CD_CRYPTO_BLS12381_H
#define CD_CRYPTO_BLS12381_H

#include "base/bytes.h"

/* The largest number of terms a sum of products accepts: far above what a block's gas can pay for. */
#define CD_BLS12381_MSM_MAX 65536u

/* cd_bls12381_g1_add / _g2_add add two points (in: P || Q). */
cd_err cd_bls12381_g1_add(u8 out[128], cd_bytes in) CD_CHECK;
cd_err cd_bls12381_g2_add(u8 out[256], cd_bytes in) CD_CHECK;

/* cd_bls12381_g1_msm / _g2_msm give the sum of k_i * P_i (in: P || k, 160 or 288 bytes each; at least
 * one, at most CD_BLS12381_MSM_MAX). */
cd_err cd_bls12381_g1_msm(u8 out[128], cd_bytes in) CD_CHECK;
cd_err cd_bls12381_g2_msm(u8 out[256], cd_bytes in) CD_CHECK;

/* cd_bls12381_pairing sets *is_one to whether the product of e(P_i, Q_i) is one (in: P || Q, 384 bytes
 * each, at least one). */
cd_err cd_bls12381_pairing(bool *is_one, cd_bytes in) CD_CHECK;

/* cd_bls12381_map_fp / _map_fp2 map a field element to a point of prime order (RFC 9380 section 6.6.3,
 * cofactor cleared). */
cd_err cd_bls12381_map_fp(u8 out[128], cd_bytes in) CD_CHECK;
cd_err cd_bls12381_map_fp2(u8 out[256], cd_bytes in) CD_CHECK;

#endif
