#include "crypto/bn254/x8.h"

#include <immintrin.h>

/* --- eight field elements: Montgomery form with R = 2^260, five limbs of 52 bits --- */

/* Values are below 2p with limbs below 2^52, unless a comment says otherwise. 2^260 is 84p, so a sum of
 * twelve products of such values reduces to (12 * 4 / 84 + 1) p < 2p again: nothing is ever subtracted
 * after a product. */
typedef struct fv {
    __m512i l[5];
} fv;

/* An fp12 number: way k of re + im * i is the coefficient of w^k. */
typedef struct v12 {
    fv re, im;
} v12;

typedef struct columns {
    __m512i c[10];
} columns;

typedef __mmask8 mask;

#define M52     0xfffffffffffff
#define NEG_INV 0x20782e4866389 /* -1/p mod 2^52 */

static const u64 P1[5] = {0x8c16d87cfd47, 0x916871ca8d3c2, 0x181585d97816a, 0xa029b85045b68, 0x30644e72e131};
static const u64 P2[5] = {0x1182db0f9fa8e, 0x22d0e3951a784, 0x302b0bb2f02d5, 0x405370a08b6d0, 0x60c89ce5c263};
static const u64 P4[5] = {0x2305b61f3f51c, 0x45a1c72a34f08, 0x60561765e05aa, 0x80a6e14116da0, 0xc19139cb84c6};

CD_INLINE __m512i splat(u64 v)
{
    return _mm512_set1_epi64((long long)v);
}

/* fv_carry brings the lower four limbs into 0 .. 2^52 - 1; limbs may be negative before, but not the number. */
CD_INLINE void fv_carry(fv *r)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        r->l[i + 1] = _mm512_add_epi64(r->l[i + 1], _mm512_srai_epi64(r->l[i], 52));
        r->l[i] = _mm512_and_si512(r->l[i], splat(M52));
    }
}

/* fv_reduce brings a value below 64p (in limbs of any sign) below 2p. */
CD_INLINE void fv_reduce(fv *r)
{
    fv_carry(r);
    /* 84 is 2^52 / (p >> 208), rounded down: the quotient or one less. */
    __m512i q = _mm512_madd52hi_epu64(_mm512_setzero_si512(), r->l[4], splat(84));
    fv t;
    t.l[0] = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t.l[i + 1] = _mm512_madd52hi_epu64(_mm512_setzero_si512(), q, splat(P1[i]));
    }
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        t.l[i] = _mm512_madd52lo_epu64(t.l[i], q, splat(P1[i]));
        r->l[i] = _mm512_sub_epi64(r->l[i], t.l[i]);
    }
    fv_carry(r);
}

/* Adds limb by limb, without carry. */
CD_INLINE void fv_add(fv *r, const fv *a, const fv *b)
{
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_add_epi64(a->l[i], b->l[i]);
    }
}

CD_INLINE void fv_sub(fv *r, const fv *a, const fv *b)
{
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_sub_epi64(a->l[i], b->l[i]);
    }
}

CD_INLINE void fv_splat(fv *r, const u64 l[5])
{
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        r->l[i] = splat(l[i]);
    }
}

/* r = 2p - a. */
CD_INLINE void fv_neg(fv *r, const fv *a)
{
    fv two_p;
    fv_splat(&two_p, P2);
    fv_sub(r, &two_p, a);
    fv_carry(r);
}

/* Way k of r is way idx[k] of a, or of b from 8 on. */
CD_INLINE void fv_pick(fv *r, __m512i idx, const fv *a, const fv *b)
{
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_permutex2var_epi64(a->l[i], idx, b->l[i]);
    }
}

CD_INLINE void fv_pick_zero(fv *r, mask keep, __m512i idx, const fv *a, const fv *b)
{
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_maskz_permutex2var_epi64(keep, a->l[i], idx, b->l[i]);
    }
}

CD_INLINE void columns_zero(columns *t)
{
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++) {
        t->c[i] = _mm512_setzero_si512();
    }
}

