/* The methods as a whole: whatever is thrown at a row of the tables is answered, and errors are errors; methods in
 * another lane give the same. */
#include "base/hex.h"
#include "base/log/log.h"
#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/thread/thread.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "codec/base64.h"
#include "codec/gzip.h"
#include "consensus/test/seat.h"
#include "rpc/jsonrpc.h"
#include "store/kv.h"
#include "vm/vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000 };

#define ADDR "\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\""
#define HASH "\"0x0100000000000000000000000000000000000000000000000000000000000000\""

typedef struct node {
    cd_vm *vm;
    cd_kv *kv;
    cd_buf genesis;
    seat seat;
    cd_logger *log;
    const cd_rpc_service *rpc;
    const cd_rpc_service *admin;
    char dir[64];
} node;

static void open_node(node *n, bool is_dev)
{
    cd_errinfo why = {0};
    usize cnt;
    *n = (node){.kv = cd_kv_mem_open()};
    (void)snprintf(n->dir, sizeof n->dir, "/tmp/candela-api-XXXXXX");
    assert_non_null(mkdtemp(n->dir));
    seat_init(&n->seat, n->kv);
    assert_int_equal(cd_dev_genesis(&n->genesis, CHAIN_ID, START), CD_OK);
    assert_int_equal(cd_log_open(&n->log, &(cd_log_cfg){.fd = STDERR_FILENO, .level = CD_LOG_OFF}, &why), CD_OK);
    cd_vm_ctx ctx = {
        .log = n->log,
        .kv = n->kv,
        .host = &n->seat.host,
        .clock = cd_clock_real(),
        .name = "C",
        .genesis = cd_buf_bytes(&n->genesis),
        .is_dev = is_dev,
        .dir = n->dir,
        .config = cd_bytes_str("{\"eth-apis\":[\"eth\",\"eth-filter\",\"net\",\"web3\","
                               "\"internal-eth\",\"internal-blockchain\",\"internal-transaction\","
                               "\"internal-account\",\"internal-tx-pool\",\"internal-debug\","
                               "\"debug\",\"debug-tracer\",\"debug-handler\",\"admin\"],\"log-level\":\"error\"}"),
    };
    if (cd_evm_vm_open(&n->vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(seat_start(&n->seat, n->vm, &why), CD_OK);
    const cd_vm_handler *handlers = n->vm->ops->handlers(n->vm, &cnt);
    assert_int_equal(cnt, 3);
    n->rpc = handlers[0].service;
    n->admin = handlers[2].service;
}

static void close_node(node *n)
{
    seat_fini(&n->seat);
    n->vm->ops->close(n->vm);
    cd_log_close(n->log);
    cd_kv_close(n->kv);
    cd_buf_fini(&n->genesis);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), n->dir, NULL), CD_OK);
}

