#include "services/adx/openrtb/bids.h"

#include "services/adx/openrtb/fields.h"

const char *cd_rtb_loss_text(cd_rtb_loss code)
{
    switch (code) {
    case CD_LOSS_WON:
        return "won";
    case CD_LOSS_INTERNAL:
        return "markup could not be had";
    case CD_LOSS_BAD_BID:
        return "not a bid for this request";
    case CD_LOSS_BAD_DEAL:
        return "unknown deal";
    case CD_LOSS_BAD_DOMAIN:
        return "advertiser domain malformed";
    case CD_LOSS_NO_MARKUP:
        return "no markup";
    case CD_LOSS_NO_CRID:
        return "no creative id";
    case CD_LOSS_NO_PRICE:
        return "no price";
    case CD_LOSS_FLOOR:
        return "below the floor";
    case CD_LOSS_DEAL_FLOOR:
        return "below the deal's floor";
    case CD_LOSS_OUTBID:
        return "lost to a higher bid";
    case CD_LOSS_DEAL_BEATS:
        return "lost to a deal";
    case CD_LOSS_SEAT:
        return "seat not allowed";
    case CD_LOSS_SIZE:
        return "size not allowed";
    case CD_LOSS_FORMAT:
        return "format not allowed";
    case CD_LOSS_ADVERTISER:
        return "advertiser not allowed";
    case CD_LOSS_APP:
        return "app not allowed";
    case CD_LOSS_INSECURE:
        return "markup without TLS";
    case CD_LOSS_LANGUAGE:
        return "language not allowed";
    case CD_LOSS_CATEGORY:
        return "category not allowed";
    case CD_LOSS_ATTRIBUTE:
        return "attribute not allowed";
    case CD_LOSS_DURATION:
        return "duration not allowed";
    }
    return "unknown";
}

cd_rtb_bid *cd_rtb_bids_add(cd_rtb_bids *list, cd_arena *a)
{
    enum { FIRST = 8 };
    if (list->cnt == CD_RTB_BIDS_MAX) {
        return NULL;
    }
    if (list->cnt == list->cap) {
        usize cap = list->cap == 0 ? FIRST : list->cap * 2;
        cd_rtb_bid *v = cd_arena_array(a, cd_rtb_bid, cap);
        if (list->cnt != 0) {
            memcpy(v, list->v, list->cnt * sizeof *v);
        }
        list->v = v;
        list->cap = cap;
    }
    cd_rtb_bid *b = &list->v[list->cnt++];
    *b = (cd_rtb_bid){.to_win = -1};
    return b;
}

/* Its price, where it has one: a number above 0. */
static cd_rtb_loss read_price(cd_rtb_bid *b, cd_json v)
{
    cd_bytes text;
    if (cd_json_num(&text, cd_json_get(v, "price"), NULL) != CD_OK ||
        cd_micro_parse(&b->price, text, CD_MICRO_DOWN) != CD_OK || b->price <= 0) {
        b->price = 0;
        return CD_LOSS_NO_PRICE;
    }
    return CD_LOSS_WON;
}

