/* The client against a server that this test plays, on loopback: it answers, stands still, goes away. */
#include "net/redis.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- the server, on the same loop --- */

typedef struct rig {
    cd_loop *loop;
    cd_listener *listener;
    cd_tcp *conn; /* the newest */
    cd_redis *redis;
    cd_timer *timer;
    cd_buf got; /* all that came */
    u32 conns;
    u32 there;
    u32 gone;
    bool is_mute;
    bool refuses;
} rig;

static void say(rig *r, const char *text)
{
    const cd_bytes part = cd_bytes_str(text);
    assert_int_equal(cd_tcp_write(r->conn, &part, 1), CD_OK);
}

/* One answer a command; commands of this test arrive whole. */
static void on_data(void *ctx, cd_bytes data)
{
    rig *r = ctx;
    cd_buf_put(&r->got, data);
    cd_buf text = {0};
    cd_buf_put(&text, data);
    const char *t = cd_buf_cstr(&text);
    if (!r->is_mute) {
        if (strstr(t, "AUTH") != NULL) {
            say(r, r->refuses ? "-WRONGPASS no\r\n" : "+OK\r\n");
        }
        if (strstr(t, "SELECT") != NULL) {
            say(r, r->refuses ? "-NOAUTH no\r\n" : "+OK\r\n");
        }
        if (strstr(t, "PING") != NULL) {
            say(r, "*3\r\n$5\r\nhello\r\n:-7\r\n$-1\r\n");
        }
        if (strstr(t, "FAIL") != NULL) {
            say(r, "-ERR no\r\n");
        }
        if (strstr(t, "QUIT") != NULL) {
            cd_tcp_close(r->conn);
        }
    }
    cd_buf_fini(&text);
}

static void on_end(void *ctx, cd_err err)
{
    (void)err;
    cd_tcp_close(((rig *)ctx)->conn);
}

static void on_written(void *ctx, cd_err err)
{
    (void)ctx;
    (void)err;
}

static void on_closed(void *ctx)
{
    ((rig *)ctx)->conn = NULL;
}

static const cd_tcp_events events = {.data = on_data, .end = on_end, .written = on_written, .closed = on_closed};

static void on_accept(void *ctx, cd_tcp *tcp)
{
    rig *r = ctx;
    assert_null(r->conn);
    r->conn = tcp;
    r->conns++;
    cd_tcp_start(tcp, &events, r);
}

static void on_changed(void *ctx, bool is_there)
{
    rig *r = ctx;
    r->there += is_there;
    r->gone += !is_there;
}

static void on_timer(void *ctx)
{
    cd_loop_stop(ctx);
}

static void run_ms(rig *r, u64 ms)
{
    cd_timer_start(r->timer, ms, 0);
    cd_loop_run(r->loop);
}

/* front, the server's port, back; back NULL: front is all. */
static void rig_init(rig *r, const char *front, const char *back)
{
    char url[128];
    *r = (rig){.loop = NULL};
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    assert_int_equal(cd_listener_open(&r->listener, r->loop, "127.0.0.1", 0, on_accept, r, NULL), CD_OK);
    r->timer = cd_timer_new(r->loop, on_timer, r->loop);
    if (back == NULL) {
        (void)snprintf(url, sizeof url, "%s", front);
    } else {
        (void)snprintf(url, sizeof url, "%s%u%s", front, cd_listener_port(r->listener), back);
    }
    const cd_redis_cfg cfg = {.url = url, .timeout_ms = 100, .changed = on_changed, .ctx = r};
    assert_int_equal(cd_redis_open(&r->redis, r->loop, &cfg, NULL), CD_OK);
}

static void rig_fini(rig *r)
{
    cd_redis_close(r->redis);
    if (r->conn != NULL) {
        cd_tcp_close(r->conn);
    }
    cd_listener_close(r->listener);
    cd_timer_free(r->timer);
    cd_loop_free(r->loop);
    cd_buf_fini(&r->got);
}

/* Runs until the connection stands. */
static void wait_there(rig *r)
{
    for (u32 i = 0; i < 500 && !cd_redis_is_there(r->redis); i++) {
        run_ms(r, 10);
    }
    assert_true(cd_redis_is_there(r->redis));
}

typedef struct told {
    u32 times;
    u32 without;
    cd_redis_kind kind;
} told;

static void on_reply(void *ctx, const cd_redis_reply *reply)
{
    told *t = ctx;
    t->times++;
    t->without += reply == NULL;
    t->kind = reply == NULL ? CD_REDIS_NIL : cd_redis_kind_of(reply);
    if (t->kind == CD_REDIS_ARRAY) {
        assert_int_equal(cd_redis_len(reply), 3);
        assert_true(cd_bytes_eq(cd_redis_text(cd_redis_at(reply, 0)), cd_bytes_str("hello")));
        assert_int_equal(cd_redis_int(cd_redis_at(reply, 1)), -7);
        assert_int_equal(cd_redis_kind_of(cd_redis_at(reply, 2)), CD_REDIS_NIL);
    }
}