/* The answer to a call, which must be one; borrowed from the arena. */
static cd_json ask(node *n, cd_arena *a, const char *method, const char *params)
{
    cd_buf reply = {0};
    cd_json doc;
    const char *request =
        cd_arena_fmt(a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
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
    ("[" HASH "]"),
    "[50]",
    "[-1, 101]",
    "{}",
    ("{\"blockHash\":" HASH "}"),
    "{\"blockNumber\":\"0x0\",\"requireCanonical\":7}",
    ("{\"from\":" ADDR ",\"to\":" ADDR ",\"value\":\"0x1\"}"),
    "{\"from\":7,\"to\":[],\"accessList\":[{\"address\":1}]}",
    "{\"accessList\":{\"a\":[]},\"data\":\"0x0\"}",
    "{\"data\":\"0xfe\",\"gas\":\"0x0\",\"gasPrice\":\"0x1\"}",
    ("{" ADDR ":{\"code\":\"0xfe\",\"state\":{" HASH ":" HASH "}}}"),
    ("{" ADDR ":[],\"x\":{}}"),
    ("{\"fromBlock\":\"0x0\",\"toBlock\":\"latest\",\"topics\":[[null],null,[" HASH "]]}"),
    "{\"address\":{},\"topics\":\"0x\"}",
    "{\"tracer\":\"callTracer\",\"tracerConfig\":[]}",
    "{\"tracer\":7,\"timeout\":{}}",
};

/* Methods that undo or flood the network under test, or write files and lines anywhere. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {"exportChain",      "cpuProfile",
                                        "verbosity",        "mine",
                                        "increaseTime",     "setNextBlockTimestamp",
                                        "setTime",          "setBlockTimestampInterval",
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
    cd_json_raw(&text, cd_json_kind_of(r) == CD_JSON_NONE ? cd_json_get(cd_json_get(doc, "error"), "message") : r);
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
    assert_string_equal(result(&n, &a, "eth_call",
                               "[" TO ",\"latest\",{\"0x00000000000000000000000000000000000000aa\":{\"code\":" READER
                               ",\"stateDiff\":{\"0x0000000000000000000000000000000000000000000000000000000000000000"
                               "\":" HASH "}}}]"),
                        HASH);
    /* NUMBER, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN */
    assert_string_equal(
        result(&n, &a, "eth_call", "[{\"data\":\"0x4360005260206000f3\"},\"latest\",null,{\"number\":\"0x7\"}]"),
        "\"0x0000000000000000000000000000000000000000000000000000000000000007\"");
    assert_string_equal(result(&n, &a, "eth_estimateGas",
                               "[" TO ",\"latest\",{\"0x00000000000000000000000000000000000000aa\":{\"code\":"
                               "\"0x60006000fd\"}}]"),
                        "\"execution reverted\"");
    assert_string_equal(result(&n, &a, "eth_estimateGas", "[" TO "]"), "\"0x5208\"");
    /* 21000, 2400 and 1900 for the list, 100 for the warm slot, 18 for the rest. */
    assert_string_equal(result(&n, &a, "eth_createAccessList",
                               "[" TO ",\"latest\",{\"0x00000000000000000000000000000000000000aa\":{\"code\":" READER
                               "}}]"),
                        "{\"accessList\":[{\"address\":\"0x00000000000000000000000000000000000000aa\","
                        "\"storageKeys\":"
                        "[\"0x0000000000000000000000000000000000000000000000000000000000000000\"]}],"
                        "\"gasUsed\":\"0x634a\"}");
    /* The identity precompile answers elsewhere, its place is an ordinary account. */
    assert_string_equal(result(&n, &a, "eth_call",
                               "[{\"to\":\"0x00000000000000000000000000000000000000aa\",\"data\":\"0x1234\"},"
                               "\"latest\",{\"0x0000000000000000000000000000000000000004\":"
                               "{\"movePrecompileToAddress\":"
                               "\"0x00000000000000000000000000000000000000aa\"}}]"),
                        "\"0x1234\"");
    assert_string_equal(result(&n, &a, "eth_call",
                               "[{\"to\":\"0x0000000000000000000000000000000000000004\",\"data\":\"0x1234\"},"
                               "\"latest\",{\"0x0000000000000000000000000000000000000004\":{\"code\":\"0x00\"}}]"),
                        "\"0x\"");
    /* Whatever is said of its place, it is warm: GAS, EXTCODEHASH of 0x04, GAS again. */
    static const char *const said[] = {"\"balance\":\"0x1\"", "\"code\":\"0x00\"",
                                       "\"movePrecompileToAddress\":\"0x00000000000000000000000000000000000000bb\""};
    for (usize i = 0; i < CD_COUNT(said); i++) {
        const char *params = cd_arena_fmt(&a,
                                          "[{\"to\":\"0x00000000000000000000000000000000000000aa\"},\"latest\","
                                          "{\"0x00000000000000000000000000000000000000aa\":{\"code\":"
                                          "\"0x5a60043f505a900360005260206000f3\"},"
                                          "\"0x0000000000000000000000000000000000000004\":{%s}}]",
                                          said[i]);
        assert_string_equal(result(&n, &a, "eth_call", params),
                            "\"0x000000000000000000000000000000000000000000000000000000000000006b\"");
    }
    assert_string_equal(
        result(&n, &a, "eth_call", "[" TO ",\"latest\",{" ADDR ":{\"movePrecompileToAddress\":" ADDR "}}]"),
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
    assert_string_equal(result(&n, &a, "eth_call", "[{\"data\":\"0xfe\"}]"), "\"invalid opcode: INVALID\"");
    assert_string_equal(result(&n, &a, "eth_call", "[{\"data\":\"0x0c\"}]"),
                        "\"invalid opcode: opcode 0xc not defined\"");
    assert_string_equal(result(&n, &a, "eth_call", "[{\"data\":\"0x01\"}]"), "\"stack underflow (0 <=> 2)\"");
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

/* --- the state taken apart --- */

/* What the first account of the development network makes with its first transaction, and the hashes of slots 0 and
 * 1. */
#define PAYEE   "\"address\":\"0x00000000000000000000000000000000000000aa\""
#define MADE    "\"0x5fbdb2315678afecb367f032d93f642f64180aa3\""
#define HASH_0  "\"0x290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563\""
#define HASH_1  "\"0xb10e2d527612073b26eecdfd717e6a320cf44b4afac2b0732d9fcbe2b7fa0cf6\""
#define WORD(d) "\"0x000000000000000000000000000000000000000000000000000000000000000" d "\""

/* Block 1 makes a contract of one byte with 7 in slot 0 and 9 in slot 1, block 2 pays 0xaa. */
static void open_made(node *n, cd_arena *a)
{
    open_node(n, true);
    (void)result(n, a, "eth_sendTransaction", "[{\"from\":" ADDR ",\"data\":\"0x6007600055600960015560016000f3\"}]");
    (void)result(n, a, "eth_sendTransaction",
                 "[{\"from\":" ADDR ",\"value\":\"0x1\","
                 "\"to\":\"0x00000000000000000000000000000000000000aa\"}]");
    assert_string_equal(result(n, a, "eth_blockNumber", "[]"), "\"0x2\"");
}

static void storage_in_pieces(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_made(&n, &a);
    /* as of before the block: the contract is not there yet */
    assert_string_equal(result(&n, &a, "debug_storageRangeAt", "[\"0x1\",0," MADE ",\"0x\",10]"),
                        "{\"storage\":null,\"nextKey\":null}");
    assert_string_equal(result(&n, &a, "debug_storageRangeAt", "[\"0x2\",0," MADE ",\"0x\",1]"),
                        "{\"storage\":{" HASH_0 ":{\"key\":" WORD("0") ",\"value\":" WORD("7") "}},\"nextKey\":" HASH_1
                                                                                               "}");
    assert_string_equal(result(&n, &a, "debug_storageRangeAt", "[\"0x2\",0," MADE "," HASH_1 ",1]"),
                        "{\"storage\":{" HASH_1 ":{\"key\":" WORD("1") ",\"value\":" WORD("9") "}},\"nextKey\":null}");
    assert_string_equal(result(&n, &a, "debug_storageRangeAt", "[\"0x2\",0," MADE ",\"0xb2\",1]"),
                        "{\"storage\":{},\"nextKey\":null}");
    assert_string_equal(result(&n, &a, "debug_storageRangeAt", "[\"0x0\",0," MADE ",\"0x\",1]"),
                        "\"no transaction in genesis\"");
    assert_non_null(strstr(result(&n, &a, "debug_storageRangeAt", "[\"0x2\",1," MADE ",\"0x\",1]"),
                           "\"transaction index 1 out of range for block 0x"));
    cd_arena_fini(&a);
    close_node(&n);
}

/* All accounts of the newest state, cnt a request. */
static usize count_accounts(node *n, cd_arena *a, int cnt)
{
    usize sum = 0;
    const char *start = "";
    while (start != NULL) {
        cd_bytes next;
        cd_json r = cd_json_get(
            ask(n, a, "debug_accountRange", cd_arena_fmt(a, "[\"latest\",\"0x%s\",%d,true,true,false]", start, cnt)),
            "result");
        usize page = cd_json_len(cd_json_get(r, "accounts"));
        sum += page;
        start = NULL;
        if (cd_json_str(&next, cd_json_get(r, "next"), NULL) == CD_OK) {
            cd_buf hash = {0};
            char text[65] = {0};
            assert_int_equal(page, cnt);
            assert_int_equal(cd_base64_dec(&hash, next), CD_OK);
            assert_int_equal(hash.n, 32);
            cd_hex_fmt(text, cd_buf_bytes(&hash));
            start = cd_arena_fmt(a, "%s", text);
            cd_buf_fini(&hash);
        }
    }
    return sum;
}

static void accounts_in_pieces(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_made(&n, &a);
    const char *dump = result(&n, &a, "debug_dumpBlock", "[\"0x1\"]");
    const char *made = strstr(dump, "\"0x5FbDB2315678afecb367f032d93F642f64180aa3\":{");
    assert_non_null(made);
    made = strchr(made, '{');
    /* its fields, in go-ethereum's order */
    static const char fields[] = "{\"balance\":\"0\",\"nonce\":1,\"root\":\"0x";
    assert_int_equal(strncmp(made, fields, sizeof fields - 1), 0);
    assert_non_null(strstr(made, ",\"code\":\"0x00\",\"storage\":{" WORD("0") ":\"07\"," WORD(
                                     "1") ":\"09\"},\"address\":" MADE ",\"key\":\"0x"));
    assert_null(strstr(dump, PAYEE));
    assert_non_null(strstr(result(&n, &a, "debug_dumpBlock", "[\"0x2\"]"), PAYEE));
    assert_null(strstr(result(&n, &a, "debug_dumpBlock", "[\"0x0\"]"), MADE));
    const char *bare = result(&n, &a, "debug_accountRange", "[\"0x1\",\"0x\",256,true,true,false]");
    assert_non_null(strstr(bare, MADE));
    assert_null(strstr(bare, "\"code\":"));
    assert_null(strstr(bare, "\"storage\":"));
    usize all = count_accounts(&n, &a, 256);
    assert_true(all > 3);
    assert_int_equal(count_accounts(&n, &a, 1), all);
    assert_int_equal(count_accounts(&n, &a, 3), all);
    cd_arena_fini(&a);
    close_node(&n);
}

/* A node that was not told to keep them knows no addresses. */
static void accounts_without_addresses(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_node(&n, false);
    const char *dump = result(&n, &a, "debug_dumpBlock", "[\"0x0\"]");
    assert_non_null(strstr(dump, ",\"accounts\":{}}"));
    assert_null(strstr(dump, "next"));
    dump = result(&n, &a, "debug_accountRange", "[\"0x0\",\"0x\",1,true,true,true]");
    assert_non_null(strstr(dump, ",\"accounts\":{\"pre(0x"));
    assert_non_null(strstr(dump, ",\"next\":\""));
    assert_string_equal(result(&n, &a, "debug_preimage", "[" HASH_0 "]"), "\"unknown preimage\"");
    cd_arena_fini(&a);
    close_node(&n);
}

static void changes_between_blocks(void **state)
{
    (void)state;
    static const char by_hash[] = "debug_getModifiedAccountsByHash";
    static const char by_number[] = "debug_getModifiedAccountsByNumber";
    cd_arena a = {0};
    node n;
    cd_bytes hashes[3];
    open_made(&n, &a);
    for (int i = 0; i < 3; i++) {
        cd_json block = ask(&n, &a, "eth_getBlockByNumber", cd_arena_fmt(&a, "[\"0x%x\"]", i));
        block = cd_json_get(cd_json_get(block, "result"), "hash");
        assert_int_equal(cd_json_str(&hashes[i], block, NULL), CD_OK);
    }
    const char *first = result(&n, &a, by_number, "[1]");
    const char *second = result(&n, &a, by_number, "[1,2]");
    const char *both = result(&n, &a, by_number, "[0,2]");
    assert_non_null(strstr(first, MADE));
    assert_non_null(strstr(first, ADDR));
    assert_null(strstr(first, "00aa\""));
    assert_non_null(strstr(second, "00aa\""));
    assert_null(strstr(second, MADE));
    assert_non_null(strstr(both, "00aa\""));
    assert_non_null(strstr(both, MADE));
    assert_string_equal(result(&n, &a, by_hash, cd_arena_fmt(&a, "[\"%.66s\"]", (const char *)hashes[1].p)), first);
    assert_string_equal(
        result(&n, &a, by_hash,
               cd_arena_fmt(&a, "[\"%.66s\",\"%.66s\"]", (const char *)hashes[0].p, (const char *)hashes[2].p)),
        both);
    assert_string_equal(result(&n, &a, by_number, "[2,1]"),
                        "\"start block height (2) must be less than end block height (1)\"");
    assert_string_equal(result(&n, &a, by_number, "[17]"), "\"start block 11 not found\"");
    assert_string_equal(result(&n, &a, by_number, "[1,17]"), "\"end block 17 not found\"");
    assert_string_equal(result(&n, &a, by_number, "[0]"), "\"block 0 has no parent\"");
    assert_string_equal(result(&n, &a, by_hash, "[" HASH "]"),
                        "\"start block 0100000000000000000000000000000000000000000000000000000000000000 not "
                        "found\"");
    assert_string_equal(result(&n, &a, "debug_preimage", "[" HASH_1 "]"), WORD("1"));
    cd_arena_fini(&a);
    close_node(&n);
}

/* The file holds the blocks one after another. */
static void exporting(void **state)
{
    (void)state;
    static const char *const names[] = {"blocks", "blocks.gz"};
    cd_arena a = {0};
    node n;
    open_made(&n, &a);
    cd_buf want = {0};
    for (int i = 0; i < 3; i++) {
        cd_bytes raw;
        cd_json block = ask(&n, &a, "debug_getRawBlock", cd_arena_fmt(&a, "[\"0x%x\"]", i));
        assert_int_equal(cd_json_hex(&raw, &a, cd_json_get(block, "result"), NULL), CD_OK);
        cd_buf_put(&want, raw);
    }
    for (usize i = 0; i < CD_COUNT(names); i++) {
        cd_buf file = {0};
        cd_buf plain = {0};
        const char *path = cd_arena_fmt(&a, "%s/admin/%s", n.dir, names[i]);
        const char *params = cd_arena_fmt(&a, "[\"%s\"]", path);
        assert_string_equal(result(&n, &a, "admin_exportChain", params), "true");
        assert_string_equal(result(&n, &a, "admin_exportChain", params),
                            "\"location would overwrite an existing file\"");
        assert_int_equal(cd_fs_read_file(cd_fs_real(), &file, path, 1 << 20, NULL), CD_OK);
        if (i == 1) {
            assert_int_equal(cd_gzip_dec(&plain, cd_buf_bytes(&file), 1 << 20), CD_OK);
        } else {
            cd_buf_put(&plain, cd_buf_bytes(&file));
        }
        assert_true(cd_bytes_eq(cd_buf_bytes(&plain), cd_buf_bytes(&want)));
        cd_buf_fini(&file);
        cd_buf_fini(&plain);
    }
    /* what fails leaves no file */
    const char *other = cd_arena_fmt(&a, "%s/admin/other", n.dir);
    assert_string_equal(result(&n, &a, "admin_exportChain", cd_arena_fmt(&a, "[\"%s\",2,1]", other)),
                        "\"export failed: first (2) is greater than last (1)\"");
    assert_string_equal(result(&n, &a, "admin_exportChain", cd_arena_fmt(&a, "[\"%s\",1,3]", other)),
                        "\"export failed on #3: not found\"");
    assert_string_equal(result(&n, &a, "admin_exportChain", cd_arena_fmt(&a, "[\"%s\",null,1]", other)),
                        "\"last cannot be specified without first\"");
    cd_fs_stat st;
    assert_int_equal(cd_fs_stat_get(cd_fs_real(), &st, other, NULL), CD_ENOENT);
    cd_buf_fini(&want);
    cd_arena_fini(&a);
    close_node(&n);
}

/* What an admin route answers, its last character cut: a line feed. */
static const char *ask_admin(node *n, cd_arena *a, const char *method, const char *params)
{
    cd_buf reply = {0};
    const char *request =
        cd_arena_fmt(a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    cd_rpc_serve(n->admin, &reply, cd_bytes_str(request));
    const char *text = cd_arena_str(a, cd_bytes_sub(cd_buf_bytes(&reply), 0, reply.n - 1));
    cd_buf_fini(&reply);
    return text;
}

static void expect_admin(node *n, const char *method, const char *params, const char *words)
{
    cd_arena a = {0};
    const char *got = ask_admin(n, &a, method, params);
    if (strstr(got, words) == NULL) {
        fail_msg("%s %s: %s, without %s", method, params, got, words);
    }
    cd_arena_fini(&a);
}

static void admin_services(void **state)
{
    (void)state;
    static const char done[] = "{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":1}";
    cd_arena a = {0};
    cd_buf file = {0};
    node n;
    open_node(&n, false);
    expect_admin(&n, "admin.getVMConfig", "{}", "\"tx-pool-lifetime\":\"10m0s\"");
    expect_admin(&n, "admin.setLogLevel", "{\"level\":\"DEBUG\"}", done);
    assert_true(cd_log_is_on(n.log, CD_LOG_DEBUG) && !cd_log_is_on(n.log, CD_LOG_TRACE));
    expect_admin(&n, "admin.setLogLevel", "[{\"level\":\"crit\"}]", done);
    assert_false(cd_log_is_on(n.log, CD_LOG_WARN));
    expect_admin(&n, "admin.setLogLevel", "{}", "failed to parse log level: unknown level:  ");
    expect_admin(&n, "admin.nosuch", "{}", "rpc: can't find method \\\"admin.Nosuch\\\"");
    expect_admin(&n, "admin.lockProfile", "{}", "perf lock");
    expect_admin(&n, "admin.stopCPUProfiler", "{}", "cpu profiler doesn't exist");
    expect_admin(&n, "admin.startCPUProfiler", "{}", done);
    expect_admin(&n, "admin.startCPUProfiler", "{}", "cpu profiler already running");
    assert_non_null(strstr(result(&n, &a, "debug_startCPUProfile", "[\"x\"]"), "in progress"));
    expect_admin(&n, "admin.stopCPUProfiler", "{}", done);
    expect_admin(&n, "admin.memoryProfile", "{}", done);
    assert_string_equal(result(&n, &a, "debug_cpuProfile", "[\"short\",0]"), "null");
    assert_string_equal(result(&n, &a, "debug_writeMemProfile", "[\"heap\"]"), "null");
    static const struct {
        const char *name;
        const char *words;
    } files[] = {{"cpu.profile", "CPU time of the threads"},
                 {"short", "percent"},
                 {"mem.profile", "<malloc"},
                 {"heap", "<malloc"}};
    for (usize i = 0; i < CD_COUNT(files); i++) {
        const char *path = cd_arena_fmt(&a, "%s/admin/%s", n.dir, files[i].name);
        cd_buf_clear(&file);
        assert_int_equal(cd_fs_read_file(cd_fs_real(), &file, path, 1 << 20, NULL), CD_OK);
        assert_non_null(strstr(cd_buf_cstr(&file), files[i].words));
    }
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden"};
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        const char *got = result(&n, &a, "debug_writeMemProfile", cd_arena_fmt(&a, "[\"%s\"]", bad[i]));
        assert_non_null(strstr(got, "give a name without"));
    }
    assert_non_null(strstr(result(&n, &a, "debug_memStats", "[]"), "\"HeapAlloc\":"));
    assert_non_null(strstr(result(&n, &a, "debug_gcStats", "[]"), "\"NumGC\":0"));
    assert_non_null(strstr(result(&n, &a, "debug_stacks", "[]"), "of CPU time"));
    assert_string_equal(result(&n, &a, "debug_freeOSMemory", "[]"), "null");
    assert_non_null(strstr(result(&n, &a, "debug_goTrace", "[\"x\",1]"), "not a Go program"));
    assert_non_null(strstr(result(&n, &a, "debug_vmodule", "[\"x=5\"]"), "debug_verbosity"));
    assert_non_null(strstr(result(&n, &a, "debug_cpuProfile", "[\"x\",61]"), "up to 60 seconds"));
    cd_buf_fini(&file);
    cd_arena_fini(&a);
    close_node(&n);
}

/* What one chain wrote another one of the same genesis takes in, once. */
static void importing(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_buf file = {0};
    node from;
    node to;
    open_made(&from, &a);
    open_node(&to, true);
    expect_admin(&from, "admin_exportChain", "[\"all.gz\"]", "\"result\":true");
    expect_admin(&from, "admin_exportChain", "[\"tail\",2]", "\"result\":true");
    for (usize i = 0; i < 2; i++) {
        const char *name = i == 0 ? "all.gz" : "tail";
        const char *source = cd_arena_fmt(&a, "%s/admin/%s", from.dir, name);
        const char *folder = cd_arena_fmt(&a, "%s/admin", to.dir);
        cd_buf_clear(&file);
        assert_int_equal(cd_fs_read_file(cd_fs_real(), &file, source, 1 << 20, NULL), CD_OK);
        assert_int_equal(cd_fs_mkdirs(cd_fs_real(), folder, 0700, NULL), CD_OK);
        assert_int_equal(
            cd_fs_replace_file(cd_fs_real(), cd_arena_fmt(&a, "%s/%s", folder, name), cd_buf_bytes(&file), 0600, NULL),
            CD_OK);
        assert_int_equal(symlink(source, cd_arena_fmt(&a, "%s/link-%s", folder, name)), 0);
    }
    expect_admin(&to, "admin_importChain", "[\"nowhere\"]", "no such file");
    expect_admin(&to, "admin_importChain", "[\"link-tail\"]", "no such file");
    expect_admin(&to, "admin_importChain", "[\"tail\"]", "import failed at height 0: ");
    expect_admin(&to, "admin_importChain", "[\"all.gz\"]",
                 "{\"success\":true,\"blocksImported\":2,\"heightBefore\":0,\"heightAfter\":2,"
                 "\"message\":\"blocks imported\"}");
    assert_string_equal(result(&to, &a, "eth_getBlockByNumber", "[\"latest\",true]"),
                        result(&from, &a, "eth_getBlockByNumber", "[\"latest\",true]"));
    expect_admin(&to, "admin_importChain", "[\"all.gz\"]", "nothing new in the file");
    expect_admin(&to, "admin_importChain", "[\"tail\"]", "nothing new in the file");
    file.p[file.n / 2] ^= 1;
    assert_int_equal(
        cd_fs_replace_file(cd_fs_real(), cd_arena_fmt(&a, "%s/admin/tail", to.dir), cd_buf_bytes(&file), 0600, NULL),
        CD_OK);
    expect_admin(&to, "admin_importChain", "[\"tail\"]", "import failed at height 2: ");
    cd_buf_fini(&file);
    cd_arena_fini(&a);
    close_node(&from);
    close_node(&to);
}

static void verbosity(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        cd_log_level level;
    } rows[] = {
        {"[0]", CD_LOG_ERROR}, {"[1]", CD_LOG_ERROR}, {"[2]", CD_LOG_WARN},  {"[3]", CD_LOG_INFO},
        {"[4]", CD_LOG_DEBUG}, {"[5]", CD_LOG_TRACE}, {"[9]", CD_LOG_TRACE},
    };
    cd_arena a = {0};
    node n;
    open_node(&n, false);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        assert_string_equal(result(&n, &a, "debug_verbosity", rows[i].params), "null");
        assert_true(cd_log_is_on(n.log, rows[i].level));
        assert_true(rows[i].level == CD_LOG_TRACE || !cd_log_is_on(n.log, rows[i].level - 1));
    }
    cd_arena_fini(&a);
    close_node(&n);
}

