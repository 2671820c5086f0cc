#include "services/adx/openrtb/reply.h"

const char *cd_rtb_version_text(cd_rtb_version v)
{
    static const char *const text[] = {[CD_RTB_25] = "2.5", [CD_RTB_26] = "2.6", [CD_RTB_30] = "3.0"};
    return text[v];
}

static void put_str(cd_json_w *w, const char *key, cd_bytes v)
{
    if (v.n != 0) {
        cd_json_w_key(w, key);
        cd_json_w_str(w, v);
    }
}

static void put_int(cd_json_w *w, const char *key, i64 v)
{
    if (v != 0) {
        cd_json_w_key(w, key);
        cd_json_w_i64(w, v);
    }
}

static void put_strs(cd_json_w *w, const char *key, const cd_rtb_strs *list)
{
    if (list->cnt == 0) {
        return;
    }
    cd_json_w_key(w, key);
    cd_json_w_arr(w);
    for (usize i = 0; i < list->cnt; i++) {
        cd_json_w_str(w, list->v[i]);
    }
    cd_json_w_arr_end(w);
}

static void put_price(cd_json_w *w, cd_micro price)
{
    char text[CD_MICRO_TEXT_MAX];
    cd_json_w_key(w, "price");
    cd_json_w_raw(w, cd_bytes_of(text, cd_micro_fmt(text, price)));
}

static void put_bid(cd_json_w *w, const cd_rtb_won *won, cd_rtb_version version)
{
    const cd_rtb_bid *b = won->bid;
    cd_json_w_obj(w);
    put_str(w, "id", b->id);
    put_str(w, "impid", b->impid);
    put_price(w, b->clears);
    put_str(w, "adid", b->adid);
    put_str(w, "burl", won->burl);
    put_str(w, "adm", won->adm);
    put_strs(w, "adomain", &b->adomain);
    put_str(w, "crid", b->crid);
    put_strs(w, "cat", &b->cat);
    put_str(w, "dealid", b->dealid);
    put_int(w, "w", b->w);
    put_int(w, "h", b->h);
    if (version != CD_RTB_25) {
        put_int(w, "dur", b->dur);
        put_int(w, "mtype", b->mtype);
    }
    put_int(w, "exp", won->exp);
    cd_json_w_obj_end(w);
}

static void put_ad3(cd_json_w *w, const cd_rtb_won *won)
{
    enum { BANNER = 1 };
    const cd_rtb_bid *b = won->bid;
    cd_json_w_key(w, "media");
    cd_json_w_obj(w);
    cd_json_w_key(w, "ad");
    cd_json_w_obj(w);
    put_str(w, "id", b->crid);
    put_strs(w, "adomain", &b->adomain);
    put_strs(w, "cat", &b->cat);
    cd_json_w_key(w, b->mtype == BANNER ? "display" : "video");
    cd_json_w_obj(w);
    if (b->mtype == BANNER) {
        put_int(w, "w", b->w);
        put_int(w, "h", b->h);
    } else {
        put_int(w, "dur", b->dur);
        put_int(w, "ctype", b->protocol);
    }
    put_str(w, "adm", won->adm);
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

static void put_bid3(cd_json_w *w, const cd_rtb_won *won)
{
    const cd_rtb_bid *b = won->bid;
    cd_json_w_obj(w);
    put_str(w, "id", b->id);
    put_str(w, "item", b->impid);
    put_price(w, b->clears);
    put_str(w, "deal", b->dealid);
    put_str(w, "burl", won->burl);
    put_int(w, "exp", won->exp);
    put_str(w, "mid", b->crid);
    put_ad3(w, won);
    cd_json_w_obj_end(w);
}

/* The root of 3.0, open until close3. */
static void open3(cd_json_w *w)
{
    cd_json_w_obj(w);
    cd_json_w_key(w, "openrtb");
    cd_json_w_obj(w);
    cd_json_w_key(w, "ver");
    cd_json_w_cstr(w, "3.0");
    cd_json_w_key(w, "domainspec");
    cd_json_w_cstr(w, "adcom");
    cd_json_w_key(w, "domainver");
    cd_json_w_cstr(w, "1.0");
    cd_json_w_key(w, "response");
}

static void close3(cd_json_w *w)
{
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

/* A win's seat has stood before. */
static bool is_repeated(const cd_rtb_won *wins, usize i)
{
    for (usize k = 0; k < i; k++) {
        if (cd_bytes_eq(wins[k].bid->seat, wins[i].bid->seat)) {
            return true;
        }
    }
    return false;
}

static void put_seat(cd_json_w *w, cd_rtb_version version, const cd_rtb_won *wins, usize from, usize cnt)
{
    cd_bytes seat = wins[from].bid->seat;
    cd_json_w_obj(w);
    cd_json_w_key(w, "bid");
    cd_json_w_arr(w);
    for (usize i = from; i < cnt; i++) {
        if (!cd_bytes_eq(wins[i].bid->seat, seat)) {
            continue;
        }
        if (version == CD_RTB_30) {
            put_bid3(w, &wins[i]);
        } else {
            put_bid(w, &wins[i], version);
        }
    }
    cd_json_w_arr_end(w);
    put_str(w, "seat", seat);
    cd_json_w_obj_end(w);
}

void cd_rtb_reply_put(cd_buf *out, cd_rtb_version version, cd_bytes id, cd_bytes auction_id, cd_cur cur,
                      const cd_rtb_won *wins, usize cnt)
{
    cd_json_w w = {.out = out};
    if (version == CD_RTB_30) {
        open3(&w);
    }
    cd_json_w_obj(&w);
    put_str(&w, "id", id);
    cd_json_w_key(&w, "seatbid");
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        if (!is_repeated(wins, i)) {
            put_seat(&w, version, wins, i, cnt);
        }
    }
    cd_json_w_arr_end(&w);
    put_str(&w, "bidid", auction_id);
    put_str(&w, "cur", cd_bytes_str(cur.c));
    cd_json_w_obj_end(&w);
    if (version == CD_RTB_30) {
        close3(&w);
    }
}

void cd_rtb_reply_nbr(cd_buf *out, cd_rtb_version version, cd_bytes id, u32 nbr)
{
    cd_json_w w = {.out = out};
    if (version == CD_RTB_30) {
        open3(&w);
    }
    cd_json_w_obj(&w);
    put_str(&w, "id", id);
    cd_json_w_key(&w, "nbr");
    cd_json_w_u64(&w, nbr);
    cd_json_w_obj_end(&w);
    if (version == CD_RTB_30) {
        close3(&w);
    }
}
