#define _GNU_SOURCE // memmem
#include "services/adx/openrtb/auction.h"

#include "base/text.h"

enum { POD_ADS = 6, POD_ADS_MAX = 20, POD_AD_S = 30 };
enum { AT_FIRST = 1, AT_AGREED = 3, MTYPE_BANNER = 1, MTYPE_VIDEO = 2, DOMAIN_MAX = 253 };

bool cd_rtb_cur_choose(cd_cur *out, const cd_rtb_req *req, const cd_fx *fx)
{
    cd_micro v;
    if (req->cur.cnt == 0) {
        *out = CD_CUR_USD;
        return true;
    }
    for (usize i = 0; i < req->cur.cnt; i++) {
        if (cd_cur_of(out, req->cur.v[i]) && cd_fx_convert(&v, fx, CD_MICRO_ONE, CD_CUR_USD, *out, CD_MICRO_UP)) {
            return true;
        }
    }
    return false;
}

bool cd_rtb_floor(cd_micro *out, const cd_rtb_rules *rules, usize imp)
{
    const cd_rtb_imp *i = &rules->req->imps[imp];
    const cd_rtb_slot *slot = rules->slots == NULL ? NULL : rules->slots[imp];
    cd_micro usd = slot != NULL && slot->floor > rules->floor ? slot->floor : rules->floor;
    cd_micro own;
    cd_micro ours;
    if ((i->floor != 0 && !cd_fx_convert(&own, rules->fx, i->floor, i->floor_cur, rules->cur, CD_MICRO_UP)) ||
        !cd_fx_convert(&ours, rules->fx, usd, CD_CUR_USD, rules->cur, CD_MICRO_UP)) {
        return false;
    }
    own = i->floor != 0 ? own : 0;
    *out = own > ours ? own : ours;
    return true;
}

/* --- filters --- */

/* domain is parent, or lies below it. */
static bool is_below(cd_bytes domain, cd_bytes parent)
{
    if (parent.n == 0 || domain.n < parent.n) {
        return false;
    }
    usize at = domain.n - parent.n;
    return (at == 0 || domain.p[at - 1] == '.') && cd_text_same(cd_bytes_sub(domain, at, parent.n), parent);
}

static bool hits_domain(const cd_rtb_strs *blocked, const cd_rtb_strs *domains)
{
    for (usize i = 0; i < blocked->cnt; i++) {
        for (usize k = 0; k < domains->cnt; k++) {
            if (is_below(domains->v[k], blocked->v[i])) {
                return true;
            }
        }
    }
    return false;
}

/* "IAB7" blocks "IAB7" and "IAB7-39". */
static bool hits_category(const cd_rtb_strs *blocked, const cd_rtb_strs *cats)
{
    for (usize i = 0; i < blocked->cnt; i++) {
        cd_bytes p = blocked->v[i];
        for (usize k = 0; k < cats->cnt; k++) {
            cd_bytes c = cats->v[k];
            if (p.n != 0 && c.n >= p.n && cd_text_same(cd_bytes_sub(c, 0, p.n), p) && (c.n == p.n || c.p[p.n] == '-')) {
                return true;
            }
        }
    }
    return false;
}

static bool hits_int(const cd_rtb_ints *blocked, const cd_rtb_ints *values)
{
    for (usize i = 0; i < values->cnt; i++) {
        if (cd_rtb_ints_has(blocked, values->v[i])) {
            return true;
        }
    }
    return false;
}

/* A host name: labels of letters, digits, '-' and '_', one dot or more. */
static bool is_domain(cd_bytes d)
{
    bool has_dot = false;
    if (d.n == 0 || d.n > DOMAIN_MAX || d.p[0] == '.' || d.p[d.n - 1] == '.') {
        return false;
    }
    for (usize i = 0; i < d.n; i++) {
        u8 c = cd_text_lower(d.p[i]);
        bool is_dot = c == '.';
        if (!(is_dot || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c >= 0x80)) {
            return false;
        }
        if (is_dot && d.p[i + 1] == '.') {
            return false;
        }
        has_dot = has_dot || is_dot;
    }
    return has_dot;
}

static bool has_text(cd_bytes in, const char *what)
{
    return in.n != 0 && memmem(in.p, in.n, what, strlen(what)) != NULL;
}

