/* console.log decoding against the recorded list of selectors, EIP-712 against its example, amounts in words. */
#include "base/hex.h"
#include "base/log/log.h"
#include "base/os/fileio.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/dev/tell.h"
#include "chains/evmchain/evm_vm.h"
#include "chains/evmchain/rpc/sending/typed_data.h"
#include "codec/abi.h"
#include "codec/gzip.h"
#include "consensus/test/seat.h"
#include "num/u256_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* --- console.log --- */

static bool load(cd_buf *out, const char *name)
{
    char path[512];
    const char *root = getenv("CANDELA_TESTDATA");
    (void)snprintf(path, sizeof path, "%s/dev-rpc/%s", root == NULL ? "../shared/testdata" : root, name);
    if (cd_fs_read_file(cd_fs_real(), out, path, 1 << 20, NULL) == CD_OK) {
        return true;
    }
    const char *ci = getenv("CI");
    if (ci != NULL && strcmp(ci, "true") == 0) {
        fail_msg("%s is missing", path);
    }
    print_message("SKIP %s is missing\n", path);
    return false;
}

/* Every recorded selector is known, and belongs to the signature it is recorded with. */
static void selectors_are_the_recorded_ones(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_buf text = {0};
    cd_json doc;
    cd_console *c = cd_console_new();
    if (!load(&text, "console-selectors.json")) {
        cd_console_free(c);
        skip();
    }
    assert_int_equal(cd_json_parse(&doc, &a, cd_buf_bytes(&text), 0, NULL), CD_OK);
    usize cnt = 0;
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cd_bytes selector;
        cd_bytes signature;
        cd_buf line = {0};
        u8 want[4];
        assert_int_equal(cd_hex_parse_prefixed(&selector, &a, it.key), CD_OK);
        assert_int_equal(cd_json_str(&signature, it.val, NULL), CD_OK);
        cd_abi_selector(want, cd_arena_str(&a, signature));
        assert_memory_equal(want, selector.p, 4);
        assert_true(cd_console_text(c, &line, selector));
        cd_buf_fini(&line);
        cnt++;
    }
    assert_int_equal(cnt, 375);
    assert_true(cd_console_cnt(c) > cnt); /* the older spellings */
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    cd_console_free(c);
}

static void put_word(cd_buf *out, u64 v)
{
    u8 word[32] = {0};
    cd_put_be64(word + 24, v);
    cd_buf_put(out, cd_bytes_of(word, 32));
}

static void put_string(cd_buf *out, const char *s)
{
    usize n = strlen(s);
    put_word(out, n);
    cd_buf_str(out, s);
    cd_buf_fill(out, 0, (32 - n % 32) % 32);
}

static void prints(const cd_console *c, const cd_buf *input, const char *want)
{
    cd_buf got = {0};
    assert_true(cd_console_text(c, &got, cd_buf_bytes(input)));
    assert_string_equal(cd_buf_cstr(&got), want);
    cd_buf_fini(&got);
}

static void formats_take_their_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *signature;
        const char *format;
        const char *want;
    } rows[] = {
        {"log(string,uint256)", "value is %d", "value is 42"},
        {"log(string,uint)", "value is %s", "value is 42"},
        {"log(string,uint256)", "value is", "value is 42"},
        {"log(string,uint256)", "%c%d", "%d"},
        {"log(string,uint256)", "100%% of %i%", "100% of 42%"},
        {"log(string,uint256)", "%x %", "%x % 42"},
        {"log(string,uint256)", "a\x1b[31m\nb", "a\\x1b[31m\\nb 42"},
    };
    cd_console *c = cd_console_new();
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf in = {0};
        cd_abi_selector(cd_buf_extend(&in, 4), rows[i].signature);
        put_word(&in, 64);
        put_word(&in, 42);
        put_string(&in, rows[i].format);
        prints(c, &in, rows[i].want);
        cd_buf_fini(&in);
    }
    cd_console_free(c);
}

static void values_print_by_kind(void **state)
{
    (void)state;
    cd_console *c = cd_console_new();
    cd_buf in = {0};
    cd_abi_selector(cd_buf_extend(&in, 4), "log(int256)");
    cd_buf_fill(&in, 0xff, 31);
    cd_buf_u8(&in, 0xfe);
    prints(c, &in, "-2");
    cd_buf_clear(&in);
    cd_abi_selector(cd_buf_extend(&in, 4), "log(bool,address)");
    put_word(&in, 1);
    put_word(&in, 0xaa);
    prints(c, &in, "true 0x00000000000000000000000000000000000000aa");
    cd_buf_clear(&in);
    cd_abi_selector(cd_buf_extend(&in, 4), "log(bytes3)");
    cd_buf_str(&in, "abcdefgh");
    prints(c, &in, "0x616263");
    cd_buf_clear(&in);
    cd_abi_selector(cd_buf_extend(&in, 4), "log()");
    prints(c, &in, "");
    cd_buf_fini(&in);
    cd_console_free(c);
}