static cd_err read_members(cd_rtb_bid *b, cd_arena *a, cd_json v)
{
    /* First what is needed to tell the bidder of it. */
    CD_TRY(cd_rtb_f_str(&b->id, v, "id", NULL));
    CD_TRY(cd_rtb_f_str(&b->lurl, v, "lurl", NULL));
    CD_TRY(cd_rtb_f_str(&b->impid, v, "impid", NULL));
    CD_TRY(cd_rtb_f_str(&b->nurl, v, "nurl", NULL));
    CD_TRY(cd_rtb_f_str(&b->burl, v, "burl", NULL));
    CD_TRY(cd_rtb_f_str(&b->adm, v, "adm", NULL));
    CD_TRY(cd_rtb_f_str(&b->adid, v, "adid", NULL));
    CD_TRY(cd_rtb_f_str(&b->crid, v, "crid", NULL));
    CD_TRY(cd_rtb_f_str(&b->dealid, v, "dealid", NULL));
    CD_TRY(cd_rtb_f_str(&b->bundle, v, "bundle", NULL));
    CD_TRY(cd_rtb_f_str(&b->language, v, "language", NULL));
    CD_TRY(cd_rtb_f_strs(&b->adomain, a, v, "adomain", NULL));
    CD_TRY(cd_rtb_f_strs(&b->cat, a, v, "cat", NULL));
    CD_TRY(cd_rtb_f_ints(&b->attr, a, v, "attr", NULL));
    CD_TRY(cd_rtb_f_count(&b->w, v, "w", NULL));
    CD_TRY(cd_rtb_f_count(&b->h, v, "h", NULL));
    CD_TRY(cd_rtb_f_count(&b->dur, v, "dur", NULL));
    CD_TRY(cd_rtb_f_int(&b->mtype, v, "mtype", NULL));
    CD_TRY(cd_rtb_f_int(&b->protocol, v, "protocol", NULL));
    CD_TRY(cd_rtb_f_count(&b->exp, v, "exp", NULL));
    usize most = b->adomain.cnt > b->cat.cnt ? b->adomain.cnt : b->cat.cnt;
    return most <= CD_RTB_BID_LIST_MAX && b->attr.cnt <= CD_RTB_BID_LIST_MAX ? CD_OK : CD_ELIMIT;
}

static void read_bid(cd_rtb_bid *b, cd_arena *a, cd_json v, cd_cur cur, bool has_cur, cd_bytes seat, u32 bidder)
{
    b->seat = seat;
    b->cur = cur;
    b->bidder = bidder;
    if (read_members(b, a, v) != CD_OK || b->id.n == 0) {
        b->loss = CD_LOSS_BAD_BID;
    } else {
        b->loss = read_price(b, v);
    }
    if (!has_cur && b->loss == CD_LOSS_WON) {
        b->loss = CD_LOSS_BAD_BID;
    }
}

cd_err cd_rtb_bids_parse(cd_rtb_bids *list, i32 *nbr, cd_arena *a, cd_bytes text, cd_bytes id, cd_bytes seat,
                         u32 bidder, cd_errinfo *why)
{
    cd_json root;
    cd_bytes theirs = {0};
    cd_cur cur = CD_CUR_USD;
    i32 code = -1;
    CD_TRY(cd_json_parse_deep(&root, a, text, CD_RTB_ANSWER_MAX, CD_RTB_DEPTH_MAX, why));
    CD_TRY(cd_json_obj(root, why));
    CD_TRY(cd_rtb_f_str(&theirs, root, "id", why));
    if (!cd_bytes_eq(theirs, id)) {
        return cd_json_fail(cd_json_get(root, "id"), CD_EFOREIGN, "is not the request's", why);
    }
    CD_TRY(cd_rtb_f_int(&code, root, "nbr", why));
    bool has_cur = cd_rtb_f_cur(&cur, root, "cur", NULL) == CD_OK;
    usize before = list->cnt;
    for (cd_json_it s = cd_json_iter(cd_json_get(root, "seatbid")); cd_json_next(&s);) {
        cd_bytes named = {0};
        if (cd_rtb_f_str(&named, s.val, "seat", NULL) != CD_OK || named.n == 0) {
            named = seat;
        }
        for (cd_json_it it = cd_json_iter(cd_json_get(s.val, "bid")); cd_json_next(&it);) {
            bool is_full = list->cnt - before == CD_RTB_ANSWER_BIDS_MAX;
            cd_rtb_bid *b = is_full ? NULL : cd_rtb_bids_add(list, a);
            if (b == NULL) {
                *nbr = -1;
                return CD_OK;
            }
            read_bid(b, a, it.val, cur, has_cur, named, bidder);
        }
    }
    *nbr = list->cnt == before ? code : -1;
    return CD_OK;
}
