#include "services/pricing/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S CD_NS_PER_SEC

static bool may(cd_gate *g, u64 now_ns)
{
    u64 wait_ns;
    return cd_gate_ask(g, &wait_ns, now_ns, 0) == CD_GATE_FREE;
}

/* However calls are asked for, no minute has more than the budget, and an eager caller gets nearly all of it. */
static void test_budget(void **state)
{
    (void)state;
    static const u32 rates[] = {1, 2, 4, 5, 6, 9, 10, 30, 100, 1000};
    static u64 times[20000];
    cd_rng rng = cd_rng_seeded(7);
    for (usize k = 0; k < CD_COUNT(rates); k++) {
        cd_gate g;
        usize cnt = 0;
        cd_gate_init(&g, rates[k], 0, 1);
        for (u64 now = 0; now < 600 * S; now += 1 + cd_rng_below(&rng, S / 20)) {
            if (now / S == 200) {
                now += 90 * S; /* a pause fills the bucket */
            }
            if (may(&g, now)) {
                cd_gate_enter(&g, now);
                cd_gate_good(&g);
                times[cnt++] = now;
            }
        }
        for (usize i = rates[k]; i < cnt; i++) {
            assert_true(times[i] - times[i - rates[k]] >= 60 * S - 1000);
        }
        assert_true(cnt >= 8 * rates[k] * 8 / 10);
    }
}

static void test_wait(void **state)
{
    (void)state;
    cd_gate g;
    u64 wait_ns;
    cd_gate_init(&g, 6, 0, 1);
    cd_gate_enter(&g, 0);
    assert_int_equal(cd_gate_ask(&g, &wait_ns, 0, 0), CD_GATE_NO_TOKEN);
    assert_in_range(wait_ns, 9 * S, 11 * S);
    assert_false(may(&g, wait_ns - S));
    assert_true(may(&g, wait_ns));
    /* what nobody waits for leaves a token, where there can be two */
    cd_gate_init(&g, 10, 0, 1);
    assert_int_equal(cd_gate_ask(&g, &wait_ns, 0, 1), CD_GATE_FREE);
    cd_gate_enter(&g, 0);
    assert_int_equal(cd_gate_ask(&g, &wait_ns, 0, 1), CD_GATE_NO_TOKEN);
    assert_true(may(&g, 0));
    cd_gate_init(&g, 1, 0, 1);
    assert_int_equal(cd_gate_ask(&g, &wait_ns, 0, 1), CD_GATE_FREE);
}

static void fail_once(cd_gate *g, u64 now)
{
    cd_gate_enter(g, now);
    cd_gate_bad(g, now, 0);
}

static void test_breaker(void **state)
{
    (void)state;
    cd_gate g;
    u64 wait_ns;
    cd_gate_init(&g, 6000, 0, 1);
    for (u32 i = 0; i < 4; i++) {
        fail_once(&g, 0);
    }
    cd_gate_enter(&g, 0);
    cd_gate_good(&g); /* not in a row */
    for (u32 i = 0; i < 4; i++) {
        fail_once(&g, 0);
    }
    assert_int_equal(g.breaker, CD_BREAKER_CLOSED);
    fail_once(&g, 0);
    assert_int_equal(g.breaker, CD_BREAKER_OPEN);
    assert_int_equal(cd_gate_ask(&g, &wait_ns, 0, 0), CD_GATE_BLOCKED);
    assert_int_equal(wait_ns, 30 * S);
    assert_false(may(&g, 30 * S - 1));
    assert_true(may(&g, 30 * S));
    cd_gate_enter(&g, 30 * S);
    assert_int_equal(cd_gate_ask(&g, &wait_ns, 30 * S, 0), CD_GATE_BLOCKED); /* one probe */
    cd_gate_void(&g);                                                        /* which told nothing */
    assert_true(may(&g, 30 * S));
    fail_once(&g, 30 * S);
    assert_false(may(&g, 60 * S - 1));
    cd_gate_enter(&g, 60 * S);
    cd_gate_good(&g);
    assert_int_equal(g.breaker, CD_BREAKER_CLOSED);
    assert_int_equal(g.failures, 0);
}

static void test_back_off(void **state)
{
    (void)state;
    cd_gate g;
    u64 now = 0;
    cd_gate_init(&g, 6000, 0, 1);
    for (u32 i = 0; i < 10; i++) {
        u64 s = i < 6 ? 1u << i : 60;
        u64 wait_ns;
        cd_gate_enter(&g, now);
        cd_gate_limited(&g, now, 0);
        assert_int_equal(cd_gate_ask(&g, &wait_ns, now, 0), CD_GATE_BLOCKED);
        assert_in_range(wait_ns, s * S * 8 / 10, s * S * 12 / 10);
        now += wait_ns;
        assert_true(may(&g, now));
    }
    assert_int_equal(g.breaker, CD_BREAKER_CLOSED); /* being told to slow down is no illness */
    cd_gate_enter(&g, now);
    cd_gate_limited(&g, now, 7 * S);
    assert_false(may(&g, now + 7 * S - 1));
    assert_true(may(&g, now + 7 * S));
    cd_gate_limited(&g, now, UINT64_MAX / 2); /* an absurd time is cut to an hour */
    assert_true(may(&g, now + 3600 * S));
    cd_gate_init(&g, 6000, 0, 1);
    cd_gate_enter(&g, 0);
    cd_gate_bad(&g, 0, 3 * S);
    assert_false(may(&g, 3 * S - 1));
    assert_true(may(&g, 3 * S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_breaker),
        cmocka_unit_test(test_back_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
