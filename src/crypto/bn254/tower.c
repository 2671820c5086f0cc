#include "crypto/bn254/bn254_priv.h"

/* --- fp2 --- */

void cd__bn254_fp2_mul(fp2 *r, const fp2 *a, const fp2 *b)
{
    /* Four products and two reductions, each pair of products summed on the fly: beats Karatsuba, whose
     * saved product is spent on double-width subtractions. */
    fp2 conj = {.c0 = b->c0};
    fp im;
    fp_neg(&conj.c1, &b->c1);
    fp_mul2_cross(&im, a, b);
    fp_mul2(&r->c0, a, &conj);
    r->c1 = im;
}

void cd__bn254_fp2_sqr(fp2 *r, const fp2 *a)
{
    fp sum;
    fp diff;
    fp dbl;
    fp_add_lazy(&sum, &a->c0, &a->c1);
    fp_sub(&diff, &a->c0, &a->c1);
    fp_add_lazy(&dbl, &a->c0, &a->c0);
    fp_mul(&r->c1, &dbl, &a->c1);
    fp_mul(&r->c0, &sum, &diff);
}

void cd__bn254_fp2_mul_xi(fp2 *r, const fp2 *a)
{
    /* (9 + i)(a0 + a1 i) = (9 a0 - a1) + (9 a1 + a0) i. */
    fp minus;
    fp im;
    fp_neg(&minus, &a->c1);
    fp_mul9_add(&im, &a->c1, &a->c0);
    fp_mul9_add(&r->c0, &a->c0, &minus);
    r->c1 = im;
}

void cd__bn254_fp2_inv(fp2 *r, const fp2 *a)
{
    fp n;
    fp t;
    fp_sqr(&n, &a->c0);
    fp_sqr(&t, &a->c1);
    fp_add(&n, &n, &t);
    cd__bn254_fp_inv(&n, &n);
    fp_mul(&r->c0, &a->c0, &n);
    fp_mul(&t, &a->c1, &n);
    fp_neg(&r->c1, &t);
}

/* --- fp6 --- */

CD_INLINE void fp6_add(fp6 *r, const fp6 *a, const fp6 *b)
{
    fp2_add(&r->c0, &a->c0, &b->c0);
    fp2_add(&r->c1, &a->c1, &b->c1);
    fp2_add(&r->c2, &a->c2, &b->c2);
}

CD_INLINE void fp6_sub(fp6 *r, const fp6 *a, const fp6 *b)
{
    fp2_sub(&r->c0, &a->c0, &b->c0);
    fp2_sub(&r->c1, &a->c1, &b->c1);
    fp2_sub(&r->c2, &a->c2, &b->c2);
}

CD_INLINE void fp6_neg(fp6 *r, const fp6 *a)
{
    fp2_neg(&r->c0, &a->c0);
    fp2_neg(&r->c1, &a->c1);
    fp2_neg(&r->c2, &a->c2);
}

/* r = a * v. */
CD_INLINE void fp6_mul_v(fp6 *r, const fp6 *a)
{
    fp2 top = a->c2;
    r->c2 = a->c1;
    r->c1 = a->c0;
    cd__bn254_fp2_mul_xi(&r->c0, &top);
}

/* cross: r = (a + b)(c + d) - m - n, the middle term of a Karatsuba step. */
CD_INLINE void cross(fp2 *r, const fp2 *a, const fp2 *b, const fp2 *c, const fp2 *d, const fp2 *m, const fp2 *n)
{
    fp2 s;
    fp2 t;
    fp2_add(&s, a, b);
    fp2_add(&t, c, d);
    cd__bn254_fp2_mul(r, &s, &t);
    fp2_sub(r, r, m);
    fp2_sub(r, r, n);
}

