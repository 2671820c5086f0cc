#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "crypto/zk/point_priv.h"
#include "crypto/zk/rangeproof_priv.h"

/* The numbers of a proof while it is made, secret ones among them; it is wiped as a whole. n = 64 * parties. */
typedef struct prover {
    usize cnt, n;
    cd_scalar a_blinding, s_blinding, t1_blinding, t2_blinding;
    cd_scalar y, z, x;
    cd_scalar *l0, *l1, *r0, *r1; /* l(X) = l0 + l1 X, r(X) likewise; n each, in one block */
} prover;

static cd_scalar draw(cd_rng *rng)
{
    u8 wide[64];
    cd_rng_fill(rng, wide, sizeof wide);
    cd_scalar k = cd_scalar_wide(wide);
    cd_wipe(wide, sizeof wide);
    return k;
}

static void say_point(u8 *out, cd_merlin *t, const char *label, const cd_point *p)
{
    cd_point_put(out, p);
    cd_merlin_append(t, label, cd_bytes_of(out, 32));
}

static void say_scalar(u8 *out, cd_merlin *t, const char *label, const cd_scalar *k)
{
    cd_scalar_put(out, k);
    cd_merlin_append(t, label, cd_bytes_of(out, 32));
}

/* Computes blinding * second base + the sum over i of G_i where bit i is set, and of -H_i where it is not. */
static void commit_bits(cd_point *out, const prover *p, const u64 *value, const cd_point *gens)
{
    cd_msm_secret(out, &p->a_blinding, cd__rangeproof_second(), 1);
    for (usize i = 0; i < p->n; i++) {
        u64 bit = value[i / CD__BITS] >> (i % CD__BITS) & 1;
        cd_point minus_h;
        cd__niels pick;
        cd__niels g;
        cd_point_neg(&minus_h, &gens[p->n + i]);
        cd__point_to_niels(&pick, &minus_h);
        cd__point_to_niels(&g, &gens[i]);
        cd__fe_select(&pick.yx, &g.yx, bit);
        cd__fe_select(&pick.y_x, &g.y_x, bit);
        cd__fe_select(&pick.z2, &g.z2, bit);
        cd__fe_select(&pick.t2d, &g.t2d, bit);
        cd__point_add_niels(out, out, &pick, false);
    }
}

/* Computes blinding * second base + <s_L, G> + <s_R, H>; s_L is l1, and s_R is what r1 holds at this point. */
static void commit_masks(cd_point *out, const prover *p, const cd_point *gens)
{
    cd_scalar *k = cd_new_array(cd_scalar, 1 + 2 * p->n);
    cd_point *q = cd_new_array(cd_point, 1 + 2 * p->n);
    k[0] = p->s_blinding;
    q[0] = *cd__rangeproof_second();
    memcpy(k + 1, p->l1, p->n * sizeof *k);
    memcpy(k + 1 + p->n, p->r1, p->n * sizeof *k);
    memcpy(q + 1, gens, 2 * p->n * sizeof *q);
    cd_msm_secret(out, k, q, 1 + 2 * p->n);
    cd_wipe(k, (1 + 2 * p->n) * sizeof *k);
    cd_free(q);
    cd_free(k);
}

/* Sets l0 = a_L - z, r0 = y^i (a_R + z) + z^(2+j) 2^i, r1 = y^i s_R. */
static void make_polynomials(prover *p, const u64 *value)
{
    cd_scalar yi = CD_SCALAR_ONE;
    cd_scalar zj = cd_scalar_mul(&p->z, &p->z);
    for (usize j = 0; j < p->cnt; j++) {
        cd_scalar z2i = zj;
        for (usize i = j * CD__BITS; i < (j + 1) * CD__BITS; i++) {
            cd_scalar bit = cd_scalar_u64(value[j] >> (i % CD__BITS) & 1);
            p->l0[i] = cd_scalar_sub(&bit, &p->z);
            cd_scalar r = cd_scalar_sub(&bit, &CD_SCALAR_ONE);
            r = cd_scalar_add(&r, &p->z);
            r = cd_scalar_mul(&r, &yi);
            p->r0[i] = cd_scalar_add(&r, &z2i);
            p->r1[i] = cd_scalar_mul(&p->r1[i], &yi);
            yi = cd_scalar_mul(&yi, &p->y);
            z2i = cd_scalar_add(&z2i, &z2i);
        }
        zj = cd_scalar_mul(&zj, &p->z);
    }
}

static cd_scalar inner(const cd_scalar *a, const cd_scalar *b, usize n)
{
    cd_scalar sum = {{0}};
    for (usize i = 0; i < n; i++) {
        cd_scalar v = cd_scalar_mul(&a[i], &b[i]);
        sum = cd_scalar_add(&sum, &v);
    }
    return sum;
}

