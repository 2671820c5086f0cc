/* A WebSocket server that sends every message back as it came, for conformance runs and foreign clients.
 *
 *   ws_echo [PORT]    listens on 127.0.0.1 (0, or nothing: the system chooses), says where on the first
 *                     line, ends at SIGTERM. Path "/" echoes, "/small" takes messages up to 64 KiB and
 *                     16 fragments. */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "net/ws/ws.h"

#include <signal.h>
#include <stdio.h>

typedef struct echo {
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *hub;
    cd_ws_hub *small;
} echo;

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    (void)ctx;
    if (cd_ws_send_bytes(w, kind, data) == CD_EFULL) {
        cd_ws_close(w, CD_WS_TRY_LATER, cd_bytes_str("read faster"));
    }
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    (void)ctx;
    (void)code;
    (void)reason;
}

static void on_request(void *ctx, cd_http_req *r)
{
    static const cd_ws_events events = {.message = on_message, .closed = on_closed};
    (void)cd_ws_accept(ctx, r, &events, NULL);
}

static void on_stopped(void *ctx)
{
    echo *e = ctx;
    cd_loop_stop(e->loop);
}

static void on_signal(void *ctx, int signum)
{
    echo *e = ctx;
    (void)signum;
    cd_http_server_stop(e->server, 1000, on_stopped, e);
}

int main(int argc, char **argv)
{
    echo e;
    cd_errinfo why;
    cd_signal *term;
    u64 port = 0;
    const cd_http_cfg http = {.conns_max = 4096};
    const cd_ws_cfg large = {.message_max = 256u << 20, .queue_max = 256u << 20, .fragments_max = 1u << 20};
    const cd_ws_cfg small = {.message_max = 64u << 10, .fragments_max = 16};
    if (argc > 2 || (argc == 2 && cd_u64_parse(&port, cd_bytes_str(argv[1])) != CD_OK) || port > UINT16_MAX) {
        (void)fprintf(stderr, "usage: ws_echo [PORT]\n");
        return 2;
    }
    if (cd_loop_new(&e.loop, &why) != CD_OK || cd_signal_open(&term, e.loop, SIGTERM, on_signal, &e, &why) != CD_OK) {
        (void)fprintf(stderr, "error: %s\n", why.msg);
        return 1;
    }
    e.server = cd_http_server_new(e.loop, &http);
    e.hub = cd_ws_hub_new(e.loop, &large);
    e.small = cd_ws_hub_new(e.loop, &small);
    const cd_http_route routes[] = {
        {.path = "/", .methods = CD_HTTP_GET, .handler = on_request, .ctx = e.hub},
        {.path = "/small", .methods = CD_HTTP_GET, .handler = on_request, .ctx = e.small},
    };
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(e.server, &routes[i]);
    }
    if (cd_http_server_listen(e.server, "127.0.0.1", (u16)port, &why) != CD_OK) {
        (void)fprintf(stderr, "error: %s\n", why.msg);
        return 1;
    }
    (void)printf("listening on %u\n", cd_http_server_port(e.server));
    (void)fflush(stdout);
    cd_loop_run(e.loop);

    cd_signal_close(term);
    cd_http_server_free(e.server);
    cd_ws_hub_free(e.hub);
    cd_ws_hub_free(e.small);
    cd_loop_free(e.loop);
    return 0;
}
