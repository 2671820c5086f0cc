#include "num/u512.h"

#include "num/divcore.h"

/* Divides u[0..un] by dn[0..n-1], both shifted up so that the top bit of dn is set; u[un] is below dn[n-1]. The
 * quotient digits go to q unless that is NULL; the remainder stays in u[0..n-1]. */
static void long_div(u64 *q, u64 *u, u32 un, const u64 *dn, u32 n)
{
    if (n == 1) {
        u64 rem = u[un];
        for (u32 i = un; i-- > 0;) {
            u64 digit = cd__num_div2by1(&rem, rem, u[i], dn[0]);
            if (q != NULL) {
                q[i] = digit;
            }
        }
        u[0] = rem;
        return;
    }
    u128 dt = (u128)dn[n - 1] << 64 | dn[n - 2];
    u64 v = cd__num_recip2(dt);
    if (n == 2) {
        u128 top = (u128)u[un] << 64 | u[un - 1];
        for (u32 i = un - 1; i-- > 0;) {
            u64 digit = cd__num_div3by2(&top, u[i], dt, v);
            if (q != NULL) {
                q[i] = digit;
            }
        }
        u[0] = (u64)top;
        u[1] = (u64)(top >> 64);
        return;
    }
    for (u32 i = un - n + 1; i-- > 0;) {
        u64 digit = n == 4 ? cd__num_digit(u + i, dn, 4, v) : cd__num_digit(u + i, dn, 3, v);
        if (q != NULL) {
            q[i] = digit;
        }
    }
}

void cd__num_divide(u64 *q, u64 *r, const u64 *a, u32 an, const u64 *d, u32 n)
{
    u32 s = (u32)__builtin_clzll(d[n - 1]);
    u64 u[9];
    u64 dn[5];
    cd__num_up(u, a, an, s);
    cd__num_up(dn, d, n, s);
    long_div(q, u, an, dn, n);
    cd__num_down(r, u, n, s);
}

void cd_u512_mod(cd_u256 *out, const cd_u512 *a, const cd_u256 *m)
{
    u32 n = cd__num_limbs(m->w, 4);
    u32 an = cd__num_limbs(a->w, 8);
    cd_u256 r = cd_u256_zero();
    if (n != 0 && an >= n) {
        cd__num_divide(NULL, r.w, a->w, an, m->w, n);
    } else if (n != 0) {
        for (u32 i = 0; i < an; i++) {
            r.w[i] = a->w[i];
        }
    }
    cd_u256_set(out, &r);
}

bool cd_u512_div(cd_u256 *out, const cd_u512 *a, const cd_u256 *d)
{
    u32 n = cd__num_limbs(d->w, 4);
    u32 an = cd__num_limbs(a->w, 8);
    u64 q[8] = {0};
    if (n != 0 && an >= n) {
        u64 r[4];
        cd__num_divide(q, r, a->w, an, d->w, n);
    }
    for (int i = 0; i < 4; i++) {
        out->w[i] = q[i];
    }
    return n != 0 && (q[4] | q[5] | q[6] | q[7]) == 0;
}

bool cd_u256_muldiv(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *d)
{
    cd_u512 p;
    cd_u256 q;
    cd_u512_mul(&p, a, b);
    if (!cd_u512_div(&q, &p, d)) {
        return false;
    }
    cd_u256_set(out, &q);
    return true;
}
