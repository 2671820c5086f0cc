/* crypto/mont.h - products of limb vectors modulo an odd number or a power of two (internal).
 *
 * A ring is an odd modulus with Montgomery's representation (x stands for x * 2^(64 n)), or the words
 * modulo 2^(64 n) as they are. Vectors have n limbs, least significant first, and are reduced.
 * Not constant-time. Threading: confined (a ring's scratch). Source: Handbook of Applied
 * Cryptography, 14.3.2. */
#ifndef CD_CRYPTO_MONT_H
#define CD_CRYPTO_MONT_H

#include "base/base.h"

typedef struct cd__ring {
    const u64 *m; /* the odd modulus; NULL = 2^(64 n) */
    usize n;
    u64 inv;      /* -1 / m modulo 2^64 */
    u64 *scratch; /* 2 n limbs */
} cd__ring;

/* cd__mont_inv64 gives 1 / m modulo 2^64 for an odd m. */
u64 cd__mont_inv64(u64 m);

/* r = a * b and r = a * a in the ring; r may be an operand. */
void cd__ring_mul(const cd__ring *g, u64 *r, const u64 *a, const u64 *b);
void cd__ring_sqr(const cd__ring *g, u64 *r, const u64 *a);

/* cd__ring_leave turns Montgomery's representation into the number; nothing happens modulo 2^(64 n). */
void cd__ring_leave(const cd__ring *g, u64 *r);

/* Plain vectors: r[0..n-1] += a * x, giving the carry; r[0..2n-1] = a * b, r no operand. */
u64 cd__limbs_addmul(u64 *r, const u64 *a, usize n, u64 x);
void cd__limbs_mul(u64 *r, const u64 *a, usize an, const u64 *b, usize bn);

/* r = a + b and r = a - b over n limbs, giving the carry or borrow. */
bool cd__limbs_add(u64 *r, const u64 *a, const u64 *b, usize n);
bool cd__limbs_sub(u64 *r, const u64 *a, const u64 *b, usize n);

#endif
