#include "grpc/client.h"
#include "grpc/server.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>

/* A server and a client on a loop that runs on a thread of its own. */
typedef struct rig {
    cd_loop *loop;
    cd_thread thread;
    cd_grpc_server *server;
    cd_grpc_server_cfg server_cfg;
    cd_grpc_client *client;
    cd_grpc_client_cfg client_cfg;
    char addr[32];
    cd_mutex lock;
    cd_cond cond;
    cd_grpc_call *held; /* the call that the method Hold keeps; under lock */
    bool is_held_gone;
    cd_loop_task task;
    void (*job)(struct rig *r);
    bool is_done; /* the job has run */
    u32 served;
} rig;

static void on_job(cd_loop_task *t)
{
    rig *r = (rig *)(void *)((char *)t - offsetof(rig, task));
    r->job(r);
    cd_mutex_lock(&r->lock);
    r->is_done = true;
    cd_cond_wake_all(&r->cond);
    cd_mutex_unlock(&r->lock);
}

/* Does job on the loop and waits for its end. */
static void on_loop(rig *r, void (*job)(rig *r))
{
    r->job = job;
    r->task.fn = on_job;
    r->is_done = false;
    cd_loop_post(r->loop, &r->task);
    cd_mutex_lock(&r->lock);
    while (!r->is_done) {
        cd_cond_wait(&r->cond, &r->lock);
    }
    cd_mutex_unlock(&r->lock);
}

static void serve_echo(void *ctx, cd_grpc_call *call)
{
    rig *r = ctx;
    cd_buf msg = cd_grpc_call_take(call);
    r->served++;
    cd_grpc_reply(call, &msg);
}

static void serve_fail(void *ctx, cd_grpc_call *call)
{
    (void)ctx;
    cd_grpc_fail(call, 500, cd_bytes_str("na\xc3\xafve 100%\n"), cd_bytes_str("details!"));
}

static void serve_empty(void *ctx, cd_grpc_call *call)
{
    (void)ctx;
    cd_grpc_reply(call, NULL);
}

static void on_held_gone(void *ctx)
{
    rig *r = ctx;
    cd_mutex_lock(&r->lock);
    r->is_held_gone = true;
    cd_cond_wake_all(&r->cond);
    cd_mutex_unlock(&r->lock);
}

static void serve_hold(void *ctx, cd_grpc_call *call)
{
    rig *r = ctx;
    cd_grpc_call_on_gone(call, on_held_gone, r);
    cd_mutex_lock(&r->lock);
    r->held = call;
    cd_cond_wake_all(&r->cond);
    cd_mutex_unlock(&r->lock);
}

static cd_grpc_call *held_wait(rig *r)
{
    cd_mutex_lock(&r->lock);
    while (r->held == NULL) {
        cd_cond_wait(&r->cond, &r->lock);
    }
    cd_grpc_call *c = r->held;
    r->held = NULL;
    cd_mutex_unlock(&r->lock);
    return c;
}

static void gone_wait(rig *r)
{
    cd_mutex_lock(&r->lock);
    while (!r->is_held_gone) {
        cd_cond_wait(&r->cond, &r->lock);
    }
    cd_mutex_unlock(&r->lock);
}

static const cd_grpc_method methods[] = {
    {"/test.Test/Echo", serve_echo},
    {"/test.Test/Fail", serve_fail},
    {"/test.Test/Empty", serve_empty},
    {"/test.Test/Hold", serve_hold},
};

