/* ristretto255: the values of RFC 9496, and a comparison of every operation with libsodium's on many points. */
#include "crypto/zk/ristretto.h"

#include "base/hex.h"
#include "base/os/rng.h"
#include "crypto/zk/msm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>

static void from_hex(u8 *out, const char *text)
{
    assert_int_equal(cd_hex_parse(out, cd_bytes_str(text)), CD_OK);
}

static cd_scalar random_scalar(cd_rng *rng)
{
    u8 wide[64];
    cd_rng_fill(rng, wide, sizeof wide);
    return cd_scalar_wide(wide);
}

static cd_point random_point(cd_rng *rng)
{
    u8 wide[64];
    cd_point p;
    cd_rng_fill(rng, wide, sizeof wide);
    cd_point_map(&p, wide);
    return p;
}

/* RFC 9496, A.1: multiples of the generator. */
static void multiples(void **state)
{
    (void)state;
    static const char *const want[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
        "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
        "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259",
    };
    cd_point p = CD_POINT_ZERO;
    for (usize i = 0; i < CD_COUNT(want); i++) {
        u8 bytes[32];
        u8 got[32];
        from_hex(bytes, want[i]);
        cd_point_put(got, &p);
        assert_memory_equal(got, bytes, 32);
        cd_point_add(&p, &p, &CD_POINT_BASE);
    }
}

/* RFC 9496, A.3: bytes that no implementation may take. */
static void refuses_encodings(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", /* not below p */
        "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0100000000000000000000000000000000000000000000000000000000000000", /* negative */
        "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
        "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371", /* no square root */
        "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e", /* negative xy */
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", /* s = -1: y = 0 */
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        u8 bytes[32];
        cd_point p;
        from_hex(bytes, bad[i]);
        assert_int_equal(cd_point_get(&p, bytes), CD_EPOINT);
        assert_int_equal(crypto_core_ristretto255_is_valid_point(bytes), 0);
    }
}

/* Sums, differences, products and the decoding of arbitrary bytes give the same as libsodium's. */
static void agrees_with_libsodium(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(11);
    for (int i = 0; i < 200; i++) {
        cd_point a = random_point(&rng);
        cd_point b = random_point(&rng);
        cd_point r;
        u8 ab[32];
        u8 bb[32];
        u8 got[32];
        u8 want[32];
        cd_point_put(ab, &a);
        cd_point_put(bb, &b);
        cd_point_add(&r, &a, &b);
        cd_point_put(got, &r);
        assert_int_equal(crypto_core_ristretto255_add(want, ab, bb), 0);
        assert_memory_equal(got, want, 32);
        cd_point_sub(&r, &a, &b);
        cd_point_put(got, &r);
        assert_int_equal(crypto_core_ristretto255_sub(want, ab, bb), 0);
        assert_memory_equal(got, want, 32);
        cd_point_neg(&r, &r);
        cd_point_add(&r, &r, &a);
        assert_true(cd_point_eq(&r, &b));
        assert_false(cd_point_eq(&a, &b));
        cd_rng_fill(&rng, ab, sizeof ab);
        ab[31] &= 0x7f;
        ab[0] &= 0xfe;
        assert_int_equal(cd_point_get(&r, ab) == CD_OK, crypto_core_ristretto255_is_valid_point(ab));
    }
}

