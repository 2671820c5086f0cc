#include "crypto/bn254/bn254_priv.h"

/* Jacobian coordinates: x = X/Z^2, y = Y/Z^3; Z = 0 is infinity. */
typedef struct jac {
    fp x, y, z;
} jac;

/* --- encodings --- */

static bool all_zero(const u8 *p, usize n)
{
    u8 any = 0;
    for (usize i = 0; i < n; i++) {
        any |= p[i];
    }
    return any == 0;
}

cd_err cd__bn254_g1_dec(g1 *out, const u8 in[64])
{
    static const fp three = {{0x7a17caa950ad28d7, 0x1f6ac17ae15521b9, 0x334bea4e696bd284, 0x2a1f6744ce179d8e}};
    g1 a = {.is_inf = all_zero(in, 64)};
    if (!a.is_inf) {
        fp lhs;
        fp rhs;
        CD_TRY(cd__bn254_fp_dec(&a.x, in));
        CD_TRY(cd__bn254_fp_dec(&a.y, in + 32));
        fp_sqr(&lhs, &a.y);
        fp_sqr(&rhs, &a.x);
        fp_mul(&rhs, &rhs, &a.x);
        fp_add(&rhs, &rhs, &three);
        if (!fp_eq(&lhs, &rhs)) {
            return CD_EPOINT;
        }
    }
    *out = a;
    return CD_OK;
}

void cd__bn254_g1_enc(u8 out[64], const g1 *a)
{
    if (a->is_inf) {
        memset(out, 0, 64);
        return;
    }
    cd__bn254_fp_enc(out, &a->x);
    cd__bn254_fp_enc(out + 32, &a->y);
}

cd_err cd__bn254_g2_dec(g2 *out, const u8 in[128])
{
    /* 3 / xi. */
    static const fp2 b = {{{0x3bf938e377b802a8, 0x020b1b273633535d, 0x26b7edf049755260, 0x2514c6324384a86d}},
                          {{0x38e7ecccd1dcff67, 0x65f0b37d93ce0d3e, 0xd749d0dd22ac00aa, 0x0141b9ce4a688d4d}}};
    g2 a = {.is_inf = all_zero(in, 128)};
    if (!a.is_inf) {
        fp2 lhs;
        fp2 rhs;
        CD_TRY(cd__bn254_fp_dec(&a.x.c1, in));
        CD_TRY(cd__bn254_fp_dec(&a.x.c0, in + 32));
        CD_TRY(cd__bn254_fp_dec(&a.y.c1, in + 64));
        CD_TRY(cd__bn254_fp_dec(&a.y.c0, in + 96));
        cd__bn254_fp2_sqr(&lhs, &a.y);
        cd__bn254_fp2_sqr(&rhs, &a.x);
        cd__bn254_fp2_mul(&rhs, &rhs, &a.x);
        fp2_add(&rhs, &rhs, &b);
        if (!fp2_eq(&lhs, &rhs)) {
            return CD_EPOINT;
        }
    }
    *out = a;
    return CD_OK;
}

/* --- addition --- */

void cd__bn254_g1_add(g1 *r, const g1 *a, const g1 *b)
{
    if (a->is_inf || b->is_inf) {
        *r = a->is_inf ? *b : *a;
        return;
    }
    /* The slope: a chord, or the tangent 3x^2 / 2y (y is never 0: the group has odd order). */
    fp num;
    fp den;
    if (!fp_eq(&a->x, &b->x)) {
        fp_sub(&num, &b->y, &a->y);
        fp_sub(&den, &b->x, &a->x);
    } else if (fp_eq(&a->y, &b->y)) {
        fp t;
        fp_sqr(&t, &a->x);
        fp_dbl(&num, &t);
        fp_add(&num, &num, &t);
        fp_dbl(&den, &a->y);
    } else {
        *r = (g1){.is_inf = true};
        return;
    }
    fp slope;
    g1 s = {.is_inf = false};
    cd__bn254_fp_inv(&den, &den);
    fp_mul(&slope, &num, &den);
    fp_sqr(&s.x, &slope);
    fp_sub(&s.x, &s.x, &a->x);
    fp_sub(&s.x, &s.x, &b->x);
    fp_sub(&s.y, &a->x, &s.x);
    fp_mul(&s.y, &s.y, &slope);
    fp_sub(&s.y, &s.y, &a->y);
    *r = s;
}

