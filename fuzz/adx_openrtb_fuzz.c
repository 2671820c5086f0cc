/* A request, and behind a line "--" a bidder's answer: what is accepted can be forwarded and read again, and whatever
 * bids come, an auction keeps its promises. [spec:adx#3] */
#define _GNU_SOURCE /* memmem */
#include "services/adx/openrtb/adcom.h"
#include "services/adx/openrtb/auction.h"
#include "services/adx/openrtb/forward.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_forwarded(const cd_rtb_req *req, cd_arena *a, cd_rtb_version version)
{
    const cd_rtb_forward f = {.version = version, .at = 2, .asi = "x.example", .sid = cd_bytes_str("s")};
    cd_buf out = {0};
    cd_rtb_req again;
    cd_errinfo why = {0};
    cd_rtb_forward_put(&out, req, &f);
    cd_rtb_forward_end(&out, 100);
    /* One that grew beyond the limit, or whose duplicate members changed places, need not pass again. */
    cd_json doc;
    CD_ASSERT(cd_json_parse_deep(&doc, a, cd_buf_bytes(&out), 0, CD_RTB_DEPTH_MAX + 4, &why) == CD_OK);
    if (cd_rtb_req_parse(&again, a, cd_buf_bytes(&out), &why) == CD_OK) {
        CD_ASSERT(cd_bytes_eq(again.id, req->id) && again.tmax == 100);
    }
    cd_buf_fini(&out);
}

static void check_auction(const cd_rtb_req *req, cd_arena *a, cd_bytes answer)
{
    static const cd_fx no_fx;
    cd_rtb_rules rules = {.req = req, .fx = &no_fx, .floor = 10, .at = 2, .step = 10000};
    cd_rtb_bids bids = {0};
    usize winners[CD_RTB_IMPS_MAX];
    i32 nbr;
    if (!cd_rtb_cur_choose(&rules.cur, req, &no_fx) ||
        cd_rtb_bids_parse(&bids, &nbr, a, answer, req->id, cd_bytes_str("s"), 0, NULL) != CD_OK) {
        return;
    }
    for (u32 round = 0; round < 2; round++) {
        cd_rtb_decide(winners, &bids, &rules);
    }
    for (usize i = 0; i < bids.cnt; i++) {
        const cd_rtb_bid *b = &bids.v[i];
        CD_ASSERT((b->loss == CD_LOSS_WON) == (b->place != 0));
        if (b->loss == CD_LOSS_WON) {
            CD_ASSERT(b->clears > 0 && b->clears <= b->value && b->clears >= b->floor);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char rule[] = "\n--\n";
    cd_arena a = {0};
    cd_buf down = {0};
    cd_rtb_req req;
    const u8 *cut = size == 0 ? NULL : memmem(data, size, rule, sizeof rule - 1);
    cd_bytes text = cd_bytes_of(data, cut == NULL ? size : (usize)(cut - data));
    cd_bytes answer = cut == NULL ? (cd_bytes){0} : cd_bytes_of(cut + 4, size - text.n - 4);
    if (cd_adcom_is_root(text) && cd_adcom_down(&down, &a, text, NULL) == CD_OK) {
        text = cd_buf_bytes(&down);
    }
    if (cd_rtb_req_parse(&req, &a, text, NULL) == CD_OK) {
        check_forwarded(&req, &a, CD_RTB_25);
        check_forwarded(&req, &a, CD_RTB_26);
        check_auction(&req, &a, answer);
    }
    cd_buf_fini(&down);
    cd_arena_fini(&a);
    return 0;
}
