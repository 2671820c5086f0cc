/* Tracers: options and their words, values that a node of the origin answered for the same contracts, and properties
 * over random contracts that call, create and destroy each other. [spec:eth-rpc#6] */
#include "base/os/rng.h"
#include "chains/evmchain/core/transfers.h"
#include "chains/evmchain/tracers/tracer_kind.h"
#include "crypto/hash/keccak.h"
#include "evm/interp/opcode.h"
#include "evm/rules/gas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- a world of a few accounts --- */

enum { ACCTS = 7, CODE_MAX = 512 };

typedef struct acct {
    cd_addr20 addr;
    u64 balance;
    u64 nonce;
    usize code_n;
    u8 code[CODE_MAX];
} acct;

typedef struct world {
    cd_state_source src;
    acct accts[ACCTS];
    usize cnt;
} world;

static const acct *find(const cd_state_source *src, const cd_addr20 *addr)
{
    const world *w = (const world *)(const void *)src;
    for (usize i = 0; i < w->cnt; i++) {
        if (cd_addr20_eq(&w->accts[i].addr, addr)) {
            return &w->accts[i];
        }
    }
    return NULL;
}

static cd_err get_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    const acct *a = find(src, addr);
    *found = a != NULL;
    if (a != NULL) {
        *out = (cd_account){
            .balance = cd_u256_from_u64(a->balance), .nonce = a->nonce, .storage_root = CD_HASH_EMPTY_TRIE};
        cd_keccak256(&out->code_hash, cd_bytes_of(a->code, a->code_n));
    }
    return CD_OK;
}

/* Half of the slots of contracts hold something. */
static cd_err get_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    const acct *a = find(src, addr);
    bool has = a != NULL && a->code_n != 0 && (slot->w[0] & 1) != 0;
    *out = cd_u256_from_u64(has ? slot->w[0] + 7 : 0);
    return CD_OK;
}

static cd_err get_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    const world *w = (const world *)(const void *)src;
    for (usize i = 0; i < w->cnt; i++) {
        cd_hash32 h;
        cd_bytes code = cd_bytes_of(w->accts[i].code, w->accts[i].code_n);
        cd_keccak256(&h, code);
        if (cd_hash32_eq(&h, code_hash)) {
            *out = code;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

static cd_err get_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    (void)src;
    (void)number;
    *out = (cd_hash32){0};
    return CD_OK;
}

static acct *add(world *w, cd_addr20 addr, u64 balance, const u8 *code, usize code_n)
{
    acct *a = &w->accts[w->cnt++];
    w->src = (cd_state_source){
        .account = get_account, .storage = get_storage, .code = get_code, .block_hash = get_block_hash};
    *a = (acct){.addr = addr, .balance = balance, .nonce = code_n != 0, .code_n = code_n};
    if (code_n != 0) {
        memcpy(a->code, code, code_n);
    }
    return a;
}

static const cd_addr20 sender = {.b = {[19] = 0xee}};
static const cd_addr20 coinbase = {.b = {[0] = 1}};

/* One transaction on a fresh state of a world. */
typedef struct rig {
    world *w;
    cd_state *st;
    cd_evm *evm;
    cd_block_env env;
    cd_tx tx;
    cd_clock_virtual clock;
    cd_arena arena;
    cd_buf out;
} rig;

static rig *rig_new(world *w, const cd_addr20 *to, u64 gas, cd_bytes data)
{
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->w = w;
    r->st = cd_state_new(&w->src);
    r->evm = cd_evm_new();
    r->env = (cd_block_env){.number = 3, .time = 9, .gas_limit = 30000000, .coinbase = coinbase, .chain_id = 1};
    r->tx = (cd_tx){.type = CD_TX_DYNAMIC_FEE,
                    .is_protected = true,
                    .chain_id = 1,
                    .gas_limit = gas,
                    .to = *to,
                    .data = data,
                    .sender = sender,
                    .has_sender = true};
    cd_clock_virtual_init(&r->clock, 0);
    return r;
}

static void rig_free(rig *r)
{
    cd_evm_free(r->evm);
    cd_state_free(r->st);
    cd_arena_fini(&r->arena);
    cd_buf_fini(&r->out);
    free(r);
}

static void rig_reset(rig *r)
{
    cd_state_reset(r->st, &r->w->src);
    cd_state_clear_logs(r->st);
    cd_evm_set_block(r->evm, CD_CANCUN, CD_PROFILE_L1, &r->env, r->st, cd_precompile_eth(CD_CANCUN));
    cd_buf_clear(&r->out);
}

static cd_json parse(rig *r, cd_bytes text)
{
    cd_json v;
    cd_errinfo why = {0};
    cd_bytes kept = cd_arena_dup(&r->arena, text);
    if (cd_json_parse(&v, &r->arena, kept, 0, &why) != CD_OK) {
        fail_msg("not JSON: %s", why.msg);
    }
    return v;
}

static cd_err try_trace(rig *r, const char *options, cd_errinfo *why)
{
    cd_trace_opts opts;
    u64 pool = UINT64_MAX;
    cd_json_w w = {.out = &r->out};
    cd_trace_tx job = {.tx = &r->tx, .st = r->st, .fork = CD_CANCUN, .coinbase = coinbase};
    rig_reset(r);
    cd_json v = parse(r, cd_bytes_str(options));
    CD_TRY(cd_trace_opts_read(&opts, &r->arena, v, why));
    return cd_trace_run(&w, r->evm, &pool, &job, NULL, &opts, &r->clock.clock, why);
}

static cd_json trace(rig *r, const char *options)
{
    cd_errinfo why = {0};
    if (try_trace(r, options, &why) != CD_OK) {
        fail_msg("%s: %s", options, why.msg);
    }
    return parse(r, cd_buf_bytes(&r->out));
}

/* The result as text. */
static void expect(rig *r, const char *options, const char *want)
{
    (void)trace(r, options);
    assert_string_equal(cd_buf_cstr(&r->out), want);
}

/* --- options --- */

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        u64 ns;
    } good[] = {
        {"5s", 5 * CD_NS_PER_SEC},
        {"1m30s", 90 * CD_NS_PER_SEC},
        {"1.5ms", 1500000},
        {"0", 0},
        {"-3s", 0},
        {"+2h", 7200 * CD_NS_PER_SEC},
        {"10us", 10000},
        {"7ns", 7},
        {"3\xc2\xb5s", 3000},
    };
    static const char *const bad[] = {"", "5", "s", "5x", "1s5", ".s", "-", "99999999999h", "5 s"};
    for (usize i = 0; i < CD_COUNT(good); i++) {
        u64 ns = 1;
        assert_int_equal(cd_trace_duration(&ns, cd_bytes_str(good[i].text), NULL), CD_OK);
        assert_int_equal(ns, good[i].ns);
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_errinfo why = {0};
        u64 ns;
        assert_int_equal(cd_trace_duration(&ns, cd_bytes_str(bad[i]), &why), CD_EFORMAT);
        assert_non_null(strstr(why.msg, "time: invalid duration"));
    }
}

