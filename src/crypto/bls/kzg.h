/* crypto/bls/kzg.h - KZG commitments over BLS12-381 (EIP-4844): the point evaluation check.
 *
 * Verification needs one point of the trusted setup and costs one two-pair pairing check with prepared
 * lines; nothing is loaded. Scalars are 32 bytes big-endian below the group order, points 48 bytes
 * compressed. Threading: shared (the prepared lines are made once, on first use). */
#ifndef CD_CRYPTO_KZG_H
#define CD_CRYPTO_KZG_H

#include "base/bytes.h"

/* cd_kzg_verify_proof sets *ok to whether the polynomial committed to takes the value y at z.
 * Errors: CD_EPOINT on a malformed point or one outside the group, CD_ERANGE on a scalar not below the
 * group order. */
cd_err cd_kzg_verify_proof(bool *ok, const u8 commitment[48], const u8 z[32], const u8 y[32],
                           const u8 proof[48]) CD_CHECK;

/* cd_kzg_versioned_hash gives 0x01 || sha256(commitment)[1..31]. */
void cd_kzg_versioned_hash(cd_hash32 *out, const u8 commitment[48]);

#endif
