#include "base/os/rng.h"

#include "base/table/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The first outputs for the state 1, 2, 3, 4, as the reference implementation gives them. */
static void test_xoshiro(void **state)
{
    (void)state;
    static const u64 want[] = {
        11520,
        0,
        1509978240,
        1215971899390074240,
        1216172134540287360,
        607988272756665600,
        16172922978634559625u,
        8476171486693032832,
        10595114339597558777u,
        2904607092377533576,
    };
    cd_rng r = {.s = {1, 2, 3, 4}};
    for (usize i = 0; i < CD_COUNT(want); i++) {
        assert_int_equal(cd_rng_u64(&r), want[i]);
    }
}

/* SplitMix64 of 1234567: what the seeding starts from. */
static void test_seeding(void **state)
{
    (void)state;
    cd_rng r = cd_rng_seeded(1234567);
    assert_int_equal(r.s[0], 6457827717110365317);
    assert_int_equal(r.s[1], 3203168211198807973);
    assert_int_equal(r.s[2], 9817491932198370423u);
    assert_int_equal(r.s[3], 4593380528125082431);
    cd_rng again = cd_rng_seeded(1234567);
    u8 whole[37];
    u8 bytes[37];
    cd_rng_fill(&r, whole, sizeof whole);
    cd_rng_fill(&again, bytes, sizeof bytes);
    assert_memory_equal(whole, bytes, sizeof whole);
}

static void test_below(void **state)
{
    (void)state;
    cd_rng r = cd_rng_seeded(2);
    u32 seen[6] = {0};
    for (u32 i = 0; i < 60000; i++) {
        seen[cd_rng_below(&r, 6)]++;
    }
    for (usize i = 0; i < 6; i++) {
        assert_in_range(seen[i], 9500, 10500); /* five standard deviations are 456 */
    }
    assert_int_equal(cd_rng_below(&r, 1), 0);
    for (u32 i = 0; i < 1000; i++) {
        assert_true(cd_rng_below(&r, (1ull << 63) + 1) <= 1ull << 63);
    }
}

static void test_os(void **state)
{
    (void)state;
    cd_rng a = cd_rng_os();
    cd_rng b = cd_rng_os();
    assert_int_not_equal(cd_rng_u64(&a), cd_rng_u64(&b));
    u8 big[4096] = {0};
    cd_rng_fill(&a, big, sizeof big);
    u32 bits = 0;
    for (usize i = 0; i < sizeof big; i++) {
        bits += (u32)__builtin_popcount(big[i]);
    }
    assert_in_range(bits, 15500, 17300);
}

static void test_siphash(void **state)
{
    (void)state;
    u8 in[64];
    for (usize i = 0; i < sizeof in; i++) {
        in[i] = (u8)i;
    }
    /* From the paper's appendix and the reference vectors, key 00 01 .. 0f. */
    cd_sipkey key = {.k0 = cd_le64(in), .k1 = cd_le64(in + 8)};
    assert_int_equal(cd_siphash24(key, cd_bytes_of(in, 0)), 0x726fdb47dd0e0e31ull);
    assert_int_equal(cd_siphash24(key, cd_bytes_of(in, 15)), 0xa129ca6149be45e5ull);
    /* CPython's hash of bytes with PYTHONHASHSEED=0, which is SipHash-1-3 under the zero key. */
    cd_sipkey zero = {0};
    assert_int_equal(cd_siphash13(zero, cd_bytes_str("a")), 0x407448d2b89b1813ull);
    assert_int_equal(cd_siphash13(zero, cd_bytes_str("abcdefg")), 0x6db12aae9070f506ull);
    assert_int_equal(cd_siphash13(zero, cd_bytes_str("abcdefgh")), 0x3f7b849c0b8e35eaull);
    assert_int_equal(cd_siphash13(zero, cd_bytes_of(in, 20)), 0x639e355ae68c0100ull);
    assert_int_equal(cd_siphash13(zero, cd_bytes_of(in, 32)), 0x31ef8061c910629bull);
    assert_int_equal(cd_siphash13(zero, cd_bytes_of(in, 52)), 0xded6177b9826835aull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xoshiro), cmocka_unit_test(test_seeding), cmocka_unit_test(test_below),
        cmocka_unit_test(test_os),      cmocka_unit_test(test_siphash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
