/* Requests, bids and conversions of testdata/adx/openrtb: statuses of prebid-server's validation, its exemplary
 * requests, its conversions between 2.5 and 2.6, the samples of the specification, and auctions of our own.
 * [spec:adx#3.2] [spec:adx#3.3] [spec:adx#3.4] */
#include "services/adx/openrtb/adcom.h"
#include "services/adx/openrtb/auction.h"
#include "services/adx/openrtb/forward.h"
#include "services/adx/openrtb/macros.h"
#include "tests/vectors/vec.h"

static cd_bytes text_of(vec *v, cd_json j)
{
    cd_buf text = {0};
    cd_json_raw(&text, j);
    cd_bytes out = cd_arena_dup(&v->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

static bool has_suffix(const char *path, const char *suffix)
{
    usize n = strlen(path);
    usize k = strlen(suffix);
    return n >= k && strcmp(path + n - k, suffix) == 0;
}

static const char *str_at(vec *v, cd_json obj, const char *key)
{
    cd_bytes s = {0};
    return cd_json_str(&s, cd_json_get(obj, key), NULL) == CD_OK ? cd_arena_str(&v->arena, s) : NULL;
}

/* --- the same JSON, whatever the order of keys and the way numbers are written --- */

static bool same(cd_json a, cd_json b)
{
    cd_json_kind k = cd_json_kind_of(a);
    cd_bytes x;
    cd_bytes y;
    cd_micro p;
    cd_micro q;
    if (k != cd_json_kind_of(b) || cd_json_len(a) != cd_json_len(b)) {
        return false;
    }
    if (k == CD_JSON_STR) {
        return cd_json_str(&x, a, NULL) == CD_OK && cd_json_str(&y, b, NULL) == CD_OK && cd_bytes_eq(x, y);
    }
    if (k == CD_JSON_NUM) {
        return cd_json_num(&x, a, NULL) == CD_OK && cd_json_num(&y, b, NULL) == CD_OK &&
               cd_micro_parse(&p, x, CD_MICRO_DOWN) == CD_OK && cd_micro_parse(&q, y, CD_MICRO_DOWN) == CD_OK && p == q;
    }
    usize i = 0;
    for (cd_json_it it = cd_json_iter(a); cd_json_next(&it); i++) {
        char key[64] = {0};
        if (it.key.n != 0 && it.key.n < sizeof key) {
            memcpy(key, it.key.p, it.key.n);
        }
        if (!same(it.val, it.is_obj ? cd_json_get(b, key) : cd_json_at(b, i))) {
            return false;
        }
    }
    return true;
}

/* --- validation --- */

static cd_err on_invalid(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_json doc;
    cd_rtb_req req;
    cd_errinfo why = {0};
    i64 status = 0;
    if (kind != CD_FS_FILE || !has_suffix(path, ".json") || !vec_json(v, &doc, path)) {
        return CD_OK;
    }
    u64 want = 0;
    bool has_status = cd_json_u64(&want, cd_json_get(doc, "expected_status"), NULL) == CD_OK;
    status = cd_rtb_req_parse(&req, &v->arena, text_of(v, cd_json_get(doc, "request")), &why) == CD_OK ? 200 : 400;
    vec_check(v, has_status && (u64)status == want, "%s: %ld", path, (long)status);
    vec_check(v, status == 200 || why.msg[0] != '\0', "%s: says nothing", path);
    return CD_OK;
}

static cd_err on_valid(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_json doc;
    cd_rtb_req req;
    cd_errinfo why = {0};
    if (kind != CD_FS_FILE || !has_suffix(path, ".json") || !vec_json(v, &doc, path)) {
        return CD_OK;
    }
    cd_json request = cd_json_get(doc, "mockBidRequest");
    if (!cd_json_has(request)) {
        return CD_OK; // a request to prebid-server's other interface
    }
    cd_err err = cd_rtb_req_parse(&req, &v->arena, text_of(v, request), &why);
    /* Some lean on what the server has stored, which is no OpenRTB. */
    cd_json first = cd_json_at(cd_json_get(request, "imp"), 0);
    bool is_stored = cd_json_has(cd_json_get(cd_json_get(cd_json_get(first, "ext"), "prebid"), "storedrequest"));
    vec_check(v, err == CD_OK || is_stored, "%s: %s", path, why.msg);
    return CD_OK;
}

static cd_err on_sample(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_json doc;
    cd_rtb_req req;
    cd_errinfo why = {0};
    if (kind != CD_FS_FILE || !has_suffix(path, ".json") || !vec_json(v, &doc, path)) {
        return CD_OK;
    }
    if (cd_json_has(cd_json_get(doc, "imp"))) {
        cd_err err = cd_rtb_req_parse(&req, &v->arena, text_of(v, doc), &why);
        vec_check(v, err == CD_OK, "%s: %s", path, why.msg);
        return CD_OK;
    }
    cd_rtb_bids bids = {0};
    cd_bytes id = {0};
    i32 nbr;
    vec_check(v, cd_json_str(&id, cd_json_get(doc, "id"), NULL) == CD_OK, "%s: id", path);
    cd_err err = cd_rtb_bids_parse(&bids, &nbr, &v->arena, text_of(v, doc), id, cd_bytes_str("s"), 0, &why);
    vec_check(v, err == CD_OK && bids.cnt >= 1 && bids.v[0].loss == CD_LOSS_WON, "%s: %s", path, why.msg);
    return CD_OK;
}

/* --- conversions --- */

/* prebid-server also fills in at and ip and moves its own parameters, so that members are compared one by one. */
static void check_conversion(vec *v, const char *path, cd_json doc, const char *bidder, cd_rtb_version version)
{
    static const char *const members[] = {"regs", "user", "source", "cattax", "acat"};
    cd_json want = cd_json_get(cd_json_get(doc, "expectedMockBidderRequests"), bidder);
    cd_rtb_req req;
    cd_errinfo why = {0};
    cd_buf out = {0};
    cd_json got;
    const cd_rtb_forward f = {.version = version, .at = 1};
    cd_err err = cd_rtb_req_parse(&req, &v->arena, text_of(v, cd_json_get(doc, "mockBidRequest")), &why);
    vec_check(v, err == CD_OK, "%s: %s", path, why.msg);
    if (err != CD_OK) {
        return;
    }
    cd_rtb_forward_put(&out, &req, &f);
    cd_rtb_forward_end(&out, 100);
    err = cd_json_parse(&got, &v->arena, cd_buf_bytes(&out), 0, &why);
    vec_check(v, err == CD_OK, "%s: forwarded: %s", path, why.msg);
    for (usize i = 0; err == CD_OK && i < CD_COUNT(members); i++) {
        vec_check(v, same(cd_json_get(want, members[i]), cd_json_get(got, members[i])), "%s: %s %s", path, bidder,
                  members[i]);
    }
    if (err == CD_OK) {
        cd_json theirs = cd_json_at(cd_json_get(want, "imp"), 0);
        cd_json ours = cd_json_at(cd_json_get(got, "imp"), 0);
        vec_check(v, same(cd_json_get(theirs, "rwdd"), cd_json_get(ours, "rwdd")), "%s: %s rwdd", path, bidder);
        cd_json a = cd_json_get(cd_json_get(cd_json_get(theirs, "ext"), "prebid"), "is_rewarded_inventory");
        cd_json b = cd_json_get(cd_json_get(cd_json_get(ours, "ext"), "prebid"), "is_rewarded_inventory");
        vec_check(v, same(a, b), "%s: %s rewarded", path, bidder);
        vec_check(v, same(cd_json_get(theirs, "refresh"), cd_json_get(ours, "refresh")), "%s: refresh", path);
    }
    cd_buf_fini(&out);
}

static void run_conversions(vec *v)
{
    static const char *const files[] = {"ortb-2.5-to-2.6-upconvert.json", "ortb-2.6-to-2.5-downconvert.json"};
    for (usize i = 0; i < CD_COUNT(files); i++) {
        cd_json doc;
        const char *path = vec_path(v, cd_arena_fmt(&v->arena, "adx/openrtb/prebid-exemplary/%s", files[i]));
        if (vec_json(v, &doc, path)) {
            check_conversion(v, path, doc, "appnexus", CD_RTB_25);
            check_conversion(v, path, doc, "rubicon", CD_RTB_26);
        }
    }
}

/* --- auctions --- */

/* What a bidder would have answered. */
static cd_bytes answer_of(vec *v, cd_json dsp, cd_bytes id)
{
    cd_buf out = {0};
    cd_json_w w = {.out = &out};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "id");
    cd_json_w_str(&w, id);
    if (str_at(v, dsp, "cur") != NULL) {
        cd_json_w_key(&w, "cur");
        cd_json_w_cstr(&w, str_at(v, dsp, "cur"));
    }
    cd_json_w_key(&w, "seatbid");
    cd_json_w_arr(&w);
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "seat");
    cd_json_w_cstr(&w, str_at(v, dsp, "seat"));
    cd_json_w_key(&w, "bid");
    cd_json_w_raw(&w, text_of(v, cd_json_get(dsp, "bids")));
    cd_json_w_obj_end(&w);
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd_bytes text = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return text;
}

