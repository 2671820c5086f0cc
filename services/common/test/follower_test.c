/* The blocks of a node that this test plays: each once and in order, whatever the node does. */
#include "services/common/follower.h"

#include "services/common/test/node_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct rig {
    cd_loop *loop;
    cd_http_client *http;
    cd_ws_hub *hub;
    cd_upstream up;
    node_rig node;
    cd_follower *f;
    cd_timer *tick;
    u32 wants;
    u64 last;          /* block that was given last */
    u64 runs, singles; /* how blocks came */
    u32 replaced, behind, trouble, pending;
    u32 refuses; /* so many blocks are refused by check */
    bool keeps;  /* blocks are not given back */
    bool is_final_only;
    cd_follower_block *kept[16];
    u32 kept_cnt;
    bool (*is_there)(struct rig *r);
    u64 want;
    u32 waited;
} rig;

static u32 on_wants(void *ctx)
{
    return ((rig *)ctx)->wants;
}

static cd_err on_check(void *ctx, cd_follower_block *b, cd_errinfo *why)
{
    rig *r = ctx;
    cd_json block = b->got.block;
    assert_true(cd_json_has(cd_json_get(block, "transactions")));
    assert_int_equal(cd_json_len(b->got.receipts), cd_json_len(cd_json_get(block, "transactions")));
    assert_int_equal(cd_json_has(b->got.traces), (r->wants & CD_FOLLOWER_TRACES) != 0 && !r->node.no_traces);
    if (r->refuses != 0) {
        r->refuses--;
        return cd_fail(why, CD_EFORMAT, "as told");
    }
    b->parsed = r;
    return CD_OK;
}

static void on_block(void *ctx, cd_follower_block *b)
{
    rig *r = ctx;
    bool is_run = b->hashes != NULL;
    assert_true(r->last == 0 || b->first == r->last + 1);
    assert_true(is_run ? b->first <= b->number : b->first == b->number);
    cd_hash32 hash = node_hash(&r->node, b->number);
    cd_hash32 parent = node_hash(&r->node, b->first - 1);
    assert_memory_equal(b->hash.b, hash.b, 32);
    assert_memory_equal(b->parent.b, parent.b, 32);
    if (is_run) {
        assert_memory_equal(b->hashes[b->hashes_cnt - 1].b, hash.b, 32);
        assert_true(b->number <= r->node.empty_to);
    } else {
        assert_ptr_equal(b->parsed, r);
    }
    r->runs += is_run;
    r->singles += !is_run;
    r->last = b->number;
    if (r->keeps) {
        r->kept[r->kept_cnt++] = b;
    } else {
        cd_follower_done(r->f, b);
    }
}

static void on_pending(void *ctx, cd_json tx)
{
    rig *r = ctx;
    assert_true(cd_json_has(cd_json_get(tx, "hash")));
    r->pending++;
}

static void on_replaced(void *ctx)
{
    ((rig *)ctx)->replaced++;
}

static void on_behind(void *ctx)
{
    ((rig *)ctx)->behind++;
}

static void on_trouble(void *ctx, const char *reason)
{
    assert_true(reason != NULL && reason[0] != '\0');
    ((rig *)ctx)->trouble++;
}

static void follow(rig *r, bool with_ws, u32 confirmations, u64 cursor)
{
    static const cd_follower_events events = {
        .wants = on_wants,
        .check = on_check,
        .block = on_block,
        .pending = on_pending,
        .replaced = on_replaced,
        .behind = on_behind,
        .trouble = on_trouble,
    };
    const cd_follower_cfg cfg = {
        .node = &r->up,
        .hub = r->hub,
        .ws_url = with_ws ? r->node.ws_url : NULL,
        .confirmations = confirmations,
        .is_final_only = r->is_final_only,
        .poll_ms = 5,
        .trace_depth = 64,
        .has_cursor = cursor != 0,
        .cursor = cursor,
        .cursor_hash = cursor != 0 ? node_hash(&r->node, cursor) : (cd_hash32){{0}},
    };
    r->last = cursor;
    assert_int_equal(cd_follower_new(&r->f, r->loop, &cfg, &events, r, NULL), CD_OK);
}

