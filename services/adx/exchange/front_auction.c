/* The routes of sealed auctions. They are chosen on the loop and answered on the notary's threads. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/hex.h"
#include "base/num_text.h"
#include "codec/base64.h"
#include "crypto/ec/ed25519.h"
#include "net/http/query.h"
#include "services/adx/auction/text.h"

enum {
    PROOF_HEX = 2 * CD_RANGEPROOF_SIZE_ONE,
    OPEN_MS_MAX = 86400000, /* of an auction that somebody creates */
    DOC_MAX = 4 << 20,
};

static const char json_type[] = "application/json";

/* --- answers --- */

static void reply_json(cd_http_req *r)
{
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, json_type);
}

static void malformed(cd_http_req *r, const cd_errinfo *why)
{
    cd__front_error(r, 400, "malformed", why->msg[0] != '\0' ? why->msg : "the request is not as it should be");
}

/* The store has failed; nothing has happened. */
static void failed(cd_http_req *r)
{
    cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
    cd__front_error(r, 503, "unavailable", "the books cannot be written, try again");
}

static void refused(cd_http_req *r, cd_house_answer answer, bool is_bid)
{
    static const struct {
        u32 status;
        const char *code, *text;
    } table[] = {
        [CD_HOUSE_MALFORMED] = {400, "malformed", "a name or a length is not allowed"},
        [CD_HOUSE_UNKNOWN] = {404, "unknown_auction", "there is no such auction, or no such bid in it"},
        [CD_HOUSE_DUPLICATE] = {409, "duplicate", "this commitment was seen before, or this bidder has a bid here"},
        [CD_HOUSE_CLOSED] = {410, "auction_closed", "its time is over"},
        [CD_HOUSE_EARLY] = {409, "too_early", "bids are opened after the bid deadline"},
        [CD_HOUSE_FULL] = {503, "busy", "too many auctions or bids at a time"},
    };
    if (answer == CD_HOUSE_INVALID_PROOF) {
        cd__front_error(r, 422, is_bid ? "invalid_range_proof" : "invalid_opening",
                        is_bid ? "the range proof does not hold" : "value and blinding are not the commitment's");
        return;
    }
    cd__front_error(r, table[answer].status, table[answer].code, table[answer].text);
}

/* --- POST /auction/sealed --- */

typedef struct bid_body {
    cd_bid_ask ask;
    cd_hash32 auction;
    cd_buf envelope;
} bid_body;

static cd_err read_bid(bid_body *out, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    cd_json doc;
    cd_bytes proof;
    CD_TRY(cd_json_parse(&doc, mem, text, CD_RTB_BODY_MAX, why));
    CD_TRY(cd_json_obj(doc, why));
    CD_TRY(cd_json_str(&out->ask.bidder, cd_json_get(doc, "bidder_id"), why));
    CD_TRY(cd_adx_hex_fixed(out->ask.commitment.b, 32, cd_json_get(doc, "commitment"), why));
    CD_TRY(cd_json_str(&proof, cd_json_get(doc, "range_proof"), why));
    u8 *bytes = cd_arena_array(mem, u8, CD_RANGEPROOF_SIZE_ONE);
    CD_TRY(cd_adx_hex_fixed(bytes, CD_RANGEPROOF_SIZE_ONE, cd_json_get(doc, "range_proof"), why));
    out->ask.proof = cd_bytes_of(bytes, CD_RANGEPROOF_SIZE_ONE);
    cd_json auction = cd_json_get(doc, "auction_id");
    if (cd_json_has(auction)) {
        CD_TRY(cd_adx_hex_fixed(out->auction.b, 32, auction, why));
        out->ask.auction = &out->auction;
    }
    cd_json envelope = cd_json_get(doc, "encrypted_bid");
    if (cd_json_has(envelope)) {
        cd_bytes base64;
        CD_TRY(cd_json_str(&base64, envelope, why));
        if (cd_base64_dec(&out->envelope, base64) != CD_OK) {
            return cd_json_fail(envelope, CD_EFORMAT, "not base64", why);
        }
        out->ask.envelope = cd_buf_bytes(&out->envelope);
    }
    return CD_OK;
}

