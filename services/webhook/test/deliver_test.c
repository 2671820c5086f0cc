/* The deliverer between the real store and receivers on loopback, on a clock that the test moves. */
#include "services/webhook/core/send/deliver.h"

#include "base/num_text.h"
#include "base/os/fileio.h"
#include "base/table/list.h"
#include "net/http/server.h"
#include "services/webhook/core/send/schedule.h"
#include "services/webhook/core/send/verify.h"
#include "services/webhook/core/store/store_priv.h"
#include "services/webhook/receiver/candela_webhook.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BEGIN_MS 1768473322000ull
#define SECRET   "whsec_k7m9p2q4r6s8t0v2w4x6y8z0"
#define NEXT     "whsec_000000000000000000000001"

enum {
    SEEN_MAX = 600,
    PATIENCE_ROUNDS = 120000, /* of a timer that fires every millisecond, or later when the machine is busy */
    DELIVERED_ROUNDS = 5000,  /* in each of them the clock moves by a second */
};

/* What the receiver does with the next requests on a path. */
typedef struct behaviour {
    u32 status;     /* 0: it hangs */
    u32 fail_first; /* so many requests get 500 before */
    const char *header, *value;
    usize body;   /* bytes of the answer */
    u64 takes_ms; /* the clock moves by so much meanwhile */
} behaviour;

typedef struct seen {
    u64 at_ms;
    char path[32];
    char *head; /* lines that were looked for */
    char id[CD_WH_EVENT_ID_MAX];
    char body[64];
} seen;

typedef struct rig {
    char dir[64];
    cd_loop *loop;
    cd_jobs *db;
    cd_wh_guard *guard;
    cd_wh_deliverer *deliverer;
    cd_http_server *receiver;
    cd_clock_virtual clock;
    behaviour act[10]; /* by the last digit of the path */
    seen seen[SEEN_MAX];
    usize seen_cnt;
    cd_http_req *hanging[64];
    usize hanging_cnt;
    u32 settled, ended, given_up;
    bool is_lazy; /* this thread takes a while over each */
    u32 running_most;
    u32 pushed; /* requests that hang, while more waited than can be of hung webhooks */
    cd_wh_state last_state;
    char last_error[32];
    usize last_body;
    u32 last_status;
    u64 block;
    u32 timeout_ms;  /* 0: the usual */
    const char *dns; /* what names lead to */
    cd_loop_task dns_task;
    cd_lookup_fn *dns_fn;
    void *dns_arg;
} rig;

static u64 now_ms(rig *r)
{
    return cd_clock_wall_ns(&r->clock.clock) / CD_NS_PER_MS;
}

/* --- the receiver --- */

static char *copy_headers(const cd_http_req *req)
{
    static const char *const names[] = {
        "Content-Type",
        "User-Agent",
        "X-Svc-Signature",
        "X-Svc-Signature-Next",
        "X-Svc-Timestamp",
        "X-Svc-Delivery",
        "X-Svc-Attempt",
        "X-Svc-Webhook-Id",
        "X-Svc-Sequence",
        "X-Svc-Event-Hash",
        "X-Svc-Chain",
        "X-Webhook-Event",
        "X-Webhook-Idempotency-Key",
        "X-Own",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "Authorization",
    };
    cd_buf out = {0};
    cd_buf_str(&out, "POST / HTTP/1.1\n");
    for (usize i = 0; i < CD_COUNT(names); i++) {
        cd_bytes v = cd_http_req_header(req, names[i]);
        if (v.p != NULL) {
            cd_buf_fmt(&out, "%s: %.*s\n", names[i], (int)v.n, (const char *)v.p);
        }
    }
    cd_buf_str(&out, "\n");
    cd_buf_put(&out, cd_http_req_body(req));
    char *text = strdup(cd_buf_cstr(&out));
    cd_buf_fini(&out);
    return text;
}

static void serve(void *ctx, cd_http_req *req)
{
    rig *r = ctx;
    cd_bytes path = cd_http_req_path(req);
    cd_bytes body = cd_http_req_body(req);
    assert_true(r->seen_cnt < SEEN_MAX && path.n > 0 && path.n < 32 && body.n < 64);
    assert_int_equal(cd_http_req_method(req), CD_HTTP_POST);
    seen *s = &r->seen[r->seen_cnt++];
    *s = (seen){.at_ms = now_ms(r), .head = copy_headers(req)};
    memcpy(s->path, path.p, path.n);
    memcpy(s->body, body.p, body.n);
    behaviour *b = &r->act[(path.p[path.n - 1] - '0') % 10];
    cd_clock_virtual_advance(&r->clock, b->takes_ms * CD_NS_PER_MS);
    cd_wh_deliver_load load;
    cd_wh_deliver_load_get(r->deliverer, &load);
    r->pushed += b->status == 0 && load.waiting > 20;
    if (b->fail_first > 0) {
        b->fail_first--;
        cd_http_reply(req, 500, NULL);
        return;
    }
    if (b->status == 0) {
        assert_true(r->hanging_cnt < CD_COUNT(r->hanging));
        r->hanging[r->hanging_cnt++] = req;
        return;
    }
    if (b->header != NULL) {
        cd_http_req_add_header(req, b->header, b->value);
    }
    cd_buf_fill(cd_http_req_out(req), 'x', b->body);
    cd_http_reply(req, b->status, "text/plain");
}

/* --- names --- */

static void dns_answer(cd_loop_task *t)
{
    rig *r = cd_list_of(t, rig, dns_task);
    cd_ip ips[2] = {{.b = {127, 0, 0, 1}, .n = 4}, {.b = {127, 0, 0, 1}, .n = 4}};
    usize cnt = r->dns[0] == '\0' ? 0 : 1;
    if (strcmp(r->dns, "10.0.0.5") == 0) {
        ips[0].b[0] = 10;
        ips[0].b[3] = 5;
    } else if (strcmp(r->dns, "two") == 0) { /* the first refuses */
        ips[0].b[3] = 9;
        cnt = 2;
    }
    r->dns_fn(r->dns_arg, cnt == 0 ? CD_ENOENT : CD_OK, ips, cnt);
}

