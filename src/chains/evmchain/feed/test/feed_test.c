/* Cursors and cuts, the log index and the matching against looking at everything. [spec:architecture#8] */
#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "chains/evmchain/core/dev/cuts.h"
#include "chains/evmchain/feed/cursor.h"
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/feed/log_index.h"
#include "chains/evmchain/feed/match.h"
#include "chains/evmchain/feed/test/criteria.h"
#include "rpc/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- cursors --- */

static void cursor_text(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "0",
                                      "0.1.2",
                                      "0.1.2.",
                                      "0.1.2.3.4",
                                      "00.1.2.3",
                                      "0.1.2.x",
                                      "0.-1.2.3",
                                      "0.1.4294967296.3",
                                      " 0.1.2.3",
                                      "18446744073709551616.1.2.3"};
    static const char max[] = "18446744073709551615.18446744073709551615.4294967295.4294967295";
    cd_cursor c;
    char text[CD_CURSOR_TEXT_SIZE];
    assert_int_equal(cd_cursor_parse(&c, cd_bytes_str("7.12.0.3")), CD_OK);
    assert_true(c.epoch == 7 && c.height == 12 && c.tx == 0 && c.item == 3);
    assert_int_equal(cd_cursor_parse(&c, cd_bytes_str(max)), CD_OK);
    cd_cursor_fmt(text, &c);
    assert_string_equal(text, max);
    assert_true(sizeof max - 1 <= CD_RPC_CURSOR_MAX);
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_cursor_parse(&c, cd_bytes_str(bad[i])), CD_EFORMAT);
    }
}