static void fp6_mul(fp6 *r, const fp6 *a, const fp6 *b)
{
    fp2 v0;
    fp2 v1;
    fp2 v2;
    fp2 m12;
    fp2 m01;
    fp2 m02;
    cd__bn254_fp2_mul(&v0, &a->c0, &b->c0);
    cd__bn254_fp2_mul(&v1, &a->c1, &b->c1);
    cd__bn254_fp2_mul(&v2, &a->c2, &b->c2);
    cross(&m12, &a->c1, &a->c2, &b->c1, &b->c2, &v1, &v2);
    cross(&m01, &a->c0, &a->c1, &b->c0, &b->c1, &v0, &v1);
    cross(&m02, &a->c0, &a->c2, &b->c0, &b->c2, &v0, &v2);
    cd__bn254_fp2_mul_xi(&m12, &m12);
    fp2_add(&r->c0, &v0, &m12);
    cd__bn254_fp2_mul_xi(&v2, &v2);
    fp2_add(&r->c1, &m01, &v2);
    fp2_add(&r->c2, &m02, &v1);
}

/* r = a * (b0 + b1 v). */
static void fp6_mul_01(fp6 *r, const fp6 *a, const fp2 *b0, const fp2 *b1)
{
    fp2 v0;
    fp2 v1;
    fp2 t;
    fp2 m01;
    cd__bn254_fp2_mul(&v0, &a->c0, b0);
    cd__bn254_fp2_mul(&v1, &a->c1, b1);
    cross(&m01, &a->c0, &a->c1, b0, b1, &v0, &v1);
    cd__bn254_fp2_mul(&t, &a->c2, b1);
    cd__bn254_fp2_mul(&r->c2, &a->c2, b0);
    fp2_add(&r->c2, &r->c2, &v1);
    cd__bn254_fp2_mul_xi(&t, &t);
    fp2_add(&r->c0, &v0, &t);
    r->c1 = m01;
}

/* r = a * b0. */
static void fp6_mul_0(fp6 *r, const fp6 *a, const fp2 *b0)
{
    cd__bn254_fp2_mul(&r->c0, &a->c0, b0);
    cd__bn254_fp2_mul(&r->c1, &a->c1, b0);
    cd__bn254_fp2_mul(&r->c2, &a->c2, b0);
}

static void fp6_inv(fp6 *r, const fp6 *a)
{
    fp2 c0;
    fp2 c1;
    fp2 c2;
    fp2 t;
    fp2 n;
    cd__bn254_fp2_sqr(&c0, &a->c0); /* c0 = a0^2 - xi a1 a2 */
    cd__bn254_fp2_mul(&t, &a->c1, &a->c2);
    cd__bn254_fp2_mul_xi(&t, &t);
    fp2_sub(&c0, &c0, &t);
    cd__bn254_fp2_sqr(&c1, &a->c2); /* c1 = xi a2^2 - a0 a1 */
    cd__bn254_fp2_mul_xi(&c1, &c1);
    cd__bn254_fp2_mul(&t, &a->c0, &a->c1);
    fp2_sub(&c1, &c1, &t);
    cd__bn254_fp2_sqr(&c2, &a->c1); /* c2 = a1^2 - a0 a2 */
    cd__bn254_fp2_mul(&t, &a->c0, &a->c2);
    fp2_sub(&c2, &c2, &t);
    cd__bn254_fp2_mul(&n, &a->c2, &c1); /* n = a0 c0 + xi (a2 c1 + a1 c2), in fp2 */
    cd__bn254_fp2_mul(&t, &a->c1, &c2);
    fp2_add(&n, &n, &t);
    cd__bn254_fp2_mul_xi(&n, &n);
    cd__bn254_fp2_mul(&t, &a->c0, &c0);
    fp2_add(&n, &n, &t);
    cd__bn254_fp2_inv(&n, &n);
    cd__bn254_fp2_mul(&r->c0, &c0, &n);
    cd__bn254_fp2_mul(&r->c1, &c1, &n);
    cd__bn254_fp2_mul(&r->c2, &c2, &n);
}

/* --- fp12 --- */

const fp12 CD__BN254_FP12_ONE = {
    .c0.c0.c0 = {{0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f}}};

bool cd__bn254_fp12_is_one(const fp12 *a)
{
    return memcmp(a, &CD__BN254_FP12_ONE, sizeof *a) == 0;
}