/* PUSH0 JUMPDEST PUSH1 1 JUMP: runs until the gas is gone. */
static const u8 endless[] = {0x5b, 0x5f, 0x56};

static void expect_error(rig *r, const char *options, cd_err code, const char *words)
{
    cd_errinfo why = {0};
    assert_int_equal(try_trace(r, options, &why), code);
    assert_string_equal(why.msg, words);
    assert_int_equal(r->out.n, 0);
}

static void test_refusals(void **state)
{
    (void)state;
    static world w;
    const cd_addr20 to = {.b = {[19] = 0xc0}};
    w.cnt = 0;
    add(&w, to, 0, endless, sizeof endless);
    rig *r = rig_new(&w, &to, 100000, (cd_bytes){0});
    expect_error(r, "{\"tracer\":\"nosuchTracer\"}", CD_ENOENT,
                 "ReferenceError: nosuchTracer is not defined at <eval>:1:2(0)");
    expect_error(r, "{\"tracer\":\"muxTracer\",\"tracerConfig\":{\"callTracer\":null,\"x\":{}}}", CD_ENOENT,
                 "ReferenceError: x is not defined at <eval>:1:2(0)");
    expect_error(r, "{\"tracer\":\"{step: function() {}}\"}", CD_EUNSUPPORTED,
                 "JavaScript tracers are not supported: name a built-in one (callTracer, "
                 "flatCallTracer, prestateTracer, 4byteTracer, muxTracer, noopTracer)");
    expect_error(r, "{\"tracer\":\"muxTracer\",\"tracerConfig\":{\"muxTracer\":{}}}", CD_EUNSUPPORTED,
                 "muxTracer: cannot hold another muxTracer");
    expect_error(r,
                 "{\"tracer\":\"prestateTracer\",\"tracerConfig\":{\"diffMode\":true,"
                 "\"includeEmpty\":true}}",
                 CD_EINVAL, "cannot use diffMode with includeEmpty");
    expect_error(r, "{\"timeout\":\"soon\"}", CD_EFORMAT, "time: invalid duration \"soon\"");
    r->tx.nonce = 5;
    expect_error(r, "{}", CD_EINVAL, "tracing failed: nonce too high");
    rig_free(r);
}

/* A clock on which every look takes a second. */
typedef struct slow_clock {
    cd_clock clock;
    u64 looks;
} slow_clock;

static u64 look(const cd_clock *c)
{
    slow_clock *s = (slow_clock *)(uintptr_t)c;
    return CD_NS_PER_SEC * ++s->looks;
}

static void test_limits(void **state)
{
    (void)state;
    static world w;
    const cd_addr20 to = {.b = {[19] = 0xc0}};
    w.cnt = 0;
    add(&w, to, 0, endless, sizeof endless);
    rig *r = rig_new(&w, &to, 1ull << 40, (cd_bytes){0}); /* would take hours */
    cd_errinfo why = {0};
    cd_trace_opts opts = {.tracer = "callTracer", .timeout_ns = 3 * CD_NS_PER_SEC};
    cd_trace_tx job = {.tx = &r->tx, .st = r->st, .fork = CD_CANCUN, .coinbase = coinbase};
    slow_clock slow = {.clock = {.mono_ns = look, .wall_ns = look}};
    cd_json_w out = {.out = &r->out};
    u64 pool = UINT64_MAX;
    rig_reset(r);
    assert_int_equal(cd_trace_run(&out, r->evm, &pool, &job, NULL, &opts, &slow.clock, &why), CD_ETIMEOUT);
    assert_string_equal(why.msg, "execution timeout");
    assert_true(slow.looks >= 4 && slow.looks < 10);
    rig_free(r);

    /* Memory of one word more at each turn: PUSH0 MSIZE MSTORE8, and again. */
    static const u8 growing[] = {0x5b, 0x60, 0x01, 0x59, 0x53, 0x5f, 0x56};
    w.cnt = 0;
    add(&w, to, 0, growing, sizeof growing);
    r = rig_new(&w, &to, 30000000, (cd_bytes){0});
    assert_int_equal(try_trace(r, "{\"enableMemory\":true,\"timeout\":\"1h\"}", &why), CD_ELIMIT);
    assert_int_equal(r->out.n, 0);
    /* The limit of steps keeps it small. */
    cd_json v = trace(r, "{\"enableMemory\":true,\"limit\":9}");
    assert_int_equal(cd_json_len(cd_json_get(v, "structLogs")), 9);
    rig_free(r);
}

