#include "num/modular.h"

#include "num/div.h"
#include "num/divcore.h"
#include "num/u512.h"

/* Subtracts m from x if the difference is not negative; carry is bit 256 of x. */
CD_INLINE void reduce_once(cd_u256 *x, bool carry, const cd_u256 *m)
{
    cd_u256 t;
    bool keep = cd__num_sub4(t.w, x->w, m->w) && !carry;
    x->w[0] = keep ? x->w[0] : t.w[0];
    x->w[1] = keep ? x->w[1] : t.w[1];
    x->w[2] = keep ? x->w[2] : t.w[2];
    x->w[3] = keep ? x->w[3] : t.w[3];
}

/* For operands that may be m or more. An operand whose top limb does not exceed that of m, itself not 0, is below
 * 2m: one subtraction reduces it. */
static CD_NOINLINE void addmod_slow(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m)
{
    cd_u512 sum = {.w = {0}};
    cd_u256 x;
    cd_u256 y;
    cd_u256_set(&x, a);
    cd_u256_set(&y, b);
    if (m->w[3] != 0 && x.w[3] <= m->w[3] && y.w[3] <= m->w[3]) {
        reduce_once(&x, false, m);
        reduce_once(&y, false, m);
        bool carry = cd__num_add4(x.w, x.w, y.w);
        reduce_once(&x, carry, m);
        cd_u256_set(out, &x);
        return;
    }
    sum.w[4] = cd__num_add4(sum.w, x.w, y.w);
    if (sum.w[4] != 0) {
        cd_u512_mod(out, &sum, m);
        return;
    }
    cd_u256 low = {.w = {sum.w[0], sum.w[1], sum.w[2], sum.w[3]}};
    cd_u256_mod(out, &low, m);
}

void cd_u256_addmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m)
{
    if (CD_UNLIKELY(!cd_u256_lt(a, m) || !cd_u256_lt(b, m))) {
        addmod_slow(out, a, b, m);
        return;
    }
    cd_u256 sum;
    bool carry = cd__num_add4(sum.w, a->w, b->w);
    reduce_once(&sum, carry, m);
    cd_u256_set(out, &sum);
}

/* Stores x mod (2^256 - 1), the sum of the two halves of x with its carry added at the bottom. Solidity's 512-bit
 * products use this modulus. */
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

/* Computes acc + x * y + *carry: gives the low word and stores the high one in *carry. */
CD_INLINE u64 mac(u64 acc, u64 x, u64 y, u64 *carry)
{
    u128 t = (u128)x * y + acc + *carry;
    *carry = (u64)(t >> 64);
    return (u64)t;
}

CD_INLINE u64 mul_hi(u64 x, u64 y)
{
    return (u64)((u128)x * y >> 64);
}

/* Stores the quotient of x by the modulus, or a value at most three below it: x from limb 3 on times the reciprocal
 * v, of which limbs 5 to 9 count. Of the products below limb 4 only the high halves are summed. */
CD_INLINE void barrett_quotient(u64 q[5], const u64 x[8], const u64 v[5])
{
    u64 c = mul_hi(x[3], v[3]);
    u64 p4 = mac(0, x[3], v[4], &c);
    u64 p5 = mac(0, x[4], v[4], &c);
    u64 p6 = mac(0, x[5], v[4], &c);
    u64 p7 = mac(0, x[6], v[4], &c);
    u64 p8 = mac(0, x[7], v[4], &c);
    u64 p9 = c;
    c = mul_hi(x[4], v[2]);
    p4 = mac(p4, x[4], v[3], &c);
    p5 = mac(p5, x[5], v[3], &c);
    p6 = mac(p6, x[6], v[3], &c);
    p7 = mac(p7, x[7], v[3], &c);
    u128 t = (u128)p8 + c;
    p8 = (u64)t;
    p9 += (u64)(t >> 64);
    c = mul_hi(x[5], v[1]);
    p4 = mac(p4, x[5], v[2], &c);
    p5 = mac(p5, x[6], v[2], &c);
    p6 = mac(p6, x[7], v[2], &c);
    t = (u128)p7 + c;
    p7 = (u64)t;
    t = (u128)p8 + (u64)(t >> 64);
    p8 = (u64)t;
    p9 += (u64)(t >> 64);
    c = mul_hi(x[6], v[0]);
    p4 = mac(p4, x[6], v[1], &c);
    p5 = mac(p5, x[7], v[1], &c);
    t = (u128)p6 + c;
    p6 = (u64)t;
    t = (u128)p7 + (u64)(t >> 64);
    p7 = (u64)t;
    t = (u128)p8 + (u64)(t >> 64);
    p8 = (u64)t;
    p9 += (u64)(t >> 64);
    c = 0;
    (void)mac(p4, x[7], v[0], &c);
    t = (u128)p5 + c;
    q[0] = (u64)t;
    t = (u128)p6 + (u64)(t >> 64);
    q[1] = (u64)t;
    t = (u128)p7 + (u64)(t >> 64);
    q[2] = (u64)t;
    t = (u128)p8 + (u64)(t >> 64);
    q[3] = (u64)t;
    q[4] = p9 + (u64)(t >> 64);
}

