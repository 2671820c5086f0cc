/* The page over a real server. With "serve PORT" as arguments it goes on serving, for a browser. */
#include "page_rig.h"

#include "base/thread/thread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NOW = 1795269917, HOURS = 25 };

static page_rig rig;
static cd_thread thread;
static cd_loop_task stop;

static void loop_main(void *arg)
{
    (void)arg;
    cd_loop_run(rig.loop);
}

static int open_with(u32 hours)
{
    page_rig_open(&rig, 0, NOW, hours);
    return cd_thread_start(&thread, "loop", loop_main, NULL, NULL) == CD_OK ? 0 : 1;
}

static int open_full(void **state)
{
    (void)state;
    return open_with(HOURS);
}

static int open_empty(void **state)
{
    (void)state;
    return open_with(0);
}

static void on_stopped(void *ctx)
{
    (void)ctx;
    cd_http_server_free(rig.server);
    cd_loop_stop(rig.loop);
}

static void stop_task(cd_loop_task *t)
{
    (void)t;
    cd_pricing_page_free(rig.page);
    cd_http_server_stop(rig.server, 1000, on_stopped, NULL);
}

static int close_rig(void **state)
{
    (void)state;
    stop.fn = stop_task;
    cd_loop_post(rig.loop, &stop);
    cd_thread_join(&thread);
    page_rig_close(&rig);
    return 0;
}

static cd_buf got;

static int free_got(void **state)
{
    (void)state;
    cd_buf_fini(&got);
    return 0;
}

/* The whole answer, as a string. */
static const char *ask(const char *method, const char *path)
{
    cd_buf text = {0};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    addr.sin_port = htons(cd_http_server_port(rig.server));
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    cd_buf_fmt(&text, "%s %s HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
               method, path);
    assert_int_equal(send(fd, text.p, text.n, MSG_NOSIGNAL), text.n);
    cd_buf_clear(&got);
    for (;;) {
        ssize_t n = recv(fd, cd_buf_reserve(&got, 4096), 4096, 0);
        assert_true(n >= 0);
        if (n == 0) {
            break;
        }
        got.n += (usize)n;
    }
    (void)close(fd);
    cd_buf_fini(&text);
    return cd_buf_cstr(&got);
}

static void expect(const char *answer, const char *part)
{
    if (strstr(answer, part) == NULL) {
        fail_msg("not in the answer: %s\n%s", part, answer);
    }
}

static void test_quote(void **state)
{
    (void)state;
    const char *t = ask("GET", "/?id=bitcoin&currency=usd");
    expect(t, "HTTP/1.1 200 ");
    expect(t, "Content-Security-Policy: default-src 'self'");
    expect(t, "<title>Bitcoin, price · Candela</title>");
    expect(t, "<p class=\"price\">97,234.56</p>");
    expect(t, "+2.34\xE2\x80\xAF% in 24 h");
    expect(t, ">1.92 T USD</dd>");
    expect(t, ">45.68 B USD</dd>");
    expect(t, "fresh for 1 h");
    expect(t, "<h2>In the cache</h2><div class=\"end\">7 prices, 7 fresh</div>");
    expect(t, "<bdi>Sample &lt;&amp;&gt; Micro</bdi>");
    expect(t, "1.234e-8");
    expect(t, "curl &#39;http://localhost:8080/price/bitcoin?currency=usd&#39;");
    expect(t, "Price seen at ");
    expect(t, "<span class=\"j-k\">&quot;price&quot;</span>: <span class=\"j-n\">97234.56</span>");
    assert_null(strstr(t, "SECRET"));
    assert_null(strstr(t, "secret.example"));
    assert_null(strstr(t, "<script>alert"));
    assert_null(strstr(t, "style=\""));
}

/* What was typed may be a symbol, a name, or upper case; ranges and routes are part of the address. */
static void test_search(void **state)
{
    (void)state;
    expect(ask("GET", "/?id=BTC"), "<title>Bitcoin, price");
    expect(ask("GET", "/?id=+Ethereum+"), "<title>Ethereum, price");
    expect(ask("GET", "/?id=Lux&currency=EUR&use=simple&range=7d"), "lux&amp;vs_currencies=eur");
    expect(ask("GET", "/?id=lux&use=many"), "/prices?ids=lux&amp;currency=usd");
    expect(ask("GET", "/"), ", price · Candela");
}

static void test_unknown(void **state)
{
    (void)state;
    const char *t = ask("GET", "/?id=bitcoim");
    expect(t, "HTTP/1.1 404 ");
    expect(t, "The provider knows no token <bdi>bitcoim</bdi> in USD.");
    expect(t, "Close to it: <a href=\"/?id=bitcoin&amp;currency=usd\">bitcoin</a>");
    t = ask("GET", "/?id=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE&currency=%22%3E");
    expect(t, "HTTP/1.1 404 ");
    assert_null(strstr(t, "<script>alert"));
    expect(t, "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>");
    expect(ask("GET", "/?id=%ff%00%zz"), "HTTP/1.1 404 ");
}

static void test_down(void **state)
{
    (void)state;
    expect(ask("POST", "/down"), "204");
    expect(ask("POST", "/later"), "204");
    const char *t = ask("GET", "/?id=bitcoin");
    expect(t, "HTTP/1.1 200 ");
    expect(t, "<span class=\"pill warn\">Stale</span>");
    t = ask("GET", "/?id=bitcoin");
    expect(t, "The provider does not answer");
    expect(t, "up to 1 h 30 min old");
    t = ask("GET", "/?id=never-seen");
    expect(t, "HTTP/1.1 50");
    expect(t, "No price now");
    expect(ask("POST", "/up"), "204");
}

static void test_empty(void **state)
{
    (void)state;
    const char *t = ask("GET", "/");
    expect(t, "HTTP/1.1 200 ");
    expect(t, "No prices yet");
    expect(t, "Not asked yet");
    t = ask("GET", "/?id=solana");
    expect(t, "188.41");
}

static int serve(const char *port)
{
    page_rig_open(&rig, (u16)strtoul(port, NULL, 10), NOW, HOURS);
    (void)printf("%u\n", cd_http_server_port(rig.server));
    (void)fflush(stdout);
    cd_loop_run(rig.loop);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quote, open_full, close_rig),
        cmocka_unit_test_setup_teardown(test_search, open_full, close_rig),
        cmocka_unit_test_setup_teardown(test_unknown, open_full, close_rig),
        cmocka_unit_test_setup_teardown(test_down, open_full, close_rig),
        cmocka_unit_test_setup_teardown(test_empty, open_empty, close_rig),
    };
    if (argc == 3 && strcmp(argv[1], "serve") == 0) {
        return serve(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, free_got);
}
