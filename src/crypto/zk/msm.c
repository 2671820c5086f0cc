#include "crypto/zk/msm.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "crypto/zk/point_priv.h"

#define SCALAR_BITS  253
#define FIXED_WINDOW 8 /* bits of a signed odd digit, for points with a table */
#define FIXED_ODD    (1 << (FIXED_WINDOW - 2))
#define FREE_WINDOW  5 /* the same for points without a table */
#define FREE_ODD     (1 << (FREE_WINDOW - 2))
#define BUCKETS_FROM 190 /* with so many points or more, buckets are cheaper (measured) */

struct cd_msm_table {
    usize cnt;
    cd__affine (*odd)[FIXED_ODD]; /* P, 3P, 5P ... */
};

/* --- Straus: digits are few and odd; at every bit the points with a digit there are added --- */

/* A digit of one scalar; digits at the same bit are chained. */
typedef struct digit {
    i32 next; /* index of the next one in the chain; -1: this is the last */
    u32 point;
    i16 value;
} digit;

typedef struct digits {
    i32 head[SCALAR_BITS + 8];
    digit *all;
    i32 cnt;
} digits;

/* Gives bits [at, at + n) of a scalar, n <= 32. */
static u64 bits_at(const u64 w[5], u32 at, u32 n)
{
    u64 low = w[at / 64] >> (at % 64);
    u64 high = at % 64 == 0 ? 0 : w[at / 64 + 1] << (64 - at % 64);
    return (low | high) & ((1ULL << n) - 1);
}

static void plain_words(u64 w[5], const cd_scalar *k)
{
    u8 bytes[32];
    cd_scalar_put(bytes, k);
    for (usize i = 0; i < 4; i++) {
        w[i] = cd_le64(bytes + 8 * i);
    }
    w[4] = 0;
}

/* Splits a scalar into signed odd digits of `window` bits (width-w non-adjacent form). */
static void split(digits *d, const cd_scalar *k, u32 point, u32 window)
{
    u64 w[5];
    plain_words(w, k);
    u64 carry = 0;
    for (u32 at = 0; at < SCALAR_BITS + 1;) {
        u64 v = bits_at(w, at, window) + carry;
        if ((v & 1) == 0) {
            at++;
            continue;
        }
        carry = v >> (window - 1) & 1;
        i16 value = (i16)((i64)v - (i64)(carry << window));
        d->all[d->cnt] = (digit){.next = d->head[at], .point = point, .value = value};
        d->head[at] = d->cnt++;
        at += window;
    }
}

static void odd_multiples(cd__niels out[FREE_ODD], const cd_point *p)
{
    cd_point two;
    cd_point q = *p;
    cd__point_double(&two, p);
    cd__point_to_niels(&out[0], p);
    for (int i = 1; i < FREE_ODD; i++) {
        cd__point_add_niels(&q, &two, &out[i - 1], false);
        cd__point_to_niels(&out[i], &q);
    }
}

/* Asks for the entry of the next addition early, because the wide tables do not fit into the first cache. */
CD_INLINE void prefetch(const cd_msm_table *t, const digit *g)
{
    const u8 *p = (const u8 *)&t->odd[g->point][(u32)(g->value < 0 ? -g->value : g->value) / 2];
    __builtin_prefetch(p);
    __builtin_prefetch(p + 64);
}

static void straus(cd_point *out, const cd_msm_table *t, usize first, const cd_scalar *fixed, usize fixed_cnt,
                   const cd_scalar *k, const cd_point *p, usize cnt)
{
    usize room = fixed_cnt * (SCALAR_BITS / FIXED_WINDOW + 2) + cnt * (SCALAR_BITS / FREE_WINDOW + 2);
    digits d = {.all = cd_new_array(digit, room + 1)};
    cd__niels(*odd)[FREE_ODD] = cd_alloc_array(cnt + 1, sizeof *odd);
    memset(d.head, 0xff, sizeof d.head);
    for (usize i = 0; i < fixed_cnt; i++) {
        split(&d, &fixed[i], (u32)(first + i), FIXED_WINDOW);
    }
    i32 free_from = d.cnt;
    for (usize i = 0; i < cnt; i++) {
        split(&d, &k[i], (u32)i, FREE_WINDOW);
        odd_multiples(odd[i], &p[i]);
    }
    cd_point sum = CD_POINT_ZERO;
    for (int bit = SCALAR_BITS; bit >= 0; bit--) {
        cd__point_double(&sum, &sum);
        for (i32 at = d.head[bit]; at >= 0; at = d.all[at].next) {
            const digit *g = &d.all[at];
            bool is_neg = g->value < 0;
            u32 idx = (u32)(is_neg ? -g->value : g->value) / 2;
            if (g->next >= 0 && g->next < free_from) {
                prefetch(t, &d.all[g->next]);
            }
            if (at < free_from) {
                cd__point_add_affine(&sum, &sum, &t->odd[g->point][idx], is_neg);
            } else {
                cd__point_add_niels(&sum, &sum, &odd[g->point][idx], is_neg);
            }
        }
    }
    *out = sum;
    cd_free(odd);
    cd_free(d.all);
}

