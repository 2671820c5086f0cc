/* crypto/ec/modinv.h - inverses modulo a 256-bit prime, in time that depends on the input (internal).
 *
 * For public data only. Threading: pure. */
#ifndef CD_CRYPTO_MODINV_H
#define CD_CRYPTO_MODINV_H

#include "base/base.h"

/* An odd modulus above 2^252 as five words of 62 bits, and its inverse mod 2^62. */
typedef struct cd__modulus {
    i64 m[5];
    u64 inv62;
} cd__modulus;

/* cd__modinv gives 1/a mod m for a < m, and 0 for 0; four words, least significant first. */
void cd__modinv(u64 out[4], const u64 a[4], const cd__modulus *m);

#endif