/* Offsets and lengths beyond the data end at its end; nothing is read outside (under ASan). */
static void damaged_arguments_are_clamped(void **state)
{
    (void)state;
    cd_console *c = cd_console_new();
    cd_rng rng = cd_rng_seeded(7);
    for (usize round = 0; round < 2000; round++) {
        u8 head[4];
        cd_buf got = {0};
        usize n = cd_rng_below(&rng, 200);
        u8 *in = malloc(4 + n); /* exact, so that a byte too far is seen */
        assert_non_null(in);
        cd_abi_selector(head, round % 2 == 0 ? "log(string,string,uint256)" : "log(bytes)");
        memcpy(in, head, 4);
        cd_rng_fill(&rng, in + 4, n);
        for (usize i = 4; i + 32 <= n && round % 3 != 0; i += 32) {
            memset(in + i, 0, 31); /* small offsets and lengths */
        }
        assert_true(cd_console_text(c, &got, cd_bytes_of(in, 4 + n)));
        assert_true(got.n < 4096);
        cd_buf_fini(&got);
        free(in);
    }
    assert_false(cd_console_text(c, &(cd_buf){0}, cd_bytes_str("log")));
    cd_console_free(c);
}

/* --- EIP-712 --- */

static cd_err digest(char out[67], const char *json)
{
    cd_arena a = {0};
    cd_json doc;
    cd_hash32 hash;
    cd_errinfo why = {0};
    assert_int_equal(cd_json_parse(&doc, &a, cd_bytes_str(json), 0, &why), CD_OK);
    cd_err e = cd_typed_data_hash(&hash, &a, doc, &why);
    if (e == CD_OK) {
        cd_hex_fmt(out, cd_bytes_of(hash.b, 32));
        out[64] = '\0';
    } else {
        assert_true(why.msg[0] != '\0');
    }
    cd_arena_fini(&a);
    return e;
}

#define DOMAIN_TYPE                                                                                                    \
    "\"EIP712Domain\":[{\"name\":\"name\",\"type\":\"string\"},{\"name\":\"version\",\"type\":"                        \
    "\"string\"},{\"name\":\"chainId\",\"type\":\"uint256\"},{\"name\":\"verifyingContract\","                         \
    "\"type\":\"address\"}]"

