#include "crypto/ec/secp256k1.h"

#include "base/hex.h"
#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gmp.h>

/* The order of the group. */
static const u8 ORDER[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                             0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
                             0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};

static void from_hex(u8 *out, const char *text)
{
    assert_int_equal(cd_hex_parse(out, cd_bytes_str(text)), CD_OK);
}

/* s -> n - s turns a signature into its mirror image, valid with the other parity. */
static void mirror(u8 sig[64])
{
    int borrow = 0;
    for (int i = 31; i >= 0; i--) {
        int d = ORDER[i] - sig[32 + i] - borrow;
        borrow = d < 0;
        sig[32 + i] = (u8)d;
    }
}

static void addresses(void **state)
{
    (void)state;
    u8 secret[32] = {[31] = 1};
    u8 pub[64];
    u8 want[64];
    cd_addr20 addr;
    assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);
    from_hex(want, "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
                   "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8");
    assert_memory_equal(pub, want, 64);
    cd_secp256k1_addr(&addr, pub);
    from_hex(want, "7e5f4552091a69125d5dfcb7b8c2659029395bdf");
    assert_memory_equal(addr.b, want, 20);
}

static void sign_and_recover(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(1);
    for (int i = 0; i < 200; i++) {
        cd_hash32 msg;
        u8 secret[32];
        u8 pub[64];
        u8 sig[64];
        u8 got[64];
        u8 recid;
        cd_addr20 a;
        cd_addr20 b;
        cd_rng_fill(&rng, &msg, sizeof msg);
        cd_rng_fill(&rng, secret, sizeof secret);
        assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);
        assert_int_equal(cd_secp256k1_sign(sig, &recid, &msg, secret), CD_OK);
        assert_true(cd_secp256k1_is_low_s(sig));
        assert_true(cd_secp256k1_verify(&msg, sig, pub));
        assert_int_equal(cd_secp256k1_recover(got, &msg, sig, recid), CD_OK);
        assert_memory_equal(got, pub, 64);
        assert_int_equal(cd_secp256k1_recover_addr(&a, &msg, sig, recid), CD_OK);
        cd_secp256k1_addr(&b, pub);
        assert_true(cd_addr20_eq(&a, &b));

        mirror(sig);
        assert_false(cd_secp256k1_is_low_s(sig));
        assert_true(cd_secp256k1_verify(&msg, sig, pub));
        assert_int_equal(cd_secp256k1_recover(got, &msg, sig, recid ^ 1), CD_OK);
        assert_memory_equal(got, pub, 64);

        sig[i % 64] ^= 1;
        assert_false(cd_secp256k1_verify(&msg, sig, pub));
        cd_err e = cd_secp256k1_recover(got, &msg, sig, recid ^ 1);
        assert_true(e == CD_ESIG || memcmp(got, pub, 64) != 0);
    }
}

static void refusals(void **state)
{
    (void)state;
    cd_hash32 msg = {{1}};
    u8 zero[32] = {0};
    u8 secret[32] = {[31] = 7};
    u8 sig[64];
    u8 pub[64];
    u8 bad[64];
    u8 recid;
    assert_int_equal(cd_secp256k1_pub(pub, zero), CD_EKEY);
    assert_int_equal(cd_secp256k1_pub(pub, ORDER), CD_EKEY);
    assert_int_equal(cd_secp256k1_sign(sig, &recid, &msg, zero), CD_EKEY);
    assert_int_equal(cd_secp256k1_sign(sig, &recid, &msg, ORDER), CD_EKEY);
    assert_int_equal(cd_secp256k1_sign(sig, &recid, &msg, secret), CD_OK);
    assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);

    u8 out[64] = {0xaa};
    assert_int_equal(cd_secp256k1_recover(out, &msg, sig, 4), CD_ESIG);
    for (usize at = 0; at < 64; at += 32) { /* r, then s: zero, the order */
        memcpy(bad, sig, 64);
        memset(bad + at, 0, 32);
        assert_int_equal(cd_secp256k1_recover(out, &msg, bad, recid), CD_ESIG);
        assert_false(cd_secp256k1_verify(&msg, bad, pub));
        memcpy(bad + at, ORDER, 32);
        assert_int_equal(cd_secp256k1_recover(out, &msg, bad, recid), CD_ESIG);
        assert_false(cd_secp256k1_verify(&msg, bad, pub));
    }
    assert_int_equal(out[0], 0xaa);

    memset(bad, 0, 64);
    assert_false(cd_secp256k1_is_low_s(bad));
    assert_false(cd_secp256k1_verify(&msg, sig, bad));
    memset(bad, 0xff, 64);
    assert_false(cd_secp256k1_is_low_s(bad));
}

