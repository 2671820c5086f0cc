#include "crypto/ec/secp256k1_x8.h"

#include "base/bytes.h"

#include "crypto/ec/modinv.h"

#include <immintrin.h>

/* --- field: eight numbers mod p = 2^256 - 2^32 - 977, five limbs of 52 bits each --- */

/* Limbs are below 2^52 and the top one below 2^50, except in sums on their way to fe_carry. */
typedef struct fe {
    __m512i l[5];
} fe;

typedef __mmask8 mask;

#define M52   0xfffffffffffff
#define M48   0xffffffffffff
#define FOLD  0x1000003d1  /* 2^256 mod p */
#define FOLD4 0x1000003d10 /* 2^260 mod p */

CD_INLINE __m512i splat(u64 v)
{
    return _mm512_set1_epi64((long long)v);
}

/* fe_carry brings limbs below 2^60 back into shape. */
CD_INLINE void fe_carry(fe *r)
{
    const __m512i m52 = splat(M52);
    __m512i top = _mm512_srli_epi64(r->l[4], 48);
    r->l[4] = _mm512_and_si512(r->l[4], splat(M48));
    r->l[0] = _mm512_madd52lo_epu64(r->l[0], top, splat(FOLD));
    for (int i = 0; i < 4; i++) {
        r->l[i + 1] = _mm512_add_epi64(r->l[i + 1], _mm512_srli_epi64(r->l[i], 52));
        r->l[i] = _mm512_and_si512(r->l[i], m52);
    }
}

/* fe_fold reduces ten columns, each below 2^57, of a product. */
CD_INLINE void fe_fold(fe *r, __m512i c[10])
{
    const __m512i m52 = splat(M52);
    const __m512i fold4 = splat(FOLD4);
    for (int i = 5; i < 9; i++) {
        c[i + 1] = _mm512_add_epi64(c[i + 1], _mm512_srli_epi64(c[i], 52));
        c[i] = _mm512_and_si512(c[i], m52);
    }
    __m512i over = _mm512_madd52hi_epu64(_mm512_setzero_si512(), c[9], fold4);
    for (int i = 0; i < 5; i++) {
        c[i] = _mm512_madd52lo_epu64(c[i], c[i + 5], fold4);
    }
    for (int i = 0; i < 4; i++) {
        c[i + 1] = _mm512_madd52hi_epu64(c[i + 1], c[i + 5], fold4);
    }
    c[0] = _mm512_madd52lo_epu64(c[0], over, fold4);
    c[1] = _mm512_madd52hi_epu64(c[1], over, fold4);
    for (int i = 0; i < 5; i++) {
        r->l[i] = c[i];
    }
    fe_carry(r);
}

CD_INLINE void fe_mul(fe *r, const fe *a, const fe *b)
{
    __m512i c[10];
    for (int i = 0; i < 10; i++) {
        c[i] = _mm512_setzero_si512();
    }
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
#pragma GCC unroll 5
        for (int j = 0; j < 5; j++) {
            c[i + j] = _mm512_madd52lo_epu64(c[i + j], a->l[i], b->l[j]);
            c[i + j + 1] = _mm512_madd52hi_epu64(c[i + j + 1], a->l[i], b->l[j]);
        }
    }
    fe_fold(r, c);
}

CD_INLINE void fe_sqr(fe *r, const fe *a)
{
    __m512i c[10];
    for (int i = 0; i < 10; i++) {
        c[i] = _mm512_setzero_si512();
    }
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
#pragma GCC unroll 5
        for (int j = i + 1; j < 5; j++) {
            c[i + j] = _mm512_madd52lo_epu64(c[i + j], a->l[i], a->l[j]);
            c[i + j + 1] = _mm512_madd52hi_epu64(c[i + j + 1], a->l[i], a->l[j]);
        }
    }
    for (int i = 1; i < 9; i++) {
        c[i] = _mm512_add_epi64(c[i], c[i]);
    }
