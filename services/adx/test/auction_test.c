/* Auctions that testdata does not have: deals, ties, own bids, filters, what may not raise a price. */
#include "services/adx/openrtb/auction.h"
#include "services/adx/openrtb/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct world {
    cd_arena mem;
    cd_rtb_req req;
    cd_rtb_bids bids;
    cd_rtb_rules rules;
    usize winners[CD_RTB_IMPS_MAX];
} world;

static const cd_fx no_fx;

static void open_world(world *w, const char *req)
{
    cd_errinfo why = {0};
    *w = (world){0};
    if (cd_rtb_req_parse(&w->req, &w->mem, cd_bytes_str(req), &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    w->rules = (cd_rtb_rules){.req = &w->req, .fx = &no_fx, .cur = CD_CUR_USD, .at = 2, .step = 10000};
}

/* One answer of the next bidder. */
static void answer(world *w, u32 bidder, const char *bids)
{
    cd_errinfo why = {0};
    i32 nbr;
    const char *text = cd_arena_fmt(&w->mem, "{\"id\":\"r\",\"seatbid\":[%s]}", bids);
    if (cd_rtb_bids_parse(&w->bids, &nbr, &w->mem, cd_bytes_str(text), cd_bytes_str("r"), cd_bytes_str("own"), bidder,
                          &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
}

static const cd_rtb_bid *decide(world *w)
{
    cd_rtb_decide(w->winners, &w->bids, &w->rules);
    return w->winners[0] == SIZE_MAX ? NULL : &w->bids.v[w->winners[0]];
}

static cd_rtb_loss loss_of(const world *w, const char *id)
{
    for (usize i = 0; i < w->bids.cnt; i++) {
        if (cd_bytes_eq(w->bids.v[i].id, cd_bytes_str(id))) {
            return w->bids.v[i].loss;
        }
    }
    fail_msg("no bid %s", id);
    return CD_LOSS_INTERNAL;
}

#define BID(id, price, more)                                                                                           \
    "{\"id\":\"" id "\",\"impid\":\"1\",\"price\":" price ",\"crid\":\"c\",\"adm\":\"<VAST/>\"" more "}"
#define SEAT(seat, bids) "{\"seat\":\"" seat "\",\"bid\":[" bids "]}"
#define REQ(imp, more)   "{\"id\":\"r\",\"imp\":[{\"id\":\"1\",\"video\":{\"w\":640,\"h\":360" imp "]" more "}"

/* A buyer's own lower bid does not raise what he pays. */
static void test_own_seat(void **state)
{
    (void)state;
    world w;
    open_world(&w, REQ("},\"bidfloor\":1}", ""));
    answer(&w, 0, SEAT("A", BID("a1", "5", "") "," BID("a2", "4.99", "")));
    answer(&w, 1, SEAT("B", BID("b1", "2", "")));
    const cd_rtb_bid *b = decide(&w);
    assert_non_null(b);
    assert_int_equal(b->clears, 2010000);
    assert_int_equal(b->to_win, 2000000);
    assert_int_equal(loss_of(&w, "a2"), CD_LOSS_OUTBID);
    cd_arena_fini(&w.mem);
}

/* The earlier of equals wins; within one answer the seat decides. */
static void test_ties(void **state)
{
    (void)state;
    world w;
    open_world(&w, REQ("}}", ""));
    answer(&w, 1, SEAT("Z", BID("z", "3", "")) "," SEAT("C", BID("c", "3", "")));
    answer(&w, 0, SEAT("A", BID("a", "3", "")));
    const cd_rtb_bid *b = decide(&w);
    assert_non_null(b);
    assert_memory_equal(b->id.p, "c", 1);
    assert_int_equal(b->clears, 3000000);
    cd_arena_fini(&w.mem);
}

static void test_deals(void **state)
{
    (void)state;
    static const char deals[] =
        "},\"bidfloor\":4,\"pmp\":{\"private_auction\":1,\"deals\":[{\"id\":\"d1\",\"bidfloor\":1.5,\"at\":1},"
        "{\"id\":\"d2\",\"bidfloor\":2,\"at\":3,\"wseat\":[\"B\"]}]}}";
    world w;
    cd_buf req = {0};
    cd_buf_fmt(&req, "{\"id\":\"r\",\"imp\":[{\"id\":\"1\",\"video\":{\"w\":640,\"h\":360%s]}", deals);
    open_world(&w, cd_buf_cstr(&req));
    answer(&w, 0, SEAT("A", BID("open", "9", "") "," BID("low", "1.4", ",\"dealid\":\"d1\"")));
    answer(&w, 1, SEAT("A", BID("deal", "3", ",\"dealid\":\"d1\"") "," BID("none", "9", ",\"dealid\":\"d9\"")));
    answer(&w, 2, SEAT("C", BID("seat", "9", ",\"dealid\":\"d2\"")));
    const cd_rtb_bid *b = decide(&w);
    assert_non_null(b);
    assert_memory_equal(b->id.p, "deal", 4);
    assert_int_equal(b->clears, 3000000); // a first-price deal
    assert_int_equal(loss_of(&w, "open"), CD_LOSS_DEAL_BEATS);
    assert_int_equal(loss_of(&w, "low"), CD_LOSS_DEAL_FLOOR);
    assert_int_equal(loss_of(&w, "none"), CD_LOSS_BAD_DEAL);
    assert_int_equal(loss_of(&w, "seat"), CD_LOSS_SEAT);
    answer(&w, 3, SEAT("B", BID("agreed", "7", ",\"dealid\":\"d2\"")));
    b = decide(&w);
    assert_non_null(b);
    assert_memory_equal(b->id.p, "agreed", 6);
    assert_int_equal(b->clears, 2000000); // the price that was agreed
    assert_int_equal(loss_of(&w, "deal"), CD_LOSS_OUTBID);
    cd_buf_fini(&req);
    cd_arena_fini(&w.mem);
}

static void test_filters(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        cd_rtb_loss loss;
    } rows[] = {
        {",\"adomain\":[\"no domain\"]", CD_LOSS_BAD_DOMAIN},
        {",\"adomain\":[\"..\"]", CD_LOSS_BAD_DOMAIN},
        {",\"adomain\":[\"shop.BAD.example\"]", CD_LOSS_ADVERTISER},
        {",\"adomain\":[\"notbad.example\"]", CD_LOSS_WON},
        {",\"cat\":[\"IAB7-39\"]", CD_LOSS_CATEGORY},
        {",\"cat\":[\"IAB70\"]", CD_LOSS_WON},
        {",\"attr\":[3,9]", CD_LOSS_ATTRIBUTE},
        {",\"dur\":7", CD_LOSS_DURATION},
        {",\"dur\":15", CD_LOSS_WON},
        {",\"protocol\":2", CD_LOSS_FORMAT},
        {",\"protocol\":7", CD_LOSS_WON},
        {",\"mtype\":1", CD_LOSS_FORMAT},
        {",\"mtype\":4", CD_LOSS_FORMAT},
        {",\"bundle\":\"com.bad\"", CD_LOSS_APP},
        {",\"language\":\"de\"", CD_LOSS_LANGUAGE},
        {",\"w\":\"wide\"", CD_LOSS_BAD_BID},
        {",\"crid\":\"\"", CD_LOSS_NO_CRID},
        {",\"adm\":\"\"", CD_LOSS_NO_MARKUP},
        {",\"adm\":\"<VAST><X>http://x.example</X></VAST>\"", CD_LOSS_INSECURE},
        {",\"adm\":\"<VAST xmlns='http://www.iab.com/VAST'/>\"", CD_LOSS_WON},
        {",\"price\":0", CD_LOSS_NO_PRICE},
        {",\"price\":\"3\"", CD_LOSS_NO_PRICE},
        {",\"impid\":\"2\"", CD_LOSS_BAD_BID},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        open_world(&w,
                   REQ(",\"battr\":[9],\"rqddurs\":[15,30],\"protocols\":[7,8]},\"secure\":1}",
                       ",\"badv\":[\"bad.example\"],\"bcat\":[\"IAB7\"],\"bapp\":[\"com.bad\"],\"wlang\":[\"en\"]"));
        char bid[512];
        (void)snprintf(bid, sizeof bid,
                       "{\"seat\":\"A\",\"bid\":[{\"id\":\"x\",\"impid\":\"1\",\"price\":3,\"crid\":\"c\","
                       "\"adm\":\"<VAST/>\"%s}]}",
                       rows[i].more);
        answer(&w, 0, bid);
        (void)decide(&w);
        assert_int_equal(loss_of(&w, "x"), rows[i].loss);
        cd_arena_fini(&w.mem);
    }
}

/* Alone and without a floor one pays a cent, or less if one bid less; an agreed deal without a price is what was
 * bid. */
static void test_no_floor(void **state)
{
    (void)state;
    static const struct {
        const char *imp, *bid;
        cd_micro clears;
    } rows[] = {
        {"}}", BID("a", "5", ""), 10000},
        {"}}", BID("a", "0.004", ""), 4000},
        {"},\"pmp\":{\"deals\":[{\"id\":\"d\",\"at\":3}]}}", BID("a", "5", ",\"dealid\":\"d\""), 5000000},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        char text[512];
        (void)snprintf(text, sizeof text, "{\"id\":\"r\",\"imp\":[{\"id\":\"1\",\"video\":{\"w\":1,\"h\":1%s]}",
                       rows[i].imp);
        open_world(&w, text);
        (void)snprintf(text, sizeof text, "{\"seat\":\"A\",\"bid\":[%s]}", rows[i].bid);
        answer(&w, 0, text);
        const cd_rtb_bid *b = decide(&w);
        assert_non_null(b);
        assert_int_equal(b->clears, rows[i].clears);
        cd_arena_fini(&w.mem);
    }
}

/* A pod: by price, no creative, advertiser or category twice, not longer than its time. */
static void test_pod(void **state)
{
    (void)state;
    world w;
    open_world(&w, REQ(",\"poddur\":60,\"maxseq\":9}}", ""));
    answer(&w, 0,
           SEAT("A", BID("first", "9", ",\"dur\":15,\"cat\":[\"IAB1-2\"],\"adomain\":[\"a.example\"],\"crid\":\"1\"")));
    answer(&w, 1, SEAT("B", BID("cat", "8", ",\"dur\":15,\"cat\":[\"IAB1-7\"],\"crid\":\"2\"")));
    answer(&w, 2, SEAT("C", BID("domain", "7", ",\"dur\":15,\"adomain\":[\"A.example\"],\"crid\":\"3\"")));
    answer(&w, 3, SEAT("D", BID("long", "6", ",\"dur\":61,\"crid\":\"4\"")));
    answer(&w, 4, SEAT("E", BID("second", "5", ",\"dur\":30,\"crid\":\"5\"")));
    answer(&w, 5, SEAT("F", BID("rest", "4", ",\"dur\":30,\"crid\":\"6\"")));
    answer(&w, 6, SEAT("G", BID("third", "3", ",\"dur\":15,\"crid\":\"7\"")));
    assert_non_null(decide(&w));
    static const struct {
        const char *id;
        u32 place;
        cd_rtb_loss loss;
        cd_micro clears;
    } rows[] = {{"first", 1, CD_LOSS_WON, 8010000}, {"second", 2, CD_LOSS_WON, 4010000},
                {"third", 3, CD_LOSS_WON, 10000},   {"cat", 0, CD_LOSS_OUTBID, 0},
                {"domain", 0, CD_LOSS_OUTBID, 0},   {"long", 0, CD_LOSS_DURATION, 0},
                {"rest", 0, CD_LOSS_OUTBID, 0}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        for (usize k = 0; k < w.bids.cnt; k++) {
            const cd_rtb_bid *b = &w.bids.v[k];
            if (cd_bytes_eq(b->id, cd_bytes_str(rows[i].id))) {
                assert_int_equal(b->place, rows[i].place);
                assert_int_equal(b->loss, rows[i].loss);
                assert_true(rows[i].place == 0 || b->clears == rows[i].clears);
            }
        }
    }
    cd_arena_fini(&w.mem);
}

static void put_list(cd_buf *out, const char *element, usize cnt)
{
    cd_buf_u8(out, '[');
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(out, "%s%s", i == 0 ? "" : ",", element);
    }
    cd_buf_u8(out, ']');
}

/* Lists that would be compared with each other are bounded on both sides. */
static void test_long_lists(void **state)
{
    (void)state;
    static const char *const keys[] = {"adomain", "cat", "attr"};
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        for (usize cnt = CD_RTB_BID_LIST_MAX; cnt <= CD_RTB_BID_LIST_MAX + 1; cnt++) {
            world w;
            cd_buf bid = {0};
            open_world(&w, REQ("}}", ""));
            cd_buf_fmt(&bid,
                       "{\"seat\":\"A\",\"bid\":[{\"id\":\"x\",\"impid\":\"1\",\"price\":3,\"crid\":\"c\","
                       "\"adm\":\"v\",\"%s\":",
                       keys[i]);
            put_list(&bid, i == 2 ? "7" : "\"a.b\"", cnt);
            cd_buf_str(&bid, "}]}");
            answer(&w, 0, cd_buf_cstr(&bid));
            (void)decide(&w);
            assert_int_equal(loss_of(&w, "x"), cnt <= CD_RTB_BID_LIST_MAX ? CD_LOSS_WON : CD_LOSS_BAD_BID);
            cd_buf_fini(&bid);
            cd_arena_fini(&w.mem);
        }
    }
    for (usize cnt = CD_RTB_LIST_MAX; cnt <= CD_RTB_LIST_MAX + 1; cnt++) {
        cd_arena mem = {0};
        cd_buf req = {0};
        cd_rtb_req r;
        cd_buf_str(&req, "{\"id\":\"r\",\"imp\":[{\"id\":\"1\",\"video\":{\"w\":1,\"h\":1}}],\"bcat\":");
        put_list(&req, "\"IAB1\"", cnt);
        cd_buf_u8(&req, '}');
        assert_int_equal(cd_rtb_req_parse(&r, &mem, cd_buf_bytes(&req), NULL),
                         cnt <= CD_RTB_LIST_MAX ? CD_OK : CD_ELIMIT);
        cd_buf_fini(&req);
        cd_arena_fini(&mem);
    }
}

/* However many bids an answer holds, the next one finds its place. */
static void test_crowd(void **state)
{
    (void)state;
    world w;
    cd_buf bids = {0};
    open_world(&w, REQ("}}", ""));
    cd_buf_str(&bids, "{\"seat\":\"A\",\"bid\":");
    put_list(&bids, BID("x", "1", ""), 5000);
    cd_buf_u8(&bids, '}');
    for (u32 i = 0; i < 64; i++) {
        answer(&w, i, cd_buf_cstr(&bids));
        assert_int_equal(w.bids.cnt, (i + 1) * CD_RTB_ANSWER_BIDS_MAX);
    }
    answer(&w, 64, SEAT("B", BID("good", "2", "")));
    const cd_rtb_bid *b = decide(&w);
    assert_non_null(b);
    assert_memory_equal(b->id.p, "good", 4);
    cd_buf_fini(&bids);
    cd_arena_fini(&w.mem);
}

/* The winner turns out to have nothing to show: the next is chosen as if it had never bid. */
static void test_again(void **state)
{
    (void)state;
    world w;
    open_world(&w, REQ("}}", ""));
    answer(&w, 0, SEAT("A", BID("a", "5", "")));
    answer(&w, 1, SEAT("B", BID("b", "4", "")));
    answer(&w, 2, SEAT("C", BID("c", "3", "")));
    assert_int_equal(decide(&w)->clears, 4010000);
    w.bids.v[0].loss = CD_LOSS_INTERNAL;
    const cd_rtb_bid *b = decide(&w);
    assert_non_null(b);
    assert_memory_equal(b->id.p, "b", 1);
    assert_int_equal(b->clears, 3010000);
    assert_int_equal(loss_of(&w, "a"), CD_LOSS_INTERNAL);
    cd_arena_fini(&w.mem);
}

/* Whoever wins, nobody could have taken his place for less, and he never pays more than he bid or less than the
 * floor. */
static void test_properties(void **state)
{
    (void)state;
    cd_micro floor = 2000000;
    for (u32 seed = 1; seed <= 500; seed++) {
        world w;
        char text[256];
        open_world(&w, REQ("},\"bidfloor\":2}", ""));
        u32 x = seed * 2654435761u;
        for (u32 i = 0; i < 2 + seed % 7; i++) {
            x = x * 1664525u + 1013904223u;
            (void)snprintf(text, sizeof text,
                           "{\"seat\":\"%c\",\"bid\":[{\"id\":\"x%u\",\"impid\":\"1\",\"price\":%u.%03u,\"crid\":\"c\","
                           "\"adm\":\"v\"}]}",
                           'A' + (char)(x >> 9) % 4, i, (x >> 16) % 6, (x >> 5) % 1000);
            answer(&w, i, text);
        }
        const cd_rtb_bid *b = decide(&w);
        for (usize i = 0; i < w.bids.cnt; i++) {
            const cd_rtb_bid *o = &w.bids.v[i];
            if (b == NULL) {
                assert_true(o->price < floor);
                continue;
            }
            assert_true(o->price <= b->price);
            if (o->loss == CD_LOSS_OUTBID && !cd_bytes_eq(o->seat, b->seat)) {
                assert_true(b->clears >= o->price && b->to_win >= o->price);
            }
        }
        if (b != NULL) {
            assert_true(b->clears >= floor && b->clears <= b->price);
        }
        cd_arena_fini(&w.mem);
    }
}

static void test_macros(void **state)
{
    (void)state;
    const cd_rtb_macros m = {.auction_id = cd_bytes_str("a1"), .price = cd_bytes_str("2.51")};
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"p=${AUCTION_PRICE}&i=${AUCTION_ID}&s=${AUCTION_SEAT_ID}.", "p=2.51&i=a1&s=."},
        {"${AUCTION_PRICE:B64}", "Mi41MQ=="},
        {"${AUCTION_OTHER}${AUCTION_", "${AUCTION_OTHER}${AUCTION_"},
        {"${AUCTION_${AUCTION_ID}", "${AUCTION_a1"},
        {"$${AUCTION_MULTIPLIER}{AUCTION_PRICE}", "${AUCTION_PRICE}"},
        {"", ""},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf out = {0};
        cd_rtb_macros_put(&out, cd_bytes_str(rows[i].in), &m);
        assert_string_equal(cd_buf_cstr(&out), rows[i].out);
        cd_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_seat),   cmocka_unit_test(test_ties),     cmocka_unit_test(test_deals),
        cmocka_unit_test(test_filters),    cmocka_unit_test(test_again),    cmocka_unit_test(test_properties),
        cmocka_unit_test(test_macros),     cmocka_unit_test(test_no_floor), cmocka_unit_test(test_pod),
        cmocka_unit_test(test_long_lists), cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