static void server_open(rig *r, u16 port)
{
    cd_errinfo why = {0};
    cd_err err = cd_grpc_server_open(&r->server, r->loop, &r->server_cfg, "127.0.0.1", port, &why);
    if (err != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_grpc_server_add(r->server, methods, CD_COUNT(methods), r);
}

static void run(void *arg)
{
    rig *r = arg;
    cd_loop_run(r->loop);
}

static rig *rig_new(void)
{
    rig *r = cd_new(rig);
    r->server_cfg = cd_grpc_server_cfg_default();
    r->client_cfg = cd_grpc_client_cfg_default();
    cd_mutex_init(&r->lock);
    cd_cond_init(&r->cond);
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    return r;
}

static void rig_start(rig *r)
{
    server_open(r, 0);
    (void)snprintf(r->addr, sizeof r->addr, "127.0.0.1:%u", cd_grpc_server_port(r->server));
    assert_int_equal(cd_grpc_client_new(&r->client, r->loop, &r->client_cfg, r->addr, NULL), CD_OK);
    assert_int_equal(cd_thread_start(&r->thread, "loop", run, r, NULL), CD_OK);
}

static void on_server_done(void *ctx)
{
    rig *r = ctx;
    r->server = NULL;
    cd_loop_stop(r->loop);
}

static void stop_job(rig *r)
{
    cd_grpc_client_free(r->client);
    cd_grpc_server_close(r->server, 0, on_server_done, r);
}

static void rig_free(rig *r)
{
    on_loop(r, stop_job);
    cd_thread_join(&r->thread);
    assert_null(r->server);
    cd_loop_free(r->loop);
    cd_cond_fini(&r->cond);
    cd_mutex_fini(&r->lock);
    cd_free(r);
}

static cd_buf text_buf(const char *s)
{
    cd_buf b = {0};
    cd_buf_str(&b, s);
    return b;
}

static void test_unary(void **state)
{
    rig *r = rig_new();
    cd_buf msg = text_buf("hello");
    cd_buf reply = {0};
    (void)state;
    rig_start(r);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Echo", &msg, 0, NULL, NULL), CD_OK);
    assert_int_equal(reply.n, 5);
    assert_memory_equal(reply.p, "hello", 5);
    assert_int_equal(msg.n, 0);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Empty", NULL, 1000, NULL, NULL), CD_OK);
    assert_int_equal(reply.n, 0);
    cd_buf_fini(&reply);
    rig_free(r);
}

static void test_errors(void **state)
{
    rig *r = rig_new();
    cd_buf reply = {0};
    cd_grpc_status st = {0};
    cd_errinfo why = {0};
    (void)state;
    rig_start(r);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Fail", NULL, 0, &st, &why), CD_EIO);
    assert_int_equal(st.code, 500);
    assert_string_equal(why.msg, "na\xc3\xafve 100%\n");
    assert_int_equal(st.details.n, 8);
    assert_memory_equal(st.details.p, "details!", 8);
    cd_grpc_status_fini(&st);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/None", NULL, 0, &st, &why), CD_EUNSUPPORTED);
    assert_string_equal(why.msg, "unknown method /test.Test/None");
    cd_grpc_status_fini(&st);
    rig_free(r);
}

static void test_large(void **state)
{
    enum { N = 16 * 1024 * 1024 };
    rig *r = rig_new();
    cd_buf msg = {0};
    cd_buf reply = {0};
    (void)state;
    rig_start(r);
    u8 *p = cd_buf_extend(&msg, N);
    for (usize i = 0; i < N; i++) {
        p[i] = (u8)(i * 7 + i / 251);
    }
    for (int round = 0; round < 3; round++) {
        cd_buf again = {0};
        cd_buf_put(&again, cd_buf_bytes(&msg));
        assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Echo", &again, 0, NULL, NULL), CD_OK);
        assert_int_equal(reply.n, N);
        assert_memory_equal(reply.p, msg.p, N);
    }
    cd_buf_fini(&msg);
    cd_buf_fini(&reply);
    rig_free(r);
}

/* A call beyond a limit is refused and does no harm to others. */
static void test_limits(void **state)
{
    rig *r = rig_new();
    cd_buf msg = {0};
    cd_buf reply = {0};
    cd_errinfo why = {0};
    (void)state;
    r->server_cfg.message_max = 1000;
    r->client_cfg.message_max = 500;
    rig_start(r);
    cd_buf_fill(&msg, 'x', 1001);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Echo", &msg, 0, NULL, &why), CD_EFULL);
    assert_string_equal(why.msg, "message is too large");
    cd_buf_fill(&msg, 'x', 501);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Echo", &msg, 0, NULL, &why), CD_EFULL);
    assert_int_equal(r->served, 1);
    cd_buf_fill(&msg, 'x', 500);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Echo", &msg, 0, NULL, &why), CD_OK);
    assert_int_equal(reply.n, 500);
    cd_buf_fini(&reply);
    rig_free(r);
}

static void test_deadline(void **state)
{
    rig *r = rig_new();
    cd_buf reply = {0};
    cd_errinfo why = {0};
    (void)state;
    rig_start(r);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Hold", NULL, 20, NULL, &why), CD_ETIMEOUT);
    cd_grpc_call *c = held_wait(r);
    gone_wait(r);
    assert_true(cd_grpc_call_deadline_ms(c) != UINT64_MAX);
    cd_grpc_reply(c, NULL);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, "/test.Test/Empty", NULL, 0, NULL, &why), CD_OK);
    rig_free(r);
}

/* --- on the loop --- */

