/* What miners are owed: counted once, whatever comes first, however often, from whoever. */
#include "services/adx/ledger/wages.h"

#include "base/os/fileio.h"
#include "services/common/test/engines.h"

static usize engine;
static char dir[64];
static char url[256];
static cd_ledger *l;

enum { PERIOD = 1000 };

static const char A[] = "aaaaaaaaaaaaaaaa";
static const char B[] = "bbbbbbbbbbbbbbbb";

static void register_one(const char *id, u64 now_s)
{
    cd_miner_row m = {.wallet = "0x00000000000000000000000000000000000000aa"};
    memcpy(m.id, id, sizeof m.id);
    engines_ok(cd_wages_register(l, &m, 100, now_s, why));
}

static int setup(void **state)
{
    (void)state;
    engines_dir(dir);
    engines_url(url, engine, dir);
    engines_ok(cd_ledger_open(&l, url, true, why));
    engines_ok(cd_ledger_begin(l, why));
    register_one(A, 10000);
    register_one(B, 10000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cd_ledger_rollback(l);
    cd_ledger_close(l);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), dir, why));
    return 0;
}

static cd_billed bill(u32 token, const char *miner, i64 amount, u64 now_s)
{
    cd_bill b = {.payer = "dsp1",
                 .publisher = "p1",
                 .amount = amount,
                 .expires_s = now_s + 60,
                 .miner = miner,
                 .period_s = PERIOD};
    cd_billed out;
    cd_put_be32(b.token, token);
    engines_ok(cd_ledger_bill(l, &out, &b, now_s * 1000, why));
    return out;
}

static void deliver(u32 token, const char *miner, u64 bytes, u64 size, u64 now_s)
{
    cd_delivery d = {.bytes = bytes, .size = size, .expires_s = now_s + 60};
    cd_put_be32(d.token, token);
    engines_ok(cd_wages_deliver(l, miner, &d, PERIOD, now_s, why));
}

static cd_wages_sums sum(const char *miner, u64 now_s)
{
    cd_wages_sums s;
    engines_ok(cd_wages_sum(l, &s, miner, now_s, why));
    return s;
}

static void check(const char *miner, u64 now_s, u64 impressions, u64 bytes)
{
    cd_wages_sums s = sum(miner, now_s);
    assert_int_equal(s.impressions, impressions);
    assert_int_equal(s.bytes, bytes);
    assert_int_equal(s.reward.base, impressions * 500000);
    assert_int_equal(s.reward.bandwidth, bytes / 10);
}

static void test_both_are_needed(void **state)
{
    (void)state;
    bill(1, A, 1000000, 10001);
    check(A, 10002, 0, 0);
    deliver(1, A, 500, 1000, 10002);
    check(A, 10002, 1, 500);
    deliver(2, A, 700, 1000, 10002);
    check(A, 10002, 1, 500);
    bill(2, A, 1000000, 10003);
    check(A, 10003, 2, 1200);
    check(NULL, 10003, 2, 1200);
}

static void test_lies_bring_nothing(void **state)
{
    (void)state;
    bill(1, A, 1000000, 10001);
    for (u32 i = 0; i < 5; i++) {
        deliver(1, A, 900, 1000, 10002); // told again
    }
    check(A, 10002, 1, 900);
    deliver(1, A, UINT64_MAX, 1000, 10002); // more than there is
    check(A, 10002, 1, 1100);
    deliver(1, B, 1000, 1000, 10002); // another's
    check(B, 10002, 0, 0);
    deliver(3, B, 1000, 1000, 10002); // taken before its miner speaks: what was paid names A
    bill(3, A, 1000000, 10003);
    check(A, 10003, 1, 1100);
    check(B, 10003, 0, 0);
    deliver(4, B, 0, 1000, 10003);
    bill(4, B, 1000000, 10003);
    check(B, 10003, 0, 0);
    assert_int_equal(bill(1, A, 1000000, 10004), CD_BILLED_BEFORE);
    check(A, 10004, 1, 1100);
}