static void cuts(void **state)
{
    (void)state;
    enum { EPOCHS = 200 };
    cd_kv *kv = cd_kv_mem_open();
    cd_rng rng = cd_rng_seeded(5);
    u64 heights[EPOCHS + 1];
    u64 height;
    assert_int_equal(cd_cut_since(kv, &height, 0), CD_ENOENT);
    for (u64 e = 1; e <= EPOCHS; e++) {
        cd_kv_batch batch = {0};
        heights[e] = cd_rng_below(&rng, 50);
        assert_int_equal(cd_cut_put(&batch, kv, e, heights[e]), CD_OK);
        assert_int_equal(cd_kv_commit(kv, &batch, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&batch);
        for (u64 since = 0; since < e; since++) {
            u64 least = UINT64_MAX;
            for (u64 i = since + 1; i <= e; i++) {
                least = cd_min_u64(least, heights[i]);
            }
            assert_int_equal(cd_cut_since(kv, &height, since), CD_OK);
            assert_int_equal(height, least);
        }
        assert_int_equal(cd_cut_since(kv, &height, e), CD_ENOENT);
    }
    cd_kv_close(kv);
}

/* --- criteria, matching, index --- */

static void random_log(cd_rng *rng, cd_log *log, cd_hash32 topics[CD_LOG_TOPICS_MAX])
{
    *log = (cd_log){.addr = addr_names[cd_rng_below(rng, NAMES)]};
    log->topic_cnt = (u32)cd_rng_below(rng, CD_LOG_TOPICS_MAX + 1);
    for (u32 i = 0; i < log->topic_cnt; i++) {
        topics[i] = topic_names[cd_rng_below(rng, NAMES)];
    }
    memcpy(log->topics, topics, log->topic_cnt * sizeof *topics);
}

/* Values ascend, as those that were read do. */
static void random_criteria(cd_rng *rng, cd_log_criteria *c)
{
    *c = (cd_log_criteria){.topic_cnt = cd_rng_below(rng, 4)};
    usize first = cd_rng_below(rng, NAMES);
    if (cd_rng_below(rng, 2) == 0) {
        c->addrs = &addr_names[first];
        c->addr_cnt = cd_rng_below(rng, NAMES - first) + 1;
    }
    for (usize i = 0; i < c->topic_cnt; i++) {
        first = cd_rng_below(rng, NAMES);
        c->topics[i].values = &topic_names[first];
        c->topics[i].cnt = cd_rng_below(rng, NAMES - first + 1);
    }
}

typedef struct counted {
    cd__match_row row; /* first */
    cd_log_criteria want;
    usize found;
    bool is_in;
} counted;

static void on_found(void *ctx, cd__match_row *row)
{
    (void)ctx;
    ((counted *)(void *)row)->found++;
}

static void matching(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    cd_rng rng = cd_rng_seeded(11);
    counted *rows = cd_new_array(counted, ROWS);
    cd__match m;
    name_values();
    cd__match_init(&m);
    for (usize i = 0; i < ROWS; i++) {
        random_criteria(&rng, &rows[i].want);
        rows[i].row.want = &rows[i].want;
    }
    for (usize round = 0; round < 2000; round++) {
        counted *r = &rows[cd_rng_below(&rng, ROWS)];
        if (r->is_in) {
            cd__match_del(&m, &r->row);
        } else {
            cd__match_add(&m, &r->row);
        }
        r->is_in = !r->is_in;
        cd_log log;
        cd_hash32 topics[CD_LOG_TOPICS_MAX];
        random_log(&rng, &log, topics);
        cd__match_log(&m, &log, on_found, NULL);
        for (usize i = 0; i < ROWS; i++) {
            assert_int_equal(rows[i].found, rows[i].is_in && fits(&rows[i].want, &log));
            rows[i].found = 0;
        }
    }
    for (usize i = 0; i < ROWS; i++) {
        if (rows[i].is_in) {
            cd__match_del(&m, &rows[i].row);
        }
    }
    cd__match_fini(&m);
    cd_free(rows);
}

/* Blocks of one transaction with some logs each. */
enum { HEIGHTS = 400, LOGS = 3 };
typedef struct logs_of {
    cd_log logs[LOGS];
    usize cnt;
} logs_of;

static bool has_fitting(const logs_of *b, const cd_log_criteria *want)
{
    bool any = false;
    for (usize i = 0; i < b->cnt; i++) {
        any = any || fits(want, &b->logs[i]);
    }
    return any;
}

static void put_postings(cd_kv *kv, const logs_of *b, u64 height, bool is_del)
{
    cd_kv_batch batch = {0};
    cd_tx tx = {0};
    cd_block block = {.header = {.number = height}, .txs = &tx, .tx_cnt = 1};
    cd_receipt receipt = {.logs = b->logs, .log_cnt = b->cnt};
    cd_chain_entry entry = {.block = &block, .receipts = &receipt};
    (is_del ? cd_log_index.del : cd_log_index.put)(NULL, &batch, &entry);
    assert_int_equal(cd_kv_commit(kv, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&batch);
}

static void index_finds(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(3);
    cd_kv *kv = cd_kv_mem_open();
    logs_of *blocks = cd_new_array(logs_of, HEIGHTS);
    name_values();
    for (u64 h = 0; h < HEIGHTS; h++) {
        cd_hash32 topics[CD_LOG_TOPICS_MAX];
        blocks[h].cnt = cd_rng_below(&rng, 3) == 0 ? cd_rng_below(&rng, LOGS + 1) : 0;
        for (usize i = 0; i < blocks[h].cnt; i++) {
            random_log(&rng, &blocks[h].logs[i], topics);
        }
        put_postings(kv, &blocks[h], h, false);
    }
    for (usize round = 0; round < 500; round++) {
        cd_log_criteria want;
        u64 heights[20];
        usize cnt;
        u64 known;
        u64 from = cd_rng_below(&rng, HEIGHTS);
        u64 to = from + cd_rng_below(&rng, HEIGHTS - from);
        random_criteria(&rng, &want);
        want.addrs = addr_names;
        want.addr_cnt = want.addr_cnt == 0 ? 1 : want.addr_cnt;
        for (u64 at = from; at <= to; at = known + 1) {
            assert_int_equal(cd_log_index_find(kv, heights, &cnt, &known, &want, at, to, 20), CD_OK);
            assert_true(known >= at && known <= to);
            usize i = 0;
            for (u64 h = at; h <= known; h++) {
                bool is_found = i < cnt && heights[i] == h;
                i += is_found;
                assert_true(is_found || !has_fitting(&blocks[h], &want));
            }
            assert_int_equal(i, cnt);
        }
    }
    for (u64 h = 0; h < HEIGHTS; h++) {
        put_postings(kv, &blocks[h], h, true);
    }
    cd_kv_iter *it;
    assert_int_equal(cd_kv_iter_new(&it, kv, &(cd_kv_range){0}), CD_OK);
    assert_false(cd_kv_iter_next(it)); /* nothing is left */
    cd_kv_iter_free(it);
    cd_free(blocks);
    cd_kv_close(kv);
}

/* --- what is shown --- */

static bool has_member(const cd_buf *json, const char *name)
{
    cd_arena mem = {0};
    cd_json doc;
    assert_int_equal(cd_json_parse(&doc, &mem, cd_buf_bytes(json), 0, NULL), CD_OK);
    bool has = cd_json_has(cd_json_get(doc, name));
    cd_arena_fini(&mem);
    return has;
}

/* Fields that not every block has are shown where it has them, and only there; a header alone has no lists. */
static void members(void **state)
{
    (void)state;
    static const struct {
        u32 bit;
        const char *name;
    } rows[] = {
        {CD_HEADER_BASE_FEE, "baseFeePerGas"},           {CD_HEADER_BLOB_GAS_USED, "blobGasUsed"},
        {CD_HEADER_EXCESS_BLOB_GAS, "excessBlobGas"},    {CD_HEADER_BEACON_ROOT, "parentBeaconBlockRoot"},
        {CD_HEADER_WITHDRAWALS_ROOT, "withdrawalsRoot"},
    };
    static const char *const lists[] = {"transactions", "uncles", "size", "withdrawals"};
    const cd_chain_rules rules = {.layout = CD_HEADER_ETHEREUM};
    cd_withdrawal one = {.index = 1};
    for (u32 mask = 0; mask < 1u << CD_COUNT(rows); mask++) {
        cd_buf whole = {0};
        cd_buf head = {0};
        cd_block b = {.header.number = 7, .has_withdrawals = true, .withdrawals = &one, .withdrawal_cnt = 1};
        for (usize i = 0; i < CD_COUNT(rows); i++) {
            b.header.has |= (mask >> i & 1) != 0 ? rows[i].bit : 0;
        }
        cd_api_block(&(cd_json_w){.out = &whole}, &b, &rules, 500, false);
        cd_api_header(&(cd_json_w){.out = &head}, &b, &rules);
        for (usize i = 0; i < CD_COUNT(rows); i++) {
            assert_int_equal(has_member(&whole, rows[i].name), mask >> i & 1);
            assert_int_equal(has_member(&head, rows[i].name), mask >> i & 1);
        }
        for (usize i = 0; i < CD_COUNT(lists); i++) {
            bool is_there = i != 3 || (b.header.has & CD_HEADER_WITHDRAWALS_ROOT) != 0;
            assert_int_equal(has_member(&whole, lists[i]), is_there);
            assert_false(has_member(&head, lists[i]));
        }
        cd_buf_fini(&whole);
        cd_buf_fini(&head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_text), cmocka_unit_test(cuts),    cmocka_unit_test(matching),
        cmocka_unit_test(index_finds), cmocka_unit_test(members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