#pragma GCC unroll 5
    for (usize i = 0; i < 5; i++) {
        c[2 * i] = _mm512_madd52lo_epu64(c[2 * i], a->l[i], a->l[i]);
        c[2 * i + 1] = _mm512_madd52hi_epu64(c[2 * i + 1], a->l[i], a->l[i]);
    }
    fe_fold(r, c);
}

static CD_NOINLINE void fe_sqr_times(fe *r, const fe *a, int n)
{
    fe t = *a;
    for (int i = 0; i < n; i++) {
        fe_sqr(&t, &t);
    }
    *r = t;
}

/* Sums without carry; fe_sub_raw adds 4p so that no limb goes below zero. */
CD_INLINE void fe_add_raw(fe *r, const fe *a, const fe *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_add_epi64(a->l[i], b->l[i]);
    }
}

CD_INLINE void fe_sub_raw(fe *r, const fe *a, const fe *b)
{
    static const u64 p4[5] = {4 * 0xffffefffffc2f, 4 * M52, 4 * M52, 4 * M52, 4 * M48};
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_sub_epi64(_mm512_add_epi64(a->l[i], splat(p4[i])), b->l[i]);
    }
}

CD_INLINE void fe_sub(fe *r, const fe *a, const fe *b)
{
    fe_sub_raw(r, a, b);
    fe_carry(r);
}

/* r = a << n, without carry. */
CD_INLINE void fe_shl_raw(fe *r, const fe *a, unsigned n)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_slli_epi64(a->l[i], n);
    }
}

CD_INLINE void fe_neg(fe *r, const fe *a)
{
    fe zero;
    for (int i = 0; i < 5; i++) {
        zero.l[i] = _mm512_setzero_si512();
    }
    fe_sub(r, &zero, a);
}

/* r = where m: b, elsewhere a. */
CD_INLINE void fe_blend(fe *r, mask m, const fe *a, const fe *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_mask_blend_epi64(m, a->l[i], b->l[i]);
    }
}

CD_INLINE void fe_small(fe *r, u64 v)
{
    r->l[0] = splat(v);
    for (int i = 1; i < 5; i++) {
        r->l[i] = _mm512_setzero_si512();
    }
}

/* fe_canon gives the one representative below p. */
static void fe_canon(fe *r, const fe *a)
{
    fe t = *a;
    fe_carry(&t); /* below 2^256 now */
    fe u = t;
    u.l[0] = _mm512_add_epi64(u.l[0], splat(FOLD));
    for (int i = 0; i < 4; i++) {
        u.l[i + 1] = _mm512_add_epi64(u.l[i + 1], _mm512_srli_epi64(u.l[i], 52));
        u.l[i] = _mm512_and_si512(u.l[i], splat(M52));
    }
    mask at_least_p = _mm512_cmpge_epu64_mask(u.l[4], splat(M48 + 1));
    u.l[4] = _mm512_and_si512(u.l[4], splat(M48));
    fe_blend(r, at_least_p, &t, &u);
}

/* Gives the ways in which a canonical number is zero. */
static mask fe_is_zero(const fe *a)
{
    __m512i any = _mm512_or_si512(_mm512_or_si512(a->l[0], a->l[1]), _mm512_or_si512(a->l[2], a->l[3]));
    any = _mm512_or_si512(any, a->l[4]);
    return _mm512_testn_epi64_mask(any, any);
}

static void limbs_of(u64 out[5], const u64 w[4])
{
    out[0] = w[0] & M52;
    out[1] = (w[0] >> 52 | w[1] << 12) & M52;
    out[2] = (w[1] >> 40 | w[2] << 24) & M52;
    out[3] = (w[2] >> 28 | w[3] << 36) & M52;
    out[4] = w[3] >> 16;
}

static void words_of(u64 out[4], const u64 l[5])
{
    out[0] = l[0] | l[1] << 52;
    out[1] = l[1] >> 12 | l[2] << 40;
    out[2] = l[2] >> 24 | l[3] << 28;
    out[3] = l[3] >> 36 | l[4] << 16;
}