static void on_tick(void *ctx)
{
    rig *r = ctx;
    if (r->is_there(r)) {
        cd_loop_stop(r->loop);
    } else if (++r->waited > 20000) {
        fail_msg("waited in vain: last block %llu", (unsigned long long)r->last);
    }
}

static void until(rig *r, bool (*is_there)(rig *r))
{
    r->is_there = is_there;
    r->waited = 0;
    cd_timer_start(r->tick, 0, 1);
    cd_loop_run(r->loop);
    cd_timer_stop(r->tick);
}

static bool has_last(rig *r)
{
    return r->last == r->want;
}

static void wait_block(rig *r, u64 number)
{
    r->want = number;
    until(r, has_last);
}

/* `want` requests were answered. */
static bool has_asked(rig *r)
{
    return r->node.requests >= r->want;
}

static bool is_pushed(rig *r)
{
    return cd_follower_look(r->f).is_pushed;
}

static bool is_not_pushed(rig *r)
{
    return !cd_follower_look(r->f).is_pushed;
}

static int set_up(void **state)
{
    static rig r;
    r = (rig){0};
    assert_int_equal(cd_loop_new(&r.loop, NULL), CD_OK);
    assert_int_equal(cd_http_client_new(&r.http, r.loop, &(cd_http_client_cfg){0}, NULL), CD_OK);
    r.hub = cd_ws_hub_new(r.loop, NULL);
    r.tick = cd_timer_new(r.loop, on_tick, &r);
    node_open(&r.node, r.loop, 20);
    r.up = (cd_upstream){.http = r.http, .url = r.node.http_url};
    *state = &r;
    return 0;
}

static int tear_down(void **state)
{
    rig *r = *state;
    if (r->f != NULL) {
        cd_follower_stop(r->f);
        cd_follower_free(r->f);
    }
    cd_follower_free(NULL);
    node_close(&r->node);
    cd_http_client_free(r->http);
    cd_ws_hub_free(r->hub);
    cd_timer_free(r->tick);
    cd_loop_free(r->loop);
    return 0;
}

/* Asked for over HTTP: from the cursor on, then as they come, but never within the confirmations. */
static void test_asked(void **state)
{
    rig *r = *state;
    follow(r, false, 2, 10);
    wait_block(r, 18);
    cd_follower_state st = cd_follower_look(r->f);
    assert_int_equal(st.head, 20);
    assert_int_equal(st.given, 18);
    assert_true(st.is_heard && !st.is_pushed && !st.is_behind && !st.is_stopped);
    r->node.head = 25;
    wait_block(r, 23);
    assert_int_equal(r->singles, 13);
}

static bool has_trouble(rig *r)
{
    return r->trouble >= r->want;
}

/* Blocks are given when they are final, also where heads are pushed; finality never leads back. */
static void test_final(void **state)
{
    rig *r = *state;
    r->is_final_only = true;
    r->node.final = 12;
    follow(r, true, 0, 10);
    until(r, is_pushed);
    wait_block(r, 12);
    cd_follower_state st = cd_follower_look(r->f);
    assert_int_equal(st.limit, 12);
    assert_int_equal(st.given, 12);
    node_mine(&r->node, 30);
    r->node.final = 15;
    wait_block(r, 15);
    r->node.final = 3;
    r->node.no_final = true; /* it does not answer that any more */
    r->want = r->trouble + 3;
    until(r, has_trouble);
    assert_int_equal(r->last, 15);
    r->node.no_final = false;
    r->want = r->node.requests + 20;
    until(r, has_asked);
    assert_int_equal(cd_follower_look(r->f).limit, 15);
    r->node.final = 30;
    wait_block(r, 30);
    assert_int_equal(r->runs, 0);
}

/* Without a cursor the final block is the first, and far behind they come by the hundred as well. */
static void test_final_first(void **state)
{
    rig *r = *state;
    r->is_final_only = true;
    r->node.final = 7;
    follow(r, false, 0, 0);
    wait_block(r, 7);
    assert_int_equal(r->singles, 1);
    r->node.head = r->node.empty_to = 900;
    r->node.final = 800;
    wait_block(r, 800);
    assert_true(r->runs != 0);
}