static void scalars_agree_with_libsodium(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(12);
    for (int i = 0; i < 500; i++) {
        u8 wide[64];
        u8 ab[32];
        u8 bb[32];
        u8 got[32];
        u8 want[32];
        cd_rng_fill(&rng, wide, sizeof wide);
        memset(wide, i % 4 == 0 ? 0xff : wide[0], (usize)(i % 64 + 1));
        cd_scalar a = cd_scalar_wide(wide);
        cd_scalar_put(ab, &a);
        crypto_core_ristretto255_scalar_reduce(want, wide);
        assert_memory_equal(ab, want, 32);
        cd_scalar b = random_scalar(&rng);
        cd_scalar_put(bb, &b);
        cd_scalar r = cd_scalar_mul(&a, &b);
        cd_scalar_put(got, &r);
        crypto_core_ristretto255_scalar_mul(want, ab, bb);
        assert_memory_equal(got, want, 32);
        r = cd_scalar_add(&a, &b);
        cd_scalar_put(got, &r);
        crypto_core_ristretto255_scalar_add(want, ab, bb);
        assert_memory_equal(got, want, 32);
        r = cd_scalar_sub(&a, &b);
        cd_scalar_put(got, &r);
        crypto_core_ristretto255_scalar_sub(want, ab, bb);
        assert_memory_equal(got, want, 32);
        r = cd_scalar_inv(&b);
        cd_scalar_put(got, &r);
        assert_int_equal(crypto_core_ristretto255_scalar_invert(want, bb), 0);
        assert_memory_equal(got, want, 32);
    }
}

/* The order and numbers above it are refused, the number below it is not. */
static void scalars_are_canonical(void **state)
{
    (void)state;
    u8 order[32];
    u8 back[32];
    cd_scalar k;
    from_hex(order, "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    assert_int_equal(cd_scalar_get(&k, order), CD_ECANON);
    order[0]--;
    assert_int_equal(cd_scalar_get(&k, order), CD_OK);
    cd_scalar_put(back, &k);
    assert_memory_equal(back, order, 32);
    cd_scalar minus = cd_scalar_neg(&CD_SCALAR_ONE);
    assert_true(cd_scalar_eq(&k, &minus));
    memset(order, 0xff, 32);
    assert_int_equal(cd_scalar_get(&k, order), CD_ECANON);
}

static void sum_one_by_one(cd_point *out, const cd_scalar *k, const cd_point *p, usize cnt)
{
    *out = CD_POINT_ZERO;
    for (usize i = 0; i < cnt; i++) {
        cd_point part;
        cd_point_mul(&part, &k[i], &p[i]);
        cd_point_add(out, out, &part);
    }
}

/* Compares every method for sums with one product at a time, across the border between windows and buckets, with
 * scalars 0, 1, -1 and points that are the identity among them. */
static void sums_of_multiples(void **state)
{
    (void)state;
    enum { MAX = 300 };
    static const usize counts[] = {0, 1, 2, 7, 60, 189, 190, 300};
    cd_rng rng = cd_rng_seeded(13);
    cd_scalar k[MAX];
    cd_point p[MAX];
    for (usize i = 0; i < MAX; i++) {
        k[i] = random_scalar(&rng);
        p[i] = random_point(&rng);
    }
    k[0] = cd_scalar_neg(&CD_SCALAR_ONE);
    k[2] = CD_SCALAR_ONE;
    k[3] = (cd_scalar){{0}};
    p[5] = CD_POINT_ZERO;
    cd_msm_table *t = cd_msm_table_new(p, 40);
    for (usize i = 0; i < CD_COUNT(counts); i++) {
        usize n = counts[i];
        cd_point want;
        cd_point got;
        sum_one_by_one(&want, k, p, n);
        cd_msm(&got, k, p, n);
        assert_true(cd_point_eq(&got, &want));
        cd_msm_secret(&got, k, p, n);
        assert_true(cd_point_eq(&got, &want));
        if (n >= 60) {
            cd_msm_fixed(&got, t, 0, k, 40, k + 40, p + 40, n - 40);
            assert_true(cd_point_eq(&got, &want));
            cd_point less;
            sum_one_by_one(&less, k, p, 3);
            cd_point_sub(&want, &want, &less);
            cd_msm_fixed(&got, t, 3, k + 3, 37, k + 40, p + 40, n - 40);
            assert_true(cd_point_eq(&got, &want));
        }
    }
    cd_msm_table_free(t);
    cd_msm_table_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiples),
        cmocka_unit_test(refuses_encodings),
        cmocka_unit_test(agrees_with_libsodium),
        cmocka_unit_test(scalars_agree_with_libsodium),
        cmocka_unit_test(scalars_are_canonical),
        cmocka_unit_test(sums_of_multiples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
