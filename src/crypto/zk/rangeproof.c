#include "crypto/zk/rangeproof.h"

#include "base/mem/mem.h"
#include "crypto/zk/rangeproof_priv.h"

#define ROUNDS_MAX 11 /* log2(64 * 32) */

usize cd_rangeproof_size(usize cnt)
{
    bool fits = cnt >= 1 && cnt <= CD_RANGEPROOF_PARTIES_MAX && (cnt & (cnt - 1)) == 0;
    return fits ? 32 * (9 + 2 * (usize)cd__log2(CD__BITS * cnt)) : 0;
}

void cd__rangeproof_begin(cd_merlin *t, usize cnt)
{
    cd_merlin_append(t, "dom-sep", cd_bytes_str("rangeproof v1"));
    cd_merlin_append_u64(t, "n", CD__BITS);
    cd_merlin_append_u64(t, "m", cnt);
}

/* A proof with its numbers decoded and its challenges drawn. */
typedef struct parsed {
    usize cnt;
    u32 rounds;
    cd_scalar t_x, t_x_blinding, e_blinding, a, b;
    cd_scalar y, z, x, w;
    cd_scalar c; /* weight of the second equation */
    cd_scalar u[ROUNDS_MAX];
    cd_point point[4 + 2 * ROUNDS_MAX]; /* A, S, T1, T2, then L and R of each round */
    u8 digest[32];                      /* depends on all that was said in the transcript */
} parsed;

/* Reads a point, which may not be the identity, and says it under its label. */
static cd_err take_point(cd_point *out, cd_merlin *t, const char *label, const u8 *at)
{
    CD_TRY(cd_point_get(out, at));
    if (cd_point_is_zero(out)) {
        return CD_EPOINT;
    }
    cd_merlin_append(t, label, cd_bytes_of(at, 32));
    return CD_OK;
}

static cd_err take_scalar(cd_scalar *out, cd_merlin *t, const char *label, const u8 *at)
{
    CD_TRY(cd_scalar_get(out, at));
    cd_merlin_append(t, label, cd_bytes_of(at, 32));
    return CD_OK;
}

/* Follows the transcript through the proof. */
static cd_err parse(parsed *q, const cd_rangeproof_claim *claim)
{
    usize size = cd_rangeproof_size(claim->cnt);
    if (size == 0 || claim->proof.n != size) {
        return CD_EFORMAT;
    }
    cd_merlin t = *claim->transcript;
    const u8 *p = claim->proof.p;
    q->cnt = claim->cnt;
    q->rounds = cd__log2(CD__BITS * claim->cnt);
    cd__rangeproof_begin(&t, q->cnt);
    for (usize i = 0; i < q->cnt; i++) {
        cd_merlin_append(&t, "V", cd_bytes_of(claim->commitment[i].b, 32));
    }
    CD_TRY(take_point(&q->point[0], &t, "A", p));
    CD_TRY(take_point(&q->point[1], &t, "S", p + 32));
    q->y = cd_merlin_scalar(&t, "y");
    q->z = cd_merlin_scalar(&t, "z");
    CD_TRY(take_point(&q->point[2], &t, "T_1", p + 64));
    CD_TRY(take_point(&q->point[3], &t, "T_2", p + 96));
    q->x = cd_merlin_scalar(&t, "x");
    CD_TRY(take_scalar(&q->t_x, &t, "t_x", p + 128));
    CD_TRY(take_scalar(&q->t_x_blinding, &t, "t_x_blinding", p + 160));
    CD_TRY(take_scalar(&q->e_blinding, &t, "e_blinding", p + 192));
    q->w = cd_merlin_scalar(&t, "w");
    cd_merlin_append(&t, "dom-sep", cd_bytes_str("ipp v1"));
    cd_merlin_append_u64(&t, "n", CD__BITS * q->cnt);
    p += 224;
    for (u32 k = 0; k < q->rounds; k++, p += 64) {
        CD_TRY(take_point(&q->point[4 + 2 * k], &t, "L", p));
        CD_TRY(take_point(&q->point[5 + 2 * k], &t, "R", p + 32));
        q->u[k] = cd_merlin_scalar(&t, "u");
    }
    /* The weight of the two equations depends on a and b, so the prover could not know it when it chose them. */
    CD_TRY(take_scalar(&q->a, &t, "a", p));
    CD_TRY(take_scalar(&q->b, &t, "b", p + 32));
    q->c = cd_merlin_scalar(&t, "c");
    cd_merlin_challenge(&t, "digest", q->digest, sizeof q->digest);
    return CD_OK;
}

/* The sum that must vanish: fixed holds the scalars of B, second base, g[n], h[n]; k and p are the other terms. */
typedef struct sum {
    cd_scalar *fixed;
    cd_scalar *k;
    cd_point *p;
    usize cnt;
    usize n; /* 64 * parties of the largest proof */
} sum;

static void sum_push(sum *s, const cd_scalar *k, const cd_point *p)
{
    s->k[s->cnt] = *k;
    s->p[s->cnt++] = *p;
}

