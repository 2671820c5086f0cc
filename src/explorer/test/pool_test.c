/* The pool, a transaction that waits, the node's page. */
#include "explorer/test/rig.h"

static void test_pool(void **state)
{
    (void)state;
    rig_says(rig_get("/pool"), "No pending transactions");
    (void)rpc_node_get(&g.node, "evm_setAutomine", "[false]");
    const char *first = rig_send(",\"to\":\"" BOB "\",\"value\":\"0xde0b6b3a7640000\"");
    const char *gap = rig_send(",\"to\":\"" BOB "\",\"nonce\":\"0x5\",\"data\":\"0xa9059cbb\"");
    const char *page = rig_get("/pool");
    rig_says(page, "Executable 1");
    rig_says(page, "Queued 1");
    rig_says(page, "nonce 0");
    rig_says(page, "nonce 5");
    rig_says(page, "Next block");
    rig_says(page, "Nonce missing");
    rig_says(page, "has sent no transaction with nonce 1 yet; this one has 5");
    page = rig_get(cd_arena_fmt(&g.node.arena, "/tx/%s", first));
    rig_says(page, "Pending");
    rig_says(page, "wants to send 1 LUX to");
    rig_says(page, "nothing is in its way");
    page = rig_get(cd_arena_fmt(&g.node.arena, "/search?q=%s", gap));
    rig_says(page, "wants to call transfer on");
    rig_says(page, "has sent no transaction with nonce 1 yet");
    (void)rpc_node_get(&g.node, "evm_mine", "[]");
    rig_says(rig_get(cd_arena_fmt(&g.node.arena, "/tx/%s", first)), "Success");
    rig_says(rig_plain(rig_html("/tx/0x00000000000000000000000000000000000000000000000000000000000000"
                                "00",
                                "404")),
             "nor in the pool");
}

static void test_node(void **state)
{
    (void)state;
    const char *html = rig_html("/node", "200");
    assert_null(strstr(html, "<low>"));
    const char *page = rig_plain(html);
    rig_says(page, "Up 1 h 2 min");
    rig_says(page, "Memory 64.0 MB budget 1.0 GB");
    rig_says(page, "C Healthy");
    rig_says(page, "diskspace remaining space is <low> 3 times in a row, since "
                   "2026-11-21T14:04:46Z Unhealthy");
    rig_says(page, "Chain id 1337");
    rig_says(page, "Peers none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pool), cmocka_unit_test(test_node)};
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
