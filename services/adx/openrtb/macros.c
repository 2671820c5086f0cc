#define _GNU_SOURCE // memmem
#include "services/adx/openrtb/macros.h"

#include "codec/base64.h"

static const char lead[] = "${AUCTION_";
enum { LEAD = sizeof lead - 1, NAME_MAX_LEN = 32 };

static bool value_of(cd_bytes *out, cd_bytes name, const cd_rtb_macros *m)
{
    const struct {
        const char *name;
        cd_bytes value;
    } known[] = {
        {"ID", m->auction_id}, {"BID_ID", m->bid_id}, {"IMP_ID", m->imp_id},     {"SEAT_ID", m->seat_id},
        {"AD_ID", m->ad_id},   {"PRICE", m->price},   {"CURRENCY", m->currency}, {"LOSS", m->loss},
        {"IMP_TS", m->imp_ts}, {"MBR", {0}},          {"MULTIPLIER", {0}},       {"MIN_TO_WIN", m->min_to_win},
    };
    for (usize i = 0; i < CD_COUNT(known); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(known[i].name))) {
            *out = known[i].value;
            return true;
        }
    }
    return false;
}

/* Writes the macro that begins at text, whose name follows the lead; gives its length, or 0 when it is none. */
static usize put_one(cd_buf *out, cd_bytes text, const cd_rtb_macros *m)
{
    static const char b64[] = ":B64";
    usize max = text.n < LEAD + NAME_MAX_LEN ? text.n : LEAD + NAME_MAX_LEN;
    const u8 *end = memchr(text.p + LEAD, '}', max - LEAD);
    cd_bytes value;
    if (end == NULL) {
        return 0;
    }
    cd_bytes name = cd_bytes_of(text.p + LEAD, (usize)(end - text.p) - LEAD);
    bool is_b64 = name.n > sizeof b64 - 1 && memcmp(end - (sizeof b64 - 1), b64, sizeof b64 - 1) == 0;
    name.n -= is_b64 ? sizeof b64 - 1 : 0;
    if (!value_of(&value, name, m)) {
        return 0;
    }
    if (is_b64) {
        cd_base64_enc(out, value);
    } else {
        cd_buf_put(out, value);
    }
    return (usize)(end - text.p) + 1;
}

void cd_rtb_macros_put(cd_buf *out, cd_bytes text, const cd_rtb_macros *m)
{
    while (text.n != 0) {
        const u8 *hit = memmem(text.p, text.n, lead, LEAD);
        if (hit == NULL) {
            break;
        }
        usize before = (usize)(hit - text.p);
        cd_buf_put(out, cd_bytes_sub(text, 0, before));
        text = cd_bytes_sub(text, before, text.n - before);
        usize n = put_one(out, text, m);
        if (n == 0) {
            cd_buf_put(out, cd_bytes_sub(text, 0, LEAD));
            n = LEAD;
        }
        text = cd_bytes_sub(text, n, text.n - n);
    }
    cd_buf_put(out, text);
}

cd_rtb_macros cd_rtb_macros_of(cd_rtb_macro_text *text, const cd_rtb_bid *b, cd_bytes auction_id, const cd_cur *cur)
{
    bool has_won = b->loss == CD_LOSS_WON;
    cd_rtb_macros m = {
        .auction_id = auction_id,
        .bid_id = b->id,
        .imp_id = b->impid,
        .seat_id = b->seat,
        .ad_id = b->adid,
        .currency = cd_bytes_str(cur->c),
        .loss = cd_bytes_of(text->loss, cd_u64_fmt(text->loss, (u64)b->loss)),
    };
    if (has_won) {
        m.price = cd_bytes_of(text->price, cd_micro_fmt(text->price, b->clears));
    }
    if (b->to_win >= 0) {
        m.min_to_win = cd_bytes_of(text->min_to_win, cd_micro_fmt(text->min_to_win, b->to_win));
    }
    return m;
}
