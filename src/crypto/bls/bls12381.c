#include "crypto/bls/bls12381.h"

#include "base/mem/mem.h"
#include "crypto/bls/bls12381_priv.h"

enum { FP_LEN = 64, G1_LEN = 128, G2_LEN = 256, SCALAR_LEN = 32, SCALAR_BITS = 255 };

/* --- products of pairings --- */

void cd__pairing_init(cd__pairing *a)
{
    a->product = *blst_fp12_one();
    a->cnt = 0;
}

static void flush(cd__pairing *a)
{
    if (a->cnt == 0) {
        return;
    }
    blst_fp12 f;
    const blst_p2_affine *qs[2] = {a->q, NULL};
    const blst_p1_affine *ps[2] = {a->p, NULL};
    blst_miller_loop_n(&f, qs, ps, a->cnt);
    blst_fp12_mul(&a->product, &a->product, &f);
    a->cnt = 0;
}

void cd__pairing_add(cd__pairing *a, const blst_p1_affine *p, const blst_p2_affine *q)
{
    if (blst_p1_affine_is_inf(p) || blst_p2_affine_is_inf(q)) {
        return;
    }
    a->p[a->cnt] = *p;
    a->q[a->cnt] = *q;
    if (++a->cnt == CD__PAIRING_CHUNK) {
        flush(a);
    }
}

bool cd__pairing_is_one(cd__pairing *a)
{
    flush(a);
    blst_fp12 f;
    blst_final_exp(&f, &a->product);
    return blst_fp12_is_one(&f);
}

/* --- EIP-2537 encodings --- */

static bool all_zero(const u8 *p, usize n)
{
    u8 any = 0;
    for (usize i = 0; i < n; i++) {
        any |= p[i];
    }
    return any == 0;
}

static cd_err dec_fp(blst_fp *out, const u8 in[FP_LEN])
{
    static const u8 prime[48] = {0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6,
                                 0x43, 0x4b, 0xac, 0xd7, 0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85, 0x12, 0xbf,
                                 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24, 0x1e, 0xab, 0xff, 0xfe,
                                 0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab};
    if (!all_zero(in, 16) || memcmp(in + 16, prime, 48) >= 0) {
        return CD_EPOINT;
    }
    blst_fp_from_bendian(out, in + 16);
    return CD_OK;
}

static void enc_fp(u8 out[FP_LEN], const blst_fp *a)
{
    memset(out, 0, 16);
    blst_bendian_from_fp(out + 16, a);
}

/* blst keeps an affine point at infinity as (0, 0), as the EIP does. */
static cd_err dec_g1(blst_p1_affine *out, const u8 in[G1_LEN], bool check_group)
{
    CD_TRY(dec_fp(&out->x, in));
    CD_TRY(dec_fp(&out->y, in + FP_LEN));
    if (!blst_p1_affine_on_curve(out) || (check_group && !blst_p1_affine_in_g1(out))) {
        return CD_EPOINT;
    }
    return CD_OK;
}

static cd_err dec_g2(blst_p2_affine *out, const u8 in[G2_LEN], bool check_group)
{
    CD_TRY(dec_fp(&out->x.fp[0], in));
    CD_TRY(dec_fp(&out->x.fp[1], in + FP_LEN));
    CD_TRY(dec_fp(&out->y.fp[0], in + G1_LEN));
    CD_TRY(dec_fp(&out->y.fp[1], in + G1_LEN + FP_LEN));
    if (!blst_p2_affine_on_curve(out) || (check_group && !blst_p2_affine_in_g2(out))) {
        return CD_EPOINT;
    }
    return CD_OK;
}

static void enc_g1(u8 out[G1_LEN], const blst_p1 *a)
{
    blst_p1_affine p;
    blst_p1_to_affine(&p, a);
    enc_fp(out, &p.x);
    enc_fp(out + FP_LEN, &p.y);
}

static void enc_g2(u8 out[G2_LEN], const blst_p2 *a)
{
    blst_p2_affine p;
    blst_p2_to_affine(&p, a);
    enc_fp(out, &p.x.fp[0]);
    enc_fp(out + FP_LEN, &p.x.fp[1]);
    enc_fp(out + G1_LEN, &p.y.fp[0]);
    enc_fp(out + G1_LEN + FP_LEN, &p.y.fp[1]);
}

/* --- operations --- */

cd_err cd_bls12381_g1_add(u8 out[128], cd_bytes in)
{
    blst_p1_affine a;
    blst_p1_affine b;
    blst_p1 sum;
    if (in.n != G1_LEN + G1_LEN) {
        return CD_EINVAL;
    }
    CD_TRY(dec_g1(&a, in.p, false));
    CD_TRY(dec_g1(&b, in.p + G1_LEN, false));
    blst_p1_from_affine(&sum, &a);
    blst_p1_add_or_double_affine(&sum, &sum, &b);
    enc_g1(out, &sum);
    return CD_OK;
}

cd_err cd_bls12381_g2_add(u8 out[256], cd_bytes in)
{
    blst_p2_affine a;
    blst_p2_affine b;
    blst_p2 sum;
    if (in.n != G2_LEN + G2_LEN) {
        return CD_EINVAL;
    }
    CD_TRY(dec_g2(&a, in.p, false));
    CD_TRY(dec_g2(&b, in.p + G2_LEN, false));
    blst_p2_from_affine(&sum, &a);
    blst_p2_add_or_double_affine(&sum, &sum, &b);
    enc_g2(out, &sum);
    return CD_OK;
}

