/* A chain into the ledger: nothing is missed or told twice, whatever happens to the node, the connection or the service
 * itself. The node is played, the store is real. */
#include "services/webhook/core/chain/intake.h"

#include "base/os/fileio.h"
#include "services/common/test/node_rig.h"
#include "services/webhook/core/chain/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct rig {
    char dir[64], url[128];
    const char *worker;
    cd_loop *loop;
    cd_http_client *http;
    cd_ws_hub *hub;
    cd_metrics *metrics;
    cd_jobs *db;
    cd_wh_intake *in;
    node_rig node;
    cd_timer *tick;
    bool (*is_there)(struct rig *r);
    u64 waited;
    usize made;
    u64 want;
    bool no_ws;
    u32 confirmations;
    bool is_final;
    bool is_dev;
    const char *settings; /* of webhooks; NULL: none */
    cd_wh_preview preview;
    cd_wh_compared compared;
    bool is_compared;
    char body[1024];
    bool is_previewed;
} rig;

static cd_wh_store_cfg store_cfg(rig *r)
{
    static const u8 key[32] = {7};
    return (cd_wh_store_cfg){.url = r->url, .worker = r->worker, .master_key = key, .clock = cd_clock_real()};
}

static void on_made(void *ctx, const cd_wh_delivery *rows, usize cnt)
{
    (void)rows;
    ((rig *)ctx)->made += cnt;
}

static void on_due(void *ctx)
{
    (void)ctx;
}

/* --- the service, that may be restarted --- */

static void start(rig *r)
{
    const cd_wh_store_cfg store = store_cfg(r);
    cd_errinfo why = {0};
    assert_int_equal(cd_wh_db_open(&r->db, r->loop, &store, r->metrics, &why), CD_OK);
    const cd_wh_intake_cfg cfg = {
        .db = r->db,
        .http = r->http,
        .hub = r->hub,
        .clock = cd_clock_real(),
        .metrics = r->metrics,
        .chain = {.name = "lux", .symbol = "LUX", .id = 96369, .is_final = r->is_final},
        .http_url = r->node.http_url,
        .ws_url = r->no_ws ? NULL : r->node.ws_url,
        .confirmations = r->confirmations,
        .is_dev = r->is_dev,
        .poll_ms = 20,
        .ctx = r,
        .made = on_made,
        .due = on_due,
    };
    assert_int_equal(cd_wh_intake_new(&r->in, r->loop, &cfg, &why), CD_OK);
}

static void end(rig *r)
{
    cd_wh_intake_stop(r->in);
    cd_jobs_close(r->db);
    cd_wh_intake_free(r->in);
    r->in = NULL;
}

static void rig_open(rig *r, u64 head)
{
    *r = (rig){.worker = "one"};
    memcpy(r->dir, "/tmp/cd_intake_XXXXXX", 22);
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(r->url, sizeof r->url, "sqlite:%s/store.db", r->dir);
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    const cd_http_client_cfg http = {0};
    assert_int_equal(cd_http_client_new(&r->http, r->loop, &http, NULL), CD_OK);
    r->hub = cd_ws_hub_new(r->loop, NULL);
    r->metrics = cd_metrics_new("webhook");
    node_open(&r->node, r->loop, head);
}

static void rig_close(rig *r)
{
    end(r);
    node_close(&r->node);
    cd_http_client_free(r->http);
    cd_ws_hub_free(r->hub);
    cd_metrics_free(r->metrics);
    cd_timer_free(r->tick);
    cd_loop_free(r->loop);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), r->dir, NULL), CD_OK);
}

static void on_tick(void *ctx)
{
    rig *r = ctx;
    r->waited += 2;
    if (r->is_there(r)) {
        cd_loop_stop(r->loop);
    } else if (r->waited > 20000) {
        fail_msg("waited in vain");
    }
}

/* Lets everything run until something is so. */
static void until(rig *r, bool (*is_there)(rig *r))
{
    r->is_there = is_there;
    r->waited = 0;
    if (r->tick == NULL) {
        r->tick = cd_timer_new(r->loop, on_tick, r);
    }
    cd_timer_start(r->tick, 0, 2);
    cd_loop_run(r->loop);
    cd_timer_stop(r->tick);
}

static bool is_written(rig *r)
{
    cd_wh_intake_state st = cd_wh_intake_look(r->in);
    return st.height == r->want && st.fills == 0;
}

static void wait_height(rig *r, u64 height)
{
    r->want = height;
    until(r, is_written);
}

static bool is_pushed(rig *r)
{
    return cd_wh_intake_look(r->in).node.is_pushed;
}

static bool is_stopped(rig *r)
{
    return cd_wh_intake_look(r->in).node.is_stopped;
}

