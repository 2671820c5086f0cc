#include "crypto/bn254/bn254_priv.h"
#include "crypto/bn254/x8.h"
#include "crypto/cpu.h"

/* The optimal ate pairing: with x = 4965661367192848881,
 *   f = f_{6x+2,Q}(P) * l_{[6x+2]Q, psi(Q)}(P) * l_{[6x+2]Q + psi(Q), -psi^2(Q)}(P),
 * psi being the Frobenius map carried over to the twist. [https://eprint.iacr.org/2010/354] */

/* A point of the twist in homogeneous coordinates: (X/Z, Y/Z). Once Z is 0 it stays so. */
typedef struct proj {
    fp2 x, y, z;
} proj;

/* 6x + 2 in non-adjacent form below the leading one, most significant digit first. */
static const int8_t LOOP[65] = {0, -1, 0, 1,  0, 0, 0, -1, 0, -1, 0,  0, 0,  -1, 0, 1, 0, -1, 0, 0, -1, 0,
                                0, 0,  0, 0,  1, 0, 0, -1, 0, 1,  0,  0, -1, 0,  0, 0, 0, -1, 0, 1, 0,  0,
                                0, -1, 0, -1, 0, 0, 1, 0,  0, 0,  -1, 0, 0,  -1, 0, 1, 0, 1,  0, 0, 0};

/* line_dbl doubles t and gives the tangent's line; coefficients still lack the factors of P. */
static void line_dbl(fp12_line *l, proj *t)
{
    /* 3 * 3 / xi. */
    static const fp2 b3 = {{{0x3baa927cb62e0d6a, 0xd71e7c52d1b664fd, 0x03873e63d95d4664, 0x0e75b5b1082ab8f4}},
                           {{0xaab7c6667596fe35, 0x31d21a78bb6a27ba, 0x85dd7297680401ff, 0x03c52d6adf39a7e9}}};
    fp2 a;
    fp2 b;
    fp2 c;
    fp2 e;
    fp2 f;
    fp2 g;
    fp2 h;
    cd__bn254_fp2_mul(&a, &t->x, &t->y); /* a = XY / 2 */
    fp_half(&a.c0, &a.c0);
    fp_half(&a.c1, &a.c1);
    cd__bn254_fp2_sqr(&b, &t->y);
    cd__bn254_fp2_sqr(&c, &t->z);
    cd__bn254_fp2_mul(&e, &c, &b3); /* e = 3 b' Z^2 */
    fp2_dbl(&f, &e);
    fp2_add(&f, &f, &e);
    fp2_add(&g, &b, &f); /* g = (b + f) / 2 */
    fp_half(&g.c0, &g.c0);
    fp_half(&g.c1, &g.c1);
    fp2_add(&h, &t->y, &t->z); /* h = 2YZ */
    cd__bn254_fp2_sqr(&h, &h);
    fp2_sub(&h, &h, &b);
    fp2_sub(&h, &h, &c);

    cd__bn254_fp2_sqr(&c, &t->x); /* line: h yP - 3X^2 xP w + (b - e) v w */
    fp2_dbl(&l->c3, &c);
    fp2_add(&l->c3, &l->c3, &c);
    fp2_neg(&l->c3, &l->c3);
    l->c0 = h;
    fp2_sub(&l->c4, &b, &e);

    fp2_sub(&f, &b, &f);
    cd__bn254_fp2_mul(&t->x, &a, &f);
    cd__bn254_fp2_sqr(&c, &e);
    fp2_dbl(&e, &c);
    fp2_add(&e, &e, &c);
    cd__bn254_fp2_sqr(&g, &g);
    fp2_sub(&t->y, &g, &e);
    cd__bn254_fp2_mul(&t->z, &b, &h);
}

