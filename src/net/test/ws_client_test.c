/* The client against the server of the same loop: handshake, messages both ways, and servers that do not play. */
#include "net/ws_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *hub, *server_hub;
    cd_listener *mute; /* takes connections and says nothing, or text */
    const char *text;
    cd_tcp *muted;
    cd_ws *client;
    char heard[64];
    char reason[128];
    u16 code;
    bool is_over;
} rig;

static void server_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    (void)ctx;
    if (cd_bytes_eq(data, cd_bytes_str("bye"))) {
        cd_ws_close(w, 4000, cd_bytes_str("as you say"));
    } else {
        assert_int_equal(cd_ws_send_bytes(w, kind, data), CD_OK);
    }
}

static void server_closed(void *ctx, u16 code, cd_bytes reason)
{
    (void)ctx;
    (void)code;
    (void)reason;
}

static void on_ws(void *ctx, cd_http_req *r)
{
    static const cd_ws_events events = {.message = server_message, .closed = server_closed};
    rig *g = ctx;
    cd_ws *w = cd_ws_accept(g->server_hub, r, &events, g);
    if (w != NULL) {
        assert_int_equal(cd_ws_send_bytes(w, CD_WS_TEXT, cd_bytes_str("hello")), CD_OK);
    }
}

static void on_plain(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_http_reply_error(r, 404, "Not Found");
}

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    rig *g = ctx;
    usize n = strlen(g->heard);
    assert_int_equal(kind, CD_WS_TEXT);
    (void)snprintf(g->heard + n, sizeof g->heard - n, "%.*s;", (int)data.n, (const char *)data.p);
    if (n != 0) {
        assert_int_equal(cd_ws_send_bytes(w, CD_WS_TEXT, cd_bytes_str("bye")), CD_OK);
    }
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    rig *g = ctx;
    g->code = code;
    (void)snprintf(g->reason, sizeof g->reason, "%.*s", (int)reason.n, (const char *)reason.p);
    g->is_over = true;
    cd_loop_stop(g->loop);
}

static void on_opened(void *ctx, cd_ws *w, const char *reason)
{
    rig *g = ctx;
    g->client = w;
    if (w == NULL) {
        (void)snprintf(g->reason, sizeof g->reason, "%s", reason);
        g->is_over = true;
        cd_loop_stop(g->loop);
    } else {
        assert_int_equal(cd_ws_send_bytes(w, CD_WS_TEXT, cd_bytes_str("one")), CD_OK);
    }
}

static void mute_data(void *ctx, cd_bytes data)
{
    rig *g = ctx;
    (void)data;
    if (g->text != NULL) {
        cd_bytes text = cd_bytes_str(g->text);
        assert_int_equal(cd_tcp_write(g->muted, &text, 1), CD_OK);
        g->text = NULL;
    }
}
static void mute_end(void *ctx, cd_err err)
{
    rig *g = ctx;
    (void)err;
    cd_tcp_close(g->muted);
}
static void mute_closed(void *ctx)
{
    ((rig *)ctx)->muted = NULL;
}

static void mute_accept(void *ctx, cd_tcp *tcp)
{
    static const cd_tcp_events events = {.data = mute_data, .end = mute_end, .closed = mute_closed};
    rig *g = ctx;
    g->muted = tcp;
    cd_tcp_start(tcp, &events, g);
}

static const cd_ws_events client_events = {.message = on_message, .closed = on_closed};

static void rig_open(rig *g)
{
    const cd_http_route routes[] = {
        {.path = "/ws", .methods = CD_HTTP_GET, .handler = on_ws, .ctx = g},
        {.path = "/plain", .methods = CD_HTTP_GET, .handler = on_plain, .ctx = g},
    };
    const cd_http_cfg cfg = {0};
    *g = (rig){0};
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    g->server = cd_http_server_new(g->loop, &cfg);
    g->hub = cd_ws_hub_new(g->loop, NULL);
    g->server_hub = cd_ws_hub_new(g->loop, NULL);
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(g->server, &routes[i]);
    }
    assert_int_equal(cd_http_server_listen(g->server, "127.0.0.1", 0, NULL), CD_OK);
    assert_int_equal(cd_listener_open(&g->mute, g->loop, "127.0.0.1", 0, mute_accept, g, NULL),
                     CD_OK);
}