static void *dns_look_up(void *ctx, const char *host, cd_lookup_fn *fn, void *arg)
{
    rig *r = ctx;
    (void)host;
    r->dns_fn = fn;
    r->dns_arg = arg;
    r->dns_task.fn = dns_answer;
    cd_loop_post(r->loop, &r->dns_task);
    return r;
}

static void dns_drop(void *lookup)
{
    (void)lookup;
}

/* --- running --- */

typedef struct until {
    rig *r;
    bool (*is_so)(rig *r, u64 want);
    u64 want;
    u32 rounds;
    cd_timer *timer;
} until;

static void look(void *ctx)
{
    until *u = ctx;
    if (u->is_so(u->r, u->want)) {
        cd_loop_stop(u->r->loop);
    } else if (++u->rounds > PATIENCE_ROUNDS) {
        fail_msg("it does not come to what was awaited");
    }
}

static void run_until(rig *r, bool (*is_so)(rig *r, u64 want), u64 want)
{
    until u = {.r = r, .is_so = is_so, .want = want};
    u.timer = cd_timer_new(r->loop, look, &u);
    cd_timer_start(u.timer, 1, 1);
    cd_loop_run(r->loop);
    cd_timer_free(u.timer);
}

static bool has_settled(rig *r, u64 want)
{
    return r->settled >= want;
}

static bool has_seen(rig *r, u64 want)
{
    return r->seen_cnt >= want;
}

static bool is_idle(rig *r, u64 want)
{
    cd_wh_deliver_load load;
    (void)want;
    cd_wh_deliver_load_get(r->deliverer, &load);
    return load.running == 0 && load.waiting == 0;
}

/* A job of the test, to its end. */
typedef struct job {
    cd_job job;
    rig *r;
    cd_err (*fn)(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why);
    void *ctx;
    cd_arena mem;
    bool is_done;
} job;

static cd_err run_job(cd_job *j, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    job *t = cd_list_of(j, job, job);
    return t->fn(t->r, t->ctx, s, &t->mem, why);
}

static void job_done(cd_job *j)
{
    job *t = cd_list_of(j, job, job);
    t->is_done = true;
    cd_loop_stop(t->r->loop);
}

static void store_do(rig *r, job *t, cd_err (*fn)(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why),
                     void *ctx)
{
    *t = (job){.job = {.run = run_job, .done = job_done}, .r = r, .fn = fn, .ctx = ctx};
    cd_jobs_write(r->db, &t->job);
    while (!t->is_done) {
        cd_loop_run(r->loop);
    }
    if (t->job.err != CD_OK) {
        fail_msg("%s", t->job.why.msg);
    }
}