/* Computes k * B + blinding * second base. */
static void commit_scalar(cd_point *out, const cd_scalar *k, const cd_scalar *blinding)
{
    cd_scalar ks[2] = {*k, *blinding};
    cd_point ps[2] = {CD_POINT_BASE, *cd__rangeproof_second()};
    cd_msm_secret(out, ks, ps, 2);
    cd_wipe(ks, sizeof ks);
}

/* Writes T1, T2, t(x) and its blinding, 32 bytes each, at out[64], out[96], out[128], out[160], and draws x. */
static void prove_polynomial(u8 *out, cd_merlin *t, prover *p, const cd_scalar *blinding)
{
    cd_point point;
    cd_scalar t0 = inner(p->l0, p->r0, p->n);
    cd_scalar t2 = inner(p->l1, p->r1, p->n);
    cd_scalar t1 = inner(p->l0, p->r1, p->n);
    cd_scalar other = inner(p->l1, p->r0, p->n);
    t1 = cd_scalar_add(&t1, &other);
    commit_scalar(&point, &t1, &p->t1_blinding);
    say_point(out + 64, t, "T_1", &point);
    commit_scalar(&point, &t2, &p->t2_blinding);
    say_point(out + 96, t, "T_2", &point);
    p->x = cd_merlin_scalar(t, "x");

    cd_scalar v = cd_scalar_mul(&t2, &p->x);
    v = cd_scalar_add(&v, &t1);
    v = cd_scalar_mul(&v, &p->x);
    v = cd_scalar_add(&v, &t0);
    say_scalar(out + 128, t, "t_x", &v);
    v = cd_scalar_mul(&p->t2_blinding, &p->x);
    v = cd_scalar_add(&v, &p->t1_blinding);
    v = cd_scalar_mul(&v, &p->x);
    cd_scalar zj = cd_scalar_mul(&p->z, &p->z);
    for (usize j = 0; j < p->cnt; j++) {
        cd_scalar part = cd_scalar_mul(&zj, &blinding[j]);
        v = cd_scalar_add(&v, &part);
        zj = cd_scalar_mul(&zj, &p->z);
    }
    say_scalar(out + 160, t, "t_x_blinding", &v);
}

static void say_commitments(cd_merlin *t, const u64 *value, const cd_scalar *blinding, usize cnt)
{
    cd__rangeproof_begin(t, cnt);
    for (usize j = 0; j < cnt; j++) {
        u8 bytes[32];
        cd_point v;
        cd_scalar k = cd_scalar_u64(value[j]);
        commit_scalar(&v, &k, &blinding[j]);
        say_point(bytes, t, "V", &v);
    }
}

void cd_rangeproof_prove(u8 *proof, cd_merlin *t, const u64 *value, const cd_scalar *blinding, usize cnt, cd_rng *rng)
{
    CD_ASSERT(cd_rangeproof_size(cnt) != 0);
    prover p = {.cnt = cnt, .n = CD__BITS * cnt};
    const cd_point *gens = cd__rangeproof_gens(cnt);
    cd_scalar *block = cd_new_array(cd_scalar, 4 * p.n);
    p.l0 = block;
    p.l1 = block + p.n;
    p.r0 = block + 2 * p.n;
    p.r1 = block + 3 * p.n;
    p.a_blinding = draw(rng);
    p.s_blinding = draw(rng);
    p.t1_blinding = draw(rng);
    p.t2_blinding = draw(rng);
    for (usize i = 0; i < p.n; i++) {
        p.l1[i] = draw(rng);
        p.r1[i] = draw(rng);
    }
    cd_point point;
    say_commitments(t, value, blinding, cnt);
    commit_bits(&point, &p, value, gens);
    say_point(proof, t, "A", &point);
    commit_masks(&point, &p, gens);
    say_point(proof + 32, t, "S", &point);
    p.y = cd_merlin_scalar(t, "y");
    p.z = cd_merlin_scalar(t, "z");
    make_polynomials(&p, value);
    prove_polynomial(proof, t, &p, blinding);
    cd_scalar e = cd_scalar_mul(&p.s_blinding, &p.x);
    e = cd_scalar_add(&e, &p.a_blinding);
    say_scalar(proof + 192, t, "e_blinding", &e);
    cd_scalar w = cd_merlin_scalar(t, "w");
    for (usize i = 0; i < p.n; i++) { /* l0 = l(x), r0 = r(x); these tell nothing about the values */
        cd_scalar v = cd_scalar_mul(&p.l1[i], &p.x);
        p.l0[i] = cd_scalar_add(&p.l0[i], &v);
        v = cd_scalar_mul(&p.r1[i], &p.x);
        p.r0[i] = cd_scalar_add(&p.r0[i], &v);
    }
    cd_scalar y_inv = cd_scalar_inv(&p.y);
    cd__ipp_prove(proof + 224, t, &w, &y_inv, p.l0, p.r0, cnt);
    cd_wipe(block, 4 * p.n * sizeof *block);
    cd_wipe(&p, sizeof p);
    cd_free(block);
}
