#include "lab/blocktest.h"
#include "lab/mapstate.h"
#include "lab/run.h"
#include "lab/statetest.h"
#include "lab/t8n.h"

#include "base/hex.h"
#include "base/os/fileio.h"
#include "codec/json.h"
#include "codec/rlp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* --- mapstate --- */

static const char alloc[] =
    "{\"0x00000000000000000000000000000000000000aa\":{\"balance\":\"5\",\"storage\":{\"2\":\"0x7\","
    "\"1\":\"0x9\",\"0x03\":\"0\"}},\"0x00000000000000000000000000000000000000bb\":{\"nonce\":1,"
    "\"code\":\"0x6001\"}}";

static cd_mapstate *from_text(cd_arena *a, cd_trie_build *b, const char *text)
{
    cd_json v;
    const cd_genesis_account *acc;
    usize cnt;
    assert_int_equal(cd_json_parse(&v, a, cd_bytes_str(text), 0, NULL), CD_OK);
    assert_int_equal(cd_genesis_alloc_parse(&acc, &cnt, a, v, NULL), CD_OK);
    return cd_mapstate_new(a, b, acc, cnt);
}

static void test_mapstate(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    cd_mapstate *empty = from_text(&a, b, "{}");
    assert_true(cd_hash32_eq(&empty->root, &CD_HASH_EMPTY_TRIE));
    cd_mapstate *m = from_text(&a, b, alloc);
    const cd_map_account *acc = cd_mapstate_find(m, &(cd_addr20){.b = {[19] = 0xaa}});
    assert_non_null(acc);
    assert_int_equal(acc->slot_cnt, 2);
    assert_null(cd_mapstate_find(m, &(cd_addr20){.b = {[19] = 0xac}}));

    /* Changes lead to the same state as a document that has them. */
    cd_state *st = cd_state_new(&m->src);
    cd_acct *aa = cd_state_acct(st, &acc->addr);
    cd_acct *cc = cd_state_acct(st, &(cd_addr20){.b = {[19] = 0xcc}});
    cd_u256 seven = cd_u256_from_u64(7);
    cd_u256 zero = cd_u256_zero();
    cd_u256 key1 = cd_u256_from_u64(1);
    cd_u256 key9 = cd_u256_from_u64(9);
    cd_state_begin_tx(st);
    cd_state_add_balance(st, cc, &seven);
    cd_state_set_code(st, cc, cd_bytes_of("\x60\x02", 2));
    cd_state_set_slot(st, cd_state_slot(st, aa, &key1), &zero);
    cd_state_set_slot(st, cd_state_slot(st, aa, &key9), &seven);
    cd_state_end_tx(st, true);
    cd_mapstate *next;
    assert_int_equal(cd_mapstate_next(&next, &a, b, m, st), CD_OK);
    cd_mapstate *want = from_text(&a, b,
                                  "{\"00000000000000000000000000000000000000aa\":{\"balance\":\"5\",\"storage\":{\"2\":"
                                  "\"0x7\","
                                  "\"9\":\"0x7\"}},\"00000000000000000000000000000000000000bb\":{\"nonce\":1,\"code\":"
                                  "\"0x6001\"},"
                                  "\"00000000000000000000000000000000000000cc\":{\"balance\":7,\"code\":\"0x6002\"}}");
    assert_true(cd_hash32_eq(&next->root, &want->root));
    assert_false(cd_hash32_eq(&next->root, &m->root));
    /* The old state is as it was. */
    assert_int_equal(cd_mapstate_find(m, &acc->addr)->slot_cnt, 2);
    cd_state_free(st);
    cd_trie_build_free(b);
    cd_arena_fini(&a);
}

/* --- runners on bad files --- */

static void collect(void *ctx, cd_bytes lines)
{
    cd_buf_put(ctx, lines);
}

static cd_tally run_text(cd_suite *s, cd_buf *out, const char *text)
{
    cd_tally t = {0};
    void *worker = s->worker_new(s->cfg);
    s->file(worker, &t, out, "test.json", cd_bytes_str(text));
    s->worker_free(worker);
    return t;
}

