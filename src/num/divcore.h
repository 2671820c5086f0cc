/* num/divcore.h - the steps of long division shared by div.c, u512.c and modular.c (internal).
 *
 * Divisors are normalised (top bit set). A quotient digit comes from dividing the three leading limbs
 * by the two leading ones of the divisor with a precomputed reciprocal: two products, no hardware division.
 * Source: Moeller and Granlund, "Improved division by invariant integers", algorithms 3 to 5.
 * Threading: pure. */
#ifndef CD_NUM_DIVCORE_H
#define CD_NUM_DIVCORE_H

#include "num/limb.h"

/* cd__num_div2by1 divides hi:lo by d with hi < d: gives the quotient and stores the remainder. */
CD_INLINE u64 cd__num_div2by1(u64 *rem, u64 hi, u64 lo, u64 d)
{
#if CD__LIMB_ASM
    u64 q;
    __asm__("divq %[d]" : "=a"(q), "=d"(*rem) : "0"(lo), "1"(hi), [d] "r"(d) : "cc");
    return q;
#else
    u128 n = (u128)hi << 64 | lo;
    *rem = (u64)(n % d);
    return (u64)(n / d);
#endif
}

/* cd__num_recip2 gives floor((2^192 - 1) / d) - 2^64 for a normalised two-limb d. */
CD_INLINE u64 cd__num_recip2(u128 d)
{
    u64 d1 = (u64)(d >> 64);
    u64 d0 = (u64)d;
    u64 unused;
    u64 v = cd__num_div2by1(&unused, ~d1, UINT64_MAX, d1);
    u64 p = d1 * v + d0;
    if (p < d0) {
        v--;
        if (p >= d1) {
            v--;
            p -= d1;
        }
        p -= d1;
    }
    u128 t = (u128)v * d0;
    u64 hi = (u64)(t >> 64);
    p += hi;
    if (p < hi) {
        v--;
        if (((u128)p << 64 | (u64)t) >= d) {
            v--;
        }
    }
    return v;
}

/* cd__num_div3by2 divides top:low by d, whose reciprocal is v, and gives the quotient; top < d. The remainder
 * replaces *top. */
CD_INLINE u64 cd__num_div3by2(u128 *top, u64 low, u128 d, u64 v)
{
    u64 u2 = (u64)(*top >> 64);
    u64 u1 = (u64)*top;
    u128 q = (u128)v * u2 + *top;
    u64 q1 = (u64)(q >> 64);
    u64 r1 = u1 - q1 * (u64)(d >> 64);
    u128 r = ((u128)r1 << 64 | low) - (u128)(u64)d * q1 - d;
    q1++;
    /* The quotient is one too big about half of the time: a mask corrects it, as a branch would be mispredicted. */
    u64 mask = 0 - (u64)((u64)(r >> 64) >= (u64)q);
    q1 += mask;
    r += (u128)((u64)(d >> 64) & mask) << 64 | ((u64)d & mask);
    if (CD_UNLIKELY(r >= d)) {
        q1++;
        r -= d;
    }
    *top = r;
    return q1;
}

/* cd__num_mulsub subtracts q * d from u (n limbs each) and gives what is still to be subtracted from
 * the limb above. */
CD_INLINE u64 cd__num_mulsub(u64 *u, const u64 *d, u32 n, u64 q)
{
    u64 borrow = 0;
#pragma GCC unroll 4
    for (u32 i = 0; i < n; i++) {
        u128 p = (u128)q * d[i] + borrow;
        u64 lo = (u64)p;
        borrow = (u64)(p >> 64) + (u[i] < lo);
        u[i] -= lo;
    }
    return borrow;
}

/* cd__num_digit divides the window u[0..n] by the normalised d[0..n-1] (n >= 3), leaves the remainder
 * in u[0..n-1] and gives the quotient digit. u[1..n] < d as numbers of n limbs; v is the reciprocal of d's two top
 * limbs. */
CD_INLINE u64 cd__num_digit(u64 *u, const u64 *d, u32 n, u64 v)
{
    u128 dt = (u128)d[n - 1] << 64 | d[n - 2];
    u128 top = (u128)u[n] << 64 | u[n - 1];
    if (CD_UNLIKELY(top >= dt)) {
        /* Then top == dt, and the digit is 2^64 - 1: the lower limbs of d weigh less than one part
         * in 2^127. */
        (void)cd__num_mulsub(u, d, n, UINT64_MAX);
        return UINT64_MAX;
    }
    u64 q = cd__num_div3by2(&top, u[n - 2], dt, v);
    u64 borrow = cd__num_mulsub(u, d, n - 2, q);
    u128 rest = top - borrow;
    u[n - 2] = (u64)rest;
    u[n - 1] = (u64)(rest >> 64);
    if (CD_UNLIKELY(top < borrow)) {
        q--;
        u64 carry = 0;
        for (u32 i = 0; i < n; i++) {
            u128 t = (u128)u[i] + d[i] + carry;
            u[i] = (u64)t;
            carry = (u64)(t >> 64);
        }
    }
    return q;
}

/* cd__num_divide divides a[0..an-1] by the n >= 1 significant limbs of d (an >= n, an <= 8) and stores
 * the remainder in r[0..n-1]. The an - n + 1 quotient digits go to q unless that is NULL. In u512.c. */
void cd__num_divide(u64 *q, u64 *r, const u64 *a, u32 an, const u64 *d, u32 n);

/* cd__num_limbs gives the number of limbs of w[0..n-1] without leading zeros. */
CD_INLINE u32 cd__num_limbs(const u64 *w, u32 n)
{
    while (n > 0 && w[n - 1] == 0) {
        n--;
    }
    return n;
}

/* cd__num_up shifts w[0..n-1] left by s < 64 bits into r[0..n]. r may be w. */
CD_INLINE void cd__num_up(u64 *r, const u64 *w, u32 n, u32 s)
{
    u64 top = (w[n - 1] >> 1) >> (63 - s);
#pragma GCC unroll 4
    for (u32 i = n - 1; i > 0; i--) {
        r[i] = w[i] << s | ((w[i - 1] >> 1) >> (63 - s));
    }
    r[0] = w[0] << s;
    r[n] = top;
}

/* cd__num_down shifts w[0..n-1] right by s < 64 bits into r[0..n-1]. r may be w. */
CD_INLINE void cd__num_down(u64 *r, const u64 *w, u32 n, u32 s)
{
#pragma GCC unroll 4
    for (u32 i = 0; i + 1 < n; i++) {
        r[i] = w[i] >> s | ((w[i + 1] << 1) << (63 - s));
    }
    r[n - 1] = w[n - 1] >> s;
}

#endif