/* --- Pippenger: per window, points with the same digit are summed in a bucket first --- */

static u32 bucket_window(usize cnt)
{
    u32 best = 4;
    u64 best_cost = ~0ULL;
    for (u32 w = 4; w <= 13; w++) {
        u64 cost = (SCALAR_BITS / w + 1) * (cnt + (1ULL << w));
        if (cost < best_cost) {
            best = w;
            best_cost = cost;
        }
    }
    return best;
}

/* Splits a scalar into signed digits of `window` = w bits, in [-2^(w-1), 2^(w-1)]. */
static void split_all(i16 *out, const cd_scalar *k, u32 window, u32 windows)
{
    u64 w[5];
    plain_words(w, k);
    u64 carry = 0;
    for (u32 i = 0; i < windows; i++) {
        u32 at = i * window;
        u64 v = (at < 256 ? bits_at(w, at, window) : 0) + carry;
        carry = v > 1ULL << (window - 1);
        out[i] = (i16)((i64)v - (i64)(carry << window));
    }
}

/* Gives the sum of i * bucket[i - 1]. */
static void sum_buckets(cd_point *out, const cd_point *bucket, usize cnt)
{
    cd_point run = CD_POINT_ZERO;
    cd_point sum = CD_POINT_ZERO;
    for (usize i = cnt; i-- > 0;) {
        cd_point_add(&run, &run, &bucket[i]);
        cd_point_add(&sum, &sum, &run);
    }
    *out = sum;
}

static void pippenger(cd_point *out, const cd_scalar *k, const cd_point *p, usize cnt)
{
    u32 window = bucket_window(cnt);
    u32 windows = SCALAR_BITS / window + 1;
    usize buckets = (usize)1 << (window - 1);
    i16 *digit_of = cd_new_array(i16, cnt * windows);
    cd__niels *niels = cd_new_array(cd__niels, cnt);
    cd_point *bucket = cd_new_array(cd_point, buckets);
    for (usize i = 0; i < cnt; i++) {
        split_all(digit_of + i * windows, &k[i], window, windows);
        cd__point_to_niels(&niels[i], &p[i]);
    }
    cd_point sum = CD_POINT_ZERO;
    for (u32 w = windows; w-- > 0;) {
        for (u32 i = 0; i < window; i++) {
            cd__point_double(&sum, &sum);
        }
        for (usize i = 0; i < buckets; i++) {
            bucket[i] = CD_POINT_ZERO;
        }
        for (usize i = 0; i < cnt; i++) {
            i16 v = digit_of[i * windows + w];
            if (v != 0) {
                cd_point *b = &bucket[(v < 0 ? -v : v) - 1];
                cd__point_add_niels(b, b, &niels[i], v < 0);
            }
        }
        cd_point part;
        sum_buckets(&part, bucket, buckets);
        cd_point_add(&sum, &sum, &part);
    }
    *out = sum;
    cd_free(bucket);
    cd_free(niels);
    cd_free(digit_of);
}

void cd_msm(cd_point *out, const cd_scalar *k, const cd_point *p, usize cnt)
{
    if (cnt < BUCKETS_FROM) {
        straus(out, NULL, 0, NULL, 0, k, p, cnt);
    } else {
        pippenger(out, k, p, cnt);
    }
}

/* --- secret scalars: 64 signed digits of four bits, every table read in full --- */

#define SECRET_DIGITS 64
#define SECRET_TABLE  8

static void split_secret(i16 out[SECRET_DIGITS], const cd_scalar *k)
{
    u8 bytes[32];
    cd_scalar_put(bytes, k);
    for (usize i = 0; i < 32; i++) {
        out[2 * i] = (i16)(bytes[i] & 15);
        out[2 * i + 1] = (i16)(bytes[i] >> 4);
    }
    i16 carry = 0;
    for (int i = 0; i < SECRET_DIGITS - 1; i++) {
        out[i] = (i16)(out[i] + carry);
        carry = (i16)((out[i] + 8) >> 4);
        out[i] = (i16)(out[i] - (i16)(carry * 16));
    }
    out[SECRET_DIGITS - 1] = (i16)(out[SECRET_DIGITS - 1] + carry);
    cd_wipe(bytes, sizeof bytes);
}

static void niels_select(cd__niels *a, const cd__niels *b, u64 take)
{
    cd__fe_select(&a->yx, &b->yx, take);
    cd__fe_select(&a->y_x, &b->y_x, take);
    cd__fe_select(&a->z2, &b->z2, take);
    cd__fe_select(&a->t2d, &b->t2d, take);
}

