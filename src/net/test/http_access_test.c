#include "net/http/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool host_ok(const cd_http_access *a, const char *authority)
{
    return cd_http_access_host(a, cd_bytes_str(authority));
}

static void test_hosts(void **state)
{
    (void)state;
    cd_http_access *a = cd_http_access_new((const char *[]){"localhost", "node.example, Other.example"}, 2, "*");
    assert_true(host_ok(a, ""));
    assert_true(host_ok(a, "localhost"));
    assert_true(host_ok(a, "LOCALHOST:9630"));
    assert_true(host_ok(a, "node.example"));
    assert_true(host_ok(a, "other.example:1"));
    assert_true(host_ok(a, "127.0.0.1"));
    assert_true(host_ok(a, "10.1.2.3:80"));
    assert_true(host_ok(a, "[::1]:80"));
    assert_true(host_ok(a, "[2001:db8::1]"));
    assert_true(host_ok(a, "::1"));
    assert_false(host_ok(a, "evil.example"));
    assert_false(host_ok(a, "localhost.evil.example"));
    assert_false(host_ok(a, "localhost:port"));
    assert_false(host_ok(a, "node.exampl"));
    assert_false(host_ok(a, "127.0.0.1.evil.example"));
    assert_false(host_ok(a, "127.0.0.1x"));
    assert_false(host_ok(a, "[evil]"));
    assert_false(host_ok(a, "["));
    assert_false(host_ok(a, ":80x"));
    cd_http_access_free(a);
    a = cd_http_access_new((const char *[]){"*"}, 1, "*");
    assert_true(host_ok(a, "evil.example"));
    cd_http_access_free(a);
    cd_http_access_free(NULL);
}

#define VARY        "Vary: Origin\r\n"
#define CREDENTIALS "Access-Control-Allow-Credentials: true\r\n"

static void check_cors(const char *origins, const char *origin, const char *want)
{
    cd_http_access *a = cd_http_access_new(NULL, 0, origins);
    cd_buf b = {0};
    cd_http_access_cors(a, &b, cd_bytes_str(origin));
    assert_string_equal(cd_buf_cstr(&b), want);
    cd_buf_fini(&b);
    cd_http_access_free(a);
}

static void test_cors(void **state)
{
    (void)state;
    check_cors("*", "", VARY);
    check_cors("*", "https://x", VARY "Access-Control-Allow-Origin: *\r\n" CREDENTIALS);
    check_cors("https://a https://b", "https://b", VARY "Access-Control-Allow-Origin: https://b\r\n" CREDENTIALS);
    check_cors("https://a,https://b", "https://c", VARY);
    check_cors("https://*.lux.network", "https://app.lux.network",
               VARY "Access-Control-Allow-Origin: https://app.lux.network\r\n" CREDENTIALS);
    check_cors("https://*.lux.network", "https://lux.network", VARY);
    check_cors("https://*.lux.network", "https://.lux.networ", VARY);
    check_cors("https://*.lux.network", "http://app.lux.network", VARY);
    check_cors("", "https://a", VARY);
}

static void check_foreign(const char *origins, const char *origin, bool want)
{
    cd_http_access *a = cd_http_access_new(NULL, 0, origins);
    if (cd_http_access_is_foreign(a, cd_bytes_str(origin)) != want) {
        fail_msg("\"%s\" with \"%s\"", origin, origins);
    }
    cd_http_access_free(a);
}

/* [spec:decisions#D50] */
static void test_foreign(void **state)
{
    (void)state;
    static const char *const own[] = {
        "",
        "http://localhost",
        "http://localhost:3000",
        "https://LocalHost:3000",
        "http://127.0.0.1:9650",
        "https://[::1]",
        "http://[::1]:8545",
        "chrome-extension://abcdefghijklmnop",
        "moz-extension://0a-1b",
        "safari-web-extension://X",
    };
    static const char *const foreign[] = {
        "null",
        "https://evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://localhost:evil",
        "http://localhost:",
        "http://localhost:1/",
        "http://127.0.0.1.evil.example",
        "http://127.0.0.2",
        "http://[::1].evil.example",
        "http://[::1",
        "ftp://localhost",
        "localhost",
        "https://chrome-extension://x",
        "*",
    };
    for (usize i = 0; i < CD_COUNT(own); i++) {
        check_foreign("*", own[i], false);
        check_foreign("", own[i], false);
    }
    for (usize i = 0; i < CD_COUNT(foreign); i++) {
        check_foreign("*", foreign[i], true);
        check_foreign("", foreign[i], true);
    }
    check_foreign("https://app.example", "https://app.example", false);
    check_foreign("* https://app.example", "https://app.example", false);
    check_foreign("* https://app.example", "https://evil.example", true);
    check_foreign("https://*.lux.network", "https://a.lux.network", false);
    check_foreign("https://*.lux.network", "https://a.lux.network.evil", true);
}

static void check_preflight(const char *origins, const char *origin, const char *method, const char *headers,
                            const char *want)
{
    static const char vary[] = VARY "Vary: Access-Control-Request-Method\r\n"
                                    "Vary: Access-Control-Request-Headers\r\n";
    cd_http_access *a = cd_http_access_new(NULL, 0, origins);
    cd_buf b = {0};
    cd_http_access_preflight(a, &b, cd_bytes_str(origin), cd_bytes_str(method), cd_bytes_str(headers));
    assert_true(b.n >= sizeof vary - 1);
    assert_memory_equal(cd_buf_cstr(&b), vary, sizeof vary - 1);
    assert_string_equal(cd_buf_cstr(&b) + sizeof vary - 1, want);
    cd_buf_fini(&b);
    cd_http_access_free(a);
}

static void test_preflight(void **state)
{
    (void)state;
    check_preflight("*", "https://x", "POST", "content-type",
                    "Access-Control-Allow-Headers: Content-Type\r\n"
                    "Access-Control-Allow-Origin: *\r\n" CREDENTIALS "Access-Control-Allow-Methods: POST\r\n");
    check_preflight("*", "https://x", "GET", " ,accept,, ORIGIN ,",
                    "Access-Control-Allow-Headers: Accept, Origin\r\n"
                    "Access-Control-Allow-Origin: *\r\n" CREDENTIALS "Access-Control-Allow-Methods: GET\r\n");
    check_preflight("https://x", "https://x", "HEAD", "",
                    "Access-Control-Allow-Origin: https://x\r\n" CREDENTIALS "Access-Control-Allow-Methods: HEAD\r\n");
    check_preflight("*", "https://x", "PUT", "", "");
    check_preflight("*", "https://x", "POST", "content-type, x-evil", "");
    check_preflight("https://y", "https://x", "POST", "", "");
    check_preflight("*", "", "POST", "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_cors),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_preflight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