/* fe_load puts number i of words into way i; fe_store does the reverse. */
static void fe_load(fe *r, const u64 words[CD__SECP_WAYS][4])
{
    u64 t[5][CD__SECP_WAYS];
    for (int way = 0; way < CD__SECP_WAYS; way++) {
        u64 l[5];
        limbs_of(l, words[way]);
        for (int i = 0; i < 5; i++) {
            t[i][way] = l[i];
        }
    }
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_loadu_si512(t[i]);
    }
}

static void fe_store(u64 words[CD__SECP_WAYS][4], const fe *canon)
{
    u64 t[5][CD__SECP_WAYS];
    for (int i = 0; i < 5; i++) {
        _mm512_storeu_si512(t[i], canon->l[i]);
    }
    for (int way = 0; way < CD__SECP_WAYS; way++) {
        u64 l[5] = {t[0][way], t[1][way], t[2][way], t[3][way], t[4][way]};
        words_of(words[way], l);
    }
}

/* Turns the ways by n places: way i of r is way i + n (mod 8) of a. */
CD_INLINE void fe_turn(fe *r, const fe *a, int n)
{
    const __m512i idx =
        _mm512_and_si512(_mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), splat((u64)n)), splat(7));
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_permutexvar_epi64(idx, a->l[i]);
    }
}

/* fe_inv inverts all ways with one inversion of their product; gives the ways that are zero, whose
 * result means nothing. */
static CD_NOINLINE mask fe_inv(fe *r, const fe *a)
{
    static const cd__modulus p = {
        {0x3ffffffefffffc2f, 0x3fffffffffffffff, 0x3fffffffffffffff, 0x3fffffffffffffff, 0xff}, 0x27c7f6e22ddacacf};
    fe x;
    fe one;
    fe_small(&one, 1);
    fe_canon(&x, a);
    mask zero = fe_is_zero(&x);
    fe_blend(&x, zero, &x, &one);

    fe t;
    fe two;  /* ways i, i+1 */
    fe four; /* ways i .. i+3 */
    fe rest; /* all ways but i */
    fe_turn(&rest, &x, 1);
    fe_mul(&two, &x, &rest);
    fe_turn(&t, &two, 2);
    fe_mul(&rest, &rest, &t);
    fe_mul(&four, &two, &t);
    fe_turn(&t, &four, 4);
    fe_mul(&rest, &rest, &t);
    fe_mul(&t, &four, &t);

    u64 all[CD__SECP_WAYS][4];
    u64 inv[4];
    fe_canon(&t, &t);
    fe_store(all, &t);
    cd__modinv(inv, all[0], &p);
    for (int way = 0; way < CD__SECP_WAYS; way++) {
        memcpy(all[way], inv, sizeof inv);
    }
    fe_load(&t, (const u64(*)[4])all);
    fe_mul(r, &rest, &t);
    return zero;
}

/* fe_sqrt gives a^((p+1)/4): a square root wherever there is one. The exponent is 223 ones, a zero, 22
 * ones, four zeros, 11, 00. */
static void fe_sqrt(fe *r, const fe *a)
{
    fe x2;
    fe x3;
    fe x6;
    fe x11;
    fe x22;
    fe x44;
    fe t;
    fe u;
    fe_sqr_times(&t, a, 1);
    fe_mul(&x2, &t, a);
    fe_sqr_times(&t, &x2, 1);
    fe_mul(&x3, &t, a);
    fe_sqr_times(&t, &x3, 3);
    fe_mul(&x6, &t, &x3);
    fe_sqr_times(&t, &x6, 3);
    fe_mul(&t, &t, &x3);
    fe_sqr_times(&t, &t, 2);
    fe_mul(&x11, &t, &x2);
    fe_sqr_times(&t, &x11, 11);
    fe_mul(&x22, &t, &x11);
    fe_sqr_times(&t, &x22, 22);
    fe_mul(&x44, &t, &x22);
    fe_sqr_times(&t, &x44, 44);
    fe_mul(&u, &t, &x44); /* 88 ones */
    fe_sqr_times(&t, &u, 88);
    fe_mul(&u, &t, &u); /* 176 ones */
    fe_sqr_times(&t, &u, 44);
    fe_mul(&u, &t, &x44); /* 220 ones */
    fe_sqr_times(&t, &u, 3);
    fe_mul(&u, &t, &x3); /* 223 ones */
    fe_sqr_times(&t, &u, 23);
    fe_mul(&t, &t, &x22);
    fe_sqr_times(&t, &t, 6);
    fe_mul(&t, &t, &x2);
    fe_sqr_times(r, &t, 2);
}