/* Traces that go into one answer share what it may hold: the first fits, and so does the second alone. */
static void test_shared_limit(void **state)
{
    (void)state;
    static world w;
    const cd_addr20 to = {.b = {[19] = 0xc0}};
    w.cnt = 0;
    add(&w, to, 0, endless, sizeof endless);
    rig *r = rig_new(&w, &to, 30000, (cd_bytes){0});
    cd_errinfo why = {0};
    cd_trace_opts opts = {.timeout_ns = 3600 * CD_NS_PER_SEC};
    cd_trace_tx job = {.tx = &r->tx, .st = r->st, .fork = CD_CANCUN, .coinbase = coinbase};
    cd_json_w out = {.out = &r->out};
    u64 pool = UINT64_MAX;
    rig_reset(r);
    assert_int_equal(cd_trace_run(&out, r->evm, &pool, &job, NULL, &opts, &r->clock.clock, &why), CD_OK);
    usize one = r->out.n;
    assert_in_range(one, 10000, 10000000);
    opts.bytes_max = one + one / 2;
    for (int has_first = 0; has_first < 2; has_first++) {
        rig_reset(r);
        out = (cd_json_w){.out = &r->out};
        if (has_first) {
            cd_buf_fill(&r->out, ' ', one);
        }
        assert_int_equal(cd_trace_run(&out, r->evm, &pool, &job, NULL, &opts, &r->clock.clock, &why),
                         has_first ? CD_ELIMIT : CD_OK);
    }
    rig_free(r);
}

/* --- recorded answers --- */

/* The contracts of evm-chain/rpc-transcript-l1-*.jsonl: one that stores and logs its input, one that hands it on to the
 * first, one that reverts with "nope". */
static const u8 logger_code[] = {0x36, 0x5f, 0x5f, 0x37, 0x5f, 0x35, 0x5f, 0x55, 0x33, 0x63, 0xde,
                                 0xad, 0xbe, 0xef, 0x36, 0x5f, 0xa2, 0x60, 0x20, 0x5f, 0xf3};
static const u8 proxy_code[] = {0x36, 0x5f, 0x5f, 0x37, 0x5f, 0x5f, 0x60, 0x20, 0x5f, 0x5f, 0x73, 0x1f, 0x36,
                                0x48, 0xbc, 0x8d, 0x0a, 0x6c, 0xea, 0xb0, 0xa0, 0x5f, 0x1a, 0xe0, 0x3b, 0xc2,
                                0x56, 0xbe, 0xaf, 0x84, 0x92, 0x5a, 0xf1, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3};
static const u8 nope_code[] = {0x60,
                               0x64,
                               0x60,
                               0x0a,
                               0x5f,
                               0x39,
                               0x60,
                               0x64,
                               0x5f,
                               0xfd,
                               0x08,
                               0xc3,
                               0x79,
                               0xa0,
                               [10 + 4 + 31] = 0x20,
                               [10 + 4 + 63] = 4,
                               [10 + 4 + 64] = 'n',
                               'o',
                               'p',
                               'e',
                               [109] = 0};
static const cd_addr20 logger_addr = {.b = {0x1f, 0x36, 0x48, 0xbc, 0x8d, 0x0a, 0x6c, 0xea, 0xb0, 0xa0,
                                            0x5f, 0x1a, 0xe0, 0x3b, 0xc2, 0x56, 0xbe, 0xaf, 0x84, 0x92}};
static const cd_addr20 proxy_addr = {.b = {0xe9, 0x8b, 0x30, 0xe0, 0x7a, 0xb5, 0x66, 0x06, 0x4c, 0x38,
                                           0xc4, 0x60, 0x33, 0x62, 0xae, 0xed, 0xb3, 0xf7, 0xe7, 0x26}};

#define ELEVENS "1111111111111111111111111111111111111111111111111111111111111111"
#define ZEROS   "0000000000000000000000000000000000000000000000000000000000000000"
#define REASON                                                                                                         \
    "08c379a00000000000000000000000000000000000000000000000000000000000000020"                                         \
    "00000000000000000000000000000000000000000000000000000000000000046e6f7065"                                         \
    "00000000000000000000000000000000000000000000000000000000"

