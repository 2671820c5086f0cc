/* Filters of the events: what they want, and what clients may try: commands that are none, filters without end. */
#include "chains/xvm/filter.h"

#include "codec/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static cd_addr20 addr_of(u32 n)
{
    cd_addr20 a = {{0}};
    cd_put_be32(a.b + 3, n);
    cd_put_be32(a.b + 13, n * 2654435761u);
    return a;
}

static bool say(cd_xvm_filter *f, cd_buf *error, const char *text)
{
    cd_buf_clear(error);
    return cd_xvm_filter_command(f, error, cd_bytes_str(text));
}

/* Adds cnt addresses from the n-th on, as many in a command as fit. */
static bool add(cd_xvm_filter *f, cd_buf *error, u32 n, u32 cnt)
{
    cd_buf text = {0};
    bool ok = true;
    for (u32 i = 0; i < cnt && ok;) {
        cd_buf_clear(&text);
        cd_buf_str(&text, "{\"addAddresses\":{\"addresses\":[");
        for (bool first = true; i < cnt && text.n < CD_XVM_COMMAND_MAX - 100; i++, first = false) {
            cd_addr20 a = addr_of(n + i);
            cd_buf_str(&text, first ? "\"" : ",\"");
            cd_chain_addr_put(&text, "X", "lux", &a);
            cd_buf_str(&text, "\"");
        }
        cd_buf_str(&text, "]}}");
        ok = say(f, error, cd_buf_cstr(&text));
    }
    cd_buf_fini(&text);
    return ok;
}

static bool wants(const cd_xvm_filter *f, u32 n)
{
    cd_addr20 a = addr_of(n);
    return cd_xvm_filter_wants(f, &a);
}

static void set_and_bloom(void **state)
{
    (void)state;
    usize all = 0;
    cd_buf error = {0};
    cd_xvm_filter *f = cd_xvm_filter_new(&all);
    u32 wrong = 0;
    assert_false(wants(f, 1));
    assert_true(say(f, &error, "{\"newSet\":{}}"));
    assert_true(add(f, &error, 0, 100));
    for (u32 i = 0; i < 200; i++) {
        assert_int_equal(wants(f, i), i < 100);
    }
    assert_true(say(f, &error, "{\"newBloom\":{\"maxElements\":\"1000\",\"collisionProb\":\"0.01\"}}"));
    assert_false(wants(f, 1)); /* a new one is empty */
    assert_true(add(f, &error, 0, 1000));
    for (u32 i = 0; i < 1000; i++) {
        assert_true(wants(f, i)); /* never the other way */
    }
    for (u32 i = 0; i < 10000; i++) {
        wrong += wants(f, 1000000 + i);
    }
    assert_true(wrong < 300); /* 100 are promised */
    assert_true(all > 0);
    cd_xvm_filter_free(f);
    assert_int_equal(all, 0);
    cd_buf_fini(&error);
}

static void refused(const char *text, const char *words)
{
    usize all = 0;
    cd_buf error = {0};
    cd_xvm_filter *f = cd_xvm_filter_new(&all);
    assert_false(say(f, &error, text));
    assert_string_equal(cd_buf_cstr(&error), words);
    cd_xvm_filter_free(f);
    cd_buf_fini(&error);
}

static void words(void **state)
{
    (void)state;
    static char nested[CD_XVM_COMMAND_MAX];
    refused("{}", "{\"error\":\"invalid command\"}");
    refused("{\"newBloom\":{}}", "{\"error\":\"invalid bloom filter params\"}");
    refused("{\"newBloom\":{\"maxElements\":\"0\",\"collisionProb\":\"0.1\"}}",
            "{\"error\":\"invalid bloom filter params\"}");
    refused("{\"newBloom\":{\"maxElements\":\"1\",\"collisionProb\":\"1.5\"}}",
            "{\"error\":\"invalid bloom filter params\"}");
    refused("{\"newBloom\":{\"maxElements\":\"18446744073709551615\",\"collisionProb\":\"0.1\"}}",
            "{\"error\":\"bloom filter creation failed max bytes exceeded\"}");
    refused("{\"newBloom\":{\"maxElements\":\"1000000\",\"collisionProb\":\"0.0000000001\"}}",
            "{\"error\":\"bloom filter creation failed max bytes exceeded\"}");
    refused("{\"addAddresses\":{\"addresses\":[\"X\"]}}",
            "{\"error\":\"address parse failed no separator found in address\"}");
    refused("{\"addAddresses\":{\"addresses\":[\"X-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28\"]}}",
            "{\"error\":\"address append failed filter not initialized\"}");
    refused("?", ""); /* what is no JSON is not answered */
    refused("{\"newBloom\":5}", "");
    memset(nested, '[', sizeof nested - 1);
    refused(nested, "");
}

/* Nobody has more addresses than are allowed, and all together no more memory. */
static void bounded(void **state)
{
    (void)state;
    enum { MANY = 64 };
    usize all = 0;
    cd_buf error = {0};
    cd_xvm_filter *f[MANY];
    u32 made = 0;
    f[0] = cd_xvm_filter_new(&all);
    assert_true(say(f[0], &error, "{\"newSet\":{}}"));
    assert_true(add(f[0], &error, 0, CD_XVM_FILTER_ADDRESSES));
    assert_false(add(f[0], &error, 1000000, 1));
    assert_string_equal(cd_buf_cstr(&error), "{\"error\":\"address append failed address limit exceeded\"}");
    assert_true(say(f[0], &error, "{\"newSet\":{}}"));
    assert_int_equal(all, 0);
    for (u32 i = 1; i < MANY; i++) {
        f[i] = cd_xvm_filter_new(&all);
        made += say(f[i], &error, "{\"newBloom\":{\"maxElements\":\"800000\",\"collisionProb\":\"0.01\"}}");
        assert_true(all <= CD_XVM_FILTERS_BYTES);
    }
    assert_true(made > 16 && made < MANY - 1);
    for (u32 i = 0; i < MANY; i++) {
        cd_xvm_filter_free(f[i]);
    }
    assert_int_equal(all, 0);
    cd_buf_fini(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_and_bloom),
        cmocka_unit_test(words),
        cmocka_unit_test(bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