void cd__bn254_fp12_mul(fp12 *r, const fp12 *a, const fp12 *b)
{
    fp6 v0;
    fp6 v1;
    fp6 s;
    fp6 t;
    fp6_mul(&v0, &a->c0, &b->c0);
    fp6_mul(&v1, &a->c1, &b->c1);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_add(&t, &b->c0, &b->c1);
    fp6_mul(&s, &s, &t);
    fp6_sub(&s, &s, &v0);
    fp6_sub(&r->c1, &s, &v1);
    fp6_mul_v(&v1, &v1);
    fp6_add(&r->c0, &v0, &v1);
}

void cd__bn254_fp12_sqr(fp12 *r, const fp12 *a)
{
    /* c0 = (a0 + a1)(a0 + v a1) - (1 + v) a0 a1, c1 = 2 a0 a1. */
    fp6 s;
    fp6 t;
    fp6 m;
    fp6_mul_v(&t, &a->c1);
    fp6_add(&t, &t, &a->c0);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_mul(&m, &a->c0, &a->c1);
    fp6_mul(&s, &s, &t);
    fp6_sub(&s, &s, &m);
    fp6_mul_v(&t, &m);
    fp6_sub(&r->c0, &s, &t);
    fp6_add(&r->c1, &m, &m);
}

void cd__bn254_fp12_inv(fp12 *r, const fp12 *a)
{
    /* The conjugate of a, divided by the norm a0^2 - v a1^2, which lies in fp6. */
    fp6 n;
    fp6 t;
    fp6_mul(&n, &a->c0, &a->c0);
    fp6_mul(&t, &a->c1, &a->c1);
    fp6_mul_v(&t, &t);
    fp6_sub(&n, &n, &t);
    fp6_inv(&n, &n);
    fp6_mul(&r->c0, &a->c0, &n);
    fp6_mul(&t, &a->c1, &n);
    fp6_neg(&r->c1, &t);
}

void cd__bn254_fp12_conj(fp12 *r, const fp12 *a)
{
    r->c0 = a->c0;
    fp6_neg(&r->c1, &a->c1);
}

/* fp4_sqr squares a + b s in fp2[s]/(s^2 - xi): r0 = a^2 + xi b^2, r1 = 2ab. */
CD_INLINE void fp4_sqr(fp2 *r0, fp2 *r1, const fp2 *a, const fp2 *b)
{
    fp2 a2;
    fp2 b2;
    fp2 s;
    cd__bn254_fp2_sqr(&a2, a);
    cd__bn254_fp2_sqr(&b2, b);
    fp2_add(&s, a, b);
    cd__bn254_fp2_sqr(&s, &s);
    fp2_sub(&s, &s, &a2);
    fp2_sub(r1, &s, &b2);
    cd__bn254_fp2_mul_xi(&b2, &b2);
    fp2_add(r0, &a2, &b2);
}

/* r = 3t - 2a, r = 3t + 2a. */
CD_INLINE void triple_minus(fp2 *r, const fp2 *t, const fp2 *a)
{
    fp2 d;
    fp2_sub(&d, t, a);
    fp2_dbl(&d, &d);
    fp2_add(r, &d, t);
}

CD_INLINE void triple_plus(fp2 *r, const fp2 *t, const fp2 *a)
{
    fp2 d;
    fp2_add(&d, t, a);
    fp2_dbl(&d, &d);
    fp2_add(r, &d, t);
}

void cd__bn254_fp12_cyc_sqr(fp12 *r, const fp12 *a)
{
    /* Granger-Scott [https://eprint.iacr.org/2009/565]: three squarings in fp4. With the coefficients
     * of w^i as w_i, the fp4 pairs are (w0, w3), (w1, w4) and (w2, w5). */
    const fp2 *w0 = &a->c0.c0;
    const fp2 *w1 = &a->c1.c0;
    const fp2 *w2 = &a->c0.c1;
    const fp2 *w3 = &a->c1.c1;
    const fp2 *w4 = &a->c0.c2;
    const fp2 *w5 = &a->c1.c2;
    fp2 a0;
    fp2 a1;
    fp2 b0;
    fp2 b1;
    fp2 c0;
    fp2 c1;
    fp4_sqr(&a0, &a1, w0, w3);
    fp4_sqr(&b0, &b1, w1, w4);
    fp4_sqr(&c0, &c1, w2, w5);
    cd__bn254_fp2_mul_xi(&c1, &c1);
    triple_minus(&r->c0.c0, &a0, w0);
    triple_plus(&r->c1.c1, &a1, w3);
    triple_minus(&r->c0.c1, &b0, w2);
    triple_plus(&r->c1.c2, &b1, w5);
    triple_plus(&r->c1.c0, &c1, w1);
    triple_minus(&r->c0.c2, &c0, w4);
}