/* --- points: Jacobian, x = X/Z^2, y = Y/Z^3 --- */

typedef struct ge {
    fe x, y;
} ge;

typedef struct gej {
    fe x, y, z;
} gej;

static CD_NOINLINE void gej_dbl(gej *r, const gej *p)
{
    fe b;
    fe c;
    fe l;
    fe e;
    fe t;
    fe_sqr(&b, &p->y);
    fe_mul(&l, &p->x, &b); /* l = X Y^2 */
    fe_sqr(&c, &b);
    fe_mul(&t, &p->y, &p->z);
    fe_sqr(&e, &p->x);
    fe_add_raw(&r->z, &t, &t);
    fe_carry(&r->z);
    fe_shl_raw(&t, &e, 1); /* e = 3 X^2 */
    fe_add_raw(&e, &e, &t);
    fe_carry(&e);
    fe_shl_raw(&l, &l, 2); /* l = 4 X Y^2 */
    fe_carry(&l);
    fe_sqr(&t, &e);
    fe_sub_raw(&t, &t, &l); /* X3 = e^2 - 2l */
    fe_sub_raw(&t, &t, &l);
    fe_carry(&t);
    r->x = t;
    fe_sub(&l, &l, &t); /* Y3 = e (l - X3) - 8 Y^4 */
    fe_mul(&t, &e, &l);
    fe_shl_raw(&c, &c, 3);
    fe_carry(&c);
    fe_sub(&r->y, &t, &c);
}

/* r = p + q. *ratio is r.z / p.z. Wrong where p = +-q: then r.z is zero and stays so. */
CD_INLINE void gej_add(gej *r, fe *ratio, const gej *p, const ge *q)
{
    fe zz;
    fe h;
    fe s;
    fe hh;
    fe v;
    fe t;
    fe_sqr(&zz, &p->z);
    fe_mul(&h, &q->x, &zz);
    fe_mul(&t, &q->y, &p->z);
    fe_sub(&h, &h, &p->x);
    fe_mul(&s, &t, &zz);
    fe_sub(&s, &s, &p->y);
    fe_sqr(&hh, &h);
    fe_mul(&r->z, &p->z, &h);
    *ratio = h;
    fe_mul(&v, &p->x, &hh);
    fe_mul(&h, &h, &hh);
    fe_sqr(&t, &s);
    fe_mul(&hh, &p->y, &h); /* hh = Y h^3 */
    fe_sub_raw(&t, &t, &h); /* X3 = s^2 - h^3 - 2v */
    fe_sub_raw(&t, &t, &v);
    fe_sub_raw(&t, &t, &v);
    fe_carry(&t);
    r->x = t;
    fe_sub(&v, &v, &t); /* Y3 = s (v - X3) - Y h^3 */
    fe_mul(&t, &s, &v);
    fe_sub(&r->y, &t, &hh);
}

/* A running sum; where a way is infinite, its coordinates mean nothing. */
typedef struct sum {
    gej p;
    mask inf;
} sum;

