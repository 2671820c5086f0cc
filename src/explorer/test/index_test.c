/* The index of a chain on which everything happens that it has to see, against a walk over the whole chain; taken
 * back, left alone for a while, thrown away, of another form. */
#include "chains/evmchain/core/test/fixture.h"
#include "explorer/index_priv.h"
#include "explorer/test/acts.h"
#include "explorer/test/naive.h"

#include <stdlib.h>
#include <time.h>

typedef struct rig {
    node n;
    cd_index *index; /* NULL: off */
    acts acts;
    cd_addr20 people[KEYS];
    u64 nonce[KEYS];
} rig;

static void rig_open(rig *r, cd_kv *kv, bool is_indexed)
{
    node_open_dev(&r->n, kv);
    r->index = NULL;
    if (is_indexed) {
        const cd_index_cfg cfg = {.chain = r->n.chain, .kv = kv};
        assert_int_equal(cd_index_open(&r->index, &cfg, NULL), CD_OK);
    }
}

static void rig_close(rig *r)
{
    node_close(&r->n);
    cd_index_free(r->index);
}

static void rig_init(rig *r, cd_kv *kv, bool is_indexed, u64 seed)
{
    *r = (rig){0};
    for (usize i = 0; i < KEYS; i++) {
        cd_tx probe = payment(0, 100);
        cd_buf raw = {0};
        sign(&raw, &probe, i);
        r->people[i] = probe.sender;
        cd_buf_fini(&raw);
    }
    acts_init(&r->acts, &r->people[0], seed);
    rig_open(r, kv, is_indexed);
}

/* Brings the nonces to the head's state: after going back. */
static void rig_follow(rig *r)
{
    cd_state_source *src = &r->n.src.world.src;
    follow(&r->n);
    for (usize i = 0; i < KEYS; i++) {
        cd_account acct = {0};
        bool found;
        assert_int_equal(src->account(src, &acct, &found, &r->people[i]), CD_OK);
        r->nonce[i] = acct.nonce;
    }
}

static void rig_mine(rig *r, usize txs)
{
    cd_buf data = {0};
    cd_errinfo why = {0};
    for (usize k = 0; k < txs; k++) {
        usize who = cd_rng_below(&r->acts.rng, KEYS);
        cd_tx tx = payment(r->nonce[who]++, 100);
        acts_next(&r->acts, &tx, &data, who == 0);
        if (put(&r->n, who, tx, &why) != CD_OK) {
            fail_msg("%s", why.msg);
        }
    }
    mine(&r->n, cd_chain_head(r->n.chain)->header.time + 2);
    cd_buf_fini(&data);
}

/* Waits until a view shows the whole index. */
static cd_index_state wait_whole(rig *r)
{
    cd_index_state s = {0};
    for (usize i = 0; i < 30000 && !s.is_whole; i++) {
        assert_int_equal(cd_chain_publish(r->n.chain, NULL), CD_OK);
        cd_view *v = cd_view_newest(r->n.chain);
        assert_int_equal(cd_index_state_get(r->index, &s, v), CD_OK);
        cd_view_unref(v);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_true(s.is_whole);
    return s;
}

static void check(rig *r)
{
    cd_errinfo why = {0};
    assert_int_equal(wait_whole(r).traced_from, 0);
    cd_view *v = cd_view_newest(r->n.chain);
    if (naive_check(v, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_view_unref(v);
}

static int entry_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd__ix_entry));
}

/* How many rows the entries of a block make. */
static usize groups_of(cd_bytes v)
{
    usize n = 0;
    usize cnt = v.n / sizeof(cd__ix_entry);
    cd__ix_entry *e = cd_new_array(cd__ix_entry, cnt);
    memcpy(e, v.p, v.n);
    qsort(e, cnt, sizeof *e, entry_order);
    for (usize i = 0; i < cnt; i++) {
        n += i == 0 || memcmp(e[i].b, e[i - 1].b, 21) != 0 ? 1 : 0;
    }
    cd_free(e);
    return n;
}

/* The number of rows, folded or not; those that stay when a block is taken back, and how far it is, left out. */
static usize rows(cd_kv *kv)
{
    cd_kv_iter *it = NULL;
    usize n = 0;
    assert_int_equal(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_str("x")}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_bytes v = cd_kv_iter_value(it);
        switch ((cd__ix_table)cd_kv_iter_key(it).p[1]) {
        case CD__IX_ENTRIES:
            n += groups_of(v);
            break;
        case CD__IX_GOT:
        case CD__IX_HOLDS:
        case CD__IX_HOLDERS:
        case CD__IX_IDS:
        case CD__IX_STATE:
        case CD__IX_UPTO:
            break;
        case CD__IX_TXS:
        case CD__IX_MOVES:
        case CD__IX_SAID:
        case CD__IX_INTERNALS:
        case CD__IX_BLOCK:
        case CD__IX_MADE:
        case CD__IX_FIRST:
        case CD__IX_TOKENS:
            n++;
            break;
        }
    }
    assert_int_equal(cd_kv_iter_err(it), CD_OK);
    cd_kv_iter_free(it);
    return n;
}