static void put_ack(cd_http_req *r, const bid_body *b, const cd_bid_ack *ack)
{
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "status", "accepted");
    cd_adx_put_hex(&w, "auction_id", cd_bytes_of(ack->receipt.auction.b, 32));
    cd_json_put_str(&w, "bidder_id", b->ask.bidder);
    cd_json_put_u64(&w, "seq", ack->receipt.seq);
    cd_adx_put_hex(&w, "log_head", cd_bytes_of(ack->receipt.log_head.b, 32));
    cd_adx_put_time(&w, "bid_deadline", ack->bid_deadline_ms);
    cd_adx_put_time(&w, "reveal_deadline", ack->reveal_deadline_ms);
    cd_adx_put_hex(&w, "receipt", cd_bytes_of(ack->receipt.signature, sizeof ack->receipt.signature));
    cd_json_w_obj_end(&w);
}

static void on_sealed(const cd_notary_room *room, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_errinfo why = {0};
    bid_body b = {0};
    cd_house_answer answer = CD_HOUSE_MALFORMED;
    cd_bid_ack ack;
    if (read_bid(&b, &mem, cd_http_req_body(r), &why) != CD_OK) {
        malformed(r, &why);
    } else if (cd_house_bid(room->house, &answer, &ack, &b.ask, room->now_ms, &why) != CD_OK) {
        failed(r);
    } else if (answer == CD_HOUSE_DONE || answer == CD_HOUSE_REPLAYED) {
        put_ack(r, &b, &ack);
        reply_json(r);
    } else {
        refused(r, answer, true);
    }
    bool is_in = answer == CD_HOUSE_DONE || answer == CD_HOUSE_REPLAYED;
    cd_counter_add(is_in ? room->counters->bids_accepted : room->counters->bids_refused, 1);
    cd_buf_fini(&b.envelope);
    cd_arena_fini(&mem);
}

/* --- POST /auction/reveal --- */

static cd_err read_reveal(cd_hash32 *auction, cd_bytes *bidder, cd_opening *o, cd_arena *mem, cd_bytes text,
                          cd_errinfo *why)
{
    cd_json doc;
    u8 blinding[32];
    CD_TRY(cd_json_parse(&doc, mem, text, CD_RTB_BODY_MAX, why));
    CD_TRY(cd_json_obj(doc, why));
    CD_TRY(cd_adx_hex_fixed(auction->b, 32, cd_json_get(doc, "auction_id"), why));
    CD_TRY(cd_json_str(bidder, cd_json_get(doc, "bidder_id"), why));
    CD_TRY(cd_adx_u64(&o->value, cd_json_get(doc, "value"), why));
    CD_TRY(cd_adx_hex_fixed(blinding, 32, cd_json_get(doc, "blinding"), why));
    return cd_scalar_get(&o->blinding, blinding) == CD_OK
               ? CD_OK
               : cd_json_fail(cd_json_get(doc, "blinding"), CD_ECANON, "not a canonical scalar", why);
}

static void on_reveal(const cd_notary_room *room, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_hash32 auction;
    cd_bytes bidder;
    cd_opening o;
    cd_house_answer answer = CD_HOUSE_MALFORMED;
    if (read_reveal(&auction, &bidder, &o, &mem, cd_http_req_body(r), &why) != CD_OK) {
        malformed(r, &why);
    } else if (cd_house_reveal(room->house, &answer, &auction, bidder, &o, room->now_ms, &why) != CD_OK) {
        failed(r);
    } else if (answer == CD_HOUSE_DONE || answer == CD_HOUSE_REPLAYED) {
        cd_json_w w = {.out = cd_http_req_out(r)};
        cd_json_w_obj(&w);
        cd_json_put_cstr(&w, "status", "opened");
        cd_adx_put_hex(&w, "auction_id", cd_bytes_of(auction.b, 32));
        cd_json_w_obj_end(&w);
        reply_json(r);
    } else {
        refused(r, answer, false);
    }
    cd_arena_fini(&mem);
}

/* --- POST /auction/create --- */

typedef struct create_body {
    cd_bytes slot;
    u64 reserve, open_ms, reveal_ms;
} create_body;

