/* crypto/zk/scalar.h - numbers modulo the order of ristretto255, 2^252 + 27742317777372353535851937790883648493.
 *
 * Held in Montgomery form, always below the order. Nothing here branches on a value or uses one as an address.
 * Threading: pure. [RFC 9496, 4.4] */
#ifndef CD_CRYPTO_ZK_SCALAR_H
#define CD_CRYPTO_ZK_SCALAR_H

#include "base/bytes.h"

/* A scalar modulo the order of the group. */
typedef struct cd_scalar {
    u64 w[4]; /* the number times 2^256, least significant word first */
} cd_scalar;

extern const cd_scalar CD_SCALAR_ONE; /* 1 */

/* cd_scalar_get reads 32 bytes, least significant first. CD_ECANON when they are not below the order. */
cd_err cd_scalar_get(cd_scalar *out, const u8 in[32]) CD_CHECK;

/* cd_scalar_put writes the canonical 32 bytes. */
void cd_scalar_put(u8 out[32], const cd_scalar *a);

/* cd_scalar_wide reduces 64 bytes, least significant first: uniform bytes give a uniform scalar. */
cd_scalar cd_scalar_wide(const u8 in[64]);

/* Arithmetic modulo the order. */
cd_scalar cd_scalar_u64(u64 v);
cd_scalar cd_scalar_add(const cd_scalar *a, const cd_scalar *b);
cd_scalar cd_scalar_sub(const cd_scalar *a, const cd_scalar *b);
cd_scalar cd_scalar_neg(const cd_scalar *a);
cd_scalar cd_scalar_mul(const cd_scalar *a, const cd_scalar *b);
bool cd_scalar_eq(const cd_scalar *a, const cd_scalar *b);
bool cd_scalar_is_zero(const cd_scalar *a);

/* cd_scalar_inv gives 1/a, and 0 for 0. cd_scalar_inv_many inverts cnt numbers, none of them 0, in place. */
cd_scalar cd_scalar_inv(const cd_scalar *a);
void cd_scalar_inv_many(cd_scalar *a, usize cnt);

#endif
