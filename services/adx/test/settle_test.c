/* What is sent to the chain: made once, of everything, with names that are never the same twice. */
#include "services/adx/ledger/settle.h"

#include "base/os/fileio.h"
#include "codec/json.h"
#include "crypto/hash/keccak.h"
#include "services/adx/ledger/wages.h"
#include "services/common/test/engines.h"

#include <stdio.h>

static usize engine;
static char dir[64];
static char url[256];
static cd_ledger *l;
static i64 lease;
static u32 tokens;

static const char P1[] = "0x00000000000000000000000000000000000000b1";
static const char P2[] = "0x00000000000000000000000000000000000000B2";

static int setup(void **state)
{
    const cd_lease_ask ask = {.campaign = "c1", .want = 1000000, .day = 1, .until_ms = 1000000};
    cd_lease got;
    (void)state;
    engines_dir(dir);
    engines_url(url, engine, dir);
    engines_ok(cd_ledger_open(&l, url, true, why));
    engines_ok(cd_ledger_begin(l, why));
    engines_ok(cd_ledger_fund(l, "c1", 1000000, 1, why));
    engines_ok(cd_ledger_lease(l, &got, &ask, 1, why));
    lease = got.id;
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

static void bill(const char *publisher, i64 amount)
{
    cd_bill b = {
        .is_campaign = true, .payer = "c1", .publisher = publisher, .lease = lease, .amount = amount, .expires_s = 100};
    cd_billed out;
    cd_put_be32(b.token, ++tokens);
    engines_ok(cd_ledger_bill(l, &out, &b, 5, why));
    assert_int_equal(out, CD_BILLED);
}

static usize make(u64 now_ms)
{
    usize cnt;
    engines_ok(cd_settle_make(l, &cnt, 1000, 0, now_ms, why));
    return cnt;
}

static cd_sending next(cd_arena *mem, u64 now_ms)
{
    cd_sending s;
    engines_ok(cd_settle_next(l, &s, mem, now_ms, why));
    return s;
}

static i64 account(const char *name)
{
    i64 v;
    engines_ok(cd_ledger_account(l, &v, name, why));
    return v;
}

/* The proof of a claim leads to the root, as the contract computes it. */
static void check_claim(cd_json claim, const cd_hash32 *root, u64 units)
{
    u8 leaf[84] = {0};
    cd_hash32 h;
    cd_hash32 said;
    cd_bytes publisher;
    u64 amount;
    cd_arena mem = {0};
    engines_ok(cd_json_fixed(said.b, 32, cd_json_get(claim, "merkleRoot"), why));
    assert_memory_equal(said.b, root->b, 32);
    engines_ok(cd_json_fixed(leaf, 32, cd_json_get(claim, "reservationId"), why));
    engines_ok(cd_json_str(&publisher, cd_json_get(claim, "publisher"), why));
    engines_ok(cd_json_fixed(leaf + 32, 20, cd_json_get(claim, "publisher"), why));
    engines_ok(cd_json_u64(&amount, cd_json_get(claim, "amount"), why));
    assert_int_equal(amount, units);
    cd_put_be64(leaf + 76, amount);
    cd_keccak256(&h, cd_bytes_of(leaf, sizeof leaf));
    for (cd_json_it it = cd_json_iter(cd_json_get(claim, "proof")); cd_json_next(&it);) {
        u8 pair[64];
        engines_ok(cd_json_fixed(pair + 32, 32, it.val, why));
        memcpy(pair, h.b, 32);
        if (memcmp(pair, pair + 32, 32) > 0) {
            memcpy(pair, pair + 32, 32);
            memcpy(pair + 32, h.b, 32);
        }
        cd_keccak256(&h, cd_bytes_of(pair, sizeof pair));
    }
    assert_memory_equal(h.b, root->b, 32);
    cd_arena_fini(&mem);
}

static void check_claims(const char *publisher, const cd_hash32 *root, u64 units)
{
    cd_buf text = {0};
    cd_arena mem = {0};
    cd_json doc;
    engines_ok(cd_settle_claims(l, &text, publisher, 10, why));
    engines_ok(cd_json_parse(&doc, &mem, cd_buf_bytes(&text), 0, why));
    assert_int_equal(cd_json_len(doc), units == 0 ? 0 : 1);
    if (units != 0) {
        check_claim(cd_json_at(doc, 0), root, units);
    }
    cd_arena_fini(&mem);
    cd_buf_fini(&text);
}

static void test_way(void **state)
{
    cd_arena mem = {0};
    cd_hash32 tx = {{7}};
    cd_settle_sums sums;
    cd_errinfo info = {0};
    cd_sending s;
    (void)state;
    bill(P1, 100);
    bill(P1, 50);
    bill(P2, 7);
    bill("nobody", 1000);
    char many[4][43];
    for (u32 i = 0; i < 4; i++) {
        (void)snprintf(many[i], sizeof many[i], "0x%040x", i + 1);
        bill(many[i], 10 + i);
    }
    assert_int_equal(make(1000), 1);
    assert_int_equal(make(1001), 0); // nothing is left
    s = next(&mem, 1000);
    assert_true(s.kind == CD_SENDING_BATCH && s.state == CD_SENDING_MADE && s.total == 203 && s.cnt == 7);
    check_claims(P1, &s.root, 0); // not before the chain has it
    engines_ok(cd_settle_signed(l, s.id, 3, cd_bytes_str("raw"), &tx, why));
    cd_sending again = next(&mem, 1000);
    assert_true(again.state == CD_SENDING_SIGNED && again.nonce == 3 && cd_bytes_eq(again.raw, cd_bytes_str("raw")));
    engines_ok(cd_settle_later(l, s.id, 5000, false, "away", why));
    assert_int_equal(cd_settle_next(l, &again, &mem, 4999, &info), CD_ENOENT);
    engines_ok(cd_settle_sum(l, &sums, why));
    assert_true(sums.waiting == 203 && sums.open == 1 && sums.settled == 0);
    assert_string_equal(sums.trouble, "away");
    engines_ok(cd_settle_later(l, s.id, 0, true, "", why));
    assert_int_equal(next(&mem, 5000).state, CD_SENDING_MADE);
    for (u32 i = 0; i < 3; i++) { // told more than once
        engines_ok(cd_settle_done(l, s.id, 11, 120000, 6000, why));
    }
    assert_int_equal(account("onchain/c1"), 203);
    assert_int_equal(account("tochain/c1"), 0);
    check_claims(P1, &s.root, 150000);
    check_claims(P2, &s.root, 7000);
    check_claims(many[3], &s.root, 13000);
    bill(P1, 150); // the same sum to the same publisher: another name, another root
    assert_int_equal(make(1000), 1);
    assert_memory_not_equal(next(&mem, 9000).root.b, s.root.b, 32);
    engines_ok(cd_settle_sum(l, &sums, why));
    assert_true(sums.unsettled == 0 && sums.waiting == 150 && sums.settled == 203 && sums.sendings == 1);
    cd_arena_fini(&mem);
}

static void test_lock(void **state)
{
    bool is_mine;
    (void)state;
    engines_ok(cd_settle_lock(l, &is_mine, "a", 1000, 500, why));
    assert_true(is_mine);
    engines_ok(cd_settle_lock(l, &is_mine, "b", 1400, 500, why));
    assert_false(is_mine);
    engines_ok(cd_settle_lock(l, &is_mine, "a", 1400, 500, why));
    assert_true(is_mine);
    engines_ok(cd_settle_lock(l, &is_mine, "b", 1901, 500, why));
    assert_true(is_mine);
    engines_ok(cd_settle_lock(l, &is_mine, "a", 1902, 500, why));
    assert_false(is_mine);
}

static void test_payout(void **state)
{
    cd_miner_row m = {.id = "aaaaaaaaaaaaaaaa", .wallet = "0x00000000000000000000000000000000000000aa"};
    cd_wages_paid paid[4];
    cd_arena mem = {0};
    usize cnt = 0;
    i64 owed;
    (void)state;
    engines_ok(cd_wages_register(l, &m, 10, 100, why));
    engines_ok(cd_wages_proof(l, m.id, 5000, 10, 100, why));
    engines_ok(cd_wages_close(l, paid, &cnt, 4, 200, why));
    owed = account("miner/aaaaaaaaaaaaaaaa");
    assert_int_equal(owed, 5000);
    engines_ok(cd_settle_make(l, &cnt, 1, 5001, 1000, why));
    assert_int_equal(cnt, 0); // less than is worth it
    engines_ok(cd_settle_make(l, &cnt, 1, 1, 1000, why));
    assert_int_equal(cnt, 1);
    engines_ok(cd_settle_make(l, &cnt, 1, 1, 1000, why));
    assert_int_equal(cnt, 0); // one at a time
    cd_sending s = next(&mem, 1000);
    assert_true(s.kind == CD_SENDING_PAYOUT && s.total == 5000 && s.wallet.b[19] == 0xaa);
    for (u32 i = 0; i < 3; i++) {
        engines_ok(cd_settle_done(l, s.id, 1, 1, 2000, why));
    }
    assert_int_equal(account("paid/aaaaaaaaaaaaaaaa"), 5000);
    assert_int_equal(account("miner/aaaaaaaaaaaaaaaa"), 0);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_way, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(test_payout, setup, teardown),
    };
    int failed = 0;
    for (engine = 0; engine < engines_count(); engine++) {
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    engines_end();
    return failed;
}