/* t += a * b way by way. */
CD_INLINE void columns_mul(columns *t, const fv *a, const fv *b)
{
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
#pragma GCC unroll 5
        for (int j = 0; j < 5; j++) {
            t->c[i + j] = _mm512_madd52lo_epu64(t->c[i + j], a->l[i], b->l[j]);
            t->c[i + j + 1] = _mm512_madd52hi_epu64(t->c[i + j + 1], a->l[i], b->l[j]);
        }
    }
}

/* t += a * b, b one number for all ways. */
CD_INLINE void columns_mul_one(columns *t, const fv *a, const u64 b[5])
{
#pragma GCC unroll 5
    for (int j = 0; j < 5; j++) {
        __m512i bj = splat(b[j]);
#pragma GCC unroll 5
        for (int i = 0; i < 5; i++) {
            t->c[i + j] = _mm512_madd52lo_epu64(t->c[i + j], a->l[i], bj);
            t->c[i + j + 1] = _mm512_madd52hi_epu64(t->c[i + j + 1], a->l[i], bj);
        }
    }
}

/* columns_redc gives t / 2^260 mod p: five rounds, each clearing one column. */
CD_INLINE void columns_redc(fv *r, columns *t)
{
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        __m512i m = _mm512_madd52lo_epu64(_mm512_setzero_si512(), t->c[i], splat(NEG_INV));
#pragma GCC unroll 5
        for (int j = 0; j < 5; j++) {
            t->c[i + j] = _mm512_madd52lo_epu64(t->c[i + j], m, splat(P1[j]));
            t->c[i + j + 1] = _mm512_madd52hi_epu64(t->c[i + j + 1], m, splat(P1[j]));
        }
        t->c[i + 1] = _mm512_add_epi64(t->c[i + 1], _mm512_srli_epi64(t->c[i], 52));
    }
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        r->l[i] = t->c[5 + i];
    }
    fv_carry(r);
}

/* --- fp12 --- */

/* v12_mul_xi: r = (9 + i) a in every way. */
CD_INLINE void v12_mul_xi(v12 *r, const v12 *a)
{
    fv two_p;
    v12 t;
    fv_splat(&two_p, P2);
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        __m512i re9 = _mm512_add_epi64(_mm512_slli_epi64(a->re.l[i], 3), a->re.l[i]);
        __m512i im9 = _mm512_add_epi64(_mm512_slli_epi64(a->im.l[i], 3), a->im.l[i]);
        t.re.l[i] = _mm512_sub_epi64(_mm512_add_epi64(re9, two_p.l[i]), a->im.l[i]);
        t.im.l[i] = _mm512_add_epi64(im9, a->re.l[i]);
    }
    fv_reduce(&t.re);
    fv_reduce(&t.im);
    *r = t;
}

/* A coefficient of the second factor: w^at times re + im i, with neg_im = -im. */
typedef struct term {
    u64 re[5], im[5], neg_im[5];
    int at;
} term;

/* Multiplying by w^j moves way k - j to way k; the ways that fall off come back times xi. In these indices for fv_pick
 * 8 and more mean the number itself, 0 to 7 its multiple by xi. */
static const u64 SHIFT[6][8] = {
    {8, 9, 10, 11, 12, 13, 6, 7}, {5, 8, 9, 10, 11, 12, 6, 7}, {4, 5, 8, 9, 10, 11, 6, 7},
    {3, 4, 5, 8, 9, 10, 6, 7},    {2, 3, 4, 5, 8, 9, 6, 7},    {1, 2, 3, 4, 5, 8, 6, 7},
};