static cd_err read_span(u64 *out, cd_json v, u64 usual, cd_errinfo *why)
{
    *out = usual;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(out, v, why));
    return *out >= 1 && *out <= OPEN_MS_MAX ? CD_OK : cd_json_fail(v, CD_ERANGE, "not 1 to 86400000", why);
}

static cd_err read_create(create_body *out, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    cd_json doc;
    CD_TRY(cd_json_parse(&doc, mem, text, CD_RTB_BODY_MAX, why));
    CD_TRY(cd_json_obj(doc, why));
    CD_TRY(cd_json_str(&out->slot, cd_json_get(doc, "slot_id"), why));
    CD_TRY(cd_adx_u64(&out->reserve, cd_json_get(doc, "reserve"), why));
    CD_TRY(read_span(&out->open_ms, cd_json_get(doc, "duration_ms"), CD_HOUSE_OPEN_MS, why));
    return read_span(&out->reveal_ms, cd_json_get(doc, "reveal_ms"), CD_HOUSE_REVEAL_MS, why);
}

static void on_create(const cd_notary_room *room, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_errinfo why = {0};
    create_body b;
    cd_hash32 id;
    cd_house_answer answer = CD_HOUSE_MALFORMED;
    if (read_create(&b, &mem, cd_http_req_body(r), &why) != CD_OK) {
        malformed(r, &why);
    } else if (cd_house_create(room->house, &answer, &id, b.slot, b.reserve, b.open_ms, b.reveal_ms, room->now_ms,
                               &why) != CD_OK) {
        failed(r);
    } else if (answer == CD_HOUSE_DONE) {
        cd_json_w w = {.out = cd_http_req_out(r)};
        cd_json_w_obj(&w);
        cd_adx_put_hex(&w, "auction_id", cd_bytes_of(id.b, 32));
        cd_json_put_cstr(&w, "status", "created");
        cd_json_w_obj_end(&w);
        reply_json(r);
    } else {
        refused(r, answer, true);
    }
    cd_arena_fini(&mem);
}

/* --- looking --- */

static void on_keys(const cd_notary_room *room, cd_http_req *r)
{
    u8 receipt[32];
    u8 envelope[32];
    cd_ed25519_public(receipt, room->keys->receipt_seed);
    cd_x25519_public(envelope, room->keys->keys[0].secret);
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_adx_put_hex(&w, "receipt_ed25519", cd_bytes_of(receipt, 32));
    cd_adx_put_hex(&w, "hpke_x25519", cd_bytes_of(envelope, 32));
    cd_json_put_cstr(&w, "hpke_suite", "0020-0001-0003");
    cd_json_put_u64(&w, "key_id", room->keys->keys[0].id);
    cd_json_w_obj_end(&w);
    reply_json(r);
}

static void put_row(cd_json_w *w, const cd_auction_row *row, const char *state)
{
    cd_adx_put_hex(w, "auction_id", cd_bytes_of(row->id.b, 32));
    cd_json_put_cstr(w, "state", state);
    cd_json_put_cstr(w, "slot_id", row->slot);
    cd_json_put_bool(w, "default", row->is_default);
    cd_adx_put_u64(w, "reserve", row->reserve);
    cd_adx_put_time(w, "bid_deadline", row->bid_deadline_ms);
    cd_adx_put_time(w, "reveal_deadline", row->reveal_deadline_ms);
}

/* An auction without an outcome. From the bid deadline on it says which bids are opened, so that none can be declared
 * unopened in silence. */
static void put_live(cd_http_req *r, const cd_auction_view *v)
{
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    put_row(&w, &v->row, v->is_revealing ? "reveal" : "open");
    cd_json_put_u64(&w, "n_bids", v->cnt);
    cd_adx_put_hex(&w, "log_head", cd_bytes_of(v->log_head.b, 32));
    if (v->is_revealing) {
        cd_json_w_key(&w, "opened");
        cd_json_w_arr(&w);
        for (u32 i = 0; i < v->cnt; i++) {
            if (v->is_open[i]) {
                cd_json_w_u64(&w, i);
            }
        }
        cd_json_w_arr_end(&w);
    }
    cd_json_w_obj_end(&w);
}