/* The example of the specification. */
static void typed_data_of_the_specification(void **state)
{
    (void)state;
    char got[67];
    assert_int_equal(digest(got, "{\"types\":{" DOMAIN_TYPE
                                 ",\"Person\":[{\"name\":\"name\",\"type\":\"string\"},{\"name\":\"wallet\",\"type\":"
                                 "\"address\"}],\"Mail\":[{\"name\":\"from\",\"type\":\"Person\"},{\"name\":\"to\","
                                 "\"type\":\"Person\"},{\"name\":\"contents\",\"type\":\"string\"}]},"
                                 "\"primaryType\":\"Mail\",\"domain\":{\"name\":\"Ether Mail\",\"version\":\"1\","
                                 "\"chainId\":1,\"verifyingContract\":"
                                 "\"0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC\"},\"message\":{\"from\":{\"name\":"
                                 "\"Cow\",\"wallet\":\"0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826\"},\"to\":{\"name\":"
                                 "\"Bob\",\"wallet\":\"0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB\"},\"contents\":"
                                 "\"Hello, Bob!\"}}"),
                     CD_OK);
    assert_string_equal(got, "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
}

#define ONE(type, value)                                                                                               \
    "{\"types\":{\"EIP712Domain\":[],\"S\":[{\"name\":\"x\",\"type\":\"" type                                          \
    "\"}]},\"primaryType\":\"S\",\"domain\":{},\"message\":{\"x\":" value "}}"

/* The same value in different clothes has the same digest; what does not fit has none. */
static void typed_values_are_checked(void **state)
{
    (void)state;
    static const char *const equal[][2] = {
        {ONE("int8", "-1"), ONE("int8", "\"-0x1\"")},
        {ONE("uint256", "255"), ONE("uint256", "\"0xff\"")},
        {ONE("uint8[2]", "[1,2]"), ONE("uint8[2]", "[\"0x1\",\"2\"]")},
        {ONE("bytes4", "\"0x01020304\""), ONE("bytes4", "\"0X01020304\"")},
    };
    static const char *const wrong[] = {
        ONE("int8", "-129"),
        ONE("int8", "128"),
        ONE("uint8", "256"),
        ONE("uint8", "-1"),
        ONE("uint7", "1"),
        ONE("uint264", "1"),
        ONE("uint8", "1.5"),
        ONE("bytes4", "\"0x01\""),
        ONE("bytes33", "\"0x\""),
        ONE("address", "\"0x01\""),
        ONE("bool", "1"),
        ONE("string", "1"),
        ONE("uint8[2]", "[1]"),
        ONE("uint8[]", "1"),
        ONE("nothing", "1"),
        ONE("uint8", "null"),
        ONE("]", "1"),
        ONE("", "1"),
        ONE("bytes", "\"01\""),
        ONE("uint8[x]", "[1]"),
        "{\"types\":1}",
        "{\"types\":{\"EIP712Domain\":[]},\"primaryType\":\"S\"}",
    };
    char a[67];
    char b[67];
    for (usize i = 0; i < CD_COUNT(equal); i++) {
        assert_int_equal(digest(a, equal[i][0]), CD_OK);
        assert_int_equal(digest(b, equal[i][1]), CD_OK);
        assert_string_equal(a, b);
    }
    for (usize i = 0; i < CD_COUNT(wrong); i++) {
        if (digest(a, wrong[i]) == CD_OK) {
            fail_msg("accepted: %s", wrong[i]);
        }
    }
    /* The range is used to its ends. */
    assert_int_equal(digest(a, ONE("int8", "-128")), CD_OK);
    assert_int_equal(digest(a, ONE("int256", "\"-0x8000000000000000000000000000000000000000000000000"
                                             "000000000000000\"")),
                     CD_OK);
}

/* A type that contains itself ends where the values do, or at the bound. */
static void typed_data_may_not_nest_for_ever(void **state)
{
    (void)state;
    cd_buf text = {0};
    char out[67];
    for (int deep = 0; deep < 2; deep++) {
        usize levels = deep != 0 ? 100 : 5;
        cd_buf_clear(&text);
        cd_buf_str(&text, "{\"types\":{\"EIP712Domain\":[],\"S\":[{\"name\":\"s\",\"type\":\"S\"}]},"
                          "\"primaryType\":\"S\",\"domain\":{},\"message\":");
        for (usize i = 0; i < levels; i++) {
            cd_buf_str(&text, "{\"s\":");
        }
        cd_buf_str(&text, "null");
        for (usize i = 0; i <= levels; i++) {
            cd_buf_u8(&text, '}');
        }
        assert_int_equal(digest(out, cd_buf_cstr(&text)), deep != 0 ? CD_EDEPTH : CD_OK);
    }
    cd_buf_fini(&text);
}

/* --- the table of methods --- */

static const char *const method_names[] = {
#define N_N(m)             m,
#define N_E(m)             "evm_" m,
#define N_H(m)             "hardhat_" m,
#define N_T(m)             "tenderly_" m,
#define N_HA(m)            N_H(m) "anvil_" m,
#define N_HAT(m)           N_HA(m) N_T(m)
#define N_EHA(m)           N_E(m) N_HA(m)
#define X(ns_, name_, ...) N_##ns_(#name_)
#include "chains/evmchain/dev/methods.def"
#undef X
};

/* A virtual machine without a node around it. */
typedef struct machine {
    cd_kv *kv;
    cd_buf genesis;
    seat seat;
    cd_vm *vm;
    const cd_rpc_service *service;
} machine;

static void machine_open_with(machine *m, bool is_dev, const char *config, cd_logger *log)
{
    usize cnt;
    cd_errinfo why = {0};
    *m = (machine){.kv = cd_kv_mem_open()};
    seat_init(&m->seat, m->kv);
    assert_int_equal(cd_dev_genesis(&m->genesis, 1337, 1700000000), CD_OK);
    cd_vm_ctx ctx = {
        .log = log,
        .kv = m->kv,
        .host = &m->seat.host,
        .clock = cd_clock_real(),
        .name = "C",
        .genesis = cd_buf_bytes(&m->genesis),
        .network_id = 1337,
        .is_dev = is_dev,
        .config = cd_bytes_str(config),
    };
    if (cd_evm_vm_open(&m->vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(seat_start(&m->seat, m->vm, &why), CD_OK);
    m->service = m->vm->ops->handlers(m->vm, &cnt)->service;
}

static void machine_open_as(machine *m, bool is_dev, const char *config)
{
    machine_open_with(m, is_dev, config, NULL);
}

static void machine_open(machine *m, bool is_dev)
{
    machine_open_as(m, is_dev, "");
}

static void machine_close(machine *m)
{
    seat_fini(&m->seat);
    m->vm->ops->close(m->vm);
    cd_kv_close(m->kv);
    cd_buf_fini(&m->genesis);
}

static void ask(const machine *m, cd_buf *reply, const char *method, const char *params)
{
    cd_buf body = {0};
    cd_buf_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    cd_buf_clear(reply);
    cd_rpc_serve(m->service, reply, cd_buf_bytes(&body));
    cd_buf_fini(&body);
}

static void other_networks_have_none_of_them(void **state)
{
    (void)state;
    machine m;
    cd_buf reply = {0};
    machine_open(&m, false);
    for (usize i = 0; i < CD_COUNT(method_names); i++) {
        ask(&m, &reply, method_names[i], "[]");
        if (strstr(cd_buf_cstr(&reply), "\"code\":-32601") == NULL) {
            fail_msg("%s: %s", method_names[i], cd_buf_cstr(&reply));
        }
    }
    cd_buf_fini(&reply);
    machine_close(&m);
}

/* Nothing that runs code for a client runs on the thread that owns the chain, whatever block is meant. */
static void lanes_of_executions(void **state)
{
    (void)state;
#define LOOP "\"0x5b5f56\""
    static const char *const calls[] = {
        "\"eth_call\",\"params\":[{},\"pending\"]",
        "\"eth_call\",\"params\":[{},\"latest\"]",
        "\"eth_callDetailed\",\"params\":[{},\"pending\"]",
        "\"eth_estimateGas\",\"params\":[{}]",
        "\"eth_estimateGas\",\"params\":[{},\"pending\"]",
        "\"eth_createAccessList\",\"params\":[{},\"pending\"]",
        "\"eth_simulateV1\",\"params\":[{},\"pending\"]",
        "\"debug_traceCall\",\"params\":[{},\"pending\"]",
        "\"eth_getBlockByNumber\",\"params\":[\"pending\",true]",
        "\"eth_getBalance\",\"params\":[\"0x00000000000000000000000000000000000000aa\",\"pending\"]",
        "\"eth_getStorageAt\",\"params\":[\"0x00000000000000000000000000000000000000aa\",\"0x0\",\"pending\"]",
    };
    machine m;
    cd_buf body = {0};
    cd_rpc_req *r = cd_rpc_req_new();
    for (int is_dev = 0; is_dev < 2; is_dev++) {
        machine_open(&m, is_dev != 0);
        for (usize i = 0; i < CD_COUNT(calls); i++) {
            cd_buf_clear(&body);
            cd_buf_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":%s}", calls[i]);
            cd_rpc_lane lane = cd_rpc_req_parse(r, m.service, NULL, cd_buf_bytes(&body), 0);
            if (lane == CD_RPC_OWNER || (is_dev && lane != CD_RPC_READ)) {
                fail_msg("%s: lane %d", calls[i], (int)lane);
            }
        }
        machine_close(&m);
    }
    cd_rpc_req_free(r);
    cd_buf_fini(&body);
}

/* Code that never ends, with gas for ever, ends when the time of the request is up; the calls of a batch share it. */
static void calls_have_a_time(void **state)
{
    (void)state;
#define ENDLESS(method, id, block)                                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method                                                          \
    "\",\"params\":[{\"to\":\"0x00000000000000000000000000000000000000aa\"},\"" block                                  \
    "\",{\"0x00000000000000000000000000000000000000aa\":{\"code\":" LOOP "}}]}"
#define TIMED_OUT(id)                                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32002,\"message\":\"request timed out\"}}"
    static const char batch[] =
        "[" ENDLESS("eth_call", "1", "latest") "," ENDLESS("eth_call", "2", "pending") "," ENDLESS(
            "eth_estimateGas", "3", "pending") "," ENDLESS("eth_createAccessList", "4", "latest") "]";
    machine m;
    cd_buf reply = {0};
    machine_open_as(&m, true, "{\"rpc-gas-cap\":0,\"api-max-duration\":\"50ms\"}");
    cd_rpc_serve(m.service, &reply, cd_bytes_str(batch));
    assert_string_equal(cd_buf_cstr(&reply),
                        "[" TIMED_OUT("1") "," TIMED_OUT("2") "," TIMED_OUT("3") "," TIMED_OUT("4") "]");
    cd_buf_clear(&reply);
    cd_rpc_serve(m.service, &reply, cd_bytes_str(ENDLESS("eth_call", "1", "pending")));
    assert_string_equal(cd_buf_cstr(&reply), TIMED_OUT("1"));
    cd_buf_fini(&reply);
    machine_close(&m);
}

static bool begins_with_one_of(const char *name, const char *const *words, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        if (strncmp(name, words[i], strlen(words[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* What acts without a signature says so in its row: accounts of the node, the development network's, the operator's.
 * [spec:decisions#D50] */
static void rows_say_what_acts(void **state)
{
    (void)state;
    static const char *const acting[] = {
        "eth_sendTransaction",
        "eth_sendUnsigned",
        "eth_sign",
        "eth_resend",
        "personal_",
        "evm_",
        "hardhat_",
        "anvil_",
        "tenderly_",
        "admin",
        "miner_",
    };
    static const char *const open[] = {
        "eth_sendRaw", "eth_get", "eth_call", "eth_estimateGas", "eth_accounts", "net_", "web3_", "txpool_",
    };
    static const struct {
        const char *name;
        bool acts;
    } rows[] = {
#define X(group_, name_, aliases_, fn_, lane_, ...) {#name_, CD_RPC_ROW_DOES(lane_)},
#include "chains/evmchain/rpc/debug/admin.def"
#undef X
#define X(group_, name_, fn_, lane_, ...) {#name_, CD_RPC_ROW_DOES(lane_)},
#include "chains/evmchain/rpc/debug/admin_files.def"
#include "chains/evmchain/rpc/methods.def"
#undef X
    };
    machine m;
    usize cnt = 0;
    machine_open(&m, true);
    for (usize i = 0; i < CD_COUNT(rows) + cd_rpc_table_cnt(m.service->table); i++) {
        const cd_rpc_method *row = i < CD_COUNT(rows) ? NULL : cd_rpc_table_at(m.service->table, i - CD_COUNT(rows));
        const char *name = row == NULL ? rows[i].name : row->name;
        bool acts = row == NULL ? rows[i].acts : row->acts;
        bool must = begins_with_one_of(name, acting, CD_COUNT(acting));
        cnt += must;
        if (must != acts && (must || begins_with_one_of(name, open, CD_COUNT(open)))) {
            fail_msg("%s: %s", name, acts ? "does not act" : "acts");
        }
    }
    assert_in_range(cnt, 100, 1000);
    machine_close(&m);
}

/* Whatever is asked, the answer is an answer. */
static void any_parameters_get_an_answer(void **state)
{
    (void)state;
    static const char *const values[] = {
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "\"\"",
        "\"0x\"",
        "\"0x1\"",
        "\"7\"",
        "[]",
        "[1,2]",
        "{}",
        "{\"blocks\":3}",
        "\"0x00000000000000000000000000000000000000aa\"",
        "\"0x0000000000000000000000000000000000000000000000000000000000000001\"",
        "1e400",
        "{\"accounts\":1}",
        "\"{}\"",
        "18446744073709551615",
    };
    machine m;
    cd_buf reply = {0};
    cd_buf params = {0};
    cd_rng rng = cd_rng_seeded(11);
    machine_open(&m, true);
    for (usize i = 0; i < CD_COUNT(method_names); i++) {
        for (usize round = 0; round < 40; round++) {
            cd_arena a = {0};
            cd_json doc;
            usize cnt = cd_rng_below(&rng, 5);
            cd_buf_clear(&params);
            cd_buf_u8(&params, '[');
            for (usize j = 0; j < cnt; j++) {
                cd_buf_str(&params, j == 0 ? "" : ",");
                cd_buf_str(&params, values[cd_rng_below(&rng, CD_COUNT(values))]);
            }
            cd_buf_u8(&params, ']');
            ask(&m, &reply, method_names[i], cd_buf_cstr(&params));
            assert_int_equal(cd_json_parse(&doc, &a, cd_buf_bytes(&reply), 0, NULL), CD_OK);
            bool has_result = cd_json_kind_of(cd_json_get(doc, "result")) != CD_JSON_NONE;
            bool has_error = cd_json_kind_of(cd_json_get(doc, "error")) == CD_JSON_OBJ;
            if (has_result == has_error || strstr(cd_buf_cstr(&reply), "-32601") != NULL) {
                fail_msg("%s %s: %s", method_names[i], cd_buf_cstr(&params), cd_buf_cstr(&reply));
            }
            cd_arena_fini(&a);
        }
    }
    cd_buf_fini(&params);
    cd_buf_fini(&reply);
    machine_close(&m);
}

/* --- dumps --- */

/* The text behind "result": in a reply, without quotes. */
static char *result_of(cd_buf *reply)
{
    cd_arena a = {0};
    cd_json doc;
    cd_bytes text;
    assert_int_equal(cd_json_parse(&doc, &a, cd_buf_bytes(reply), 0, NULL), CD_OK);
    if (cd_json_str(&text, cd_json_get(doc, "result"), NULL) != CD_OK) {
        fail_msg("%s", cd_buf_cstr(reply));
    }
    char *out = malloc(text.n + 1);
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    cd_arena_fini(&a);
    return out;
}

static void walk_one(machine *m, cd_rng *rng, cd_buf *reply)
{
    char params[600];
    char value[65] = {0};
    u8 word[32];
    unsigned n = (unsigned)cd_rng_below(rng, 4);
    cd_rng_fill(rng, word, sizeof word);
    cd_hex_fmt(value, cd_bytes_of(word, sizeof word));
    const char *method = "evm_mine";
    (void)snprintf(params, sizeof params, "[]");
    switch (cd_rng_below(rng, 14)) {
    case 0:
    case 1:
        method = "hardhat_setStorageAt";
        (void)snprintf(params, sizeof params, "[\"0x00000000000000000000000000000000000000c%u\",%u,\"0x%s\"]", n,
                       (unsigned)cd_rng_below(rng, 3),
                       cd_rng_below(rng, 3) == 0 ? "00000000000000000000000000000000000000000000000"
                                                   "00000000000000000"
                                                 : value);
        break;
    case 2:
        method = "hardhat_setBalance";
        (void)snprintf(params, sizeof params, "[\"0x00000000000000000000000000000000000000c%u\",%u]", n, n);
        break;
    case 3:
        method = "hardhat_setCode";
        (void)snprintf(params, sizeof params, "[\"0x00000000000000000000000000000000000000c%u\",\"%s\"]", n,
                       n == 0 ? "0x" : "0x60015f54015f55");
        break;
    case 4:
        method = "anvil_impersonateSignature";
        (void)snprintf(params, sizeof params, "[\"0x%s%s1b\",\"0x00000000000000000000000000000000000000c%u\"]", value,
                       value, n);
        break;
    case 5:
    case 6:
    case 7:
        method = "eth_sendUnsignedTransaction";
        (void)snprintf(params, sizeof params,
                       "[{\"from\":\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\",\"to\":"
                       "\"0x00000000000000000000000000000000000000c%u\",\"gas\":\"0x30d40\","
                       "\"value\":\"0x%x\"}]",
                       n, n);
        break;
    case 8:
        method = "eth_sendTransaction";
        (void)snprintf(params, sizeof params,
                       "[{\"to\":\"0x00000000000000000000000000000000000000c%u\",\"gas\":"
                       "\"0x30d40\"}]",
                       n);
        break;
    case 9:
        method = "hardhat_mine";
        (void)snprintf(params, sizeof params, "[%u,%u]", n * 700, n + 1);
        break;
    case 10:
        method = "hardhat_setNextBlockBaseFeePerGas";
        (void)snprintf(params, sizeof params, "[%u]", n);
        break;
    case 11:
        method = "hardhat_setPrevRandao";
        (void)snprintf(params, sizeof params, "[\"0x%s\"]", value);
        break;
    case 12:
        method = n < 2 ? "anvil_rollback" : "evm_setBlockGasLimit";
        (void)snprintf(params, sizeof params, n < 2 ? "[%u]" : "[1000000%u]", n);
        break;
    case 13:
        method = n < 2 ? "evm_snapshot" : "evm_revert";
        (void)snprintf(params, sizeof params, n < 2 ? "[]" : "[%u]", (unsigned)cd_rng_below(rng, 4) + 1);
        break;
    }
    ask(m, reply, method, params);
}

/* The document of a dump. */
static void put_document(cd_buf *out, const char *dump)
{
    cd_arena a = {0};
    cd_bytes packed;
    assert_int_equal(cd_hex_parse_prefixed(&packed, &a, cd_bytes_str(dump)), CD_OK);
    assert_int_equal(cd_gzip_dec(out, packed, 1 << 24), CD_OK);
    cd_arena_fini(&a);
}

/* The accounts in a dump. */
static void put_accounts(cd_buf *out, const char *dump)
{
    cd_arena a = {0};
    cd_json doc;
    cd_buf text = {0};
    put_document(&text, dump);
    assert_int_equal(cd_json_parse(&doc, &a, cd_buf_bytes(&text), 1 << 24, NULL), CD_OK);
    cd_json_raw(out, cd_json_get(doc, "accounts"));
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

/* Whatever was done, a chain comes back from its dump: the same head, accounts, next block. */
static void dumps_bring_the_chain_back(void **state)
{
    (void)state;
    static const char *const same[] = {"eth_blockNumber", "anvil_dumpState"};
    for (u64 seed = 0; seed < 12; seed++) {
        machine m[2];
        cd_buf reply = {0};
        cd_buf params = {0};
        cd_buf seen[2] = {{0}, {0}};
        cd_rng rng = cd_rng_seeded(seed);
        machine_open(&m[0], true);
        machine_open(&m[1], true);
        for (usize i = 0; i < 60; i++) {
            walk_one(&m[0], &rng, &reply);
        }
        /* Chosen values for a block to come are not part of a dump. */
        ask(&m[0], &reply, "evm_mine", "[]");
        ask(&m[0], &reply, "hardhat_setBalance", "[\"0x00000000000000000000000000000000000000c9\",5]");
        ask(&m[0], &reply, "anvil_dumpState", "[]");
        char *dump = result_of(&reply);
        cd_buf_fmt(&params, "[\"%s\"]", dump);
        free(dump);
        ask(&m[1], &reply, "anvil_loadState", cd_buf_cstr(&params));
        if (strstr(cd_buf_cstr(&reply), "\"result\":true") == NULL) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, cd_buf_cstr(&reply));
        }
        for (usize i = 0; i < 2; i++) {
            for (usize k = 0; k < CD_COUNT(same); k++) {
                ask(&m[i], &reply, same[k], "[]");
                char *text = result_of(&reply);
                if (k == 0) {
                    cd_buf_str(&seen[i], text);
                } else {
                    put_accounts(&seen[i], text);
                }
                free(text);
            }
            /* Its state root holds what was changed behind the head. */
            ask(&m[i], &reply, "evm_mine", "[9000000000]");
            ask(&m[i], &reply, "eth_getBlockByNumber", "[\"latest\",false]");
            cd_buf_put(&seen[i], cd_buf_bytes(&reply));
        }
        if (!cd_bytes_eq(cd_buf_bytes(&seen[0]), cd_buf_bytes(&seen[1]))) {
            fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, cd_buf_cstr(&seen[0]), cd_buf_cstr(&seen[1]));
        }
        cd_buf_fini(&seen[0]);
        cd_buf_fini(&seen[1]);
        cd_buf_fini(&params);
        cd_buf_fini(&reply);
        machine_close(&m[0]);
        machine_close(&m[1]);
    }
}

/* A distance between blocks that was chosen goes on behind a dump. */
static void dumps_bring_the_distance_back(void **state)
{
    (void)state;
    machine m[2];
    cd_buf reply = {0};
    cd_buf params = {0};
    cd_buf seen[2] = {{0}, {0}};
    machine_open(&m[0], true);
    machine_open(&m[1], true);
    ask(&m[0], &reply, "hardhat_setBlockTimestampInterval", "[7]");
    ask(&m[0], &reply, "evm_mine", "[]");
    ask(&m[0], &reply, "anvil_dumpState", "[]");
    char *dump = result_of(&reply);
    cd_buf_fmt(&params, "[\"%s\"]", dump);
    free(dump);
    ask(&m[1], &reply, "anvil_loadState", cd_buf_cstr(&params));
    for (usize i = 0; i < 2; i++) {
        ask(&m[i], &reply, "evm_mine", "[9000000000]");
        ask(&m[i], &reply, "evm_mine", "[]");
        ask(&m[i], &reply, "eth_getBlockByNumber", "[\"latest\",false]");
        assert_non_null(strstr(cd_buf_cstr(&reply), "\"timestamp\":\"0x218711a07\"")); /* 9,000,000,007 */
        cd_buf_put(&seen[i], cd_buf_bytes(&reply));
        machine_close(&m[i]);
    }
    assert_string_equal(cd_buf_cstr(&seen[0]), cd_buf_cstr(&seen[1]));
    cd_buf_fini(&seen[0]);
    cd_buf_fini(&seen[1]);
    cd_buf_fini(&params);
    cd_buf_fini(&reply);
}

/* A run of empty blocks is one line on the console, which names the first and the last. */
static void runs_are_told(void **state)
{
    (void)state;
    char path[] = "/tmp/candela-dev-XXXXXX";
    machine m;
    cd_buf reply = {0};
    cd_buf told = {0};
    cd_logger *log = NULL;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(cd_log_open(&log, &(cd_log_cfg){.fd = fd, .level = CD_LOG_INFO, .form = CD_LOG_COLORS}, NULL),
                     CD_OK);
    machine_open_with(&m, true, "", log);
    ask(&m, &reply, "hardhat_mine", "[\"0x64\"]");
    ask(&m, &reply, "hardhat_mine", "[\"0x3\"]");
    machine_close(&m);
    cd_log_close(log);
    assert_int_equal(cd_fs_read_file(cd_fs_real(), &told, path, 1 << 20, NULL), CD_OK);
    if (strstr(cd_buf_cstr(&told), "1 to 100 ") == NULL || strstr(cd_buf_cstr(&told), "101 to 103 ") == NULL) {
        fail_msg("%s %s", cd_buf_cstr(&reply), cd_buf_cstr(&told));
    }
    (void)close(fd);
    (void)unlink(path);
    cd_buf_fini(&told);
    cd_buf_fini(&reply);
}

/* One character of a dump is another: it loads, or nothing has changed. */
static void damaged_dumps_do_no_harm(void **state)
{
    (void)state;
    static const char other[] = "0123456789abcdef[]{},:\"x-";
    machine m[2];
    cd_buf reply = {0};
    cd_buf text = {0};
    cd_rng rng = cd_rng_seeded(5);
    machine_open(&m[0], true);
    machine_open(&m[1], true);
    for (usize i = 0; i < 25; i++) {
        walk_one(&m[0], &rng, &reply);
    }
    ask(&m[0], &reply, "anvil_dumpState", "[]");
    char *dump = result_of(&reply);
    put_document(&text, dump);
    free(dump);
    for (usize i = 0; i < 150; i++) {
        cd_buf params = {0};
        cd_buf_str(&params, "[\"");
        u8 *at = &text.p[cd_rng_below(&rng, text.n)];
        u8 was = *at;
        *at = (u8)other[cd_rng_below(&rng, sizeof other - 1)];
        cd_hex_put(&params, cd_buf_bytes(&text));
        *at = was;
        cd_buf_str(&params, "\"]");
        ask(&m[1], &reply, "anvil_loadState", cd_buf_cstr(&params));
        if (strstr(cd_buf_cstr(&reply), "\"result\":true") == NULL) {
            assert_non_null(strstr(cd_buf_cstr(&reply), "Failed to decode state dump"));
            ask(&m[1], &reply, "eth_blockNumber", "[]");
            assert_non_null(strstr(cd_buf_cstr(&reply), "\"0x0\""));
        }
        ask(&m[1], &reply, "anvil_reset", "[]");
        cd_buf_fini(&params);
    }
    cd_buf_fini(&text);
    cd_buf_fini(&reply);
    machine_close(&m[0]);
    machine_close(&m[1]);
}

/* --- names --- */

static void calls_and_errors_by_name(void **state)
{
    (void)state;
    static const char abi[] =
        "[{\"type\":\"constructor\",\"inputs\":[]},{\"type\":\"function\",\"name\":\"transfer\","
        "\"inputs\":[{\"type\":\"address\"},{\"type\":\"uint256\"}]},{\"type\":\"error\",\"name\":"
        "\"Odd\",\"inputs\":[{\"type\":\"tuple[]\",\"components\":[{\"type\":\"int8\"},{\"type\":"
        "\"bool\"}]},{\"type\":\"string\"}]}]";
    cd_arena a = {0};
    cd_json doc;
    cd_buf in = {0};
    cd_buf got = {0};
    cd_names *n = cd_names_new();
    assert_int_equal(cd_json_parse(&doc, &a, cd_bytes_str(abi), 0, NULL), CD_OK);
    assert_int_equal(cd_names_add(n, doc, NULL), CD_OK);
    cd_abi_selector(cd_buf_extend(&in, 4), "transfer(address,uint256)");
    put_word(&in, 0xaa);
    put_word(&in, 1000000);
    assert_true(cd_names_put(n, &got, cd_buf_bytes(&in)));
    assert_string_equal(cd_buf_cstr(&got), "transfer(0x0000…00AA, 1,000,000)");
    cd_buf_clear(&got);
    assert_false(cd_names_put(n, &got, cd_bytes_of(in.p, in.n - 1)));
    assert_int_equal(got.n, 0);
    cd_buf_clear(&in);
    cd_abi_selector(cd_buf_extend(&in, 4), "Odd((int8,bool)[],string)");
    put_word(&in, 64);
    put_word(&in, 160);
    put_word(&in, 1);
    cd_buf_fill(&in, 0xff, 32);
    put_word(&in, 1);
    put_string(&in, "a\x1b");
    assert_true(cd_names_put(n, &got, cd_buf_bytes(&in)));
    assert_string_equal(cd_buf_cstr(&got), "Odd([(-1, true)], \"a\\x1b\")");
    assert_false(cd_names_put(n, &got, cd_bytes_str("none")));
    assert_int_equal(cd_json_parse(&doc, &a, cd_bytes_str("[{\"type\":\"error\"}]"), 0, NULL), CD_OK);
    assert_int_not_equal(cd_names_add(n, doc, NULL), CD_OK);
    cd_buf_fini(&in);
    cd_buf_fini(&got);
    cd_names_free(n);
    cd_arena_fini(&a);
}

/* --- amounts --- */

static void amounts_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *wei;
        const char *want;
    } rows[] = {
        {"0", "0 wei"},
        {"7", "7 wei"},
        {"999999999999", "999,999,999,999 wei"},
        {"1000000000000", "0.000001 LUX"},
        {"1000000000000000000", "1 LUX"},
        {"1500000000000000000", "1.5 LUX"},
        {"1234567000000000000000000", "1,234,567 LUX"},
        {"1000000000000000000001", "1,000.000000000000000001 LUX"},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639935",
         "115,792,089,237,316,195,423,570,985,008,687,907,853,269,984,665,640,564,039,457."
         "584007913129639935 LUX"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf got = {0};
        cd_u256 wei;
        assert_int_equal(cd_u256_parse_dec(&wei, cd_bytes_str(rows[i].wei)), CD_OK);
        cd__dev_put_amount(&got, &wei);
        assert_string_equal(cd_buf_cstr(&got), rows[i].want);
        cd_buf_fini(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selectors_are_the_recorded_ones),
        cmocka_unit_test(formats_take_their_arguments),
        cmocka_unit_test(values_print_by_kind),
        cmocka_unit_test(damaged_arguments_are_clamped),
        cmocka_unit_test(typed_data_of_the_specification),
        cmocka_unit_test(typed_values_are_checked),
        cmocka_unit_test(typed_data_may_not_nest_for_ever),
        cmocka_unit_test(other_networks_have_none_of_them),
        cmocka_unit_test(any_parameters_get_an_answer),
        cmocka_unit_test(rows_say_what_acts),
        cmocka_unit_test(lanes_of_executions),
        cmocka_unit_test(calls_have_a_time),
        cmocka_unit_test(dumps_bring_the_chain_back),
        cmocka_unit_test(dumps_bring_the_distance_back),
        cmocka_unit_test(runs_are_told),
        cmocka_unit_test(damaged_dumps_do_no_harm),
        cmocka_unit_test(calls_and_errors_by_name),
        cmocka_unit_test(amounts_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