static void half_order(void **state)
{
    (void)state;
    u8 sig[64] = {0};
    from_hex(sig + 32, "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0");
    assert_true(cd_secp256k1_is_low_s(sig));
    sig[63]++;
    assert_false(cd_secp256k1_is_low_s(sig));
}

static void key_encodings(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(2);
    for (int i = 0; i < 50; i++) {
        u8 secret[32];
        u8 pub[64];
        u8 full[65] = {4};
        u8 shorter[33];
        u8 got[64];
        cd_rng_fill(&rng, secret, sizeof secret);
        assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);
        assert_int_equal(cd_secp256k1_pub_enc(shorter, pub), CD_OK);
        assert_int_equal(shorter[0], 2 + (pub[63] & 1));
        assert_int_equal(cd_secp256k1_pub_dec(got, cd_bytes_of(shorter, 33)), CD_OK);
        assert_memory_equal(got, pub, 64);
        memcpy(full + 1, pub, 64);
        assert_int_equal(cd_secp256k1_pub_dec(got, cd_bytes_of(full, 65)), CD_OK);
        assert_memory_equal(got, pub, 64);
        full[0] = 6; /* the hybrid form is refused */
        assert_int_equal(cd_secp256k1_pub_dec(got, cd_bytes_of(full, 65)), CD_EPOINT);
        assert_int_equal(cd_secp256k1_pub_dec(got, cd_bytes_of(full, 64)), CD_EPOINT);
        pub[5] ^= 1;
        assert_int_equal(cd_secp256k1_pub_enc(shorter, pub), CD_EPOINT);
    }
    assert_int_equal(cd_secp256k1_pub_dec((u8[64]){0}, cd_bytes_of(NULL, 0)), CD_EPOINT);
}

/* --- batches, with the one-by-one code as the oracle --- */

enum { BATCH = 40 };

static void check_batch(const cd_secp256k1_query *q, usize cnt)
{
    cd_addr20 got[BATCH];
    bool ok[BATCH];
    memset(got, 0xee, sizeof got);
    cd_secp256k1_recover_many(got, ok, q, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_addr20 want;
        memset(&want, 0xee, sizeof want);
        cd_err e = cd_secp256k1_recover_addr(&want, &q[i].msg, q[i].sig, q[i].recid);
        assert_int_equal(ok[i], e == CD_OK);
        assert_memory_equal(&got[i], &want, sizeof want);
    }
    memset(got, 0xee, sizeof got);
    cd_secp256k1_recover_short_many(got, ok, q, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_addr20 want;
        u8 pub[64];
        memset(&want, 0xee, sizeof want);
        cd_err e = cd_secp256k1_recover(pub, &q[i].msg, q[i].sig, q[i].recid);
        if (e == CD_OK) {
            cd_secp256k1_short_addr(&want, pub);
        }
        assert_int_equal(ok[i], e == CD_OK);
        assert_memory_equal(&got[i], &want, sizeof want);
    }
}

/* The key "ewoq" that the network's tests use. [spec:pchain-xchain#10] */
static void short_address(void **state)
{
    (void)state;
    static const u8 secret[32] = {0x56, 0x28, 0x9e, 0x99, 0xc9, 0x4b, 0x69, 0x12, 0xbf, 0xc1, 0x2a,
                                  0xdc, 0x09, 0x3c, 0x9b, 0x51, 0x12, 0x4f, 0x0d, 0xc5, 0x4a, 0xc7,
                                  0xa7, 0x66, 0xb2, 0xbc, 0x5c, 0xcf, 0x55, 0x8d, 0x80, 0x27};
    static const u8 want[20] = {0x3c, 0xb7, 0xd3, 0x84, 0x2e, 0x8c, 0xee, 0x6a, 0x0e, 0xbd,
                                0x09, 0xf1, 0xfe, 0x88, 0x4f, 0x68, 0x61, 0xe1, 0xb2, 0x9c};
    u8 pub[64];
    cd_addr20 got;
    assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);
    cd_secp256k1_short_addr(&got, pub);
    assert_memory_equal(got.b, want, 20);
}