/* FROB[k-1][i-1] = xi^(i (p^k - 1) / 6): the factor of w^i under x -> x^(p^k). */
// clang-format off
static const fp2 FROB[3][5] = {
    {
        {{{0xaf9ba69633144907, 0xca6b1d7387afb78a, 0x11bded5ef08a2087, 0x02f34d751a1f3a7c}},
         {{0xa222ae234c492d72, 0xd00f02a4565de15b, 0xdc2ff3a253dfc926, 0x10a75716b3899551}}},
        {{{0xb5773b104563ab30, 0x347f91c8a9aa6454, 0x7a007127242e0991, 0x1956bcd8118214ec}},
         {{0x6e849f1ea0aa4757, 0xaa1c7b6d89f89141, 0xb6e713cdfae0ca3a, 0x26694fbb4e82ebc3}}},
        {{{0xe4bbdd0c2936b629, 0xbb30f162e133bacb, 0x31a9d1b6f9645366, 0x253570bea500f8dd}},
         {{0xa1d77ce45ffe77c7, 0x07affd117826d1db, 0x6d16bd27bb7edc6b, 0x2c87200285defecc}}},
        {{{0x7361d77f843abe92, 0xa5bb2bd3273411fb, 0x9c941f314b3e2399, 0x15df9cddbb9fd3ec}},
         {{0x5dddfd154bd8c949, 0x62cb29a5a4445b60, 0x37bc870a0c7dd2b9, 0x24830a9d3171f0fd}}},
        {{{0xc970692f41690fe7, 0xe240342127694b0b, 0x32bee66b83c459e8, 0x12aabced0ab08841}},
         {{0x0d485d2340aebfa9, 0x05193418ab2fcc57, 0xd3b0a40b8a4910f5, 0x2f21ebb535d2925a}}},
    },
    {
        {{{0xca8d800500fa1bf2, 0xf0c5d61468b39769, 0x0e201271ad0d4418, 0x04290f65bad856e6}}, {{0}}},
        {{{0x3350c88e13e80b9c, 0x7dce557cdb5e56b9, 0x6001b4b8b615564a, 0x2682e617020217e0}}, {{0}}},
        {{{0x68c3488912edefaa, 0x8d087f6872aabf4f, 0x51e1a24709081231, 0x2259d6b14729c0fa}}, {{0}}},
        {{{0x71930c11d782e155, 0xa6bb947cffbe3323, 0xaa303344d4741444, 0x2c3b3f0d26594943}}, {{0}}},
        {{{0x08cfc388c494f1ab, 0x19b315148d1373d4, 0x584e90fdcb6c0213, 0x09e1685bdf2f8849}}, {{0}}},
    },
    {
        {{{0x365316184e46d97d, 0x0af7129ed4c96d9f, 0x659da72fca1009b5, 0x08116d8983a20d23}},
         {{0xb1df4af7c39c1939, 0x3d9f02878a73bf7f, 0x9b2220928caf0ae0, 0x26684515eff054a6}}},
        {{{0xc9af22f716ad6bad, 0xb311782a4aa662b2, 0x19eeaf64e248c7f4, 0x20273e77e3439f82}},
         {{0xacc02860f7ce93ac, 0x3933d5817ba76b4c, 0x69e6188b446c8467, 0x0a46036d4417cc55}}},
        {{{0x5764af0aaf46471e, 0xdc50792e873e0fc1, 0x86a673ff881d04f6, 0x0b2eddb43c30a74c}},
         {{0x9a490f32787e8580, 0x8fd16d7ff04af8b1, 0x4b39888ec6027bf2, 0x03dd2e705b52a15d}}},
        {{{0x448a93a57b6762df, 0xbfd62df528fdeadf, 0xd858f5d00e9bd47a, 0x06b03d4d3476ec58}},
         {{0x2b19daf4bcc936d1, 0xa1a54e7a56f4299f, 0xb533eee05adeaef1, 0x170c812b84dda0b2}}},
        {{{0xe0bc4b2275cf559f, 0xc238b945c154e60f, 0x803982a5929a7d5e, 0x15ce052df7e4a37e}},
         {{0x2d28efbdbf3799a7, 0x9b097e3c1ad60773, 0x982d4113af4a535b, 0x24e18991e3056063}}},
    },
};
// clang-format on

