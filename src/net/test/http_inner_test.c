#include "net/http/inner.h"

#include "net/http/stream.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <setjmp.h>

#include <cmocka.h>

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_http_req *held;
    u32 done;
    bool is_stopped;
} rig;

typedef struct ask {
    cd_http_inner in; /* first */
    rig *r;
    cd_loop_task task;
    bool then_stops;
} ask;

static void serve_echo(void *ctx, cd_http_req *req)
{
    (void)ctx;
    char peer[CD_TCP_PEER_MAX];
    cd_http_req_peer(req, peer);
    cd_http_req_add_header(req, "X-Peer", peer);
    cd_buf_fmt(cd_http_req_out(req), "%s ", cd_http_req_is_local(req) ? "near" : "far");
    cd_buf_put(cd_http_req_out(req), cd_http_req_query(req));
    cd_buf_u8(cd_http_req_out(req), ' ');
    cd_buf_put(cd_http_req_out(req), cd_http_req_body(req));
    cd_http_reply(req, 200, "text/plain");
}

static void serve_hold(void *ctx, cd_http_req *req)
{
    ((rig *)ctx)->held = req;
}

static void serve_stream(void *ctx, cd_http_req *req)
{
    static const cd_http_stream_events events = {0};
    (void)ctx;
    assert_null(cd_http_req_stream(req, 200, "text/plain", 0, &events, NULL));
}

static void serve_upgrade(void *ctx, cd_http_req *req)
{
    (void)ctx;
    assert_false(cd_http_req_offers_upgrade(req, "websocket"));
    cd_http_reply(req, 426, NULL);
}

static void on_done(cd_http_inner *in)
{
    ask *a = (ask *)in;
    a->r->done++;
    cd_loop_stop(a->r->loop);
}

static void on_stopped(void *ctx)
{
    rig *r = ctx;
    r->is_stopped = true;
    cd_loop_stop(r->loop);
}

static void on_ask(cd_loop_task *t)
{
    ask *a = (ask *)(void *)((char *)t - offsetof(ask, task));
    cd_http_inner_ask(a->r->server, &a->in);
    if (a->then_stops) {
        cd_http_server_stop(a->r->server, 0, on_stopped, a->r);
        cd_http_reply(a->r->held, 204, NULL);
    }
}

/* Asks on the loop, and runs it until the answer is there. */
static void run(ask *a)
{
    a->task.fn = on_ask;
    cd_loop_post(a->r->loop, &a->task);
    cd_loop_run(a->r->loop);
}

static void rig_init(rig *r)
{
    *r = (rig){0};
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    r->server = cd_http_server_new(r->loop, &(cd_http_cfg){0});
    const cd_http_route routes[] = {
        {.path = "/echo", .methods = CD_HTTP_POST, .handler = serve_echo},
        {.path = "/hold", .methods = CD_HTTP_ANY, .handler = serve_hold, .ctx = r},
        {.path = "/stream", .methods = CD_HTTP_ANY, .handler = serve_stream},
        {.path = "/upgrade", .methods = CD_HTTP_ANY, .handler = serve_upgrade},
    };
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(r->server, &routes[i]);
    }
}

static void rig_fini(rig *r)
{
    cd_http_server_stop(r->server, 0, on_stopped, r);
    cd_loop_run(r->loop);
    cd_http_server_free(r->server);
    cd_loop_free(r->loop);
}

static ask ask_of(rig *r, cd_http_method method, const char *target, const char *body)
{
    ask a = {.r = r, .in = {.done = on_done, .peer = "192.0.2.7"}};
    a.in.msg.method = method;
    cd_http_msg_add(&a.in.msg, &a.in.msg.target, cd_bytes_str(target));
    cd_http_field *f = cd_http_msg_add_field(&a.in.msg);
    cd_http_msg_add(&a.in.msg, &f->name, cd_bytes_str("host"));
    cd_http_msg_add(&a.in.msg, &f->value, cd_bytes_str("localhost"));
    cd_buf_str(&a.in.msg.body, body);
    return a;
}