static void random_query(cd_rng *rng, cd_secp256k1_query *q)
{
    u8 secret[32];
    cd_rng_fill(rng, &q->msg, sizeof q->msg);
    cd_rng_fill(rng, secret, sizeof secret);
    assert_int_equal(cd_secp256k1_sign(q->sig, &q->recid, &q->msg, secret), CD_OK);
}

static void batch_random(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(10);
    cd_secp256k1_query q[BATCH];
    for (usize cnt = 0; cnt <= BATCH; cnt++) {
        for (usize i = 0; i < cnt; i++) {
            random_query(&rng, &q[i]);
        }
        check_batch(q, cnt);
    }
    for (int round = 0; round < 50; round++) { /* mixes things that are no signature with good ones */
        for (usize i = 0; i < BATCH; i++) {
            random_query(&rng, &q[i]);
            usize part = 32 * cd_rng_below(&rng, 2);
            switch (cd_rng_below(&rng, 8)) {
            case 0:
                cd_rng_fill(&rng, q[i].sig, 64);
                break;
            case 1:
                memset(q[i].sig + part, 0, 32);
                break;
            case 2:
                memcpy(q[i].sig + part, ORDER, 32);
                q[i].sig[part + 31] += (u8)(cd_rng_below(&rng, 3) - 1);
                break;
            case 3:
                q[i].recid = (u8)cd_rng_below(&rng, 256);
                break;
            case 4: /* x = r + n exists only for small r */
                memset(q[i].sig, 0, 32);
                q[i].sig[31] = (u8)cd_rng_below(&rng, 256);
                q[i].recid = (u8)cd_rng_below(&rng, 4);
                break;
            case 5:
                memset(&q[i].msg, cd_rng_below(&rng, 2) != 0 ? 0xff : 0, 32);
                break;
            default:
                break;
            }
        }
        check_batch(q, BATCH);
    }
}

static void put_mpz(u8 out[32], const mpz_t z)
{
    size_t n = 0;
    u8 raw[40] = {0};
    mpz_export(raw, &n, -1, 1, 0, 0, z);
    for (int i = 0; i < 32; i++) {
        out[31 - i] = raw[i];
    }
}

/* R = k G and key = u1 G + u2 R with small numbers: sums meet their own summands on the way, and some end
 * at infinity. */
static void batch_collisions(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(11);
    mpz_t n;
    mpz_t r;
    mpz_t t;
    mpz_inits(n, r, t, NULL);
    mpz_import(n, 32, 1, 1, 0, 0, ORDER);
    for (int round = 0; round < 40; round++) {
        cd_secp256k1_query q[BATCH];
        for (usize i = 0; i < BATCH; i++) {
            u8 k[32] = {0};
            u8 pub[64];
            long u1 = (long)cd_rng_below(&rng, 600) - 300;
            long u2 = (long)cd_rng_below(&rng, 40) - 20;
            k[31] = (u8)(1 + cd_rng_below(&rng, 20));
            if (cd_rng_below(&rng, 2) != 0) {
                u1 = -u2 * k[31]; /* infinity */
            }
            if (cd_rng_below(&rng, 3) == 0) {
                k[15] = k[31]; /* R = (k + k 2^128) G */
            }
            assert_int_equal(cd_secp256k1_pub(pub, k), CD_OK);
            memcpy(q[i].sig, pub, 32);
            mpz_import(r, 32, 1, 1, 0, 0, pub);
            mpz_mul_si(t, r, u2); /* s = u2 r, z = -u1 r */
            mpz_mod(t, t, n);
            put_mpz(q[i].sig + 32, t);
            mpz_mul_si(t, r, -u1);
            mpz_mod(t, t, n);
            put_mpz(q[i].msg.b, t);
            q[i].recid = pub[63] & 1;
        }
        check_batch(q, BATCH);
    }
    mpz_clears(n, r, t, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),        cmocka_unit_test(sign_and_recover), cmocka_unit_test(refusals),
        cmocka_unit_test(half_order),       cmocka_unit_test(key_encodings),    cmocka_unit_test(batch_random),
        cmocka_unit_test(batch_collisions), cmocka_unit_test(short_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
