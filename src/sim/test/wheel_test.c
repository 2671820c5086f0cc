#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "sim/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { BUCKET_US = 1000 };

/* Letters come in the order of their buckets, within a bucket by node, time and sender, with the bytes that follow
 * them. */
static void test_order(void **state)
{
    enum { CNT = 20000 };
    cd_sim_wheel *w = cd_sim_wheel_new(BUCKET_US);
    cd_rng r = cd_rng_seeded(1);
    u64 got = 0;
    (void)state;
    for (u64 i = 0; i < CNT; i++) {
        u8 bytes[40];
        const cd_sim_mail m = {.at_us = cd_rng_below(&r, 900000),
                               .order = i,
                               .to = (u32)cd_rng_below(&r, 9),
                               .n = (u16)cd_rng_below(&r, sizeof bytes)};
        memset(bytes, (int)(i & 0xff), sizeof bytes);
        assert_true(cd_sim_wheel_put(w, &m, bytes));
    }
    assert_int_equal(cd_sim_wheel_cnt(w), CNT);
    for (u64 b = 0; b < 1000; b++) {
        u64 start;
        u32 cnt;
        const cd_sim_mail *const *mail = cd_sim_wheel_next(w, &start, &cnt);
        assert_int_equal(start, b * BUCKET_US);
        for (u32 i = 0; i < cnt; i++) {
            const cd_sim_mail *m = mail[i];
            cd_bytes bytes = cd_sim_mail_bytes(m);
            assert_true(m->at_us >= start && m->at_us < start + BUCKET_US);
            assert_true(bytes.n == 0 || bytes.p[bytes.n - 1] == (u8)(m->order & 0xff));
            if (i != 0) {
                const cd_sim_mail *p = mail[i - 1];
                assert_true(p->to < m->to ||
                            (p->to == m->to && (p->at_us < m->at_us || (p->at_us == m->at_us && p->order < m->order))));
            }
        }
        got += cnt;
        cd_sim_wheel_done(w);
    }
    assert_int_equal(got, CNT);
    assert_int_equal(cd_sim_wheel_cnt(w), 0);
    cd_sim_wheel_free(w);
}

/* A letter that is late comes in the next bucket; one that is too far ahead is not taken. */
static void test_edges(void **state)
{
    cd_sim_wheel *w = cd_sim_wheel_new(BUCKET_US);
    u64 start;
    u32 cnt;
    cd_sim_mail m = {.at_us = 0};
    (void)state;
    (void)cd_sim_wheel_next(w, &start, &cnt);
    assert_int_equal(cnt, 0);
    assert_true(cd_sim_wheel_put(w, &m, NULL));
    cd_sim_wheel_done(w);
    (void)cd_sim_wheel_next(w, &start, &cnt);
    assert_int_equal(cnt, 1);
    m.at_us = (u64)BUCKET_US * CD_SIM_BUCKETS;
    assert_true(cd_sim_wheel_put(w, &m, NULL));
    m.at_us += 2ull * BUCKET_US;
    assert_false(cd_sim_wheel_put(w, &m, NULL));
    cd_sim_wheel_done(w);
    cd_sim_wheel_free(w);
    cd_sim_wheel_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
