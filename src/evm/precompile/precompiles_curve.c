/* 0x06 to 0x08, 0x0a and those of EIP-2537: curves and pairings. */
#include "evm/precompile/precompile_priv.h"

#include "crypto/bls/bls12381.h"
#include "crypto/bls/kzg.h"
#include "crypto/bn254/bn254.h"
#include "crypto/ec/p256.h"

/* --- bn254 [EIP-196] [EIP-197] --- */

/* done makes n bytes the call's output, or fails the call when err is not CD_OK; out is borrowed. */
static cd_precompile_outcome done(cd_precompile_call *call, const u8 *out, usize n, cd_err err)
{
    if (err != CD_OK) {
        return CD_PRE_FAIL;
    }
    call->output = cd_bytes_of(out, n);
    return CD_PRE_OK;
}

/* yes_no makes a pairing's verdict the output: a word that is 1 or 0. */
static cd_precompile_outcome yes_no(cd_precompile_call *call, bool yes, cd_err err)
{
    static const u8 words[2][32] = {[1] = {[31] = 1}};
    return done(call, words[yes ? 1 : 0], sizeof words[0], err);
}

cd_precompile_outcome cd__pre_bn254_add(cd_precompile_call *call, const void *cfg)
{
    if (!cd__pre_pay(call, cfg, 0)) {
        return CD_PRE_OUT_OF_GAS;
    }
    u8 in[128];
    cd__pre_pad(in, sizeof in, call->input, 0);
    u8 *out = cd_arena_alloc(call->arena, 64);
    return done(call, out, 64, cd_bn254_add(out, in));
}

cd_precompile_outcome cd__pre_bn254_mul(cd_precompile_call *call, const void *cfg)
{
    if (!cd__pre_pay(call, cfg, 0)) {
        return CD_PRE_OUT_OF_GAS;
    }
    u8 in[96];
    cd__pre_pad(in, sizeof in, call->input, 0);
    u8 *out = cd_arena_alloc(call->arena, 64);
    return done(call, out, 64, cd_bn254_mul(out, in));
}