/* A waiting transaction at another price. */
static void resending(void **state)
{
    (void)state;
#define PAY(nonce)                                                                                                     \
    "{\"from\":" ADDR ",\"to\":" ADDR ",\"gas\":\"0x5208\",\"gasPrice\":\"0x77359400\",\"nonce\":" nonce "}"
    cd_arena a = {0};
    node n;
    open_node(&n, true);
    (void)result(&n, &a, "evm_setAutomine", "[false]");
    const char *hash = result(&n, &a, "eth_sendTransaction", "[" PAY("\"0x0\"") "]");
    const char *anew = result(&n, &a, "eth_resend", "[" PAY("\"0x0\"") ",\"0xee6b2800\",\"0x7530\"]");
    assert_int_equal(strlen(hash), 68);
    assert_int_equal(strlen(anew), 68);
    assert_string_not_equal(hash, anew);
    assert_string_equal(result(&n, &a, "txpool_status", "[]"), "{\"pending\":\"0x1\",\"queued\":\"0x0\"}");
    const char *tx = result(&n, &a, "eth_getTransactionByHash", cd_arena_fmt(&a, "[%s]", anew));
    assert_non_null(strstr(tx, "\"gasPrice\":\"0xee6b2800\""));
    assert_non_null(strstr(tx, "\"gas\":\"0x7530\""));
    /* what waited first is not there any more */
    const char *gone = result(&n, &a, "eth_resend", "[" PAY("\"0x0\"") ",\"0xffffffff\"]");
    assert_non_null(strstr(gone, "\"transaction 0x"));
    assert_non_null(strstr(gone, " not found\""));
    assert_string_equal(result(&n, &a, "eth_resend", "[{\"from\":" ADDR ",\"to\":" ADDR "}]"),
                        "\"missing transaction nonce in transaction spec\"");
    cd_arena_fini(&a);
    close_node(&n);
#undef PAY
}

