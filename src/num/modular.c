#include "num/modular.h"

#include "num/div.h"
#include "num/divcore.h"
#include "num/u512.h"

/* The sum of two numbers below 2^256 is at most one bit longer. */
static CD_NOINLINE void addmod_slow(cd_u256 *out, const cd_u256 *a, const cd_u256 *b,
                                    const cd_u256 *m)
{
    cd_u512 sum = {.w = {0}};
    sum.w[4] = cd__num_add4(sum.w, a->w, b->w);
    if (sum.w[4] != 0) {
        cd_u512_mod(out, &sum, m);
        return;
    }
    cd_u256 low = {.w = {sum.w[0], sum.w[1], sum.w[2], sum.w[3]}};
    cd_u256_mod(out, &low, m);
}

/* x - m when that is not negative, else x; carry is the bit above x. */
CD_INLINE void reduce_once(cd_u256 *x, bool carry, const cd_u256 *m)
{
    cd_u256 t;
    bool keep = cd__num_sub4(t.w, x->w, m->w) && !carry;
    x->w[0] = keep ? x->w[0] : t.w[0];
    x->w[1] = keep ? x->w[1] : t.w[1];
    x->w[2] = keep ? x->w[2] : t.w[2];
    x->w[3] = keep ? x->w[3] : t.w[3];
}

void cd_u256_addmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m)
{
    /* Operands whose top limb does not exceed the modulus's are below 2m: one subtraction reduces
     * each, and one more the sum. */
    if (CD_LIKELY(m->w[3] != 0 && a->w[3] <= m->w[3] && b->w[3] <= m->w[3])) {
        cd_u256 x;
        cd_u256 y;
        cd_u256_set(&x, a);
        cd_u256_set(&y, b);
        reduce_once(&x, false, m);
        reduce_once(&y, false, m);
        cd_u256 sum;
        bool carry = cd__num_add4(sum.w, x.w, y.w);
        reduce_once(&sum, carry, m);
        cd_u256_set(out, &sum);
        return;
    }
    addmod_slow(out, a, b, m);
}

/* x mod 2^256 - 1: the two halves added, carries coming round. Solidity's 512-bit product uses it. */
static void mod_all_ones(cd_u256 *out, const cd_u512 *x)
{
    cd_u256 sum;
    bool carry = cd__num_add4(sum.w, x->w, x->w + 4);
    (void)cd_u256_add_u64(&sum, &sum, carry);
    cd_u256 ones = cd_u256_max();
    cd_u256_set_u64(out, 0);
    if (!cd_u256_eq(&sum, &ones)) {
        cd_u256_set(out, &sum);
    }
}

/* One step of a column-wise product: acc + x * y + *carry. */
CD_INLINE u64 mac(u64 acc, u64 x, u64 y, u64 *carry)
{
    u128 t = (u128)x * y + acc + *carry;
    *carry = (u64)(t >> 64);
    return (u64)t;
}

/* Barrett's reduction for m >= 2^192 with recip = floor((2^512 - 1) / m). The quotient is estimated
 * from the top five limbs of x, leaving out the parts of the product below its fourth limb; it is at
 * most four too small, so the remainder fits five limbs. Source: Handbook of Applied Cryptography,
 * 14.42 and 14.44. */
static void barrett(cd_u256 *out, const cd_u512 *x, const cd_u256 *m, const u64 recip[5])
{
    u64 p[10] = {0};
    for (u32 i = 0; i < 5; i++) {
        u64 carry = 0;
#pragma GCC unroll 5
        for (u32 j = i < 3 ? 3 - i : 0; j < 5; j++) {
            p[i + j] = mac(p[i + j], x->w[3 + i], recip[j], &carry);
        }
        p[i + 5] = carry;
    }
    const u64 *q = p + 5;
    u64 r[5] = {0};
    for (u32 i = 0; i < 5; i++) {
        u64 carry = 0;
        for (u32 j = 0; j < 4 && i + j < 5; j++) {
            r[i + j] = mac(r[i + j], q[i], m->w[j], &carry);
        }
        if (i == 0) {
            r[4] = carry;
        }
    }
    u64 top = x->w[4] - r[4] - cd__num_sub4(r, x->w, r);
    while (CD_UNLIKELY(top != 0 || !cd__num_lt4(r, m->w))) {
        top -= cd__num_sub4(r, r, m->w);
    }
    for (u32 i = 0; i < 4; i++) {
        out->w[i] = r[i];
    }
}

/* Makes the reciprocal ready when this modulus was seen the last time, too. */
static bool use_reciprocal(cd_modctx *c, const cd_u256 *m)
{
    if (CD_UNLIKELY(!cd_u256_eq(&c->modulus, m))) {
        cd_u256_set(&c->modulus, m);
        c->uses = 1;
        return false;
    }
    if (CD_UNLIKELY(c->uses == 1)) {
        u64 ones[8];
        u64 rem[4];
        u64 q[5];
        memset(ones, 0xff, sizeof ones);
        cd__num_divide(q, rem, ones, 8, m->w, 4);
        memcpy(c->recip, q, sizeof q);
        c->uses = 2;
    }
    return true;
}

void cd_u256_mulmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m,
                    cd_modctx *cache)
{
    cd_u512 x;
    cd_u512_mul(&x, a, b);
    if ((x.w[4] | x.w[5] | x.w[6] | x.w[7]) == 0) {
        cd_u256 low = {.w = {x.w[0], x.w[1], x.w[2], x.w[3]}};
        cd_u256_mod(out, &low, m);
    } else if ((m->w[0] & m->w[1] & m->w[2] & m->w[3]) == UINT64_MAX) {
        mod_all_ones(out, &x);
    } else if (cache != NULL && m->w[3] != 0 && use_reciprocal(cache, m)) {
        barrett(out, &x, m, cache->recip);
    } else {
        cd_u512_mod(out, &x, m);
    }
}
