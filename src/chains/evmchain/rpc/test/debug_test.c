/* The debug_ methods that pretend, look between transactions, and write files. */
#include "base/os/fileio.h"
#include "chains/evmchain/test/rpc_node.h"

#define CONTRACT "0xc100000000000000000000000000000000000000"
#define ZEROS    "0x0000000000000000000000000000000000000000000000000000000000000000"

static rpc_node node;
static char folder[] = "/tmp/candela-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    rpc_node_open(&node, true, folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rpc_node_close(&node);
    return cd_fs_remove_tree(cd_fs_real(), folder, NULL) != CD_OK;
}

static void traced_calls_see_moved_precompiles(void **state)
{
    (void)state;
    cd_json t = rpc_node_get(&node, "debug_traceCall",
                             "[{\"to\":\"" CONTRACT "\",\"data\":\"0x1234\"},\"latest\",{\"tracer\":\"callTracer\","
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
                   "-32000", "account 0xc100000000000000000000000000000000000000 is not a precompile");
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
    cd_json roots = rpc_node_get(&node, "debug_intermediateRoots",
                                 cd_arena_fmt(&node.arena, "[%s]", rpc_node_member(&node, block, "hash")));
    assert_int_equal(cd_json_len(roots), 3);
    const char *root[3];
    for (usize i = 0; i < 3; i++) {
        root[i] = rpc_node_text(&node, cd_json_at(roots, i));
    }
    assert_string_not_equal(root[0], root[1]);
    assert_string_not_equal(root[1], root[2]);
    assert_string_equal(root[2], rpc_node_member(&node, block, "stateRoot"));
    rpc_node_fails(&node, "debug_intermediateRoots", "[\"" ZEROS "\"]", "-32000", "block " ZEROS " not found");
    cd_json genesis = rpc_node_get(&node, "eth_getBlockByNumber", "[\"0x0\",false]");
    rpc_node_fails(&node, "debug_intermediateRoots",
                   cd_arena_fmt(&node.arena, "[%s]", rpc_node_member(&node, genesis, "hash")), "-32000",
                   "genesis is not traceable");
}

/* The lines of a file that a method named. */
static char *lines_of(cd_json name)
{
    cd_bytes path;
    cd_buf text = {0};
    assert_int_equal(cd_json_str(&path, name, NULL), CD_OK);
    assert_int_equal(cd_fs_read_file(cd_fs_real(), &text, cd_arena_str(&node.arena, path), 1 << 20, NULL), CD_OK);
    char *own = cd_arena_str(&node.arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return own;
}

static void traces_go_to_files(void **state)
{
    (void)state;
    cd_arena *a = &node.arena;
    cd_json block = mine_three();
    cd_json hash = cd_json_get(block, "hash");
    cd_json one = cd_json_at(cd_json_get(block, "transactions"), 1);
    const char *block_hash = rpc_node_text(&node, hash);
    const char *tx_hash = rpc_node_text(&node, one);
    cd_json all = rpc_node_get(&node, "debug_standardTraceBlockToFile", cd_arena_fmt(a, "[%s]", block_hash));
    assert_int_equal(cd_json_len(all), 3);
    const char *start = cd_arena_fmt(a, "\"%s/traces/block_%.10s-1-%.10s-", folder, block_hash + 1, tx_hash + 1);
    assert_memory_equal(rpc_node_text(&node, cd_json_at(all, 1)), start, strlen(start));
    assert_string_equal(lines_of(cd_json_at(all, 1)), "{\"output\":\"\",\"gasUsed\":\"0x0\"}\n");

    /* A creation: stores a byte and ends. */
    cd_json sent = rpc_node_get(&node, "eth_sendTransaction", "[{\"from\":\"" ALICE "\",\"data\":\"0x600160025300\"}]");
    cd_json receipt =
        rpc_node_get(&node, "eth_getTransactionReceipt", cd_arena_fmt(a, "[%s]", rpc_node_text(&node, sent)));
    all = rpc_node_get(&node, "debug_standardTraceBlockToFile",
                       cd_arena_fmt(a, "[%s,{\"txHash\":%s,\"enableMemory\":true}]",
                                    rpc_node_member(&node, receipt, "blockHash"), rpc_node_text(&node, sent)));
    assert_int_equal(cd_json_len(all), 1);
    char *line = lines_of(cd_json_at(all, 0));
    assert_non_null(strstr(line, "\"opName\":\"PUSH1\"}\n"));
    assert_non_null(strstr(line, "\"stack\":[\"0x1\",\"0x2\"],\"depth\":1,\"refund\":0,"
                                 "\"opName\":\"MSTORE8\"}\n"));
    assert_non_null(strstr(line, "\"memory\":\"0x000001"));
    assert_non_null(strstr(line, "{\"output\":\"\",\"gasUsed\":\""));
    all = rpc_node_get(&node, "debug_standardTraceBlockToFile",
                       cd_arena_fmt(a, "[%s,{\"txHash\":\"" ZEROS "\"}]", block_hash));
    assert_int_equal(cd_json_len(all), 0);

    rpc_node_fails(&node, "debug_standardTraceBlockToFile", "[\"" ZEROS "\"]", "-32000", "block " ZEROS " not found");
    rpc_node_fails(&node, "debug_standardTraceBadBlockToFile", "[\"" ZEROS "\"]", "-32000",
                   "bad block " ZEROS " not found");
    rpc_node other;
    rpc_node_open(&other, true, NULL);
    rpc_node_fails(&other, "debug_standardTraceBlockToFile", "[\"" ZEROS "\"]", "-32000",
                   "there is no data directory to put files into: the node runs in memory");
    rpc_node_close(&other);
}

static void a_block_in_a_file_is_traced(void **state)
{
    (void)state;
    cd_arena *a = &node.arena;
    cd_json block = mine_three();
    const char *number = rpc_node_member(&node, block, "number");
    const char *file = cd_arena_fmt(a, "%s/admin/one", folder);
    (void)rpc_node_get(
        &node, "admin_exportChain",
        cd_arena_fmt(a, "[\"%s\",%llu,%llu]", file, strtoull(number + 1, NULL, 16), strtoull(number + 1, NULL, 16)));
    cd_json traces =
        rpc_node_get(&node, "debug_traceBlockFromFile", cd_arena_fmt(a, "[\"%s\",{\"tracer\":\"callTracer\"}]", file));
    cd_json same =
        rpc_node_get(&node, "debug_traceBlockByNumber", cd_arena_fmt(a, "[%s,{\"tracer\":\"callTracer\"}]", number));
    assert_int_equal(cd_json_len(traces), 3);
    assert_string_equal(rpc_node_text(&node, traces), rpc_node_text(&node, same));
    rpc_node_fails(&node, "debug_traceBlockFromFile", "[\"none\"]", "-32000",
                   cd_arena_fmt(a,
                                "could not read file: %s/admin/none: cannot open: No such file or "
                                "directory",
                                folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traced_calls_see_moved_precompiles),
        cmocka_unit_test(roots_lead_to_the_block),
        cmocka_unit_test(traces_go_to_files),
        cmocka_unit_test(a_block_in_a_file_is_traced),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