static void jac_dbl(jac *r, const jac *p)
{
    /* The doubling formulas dbl-2009-l of the Explicit-Formulas Database: 2 products and 5 squares. */
    fp a;
    fp b;
    fp c;
    fp d;
    fp e;
    fp z;
    fp_sqr(&a, &p->x);
    fp_sqr(&b, &p->y);
    fp_sqr(&c, &b);
    fp_add_lazy(&d, &p->x, &b);
    fp_mul(&z, &p->y, &p->z);
    fp_sub(&e, &d, &FP_ZERO);
    fp_sqr(&d, &e);
    fp_sub(&d, &d, &a);
    fp_sub(&d, &d, &c);
    fp_dbl(&d, &d);
    fp_dbl(&e, &a);
    fp_add(&e, &e, &a);
    fp_sqr(&a, &e);
    fp_sub(&a, &a, &d);
    fp_sub(&r->x, &a, &d);
    fp_sub(&d, &d, &r->x);
    fp_mul(&d, &d, &e);
    fp_dbl(&c, &c);
    fp_dbl(&c, &c);
    fp_dbl(&c, &c);
    fp_sub(&r->y, &d, &c);
    fp_dbl(&r->z, &z);
}

/* r = p + (x, y); *ratio (if wanted) is r.z / p.z when p is finite and the sum is generic. */
static void jac_add_affine(jac *r, fp *ratio, const jac *p, const fp *x, const fp *y)
{
    if (fp_is_zero(&p->z)) {
        *r = (jac){.x = *x, .y = *y, .z = FP_ONE};
        return;
    }
    fp zz;
    fp h;
    fp s;
    fp hh;
    fp hhh;
    fp v;
    fp_sqr(&zz, &p->z);
    fp_mul(&h, x, &zz);
    fp_sub(&h, &h, &p->x);
    fp_mul(&s, y, &zz);
    fp_mul(&s, &s, &p->z);
    fp_sub(&s, &s, &p->y);
    if (CD_UNLIKELY(fp_is_zero(&h))) {
        if (fp_is_zero(&s)) {
            jac_dbl(r, p);
        } else {
            *r = (jac){.z = FP_ZERO};
        }
        return;
    }
    fp_sqr(&hh, &h);
    fp_mul(&hhh, &hh, &h);
    fp_mul(&v, &p->x, &hh);
    fp_mul(&r->z, &p->z, &h);
    fp_mul(&hh, &p->y, &hhh);
    fp_sqr(&r->x, &s);
    fp_sub(&r->x, &r->x, &hhh);
    fp_sub(&r->x, &r->x, &v);
    fp_sub(&r->x, &r->x, &v);
    fp_sub(&v, &v, &r->x);
    fp_mul(&v, &v, &s);
    fp_sub(&r->y, &v, &hh);
    if (ratio != NULL) {
        *ratio = h;
    }
}

/* --- multiplication --- */

/* The group order, and the endomorphism (x, y) -> (beta x, y), which multiplies by a cube root of one.
 * A scalar k splits into k1 + k2 * lambda with halves of 127 bits by rounding against a short lattice
 * basis (A1, -B1), (A2, A1); G1 and G2 are 2^256 * A1 / r and 2^256 * B1 / r. */
