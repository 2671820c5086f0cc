#include "base/hex.h"
#include "base/num_text.h"
#include "codec/json.h"
#include "services/adx/auction/outcome.h"
#include "services/adx/auction/text.h"

enum { DOC_MAX = 4 << 20, PROOF_MAX = CD_RANGEPROOF_SIZE_MAX * (CD_AUCTION_BIDS_MAX / CD_RANGEPROOF_PARTIES_MAX + 1) };

/* --- writing --- */

/* A sequence number, null for nobody. */
static void put_seq(cd_json_w *w, const char *key, u32 seq)
{
    cd_json_w_key(w, key);
    if (seq == CD_OUTCOME_NOBODY) {
        cd_json_w_null(w);
    } else {
        cd_json_w_u64(w, seq);
    }
}

static void put_bids(cd_json_w *w, const cd_outcome *o)
{
    cd_json_w_key(w, "forfeited");
    cd_json_w_arr(w);
    for (u32 i = 0; i < o->cnt; i++) {
        if (o->is_forfeited[i]) {
            cd_json_w_u64(w, i);
        }
    }
    cd_json_w_arr_end(w);
    cd_adx_put_hex(w, "log_head", cd_bytes_of(o->log_head.b, 32));
    cd_json_w_key(w, "bids");
    cd_json_w_arr(w);
    for (u32 i = 0; i < o->cnt; i++) {
        cd_json_w_obj(w);
        put_seq(w, "seq", i);
        cd_json_w_key(w, "bidder_id");
        cd_json_w_str(w, cd_sealed_bidder(&o->bids[i]));
        cd_adx_put_hex(w, "commitment", cd_bytes_of(o->bids[i].commitment.b, 32));
        cd_adx_put_hex(w, "proof_sha256", cd_bytes_of(o->bids[i].proof_sha256.b, 32));
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

void cd_outcome_put(cd_buf *out, const cd_outcome *o)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_adx_put_hex(&w, "auction_id", cd_bytes_of(o->auction.b, 32));
    cd_json_put_cstr(&w, "status", o->is_void ? "void" : "settled");
    cd_json_w_key(&w, "winner_id");
    if (o->is_void) {
        cd_json_w_null(&w);
    } else {
        cd_json_w_str(&w, cd_sealed_bidder(&o->bids[o->winner]));
    }
    put_seq(&w, "winner_seq", o->winner);
    cd_adx_put_u64(&w, "reserve", o->reserve);
    cd_adx_put_u64(&w, "clearing_price", o->price);
    cd_json_put_cstr(&w, "currency", "USD");
    cd_json_put_cstr(&w, "unit", "micro_cpm");
    cd_adx_put_u64(&w, "fee_nusd", cd_outcome_fee(o));
    cd_json_w_key(&w, "n_bids");
    cd_json_w_u64(&w, o->cnt);
    put_bids(&w, o);
    put_seq(&w, "second_seq", o->second);
    if (o->second == CD_OUTCOME_NOBODY) {
        cd_json_w_key(&w, "second_blinding");
        cd_json_w_null(&w);
    } else {
        u8 blinding[32];
        cd_scalar_put(blinding, &o->second_blinding);
        cd_adx_put_hex(&w, "second_blinding", cd_bytes_of(blinding, 32));
    }
    cd_adx_put_hex(&w, "proof", o->proof);
    cd_json_w_obj_end(&w);
}

/* --- reading --- */

/* A number as decimal text, as 64-bit numbers are written here. */
static cd_err get_u64(u64 *out, cd_json o, const char *key, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, cd_json_get(o, key), why));
    return cd_u64_parse(out, text) == CD_OK
               ? CD_OK
               : cd_json_fail(cd_json_get(o, key), CD_EFORMAT, "not a decimal number", why);
}

static cd_err want_text(cd_json o, const char *key, cd_bytes want, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, cd_json_get(o, key), why));
    return cd_bytes_eq(text, want) ? CD_OK : cd_json_fail(cd_json_get(o, key), CD_EFORMAT, "not what follows", why);
}

static cd_err want_u64(cd_json o, const char *key, u64 want, cd_errinfo *why)
{
    u64 v;
    CD_TRY(get_u64(&v, o, key, why));
    return v == want ? CD_OK : cd_json_fail(cd_json_get(o, key), CD_EFORMAT, "not what follows", why);
}

static bool is_null(cd_json v)
{
    return cd_json_kind_of(v) == CD_JSON_NULL;
}

/* A JSON number below cnt, or null where there may be nobody. */
static cd_err get_seq(u32 *out, cd_json v, u32 cnt, bool may_be_null, cd_errinfo *why)
{
    u64 n;
    if (may_be_null && is_null(v)) {
        *out = CD_OUTCOME_NOBODY;
        return CD_OK;
    }
    if (cd_json_kind_of(v) != CD_JSON_NUM) {
        return cd_json_fail(v, CD_EFORMAT, "not a sequence number", why);
    }
    CD_TRY(cd_json_u64(&n, v, why));
    if (n >= cnt) {
        return cd_json_fail(v, CD_EFORMAT, "no such bid", why);
    }
    *out = (u32)n;
    return CD_OK;
}

