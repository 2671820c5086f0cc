/* Every route over a loopback socket, with prices that are given and with providers that the test plays. */
#include "services/pricing/front.h"

#include "base/thread/thread.h"
#include "codec/json.h"
#include "services/pricing/query.h"
#include "services/pricing/render.h"
#include "services/pricing/test/world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct rig {
    world *w;
    cd_prices *prices;
    cd_metrics *metrics;
    cd_loop *loop;
    cd_front *front;
    cd_thread thread;
    cd_timer *tick;
    cd_loop_task stop;
    u16 port;
} rig;

static void loop_main(void *arg)
{
    rig *g = arg;
    cd_loop_run(g->loop);
}

/* Virtual time goes on while the loop has nothing else to do. */
static void on_tick(void *ctx)
{
    rig *g = ctx;
    world_run(g->w, 10);
}

static bool page(void *ctx, cd_http_req *r)
{
    (void)ctx;
    if (!cd_bytes_eq(cd_http_req_path(r), cd_bytes_str("/"))) {
        return false;
    }
    cd_buf_str(cd_http_req_out(r), "page");
    cd_http_reply(r, 200, "text/html");
    return true;
}

static void rig_open(rig *g)
{
    static const cd_prices_static statics[] = {
        {{(const u8 *)"lux", 3}, {(const u8 *)"usd", 3}, 1.234e-8},
        {{(const u8 *)"lux", 3}, {(const u8 *)"eur", 3}, 1.5e22},
        {{(const u8 *)"abc", 3}, {(const u8 *)"usd", 3}, 0.125},
    };
    *g = (rig){.w = world_new()};
    cd_prices_cfg cfg = world_cfg();
    g->metrics = cd_metrics_new("pricing");
    cfg.metrics = g->metrics;
    cfg.statics = statics;
    cfg.statics_cnt = CD_COUNT(statics);
    g->prices = world_open(g->w, 1, &cfg, 1, false);
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    const cd_front_cfg front = {
        .loop = g->loop,
        .prices = g->prices,
        .metrics = g->metrics,
        .clock = &g->w->clock.clock,
        .listeners_max = 1,
        .page = page,
    };
    g->front = cd_front_new(&front);
    assert_int_equal(cd_front_listen(g->front, "127.0.0.1", 0, NULL), CD_OK);
    g->port = cd_front_port(g->front);
    g->tick = cd_timer_new(g->loop, on_tick, g);
    cd_timer_start(g->tick, 1, 1);
    assert_int_equal(cd_thread_start(&g->thread, "loop", loop_main, g, NULL), CD_OK);
}

static void on_stopped(void *ctx)
{
    rig *g = ctx;
    cd_front_free(g->front);
    cd_timer_free(g->tick);
    cd_loop_stop(g->loop);
}

static void on_stop(cd_loop_task *t)
{
    rig *g = (rig *)(void *)((char *)t - offsetof(rig, stop));
    cd_front_stop(g->front, 1000, on_stopped, g);
}

static void rig_close(rig *g)
{
    g->stop.fn = on_stop;
    cd_loop_post(g->loop, &g->stop);
    cd_thread_join(&g->thread);
    cd_loop_free(g->loop);
    world_free(g->w);
    cd_metrics_free(g->metrics);
}

/* Sends text and gives all that comes back until the server closes. */
static const char *ask_raw(const rig *g, cd_buf *out, cd_bytes text)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    addr.sin_port = htons(g->port);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    while (text.n != 0) {
        ssize_t sent = send(fd, text.p, text.n, MSG_NOSIGNAL);
        if (sent <= 0) {
            break; /* refused before all was said */
        }
        text = cd_bytes_sub(text, (usize)sent, text.n - (usize)sent);
    }
    cd_buf_clear(out);
    for (;;) {
        ssize_t n = recv(fd, cd_buf_reserve(out, 65536), 65536, 0);
        if (n <= 0) {
            assert_int_equal(n, 0);
            break;
        }
        out->n += (usize)n;
    }
    (void)close(fd);
    return cd_buf_cstr(out);
}