static bool is_pending_on(rig *r)
{
    return r->node.pending_on;
}

static bool is_pending_off(rig *r)
{
    return !r->node.pending_on;
}

static bool is_ready(rig *r)
{
    return cd_wh_intake_look(r->in).is_ready;
}

static bool is_made(rig *r)
{
    return r->made >= r->want;
}

/* --- the store, looked at from outside --- */

typedef struct job {
    cd_job base;
    rig *r;
    cd_arena *mem;
    cd_wh_hook hook;
    u64 from_block;
    cd_wh_delivery *rows;
    usize cnt;
} job;

static cd_err add_run(cd_job *base, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    job *j = (job *)(void *)base;
    const cd_wh_project p = {.id = "p", .name = "p", .tier = "enterprise", .email = "", .face = j->hook.face};
    CD_TRY(cd_wh_project_put(s, &p, why));
    CD_TRY(cd_wh_hook_add(s, &j->hook, 0, why));
    return cd_wh_intake_enlist(s, &j->hook, why);
}

static cd_err rows_run(cd_job *base, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    job *j = (job *)(void *)base;
    const cd_wh_delivery_query q = {.hook = j->hook.key, .events_only = true, .with_body = true, .limit = 1000};
    CD_TRY(cd_wh_hook_by_key(s, &j->hook, j->mem, j->hook.key, false, why));
    return cd_wh_delivery_list(s, &j->rows, &j->cnt, j->mem, &q, why);
}

static void run_now(rig *r, job *j, cd_err (*run)(cd_job *, void *, cd_errinfo *))
{
    const cd_wh_store_cfg cfg = store_cfg(r);
    cd_errinfo why = {0};
    j->base.run = run;
    cd_err err = cd_wh_db_now(&cfg, &j->base, &why);
    if (err != CD_OK) {
        fail_msg("%s: %s", cd_err_name(err), why.msg);
    }
}

static cd_err add_bare_run(cd_job *base, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    job *j = (job *)(void *)base;
    return cd_wh_hook_add(s, &j->hook, 0, why);
}

static cd_err reset_run(cd_job *base, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    job *j = (job *)(void *)base;
    return cd_wh_cursor_reset(s, "lux", &j->from_block, why);
}

static cd_err extra_run(cd_job *base, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    job *j = (job *)(void *)base;
    static const u8 none[32];
    cd_wh_enqueued made;
    const cd_wh_event event = {
        .hook = j->hook.key,
        .type = CD_WH_B_TOKEN,
        .h = {1, 2, 3},
        .id = "evt_invented",
        .block = 20,
        .body = cd_bytes_str("{}"),
    };
    return cd_wh_enqueue(s, &made, j->mem, &event, 1, NULL, 0, none, why);
}

static cd_wh_hook hook_add(rig *r, cd_wh_type type, u8 address, u64 from_block)
{
    static int made;
    static cd_addr20 addrs[8];
    static char ids[8][20];
    cd_addr20 *a = &addrs[made % 8];
    char *id = ids[made % 8];
    *a = node_addr(address);
    (void)snprintf(id, 20, "wh_test%08d", made++);
    job j = {.hook = {
                 .id = id,
                 .project = "p",
                 .face = type <= CD_WH_A_BLOCK ? CD_WH_A
                         : type <= CD_WH_B_LOG ? CD_WH_B
                                               : CD_WH_C,
                 .name = "",
                 .url = "https://example.com/",
                 .chain = "lux",
                 .network = "",
                 .types = 1u << type,
                 .config = cd_bytes_str("{}"),
                 .settings = cd_bytes_str(r->settings == NULL ? "{}" : r->settings),
                 .from_block = from_block,
             }};
    if (address != 0) {
        j.hook.filter.addresses = (cd_wh_addrs){.p = a, .n = 1};
    }
    run_now(r, &j, add_run);
    return j.hook;
}

/* The body of the webhook's newest event says "finality" as it should. */
static void body_check(rig *r, i64 hook, const char *text)
{
    cd_arena mem = {0};
    job j = {.mem = &mem, .hook.key = hook};
    run_now(r, &j, rows_run);
    assert_true(j.cnt != 0);
    assert_non_null(strstr(cd_arena_str(&mem, j.rows[0].event.body), text));
    cd_arena_fini(&mem);
}

/* The webhook has exactly one row for each of these blocks, in this order, with sequence 1, 2, 3 … */
static void rows_check(rig *r, i64 hook, const u64 *blocks, usize cnt)
{
    cd_arena mem = {0};
    job j = {.mem = &mem, .hook.key = hook};
    run_now(r, &j, rows_run);
    assert_int_equal(j.cnt, cnt);
    for (usize i = 0; i < cnt; i++) {
        assert_int_equal(j.rows[cnt - 1 - i].event.block, blocks[i]);
        assert_int_equal(j.rows[cnt - 1 - i].sequence, i + 1);
    }
    cd_arena_fini(&mem);
}

