#include "net/http/parse.h"

#include "base/mem/buf.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HEADER_MAX = 1000, BODY_MAX = 64 };

/* Reads all of text in pieces of `piece` bytes and describes what came out:
 * "GET /path?query body=..; " for each request, "400 " for a refusal, "... " for an unfinished one. */
static void run(cd_buf *out, const char *text, usize n, usize piece)
{
    cd_http_parse *p = cd_http_parse_new(HEADER_MAX, BODY_MAX);
    cd_buf_clear(out);
    cd_http_step step = CD_HTTP_STEP_MORE;
    for (usize at = 0; at < n || step == CD_HTTP_STEP_HEAD;) {
        usize len = n - at < piece ? n - at : piece;
        usize used;
        step = cd_http_parse_feed(p, &used, cd_bytes_of(text + at, len));
        assert_true(used <= len);
        at += used;
        if (step == CD_HTTP_STEP_BAD) {
            const char *why;
            cd_buf_fmt(out, "%u ", cd_http_parse_error(p, &why));
            assert_true(why[0] != '\0');
            assert_int_equal(cd_http_parse_feed(p, &used, cd_bytes_of(text, n)), CD_HTTP_STEP_BAD);
            break;
        }
        if (step == CD_HTTP_STEP_MORE) {
            assert_int_equal(used, len);
        }
        if (step == CD_HTTP_STEP_DONE) {
            const cd_http_msg *m = cd_http_parse_msg(p);
            cd_bytes path = cd_http_msg_path(m);
            cd_bytes query = cd_http_msg_query(m);
            cd_bytes body = cd_buf_bytes(&m->body);
            cd_buf_fmt(out, "%s %.*s?%.*s body=%.*s%s; ", cd_http_method_name(m->method), (int)path.n, path.p,
                       (int)query.n, query.p == NULL ? (const u8 *)"" : query.p, (int)body.n,
                       body.p == NULL ? (const u8 *)"" : body.p, cd_http_parse_keeps_alive(p) ? "" : " last");
            cd_http_parse_next(p);
            assert_true(cd_http_parse_is_idle(p));
        }
    }
    if (step == CD_HTTP_STEP_MORE && !cd_http_parse_is_idle(p)) {
        cd_buf_str(out, "... ");
    }
    cd_http_parse_free(p);
}

/* The same whatever the pieces are. */
static void check_n(const char *text, usize n, const char *want)
{
    cd_buf out = {0};
    for (usize piece = 1; piece <= n; piece = piece < 20 ? piece + 1 : piece * 2) {
        run(&out, text, n, piece);
        assert_string_equal(cd_buf_cstr(&out), want);
    }
    run(&out, text, n, n);
    assert_string_equal(cd_buf_cstr(&out), want);
    cd_buf_fini(&out);
}

static void check(const char *text, const char *want)
{
    check_n(text, strlen(text), want);
}

#define H "Host: a\r\n"

static void test_requests(void **state)
{
    (void)state;
    check("GET / HTTP/1.1\r\n" H "\r\n", "GET /? body=; ");
    check("POST /x?a=1&b=/? HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello", "POST /x?a=1&b=/? body=hello; ");
    check("\r\n\r\nGET /1 HTTP/1.1\r\n" H "\r\nHEAD /2 HTTP/1.1\r\n" H "\r\nPUT /3 HTTP/1.1\r\n" H
          "Content-Length: 1\r\n\r\nxDELETE /4 HTTP/1.1\r\n" H "\r\n",
          "GET /1? body=; HEAD /2? body=; PUT /3? body=x; DELETE /4? body=; ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
          "5;ext=1;q=\"a\"\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\nHost: b\r\n\r\n"
          "GET /n HTTP/1.1\r\n" H "\r\n",
          "POST /? body=hello world; GET /n? body=; ");
    check("GET http://Example.com:80/p?q HTTP/1.1\r\n" H "\r\n", "GET /p?q body=; ");
    check("GET http://example.com HTTP/1.1\r\n" H "\r\n", "GET /? body=; ");
    check("GET http://example.com?q HTTP/1.1\r\n" H "\r\n", "GET /?q body=; ");
    check("OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS *? body=; ");
    check("GET / HTTP/1.0\r\n\r\n", "GET /? body= last; ");
    check("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET /? body=; ");
    check("GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n", "GET /? body= last; ");
    /* Offers of other protocols are not taken up. */
    check("GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
          "GET /2 HTTP/1.1\r\n" H "\r\n",
          "GET /? body=; GET /2? body=; ");
    check("POST / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nab"
          "GET /2 HTTP/1.1\r\n" H "\r\n",
          "POST /? body=ab; GET /2? body=; ");
    check("CONNECT a:80 HTTP/1.1\r\n" H "\r\nGET /2 HTTP/1.1\r\n" H "\r\n", "? a:80? body=; GET /2? body=; ");
    check("GET / HTTP/1.1\r\n" H "Empty:\r\nX: y\r\n\r\n", "GET /? body=; ");
}