static const u64 ORDER[4] = {0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029};
static const fp BETA = {{0x71930c11d782e155, 0xa6bb947cffbe3323, 0xaa303344d4741444, 0x2c3b3f0d26594943}};
static const u64 LATTICE_A1[1] = {0x89d3256894d213e3};
static const u64 LATTICE_B1[2] = {0x8211bbeb7d4f1128, 0x6f4d8248eeb859fc};
static const u64 LATTICE_A2[2] = {0x0be4e1541221250b, 0x6f4d8248eeb859fd};
static const u64 ROUND_G1[2] = {0xd91d232ec7e0b3d7, 0x0000000000000002};
static const u64 ROUND_G2[3] = {0x7a7bd9d4391eb18d, 0x4ccef014a773d2cf, 0x0000000000000002};

/* out (na + nb words) = a * b. */
static void mul_words(u64 *out, const u64 *a, int na, const u64 *b, int nb)
{
    memset(out, 0, sizeof *out * (usize)(na + nb));
    for (int i = 0; i < nb; i++) {
        u64 carry = 0;
        for (int j = 0; j < na; j++) {
            carry = fp__mac(&out[i + j], out[i + j], a[j], b[i], carry);
        }
        out[i + na] = carry;
    }
}

static u64 sub_words(u64 *r, const u64 *b, int n)
{
    u64 borrow = 0;
    for (int i = 0; i < n; i++) {
        borrow = fp__sbb(&r[i], r[i], b[i], borrow);
    }
    return borrow;
}

/* abs_words makes a two's complement number of 4 words positive and says whether it was negative. */
static bool abs_words(u64 a[4])
{
    bool negative = a[3] >> 63 != 0;
    if (negative) {
        u64 carry = 1;
        for (int i = 0; i < 4; i++) {
            carry = fp__adc(&a[i], ~a[i], 0, carry);
        }
    }
    return negative;
}

typedef struct half_scalar {
    u64 abs[4]; /* below 2^127 */
    bool negative;
} half_scalar;

static void split_scalar(half_scalar *k1, half_scalar *k2, const u64 k[4])
{
    u64 t[4];
    u64 w[7];
    memcpy(t, k, sizeof t);
    for (;;) { /* k < 2^256 < 6r */
        u64 s[4];
        memcpy(s, t, sizeof s);
        if (sub_words(s, ORDER, 4) != 0) {
            break;
        }
        memcpy(t, s, sizeof t);
    }
    u64 c1[2];
    u64 c2[2];
    mul_words(w, t, 4, ROUND_G1, 2);
    memcpy(c1, w + 4, sizeof c1);
    mul_words(w, t, 4, ROUND_G2, 3);
    memcpy(c2, w + 4, sizeof c2);

    /* k1 = k - c1 A1 - c2 A2, k2 = c1 B1 - c2 A1, both small although the terms are not. */
    u64 m[4] = {0};
    mul_words(m, c1, 2, LATTICE_A1, 1);
    (void)sub_words(t, m, 4);
    mul_words(m, c2, 2, LATTICE_A2, 2);
    (void)sub_words(t, m, 4);
    memcpy(k1->abs, t, sizeof t);
    k1->negative = abs_words(k1->abs);

    mul_words(t, c1, 2, LATTICE_B1, 2);
    memset(m, 0, sizeof m);
    mul_words(m, c2, 2, LATTICE_A1, 1);
    (void)sub_words(t, m, 4);
    memcpy(k2->abs, t, sizeof t);
    k2->negative = abs_words(k2->abs);
}

/* Signed digits of width 5: odd numbers in -15 .. 15, at most one in five positions. */
#define WINDOW    5
#define TABLE_LEN (1 << (WINDOW - 2))
#define DIGITS    129

static void recode(int8_t out[DIGITS], const half_scalar *k)
{
    u64 lo = k->abs[0];
    u64 hi = k->abs[1];
    memset(out, 0, DIGITS);
    for (int i = 0; (lo | hi) != 0; i++) {
        CD_ASSERT(i < DIGITS);
        if (lo & 1) {
            int digit = (int)(lo & ((1 << WINDOW) - 1));
            if (digit >= 1 << (WINDOW - 1)) {
                digit -= 1 << WINDOW;
                u64 carry = fp__adc(&lo, lo, (u64)-digit, 0);
                hi += carry;
            } else {
                lo -= (u64)digit;
            }
            out[i] = (int8_t)(k->negative ? -digit : digit);
        }
        lo = lo >> 1 | hi << 63;
        hi >>= 1;
    }
}

