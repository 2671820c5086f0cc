/* The development network's clock, on one that stands still. [spec:dev-rpc#2.2] */
#include "base/os/clock.h"
#include "chains/evmchain/test/rpc_node.h"

static cd_clock_virtual wall;

static void open_node(rpc_node *n)
{
    cd_clock_virtual_init(&wall, (START + 100) * CD_NS_PER_SEC);
    rpc_node_open_at(n, true, NULL, NULL, &wall.clock);
}

/* The timestamp of the newest block. */
static u64 head_time(rpc_node *n)
{
    u64 time;
    cd_json block = rpc_node_get(n, "eth_getBlockByNumber", "[\"latest\",false]");
    assert_int_equal(cd_json_qty_u64(&time, cd_json_get(block, "timestamp"), NULL), CD_OK);
    return time;
}

static void send(rpc_node *n, u32 cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        (void)rpc_node_get(n, "eth_sendTransaction", "[{\"from\":\"" ALICE "\",\"to\":\"" BOB "\",\"value\":\"0x1\"}]");
    }
}

static void increase(rpc_node *n, const char *seconds, const char *want)
{
    assert_string_equal(rpc_node_text(n, rpc_node_get(n, "evm_increaseTime", seconds)), want);
}

/* Ten blocks in a second are nine seconds ahead of the clock on the wall; what is asked for then counts from there.
 * The answers are those that were recorded of Hardhat's node. */
static void quick_blocks_take_the_clock_along(void **state)
{
    (void)state;
    rpc_node n;
    open_node(&n);
    send(&n, 1);
    assert_int_equal(head_time(&n), START + 100);
    increase(&n, "[1000]", "\"1000\"");
    send(&n, 8); /* the first at the new time, and seven seconds more */
    u64 before = head_time(&n);
    assert_int_equal(before, START + 100 + 1000 + 7);
    increase(&n, "[1000]", "\"2007\"");
    (void)rpc_node_get(&n, "evm_mine", "[]");
    assert_int_equal(head_time(&n), before + 1000);
    increase(&n, "[0]", "\"2007\"");
    cd_clock_virtual_advance(&wall, 5 * CD_NS_PER_SEC);
    send(&n, 1);
    assert_int_equal(head_time(&n), before + 1000 + 5);
    rpc_node_close(&n);
}

/* A run of blocks does likewise, however far apart they are, and so do blocks at a fixed distance. */
static void runs_take_the_clock_along(void **state)
{
    (void)state;
    rpc_node n;
    open_node(&n);
    (void)rpc_node_get(&n, "hardhat_mine", "[\"0x64\",\"0x3c\"]");
    u64 before = head_time(&n);
    assert_int_equal(before, START + 100 + 99 * 60);
    increase(&n, "[10]", "\"5950\"");
    send(&n, 1);
    assert_int_equal(head_time(&n), before + 10);
    (void)rpc_node_get(&n, "hardhat_setBlockTimestampInterval", "[7]");
    send(&n, 3);
    (void)rpc_node_get(&n, "hardhat_removeBlockTimestampInterval", "[]");
    before = head_time(&n);
    increase(&n, "[1]", "\"5972\"");
    send(&n, 1);
    assert_int_equal(head_time(&n), before + 1);
    rpc_node_close(&n);
}

/* Going back brings the clock of then, also one that was taken along. */
static void a_revert_brings_the_clock_back(void **state)
{
    (void)state;
    rpc_node n;
    open_node(&n);
    send(&n, 3);
    (void)rpc_node_get(&n, "evm_snapshot", "[]");
    send(&n, 50);
    (void)rpc_node_get(&n, "evm_revert", "[\"0x1\"]");
    assert_int_equal(head_time(&n), START + 102);
    send(&n, 1);
    assert_int_equal(head_time(&n), START + 103);
    rpc_node_close(&n);
}

/* The last second that there is may be chosen; time goes on behind it. */
static void the_end_of_time(void **state)
{
    (void)state;
    rpc_node n;
    open_node(&n);
    (void)rpc_node_get(&n, "evm_setNextBlockTimestamp", "[\"0x7fffffffffffffff\"]");
    (void)rpc_node_get(&n, "evm_mine", "[]");
    cd_clock_virtual_advance(&wall, 5 * CD_NS_PER_SEC);
    (void)rpc_node_get(&n, "evm_mine", "[]");
    assert_int_equal(head_time(&n), (u64)INT64_MAX + 1);
    rpc_node_fails(&n, "evm_increaseTime", "[1]", "-32602", "invalid argument 0: out of range");
    rpc_node_close(&n);
    open_node(&n);
    const char *most = cd_arena_fmt(&n.arena, "[%llu]", (unsigned long long)INT64_MAX - START - 100);
    const char *more = cd_arena_fmt(&n.arena, "[%llu]", (unsigned long long)INT64_MAX - START - 99);
    rpc_node_fails(&n, "evm_increaseTime", more, "-32602", "invalid argument 0: out of range");
    (void)rpc_node_get(&n, "evm_increaseTime", most);
    (void)rpc_node_get(&n, "evm_mine", "[]");
    assert_int_equal(head_time(&n), INT64_MAX);
    rpc_node_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_blocks_take_the_clock_along),
        cmocka_unit_test(runs_take_the_clock_along),
        cmocka_unit_test(a_revert_brings_the_clock_back),
        cmocka_unit_test(the_end_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
