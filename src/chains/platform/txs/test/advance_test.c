/* The time that a block may carry: never back, never over the next change of the stakers, not far ahead of the clock.
 * [spec:pchain-xchain#6] */
#include "chains/platform/txs/advance.h"

#include "chains/platform/state/stakers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TIME = 1800000000, CHANGE = TIME + 500 };

static cd_err ok(const cd_pstate *s, u64 time, u64 now)
{
    static const cd_p_rules rules;
    cd_errinfo why = {0};
    return cd_p_time_ok(s, &rules, time, now, &why);
}

static void limits_of_time(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_pstate s = {.kv = kv};
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_TIME, TIME), CD_OK);
    assert_int_equal(ok(&s, TIME - 1, TIME), CD_EINVAL);
    assert_int_equal(ok(&s, TIME, TIME), CD_OK);
    assert_int_equal(ok(&s, TIME + CD_P_SYNC_BOUND_S, TIME), CD_OK);
    assert_int_equal(ok(&s, TIME + CD_P_SYNC_BOUND_S + 1, TIME), CD_EINVAL);
    assert_int_equal(ok(&s, CHANGE + 1, CHANGE), CD_OK); /* nobody stakes */
    const cd_p_staker one = {.tx_id = {{1}},
                             .node_id = {{1}},
                             .weight = 1,
                             .start = TIME - 10,
                             .end = CHANGE,
                             .next_time = CHANGE,
                             .priority = CD_P_CURRENT_VALIDATOR};
    assert_int_equal(cd_pstate_staker_put(&s, &one), CD_OK);
    assert_int_equal(ok(&s, CHANGE - 1, CHANGE), CD_OK);
    assert_int_equal(ok(&s, CHANGE, CHANGE), CD_OK);
    assert_int_equal(ok(&s, CHANGE + 1, CHANGE), CD_EINVAL);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_of_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