static void agrees_with_a_walk(void **state)
{
    (void)state;
    rig r;
    cd_kv *kv = cd_kv_mem_open();
    rig_init(&r, kv, true, 11);
    for (usize i = 0; i < 60; i++) {
        rig_mine(&r, 1 + cd_rng_below(&r.acts.rng, 5));
    }
    check(&r);
    rig_close(&r);
    cd_kv_close(kv);
}

static void goes_back(void **state)
{
    (void)state;
    rig r;
    usize at[64] = {0};
    cd_kv *kv = cd_kv_mem_open();
    rig_init(&r, kv, true, 12);
    for (usize round = 0; round < 12; round++) {
        u64 head = cd_chain_head(r.n.chain)->header.number;
        for (usize i = 0; i < 6 && head + i < 60; i++) {
            at[head + i] = rows(kv);
            rig_mine(&r, 1 + cd_rng_below(&r.acts.rng, 3));
        }
        head = cd_chain_head(r.n.chain)->header.number;
        u64 to = cd_rng_below(&r.acts.rng, head);
        assert_int_equal(cd_chain_truncate(r.n.chain, cd_world_version_of(to), NULL), CD_OK);
        rig_follow(&r);
        assert_int_equal(rows(kv), at[to]);
        check(&r);
    }
    rig_close(&r);
    cd_kv_close(kv);
}

/* Blocks come in while nobody indexes; a chain that is taken back meanwhile; a form that is not ours. */
static void catches_up(void **state)
{
    (void)state;
    rig r;
    cd_kv *kv = cd_kv_mem_open();
    rig_init(&r, kv, false, 13);
    for (usize round = 0; round < 6; round++) {
        for (usize i = 0; i < 8; i++) {
            rig_mine(&r, 1 + cd_rng_below(&r.acts.rng, 3));
        }
        cd_header_wish wish = {.time = cd_chain_head(r.n.chain)->header.time + 1};
        assert_int_equal(cd_chain_mine_empty(r.n.chain, 90, 1, &wish, NULL), CD_OK);
        if (round % 3 == 2) {
            u64 to = cd_rng_below(&r.acts.rng, cd_chain_head(r.n.chain)->header.number);
            assert_int_equal(cd_chain_truncate(r.n.chain, cd_world_version_of(to), NULL), CD_OK);
            rig_follow(&r);
        }
        if (round == 5) {
            assert_int_equal(cd_kv_put(kv, cd_bytes_str("xs"), cd_bytes_str("other")), CD_OK);
        }
        rig_close(&r);
        rig_open(&r, kv, true);
        rig_mine(&r, 2); /* while the thread is at work */
        check(&r);
        rig_mine(&r, 2);
        check(&r);
        rig_close(&r);
        rig_open(&r, kv, false);
    }
    rig_close(&r);
    cd_kv_close(kv);
}

/* Rows that are gone are not missed by anybody, so an operator may ask for all of them again. */
static void is_made_anew(void **state)
{
    (void)state;
    rig r;
    cd_kv *kv = cd_kv_mem_open();
    cd_kv_iter *it = NULL;
    cd_kv_batch batch = {0};
    rig_init(&r, kv, true, 16);
    for (usize i = 0; i < 20; i++) {
        rig_mine(&r, 2);
    }
    check(&r);
    rig_close(&r);
    assert_int_equal(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_str("x")}), CD_OK);
    while (cd_kv_iter_next(it)) {
        if (cd_kv_iter_key(it).n > 2) { /* what says how far the index is stays */
            cd_kv_batch_del(&batch, cd_kv_iter_key(it));
        }
    }
    cd_kv_iter_free(it);
    assert_true(batch.cnt > 20);
    assert_int_equal(cd_kv_commit(kv, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&batch);
    node_open_dev(&r.n, kv);
    const cd_index_cfg cfg = {.chain = r.n.chain, .kv = kv, .is_anew = true};
    assert_int_equal(cd_index_open(&r.index, &cfg, NULL), CD_OK);
    rig_mine(&r, 2);
    check(&r);
    rig_close(&r);
    cd_kv_close(kv);
}

