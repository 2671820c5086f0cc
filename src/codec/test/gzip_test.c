#include "codec/gzip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The output of gzip(1) for "abc" and for no bytes. */
static const u8 abc[] = {0x1f, 0x8b, 0x08, 0,    0,    0,    0,    0,    0, 0x03, 0x4b, 0x4c,
                         0x4a, 0x06, 0,    0xc2, 0x41, 0x24, 0x35, 0x03, 0, 0,    0};
static const u8 nothing[] = {0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0};

static void test_from_gzip(void **state)
{
    (void)state;
    cd_buf in = {0};
    cd_buf out = {0};
    cd_buf_put(&in, cd_bytes_of(abc, sizeof abc));
    cd_buf_put(&in, cd_bytes_of(nothing, sizeof nothing));
    cd_buf_put(&in, cd_bytes_of(abc, sizeof abc));
    cd_buf_str(&out, "before ");
    assert_int_equal(cd_gzip_dec(&out, cd_buf_bytes(&in), 6), CD_OK);
    assert_string_equal(cd_buf_cstr(&out), "before abcabc");
    assert_int_equal(cd_gzip_dec(&out, cd_buf_bytes(&in), 5), CD_ELIMIT);
    cd_buf_str(&in, "and no gzip");
    assert_int_equal(cd_gzip_dec(&out, cd_buf_bytes(&in), 100), CD_EFORMAT);
    assert_string_equal(cd_buf_cstr(&out), "before abcabc");
    cd_buf_fini(&in);
    cd_buf_fini(&out);
}

static void there_and_back(cd_gzip_level level)
{
    cd_buf in = {0};
    cd_buf packed = {0};
    cd_buf out = {0};
    for (u32 i = 0; i < 50000; i++) {
        cd_buf_fmt(&in, "%u,", i);
    }
    cd_gzip_enc(&packed, cd_buf_bytes(&in), level);
    assert_true(packed.n < in.n / 2);
    assert_int_equal(cd_gzip_dec(&out, cd_buf_bytes(&packed), in.n), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&in), cd_buf_bytes(&out)));
    cd_buf_clear(&out);
    assert_int_equal(cd_gzip_dec(&out, cd_buf_bytes(&packed), in.n - 1), CD_ELIMIT);
    for (usize cut = 0; cut < packed.n; cut += 997) {
        assert_int_equal(cd_gzip_dec(&out, cd_bytes_of(packed.p, cut), in.n), CD_EFORMAT);
    }
    packed.p[packed.n / 2] ^= 0x55;
    assert_int_equal(cd_gzip_dec(&out, cd_buf_bytes(&packed), in.n), CD_EFORMAT);
    assert_int_equal(out.n, 0);
    cd_buf_fini(&in);
    cd_buf_fini(&packed);
    cd_buf_fini(&out);
}

static void test_there_and_back(void **state)
{
    (void)state;
    there_and_back(CD_GZIP_FAST);
    there_and_back(CD_GZIP_SMALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_gzip),
        cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