/* Without a cursor the head is the first. */
static void test_head(void **state)
{
    rig *r = *state;
    follow(r, false, 0, 0);
    wait_block(r, 20);
    assert_int_equal(r->singles, 1);
}

static bool is_pending_on(rig *r)
{
    return r->node.pending_on;
}

static bool is_pending_off(rig *r)
{
    return !r->node.pending_on;
}

static bool has_pending(rig *r)
{
    return r->pending == r->want;
}

/* Pushed over a WebSocket, which is opened anew when it was cut; the mempool as long as somebody wants it. */
static void test_pushed(void **state)
{
    rig *r = *state;
    follow(r, true, 0, 19);
    until(r, is_pushed);
    wait_block(r, 20);
    node_mine(&r->node, 21);
    wait_block(r, 21);
    node_mine(&r->node, 24); /* 22 and 23 were not told of */
    wait_block(r, 24);
    r->wants = CD_FOLLOWER_PENDING;
    cd_follower_update(r->f);
    cd_follower_update(NULL);
    until(r, is_pending_on);
    node_pend(&r->node, 1);
    node_pend(&r->node, 2);
    r->want = 2;
    until(r, has_pending);
    r->wants = 0;
    cd_follower_update(r->f);
    until(r, is_pending_off);
    node_cut(&r->node);
    until(r, is_not_pushed);
    node_mine(&r->node, 26); /* nobody hears it */
    until(r, is_pushed);
    wait_block(r, 26);
}

/* A node that tells hashes alone is asked for the transactions. */
static void test_pending_hashes(void **state)
{
    rig *r = *state;
    r->node.tells_hashes = true;
    r->wants = CD_FOLLOWER_PENDING;
    follow(r, true, 0, 20);
    until(r, is_pending_on);
    node_pend(&r->node, 3);
    r->want = 1;
    until(r, has_pending);
}

/* What fails is asked for again; what the owner refuses too; a node without eth_getBlockReceipts or traces serves. */
static void test_faults(void **state)
{
    rig *r = *state;
    r->wants = CD_FOLLOWER_TRACES;
    r->node.failing = 3;
    r->refuses = 2;
    follow(r, false, 0, 10);
    wait_block(r, 20);
    assert_int_equal(r->singles, 10);
    assert_true(r->trouble >= 2);
    assert_true(r->node.traces >= 10);
    r->node.no_receipts = r->node.no_traces = true;
    r->node.head = 24;
    wait_block(r, 24);
    assert_true(r->up.no_receipts && r->up.no_traces);
}

/* Far behind, blocks without transactions come as runs, those with some on their own, and all of them in order. */
static void test_runs(void **state)
{
    rig *r = *state;
    r->node.head = 3500;
    r->node.empty_to = 3400;
    r->node.batch_max = 100; /* more are refused: fewer are asked for */
    follow(r, false, 0, 10);
    wait_block(r, 3500);
    assert_true(r->runs > 0);
    assert_true(r->singles >= 103 && r->singles < 1000);
}

/* No more than CD_FOLLOWER_AHEAD blocks are with the owner, and none is given before its turn. */
static void test_back_pressure(void **state)
{
    rig *r = *state;
    r->keeps = true;
    follow(r, false, 0, 1);
    wait_block(r, 1 + CD_FOLLOWER_AHEAD);
    r->node.head = 21;
    r->want = r->node.requests + 3; /* the head is asked for again and again, blocks are not */
    until(r, has_asked);
    assert_int_equal(r->kept_cnt, CD_FOLLOWER_AHEAD);
    r->keeps = false;
    for (u32 i = 0; i < r->kept_cnt; i++) {
        cd_follower_done(r->f, r->kept[i]);
    }
    wait_block(r, 21);
}

static bool is_replaced(rig *r)
{
    return r->replaced != 0;
}

/* Blocks of another chain are not given: neither a successor that builds on another block, nor behind a cursor that the
 * node does not know. */
static void test_replaced(void **state)
{
    rig *r = *state;
    follow(r, false, 0, 15);
    wait_block(r, 20);
    r->node.fork_at = 19;
    r->node.head = 22;
    until(r, is_replaced);
    assert_int_equal(r->last, 20);
    assert_true(cd_follower_look(r->f).is_stopped);
    assert_int_equal(r->replaced, 1);
}