static const char *ask(const rig *g, cd_buf *out, const char *method, const char *target, const char *lines)
{
    cd_buf text = {0};
    cd_buf_fmt(&text, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", method, target, lines);
    const char *got = ask_raw(g, out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return got;
}

static u32 status_of(const char *answer)
{
    assert_memory_equal(answer, "HTTP/1.1 ", 9);
    return (u32)strtoul(answer + 9, NULL, 10);
}

static const char *body_of(const char *answer)
{
    const char *at = strstr(answer, "\r\n\r\n");
    assert_non_null(at);
    return at + 4;
}

/* The value of a header line, up to its end, in *len. NULL: there is none. */
static const char *header(const char *answer, const char *name, usize *len)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\r\n%s: ", name);
    const char *at = strstr(answer, line);
    const char *stop = strstr(answer, "\r\n\r\n");
    if (at == NULL || at > stop) {
        return NULL;
    }
    at += strlen(line);
    *len = (usize)(strstr(at, "\r\n") - at);
    return at;
}

static void assert_header(const char *answer, const char *name, const char *want)
{
    usize n = 0;
    const char *got = header(answer, name, &n);
    if (want == NULL) {
        assert_null(got);
        return;
    }
    assert_non_null(got);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(got, want, n);
}

static void assert_json(const char *text)
{
    cd_arena a = {0};
    cd_json v;
    usize n = strlen(text);
    assert_true(n != 0 && text[n - 1] == '\n');
    assert_int_equal(cd_json_parse(&v, &a, cd_bytes_of(text, n - 1), 0, NULL), CD_OK);
    cd_arena_fini(&a);
}

/* --- the routes --- */

static void test_table(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g);
#define LUX                                                                                                            \
    "{\"id\":\"lux\",\"symbol\":\"lux\",\"name\":\"lux\",\"price\":1.234e-8,\"currency\":\"usd\","                     \
    "\"change_24h\":0,\"market_cap\":0,\"volume_24h\":0,\"updated_at\":\"2023-11-14T22:13:20Z\","                      \
    "\"cached\":true}"
    static const struct {
        const char *method;
        const char *target;
        u32 status;
        const char *body; /* ends in '*': the beginning; NULL: empty */
        const char *cache_control;
    } rows[] = {
        {"GET", "/price/lux", 200, LUX "\n", "public, max-age=3600"},
        {"GET", "/price/lux/", 200, LUX "\n", "public, max-age=3600"},
        {"GET", "/price/LUX?currency=USD", 200, LUX "\n", "public, max-age=3600"},
        {"GET", "/price/%6Cux?currency=&x=%41", 200, LUX "\n", "public, max-age=3600"},
        {"HEAD", "/price/lux", 200, NULL, "public, max-age=3600"},
        {"GET", "/price/lux?currency=eur", 200, "{\"id\":\"lux\",*", "public, max-age=3600"},
        {"GET", "/price/", 400, "{\"error\":\"token_id required\"}\n", "no-store"},
        {"GET", "/price/%2f", 400, "{\"error\":\"token_id required\"}\n", "no-store"},
        {"GET", "/price/a%zz", 400, "{\"error\":\"malformed percent-encoding\"}\n", "no-store"},
        {"GET", "/price/a%2", 400, "{\"error\":\"malformed percent-encoding\"}\n", "no-store"},
        {"GET", "/price/lux?a=%", 400, "{\"error\":\"malformed percent-encoding\"}\n", "no-store"},
        {"GET", "/price/a/b", 404, "{\"error\":\"token not found: a/b\"}\n", "no-store"},
        {"GET", "/price/bit%20coin%26x=1", 404, "{\"error\":\"token not found: bit coin&x=1\"}\n", "no-store"},
        {"GET", "/price/%22%0a%ff", 404, "{\"error\":\"token not found: \\\"\\n\xef\xbf\xbd\"}\n", "no-store"},
        {"GET", "/price/lux?currency=a%20b", 404, "{\"error\":\"token not found: lux\"}\n", "no-store"},
        {"GET", "/prices?ids=lux,abc,LUX,,%20,%22", 200, "{\"prices\":{\"abc\":{\"id\":\"abc\",*",
         "public, max-age=3600"},
        {"GET", "/prices?ids=,", 200, "{\"prices\":{},\"updated_at\":\"2023-*", "public, max-age=3600"},
        {"GET", "/prices?ids=lux&currency=%ff", 200, "{\"prices\":{},\"updated_at\":\"2023-*", "public, max-age=3600"},
        {"GET", "/prices", 400, "{\"error\":\"ids query parameter required\"}\n", "no-store"},
        {"GET", "/prices?ids=", 400, "{\"error\":\"ids query parameter required\"}\n", "no-store"},
        {"GET", "/prices?ids=%g0", 400, "{\"error\":\"malformed percent-encoding\"}\n", "no-store"},
        {"GET", "/simple/price?ids=lux&vs_currencies=usd,eur", 200, "{\"lux\":{\"eur\":1.5e+22,\"usd\":1.234e-8}}\n",
         "public, max-age=3600"},
        {"GET", "/simple/price?ids=lux,abc", 200, "{\"abc\":{\"usd\":0.125},\"lux\":{\"usd\":1.234e-8}}\n",
         "public, max-age=3600"},
        {"GET", "/simple/price?ids=abc&precision=2&include_24hr_vol=true&include_market_cap=true", 200,
         "{\"abc\":{\"usd\":0.12,\"usd_24h_vol\":0,\"usd_market_cap\":0}}\n", "public, max-age=3600"},
        {"GET",
         "/simple/price?ids=abc&precision=full&include_24hr_change=true&include_last_updated_at="
         "true",
         200, "{\"abc\":{\"last_updated_at\":null,\"usd\":0.125,\"usd_24h_change\":0}}\n", "public, max-age=3600"},
        {"GET", "/simple/price?ids=abc&precision=0&include_market_cap=1", 200, "{\"abc\":{\"usd\":0}}\n",
         "public, max-age=3600"},
        {"GET", "/simple/price?ids=abc&precision=19", 400, "{\"error\":\"precision must be full or 0 to 18\"}\n",
         "no-store"},
        {"GET", "/simple/price?ids=%00", 200, "{}\n", "public, max-age=3600"},
        {"GET", "/simple/price?ids=abc&vs_currencies=,", 200, "{}\n", "public, max-age=3600"},
        {"GET", "/simple/price", 400, "{\"error\":\"ids query parameter required\"}\n", "no-store"},
        {"GET", "/health", 200, "{\"status\":\"ok\",\"time\":\"2023-*", NULL},
        {"GET", "/ready", 503, "{\"status\":\"starting\"}\n", "no-store"},
        {"GET", "/openapi.json", 200, "{\"openapi\":\"3.1.0\",*", NULL},
        {"GET", "/metrics", 200, "# HELP pricing_*", "no-store"},
        {"GET", "/", 200, "page", NULL},
        {"GET", "/nope", 404, "{\"error\":\"not found\"}\n", "no-store"},
        {"POST", "/nope", 404, "{\"error\":\"not found\"}\n", "no-store"},
        {"POST", "/", 404, "{\"error\":\"not found\"}\n", "no-store"},
        {"POST", "/price/lux", 405, "{\"error\":\"method not allowed\"}\n", "no-store"},
        {"DELETE", "/health", 405, "{\"error\":\"method not allowed\"}\n", "no-store"},
        {"OPTIONS", "/prices", 200, NULL, NULL},
        {"OPTIONS", "/nope", 200, NULL, NULL},
        {"OPTIONS", "*", 200, NULL, NULL},
        {"GET", "/price", 301, NULL, NULL},
        {"GET", "//price//lux/./x/..", 301, NULL, NULL},
        {"GET", "/events?ids=%", 400, "{\"error\":\"malformed percent-encoding\"}\n", "no-store"},
        {"GET", "/events?currency=%22", 400, "{\"error\":\"currency is no name\"}\n", "no-store"},
        {"HEAD", "/events", 200, NULL, NULL},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        const char *got = ask(&g, &b, rows[i].method, rows[i].target, "");
        const char *body = body_of(got);
        usize n = rows[i].body == NULL ? 0 : strlen(rows[i].body);
        if (status_of(got) != rows[i].status) {
            fail_msg("%s %s: %s", rows[i].method, rows[i].target, got);
        }
        if (n != 0 && rows[i].body[n - 1] == '*') {
            assert_memory_equal(body, rows[i].body, n - 1);
        } else if (n == 0) {
            assert_string_equal(body, "");
        } else {
            assert_string_equal(body, rows[i].body);
        }
        assert_header(got, "Access-Control-Allow-Origin", "*");
        assert_header(got, "Access-Control-Allow-Methods", "GET, OPTIONS");
        assert_header(got, "Access-Control-Allow-Headers", "Content-Type, Authorization");
        assert_header(got, "Cache-Control", rows[i].cache_control);
        if (rows[i].status == 405) {
            assert_header(got, "Allow", "GET, HEAD, OPTIONS");
        }
        if (body[0] == '{') {
            assert_header(got, "Content-Type", "application/json");
            assert_json(body);
        }
    }
    assert_header(ask(&g, &b, "GET", "/price?a=%2f", ""), "Location", "/price/?a=%2f");
    assert_header(ask(&g, &b, "GET", "//evil.example/..//price/lux/.", ""), "Location", "/price/lux/");
    cd_buf_fini(&b);
    rig_close(&g);
}

