/* The HTTP server with a few plain routes, for conformance runs, scans and measurements.
 *
 *   http_echo [PORT [CERT KEY [mutual|quick]]]
 *
 * Listens on 127.0.0.1 (0, or nothing: the system chooses) and says where on the first line; with CERT and
 * KEY it speaks HTTPS, and looks at the files every 100 ms. mutual: the client must show a certificate.
 * quick: time-outs of one second. Ends at SIGTERM, SIGHUP reads the files again.
 *   /       28 bytes of JSON, whatever comes         /echo   the body as it came
 *   /big    64 MiB                                   /text   40 kB that compress well
 *   /grpc   the body, then a trailer */
#include "base/num_text.h"
#include "net/http/server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

typedef struct echo {
    cd_loop *loop;
    cd_http_server *server;
    cd_tls *tls;
    cd_signal *term;
    cd_signal *hup;
} echo;

enum { BIG = 64 * 1024 * 1024 };

static void on_fixed(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf_str(cd_http_req_out(r), "{\"id\":1,\"result\":\"12345678\"}");
    cd_http_reply(r, 200, "application/json");
}

static void on_echo(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf_put(cd_http_req_out(r), cd_http_req_body(r));
    cd_http_reply(r, 200, "application/octet-stream");
}

static void on_big(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf_fill(cd_http_req_out(r), 'b', BIG);
    cd_http_reply(r, 200, "text/plain");
}

static void on_text(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf *out = cd_http_req_out(r);
    for (u32 i = 0; i < 20000; i += 5) {
        cd_buf_fmt(out, "line %05u\n", i);
    }
    cd_http_reply(r, 200, "text/plain");
}

static void on_grpc(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf_put(cd_http_req_out(r), cd_http_req_body(r));
    cd_http_req_add_trailer(r, "Grpc-Status", "0");
    cd_http_reply(r, 200, "application/grpc");
}

static void on_stopped(void *ctx)
{
    echo *e = ctx;
    cd_loop_stop(e->loop);
}

static void on_term(void *ctx, int signum)
{
    echo *e = ctx;
    (void)signum;
    cd_http_server_stop(e->server, 1000, on_stopped, e);
}

static void on_hup(void *ctx, int signum)
{
    echo *e = ctx;
    (void)signum;
    if (e->tls != NULL) {
        (void)!cd_tls_reload(e->tls, NULL); /* on_reloaded says how it went */
    }
}

static void on_reloaded(void *ctx, const cd_errinfo *why)
{
    (void)ctx;
    (void)printf("%s\n", why == NULL ? "new certificate" : why->msg);
    (void)fflush(stdout);
}

static cd_err open_all(echo *e, u16 port, char **argv, int argc, cd_errinfo *why)
{
    static const char *const protocols[] = {"h2", "http/1.1"};
    bool is_quick = argc > 4 && strcmp(argv[4], "quick") == 0;
    const cd_http_cfg http = {
        .conns_max = 4096,
        .streams_max = 100,
        .gzip = true,
        .header_timeout_ms = is_quick ? 1000 : 0,
        .read_timeout_ms = is_quick ? 1000 : 0,
        .idle_timeout_ms = is_quick ? 1000 : 0,
    };
    const cd_http_route routes[] = {
        {.path = "/", .methods = CD_HTTP_GET | CD_HTTP_POST, .handler = on_fixed},
        {.path = "/echo", .methods = CD_HTTP_GET | CD_HTTP_POST, .handler = on_echo},
        {.path = "/big", .methods = CD_HTTP_GET, .handler = on_big},
        {.path = "/text", .methods = CD_HTTP_GET, .handler = on_text},
        {.path = "/grpc", .methods = CD_HTTP_POST, .handler = on_grpc},
    };
    CD_TRY(cd_loop_new(&e->loop, why));
    CD_TRY(cd_signal_open(&e->term, e->loop, SIGTERM, on_term, e, why));
    CD_TRY(cd_signal_open(&e->hup, e->loop, SIGHUP, on_hup, e, why));
    if (argc > 3) {
        const cd_tls_cfg tls = {
            .cert_file = argv[2],
            .key_file = argv[3],
            .protocols = protocols,
            .protocols_cnt = CD_COUNT(protocols),
            .is_mutual = argc > 4 && strcmp(argv[4], "mutual") == 0,
            .handshake_timeout_ms = is_quick ? 1000 : 0,
            .watch_ms = 100,
            .reloaded = on_reloaded,
        };
        CD_TRY(cd_tls_new(&e->tls, e->loop, &tls, why));
    }
    e->server = cd_http_server_new(e->loop, &http);
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(e->server, &routes[i]);
    }
    return cd_http_server_listen_tls(e->server, "127.0.0.1", port, e->tls, why);
}

int main(int argc, char **argv)
{
    echo e = {0};
    cd_errinfo why;
    u64 port = 0;
    if (argc == 3 || argc > 5 || (argc > 1 && cd_u64_parse(&port, cd_bytes_str(argv[1])) != CD_OK) ||
        port > UINT16_MAX) {
        (void)fprintf(stderr, "usage: http_echo [PORT [CERT KEY [mutual|quick]]]\n");
        return 2;
    }
    if (open_all(&e, (u16)port, argv, argc, &why) != CD_OK) {
        (void)fprintf(stderr, "error: %s\n", why.msg);
        return 1;
    }
    (void)printf("listening on %u\n", cd_http_server_port(e.server));
    (void)fflush(stdout);
    cd_loop_run(e.loop);

    cd_signal_close(e.term);
    cd_signal_close(e.hup);
    cd_http_server_free(e.server);
    cd_tls_free(e.tls);
    cd_loop_free(e.loop);
    return 0;
}