static void test_recorded(void **state)
{
    (void)state;
    static world w;
    u8 elevens[32];
    memset(elevens, 0x11, sizeof elevens);
    w.cnt = 0;
    add(&w, sender, 1000, NULL, 0);
    add(&w, logger_addr, 0, logger_code, sizeof logger_code);
    add(&w, proxy_addr, 0, proxy_code, sizeof proxy_code);
    acct *nope = add(&w, (cd_addr20){.b = {[19] = 0x99}}, 0, nope_code, sizeof nope_code);

    rig *r = rig_new(&w, &nope->addr, 100000, (cd_bytes){0});
    expect(r, "{}",
           "{\"gas\":21040,\"failed\":true,\"returnValue\":\"" REASON "\",\"structLogs\":["
           "{\"pc\":0,\"op\":\"PUSH1\",\"gas\":79000,\"gasCost\":3,\"depth\":1,\"stack\":[]},"
           "{\"pc\":2,\"op\":\"PUSH1\",\"gas\":78997,\"gasCost\":3,\"depth\":1,\"stack\":[\"0x64\"]},"
           "{\"pc\":4,\"op\":\"PUSH0\",\"gas\":78994,\"gasCost\":2,\"depth\":1,\"stack\":[\"0x64\","
           "\"0xa\"]},"
           "{\"pc\":5,\"op\":\"CODECOPY\",\"gas\":78992,\"gasCost\":27,\"depth\":1,"
           "\"stack\":[\"0x64\",\"0xa\",\"0x0\"]},"
           "{\"pc\":6,\"op\":\"PUSH1\",\"gas\":78965,\"gasCost\":3,\"depth\":1,\"stack\":[]},"
           "{\"pc\":8,\"op\":\"PUSH0\",\"gas\":78962,\"gasCost\":2,\"depth\":1,\"stack\":[\"0x64\"]},"
           "{\"pc\":9,\"op\":\"REVERT\",\"gas\":78960,\"gasCost\":0,\"depth\":1,"
           "\"stack\":[\"0x64\",\"0x0\"]}]}");
    expect(r, "{\"tracer\":\"callTracer\"}",
           "{\"from\":\"0x00000000000000000000000000000000000000ee\",\"gas\":\"0x186a0\","
           "\"gasUsed\":\"0x5230\",\"to\":\"0x0000000000000000000000000000000000000099\","
           "\"input\":\"0x\",\"output\":\"0x" REASON "\",\"error\":\"execution reverted\","
           "\"revertReason\":\"nope\",\"value\":\"0x0\",\"type\":\"CALL\"}");
    expect(r, "{\"tracer\":\"opcountTracer\"}", "7");
    expect(r, "{\"tracer\":\"unigramTracer\"}", "{\"PUSH1\":3,\"PUSH0\":2,\"CODECOPY\":1,\"REVERT\":1}");
    expect(r, "{\"tracer\":\"bigramTracer\"}",
           "{\"PUSH1-PUSH1\":1,\"PUSH1-PUSH0\":2,\"PUSH0-CODECOPY\":1,\"CODECOPY-PUSH1\":1,"
           "\"PUSH0-REVERT\":1}");
    expect(r, "{\"tracer\":\"trigramTracer\"}",
           "{\"--PUSH1\":1,\"-PUSH1-PUSH0\":1,\"PUSH1-PUSH0-CODECOPY\":1,"
           "\"PUSH0-CODECOPY-PUSH1\":1,\"CODECOPY-PUSH1-PUSH0\":1,\"PUSH1-PUSH0-REVERT\":1}");
    expect(r, "{\"tracer\":\"noopTracer\"}", "{}");
    expect(r, "{\"tracer\":\"muxTracer\"}", "{}");
    expect(r, "{\"tracer\":\"4byteTracer\"}", "{}");
    rig_free(r);

    r = rig_new(&w, &logger_addr, 200000, cd_bytes_of(elevens, 32));
    expect(r,
           "{\"disableStack\":true,\"disableStorage\":true,\"enableMemory\":true,"
           "\"enableReturnData\":true,\"limit\":5}",
           "{\"gas\":45029,\"failed\":false,\"returnValue\":\"" ELEVENS "\",\"structLogs\":["
           "{\"pc\":0,\"op\":\"CALLDATASIZE\",\"gas\":178488,\"gasCost\":2,\"depth\":1,\"memory\":[]},"
           "{\"pc\":1,\"op\":\"PUSH0\",\"gas\":178486,\"gasCost\":2,\"depth\":1,\"memory\":[]},"
           "{\"pc\":2,\"op\":\"PUSH0\",\"gas\":178484,\"gasCost\":2,\"depth\":1,\"memory\":[]},"
           "{\"pc\":3,\"op\":\"CALLDATACOPY\",\"gas\":178482,\"gasCost\":9,\"depth\":1,\"memory\":[]},"
           "{\"pc\":4,\"op\":\"PUSH0\",\"gas\":178473,\"gasCost\":2,\"depth\":1,"
           "\"memory\":[\"" ELEVENS "\"]}]}");
    cd_json v = trace(r, "{\"disableStack\":true}");
    cd_buf store = {0};
    cd_json_raw(&store, cd_json_at(cd_json_get(v, "structLogs"), 7));
    assert_string_equal(cd_buf_cstr(&store), "{\"pc\":7,\"op\":\"SSTORE\",\"gas\":178466,\"gasCost\":22100,\"depth\":1,"
                                             "\"storage\":{\"" ZEROS "\":\"" ELEVENS "\"}}");
    cd_buf_fini(&store);
    expect(r, "{\"tracer\":\"callTracer\",\"tracerConfig\":{\"withLog\":true}}",
           "{\"from\":\"0x00000000000000000000000000000000000000ee\",\"gas\":\"0x30d40\","
           "\"gasUsed\":\"0xafe5\",\"to\":\"0x1f3648bc8d0a6ceab0a05f1ae03bc256beaf8492\","
           "\"input\":\"0x" ELEVENS "\",\"output\":\"0x" ELEVENS "\",\"logs\":[{"
           "\"address\":\"0x1f3648bc8d0a6ceab0a05f1ae03bc256beaf8492\",\"topics\":["
           "\"0x00000000000000000000000000000000000000000000000000000000deadbeef\","
           "\"0x00000000000000000000000000000000000000000000000000000000000000ee\"],"
           "\"data\":\"0x" ELEVENS "\",\"index\":\"0x0\",\"position\":\"0x0\"}],"
           "\"value\":\"0x0\",\"type\":\"CALL\"}");
    expect(r, "{\"tracer\":\"prestateTracer\",\"tracerConfig\":{\"diffMode\":true}}",
           "{\"post\":{\"0x00000000000000000000000000000000000000ee\":{\"nonce\":1},"
           "\"0x1f3648bc8d0a6ceab0a05f1ae03bc256beaf8492\":{\"storage\":{\"0x" ZEROS "\":\"0x" ELEVENS
           "\"}}},\"pre\":{\"0x00000000000000000000000000000000000000ee\":{\"balance\":\"0x3e8\"},"
           "\"0x1f3648bc8d0a6ceab0a05f1ae03bc256beaf8492\":{\"balance\":\"0x0\","
           "\"code\":\"0x365f5f375f355f553363deadbeef365fa260205ff3\",\"codeHash\":"
           "\"0x5befa00aaa6f3de7f476e680a69cc0c21ae9c17fb51113f5f4b759fdc5a5f2df\",\"nonce\":1}}}");
    rig_free(r);

    r = rig_new(&w, &proxy_addr, 300000, cd_bytes_of(elevens, 32));
    expect(r, "{\"tracer\":\"4byteTracer\"}", "{\"0x11111111-28\":2}");
    expect(r, "{\"tracer\":\"opcountTracer\"}", "33");
    v = trace(r, "{\"tracer\":\"muxTracer\",\"tracerConfig\":{\"4byteTracer\":null,"
                 "\"flatCallTracer\":{}}}");
    assert_int_equal(cd_json_len(v), 2);
    assert_int_equal(cd_json_len(cd_json_get(v, "4byteTracer")), 1);
    assert_int_equal(cd_json_len(cd_json_get(v, "flatCallTracer")), 2);
    rig_free(r);
}

