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

#define TOPIC                                                                                                          \
    "\xdd\xf2\x52\xad\x1b\xe2\xc8\x9b\x69\xc2\xb0\x68\xfc\x37\x8d\xaa\x95\x2b\xa7\xf1\x63\xc4\xa1"                     \
    "\x16\x28\xf5\x5a\x4d\xf5\x23\xb3\xef"
#define GIVES_BACK "\x5f\x5f\x5f\x5f\x60\x03\x33\x5a\xf1\x50"                  /* 3 wei to its caller */
#define PAYS       "\x61\x01\xf4\x5f\x52\x33\x30\x7f" TOPIC "\x60\x20\x5f\xa3" /* Transfer(itself, caller, 500) */
#define BOBS       "\x73\x70\x99\x79\x70\xc5\x18\x12\xdc\x3a\x01\x0c\x7d\x01\xb5\x0e\x0d\x17\xdc\x79\xc8"
#define AGAIN      "\x60\x01\x90\x03\x80" /* counts down */

static const char *sentence_of(const char *to, const char *value)
{
    const char *hash =
        rig_send(cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\",\"value\":\"%s\",\"data\":\"0x01020304\"", to, value));
    return page_of(hash, "");
}

/* What comes back is no third movement: the swap is of 7. */
static void test_swap_with_refund(void **state)
{
    (void)state;
    static const char code[] = GIVES_BACK PAYS;
    const rig_answer answers[] = {
        {.signature = "symbol()", .data = rig_string("LMN", 3)},
        {.signature = "decimals()", .data = rig_word(2)},
    };
    const char *to = rig_deploy(answers, 2, cd_bytes_of(code, sizeof code)); // NUL: STOP
    const char *page = sentence_of(to, "0xa");
    rig_says(page, "swapped 0.000000000000000007 LUX for 5.00 LMN on 0x");
    rig_says(page, "3 movements");
    page = sentence_of(to, "0x3"); // all of it comes back
    rig_says(page, "called 0x01020304 on");
    assert_null(strstr(page, "swapped"));
}

static void test_destruction(void **state)
{
    (void)state;
    static const char code[] = BOBS "\xff";
    const char *to = rig_deploy(NULL, 0, cd_bytes_of(code, sizeof code));
    const char *page = sentence_of(to, "0x9");
    rig_says(page, "called 0x01020304 on");
    rig_says(page, "ran SELFDESTRUCT and gave 0.000000000000000009 LUX to 0x7099");
    rig_says(sentence_of(to, "0x0"), "ran SELFDESTRUCT and gave 0 LUX to 0x7099");
}

static void test_creation_inside(void **state)
{
    (void)state;
    const char *to = rig_deploy(NULL, 0, cd_bytes_of("\x5f\x5f\x5f\xf0\x00", 5));
    rig_says(sentence_of(to, "0x0"), ", which created the contract 0x");
    to = rig_deploy(NULL, 0, cd_bytes_of("\x5f\x5f\x60\x02\xf0\x5f\x5f\x5f\xf0\x00", 10));
    const char *page = sentence_of(to, "0x4"); // the first gets two of the four
    rig_says(page, "with 0.000000000000000004 LUX , which created the contract 0x");
    rig_says(page, "and 1 more");
}

static usize times(const char *text, const char *what)
{
    usize n = 0;
    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what)) {
        n++;
    }
    return n;
}

/* Every movement is on one page, their sum on each. */
static void test_movements_behind_the_first(void **state)
{
    (void)state;
    static const char code[] = "\x60\x96\x5b\x80\x5f\x52\x33\x30\x7f" TOPIC "\x60\x20\x5f\xa3" AGAIN "\x60\x02\x57";
    const char *to = rig_deploy(NULL, 0, cd_bytes_of(code, sizeof code));
    const char *hash = rig_send(cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\"", to));
    for (u32 first = 0; first < 150; first += 64) {
        u32 end = first + 64 < 150 ? first + 64 : 150;
        const char *path = cd_arena_fmt(&g.node.arena, "/tx/%s?moves=%u", hash, first);
        const char *html = rig_html(path, "200");
        assert_int_equal(times(html, "class=\"move\""), end - first);
        rig_says(html, cd_arena_fmt(&g.node.arena, "\"any\">%u units<", 150 - first));
        rig_says(html, cd_arena_fmt(&g.node.arena, "\"any\">%u units<", 151 - end));
        rig_says(html, "+11,325 units</td>");
        assert_int_equal(strstr(html, cd_arena_fmt(&g.node.arena, "?moves=%u#moved", end)) != NULL, end < 150);
        rig_says(rig_plain(html), cd_arena_fmt(&g.node.arena, "%u to %u of 150", first, end - 1));
    }
    rig_says(page_of(hash, "?moves=150"), "0 to 63 of 150");
    rig_says(page_of(hash, "?moves=%3Cb%3E"), "0 to 63 of 150");
}

static void test_calls_behind_the_first(void **state)
{
    (void)state;
    static const char code[] =
        "\x61\x02\xbc\x5b\x5f\x5f\x5f\x5f\x5f" BOBS "\x5a\xf1\x50" AGAIN "\x60\x03\x57"; // 700 calls
    const char *to = rig_deploy(NULL, 0, cd_bytes_of(code, sizeof code));
    const char *hash = rig_send(cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\"", to));
    for (u32 first = 0; first < 701; first += 300) {
        u32 end = first + 300 < 701 ? first + 300 : 701;
        const char *html = rig_html(cd_arena_fmt(&g.node.arena, "/tx/%s?calls=%u", hash, first), "200");
        assert_int_equal(times(html, "<span class=\"tagcell\">"), end - first);
        assert_int_equal(strstr(html, cd_arena_fmt(&g.node.arena, "?calls=%u#trace", end)) != NULL, end < 701);
        rig_says(rig_plain(html), cd_arena_fmt(&g.node.arena, "%u to %u of 701 calls, depth 1", first, end - 1));
    }
    rig_says(page_of(hash, "?calls=701"), "0 to 299 of 701");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_failed),
        cmocka_unit_test(test_other_vms),
        cmocka_unit_test(test_unknown_revert),
        cmocka_unit_test(test_value_of_a_call),
        cmocka_unit_test(test_payment),
        cmocka_unit_test(test_swap_with_refund),
        cmocka_unit_test(test_destruction),
        cmocka_unit_test(test_creation_inside),
        cmocka_unit_test(test_movements_behind_the_first),
        cmocka_unit_test(test_calls_behind_the_first),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