/* sum_add adds q to the ways in which the digit is not zero, -q where it is negative. */
static CD_NOINLINE void sum_add(sum *s, const ge *q, __m512i digit)
{
    mask negative = _mm512_movepi64_mask(digit);
    mask zero = _mm512_testn_epi64_mask(digit, digit);
    ge e = *q;
    gej t;
    fe unused;
    fe_neg(&t.y, &e.y);
    fe_blend(&e.y, negative, &e.y, &t.y);
    gej_add(&t, &unused, &s->p, &e);
    if (CD_UNLIKELY(s->inf != 0)) {
        fe one;
        fe_small(&one, 1);
        fe_blend(&t.x, s->inf, &t.x, &e.x);
        fe_blend(&t.y, s->inf, &t.y, &e.y);
        fe_blend(&t.z, s->inf, &t.z, &one);
        s->inf &= zero;
    }
    fe_blend(&s->p.x, zero, &t.x, &s->p.x);
    fe_blend(&s->p.y, zero, &t.y, &s->p.y);
    fe_blend(&s->p.z, zero, &t.z, &s->p.z);
}

/* --- tables --- */

enum { R_TABLE = 8 };

/* multiples fills table with q, 2q, ..., 8q; gives the ways in which that failed, as a z was zero. */
static mask multiples(ge table[R_TABLE], const ge *q)
{
    fe ratio[R_TABLE];
    gej t = {.x = q->x, .y = q->y};
    fe_small(&t.z, 1);
    table[0] = *q;
    gej_dbl(&t, &t);
    ratio[1] = t.z;
    table[1] = (ge){.x = t.x, .y = t.y};
    for (int i = 2; i < R_TABLE; i++) {
        gej_add(&t, &ratio[i], &t, q);
        table[i] = (ge){.x = t.x, .y = t.y};
    }
    fe inv;
    mask bad = fe_inv(&inv, &t.z);
    for (int i = R_TABLE - 1; i >= 1; i--) {
        fe zz;
        fe zzz;
        fe_sqr(&zz, &inv);
        fe_mul(&zzz, &zz, &inv);
        fe_mul(&table[i].x, &table[i].x, &zz);
        fe_mul(&table[i].y, &table[i].y, &zzz);
        fe_mul(&inv, &inv, &ratio[i]); /* the inverse of the z of entry i - 1 */
    }
    return bad;
}

/* Picks the table's entry for the absolute value of each way's digit; digit zero gives any entry. */
CD_INLINE void pick_r(ge *out, const ge table[R_TABLE], const fe *xs, __m512i digit)
{
    __m512i abs = _mm512_abs_epi64(digit);
    out->x = xs[0];
    out->y = table[0].y;
    for (int i = 1; i < R_TABLE; i++) {
        mask here = _mm512_cmpeq_epi64_mask(abs, splat((u64)i + 1));
        for (int k = 0; k < 5; k++) {
            out->x.l[k] = _mm512_mask_mov_epi64(out->x.l[k], here, xs[i].l[k]);
            out->y.l[k] = _mm512_mask_mov_epi64(out->y.l[k], here, table[i].y.l[k]);
        }
    }
}

CD_INLINE void pick_g(ge *out, const u64 limb[10][CD__SECP_G_TABLE], __m512i digit)
{
    __m512i idx = _mm512_sub_epi64(_mm512_abs_epi64(digit), splat(1));
    idx = _mm512_max_epi64(idx, _mm512_setzero_si512());
    for (int k = 0; k < 5; k++) {
        out->x.l[k] = _mm512_i64gather_epi64(idx, limb[k], 8);
        out->y.l[k] = _mm512_i64gather_epi64(idx, limb[5 + k], 8);
    }
}

CD_INLINE __m512i load_digits(const int16_t d[CD__SECP_WAYS])
{
    __m128i packed;
    memcpy(&packed, d, sizeof packed);
    return _mm512_cvtepi16_epi64(packed);
}

/* --- the batch --- */

void cd__secp_x8_table_set(cd__secp_x8_table *t, int h, usize i, const u8 pub[64])
{
    for (usize c = 0; c < 2; c++) {
        const u8 *p = pub + 32 * c;
        u64 w[4] = {cd_be64(p + 24), cd_be64(p + 16), cd_be64(p + 8), cd_be64(p)};
        u64 l[5];
        limbs_of(l, w);
        for (usize k = 0; k < 5; k++) {
            t->limb[h][5 * c + k][i] = l[k];
        }
    }
}