static void on_settled(void *ctx, const cd_wh_settled *s)
{
    rig *r = ctx;
    r->settled++;
    if (r->is_lazy) {
        cd_wh_deliver_load load;
        cd_wh_deliver_load_get(r->deliverer, &load);
        r->running_most = load.running > r->running_most ? load.running : r->running_most;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    r->last_state = s->state;
    r->last_status = s->attempt->status;
    r->last_body = s->attempt->body.n;
    (void)snprintf(r->last_error, sizeof r->last_error, "%s", s->attempt->error);
    assert_non_null(s->hook->id);
    assert_true(s->attempt->body.n <= 4096 && strlen(s->attempt->response) <= 4096);
}

static cd_err on_ended(void *ctx, cd_wh_store *s, const cd_wh_ending *e, cd_errinfo *why)
{
    rig *r = ctx;
    cd_arena mem = {0};
    cd_wh_hook hook;
    r->given_up++;
    r->ended += e->status != CD_WH_ACTIVE;
    cd_err err = cd_wh_hook_by_key(s, &hook, &mem, e->d->hook, false, why);
    if (err == CD_OK && hook.status != e->status) {
        err = CD_EINVAL;
    }
    cd_arena_fini(&mem);
    return err;
}

static void start_deliverer(rig *r)
{
    const cd_wh_deliver_cfg cfg = {
        .db = r->db,
        .guard = r->guard,
        .clock = &r->clock.clock,
        .brand = "Svc",
        .timeout_ms = r->timeout_ms,
        .ctx = r,
        .settled = on_settled,
        .hook_ended = on_ended,
    };
    cd_errinfo why = {0};
    assert_int_equal(cd_wh_deliver_new(&r->deliverer, r->loop, &cfg, &why), CD_OK);
}

static cd_err put_project(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    (void)mem;
    (void)ctx;
    static const char *const ids[] = {"pa", "pb", "pc"};
    for (usize i = 0; i < 3; i++) {
        const cd_wh_project p = {.id = ids[i],
                                 .name = "p",
                                 .tier = "enterprise",
                                 .email = "a@b.example",
                                 .face = (cd_wh_face)i,
                                 .created_ms = now_ms(r)};
        CD_TRY(cd_wh_project_put(s, &p, why));
    }
    return CD_OK;
}

static int set_up(void **state)
{
    static const char *const cidrs[] = {"127.0.0.0/8"};
    static const u8 master[32] = {1};
    rig *r = calloc(1, sizeof *r);
    cd_errinfo why = {0};
    char url[100];
    job t;
    r->block = 100;
    r->dns = "127.0.0.1";
    for (usize i = 0; i < CD_COUNT(r->act); i++) {
        r->act[i].status = 200;
    }
    (void)snprintf(r->dir, sizeof r->dir, "/tmp/candela-deliver-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(url, sizeof url, "sqlite:%s/webhooks.db", r->dir);
    cd_clock_virtual_init(&r->clock, BEGIN_MS * CD_NS_PER_MS);
    assert_int_equal(cd_loop_new(&r->loop, &why), CD_OK);
    const cd_wh_store_cfg store = {.url = url, .worker = "w1", .master_key = master, .clock = &r->clock.clock};
    if (cd_wh_db_open(&r->db, r->loop, &store, NULL, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    const cd_wh_resolver resolver = {dns_look_up, dns_drop, r};
    const cd_wh_guard_cfg guard = {
        .allow_http = true, .allow_cidrs = cidrs, .allow_cidrs_cnt = 1, .resolver = &resolver, .keep_ms = 1};
    assert_int_equal(cd_wh_guard_new(&r->guard, r->loop, &guard, &why), CD_OK);
    static const char *const any[] = {"*"};
    const cd_http_cfg http = {.allowed_hosts = any, .allowed_hosts_cnt = 1};
    r->receiver = cd_http_server_new(r->loop, &http);
    cd_http_server_route(r->receiver,
                         &(cd_http_route){.path = "/*", .methods = CD_HTTP_ANY, .handler = serve, .ctx = r});
    assert_int_equal(cd_http_server_listen(r->receiver, "127.0.0.1", 0, &why), CD_OK);
    store_do(r, &t, put_project, NULL);
    start_deliverer(r);
    *state = r;
    return 0;
}

static void on_stopped(void *ctx)
{
    cd_loop_stop(ctx);
}

static int tear_down(void **state)
{
    rig *r = *state;
    cd_jobs_close(r->db);
    cd_wh_deliver_free(r->deliverer);
    cd_wh_guard_free(r->guard);
    for (usize i = 0; i < r->hanging_cnt; i++) {
        cd_http_reply(r->hanging[i], 200, NULL);
    }
    cd_http_server_stop(r->receiver, 10, on_stopped, r->loop);
    cd_loop_run(r->loop);
    cd_http_server_free(r->receiver);
    cd_loop_free(r->loop);
    for (usize i = 0; i < r->seen_cnt; i++) {
        free(r->seen[i].head);
    }
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), r->dir, NULL), CD_OK);
    free(r);
    return 0;
}

/* --- webhooks and events --- */

typedef struct new_hook {
    cd_wh_face face;
    const char *path; /* "/1" */
    const char *settings;
    const char *host; /* NULL: 127.0.0.1 */
    bool is_strict;
    u32 concurrency;
    u64 grace_ms; /* of a new secret, from now; 0: there is none */
    i64 key;
} new_hook;

static cd_err add_hook(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    new_hook *n = ctx;
    static u32 made;
    static const char *const projects[] = {"pa", "pb", "pc"};
    static const u32 types[] = {1u << CD_WH_A_TRANSFER, 1u << CD_WH_B_TOKEN, 1u << CD_WH_C_TOKEN};
    cd_wh_hook hook = {
        .id = cd_arena_fmt(mem, "wh_%u", ++made),
        .project = projects[n->face],
        .face = n->face,
        .name = "",
        .url = cd_arena_fmt(mem, "http://%s:%u%s", n->host != NULL ? n->host : "127.0.0.1",
                            cd_http_server_port(r->receiver), n->path),
        .chain = "lux",
        .network = "",
        .types = types[n->face],
        .config = cd_bytes_str("{}"),
        .settings = cd_bytes_str(n->settings != NULL ? n->settings : "{}"),
        .secret = n->face == CD_WH_A ? (cd_bytes){0} : cd_bytes_str(SECRET),
        .secret_next = n->grace_ms == 0 ? (cd_bytes){0} : cd_bytes_str(NEXT),
        .grace_until_ms = n->grace_ms == 0 ? 0 : now_ms(r) + n->grace_ms,
        .created_ms = now_ms(r),
        .updated_ms = now_ms(r),
        .is_strict = n->is_strict,
        .concurrency = n->concurrency,
    };
    CD_TRY(cd_wh_hook_add(s, &hook, 0, why));
    n->key = hook.key;
    return CD_OK;
}

static i64 hook(rig *r, new_hook n)
{
    job t;
    store_do(r, &t, add_hook, &n);
    cd_arena_fini(&t.mem);
    return n.key;
}

typedef struct events {
    i64 hook;
    cd_wh_type type;
    u32 cnt;
    cd_wh_enqueued made;
} events;

static cd_err enqueue(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    events *e = ctx;
    cd_wh_event *list = cd_arena_array(mem, cd_wh_event, e->cnt);
    u8 hash[32] = {0};
    cd_put_be64(hash, ++r->block);
    for (u32 i = 0; i < e->cnt; i++) {
        list[i] = (cd_wh_event){.hook = e->hook, .type = e->type, .block = r->block, .time_ms = now_ms(r)};
        cd_put_be64(list[i].h, r->block);
        cd_put_be32(list[i].h + 8, i);
        cd_put_be64(list[i].h + 12, (u64)e->hook);
        (void)snprintf(list[i].id, sizeof list[i].id, "evt_%llu_%u", (unsigned long long)r->block, i);
        list[i].body = cd_bytes_str(cd_arena_fmt(mem, "{\"id\":\"%s\"}", list[i].id));
    }
    return cd_wh_enqueue(s, &e->made, mem, list, e->cnt, "lux", r->block, hash, why);
}

/* Writes events of one block; what is to go out at once is offered. */
static cd_wh_enqueued events_of(rig *r, i64 key, cd_wh_type type, u32 cnt)
{
    job t;
    events e = {.hook = key, .type = type, .cnt = cnt};
    store_do(r, &t, enqueue, &e);
    cd_wh_deliver_offer(r->deliverer, e.made.made, e.made.cnt);
    cd_arena_fini(&t.mem);
    return e.made;
}

static cd_err get_status(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_hook *h = ctx;
    (void)r;
    return cd_wh_hook_by_key(s, h, mem, h->key, false, why);
}

static cd_wh_status status_of(rig *r, i64 key)
{
    job t;
    cd_wh_hook h = {.key = key};
    store_do(r, &t, get_status, &h);
    cd_arena_fini(&t.mem);
    return h.status;
}

typedef struct counts {
    i64 hook;
    u32 n[CD_WH_STATES_CNT];
} counts;

static cd_err count_states(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    counts *c = ctx;
    cd_wh_delivery *rows;
    usize cnt;
    (void)r;
    const cd_wh_delivery_query q = {.hook = c->hook, .limit = 1000};
    CD_TRY(cd_wh_delivery_list(s, &rows, &cnt, mem, &q, why));
    for (usize i = 0; i < cnt; i++) {
        c->n[rows[i].state]++;
    }
    return CD_OK;
}

static counts states_of(rig *r, i64 key)
{
    job t;
    counts c = {.hook = key};
    store_do(r, &t, count_states, &c);
    cd_arena_fini(&t.mem);
    return c;
}

static void pass(rig *r, u64 ms)
{
    cd_clock_virtual_advance(&r->clock, ms * CD_NS_PER_MS);
    cd_wh_deliver_due(r->deliverer);
}

typedef struct change {
    i64 hook;
    bool resumes;
} change;

static cd_err change_status(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    change *c = ctx;
    bool changed;
    (void)r;
    (void)mem;
    return c->resumes ? cd_wh_hook_resume(s, &changed, c->hook, why)
                      : cd_wh_hook_pause(s, &changed, c->hook, CD_WH_PAUSED, why);
}

static void set_status(rig *r, i64 key, bool resumes)
{
    job t;
    change c = {key, resumes};
    cd_wh_hook h = {.key = key};
    store_do(r, &t, change_status, &c);
    cd_arena_fini(&t.mem);
    store_do(r, &t, get_status, &h);
    cd_wh_deliver_hook(r->deliverer, &h);
    cd_arena_fini(&t.mem);
}

/* --- tests --- */

static void check_schedule(rig *r, cd_wh_face face, const char *path, u64 takes_ms, const u32 *times_s, u32 cnt)
{
    static const cd_wh_type types[] = {CD_WH_A_TRANSFER, CD_WH_B_TOKEN, CD_WH_C_TOKEN};
    i64 key = hook(r, (new_hook){.face = face, .path = path});
    usize first = r->seen_cnt;
    u32 settled = r->settled;
    u32 ended = r->ended;
    u32 given_up = r->given_up;
    u64 begin = now_ms(r);
    r->act[path[1] - '0'] = (behaviour){.status = 500, .takes_ms = takes_ms};
    (void)events_of(r, key, types[face], 1);
    for (u32 i = 0; i < cnt; i++) {
        run_until(r, has_settled, settled + i + 1);
        assert_int_equal(r->last_state, i + 1 < cnt ? CD_WH_RETRYING : CD_WH_FAILED);
        assert_int_equal(r->seen_cnt, first + i + 1);
        assert_int_equal(r->seen[first + i].at_ms, begin + times_s[i] * 1000ull);
        assert_string_equal(r->seen[first + i].body, r->seen[first].body);
        if (i + 1 < cnt) {
            /* A millisecond earlier nothing happens. */
            u64 wait = begin + times_s[i + 1] * 1000ull - now_ms(r);
            pass(r, wait - 1);
            (void)states_of(r, key);
            run_until(r, is_idle, 0);
            assert_int_equal(r->seen_cnt, first + i + 1);
            pass(r, 1);
        }
    }
    counts c = states_of(r, key);
    assert_int_equal(c.n[CD_WH_FAILED], 1);
    static const cd_wh_status after[] = {CD_WH_DISABLED, CD_WH_PAUSED, CD_WH_ACTIVE};
    assert_int_equal(status_of(r, key), after[face]);
    assert_int_equal(r->ended, ended + (face != CD_WH_C));
    assert_int_equal(r->given_up, given_up + 1); /* told of all */
    /* What matches now is logged and not sent, unless the webhook goes on. */
    r->act[path[1] - '0'] = (behaviour){.status = 200};
    (void)events_of(r, key, types[face], 2);
    if (face == CD_WH_C) {
        run_until(r, has_settled, settled + cnt + 2);
    }
    c = states_of(r, key);
    assert_int_equal(c.n[face == CD_WH_C ? CD_WH_DELIVERED : CD_WH_SKIPPED], 2);
}

static void schedules(void **state)
{
    static const u32 a[] = {0, 30, 150, 750, 4350};
    static const u32 b[] = {0, 10, 70, 670, 4270, 25870};
    static const u32 c[] = {0, 1, 6, 36, 336, 2136, 9336, 38136};
    check_schedule(*state, CD_WH_A, "/1", 0, a, CD_COUNT(a));
    check_schedule(*state, CD_WH_B, "/2", 0, b, CD_COUNT(b));
    check_schedule(*state, CD_WH_C, "/3", 0, c, CD_COUNT(c));
}

static void schedules_of_slow_receivers(void **state)
{
    static const u32 a[] = {0, 45, 180, 795, 4410};
    static const u32 b[] = {0, 25, 100, 715, 4330, 25945};
    static const u32 c[] = {0, 16, 36, 81, 396, 2211, 9426, 38241};
    check_schedule(*state, CD_WH_A, "/1", 15000, a, CD_COUNT(a));
    check_schedule(*state, CD_WH_B, "/2", 15000, b, CD_COUNT(b));
    check_schedule(*state, CD_WH_C, "/3", 15000, c, CD_COUNT(c));
}

/* Answers that are neither a plain success nor a plain failure. */
static void answers(void **state)
{
    rig *r = *state;
    static const struct {
        behaviour act;
        cd_wh_state state;
        u64 wait_ms;
        const char *error;
    } rows[] = {
        {{.status = 204}, CD_WH_DELIVERED, 0, ""},
        {{.status = 299, .body = 200000}, CD_WH_DELIVERED, 0, ""},
        {{.status = 302, .header = "Location", .value = "/9"}, CD_WH_RETRYING, 1000, "status"},
        {{.status = 429, .header = "Retry-After", .value = "120"}, CD_WH_RETRYING, 120000, "status"},
        {{.status = 503, .header = "Retry-After", .value = "0"}, CD_WH_RETRYING, 1000, "status"},
        {{.status = 503, .header = "Retry-After", .value = "999999"}, CD_WH_RETRYING, 86400000, "status"},
        {{.status = 500, .header = "Retry-After", .value = "60", .body = 5000}, CD_WH_RETRYING, 1000, "status"},
        {{.status = 410}, CD_WH_FAILED, 0, "status"},
    };
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1"});
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        r->act[1] = rows[i].act;
        usize before = r->seen_cnt;
        u32 settled = r->settled;
        (void)events_of(r, key, CD_WH_C_TOKEN, 1);
        run_until(r, has_settled, settled + 1);
        assert_int_equal(r->last_state, rows[i].state);
        assert_string_equal(r->last_error, rows[i].error);
        assert_int_equal(r->last_status, rows[i].act.status);
        assert_int_equal(r->seen_cnt, before + 1); /* no redirect was followed */
        assert_int_equal(r->last_body, rows[i].act.body > 4096 ? 4096 : rows[i].act.body);
        r->act[1] = (behaviour){.status = 200};
        if (rows[i].wait_ms != 0) {
            pass(r, rows[i].wait_ms - 1);
            (void)states_of(r, key);
            run_until(r, is_idle, 0);
            assert_int_equal(r->seen_cnt, before + 1);
            pass(r, 1);
            run_until(r, has_settled, settled + 2);
            assert_int_equal(r->last_state, CD_WH_DELIVERED);
        }
    }
    assert_int_equal(status_of(r, key), CD_WH_ACTIVE);
    i64 gone = hook(r, (new_hook){.face = CD_WH_A, .path = "/2"});
    r->act[2].status = 410;
    u32 settled = r->settled;
    (void)events_of(r, gone, CD_WH_A_TRANSFER, 1);
    run_until(r, has_settled, settled + 1);
    assert_int_equal(status_of(r, gone), CD_WH_DISABLED);
    assert_int_equal(r->ended, 1);
}

