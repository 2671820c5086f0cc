/* Messages as the original's code writes them (coreth v0.15.3), both ways, and what is no message. */
#include "base/hex.h"
#include "chains/evmchain/sync/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Hashes that count upwards from 1, 2, 64 and 128. */
#define H1   "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
#define H2   "02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021"
#define H64  "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
#define H128 "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"

static cd_arena arena;

static cd_bytes hex(const char *text)
{
    cd_bytes out;
    u8 *room = cd_arena_alloc(&arena, strlen(text) / 2);
    assert_int_equal(cd_hex_parse(room, cd_bytes_str(text)), CD_OK);
    out = cd_bytes_of(room, strlen(text) / 2);
    return out;
}

static cd_hash32 hash(u8 from)
{
    cd_hash32 h;
    for (u8 i = 0; i < 32; i++) {
        h.b[i] = (u8)(from + i);
    }
    return h;
}

static int teardown(void **state)
{
    (void)state;
    cd_arena_fini(&arena);
    arena = (cd_arena){0};
    return 0;
}

/* Parses text and writes it again. */
static cd_sync_ask ask_of(cd_sync_family family, const char *text)
{
    cd_sync_ask ask;
    cd_errinfo why = {0};
    cd_bytes in = hex(text);
    cd_buf out = {0};
    if (cd_sync_ask_parse(&ask, &arena, family, in, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_sync_ask_put(&out, family, &ask);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), in));
    cd_buf_fini(&out);
    return ask;
}

static void questions(void **state)
{
    (void)state;
    const cd_hash32 h1 = hash(1);
    const cd_hash32 h2 = hash(2);
    const cd_hash32 h64 = hash(64);
    const cd_hash32 h128 = hash(128);
    cd_sync_ask ask = ask_of(CD_SYNC_C, "000000000003" H1 "0000000000004000"
                                        "0040");
    assert_int_equal(ask.kind, CD_SYNC_BLOCKS);
    assert_memory_equal(&ask.blocks.hash, &h1, 32);
    assert_int_equal(ask.blocks.height, 16384);
    assert_int_equal(ask.blocks.cnt, 64);
    ask = ask_of(CD_SYNC_C, "000000000005" H1 H64 "00000020" H128 "00000000"
                            "0400"
                            "01");
    assert_int_equal(ask.kind, CD_SYNC_LEAFS);
    assert_memory_equal(&ask.leafs.root, &h1, 32);
    assert_memory_equal(&ask.leafs.account, &h64, 32);
    assert_true(cd_bytes_eq(ask.leafs.start, cd_bytes_of(h128.b, 32)));
    assert_int_equal(ask.leafs.end.n, 0);
    assert_int_equal(ask.leafs.limit, 1024);
    assert_int_equal(ask.leafs.of, CD_SYNC_OF_STATE);
    ask = ask_of(CD_SYNC_C, "000000000007"
                            "00000002" H1 H2);
    assert_int_equal(ask.kind, CD_SYNC_CODE);
    assert_int_equal(ask.code.hashes.cnt, 2);
    assert_memory_equal((const cd_hash32 *)ask.code.hashes.v + 1, &h2, 32);
    /* The L1 family's have other numbers, and its leafs are the state's. */
    ask = ask_of(CD_SYNC_L1, "000000000004" H1 H64 "00000000"
                             "00000020" H128 "0001");
    assert_int_equal(ask.kind, CD_SYNC_LEAFS);
    assert_int_equal(ask.leafs.end.n, 32);
    assert_int_equal(ask.leafs.of, CD_SYNC_OF_STATE);
    assert_int_equal(ask_of(CD_SYNC_L1, "000000000002" H1 "0000000000000001"
                                        "0001")
                         .kind,
                     CD_SYNC_BLOCKS);
    assert_int_equal(ask_of(CD_SYNC_L1, "000000000006"
                                        "00000000")
                         .kind,
                     CD_SYNC_CODE);
}

