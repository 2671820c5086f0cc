/* crypto/zk/ristretto.h - the group ristretto255 [RFC 9496]: points, their 32 bytes, and multiples of one point.
 *
 * Two kinds of work, two sources: what has a secret scalar (cd_point_mul) and the map from bytes to points are
 * libsodium's, in constant time; what a verifier does by the hundred is ours, in coordinates that libsodium keeps to
 * itself (sums of many multiples: crypto/zk/msm.h). A point is any of four that stand for one element of the group:
 * compare with cd_point_eq, never byte by byte. Threading: pure. */
#ifndef CD_CRYPTO_ZK_RISTRETTO_H
#define CD_CRYPTO_ZK_RISTRETTO_H

#include "crypto/zk/fe25519.h"
#include "crypto/zk/scalar.h"

/* The element (x/z, y/z) with t = xy/z; all limbs reduced. */
typedef struct cd_point {
    cd__fe x, y, z, t;
} cd_point;

extern const cd_point CD_POINT_ZERO; /* the identity */
extern const cd_point CD_POINT_BASE; /* the generator */

/* cd_point_get decodes. CD_EPOINT for bytes that are not the canonical form of an element; 32 zeros are the
 * identity. */
cd_err cd_point_get(cd_point *out, const u8 in[32]) CD_CHECK;

/* cd_point_put encodes. */
void cd_point_put(u8 out[32], const cd_point *a);

/* Sums, differences and negatives of points; whether two points stand for the same element, or one for the identity. */
void cd_point_add(cd_point *out, const cd_point *a, const cd_point *b);
void cd_point_sub(cd_point *out, const cd_point *a, const cd_point *b);
void cd_point_neg(cd_point *out, const cd_point *a);
bool cd_point_eq(const cd_point *a, const cd_point *b);
bool cd_point_is_zero(const cd_point *a);

/* cd_point_map takes 64 uniform bytes to a uniform element (the one-way map). */
void cd_point_map(cd_point *out, const u8 in[64]);

/* cd_point_mul multiplies in constant time, for secret scalars; the point is public. */
void cd_point_mul(cd_point *out, const cd_scalar *k, const cd_point *a);

/* cd_pedersen_base is the second base of commitments, the map of SHA3-512 of the encoding of the first: nobody knows
 * its logarithm. cd_pedersen commits: value * base + blinding * second base, in constant time [spec:adx#5.1]. */
void cd_pedersen_base(cd_point *out);
void cd_pedersen(cd_point *out, const cd_scalar *value, const cd_scalar *blinding);

#endif