static bool has_line(const char *head, const char *line)
{
    const char *p = strstr(head, line);
    return p != NULL && p > head && p[-1] == '\n';
}

/* The value of a header line; in a buffer of its own. */
static const char *value_of(const char *head, const char *name)
{
    static char values[2][100];
    static u32 turn;
    char *out = values[turn++ % 2];
    const char *p = strstr(head, name);
    assert_non_null(p);
    p += strlen(name);
    (void)snprintf(out, sizeof values[0], "%.*s", (int)strcspn(p, "\n"), p);
    return out;
}

/* What the store has chained, receivers can check, and only in order. */
static void chain(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .is_strict = true});
    (void)events_of(r, key, CD_WH_C_TOKEN, 3);
    run_until(r, has_settled, 3);
    unsigned char last[32] = {0};
    static const struct {
        usize item;
        int want;
    } rows[] = {{1, 0}, {0, 1}, {2, 0}, {0, 0}, {1, 1}, {2, 1}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        const seen *s = &r->seen[rows[i].item];
        assert_int_equal(cd_webhook_chain(last, value_of(s->head, "X-Svc-Event-Hash: "),
                                          value_of(s->head, "X-Svc-Chain: "), s->body, strlen(s->body)),
                         rows[i].want);
    }
    assert_int_equal(cd_webhook_chain(last, NULL, NULL, "", 0), 0);
}

