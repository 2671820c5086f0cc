#include "crypto/bls/kzg.h"

#include "crypto/bls/bls12381_priv.h"
#include "crypto/hash/sha2.h"

#include <pthread.h>

/* [tau]_2 of the Ethereum ceremony, the one point of the trusted setup that verification needs
 * [EIP-4844: KZG_SETUP_G2_MONOMIAL[1]]. */
static const u8 TAU_G2[96] = {
    0xb5, 0xbf, 0xd7, 0xdd, 0x8c, 0xde, 0xb1, 0x28, 0x84, 0x3b, 0xc2, 0x87, 0x23, 0x0a, 0xf3, 0x89,
    0x26, 0x18, 0x70, 0x75, 0xcb, 0xfb, 0xef, 0xa8, 0x10, 0x09, 0xa2, 0xce, 0x61, 0x5a, 0xc5, 0x3d,
    0x29, 0x14, 0xe5, 0x87, 0x0c, 0xb4, 0x52, 0xd2, 0xaf, 0xaa, 0xab, 0x24, 0xf3, 0x49, 0x9f, 0x72,
    0x18, 0x5c, 0xbf, 0xee, 0x53, 0x49, 0x27, 0x14, 0x73, 0x44, 0x29, 0xb7, 0xb3, 0x86, 0x08, 0xe2,
    0x39, 0x26, 0xc9, 0x11, 0xcc, 0xec, 0xea, 0xc9, 0xa3, 0x68, 0x51, 0x47, 0x7b, 0xa4, 0xc6, 0x0b,
    0x08, 0x70, 0x41, 0xde, 0x62, 0x10, 0x00, 0xed, 0xc9, 0x8e, 0xda, 0xda, 0x20, 0xc1, 0xde, 0xf2,
};

/* The Miller loop's lines through G2's generator and through [tau]_2: both are fixed, so a check spends
 * nothing on G2. */
#define LINE_CNT 68

static blst_fp6 generator_lines[LINE_CNT];
static blst_fp6 tau_lines[LINE_CNT];
static pthread_once_t lines_once = PTHREAD_ONCE_INIT;

static void make_lines(void)
{
    blst_p2_affine tau;
    BLST_ERROR e = blst_p2_uncompress(&tau, TAU_G2);
    CD_ASSERT(e == BLST_SUCCESS && blst_p2_affine_in_g2(&tau));
    blst_precompute_lines(generator_lines, blst_p2_affine_generator());
    blst_precompute_lines(tau_lines, &tau);
}

static void pair_with(blst_fp12 *out, const blst_fp6 lines[LINE_CNT], const blst_p1_affine *p)
{
    if (blst_p1_affine_is_inf(p)) {
        *out = *blst_fp12_one();
    } else {
        blst_miller_loop_lines(out, lines, p);
    }
}

static cd_err dec_point(blst_p1_affine *out, const u8 in[48])
{
    bool ok = blst_p1_uncompress(out, in) == BLST_SUCCESS && blst_p1_affine_in_g1(out);
    return ok ? CD_OK : CD_EPOINT;
}

static cd_err dec_scalar(blst_scalar *out, const u8 in[32])
{
    blst_scalar_from_bendian(out, in);
    return blst_scalar_fr_check(out) ? CD_OK : CD_ERANGE;
}

cd_err cd_kzg_verify_proof(bool *ok, const u8 commitment[48], const u8 z[32], const u8 y[32], const u8 proof[48])
{
    blst_p1_affine c;
    blst_p1_affine points[2]; /* -G1 and the proof */
    blst_scalar scalars[2];   /* y and z */
    CD_TRY(dec_point(&c, commitment));
    CD_TRY(dec_scalar(&scalars[1], z));
    CD_TRY(dec_scalar(&scalars[0], y));
    CD_TRY(dec_point(&points[1], proof));
    CD_ASSERT(pthread_once(&lines_once, make_lines) == 0);

    /* e(C - y G1, G2) = e(proof, [tau - z]_2), with z moved to the side where it multiplies a point
     * of G1: e(C - y G1 + z proof, G2) = e(proof, [tau]_2). */
    points[0] = BLS12_381_NEG_G1;
    const blst_p1_affine *const point_list[2] = {points, NULL};
    const byte *const scalar_list[2] = {scalars[0].b, NULL};
    bool has_proof = !blst_p1_affine_is_inf(&points[1]);
    limb_t scratch[4096 / sizeof(limb_t)];
    CD_ASSERT(blst_p1s_mult_pippenger_scratch_sizeof(2) <= sizeof scratch);
    blst_p1 sum;
    blst_p1_affine left;
    blst_p1s_mult_pippenger(&sum, point_list, has_proof ? 2 : 1, scalar_list, 255, scratch);
    blst_p1_add_or_double_affine(&sum, &sum, &c);
    blst_p1_to_affine(&left, &sum);

    blst_fp12 f;
    blst_fp12 g;
    pair_with(&f, generator_lines, &left);
    pair_with(&g, tau_lines, &points[1]);
    *ok = blst_fp12_finalverify(&f, &g);
    return CD_OK;
}

void cd_kzg_versioned_hash(cd_hash32 *out, const u8 commitment[48])
{
    cd_sha256(out, cd_bytes_of(commitment, 48));
    out->b[0] = 0x01; /* VERSIONED_HASH_VERSION_KZG */
}
