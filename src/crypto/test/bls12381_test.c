#include "crypto/bls/bls12381.h"

#include "base/hex.h"
#include "crypto/bls/bls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { G1 = 128, G2 = 256 };

static void secret(cd_bls_sk *out, u8 n)
{
    u8 ikm[32] = {n, 1, 2, 3};
    assert_int_equal(cd_bls_keygen(out, cd_bytes_of(ikm, sizeof ikm)), CD_OK);
}

/* A G1 point in the EIP's form: the public key of secret n. */
static void point1(u8 out[G1], u8 n)
{
    cd_bls_sk sk;
    cd_bls_pk pk;
    u8 raw[96];
    secret(&sk, n);
    assert_int_equal(cd_bls_pk_of(&pk, &sk), CD_OK);
    cd_bls_pk_enc_raw(raw, &pk);
    memset(out, 0, G1);
    memcpy(out + 16, raw, 48);
    memcpy(out + 80, raw + 48, 48);
}

/* A G2 point in the EIP's form (c0 first): a hash. */
static void point2(u8 out[G2], u8 n)
{
    cd_bls_sig p;
    u8 raw[192];
    cd_bls_hash_to_g2(&p, cd_bytes_of(&n, 1), cd_bytes_str("test"));
    cd_bls_sig_enc_raw(raw, &p);
    memset(out, 0, G2);
    memcpy(out + 16, raw + 48, 48);
    memcpy(out + 80, raw, 48);
    memcpy(out + 144, raw + 144, 48);
    memcpy(out + 208, raw + 96, 48);
}

/* out = sum over i of k_i * P_i by additions only, k_i small. */
static void slow_msm1(u8 out[G1], const u8 *terms, usize cnt)
{
    u8 in[2 * G1] = {0};
    for (usize i = 0; i < cnt; i++) {
        for (u8 n = terms[i * 160 + 159]; n != 0; n--) {
            memcpy(in + G1, terms + i * 160, G1);
            assert_int_equal(cd_bls12381_g1_add(in, cd_bytes_of(in, sizeof in)), CD_OK);
        }
    }
    memcpy(out, in, G1);
}

static void slow_msm2(u8 out[G2], const u8 *terms, usize cnt)
{
    u8 in[2 * G2] = {0};
    for (usize i = 0; i < cnt; i++) {
        for (u8 n = terms[i * 288 + 287]; n != 0; n--) {
            memcpy(in + G2, terms + i * 288, G2);
            assert_int_equal(cd_bls12381_g2_add(in, cd_bytes_of(in, sizeof in)), CD_OK);
        }
    }
    memcpy(out, in, G2);
}

static void msm_equals_additions(void **state)
{
    (void)state;
    static u8 terms[80 * 288];
    u8 want[G2];
    u8 got[G2];
    /* Repeated points, points at infinity, zero scalars, below and above the bucket method's start. */
    static const usize counts[] = {1, 2, 3, 31, 32, 33, 80};
    for (usize c = 0; c < CD_COUNT(counts); c++) {
        memset(terms, 0, sizeof terms);
        for (usize i = 0; i < counts[c]; i++) {
            if (i % 7 != 3) {
                point1(terms + i * 160, (u8)(i % 5));
            }
            terms[i * 160 + 159] = (u8)(i * 3 % 11);
        }
        slow_msm1(want, terms, counts[c]);
        assert_int_equal(cd_bls12381_g1_msm(got, cd_bytes_of(terms, counts[c] * 160)), CD_OK);
        assert_memory_equal(got, want, G1);
        memset(terms, 0, sizeof terms);
        for (usize i = 0; i < counts[c]; i++) {
            if (i % 7 != 3) {
                point2(terms + i * 288, (u8)(i % 5));
            }
            terms[i * 288 + 287] = (u8)(i * 3 % 11);
        }
        slow_msm2(want, terms, counts[c]);
        assert_int_equal(cd_bls12381_g2_msm(got, cd_bytes_of(terms, counts[c] * 288)), CD_OK);
        assert_memory_equal(got, want, G2);
    }
}

/* r * P and (2^256 - 1) * P: scalars are taken modulo the order. */
static void scalar_edges(void **state)
{
    (void)state;
    static const u8 inf[G1];
    u8 in[160];
    u8 a[G1];
    u8 b[G1];
    point1(in, 1);
    assert_int_equal(cd_hex_parse(in + 128, cd_bytes_str("73eda753299d7d483339d80809a1d805"
                                                         "53bda402fffe5bfeffffffff00000001")),
                     CD_OK);
    assert_int_equal(cd_bls12381_g1_msm(a, cd_bytes_of(in, 160)), CD_OK);
    assert_memory_equal(a, inf, G1);
    memset(in + 128, 0xff, 32);
    assert_int_equal(cd_bls12381_g1_msm(a, cd_bytes_of(in, 160)), CD_OK);
    assert_int_equal(cd_hex_parse(in + 128, cd_bytes_str("1824b159acc5056f998c4fefecbc4ff5"
                                                         "5884b7fa0003480200000001fffffffd")),
                     CD_OK); /* (2^256 - 1) mod r */
    assert_int_equal(cd_bls12381_g1_msm(b, cd_bytes_of(in, 160)), CD_OK);
    assert_memory_equal(a, b, G1);
}

