/* Shared bytes and the places where they go. */
#include "base/mem/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cd_shared *shared_of(const char *text)
{
    cd_buf b = {0};
    cd_buf_str(&b, text);
    cd_shared *s = cd_shared_take(&b);
    assert_true(b.p == NULL && b.n == 0);
    return s;
}

static void expect(cd_bytes got, const char *want)
{
    assert_true(cd_bytes_eq(got, cd_bytes_str(want)));
}

static void test_references(void **state)
{
    (void)state;
    cd_shared *s = shared_of("text");
    assert_ptr_equal(cd_shared_ref(s), s);
    cd_shared_unref(s);
    expect(cd_shared_bytes(s), "text");
    cd_shared_unref(s);
    cd_shared_unref(NULL);
}

/* Shared bytes at both ends, in between, and two in one place. */
static void test_pieces(void **state)
{
    (void)state;
    cd_splices l = {0};
    cd_buf buf = {0};
    cd_bytes pieces[CD_SPLICE_PIECES_MAX];
    assert_int_equal(cd_splices_pieces(&l, pieces, &buf), 0);
    assert_true(cd_splices_add(&l, &buf, shared_of("<1>")));
    cd_buf_str(&buf, "ab");
    assert_true(cd_splices_add(&l, &buf, shared_of("<2>")));
    assert_true(cd_splices_add(&l, &buf, shared_of("<33>")));
    cd_buf_str(&buf, "c");
    assert_int_equal(cd_splices_size(&l, 0), 10);
    assert_int_equal(cd_splices_size(&l, 2), 4);
    assert_int_equal(cd_splices_pieces(&l, pieces, &buf), 5);
    expect(pieces[0], "<1>");
    expect(pieces[1], "ab");
    expect(pieces[2], "<2>");
    expect(pieces[3], "<33>");
    expect(pieces[4], "c");

    cd_splices_cut(&l, 2); /* the buffer's bytes behind the place that was cut stay */
    cd_splices_flatten(&l, &buf);
    expect(cd_buf_bytes(&buf), "<1>ab<2>c");
    assert_int_equal(l.cnt, 0);
    cd_splices_flatten(&l, &buf);
    expect(cd_buf_bytes(&buf), "<1>ab<2>c");
    cd_buf_fini(&buf);
}

static void test_full(void **state)
{
    (void)state;
    cd_splices l = {0};
    cd_buf buf = {0};
    cd_bytes pieces[CD_SPLICE_PIECES_MAX];
    cd_shared *s = shared_of("s");
    for (u32 i = 0; i < CD_SPLICES_MAX; i++) {
        cd_buf_u8(&buf, '.');
        assert_true(cd_splices_add(&l, &buf, cd_shared_ref(s)));
    }
    cd_buf_u8(&buf, '.');
    assert_false(cd_splices_add(&l, &buf, s));
    assert_int_equal(cd_splices_pieces(&l, pieces, &buf), CD_SPLICE_PIECES_MAX);
    cd_splices_cut(&l, 0);
    cd_shared_unref(s);
    cd_buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
