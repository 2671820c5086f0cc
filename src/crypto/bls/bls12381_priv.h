/* crypto/bls/bls12381_priv.h - what bls12381.c, bls.c and kzg.c share: blst, and a product of pairings.
 *
 * The only file that includes blst. Threading: pure; an accumulator is confined. */
#ifndef CD_CRYPTO_BLS12381_PRIV_H
#define CD_CRYPTO_BLS12381_PRIV_H

#include "base/bytes.h"

#include <blst.h>

#define CD__PAIRING_CHUNK 16

/* A product of pairings e(p_i, q_i), computed CD__PAIRING_CHUNK Miller loops at a time. */
typedef struct cd__pairing {
    blst_fp12 product;
    blst_p1_affine p[CD__PAIRING_CHUNK];
    blst_p2_affine q[CD__PAIRING_CHUNK];
    usize cnt;
} cd__pairing;

void cd__pairing_init(cd__pairing *a);

/* cd__pairing_add multiplies by e(p, q); a point at infinity contributes one. */
void cd__pairing_add(cd__pairing *a, const blst_p1_affine *p, const blst_p2_affine *q);

/* cd__pairing_is_one ends the product and says whether it is one. */
bool cd__pairing_is_one(cd__pairing *a);

#endif