cd_precompile_outcome cd__pre_bn254_pairing(cd_precompile_call *call, const void *cfg)
{
    enum { PAIR = 192 };
    if (!cd__pre_pay(call, cfg, call->input.n / PAIR)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (call->input.n % PAIR != 0) {
        return cd__pre_fail(call, "bad elliptic curve pairing size");
    }
    bool is_one = false;
    cd_err err = cd_bn254_pairing(&is_one, call->input);
    return yes_no(call, is_one, err);
}

/* --- P-256 [EIP-7951] --- */

/* Input: hash, r, s, x, y. A signature that does not hold gives no output, which is no failure. */
cd_precompile_outcome cd__pre_p256_verify(cd_precompile_call *call, const void *cfg)
{
    enum { SIG = 32, PUB = 96, SIZE = 160 };
    if (!cd__pre_pay(call, cfg, 0)) {
        return CD_PRE_OUT_OF_GAS;
    }
    const u8 *in = call->input.p;
    cd_hash32 msg;
    call->output = (cd_bytes){0};
    if (call->input.n != SIZE) {
        return CD_PRE_OK;
    }
    memcpy(msg.b, in, sizeof msg.b);
    return cd_p256_verify(&msg, in + SIG, in + PUB) ? yes_no(call, true, CD_OK) : CD_PRE_OK;
}

/* --- KZG point evaluation [EIP-4844] --- */

/* Input: versioned hash, z, y, commitment, proof. Output: blob length and the scalar field's
 * order. */
cd_precompile_outcome cd__pre_kzg(cd_precompile_call *call, const void *cfg)
{
    enum { Z = 32, Y = 64, COMMITMENT = 96, PROOF = 144, SIZE = 192 };
    static const u8 answer[64] = {
        [30] = 0x10, /* 4096 field elements per blob */
        [32] = 0x73, 0xed, 0xa7, 0x53, 0x29, 0x9d, 0x7d, 0x48, 0x33, 0x39, 0xd8, 0x08, 0x09, 0xa1, 0xd8, 0x05,
        0x53,        0xbd, 0xa4, 0x02, 0xff, 0xfe, 0x5b, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
    };
    if (!cd__pre_pay(call, cfg, 0)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (call->input.n != SIZE) {
        return cd__pre_fail(call, "invalid input length");
    }
    const u8 *in = call->input.p;
    cd_hash32 hash;
    cd_kzg_versioned_hash(&hash, in + COMMITMENT);
    if (memcmp(hash.b, in, sizeof hash.b) != 0) {
        return cd__pre_fail(call, "mismatched versioned hash");
    }
    bool ok = false;
    cd_err err = cd_kzg_verify_proof(&ok, in + COMMITMENT, in + Z, in + Y, in + PROOF);
    return ok ? done(call, answer, sizeof answer, err) : cd__pre_fail(call, "error verifying kzg proof");
}

/* --- BLS12-381 [EIP-2537] --- */

/* Discounts of sums of products, in thousandths of the price of one product, for 1 to 128 terms. */
enum { DISCOUNTS = 128 };
static const u16 discount_g1[DISCOUNTS] = {
    1000, 949, 848, 797, 764, 750, 738, 728, 719, 712, 705, 698, 692, 687, 682, 677, 673, 669, 665, 661, 658, 654,
    651,  648, 645, 642, 640, 637, 635, 632, 630, 627, 625, 623, 621, 619, 617, 615, 613, 611, 609, 608, 606, 604,
    603,  601, 599, 598, 596, 595, 593, 592, 591, 589, 588, 586, 585, 584, 582, 581, 580, 579, 577, 576, 575, 574,
    573,  572, 570, 569, 568, 567, 566, 565, 564, 563, 562, 561, 560, 559, 558, 557, 556, 555, 554, 553, 552, 551,
    550,  549, 548, 547, 547, 546, 545, 544, 543, 542, 541, 540, 540, 539, 538, 537, 536, 536, 535, 534, 533, 532,
    532,  531, 530, 529, 528, 528, 527, 526, 525, 525, 524, 523, 522, 522, 521, 520, 520, 519};
static const u16 discount_g2[DISCOUNTS] = {
    1000, 1000, 923, 884, 855, 832, 812, 796, 782, 770, 759, 749, 740, 732, 724, 717, 711, 704, 699, 693, 688, 683,
    679,  674,  670, 666, 663, 659, 655, 652, 649, 646, 643, 640, 637, 634, 632, 629, 627, 624, 622, 620, 618, 615,
    613,  611,  609, 607, 606, 604, 602, 600, 598, 597, 595, 593, 592, 590, 589, 587, 586, 584, 583, 582, 580, 579,
    578,  576,  575, 574, 573, 571, 570, 569, 568, 567, 566, 565, 563, 562, 561, 560, 559, 558, 557, 556, 555, 554,
    553,  552,  552, 551, 550, 549, 548, 547, 546, 545, 545, 544, 543, 542, 541, 541, 540, 539, 538, 537, 537, 536,
    535,  535,  534, 533, 532, 532, 531, 530, 530, 529, 528, 528, 527, 526, 526, 525, 524, 524};

typedef cd_err (*group_op)(u8 *out, cd_bytes in);

/* group_call pays and runs an operation whose result is a point. */
static cd_precompile_outcome group_call(cd_precompile_call *call, const void *cfg, group_op op, usize out_n)
{
    if (!cd__pre_pay(call, cfg, 0)) {
        return CD_PRE_OUT_OF_GAS;
    }
    u8 *out = cd_arena_alloc(call->arena, out_n);
    return done(call, out, out_n, op(out, call->input));
}

static cd_precompile_outcome msm_call(cd_precompile_call *call, const void *cfg, group_op op, usize out_n, usize term_n,
                                      const u16 discount[DISCOUNTS])
{
    const cd__pre_price *price = cfg;
    u64 k = call->input.n / term_n;
    u64 cost;
    if (k == 0) {
        return CD_PRE_FAIL;
    }
    if (!cd_mul_u64(&cost, k * discount[(k < DISCOUNTS ? k : DISCOUNTS) - 1], price->unit) ||
        !cd__pre_charge(call, cost / 1000)) {
        return CD_PRE_OUT_OF_GAS;
    }
    u8 *out = cd_arena_alloc(call->arena, out_n);
    return done(call, out, out_n, op(out, call->input));
}

cd_precompile_outcome cd__pre_bls_g1_add(cd_precompile_call *call, const void *cfg)
{
    return group_call(call, cfg, cd_bls12381_g1_add, 128);
}

cd_precompile_outcome cd__pre_bls_g2_add(cd_precompile_call *call, const void *cfg)
{
    return group_call(call, cfg, cd_bls12381_g2_add, 256);
}

cd_precompile_outcome cd__pre_bls_map_fp(cd_precompile_call *call, const void *cfg)
{
    return group_call(call, cfg, cd_bls12381_map_fp, 128);
}

cd_precompile_outcome cd__pre_bls_map_fp2(cd_precompile_call *call, const void *cfg)
{
    return group_call(call, cfg, cd_bls12381_map_fp2, 256);
}

cd_precompile_outcome cd__pre_bls_g1_msm(cd_precompile_call *call, const void *cfg)
{
    return msm_call(call, cfg, cd_bls12381_g1_msm, 128, 160, discount_g1);
}

cd_precompile_outcome cd__pre_bls_g2_msm(cd_precompile_call *call, const void *cfg)
{
    return msm_call(call, cfg, cd_bls12381_g2_msm, 256, 288, discount_g2);
}

cd_precompile_outcome cd__pre_bls_pairing(cd_precompile_call *call, const void *cfg)
{
    enum { PAIR = 384 };
    if (!cd__pre_pay(call, cfg, call->input.n / PAIR)) {
        return CD_PRE_OUT_OF_GAS;
    }
    bool is_one = false;
    cd_err err = cd_bls12381_pairing(&is_one, call->input);
    return yes_no(call, is_one, err);
}