static CD_NOINLINE void v12_mul_terms(v12 *r, const v12 *a, const term *terms, int cnt)
{
    v12 xa;
    columns re;
    columns im;
    v12_mul_xi(&xa, a);
    columns_zero(&re);
    columns_zero(&im);
    for (int i = 0; i < cnt; i++) {
        const term *b = &terms[i];
        __m512i idx = _mm512_loadu_si512(SHIFT[b->at]);
        fv part;
        fv_pick(&part, idx, &xa.re, &a->re);
        columns_mul_one(&re, &part, b->re);
        columns_mul_one(&im, &part, b->im);
        fv_pick(&part, idx, &xa.im, &a->im);
        columns_mul_one(&re, &part, b->neg_im);
        columns_mul_one(&im, &part, b->re);
    }
    columns_redc(&r->re, &re);
    columns_redc(&r->im, &im);
}

/* The six coefficients of a as terms. */
static void v12_terms(term terms[6], const v12 *a)
{
    u64 ways[3][5][8];
    fv neg;
    fv_neg(&neg, &a->im);
    for (int i = 0; i < 5; i++) {
        _mm512_storeu_si512(ways[0][i], a->re.l[i]);
        _mm512_storeu_si512(ways[1][i], a->im.l[i]);
        _mm512_storeu_si512(ways[2][i], neg.l[i]);
    }
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < 5; i++) {
            terms[k].re[i] = ways[0][i][k];
            terms[k].im[i] = ways[1][i][k];
            terms[k].neg_im[i] = ways[2][i][k];
        }
        terms[k].at = k;
    }
}

static void v12_conj(v12 *r, const v12 *a)
{
    /* Odd powers of w change sign. */
    fv neg_re;
    fv neg_im;
    fv_neg(&neg_re, &a->re);
    fv_neg(&neg_im, &a->im);
    for (int i = 0; i < 5; i++) {
        r->re.l[i] = _mm512_mask_mov_epi64(a->re.l[i], 0x2a, neg_re.l[i]);
        r->im.l[i] = _mm512_mask_mov_epi64(a->im.l[i], 0x2a, neg_im.l[i]);
    }
}

/* triple_plus: r = 3t + 2w in odd ways, 3t - 2w in even ones, for t below 8p. */
CD_INLINE void triple_plus(fv *r, const fv *t, const fv *w)
{
    const mask even = 0x15;
    fv four_p;
    fv_splat(&four_p, P4);
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        __m512i w2 = _mm512_add_epi64(w->l[i], w->l[i]);
        __m512i s = _mm512_mask_sub_epi64(w2, even, four_p.l[i], w2);
        __m512i t3 = _mm512_add_epi64(_mm512_add_epi64(t->l[i], t->l[i]), t->l[i]);
        r->l[i] = _mm512_add_epi64(t3, s);
    }
    fv_reduce(r);
}

