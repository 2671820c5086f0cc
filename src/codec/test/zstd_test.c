#include "codec/zstd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zstd.h>

enum { MAX = 64 * 1024 };

static void there_and_back(void **state)
{
    (void)state;
    cd_zstd *z = cd_zstd_new(MAX);
    cd_buf in = {0};
    cd_buf out = {0};
    cd_bytes got;
    for (usize n = 0; n <= MAX; n = n * 3 + 1) {
        cd_buf_clear(&in);
        cd_buf_clear(&out);
        cd_buf_fill(&in, (u8)n, n);
        cd_zstd_enc(z, &out, cd_buf_bytes(&in));
        assert_int_equal(cd_zstd_dec(z, &got, cd_buf_bytes(&out), NULL), CD_OK);
        assert_true(cd_bytes_eq(got, cd_buf_bytes(&in)));
        for (usize cut = 0; cut < out.n; cut++) { /* an empty input holds no frame, and is no error */
            assert_int_equal(cd_zstd_dec(z, &got, cd_bytes_of(out.p, cut), NULL), cut == 0 ? CD_OK : CD_EFORMAT);
        }
    }
    cd_buf_fini(&in);
    cd_buf_fini(&out);
    cd_zstd_free(z);
}

static void bounded(void **state)
{
    (void)state;
    cd_zstd *z = cd_zstd_new(MAX);
    cd_buf in = {0};
    cd_buf out = {0};
    cd_bytes got = {0};
    cd_buf_fill(&in, 'x', MAX + 1);
    cd_zstd_enc(z, &out, cd_buf_bytes(&in));
    assert_int_equal(cd_zstd_dec(z, &got, cd_buf_bytes(&out), NULL), CD_ELIMIT);
    cd_buf_clear(&out);
    cd_zstd_enc(z, &out, cd_bytes_of(in.p, MAX));
    assert_int_equal(cd_zstd_dec(z, &got, cd_buf_bytes(&out), NULL), CD_OK);
    assert_int_equal(got.n, MAX);
    cd_zstd_enc(z, &out, cd_bytes_of(in.p, 1)); /* a second frame, one byte too much */
    assert_int_equal(cd_zstd_dec(z, &got, cd_buf_bytes(&out), NULL), CD_ELIMIT);
    cd_buf_fini(&in);
    cd_buf_fini(&out);
    cd_zstd_free(z);
}

/* A frame made as a stream does not tell its size, and asks for a large window. */
static void streamed(void **state)
{
    (void)state;
    cd_zstd *z = cd_zstd_new(MAX);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    u8 buf[4096];
    cd_bytes got = {0};
    static const char text[] = "in two pieces, of unknown length";
    ZSTD_inBuffer in = {.src = text, .size = 10};
    ZSTD_outBuffer out = {.dst = buf, .size = sizeof buf};
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 27);
    assert_int_equal(ZSTD_compressStream2(c, &out, &in, ZSTD_e_flush), 0);
    in = (ZSTD_inBuffer){.src = text + 10, .size = sizeof text - 11};
    assert_int_equal(ZSTD_compressStream2(c, &out, &in, ZSTD_e_end), 0);
    assert_true(ZSTD_getFrameContentSize(buf, out.pos) == ZSTD_CONTENTSIZE_UNKNOWN);
    assert_int_equal(cd_zstd_dec(z, &got, cd_bytes_of(buf, out.pos), NULL), CD_OK);
    assert_true(cd_bytes_eq(got, cd_bytes_str(text)));
    (void)ZSTD_freeCCtx(c);
    cd_zstd_free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(bounded),
                                       cmocka_unit_test(streamed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
