/* API keys and limits of calls. */
#include "services/common/keys.h"

#include "base/mem/buf.h"
#include "services/common/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const u8 salt[CD_KEY_SALT] = {1, 2, 3};

/* A key has the form that is documented, no two are equal, and only its own text finds it. */
static void test_made(void **state)
{
    cd_rng rng = cd_rng_seeded(7);
    char text[2][CD_KEY_TEXT + 1];
    char id[2][CD_KEY_ID + 1];
    cd_hash32 hash, other;
    u8 pepper[CD_KEY_SALT] = {9};
    (void)state;
    for (int i = 0; i < 2; i++) {
        cd_key_make(text[i], id[i], &rng);
        assert_int_equal(strlen(text[i]), 43);
        assert_memory_equal(text[i], "sk_", 3);
        assert_int_equal(strspn(text[i] + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"), 40);
        assert_int_equal(strlen(id[i]), 20);
        assert_memory_equal(id[i], "key_", 4);
        assert_int_equal(strspn(id[i] + 4, "0123456789abcdef"), 16);
    }
    assert_string_not_equal(text[0], text[1]);
    assert_string_not_equal(id[0], id[1]);
    assert_int_equal(cd_key_hash(&hash, cd_bytes_str(text[0]), salt), CD_OK);
    assert_int_equal(cd_key_hash(&other, cd_bytes_str(text[1]), salt), CD_OK);
    assert_memory_not_equal(hash.b, other.b, 32);
    assert_int_equal(cd_key_hash(&other, cd_bytes_str(text[0]), pepper), CD_OK);
    assert_memory_not_equal(hash.b, other.b, 32);
    assert_int_equal(cd_key_hash(&other, cd_bytes_str("sk_short"), salt), CD_ENOENT);
    assert_int_equal(cd_key_hash(&other, (cd_bytes){0}, salt), CD_ENOENT);
}

static void test_good(void **state)
{
    cd_hash32 hash, other;
    (void)state;
    assert_int_equal(cd_key_hash(&hash, cd_bytes_str("sk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), salt), CD_OK);
    cd_bytes stored = cd_bytes_of(hash.b, 32);
    other = hash;
    other.b[31] ^= 1;
    assert_true(cd_key_is_good(stored, &hash, 0, 0, 1000));
    assert_true(cd_key_is_good(stored, &hash, 0, 1001, 1000));
    assert_false(cd_key_is_good(stored, &hash, 0, 1000, 1000)); /* ends at this very moment */
    assert_false(cd_key_is_good(stored, &hash, 1, 0, 1000));
    assert_false(cd_key_is_good(stored, &other, 0, 0, 1000));
    assert_false(cd_key_is_good(cd_bytes_of(hash.b, 31), &hash, 0, 0, 1000));
}

static void test_rate(void **state)
{
    cd_rate *r = cd_rate_new(2);
    (void)state;
    for (u32 i = 0; i < 3; i++) {
        cd_rate_left left = cd_rate_take(r, "a", 3, 100);
        assert_true(left.is_in);
        assert_int_equal(left.remaining, 2 - i);
    }
    cd_rate_left left = cd_rate_take(r, "a", 3, 100);
    assert_false(left.is_in);
    assert_int_equal(left.remaining, 0);
    assert_int_equal(left.reset_s, 101);
    assert_true(cd_rate_take(r, "a", 4, 100).is_in); /* a higher limit holds at once */
    assert_true(cd_rate_take(r, "b", 1, 100).is_in); /* others have a second of their own */
    assert_false(cd_rate_take(r, "b", 1, 100).is_in);
    assert_true(cd_rate_take(r, "b", 1, 101).is_in);  /* so has the next second */
    assert_false(cd_rate_take(r, "c", 0, 101).is_in); /* nothing is allowed */
    assert_true(cd_rate_take(r, "a", 1, 100).is_in);  /* three names: the first of two was forgotten */
    cd_buf lines = {0};
    cd_rate_put_lines(&lines, &left);
    assert_string_equal(cd_buf_cstr(&lines), "X-RateLimit-Limit: 3\r\nX-RateLimit-Remaining: 0\r\n"
                                             "X-RateLimit-Reset: 101\r\nRetry-After: 1\r\n");
    cd_buf_clear(&lines);
    left = cd_rate_take(r, "d", 3, 7);
    cd_rate_put_lines(&lines, &left);
    assert_string_equal(cd_buf_cstr(&lines),
                        "X-RateLimit-Limit: 3\r\nX-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 8\r\n");
    cd_buf_fini(&lines);
    cd_rate_free(r);
    cd_rate_free(NULL);
}

/* Names of more than CD_RATE_NAME_MAX bytes share what their first bytes have. */
static void test_long_names(void **state)
{
    char name[CD_RATE_NAME_MAX + 2];
    cd_rate *r = cd_rate_new(10);
    (void)state;
    memset(name, 'x', sizeof name);
    name[CD_RATE_NAME_MAX + 1] = '\0';
    assert_true(cd_rate_take(r, name, 1, 5).is_in);
    name[CD_RATE_NAME_MAX] = 'y';
    assert_false(cd_rate_take(r, name, 1, 5).is_in);
    cd_rate_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