/* v12_cyc_sqr: Granger-Scott as in tower.c. The fp4 pairs are ways (k, k + 3). */
static CD_NOINLINE void v12_cyc_sqr(v12 *a)
{
    const __m512i swap = _mm512_set_epi64(7, 6, 2, 1, 0, 5, 4, 3);
    fv two_p;
    fv s;
    fv d;
    columns t;
    v12 sq;   /* the square of each way */
    v12 prod; /* twice the product of each pair, in both of its ways */
    v12 other;
    fv neg;
    fv_splat(&two_p, P2);

    fv_add(&s, &a->re, &a->im); /* (re + im)(re - im) + 2 re im i */
    fv_carry(&s);
    fv_sub(&d, &a->re, &a->im);
    fv_add(&d, &d, &two_p);
    fv_carry(&d);
    columns_zero(&t);
    columns_mul(&t, &s, &d);
    columns_redc(&sq.re, &t);
    fv_add(&d, &a->im, &a->im);
    fv_carry(&d);
    columns_zero(&t);
    columns_mul(&t, &a->re, &d);
    columns_redc(&sq.im, &t);

    fv_pick(&other.re, swap, &a->re, &a->re);
    fv_pick(&other.im, swap, &a->im, &a->im);
    fv_neg(&neg, &other.im);
    columns_zero(&t);
    columns_mul(&t, &a->re, &other.re);
    columns_mul(&t, &a->im, &neg);
    columns_redc(&prod.re, &t);
    columns_zero(&t);
    columns_mul(&t, &a->re, &other.im);
    columns_mul(&t, &a->im, &other.re);
    columns_redc(&prod.im, &t);
    fv_add(&prod.re, &prod.re, &prod.re);
    fv_add(&prod.im, &prod.im, &prod.im);

    /* Times xi: the squares of ways 3 to 5, and the product of pair 2 (in way 3). */
    v12 u;
    const __m512i to_xi = _mm512_set_epi64(7, 6, 7, 6, 8 + 2, 5, 4, 3);
    fv_pick(&u.re, to_xi, &sq.re, &prod.re);
    fv_pick(&u.im, to_xi, &sq.im, &prod.im);
    v12_mul_xi(&u, &u);

    /* The new coefficients before tripling: x^2 + xi y^2 of pairs 0, 1, 2 in ways 0, 2, 4; the products of
     * pairs 0 and 1 in ways 3 and 5; xi times that of pair 2 in way 1. */
    const __m512i plain = _mm512_set_epi64(0, 0, 8 + 1, 2, 8 + 0, 1, 0, 0);
    const __m512i from_xi = _mm512_set_epi64(0, 0, 0, 2, 0, 1, 3, 0);
    v12 e;
    v12 f;
    fv_pick_zero(&e.re, 0x3d, plain, &sq.re, &prod.re);
    fv_pick_zero(&e.im, 0x3d, plain, &sq.im, &prod.im);
    fv_pick_zero(&f.re, 0x17, from_xi, &u.re, &u.re);
    fv_pick_zero(&f.im, 0x17, from_xi, &u.im, &u.im);
    fv_add(&e.re, &e.re, &f.re);
    fv_add(&e.im, &e.im, &f.im);
    triple_plus(&a->re, &e.re, &a->re);
    triple_plus(&a->im, &e.im, &a->im);
}

/* --- to and from the scalar form --- */

static void limbs_of(u64 out[5], const fp *a)
{
    const u64 *w = a->l;
    out[0] = w[0] & M52;
    out[1] = (w[0] >> 52 | w[1] << 12) & M52;
    out[2] = (w[1] >> 40 | w[2] << 24) & M52;
    out[3] = (w[2] >> 28 | w[3] << 36) & M52;
    out[4] = w[3] >> 16;
}

/* Gives the place of the coefficient of w^k in an fp12, which is way k of the vectors. */
static const fp2 *coef(const fp12 *a, int k)
{
    const fp6 *half = k % 2 == 0 ? &a->c0 : &a->c1;
    const fp2 *parts[3] = {&half->c0, &half->c1, &half->c2};
    return parts[k / 2];
}

/* v12_set loads a, every coefficient times k. */
static void v12_set(v12 *r, const fp12 *a, const fp *k)
{
    u64 ways[2][5][8] = {0};
    for (int way = 0; way < 6; way++) {
        fp2 c;
        u64 l[5];
        fp2_scale(&c, coef(a, way), k);
        limbs_of(l, &c.c0);
        for (int i = 0; i < 5; i++) {
            ways[0][i][way] = l[i];
        }
        limbs_of(l, &c.c1);
        for (int i = 0; i < 5; i++) {
            ways[1][i][way] = l[i];
        }
    }
    for (int i = 0; i < 5; i++) {
        r->re.l[i] = _mm512_loadu_si512(ways[0][i]);
        r->im.l[i] = _mm512_loadu_si512(ways[1][i]);
    }
}

static void fp_of(fp *out, const u64 part[5][8], int way, const fp *k)
{
    u64 l[5];
    for (int i = 0; i < 5; i++) {
        l[i] = part[i][way];
    }
    const u64 w[4] = {l[0] | l[1] << 52, l[1] >> 12 | l[2] << 40, l[2] >> 24 | l[3] << 28, l[3] >> 36 | l[4] << 16};
    fp t;
    fp_reduce_c(&t, w);
    fp_mul(out, &t, k);
}

