/* Pages and files over a real server; the loop runs in a thread, the test is the browser. */
#include "web/serve.h"

#include "base/thread/thread.h"
#include "codec/gzip.h"
#include "web/assets.h"
#include "web/html.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_thread thread;
    cd_loop_task stop;
    u16 port;
} rig;

static rig g;

static void on_page(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_html h = {.out = cd_http_req_out(r)};
    cd_html_put(&h, "<!doctype html><p>hello</p>");
    cd_web_reply_page(r, 200);
}

static void on_other(void *ctx, cd_http_req *r)
{
    (void)ctx;
    if (!cd_web_reply_asset(r, cd_bytes_str(cd_web_asset_get(CD_WEB_FAVICON)->name))) {
        cd_http_reply(r, 500, NULL);
    }
}

static void on_go(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_web_redirect(r, "/page?x=1");
}

static void loop_main(void *arg)
{
    (void)arg;
    cd_loop_run(g.loop);
}

static int open_rig(void **state)
{
    (void)state;
    const cd_http_cfg cfg = {.gzip = true};
    const cd_http_route page = {.path = "/page", .methods = CD_HTTP_GET, .handler = on_page};
    const cd_http_route go = {.path = "/go", .methods = CD_HTTP_GET, .handler = on_go};
    const cd_http_route other = {.path = "/other", .methods = CD_HTTP_GET, .handler = on_other};
    assert_int_equal(cd_loop_new(&g.loop, NULL), CD_OK);
    g.server = cd_http_server_new(g.loop, &cfg);
    cd_http_server_route(g.server, &page);
    cd_http_server_route(g.server, &go);
    cd_http_server_route(g.server, &other);
    cd_web_assets_route(g.server, "/assets/");
    assert_int_equal(cd_http_server_listen(g.server, "127.0.0.1", 0, NULL), CD_OK);
    g.port = cd_http_server_port(g.server);
    assert_int_equal(cd_thread_start(&g.thread, "loop", loop_main, NULL, NULL), CD_OK);
    return 0;
}

static void on_stopped(void *ctx)
{
    (void)ctx;
    cd_http_server_free(g.server);
    cd_loop_stop(g.loop);
}

static void stop_task(cd_loop_task *t)
{
    (void)t;
    cd_http_server_stop(g.server, 1000, on_stopped, NULL);
}

static int close_rig(void **state)
{
    (void)state;
    g.stop.fn = stop_task;
    cd_loop_post(g.loop, &g.stop);
    cd_thread_join(&g.thread);
    cd_loop_free(g.loop);
    return 0;
}