static void on_current(const cd_notary_room *room, cd_http_req *r)
{
    cd_auction_row row;
    cd_auction_view v;
    cd_house_current(room->house, &row, room->now_ms);
    if (cd_house_look(room->house, &v, &row.id, room->now_ms)) {
        put_live(r, &v);
        reply_json(r);
    } else {
        failed(r);
    }
}

/* The document of an auction; false when it was answered already. */
static bool get_outcome(const cd_notary_room *room, cd_http_req *r, cd_buf *doc, const cd_hash32 *id)
{
    cd_errinfo why = {0};
    cd_err err = cd_house_outcome(room->house, doc, id, &why);
    if (err == CD_EAGAIN) {
        cd__front_error(r, 409, "not_settled", "the auction has no outcome yet");
    } else if (err == CD_ENOENT) {
        refused(r, CD_HOUSE_UNKNOWN, true);
    } else if (err != CD_OK) {
        failed(r);
    }
    return err == CD_OK;
}

/* What is told of a settled auction is read from its document. */
static cd_err put_settled(cd_http_req *r, cd_bytes doc, cd_errinfo *why)
{
    static const char *const copied[] = {"auction_id", "reserve", "n_bids", "log_head", "winner_id", "clearing_price"};
    cd_arena mem = {0};
    cd_json json;
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_err err = cd_json_parse(&json, &mem, doc, DOC_MAX, why);
    if (err == CD_OK) {
        cd_bytes state = {0};
        err = cd_json_str(&state, cd_json_get(json, "status"), why);
        cd_json_w_obj(&w);
        cd_json_put_str(&w, "state", state);
        for (usize i = 0; i < CD_COUNT(copied); i++) {
            cd_buf raw = {0};
            cd_json_raw(&raw, cd_json_get(json, copied[i]));
            cd_json_put_raw(&w, copied[i], cd_buf_bytes(&raw));
            cd_buf_fini(&raw);
        }
        cd_json_w_obj_end(&w);
    }
    cd_arena_fini(&mem);
    return err;
}

static void on_look(const cd_notary_room *room, cd_http_req *r)
{
    static const char folder[] = "/auction/";
    cd_bytes path = cd_http_req_path(r);
    cd_auction_view v;
    cd_hash32 id;
    cd_buf doc = {0};
    cd_errinfo why = {0};
    cd_bytes name = cd_bytes_sub(path, sizeof folder - 1, path.n - (sizeof folder - 1));
    if (name.n != 64 || cd_hex_parse(id.b, name) != CD_OK) {
        cd__front_error(r, 404, "not_found", "there is no such route");
    } else if (cd_house_look(room->house, &v, &id, room->now_ms)) {
        put_live(r, &v);
        reply_json(r);
    } else if (get_outcome(room, r, &doc, &id)) {
        if (put_settled(r, cd_buf_bytes(&doc), &why) == CD_OK) {
            reply_json(r);
        } else {
            failed(r);
        }
    }
    cd_buf_fini(&doc);
}

/* auction_id of the query. */
static bool read_id(cd_hash32 *out, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_bytes text = {0};
    bool is_id = cd_query_get(&text, &mem, cd_http_req_query(r), "auction_id") == CD_OK && text.n == 64 &&
                 cd_hex_parse(out->b, text) == CD_OK;
    cd_arena_fini(&mem);
    if (!is_id) {
        cd__front_error(r, 400, "malformed", "auction_id must be 64 hex digits");
    }
    return is_id;
}

static void on_outcome(const cd_notary_room *room, cd_http_req *r)
{
    cd_hash32 id;
    cd_buf doc = {0};
    if (read_id(&id, r) && get_outcome(room, r, &doc, &id)) {
        cd_buf_put(cd_http_req_out(r), cd_buf_bytes(&doc));
        reply_json(r);
    }
    cd_buf_fini(&doc);
}