static void headers(void **state)
{
    rig *r = *state;
    cd_errinfo why = {0};
    i64 b =
        hook(r, (new_hook){.face = CD_WH_B,
                           .path = "/1",
                           .settings = "{\"standard_headers\":true,\"headers\":{\"X-Own\":\"a b\",\"Authorization\":"
                                       "\"Bearer x\"}}"});
    i64 c = hook(r, (new_hook){.face = CD_WH_C, .path = "/2", .settings = "{\"sequence_headers\":false}"});
    i64 a = hook(r, (new_hook){.face = CD_WH_A, .path = "/3"});
    r->act[1].fail_first = 1;
    (void)events_of(r, b, CD_WH_B_TOKEN, 1);
    run_until(r, has_settled, 1);
    pass(r, 10000);
    run_until(r, has_settled, 2);
    (void)events_of(r, c, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 3);
    (void)events_of(r, a, CD_WH_A_TRANSFER, 1);
    run_until(r, has_settled, 4);
    assert_int_equal(r->seen_cnt, 4);
    for (usize i = 0; i < 2; i++) {
        const char *head = r->seen[i].head;
        assert_int_equal(
            cd_wh_verify(CD_WH_SCHEME_B, "Svc", SECRET, cd_bytes_str(head), BEGIN_MS / 1000 + 10 * i, &why), CD_OK);
        assert_true(has_line(head, "Content-Type: application/json\n"));
        assert_true(has_line(head, "User-Agent: Svc-Webhooks/1.0\n"));
        assert_true(has_line(head, i == 0 ? "X-Svc-Attempt: 1\n" : "X-Svc-Attempt: 2\n"));
        assert_true(has_line(head, i == 0 ? "X-Svc-Timestamp: 1768473322\n" : "X-Svc-Timestamp: 1768473332\n"));
        assert_true(has_line(head, "X-Svc-Sequence: 1\n") && has_line(head, "X-Svc-Chain: ") &&
                    has_line(head, "X-Svc-Event-Hash: "));
        assert_true(has_line(head, "X-Own: a b\n") && has_line(head, "Authorization: Bearer x\n"));
        assert_true(has_line(head, "X-Svc-Webhook-Id: wh_") && has_line(head, "X-Svc-Delivery: "));
        assert_true(has_line(head, "webhook-id: evt_") && has_line(head, "webhook-signature: v1,"));
        assert_false(has_line(head, "X-Webhook-Event: "));
    }
    const char *head = r->seen[2].head;
    assert_int_equal(cd_wh_verify(CD_WH_SCHEME_C, "Svc", SECRET, cd_bytes_str(head), 0, &why), CD_OK);
    assert_true(has_line(head, "X-Webhook-Event: TOKEN_TRANSFER\n"));
    assert_true(has_line(head, "X-Webhook-Idempotency-Key: evt_"));
    assert_false(has_line(head, "X-Svc-Sequence: ") || has_line(head, "webhook-id: "));
    assert_false(has_line(r->seen[3].head, "X-Svc-Signature: "));
}

static void pause_and_resume(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_B, .path = "/1"});
    r->act[1].status = 500;
    (void)events_of(r, key, CD_WH_B_TOKEN, 3);
    run_until(r, has_settled, 3);
    set_status(r, key, false);
    assert_int_equal(states_of(r, key).n[CD_WH_HELD], 3);
    (void)events_of(r, key, CD_WH_B_TOKEN, 2);
    pass(r, 3600000);
    counts c = states_of(r, key);
    assert_true(c.n[CD_WH_HELD] == 3 && c.n[CD_WH_SKIPPED] == 2);
    assert_int_equal(r->seen_cnt, 3);
    /* Held ones go on at once. */
    r->act[1].status = 200;
    set_status(r, key, true);
    run_until(r, has_settled, 6);
    c = states_of(r, key);
    assert_true(c.n[CD_WH_DELIVERED] == 3 && c.n[CD_WH_SKIPPED] == 2);

    /* Paused while an attempt is under way: it ends, and its retry is held. */
    r->act[1].status = 0;
    (void)events_of(r, key, CD_WH_B_TOKEN, 1);
    run_until(r, has_seen, 7);
    set_status(r, key, false);
    cd_http_reply(r->hanging[--r->hanging_cnt], 500, NULL);
    run_until(r, has_settled, 7);
    c = states_of(r, key);
    assert_int_equal(c.n[CD_WH_HELD], 1);
    assert_int_equal(status_of(r, key), CD_WH_PAUSED);
}

