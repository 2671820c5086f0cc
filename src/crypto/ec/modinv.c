#include "crypto/ec/modinv.h"

#include <string.h>

/* Bernstein-Yang "safegcd" divsteps [https://gcd.cr.yp.to], 62 at a time: each batch works on the low words of
 * f and g only and yields a 2x2 matrix, scaled by 2^62, which is then applied to the full numbers. Numbers
 * are five signed limbs of 62 bits. */
typedef struct s62 {
    i64 v[5];
} s62;

typedef struct matrix {
    i64 u, v, q, r;
} matrix;

typedef __int128 i128;

#define M62 ((u64)-1 >> 2)

/* Does 62 divsteps on the low words of f and g; eta is -delta of the paper. Gives the new eta. */
static i64 divsteps(matrix *t, i64 eta, u64 f, u64 g)
{
    u64 u = 1;
    u64 v = 0;
    u64 q = 0;
    u64 r = 1;
    int left = 62;
    for (;;) {
        /* Steps in which g is even only shift; the bits set from `left` on end the count at the end of the batch. */
        int zeros = __builtin_ctzll(g | (u64)-1 << left);
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        eta -= zeros;
        left -= zeros;
        if (left == 0) {
            break;
        }
        /* g is odd: swap if delta > 0, then clear as many low bits of g as are allowed at once. */
        u64 w;
        if (eta < 0) {
            u64 x;
            eta = -eta;
            x = f;
            f = g;
            g = 0 - x;
            x = u;
            u = q;
            q = 0 - x;
            x = v;
            v = r;
            r = 0 - x;
            int limit = (int)eta + 1 > left ? left : (int)eta + 1;
            u64 m = ((u64)-1 >> (64 - limit)) & 63;
            w = (f * g * (f * f - 2)) & m;
        } else {
            int limit = (int)eta + 1 > left ? left : (int)eta + 1;
            u64 m = ((u64)-1 >> (64 - limit)) & 15;
            w = f + (((f + 1) & 4) << 1);
            w = ((0 - w) * g) & m;
        }
        g += f * w;
        q += u * w;
        r += v * w;
    }
    *t = (matrix){.u = (i64)u, .v = (i64)v, .q = (i64)q, .r = (i64)r};
    return eta;
}

/* (f, g) = t * (f, g) / 2^62 over the low len limbs; the division is exact. */
static void update_fg(s62 *f, s62 *g, int len, const matrix *t)
{
    i128 cf = (i128)t->u * f->v[0] + (i128)t->v * g->v[0];
    i128 cg = (i128)t->q * f->v[0] + (i128)t->r * g->v[0];
    cf >>= 62;
    cg >>= 62;
    for (int i = 1; i < len; i++) {
        cf += (i128)t->u * f->v[i] + (i128)t->v * g->v[i];
        cg += (i128)t->q * f->v[i] + (i128)t->r * g->v[i];
        f->v[i - 1] = (i64)((u64)cf & M62);
        g->v[i - 1] = (i64)((u64)cg & M62);
        cf >>= 62;
        cg >>= 62;
    }
    f->v[len - 1] = (i64)cf;
    g->v[len - 1] = (i64)cg;
}

/* (d, e) = t * (d, e) / 2^62 mod m; both stay in (-2m, m). */
static void update_de(s62 *d, s62 *e, const matrix *t, const cd__modulus *m)
{
    i64 sd = d->v[4] >> 63;
    i64 se = e->v[4] >> 63;
    i64 md = (t->u & sd) + (t->v & se);
    i64 me = (t->q & sd) + (t->r & se);
    i128 cd = (i128)t->u * d->v[0] + (i128)t->v * e->v[0];
    i128 ce = (i128)t->q * d->v[0] + (i128)t->r * e->v[0];
    /* Choose the multiples of m that make the low 62 bits vanish. */
    md -= (i64)((m->inv62 * (u64)cd + (u64)md) & M62);
    me -= (i64)((m->inv62 * (u64)ce + (u64)me) & M62);
    cd += (i128)m->m[0] * md;
    ce += (i128)m->m[0] * me;
    cd >>= 62;
    ce >>= 62;
    for (int i = 1; i < 5; i++) {
        cd += (i128)t->u * d->v[i] + (i128)t->v * e->v[i] + (i128)m->m[i] * md;
        ce += (i128)t->q * d->v[i] + (i128)t->r * e->v[i] + (i128)m->m[i] * me;
        d->v[i - 1] = (i64)((u64)cd & M62);
        e->v[i - 1] = (i64)((u64)ce & M62);
        cd >>= 62;
        ce >>= 62;
    }
    d->v[4] = (i64)cd;
    e->v[4] = (i64)ce;
}

static void carry62(s62 *a)
{
    for (int i = 0; i < 4; i++) {
        a->v[i + 1] += a->v[i] >> 62;
        a->v[i] = (i64)((u64)a->v[i] & M62);
    }
}

/* normalize maps d in (-2m, m), negated when negative is set, into [0, m). */
static void normalize(s62 *d, bool negative, const cd__modulus *m)
{
    if (d->v[4] < 0) {
        for (int i = 0; i < 5; i++) {
            d->v[i] += m->m[i];
        }
    }
    if (negative) {
        for (int i = 0; i < 5; i++) {
            d->v[i] = -d->v[i];
        }
    }
    carry62(d);
    if (d->v[4] < 0) {
        for (int i = 0; i < 5; i++) {
            d->v[i] += m->m[i];
        }
        carry62(d);
    }
}

void cd__modinv(u64 out[4], const u64 a[4], const cd__modulus *m)
{
    s62 d = {{0}};
    s62 e = {{1}};
    s62 f;
    s62 g = {{(i64)(a[0] & M62), (i64)((a[0] >> 62 | a[1] << 2) & M62), (i64)((a[1] >> 60 | a[2] << 4) & M62),
              (i64)((a[2] >> 58 | a[3] << 6) & M62), (i64)(a[3] >> 56)}};
    memcpy(f.v, m->m, sizeof f.v);
    int len = 5;
    i64 eta = -1;
    for (;;) {
        matrix t;
        eta = divsteps(&t, eta, (u64)f.v[0] | (u64)f.v[1] << 62, (u64)g.v[0] | (u64)g.v[1] << 62);
        update_de(&d, &e, &t, m);
        update_fg(&f, &g, len, &t);
        i64 any = 0;
        for (int i = 0; i < len; i++) {
            any |= g.v[i];
        }
        if (any == 0) {
            break;
        }
        /* Drop the top limb once it is only a sign in both. */
        i64 fn = f.v[len - 1];
        i64 gn = g.v[len - 1];
        if (len > 1 && (fn == 0 || fn == -1) && (gn == 0 || gn == -1)) {
            f.v[len - 2] |= (i64)((u64)fn << 62);
            g.v[len - 2] |= (i64)((u64)gn << 62);
            len--;
        }
    }
    /* When a is 0 the batches leave d at 0, so the result is 0. */
    normalize(&d, f.v[len - 1] < 0, m);
    const u64 y[5] = {(u64)d.v[0], (u64)d.v[1], (u64)d.v[2], (u64)d.v[3], (u64)d.v[4]};
    out[0] = y[0] | y[1] << 62;
    out[1] = y[1] >> 2 | y[2] << 60;
    out[2] = y[2] >> 4 | y[3] << 58;
    out[3] = y[3] >> 6 | y[4] << 56;
}