static void test_unfinished(void **state)
{
    (void)state;
    check("GE", "... ");
    check("GET / HTTP/1.1\r\n" H, "... ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhell", "... ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "... ");
}

/* What two readers could understand differently must not pass [RFC 9112 6.3, 11.2]. */
static void test_smuggling(void **state)
{
    (void)state;
    check("POST / HTTP/1.1\r\n" H "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: 4, 4\r\n\r\nabcd", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: +4\r\n\r\nabcd", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: 0x4\r\n\r\nabcd", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551616\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length : 4\r\n\r\nabcd", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n", "400 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", "400 ");
    check("GET / HTTP/1.1\nHost: a\n\n", "505 ");
    check("GET / HTTP/1.1\r\n" H "A: b\nC: d\r\n\r\n", "400 ");
    check("GET / HTTP/1.1\r\n" H "A: b\r\n folded\r\n\r\n", "400 ");
    check("GET / HTTP/1.1\r\n" H "Bad Name: x\r\n\r\n", "400 ");
    check("GET / HTTP/1.1\r\n" H ": x\r\n\r\n", "400 ");
    check("GET / HTTP/1.1\r\n" H "Host: b\r\n\r\n", "400 ");
    check("GET / HTTP/1.1\r\n\r\n", "400 ");
    check("GET /a b HTTP/1.1\r\n" H "\r\n", "400 ");
    check_n("GET / HTTP/1.1\r\n" H "A: b\0c\r\n\r\n", 16 + 9 + 8 + 2, "400 ");
}

static void test_refusals(void **state)
{
    (void)state;
    check("GET / HTTP/2.0\r\n" H "\r\n", "505 ");
    check("GET / HTTP/0.9\r\n\r\n", "505 ");
    check("GET / HTTP/1.2\r\n" H "\r\n", "505 ");
    check("BREW / HTTP/1.1\r\n" H "\r\n", "501 ");
    check("\x16\x03\x01\x02", "501 ");
    check("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 ");
    check("GET / FTP/1.1\r\n" H "\r\n", "400 ");
}

static void test_limits(void **state)
{
    (void)state;
    cd_buf b = {0};
    cd_buf_str(&b, "GET /");
    cd_buf_fill(&b, 'x', HEADER_MAX);
    check(cd_buf_cstr(&b), "414 ");

    cd_buf_clear(&b);
    cd_buf_str(&b, "GET / HTTP/1.1\r\n" H "A: ");
    cd_buf_fill(&b, 'x', HEADER_MAX);
    check(cd_buf_cstr(&b), "431 ");

    cd_buf_clear(&b);
    cd_buf_str(&b, "GET / HTTP/1.1\r\n" H);
    for (u32 i = 0; i < 101; i++) {
        cd_buf_str(&b, "a:\r\n");
    }
    check(cd_buf_cstr(&b), "431 ");

    /* Trailers and chunk extensions count as well. */
    cd_buf_clear(&b);
    cd_buf_str(&b, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\nA: ");
    cd_buf_fill(&b, 'x', HEADER_MAX);
    check(cd_buf_cstr(&b), "431 ");
    cd_buf_clear(&b);
    cd_buf_str(&b, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1;a=");
    cd_buf_fill(&b, 'x', HEADER_MAX);
    check(cd_buf_cstr(&b), "431 ");

    cd_buf_clear(&b);
    cd_buf_fmt(&b, "POST / HTTP/1.1\r\n" H "Content-Length: %d\r\n\r\n", BODY_MAX);
    cd_buf_fill(&b, 'x', BODY_MAX);
    cd_buf_u8(&b, '\0');
    char want[128] = "POST /? body=";
    memset(want + 13, 'x', BODY_MAX);
    memcpy(want + 13 + BODY_MAX, "; ", 3);
    check((const char *)b.p, want);
    check("POST / HTTP/1.1\r\n" H "Content-Length: 65\r\n\r\n", "413 ");
    check("POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551615\r\n\r\n", "413 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n41\r\n", "413 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3f\r\n"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n2\r\n",
          "413 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "413 ");
    check("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", "400 ");
    cd_buf_fini(&b);
}

static void test_headers(void **state)
{
    (void)state;
    static const char text[] = "POST http://Target:1/ HTTP/1.1\r\nHOST: h:2\r\nX-a:  v 1 \r\n"
                               "x-A: 2\r\nExpect: 100-Continue\r\nEmpty: \r\nContent-Length: 3\r\n\r\n";
    cd_http_parse *p = cd_http_parse_new(HEADER_MAX, BODY_MAX);
    usize used;
    const char *why;
    assert_int_equal(cd_http_parse_feed(p, &used, cd_bytes_str(text)), CD_HTTP_STEP_HEAD);
    assert_true(cd_bytes_eq(cd_http_msg_header(cd_http_parse_msg(p), "x-a"), cd_bytes_str("v 1")));
    assert_null(cd_http_msg_header(cd_http_parse_msg(p), "x-b").p);
    assert_non_null(cd_http_msg_header(cd_http_parse_msg(p), "empty").p);
    assert_int_equal(cd_http_msg_header(cd_http_parse_msg(p), "empty").n, 0);
    assert_true(cd_bytes_eq(cd_http_msg_host(cd_http_parse_msg(p)), cd_bytes_str("Target:1")));
    assert_true(cd_http_parse_wants_continue(p));
    assert_true(cd_http_parse_has_body(p));
    assert_true(cd_http_parse_set_body_max(p, 3));
    assert_false(cd_http_parse_set_body_max(p, 2));
    assert_int_equal(cd_http_parse_feed(p, &used, (cd_bytes){0}), CD_HTTP_STEP_BAD);
    assert_int_equal(cd_http_parse_error(p, &why), 413);
    assert_string_equal(why, "content length too large (3>2)");

    /* The limit is back for the next request, and may be raised. */
    cd_http_parse_next(p);
    static const char big[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 70\r\n\r\n";
    assert_int_equal(cd_http_parse_feed(p, &used, cd_bytes_str(big)), CD_HTTP_STEP_HEAD);
    assert_true(cd_bytes_eq(cd_http_msg_host(cd_http_parse_msg(p)), cd_bytes_str("h")));
    assert_true(cd_http_parse_set_body_max(p, 70));
    char body[70] = {0};
    assert_int_equal(cd_http_parse_feed(p, &used, cd_bytes_of(body, 70)), CD_HTTP_STEP_DONE);
    assert_int_equal(cd_buf_bytes(&cd_http_parse_msg(p)->body).n, 70);
    cd_http_parse_free(p);
    cd_http_parse_free(NULL);
}

static void test_words(void **state)
{
    (void)state;
    char date[CD_HTTP_DATE_LEN];
    cd_http_date_fmt(date, 784111777);
    assert_memory_equal(date, "Sun, 06 Nov 1994 08:49:37 GMT", sizeof date);
    cd_http_date_fmt(date, 1709164800);
    assert_memory_equal(date, "Thu, 29 Feb 2024 00:00:00 GMT", sizeof date);
    assert_string_equal(cd_http_reason(413), "Content Too Large");
    assert_string_equal(cd_http_reason(299), "");
}

/* The limit of headers does not depend on how the request is cut into pieces. */
static void test_limit_in_pieces(void **state)
{
    (void)state;
    cd_buf text = {0};
    cd_buf whole = {0};
    cd_buf pieces = {0};
    for (usize fill = HEADER_MAX - 250; fill < HEADER_MAX + 20; fill++) {
        cd_buf_clear(&text);
        cd_buf_str(&text, "GET /a HTTP/1.1\r\nHost: x\r\n");
        for (int i = 0; i < 10; i++) {
            cd_buf_str(&text, "A-name: a value\r\n");
        }
        cd_buf_str(&text, "Filling: ");
        cd_buf_fill(&text, 'v', fill - 190);
        cd_buf_str(&text, "\r\n\r\n");
        run(&whole, (const char *)text.p, text.n, text.n);
        for (usize piece = 1; piece < 8; piece++) {
            run(&pieces, (const char *)text.p, text.n, piece);
            assert_string_equal(cd_buf_cstr(&pieces), cd_buf_cstr(&whole));
        }
    }
    /* Both sides of it were seen, and so for the extensions of chunks and for trailers. */
    assert_memory_equal(cd_buf_cstr(&whole), "431", 3);
    static const char *const heads[] = {"1;ext=", "1\r\nx\r\n0\r\nTrailer: "};
    static const char *const tails[] = {"\r\nx\r\n0\r\n\r\n", "\r\n\r\n"};
    for (usize kind = 0; kind < CD_COUNT(heads); kind++) {
        bool seen[2] = {false};
        for (usize fill = HEADER_MAX - 100; fill < HEADER_MAX + 10; fill++) {
            cd_buf_clear(&text);
            cd_buf_str(&text, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
            cd_buf_str(&text, heads[kind]);
            cd_buf_fill(&text, '0', fill);
            cd_buf_str(&text, tails[kind]);
            run(&whole, (const char *)text.p, text.n, text.n);
            run(&pieces, (const char *)text.p, text.n, 1);
            assert_string_equal(cd_buf_cstr(&pieces), cd_buf_cstr(&whole));
            seen[whole.p[0] == '4'] = true;
        }
        assert_true(seen[0] && seen[1]);
    }
    cd_buf_fini(&text);
    cd_buf_fini(&whole);
    cd_buf_fini(&pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),        cmocka_unit_test(test_unfinished), cmocka_unit_test(test_smuggling),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_limits),     cmocka_unit_test(test_headers),
        cmocka_unit_test(test_limit_in_pieces), cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