static cd_grpc_ask one;

static void on_one(cd_grpc_ask *a)
{
    assert_ptr_equal(a, &one);
}

static void start_job(rig *r)
{
    one = (cd_grpc_ask){.path = "/test.Test/Hold", .done = on_one};
    cd_grpc_ask_start(r->client, &one);
}

static void cancel_job(rig *r)
{
    (void)r;
    cd_grpc_ask_cancel(&one);
    assert_int_equal(one.status.code, CD_GRPC_CANCELLED);
    cd_grpc_ask_fini(&one);
}

static void test_cancel(void **state)
{
    rig *r = rig_new();
    (void)state;
    rig_start(r);
    on_loop(r, start_job);
    cd_grpc_call *c = held_wait(r);
    on_loop(r, cancel_job);
    gone_wait(r);
    cd_grpc_fail(c, CD_GRPC_CANCELLED, cd_bytes_str("late"), (cd_bytes){0});
    rig_free(r);
}

/* Calls that a handler keeps do not hold up the end of client or server. */
static void test_close_under_way(void **state)
{
    rig *r = rig_new();
    (void)state;
    rig_start(r);
    on_loop(r, start_job);
    cd_grpc_call *c = held_wait(r);
    on_loop(r, stop_job);
    assert_int_equal(one.status.code, CD_GRPC_CANCELLED);
    cd_grpc_ask_fini(&one);
    cd_grpc_reply(c, NULL);
    cd_thread_join(&r->thread);
    assert_null(r->server);
    cd_loop_free(r->loop);
    cd_cond_fini(&r->cond);
    cd_mutex_fini(&r->lock);
    cd_free(r);
}

/* --- a server that goes and comes back --- */

static u16 old_port;

static void close_job(rig *r)
{
    old_port = cd_grpc_server_port(r->server);
    cd_grpc_server_close(r->server, 1000, NULL, NULL);
    r->server = NULL;
}

static void reopen_job(rig *r)
{
    server_open(r, old_port);
}

typedef struct asker {
    rig *r;
    cd_err err;
    cd_buf reply;
} asker;

static void ask_thread(void *arg)
{
    asker *a = arg;
    cd_buf msg = text_buf("again");
    a->err = cd_grpc_call_wait(a->r->client, &a->reply, "/test.Test/Echo", &msg, 0, NULL, NULL);
}

static void test_goaway_and_reconnect(void **state)
{
    rig *r = rig_new();
    cd_buf reply = {0};
    asker a = {.r = r};
    asker hold = {.r = r};
    cd_thread t;
    (void)state;
    rig_start(r);
    on_loop(r, start_job);
    cd_grpc_call *c = held_wait(r);
    on_loop(r, close_job);
    assert_int_equal(cd_thread_start(&t, "ask", ask_thread, &a, NULL), CD_OK);
    cd_grpc_reply(c, NULL); /* the call that was under way finishes */
    on_loop(r, reopen_job);
    cd_thread_join(&t);
    assert_int_equal(a.err, CD_OK);
    assert_memory_equal(a.reply.p, "again", 5);
    assert_int_equal(one.status.code, CD_GRPC_OK);
    cd_grpc_ask_fini(&one);
    cd_buf_fini(&a.reply);
    cd_buf_fini(&hold.reply);
    cd_buf_fini(&reply);
    rig_free(r);
}

static rig *fast_rig;

static void fast_done(cd_grpc_ask *a)
{
    assert_ptr_equal(a, &one);
    on_held_gone(fast_rig);
}

static void fast_job(rig *r)
{
    one = (cd_grpc_ask){.path = "/test.Test/Empty", .done = fast_done, .fails_fast = true};
    cd_grpc_ask_start(r->client, &one);
}

static void test_fails_fast(void **state)
{
    rig *r = rig_new();
    (void)state;
    rig_start(r);
    on_loop(r, close_job);
    fast_rig = r;
    on_loop(r, fast_job);
    gone_wait(r);
    assert_int_equal(one.status.code, CD_GRPC_UNAVAILABLE);
    cd_grpc_ask_fini(&one);
    on_loop(r, reopen_job);
    rig_free(r);
}

/* --- many at once --- */

enum { THREADS = 8, CALLS = 300 };

