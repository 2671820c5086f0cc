/* Messages: every kind as it was said, and nothing that is cut, longer, or out of order. [spec:finality#6] */
#include "finality/messages.h"

#include "base/mem/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static u8 filler[CD_FIN_D_BYTES];
static u8 tags[2 * CD_FIN_TAG_BYTES];

static cd_fin_says sample(cd_fin_kind kind)
{
    static const usize n[] = {0, CD_BLS_SIG_LEN, CD_FIN_D_BYTES, CD_FIN_Z_BYTES, CD_MLDSA_SIG, 333,
                              0, CD_MLDSA_PK,    CD_MLDSA_PK};
    cd_fin_says s = {
        .kind = kind,
        .chain = {{3}},
        .msg = {.block = {{4}}, .height = 5, .time_ns = 6},
        .bytes = cd_bytes_of(filler, n[kind]),
    };
    if (kind == CD_FIN_SAYS_ROUND1 || kind == CD_FIN_SAYS_ROUND2) {
        s.session = 0x0102030405060708;
        s.party = 1;
    } else if (kind != CD_FIN_SAYS_CERT && kind != CD_FIN_SAYS_WANTED) {
        s.node = (cd_node_id){{9, 9}};
    }
    cd_put_be32(tags, 0);
    cd_put_be32(tags + CD_FIN_TAG_BYTES, 2);
    s.tags = kind == CD_FIN_SAYS_ROUND1 ? cd_bytes_of(tags, sizeof tags) : s.tags;
    s.number = kind == CD_FIN_SAYS_NEXT_KEY ? 7 : 0;
    s.proof = kind >= CD_FIN_SAYS_KEY ? cd_bytes_of(filler, CD_BLS_SIG_LEN) : s.proof;
    return s;
}

static void every_kind(void **state)
{
    (void)state;
    for (u32 kind = CD_FIN_SAYS_SHARE; kind <= CD_FIN_SAYS_NEXT_KEY; kind++) {
        cd_buf bytes = {0};
        cd_buf again = {0};
        cd_fin_says read;
        cd_fin_says s = sample((cd_fin_kind)kind);
        cd_fin_says_put(&bytes, &s);
        assert_int_equal(cd_fin_says_read(&read, cd_buf_bytes(&bytes)), CD_OK);
        assert_int_equal(read.kind, kind);
        assert_int_equal(read.bytes.n, s.bytes.n);
        assert_int_equal(read.session, s.session);
        assert_int_equal(read.number, s.number);
        cd_fin_says_put(&again, &read);
        assert_true(cd_bytes_eq(cd_buf_bytes(&bytes), cd_buf_bytes(&again)));
        for (usize n = 0; n < bytes.n && kind != CD_FIN_SAYS_CERT; n += n < 200 ? 1 : bytes.n / 37 + 1) {
            u8 *cut = cd_alloc(n);
            memcpy(cut, bytes.p, n);
            assert_int_not_equal(cd_fin_says_read(&read, cd_bytes_of(cut, n)), CD_OK);
            cd_free(cut);
        }
        cd_buf_u8(&bytes, 0);
        assert_int_equal(cd_fin_says_read(&read, cd_buf_bytes(&bytes)) == CD_OK, kind == CD_FIN_SAYS_CERT);
        cd_buf_fini(&bytes);
        cd_buf_fini(&again);
    }
}

static void refused(void **state)
{
    (void)state;
    const usize party = 3 + 32 + CD_FIN_MSG_BYTES + 8 + 3;
    const usize first_tag = party + 1 + 4 + CD_FIN_D_BYTES + 4 + 3;
    const struct {
        usize at;
        u8 v;
    } rows[] = {{1, 1}, /* another version */
                {2, 0}, /* kinds that there are not */
                {2, 9},
                {party, 128},   /* a party beyond the most */
                {party + 3, 1}, /* another length */
                {first_tag, 1}, /* a tag for itself */
                {first_tag, 2}, /* the same twice */
                {first_tag, 3}, /* falling */
                {first_tag + CD_FIN_TAG_BYTES, 200}};
    cd_fin_says s = sample(CD_FIN_SAYS_ROUND1);
    cd_fin_says read;
    cd_buf bytes = {0};
    cd_fin_says_put(&bytes, &s);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u8 was = bytes.p[rows[i].at];
        bytes.p[rows[i].at] = rows[i].v;
        assert_int_not_equal(cd_fin_says_read(&read, cd_buf_bytes(&bytes)), CD_OK);
        bytes.p[rows[i].at] = was;
    }
    assert_int_equal(cd_fin_says_read(&read, cd_buf_bytes(&bytes)), CD_OK);
    cd_buf_fill(&bytes, 0, CD_FIN_MESSAGE_MAX);
    assert_int_equal(cd_fin_says_read(&read, cd_buf_bytes(&bytes)), CD_ELIMIT);
    cd_buf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