static const char *const bad_tests[] = {
    "",
    "[]",
    "{\"t\":1}",
    "{\"t\":{}}",
    "{\"t\":{\"transaction\":{},\"post\":{}}}",
    "{\"t\":{\"transaction\":{},\"post\":{\"Cancun\":[{}]},\"pre\":{},\"env\":{}}}",
    "{\"t\":{\"transaction\":{},\"post\":{\"Nowhere\":[{}]},\"pre\":{},\"env\":{}}}",
    "{\"t\":{\"transaction\":{\"nonce\":\"0x0\",\"gasPrice\":\"0x1\",\"gasLimit\":[\"0x1\"],"
    "\"data\":[\"0x\"],"
    "\"value\":[\"0x0\"],\"to\":\"\",\"sender\":\"0x00\"},\"post\":{\"Cancun\":[{\"indexes\":{"
    "\"data\":0,"
    "\"gas\":99,\"value\":0}}]},\"pre\":{},\"env\":{}}}",
    "{\"t\":{\"network\":\"Cancun\"}}",
    "{\"t\":{\"network\":\"ToAt\"}}",
    "{\"t\":{\"network\":\"Cancun\",\"genesisRLP\":\"0xc0\"}}",
};

static void test_bad_files(void **state)
{
    (void)state;
    cd_statetest_cfg scfg = {.json = true};
    cd_blocktest_cfg bcfg = {.json = true};
    cd_suite states = {0};
    cd_suite blocks = {0};
    cd_statetest_suite(&states, &scfg);
    cd_blocktest_suite(&blocks, &bcfg);
    for (usize i = 0; i < CD_COUNT(bad_tests); i++) {
        cd_buf out = {0};
        cd_tally t = run_text(&blocks, &out, bad_tests[i]);
        assert_int_equal(t.passed, 0);
        assert_true(t.failed > 0);
        cd_buf_clear(&out);
        t = run_text(&states, &out, bad_tests[i]);
        assert_int_equal(t.passed, 0);
        if (i != 4) { /* an empty set of posts is no case at all */
            assert_true(t.failed > 0);
            cd_arena a = {0};
            cd_json line;
            cd_bytes why;
            assert_int_equal(cd_json_parse(&line, &a, cd_buf_bytes(&out), 0, NULL), CD_OK);
            assert_int_equal(cd_json_str(&why, cd_json_get(line, "error"), NULL), CD_OK);
            assert_true(why.n != 0);
            cd_arena_fini(&a);
        }
        cd_buf_fini(&out);
    }
}

/* --- suite --- */

static void *no_worker(const void *cfg)
{
    return (void *)(usize)cfg;
}
static void no_free(void *worker)
{
    (void)worker;
}

static void echo_file(void *worker, cd_tally *tally, cd_buf *out, const char *path, cd_bytes text)
{
    (void)worker;
    (void)path;
    tally->passed++;
    cd_buf_put(out, text);
}

static void test_suite_order(void **state)
{
    (void)state;
    char dir[] = "/tmp/cd_lab_XXXXXX";
    assert_non_null(mkdtemp(dir));
    cd_arena a = {0};
    for (const char *c = "abcdefghij"; *c != '\0'; c++) {
        const char *path = cd_arena_fmt(&a, "%s/%c.json", dir, *c);
        assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_of(c, 1), 0600, NULL), CD_OK);
    }
    const char *skip = cd_arena_fmt(&a, "%s/skip.txt", dir);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), skip, cd_bytes_str("b.json\n\n# x\nj.json \n"), 0600, NULL),
                     CD_OK);
    const char *const paths[] = {dir};
    for (u32 jobs = 1; jobs <= 3; jobs++) {
        cd_buf out = {0};
        cd_tally total = {0};
        cd_suite s = {
            .paths = paths,
            .path_cnt = 1,
            .skip_list = skip,
            .jobs = jobs,
            .cfg = dir,
            .worker_new = no_worker,
            .worker_free = no_free,
            .file = echo_file,
            .sink = collect,
            .sink_ctx = &out,
        };
        assert_int_equal(cd_suite_run(&total, &s, NULL), CD_OK);
        assert_int_equal(total.passed, 8);
        assert_string_equal(cd_buf_cstr(&out), "acdefghi");
        cd_buf_fini(&out);
    }
    const char *const absent[] = {"/nonexistent/folder"};
    cd_suite s = {.paths = absent, .path_cnt = 1};
    cd_tally total = {0};
    assert_int_equal(cd_suite_run(&total, &s, NULL), CD_ENOENT);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), dir, NULL), CD_OK);
    cd_arena_fini(&a);
}

