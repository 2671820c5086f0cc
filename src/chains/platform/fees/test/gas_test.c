/* Gas and fees at their limits: one more is one too many. [spec:pchain-xchain#5] */
#include "chains/platform/fees/gas.h"
#include "chains/platform/fees/l1_fee.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void room_for_gas(void **state)
{
    (void)state;
    cd_errinfo why = {0};
    cd_p_gas_state s = {.capacity = 100, .excess = 7};
    assert_int_equal(cd_gas_consume(&s, 101, &why), CD_ELIMIT);
    assert_string_equal(why.msg, "insufficient capacity: capacity (100) < gas (101)");
    assert_true(s.capacity == 100 && s.excess == 7);
    assert_int_equal(cd_gas_consume(&s, 100, &why), CD_OK);
    assert_true(s.capacity == 0 && s.excess == 107);
    assert_int_equal(cd_gas_consume(&s, 1, &why), CD_ELIMIT);
    s = (cd_p_gas_state){.capacity = 1, .excess = UINT64_MAX};
    assert_int_equal(cd_gas_consume(&s, 1, &why), CD_OK);
    assert_true(s.excess == UINT64_MAX);
}

/* Neither a product nor their sum may wrap. */
static void gas_that_is_too_much(void **state)
{
    (void)state;
    const cd_gas_dims ones = {.bandwidth = 1, .reads = 1, .writes = 1, .compute = 1};
    const cd_gas_dims most = {.bandwidth = UINT64_MAX - 3, .reads = 1, .writes = 1, .compute = 1};
    const cd_gas_dims more = {.bandwidth = UINT64_MAX - 3, .reads = 1, .writes = 1, .compute = 2};
    const cd_gas_dims half = {.compute = 1ULL << 63};
    const cd_gas_dims twos = {.compute = 2};
    u64 gas = 5;
    assert_int_equal(cd_p_gas_of(&gas, &most, &ones), CD_OK);
    assert_true(gas == UINT64_MAX);
    assert_int_equal(cd_p_gas_of(&gas, &more, &ones), CD_ERANGE);
    assert_int_equal(cd_p_gas_of(&gas, &half, &twos), CD_ERANGE);
    assert_true(gas == UINT64_MAX);
    assert_int_equal(cd_gas_fee(&gas, &ones, &ones, UINT64_MAX / 4), CD_OK);
    assert_int_equal(cd_gas_fee(&gas, &ones, &ones, UINT64_MAX / 4 + 1), CD_ERANGE);
}

/* Money lasts as many seconds as it pays for wholly: what so many cost is enough for them, one less is not. */
static void seconds_for_money(void **state)
{
    (void)state;
    const cd_l1_fee_config c = {.capacity = 1000, .target = 10, .min_price = 3, .k = 50};
    static const cd_l1_fee_state starts[] = {{10, 0}, {10, 90}, {30, 40}, {4, 200}, {4, 0}, {0, 3}};
    for (usize i = 0; i < CD_COUNT(starts); i++) {
        for (u64 seconds = 1; seconds < 60; seconds++) {
            u64 cost = cd_l1_fee_cost(starts[i], &c, seconds);
            assert_true(cd_l1_fee_seconds(starts[i], &c, 1000, cost) == seconds);
            assert_true(cd_l1_fee_seconds(starts[i], &c, 1000, cost - 1) == seconds - 1);
            assert_true(cd_l1_fee_seconds(starts[i], &c, seconds - 1, cost) == seconds - 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_for_gas),
        cmocka_unit_test(gas_that_is_too_much),
        cmocka_unit_test(seconds_for_money),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
