#include "services/adx/ledger/ledger.h"

#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "services/common/test/engines.h"


/* 0: SQLite, 1: PostgreSQL. */
static usize engine;
static char dir[64];
static char url[256];

static int setup(void **state)
{
    (void)state;
    engines_dir(dir);
    engines_url(url, engine, dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engines_ok(cd_fs_remove_tree(cd_fs_real(), dir, why));
    return 0;
}

static cd_ledger *open_ledger(void)
{
    cd_ledger *l = NULL;
    cd_errinfo why = {0};
    if (cd_ledger_open(&l, url, true, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    return l;
}

static void good(cd_err err, const cd_errinfo *why)
{
    if (err != CD_OK) {
        fail_msg("%s", why->msg);
    }
}

static i64 account(cd_ledger *l, const char *name)
{
    i64 v;
    cd_errinfo why = {0};
    good(cd_ledger_account(l, &v, name, &why), &why);
    return v;
}

static cd_bill bill_of(u32 token, i64 lease, i64 amount)
{
    cd_bill b = {.is_campaign = lease != 0,
                 .payer = lease != 0 ? "c1" : "dsp1",
                 .publisher = "p1",
                 .lease = lease,
                 .amount = amount,
                 .expires_s = 1000};
    cd_put_be32(b.token, token);
    return b;
}

static cd_billed bill(cd_ledger *l, u32 token, i64 lease, i64 amount)
{
    const cd_bill b = bill_of(token, lease, amount);
    cd_billed out;
    cd_errinfo why = {0};
    good(cd_ledger_begin(l, &why), &why);
    good(cd_ledger_bill(l, &out, &b, 5, &why), &why);
    good(cd_ledger_commit(l, &why), &why);
    return out;
}

static void fund(cd_ledger *l, i64 total)
{
    cd_errinfo why = {0};
    good(cd_ledger_begin(l, &why), &why);
    good(cd_ledger_fund(l, "c1", total, 1, &why), &why);
    good(cd_ledger_commit(l, &why), &why);
}

static cd_lease lease_more(cd_ledger *l, i64 lease, i64 want, i64 daily)
{
    cd_lease out = {0};
    cd_errinfo why = {0};
    const cd_lease_ask ask = {
        .campaign = "c1", .lease = lease, .want = want, .daily_max = daily, .day = 3, .until_ms = 5000};
    good(cd_ledger_begin(l, &why), &why);
    good(cd_ledger_lease(l, &out, &ask, 1, &why), &why);
    good(cd_ledger_commit(l, &why), &why);
    return out;
}

static void reap(cd_ledger *l, u64 now_ms)
{
    cd_errinfo why = {0};
    good(cd_ledger_begin(l, &why), &why);
    good(cd_ledger_reap(l, now_ms, &why), &why);
    good(cd_ledger_commit(l, &why), &why);
}

static cd_ledger_state verify(cd_ledger *l)
{
    cd_ledger_state s = {0};
    cd_errinfo why = {0};
    good(cd_ledger_verify(l, &s, &why), &why);
    return s;
}

/* Budget to lease to impressions: nothing more than was funded, every token once, the rest comes back. */
static void test_money(void **state)
{
    (void)state;
    cd_ledger *l = open_ledger();
    fund(l, 10000);
    assert_int_equal(lease_more(l, 0, 4000, 0).added, 4000);
    assert_int_equal(lease_more(l, 1, 100000, 0).added, 6000);
    assert_int_equal(lease_more(l, 1, 1, 0).added, 0);
    assert_int_equal(bill(l, 1, 1, 2500), CD_BILLED);
    assert_int_equal(bill(l, 1, 1, 2500), CD_BILLED_BEFORE);
    assert_int_equal(bill(l, 2, 1, 7000), CD_BILLED);
    assert_int_equal(bill(l, 3, 1, 501), CD_BILLED_NOT);
    assert_int_equal(bill(l, 4, 9, 1), CD_BILLED_NOT);
    assert_int_equal(account(l, "fees"), 9);
    assert_int_equal(account(l, "publisher/p1"), 9491);
    assert_int_equal(account(l, "leased/c1"), 500);
    reap(l, 4000);
    assert_int_equal(account(l, "leased/c1"), 500);
    reap(l, 5001);
    assert_int_equal(account(l, "leased/c1"), 0);
    assert_int_equal(account(l, "escrow/c1"), 500);
    assert_int_equal(bill(l, 5, 1, 1), CD_BILLED_NOT); // the lease has ended
    cd_ledger_state s = verify(l);
    assert_int_equal(s.spent, 9500);
    assert_int_equal(s.earned + s.fees, s.spent);
    cd_ledger_close(l);
}

/* Less budget takes back what nobody has, more adds. */
static void test_fund(void **state)
{
    (void)state;
    cd_ledger *l = open_ledger();
    fund(l, 1000);
    fund(l, 1000);
    (void)lease_more(l, 0, 600, 0);
    fund(l, 100);
    assert_int_equal(account(l, "escrow/c1"), 0);
    assert_int_equal(account(l, "leased/c1"), 600);
    fund(l, 2000);
    assert_int_equal(account(l, "escrow/c1"), 1400);
    (void)verify(l);
    cd_ledger_close(l);
}

/* A day's limit counts what is out and what was billed, not what came back. */
static void test_daily(void **state)
{
    (void)state;
    cd_ledger *l = open_ledger();
    cd_errinfo why = {0};
    fund(l, 1000000);
    assert_int_equal(lease_more(l, 0, 800, 1000).added, 800);
    assert_int_equal(lease_more(l, 0, 800, 1000).added, 200);
    assert_int_equal(bill(l, 1, 1, 300), CD_BILLED);
    good(cd_ledger_begin(l, &why), &why);
    good(cd_ledger_unlease(l, 1, 400, 9000, 2, &why), &why);
    good(cd_ledger_commit(l, &why), &why);
    assert_int_equal(lease_more(l, 0, 800, 1000).added, 400);
    assert_int_equal(account(l, "leased/c1"), 700);
    (void)verify(l);
    cd_ledger_close(l);
}

/* A fee is a thousandth of the sum, not the sum of thousandths. */
static void test_fees(void **state)
{
    (void)state;
    cd_ledger *l = open_ledger();
    for (u32 i = 0; i < 100; i++) {
        assert_int_equal(bill(l, i, 0, 777), CD_BILLED);
    }
    assert_int_equal(account(l, "fees"), 77);
    assert_int_equal(account(l, "bidder/dsp1"), -77700);
    assert_int_equal(account(l, "publisher/p1"), 77700 - 77);
    cd_ledger_close(l);
    l = open_ledger(); // the carry survives
    assert_int_equal(bill(l, 1000, 0, 300), CD_BILLED);
    assert_int_equal(account(l, "fees"), 78);
    (void)verify(l);
    cd_ledger_close(l);
}

/* Whatever is changed in the file is found. */
static void test_tampering(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "UPDATE journal SET postings = replace(postings, '-777', '-776') WHERE seq = 3",
        "UPDATE journal SET at_ms = 6 WHERE seq = 2",
        "UPDATE journal SET kind = 'lease' WHERE seq = 2",
        "DELETE FROM journal WHERE seq = 5",
        "DELETE FROM journal WHERE seq = 1",
        "UPDATE accounts SET amount = amount + 1 WHERE name = 'publisher/p1'",
        "DELETE FROM accounts WHERE name = 'fees'",
        "UPDATE head SET seq = 4",
    };
    for (usize i = 0; i < CD_COUNT(changes); i++) {
        (void)setup(NULL);
        cd_ledger *l = open_ledger();
        for (u32 k = 0; k < 5; k++) {
            assert_int_equal(bill(l, k, 0, 777), CD_BILLED);
        }
        (void)verify(l);
        cd_ledger_close(l);
        const cd_sql_cfg cfg = {.url = url, .may_write = true};
        cd_sql *q = NULL;
        cd_errinfo why = {0};
        good(cd_sql_open(&q, &cfg, &why), &why);
        good(cd_sql_exec(q, changes[i], &why), &why);
        cd_sql_close(q);
        l = open_ledger();
        cd_ledger_state s;
        assert_int_equal(cd_ledger_verify(l, &s, &why), CD_ECORRUPT);
        cd_ledger_close(l);
    }
}

/* Random operations of several processes, some of which die: the books balance at every step, and no campaign spends
 * more than its budget. */
static void test_model(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(20);
    cd_ledger *l = open_ledger();
    i64 leases[4] = {0};
    u64 now = 10000;
    u32 token = 0;
    fund(l, 50000);
    for (u32 i = 0; i < 3000; i++, now += cd_rng_below(&rng, 50)) {
        cd_errinfo why = {0};
        usize p = cd_rng_below(&rng, CD_COUNT(leases));
        cd_lease got = {0};
        cd_billed billed;
        const cd_lease_ask ask = {.campaign = "c1",
                                  .lease = leases[p],
                                  .want = (i64)cd_rng_below(&rng, 500),
                                  .day = now / 5000,
                                  .daily_max = 9000,
                                  .until_ms = now + 1000};
        const cd_bill b = bill_of(cd_rng_below(&rng, 3) == 0 ? (u32)cd_rng_below(&rng, token + 1) : ++token,
                                  leases[p] == 0 ? 99999 : leases[p], (i64)cd_rng_below(&rng, 200));
        good(cd_ledger_begin(l, &why), &why);
        cd_err err = CD_OK;
        switch (cd_rng_below(&rng, 4)) {
        case 0:
            err = cd_ledger_lease(l, &got, &ask, now, &why);
            leases[p] = err == CD_ENOENT ? 0 : got.id;
            err = err == CD_ENOENT ? CD_OK : err;
            break;
        case 1:
            leases[p] = cd_rng_below(&rng, 4) == 0 ? 0 : leases[p]; // killed
            err = cd_ledger_reap(l, now, &why);
            break;
        default:
            err = cd_ledger_bill(l, &billed, &b, now, &why);
        }
        good(err, &why);
        if (cd_rng_below(&rng, 10) == 0) {
            cd_ledger_rollback(l);
            leases[p] = 0;
        } else {
            good(cd_ledger_commit(l, &why), &why);
        }
        assert_int_equal(
            account(l, "escrow/c1") + account(l, "leased/c1") + account(l, "publisher/p1") + account(l, "fees"), 50000);
    }
    cd_ledger_state s = verify(l);
    assert_in_range(s.spent, 1, 50000);
    cd_ledger_close(l);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_money), TEST(test_fund), TEST(test_daily), TEST(test_fees), TEST(test_tampering), TEST(test_model),
    };
    int failed = 0;
    for (engine = 0; engine < engines_count(); engine++) {
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    engines_end();
    return failed;
}
