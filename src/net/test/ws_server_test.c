/* The opening handshake and the life of upgraded connections, over real loopback sockets. */
#include "net/ws/ws.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "net/ws/frame.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *hub;
    cd_thread thread;
    u16 port;
    cd_loop_task stop;
    _Atomic u32 opened, closed;
} rig;

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    (void)ctx;
    if (cd_bytes_eq(data, cd_bytes_str("abort"))) {
        cd_ws_abort(w);
    } else {
        assert_int_equal(cd_ws_send_bytes(w, kind, data), CD_OK);
    }
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    rig *g = ctx;
    (void)code;
    (void)reason;
    atomic_fetch_add(&g->closed, 1);
}

static void on_ws(void *ctx, cd_http_req *r)
{
    static const cd_ws_events events = {.message = on_message, .closed = on_closed};
    rig *g = ctx;
    cd_ws *w = cd_ws_accept(g->hub, r, &events, g);
    if (w != NULL) {
        atomic_fetch_add(&g->opened, 1);
        assert_int_equal(cd_ws_send_bytes(w, CD_WS_TEXT, cd_bytes_str("welcome")), CD_OK);
    }
}

static void on_plain(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf_str(cd_http_req_out(r), "plain");
    cd_http_reply(r, 200, "text/plain");
}

static void loop_main(void *arg)
{
    rig *g = arg;
    cd_loop_run(g->loop);
}

static void rig_open(rig *g, const cd_http_cfg *http, const cd_ws_cfg *ws)
{
    *g = (rig){0};
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    g->server = cd_http_server_new(g->loop, http);
    g->hub = cd_ws_hub_new(g->loop, ws);
    const cd_http_route routes[] = {
        {.path = "/ws", .methods = CD_HTTP_GET, .handler = on_ws, .ctx = g},
        {.path = "/plain", .methods = CD_HTTP_GET, .handler = on_plain, .ctx = g},
    };
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(g->server, &routes[i]);
    }
    assert_int_equal(cd_http_server_listen(g->server, "127.0.0.1", 0, NULL), CD_OK);
    g->port = cd_http_server_port(g->server);
    assert_int_equal(cd_thread_start(&g->thread, "loop", loop_main, g, NULL), CD_OK);
}

static void on_stopped(void *ctx)
{
    rig *g = ctx;
    cd_loop_stop(g->loop);
}

static void stop_task(cd_loop_task *t)
{
    rig *g = (rig *)(void *)((char *)t - offsetof(rig, stop));
    cd_http_server_stop(g->server, 3000, on_stopped, g);
}

static void rig_stop(rig *g)
{
    g->stop.fn = stop_task;
    cd_loop_post(g->loop, &g->stop);
}

static void rig_join(rig *g)
{
    cd_thread_join(&g->thread);
    assert_int_equal(cd_ws_hub_count(g->hub), 0);
    assert_int_equal(atomic_load(&g->opened), atomic_load(&g->closed));
    cd_http_server_free(g->server);
    cd_ws_hub_free(g->hub);
    cd_loop_free(g->loop);
}

/* --- a client --- */

static int dial(const rig *g)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    addr.sin_port = htons(g->port);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    usize n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* The head of an answer, or what is there at the end. */
static const char *hear_head(int fd)
{
    static char text[4096];
    usize n = 0;
    while (n < sizeof text - 1 && recv(fd, text + n, 1, 0) == 1) {
        n++;
        if (n >= 4 && memcmp(text + n - 4, "\r\n\r\n", 4) == 0) {
            break;
        }
    }
    text[n] = '\0';
    return text;
}

/* One short frame: its first byte and payload as text; "" at the end. */
static const char *hear(int fd)
{
    static char text[256];
    u8 head[2];
    text[0] = '\0';
    if (recv(fd, head, 2, MSG_WAITALL) == 2) {
        assert_true(head[1] < 126);
        int at = snprintf(text, sizeof text, "%02x ", head[0]);
        if (head[1] != 0) {
            assert_int_equal(recv(fd, text + at, head[1], MSG_WAITALL), head[1]);
        }
        text[at + head[1]] = '\0';
    }
    return text;
}

/* A masked frame with the mask zero. */
static void say_frame(int fd, u8 first, const char *payload)
{
    u8 b[200] = {first};
    usize n = 6 + (usize)snprintf((char *)b + 6, sizeof b - 6, "%s", payload);
    b[1] = (u8)(0x80 | (n - 6));
    assert_int_equal(send(fd, b, n, MSG_NOSIGNAL), n);
}

#define KEY    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define OFFER  "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n" KEY
#define ACCEPT "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