/* What is no request, or too much of one. */
static void test_refused(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    cd_buf text = {0};
    rig_open(&g);
    cd_buf_str(&text, "/prices?ids=");
    cd_buf_fill(&text, 'a', 65536);
    const char *got = ask(&g, &b, "GET", cd_buf_cstr(&text), "");
    assert_int_equal(status_of(got), 414);
    assert_header(got, "Access-Control-Allow-Origin", "*");
    assert_header(got, "Content-Type", "application/json");
    assert_json(body_of(got));
    static const char two_lengths[] =
        "GET /price/lux HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"
        "\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char *const bad[] = {
        "GET /price/lux HTTP/1.1\r\n\r\n",
        two_lengths,
        "GET /price/lux HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n",
        "GET /price/lux HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n",
        "GET /price/lux HTTP/1.1\r\nHost: x\r\n X: y\r\n\r\n",
        "GET /price/lux\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
        "\x16\x03\x01\x02 hello\r\n\r\n",
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        got = ask_raw(&g, &b, cd_bytes_str(bad[i]));
        assert_true(status_of(got) == 400 || status_of(got) == 501);
        assert_json(body_of(got));
        assert_null(strstr(body_of(got), "HTTP/1.1")); /* one answer, no second request */
    }
    cd_buf_clear(&text);
    cd_buf_str(&text, "GET /price/lux HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n");
    got = ask_raw(&g, &b, cd_buf_bytes(&text));
    assert_int_equal(status_of(got), 413);
    /* Ten thousand ids fit, one more does not. */
    cd_buf_clear(&text);
    cd_buf_str(&text, "/simple/price?ids=lux");
    for (u32 i = 1; i < 10000; i++) {
        cd_buf_fmt(&text, ",%%");
        text.n -= 1; /* empty elements count, too */
    }
    got = ask(&g, &b, "GET", cd_buf_cstr(&text), "");
    assert_int_equal(status_of(got), 200);
    assert_string_equal(body_of(got), "{\"lux\":{\"usd\":1.234e-8}}\n");
    cd_buf_u8(&text, ',');
    assert_int_equal(status_of(ask(&g, &b, "GET", cd_buf_cstr(&text), "")), 400);
    cd_buf_fini(&text);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* Tags, ages, sources; misses, hits and failures of a provider. */
