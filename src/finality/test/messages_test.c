/* Messages between validators: each kind there and back; what is cut, longer or of another kind is refused. */
#include "finality/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static u8 bytes[CD_MLDSA_SIG];

static cd_fin_message of_kind(cd_fin_kind kind)
{
    cd_fin_message m = {.kind = kind,
                        .chain = {{1, 2}},
                        .m = {.block = {{3}}, .height = 41, .time_ns = 1700000000000000000},
                        .node = {{4}}};
    if (kind == CD_FIN_CERT) {
        m.node = (cd_node_id){{0}};
        m.cert = cd_bytes_str("certificate");
    } else {
        m.sig = cd_bytes_of(bytes, kind == CD_FIN_STAMP ? CD_MLDSA_SIG : CD_BLS_SIG_LEN);
        m.key = kind == CD_FIN_ANNOUNCE ? cd_bytes_of(bytes, CD_MLDSA_PK) : (cd_bytes){0};
    }
    return m;
}

static void test_kinds(void **state)
{
    (void)state;
    static const cd_fin_kind kinds[] = {CD_FIN_SHARE, CD_FIN_STAMP, CD_FIN_CERT, CD_FIN_ANNOUNCE};
    for (usize i = 0; i < sizeof bytes; i++) {
        bytes[i] = (u8)(i * 7);
    }
    for (usize k = 0; k < CD_COUNT(kinds); k++) {
        cd_buf out = {0};
        cd_buf again = {0};
        cd_fin_message got;
        const cd_fin_message m = of_kind(kinds[k]);
        cd_fin_message_put(&out, &m);
        assert_int_equal(cd_fin_message_parse(&got, cd_buf_bytes(&out), NULL), CD_OK);
        assert_int_equal(got.kind, m.kind);
        assert_int_equal(got.m.height, 41);
        assert_true(cd_bytes_eq(got.sig, m.sig) && cd_bytes_eq(got.key, m.key) && cd_bytes_eq(got.cert, m.cert));
        cd_fin_message_put(&again, &got);
        assert_true(cd_bytes_eq(cd_buf_bytes(&again), cd_buf_bytes(&out)));
        for (usize n = 0; n < out.n && kinds[k] != CD_FIN_CERT; n++) {
            assert_int_not_equal(cd_fin_message_parse(&got, cd_bytes_of(out.p, n), NULL), CD_OK);
        }
        cd_buf_u8(&out, 0);
        assert_int_equal(cd_fin_message_parse(&got, cd_buf_bytes(&out), NULL) == CD_OK, kinds[k] == CD_FIN_CERT);
        cd_buf_fini(&out);
        cd_buf_fini(&again);
    }
}

/* The first bytes as the specification has them. */
static void test_layout(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_fin_message got;
    cd_errinfo why = {0};
    const cd_fin_message m = of_kind(CD_FIN_SHARE);
    cd_fin_message_put(&out, &m);
    assert_int_equal(out.n, 2 + 1 + 32 + 48 + 20 + 96);
    assert_int_equal(out.p[2], 1);
    assert_int_equal(out.p[3], 1);
    assert_int_equal(out.p[35], 3);
    assert_int_equal(cd_be64(out.p + 35 + 32), 41);
    assert_int_equal(out.p[83], 4);
    out.p[1] = 1;
    assert_int_equal(cd_fin_message_parse(&got, cd_buf_bytes(&out), &why), CD_EVERSION);
    out.p[1] = 0;
    out.p[2] = 9;
    assert_int_equal(cd_fin_message_parse(&got, cd_buf_bytes(&out), &why), CD_EUNSUPPORTED);
    assert_string_equal(why.msg, "a message of kind 9");
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