/* Picks v * P from the table P, 2P ... 8P, in a time that does not depend on v. */
static void pick(cd__niels *out, const cd__niels table[SECRET_TABLE], i16 v)
{
    u64 is_neg = (u64)(u16)v >> 15;
    u64 size = (u64)(u16)((u16)(v ^ -(i16)is_neg) + is_neg);
    cd__point_to_niels(out, &CD_POINT_ZERO);
    for (u64 i = 1; i <= SECRET_TABLE; i++) {
        u64 diff = size ^ i;
        niels_select(out, &table[i - 1], 1 ^ ((diff | (0 - diff)) >> 63));
    }
    cd__niels minus = {.yx = out->y_x, .y_x = out->yx, .z2 = out->z2, .t2d = cd__fe_neg(&out->t2d)};
    niels_select(out, &minus, is_neg);
}

void cd_msm_secret(cd_point *out, const cd_scalar *k, const cd_point *p, usize cnt)
{
    i16(*digit_of)[SECRET_DIGITS] = cd_alloc_array(cnt + 1, sizeof *digit_of);
    cd__niels(*table)[SECRET_TABLE] = cd_alloc_array(cnt + 1, sizeof *table);
    for (usize i = 0; i < cnt; i++) {
        split_secret(digit_of[i], &k[i]);
        cd_point q = p[i];
        cd__point_to_niels(&table[i][0], &q);
        for (int j = 1; j < SECRET_TABLE; j++) {
            cd__point_add_niels(&q, &q, &table[i][0], false);
            cd__point_to_niels(&table[i][j], &q);
        }
    }
    cd_point sum = CD_POINT_ZERO;
    for (int d = SECRET_DIGITS - 1; d >= 0; d--) {
        for (int i = 0; i < 4; i++) {
            cd__point_double(&sum, &sum);
        }
        for (usize i = 0; i < cnt; i++) {
            cd__niels n;
            pick(&n, table[i], digit_of[i][d]);
            cd__point_add_niels(&sum, &sum, &n, false);
        }
    }
    *out = sum;
    cd_wipe(digit_of, (cnt + 1) * sizeof *digit_of);
    cd_free(table);
    cd_free(digit_of);
}

/* --- tables --- */

/* Computes (x/z, y/z) of many points with one inversion. */
static void to_affine(cd__affine *out, const cd_point *p, usize cnt)
{
    cd__fe *before = cd_new_array(cd__fe, cnt);
    cd__fe all = CD__FE_ONE;
    for (usize i = 0; i < cnt; i++) {
        before[i] = all;
        all = cd__fe_mul(&all, &p[i].z);
    }
    all = cd__fe_inv(&all);
    for (usize i = cnt; i-- > 0;) {
        cd__fe inv = cd__fe_mul(&all, &before[i]);
        all = cd__fe_mul(&all, &p[i].z);
        cd__fe x = cd__fe_mul(&p[i].x, &inv);
        cd__fe y = cd__fe_mul(&p[i].y, &inv);
        cd__fe xy = cd__fe_mul(&x, &y);
        out[i].yx = cd__fe_add(&y, &x);
        out[i].y_x = cd__fe_sub(&y, &x);
        out[i].t2d = cd__fe_mul(&xy, &CD__FE_2D);
    }
    cd_free(before);
}

cd_msm_table *cd_msm_table_new(const cd_point *p, usize cnt)
{
    cd_msm_table *t = cd_new(cd_msm_table);
    t->cnt = cnt;
    t->odd = cd_alloc_array(cnt, sizeof *t->odd);
    cd_point *odd = cd_new_array(cd_point, cnt * FIXED_ODD);
    for (usize i = 0; i < cnt; i++) {
        cd_point two;
        cd_point *q = odd + i * FIXED_ODD;
        cd__niels n;
        cd__point_double(&two, &p[i]);
        cd__point_to_niels(&n, &two);
        q[0] = p[i];
        for (int j = 1; j < FIXED_ODD; j++) {
            cd__point_add_niels(&q[j], &q[j - 1], &n, false);
        }
    }
    to_affine(t->odd[0], odd, cnt * FIXED_ODD);
    cd_free(odd);
    return t;
}

void cd_msm_table_free(cd_msm_table *t)
{
    if (t != NULL) {
        cd_free(t->odd);
        cd_free(t);
    }
}

void cd_msm_fixed(cd_point *out, const cd_msm_table *t, usize first, const cd_scalar *fixed, usize fixed_cnt,
                  const cd_scalar *k, const cd_point *p, usize cnt)
{
    CD_ASSERT(first + fixed_cnt <= t->cnt);
    cd_point free_sum = CD_POINT_ZERO;
    bool is_many = cnt >= BUCKETS_FROM;
    if (is_many) {
        pippenger(&free_sum, k, p, cnt);
    }
    straus(out, t, first, fixed, fixed_cnt, k, p, is_many ? 0 : cnt);
    cd_point_add(out, out, &free_sum);
}