static void test_cache(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    char lines[128];
    usize n = 0;
    rig_open(&g);
    const char *got = ask(&g, &b, "GET", "/price/bitcoin", "");
    assert_int_equal(status_of(got), 200);
    assert_header(got, "X-Cache", "MISS");
    assert_header(got, "Age", "0");
    assert_header(got, "X-Price-Source", "p0");
    assert_non_null(strstr(got, "\"cached\":false}\n"));
    got = ask(&g, &b, "GET", "/price/bitcoin", "");
    assert_header(got, "X-Cache", "HIT");
    assert_non_null(strstr(got, "\"cached\":true}\n"));
    const char *tag = header(got, "ETag", &n);
    assert_int_equal(n, CD_HTTP_ETAG_LEN);
    (void)snprintf(lines, sizeof lines, "If-None-Match: \"x\", %.*s\r\n", (int)n, tag);
    got = ask(&g, &b, "GET", "/price/bitcoin", lines);
    assert_int_equal(status_of(got), 304);
    assert_string_equal(body_of(got), "");
    assert_header(got, "Cache-Control", "public, max-age=3600");
    assert_header(got, "Content-Type", NULL);
    assert_non_null(header(got, "ETag", &n));
    got = ask(&g, &b, "GET", "/price/bitcoin", "If-None-Match: \"y\"\r\n");
    assert_int_equal(status_of(got), 200);

    /* The tag of many does not know the time of the answer. */
    got = ask(&g, &b, "GET", "/prices?ids=bitcoin,lux", "");
    assert_header(got, "X-Cache", "HIT");
    tag = header(got, "ETag", &n);
    (void)snprintf(lines, sizeof lines, "If-None-Match: W/%.*s\r\n", (int)n, tag);
    assert_int_equal(status_of(ask(&g, &b, "GET", "/prices?ids=lux,bitcoin", lines)), 304);
    assert_int_equal(status_of(ask(&g, &b, "GET", "/prices?ids=lux", lines)), 200);
    got = ask(&g, &b, "GET", "/simple/price?ids=bitcoin,ethereum", "");
    assert_header(got, "X-Cache", "MISS");
    assert_non_null(header(got, "X-Price-Source", &n));
    assert_non_null(strstr(got, "bitcoin/usd;age="));
    assert_non_null(strstr(got, ", ethereum/usd;age=0;source=p0\r\n"));

    /* Compressed when asked, with a weak tag. */
    got = ask(&g, &b, "GET", "/prices?ids=a,b,c,d,e,f,g,h", "Accept-Encoding: gzip\r\n");
    assert_header(got, "Content-Encoding", "gzip");
    assert_header(got, "Vary", "Accept-Encoding");
    assert_memory_equal(header(got, "ETag", &n), "W/\"", 3);

    /* Failures, with nothing to fall back to. */
    g.w->mode[0] = WORLD_500;
    got = ask(&g, &b, "GET", "/price/solana", "");
    assert_int_equal(status_of(got), 502);
    assert_header(got, "Cache-Control", "no-store");
    assert_null(strstr(got, "coins/markets"));
    assert_int_equal(status_of(ask(&g, &b, "GET", "/prices?ids=solana", "")), 502);
    got = ask(&g, &b, "GET", "/prices?ids=solana,bitcoin", "");
    assert_int_equal(status_of(got), 200);
    g.w->mode[0] = WORLD_LIMITED_5S;
    got = ask(&g, &b, "GET", "/simple/price?ids=cardano", "");
    assert_int_equal(status_of(got), 503);
    assert_non_null(header(got, "Retry-After", &n));
    assert_json(body_of(got));

    assert_int_equal(status_of(ask(&g, &b, "GET", "/ready", "")), 200);
    got = ask(&g, &b, "GET", "/metrics", "");
    assert_non_null(strstr(got, "pricing_requests_total{route=\"/price/{token_id}\",code=\"502\"} 1"));
    assert_non_null(strstr(got, "pricing_cache_total{result=\"hit\"}"));
    cd_buf_fini(&b);
    rig_close(&g);
}