/* Something in the markup would be loaded without TLS. XML's own names are no addresses of anything. */
static bool is_insecure(cd_bytes adm)
{
    static const char scheme[] = "http://";
    static const char *const names[] = {"http://www.iab.com/", "http://www.w3.org/"};
    while (adm.n != 0) {
        const u8 *hit = memmem(adm.p, adm.n, scheme, sizeof scheme - 1);
        if (hit == NULL) {
            return false;
        }
        usize left = adm.n - (usize)(hit - adm.p);
        bool is_name = false;
        for (usize i = 0; i < CD_COUNT(names); i++) {
            is_name = is_name || (left >= strlen(names[i]) && memcmp(hit, names[i], strlen(names[i])) == 0);
        }
        if (!is_name) {
            return true;
        }
        adm = cd_bytes_of(hit + 1, left - 1);
    }
    return false;
}

static const cd_rtb_deal *find_deal(const cd_rtb_imp *imp, cd_bytes id)
{
    for (usize i = 0; i < imp->deals_cnt; i++) {
        if (cd_bytes_eq(imp->deals[i].id, id)) {
            return &imp->deals[i];
        }
    }
    return NULL;
}

static bool find_imp(usize *out, const cd_rtb_req *req, cd_bytes id)
{
    for (usize i = 0; i < req->imps_cnt; i++) {
        if (cd_bytes_eq(req->imps[i].id, id)) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* The medium that a bid is for: what it says, else the only one that the imp sells. */
static u32 medium_of(const cd_rtb_bid *b, const cd_rtb_imp *imp)
{
    if (b->mtype == MTYPE_BANNER || b->mtype == MTYPE_VIDEO) {
        return b->mtype == MTYPE_BANNER ? CD_RTB_BANNER : CD_RTB_VIDEO;
    }
    if (b->mtype != 0) {
        return 0;
    }
    if ((imp->media & CD_RTB_BANNER) == 0) {
        return CD_RTB_VIDEO;
    }
    return (imp->media & CD_RTB_VIDEO) == 0 || !has_text(b->adm, "<VAST") ? CD_RTB_BANNER : CD_RTB_VIDEO;
}

static bool cur_is_allowed(const cd_rtb_rules *rules, cd_cur cur)
{
    cd_cur c;
    for (usize i = 0; i < rules->req->cur.cnt; i++) {
        if (cd_cur_of(&c, rules->req->cur.v[i]) && cd_cur_eq(c, cur)) {
            return true;
        }
    }
    return rules->req->cur.cnt == 0 && cd_cur_eq(cur, rules->cur);
}

static cd_rtb_loss check_form(cd_rtb_bid *b, const cd_rtb_rules *rules, const cd_rtb_deal **deal)
{
    *deal = NULL;
    if (b->loss == CD_LOSS_BAD_BID || !find_imp(&b->imp, rules->req, b->impid)) {
        return CD_LOSS_BAD_BID;
    }
    if (b->loss != CD_LOSS_WON) {
        return b->loss;
    }
    if (b->local == NULL && !cur_is_allowed(rules, b->cur)) {
        return CD_LOSS_BAD_BID;
    }
    if (!cd_fx_convert(&b->value, rules->fx, b->price, b->cur, rules->cur, CD_MICRO_DOWN)) {
        return CD_LOSS_BAD_BID;
    }
    if (b->value == 0) {
        return CD_LOSS_NO_PRICE;
    }
    if (b->dealid.n != 0) {
        *deal = find_deal(&rules->req->imps[b->imp], b->dealid);
        if (*deal == NULL) {
            return CD_LOSS_BAD_DEAL;
        }
    }
    for (usize i = 0; i < b->adomain.cnt; i++) {
        if (!is_domain(b->adomain.v[i])) {
            return CD_LOSS_BAD_DOMAIN;
        }
    }
    if (b->local == NULL && b->adm.n == 0 && b->nurl.n == 0) {
        return CD_LOSS_NO_MARKUP;
    }
    return b->crid.n != 0 ? CD_LOSS_WON : CD_LOSS_NO_CRID;
}

/* A pod's floor is for a second. */
static bool floor_of_seconds(cd_micro *floor, const cd_rtb_bid *b, const cd_rtb_rules *rules)
{
    const cd_rtb_imp *imp = &rules->req->imps[b->imp];
    cd_micro v;
    if (imp->video.mincpmpersec == 0 || b->dur == 0) {
        return true;
    }
    if (__builtin_mul_overflow(imp->video.mincpmpersec, b->dur, &v) ||
        !cd_fx_convert(&v, rules->fx, v, imp->floor_cur, rules->cur, CD_MICRO_UP)) {
        return false;
    }
    *floor = v > *floor ? v : *floor;
    return true;
}

static cd_rtb_loss check_price(cd_rtb_bid *b, const cd_rtb_rules *rules, const cd_rtb_deal *deal)
{
    if (deal == NULL) {
        bool is_known = cd_rtb_floor(&b->floor, rules, b->imp) && floor_of_seconds(&b->floor, b, rules);
        return is_known && b->value >= b->floor ? CD_LOSS_WON : CD_LOSS_FLOOR;
    }
    b->is_deal = true;
    b->at = deal->at;
    bool has_floor = cd_fx_convert(&b->floor, rules->fx, deal->floor, deal->floor_cur, rules->cur, CD_MICRO_UP);
    return has_floor && b->value >= b->floor ? CD_LOSS_WON : CD_LOSS_DEAL_FLOOR;
}

static cd_rtb_loss check_seat(const cd_rtb_bid *b, const cd_rtb_req *req, const cd_rtb_deal *deal)
{
    if (cd_rtb_strs_has(&req->bseat, b->seat) || (req->wseat.cnt != 0 && !cd_rtb_strs_has(&req->wseat, b->seat)) ||
        (deal != NULL && deal->wseat.cnt != 0 && !cd_rtb_strs_has(&deal->wseat, b->seat))) {
        return CD_LOSS_SEAT;
    }
    return CD_LOSS_WON;
}

static bool size_fits(const cd_rtb_bid *b, const cd_rtb_imp *imp)
{
    for (usize i = 0; i < imp->sizes_cnt; i++) {
        const cd_rtb_size *s = &imp->sizes[i];
        if (b->w == 0 || b->h == 0 || s->w == 0 || (s->w == b->w && s->h == b->h)) {
            return true;
        }
    }
    return imp->sizes_cnt == 0;
}

static cd_rtb_loss check_format(const cd_rtb_bid *b, const cd_rtb_imp *imp, u32 medium)
{
    const cd_rtb_ints *protocols = &imp->video.protocols;
    if ((imp->media & medium & (CD_RTB_BANNER | CD_RTB_VIDEO)) == 0) {
        return CD_LOSS_FORMAT;
    }
    if (medium == CD_RTB_BANNER) {
        return size_fits(b, imp) ? CD_LOSS_WON : CD_LOSS_SIZE;
    }
    if (b->protocol != 0 && protocols->cnt != 0 && !cd_rtb_ints_has(protocols, b->protocol)) {
        return CD_LOSS_FORMAT;
    }
    return CD_LOSS_WON;
}

static cd_rtb_loss check_blocks(const cd_rtb_bid *b, const cd_rtb_rules *rules, const cd_rtb_deal *deal)
{
    const cd_rtb_req *req = rules->req;
    const cd_rtb_imp *imp = &req->imps[b->imp];
    const cd_rtb_slot *slot = rules->slots == NULL ? NULL : rules->slots[b->imp];
    if (hits_domain(&req->badv, &b->adomain) || (slot != NULL && hits_domain(&slot->badv, &b->adomain)) ||
        (deal != NULL && deal->wadomain.cnt != 0 && !hits_domain(&deal->wadomain, &b->adomain))) {
        return CD_LOSS_ADVERTISER;
    }
    if (b->bundle.n != 0 && cd_rtb_strs_has(&req->bapp, b->bundle)) {
        return CD_LOSS_APP;
    }
    if (imp->is_secure && is_insecure(b->adm.n != 0 ? b->adm : b->nurl)) {
        return CD_LOSS_INSECURE;
    }
    if (b->language.n != 0 && req->wlang.cnt != 0 && !cd_rtb_strs_has(&req->wlang, b->language)) {
        return CD_LOSS_LANGUAGE;
    }
    if (hits_category(&req->bcat, &b->cat) || (slot != NULL && hits_category(&slot->bcat, &b->cat))) {
        return CD_LOSS_CATEGORY;
    }
    return CD_LOSS_WON;
}

static cd_rtb_loss check_video(const cd_rtb_bid *b, const cd_rtb_video *v)
{
    if (hits_int(&v->battr, &b->attr)) {
        return CD_LOSS_ATTRIBUTE;
    }
    if (b->dur == 0) {
        return CD_LOSS_WON;
    }
    if (b->dur < v->minduration || (v->maxduration != 0 && b->dur > v->maxduration) ||
        (v->rqddurs.cnt != 0 && !cd_rtb_ints_has(&v->rqddurs, b->dur))) {
        return CD_LOSS_DURATION;
    }
    return CD_LOSS_WON;
}

#define TRY_LOSS(expr)                                                                                                 \
    do {                                                                                                               \
        cd_rtb_loss loss_ = (expr);                                                                                    \
        if (loss_ != CD_LOSS_WON) {                                                                                    \
            return loss_;                                                                                              \
        }                                                                                                              \
    } while (0)

cd_rtb_loss cd_rtb_filter(cd_rtb_bid *b, const cd_rtb_rules *rules)
{
    const cd_rtb_deal *deal;
    TRY_LOSS(check_form(b, rules, &deal));
    const cd_rtb_imp *imp = &rules->req->imps[b->imp];
    u32 medium = medium_of(b, imp);
    TRY_LOSS(check_price(b, rules, deal));
    TRY_LOSS(check_seat(b, rules->req, deal));
    TRY_LOSS(check_format(b, imp, medium));
    TRY_LOSS(check_blocks(b, rules, deal));
    b->mtype = medium == CD_RTB_BANNER ? MTYPE_BANNER : MTYPE_VIDEO;
    if (medium == CD_RTB_VIDEO) {
        return check_video(b, &imp->video);
    }
    return hits_int(&imp->banner_battr, &b->attr) ? CD_LOSS_ATTRIBUTE : CD_LOSS_WON;
}

/* --- ranking --- */

/* a, which came later, goes before b all the same. What came in one answer came at the same time. */
static bool is_better(const cd_rtb_bid *a, const cd_rtb_bid *b, bool deals_first)
{
    if (deals_first && a->is_deal != b->is_deal) {
        return a->is_deal;
    }
    if (a->value != b->value) {
        return a->value > b->value;
    }
    return a->bidder == b->bidder && cd_bytes_cmp(a->seat, b->seat) < 0;
}

static bool competes(const cd_rtb_bid *b, usize imp)
{
    return b->loss == CD_LOSS_WON && b->imp == imp && b->place == 0 && !b->is_barred;
}

/* The best bid of another seat that could have won in the winner's place: what the second price is about. */
static const cd_rtb_bid *second_of(const cd_rtb_bids *bids, usize imp, const cd_rtb_bid *winner, bool deals_first)
{
    const cd_rtb_bid *second = NULL;
    for (usize i = 0; i < bids->cnt; i++) {
        const cd_rtb_bid *b = &bids->v[i];
        if (b == winner || !competes(b, imp) || cd_bytes_eq(b->seat, winner->seat) ||
            (deals_first && b->is_deal != winner->is_deal)) {
            continue;
        }
        if (second == NULL || b->value > second->value) {
            second = b;
        }
    }
    return second;
}

static void set_price(cd_rtb_bid *w, const cd_rtb_bid *second, const cd_rtb_rules *rules)
{
    i32 at = w->at != 0 ? w->at : rules->req->at != 0 ? rules->req->at : rules->at;
    w->clears = w->value;
    if (at == AT_AGREED && w->is_deal) {
        w->clears = w->floor != 0 ? w->floor : w->value; // no price was agreed: he pays what he says
    } else if (at != AT_FIRST) {
        cd_micro alone = w->floor != 0 ? 0 : rules->step; // nothing is sold for nothing
        cd_micro above = second == NULL ? alone : second->value + rules->step;
        above = above > w->floor ? above : w->floor;
        w->clears = above < w->value ? above : w->value;
    }
    w->to_win = second == NULL ? w->floor : second->value > w->floor ? second->value : w->floor;
}

static usize best_of(const cd_rtb_bids *bids, usize imp, bool deals_first)
{
    usize best = SIZE_MAX;
    for (usize i = 0; i < bids->cnt; i++) {
        if (!competes(&bids->v[i], imp)) {
            continue;
        }
        if (best == SIZE_MAX || is_better(&bids->v[i], &bids->v[best], deals_first)) {
            best = i;
        }
    }
    return best;
}

static usize decide_imp(cd_rtb_bids *bids, usize imp, const cd_rtb_rules *rules)
{
    bool deals_first = rules->req->imps[imp].is_private;
    usize best = best_of(bids, imp, deals_first);
    if (best == SIZE_MAX) {
        return best;
    }
    cd_rtb_bid *w = &bids->v[best];
    set_price(w, second_of(bids, imp, w, deals_first), rules);
    for (usize i = 0; i < bids->cnt; i++) {
        cd_rtb_bid *b = &bids->v[i];
        if (i != best && competes(b, imp)) {
            b->to_win = w->clears;
        }
    }
    return best;
}

/* --- pods --- */

static i32 seconds_of(const cd_rtb_bid *b, const cd_rtb_video *v)
{
    i32 usual = v->maxduration != 0 && v->maxduration < POD_AD_S ? v->maxduration : POD_AD_S;
    return b->dur != 0 ? b->dur : usual;
}

static cd_bytes first_level(cd_bytes cat)
{
    const u8 *dash = cat.n == 0 ? NULL : memchr(cat.p, '-', cat.n);
    return dash == NULL ? cat : cd_bytes_sub(cat, 0, (usize)(dash - cat.p));
}

/* Two ads that may not stand in one pod. */
static bool clash(const cd_rtb_bid *a, const cd_rtb_bid *b)
{
    if (cd_bytes_eq(a->crid, b->crid) && cd_bytes_eq(a->seat, b->seat)) {
        return true;
    }
    for (usize i = 0; i < a->adomain.cnt; i++) {
        for (usize k = 0; k < b->adomain.cnt; k++) {
            if (cd_text_same(a->adomain.v[i], b->adomain.v[k])) {
                return true;
            }
        }
    }
    for (usize i = 0; i < a->cat.cnt; i++) {
        for (usize k = 0; k < b->cat.cnt; k++) {
            if (cd_text_same(first_level(a->cat.v[i]), first_level(b->cat.v[k]))) {
                return true;
            }
        }
    }
    return false;
}

/* After `taken` was placed: what may not stand beside it, or takes longer than is left. */
static void bar(cd_rtb_bids *bids, const cd_rtb_bid *taken, usize imp, const cd_rtb_video *v, i32 left_s)
{
    for (usize i = 0; i < bids->cnt; i++) {
        cd_rtb_bid *b = &bids->v[i];
        if (competes(b, imp)) {
            b->is_barred = seconds_of(b, v) > left_s || (taken != NULL && clash(b, taken));
        }
    }
}

static usize decide_pod(cd_rtb_bids *bids, usize imp, const cd_rtb_rules *rules)
{
    const cd_rtb_video *v = &rules->req->imps[imp].video;
    i32 max = v->maxseq == 0 ? POD_ADS : v->maxseq < POD_ADS_MAX ? v->maxseq : POD_ADS_MAX;
    i32 left_s = v->poddur;
    usize first = SIZE_MAX;
    bar(bids, NULL, imp, v, left_s);
    for (i32 place = 1; place <= max; place++) {
        usize won = decide_imp(bids, imp, rules);
        if (won == SIZE_MAX) {
            break;
        }
        first = place == 1 ? won : first;
        bids->v[won].place = (u32)place;
        left_s -= seconds_of(&bids->v[won], v);
        bar(bids, &bids->v[won], imp, v, left_s);
    }
    return first;
}

static void filter_all(cd_rtb_bids *bids, const cd_rtb_rules *rules)
{
    for (usize i = 0; i < bids->cnt; i++) {
        cd_rtb_bid *b = &bids->v[i];
        if (b->loss == CD_LOSS_OUTBID || b->loss == CD_LOSS_DEAL_BEATS) {
            b->loss = CD_LOSS_WON; // of an earlier decision
        }
        b->to_win = -1;
        b->place = 0;
        b->is_barred = false;
        if (!b->is_filtered) {
            b->loss = cd_rtb_filter(b, rules);
            b->is_filtered = true;
        }
    }
}

void cd_rtb_decide(usize *winners, cd_rtb_bids *bids, const cd_rtb_rules *rules)
{
    filter_all(bids, rules);
    for (usize imp = 0; imp < rules->req->imps_cnt; imp++) {
        bool is_pod = rules->req->imps[imp].video.poddur != 0;
        winners[imp] = is_pod ? decide_pod(bids, imp, rules) : decide_imp(bids, imp, rules);
        if (!is_pod && winners[imp] != SIZE_MAX) {
            bids->v[winners[imp]].place = 1;
        }
    }
    for (usize i = 0; i < bids->cnt; i++) {
        cd_rtb_bid *b = &bids->v[i];
        if (b->loss != CD_LOSS_WON || b->place != 0) {
            continue;
        }
        bool is_beaten = winners[b->imp] != SIZE_MAX && rules->req->imps[b->imp].is_private &&
                         bids->v[winners[b->imp]].is_deal && !b->is_deal;
        b->loss = is_beaten ? CD_LOSS_DEAL_BEATS : b->is_barred && b->to_win < 0 ? CD_LOSS_DURATION : CD_LOSS_OUTBID;
    }
}