/* Strict: one at a time, in order; a failing one holds up those behind it until it has come through. */
static void strict_order(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .is_strict = true});
    r->act[1].fail_first = 2;
    (void)events_of(r, key, CD_WH_C_TOKEN, 20);
    run_until(r, has_settled, 1);
    pass(r, 1000);
    run_until(r, has_settled, 2);
    (void)states_of(r, key);
    assert_int_equal(r->seen_cnt, 2);
    pass(r, 5000);
    run_until(r, has_settled, 22);
    assert_int_equal(r->seen_cnt, 22);
    for (usize i = 0; i < 22; i++) {
        char want[64];
        (void)snprintf(want, sizeof want, "{\"id\":\"evt_101_%zu\"}", i < 2 ? 0 : i - 2);
        assert_string_equal(r->seen[i].body, want);
    }
}

/* Retries of one event do not hold up the others; first attempts begin in order. */
static void order(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1"});
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 1);
    r->act[1].fail_first = 3;
    (void)events_of(r, key, CD_WH_C_TOKEN, 100);
    run_until(r, has_settled, 101);
    assert_int_equal(states_of(r, key).n[CD_WH_DELIVERED], 98);
    pass(r, 1000);
    run_until(r, has_settled, 104);
    assert_int_equal(states_of(r, key).n[CD_WH_DELIVERED], 101);
}

/* Names that lead into the house at the time of the attempt, or nowhere. */
static void names(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .host = "rebind.test"});
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 1);
    assert_int_equal(r->last_state, CD_WH_DELIVERED);
    r->dns = "10.0.0.5";
    pass(r, 10);
    u32 waits = 0;
    while (waits++ < 3) {
        (void)states_of(r, key); /* the kept answer ends in real time */
    }
    cd_timer *t = cd_timer_new(r->loop, on_stopped, r->loop);
    cd_timer_start(t, 5, 0);
    cd_loop_run(r->loop);
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 2);
    assert_int_equal(r->last_state, CD_WH_RETRYING);
    assert_string_equal(r->last_error, "ssrf");
    r->dns = "";
    cd_timer_start(t, 5, 0);
    cd_loop_run(r->loop);
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 3);
    assert_string_equal(r->last_error, "dns");
    assert_int_equal(r->seen_cnt, 1);
    cd_timer_free(t);
}

/* Until the end of its grace the old secret signs, and the new one beside it; from that millisecond on the new one. */
static void grace(void **state)
{
    enum { GRACE_MS = 60000 };
    rig *r = *state;
    cd_errinfo why = {0};
    i64 key = hook(r, (new_hook){.face = CD_WH_B, .path = "/1", .grace_ms = GRACE_MS});
    static const u64 steps[] = {0, GRACE_MS - 1, 1};
    u64 at_ms = BEGIN_MS;
    for (u32 i = 0; i < CD_COUNT(steps); i++) {
        at_ms += steps[i];
        pass(r, steps[i]);
        (void)events_of(r, key, CD_WH_B_TOKEN, 1);
        run_until(r, has_settled, i + 1);
        const char *head = r->seen[i].head;
        bool is_over = i == 2;
        assert_int_equal(
            cd_wh_verify(CD_WH_SCHEME_B, "Svc", is_over ? NEXT : SECRET, cd_bytes_str(head), at_ms / 1000, &why),
            CD_OK);
        assert_int_equal(has_line(head, "X-Svc-Signature-Next: "), !is_over);
    }
}

/* A name with two addresses, the first of which refuses: one attempt, one request, delivered. */
static void next_address(void **state)
{
    rig *r = *state;
    r->dns = "two";
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .host = "two.test"});
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 1);
    assert_int_equal(r->last_state, CD_WH_DELIVERED);
    assert_int_equal(r->seen_cnt, 1);
}

/* Forty attempts hang; three hundred deliveries of others go by. */
static void isolation(void **state)
{
    rig *r = *state;
    i64 hanging[40];
    r->act[0].status = 0;
    for (usize i = 0; i < CD_COUNT(hanging); i++) {
        hanging[i] = hook(r, (new_hook){.face = CD_WH_B, .path = "/0"});
        (void)events_of(r, hanging[i], CD_WH_B_TOKEN, 5);
    }
    run_until(r, has_seen, CD_COUNT(hanging)); /* one attempt of each, whatever else waits */
    i64 healthy = hook(r, (new_hook){.face = CD_WH_C, .path = "/1"});
    (void)events_of(r, healthy, CD_WH_C_TOKEN, 300);
    run_until(r, has_settled, 300);
    assert_int_equal(states_of(r, healthy).n[CD_WH_DELIVERED], 300);
    cd_wh_deliver_load load;
    cd_wh_deliver_load_get(r->deliverer, &load);
    assert_int_equal(load.running, CD_COUNT(hanging));
    assert_int_equal(r->seen_cnt, CD_COUNT(hanging) + 300);
}

/* So much to do that turns wait for one another: in the end all is recorded. */
static void many(void **state)
{
    rig *r = *state;
    i64 hooks[10];
    for (usize i = 0; i < CD_COUNT(hooks); i++) {
        hooks[i] = hook(r, (new_hook){.face = CD_WH_C, .path = "/1"});
    }
    for (usize i = 0; i < CD_COUNT(hooks); i++) {
        (void)events_of(r, hooks[i], CD_WH_C_TOKEN, 50);
    }
    run_until(r, has_settled, 500);
    assert_int_equal(r->seen_cnt, 500);
    for (usize i = 0; i < CD_COUNT(hooks); i++) {
        assert_int_equal(states_of(r, hooks[i]).n[CD_WH_DELIVERED], 50);
    }
}

