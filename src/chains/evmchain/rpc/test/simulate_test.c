/* eth_simulateV1: the shapes and words of its answers, and blocks that are as if they had been made. Whole recorded
 * blocks are made up again by tests/vectors/simulate.h. */
#include "chains/evmchain/test/rpc_node.h"

#define SOMEBODY "0xc000000000000000000000000000000000000000"
#define CONTRACT "0xc100000000000000000000000000000000000000"

static rpc_node node;

static int set_up(void **state)
{
    (void)state;
    rpc_node_open(&node, true, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rpc_node_close(&node);
    return 0;
}

/* The blocks of a simulation on the head. */
static cd_json simulate(const char *opts, const char *blocks)
{
    return rpc_node_get(&node, "eth_simulateV1",
                        cd_arena_fmt(&node.arena, "[{%s\"blockStateCalls\":[%s]},\"latest\"]", opts, blocks));
}

static void fails(const char *opts, const char *blocks, const char *code, const char *words)
{
    rpc_node_fails(&node, "eth_simulateV1",
                   cd_arena_fmt(&node.arena, "[{%s\"blockStateCalls\":[%s]},\"latest\"]", opts, blocks), code, words);
}

static const char *of(cd_json v, const char *name)
{
    return rpc_node_member(&node, v, name);
}

static cd_json call_of(cd_json blocks, usize block, usize call)
{
    return cd_json_at(cd_json_get(cd_json_at(blocks, block), "calls"), call);
}

static u64 qty(cd_json v, const char *name)
{
    u64 n = 0;
    assert_int_equal(cd_json_u64(&n, cd_json_get(v, name), NULL), CD_OK);
    return n;
}

static void blocks_follow_one_another(void **state)
{
    (void)state;
    cd_json head = rpc_node_get(&node, "eth_getBlockByNumber", "[\"latest\",false]");
    u64 number = qty(head, "number");
    u64 time = qty(head, "timestamp");
    cd_json blocks = simulate("", cd_arena_fmt(&node.arena,
                                               "{},{\"blockOverrides\":{\"number\":\"0x%llx\"}},"
                                               "{\"blockOverrides\":{\"time\":\"0x%llx\"}}",
                                               (unsigned long long)number + 4, (unsigned long long)time + 1000));
    assert_int_equal(cd_json_len(blocks), 5); /* two fill the gap */
    const char *parent = of(head, "hash");
    u64 before = time;
    for (usize i = 0; i < 5; i++) {
        cd_json b = cd_json_at(blocks, i);
        assert_int_equal(qty(b, "number"), number + 1 + i);
        assert_string_equal(of(b, "parentHash"), parent);
        assert_true(qty(b, "timestamp") > before);
        assert_string_equal(of(b, "baseFeePerGas"), "\"0x0\"");
        assert_string_equal(of(b, "calls"), "[]");
        before = qty(b, "timestamp");
        parent = of(b, "hash");
    }
    assert_int_equal(before, time + 1000);
    /* Nothing has happened. */
    assert_int_equal(qty(rpc_node_get(&node, "eth_getBlockByNumber", "[\"latest\",false]"), "number"), number);
}

/* An empty block that is made afterwards is the one that was foretold. */
static void a_foretold_block_has_the_same_hash(void **state)
{
    (void)state;
    (void)rpc_node_ask(&node, "evm_mine", "[]"); /* the coinbase stays that of the parent */
    cd_json head = rpc_node_get(&node, "eth_getBlockByNumber", "[\"latest\",false]");
    u64 time = qty(head, "timestamp") + 77;
    cd_json told = cd_json_at(
        simulate("\"validation\":true,",
                 cd_arena_fmt(&node.arena, "{\"blockOverrides\":{\"time\":\"0x%llx\"}}", (unsigned long long)time)),
        0);
    (void)rpc_node_ask(&node, "evm_mine", cd_arena_fmt(&node.arena, "[\"0x%llx\"]", (unsigned long long)time));
    cd_json made = rpc_node_get(&node, "eth_getBlockByNumber", "[\"latest\",false]");
    assert_int_equal(qty(made, "timestamp"), time);
    assert_string_equal(of(told, "stateRoot"), of(made, "stateRoot"));
    assert_string_equal(of(told, "baseFeePerGas"), of(made, "baseFeePerGas"));
    assert_string_equal(of(told, "extraData"), of(made, "extraData"));
    assert_string_equal(of(told, "size"), of(made, "size"));
    assert_string_equal(of(told, "hash"), of(made, "hash"));
}

static void transfers_are_logged_on_demand(void **state)
{
    (void)state;
    /* Sends one wei on, then reverts when there is input. */
    static const char *const blocks =
        "{\"stateOverrides\":{\"" SOMEBODY "\":{\"balance\":\"0x7d0\"},"
        "\"" CONTRACT "\":{\"code\":\"0x6000808080600160425af1503615601557600080fd5b00\"}},"
        "\"calls\":[{\"from\":\"" SOMEBODY "\",\"to\":\"" CONTRACT "\",\"value\":\"0x3e8\"},"
        "{\"from\":\"" SOMEBODY "\",\"to\":\"" CONTRACT "\",\"value\":\"0x3\",\"data\":\"0x01\"}]}";
    cd_json result = simulate("\"traceTransfers\":true,", blocks);
    cd_json block = cd_json_at(result, 0);
    cd_json logs = cd_json_get(call_of(result, 0, 0), "logs");
    assert_int_equal(cd_json_len(logs), 2);
    assert_string_equal(of(cd_json_at(logs, 0), "address"), "\"0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\"");
    assert_string_equal(of(cd_json_at(logs, 0), "topics"),
                        "[\"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef\","
                        "\"0x000000000000000000000000c000000000000000000000000000000000000000\","
                        "\"0x000000000000000000000000c100000000000000000000000000000000000000\"]");
    assert_string_equal(of(cd_json_at(logs, 0), "data"),
                        "\"0x00000000000000000000000000000000000000000000000000000000000003e8\"");
    assert_string_equal(of(cd_json_at(logs, 1), "logIndex"), "\"0x1\"");
    assert_string_equal(of(cd_json_at(logs, 1), "blockHash"), of(block, "hash"));
    /* What is reverted was not moved, and the bloom knows nothing of it all. */
    cd_json failed = call_of(result, 0, 1);
    assert_string_equal(of(failed, "logs"), "[]");
    assert_string_equal(of(failed, "status"), "\"0x0\"");
    assert_string_equal(of(failed, "returnData"), "\"0x\"");
    assert_string_equal(of(failed, "error"), "{\"message\":\"execution reverted\",\"code\":3,\"data\":\"0x\"}");
    for (const char *c = of(block, "logsBloom") + 3; *c != '"'; c++) {
        assert_int_equal(*c, '0');
    }
    cd_json silent = simulate("", blocks);
    assert_string_equal(of(call_of(silent, 0, 0), "logs"), "[]");
    assert_string_equal(of(cd_json_at(silent, 0), "hash"), of(block, "hash"));
}

static void calls_see_what_came_before(void **state)
{
    (void)state;
    /* Slot 0 counts; the answer is what it was before. Then the hash of the block before. */
    cd_json result =
        simulate("", "{\"stateOverrides\":{\"" CONTRACT "\":{\"code\":\"0x6000548060010160005560005260206000f3\","
                     "\"stateDiff\":{"
                     "\"0x0000000000000000000000000000000000000000000000000000000000000000\":"
                     "\"0x0000000000000000000000000000000000000000000000000000000000000029\"}}},"
                     "\"calls\":[{\"to\":\"" CONTRACT "\"},{\"to\":\"" CONTRACT "\"}]},"
                     "{\"calls\":[{\"to\":\"" CONTRACT "\"}]},"
                     "{\"stateOverrides\":{\"" CONTRACT "\":{\"state\":{}}},"
                     "\"calls\":[{\"to\":\"" CONTRACT "\"}]}");
    const char *zeros = "\"0x00000000000000000000000000000000000000000000000000000000000000";
    assert_string_equal(of(call_of(result, 0, 0), "returnData"), cd_arena_fmt(&node.arena, "%s29\"", zeros));
    assert_string_equal(of(call_of(result, 0, 1), "returnData"), cd_arena_fmt(&node.arena, "%s2a\"", zeros));
    assert_string_equal(of(call_of(result, 1, 0), "returnData"), cd_arena_fmt(&node.arena, "%s2b\"", zeros));
    assert_string_equal(of(call_of(result, 2, 0), "returnData"), cd_arena_fmt(&node.arena, "%s00\"", zeros));
    cd_json hashes =
        simulate("", "{},{\"stateOverrides\":{\"" CONTRACT "\":{\"code\":\"0x600143034060005260206000f3\"}},"
                     "\"calls\":[{\"to\":\"" CONTRACT "\"}]}");
    assert_string_equal(of(call_of(hashes, 1, 0), "returnData"), of(cd_json_at(hashes, 0), "hash"));
}

static void precompiles_move_for_one_block(void **state)
{
    (void)state;
    /* sha256 of nothing. */
    static const char *const empty = "\"0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"";
    cd_json result = simulate("", "{\"stateOverrides\":{\"0x0000000000000000000000000000000000000002\":"
                                  "{\"movePrecompileToAddress\":\"" CONTRACT "\"}},"
                                  "\"calls\":[{\"to\":\"" CONTRACT "\"},"
                                  "{\"to\":\"0x0000000000000000000000000000000000000002\"}]},"
                                  "{\"calls\":[{\"to\":\"" CONTRACT "\"},"
                                  "{\"to\":\"0x0000000000000000000000000000000000000002\"}]}");
    assert_string_equal(of(call_of(result, 0, 0), "returnData"), empty);
    assert_string_equal(of(call_of(result, 0, 1), "returnData"), "\"0x\"");
    assert_string_equal(of(call_of(result, 1, 0), "returnData"), "\"0x\"");
    assert_string_equal(of(call_of(result, 1, 1), "returnData"), empty);
}

static void transactions_are_shown_whole(void **state)
{
    (void)state;
    cd_json result = simulate("\"returnFullTransactions\":true,",
                              "{\"calls\":[{\"from\":\"" ALICE "\",\"to\":\"" BOB "\",\"value\":\"0x1\"},"
                              "{\"from\":\"" ALICE "\",\"to\":\"" BOB "\",\"gasPrice\":\"0x1\"}]}");
    cd_json block = cd_json_at(result, 0);
    cd_json txs = cd_json_get(block, "transactions");
    cd_json one = cd_json_at(txs, 0);
    cd_json two = cd_json_at(txs, 1);
    assert_string_equal(of(one, "type"), "\"0x2\"");
    assert_string_equal(of(one, "from"), "\"" ALICE "\"");
    assert_string_equal(of(one, "blockHash"), of(block, "hash"));
    assert_string_equal(of(one, "r"), "\"0x0\"");
    assert_string_equal(of(two, "type"), "\"0x0\"");
    assert_string_equal(of(two, "v"), "\"0x0\"");
    assert_int_equal(qty(two, "nonce"), qty(one, "nonce") + 1);
    assert_string_equal(of(call_of(result, 0, 0), "gasUsed"), "\"0x5208\"");
    assert_string_equal(of(call_of(result, 0, 0), "maxUsedGas"), "\"0x5208\"");
    assert_string_equal(of(block, "gasUsed"), "\"0xa410\"");
}

static void failures_have_codes(void **state)
{
    (void)state;
    static const char *const strict = "\"validation\":true,";
    static const char *const free_block = "{\"blockOverrides\":{\"baseFeePerGas\":\"0x0\"},";
    u64 now = qty(rpc_node_get(&node, "eth_getBlockByNumber", "[\"latest\",false]"), "timestamp");
    cd_arena *a = &node.arena;
    fails("", "", "-32602", "empty input");
    fails(strict, cd_arena_fmt(a, "%s\"calls\":[{\"from\":\"" SOMEBODY "\",\"nonce\":\"0x5\"}]}", free_block), "-38011",
          "err: nonce too high: address 0xC000000000000000000000000000000000000000, tx: 5 state: 0 "
          "(supplied gas 30000000)");
    fails(strict,
          cd_arena_fmt(a,
                       "%s\"stateOverrides\":{\"" SOMEBODY "\":{\"nonce\":\"0x7\"}},"
                       "\"calls\":[{\"from\":\"" SOMEBODY "\",\"nonce\":\"0x5\"}]}",
                       free_block),
          "-38010",
          "err: nonce too low: address 0xC000000000000000000000000000000000000000, tx: 5 state: 7 "
          "(supplied gas 30000000)");
    fails(strict, "{\"blockOverrides\":{\"baseFeePerGas\":\"0xa\"},\"calls\":[{\"from\":\"" SOMEBODY "\"}]}", "-38012",
          "err: max fee per gas less than block base fee: address "
          "0xC000000000000000000000000000000000000000, maxFeePerGas: 0, baseFee: 10 (supplied gas "
          "30000000)");
    fails("", "{\"calls\":[{\"to\":\"" SOMEBODY "\",\"gas\":\"0x0\"}]}", "-38013",
          "err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)");
    fails("", "{\"calls\":[{\"from\":\"" SOMEBODY "\",\"to\":\"" BOB "\",\"value\":\"0x3e8\"}]}", "-38014",
          "err: insufficient funds for gas * price + value: address "
          "0xC000000000000000000000000000000000000000 have 0 want 1000 (supplied gas 30000000)");
    fails("",
          "{\"blockOverrides\":{\"gasLimit\":\"0x5dc0\"},\"calls\":[{\"to\":\"" BOB
          "\",\"gas\":\"0x5208\"},{\"to\":\"" BOB "\",\"gas\":\"0x5208\"}]}",
          "-38015", "block gas limit reached: 21000 >= 24000");
    fails("", "{\"blockOverrides\":{\"number\":\"0x100\"}},{\"blockOverrides\":{\"number\":\"0x9\"}}", "-38020",
          "block numbers must be in order: 9 <= 256");
    fails("", cd_arena_fmt(a, "{\"blockOverrides\":{\"time\":\"0x%llx\"}}", (unsigned long long)now), "-38021",
          cd_arena_fmt(a, "block timestamps must be in order: %llu <= %llu", (unsigned long long)now,
                       (unsigned long long)now));
    fails("", "{\"blockOverrides\":{\"time\":\"0xffffffffffffffff\"}},{}", "-38021",
          "block timestamps must be in order: 0 <= 18446744073709551615");
    fails("",
          "{\"stateOverrides\":{\"0x0000000000000000000000000000000000000001\":"
          "{\"movePrecompileToAddress\":\"0x0000000000000000000000000000000000000001\"}}}",
          "-38022",
          "MovePrecompileToAddress referenced itself in replacement: "
          "0x0000000000000000000000000000000000000001");
    fails("",
          "{\"stateOverrides\":{\"0x0000000000000000000000000000000000000001\":"
          "{\"movePrecompileToAddress\":\"" CONTRACT "\"},"
          "\"0x0000000000000000000000000000000000000002\":"
          "{\"movePrecompileToAddress\":\"" CONTRACT "\"}}}",
          "-38023",
          "multiple MovePrecompileToAddress referencing the same address: "
          "0xc100000000000000000000000000000000000000");
    fails("", "{\"stateOverrides\":{\"" SOMEBODY "\":{\"movePrecompileToAddress\":\"" CONTRACT "\"}}}", "-32000",
          "account 0xC000000000000000000000000000000000000000 is not a precompile");
    fails("", "{\"blockOverrides\":{\"number\":\"0x1000\"}}", "-38026", "too many blocks");
    fails("", "{\"calls\":[{\"blobVersionedHashes\":[]}]}", "-32603",
          "err: transaction type not supported (supplied gas 30000000)");
    static const struct {
        const char *block;
        const char *words;
    } shapes[] = {
        {"7", "a block is not an object"},
        {"{\"calls\":{}}", "calls is not an array"},
        {"{\"calls\":[7]}", "not a transaction object"},
        {"{\"stateOverrides\":[]}", "stateOverrides is not an object"},
        {"{\"blockOverrides\":\"0x\"}", "blockOverrides is not an object"},
        {"{\"blockOverrides\":{\"withdrawals\":{}}}", "withdrawals is not an array"},
        {"{\"blockOverrides\":{\"number\":\"7\"}}", "hex string without 0x prefix"},
        {"{\"stateOverrides\":{\"0x12\":{}}}", "hex string has length 2, want 40 for common.Address"},
    };
    for (usize i = 0; i < CD_COUNT(shapes); i++) {
        fails("", shapes[i].block, "-32602", cd_arena_fmt(a, "invalid argument 0: %s", shapes[i].words));
    }
    rpc_node_fails(&node, "eth_simulateV1", "[{\"blockStateCalls\":{}}]", "-32602",
                   "invalid argument 0: blockStateCalls is not an array");
    /* A call that fails is no failure of the simulation. */
    cd_json result = simulate("", "{\"stateOverrides\":{\"" CONTRACT "\":{\"code\":\"0x5b600056\"}},"
                                  "\"calls\":[{\"to\":\"" CONTRACT "\",\"gas\":\"0x7530\"}]}");
    assert_string_equal(of(call_of(result, 0, 0), "error"), "{\"message\":\"out of gas\",\"code\":-32015}");
}

/* The chain may hold as many blocks as are asked for in gaps, and no more. */
static void the_gas_cap_is_of_the_whole(void **state)
{
    (void)state;
    cd_json result = simulate("", "{\"stateOverrides\":{\"" CONTRACT "\":{\"code\":\"0x5b600056\"}},"
                                  "\"calls\":[{\"to\":\"" CONTRACT "\"}]},"
                                  "{\"calls\":[{\"to\":\"" CONTRACT "\"}]}");
    assert_string_equal(of(call_of(result, 0, 0), "gasUsed"), "\"0x1c9c380\""); /* the block's */
    assert_string_equal(of(call_of(result, 1, 0), "gasUsed"), "\"0x1312d00\""); /* what was left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_follow_one_another),
        cmocka_unit_test(a_foretold_block_has_the_same_hash),
        cmocka_unit_test(transfers_are_logged_on_demand),
        cmocka_unit_test(calls_see_what_came_before),
        cmocka_unit_test(precompiles_move_for_one_block),
        cmocka_unit_test(transactions_are_shown_whole),
        cmocka_unit_test(failures_have_codes),
        cmocka_unit_test(the_gas_cap_is_of_the_whole),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