/* --- run and t8n --- */

static void run_line(cd_buf *out, cd_lab_run_cfg *cfg, const char *code)
{
    cd_arena a = {0};
    cd_buf_clear(out);
    assert_int_equal(cd_hex_parse_prefixed(&cfg->code, &a, cd_bytes_str(code)), CD_OK);
    assert_int_equal(cd_lab_run(out, cfg, NULL), CD_OK);
    cd_arena_fini(&a);
}

static void test_run(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_lab_run_cfg cfg = {.fork = CD_CANCUN, .gas = 100000, .receiver = {{1}}, .sender = {{2}}};
    /* 1 + 2 returned as a word */
    run_line(&out, &cfg, "600160020160005260206000f3");
    assert_non_null(strstr(cd_buf_cstr(&out), "\"status\":\"ok\",\"gasUsed\":\"0x18\",\"output\":\"0x"
                                              "0000000000000000000000000000000000000000000000000000"
                                              "000000000003\""));
    cfg.trace = true;
    run_line(&out, &cfg, "60016000fd");
    assert_non_null(strstr(cd_buf_cstr(&out), "\"opName\":\"REVERT\",\"error\":\"execution reverted\"}"));
    assert_non_null(strstr(cd_buf_cstr(&out), "\"status\":\"execution reverted\""));
    /* init code that deploys one byte */
    cfg.trace = false;
    cfg.is_create = true;
    run_line(&out, &cfg, "60fe60005360016000f3");
    assert_non_null(strstr(cd_buf_cstr(&out), "\"status\":\"ok\""));
    cd_buf_fini(&out);
}