static void test_answer(void **state)
{
    rig r;
    (void)state;
    rig_init(&r);
    ask a = ask_of(&r, CD_HTTP_POST, "/echo?q=1", "body");
    run(&a);
    assert_int_equal(r.done, 1);
    assert_int_equal(a.in.status, 200);
    assert_string_equal(cd_buf_cstr(&a.in.body), "far q=1 body");
    assert_non_null(strstr(cd_buf_cstr(&a.in.lines), "X-Peer: 192.0.2.7\r\n"));
    assert_non_null(strstr(cd_buf_cstr(&a.in.lines), "Content-Type: text/plain\r\n"));
    cd_http_inner_fini(&a.in);
    rig_fini(&r);
}

/* Behind a proxy on the same machine the client is who the proxy says, as far as that can be an address. */
static void test_forwarded(void **state)
{
    static const struct {
        const char *peer, *list, *want;
    } rows[] = {
        {"127.0.0.1", "198.51.100.7", "198.51.100.7"},
        {"127.0.0.1", "203.0.113.9, 2001:db8::7", "2001:db8::7"},
        {"192.0.2.7", "198.51.100.7", "192.0.2.7"}, /* anybody may say that */
        {"127.0.0.1", "", "127.0.0.1"},
        {"127.0.0.1", "198.51.100.7, ", "127.0.0.1"},
        {"127.0.0.1", "198.51.100.7, unknown", "127.0.0.1"},
        {"127.0.0.1", "abcd:abcd:abcd:abcd:abcd:abcd:255.255.255.255", "abcd:abcd:abcd:abcd:abcd:abcd:255.255.255.255"},
        {"127.0.0.1", "abcd:abcd:abcd:abcd:abcd:abcd:255.255.255.2555", "127.0.0.1"},
        {"127.0.0.1", "00000000000000000000000000000000000000000000000000000000000000000000000000000000", "127.0.0.1"},
    };
    rig r;
    (void)state;
    rig_init(&r);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        ask a = ask_of(&r, CD_HTTP_POST, "/echo", "");
        char want[80];
        (void)snprintf(a.in.peer, sizeof a.in.peer, "%s", rows[i].peer);
        a.in.is_local = strcmp(rows[i].peer, "127.0.0.1") == 0;
        cd_http_field *f = cd_http_msg_add_field(&a.in.msg);
        cd_http_msg_add(&a.in.msg, &f->name, cd_bytes_str("x-forwarded-for"));
        cd_http_msg_add(&a.in.msg, &f->value, cd_bytes_str(rows[i].list));
        run(&a);
        (void)snprintf(want, sizeof want, "X-Peer: %s\r\n", rows[i].want);
        assert_non_null(strstr(cd_buf_cstr(&a.in.lines), want));
        cd_http_inner_fini(&a.in);
    }
    rig_fini(&r);
}

static void test_refusals(void **state)
{
    static const struct {
        cd_http_method method;
        const char *target;
        u32 status;
    } rows[] = {
        {CD_HTTP_GET, "/none", 404},
        {CD_HTTP_GET, "/echo", 405},
        {CD_HTTP_GET, "/stream", 501},
        {CD_HTTP_GET, "/upgrade", 426},
    };
    rig r;
    (void)state;
    rig_init(&r);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        ask a = ask_of(&r, rows[i].method, rows[i].target, "");
        run(&a);
        assert_int_equal(r.done, i + 1);
        assert_int_equal(a.in.status, rows[i].status);
        cd_http_inner_fini(&a.in);
    }
    rig_fini(&r);
}

/* An answer that comes later comes on the loop, and the server waits for it with its end. */
static void test_later(void **state)
{
    rig r;
    (void)state;
    rig_init(&r);
    ask a = ask_of(&r, CD_HTTP_GET, "/hold", "");
    a.then_stops = true;
    run(&a);
    assert_int_equal(r.done, 1);
    assert_int_equal(a.in.status, 204);
    if (!r.is_stopped) {
        cd_loop_run(r.loop);
    }
    cd_http_inner_fini(&a.in);
    cd_http_server_free(r.server);
    cd_loop_free(r.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_forwarded),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
