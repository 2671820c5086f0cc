#include "services/webhook/test/api_rig.h"

#include "base/os/fileio.h"
#include "base/table/list.h"
#include "services/webhook/core/chain/event.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define NOW_NS ((u64)1768473322 * CD_NS_PER_SEC)

/* --- the engine --- */

static const char *chain(void *ctx, cd_bytes name)
{
    (void)ctx;
    bool is_lux = cd_bytes_eq(name, cd_bytes_str("lux")) || cd_bytes_eq(name, cd_bytes_str("96369"));
    return is_lux ? "lux" : NULL;
}

static bool head(void *ctx, cd_wh_head *out, usize idx)
{
    u32 lag = ((api_rig *)ctx)->lag;
    *out = (cd_wh_head){.chain = "lux", .height = 1204906 - lag, .lag = lag, .is_connected = true};
    return idx == 0;
}

static void check_url(void *ctx, const char *project, const char *url, cd_wh_checked_fn *fn, void *arg)
{
    (void)project;
    (void)ctx;
    fn(arg, strncmp(url, "https://10.", 11) == 0 ? "the address is not allowed" : NULL);
}

static void changed(void *ctx, const cd_wh_hook *hook)
{
    assert_true(hook->key > 0);
    ((api_rig *)ctx)->changed++;
}

static void gone(void *ctx, i64 hook)
{
    assert_true(hook > 0);
    ((api_rig *)ctx)->gone++;
}

static void due(void *ctx)
{
    ((api_rig *)ctx)->due++;
}

static void test_event(void *ctx, const cd_wh_hook *hook, cd_wh_type type, cd_wh_tested_fn *fn, void *arg)
{
    const cd_wh_attempt a = {.number = 1,
                             .ms = 12,
                             .status = 200,
                             .error = "",
                             .request = "",
                             .response = "",
                             .body = cd_bytes_str("thanks <b>")};
    assert_true((hook->types & 1u << type) != 0);
    ((api_rig *)ctx)->tested++;
    fn(arg, &a, NULL, NULL);
}

static const cd_wh_chain lux = {.name = "lux", .symbol = "LUX", .id = 96369};

static cd_bytes example(void *ctx, cd_arena *mem, const cd_wh_hook *hook, cd_wh_type type)
{
    (void)ctx;
    return cd_wh_event_example(mem, &lux, hook, type, NOW_NS / CD_NS_PER_MS).body;
}

static void preview(void *ctx, const cd_wh_hook *hook, u32 blocks, cd_wh_previewed_fn *fn, void *arg)
{
    const cd_bytes body = cd_bytes_str("{\"id\":\"evt\"}");
    const cd_wh_previewed p = {.blocks = blocks, .matched_blocks = 12, .events = 15, .bodies = &body, .bodies_cnt = 1};
    (void)ctx;
    if (hook->filter.contracts.n != 0) {
        fn(arg, NULL, "time-out");
    } else {
        fn(arg, &p, NULL);
    }
}

/* --- life --- */

typedef struct making {
    cd_job job;
    api_rig *g;
} making;

static cd_err make_projects(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    api_rig *g = cd_list_of(job, making, job)->g;
    cd_arena mem = {0};
    cd_err err = CD_OK;
    for (u32 f = 0; f < 3 && err == CD_OK; f++) {
        static const char *const ids[] = {"pa", "pb", "pc"};
        const cd_wh_project p = {
            .id = ids[f],
            .name = "harbour-prod",
            .tier = "free",
            .email = "owner@harbour.example",
            .face = (cd_wh_face)f,
            .quota_period = f == CD_WH_C ? CD_WH_PER_DAY : CD_WH_NO_QUOTA,
            .quota = 1000,
            .created_ms = NOW_NS / CD_NS_PER_MS,
        };
        cd_wh_key made;
        const cd_wh_key init = {.project = p.id, .label = "main", .may_write = true};
        const cd_wh_key reader = {.project = p.id, .label = "reader"};
        err = cd_wh_project_put(s, &p, why);
        err = err != CD_OK ? err : cd_wh_key_make(s, &made, g->keys[f], &mem, &init, why);
        if (err == CD_OK && f == CD_WH_B) {
            err = cd_wh_key_make(s, &made, g->reader, &mem, &reader, why);
        }
    }
    cd_arena_fini(&mem);
    return err;
}

static bool on_page(void *ctx, cd_http_req *r)
{
    return cd_wh_pages_take(((api_rig *)ctx)->pages, r);
}

static void loop_main(void *arg)
{
    cd_loop_run(((api_rig *)arg)->loop);
}