static void on_stopped(void *ctx)
{
    cd_loop_stop(((rig *)ctx)->loop);
}

static void rig_close(rig *g)
{
    cd_listener_close(g->mute);
    cd_http_server_stop(g->server, 1000, on_stopped, g);
    cd_loop_run(g->loop);
    cd_http_server_free(g->server);
    if (g->muted != NULL) {
        cd_tcp_close(g->muted);
    }
    cd_ws_hub_free(g->server_hub);
    cd_ws_hub_free(g->hub);
    cd_loop_free(g->loop);
}

static cd_ws_dial *dial(rig *g, u16 port, const char *path, u32 timeout_ms)
{
    char url[128];
    cd_ws_dial *d = NULL;
    (void)snprintf(url, sizeof url, "ws://127.0.0.1:%u%s", port, path);
    g->is_over = false;
    g->reason[0] = '\0';
    assert_int_equal(
        cd_ws_dial_new(&d, g->hub, url, timeout_ms, &client_events, on_opened, g, NULL), CD_OK);
    return d;
}

static void test_talk(void **state)
{
    (void)state;
    rig g;
    rig_open(&g);
    (void)dial(&g, cd_http_server_port(g.server), "/ws", 3000);
    cd_loop_run(g.loop);
    assert_true(g.is_over);
    assert_string_equal(g.heard, "hello;one;");
    assert_int_equal(g.code, 4000);
    assert_string_equal(g.reason, "as you say");
    rig_close(&g);
}

static void test_refused(void **state)
{
    (void)state;
#define HEAD "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\n\r\n",
        HEAD "\r\n",
        HEAD "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", /* of another key */
        HEAD "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        "nonsense\r\n\r\n",
    };
    rig g;
    rig_open(&g);
    for (usize i = 0; i < CD_COUNT(answers); i++) {
        g.text = answers[i];
        (void)dial(&g, cd_listener_port(g.mute), "", 3000);
        cd_loop_run(g.loop);
        assert_null(g.client);
        assert_string_not_equal(g.reason, "");
    }
    (void)dial(&g, cd_http_server_port(g.server), "/plain", 3000);
    cd_loop_run(g.loop);
    assert_string_equal(g.reason, "the server does not switch to WebSocket");
    (void)dial(&g, cd_listener_port(g.mute), "/", 50); /* silence */
    cd_loop_run(g.loop);
    assert_string_equal(g.reason, "the server does not answer");
    (void)dial(&g, 1, "/", 3000); /* nobody there */
    cd_loop_run(g.loop);
    assert_string_not_equal(g.reason, "");
    cd_ws_dial_drop(dial(&g, cd_http_server_port(g.server), "/ws", 3000));
    rig_close(&g);
    assert_string_equal(g.reason, "");
}

static void test_urls(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          "http://a/",   "wss://a/",   "ws://",       "ws:///",     "ws://a:0/",
        "ws://a:x/", "ws://a:1:2/", "ws://[::1/", "ws://[::1]x", "ws://a?x=1", "ws://a:65536/",
    };
    cd_loop *loop;
    assert_int_equal(cd_loop_new(&loop, NULL), CD_OK);
    cd_ws_hub *hub = cd_ws_hub_new(loop, NULL);
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_ws_dial *d;
        cd_errinfo why;
        assert_int_equal(
            cd_ws_dial_new(&d, hub, bad[i], 1000, &client_events, on_opened, NULL, &why),
            CD_EINVAL);
    }
    cd_ws_hub_free(hub);
    cd_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_talk),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
