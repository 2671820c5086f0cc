/* The health of a chain's L1, from a node that is played to the notices of a real store. */
#include "services/webhook/core/chain/l1.h"

#include "base/os/fileio.h"
#include "base/table/list.h"
#include "codec/json.h"
#include "net/http/server.h"
#include "services/webhook/core/store/db.h"
#include "services/webhook/core/store/notice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NET  "2NetNetNet"
#define MAIN "11111111111111111111111111111111LpoYY"

typedef struct rig {
    char dir[64], db_url[128], url[128];
    cd_loop *loop;
    cd_http_client *http;
    cd_http_server *node;
    cd_jobs *db;
    cd_wh_l1_watch *watch;
    cd_timer *tick;
    const char *net;    /* of the chain */
    const char *word;   /* what it is called; NULL: subnetID */
    const char *health; /* what is answered; NULL: the method is unknown */
    u32 asked_chain, asked_net, asked_health, bad;
    u32 want; /* looks */
    u32 dues; /* notices */
    i64 target;
    cd_job job;
    cd_arena mem;
    cd_wh_delivery *rows;
    usize cnt;
} rig;

static void on_request(rig *r, cd_buf *out, cd_bytes path, cd_bytes method)
{
    if (cd_bytes_eq(method, cd_bytes_str("info.getBlockchainID")) && cd_bytes_eq(path, cd_bytes_str("/ext/info"))) {
        r->asked_chain++;
        cd_buf_str(out, "\"result\":{\"blockchainID\":\"2Chain\"}");
    } else if (!cd_bytes_eq(path, cd_bytes_str("/ext/bc/P"))) {
        r->bad++;
        cd_buf_str(out, "\"result\":{}");
    } else if (cd_bytes_eq(method, cd_bytes_str("platform.validatedBy"))) {
        r->asked_net++;
        cd_buf_fmt(out, "\"result\":{\"%s\":\"%s\"}", r->word != NULL ? r->word : "subnetID", r->net);
    } else if (r->health == NULL) {
        r->asked_health++;
        cd_buf_str(out, "\"error\":{\"code\":-32601,\"message\":\"method not found\"}");
    } else {
        r->asked_health++;
        cd_buf_fmt(out, "\"result\":%s", r->health);
    }
}

static void on_http(void *ctx, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_json doc;
    cd_bytes method = {0};
    cd_buf *out = cd_http_req_out(r);
    assert_int_equal(cd_json_parse(&doc, &mem, cd_http_req_body(r), 0, NULL), CD_OK);
    assert_int_equal(cd_json_str(&method, cd_json_get(doc, "method"), NULL), CD_OK);
    cd_buf_str(out, "{\"jsonrpc\":\"2.0\",\"id\":0,");
    on_request(ctx, out, cd_http_req_path(r), method);
    cd_buf_u8(out, '}');
    cd_arena_fini(&mem);
    cd_http_reply(r, 200, "application/json");
}

static void on_due(void *ctx)
{
    ((rig *)ctx)->dues++;
}

static void on_tick(void *ctx)
{
    rig *r = ctx;
    if (r->asked_health >= r->want) {
        cd_loop_stop(r->loop);
    }
}

/* Until the node was asked so many times more. */
static void looks(rig *r, u32 n)
{
    r->want = r->asked_health + n;
    cd_timer_start(r->tick, 5, 5);
    cd_loop_run(r->loop);
    cd_timer_stop(r->tick);
}

static void stop_at(void *ctx)
{
    cd_loop_stop(((rig *)ctx)->loop);
}

static void pass(rig *r, u32 ms)
{
    cd_timer *t = cd_timer_new(r->loop, stop_at, r);
    cd_timer_start(t, ms, 0);
    cd_loop_run(r->loop);
    cd_timer_free(t);
}

static void done_job(cd_job *job)
{
    rig *r = cd_list_of(job, rig, job);
    if (job->err != CD_OK) {
        fail_msg("%s", job->why.msg);
    }
    cd_loop_stop(r->loop);
}

static cd_err run_begin(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    rig *r = cd_list_of(job, rig, job);
    static const u32 selector = 1;
    const cd_wh_project p = {.id = "p", .name = "P", .tier = "free", .email = "", .face = CD_WH_B};
    cd_wh_hook h = {
        .id = "wh_1",
        .project = "p",
        .face = CD_WH_B,
        .name = "",
        .url = "https://receiver.example/hook",
        .chain = "mine",
        .network = "",
        .types = 1u << CD_WH_B_ADDRESS,
        .config = cd_bytes_str("{}"),
        .settings = cd_bytes_str("{}"),
        .created_ms = 1,
        .filter = {.selectors = &selector, .selectors_cnt = 1},
    };
    CD_TRY(cd_wh_project_put(s, &p, why));
    CD_TRY(cd_wh_hook_add(s, &h, 0, why));
    h.id = "wh_ops";
    h.chain = "";
    h.types = CD_WH_NOTICES;
    h.filter.selectors_cnt = 0;
    CD_TRY(cd_wh_hook_add(s, &h, 0, why));
    r->target = h.key;
    return cd_wh_notice_target_set(s, "p", 0, h.key, why);
}

static cd_err run_list(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    rig *r = cd_list_of(job, rig, job);
    const cd_wh_delivery_query q = {.hook = r->target, .limit = 100};
    return cd_wh_delivery_list(s, &r->rows, &r->cnt, &r->mem, &q, why);
}

static void do_job(rig *r, cd_err (*run)(cd_job *job, void *store, cd_errinfo *why))
{
    r->job = (cd_job){.run = run, .done = done_job};
    cd_jobs_write(r->db, &r->job);
    cd_loop_run(r->loop);
}

