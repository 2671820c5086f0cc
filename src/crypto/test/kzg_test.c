#include "crypto/bls/kzg.h"

#include "base/hex.h"
#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* G1, [tau]_1 of the ceremony, and the order of the scalars. */
static const char G1_HEX[] = "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905"
                             "a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb";
static const char TAU_HEX[] = "ad3eb50121139aa34db1d545093ac9374ab7bca2c0f3bf28"
                              "e27c8dcd8fc7cb42d25926fc0c97b336e9f0fb35e5a04c81";
static const char ORDER_HEX[] = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

static void from_hex(u8 *out, const char *text)
{
    assert_int_equal(cd_hex_parse(out, cd_bytes_str(text)), CD_OK);
}

static bool check(const u8 commitment[48], const u8 z[32], const u8 y[32], const u8 proof[48])
{
    bool ok = false;
    assert_int_equal(cd_kzg_verify_proof(&ok, commitment, z, y, proof), CD_OK);
    return ok;
}

/* p(x) = x is committed to by [tau]_1, and (p(x) - p(z)) / (x - z) = 1 by G1. */
static void identity_polynomial(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(9);
    u8 tau[48];
    u8 g1[48];
    u8 z[32];
    u8 y[32];
    from_hex(tau, TAU_HEX);
    from_hex(g1, G1_HEX);
    for (int i = 0; i < 20; i++) {
        cd_rng_fill(&rng, z, sizeof z);
        z[0] &= 0x3f;
        memcpy(y, z, sizeof y);
        assert_true(check(tau, z, y, g1));
        y[31] ^= 1;
        assert_false(check(tau, z, y, g1));
        y[31] ^= 1;
        assert_false(check(tau, z, y, tau));
        assert_false(check(g1, z, y, g1));
    }
}

/* p(x) = c: the commitment is c * G1, the proof infinity. */
static void constant_polynomial(void **state)
{
    (void)state;
    u8 g1[48];
    u8 inf[48] = {0xc0};
    u8 z[32] = {0x11};
    u8 y[32] = {0};
    from_hex(g1, G1_HEX);
    assert_true(check(inf, z, y, inf));
    assert_false(check(g1, z, y, inf));
    assert_false(check(inf, z, y, g1));
    y[31] = 1;
    assert_true(check(g1, z, y, inf));
    assert_false(check(inf, z, y, inf));
}

static void refusals(void **state)
{
    (void)state;
    u8 g1[48];
    u8 bad[48];
    u8 z[32] = {0};
    u8 y[32] = {0};
    u8 order[32];
    bool ok = true;
    from_hex(g1, G1_HEX);
    from_hex(order, ORDER_HEX);
    assert_int_equal(cd_kzg_verify_proof(&ok, g1, order, y, g1), CD_ERANGE);
    assert_int_equal(cd_kzg_verify_proof(&ok, g1, z, order, g1), CD_ERANGE);
    memcpy(bad, g1, 48);
    bad[0] &= 0x7f; /* not marked as compressed */
    assert_int_equal(cd_kzg_verify_proof(&ok, bad, z, y, g1), CD_EPOINT);
    assert_int_equal(cd_kzg_verify_proof(&ok, g1, z, y, bad), CD_EPOINT);
    memset(bad, 0, 48); /* x = 4 is on the curve, outside the group */
    bad[0] = 0x80;
    bad[47] = 4;
    assert_int_equal(cd_kzg_verify_proof(&ok, bad, z, y, g1), CD_EPOINT);
    memset(bad, 0xff, 48);
    assert_int_equal(cd_kzg_verify_proof(&ok, g1, z, y, bad), CD_EPOINT);
    assert_true(ok);
}

static void versioned_hash(void **state)
{
    (void)state;
    u8 inf[48] = {0xc0};
    cd_hash32 hash;
    u8 want[32];
    cd_kzg_versioned_hash(&hash, inf);
    from_hex(want, "010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014");
    assert_memory_equal(hash.b, want, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_polynomial),
        cmocka_unit_test(constant_polynomial),
        cmocka_unit_test(refusals),
        cmocka_unit_test(versioned_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