static void test_t8n(void **state)
{
    (void)state;
    cd_errinfo why = {0};
    cd_t8n_out out = {0};
    cd_t8n_cfg cfg = {
        .alloc = cd_bytes_str("{\"0xa94f5374fce5edbc8e2a8697c15331677e6ebf0b\":{\"balance\":\"0xde0b6b3a7640000\"}}"),
        .env = cd_bytes_str("{\"currentCoinbase\":\"0x00000000000000000000000000000000000000cc\","
                            "\"currentNumber\":\"1\",\"currentTimestamp\":\"1000\",\"currentGasLimit\":"
                            "\"0x1000000\",\"currentRandom\":\"0x0\",\"currentBaseFee\":\"0x7\","
                            "\"withdrawals\":[],\"parentBeaconBlockRoot\":\"0x0000000000000000000000000000"
                            "000000000000000000000000000000000000\"}"),
        .txs = cd_bytes_str("[{\"gas\":\"0x5208\",\"gasPrice\":\"0x10\",\"input\":\"0x\",\"nonce\":\"0x0\","
                            "\"to\":\"0x1111111111111111111111111111111111111111\",\"value\":\"0x1\",\"v\":"
                            "\"0x0\",\"r\":\"0x0\",\"s\":\"0x0\",\"secretKey\":\"0x45a915e4d060149eb4365960e6a7"
                            "a45f334393093061116b197e3240065ff2d8\"},"
                            "{\"gas\":\"0x5208\",\"gasPrice\":\"0x10\",\"input\":\"0x\",\"nonce\":\"0x7\","
                            "\"to\":\"0x1111111111111111111111111111111111111111\",\"value\":\"0x1\",\"v\":"
                            "\"0x0\",\"r\":\"0x0\",\"s\":\"0x0\",\"secretKey\":\"0x45a915e4d060149eb4365960e6a7"
                            "a45f334393093061116b197e3240065ff2d8\"}]"),
        .fork = CD_CANCUN,
        .chain_id = 1,
    };
    assert_int_equal(cd_t8n_run(&out, &cfg, &why), CD_OK);
    assert_string_equal(why.msg, "");
    assert_non_null(strstr(cd_buf_cstr(&out.result), "\"rejected\":[{\"index\":1,\"error\":\"nonce too high"));
    assert_non_null(strstr(cd_buf_cstr(&out.result), "\"gasUsed\":\"0x5208\""));
    assert_non_null(
        strstr(cd_buf_cstr(&out.alloc), "\"0x1111111111111111111111111111111111111111\":{\"balance\":\"0x1\"}"));
    /* coinbase: 21000 * (16 - 7) */
    assert_non_null(
        strstr(cd_buf_cstr(&out.alloc), "\"0x00000000000000000000000000000000000000cc\":{\"balance\":\"0x2e248\"}"));
    assert_int_equal(cd_rlp_check(cd_buf_bytes(&out.body)), CD_OK);
    cd_t8n_out_fini(&out);
    /* The complaint names what a fork needs and the environment lacks. */
    cfg.env = cd_bytes_str("{\"currentCoinbase\":\"0x00000000000000000000000000000000000000cc\","
                           "\"currentNumber\":\"1\",\"currentTimestamp\":\"1000\",\"currentGasLimit\":"
                           "\"0x1000000\",\"currentRandom\":\"0x0\",\"currentBaseFee\":\"0x7\"}");
    assert_int_equal(cd_t8n_run(&out, &cfg, &why), CD_EINVAL);
    assert_string_equal(why.msg, "this fork needs 'withdrawals' in the environment");
    cd_t8n_out_fini(&out);
}

/* Prague: the parent's hash goes to its contract (EIP-2935); requests are refused in words. */
#define PAYMENT(nonce)                                                                                                 \
    "{\"gas\":\"0x5208\",\"gasPrice\":\"0x10\",\"input\":\"0x\",\"nonce\":\"" nonce                                    \
    "\",\"to\":\"0x1111111111111111111111111111111111111111\",\"value\":\"0x1\",\"v\":\"0x0\",\"r\":\"0x0\",\"s\":"    \
    "\"0x0\","                                                                                                         \
    "\"secretKey\":\"0x45a915e4d060149eb4365960e6a7a45f334393093061116b197e3240065ff2d8\"}"

/* Gives the value of the nth member of that name, which has the length of a hash. */
static void member(char out[67], cd_buf *json, const char *name, u32 nth)
{
    const char *at = cd_buf_cstr(json);
    for (u32 i = 0; i <= nth; i++) {
        at = strstr(at, name);
        assert_non_null(at);
        at += strlen(name);
    }
    memcpy(out, at, 66);
    out[66] = '\0';
}