static void bad_lengths(void **state)
{
    (void)state;
    static const u8 zero[1024];
    u8 out[G2];
    bool one;
    for (usize n = 0; n < sizeof zero; n++) {
        cd_bytes in = cd_bytes_of(zero, n);
        assert_int_equal(cd_bls12381_g1_add(out, in), n == 256 ? CD_OK : CD_EINVAL);
        assert_int_equal(cd_bls12381_g2_add(out, in), n == 512 ? CD_OK : CD_EINVAL);
        assert_int_equal(cd_bls12381_g1_msm(out, in), n != 0 && n % 160 == 0 ? CD_OK : CD_EINVAL);
        assert_int_equal(cd_bls12381_g2_msm(out, in), n != 0 && n % 288 == 0 ? CD_OK : CD_EINVAL);
        assert_int_equal(cd_bls12381_pairing(&one, in), n != 0 && n % 384 == 0 ? CD_OK : CD_EINVAL);
        assert_int_equal(cd_bls12381_map_fp(out, in), n == 64 ? CD_OK : CD_EINVAL);
        assert_int_equal(cd_bls12381_map_fp2(out, in), n == 128 ? CD_OK : CD_EINVAL);
    }
    cd_bytes huge = cd_bytes_of(zero, (usize)(CD_BLS12381_MSM_MAX + 1) * 160);
    assert_int_equal(cd_bls12381_g1_msm(out, huge), CD_EINVAL); /* refused before it is read */
}

/* --- signatures --- */

static cd_bytes text(const char *s)
{
    return cd_bytes_str(s);
}

static void sign_and_verify(void **state)
{
    (void)state;
    cd_bls_sk sk;
    cd_bls_pk pk;
    cd_bls_pk other;
    cd_bls_sig sig;
    cd_bls_sig back;
    u8 enc[CD_BLS_SIG_LEN];
    secret(&sk, 1);
    assert_int_equal(cd_bls_pk_of(&pk, &sk), CD_OK);
    assert_int_equal(cd_bls_sign(&sig, CD_BLS_POP, text("message"), &sk), CD_OK);
    assert_true(cd_bls_verify(&sig, CD_BLS_POP, text("message"), &pk));
    assert_false(cd_bls_verify(&sig, CD_BLS_POP, text("massage"), &pk));
    assert_false(cd_bls_verify(&sig, CD_BLS_BASIC, text("message"), &pk));
    secret(&sk, 2);
    assert_int_equal(cd_bls_pk_of(&other, &sk), CD_OK);
    assert_false(cd_bls_verify(&sig, CD_BLS_POP, text("message"), &other));
    cd_bls_sig_enc(enc, &sig);
    assert_int_equal(cd_bls_sig_dec(&back, cd_bytes_of(enc, sizeof enc)), CD_OK);
    assert_memory_equal(&back, &sig, sizeof sig);
}

static void possession(void **state)
{
    (void)state;
    cd_bls_sk sk;
    cd_bls_sk sk2;
    cd_bls_pk pk;
    cd_bls_pk pk2;
    cd_bls_sig proof;
    u8 enc[CD_BLS_PK_LEN];
    secret(&sk, 1);
    secret(&sk2, 2);
    assert_int_equal(cd_bls_pk_of(&pk, &sk), CD_OK);
    assert_int_equal(cd_bls_pk_of(&pk2, &sk2), CD_OK);
    assert_int_equal(cd_bls_pop_prove(&proof, &sk), CD_OK);
    assert_true(cd_bls_pop_verify(&proof, &pk));
    assert_false(cd_bls_pop_verify(&proof, &pk2));
    /* A signature of the key as a message is no proof, and the other way round. */
    cd_bls_pk_enc(enc, &pk);
    assert_false(cd_bls_verify(&proof, CD_BLS_POP, cd_bytes_of(enc, sizeof enc), &pk));
    assert_int_equal(cd_bls_sign(&proof, CD_BLS_POP, cd_bytes_of(enc, sizeof enc), &sk), CD_OK);
    assert_false(cd_bls_pop_verify(&proof, &pk));
}

enum { MANY = 40 };