static void no_questions(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "0000",
        "000100000003" H1 "0000000000004000"
        "0040",                       /* version */
        "000000000004" H1 "00000000", /* the type of an answer */
        "000000000008"
        "00000000",
        "000000000003" H1 "0000000000004000"
        "00", /* short */
        "000000000003" H1 "0000000000004000"
        "004000", /* long */
        "000000000007"
        "ffffffff" H1, /* more hashes than bytes */
        "000000000005" H1 H64 "ffffffff" H128 "00000000"
        "0400"
        "01",
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_sync_ask ask;
        assert_int_not_equal(cd_sync_ask_parse(&ask, &arena, CD_SYNC_C, hex(bad[i]), NULL), CD_OK);
    }
}

static void answers(void **state)
{
    (void)state;
    cd_sync_leafs leafs = {.keys = {0}};
    cd_sync_items items = {{0}};
    cd_buf out = {0};
    cd_bytes in = hex("0000"
                      "0000000200000001010000000102"
                      "000000020000000203030000000104"
                      "000000010000000105");
    assert_int_equal(cd_linear_parse(&leafs, &cd_sync_leafs_table, &arena, in, CD_SYNC_MESSAGE_MAX, NULL), CD_OK);
    assert_int_equal(leafs.keys.cnt, 2);
    assert_true(cd_bytes_eq(((cd_bytes *)leafs.values.v)[0], hex("0303")));
    assert_true(cd_bytes_eq(((cd_bytes *)leafs.proof.v)[0], hex("05")));
    cd_linear_put(&out, &cd_sync_leafs_table, &leafs);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), in));
    cd_buf_clear(&out);
    in = hex("0000"
             "00000002"
             "00000001fe"
             "00000000");
    assert_int_equal(cd_linear_parse(&items, &cd_sync_items_table, &arena, in, CD_SYNC_MESSAGE_MAX, NULL), CD_OK);
    assert_int_equal(items.items.cnt, 2);
    cd_linear_put(&out, &cd_sync_items_table, &items);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), in));
    cd_buf_fini(&out);
}

static void check_summary(cd_sync_family family, const char *text, const char *id_text)
{
    const cd_hash32 h1 = hash(1);
    const cd_hash32 h64 = hash(64);
    const cd_hash32 h128 = family == CD_SYNC_C ? hash(128) : (cd_hash32){{0}};
    cd_sync_summary s;
    cd_hash32 id;
    cd_buf out = {0};
    cd_bytes in = hex(text);
    assert_int_equal(cd_sync_summary_parse(&s, &id, family, in, NULL), CD_OK);
    assert_int_equal(s.height, 16384);
    assert_memory_equal(&s.hash, &h1, 32);
    assert_memory_equal(&s.root, &h64, 32);
    assert_memory_equal(&s.atomic_root, &h128, 32);
    assert_memory_equal(&id, hex(id_text).p, 32);
    cd_sync_summary_put(&out, family, &s);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), in));
    cd_buf_fini(&out);
    assert_int_not_equal(cd_sync_summary_parse(&s, &id, family, cd_bytes_of(in.p, in.n - 1), NULL), CD_OK);
}

static void the_summaries(void **state)
{
    (void)state;
    check_summary(CD_SYNC_C,
                  "0000"
                  "0000000000004000" H1 H64 H128,
                  "cf7aa3393273a90afb270808119c5492b95c9747f0a422e79f2326a32deb4403");
    check_summary(CD_SYNC_L1,
                  "0000"
                  "0000000000004000" H1 H64,
                  "0c39fd928dde3c64e93edaccf156fd9c76c06f97537bf48b109e5cb36bb0647f");
    cd_sync_summary s;
    /* Neither family reads the other's. */
    assert_int_not_equal(cd_sync_summary_parse(&s, NULL, CD_SYNC_L1,
                                               hex("0000"
                                                   "0000000000004000" H1 H64 H128),
                                               NULL),
                         CD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(questions, teardown),
        cmocka_unit_test_teardown(no_questions, teardown),
        cmocka_unit_test_teardown(answers, teardown),
        cmocka_unit_test_teardown(the_summaries, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