/* Until Byzantium a receipt has the root of the state behind its transaction; later it has none. */
static void test_t8n_roots(void **state)
{
    (void)state;
    static const cd_fork forks[] = {CD_FRONTIER, CD_HOMESTEAD, CD_TANGERINE, CD_SPURIOUS};
    cd_errinfo why = {0};
    cd_t8n_cfg cfg = {
        .alloc = cd_bytes_str("{\"0xa94f5374fce5edbc8e2a8697c15331677e6ebf0b\":{\"balance\":\"0xde0b6b3a7640000\"}}"),
        .env = cd_bytes_str(
            "{\"currentCoinbase\":\"0x00000000000000000000000000000000000000cc\",\"currentNumber\":\"1\","
            "\"currentTimestamp\":\"1000\",\"currentGasLimit\":\"0x1000000\",\"currentDifficulty\":\"1\"}"),
        .chain_id = 1,
    };
    for (usize i = 0; i < CD_COUNT(forks); i++) {
        cd_t8n_out one = {0};
        cd_t8n_out two = {0};
        char want[67];
        char got[67];
        cfg.fork = forks[i];
        cfg.txs = cd_bytes_str("[" PAYMENT("0x0") "]");
        assert_int_equal(cd_t8n_run(&one, &cfg, &why), CD_OK);
        cfg.txs = cd_bytes_str("[" PAYMENT("0x0") "," PAYMENT("0x1") "]");
        assert_int_equal(cd_t8n_run(&two, &cfg, &why), CD_OK);
        member(want, &one.result, "\"stateRoot\":\"", 0);
        member(got, &two.result, "\"root\":\"", 0);
        assert_string_equal(got, want);
        member(want, &two.result, "\"stateRoot\":\"", 0);
        member(got, &two.result, "\"root\":\"", 1);
        assert_string_equal(got, want);
        cd_t8n_out_fini(&one);
        cd_t8n_out_fini(&two);
    }
    cd_t8n_out out = {0};
    cfg.fork = CD_BYZANTIUM;
    assert_int_equal(cd_t8n_run(&out, &cfg, &why), CD_OK);
    assert_non_null(strstr(cd_buf_cstr(&out.result), "\"root\":\"0x\""));
    cd_t8n_out_fini(&out);
}

static void test_t8n_prague(void **state)
{
    (void)state;
    cd_errinfo why = {0};
    cd_t8n_out out = {0};
    cd_t8n_cfg cfg = {
        /* slot 0 = the input */
        .alloc = cd_bytes_str("{\"0x0000f90827f1c53a10cb7a02335b175320002935\":{\"balance\":\"0x0\","
                              "\"nonce\":\"0x1\",\"code\":\"0x6000356000550000\"}}"),
        .env = cd_bytes_str("{\"currentCoinbase\":\"0x00000000000000000000000000000000000000cc\","
                            "\"currentNumber\":\"5\",\"currentTimestamp\":\"1000\",\"currentGasLimit\":"
                            "\"0x1000000\",\"currentRandom\":\"0x0\",\"currentBaseFee\":\"0x7\","
                            "\"blockHashes\":{\"4\":"
                            "\"0x0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e"
                            "1f20\"},\"withdrawals\":[],\"parentBeaconBlockRoot\":\"0x00000000000000000000000000000"
                            "00000000000000000000000000000000000\"}"),
        .txs = cd_bytes_str("[]"),
        .fork = CD_PRAGUE,
        .chain_id = 1,
    };
    assert_int_equal(cd_t8n_run(&out, &cfg, &why), CD_OK);
    assert_non_null(
        strstr(cd_buf_cstr(&out.alloc), "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"));
    assert_non_null(strstr(cd_buf_cstr(&out.result),
                           "\"requestsHash\":\"0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca4"
                           "95991b7852b855\",\"requests\":[]"));
    cd_t8n_out_fini(&out);
    out = (cd_t8n_out){0};
    cfg.fork = CD_CANCUN;
    assert_int_equal(cd_t8n_run(&out, &cfg, &why), CD_OK);
    assert_null(strstr(cd_buf_cstr(&out.alloc), "0102030405060708"));
    cd_t8n_out_fini(&out);
    out = (cd_t8n_out){0};
    cfg.fork = CD_PRAGUE;
    cfg.alloc = cd_bytes_str("{\"0x00000961ef480eb55e80d19ad83579a64c007002\":{\"balance\":\"0x0\","
                             "\"nonce\":\"0x1\",\"code\":\"0x00\"}}");
    assert_int_equal(cd_t8n_run(&out, &cfg, &why), CD_EUNSUPPORTED);
    assert_string_equal(why.msg, "blocks with requests (EIP-7685) are not supported: contract "
                                 "0x00000961Ef480Eb55e80D19ad83579A64c007002");
    cd_t8n_out_fini(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mapstate),   cmocka_unit_test(test_bad_files), cmocka_unit_test(test_suite_order),
        cmocka_unit_test(test_run),        cmocka_unit_test(test_t8n),       cmocka_unit_test(test_t8n_roots),
        cmocka_unit_test(test_t8n_prague),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
