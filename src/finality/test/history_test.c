/* A year of sets, one validator of 21 replaced each day, as a node keeps it: the list of changes leads from any day to
 * the last, is short, and is what a stranger believes. Forty days, unless all is tested. [spec:finality#5] */
#include "finality/cert/test/years.h"
#include "finality/finality_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { POOL = 31, MEMBERS = 21, YEAR = 365, YEAR_BYTES = 4500000 };

static u64 days(void)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    return full != NULL && full[0] == '1' ? YEAR : 40;
}

static cd_buf point_of(const year_epoch *y)
{
    cd_buf out = {0};
    cd_fin_checkpoint_put(&out, &y->epoch, NULL, 0);
    return out;
}

/* The members of base, but for the absent ones, sign the next epoch; by_bls: without ML-DSA. */
static void turn(cd_kv *kv, world *pool, const year_epoch *base, const year_epoch *next, u32 absent, bool by_bls)
{
    static cd__fin_witness all[MEMBERS];
    static const u8 zeros[32];
    u8 text[CD_FIN_MSG_BYTES];
    cd_fin_msg msg;
    cd_buf cert = {0};
    cd_buf point = point_of(next);
    cd_fin_epoch_msg(&msg, &next->epoch, 1700000000000000000ull + next->epoch.number);
    cd_fin_msg_enc(text, &msg);
    memset(all, 0, sizeof all);
    for (u32 i = absent; i < base->epoch.set.cnt; i++) {
        cd_bls_sig sig;
        u32 m = base->member[i];
        assert_int_equal(cd_bls_sign(&sig, CD_BLS_POP, cd_bytes_of(text, sizeof text), &pool->bls[m]), CD_OK);
        cd_bls_sig_enc(all[i].bls, &sig);
        all[i].has = CD__FIN_SIGNED_BLS;
        if (!by_bls) {
            cd_mldsa_sign(all[i].mldsa, pool->mldsa_sk[m], cd_bytes_of(text, sizeof text), (cd_bytes){0}, zeros);
            all[i].has |= CD__FIN_SIGNED_MLDSA;
        }
    }
    cd__fin_witness_cert(&cert, &base->epoch.set, &msg, all, !by_bls);
    const cd__fin_turned what = {.number = next->epoch.number,
                                 .cert = cd_buf_bytes(&cert),
                                 .point = cd_buf_bytes(&point),
                                 .set = &base->epoch.set,
                                 .all = all,
                                 .msg = &msg};
    assert_true(cd__fin_put_turned(kv, &what));
    cd_buf_fini(&cert);
    cd_buf_fini(&point);
}

/* Follows what the store gives from a day on; how many changes that are, and in how many bytes. */
static cd_fin_flaw follow(cd_kv *kv, world *pool, u64 from, u64 to, u32 *changes, usize *bytes)
{
    static year_epoch first;
    cd_buf list = {0};
    year_make(&first, pool, from, (u32)from % POOL, MEMBERS);
    cd_buf point = point_of(&first);
    cd_fin_book *b = cd__fin_book_of(cd_buf_bytes(&point));
    assert_non_null(b);
    cd_fin_book *wide = cd_fin_book_init(cd_alloc_aligned(16, cd_fin_book_bytes(64)), 64);
    assert_int_equal(cd_fin_book_open(wide, cd_buf_bytes(&point)), CD_FLAW_NONE);
    assert_int_equal(cd_finality_changes(kv, &list, from, NULL), CD_OK);
    cd_fin_flaw flaw = cd_fin_book_follow(wide, cd_buf_bytes(&list), UINT64_MAX);
    if (flaw == CD_FLAW_NONE) {
        assert_int_equal(wide->epoch.number, to);
    }
    *changes = wide->changes;
    *bytes = list.n;
    cd_free(wide);
    cd_free(b);
    cd_buf_fini(&point);
    cd_buf_fini(&list);
    return flaw;
}

static void a_year(void **state)
{
    (void)state;
    static year_epoch base;
    static year_epoch next;
    u32 changes;
    usize bytes;
    cd_kv *kv = cd_kv_mem_open();
    world *pool = world_new(POOL, 500, 0, false);
    u64 last = days();
    year_make(&base, pool, 0, 0, MEMBERS);
    cd_buf point = point_of(&base);
    assert_int_equal(cd__fin_put_point(kv, 0, cd_buf_bytes(&point)), CD_OK);
    cd_buf_fini(&point);
    for (u64 d = 1; d <= last; d++) {
        year_make(&next, pool, d, (u32)d % POOL, MEMBERS);
        turn(kv, pool, &base, &next, (u32)d % 3, false);
        base = next;
        base.epoch.set.validators = base.validators;
    }
    const u64 from[] = {0, 1, last / 2, last - 1, last};
    for (usize i = 0; i < CD_COUNT(from); i++) {
        assert_int_equal(follow(kv, pool, from[i], last, &changes, &bytes), CD_FLAW_NONE);
        assert_true(changes <= (last - from[i] + 3) / 4);
        assert_true(bytes * YEAR <= (usize)YEAR_BYTES * (last - from[i]) || last - from[i] < 40);
        (void)printf("%llu days: %u changes, %zu bytes\n", (unsigned long long)(last - from[i]), changes, bytes);
    }
    cd_kv_close(kv);
    world_free(pool);
}

/* An epoch that too few have signed is passed over; what was not written whole, or was changed, leads nowhere else. */
static void gaps(void **state)
{
    (void)state;
    static year_epoch day[6];
    u32 changes;
    usize bytes;
    cd_kv *kv = cd_kv_mem_open();
    world *pool = world_new(POOL, 501, 0, false);
    for (u64 d = 0; d < CD_COUNT(day); d++) {
        year_make(&day[d], pool, d, (u32)d, MEMBERS);
        cd_buf point = point_of(&day[d]);
        assert_int_equal(cd__fin_put_point(kv, d, cd_buf_bytes(&point)), CD_OK);
        cd_buf_fini(&point);
    }
    turn(kv, pool, &day[0], &day[1], 0, false); /* nobody signs the second */
    assert_int_equal(follow(kv, pool, 0, 1, &changes, &bytes), CD_FLAW_NONE);
    turn(kv, pool, &day[2], &day[3], 0, false);
    assert_int_equal(follow(kv, pool, 0, 3, &changes, &bytes), CD_FLAW_NONE);
    assert_int_equal(changes, 1);
    turn(kv, pool, &day[3], &day[4], 12, false); /* nine of 21 are too few, for the set before as well */
    assert_int_equal(follow(kv, pool, 3, 4, &changes, &bytes), CD_FLAW_QUORUM);
    turn(kv, pool, &day[3], &day[4], 0, true);
    assert_int_equal(follow(kv, pool, 3, 4, &changes, &bytes), CD_FLAW_NONE);
    assert_int_equal(changes, 1);
    cd_buf none = {0};
    assert_int_equal(cd_finality_changes(kv, &none, 6, NULL), CD_ENOENT);
    assert_int_equal(cd__fin_put_point(kv, 5, cd_bytes_str("not an epoch")), CD_OK);
    assert_int_equal(cd_finality_changes(kv, &none, 5, NULL), CD_ECORRUPT);
    cd_buf_fini(&none);
    cd_kv_close(kv);
    world_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_year), cmocka_unit_test(gaps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