/* What a bid had to reach. */
static void on_min_to_win(const cd_notary_room *room, cd_http_req *r)
{
    cd_hash32 id;
    cd_arena mem = {0};
    cd_buf doc = {0};
    cd_bytes text = {0};
    cd_errinfo why = {0};
    cd_outcome o;
    u64 seq = 0;
    u64 price = 0;
    if (!read_id(&id, r) || !get_outcome(room, r, &doc, &id)) {
        cd_buf_fini(&doc);
        return;
    }
    bool is_seq = cd_query_get(&text, &mem, cd_http_req_query(r), "seq") == CD_OK && cd_u64_parse(&seq, text) == CD_OK;
    if (cd_outcome_parse(&o, &mem, cd_buf_bytes(&doc), &why) != CD_OK) {
        failed(r);
    } else if (!is_seq || seq >= o.cnt) {
        refused(r, CD_HOUSE_UNKNOWN, true);
    } else {
        cd_err err = cd_outcome_min_to_win(&price, &o, (u32)seq);
        CD_ASSERT(err == CD_OK || err == CD_ENOENT); /* void: the reserve */
        cd_json_w w = {.out = cd_http_req_out(r)};
        cd_json_w_obj(&w);
        cd_adx_put_u64(&w, "min_to_win", price);
        cd_json_put_cstr(&w, "unit", "micro_cpm");
        cd_json_w_obj_end(&w);
        reply_json(r);
    }
    cd_buf_fini(&doc);
    cd_arena_fini(&mem);
}

/* --- POST /auction/verify, on the checks thread --- */

static void on_verify(const cd_notary_room *room, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_outcome o;
    cd_err err = cd_outcome_parse(&o, &mem, cd_http_req_body(r), &why);
    if (err == CD_OK) {
        err = cd_outcome_verify(&o, &why);
    }
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_json_put_bool(&w, "valid", err == CD_OK);
    cd_counter_add(err == CD_OK ? room->counters->verified : room->counters->not_verified, 1);
    if (err != CD_OK) {
        cd_json_put_cstr(&w, "reason", why.msg);
    }
    cd_json_w_obj_end(&w);
    reply_json(r);
    cd_arena_fini(&mem);
}

/* --- the table --- */

static const struct {
    const char *path; /* NULL: every other one below /auction/ */
    cd_http_method method;
    cd_notary_desk desk;
    bool is_admins;
    cd_notary_fn *fn;
} routes[] = {
    {"/auction/sealed", CD_HTTP_POST, CD_NOTARY_BOOKS, false, on_sealed},
    {"/auction/reveal", CD_HTTP_POST, CD_NOTARY_BOOKS, false, on_reveal},
    {"/auction/create", CD_HTTP_POST, CD_NOTARY_BOOKS, true, on_create},
    {"/auction/verify", CD_HTTP_POST, CD_NOTARY_CHECKS, false, on_verify},
    {"/auction/keys", CD_HTTP_GET, CD_NOTARY_BOOKS, false, on_keys},
    {"/auction/current", CD_HTTP_GET, CD_NOTARY_BOOKS, false, on_current},
    {"/auction/outcome", CD_HTTP_GET, CD_NOTARY_BOOKS, false, on_outcome},
    {"/auction/min-to-win", CD_HTTP_GET, CD_NOTARY_BOOKS, false, on_min_to_win},
    {NULL, CD_HTTP_GET, CD_NOTARY_BOOKS, false, on_look},
};

bool cd__front_auction(cd_exchange *x, cd_http_req *r, cd_bytes path)
{
    static const char folder[] = "/auction/";
    usize i = 0;
    if (path.n <= sizeof folder - 1 || memcmp(path.p, folder, sizeof folder - 1) != 0) {
        return false;
    }
    while (routes[i].path != NULL && !cd_bytes_eq(path, cd_bytes_str(routes[i].path))) {
        i++;
    }
    if (cd_http_req_method(r) != routes[i].method) {
        cd__front_not_allowed(r, routes[i].method == CD_HTTP_POST ? "POST" : "GET");
    } else if (routes[i].is_admins && !cd__front_is_admin(x, r)) {
        cd__front_error(r, 401, "unauthorized", "this route wants the admin token");
    } else {
        cd__front_post(x, r, routes[i].desk, routes[i].fn);
    }
    return true;
}
