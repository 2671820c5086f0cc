#include "node/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_without_rest(void **state)
{
    static const u64 sizes[] = {64u << 20, (64u << 20) + 15, 1u << 30, 12345678901u, (u64)1 << 40};
    (void)state;
    for (usize i = 0; i < CD_COUNT(sizes); i++) {
        cd_budget b = cd_budget_of(sizes[i]);
        assert_int_equal(b.store + b.state + b.tries + b.texts + b.requests, sizes[i]);
        assert_true(b.http + b.ws_in + b.ws_out + b.writing < b.requests);
        assert_in_range(b.conns_max, 2048, 8192);
        assert_true(b.requests >= sizes[i] / 8 && b.store >= sizes[i] / 5 && b.tries > b.state);
    }
}

/* The shares of all chains together are no more than the budget; a single chain has it all. */
static void test_parts(void **state)
{
    (void)state;
    const cd_budget all = cd_budget_of(1u << 30);
    for (u32 cnt = 1; cnt <= 20; cnt++) {
        cd_budget one = cd_budget_part(&all, cnt);
        assert_true(one.state * cnt <= all.state && one.state * cnt > all.state - cnt);
        assert_true(one.tries * cnt <= all.tries && one.texts * cnt <= all.texts && one.ws_out * cnt <= all.ws_out);
        assert_true(one.store == all.store && one.http == all.http);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_rest),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