static bool is_behind(rig *r)
{
    return r->behind != 0;
}

static void test_behind(void **state)
{
    rig *r = *state;
    follow(r, false, 0, 20);
    r->node.head = 5;
    until(r, is_behind);
    assert_true(cd_follower_look(r->f).is_behind);
    r->node.head = 21;
    wait_block(r, 21);
    assert_false(cd_follower_look(r->f).is_behind);
}

/* --- calls --- */

typedef struct asked {
    rig *r;
    u32 ends;
    cd_err err;
    cd_answer answers[2];
} asked;

static void on_answer(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    asked *a = ctx;
    a->ends++;
    a->err = err;
    if (err == CD_OK) {
        a->answers[0] = answers[0];
        a->answers[1] = answers[1];
    } else {
        assert_non_null(reason);
        assert_null(strstr(reason, a->r->up.url));
    }
    cd_loop_stop(a->r->loop);
}

static void test_calls(void **state)
{
    rig *r = *state;
    cd_arena mem = {0};
    asked a = {.r = r};
    u64 n = 0;
    const cd_ask asks[] = {{"eth_blockNumber", "[]"}, {"debug_traceBlockByNumber", "[\"0x1\"]"}};
    r->node.no_traces = true;
    (void)!cd_call_new(&r->up, &mem, asks, 2, 0, on_answer, &a);
    cd_loop_run(r->loop);
    assert_int_equal(a.err, CD_OK);
    assert_int_equal(cd_json_qty_u64(&n, a.answers[0].result, NULL), CD_OK);
    assert_int_equal(n, 20);
    assert_false(cd_answer_is_unknown(&a.answers[0]));
    assert_true(a.answers[1].is_error && cd_answer_is_unknown(&a.answers[1]));
    r->node.failing = 1;
    (void)!cd_call_new(&r->up, &mem, asks, 2, 0, on_answer, &a);
    cd_loop_run(r->loop);
    assert_int_not_equal(a.err, CD_OK);
    cd_call *c = cd_call_new(&r->up, &mem, asks, 2, 0, on_answer, &a);
    cd_call_cancel(c);
    cd_call_cancel(NULL);
    (void)!cd_call_new(&r->up, &mem, asks, 2, 0, on_answer, &a);
    cd_loop_run(r->loop);
    assert_int_equal(a.ends, 3);
    cd_arena_fini(&mem);
}

typedef struct fetched {
    rig *r;
    cd_err err;
} fetched;

static void on_fetched(void *ctx, cd_err err, const char *reason)
{
    fetched *f = ctx;
    (void)reason;
    f->err = err;
    cd_loop_stop(f->r->loop);
}

/* A block by its number or its hash; one that is not there yet is said to be missing; one with another's receipts is
 * refused. */
static void test_fetches(void **state)
{
    rig *r = *state;
    fetched f = {.r = r};
    cd_hash32 hash = node_hash(&r->node, 7);
    const struct {
        u64 number;
        const cd_hash32 *hash;
        cd_err err;
    } table[] = {{7, NULL, CD_OK}, {7, &hash, CD_OK}, {99, NULL, CD_ENOENT}};
    for (usize i = 0; i < CD_COUNT(table); i++) {
        cd_fetched got = {0};
        (void)!cd_fetch_new(&r->up, &got, table[i].number, table[i].hash, 32, on_fetched, &f);
        cd_loop_run(r->loop);
        assert_int_equal(f.err, table[i].err);
        assert_int_equal(cd_json_len(got.receipts), table[i].err == CD_OK ? 1 : 0);
        cd_arena_fini(&got.mem);
    }
    cd_fetched got = {0};
    cd_fetch *fetch = cd_fetch_new(&r->up, &got, 7, NULL, 0, on_fetched, &f);
    cd_fetch_cancel(fetch);
    cd_fetch_cancel(NULL);
    cd_arena_fini(&got.mem);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_asked),         TEST(test_final),          TEST(test_final_first), TEST(test_head),
        TEST(test_pushed),        TEST(test_pending_hashes), TEST(test_faults),      TEST(test_runs),
        TEST(test_back_pressure), TEST(test_replaced),       TEST(test_behind),      TEST(test_calls),
        TEST(test_fetches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