/* A deliverer whose attempts end soon; real time, since it is the HTTP client's. */
static void restart_hasty(rig *r)
{
    cd_wh_deliver_drain(r->deliverer, 50, on_stopped, r->loop);
    cd_loop_run(r->loop);
    cd_wh_deliver_free(r->deliverer);
    r->timeout_ms = 700;
    start_deliverer(r);
}

/* Events that were seen for the first time, in this order. */
static void check_firsts(const rig *r, const char *path, u32 want)
{
    u64 last = 0;
    u32 cnt = 0;
    for (usize i = 0; i < r->seen_cnt; i++) {
        unsigned long long block = 0;
        unsigned nth = 0;
        const seen *s = &r->seen[i];
        if (strcmp(s->path, path) == 0 && has_line(s->head, "X-Svc-Attempt: 1\n")) {
            assert_int_equal(sscanf(s->body, "{\"id\":\"evt_%llu_%u", &block, &nth), 2);
            assert_true(block * 1000 + nth > last);
            last = block * 1000 + nth;
            cnt++;
        }
    }
    assert_int_equal(cnt, want);
}

/* Until so many are delivered, while the clock goes on. It stands still while anything is under way: attempts take
 * real time, and rounds without them are counted. */
static void await_delivered(rig *r, i64 key, u32 want)
{
    u32 got;
    for (u32 rounds = 0; (got = states_of(r, key).n[CD_WH_DELIVERED]) < want; rounds++) {
        assert_true(rounds < DELIVERED_ROUNDS);
        run_until(r, is_idle, 0);
        pass(r, 1000);
    }
    assert_int_equal(got, want);
}

/* One that hangs is given one event at a time, the others wait in the store; when it answers it has them in order. */
static void hung_one(void **state)
{
    rig *r = *state;
    restart_hasty(r);
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .concurrency = 1});
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 1);
    r->act[1].status = 0;
    assert_int_equal(events_of(r, key, CD_WH_C_TOKEN, 20).cnt, 20);
    run_until(r, has_settled, 2);
    assert_string_equal(r->last_error, "timeout");
    assert_int_equal(r->last_state, CD_WH_RETRYING);
    (void)states_of(r, key);
    assert_int_equal(events_of(r, key, CD_WH_C_TOKEN, 5).waiting, 5);
    run_until(r, has_settled, 3);
    assert_true(r->seen_cnt <= 4);
    r->act[1].status = 200;
    run_until(r, has_settled, 26);
    check_firsts(r, "/1", 26);
    await_delivered(r, key, 26);
    assert_int_equal(events_of(r, key, CD_WH_C_TOKEN, 5).cnt, 5); /* as if nothing had been */
    await_delivered(r, key, 31);
    check_firsts(r, "/1", 31);
}

/* As the store is after a restart. */
static cd_err forget_slow(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    (void)r;
    (void)mem;
    return cd_wh_slow_set(s, *(const i64 *)ctx, false, why);
}

typedef struct slowness {
    i64 hook;
    bool is_slow;
} slowness;

static cd_err look_slow(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    slowness *x = ctx;
    (void)r;
    (void)mem;
    (void)why;
    x->is_slow = cd__wh_is_slow(s, x->hook);
    return CD_OK;
}

/* Waits until the deliverer's word has come to the store. */
static void await_slow(rig *r, i64 hook)
{
    job t;
    slowness x = {.hook = hook};
    for (u32 i = 0; i < 10000 && !x.is_slow; i++) {
        store_do(r, &t, look_slow, &x);
    }
    assert_true(x.is_slow);
}

/* A process that begins anew knows by the failures in the store who may hang. */
static void hung_before(void **state)
{
    rig *r = *state;
    job t;
    restart_hasty(r);
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .concurrency = 1});
    r->act[1].status = 0;
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_settled, 1);
    restart_hasty(r);
    store_do(r, &t, forget_slow, &key);
    assert_int_equal(events_of(r, key, CD_WH_C_TOKEN, 3).cnt, 3);
    run_until(r, has_seen, 2);
    await_slow(r, key);
    assert_int_equal(events_of(r, key, CD_WH_C_TOKEN, 2).waiting, 2);
    r->act[1].status = 200;
    await_delivered(r, key, 6);
    check_firsts(r, "/1", 6);
}

static bool is_one_slow(rig *r, u64 want)
{
    cd_wh_deliver_load load;
    cd_wh_deliver_load_get(r->deliverer, &load);
    return load.hung >= want;
}

/* A receiver that was late once, or a machine: when it answers it has the rest at once, no clock has to move. */
static void late_once(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_B, .path = "/1"});
    (void)events_of(r, key, CD_WH_B_TOKEN, 1);
    run_until(r, has_settled, 1);
    r->act[1].status = 0;
    (void)events_of(r, key, CD_WH_B_TOKEN, 60);
    run_until(r, is_one_slow, 8);
    assert_int_equal(r->hanging_cnt, 8);
    r->act[1].status = 200;
    while (r->hanging_cnt > 0) {
        cd_http_reply(r->hanging[--r->hanging_cnt], 200, NULL);
    }
    run_until(r, has_settled, 61);
    assert_int_equal(states_of(r, key).n[CD_WH_DELIVERED], 61);
}

/* Attempts take long because this thread is busy: more of them would not help. */
static void enough_run(void **state)
{
    rig *r = *state;
    i64 keys[10];
    job jobs[CD_COUNT(keys)];
    events lists[CD_COUNT(keys)];
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        keys[i] = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .concurrency = 1000});
        (void)events_of(r, keys[i], CD_WH_C_TOKEN, 1);
    }
    run_until(r, has_settled, CD_COUNT(keys));
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        lists[i] = (events){.hook = keys[i], .type = CD_WH_C_TOKEN, .cnt = 40};
        store_do(r, &jobs[i], enqueue, &lists[i]);
    }
    r->is_lazy = true;
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        cd_wh_deliver_offer(r->deliverer, lists[i].made.made, lists[i].made.cnt);
        cd_arena_fini(&jobs[i].mem);
    }
    run_until(r, has_settled, 41 * CD_COUNT(keys));
    assert_true(r->running_most <= 64);
}