static void aggregates(void **state)
{
    (void)state;
    static const u8 seed[32] = {5};
    cd_bls_pk pks[MANY];
    cd_bls_sig same[MANY];
    cd_bls_sig each[MANY];
    cd_bls_sig sum;
    u8 bytes[MANY];
    cd_bytes msgs[MANY];
    for (usize i = 0; i < MANY; i++) {
        cd_bls_sk sk;
        secret(&sk, (u8)(i % 30)); /* some keys twice */
        bytes[i] = (u8)i;
        msgs[i] = cd_bytes_of(&bytes[i], 1);
        assert_int_equal(cd_bls_pk_of(&pks[i], &sk), CD_OK);
        assert_int_equal(cd_bls_sign(&same[i], CD_BLS_POP, text("same"), &sk), CD_OK);
        assert_int_equal(cd_bls_sign(&each[i], CD_BLS_POP, msgs[i], &sk), CD_OK);
    }
    for (usize cnt = 1; cnt <= MANY; cnt += 13) {
        assert_int_equal(cd_bls_agg_sigs(&sum, same, cnt), CD_OK);
        assert_true(cd_bls_fast_agg_verify(&sum, text("same"), pks, cnt));
        assert_false(cd_bls_fast_agg_verify(&sum, text("some"), pks, cnt));
        assert_false(cd_bls_fast_agg_verify(&sum, text("same"), pks, cnt - 1));
        assert_int_equal(cd_bls_agg_sigs(&sum, each, cnt), CD_OK);
        assert_true(cd_bls_agg_verify(&sum, CD_BLS_POP, msgs, pks, cnt));
        assert_false(cd_bls_agg_verify(&sum, CD_BLS_BASIC, msgs, pks, cnt));
        assert_false(cd_bls_agg_verify(&sum, CD_BLS_POP, msgs, pks, cnt - 1));
        assert_true(cd_bls_batch_verify(each, CD_BLS_POP, msgs, pks, cnt, seed));
    }
    /* Two wrong signatures cancel out: checking the aggregate does not notice it, checking the batch does. */
    cd_bls_sig swap = each[0];
    each[0] = each[1];
    each[1] = swap;
    assert_int_equal(cd_bls_agg_sigs(&sum, each, 4), CD_OK);
    assert_true(cd_bls_agg_verify(&sum, CD_BLS_POP, msgs, pks, 4));
    assert_false(cd_bls_batch_verify(each, CD_BLS_POP, msgs, pks, 4, seed));
    assert_false(cd_bls_batch_verify(each, CD_BLS_POP, msgs, pks, 0, seed));
}

static void bls_refusals(void **state)
{
    (void)state;
    cd_bls_sk sk = {{0}};
    cd_bls_pk pk[2];
    cd_bls_pk sum;
    cd_bls_sig sig;
    u8 enc[192] = {0};
    assert_false(cd_bls_sk_check(&sk));
    assert_int_equal(cd_bls_pk_of(&pk[0], &sk), CD_EKEY);
    assert_int_equal(cd_bls_sign(&sig, CD_BLS_POP, text(""), &sk), CD_EKEY);
    memset(sk.b, 0xff, 32);
    assert_false(cd_bls_sk_check(&sk));
    assert_int_equal(cd_bls_keygen(&sk, cd_bytes_of(enc, 31)), CD_EINVAL);
    assert_int_equal(cd_bls_agg_sigs(&sig, NULL, 0), CD_EINVAL);
    assert_int_equal(cd_bls_agg_pks(&sum, NULL, 0), CD_EINVAL);

    enc[0] = 0xc0; /* infinity is a signature, but no key */
    assert_int_equal(cd_bls_pk_dec(&sum, cd_bytes_of(enc, 48)), CD_EKEY);
    assert_int_equal(cd_bls_sig_dec(&sig, cd_bytes_of(enc, 96)), CD_OK);
    assert_int_equal(cd_bls_pk_dec(&sum, cd_bytes_of(enc, 96)), CD_EPOINT);
    assert_int_equal(cd_bls_sig_dec(&sig, cd_bytes_of(enc, 192)), CD_EPOINT);
    assert_int_equal(cd_bls_pk_dec(&sum, cd_bytes_of(enc, 47)), CD_EFORMAT);
    assert_int_equal(cd_bls_sig_dec(&sig, cd_bytes_of(enc, 95)), CD_EFORMAT);

    secret(&sk, 1); /* a key and its negative */
    assert_int_equal(cd_bls_pk_of(&pk[0], &sk), CD_OK);
    cd_bls_pk_enc(enc, &pk[0]);
    enc[0] ^= 0x20;
    assert_int_equal(cd_bls_pk_dec(&pk[1], cd_bytes_of(enc, 48)), CD_OK);
    assert_int_equal(cd_bls_agg_pks(&sum, pk, 2), CD_EKEY);
    assert_int_equal(cd_bls_pk_less(&sum, &pk[0], &pk[0]), CD_EKEY);
    assert_int_equal(cd_bls_pk_less(&sum, &pk[0], &pk[1]), CD_OK); /* twice the key */
    assert_int_equal(cd_bls_pk_less(&sum, &sum, &pk[0]), CD_OK);
    assert_memory_equal(&sum, &pk[0], sizeof sum);
    memset(enc, 0, sizeof enc);
    enc[0] = 0xc0;
    assert_int_equal(cd_bls_sig_dec(&sig, cd_bytes_of(enc, 96)), CD_OK);
    assert_false(cd_bls_fast_agg_verify(&sig, text("x"), pk, 2));
    assert_false(cd_bls_verify(&sig, CD_BLS_POP, text("x"), &pk[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(msm_equals_additions), cmocka_unit_test(scalar_edges), cmocka_unit_test(bad_lengths),
        cmocka_unit_test(sign_and_verify),      cmocka_unit_test(possession),   cmocka_unit_test(aggregates),
        cmocka_unit_test(bls_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