static void check_winner(vec *v, const char *path, cd_json expect, const cd_rtb_bids *bids, usize winner, cd_cur cur)
{
    char price[CD_MICRO_TEXT_MAX];
    const char *seat = str_at(v, expect, "winner_seat");
    const char *want = str_at(v, expect, "price");
    const char *want_cur = str_at(v, expect, "cur");
    if (seat == NULL) {
        return;
    }
    vec_check(v, winner != SIZE_MAX, "%s: nobody won", path);
    if (winner == SIZE_MAX) {
        return;
    }
    const cd_rtb_bid *w = &bids->v[winner];
    cd_bytes text = cd_bytes_of(price, cd_micro_fmt(price, w->clears));
    vec_check(v, cd_bytes_eq(w->seat, cd_bytes_str(seat)), "%s: winner %.*s", path, (int)w->seat.n,
              (const char *)w->seat.p);
    vec_check(v, want != NULL && cd_bytes_eq(text, cd_bytes_str(want)), "%s: price %.*s", path, (int)text.n,
              (const char *)text.p);
    vec_check(v, want_cur == NULL || strcmp(want_cur, cur.c) == 0, "%s: currency", path);
}

static void check_bids(vec *v, const char *path, cd_json expect, const cd_rtb_bids *bids, const cd_cur *cur)
{
    for (usize i = 0; i < bids->cnt; i++) {
        const cd_rtb_bid *b = &bids->v[i];
        const char *id = cd_arena_str(&v->arena, b->id);
        u64 loss;
        cd_rtb_macro_text room;
        cd_rtb_macros m = cd_rtb_macros_of(&room, b, cd_bytes_str("a"), cur);
        const char *to_win = str_at(v, cd_json_get(expect, "min_to_win"), id);
        if (cd_json_u64(&loss, cd_json_get(cd_json_get(expect, "loss"), id), NULL) == CD_OK) {
            vec_check(v, b->loss == (cd_rtb_loss)loss, "%s: %s lost by %d", path, id, (int)b->loss);
        }
        vec_check(v, to_win == NULL || cd_bytes_eq(m.min_to_win, cd_bytes_str(to_win)), "%s: %s to win %.*s", path, id,
                  (int)m.min_to_win.n, (const char *)m.min_to_win.p);
    }
}