/* The whole answer to a GET; its head ends in a NUL in place of the last line end. Gives the body. */
static cd_bytes get(cd_buf *out, const char *path, const char *lines)
{
    cd_buf text = {0};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    addr.sin_port = htons(g.port);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    cd_buf_fmt(&text, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", path, lines);
    assert_int_equal(send(fd, text.p, text.n, MSG_NOSIGNAL), text.n);
    cd_buf_clear(out);
    for (;;) {
        ssize_t n = recv(fd, cd_buf_reserve(out, 4096), 4096, 0);
        assert_true(n >= 0);
        if (n == 0) {
            break;
        }
        out->n += (usize)n;
    }
    (void)close(fd);
    cd_buf_fini(&text);
    usize head = 4;
    while (head <= out->n && memcmp(out->p + head - 4, "\r\n\r\n", 4) != 0) {
        head++;
    }
    assert_true(head <= out->n);
    out->p[head - 2] = '\0';
    return cd_bytes_sub(cd_buf_bytes(out), head, out->n - head);
}

static bool has(const cd_buf *b, const char *text)
{
    return strstr((const char *)b->p, text) != NULL;
}

static void test_page(void **state)
{
    (void)state;
    cd_buf b = {0};
    char lines[128];
    cd_bytes body = get(&b, "/page", "");
    assert_true(has(&b, "HTTP/1.1 200 "));
    assert_true(cd_bytes_eq(body, cd_bytes_str("<!doctype html><p>hello</p>")));
    assert_true(has(&b, "\r\nContent-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'self'; "
                        "frame-ancestors 'none'; object-src 'none'\r\n"));
    assert_true(has(&b, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_true(has(&b, "\r\nReferrer-Policy: same-origin\r\n"));
    assert_true(has(&b, "\r\nContent-Type: text/html; charset=utf-8\r\n"));
    assert_true(has(&b, "\r\nCache-Control: no-cache\r\n"));
    const char *tag = strstr((const char *)b.p, "ETag: ") + 6;
    (void)snprintf(lines, sizeof lines, "If-None-Match: %.*s\r\n", 36, tag);
    body = get(&b, "/page", lines);
    assert_true(has(&b, "HTTP/1.1 304 "));
    assert_int_equal(body.n, 0);
    (void)get(&b, "/go", "");
    assert_true(has(&b, "HTTP/1.1 303 "));
    assert_true(has(&b, "\r\nLocation: /page?x=1\r\n"));
    cd_buf_fini(&b);
}

static void test_assets(void **state)
{
    (void)state;
    const cd_web_asset *css = cd_web_asset_get(CD_WEB_STYLE);
    cd_buf b = {0};
    cd_buf path = {0};
    cd_buf plain = {0};
    char lines[128];
    cd_buf_fmt(&path, "/assets/%s", css->name);
    cd_bytes body = get(&b, cd_buf_cstr(&path), "");
    assert_true(has(&b, "HTTP/1.1 200 ") && has(&b, "\r\nContent-Type: text/css; charset=utf-8\r\n"));
    assert_true(has(&b, "\r\nCache-Control: public, max-age=31536000, immutable\r\n"));
    assert_false(has(&b, "Content-Encoding"));
    assert_true(cd_bytes_eq(body, css->body));
    /* files were compressed when the program was built, not for this request */
    body = get(&b, cd_buf_cstr(&path), "Accept-Encoding: br, gzip\r\n");
    const char *coding = strstr((const char *)b.p, "\r\nContent-Encoding: gzip\r\n");
    assert_non_null(coding);
    assert_null(strstr(coding + 1, "\r\nContent-Encoding"));
    assert_true(cd_bytes_eq(body, css->gzip));
    assert_int_equal(cd_gzip_dec(&plain, body, 1 << 20), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&plain), css->body));
    (void)snprintf(lines, sizeof lines, "If-None-Match: %s\r\n", css->etag);
    (void)get(&b, cd_buf_cstr(&path), lines);
    assert_true(has(&b, "HTTP/1.1 304 "));
    body = get(&b, "/other", "");
    assert_true(cd_bytes_eq(body, cd_web_asset_get(CD_WEB_FAVICON)->body));
    assert_true(has(&b, "\r\nContent-Type: image/svg+xml\r\n"));
    cd_buf_fini(&plain);
    cd_buf_fini(&path);
    cd_buf_fini(&b);
}

static void test_query(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *want; /* NULL: the query has no such name */
    } rows[] = {
        {"q=a", "a"},
        {"x=1&q=a+b%20c", "a b c"},
        {"q", ""},
        {"q=", ""},
        {"qq=1", NULL},
        {"", NULL},
        {"&&q=%zz%4", "%zz%4"},
        {"q=%3Cb%3e&q=2", "<b>"},
        {"q=0123456789", "01234567"},
        {"xq=1&q=y", "y"},
        {"q=%00x", ""},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf out = {0};
        bool found = cd_web_query(&out, cd_bytes_str(rows[i].query), "q", 8);
        assert_int_equal(found, rows[i].want != NULL);
        assert_string_equal(cd_buf_cstr(&out), rows[i].want == NULL ? "" : rows[i].want);
        cd_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_page, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(test_assets, open_rig, close_rig),
        cmocka_unit_test(test_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