/* The chain goes back while the thread is writing. */
static void goes_back_while_catching_up(void **state)
{
    (void)state;
    rig r;
    cd_kv *kv = cd_kv_mem_open();
    rig_init(&r, kv, false, 14);
    for (usize round = 0; round < 4; round++) {
        for (usize i = 0; i < 30; i++) {
            rig_mine(&r, 1 + cd_rng_below(&r.acts.rng, 3));
        }
        rig_close(&r);
        rig_open(&r, kv, true);
        for (usize i = 0; i < 3; i++) {
            u64 head = cd_chain_head(r.n.chain)->header.number;
            u64 to = head - cd_rng_below(&r.acts.rng, 6);
            assert_int_equal(cd_chain_truncate(r.n.chain, cd_world_version_of(to), NULL), CD_OK);
            rig_follow(&r);
            rig_mine(&r, 2);
        }
        check(&r);
        rig_close(&r);
        rig_open(&r, kv, false);
        u64 head = cd_chain_head(r.n.chain)->header.number;
        assert_int_equal(cd_chain_truncate(r.n.chain, cd_world_version_of(head / 3), NULL), CD_OK);
        rig_follow(&r);
    }
    rig_close(&r);
    cd_kv_close(kv);
}

/* Without the old state nothing is traced, and the index says from where on it is. */
static void tells_what_was_not_traced(void **state)
{
    (void)state;
    rig r;
    cd_kv *kv = cd_kv_mem_open();
    rig_init(&r, kv, false, 15);
    rig_close(&r);
    node_open(&r.n, kv);
    for (usize i = 0; i < 50; i++) {
        rig_mine(&r, 2);
    }
    const cd_index_cfg cfg = {.chain = r.n.chain, .kv = kv};
    assert_int_equal(cd_index_open(&r.index, &cfg, NULL), CD_OK);
    assert_in_range(wait_whole(&r).traced_from, 10, 20);
    rig_close(&r);
    cd_kv_close(kv);
}

static void reads_places(void **state)
{
    (void)state;
    static const char *const bad[] = {"",          "1",        "1.2.3",
                                      "1.2.3.4.5", "1.2.3.",   ".1.2.3",
                                      "1.2.3.-4",  "01.2.3.4", "1.2.3.4294967296",
                                      "1..3.4",    "1.2.3.4 ", "18446744073709551616.0.0.0"};
    char text[CD_INDEX_AT_SIZE];
    cd_index_at at = {UINT64_MAX, 1, UINT32_MAX, 0};
    cd_index_at back;
    cd_index_at_fmt(text, &at);
    assert_string_equal(text, "18446744073709551615.1.4294967295.0");
    assert_int_equal(cd_index_at_parse(&back, cd_bytes_str(text)), CD_OK);
    assert_true(naive_at_eq(&at, &back));
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_index_at_parse(&back, cd_bytes_str(bad[i])), CD_EFORMAT);
    }
}

/* Logs that look like movements and are none. */
static void refuses_odd_logs(void **state)
{
    (void)state;
    u8 data[256] = {0};
    cd_log log = {.topic_cnt = 3, .data = {data, 32}};
    acts a = {.rng = cd_rng_seeded(1)};
    assert_int_equal(cd_hex_parse(log.topics[0].b, cd_bytes_str(acts_events[0])), CD_OK);
    assert_int_equal(cd_token_moves_cnt(&log), 1);
    log.topics[1].b[0] = 1;
    assert_int_equal(cd_token_moves_cnt(&log), 0);
    log.topics[1].b[0] = 0;
    log.data.n = 31;
    assert_int_equal(cd_token_moves_cnt(&log), 0);
    log.topic_cnt = 4;
    assert_int_equal(cd_token_moves_cnt(&log), 0);
    assert_int_equal(cd_hex_parse(log.topics[0].b, cd_bytes_str(acts_events[2])), CD_OK);
    for (usize i = 0; i < 100000; i++) {
        cd_rng_fill(&a.rng, data, sizeof data);
        for (usize w = 0; w < 8; w++) {
            u64 small = cd_rng_below(&a.rng, 2) == 0 ? 32 * cd_rng_below(&a.rng, 9) : cd_rng_below(&a.rng, 300);
            memset(data + 32 * w, 0, cd_rng_below(&a.rng, 8) == 0 ? 8 : 24);
            cd_put_be64(data + 32 * w + 24, cd_rng_below(&a.rng, 2) == 0 ? small / 32 : small);
        }
        log.data = cd_bytes_of(data, cd_rng_below(&a.rng, sizeof data + 1));
        u32 cnt = cd_token_moves_cnt(&log);
        for (u32 k = 0; k < cnt; k++) {
            cd_token_move m;
            cd_token_moves_get(&m, &log, k);
        }
        assert_true(cnt <= 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_walk),
        cmocka_unit_test(goes_back),
        cmocka_unit_test(catches_up),
        cmocka_unit_test(is_made_anew),
        cmocka_unit_test(goes_back_while_catching_up),
        cmocka_unit_test(tells_what_was_not_traced),
        cmocka_unit_test(reads_places),
        cmocka_unit_test(refuses_odd_logs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