static void check_seats(vec *v, const char *path, const cd_rtb_req *req, cd_json expect, const cd_rtb_bids *bids,
                        const usize *winners)
{
    for (cd_json_it s = cd_json_iter(cd_json_get(expect, "seats")); cd_json_next(&s);) {
        for (cd_json_it it = cd_json_iter(s.val); cd_json_next(&it);) {
            cd_bytes imp = {0};
            bool found = false;
            vec_check(v, cd_json_str(&imp, it.val, NULL) == CD_OK, "%s: imp", path);
            for (usize i = 0; i < req->imps_cnt; i++) {
                found = found || (cd_bytes_eq(req->imps[i].id, imp) && winners[i] != SIZE_MAX &&
                                  cd_bytes_eq(bids->v[winners[i]].seat, s.key));
            }
            vec_check(v, found, "%s: imp %.*s", path, (int)imp.n, (const char *)imp.p);
        }
    }
}

static usize read_fx(vec *v, cd_fx_rate *out, cd_json fx)
{
    usize cnt = 0;
    for (cd_json_it a = cd_json_iter(fx); cd_json_next(&a);) {
        for (cd_json_it b = cd_json_iter(a.val); cd_json_next(&b); cnt++) {
            cd_bytes rate = {0};
            vec_check(v,
                      cd_cur_of(&out[cnt].from, a.key) && cd_cur_of(&out[cnt].to, b.key) &&
                          cd_json_str(&rate, b.val, NULL) == CD_OK &&
                          cd_micro_parse(&out[cnt].rate, rate, CD_MICRO_DOWN) == CD_OK,
                      "rate");
        }
    }
    return cnt;
}