/* Barrett's reduction for m >= 2^192 with recip = floor((2^512 - 1) / m). The remainder before the
 * last subtractions is below 5m, so five limbs of x - q * m suffice. Source: Handbook of Applied
 * Cryptography, 14.42 and 14.44. */
static void barrett(cd_u256 *out, const cd_u512 *x, const cd_u256 *m, const u64 recip[5])
{
    u64 q[5];
    barrett_quotient(q, x->w, recip);
    u64 c = 0;
    u64 r[4];
    r[0] = mac(0, q[0], m->w[0], &c);
    r[1] = mac(0, q[0], m->w[1], &c);
    r[2] = mac(0, q[0], m->w[2], &c);
    r[3] = mac(0, q[0], m->w[3], &c);
    u64 top = c;
    c = 0;
    r[1] = mac(r[1], q[1], m->w[0], &c);
    r[2] = mac(r[2], q[1], m->w[1], &c);
    r[3] = mac(r[3], q[1], m->w[2], &c);
    top += q[1] * m->w[3] + c;
    c = 0;
    r[2] = mac(r[2], q[2], m->w[0], &c);
    r[3] = mac(r[3], q[2], m->w[1], &c);
    top += q[2] * m->w[2] + c;
    c = 0;
    r[3] = mac(r[3], q[3], m->w[0], &c);
    top += q[3] * m->w[1] + c + q[4] * m->w[0];
    top = x->w[4] - top - cd__num_sub4(r, x->w, r);
    while (CD_UNLIKELY(top != 0 || !cd__num_lt4(r, m->w))) {
        top -= cd__num_sub4(r, r, m->w);
    }
    out->w[0] = r[0];
    out->w[1] = r[1];
    out->w[2] = r[2];
    out->w[3] = r[3];
}

/* Finds m in the context; if it is not there, m replaces the modulus that came first, and the answer is NULL. */
static CD_NOINLINE cd_modulus *find_modulus(cd_modctx *c, const cd_u256 *m)
{
    for (u32 i = 0; i < CD_MODULI; i++) {
        if (cd_u256_eq(&c->known[i].m, m)) {
            c->last = i;
            return &c->known[i];
        }
    }
    cd_modulus *x = &c->known[c->next];
    c->last = c->next;
    c->next = (c->next + 1) % CD_MODULI;
    cd_u256_set(&x->m, m);
    x->has_recip = false;
    return NULL;
}

static CD_NOINLINE void make_reciprocal(cd_modulus *x)
{
    u64 ones[8];
    u64 rem[4];
    u64 q[5];
    memset(ones, 0xff, sizeof ones);
    cd__num_divide(q, rem, ones, 8, x->m.w, 4);
    memcpy(x->recip, q, sizeof q);
    x->has_recip = true;
}

/* Gives the reciprocal of m if the context knows m; else stores m there and gives NULL. */
CD_INLINE const u64 *reciprocal(cd_modctx *c, const cd_u256 *m)
{
    cd_modulus *x = &c->known[c->last];
    if (CD_UNLIKELY(!cd_u256_eq(&x->m, m))) {
        x = find_modulus(c, m);
        if (x == NULL) {
            return NULL;
        }
    }
    if (CD_UNLIKELY(!x->has_recip)) {
        make_reciprocal(x);
    }
    return x->recip;
}

void cd_u256_mulmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m, cd_modctx *cache)
{
    cd_u512 x;
    cd_u512_mul(&x, a, b);
    if ((x.w[4] | x.w[5] | x.w[6] | x.w[7]) == 0) {
        cd_u256 low = {.w = {x.w[0], x.w[1], x.w[2], x.w[3]}};
        cd_u256_mod(out, &low, m);
    } else if ((m->w[0] & m->w[1] & m->w[2] & m->w[3]) == UINT64_MAX) {
        mod_all_ones(out, &x);
    } else {
        const u64 *recip = cache != NULL && m->w[3] != 0 ? reciprocal(cache, m) : NULL;
        if (recip != NULL) {
            barrett(out, &x, m, recip);
        } else {
            cd_u512_mod(out, &x, m);
        }
    }
}