/* Failures in the words of the origin. */
static void test_failures(void **state)
{
    (void)state;
    static const struct {
        u8 code[16];
        u8 n;
        u32 gas;
        const char *error;
    } cases[] = {
        {{0x01}, 1, 90000, "stack underflow (0 <=> 2)"},
        {{0x5f, 0x01}, 2, 90000, "stack underflow (1 <=> 2)"},
        {{0x5b, 0x5f, 0x5f, 0x56}, 4, 90000, "stack limit reached 1024 (1023)"},
        {{0xfe}, 1, 90000, "invalid opcode: INVALID"},
        {{0xef}, 1, 90000, "invalid opcode: opcode 0xef not defined"},
        {{0x60, 0x05, 0x56}, 3, 90000, "invalid jump destination"},
        {{0x5f, 0x19, 0x51}, 3, 90000, "gas uint64 overflow"},
        {{0x65, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x51}, 8, 90000, "out of gas: gas uint64 overflow"},
        {{0x63, 0xff, 0xff, 0xff, 0xff, 0x51}, 6, 90000, "out of gas"},
        {{0x60, 0x01, 0x5f, 0x55}, 4, 23000, "out of gas: not enough gas for reentrancy sentry"},
        {{0x60, 0x01, 0x5f, 0x55}, 4, 30000, "out of gas"},
        {{0x60, 0x01, 0x5f, 0x5f, 0x3e}, 5, 90000, "return data out of bounds"},
    };
    static world w;
    const cd_addr20 to = {.b = {[19] = 0xc0}};
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        w.cnt = 0;
        add(&w, to, 0, cases[i].code, cases[i].n);
        rig *r = rig_new(&w, &to, cases[i].gas, (cd_bytes){0});
        cd_json v = trace(r, "{\"tracer\":\"callTracer\"}");
        cd_bytes error;
        assert_int_equal(cd_json_str(&error, cd_json_get(v, "error"), NULL), CD_OK);
        assert_string_equal(cd_arena_str(&r->arena, error), cases[i].error);
        rig_free(r);
    }
}

/* --- random contracts --- */

static void put(acct *a, u8 byte)
{
    assert_true(a->code_n < CODE_MAX);
    a->code[a->code_n++] = byte;
}

static void push(acct *a, u64 v)
{
    put(a, CD_OP_PUSH1 + 2);
    put(a, (u8)(v >> 16));
    put(a, (u8)(v >> 8));
    put(a, (u8)v);
}

/* One of the accounts, a precompile, or nobody yet. */
static void push_target(acct *a, cd_rng *rng, const world *w)
{
    u64 which = cd_rng_below(rng, ACCTS + 3);
    push(a, which < ACCTS ? w->accts[which].addr.b[19] : which == ACCTS ? 4 : 0x50 + which);
}

static void put_call(acct *a, cd_rng *rng, const world *w)
{
    static const u8 ops[] = {CD_OP_CALL, CD_OP_CALL, CD_OP_CALLCODE, CD_OP_DELEGATECALL, CD_OP_STATICCALL};
    u8 op = ops[cd_rng_below(rng, CD_COUNT(ops))];
    push(a, cd_rng_below(rng, 40)); /* output */
    push(a, 0);
    push(a, cd_rng_below(rng, 40)); /* input */
    push(a, 0);
    if (op == CD_OP_CALL || op == CD_OP_CALLCODE) {
        push(a, cd_rng_below(rng, 3) == 0 ? cd_rng_below(rng, 60) : 0);
    }
    push_target(a, rng, w);
    if (cd_rng_below(rng, 4) == 0) {
        push(a, cd_rng_below(rng, 60000));
    } else {
        put(a, CD_OP_GAS);
    }
    put(a, op);
    put(a, CD_OP_POP);
}