static void call(rig *r, told *t, const char *word)
{
    const cd_bytes words[] = {cd_bytes_str(word), cd_bytes_of("a\0b", 3), {0}};
    cd_redis_call(r->redis, words, CD_COUNT(words), on_reply, t);
}

static void test_calls(void **state)
{
    (void)state;
    rig r;
    told t = {.times = 0};
    rig_init(&r, "redis://joe:secret@127.0.0.1:", "/3");
    call(&r, &t, "PING"); /* nobody is there yet */
    assert_int_equal(t.times, 0);
    wait_there(&r);
    assert_int_equal(t.times, 1);
    assert_int_equal(t.without, 1);
    assert_non_null(strstr(cd_buf_cstr(&r.got), "$3\r\njoe\r\n$6\r\nsecret\r\n"));
    assert_non_null(strstr(cd_buf_cstr(&r.got), "SELECT\r\n$1\r\n3\r\n"));
    cd_buf_clear(&r.got);
    call(&r, &t, "PING");
    run_ms(&r, 50);
    assert_int_equal(t.times, 2);
    assert_int_equal(t.kind, CD_REDIS_ARRAY);
    static const char sent[] = "*3\r\n$4\r\nPING\r\n$3\r\na\0b\r\n$0\r\n\r\n";
    assert_int_equal(r.got.n, sizeof sent - 1);
    assert_memory_equal(r.got.p, sent, sizeof sent - 1);
    call(&r, &t, "FAIL");
    run_ms(&r, 50);
    assert_int_equal(t.kind, CD_REDIS_ERROR);
    /* one that waits is told at the end */
    r.is_mute = true;
    call(&r, &t, "PING");
    rig_fini(&r);
    assert_int_equal(t.times, 4);
    assert_int_equal(t.without, 2);
}

static void test_silence_and_loss(void **state)
{
    (void)state;
    rig r;
    told t = {.times = 0};
    rig_init(&r, "valkey://127.0.0.1:", "");
    wait_there(&r);
    r.is_mute = true;
    for (u32 i = 0; i < 10; i++) {
        call(&r, &t, "PING");
    }
    run_ms(&r, 190);
    assert_int_equal(t.times, 10);
    assert_int_equal(t.without, 10);
    assert_false(cd_redis_is_there(r.redis));
    r.is_mute = false;
    wait_there(&r);
    assert_true(r.conns >= 2);
    /* the server closes */
    t = (told){.times = 0};
    call(&r, &t, "QUIT");
    run_ms(&r, 50);
    assert_int_equal(t.without, 1);
    assert_false(cd_redis_is_there(r.redis));
    wait_there(&r);
    assert_true(r.there >= 3 && r.gone >= 2);
    rig_fini(&r);
}

static void test_refused(void **state)
{
    (void)state;
    rig r;
    told t = {.times = 0};
    rig_init(&r, "redis://:wrong@127.0.0.1:", "");
    r.refuses = true;
    run_ms(&r, 400);
    assert_false(cd_redis_is_there(r.redis));
    assert_true(r.conns >= 2); /* it goes on trying */
    r.refuses = false;
    wait_there(&r);
    call(&r, &t, "PING");
    run_ms(&r, 50);
    assert_int_equal(t.kind, CD_REDIS_ARRAY);
    rig_fini(&r);
    /* nobody listens, or there is no such host */
    rig_init(&r, "redis://127.0.0.1:1", NULL);
    run_ms(&r, 300);
    call(&r, &t, "PING");
    run_ms(&r, 20);
    assert_int_equal(t.without, 1);
    rig_fini(&r);
    rig_init(&r, "redis://no-such-host.invalid", NULL);
    rig_fini(&r); /* while the name is looked up */
}

static void test_urls(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "redis://",
                                      "redis://:6379",
                                      "redis://h:",
                                      "redis://h:0",
                                      "redis://h:65536",
                                      "redis://h/x",
                                      "redis://user@h",
                                      "rediss://h",
                                      "http://h",
                                      "redis://h:1:2",
                                      "host"};
    cd_loop *l = NULL;
    assert_int_equal(cd_loop_new(&l, NULL), CD_OK);
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_redis *r = NULL;
        cd_errinfo why = {0};
        const cd_redis_cfg cfg = {.url = bad[i]};
        assert_int_not_equal(cd_redis_open(&r, l, &cfg, &why), CD_OK);
        assert_null(r);
        assert_true(why.msg[0] != '\0');
    }
    cd_loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_silence_and_loss),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