static void v12_get(fp12 *r, const v12 *a, const fp *k)
{
    u64 ways[2][5][8];
    for (int i = 0; i < 5; i++) {
        _mm512_storeu_si512(ways[0][i], a->re.l[i]);
        _mm512_storeu_si512(ways[1][i], a->im.l[i]);
    }
    for (int way = 0; way < 6; way++) {
        fp2 *c = (fp2 *)(uintptr_t)coef(r, way);
        fp_of(&c->c0, (const u64(*)[8])ways[0], way, k);
        fp_of(&c->c1, (const u64(*)[8])ways[1], way, k);
    }
}

static void v12_load(v12 *r, const cd__fp12v *a)
{
    for (int i = 0; i < 5; i++) {
        r->re.l[i] = _mm512_load_si512(a->limb[0][i]);
        r->im.l[i] = _mm512_load_si512(a->limb[1][i]);
    }
}

static void v12_store(cd__fp12v *r, const v12 *a)
{
    for (int i = 0; i < 5; i++) {
        _mm512_store_si512(r->limb[0][i], a->re.l[i]);
        _mm512_store_si512(r->limb[1][i], a->im.l[i]);
    }
}

/* --- what the pairing uses --- */

void cd__bn254_x8_one(cd__fp12v *r)
{
    memset(r, 0, sizeof *r);
    r->limb[0][0][0] = 1;
}

void cd__bn254_x8_sqr(cd__fp12v *r)
{
    v12 a;
    term terms[6];
    v12_load(&a, r);
    v12_terms(terms, &a);
    v12_mul_terms(&a, &a, terms, 6);
    v12_store(r, &a);
}

static void term_set(term *t, const fp2 *c, int at)
{
    fp neg;
    fp_neg(&neg, &c->c1);
    limbs_of(t->re, &c->c0);
    limbs_of(t->im, &c->c1);
    limbs_of(t->neg_im, &neg);
    t->at = at;
}

void cd__bn254_x8_mul_line(cd__fp12v *r, const fp12_line *l)
{
    v12 a;
    term terms[3];
    term_set(&terms[0], &l->c0, 0);
    term_set(&terms[1], &l->c3, 1);
    term_set(&terms[2], &l->c4, 3);
    v12_load(&a, r);
    v12_mul_terms(&a, &a, terms, 3);
    v12_store(r, &a);
}

void cd__bn254_x8_get(fp12 *r, const cd__fp12v *a)
{
    v12 v;
    v12_load(&v, a);
    v12_get(r, &v, &FP_ONE);
}

void cd__bn254_x8_pow_x(fp12 *r, const fp12 *a, const int8_t *digits, usize cnt)
{
    /* 16 and 1/16, the factors between Montgomery forms of R = 2^256 and of 2^260. */
    static const fp up = {{0x45520880f6fce4b4, 0x49890849baa989a8, 0x85a9201d818f014a, 0x1f16424e1bb7724f}};
    static const fp down = {{0x0, 0x0, 0x0, 0x1000000000000000}};
    v12 power;
    v12 sq;
    term table[4][6]; /* a, a^3, a^5, a^7 */
    term inverse[4][6];
    v12_set(&power, a, &up);
    sq = power;
    v12_cyc_sqr(&sq);
    for (int i = 0; i < 4; i++) {
        v12 conj;
        v12_terms(table[i], &power);
        v12_conj(&conj, &power);
        v12_terms(inverse[i], &conj);
        v12_mul_terms(&power, &sq, table[i], 6);
    }
    v12_set(&power, a, &up);
    for (usize i = 1; i < cnt; i++) {
        int d = digits[i];
        v12_cyc_sqr(&power);
        if (d != 0) {
            v12_mul_terms(&power, &power, d > 0 ? table[d / 2] : inverse[-d / 2], 6);
        }
    }
    v12_get(r, &power, &down);
}
