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
    u64 mask = 0 - (u64)keep;
    for (int i = 0; i < 4; i++) {
        x->w[i] = (x->w[i] & mask) | (t.w[i] & ~mask);
    }
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

void cd_u256_mulmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m,
                    cd_modctx *cache)
{
    (void)cache;
    cd_u512 p;
    cd_u512_mul(&p, a, b);
    cd_u512_mod(out, &p, m);
}
