#include "num/div.h"

#include "num/divcore.h"

/* Stores a / d in q and gives a % d, for a one-limb d > 0. */
CD_INLINE u64 div_by_limb(u64 q[4], const u64 a[4], u64 d)
{
    u64 rem = 0;
    if ((a[1] | a[2] | a[3]) == 0) {
        u64 a0 = a[0];
        q[0] = a0 / d;
        q[1] = 0;
        q[2] = 0;
        q[3] = 0;
        return a0 % d;
    }
    if (a[3] >= d) {
        q[3] = cd__num_div2by1(&rem, 0, a[3], d);
    } else {
        rem = a[3];
        q[3] = 0;
    }
    q[2] = cd__num_div2by1(&rem, rem, a[2], d);
    q[1] = cd__num_div2by1(&rem, rem, a[1], d);
    q[0] = cd__num_div2by1(&rem, rem, a[0], d);
    return rem;
}

/* The next three functions divide by a d of exactly two, three or four limbs, for a >= d; they set all limbs of q
 * and r. */
CD_INLINE void div_by_2(u64 q[4], u64 r[4], const u64 a[4], const u64 d[4])
{
    u32 s = (u32)__builtin_clzll(d[1]);
    u64 u[5];
    u64 dn[3];
    cd__num_up(u, a, 4, s);
    cd__num_up(dn, d, 2, s);
    u128 dd = (u128)dn[1] << 64 | dn[0];
    u64 v = cd__num_recip2(dd);
    u128 top = (u128)u[4] << 64 | u[3];
    q[3] = 0;
    q[2] = 0;
    if (top != 0) {
        q[2] = cd__num_div3by2(&top, u[2], dd, v);
    } else {
        top = u[2];
    }
    q[1] = cd__num_div3by2(&top, u[1], dd, v);
    q[0] = cd__num_div3by2(&top, u[0], dd, v);
    top >>= s;
    r[0] = (u64)top;
    r[1] = (u64)(top >> 64);
    r[2] = 0;
    r[3] = 0;
}

CD_INLINE void div_by_3(u64 q[4], u64 r[4], const u64 a[4], const u64 d[4])
{
    u32 s = (u32)__builtin_clzll(d[2]);
    u64 u[5];
    u64 dn[4];
    cd__num_up(u, a, 4, s);
    cd__num_up(dn, d, 3, s);
    u64 v = cd__num_recip2((u128)dn[2] << 64 | dn[1]);
    q[3] = 0;
    q[2] = 0;
    q[1] = cd__num_digit(u + 1, dn, 3, v);
    q[0] = cd__num_digit(u, dn, 3, v);
    cd__num_down(r, u, 3, s);
    r[3] = 0;
}

CD_INLINE void div_by_4(u64 q[4], u64 r[4], const u64 a[4], const u64 d[4])
{
    u32 s = (u32)__builtin_clzll(d[3]);
    u64 u[5];
    u64 dn[5];
    cd__num_up(u, a, 4, s);
    cd__num_up(dn, d, 4, s);
    u64 v = cd__num_recip2((u128)dn[3] << 64 | dn[2]);
    q[3] = 0;
    q[2] = 0;
    q[1] = 0;
    q[0] = cd__num_digit(u, dn, 4, v);
    cd__num_down(r, u, 4, s);
}

/* quot or rem may be NULL: in a caller that passes NULL the compiler drops what computes it. */
CD_INLINE void divide(cd_u256 *quot, cd_u256 *rem, const cd_u256 *a, const cd_u256 *b)
{
    cd_u256 q;
    cd_u256 r;
    if ((b->w[1] | b->w[2] | b->w[3]) == 0) {
        q = cd_u256_zero();
        r = q;
        if (CD_LIKELY(b->w[0] != 0)) {
            r.w[0] = div_by_limb(q.w, a->w, b->w[0]);
        }
    } else if (cd_u256_lt(a, b)) {
        q = cd_u256_zero();
        cd_u256_set(&r, a);
    } else if (b->w[3] != 0) {
        div_by_4(q.w, r.w, a->w, b->w);
    } else if (b->w[2] != 0) {
        div_by_3(q.w, r.w, a->w, b->w);
    } else {
        div_by_2(q.w, r.w, a->w, b->w);
    }
    if (quot != NULL) {
        cd_u256_set(quot, &q);
    }
    if (rem != NULL) {
        cd_u256_set(rem, &r);
    }
}

void cd_u256_div(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    divide(out, NULL, a, b);
}

void cd_u256_mod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    divide(NULL, out, a, b);
}

void cd_u256_divmod(cd_u256 *quot, cd_u256 *rem, const cd_u256 *a, const cd_u256 *b)
{
    divide(quot, rem, a, b);
}

/* abs_of stores |a| and tells whether a was negative; |-2^255| is 2^255 as an unsigned number. */
CD_INLINE bool abs_of(cd_u256 *out, const cd_u256 *a)
{
    bool neg = cd_u256_is_neg(a);
    if (neg) {
        cd_u256_neg(out, a);
    } else {
        cd_u256_set(out, a);
    }
    return neg;
}

void cd_u256_sdiv(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    cd_u256 x;
    cd_u256 y;
    cd_u256 q;
    bool neg = abs_of(&x, a) != abs_of(&y, b);
    divide(&q, NULL, &x, &y);
    if (neg) {
        cd_u256_neg(out, &q);
    } else {
        cd_u256_set(out, &q);
    }
}

void cd_u256_smod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    cd_u256 x;
    cd_u256 y;
    cd_u256 r;
    bool neg = abs_of(&x, a);
    (void)abs_of(&y, b);
    divide(NULL, &r, &x, &y);
    if (neg) {
        cd_u256_neg(out, &r);
    } else {
        cd_u256_set(out, &r);
    }
}

u64 cd_u256_div_u64(cd_u256 *out, const cd_u256 *a, u64 d)
{
    cd_u256 q = cd_u256_zero();
    u64 rem = d != 0 ? div_by_limb(q.w, a->w, d) : 0;
    cd_u256_set(out, &q);
    return rem;
}