/* line_add adds the affine point (x, y) to t and gives the chord's line. */
static void line_add(fp12_line *l, proj *t, const fp2 *x, const fp2 *y)
{
    fp2 o;
    fp2 d;
    fp2 e;
    fp2 f;
    fp2 g;
    fp2 h;
    fp2 m;
    cd__bn254_fp2_mul(&m, y, &t->z);
    fp2_sub(&o, &t->y, &m); /* slope = o / d */
    cd__bn254_fp2_mul(&m, x, &t->z);
    fp2_sub(&d, &t->x, &m);

    cd__bn254_fp2_mul(&e, &o, x); /* line: d yP - o xP w + (o x - d y) v w */
    cd__bn254_fp2_mul(&f, &d, y);
    fp2_sub(&l->c4, &e, &f);
    l->c0 = d;
    fp2_neg(&l->c3, &o);

    cd__bn254_fp2_sqr(&f, &o);
    cd__bn254_fp2_mul(&f, &f, &t->z); /* f = Z o^2 */
    cd__bn254_fp2_sqr(&g, &d);
    cd__bn254_fp2_mul(&e, &g, &d);    /* e = d^3 */
    cd__bn254_fp2_mul(&g, &g, &t->x); /* g = X d^2 */
    fp2_add(&h, &e, &f);
    fp2_sub(&h, &h, &g);
    fp2_sub(&h, &h, &g);
    cd__bn254_fp2_mul(&t->x, &d, &h);
    fp2_sub(&g, &g, &h);
    cd__bn254_fp2_mul(&g, &g, &o);
    cd__bn254_fp2_mul(&m, &e, &t->y);
    fp2_sub(&t->y, &g, &m);
    cd__bn254_fp2_mul(&t->z, &t->z, &e);
}

/* psi carries (x, y) to its p-power Frobenius image: (conj(x) xi^((p-1)/3), conj(y) xi^((p-1)/2)). */
static void psi(fp2 *x, fp2 *y)
{
    static const fp2 gx = {{{0xb5773b104563ab30, 0x347f91c8a9aa6454, 0x7a007127242e0991, 0x1956bcd8118214ec}},
                           {{0x6e849f1ea0aa4757, 0xaa1c7b6d89f89141, 0xb6e713cdfae0ca3a, 0x26694fbb4e82ebc3}}};
    static const fp2 gy = {{{0xe4bbdd0c2936b629, 0xbb30f162e133bacb, 0x31a9d1b6f9645366, 0x253570bea500f8dd}},
                           {{0xa1d77ce45ffe77c7, 0x07affd117826d1db, 0x6d16bd27bb7edc6b, 0x2c87200285defecc}}};
    fp2_conj(x, x);
    cd__bn254_fp2_mul(x, x, &gx);
    fp2_conj(y, y);
    cd__bn254_fp2_mul(y, y, &gy);
}

/* One pair inside the loop. use is false when P is infinity: then Q is only checked. */
typedef struct pair {
    proj t;
    fp2 x, y, neg_y; /* Q */
    fp px, py;
    bool use;
} pair;

/* The running product of lines, in vector ways on CPUs that have them. The scalar code multiplies two lines together
 * before it multiplies f by them. */
typedef struct acc {
    cd__fp12v v;
    fp12 f;
    fp12_line held;
    bool has_held;
    bool use_ways;
} acc;

static void acc_init(acc *s)
{
    s->use_ways = cd__cpu.ifma;
    s->has_held = false;
    if (s->use_ways) {
        cd__bn254_x8_one(&s->v);
    } else {
        s->f = CD__BN254_FP12_ONE;
    }
}

static void acc_line(acc *s, fp12_line *l, const pair *p)
{
    if (!p->use) {
        return;
    }
    fp2_scale(&l->c0, &l->c0, &p->py);
    fp2_scale(&l->c3, &l->c3, &p->px);
    if (s->use_ways) {
        cd__bn254_x8_mul_line(&s->v, l);
        return;
    }
    if (s->has_held) {
        cd__bn254_fp12_mul_lines(&s->f, &s->held, l);
    } else {
        s->held = *l;
    }
    s->has_held = !s->has_held;
}

