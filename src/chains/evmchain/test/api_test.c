/* The methods as a whole: whatever is thrown at a row of the tables is answered, and errors are errors; methods in another
 * lane give the same. */
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "rpc/jsonrpc.h"
#include "store/kv.h"
#include "vm/vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000 };

#define ADDR "\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\""
#define HASH "\"0x0100000000000000000000000000000000000000000000000000000000000000\""

typedef struct node {
    cd_vm *vm;
    cd_kv *kv;
    cd_buf genesis;
    cd_vm_host host;
    cd_logger *log;
    const cd_rpc_service *rpc;
} node;

static void nothing(cd_vm_host *host)
{
    (void)host;
}

static void open_node(node *n, bool is_dev)
{
    cd_errinfo why = {0};
    usize cnt;
    *n = (node){.kv = cd_kv_mem_open()};
    n->host = (cd_vm_host){.wants_block = nothing, .settle = nothing};
    assert_int_equal(cd_dev_genesis(&n->genesis, CHAIN_ID, START), CD_OK);
    cd_vm_ctx ctx = {
        .kv = n->kv,
        .host = &n->host,
        .genesis = cd_buf_bytes(&n->genesis),
        .is_dev = is_dev,
        .config = cd_bytes_str("{\"eth-apis\":[\"eth\",\"eth-filter\",\"net\",\"web3\","
                               "\"internal-eth\",\"internal-blockchain\",\"internal-transaction\","
                               "\"internal-account\",\"internal-tx-pool\",\"internal-debug\","
                               "\"debug\",\"debug-tracer\"],\"log-level\":\"error\"}"),
    };
    if (cd_evm_vm_open(&n->vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    n->rpc = n->vm->ops->handlers(n->vm, &cnt)[0].service;
}

static void close_node(node *n)
{
    n->vm->ops->close(n->vm);
    cd_kv_close(n->kv);
    cd_buf_fini(&n->genesis);
}

/* The answer to a call, which must be one; borrowed from the arena. */
static cd_json ask(node *n, cd_arena *a, const char *method, const char *params)
{
    cd_buf reply = {0};
    cd_json doc;
    const char *request = cd_arena_fmt(
        a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    cd_rpc_serve(n->rpc, &reply, cd_bytes_str(request));
    cd_bytes text = cd_arena_dup(a, cd_buf_bytes(&reply));
    cd_buf_fini(&reply);
    if (cd_json_parse(&doc, a, text, 0, NULL) != CD_OK) {
        fail_msg("%s answered with %.*s", request, (int)text.n, (const char *)text.p);
    }
    bool has_error = cd_json_kind_of(cd_json_get(doc, "error")) == CD_JSON_OBJ;
    bool has_result = cd_json_kind_of(cd_json_get(doc, "result")) != CD_JSON_NONE;
    if (has_error == has_result) {
        fail_msg("%s answered with %.*s", request, (int)text.n, (const char *)text.p);
    }
    if (has_error) {
        cd_bytes words;
        cd_json error = cd_json_get(doc, "error");
        assert_int_equal(cd_json_kind_of(cd_json_get(error, "code")), CD_JSON_NUM);
        assert_int_equal(cd_json_str(&words, cd_json_get(error, "message"), NULL), CD_OK);
        assert_true(words.n != 0);
    }
    return doc;
}

/* Values of every kind, right for some parameter and wrong for the others. */
static const char *const values[] = {
    "null",
    "true",
    "0",
    "-1",
    "1e400",
    "18446744073709551616",
    "\"\"",
    "\"0x\"",
    "\"0x0\"",
    "\"0x1\"",
    "\"0xffffffffffffffff\"",
    "\"0x10000000000000000\"",
    "\"0x123\"",
    "\"0xzz\"",
    "\"latest\"",
    "\"pending\"",
    "\"earliest\"",
    "\"no such tag\"",
    "\"\\u0000\"",
    ADDR,
    HASH,
    "[]",
    "[[]]",
    "[null]",
    "[" HASH "]",
    "[50]",
    "[-1, 101]",
    "{}",
    "{\"blockHash\":" HASH "}",
    "{\"blockNumber\":\"0x0\",\"requireCanonical\":7}",
    "{\"from\":" ADDR ",\"to\":" ADDR ",\"value\":\"0x1\"}",
    "{\"from\":7,\"to\":[],\"accessList\":[{\"address\":1}]}",
    "{\"accessList\":{\"a\":[]},\"data\":\"0x0\"}",
    "{\"data\":\"0xfe\",\"gas\":\"0x0\",\"gasPrice\":\"0x1\"}",
    "{" ADDR ":{\"code\":\"0xfe\",\"state\":{" HASH ":" HASH "}}}",
    "{" ADDR ":[],\"x\":{}}",
    "{\"fromBlock\":\"0x0\",\"toBlock\":\"latest\",\"topics\":[[null],null,[" HASH "]]}",
    "{\"address\":{},\"topics\":\"0x\"}",
    "{\"tracer\":\"callTracer\",\"tracerConfig\":[]}",
    "{\"tracer\":7,\"timeout\":{}}",
};

/* Methods that undo or flood the network under test. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {"mine",
                                        "increaseTime",
                                        "setNextBlockTimestamp",
                                        "setTime",
                                        "setBlockTimestampInterval",
                                        "setIntervalMining"};
    const char *method = strchr(name, '_');
    for (usize i = 0; method != NULL && i < CD_COUNT(names); i++) {
        if (strstr(method, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void throw_at(node *n, const cd_rpc_method *m)
{
    enum { ROUNDS = 3 };
    cd_arena a = {0};
    u32 dice = 1;
    for (usize cnt = 0; cnt <= m->max + 1u; cnt++) {
        usize tries = cnt == 0 ? 1 : ROUNDS * CD_COUNT(values);
        for (usize i = 0; i < tries; i++) {
            cd_buf params = {0};
            for (usize k = 0; k < cnt; k++) {
                dice = dice * 1664525u + 1013904223u;
                usize pick = k == i % cnt ? i % CD_COUNT(values) : (dice >> 8) % CD_COUNT(values);
                cd_buf_put(&params, cd_bytes_str(k == 0 ? "[" : ","));
                cd_buf_put(&params, cd_bytes_str(values[pick]));
            }
            cd_buf_put(&params, cd_bytes_str(cnt == 0 ? "[]" : "]"));
            (void)ask(n, &a, m->name, cd_arena_str(&a, cd_buf_bytes(&params)));
            cd_buf_fini(&params);
            cd_arena_reset(&a);
        }
    }
    cd_arena_fini(&a);
}

static void everything_is_answered_on(bool is_dev)
{
    node n;
    open_node(&n, is_dev);
    for (usize i = 0; i < cd_rpc_table_cnt(n.rpc->table); i++) {
        const cd_rpc_method *m = cd_rpc_table_at(n.rpc->table, i);
        if (!is_left_out(m->name)) {
            throw_at(&n, m);
        }
    }
    close_node(&n);
}

static void everything_is_answered(void **state)
{
    (void)state;
    everything_is_answered_on(false);
}

static void everything_is_answered_by_dev(void **state)
{
    (void)state;
    everything_is_answered_on(true);
}

/* A result as text. */
static const char *result(node *n, cd_arena *a, const char *method, const char *params)
{
    cd_buf text = {0};
    cd_json doc = ask(n, a, method, params);
    cd_json r = cd_json_get(doc, "result");
    cd_json_raw(&text, cd_json_kind_of(r) == CD_JSON_NONE
                           ? cd_json_get(cd_json_get(doc, "error"), "message")
                           : r);
    const char *own = cd_arena_str(a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return own;
}

/* PUSH1 0, SLOAD, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN */
#define READER "\"0x60005460005260206000f3\""
#define TO     "{\"to\":\"0x00000000000000000000000000000000000000aa\"}"

static void overrides(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_node(&n, false);
    assert_string_equal(
        result(
            &n, &a, "eth_call",
            "[" TO ",\"latest\",{\"0x00000000000000000000000000000000000000aa\":{\"code\":" READER
            ",\"stateDiff\":{\"0x0000000000000000000000000000000000000000000000000000000000000000"
            "\":" HASH "}}}]"),
        HASH);
    /* NUMBER, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN */
    assert_string_equal(
        result(&n, &a, "eth_call",
               "[{\"data\":\"0x4360005260206000f3\"},\"latest\",null,{\"number\":\"0x7\"}]"),
        "\"0x0000000000000000000000000000000000000000000000000000000000000007\"");
    assert_string_equal(
        result(&n, &a, "eth_estimateGas",
               "[" TO ",\"latest\",{\"0x00000000000000000000000000000000000000aa\":{\"code\":"
               "\"0x60006000fd\"}}]"),
        "\"execution reverted\"");
    assert_string_equal(result(&n, &a, "eth_estimateGas", "[" TO "]"), "\"0x5208\"");
    /* 21000, 2400 and 1900 for the list, 100 for the warm slot, 18 for the rest. */
    assert_string_equal(
        result(&n, &a, "eth_createAccessList",
               "[" TO
               ",\"latest\",{\"0x00000000000000000000000000000000000000aa\":{\"code\":" READER
               "}}]"),
        "{\"accessList\":[{\"address\":\"0x00000000000000000000000000000000000000aa\","
        "\"storageKeys\":"
        "[\"0x0000000000000000000000000000000000000000000000000000000000000000\"]}],"
        "\"gasUsed\":\"0x634a\"}");
    /* The identity precompile answers elsewhere, its place is an ordinary account. */
    assert_string_equal(
        result(&n, &a, "eth_call",
               "[{\"to\":\"0x00000000000000000000000000000000000000aa\",\"data\":\"0x1234\"},"
               "\"latest\",{\"0x0000000000000000000000000000000000000004\":"
               "{\"movePrecompileToAddress\":"
               "\"0x00000000000000000000000000000000000000aa\"}}]"),
        "\"0x1234\"");
    assert_string_equal(
        result(&n, &a, "eth_call",
               "[{\"to\":\"0x0000000000000000000000000000000000000004\",\"data\":\"0x1234\"},"
               "\"latest\",{\"0x0000000000000000000000000000000000000004\":{\"code\":\"0x00\"}}]"),
        "\"0x\"");
    assert_string_equal(
        result(&n, &a, "eth_call",
               "[" TO ",\"latest\",{" ADDR ":{\"movePrecompileToAddress\":" ADDR "}}]"),
        "\"account 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 is not a precompile\"");
    cd_arena_fini(&a);
    close_node(&n);
}

static void failures_name_the_instruction(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_node(&n, false);
    assert_string_equal(result(&n, &a, "eth_call", "[{\"data\":\"0xfe\"}]"),
                        "\"invalid opcode: INVALID\"");
    assert_string_equal(result(&n, &a, "eth_call", "[{\"data\":\"0x0c\"}]"),
                        "\"invalid opcode: opcode 0xc not defined\"");
    assert_string_equal(result(&n, &a, "eth_call", "[{\"data\":\"0x01\"}]"),
                        "\"stack underflow (0 <=> 2)\"");
    assert_string_equal(result(&n, &a, "eth_call", "[{\"from\":" ADDR ",\"gas\":\"0x1\"}]"),
                        "\"err: intrinsic gas too low: have 1, want 53000 (supplied gas 1)\"");
    cd_arena_fini(&a);
    close_node(&n);
}

/* The proof at the head comes from the standing tries (OWNER) or, by number, from the stored ones: the same. */
static void proofs_agree(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_node(&n, false);
    const char *by_tag = result(&n, &a, "eth_getProof", "[" ADDR ",[\"0x0\"],\"latest\"]");
    const char *by_number = result(&n, &a, "eth_getProof", "[" ADDR ",[\"0x0\"],\"0x0\"]");
    assert_string_equal(by_tag, by_number);
    assert_non_null(strstr(by_tag, "\"balance\":\"0x21e19e0c9bab2400000\""));
    cd_arena_fini(&a);
    close_node(&n);
}

static void a_payment_estimates_within_its_means(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_node(&n, false);
    assert_string_equal(result(&n, &a, "eth_estimateGas",
                               "[{\"from\":" ADDR ",\"to\":" ADDR
                               ",\"value\":\"0x21e19e0c9bab2400000\",\"gasPrice\":\"0x1\"}]"),
                        "\"insufficient funds for transfer\"");
    cd_arena_fini(&a);
    close_node(&n);
}

/* --- many threads ------------------------------------------------------------------------------- */

enum { READERS = 3, ROUNDS = 60 };

/* Asks what the READ lane serves; the balance of a payee never falls. */
static void read_along(void *arg)
{
    node *n = arg;
    static const char *const payee = "[\"0x00000000000000000000000000000000000000aa\"]";
    cd_arena a = {0};
    u64 last = 0;
    for (usize i = 0; i < ROUNDS; i++) {
        u64 now;
        cd_json doc = ask(n, &a, "eth_getBalance", payee);
        assert_int_equal(cd_json_qty_u64(&now, cd_json_get(doc, "result"), NULL), CD_OK);
        assert_true(now >= last);
        last = now;
        assert_string_equal(
            result(n, &a, "eth_call", "[{\"data\":\"0x60aa60005260206000f3\"}]"),
            "\"0x00000000000000000000000000000000000000000000000000000000000000aa\"");
        assert_string_equal(result(n, &a, "eth_estimateGas", "[" TO "]"), "\"0x5208\"");
        (void)result(n, &a, "eth_createAccessList", "[" TO "]");
        (void)result(n, &a, "eth_feeHistory", "[\"0x8\",\"latest\",[50]]");
        (void)result(n, &a, "eth_maxPriorityFeePerGas", "[]");
        cd_arena_reset(&a);
    }
    cd_arena_fini(&a);
}

static void readers_and_blocks(void **state)
{
    (void)state;
    node n;
    cd_thread threads[READERS];
    cd_arena a = {0};
    open_node(&n, true);
    for (usize i = 0; i < READERS; i++) {
        assert_int_equal(cd_thread_start(&threads[i], "reader", read_along, &n, NULL), CD_OK);
    }
    for (usize i = 0; i < ROUNDS; i++) {
        cd_json doc = ask(&n, &a, "eth_sendTransaction",
                          "[{\"from\":" ADDR ",\"value\":\"0x1\","
                          "\"to\":\"0x00000000000000000000000000000000000000aa\"}]");
        assert_true(cd_json_has(cd_json_get(doc, "result")));
        cd_arena_reset(&a);
    }
    for (usize i = 0; i < READERS; i++) {
        cd_thread_join(&threads[i]);
    }
    assert_string_equal(
        result(&n, &a, "eth_getBalance", "[\"0x00000000000000000000000000000000000000aa\"]"),
        "\"0x3c\"");
    cd_arena_fini(&a);
    close_node(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_answered),
        cmocka_unit_test(everything_is_answered_by_dev),
        cmocka_unit_test(overrides),
        cmocka_unit_test(failures_name_the_instruction),
        cmocka_unit_test(proofs_agree),
        cmocka_unit_test(a_payment_estimates_within_its_means),
        cmocka_unit_test(readers_and_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