static void rows_check_range(rig *r, i64 hook, u64 first, u64 last)
{
    u64 blocks[256] = {0};
    usize cnt = 0;
    for (u64 b = first; b <= last; b++) {
        blocks[cnt++] = b;
    }
    rows_check(r, hook, blocks, cnt);
}

static void on_compared(void *ctx, const cd_wh_compared *result, const char *reason)
{
    rig *r = ctx;
    assert_null(reason);
    r->compared = *result;
    r->is_compared = true;
}

static bool has_compared(rig *r)
{
    return r->is_compared;
}

static void compare(rig *r, u64 first, u64 last)
{
    r->is_compared = false;
    cd_wh_compare *c = cd_wh_compare_new(cd_wh_intake_source(r->in), r->db, first, last, on_compared, r);
    until(r, has_compared);
    cd_wh_compare_free(c);
}

/* --- the tests --- */

/* Pushed blocks, gaps, failing and lying nodes, a lost connection, a restart: each block once, in order. */
static void test_follow(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 10);
    start(&r);
    wait_height(&r, 10); /* where the chain begins for us */
    until(&r, is_pushed);
    cd_wh_hook hook = hook_add(&r, CD_WH_B_TOKEN, 0xc0, 0);
    assert_int_equal(hook.from_block, 11);
    cd_wh_intake_put(r.in, &hook);
    for (u64 i = 11; i <= 14; i++) {
        node_mine(&r.node, i);
        wait_height(&r, i);
    }
    r.node.failing = 3;
    r.node.lying = 2;
    node_mine(&r.node, 40); /* a gap */
    wait_height(&r, 40);
    node_cut(&r.node);
    node_mine(&r.node, 45);
    wait_height(&r, 45);
    until(&r, is_pushed);
    end(&r);
    node_mine(&r.node, 60);
    r.node.no_receipts = true;
    start(&r);
    wait_height(&r, 60);
    rows_check_range(&r, hook.key, 11, 60);
    assert_int_equal(r.made > 0, 1);

    compare(&r, 1, 0);
    assert_int_equal(r.compared.last, 60);
    assert_int_equal(r.compared.matches, 50);
    assert_int_equal(r.compared.rows, 50);
    assert_int_equal(r.compared.differences, 0);
    cd_arena mem = {0};
    job j = {.mem = &mem, .hook = hook};
    run_now(&r, &j, extra_run);
    j.hook.id = "wh_untold0000";
    j.hook.from_block = 58;
    run_now(&r, &j, add_bare_run);
    compare(&r, 1, 0);
    assert_int_equal(r.compared.differences, 4);
    assert_int_equal(r.compared.list[0].kind, CD_WH_EXTRA);
    assert_int_equal(r.compared.list[0].block, 20);
    assert_int_equal(r.compared.list[1].kind, CD_WH_MISSING);
    assert_int_equal(r.compared.list[1].block, 58);
    assert_int_equal(r.compared.list[1].hook, j.hook.key);
    cd_arena_fini(&mem);
    rig_close(&r);
}

/* A transaction that was mined before anybody asked for it. */
static void test_mined(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 30);
    start(&r);
    wait_height(&r, 30);
    cd_hash32 hashes[3] = {{.b = {0xaa}}, {.b = {0xaa}}, {.b = {0xaa}}};
    cd_put_be64(hashes[0].b + 24, 25);
    cd_put_be64(hashes[1].b + 24, 7);
    cd_put_be64(hashes[2].b + 24, 32);
    cd_arena mem = {0};
    cd_wh_hook hook = hook_add(&r, CD_WH_B_TOKEN, 0xc0, 0); /* for its project */
    job j = {.mem = &mem, .hook = hook};
    j.hook.id = "wh_mined00000";
    j.hook.types = 1u << CD_WH_B_MINED;
    j.hook.filter = (cd_wh_filter){.tx_hashes = {.p = hashes, .n = 3}};
    run_now(&r, &j, add_run);
    cd_wh_intake_put(r.in, &j.hook);
    r.node.failing = 2;
    wait_height(&r, 30);
    r.want = 2;
    until(&r, is_made);
    node_mine(&r.node, 33);
    wait_height(&r, 33);
    const u64 blocks[] = {7, 25, 32};
    rows_check(&r, j.hook.key, blocks, 3);
    hashes[0].b[31] = 9; /* another one, and killed before anybody was told */
    j.hook.id = "wh_mined00001";
    j.hook.from_block = 0;
    j.hook.filter.tx_hashes.n = 1;
    run_now(&r, &j, add_run);
    end(&r);
    start(&r);
    r.made = 0;
    r.want = 1;
    until(&r, is_made);
    const u64 again[] = {9};
    rows_check(&r, j.hook.key, again, 1);
    cd_arena_fini(&mem);
    rig_close(&r);
}

