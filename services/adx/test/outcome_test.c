/* Outcomes: who wins, at what price, void ones, more bids than one proof holds, and receipts that convict. */
#include "services/adx/test/auction_kit.h"

#include "crypto/ec/ed25519.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Settles, goes through JSON and back, verifies. */
static cd_outcome through_json(cd_arena *a, const kit *k, u64 reserve, cd_rng *rng)
{
    cd_outcome o;
    cd_outcome back;
    cd_buf json = {0};
    cd_buf again = {0};
    cd_errinfo why = {0};
    kit_settle(&o, a, k, reserve, rng);
    cd_outcome_put(&json, &o);
    if (cd_outcome_parse(&back, a, cd_buf_bytes(&json), &why) != CD_OK || cd_outcome_verify(&back, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_outcome_put(&again, &back);
    assert_true(cd_bytes_eq(cd_buf_bytes(&json), cd_buf_bytes(&again)));
    cd_buf_fini(&json);
    cd_buf_fini(&again);
    return back;
}

typedef struct round {
    u64 reserve;
    u64 values[5]; /* 0 ends; | GONE: forfeited */
    u32 winner, second;
    u64 price;
} round;

#define GONE   (1ULL << 63)
#define NOBODY CD_OUTCOME_NOBODY

static void prices(void **state)
{
    (void)state;
    static const round rounds[] = {
        {10, {25, 42, 31}, 1, 2, 31},                 /* the second bid */
        {31, {25, 42, 31}, 1, 2, 31},                 /* which is the reserve */
        {32, {25, 42, 31}, 1, NOBODY, 32},            /* the reserve */
        {42, {25, 42, 31}, 1, NOBODY, 42},            /* reached exactly */
        {43, {25, 42, 31}, NOBODY, NOBODY, 43},       /* void */
        {1, {7}, 0, NOBODY, 1},                       /* alone */
        {5, {7, 7, 7}, 0, 1, 7},                      /* the earlier of equals */
        {5, {6, 99 | GONE, 8}, 2, 0, 6},              /* a forfeited one does not count */
        {5, {9 | GONE, 8 | GONE}, NOBODY, NOBODY, 5}, /* nobody opened */
        {0, {0}, NOBODY, NOBODY, 0},                  /* nobody came */
        {0, {1}, 0, NOBODY, 0},                       /* for nothing */
        {1, {UINT64_MAX >> 1, 1}, 0, 1, 1},           /* far apart */
    };
    cd_rng rng = cd_rng_seeded(5);
    for (usize i = 0; i < CD_COUNT(rounds); i++) {
        const round *r = &rounds[i];
        cd_arena mem = {0};
        kit k = {.auction = {{(u8)i}}};
        for (usize j = 0; j < CD_COUNT(r->values) && r->values[j] != 0; j++) {
            kit_bid(&k, &rng, r->values[j] & ~GONE, (r->values[j] & GONE) != 0);
        }
        cd_outcome o = through_json(&mem, &k, r->reserve, &rng);
        assert_int_equal(o.winner, r->winner);
        assert_int_equal(o.second, r->second);
        assert_int_equal(o.price, r->price);
        assert_int_equal(o.is_void, r->winner == NOBODY);
        u64 to_win;
        assert_int_equal(cd_outcome_min_to_win(&to_win, &o, 0), o.is_void ? CD_ENOENT : CD_OK);
        assert_int_equal(to_win, r->price);
        cd_arena_fini(&mem);
    }
}

/* 70 bids are three proofs, of 32, 32 and 5 statements. */
static void many_bids(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(6);
    cd_arena mem = {0};
    static kit k;
    for (u32 i = 0; i < 70; i++) {
        kit_bid(&k, &rng, 1000 + cd_rng_below(&rng, 1000000), false);
    }
    cd_outcome o = through_json(&mem, &k, 100, &rng);
    assert_int_equal(o.proof.n, 2 * cd_rangeproof_size(32) + cd_rangeproof_size(8));
    /* Parts that change places are not the proof. */
    u8 *swapped = cd_arena_alloc(&mem, o.proof.n);
    memcpy(swapped, o.proof.p, o.proof.n);
    memcpy(swapped, o.proof.p + 992, 992);
    memcpy(swapped + 992, o.proof.p, 992);
    o.proof.p = swapped;
    assert_int_not_equal(cd_outcome_verify(&o, NULL), CD_OK);
    cd_arena_fini(&mem);
}

/* A house that names another winner, or a lower price, cannot prove it even with all openings: the difference would
 * be negative. */
static void no_other_outcome_can_be_proven(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(7);
    cd_arena mem = {0};
    kit k = {.cnt = 0};
    kit_bid(&k, &rng, 50, false);
    kit_bid(&k, &rng, 40, false);
    kit_bid(&k, &rng, 30, false);
    cd_outcome o;
    kit_settle(&o, &mem, &k, 10, &rng);
    assert_int_equal(cd_outcome_verify(&o, NULL), CD_OK);
    /* Bid 1 wins at bid 2's price: settle a lie (bid 0 worth 20), then put the true commitment back. */
    kit lie = k;
    lie.openings[0].value = 20;
    cd_outcome forged;
    kit_settle(&forged, &mem, &lie, 10, &rng);
    assert_int_equal(forged.winner, 1);
    assert_int_equal(cd_outcome_verify(&forged, NULL), CD_EPROOF);
    /* Void although a bid reaches the reserve. */
    lie.openings[1].value = lie.openings[2].value = 5;
    lie.openings[0].value = 5;
    kit_settle(&forged, &mem, &lie, 10, &rng);
    assert_true(forged.is_void);
    assert_int_equal(cd_outcome_verify(&forged, NULL), CD_EPROOF);
    cd_arena_fini(&mem);
}

/* The bidder's receipt against a document that is valid in itself but has no such bid. */
static void receipt_shows_what_was_left_out(void **state)
{
    (void)state;
    const u8 seed[32] = {1};
    u8 public[32];
    cd_rng rng = cd_rng_seeded(8);
    cd_arena mem = {0};
    kit k = {.cnt = 0};
    cd_outcome o;
    cd_errinfo why = {0};
    cd_ed25519_public(public, seed);
    kit_bid(&k, &rng, 50, false);
    kit_bid(&k, &rng, 70, false);
    cd_receipt r = {.auction = k.auction, .seq = 1, .commitment = k.bids[1].commitment};
    cd_bidlog_init(&r.log_head, &k.auction);
    cd_bidlog_add(&r.log_head, &k.bids[0]);
    cd_bidlog_add(&r.log_head, &k.bids[1]);
    cd_receipt_sign(&r, seed);
    kit_settle(&o, &mem, &k, 10, &rng);
    assert_int_equal(cd_outcome_holds(&o, &r, public, &why), CD_OK);

    kit left_out = k;
    left_out.cnt = 1;
    kit_settle(&o, &mem, &left_out, 10, &rng);
    assert_int_equal(cd_outcome_verify(&o, &why), CD_OK);
    assert_int_equal(cd_outcome_holds(&o, &r, public, &why), CD_EPROOF);
    kit_bid(&left_out, &rng, 60, false); /* another one in its place */
    kit_settle(&o, &mem, &left_out, 10, &rng);
    assert_int_equal(cd_outcome_verify(&o, &why), CD_OK);
    assert_int_equal(cd_outcome_holds(&o, &r, public, &why), CD_EPROOF);
    kit renamed = k; /* the bid stands, what was before it does not */
    renamed.bids[0].bidder[0] = 'D';
    kit_settle(&o, &mem, &renamed, 10, &rng);
    assert_int_equal(cd_outcome_holds(&o, &r, public, &why), CD_EPROOF);

    cd_receipt forged = r;
    forged.seq = 0;
    assert_int_equal(cd_outcome_holds(&o, &forged, public, &why), CD_ESIG);
    cd_receipt other = r;
    other.auction.b[0] ^= 1;
    cd_receipt_sign(&other, seed);
    assert_int_equal(cd_outcome_holds(&o, &other, public, &why), CD_EINVAL);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices),
        cmocka_unit_test(many_bids),
        cmocka_unit_test(no_other_outcome_can_be_proven),
        cmocka_unit_test(receipt_shows_what_was_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