/* msm_count gives the number of terms; 0 when in has no length that the operation allows. */
static usize msm_count(cd_bytes in, usize term_len)
{
    usize cnt = in.n / term_len;
    return in.n % term_len == 0 && cnt <= CD_BLS12381_MSM_MAX ? cnt : 0;
}

cd_err cd_bls12381_g1_msm(u8 out[128], cd_bytes in)
{
    enum { TERM = G1_LEN + SCALAR_LEN };
    usize cnt = msm_count(in, TERM);
    if (cnt == 0) {
        return CD_EINVAL;
    }
    cd_err err = CD_OK;
    usize scratch_len = blst_p1s_mult_pippenger_scratch_sizeof(cnt);
    blst_p1_affine *points = cd_try_alloc(cnt * sizeof *points);
    blst_scalar *scalars = cd_try_alloc(cnt * sizeof *scalars);
    limb_t *scratch = cd_try_alloc(scratch_len);
    if (points == NULL || scalars == NULL || scratch == NULL) {
        err = CD_ENOMEM;
        goto out;
    }
    usize used = 0;
    for (usize i = 0; i < cnt; i++) {
        const u8 *term = in.p + i * TERM;
        err = dec_g1(&points[used], term, true);
        if (err != CD_OK) {
            goto out;
        }
        /* Points at infinity are left out: they add nothing, and blst's bucket method does not handle them. */
        if (!blst_p1_affine_is_inf(&points[used])) {
            (void)blst_scalar_from_be_bytes(&scalars[used++], term + G1_LEN, SCALAR_LEN);
        }
    }
    blst_p1 sum = {0};
    if (used != 0) {
        const blst_p1_affine *const point_list[2] = {points, NULL};
        const byte *const scalar_list[2] = {scalars->b, NULL};
        blst_p1s_mult_pippenger(&sum, point_list, used, scalar_list, SCALAR_BITS, scratch);
    }
    enc_g1(out, &sum);
out:
    cd_free(scratch);
    cd_free(scalars);
    cd_free(points);
    return err;
}

cd_err cd_bls12381_g2_msm(u8 out[256], cd_bytes in)
{
    enum { TERM = G2_LEN + SCALAR_LEN };
    usize cnt = msm_count(in, TERM);
    if (cnt == 0) {
        return CD_EINVAL;
    }
    cd_err err = CD_OK;
    usize scratch_len = blst_p2s_mult_pippenger_scratch_sizeof(cnt);
    blst_p2_affine *points = cd_try_alloc(cnt * sizeof *points);
    blst_scalar *scalars = cd_try_alloc(cnt * sizeof *scalars);
    limb_t *scratch = cd_try_alloc(scratch_len);
    if (points == NULL || scalars == NULL || scratch == NULL) {
        err = CD_ENOMEM;
        goto out;
    }
    usize used = 0;
    for (usize i = 0; i < cnt; i++) {
        const u8 *term = in.p + i * TERM;
        err = dec_g2(&points[used], term, true);
        if (err != CD_OK) {
            goto out;
        }
        if (!blst_p2_affine_is_inf(&points[used])) {
            (void)blst_scalar_from_be_bytes(&scalars[used++], term + G2_LEN, SCALAR_LEN);
        }
    }
    blst_p2 sum = {0};
    if (used != 0) {
        const blst_p2_affine *const point_list[2] = {points, NULL};
        const byte *const scalar_list[2] = {scalars->b, NULL};
        blst_p2s_mult_pippenger(&sum, point_list, used, scalar_list, SCALAR_BITS, scratch);
    }
    enc_g2(out, &sum);
out:
    cd_free(scratch);
    cd_free(scalars);
    cd_free(points);
    return err;
}

cd_err cd_bls12381_pairing(bool *is_one, cd_bytes in)
{
    enum { TERM = G1_LEN + G2_LEN };
    if (in.n == 0 || in.n % TERM != 0) {
        return CD_EINVAL;
    }
    cd__pairing product;
    cd__pairing_init(&product);
    for (usize at = 0; at < in.n; at += TERM) {
        blst_p1_affine p;
        blst_p2_affine q;
        CD_TRY(dec_g1(&p, in.p + at, true));
        CD_TRY(dec_g2(&q, in.p + at + G1_LEN, true));
        cd__pairing_add(&product, &p, &q);
    }
    *is_one = cd__pairing_is_one(&product);
    return CD_OK;
}

cd_err cd_bls12381_map_fp(u8 out[128], cd_bytes in)
{
    blst_fp u;
    blst_p1 p;
    if (in.n != FP_LEN) {
        return CD_EINVAL;
    }
    CD_TRY(dec_fp(&u, in.p));
    blst_map_to_g1(&p, &u, NULL);
    enc_g1(out, &p);
    return CD_OK;
}

cd_err cd_bls12381_map_fp2(u8 out[256], cd_bytes in)
{
    blst_fp2 u;
    blst_p2 p;
    if (in.n != FP_LEN + FP_LEN) {
        return CD_EINVAL;
    }
    CD_TRY(dec_fp(&u.fp[0], in.p));
    CD_TRY(dec_fp(&u.fp[1], in.p + FP_LEN));
    blst_map_to_g2(&p, &u, NULL);
    enc_g2(out, &p);
    return CD_OK;
}