/* A chain that begins under our eyes: nodes do not trace the genesis block. */
static void test_genesis(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 0);
    cd_wh_hook hook = hook_add(&r, CD_WH_C_INTERNAL, 0, 0);
    start(&r);
    wait_height(&r, 0);
    until(&r, is_pushed);
    node_mine(&r.node, 3);
    wait_height(&r, 3);
    rows_check_range(&r, hook.key, 1, 3);
    compare(&r, 0, 0);
    assert_int_equal(r.compared.matches, 3);
    assert_int_equal(r.compared.differences, 0);
    rig_close(&r);
}

/* A webhook that is there before the chain is followed: what was before is not its own. */
static void test_early(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 50);
    cd_wh_hook hook = hook_add(&r, CD_WH_B_TOKEN, 0xc0, 0);
    assert_int_equal(hook.from_block, 0);
    start(&r);
    wait_height(&r, 50);
    node_mine(&r.node, 53);
    wait_height(&r, 53);
    rows_check_range(&r, hook.key, 51, 53);
    compare(&r, 1, 0);
    assert_int_equal(r.compared.matches, 3);
    assert_int_equal(r.compared.differences, 0);
    rig_close(&r);
}

/* Without a WebSocket, four blocks below the head. */
static void test_confirmations(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 2);
    r.no_ws = true;
    r.confirmations = 4;
    start(&r);
    node_mine(&r.node, 10);
    wait_height(&r, 6);
    cd_wh_hook hook = hook_add(&r, CD_WH_A_BLOCK, 0, 0);
    cd_wh_intake_put(r.in, &hook);
    node_mine(&r.node, 20);
    wait_height(&r, 16);
    rows_check_range(&r, hook.key, 7, 16);
    rig_close(&r);
}

/* Only what the node calls final, and bodies of all faces say so. */
static void test_final(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 2);
    r.is_final = true;
    r.node.final = 2;
    start(&r);
    wait_height(&r, 2);
    cd_wh_hook hooks[] = {hook_add(&r, CD_WH_A_BLOCK, 0, 0), hook_add(&r, CD_WH_B_MINED, 0, 0),
                          hook_add(&r, CD_WH_C_BLOCK, 0, 0)};
    for (usize i = 0; i < CD_COUNT(hooks); i++) {
        cd_wh_intake_put(r.in, &hooks[i]);
    }
    node_mine(&r.node, 20);
    r.node.final = 7;
    wait_height(&r, 7);
    assert_int_equal(cd_wh_intake_look(r.in).node.limit, 7);
    r.node.final = 9;
    wait_height(&r, 9);
    for (usize i = 0; i < CD_COUNT(hooks); i++) {
        rows_check_range(&r, hooks[i].key, 3, 9);
        body_check(&r, hooks[i].key, "\"finality\":\"final\"");
    }
    rig_close(&r);
}

/* Thousands of blocks while nobody looked, nearly all without transactions: they come by the hundred, what is in them
 * is told of, and a node that takes no large batches is asked for less. */
static void test_far_behind(void **state)
{
    (void)state;
    for (u32 limited = 0; limited < 2; limited++) {
        rig r;
        rig_open(&r, 10);
        r.is_dev = true;
        r.node.empty_to = 6000;
        start(&r);
        wait_height(&r, 10);
        cd_wh_hook hook = hook_add(&r, CD_WH_B_ADDRESS, 0xb0, 0);
        end(&r);
        r.node.requests = 0;
        r.node.batch_max = limited == 0 ? 0 : 100;
        r.node.head = 5100;
        start(&r);
        wait_height(&r, 5100);
        assert_true(r.node.requests < (limited == 0 ? 500 : 1000));
        const u64 blocks[] = {1000, 2000, 3000, 4000, 5000};
        rows_check(&r, hook.key, blocks, CD_COUNT(blocks));
        /* What was a run is known block by block when it is replaced. */
        until(&r, is_pushed);
        r.node.fork_at = 5090;
        r.node.empty_to = 5091;
        node_mine(&r.node, 5092);
        wait_height(&r, 5092);
        const u64 after[] = {1000, 2000, 3000, 4000, 5000, 5092};
        rows_check(&r, hook.key, after, CD_COUNT(after));
        rig_close(&r);
    }
}

/* Who wants every block is told of every block. */
static void test_far_behind_blocks(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 10);
    r.node.empty_to = 6000;
    start(&r);
    wait_height(&r, 10);
    cd_wh_hook hook = hook_add(&r, CD_WH_A_BLOCK, 0, 0);
    end(&r);
    r.node.head = 200;
    start(&r);
    wait_height(&r, 200);
    rows_check_range(&r, hook.key, 11, 200);
    rig_close(&r);
}