/* --- the parts --- */

static void test_query(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_bytes v;
    cd_bytes q = cd_bytes_str("a=1&b=x+y%2bz&a=2&=e&c&%64=4");
    assert_int_equal(cd_query_get(&v, &a, q, "a"), CD_OK);
    assert_true(cd_bytes_eq(v, cd_bytes_str("1")));
    cd_bytes *every;
    usize every_cnt;
    assert_int_equal(cd_query_all(&every, &every_cnt, &a, cd_bytes_str("t=1&u=2&t=%33&t&tt=4"), "t"), CD_OK);
    assert_int_equal(every_cnt, 3);
    assert_true(cd_bytes_eq(every[0], cd_bytes_str("1")));
    assert_true(cd_bytes_eq(every[1], cd_bytes_str("3")));
    assert_int_equal(every[2].n, 0);
    assert_int_equal(cd_query_all(&every, &every_cnt, &a, cd_bytes_str(""), "t"), CD_OK);
    assert_int_equal(every_cnt, 0);
    assert_int_equal(cd_query_all(&every, &every_cnt, &a, cd_bytes_str("t=%3"), "t"), CD_EFORMAT);
    assert_int_equal(cd_query_get(&v, &a, q, "b"), CD_OK);
    assert_true(cd_bytes_eq(v, cd_bytes_str("x y+z")));
    assert_int_equal(cd_query_get(&v, &a, q, "c"), CD_OK);
    assert_int_equal(v.n, 0);
    assert_int_equal(cd_query_get(&v, &a, q, "d"), CD_OK);
    assert_true(cd_bytes_eq(v, cd_bytes_str("4")));
    assert_int_equal(cd_query_get(&v, &a, cd_bytes_str("a=1&%"), "a"), CD_EFORMAT);
    assert_int_equal(cd_query_get(&v, &a, cd_bytes_str("a=%a"), "a"), CD_EFORMAT);
    assert_int_equal(cd_query_get(&v, &a, cd_bytes_str("a=%aG"), "a"), CD_EFORMAT);
    cd_bytes *names;
    usize cnt;
    assert_int_equal(cd_query_names(&names, &cnt, &a, cd_bytes_str("b, B,a\t,-x,,c d,a.b"), 7), CD_OK);
    assert_int_equal(cnt, 3);
    assert_true(cd_bytes_eq(names[0], cd_bytes_str("a")));
    assert_true(cd_bytes_eq(names[1], cd_bytes_str("a.b")));
    assert_true(cd_bytes_eq(names[2], cd_bytes_str("b")));
    assert_int_equal(cd_query_names(&names, &cnt, &a, cd_bytes_str("a,b"), 1), CD_ELIMIT);
    cd_arena_fini(&a);
}

static void test_time(void **state)
{
    (void)state;
    static const struct {
        u64 ns;
        const char *want;
    } rows[] = {
        {0, "\"1970-01-01T00:00:00Z\""},
        {1700000000000000001, "\"2023-11-14T22:13:20.000000001Z\""},
        {1700000000120000000, "\"2023-11-14T22:13:20.12Z\""},
        {1700000000999999999, "\"2023-11-14T22:13:20.999999999Z\""},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf b = {0};
        cd_json_w w = {.out = &b};
        cd_render_time(&w, rows[i].ns);
        assert_string_equal(cd_buf_cstr(&b), rows[i].want);
        cd_buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_refused), cmocka_unit_test(test_cache),
        cmocka_unit_test(test_query), cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