void cd__bn254_fp12_frob(fp12 *r, const fp12 *a, int k)
{
    const fp2 *in[6] = {&a->c0.c0, &a->c1.c0, &a->c0.c1, &a->c1.c1, &a->c0.c2, &a->c1.c2};
    fp2 *out[6] = {&r->c0.c0, &r->c1.c0, &r->c0.c1, &r->c1.c1, &r->c0.c2, &r->c1.c2};
    const fp2 *factor = FROB[k - 1];
    for (int i = 0; i < 6; i++) {
        fp2 t = *in[i];
        if (k % 2 != 0) {
            fp2_conj(&t, &t);
        }
        if (i == 0) {
            *out[i] = t;
        } else if (k == 2) {
            fp2_scale(out[i], &t, &factor[i - 1].c0);
        } else {
            cd__bn254_fp2_mul(out[i], &t, &factor[i - 1]);
        }
    }
}

void cd__bn254_fp12_mul_line(fp12 *r, const fp12_line *l)
{
    fp6 v0;
    fp6 v1;
    fp6 s;
    fp2 sum;
    fp6_mul_0(&v0, &r->c0, &l->c0);
    fp6_mul_01(&v1, &r->c1, &l->c3, &l->c4);
    fp6_add(&s, &r->c0, &r->c1);
    fp2_add(&sum, &l->c0, &l->c3);
    fp6_mul_01(&s, &s, &sum, &l->c4);
    fp6_sub(&s, &s, &v0);
    fp6_sub(&r->c1, &s, &v1);
    fp6_mul_v(&v1, &v1);
    fp6_add(&r->c0, &v0, &v1);
}

void cd__bn254_fp12_mul_lines(fp12 *r, const fp12_line *l, const fp12_line *m)
{
    /* The product of two lines lacks only the coefficient of w^5. */
    fp6 d0;
    fp2 d1;
    fp2 d3;
    fp2 v0;
    fp2 v4;
    cd__bn254_fp2_mul(&v0, &l->c0, &m->c0);
    cd__bn254_fp2_mul(&d0.c1, &l->c3, &m->c3);
    cd__bn254_fp2_mul(&v4, &l->c4, &m->c4);
    cross(&d1, &l->c0, &l->c3, &m->c0, &m->c3, &v0, &d0.c1);
    cross(&d3, &l->c0, &l->c4, &m->c0, &m->c4, &v0, &v4);
    cross(&d0.c2, &l->c3, &l->c4, &m->c3, &m->c4, &d0.c1, &v4);
    cd__bn254_fp2_mul_xi(&v4, &v4);
    fp2_add(&d0.c0, &v0, &v4);

    fp6 v1;
    fp6 t;
    fp6 s;
    fp6 sum = d0;
    fp2_add(&sum.c0, &sum.c0, &d1);
    fp2_add(&sum.c1, &sum.c1, &d3);
    fp6_add(&s, &r->c0, &r->c1);
    fp6_mul(&s, &s, &sum);
    fp6_mul_01(&v1, &r->c1, &d1, &d3);
    fp6_mul(&t, &r->c0, &d0);
    fp6_sub(&s, &s, &t);
    fp6_sub(&r->c1, &s, &v1);
    fp6_mul_v(&v1, &v1);
    fp6_add(&r->c0, &t, &v1);
}