static void add_to(cd_scalar *acc, const cd_scalar *v)
{
    *acc = cd_scalar_add(acc, v);
}

static cd_scalar product3(const cd_scalar *a, const cd_scalar *b, const cd_scalar *c)
{
    cd_scalar ab = cd_scalar_mul(a, b);
    return cd_scalar_mul(&ab, c);
}

/* delta(y, z) = (z - z^2) * sum y^i - sum z^(j+3) * (2^64 - 1). */
static cd_scalar delta(const parsed *q)
{
    cd_scalar sum_y = CD_SCALAR_ONE;
    cd_scalar power = q->y;
    for (u32 k = 0; k < q->rounds; k++) { /* (1 + y)(1 + y^2)(1 + y^4) ... */
        cd_scalar step = cd_scalar_mul(&sum_y, &power);
        sum_y = cd_scalar_add(&sum_y, &step);
        power = cd_scalar_mul(&power, &power);
    }
    cd_scalar zz = cd_scalar_mul(&q->z, &q->z);
    cd_scalar d = cd_scalar_sub(&q->z, &zz);
    d = cd_scalar_mul(&d, &sum_y);
    cd_scalar ones = cd_scalar_u64(UINT64_MAX);
    cd_scalar zj = cd_scalar_mul(&zz, &q->z);
    for (usize j = 0; j < q->cnt; j++) {
        cd_scalar v = cd_scalar_mul(&zj, &ones);
        d = cd_scalar_sub(&d, &v);
        zj = cd_scalar_mul(&zj, &q->z);
    }
    return d;
}

/* Computes s[i], the product over k of u_k where bit (rounds - 1 - k) of i is set, and of 1 / u_k where it is not. */
static void fold_factors(cd_scalar *s, const parsed *q, const cd_scalar *u_inv)
{
    s[0] = CD_SCALAR_ONE;
    for (u32 k = 0; k < q->rounds; k++) {
        s[0] = cd_scalar_mul(&s[0], &u_inv[k]);
    }
    for (usize i = 1; i < (usize)1 << q->rounds; i++) {
        u32 top = cd__log2(i);
        const cd_scalar *u = &q->u[q->rounds - 1 - top];
        s[i] = product3(&s[i - ((usize)1 << top)], u, u);
    }
}

/* Adds the scalars of G_i and H_i. */
static void add_generators(sum *s, const parsed *q, const cd_scalar *weight, const cd_scalar *y_inv,
                           const cd_scalar *u_inv)
{
    usize n = (usize)1 << q->rounds;
    cd_scalar *factor = cd_new_array(cd_scalar, n);
    fold_factors(factor, q, u_inv);
    cd_scalar z = cd_scalar_mul(&q->z, weight);
    cd_scalar a = cd_scalar_mul(&q->a, weight);
    cd_scalar b = cd_scalar_mul(&q->b, weight);
    cd_scalar zj = cd_scalar_mul(&q->z, &z); /* z^(2 + j), times the proof's weight */
    cd_scalar yi = CD_SCALAR_ONE;
    cd_scalar *g = s->fixed + 2;
    cd_scalar *h = g + s->n;
    for (usize j = 0; j < q->cnt; j++) {
        cd_scalar z2i = zj;
        for (usize i = j * CD__BITS; i < (j + 1) * CD__BITS; i++) {
            cd_scalar v = cd_scalar_mul(&a, &factor[i]);
            v = cd_scalar_add(&v, &z);
            g[i] = cd_scalar_sub(&g[i], &v);
            v = cd_scalar_mul(&b, &factor[n - 1 - i]);
            v = cd_scalar_sub(&z2i, &v);
            v = cd_scalar_mul(&v, &yi);
            add_to(&h[i], &v);
            add_to(&h[i], &z);
            yi = cd_scalar_mul(&yi, y_inv);
            z2i = cd_scalar_add(&z2i, &z2i);
        }
        zj = cd_scalar_mul(&zj, &q->z);
    }
    cd_free(factor);
}

/* Adds w * (t_x - ab) + c * (delta - t_x) to the scalar of B, -(e_blinding + c * t_x_blinding) to the second base's. */
static void add_bases(sum *s, const parsed *q, const cd_scalar *weight)
{
    cd_scalar ab = cd_scalar_mul(&q->a, &q->b);
    cd_scalar left = cd_scalar_sub(&q->t_x, &ab);
    left = cd_scalar_mul(&left, &q->w);
    cd_scalar right = delta(q);
    right = cd_scalar_sub(&right, &q->t_x);
    right = cd_scalar_mul(&right, &q->c);
    left = cd_scalar_add(&left, &right);
    left = cd_scalar_mul(&left, weight);
    add_to(&s->fixed[0], &left);
    cd_scalar e = cd_scalar_mul(&q->c, &q->t_x_blinding);
    e = cd_scalar_add(&e, &q->e_blinding);
    e = cd_scalar_mul(&e, weight);
    s->fixed[1] = cd_scalar_sub(&s->fixed[1], &e);
}