void api_rig_open(api_rig *g)
{
    memset(g, 0, sizeof *g);
    memcpy(g->dir, "/tmp/cd_api_XXXXXX", 19);
    assert_non_null(mkdtemp(g->dir));
    memset(g->master_key, 9, sizeof g->master_key);
    cd_clock_virtual_init(&g->clock, NOW_NS);
    const char *url = cd_buf_cstr((cd_buf_fmt(&g->answer, "sqlite:%s/w.db", g->dir), &g->answer));
    const cd_wh_store_cfg store = {.url = url, .worker = "one", .master_key = g->master_key, .clock = &g->clock.clock};
    making m = {.job = {.run = make_projects}, .g = g};
    cd_errinfo why = {0};
    if (cd_wh_db_now(&store, &m.job, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    g->metrics = cd_metrics_new("webhook");
    const cd_log_cfg log = {.fd = STDOUT_FILENO, .level = CD_LOG_ERROR};
    assert_int_equal(cd_log_open(&g->log, &log, NULL), CD_OK);
    assert_int_equal(cd_wh_db_open(&g->db, g->loop, &store, NULL, &why), CD_OK);
    g->engine = (cd_wh_engine){
        .ctx = g,
        .chain = chain,
        .head = head,
        .check_url = check_url,
        .changed = changed,
        .gone = gone,
        .due = due,
        .test = test_event,
        .example = example,
        .preview = preview,
    };
    const cd_wh_api_cfg api = {.loop = g->loop,
                               .db = g->db,
                               .engine = &g->engine,
                               .metrics = g->metrics,
                               .log = g->log,
                               .clock = &g->clock.clock,
                               .page = on_page,
                               .page_ctx = g};
    g->api = cd_wh_api_new(&api);
    const cd_wh_pages_cfg pages = {.loop = g->loop,
                                   .db = g->db,
                                   .api = g->api,
                                   .engine = &g->engine,
                                   .log = g->log,
                                   .clock = &g->clock.clock,
                                   .master_key = g->master_key};
    g->pages = cd_wh_pages_new(&pages);
    assert_int_equal(cd_wh_api_listen(g->api, "127.0.0.1", 0, NULL), CD_OK);
    g->port = cd_wh_api_port(g->api);
    assert_int_equal(cd_thread_start(&g->thread, "loop", loop_main, g, NULL), CD_OK);
}

static void on_stopped(void *ctx)
{
    cd_loop_stop(((api_rig *)ctx)->loop);
}

static void on_stop(cd_loop_task *t)
{
    api_rig *g = cd_list_of(t, api_rig, stop);
    cd_wh_api_stop(g->api, 1000, on_stopped, g);
}

void api_rig_close(api_rig *g)
{
    g->stop.fn = on_stop;
    cd_loop_post(g->loop, &g->stop);
    cd_thread_join(&g->thread);
    cd_jobs_close(g->db);
    cd_wh_pages_free(g->pages);
    cd_wh_api_free(g->api);
    cd_loop_free(g->loop);
    cd_metrics_free(g->metrics);
    cd_log_close(g->log);
    cd_buf_fini(&g->answer);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), g->dir, NULL), CD_OK);
}

typedef struct working {
    cd_loop_task task;
    cd_job job;
    api_rig *g;
    _Atomic int is_done;
} working;

static void work_done(cd_job *job)
{
    cd_list_of(job, working, job)->is_done = 1;
}

static void work_post(cd_loop_task *t)
{
    working *w = cd_list_of(t, working, task);
    cd_jobs_write(w->g->db, &w->job);
}

void api_rig_work(api_rig *g, cd_err (*run)(cd_job *job, void *store, cd_errinfo *why))
{
    working w = {.task = {.fn = work_post}, .job = {.run = run, .done = work_done}, .g = g};
    cd_loop_post(g->loop, &w.task);
    while (!w.is_done) {
        usleep(1000);
    }
    if (w.job.err != CD_OK) {
        fail_msg("%s", w.job.why.msg);
    }
}

/* --- asking --- */

const char *api_rig_ask(api_rig *g, int face, const char *method, const char *path, const char *headers,
                        const char *body)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    cd_buf text = {0};
    addr.sin_port = htons(g->port);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    cd_buf_fmt(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", method, path);
    if (face == CD_WH_A) {
        cd_buf_fmt(&text, "Authorization: Bearer %s\r\n", g->keys[face]);
    } else if (face >= 0) {
        cd_buf_fmt(&text, "X-API-Key: %s\r\n", g->keys[face]);
    }
    cd_buf_str(&text, headers);
    if (body != NULL) {
        cd_buf_fmt(&text, "Content-Length: %zu\r\n\r\n", strlen(body));
        cd_buf_str(&text, body);
    } else {
        cd_buf_str(&text, "\r\n");
    }
    for (usize at = 0; at < text.n;) {
        ssize_t sent = send(fd, text.p + at, text.n - at, MSG_NOSIGNAL);
        if (sent <= 0) {
            break;
        }
        at += (usize)sent;
    }
    cd_buf_fini(&text);
    cd_buf_clear(&g->answer);
    for (;;) {
        ssize_t got = recv(fd, cd_buf_reserve(&g->answer, 65536), 65536, 0);
        if (got <= 0) {
            break;
        }
        g->answer.n += (usize)got;
    }
    (void)close(fd);
    return cd_buf_cstr(&g->answer);
}

int api_rig_status(const char *answer)
{
    assert_true(strncmp(answer, "HTTP/1.1 ", 9) == 0);
    return (answer[9] - 0x30) * 100 + (answer[10] - 0x30) * 10 + (answer[11] - 0x30);
}

const char *api_rig_body(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

void api_rig_value(char out[128], const char *answer, const char *key)
{
    char name[64];
    (void)snprintf(name, sizeof name, "\"%s\":\"", key);
    const char *at = strstr(answer, name);
    assert_non_null(at);
    at += strlen(name);
    usize n = strcspn(at, "\"");
    assert_true(n < 128);
    memcpy(out, at, n);
    out[n] = '\0';
}