static void acc_flush(acc *s)
{
    if (s->has_held) {
        cd__bn254_fp12_mul_line(&s->f, &s->held);
        s->has_held = false;
    }
}

static void acc_sqr(acc *s)
{
    acc_flush(s);
    if (s->use_ways) {
        cd__bn254_x8_sqr(&s->v);
    } else {
        cd__bn254_fp12_sqr(&s->f, &s->f);
    }
}

/* acc_end multiplies f by the product, up to a factor in fp. */
static void acc_end(acc *s, fp12 *f)
{
    acc_flush(s);
    if (s->use_ways) {
        cd__bn254_x8_get(&s->f, &s->v);
    }
    cd__bn254_fp12_mul(f, f, &s->f);
}

/* finish takes the two Frobenius steps and says whether Q has prime order. That is so exactly when
 * [6x+2]Q + psi(Q) - psi^2(Q) + psi^3(Q) = 0: the endomorphism's norm is prime to the twist's cofactor
 * [https://eprint.iacr.org/2022/352], so the check needs nothing beyond the point of the loop. */
static bool finish(acc *s, pair *p)
{
    fp12_line l;
    fp2 x = p->x;
    fp2 y = p->y;
    psi(&x, &y);
    line_add(&l, &p->t, &x, &y);
    acc_line(s, &l, p);
    psi(&x, &y);
    fp2_neg(&y, &y);
    line_add(&l, &p->t, &x, &y);
    acc_line(s, &l, p);
    psi(&x, &y); /* -psi^3(Q) */
    cd__bn254_fp2_mul(&x, &x, &p->t.z);
    cd__bn254_fp2_mul(&y, &y, &p->t.z);
    return !fp2_is_zero(&p->t.z) && fp2_eq(&x, &p->t.x) && fp2_eq(&y, &p->t.y);
}

bool cd__bn254_miller(fp12 *f, const g1 *ps, const g2 *qs, usize cnt)
{
    pair pairs[CD__BN254_CHUNK];
    usize n = 0;
    CD_ASSERT(cnt <= CD__BN254_CHUNK);
    for (usize i = 0; i < cnt; i++) {
        if (qs[i].is_inf) {
            continue;
        }
        pair *p = &pairs[n++];
        *p = (pair){.t = {.x = qs[i].x, .y = qs[i].y, .z.c0 = FP_ONE},
                    .x = qs[i].x,
                    .y = qs[i].y,
                    .px = ps[i].x,
                    .py = ps[i].y,
                    .use = !ps[i].is_inf};
        fp2_neg(&p->neg_y, &p->y);
    }
    if (n == 0) {
        return true;
    }

    acc s;
    fp12_line l;
    acc_init(&s);
    for (usize i = 0; i < CD_COUNT(LOOP); i++) {
        if (i != 0) {
            acc_sqr(&s);
        }
        for (usize j = 0; j < n; j++) {
            line_dbl(&l, &pairs[j].t);
            acc_line(&s, &l, &pairs[j]);
        }
        for (usize j = 0; LOOP[i] != 0 && j < n; j++) {
            pair *p = &pairs[j];
            line_add(&l, &p->t, &p->x, LOOP[i] > 0 ? &p->y : &p->neg_y);
            acc_line(&s, &l, p);
        }
    }
    bool in_group = true;
    for (usize j = 0; j < n; j++) {
        in_group &= finish(&s, &pairs[j]);
    }
    acc_end(&s, f);
    return in_group;
}