static cd_err add_proof(sum *s, const parsed *q, const cd_hash32 *commitment, const cd_scalar *weight)
{
    cd_scalar inv[1 + ROUNDS_MAX]; /* 1/y, then 1/u_k */
    inv[0] = q->y;
    memcpy(inv + 1, q->u, q->rounds * sizeof *inv);
    for (u32 k = 0; k <= q->rounds; k++) {
        if (cd_scalar_is_zero(&inv[k])) {
            return CD_EPROOF; /* a challenge that is zero, which practically never happens */
        }
    }
    cd_scalar_inv_many(inv, 1 + q->rounds);
    add_generators(s, q, weight, &inv[0], inv + 1);
    add_bases(s, q, weight);
    cd_scalar x = cd_scalar_mul(&q->x, weight);
    cd_scalar cw = cd_scalar_mul(&q->c, weight);
    cd_scalar cx = cd_scalar_mul(&cw, &q->x);
    cd_scalar cxx = cd_scalar_mul(&cx, &q->x);
    sum_push(s, weight, &q->point[0]);
    sum_push(s, &x, &q->point[1]);
    sum_push(s, &cx, &q->point[2]);
    sum_push(s, &cxx, &q->point[3]);
    for (u32 k = 0; k < q->rounds; k++) {
        cd_scalar uu = product3(&q->u[k], &q->u[k], weight);
        cd_scalar vv = product3(&inv[1 + k], &inv[1 + k], weight);
        sum_push(s, &uu, &q->point[4 + 2 * k]);
        sum_push(s, &vv, &q->point[5 + 2 * k]);
    }
    cd_scalar czj = product3(&cw, &q->z, &q->z);
    for (usize j = 0; j < q->cnt; j++) {
        cd_point v;
        CD_TRY(cd_point_get(&v, commitment[j].b));
        sum_push(s, &czj, &v);
        czj = cd_scalar_mul(&czj, &q->z);
    }
    return CD_OK;
}

/* Says whether the whole sum is the identity. */
static bool vanishes(sum *s)
{
    cd_point total;
    if (s->n == CD__BITS) {
        cd_msm_fixed(&total, cd__rangeproof_table(), 0, s->fixed, 2 + 2 * s->n, s->k, s->p, s->cnt);
        return cd_point_is_zero(&total);
    }
    const cd_point *gens = cd__rangeproof_gens(s->n / CD__BITS);
    usize cnt = 2 + 2 * s->n + s->cnt;
    cd_point *p = cd_new_array(cd_point, cnt);
    cd_scalar *k = cd_new_array(cd_scalar, cnt);
    p[0] = CD_POINT_BASE;
    p[1] = *cd__rangeproof_second();
    memcpy(p + 2, gens, 2 * s->n * sizeof *p);
    memcpy(p + 2 + 2 * s->n, s->p, s->cnt * sizeof *p);
    memcpy(k, s->fixed, (2 + 2 * s->n) * sizeof *k);
    memcpy(k + 2 + 2 * s->n, s->k, s->cnt * sizeof *k);
    cd_msm(&total, k, p, cnt);
    cd_free(k);
    cd_free(p);
    return cd_point_is_zero(&total);
}

/* Draws a weight for each proof, which depends on all of them. */
static void draw_weights(cd_scalar *out, const parsed *q, usize cnt)
{
    cd_merlin t;
    cd_merlin_init(&t, "candela rangeproof batch");
    for (usize i = 0; i < cnt; i++) {
        cd_merlin_append(&t, "proof", cd_bytes_of(q[i].digest, sizeof q[i].digest));
    }
    out[0] = CD_SCALAR_ONE;
    for (usize i = 1; i < cnt; i++) {
        out[i] = cd_merlin_scalar(&t, "weight");
    }
}

cd_err cd_rangeproof_verify_many(const cd_rangeproof_claim *claims, usize cnt)
{
    if (cnt == 0) {
        return CD_OK;
    }
    cd_err e = CD_OK;
    usize points = 0;
    sum s = {.n = CD__BITS};
    parsed *q = cd_new_array(parsed, cnt);
    cd_scalar *weight = cd_new_array(cd_scalar, cnt);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        e = parse(&q[i], &claims[i]);
        points += 4 + 2 * (usize)q[i].rounds + q[i].cnt;
        s.n = s.n < CD__BITS * q[i].cnt ? CD__BITS * q[i].cnt : s.n;
    }
    if (e != CD_OK) {
        goto out;
    }
    draw_weights(weight, q, cnt);
    s.fixed = cd_new_array(cd_scalar, 2 + 2 * s.n);
    s.k = cd_new_array(cd_scalar, points);
    s.p = cd_new_array(cd_point, points);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        e = add_proof(&s, &q[i], claims[i].commitment, &weight[i]);
    }
    if (e == CD_OK && !vanishes(&s)) {
        e = CD_EPROOF;
    }
out:
    cd_free(s.p);
    cd_free(s.k);
    cd_free(s.fixed);
    cd_free(weight);
    cd_free(q);
    return e;
}

cd_err cd_rangeproof_verify(const cd_rangeproof_claim *claim)
{
    return cd_rangeproof_verify_many(claim, 1);
}