/* Another chain than the one that was followed. */
static void test_fork(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 10);
    start(&r);
    wait_height(&r, 10);
    end(&r);
    r.node.fork_at = 5;
    node_mine(&r.node, 12);
    start(&r);
    until(&r, is_stopped);
    assert_int_equal(cd_wh_intake_look(r.in).height, 10);
    assert_non_null(strstr(cd_wh_intake_look(r.in).problem, "were replaced"));

    /* Somebody says where to go on. */
    job j = {.from_block = 8};
    run_now(&r, &j, reset_run);
    wait_height(&r, 12);
    assert_string_equal(cd_wh_intake_look(r.in).problem, "");
    rig_close(&r);
}

/* Blocks of a development network that are replaced while they are followed: the old rows stay, the new blocks are told
 * of, and who asked for it hears of each old one that it is no more, the newest first. */
static void test_replaced(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 5);
    r.is_dev = true;
    start(&r);
    wait_height(&r, 5);
    cd_wh_hook plain = hook_add(&r, CD_WH_A_BLOCK, 0, 0);
    r.settings = "{\"removed\":true}";
    cd_wh_hook told = hook_add(&r, CD_WH_A_BLOCK, 0, 0);
    cd_wh_intake_put(r.in, &plain);
    cd_wh_intake_put(r.in, &told);
    node_mine(&r.node, 10);
    wait_height(&r, 10);
    until(&r, is_pushed);
    r.node.fork_at = 8;
    node_mine(&r.node, 9); /* a known number, another hash */
    wait_height(&r, 9);
    node_mine(&r.node, 12);
    wait_height(&r, 12);
    const u64 plain_rows[] = {6, 7, 8, 9, 10, 8, 9, 10, 11, 12};
    const u64 told_rows[] = {6, 7, 8, 9, 10, 10, 9, 8, 8, 9, 10, 11, 12};
    rows_check(&r, plain.key, plain_rows, CD_COUNT(plain_rows));
    rows_check(&r, told.key, told_rows, CD_COUNT(told_rows));
    cd_arena mem = {0};
    job j = {.mem = &mem, .hook.key = told.key};
    run_now(&r, &j, rows_run);
    for (usize i = 0; i < j.cnt; i++) { /* newest first */
        const cd_wh_event *e = &j.rows[i].event;
        cd_json body, id;
        cd_bytes text;
        bool removed = false;
        assert_int_equal(cd_json_parse(&body, &mem, e->body, 0, NULL), CD_OK);
        assert_int_equal(cd_json_bool(&removed, cd_json_get(body, "removed"), NULL) == CD_OK, i >= 5 && i < 8);
        assert_int_equal(removed, i >= 5 && i < 8);
        id = cd_json_get(body, "id");
        assert_int_equal(cd_json_str(&text, id, NULL), CD_OK);
        assert_true(cd_bytes_eq(text, cd_bytes_str(e->id)));
    }
    cd_arena_fini(&mem);
    /* The old rows are no difference to the chain of now. */
    compare(&r, 6, 12);
    rig_close(&r);
}

/* A development network that goes back and stays there, and one that begins anew while the service is down. */
static void test_taken_back(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 10);
    r.is_dev = true;
    start(&r);
    wait_height(&r, 10);
    cd_wh_hook hook = hook_add(&r, CD_WH_A_BLOCK, 0, 0);
    cd_wh_intake_put(r.in, &hook);
    node_mine(&r.node, 12);
    wait_height(&r, 12);
    r.node.head = 11;
    wait_height(&r, 11);
    r.node.fork_at = 12;
    node_mine(&r.node, 13);
    wait_height(&r, 13);
    end(&r);
    r.node.fork_at = 1;
    r.node.head = 3;
    start(&r);
    wait_height(&r, 3);
    const u64 rows[] = {11, 12, 12, 13, 1, 2, 3};
    rows_check(&r, hook.key, rows, CD_COUNT(rows));
    rig_close(&r);
}

