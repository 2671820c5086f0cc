/* The inner-product argument: that <a, b> is what was claimed, for vectors committed to by generators, in two points
 * a round. Generators are not folded in every round: a round's L and R are sums over the generators there are, with
 * the factors of the rounds since, and every third round they are folded by eight. Public data only: a and b are
 * masked. */
#include "base/mem/mem.h"
#include "crypto/zk/rangeproof_priv.h"

#define FOLD_AFTER 3  /* rounds between two foldings */
#define FOLD_FROM  64 /* elements: fewer are not worth it */

/* One side's generators: element i of n is the sum over t of factor[t] * own[i + t * n] * p[i + t * n], cnt points. */
typedef struct side {
    cd_point *p;
    cd_scalar *own;    /* cnt of them, one a point */
    cd_scalar *factor; /* cnt / n of them */
} side;

typedef struct ipp {
    usize cnt; /* points of each side */
    usize n;   /* elements of the vectors in this round */
    side g, h;
    cd_scalar *a, *b;
    cd_scalar *k; /* with q: room for the scalars and points of a round's sum */
    cd_point *q;
} ipp;

/* Adds v[i] * element (from + i), for n / 2 of them, to the terms of the sum from `at` on; gives where they end. */
static usize push_half(ipp *s, usize at, const side *x, const cd_scalar *v, usize from)
{
    for (usize t = 0; t < s->cnt / s->n; t++) {
        for (usize i = 0; i < s->n / 2; i++, at++) {
            usize idx = from + i + t * s->n;
            cd_scalar k = cd_scalar_mul(&v[i], &x->factor[t]);
            s->k[at] = cd_scalar_mul(&k, &x->own[idx]);
            s->q[at] = x->p[idx];
        }
    }
    return at;
}

/* Writes <a, half of G> + <b, half of H> + w <a, b> B: for L with a's lower half and G's upper half, for R the other
 * way round. */
static void round_point(u8 *out, ipp *s, const cd_scalar *w, bool is_left)
{
    usize half = s->n / 2;
    const cd_scalar *a = is_left ? s->a : s->a + half;
    const cd_scalar *b = is_left ? s->b + half : s->b;
    usize at = push_half(s, 0, &s->g, a, is_left ? half : 0);
    at = push_half(s, at, &s->h, b, is_left ? 0 : half);
    cd_scalar c = {{0}};
    for (usize i = 0; i < half; i++) {
        cd_scalar v = cd_scalar_mul(&a[i], &b[i]);
        c = cd_scalar_add(&c, &v);
    }
    s->k[at] = cd_scalar_mul(&c, w);
    s->q[at++] = CD_POINT_BASE;
    cd_point sum;
    cd_msm(&sum, s->k, s->q, at);
    cd_point_put(out, &sum);
}

/* x = low * x's lower half + high * its upper half. */
static void fold_vector(cd_scalar *x, usize half, const cd_scalar *low, const cd_scalar *high)
{
    for (usize i = 0; i < half; i++) {
        cd_scalar l = cd_scalar_mul(&x[i], low);
        cd_scalar h = cd_scalar_mul(&x[i + half], high);
        x[i] = cd_scalar_add(&l, &h);
    }
}

static void fold_factor(cd_scalar *f, usize cnt, const cd_scalar *low, const cd_scalar *high)
{
    for (usize t = cnt; t-- > 0;) {
        cd_scalar v = f[t];
        f[2 * t] = cd_scalar_mul(&v, low);
        f[2 * t + 1] = cd_scalar_mul(&v, high);
    }
}

/* Folds the points: makes each of the n elements one point. */
static void fold_points(ipp *s, side *x)
{
    usize per = s->cnt / s->n;
    cd_point *fresh = cd_new_array(cd_point, s->n);
    for (usize i = 0; i < s->n; i++) {
        for (usize t = 0; t < per; t++) {
            s->k[t] = cd_scalar_mul(&x->factor[t], &x->own[i + t * s->n]);
            s->q[t] = x->p[i + t * s->n];
        }
        cd_msm(&fresh[i], s->k, s->q, per);
    }
    memcpy(x->p, fresh, s->n * sizeof *fresh);
    for (usize i = 0; i < s->n; i++) {
        x->own[i] = CD_SCALAR_ONE;
    }
    x->factor[0] = CD_SCALAR_ONE;
    cd_free(fresh);
}

static void side_init(side *x, const cd_point *gens, usize n, const cd_scalar *ratio)
{
    x->p = cd_new_array(cd_point, n);
    x->own = cd_new_array(cd_scalar, n);
    x->factor = cd_new_array(cd_scalar, n);
    memcpy(x->p, gens, n * sizeof *gens);
    cd_scalar v = CD_SCALAR_ONE;
    for (usize i = 0; i < n; i++) {
        x->own[i] = v;
        v = cd_scalar_mul(&v, ratio);
    }
    x->factor[0] = CD_SCALAR_ONE;
}

static void side_fini(side *x)
{
    cd_free(x->p);
    cd_free(x->own);
    cd_free(x->factor);
}

static void halve(ipp *s, const cd_scalar *u)
{
    cd_scalar inv = cd_scalar_inv(u);
    usize per = s->cnt / s->n;
    fold_vector(s->a, s->n / 2, u, &inv);
    fold_vector(s->b, s->n / 2, &inv, u);
    fold_factor(s->g.factor, per, &inv, u);
    fold_factor(s->h.factor, per, u, &inv);
    s->n /= 2;
}

void cd__ipp_prove(u8 *out, cd_merlin *t, const cd_scalar *w, const cd_scalar *y_inv, cd_scalar *a, cd_scalar *b,
                   usize cnt)
{
    ipp s = {.cnt = CD__BITS * cnt, .n = CD__BITS * cnt, .a = a, .b = b};
    const cd_point *gens = cd__rangeproof_gens(cnt);
    side_init(&s.g, gens, s.n, &CD_SCALAR_ONE);
    side_init(&s.h, gens + s.n, s.n, y_inv);
    s.k = cd_new_array(cd_scalar, 1 + s.n);
    s.q = cd_new_array(cd_point, 1 + s.n);
    cd_merlin_append(t, "dom-sep", cd_bytes_str("ipp v1"));
    cd_merlin_append_u64(t, "n", s.n);
    for (; s.n > 1; out += 64) {
        round_point(out, &s, w, true);
        round_point(out + 32, &s, w, false);
        cd_merlin_append(t, "L", cd_bytes_of(out, 32));
        cd_merlin_append(t, "R", cd_bytes_of(out + 32, 32));
        cd_scalar u = cd_merlin_scalar(t, "u");
        halve(&s, &u);
        if (s.cnt / s.n == 1 << FOLD_AFTER && s.n >= FOLD_FROM) {
            fold_points(&s, &s.g);
            fold_points(&s, &s.h);
            s.cnt = s.n;
        }
    }
    cd_scalar_put(out, &s.a[0]);
    cd_scalar_put(out + 32, &s.b[0]);
    cd_free(s.q);
    cd_free(s.k);
    side_fini(&s.g);
    side_fini(&s.h);
}