/* pow_x: r = a^x for a in the cyclotomic subgroup, signed windows of width 4. */
static void pow_x(fp12 *r, const fp12 *a)
{
    static const int8_t digits[63] = {1, 0, 0, 0,  0,  0, 5, 0,  0, 0, 0, -3, 0, 0, 0, 3, 0,  0, 0, 0, 5,
                                      0, 0, 0, -5, 0,  0, 0, -3, 0, 0, 0, 1,  0, 0, 0, 0, 5,  0, 0, 0, 0,
                                      7, 0, 0, 0,  -7, 0, 0, 0,  0, 0, 0, 5,  0, 0, 0, 0, -1, 0, 0, 0, 1};
    fp12 table[4]; /* a, a^3, a^5, a^7 */
    fp12 sq;
    fp12 t;
    if (cd__cpu.ifma) {
        cd__bn254_x8_pow_x(r, a, digits, CD_COUNT(digits));
        return;
    }
    table[0] = *a;
    cd__bn254_fp12_cyc_sqr(&sq, a);
    for (int i = 1; i < 4; i++) {
        cd__bn254_fp12_mul(&table[i], &table[i - 1], &sq);
    }
    t = *a;
    for (usize i = 1; i < CD_COUNT(digits); i++) {
        cd__bn254_fp12_cyc_sqr(&t, &t);
        int d = digits[i];
        if (d > 0) {
            cd__bn254_fp12_mul(&t, &t, &table[d / 2]);
        } else if (d < 0) {
            fp12 inv;
            cd__bn254_fp12_conj(&inv, &table[-d / 2]);
            cd__bn254_fp12_mul(&t, &t, &inv);
        }
    }
    *r = t;
}

void cd__bn254_final_exp(fp12 *r, const fp12 *f)
{
    /* Easy part: g = f^((p^6 - 1)(p^2 + 1)). */
    fp12 g;
    fp12 t;
    cd__bn254_fp12_conj(&g, f);
    cd__bn254_fp12_inv(&t, f);
    cd__bn254_fp12_mul(&g, &g, &t);
    cd__bn254_fp12_frob(&t, &g, 2);
    cd__bn254_fp12_mul(&g, &g, &t);

    /* Hard part, times 2x(6x^2 + 3x + 1) [https://eprint.iacr.org/2010/526 as improved by
     * Fuentes-Castaneda, Knapp and Rodriguez-Henriquez]: g to the power
     * (1 + 6x + 12x^2 + 12x^3) + (4x + 6x^2 + 12x^3) p + (6x + 6x^2 + 12x^3) p^2
     * + (-1 + 4x + 6x^2 + 12x^3) p^3. */
    fp12 g2x;
    fp12 g6x2;
    fp12 a;
    fp12 b;
    pow_x(&g2x, &g);
    cd__bn254_fp12_cyc_sqr(&g2x, &g2x);
    cd__bn254_fp12_cyc_sqr(&a, &g2x);
    cd__bn254_fp12_mul(&a, &a, &g2x); /* a = g^6x */
    pow_x(&g6x2, &a);
    cd__bn254_fp12_cyc_sqr(&t, &g6x2);
    pow_x(&t, &t); /* t = g^12x^3 */
    cd__bn254_fp12_mul(&a, &a, &g6x2);
    cd__bn254_fp12_mul(&a, &a, &t); /* a = g^(6x + 6x^2 + 12x^3) */
    cd__bn254_fp12_conj(&t, &g2x);
    cd__bn254_fp12_mul(&b, &a, &t); /* b = g^(4x + 6x^2 + 12x^3) */

    fp12 out;
    cd__bn254_fp12_mul(&out, &a, &g6x2);
    cd__bn254_fp12_mul(&out, &out, &g);
    cd__bn254_fp12_frob(&t, &b, 1);
    cd__bn254_fp12_mul(&out, &out, &t);
    cd__bn254_fp12_frob(&t, &a, 2);
    cd__bn254_fp12_mul(&out, &out, &t);
    cd__bn254_fp12_conj(&t, &g);
    cd__bn254_fp12_mul(&b, &b, &t);
    cd__bn254_fp12_frob(&t, &b, 3);
    cd__bn254_fp12_mul(r, &out, &t);
}