/* Init code of a few bytes, written to memory and run by CREATE or CREATE2. */
static void put_create(acct *a, cd_rng *rng)
{
    static const u8 inits[][9] = {
        {0x60, 0x07, 0x60, 0x03, 0x55, 0x60, 0x01, 0x5f, 0xf3}, /* stores, one byte of code: STOP */
        {0x60, 0x07, 0x60, 0x03, 0x55, 0x60, 0x20, 0x5f, 0xfd}, /* stores, reverts */
        {0x60, 0x07, 0x60, 0x03, 0x55, 0x33, 0xff},             /* stores, goes */
        {0x30, 0xff},                                           /* goes, in favour of itself */
        {0x5f, 0x5f, 0x5f, 0x5f, 0x60, 0x05, 0x33, 0x5a, 0xf1}, /* calls back */
        {0xfe},
    };
    const u8 *init = inits[cd_rng_below(rng, CD_COUNT(inits))];
    put(a, 0x68); /* PUSH9 */
    for (usize i = 0; i < 9; i++) {
        put(a, init[i]);
    }
    push(a, 0);
    put(a, CD_OP_MSTORE);
    bool is_two = cd_rng_below(rng, 2) == 0;
    if (is_two) {
        push(a, cd_rng_below(rng, 2)); /* salt: twice the same collides */
    }
    push(a, 9);
    push(a, 23);
    push(a, cd_rng_below(rng, 20));
    put(a, is_two ? CD_OP_CREATE2 : CD_OP_CREATE);
    put(a, CD_OP_POP);
}

static void put_action(acct *a, cd_rng *rng, const world *w)
{
    switch (cd_rng_below(rng, 8)) {
    case 0:
    case 1:
        push(a, cd_rng_below(rng, 3));
        push(a, cd_rng_below(rng, 4));
        put(a, CD_OP_SSTORE);
        break;
    case 2:
        push(a, cd_rng_below(rng, 6));
        put(a, CD_OP_SLOAD);
        put(a, CD_OP_POP);
        break;
    case 3:
        push_target(a, rng, w);
        put(a, CD_OP_BALANCE);
        put(a, CD_OP_POP);
        break;
    case 4:
        push(a, 77);
        push(a, 12);
        push(a, 3);
        put(a, CD_OP_LOG1);
        break;
    case 5:
        put_create(a, rng);
        break;
    case 6:
    case 7:
        put_call(a, rng, w);
        break;
    }
}

static void put_end(acct *a, cd_rng *rng, const world *w)
{
    switch (cd_rng_below(rng, 8)) {
    case 0:
        put(a, CD_OP_PUSH1);
        put(a, 32);
        put(a, 0x5f);
        put(a, CD_OP_REVERT);
        break;
    case 1:
        put(a, 0xfe);
        break;
    case 2:
        push_target(a, rng, w);
        put(a, CD_OP_SELFDESTRUCT);
        break;
    default:
        push(a, 8);
        push(a, 20);
        put(a, CD_OP_RETURN);
        break;
    }
}

static void make_world(world *w, cd_rng *rng)
{
    w->cnt = 0;
    for (usize i = 0; i < ACCTS; i++) {
        (void)add(w, i == 0 ? sender : (cd_addr20){.b = {[19] = (u8)(0xc0 + i)}}, cd_rng_below(rng, 100), NULL, 0);
    }
    for (usize i = 1; i + 1 < ACCTS; i++) { /* the first and the last have no code */
        acct *a = &w->accts[i];
        a->nonce = 1;
        for (u64 n = 2 + cd_rng_below(rng, 5); n != 0; n--) {
            put_action(a, rng, w);
        }
        put_end(a, rng, w);
    }
}

/* --- properties --- */

static u64 qty(cd_json v, const char *key)
{
    u64 n = 0;
    if (cd_json_qty_u64(&n, cd_json_get(v, key), NULL) != CD_OK) {
        fail_msg("no quantity %s", key);
    }
    return n;
}

static bool same(cd_json a, cd_json b)
{
    cd_buf x = {0};
    cd_buf y = {0};
    cd_json_raw(&x, a);
    cd_json_raw(&y, b);
    bool eq = cd_bytes_eq(cd_buf_bytes(&x), cd_buf_bytes(&y));
    cd_buf_fini(&x);
    cd_buf_fini(&y);
    return eq;
}

/* What a walk over the nested calls compares them with. */
typedef struct walk {
    cd_json flat;
    usize at;
    cd_json logs[4096]; /* by index */
    usize log_cnt;
} walk;

static void check_flat(const walk *k, cd_json call, cd_json flat)
{
    cd_json action = cd_json_get(flat, "action");
    cd_bytes type;
    (void)k;
    assert_int_equal(cd_json_str(&type, cd_json_get(call, "type"), NULL), CD_OK);
    assert_true(same(cd_json_get(call, "error"), cd_json_get(flat, "error")));
    if (cd_bytes_eq(type, cd_bytes_str("SELFDESTRUCT"))) {
        assert_true(same(cd_json_get(call, "from"), cd_json_get(action, "address")));
        assert_true(same(cd_json_get(call, "to"), cd_json_get(action, "refundAddress")));
        assert_true(same(cd_json_get(call, "value"), cd_json_get(action, "balance")));
        return;
    }
    assert_true(same(cd_json_get(call, "from"), cd_json_get(action, "from")));
    assert_true(same(cd_json_get(call, "gas"), cd_json_get(action, "gas")));
    bool is_create = type.p[0] == 'C' && type.p[1] == 'R';
    assert_true(same(cd_json_get(call, "input"), cd_json_get(action, is_create ? "init" : "input")));
    if (!is_create) {
        assert_true(same(cd_json_get(call, "to"), cd_json_get(action, "to")));
    }
    cd_json result = cd_json_get(flat, "result");
    if (cd_json_has(result)) {
        assert_true(same(cd_json_get(call, "gasUsed"), cd_json_get(result, "gasUsed")));
    } else {
        assert_true(cd_json_has(cd_json_get(call, "error")));
    }
}

