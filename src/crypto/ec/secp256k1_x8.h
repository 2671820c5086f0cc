/* crypto/ec/secp256k1_x8.h - eight public-key recoveries side by side (internal to secp256k1_many.c).
 *
 * Each way computes u1 * G + u2 * R from the x of R and from signed digits of the scalars; u2 is split
 * in two halves, u2 = r[0] + r[1] * lambda, lambda being the curve's endomorphism. Data are public: time
 * and memory access depend on them. cd__secp_x8_run is for CPUs with cd__cpu.ifma only.
 * Threading: pure, the table is frozen. */
#ifndef CD_CRYPTO_SECP256K1_X8_H
#define CD_CRYPTO_SECP256K1_X8_H

#include "base/base.h"

enum {
    CD__SECP_WAYS = 8,
    CD__SECP_G_DIGITS = 32, /* base 256, -127 .. 128 */
    CD__SECP_R_DIGITS = 33, /* base 16, -7 .. 8 */
    CD__SECP_G_TABLE = 128,
};

/* The work of one batch; index 0 of the digits is the least significant, words likewise. */
typedef struct cd__secp_x8_job {
    u64 x[CD__SECP_WAYS][4]; /* below the field prime */
    bool want_odd[CD__SECP_WAYS];
    int16_t g[CD__SECP_G_DIGITS][CD__SECP_WAYS];
    int16_t r[2][CD__SECP_R_DIGITS][CD__SECP_WAYS];
} cd__secp_x8_job;

/* Points i * G and i * 2^128 * G for i = 1 .. 128, in the limbs of the vector code. */
typedef struct cd__secp_x8_table {
    u64 limb[2][10][CD__SECP_G_TABLE];
} cd__secp_x8_table;

/* cd__secp_x8_table_set stores entry i of half h; x || y big-endian. */
void cd__secp_x8_table_set(cd__secp_x8_table *t, int h, usize i, const u8 pub[64]);

/* cd__secp_x8_run writes x || y of each way and gives the set of ways that were computed; the others (there is no such
 * R, or a sum on the way was infinity) are for the one-by-one code to decide. */
u8 cd__secp_x8_run(u8 out[CD__SECP_WAYS][64], const cd__secp_x8_job *job, const cd__secp_x8_table *table);

#endif