static void many_thread(void *arg)
{
    asker *a = arg;
    for (u32 i = 0; i < CALLS && a->err == CD_OK; i++) {
        cd_buf msg = {0};
        cd_buf_fill(&msg, (u8)i, (usize)i * 37);
        a->err = cd_grpc_call_wait(a->r->client, &a->reply, "/test.Test/Echo", &msg, 0, NULL, NULL);
        if (a->err == CD_OK && (a->reply.n != (usize)i * 37 || (i != 0 && a->reply.p[a->reply.n - 1] != (u8)i))) {
            a->err = CD_ECORRUPT;
        }
    }
}

static void test_many(void **state)
{
    rig *r = rig_new();
    asker a[THREADS] = {0};
    cd_thread t[THREADS];
    (void)state;
    rig_start(r);
    for (usize i = 0; i < THREADS; i++) {
        a[i].r = r;
        assert_int_equal(cd_thread_start(&t[i], "many", many_thread, &a[i], NULL), CD_OK);
    }
    for (usize i = 0; i < THREADS; i++) {
        cd_thread_join(&t[i]);
        assert_int_equal(a[i].err, CD_OK);
        cd_buf_fini(&a[i].reply);
    }
    assert_int_equal(r->served, THREADS * CALLS);
    rig_free(r);
}

static void test_health(void **state)
{
    rig *r = rig_new();
    cd_buf reply = {0};
    cd_errinfo why = {0};
    cd_buf known = text_buf("\x0a\x09test.Test");
    cd_buf unknown = text_buf("\x0a\x08test.Tes");
    static const char path[] = "/grpc.health.v1.Health/Check";
    (void)state;
    rig_start(r);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, path, NULL, 0, NULL, &why), CD_OK);
    assert_int_equal(reply.n, 2);
    assert_memory_equal(reply.p, "\x08\x01", 2);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, path, &known, 0, NULL, &why), CD_OK);
    assert_int_equal(cd_grpc_call_wait(r->client, &reply, path, &unknown, 0, NULL, &why), CD_ENOENT);
    assert_string_equal(why.msg, "unknown service");
    cd_buf_fini(&reply);
    rig_free(r);
}

static void test_addresses(void **state)
{
    static const char *const bad[] = {"", ":1", "127.0.0.1", "127.0.0.1:", "a:0", "a:65536", "a:x"};
    cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    cd_grpc_client *c = NULL;
    cd_loop *l = NULL;
    (void)state;
    assert_int_equal(cd_loop_new(&l, NULL), CD_OK);
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_grpc_client_new(&c, l, &cfg, bad[i], NULL), CD_EFORMAT);
    }
    assert_int_equal(cd_grpc_client_new(&c, l, &cfg, "[::1]:9", NULL), CD_OK);
    cd_grpc_client_free(c);
    cd_loop_free(l);
}

static void test_texts(void **state)
{
    char text[CD_GRPC_TIMEOUT_MAX];
    u64 ms = 0;
    (void)state;
    assert_int_equal(cd_grpc_timeout_fmt(text, 1500), 5);
    assert_string_equal(text, "1500m");
    assert_int_equal(cd_grpc_timeout_fmt(text, 99999999001), 8);
    assert_string_equal(text, "1666667M");
    assert_int_equal(cd_grpc_timeout_parse(&ms, cd_bytes_str("5S")), CD_OK);
    assert_int_equal(ms, 5000);
    assert_int_equal(cd_grpc_timeout_parse(&ms, cd_bytes_str("1n")), CD_OK);
    assert_int_equal(ms, 1);
    assert_int_equal(cd_grpc_timeout_parse(&ms, cd_bytes_str("99999999H")), CD_OK);
    assert_int_equal(cd_grpc_timeout_parse(&ms, cd_bytes_str("123456789S")), CD_EFORMAT);
    assert_int_equal(cd_grpc_timeout_parse(&ms, cd_bytes_str("S")), CD_EFORMAT);
    assert_int_equal(cd_grpc_timeout_parse(&ms, cd_bytes_str("-1S")), CD_EFORMAT);
    assert_int_equal(cd_grpc_timeout_parse(&ms, cd_bytes_str("1s")), CD_EFORMAT);
    cd_buf b = {0};
    cd_grpc_percent_dec(&b, cd_bytes_str("a%20b%zz%4"));
    assert_string_equal(cd_buf_cstr(&b), "a b%zz%4");
    cd_buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),           cmocka_unit_test(test_errors),
        cmocka_unit_test(test_large),           cmocka_unit_test(test_limits),
        cmocka_unit_test(test_deadline),        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_close_under_way), cmocka_unit_test(test_goaway_and_reconnect),
        cmocka_unit_test(test_fails_fast),      cmocka_unit_test(test_many),
        cmocka_unit_test(test_health),          cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