/* flat is nested in pre-order; the calls of a call used no more gas than it; logs are where they say. */
static void walk_call(walk *k, cd_json call, bool is_dead)
{
    u64 used = qty(call, "gasUsed");
    u64 sum = 0;
    cd_json calls = cd_json_get(call, "calls");
    cd_json logs = cd_json_get(call, "logs");
    is_dead = is_dead || cd_json_has(cd_json_get(call, "error"));
    check_flat(k, call, cd_json_at(k->flat, k->at));
    u64 subtraces = 0;
    assert_int_equal(cd_json_u64(&subtraces, cd_json_get(cd_json_at(k->flat, k->at), "subtraces"), NULL), CD_OK);
    assert_int_equal(subtraces, cd_json_len(calls));
    k->at++;
    assert_true(!is_dead || !cd_json_has(logs));
    cd_json_it it = cd_json_iter(logs);
    while (cd_json_next(&it)) {
        u64 idx = qty(it.val, "index");
        assert_true(idx < CD_COUNT(k->logs));
        assert_false(cd_json_has(k->logs[idx]));
        assert_true(qty(it.val, "position") <= cd_json_len(calls));
        k->logs[idx] = it.val;
        k->log_cnt++;
    }
    it = cd_json_iter(calls);
    while (cd_json_next(&it)) {
        sum += qty(it.val, "gasUsed");
        walk_call(k, it.val, is_dead);
    }
    assert_true(sum <= used);
}

static void check_calls(rig *r)
{
    static walk k;
    k = (walk){0};
    cd_json v = trace(r, "{\"tracer\":\"muxTracer\",\"tracerConfig\":{\"callTracer\":{\"withLog\":true},"
                         "\"flatCallTracer\":{\"includePrecompiles\":true}}}");
    usize log_cnt;
    const cd_log *logs = cd_state_logs(r->st, &log_cnt);
    k.flat = cd_json_get(v, "flatCallTracer");
    walk_call(&k, cd_json_get(v, "callTracer"), false);
    assert_int_equal(k.at, cd_json_len(k.flat));
    assert_int_equal(k.log_cnt, log_cnt);
    for (usize i = 0; i < log_cnt; i++) {
        cd_addr20 addr;
        assert_int_equal(cd_json_fixed(addr.b, 20, cd_json_get(k.logs[i], "address"), NULL), CD_OK);
        assert_memory_equal(&addr, &logs[i].addr, 20);
    }
}

/* Compares the change set of the state with a diff. */
typedef struct diffs {
    rig *r;
    cd_json pre;
    cd_json post;
    usize accts; /* in the change set */
    usize slots;
} diffs;

static const char *hex_key(rig *r, const u8 *b, usize n)
{
    char *s = cd_arena_alloc(&r->arena, 2 * n + 3);
    s[0] = '0';
    s[1] = 'x';
    for (usize i = 0; i < n; i++) {
        (void)snprintf(s + 2 + 2 * i, 3, "%02x", b[i]);
    }
    return s;
}

static cd_u256 u256_or(cd_json v, const char *key, const cd_u256 *otherwise)
{
    cd_u256 n = *otherwise;
    if (cd_json_has(cd_json_get(v, key))) {
        assert_int_equal(cd_json_u256(&n, cd_json_get(v, key), NULL), CD_OK);
    }
    return n;
}

static cd_err on_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    diffs *d = ctx;
    const char *key = hex_key(d->r, a->addr.b, 20);
    cd_json pre = cd_json_get(d->pre, key);
    cd_json post = cd_json_get(d->post, key);
    const acct *was = find(&d->r->w->src, &a->addr);
    cd_u256 zero = cd_u256_zero();
    cd_u256 old = cd_u256_from_u64(was == NULL ? 0 : was->balance);
    cd_u256 old_nonce = cd_u256_from_u64(was == NULL ? 0 : was->nonce);
    (void)wiped;
    d->accts++;
    cd_u256 pre_balance = u256_or(pre, "balance", &zero);
    cd_u256 pre_nonce = u256_or(pre, "nonce", &zero);
    assert_true(cd_u256_eq(&pre_balance, &old));
    assert_true(cd_u256_eq(&pre_nonce, &old_nonce));
    if (!exists) {
        assert_false(cd_json_has(post));
        return CD_OK;
    }
    cd_u256 balance = u256_or(post, "balance", &pre_balance);
    cd_u256 nonce = u256_or(post, "nonce", &pre_nonce);
    cd_u256 want_nonce = cd_u256_from_u64(a->nonce);
    assert_true(cd_u256_eq(&balance, &a->balance));
    assert_true(cd_u256_eq(&nonce, &want_nonce));
    cd_json code_hash = cd_json_get(post, "codeHash");
    if (cd_json_has(code_hash)) {
        cd_hash32 h;
        assert_int_equal(cd_json_fixed(h.b, 32, code_hash, NULL), CD_OK);
        assert_memory_equal(&h, &a->code_hash, 32);
    }
    return CD_OK;
}