/* While quick ones have enough to do, hung ones get few attempts; none is forgotten. */
static void hung_many(void **state)
{
    rig *r = *state;
    i64 hung[20];
    i64 quick[10];
    restart_hasty(r);
    for (usize i = 0; i < CD_COUNT(quick); i++) {
        quick[i] = hook(r, (new_hook){.face = CD_WH_C, .path = "/1", .concurrency = 100});
        (void)events_of(r, quick[i], CD_WH_C_TOKEN, 1);
    }
    run_until(r, has_settled, CD_COUNT(quick));
    r->act[0].status = 0;
    for (usize i = 0; i < CD_COUNT(hung); i++) {
        hung[i] = hook(r, (new_hook){.face = CD_WH_C, .path = "/0"});
        (void)events_of(r, hung[i], CD_WH_C_TOKEN, 1);
    }
    run_until(r, has_settled, CD_COUNT(quick) + CD_COUNT(hung));
    job jobs[CD_COUNT(quick)];
    events lists[CD_COUNT(quick)];
    for (usize i = 0; i < CD_COUNT(quick); i++) {
        lists[i] = (events){.hook = quick[i], .type = CD_WH_C_TOKEN, .cnt = 40};
        store_do(r, &jobs[i], enqueue, &lists[i]);
    }
    r->pushed = 0;
    usize before = r->seen_cnt;
    pass(r, 1000);
    for (usize i = 0; i < CD_COUNT(quick); i++) {
        cd_wh_deliver_offer(r->deliverer, lists[i].made.made, lists[i].made.cnt);
        cd_arena_fini(&jobs[i].mem);
    }
    run_until(r, has_seen, before + 400 + CD_COUNT(hung));
    assert_true(r->pushed <= 1); /* one of thousands of starts */
    r->act[0].status = 200;
    for (usize i = 0; i < CD_COUNT(hung); i++) {
        await_delivered(r, hung[i], 1);
    }
}

static cd_err enqueue_test(rig *r, void *ctx, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_delivery *row = ctx;
    (void)mem;
    cd_wh_event e = {.hook = row->hook,
                     .type = CD_WH_C_TOKEN,
                     .id = "evt_test",
                     .time_ms = now_ms(r),
                     .body = cd_bytes_str("{\"test\":true}")};
    cd_put_be64(e.h, now_ms(r) + r->seen_cnt);
    return cd_wh_enqueue_test(s, row, &e, why);
}

static void on_tested(void *ctx, const cd_wh_attempt *a)
{
    u32 *status = ctx;
    *status = a == NULL ? 1 : a->status;
}

/* A test goes out once, whatever the webhook's status is, and changes nothing. */
static void test_events(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_B, .path = "/1"});
    set_status(r, key, false);
    static const u32 statuses[] = {200, 500, 410};
    for (usize i = 0; i < CD_COUNT(statuses); i++) {
        job t;
        u32 got = 0;
        cd_wh_delivery row = {.hook = key};
        r->act[1].status = statuses[i];
        store_do(r, &t, enqueue_test, &row);
        row.event.body = cd_bytes_str("{\"test\":true}");
        cd_wh_deliver_test(r->deliverer, &row, on_tested, &got);
        run_until(r, has_settled, i + 1);
        assert_int_equal(got, statuses[i]);
        assert_int_equal(r->last_state, statuses[i] == 200 ? CD_WH_DELIVERED : CD_WH_FAILED);
        cd_arena_fini(&t.mem);
    }
    pass(r, 86400000);
    (void)states_of(r, key);
    run_until(r, is_idle, 0);
    assert_int_equal(r->seen_cnt, 3);
    assert_int_equal(status_of(r, key), CD_WH_PAUSED);
    assert_int_equal(r->ended, 0);
}

/* A deliverer that is stopped gives back what it has; the next one sends it. What was delivered is not sent again. */
static void drain(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1"});
    (void)events_of(r, key, CD_WH_C_TOKEN, 4);
    run_until(r, has_settled, 4);
    r->act[1].status = 0;
    (void)events_of(r, key, CD_WH_C_TOKEN, 30);
    run_until(r, has_seen, 12);
    cd_wh_deliver_drain(r->deliverer, 50, on_stopped, r->loop);
    cd_loop_run(r->loop);
    cd_wh_deliver_free(r->deliverer);
    counts c = states_of(r, key);
    assert_int_equal(c.n[CD_WH_DELIVERED], 4);
    assert_int_equal(c.n[CD_WH_PENDING], 30);
    r->act[1].status = 200;
    start_deliverer(r);
    run_until(r, has_settled, 34);
    assert_int_equal(states_of(r, key).n[CD_WH_DELIVERED], 34);
    assert_int_equal(r->seen_cnt, 12 + 30);
}

/* A deliverer that dies: leases end, and what it had is sent, perhaps for the second time, with the same bytes. */
static void crash(void **state)
{
    rig *r = *state;
    i64 key = hook(r, (new_hook){.face = CD_WH_C, .path = "/1"});
    r->act[1].status = 0;
    (void)events_of(r, key, CD_WH_C_TOKEN, 1);
    run_until(r, has_seen, 1);
    cd_wh_deliver_free(r->deliverer);
    r->act[1].status = 200;
    start_deliverer(r);
    (void)states_of(r, key);
    assert_int_equal(r->seen_cnt, 1);
    pass(r, 301000);
    run_until(r, has_settled, 1);
    assert_int_equal(r->seen_cnt, 2);
    assert_string_equal(r->seen[0].body, r->seen[1].body);
    assert_int_equal(states_of(r, key).n[CD_WH_DELIVERED], 1);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(schedules),    T(schedules_of_slow_receivers),
        T(answers),      T(chain),
        T(headers),      T(pause_and_resume),
        T(strict_order), T(order),
        T(names),        T(isolation),
        T(test_events),  T(drain),
        T(crash),        T(many),
        T(hung_one),     T(hung_many),
        T(enough_run),   T(late_once),
        T(hung_before),  T(next_address),
        T(grace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