/* --- long texts --- */

enum { PAYMENTS = 60 };

/* An element of an array as text. */
static const char *element(cd_arena *a, cd_json array, usize i)
{
    cd_buf raw = {0};
    cd_json_raw(&raw, cd_json_at(array, i));
    const char *text = cd_arena_str(a, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return text;
}

/* What is rendered once for all is what each asks for: transactions and receipts one by one say the same. */
static void long_texts(void **state)
{
    (void)state;
    cd_arena a = {0};
    node n;
    open_node(&n, true);
    (void)result(&n, &a, "evm_setAutomine", "[false]");
    for (usize i = 0; i < PAYMENTS; i++) {
        (void)result(&n, &a, "eth_sendTransaction",
                     cd_arena_fmt(&a, "[{\"from\":" ADDR ",\"to\":" ADDR ",\"value\":\"0x%zx\"}]", i + 1));
    }
    (void)result(&n, &a, "evm_mine", "[]");
    for (usize round = 0; round < 2; round++) {
        cd_json block = cd_json_get(ask(&n, &a, "eth_getBlockByNumber", "[\"0x1\",true]"), "result");
        cd_json hashes = cd_json_get(ask(&n, &a, "eth_getBlockByNumber", "[\"0x1\",false]"), "result");
        cd_json receipts = cd_json_get(ask(&n, &a, "eth_getBlockReceipts", "[\"0x1\"]"), "result");
        cd_json txs = cd_json_get(block, "transactions");
        assert_int_equal(cd_json_len(txs), PAYMENTS);
        assert_int_equal(cd_json_len(receipts), PAYMENTS);
        for (usize i = 0; i < PAYMENTS; i++) {
            const char *tx = element(&a, txs, i);
            const char *hash = element(&a, cd_json_get(hashes, "transactions"), i);
            assert_non_null(strstr(tx, hash));
            assert_string_equal(
                result(&n, &a, "eth_getTransactionByBlockNumberAndIndex", cd_arena_fmt(&a, "[\"0x1\",\"0x%zx\"]", i)),
                tx);
            assert_string_equal(result(&n, &a, "eth_getTransactionReceipt", cd_arena_fmt(&a, "[%s]", hash)),
                                element(&a, receipts, i));
        }
        cd_bytes hash;
        assert_int_equal(cd_json_str(&hash, cd_json_get(block, "hash"), NULL), CD_OK);
        assert_string_equal(result(&n, &a, "eth_getBlockByHash",
                                   cd_arena_fmt(&a, "[\"%.*s\",true]", (int)hash.n, (const char *)hash.p)),
                            result(&n, &a, "eth_getBlockByNumber", "[\"latest\",true]"));
    }
    cd_arena_fini(&a);
    close_node(&n);
}

/* --- many threads --- */

enum { READERS = 3, ROUNDS = 60 };

/* Asks what the READ lane serves (estimates at a block: without one they are the owner's); the balance of a payee never
 * falls. */
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
        assert_string_equal(result(n, &a, "eth_call", "[{\"data\":\"0x60aa60005260206000f3\"}]"),
                            "\"0x00000000000000000000000000000000000000000000000000000000000000aa\"");
        assert_string_equal(result(n, &a, "eth_estimateGas", "[" TO ",\"latest\"]"), "\"0x5208\"");
        (void)result(n, &a, "eth_createAccessList", "[" TO ",\"latest\"]");
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
    assert_string_equal(result(&n, &a, "eth_getBalance", "[\"0x00000000000000000000000000000000000000aa\"]"),
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
        cmocka_unit_test(storage_in_pieces),
        cmocka_unit_test(accounts_in_pieces),
        cmocka_unit_test(accounts_without_addresses),
        cmocka_unit_test(changes_between_blocks),
        cmocka_unit_test(exporting),
        cmocka_unit_test(admin_services),
        cmocka_unit_test(importing),
        cmocka_unit_test(verbosity),
        cmocka_unit_test(resending),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(readers_and_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
