/* Bytes, rates and processor time: what one peer may take, what all may, and that everything comes back. */
#include "p2p/throttle.h"

#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const cd_node_id alice = {{1}};
static const cd_node_id bob = {{2}};
static const cd_node_id carol = {{3}};

static void pool(void **state)
{
    (void)state;
    cd_p2p_pool p;
    cd_p2p_pool_init(&p, 100, 60, 40, false);
    assert_true(cd_p2p_pool_take(&p, &alice, 60, 0, 10));
    assert_false(cd_p2p_pool_take(&p, &alice, 1, 0, 10)); /* alice is at her bound */
    assert_true(cd_p2p_pool_take(&p, &bob, 40, 0, 10));
    assert_false(cd_p2p_pool_take(&p, &carol, 1, 0, 10)); /* the shared part is used up */
    assert_true(cd_p2p_pool_take(&p, &carol, 20, 5, 10)); /* carol's own part is not */
    assert_false(cd_p2p_pool_take(&p, &carol, 1, 5, 10));
    cd_p2p_pool_give(&p, &bob, 40);
    assert_true(cd_p2p_pool_take(&p, &carol, 40, 5, 10));
    assert_int_equal(p.large_left, 0);
    cd_p2p_pool_give(&p, &carol, 30); /* goes to her own part first */
    assert_int_equal(p.part_left, 40);
    assert_int_equal(p.large_left, 10);
    cd_p2p_pool_give(&p, &carol, 30);
    cd_p2p_pool_give(&p, &alice, 60);
    assert_int_equal(p.large_left, 100);
    assert_int_equal(cd_hmap_cnt(&p.nodes), 0); /* nodes that hold nothing are not remembered */
    cd_p2p_pool_fini(&p);
    cd_p2p_pool_init(&p, 100, 60, 40, true);
    assert_true(cd_p2p_pool_take(&p, &alice, 30, 5, 10));
    assert_int_equal(p.part_left, 20);
    assert_int_equal(p.large_left, 90);
    cd_p2p_pool_fini(&p);
}

/* Whatever is taken and given, in any order, the sums hold, and no node exceeds its bound. */
static void pool_random(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(5);
    cd_p2p_pool p;
    u64 held[8] = {0};
    u64 sum = 0;
    cd_p2p_pool_init(&p, 1000, 300, 500, false);
    for (int i = 0; i < 20000; i++) {
        u64 k = cd_rng_below(&rng, 8);
        u64 n = 1 + cd_rng_below(&rng, 100);
        cd_node_id node = {{(u8)k}};
        if (cd_rng_below(&rng, 2) == 0 && cd_p2p_pool_take(&p, &node, n, k, 28)) {
            held[k] += n;
            sum += n;
        } else if (n <= held[k]) {
            cd_p2p_pool_give(&p, &node, n);
            held[k] -= n;
            sum -= n;
        }
        assert_true(held[k] <= 300 + 500 * k / 28);
        assert_int_equal(p.large_left + p.part_left + sum, 1500);
    }
    cd_p2p_pool_fini(&p);
}

static void bucket(void **state)
{
    (void)state;
    cd_p2p_bucket b;
    cd_p2p_bucket_init(&b, 1000, 2000, 7);
    assert_int_equal(cd_p2p_bucket_take(&b, 2000, 7), 0);
    u64 wait = cd_p2p_bucket_take(&b, 500, 7);
    assert_int_equal(wait, CD_NS_PER_SEC / 2 + 1);
    assert_true(cd_p2p_bucket_take(&b, 500, 7 + wait - 2) != 0);
    assert_int_equal(cd_p2p_bucket_take(&b, 500, 7 + wait), 0);
    u64 now = 7 + wait;
    u64 got = 0;
    for (int i = 0; i < 100000; i++) { /* small steps lose nothing */
        now += 12345;
        got += cd_p2p_bucket_take(&b, 1, now) == 0;
    }
    assert_true(got >= 1233 && got <= 1235);
    assert_int_equal(cd_p2p_bucket_take(&b, 2000, now + 3600 * CD_NS_PER_SEC), 0);
    assert_true(cd_p2p_bucket_take(&b, 1, now + 3600 * CD_NS_PER_SEC) != 0); /* it holds no more than the burst */
}

static void usage(void **state)
{
    (void)state;
    cd_p2p_usage u;
    u64 now = 0;
    cd_p2p_usage_init(&u, 10 * CD_NS_PER_SEC);
    assert_true(cd_p2p_usage_of(&u, &alice, now) == 0);
    for (int i = 0; i < 1000; i++) { /* a quarter of one processor for 100 s */
        now += 100 * CD_NS_PER_MS;
        cd_p2p_usage_add(&u, &alice, 25 * CD_NS_PER_MS, now);
    }
    double v = cd_p2p_usage_of(&u, &alice, now);
    assert_true(v > 0.24 && v < 0.26);
    v = cd_p2p_usage_of(&u, &alice, now + 10 * CD_NS_PER_SEC);
    assert_true(v > 0.12 && v < 0.13);
    assert_true(cd_p2p_usage_share(8, 2, 0, 10) == 1.0);
    assert_true(cd_p2p_usage_share(8, 64, 0, 10) < 0.11);
    assert_true(cd_p2p_usage_share(8, 64, 5, 10) > 4.0);
    cd_p2p_usage_forget(&u, &alice);
    assert_true(cd_p2p_usage_of(&u, &alice, now) == 0);
    cd_p2p_usage_fini(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pool), cmocka_unit_test(pool_random), cmocka_unit_test(bucket),
                                       cmocka_unit_test(usage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