static usize told(rig *r)
{
    do_job(r, run_list);
    return r->cnt;
}

static void rig_open(rig *r, const char *net, const char *health)
{
    static const u8 key[32] = {7};
    *r = (rig){.net = net, .health = health, .word = health != NULL ? "netID" : NULL};
    memcpy(r->dir, "/tmp/cd_whl1_XXXXXX", 20);
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(r->db_url, sizeof r->db_url, "sqlite:%s/store.db", r->dir);
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    assert_int_equal(cd_http_client_new(&r->http, r->loop, &(cd_http_client_cfg){0}, NULL), CD_OK);
    r->node = cd_http_server_new(r->loop, &(cd_http_cfg){0});
    const char *paths[] = {"/ext/info", "/ext/bc/P"};
    for (usize i = 0; i < CD_COUNT(paths); i++) {
        const cd_http_route route = {.path = paths[i], .methods = CD_HTTP_POST, .handler = on_http, .ctx = r};
        cd_http_server_route(r->node, &route);
    }
    assert_int_equal(cd_http_server_listen(r->node, "127.0.0.1", 0, NULL), CD_OK);
    (void)snprintf(r->url, sizeof r->url, "http://127.0.0.1:%u/ext/bc/mine/rpc", cd_http_server_port(r->node));
    const cd_wh_store_cfg store = {.url = r->db_url, .worker = "one", .master_key = key, .clock = cd_clock_real()};
    cd_errinfo why = {0};
    assert_int_equal(cd_wh_db_open(&r->db, r->loop, &store, NULL, &why), CD_OK);
    r->tick = cd_timer_new(r->loop, on_tick, r);
    do_job(r, run_begin);
    const cd_wh_l1_cfg cfg = {
        .db = r->db,
        .http = r->http,
        .chain = "mine",
        .http_url = r->url,
        .look_ms = 20,
        .ctx = r,
        .due = on_due,
    };
    cd_wh_l1_watch_new(&r->watch, r->loop, &cfg);
    assert_non_null(r->watch);
}

static void rig_close(rig *r)
{
    cd_wh_l1_watch_stop(r->watch);
    cd_timer_free(r->tick);
    cd_jobs_close(r->db);
    cd_wh_l1_watch_free(r->watch);
    cd_http_server_stop(r->node, 1000, stop_at, r);
    cd_loop_run(r->loop);
    cd_http_server_free(r->node);
    cd_http_client_free(r->http);
    cd_loop_free(r->loop);
    cd_arena_fini(&r->mem);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), r->dir, NULL), CD_OK);
}

#define HEALTH(state, findings) "{\"state\":\"" state "\",\"findings\":[" findings "]}"
#define FINDING(severity, cause)                                                                                       \
    "{\"severity\":\"" severity "\",\"cause\":\"" cause "\",\"text\":\"what\\nis\",\"help\":\"do\"}"

static void test_told(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, NET, HEALTH("runs", FINDING("note", "releases")));
    looks(&r, 4);
    assert_int_equal(told(&r), 0);
    r.health = HEALTH("runs", FINDING("warning", "balances") "," FINDING("note", "releases"));
    looks(&r, 4);
    assert_int_equal(told(&r), 1);
    assert_int_equal(r.asked_chain, 1);
    assert_int_equal(r.asked_net, 1);
    assert_true(r.dues > 0);
    r.health = HEALTH("halted", FINDING("halt", "unreachable"));
    looks(&r, 3);
    assert_int_equal(told(&r), 2);
    r.health = HEALTH("runs", "");
    looks(&r, 4);
    assert_int_equal(told(&r), 3);
    assert_int_equal(r.bad, 0);
    rig_close(&r);
}

/* What comes and goes between two looks is not told, nor what is no answer. */
static void test_not_told(void **state)
{
    static const char *const answers[] = {
        HEALTH("runs", FINDING("warning", "balances")),
        HEALTH("runs", ""),
        "{}",
        "[]",
        "null",
        "\"halted\"",
        HEALTH("not a word", FINDING("halt", "unreachable")),
        HEALTH("halted", FINDING("halt", "\\\" or more")),
        HEALTH("halted", FINDING("halt", "")),
        "{\"state\":\"halted\",\"findings\":[{\"severity\":\"halt\"}]}",
        HEALTH("runs", FINDING("catastrophe", "unreachable")),
    };
    rig r;
    (void)state;
    rig_open(&r, NET, answers[0]);
    for (usize i = 0; i < 2 * CD_COUNT(answers); i++) {
        r.health = answers[i % CD_COUNT(answers)];
        looks(&r, 1);
    }
    assert_int_equal(told(&r), 0);
    rig_close(&r);
}

static void test_not_asked(void **state)
{
    static const char *const none[] = {"http://127.0.0.1:1/", "http://127.0.0.1:1/ext/bc/C/rpc",
                                       "http://127.0.0.1:1/ext/bc//rpc", "http://127.0.0.1:1/ext/bc/a\"b/rpc"};
    rig r;
    (void)state;
    rig_open(&r, MAIN, NULL);
    pass(&r, 200);
    assert_int_equal(r.asked_net, 1);
    assert_int_equal(r.asked_health, 0);
    for (usize i = 0; i < CD_COUNT(none); i++) {
        cd_wh_l1_watch *w;
        const cd_wh_l1_cfg cfg = {.db = r.db, .http = r.http, .chain = "mine", .http_url = none[i]};
        cd_wh_l1_watch_new(&w, r.loop, &cfg);
        assert_null(w);
    }
    rig_close(&r);
    rig_open(&r, NET, NULL); /* another's node */
    pass(&r, 200);
    assert_int_equal(r.asked_health, 1);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_not_told),
        cmocka_unit_test(test_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