/* Traces and the mempool are asked for while somebody wants them, and only then. */
static void test_wants(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 10);
    start(&r);
    wait_height(&r, 10);
    until(&r, is_pushed);
    node_mine(&r.node, 11);
    wait_height(&r, 11);
    assert_int_equal(r.node.traces, 0);
    assert_false(r.node.pending_on);
    cd_wh_hook inner = hook_add(&r, CD_WH_C_INTERNAL, 0xd0, 0);
    cd_wh_hook pending = hook_add(&r, CD_WH_C_PENDING, 0xa0, 0);
    cd_wh_intake_put(r.in, &inner);
    cd_wh_intake_put(r.in, &pending);
    until(&r, is_pending_on); /* with the next block at the latest would be too late */
    node_mine(&r.node, 12);
    wait_height(&r, 12);
    assert_true(r.node.traces > 0);
    rows_check_range(&r, inner.key, 12, 12);
    r.made = 0;
    r.want = 2;
    node_pend(&r.node, 500);
    node_pend(&r.node, 500); /* once is enough */
    node_pend(&r.node, 501);
    until(&r, is_made);
    r.node.tells_hashes = true; /* and refuses to tell more */
    node_cut(&r.node);
    until(&r, is_pending_off);
    until(&r, is_pending_on);
    r.want = 3;
    node_pend(&r.node, 502);
    until(&r, is_made);
    const u64 none[] = {0, 0, 0};
    rows_check(&r, pending.key, none, 3);
    r.node.no_traces = true; /* a node without them still tells of the rest */
    node_mine(&r.node, 13);
    wait_height(&r, 13);
    rig_close(&r);
}

/* A webhook that wants the past, one that comes while it is restarted, one that changes, one that goes. */
static void test_fill(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 30);
    start(&r);
    wait_height(&r, 30);
    cd_wh_hook past = hook_add(&r, CD_WH_B_TOKEN, 0xc0, 21);
    cd_wh_intake_put(r.in, &past);
    r.want = 10;
    until(&r, is_made);
    wait_height(&r, 30);
    rows_check_range(&r, past.key, 21, 30);
    cd_wh_hook lost = hook_add(&r, CD_WH_B_ADDRESS, 0xb0, 11); /* and killed before anybody was told */
    end(&r);
    start(&r);
    until(&r, is_ready);
    r.want = 30;
    until(&r, is_made);
    rows_check_range(&r, lost.key, 11, 30);
    cd_wh_intake_del(r.in, past.key);
    node_mine(&r.node, 32);
    wait_height(&r, 32);
    rows_check_range(&r, past.key, 21, 30);
    rows_check_range(&r, lost.key, 11, 32);
    cd_addr20 nobody = node_addr(0x99);
    lost.filter.addresses.p = &nobody;
    cd_wh_intake_put(r.in, &lost);
    node_mine(&r.node, 34);
    wait_height(&r, 34);
    rows_check_range(&r, lost.key, 11, 32);
    rig_close(&r);
}

typedef struct change {
    job base;
    cd_wh_addrs add, remove;
} change;

static cd_err change_run(cd_job *base, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    change *c = (change *)(void *)base;
    usize cnt;
    CD_TRY(cd_wh_hook_addresses(s, &cnt, c->base.hook.key, c->add, c->remove, why));
    CD_TRY(cd_wh_hook_by_key(s, &c->base.hook, c->base.mem, c->base.hook.key, true, why));
    return cd_wh_intake_moved(s, &c->base.hook, why);
}

static cd_err delete_run(cd_job *base, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    return cd_wh_hook_delete(s, ((job *)(void *)base)->hook.key, why);
}

/* What others do to webhooks, and do not say: the very next block knows of it, and no block behind the answer is
 * matched with a filter of before, be it fetched and matched already. */
static void test_others(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 30);
    start(&r);
    wait_height(&r, 30);
    cd_wh_hook a = hook_add(&r, CD_WH_B_ADDRESS, 0xb0, 0);
    assert_int_equal(a.from_block, 31);
    node_mine(&r.node, 33);
    wait_height(&r, 33);
    rows_check_range(&r, a.key, 31, 33);

    const cd_addr20 old = node_addr(0xb0);
    const cd_addr20 other = node_addr(0x99);
    cd_arena mem = {0};
    change c = {.base = {.mem = &mem, .hook = a}, .add = {.p = &other, .n = 1}, .remove = {.p = &old, .n = 1}};
    run_now(&r, &c.base, change_run);
    assert_int_equal(c.base.hook.from_block, 34);
    node_mine(&r.node, 36);
    wait_height(&r, 36);
    rows_check_range(&r, a.key, 31, 33);
    c.add.p = &old;
    c.remove.n = 0;
    run_now(&r, &c.base, change_run);
    assert_int_equal(c.base.hook.from_block, 37);
    cd_wh_hook inner = hook_add(&r, CD_WH_C_INTERNAL, 0xd0, 0); /* the block is there, its traces are not */
    node_mine(&r.node, 38);
    wait_height(&r, 38);
    rows_check_range(&r, inner.key, 37, 38);
    c.base.hook = inner;
    run_now(&r, &c.base, delete_run);
    node_mine(&r.node, 40);
    wait_height(&r, 40);
    compare(&r, 37, 0);
    assert_int_equal(r.compared.matches, 4);
    assert_int_equal(r.compared.differences, 0);
    const u64 blocks[] = {31, 32, 33, 37, 38, 39, 40};
    rows_check(&r, a.key, blocks, 7);
    /* While blocks are on their way, and told here as well. */
    cd_wh_hook b = hook_add(&r, CD_WH_B_ADDRESS, 0xb0, 0);
    for (u64 block = 41; block <= 80; block++) {
        node_mine(&r.node, block);
        until(&r, is_ready);
        c.base.hook = b;
        c.add = (cd_wh_addrs){.p = &other, .n = block % 2};
        c.remove = (cd_wh_addrs){.p = &other, .n = 1 - block % 2};
        run_now(&r, &c.base, change_run);
        cd_wh_intake_put(r.in, &c.base.hook);
    }
    wait_height(&r, 80);
    rows_check_range(&r, b.key, b.from_block, 80);
    cd_arena_fini(&mem);
    rig_close(&r);
}