static void test_handshake(void **state)
{
    (void)state;
    rig g;
    const cd_http_cfg http = {.allowed_origins = "https://good.example"};
    rig_open(&g, &http, NULL);

    int fd = dial(&g);
    say(fd, "GET /ws?x=1 HTTP/1.1\r\nHost: localhost\r\n" OFFER "\r\n");
    const char *head = hear_head(fd);
    assert_memory_equal(head, "HTTP/1.1 101 Switching Protocols\r\n", 34);
    assert_non_null(strstr(head, "\r\nUpgrade: websocket\r\n"));
    assert_non_null(strstr(head, "\r\nConnection: Upgrade\r\n"));
    assert_non_null(strstr(head, ACCEPT));
    assert_null(strstr(head, "Sec-WebSocket-Extensions"));
    assert_null(strstr(head, "Sec-WebSocket-Protocol"));
    assert_null(strstr(head, "Content-Length"));
    assert_string_equal(hear(fd), "81 welcome");
    say_frame(fd, 0x81, "hello");
    assert_string_equal(hear(fd), "81 hello");
    say_frame(fd, 0x88, "\x03\xe8");
    assert_string_equal(hear(fd), "88 \x03\xe8");
    assert_string_equal(hear(fd), ""); /* the server ends the connection */
    (void)close(fd);

    /* Behind another request, and with frames sent ahead of the answer. */
    fd = dial(&g);
    cd_buf all = {0};
    cd_buf_str(&all, "GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\nGET /ws HTTP/1.1\r\nHost: "
                     "localhost\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
                     "Sec-WebSocket-Protocol: chat\r\nOrigin: https://good.example\r\n" OFFER "\r\n");
    cd_buf_put(&all, cd_bytes_of("\x81\x85\0\0\0\0early", 11));
    assert_int_equal(send(fd, all.p, all.n, MSG_NOSIGNAL), all.n);
    cd_buf_fini(&all);
    assert_memory_equal(hear_head(fd), "HTTP/1.1 200 OK\r\n", 17);
    char plain[5];
    assert_int_equal(recv(fd, plain, 5, MSG_WAITALL), 5);
    head = hear_head(fd);
    assert_memory_equal(head, "HTTP/1.1 101 ", 13);
    assert_non_null(strstr(head, "\r\nSec-WebSocket-Extensions: permessage-deflate; "
                                 "server_no_context_takeover; client_no_context_takeover\r\n"));
    assert_null(strstr(head, "Sec-WebSocket-Protocol"));
    assert_string_equal(hear(fd), "81 welcome");
    assert_string_equal(hear(fd), "81 early");
    say_frame(fd, 0xc1, "\xf2\x48\xcd\xc9\xc9\x07");
    (void)close(fd);

    /* Cut by the handler. */
    fd = dial(&g);
    say(fd, "GET /ws HTTP/1.1\r\nHost: localhost\r\n" OFFER "\r\n");
    (void)hear_head(fd);
    assert_string_equal(hear(fd), "81 welcome");
    say_frame(fd, 0x81, "abort");
    assert_string_equal(hear(fd), "");
    (void)close(fd);
    rig_stop(&g);
    rig_join(&g);
}

static void test_refused(void **state)
{
    static const struct {
        const char *request;
        u32 status;
    } rows[] = {
        {"GET /ws HTTP/1.1\r\n", 400},
        {"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nSec-WebSocket-Version: "
         "13\r\n" KEY,
         400},
        {"GET /ws HTTP/1.1\r\nConnection: keep-alive\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\n" KEY,
         400},
        {"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" KEY, 400},
        {"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 8\r\n" KEY,
         400},
        {"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\n",
         400},
        {"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n",
         400},
        {"GET /ws HTTP/1.0\r\n" OFFER, 400},
        {"GET /ws HTTP/1.1\r\nOrigin: https://evil.example\r\n" OFFER, 403},
        {"GET /ws HTTP/1.1\r\nOrigin: null\r\n" OFFER, 403},
        {"POST /ws HTTP/1.1\r\nContent-Length: 0\r\n" OFFER, 405},
        {"GET /plain HTTP/1.1\r\n" OFFER, 200},
    };
    (void)state;
    rig g;
    const cd_http_cfg http = {.allowed_origins = "https://good.example"};
    rig_open(&g, &http, NULL);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        char want[32];
        int fd = dial(&g);
        say(fd, rows[i].request);
        say(fd, "Host: localhost\r\n\r\n");
        const char *head = hear_head(fd);
        (void)snprintf(want, sizeof want, "HTTP/1.1 %u ", rows[i].status);
        assert_memory_equal(head, want, strlen(want));
        if (rows[i].status == 400 || rows[i].status == 403) {
            assert_non_null(strstr(head, "\r\nSec-WebSocket-Version: 13\r\n"));
            const char *text = rows[i].status == 400 ? "Bad Request\n" : "Forbidden\n";
            char body[32] = "";
            assert_int_equal(recv(fd, body, strlen(text), MSG_WAITALL), strlen(text));
            assert_string_equal(body, text);
        }
        (void)close(fd);
    }
    rig_stop(&g);
    rig_join(&g);
    assert_int_equal(atomic_load(&g.opened), 0);
}

static void test_server_stops(void **state)
{
    (void)state;
    rig g;
    const cd_http_cfg http = {0};
    const cd_ws_cfg ws = {.close_ms = 100};
    rig_open(&g, &http, &ws);
    int polite = dial(&g);
    int deaf = dial(&g);
    say(polite, "GET /ws HTTP/1.1\r\nHost: localhost\r\n" OFFER "\r\n");
    say(deaf, "GET /ws HTTP/1.1\r\nHost: localhost\r\n" OFFER "\r\n");
    (void)hear_head(polite);
    (void)hear_head(deaf);
    assert_string_equal(hear(polite), "81 welcome");
    assert_string_equal(hear(deaf), "81 welcome");
    rig_stop(&g);
    assert_string_equal(hear(polite), "88 \x03\xe9the server stops");
    say_frame(polite, 0x88, "\x03\xe9");
    assert_string_equal(hear(polite), "");
    assert_string_equal(hear(deaf), "88 \x03\xe9the server stops");
    assert_string_equal(hear(deaf), "");
    rig_join(&g);
    (void)close(polite);
    (void)close(deaf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handshake),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_server_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