/* The request in 2.x, whatever it came in. */
static cd_err read_request(cd_rtb_req *out, vec *v, cd_json doc, cd_errinfo *why)
{
    cd_bytes text = text_of(v, cd_json_get(doc, "request"));
    cd_buf down = {0};
    if (cd_adcom_is_root(text)) {
        CD_TRY(cd_adcom_down(&down, &v->arena, text, why));
        text = cd_arena_dup(&v->arena, cd_buf_bytes(&down));
        cd_buf_fini(&down);
    }
    return cd_rtb_req_parse(out, &v->arena, text, why);
}

static void run_auction(vec *v, const char *path, cd_json doc, const cd_rtb_req *req)
{
    cd_json expect = cd_json_get(doc, "expect");
    cd_fx_rate rates[4];
    const cd_fx fx = {.rates = rates, .cnt = read_fx(v, rates, cd_json_get(doc, "fx"))};
    cd_rtb_rules rules = {.req = req, .fx = &fx, .at = 2, .step = CD_MICRO_ONE / 100};
    cd_rtb_bids bids = {0};
    usize winners[CD_RTB_IMPS_MAX];
    u32 bidder = 0;
    i32 nbr;
    u64 status = 0;
    vec_check(v, cd_rtb_cur_choose(&rules.cur, req, &fx), "%s: currency", path);
    for (cd_json_it it = cd_json_iter(cd_json_get(doc, "dsp_bids")); cd_json_next(&it); bidder++) {
        cd_errinfo why = {0};
        cd_err err = cd_rtb_bids_parse(&bids, &nbr, &v->arena, answer_of(v, it.val, req->id), req->id,
                                       cd_bytes_str("none"), bidder, &why);
        vec_check(v, err == CD_OK, "%s: answer: %s", path, why.msg);
    }
    cd_rtb_decide(winners, &bids, &rules);
    check_winner(v, path, expect, &bids, winners[0], rules.cur);
    check_bids(v, path, expect, &bids, &rules.cur);
    check_seats(v, path, req, expect, &bids, winners);
    vec_check(v,
              cd_json_u64(&status, cd_json_get(expect, "status"), NULL) == CD_OK &&
                  (status != 204 || winners[0] == SIZE_MAX),
              "%s: somebody won", path);
}

static cd_err on_own(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_json doc;
    cd_rtb_req req;
    cd_errinfo why = {0};
    if (kind != CD_FS_FILE || !has_suffix(path, ".json") || !vec_json(v, &doc, path)) {
        return CD_OK;
    }
    cd_err err = read_request(&req, v, doc, &why);
    vec_check(v, err == CD_OK, "%s: %s", path, why.msg);
    if (err == CD_OK) {
        run_auction(v, path, doc, &req);
    }
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    vec_walk(&v, "adx/openrtb/prebid-validation", on_invalid);
    vec_walk(&v, "adx/openrtb/prebid-exemplary", on_valid);
    vec_walk(&v, "adx/openrtb/iab-2.6", on_sample);
    vec_walk(&v, "adx/openrtb/own", on_own);
    run_conversions(&v);
    return vec_end(&v);
}