/* Another one, of the same store and node. */
static void join(rig *r, rig *first)
{
    *r = (rig){.loop = first->loop, .http = first->http, .hub = first->hub, .worker = "two"};
    memcpy(r->url, first->url, sizeof r->url);
    r->metrics = cd_metrics_new("webhook");
    r->node = (node_rig){0};
    memcpy(r->node.http_url, first->node.http_url, sizeof r->node.http_url);
    memcpy(r->node.ws_url, first->node.ws_url, sizeof r->node.ws_url);
    start(r);
}

/* Two that follow the same chain into one store: each block is written once, by whoever comes first; one that begins
 * while the other has done so leaves no gap. */
static void test_two(void **state)
{
    (void)state;
    rig r;
    rig two;
    rig_open(&r, 30);
    start(&r);
    join(&two, &r);
    wait_height(&r, 30);
    cd_wh_hook a = hook_add(&r, CD_WH_B_ADDRESS, 0xb0, 0);
    cd_wh_intake_put(r.in, &a);
    u64 first = a.from_block;
    for (u64 b = 31; b <= 60; b++) {
        node_mine(&r.node, b);
        wait_height(b % 2 == 0 ? &r : &two, b);
    }
    wait_height(&r, 60);
    wait_height(&two, 60);
    assert_int_equal(r.made + two.made, 60 - first + 1);
    rows_check_range(&r, a.key, first, 60);
    end(&r);
    node_mine(&r.node, 70);
    wait_height(&two, 70);
    rows_check_range(&r, a.key, first, 70);
    cd_timer_free(two.tick);
    end(&two);
    cd_metrics_free(two.metrics);
    start(&r);
    rig_close(&r);
}

static bool body_has(rig *r, i64 hook, const char *text)
{
    cd_arena mem = {0};
    job j = {.mem = &mem, .hook.key = hook};
    run_now(r, &j, rows_run);
    assert_true(j.cnt > 0);
    const char *body = cd_arena_str(&mem, j.rows[0].event.body);
    bool has = strstr(body, text) != NULL;
    cd_arena_fini(&mem);
    return has;
}

/* Names are asked for once, kept over restarts, and cleaned; a contract without them has none. */
static void test_tokens(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 10);
    start(&r);
    wait_height(&r, 10);
    cd_wh_hook hook = hook_add(&r, CD_WH_C_TOKEN, 0, 0);
    cd_wh_intake_put(r.in, &hook);
    r.node.confused = 4; /* the node's failure is not the contract's answer */
    node_mine(&r.node, 11);
    wait_height(&r, 11);
    assert_true(body_has(&r, hook.key, "\"symbol\":\"TOK\",\"decimals\":6}"));
    assert_true(body_has(&r, hook.key, "\"valueFormatted\":\"0.000011\""));
    node_mine(&r.node, 12);
    wait_height(&r, 12);
    end(&r);
    start(&r);
    node_mine(&r.node, 13);
    wait_height(&r, 13);
    assert_int_equal(r.node.calls, 9);
    rig_close(&r);

    rig_open(&r, 10);
    r.node.is_dumb = true;
    start(&r);
    wait_height(&r, 10);
    hook = hook_add(&r, CD_WH_C_TOKEN, 0, 0);
    cd_wh_intake_put(r.in, &hook);
    node_mine(&r.node, 11);
    wait_height(&r, 11);
    assert_true(body_has(&r, hook.key, "\"symbol\":null,\"decimals\":null}"));
    assert_true(body_has(&r, hook.key, "\"valueFormatted\":null"));
    rig_close(&r);
}

static void on_preview(void *ctx, const cd_wh_preview *p, const char *reason)
{
    rig *r = ctx;
    assert_non_null(p);
    assert_null(reason);
    r->preview = *p;
    (void)snprintf(r->body, sizeof r->body, "%.*s", (int)p->bodies[0].n, (const char *)p->bodies[0].p);
    r->is_previewed = true;
}