static void test_period(void **state)
{
    cd_wages_paid paid[8];
    usize cnt = 0;
    cd_ledger_state books;
    (void)state;
    for (u32 i = 0; i < 20; i++) {
        bill(i, i < 10 ? A : B, 2000000, 10100);
        deliver(i, i < 10 ? A : B, 1000, 1000, 10100);
    }
    engines_ok(cd_wages_up(l, A, 10000, 10000, 10600, PERIOD, why));
    engines_ok(cd_wages_up(l, A, 10000, 10500, 11005, PERIOD, why)); // overlaps, and reaches into the next
    engines_ok(cd_wages_up(l, B, 10000, 10000, 10900, PERIOD, why));
    engines_ok(cd_wages_proof(l, B, 1000000, PERIOD, 10200, why));
    assert_int_equal(sum(A, 10500).reward.uptime_bonus, 0);
    engines_ok(cd_wages_close(l, paid, &cnt, 8, 11059, why));
    assert_int_equal(cnt, 0); // late reports have a minute
    engines_ok(cd_wages_close(l, paid, &cnt, 8, 11060, why));
    assert_int_equal(cnt, 2);
    assert_string_equal(paid[0].miner, A);
    u64 base = 10ull * 500000 + 1000;
    assert_int_equal(paid[0].reward.total, base + base / 10);
    assert_int_equal(paid[1].reward.uptime_bonus, 0);
    assert_int_equal(paid[1].reward.total, base + 1000000);
    cd_wages_sums all = sum(NULL, 11060);
    assert_int_equal(all.reward.total, 2 * base + base / 10 + 1000000);
    assert_int_equal(all.pending, all.reward.total);
    i64 owed;
    engines_ok(cd_ledger_account(l, &owed, "miner/aaaaaaaaaaaaaaaa", why));
    assert_int_equal(owed, base + base / 10);
    cd_errinfo info = {0};
    assert_int_equal(cd_wages_pay(l, A, owed + 1, cd_bytes_str("tx"), 1, &info), CD_ELIMIT);
    engines_ok(cd_wages_pay(l, A, owed, cd_bytes_str("tx"), 1, why));
    assert_int_equal(sum(A, 11060).paid, owed);
    assert_int_equal(sum(A, 11060).pending, 0);
    engines_ok(cd_ledger_commit(l, why));
    engines_ok(cd_ledger_verify(l, &books, why));
    i64 fees;
    engines_ok(cd_ledger_account(l, &fees, "fees", why));
    assert_int_equal(books.spent, 20 * 2000000);
    assert_int_equal(books.spent, books.earned + fees + books.rewards);
    engines_ok(cd_ledger_begin(l, why));
}

static void test_auctioneer(void **state)
{
    cd_wages_paid paid[8];
    usize cnt = 0;
    (void)state;
    for (u32 i = 0; i < 3; i++) {
        cd_bill b = {
            .payer = "d", .publisher = "p", .amount = 1500, .expires_s = 99999, .auctioneer = A, .period_s = PERIOD};
        cd_billed out;
        cd_put_be32(b.token, i);
        engines_ok(cd_ledger_bill(l, &out, &b, i < 2 ? 10100000 : 11100000, why));
    }
    engines_ok(cd_wages_close(l, paid, &cnt, 8, 11100, why));
    assert_int_equal(paid[0].reward.auction_fee, 3);
    engines_ok(cd_wages_close(l, paid, &cnt, 8, 12100, why));
    assert_int_equal(paid[0].reward.auction_fee, 1);
    assert_int_equal(paid[0].reward.auction_fee_carry, 500);
}

static void test_bounds(void **state)
{
    cd_miner_row rows[4];
    cd_miner_row m = {.id = "cccccccccccccccc", .wallet = "0x"};
    cd_errinfo info = {0};
    usize cnt = 0;
    (void)state;
    assert_int_equal(cd_wages_register(l, &m, 2, 10001, &info), CD_EFULL);
    register_one(A, 10500);
    engines_ok(cd_wages_list(l, rows, &cnt, 4, why));
    assert_int_equal(cnt, 2);
    assert_string_equal(rows[0].id, A);
    assert_int_equal(rows[0].since_s, 10000);
    assert_int_equal(rows[0].seen_s, 10500);
    bill(9, B, 1000, 10600);
    deliver(9, B, 10, 10, 10600);
    engines_ok(cd_wages_forget(l, 10600, why));
    engines_ok(cd_wages_list(l, rows, &cnt, 4, why));
    assert_int_equal(cnt, 1); // who has earned stays
    assert_string_equal(rows[0].id, B);
    cd_wages_sums s;
    assert_int_equal(cd_wages_sum(l, &s, A, 10600, &info), CD_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_both_are_needed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lies_bring_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_period, setup, teardown),
        cmocka_unit_test_setup_teardown(test_auctioneer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
    };
    int failed = 0;
    for (engine = 0; engine < engines_count(); engine++) {
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    engines_end();
    return failed;
}