typedef struct entry {
    fp x, y;
} entry;

/* odd_multiples fills table with P, 3P, ..., 15P as affine points of an isomorphic curve: (x, y) there
 * is (x/z^2, y/z^3) on ours for the one common *z. That spares the inversion: the formulas above do not
 * contain the curve's constant, so they work on the other curve unchanged. */
static void odd_multiples(entry table[TABLE_LEN], fp *z, const g1 *p)
{
    jac d;
    jac_dbl(&d, &(jac){.x = p->x, .y = p->y, .z = FP_ONE});
    /* On the curve scaled by d.z, 2P is affine: (d.x, d.y). */
    fp zz;
    fp zzz;
    jac t = {.z = FP_ONE};
    fp_sqr(&zz, &d.z);
    fp_mul(&zzz, &zz, &d.z);
    fp_mul(&t.x, &p->x, &zz);
    fp_mul(&t.y, &p->y, &zzz);
    fp ratio[TABLE_LEN];
    table[0] = (entry){.x = t.x, .y = t.y};
    for (int i = 1; i < TABLE_LEN; i++) {
        jac_add_affine(&t, &ratio[i], &t, &d.x, &d.y);
        table[i] = (entry){.x = t.x, .y = t.y};
    }
    /* Bring all entries to the z of the last one: multiply each by the product of the ratios above it. */
    fp scale = FP_ONE;
    for (int i = TABLE_LEN - 2; i >= 0; i--) {
        fp_mul(&scale, &scale, &ratio[i + 1]);
        fp_sqr(&zz, &scale);
        fp_mul(&zzz, &zz, &scale);
        fp_mul(&table[i].x, &table[i].x, &zz);
        fp_mul(&table[i].y, &table[i].y, &zzz);
    }
    fp_mul(z, &t.z, &d.z);
}

static void add_digit(jac *acc, const entry *table, int digit)
{
    if (digit == 0) {
        return;
    }
    const entry *e = &table[(digit > 0 ? digit : -digit) / 2];
    fp y = e->y;
    if (digit < 0) {
        fp_neg(&y, &y);
    }
    jac_add_affine(acc, NULL, acc, &e->x, &y);
}

void cd__bn254_g1_mul(g1 *r, const g1 *a, const u64 k[4])
{
    if (a->is_inf) {
        *r = *a;
        return;
    }
    half_scalar k1;
    half_scalar k2;
    int8_t digits1[DIGITS];
    int8_t digits2[DIGITS];
    split_scalar(&k1, &k2, k);
    recode(digits1, &k1);
    recode(digits2, &k2);

    entry table1[TABLE_LEN];
    entry table2[TABLE_LEN];
    fp z;
    odd_multiples(table1, &z, a);
    for (int i = 0; i < TABLE_LEN; i++) {
        fp_mul(&table2[i].x, &table1[i].x, &BETA);
        table2[i].y = table1[i].y;
    }

    jac acc = {.z = FP_ZERO};
    for (int i = DIGITS - 1; i >= 0; i--) {
        if (!fp_is_zero(&acc.z)) {
            jac_dbl(&acc, &acc);
        }
        add_digit(&acc, table1, digits1[i]);
        add_digit(&acc, table2, digits2[i]);
    }
    if (fp_is_zero(&acc.z)) {
        *r = (g1){.is_inf = true};
        return;
    }
    fp zi;
    fp zi2;
    fp_mul(&zi, &acc.z, &z);
    cd__bn254_fp_inv(&zi, &zi);
    fp_sqr(&zi2, &zi);
    fp_mul(&zi, &zi, &zi2);
    g1 out = {.is_inf = false};
    fp_mul(&out.x, &acc.x, &zi2);
    fp_mul(&out.y, &acc.y, &zi);
    *r = out;
}