static bool has_preview(rig *r)
{
    return r->is_previewed;
}

static void test_preview(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 100);
    start(&r);
    wait_height(&r, 100);
    const cd_addr20 a = node_addr(0xb0);
    const cd_wh_hook hook = {
        .face = CD_WH_B,
        .types = 1u << CD_WH_B_ADDRESS,
        .filter = {.addresses = {.p = &a, .n = 1}, .min_value = cd_u256_from_u64(96)},
    };
    cd_wh_intake_preview(r.in, &hook, 50, on_preview, &r);
    until(&r, has_preview);
    assert_int_equal(r.preview.blocks, 50);
    assert_int_equal(r.preview.matched_blocks, 5);
    assert_int_equal(r.preview.events, 5);
    assert_int_equal(r.preview.bodies_cnt, 5);
    assert_non_null(strstr(r.body, "\"block_number\":100"));
    r.is_previewed = false; /* one that is under way when all ends */
    cd_wh_intake_preview(r.in, &hook, 50, on_preview, &r);
    rig_close(&r);
    assert_false(r.is_previewed);
}

typedef struct ordered {
    rig *r;
    char name;
} ordered;

static char order[16];

static void on_ordered(void *ctx, const cd_wh_preview *p, const char *reason)
{
    const ordered *o = ctx;
    usize n = strlen(order);
    bool is_busy = p == NULL && strcmp(reason, CD_WH_PREVIEW_BUSY) == 0;
    if (is_busy) {
        order[n] = '!';
    } else {
        order[n] = o->name;
    }
    order[n + 1] = '\0';
}

static bool are_ordered(rig *r)
{
    return strlen(order) == r->want;
}

/* A project's previews run one after the other and only so many wait; another's does not wait for them. */
static void test_previews(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, 100);
    start(&r);
    wait_height(&r, 100);
    ordered many = {&r, 'm'};
    ordered one = {&r, 'o'};
    cd_wh_hook hook = {.face = CD_WH_B, .types = 1u << CD_WH_B_ADDRESS, .project = "prj_many"};
    const cd_addr20 a = node_addr(0xb0);
    hook.filter.addresses = (cd_wh_addrs){.p = &a, .n = 1};
    order[0] = '\0';
    for (u32 i = 0; i < 5; i++) {
        cd_wh_intake_preview(r.in, &hook, 50, on_ordered, &many);
    }
    assert_string_equal(order, "!");
    hook.project = "prj_one";
    cd_wh_intake_preview(r.in, &hook, 50, on_ordered, &one);
    r.want = 6;
    until(&r, are_ordered);
    assert_true(strcmp(order, "!mommm") == 0 || strcmp(order, "!ommmm") == 0);
    rig_close(&r);
}

static void test_texts(void **state)
{
    (void)state;
    cd_arena mem = {0};
    u8 word[96] = {'M', 'K', 'R'};
    assert_string_equal(cd_wh_token_text(&mem, cd_bytes_of(word, 32), 64), "MKR");
    assert_null(cd_wh_token_text(&mem, cd_bytes_of(word, 0), 64));
    assert_null(cd_wh_token_text(&mem, cd_bytes_of(word, 96), 64));
    memset(word, 0, sizeof word);
    word[31] = 32;
    word[63] = 6;
    const u8 text[] = {'a', 0xc3, 0xa9, 0xff, 7, 'z'};
    memcpy(word + 64, text, sizeof text);
    assert_string_equal(cd_wh_token_text(&mem, cd_bytes_of(word, 96), 64), "a\xc3\xa9z");
    assert_string_equal(cd_wh_token_text(&mem, cd_bytes_of(word, 96), 2), "a");
    word[63] = 33; /* longer than there is */
    assert_null(cd_wh_token_text(&mem, cd_bytes_of(word, 96), 64));
    word[31] = 0xff; /* points behind the end */
    assert_null(cd_wh_token_text(&mem, cd_bytes_of(word, 96), 64));
    assert_int_equal(cd_wh_token_number(cd_bytes_of(word, 32)), 255);
    word[30] = 1;
    assert_int_equal(cd_wh_token_number(cd_bytes_of(word, 32)), -1);
    assert_int_equal(cd_wh_token_number(cd_bytes_of(word, 33)), -1);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_follow),
        cmocka_unit_test(test_confirmations),
        cmocka_unit_test(test_final),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_far_behind),
        cmocka_unit_test(test_far_behind_blocks),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_taken_back),
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_preview),
        cmocka_unit_test(test_previews),
        cmocka_unit_test(test_mined),
        cmocka_unit_test(test_genesis),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