/* lift finds the y of the wanted parity; gives the ways in which x has none. */
static mask lift(ge *out, const cd__secp_x8_job *job)
{
    fe rhs;
    fe t;
    fe y;
    fe_load(&out->x, job->x);
    fe_sqr(&t, &out->x);
    fe_mul(&rhs, &t, &out->x);
    rhs.l[0] = _mm512_add_epi64(rhs.l[0], splat(7));
    fe_carry(&rhs);
    fe_sqrt(&y, &rhs);
    fe_sqr(&t, &y);
    fe_sub(&t, &t, &rhs);
    fe_canon(&t, &t);
    mask none = (mask)~fe_is_zero(&t);

    mask want_odd = 0;
    for (int way = 0; way < CD__SECP_WAYS; way++) {
        want_odd |= (mask)(job->want_odd[way] << way);
    }
    fe_canon(&y, &y);
    mask is_odd = _mm512_test_epi64_mask(y.l[0], splat(1));
    fe_neg(&t, &y);
    fe_blend(&out->y, is_odd ^ want_odd, &y, &t);
    return none;
}

u8 cd__secp_x8_run(u8 out[CD__SECP_WAYS][64], const cd__secp_x8_job *job, const cd__secp_x8_table *table)
{
    /* The endomorphism is (x, y) -> (beta x, y). */
    static const u64 beta_limbs[5] = {0x96c28719501ee, 0x7512f58995c13, 0xc3434e99cf049, 0x7106e64479ea,
                                      0x7ae96a2b657c};
    ge r;
    ge q;
    ge rs[R_TABLE];
    fe x[R_TABLE];
    fe beta_x[R_TABLE];
    fe beta;
    mask bad = lift(&r, job);
    bad |= multiples(rs, &r);
    for (int k = 0; k < 5; k++) {
        beta.l[k] = splat(beta_limbs[k]);
    }
    for (int i = 0; i < R_TABLE; i++) {
        x[i] = rs[i].x;
        fe_mul(&beta_x[i], &rs[i].x, &beta);
    }

    sum s = {.inf = 0xff};
    fe_small(&s.p.x, 1);
    fe_small(&s.p.y, 1);
    fe_small(&s.p.z, 1);
    for (int i = CD__SECP_R_DIGITS - 1; i >= 0; i--) {
        for (int k = 0; k < 4 && i != CD__SECP_R_DIGITS - 1; k++) {
            gej_dbl(&s.p, &s.p);
        }
        __m512i d = load_digits(job->r[0][i]);
        pick_r(&q, rs, x, d);
        sum_add(&s, &q, d);
        d = load_digits(job->r[1][i]);
        pick_r(&q, rs, beta_x, d);
        sum_add(&s, &q, d);
        for (int h = 0; h < 2 && i % 2 == 0 && i < CD__SECP_G_DIGITS; h++) {
            d = load_digits(job->g[h * CD__SECP_G_DIGITS / 2 + i / 2]);
            pick_g(&q, table->limb[h], d);
            sum_add(&s, &q, d);
        }
    }

    fe zi;
    fe zz;
    u64 words[2][CD__SECP_WAYS][4];
    bad |= fe_inv(&zi, &s.p.z);
    fe_sqr(&zz, &zi);
    fe_mul(&zi, &zi, &zz);
    fe_mul(&q.x, &s.p.x, &zz);
    fe_mul(&q.y, &s.p.y, &zi);
    fe_canon(&q.x, &q.x);
    fe_canon(&q.y, &q.y);
    fe_store(words[0], &q.x);
    fe_store(words[1], &q.y);
    for (int way = 0; way < CD__SECP_WAYS; way++) {
        for (usize i = 0; i < 4; i++) {
            cd_put_be64(out[way] + 8 * i, words[0][way][3 - i]);
            cd_put_be64(out[way] + 32 + 8 * i, words[1][way][3 - i]);
        }
    }
    return (u8) ~(bad | s.inf);
}
