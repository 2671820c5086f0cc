/* The debug_ methods that pretend, look between transactions, and write files. */
#include "chains/evmchain/test/rpc_node.h"

#define CONTRACT "0xc100000000000000000000000000000000000000"
#define ZEROS    "0x0000000000000000000000000000000000000000000000000000000000000000"

static rpc_node node;

static int set_up(void **state)
{
    (void)state;
    rpc_node_open(&node, true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rpc_node_close(&node);
    return 0;
}

static void traced_calls_see_moved_precompiles(void **state)
{
    (void)state;
    cd_json t = rpc_node_get(&node, "debug_traceCall",
                             "[{\"to\":\"" CONTRACT
                             "\",\"data\":\"0x1234\"},\"latest\",{\"tracer\":\"callTracer\","
                             "\"stateOverrides\":{\"0x0000000000000000000000000000000000000004\":"
                             "{\"movePrecompileToAddress\":\"" CONTRACT "\"}}}]");
    assert_string_equal(rpc_node_member(&node, t, "output"), "\"0x1234\"");
    t = rpc_node_get(&node, "debug_traceCall",
                     "[{\"to\":\"0x0000000000000000000000000000000000000004\",\"data\":\"0x1234\"},"
                     "\"latest\",{\"tracer\":\"callTracer\",\"stateOverrides\":"
                     "{\"0x0000000000000000000000000000000000000004\":{\"code\":\"0x00\"}}}]");
    assert_string_equal(rpc_node_text(&node, cd_json_get(t, "output")), "");
    rpc_node_fails(&node, "debug_traceCall",
                   "[{\"to\":\"" CONTRACT "\"},\"latest\",{\"stateOverrides\":{\"" CONTRACT
                   "\":{\"movePrecompileToAddress\":\"" ALICE "\"}}}]",
                   "-32000",
                   "account 0xc100000000000000000000000000000000000000 is not a precompile");
}

/* Three transactions in one block. */
static cd_json mine_three(void)
{
    (void)rpc_node_get(&node, "evm_setAutomine", "[false]");
    for (int i = 0; i < 3; i++) {
        (void)rpc_node_get(&node, "eth_sendTransaction",
                           "[{\"from\":\"" ALICE "\",\"to\":\"" BOB "\",\"value\":\"0x1\"}]");
    }
    (void)rpc_node_ask(&node, "evm_mine", "[]");
    (void)rpc_node_get(&node, "evm_setAutomine", "[true]");
    return rpc_node_get(&node, "eth_getBlockByNumber", "[\"latest\",false]");
}

static void roots_lead_to_the_block(void **state)
{
    (void)state;
    cd_json block = mine_three();
    cd_json roots =
        rpc_node_get(&node, "debug_intermediateRoots",
                     cd_arena_fmt(&node.arena, "[%s]", rpc_node_member(&node, block, "hash")));
    assert_int_equal(cd_json_len(roots), 3);
    const char *root[3];
    for (usize i = 0; i < 3; i++) {
        root[i] = rpc_node_text(&node, cd_json_at(roots, i));
    }
    assert_string_not_equal(root[0], root[1]);
    assert_string_not_equal(root[1], root[2]);
    assert_string_equal(root[2], rpc_node_member(&node, block, "stateRoot"));
    rpc_node_fails(&node, "debug_intermediateRoots", "[\"" ZEROS "\"]", "-32000",
                   "block " ZEROS " not found");
    cd_json genesis = rpc_node_get(&node, "eth_getBlockByNumber", "[\"0x0\",false]");
    rpc_node_fails(&node, "debug_intermediateRoots",
                   cd_arena_fmt(&node.arena, "[%s]", rpc_node_member(&node, genesis, "hash")),
                   "-32000", "genesis is not traceable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traced_calls_see_moved_precompiles),
        cmocka_unit_test(roots_lead_to_the_block),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