static cd_err get_bid(cd_sealed *out, cd_json v, u32 seq, cd_errinfo *why)
{
    u32 own;
    cd_bytes bidder;
    CD_TRY(get_seq(&own, cd_json_get(v, "seq"), seq + 1, false, why));
    if (own != seq) {
        return cd_json_fail(v, CD_EFORMAT, "bids are not in order", why);
    }
    CD_TRY(cd_json_str(&bidder, cd_json_get(v, "bidder_id"), why));
    if (!cd_bidder_is_valid(bidder)) {
        return cd_json_fail(v, CD_EFORMAT, "not a bidder's name", why);
    }
    out->bidder_len = (u8)bidder.n;
    memcpy(out->bidder, bidder.p, bidder.n);
    CD_TRY(cd_json_fixed(out->commitment.b, 32, cd_json_get(v, "commitment"), why));
    return cd_json_fixed(out->proof_sha256.b, 32, cd_json_get(v, "proof_sha256"), why);
}

static cd_err get_bids(cd_outcome *out, cd_arena *a, cd_json d, cd_errinfo *why)
{
    cd_json list = cd_json_get(d, "bids");
    cd_json gone = cd_json_get(d, "forfeited");
    u64 cnt;
    CD_TRY(cd_json_arr(list, why));
    CD_TRY(cd_json_arr(gone, why));
    CD_TRY(cd_json_u64(&cnt, cd_json_get(d, "n_bids"), why));
    if (cnt != cd_json_len(list) || cnt > CD_AUCTION_BIDS_MAX) {
        return cd_json_fail(list, CD_EFORMAT, "not n_bids of them, or too many", why);
    }
    cd_sealed *bids = cd_arena_array(a, cd_sealed, cnt + 1);
    bool *is_forfeited = cd_arena_array(a, bool, cnt + 1);
    cd_json_it it = cd_json_iter(list);
    for (u32 i = 0; cd_json_next(&it); i++) {
        CD_TRY(get_bid(&bids[i], it.val, i, why));
    }
    u32 last = CD_OUTCOME_NOBODY;
    it = cd_json_iter(gone);
    while (cd_json_next(&it)) {
        u32 seq;
        CD_TRY(get_seq(&seq, it.val, (u32)cnt, false, why));
        if (last != CD_OUTCOME_NOBODY && seq <= last) {
            return cd_json_fail(gone, CD_EFORMAT, "not in order", why);
        }
        is_forfeited[seq] = true;
        last = seq;
    }
    out->cnt = (u32)cnt;
    out->bids = bids;
    out->is_forfeited = is_forfeited;
    return CD_OK;
}

static cd_err get_people(cd_outcome *out, cd_json d, cd_errinfo *why)
{
    cd_json id = cd_json_get(d, "winner_id");
    cd_json blinding = cd_json_get(d, "second_blinding");
    CD_TRY(get_seq(&out->winner, cd_json_get(d, "winner_seq"), out->cnt, true, why));
    CD_TRY(get_seq(&out->second, cd_json_get(d, "second_seq"), out->cnt, true, why));
    out->is_void = out->winner == CD_OUTCOME_NOBODY;
    CD_TRY(want_text(d, "status", cd_bytes_str(out->is_void ? "void" : "settled"), why));
    if (!out->is_void) {
        CD_TRY(want_text(d, "winner_id", cd_sealed_bidder(&out->bids[out->winner]), why));
    } else if (!is_null(id)) {
        return cd_json_fail(id, CD_EFORMAT, "a void auction has no winner", why);
    }
    if (out->second == CD_OUTCOME_NOBODY) {
        return is_null(blinding) ? CD_OK : cd_json_fail(blinding, CD_EFORMAT, "nobody's", why);
    }
    u8 bytes[32];
    CD_TRY(cd_json_fixed(bytes, 32, blinding, why));
    return cd_scalar_get(&out->second_blinding, bytes) == CD_OK
               ? CD_OK
               : cd_json_fail(blinding, CD_ECANON, "not below the order", why);
}

cd_err cd_outcome_parse(cd_outcome *out, cd_arena *a, cd_bytes json, cd_errinfo *why)
{
    cd_json d;
    cd_outcome o = {0};
    CD_TRY(cd_json_parse(&d, a, json, DOC_MAX, why));
    CD_TRY(cd_json_obj(d, why));
    CD_TRY(cd_json_fixed(o.auction.b, 32, cd_json_get(d, "auction_id"), why));
    CD_TRY(cd_json_fixed(o.log_head.b, 32, cd_json_get(d, "log_head"), why));
    CD_TRY(get_bids(&o, a, d, why));
    CD_TRY(get_people(&o, d, why));
    CD_TRY(get_u64(&o.reserve, d, "reserve", why));
    CD_TRY(get_u64(&o.price, d, "clearing_price", why));
    CD_TRY(want_text(d, "currency", cd_bytes_str("USD"), why));
    CD_TRY(want_text(d, "unit", cd_bytes_str("micro_cpm"), why));
    CD_TRY(want_u64(d, "fee_nusd", cd_outcome_fee(&o), why));
    CD_TRY(cd_json_hex(&o.proof, a, cd_json_get(d, "proof"), why));
    if (o.proof.n > PROOF_MAX) {
        return cd_json_fail(cd_json_get(d, "proof"), CD_EFORMAT, "too long", why);
    }
    *out = o;
    return CD_OK;
}