static cd_err on_slot(void *ctx, const cd_acct *a, const cd_slot *s)
{
    diffs *d = ctx;
    u8 word[32];
    cd_u256 zero = cd_u256_zero();
    cd_u256_store_be(word, &s->key);
    const char *key = hex_key(d->r, word, 32);
    const char *addr = hex_key(d->r, a->addr.b, 20);
    cd_json pre = cd_json_get(cd_json_get(d->pre, addr), "storage");
    cd_json post = cd_json_get(cd_json_get(d->post, addr), "storage");
    cd_u256 old;
    (void)get_storage(&d->r->w->src, &old, &a->addr, &s->key);
    cd_u256 was = u256_or(pre, key, &zero);
    cd_u256 now = u256_or(post, key, &zero);
    assert_true(cd_u256_eq(&was, &old));
    assert_true(cd_u256_eq(&now, &s->value));
    d->slots++;
    return CD_OK;
}

/* What the diff tells is what the state changed, no more and no less. */
static void check_diff(rig *r)
{
    cd_json v = trace(r, "{\"tracer\":\"prestateTracer\",\"tracerConfig\":{\"diffMode\":true}}");
    diffs d = {.r = r, .pre = cd_json_get(v, "pre"), .post = cd_json_get(v, "post")};
    cd_state_visitor visit = {.ctx = &d, .acct = on_acct, .slot = on_slot};
    assert_int_equal(cd_state_changes(r->st, &visit), CD_OK);
    usize told = 0;
    cd_json_it it = cd_json_iter(d.post);
    while (cd_json_next(&it)) {
        cd_json slot = cd_json_get(it.val, "storage");
        told += cd_json_len(slot);
        assert_true(cd_json_len(it.val) != 0 ||
                    cd_json_has(cd_json_get(cd_json_get(d.pre, cd_arena_str(&r->arena, it.key)), "storage")));
    }
    assert_true(told <= d.slots);
    assert_true(cd_json_len(d.post) <= d.accts);
}

/* The transfers explain every balance of the accounts that remain. */
static void check_transfers(rig *r)
{
    static cd_transfers t;
    cd_tx_result res;
    u64 pool = UINT64_MAX;
    rig_reset(r);
    cd_transfers_init(&t);
    cd_evm_set_tracer(r->evm, &t.hooks);
    assert_int_equal(cd_tx_apply(r->evm, &res, &pool, &r->tx, NULL), CD_TX_VALID);
    cd_evm_set_tracer(r->evm, NULL);
    for (usize i = 0; i < r->w->cnt; i++) {
        const acct *a = &r->w->accts[i];
        const cd_acct *now = cd_state_acct(r->st, &a->addr);
        i64 sum = (i64)a->balance;
        if (res.status == CD_EVM_OK && !cd_addr20_eq(&r->tx.to, &sender)) {
            sum -= cd_addr20_eq(&a->addr, &sender) ? (i64)r->tx.value.w[0] : 0;
            sum += cd_addr20_eq(&a->addr, &r->tx.to) ? (i64)r->tx.value.w[0] : 0;
        }
        for (usize k = 0; k < t.cnt; k++) {
            sum -= cd_addr20_eq(&t.v[k].from, &a->addr) ? (i64)t.v[k].value.w[0] : 0;
            sum += cd_addr20_eq(&t.v[k].to, &a->addr) ? (i64)t.v[k].value.w[0] : 0;
        }
        assert_int_equal(sum, now->balance.w[0]);
    }
    assert_true(res.status == CD_EVM_OK || t.cnt == 0);
    cd_transfers_fini(&t);
}

/* A traced transaction ends as an untraced one. */
static void check_same(rig *r)
{
    cd_tx_result res;
    u64 pool = UINT64_MAX;
    rig_reset(r);
    assert_int_equal(cd_tx_apply(r->evm, &res, &pool, &r->tx, NULL), CD_TX_VALID);
    u64 used = res.gas_used;
    bool failed = res.status != CD_EVM_OK;
    cd_json v = trace(r, "{\"enableMemory\":true,\"enableReturnData\":true}");
    u64 gas;
    bool has_failed;
    assert_int_equal(cd_json_u64(&gas, cd_json_get(v, "gas"), NULL), CD_OK);
    assert_int_equal(cd_json_bool(&has_failed, cd_json_get(v, "failed"), NULL), CD_OK);
    assert_int_equal(gas, used);
    assert_int_equal(has_failed, failed);
}

static u64 seed; /* of the last round, told on failure */

static void test_properties(void **state)
{
    (void)state;
    enum { ROUNDS = 400 };
    static world w;
    for (seed = 1; seed <= ROUNDS; seed++) {
        cd_rng rng = cd_rng_seeded(seed);
        make_world(&w, &rng);
        rig *r =
            rig_new(&w, &w.accts[1 + cd_rng_below(&rng, 3)].addr, 60000 + cd_rng_below(&rng, 400000), (cd_bytes){0});
        r->tx.value = cd_u256_from_u64(cd_rng_below(&rng, w.accts[0].balance + 1));
        check_same(r);
        check_calls(r);
        check_diff(r);
        check_transfers(r);
        rig_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),    cmocka_unit_test(test_refusals), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_shared_limit), cmocka_unit_test(test_recorded), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_properties),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed != 0) {
        print_message("seed %llu\n", (unsigned long long)seed);
    }
    return failed;
}
