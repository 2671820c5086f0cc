/* A transaction's page: what it did, and its run seen three ways. */
#include "explorer/test/rig.h"

/* Its calls write 7 into slot 3; one of them says no. */
static const char *deploy(void)
{
    u8 *reason = cd_arena_zalloc(&g.node.arena, 36);
    cd_put_be32(reason, 0x4e487b71); // Panic(uint256)
    reason[35] = 0x12;
    const rig_answer answers[] = {
        {.signature = "withdraw(uint256)", .data = cd_bytes_of(reason, 36), .must_fail = true}};
    return rig_deploy(answers, 1, cd_bytes_of("\x60\x07\x60\x03\x55\x00", 6));
}

static const char *page_of(const char *hash, const char *query)
{
    return rig_get(cd_arena_fmt(&g.node.arena, "/tx/%s%s", hash, query));
}

static void test_views(void **state)
{
    (void)state;
    const char *to = deploy();
    const char *hash = rig_send(cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\",\"value\":\"0x5\"", to));
    const char *page = page_of(hash, "");
    rig_says(page, "1 call, depth 0");
    rig_says(page, "sent 0.000000000000000005 LUX to");
    page = page_of(hash, "?view=state");
    rig_says(page, "Slot 3 0 7");
    rig_says(page, "Nonce 1 2");
    rig_says(page, "Balance 0 LUX 0.000000000000000005 LUX +0.000000000000000005 LUX");
    page = page_of(hash, "?view=opcodes");
    rig_says(page, "SSTORE");
    rig_says(page, "0x3 0x7");
    rig_says(page, "STOP");
    rig_says(page, "0 to 12 of 12");
    rig_says(page_of(hash, "?view=opcodes&at=11"), "11 to 12 of 12");
    rig_says(page_of(hash, "?view=opcodes&at=18446744073709551615"), "The transaction ends before");
    rig_says(page_of(hash, "?view=opcodes&at=%3Cb%3E"), "0 to 12 of 12");
    rig_says(page_of(hash, "?view=%22%3E"), "1 call");
}

static void test_failed(void **state)
{
    (void)state;
    const char *to = deploy();
    const char *hash =
        rig_send(cd_arena_fmt(&g.node.arena,
                              ",\"to\":\"%s\",\"data\":\"0x2e1a7d4d00000000000000000000000000000000000000"
                              "00000000000000000000000009\"",
                              to));
    const char *page = page_of(hash, "");
    rig_says(page, "Reverted");
    rig_says(page, "tried to call withdraw on");
    rig_says(page, "but it failed: division or modulo by zero");
    rig_says(page, "amount 9");
    rig_says(page, "Revert data 36 B");
    rig_says(page, "Selector 0x4e487b71");
    rig_says(page, "0x4e487b710000000000000000000000000000000000000000000000000000000000000012");
    rig_says(page, "withdraw (9) failed:");
}

/* Data that nobody knows is shown as it is. */
static void test_unknown_revert(void **state)
{
    (void)state;
    const rig_answer answers[] = {
        {.signature = "withdraw(uint256)", .data = cd_bytes_of("\xab\xcd\xef\x01\x02", 5), .must_fail = true}};
    const char *to = rig_deploy(answers, 1, cd_bytes_of("\x00", 1));
    const char *hash =
        rig_send(cd_arena_fmt(&g.node.arena,
                              ",\"to\":\"%s\",\"data\":\"0x2e1a7d4d00000000000000000000000000000000000000"
                              "00000000000000000000000009\"",
                              to));
    const char *page = page_of(hash, "");
    rig_says(page, "Selector 0xabcdef01");
    rig_says(page, "0xabcdef0102");
}

/* A call with value is no payment. */
static void test_value_of_a_call(void **state)
{
    (void)state;
    const char *to = deploy();
    const char *hash =
        rig_send(cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\",\"value\":\"0x5\",\"data\":\"0xd0e30db0\"", to));
    rig_says(page_of(hash, ""), "called deposit on");
    rig_says(page_of(hash, ""), "with 0.000000000000000005 LUX");
}

/* A chain of another virtual machine is not taken for an EVM chain. */
static void test_other_vms(void **state)
{
    static const cd_vm_ops ops = {.name = "evm"};
    const cd_vm other = {.ops = &ops};
    (void)state;
    assert_true(cd_evm_vm_is(g.node.vm));
    assert_false(cd_evm_vm_is(&other));
}

static void test_payment(void **state)
{
    (void)state;
    const char *hash = rig_send(",\"to\":\"" BOB "\",\"value\":\"0xde0b6b3a7640000\"");
    rig_says(page_of(hash, ""), "sent 1 LUX to");
    rig_says(page_of(hash, "?view=opcodes"), "Nothing was called that has code");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views),           cmocka_unit_test(test_failed),
                                       cmocka_unit_test(test_other_vms),       cmocka_unit_test(test_unknown_revert),
                                       cmocka_unit_test(test_value_of_a_call), cmocka_unit_test(test_payment)};
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
