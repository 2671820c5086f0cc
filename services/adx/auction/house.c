#include "services/adx/auction/house.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/table/hmap.h"
#include "crypto/hash/sha2.h"

/* A live auction; arrays of `cap`, cnt of them in use. */
typedef struct live {
    cd_auction_row row;
    bool is_stored; /* default auctions are with their first bid */
    bool is_tried;  /* envelopes were */
    cd_hash32 head;
    u32 cnt, cap;
    cd_sealed *bids;
    cd_hash32 *heads;   /* behind each bid */
    cd_hash32 *digests; /* of envelopes */
    cd_buf *envelopes;
    bool *is_open;
    cd_opening *openings;
} live;

struct cd_house {
    cd_house_cfg cfg;
    cd_hmap by_id;  /* cd_hash32 -> live * */
    live *standing; /* the default auction, by_id too */
    live *loading;
};

static live *live_new(const cd_auction_row *row)
{
    live *a = cd_new(live);
    a->row = *row;
    cd_bidlog_init(&a->head, &row->id);
    return a;
}

static void live_free(live *a)
{
    for (u32 i = 0; i < a->cnt; i++) {
        cd_buf_fini(&a->envelopes[i]);
    }
    if (a->cap != 0) {
        cd_wipe(a->openings, a->cap * sizeof *a->openings);
    }
    cd_free(a->bids);
    cd_free(a->heads);
    cd_free(a->digests);
    cd_free(a->envelopes);
    cd_free(a->is_open);
    cd_free(a->openings);
    cd_free(a);
}

/* Openings are few and small while they grow; the old place is wiped. */
static void grow(live *a)
{
    u32 cap = a->cap == 0 ? 8 : 2 * a->cap;
    cd_opening *o = cd_new_array(cd_opening, cap);
    bool *is_open = cd_new_array(bool, cap);
    if (a->cnt != 0) {
        memcpy(o, a->openings, a->cnt * sizeof *o);
        memcpy(is_open, a->is_open, a->cnt * sizeof *is_open);
        cd_wipe(a->openings, a->cnt * sizeof *o);
    }
    cd_free(a->openings);
    cd_free(a->is_open);
    a->openings = o;
    a->is_open = is_open;
    a->bids = cd_realloc(a->bids, cap * sizeof *a->bids);
    a->heads = cd_realloc(a->heads, cap * sizeof *a->heads);
    a->digests = cd_realloc(a->digests, cap * sizeof *a->digests);
    a->envelopes = cd_realloc(a->envelopes, cap * sizeof *a->envelopes);
    a->cap = cap;
}

static void push(live *a, const cd_bid_row *b)
{
    if (a->cnt == a->cap) {
        grow(a);
    }
    u32 i = a->cnt++;
    a->bids[i] = b->sealed;
    a->heads[i] = b->log_head;
    a->digests[i] = b->envelope_sha256;
    a->envelopes[i] = (cd_buf){0};
    cd_buf_put(&a->envelopes[i], b->envelope);
    a->is_open[i] = b->is_open;
    a->openings[i] = b->opening;
    a->head = b->log_head;
}

static live *find_live(const cd_house *h, const cd_hash32 *id)
{
    live **p = cd_hmap_get(&h->by_id, id);
    return p == NULL ? NULL : *p;
}

static void enlist(cd_house *h, live *a)
{
    live **p = cd_hmap_put(&h->by_id, NULL, &a->row.id);
    *p = a;
}

static void drop(cd_house *h, live *a)
{
    if (h->standing == a) {
        h->standing = NULL;
    }
    (void)cd_hmap_del(&h->by_id, &a->row.id);
    live_free(a);
}

static cd_err on_auction(void *ctx, const cd_auction_row *row)
{
    cd_house *h = ctx;
    h->loading = live_new(row);
    h->loading->is_stored = true;
    enlist(h, h->loading);
    return CD_OK;
}

static cd_err on_bid(void *ctx, const cd_bid_row *b)
{
    cd_house *h = ctx;
    if (b->seq != h->loading->cnt) {
        return CD_ECORRUPT;
    }
    cd_bidlog_add(&h->loading->head, &b->sealed);
    if (!cd_hash32_eq(&h->loading->head, &b->log_head)) {
        return CD_ECORRUPT;
    }
    push(h->loading, b);
    return CD_OK;
}

cd_err cd_house_new(cd_house **out, const cd_house_cfg *cfg, cd_errinfo *why)
{
    cd_house *h = cd_new(cd_house);
    h->cfg = *cfg;
    cd_hmap_init(&h->by_id, CD_HASH_IDENTITY, sizeof(cd_hash32), sizeof(live *));
    cd_auction_visit visit = {.ctx = h, .auction = on_auction, .bid = on_bid};
    cd_err e = cfg->store.load(cfg->store.ctx, &visit, why);
    if (e != CD_OK) {
        cd_house_free(h);
        return e;
    }
    *out = h;
    return CD_OK;
}

void cd_house_free(cd_house *h)
{
    if (h == NULL) {
        return;
    }
    void *val;
    for (usize it = 0; cd_hmap_next(&h->by_id, &it, NULL, &val);) {
        live_free(*(live **)val);
    }
    cd_hmap_fini(&h->by_id);
    cd_wipe(&h->cfg, sizeof h->cfg);
    cd_free(h);
}

void cd_house_rotate(cd_house *h, const cd_envelope_key *key)
{
    memmove(h->cfg.keys + 1, h->cfg.keys, (CD_HOUSE_KEYS - 1) * sizeof *h->cfg.keys);
    h->cfg.keys[0] = *key;
    h->cfg.key_cnt = h->cfg.key_cnt < CD_HOUSE_KEYS ? h->cfg.key_cnt + 1 : CD_HOUSE_KEYS;
}

/* A new auction under a random id. */
static live *start(cd_house *h, cd_bytes slot, u64 reserve, u64 open_ms, u64 reveal_ms, u64 now_ms)
{
    cd_auction_row row = {.reserve = reserve};
    cd_rng_fill(h->cfg.rng, row.id.b, sizeof row.id.b);
    if (slot.n != 0) {
        memcpy(row.slot, slot.p, slot.n);
    }
    if (!cd_add_u64(&row.bid_deadline_ms, now_ms, open_ms)) {
        row.bid_deadline_ms = UINT64_MAX;
    }
    if (!cd_add_u64(&row.reveal_deadline_ms, row.bid_deadline_ms, reveal_ms)) {
        row.reveal_deadline_ms = UINT64_MAX;
    }
    live *a = live_new(&row);
    enlist(h, a);
    return a;
}

static live *standing(cd_house *h, u64 now_ms)
{
    live *a = h->standing;
    if (a != NULL && now_ms >= a->row.bid_deadline_ms) {
        h->standing = NULL;
        if (a->cnt == 0) {
            drop(h, a);
        }
        a = NULL;
    }
    if (a == NULL) {
        a = start(h, (cd_bytes){0}, h->cfg.default_reserve, CD_HOUSE_OPEN_MS, CD_HOUSE_REVEAL_MS, now_ms);
        a->row.is_default = true;
        h->standing = a;
    }
    return a;
}

void cd_house_current(cd_house *h, cd_auction_row *out, u64 now_ms)
{
    *out = standing(h, now_ms)->row;
}

cd_err cd_house_create(cd_house *h, cd_house_answer *answer, cd_hash32 *id, cd_bytes slot, u64 reserve, u64 open_ms,
                       u64 reveal_ms, u64 now_ms, cd_errinfo *why)
{
    if (slot.n > CD_SLOT_MAX || open_ms == 0) {
        *answer = CD_HOUSE_MALFORMED;
        return CD_OK;
    }
    if (cd_hmap_cnt(&h->by_id) >= CD_HOUSE_LIVE_MAX) {
        *answer = CD_HOUSE_FULL;
        return CD_OK;
    }
    live *a = start(h, slot, reserve, open_ms, reveal_ms, now_ms);
    cd_err e = h->cfg.store.create(h->cfg.store.ctx, &a->row, why);
    if (e != CD_OK) {
        drop(h, a);
        return e;
    }
    a->is_stored = true;
    *id = a->row.id;
    *answer = CD_HOUSE_DONE;
    return CD_OK;
}

/* --- bids --- */

static void acknowledge(const cd_house *h, cd_bid_ack *ack, const cd_auction_row *a, const cd_bid_row *b)
{
    *ack = (cd_bid_ack){
        .receipt = {.auction = a->id, .seq = b->seq, .log_head = b->log_head, .commitment = b->sealed.commitment},
        .bid_deadline_ms = a->bid_deadline_ms,
        .reveal_deadline_ms = a->reveal_deadline_ms};
    cd_receipt_sign(&ack->receipt, h->cfg.receipt_seed);
}

static void digest_of(cd_hash32 *out, cd_bytes envelope)
{
    *out = (cd_hash32){{0}};
    if (envelope.n != 0) {
        cd_sha256(out, envelope);
    }
}

/* Whether a bid in the store is the one asked for, byte for byte. */
static bool is_same(const cd_auction_row *a, const cd_bid_row *b, const cd_bid_ask *ask)
{
    cd_sealed sealed;
    cd_hash32 digest;
    bool same_auction = ask->auction == NULL ? a->is_default : cd_hash32_eq(ask->auction, &a->id);
    cd_sealed_make(&sealed, ask->bidder, &ask->commitment, ask->proof);
    digest_of(&digest, ask->envelope);
    return same_auction && cd_bytes_eq(cd_sealed_bidder(&b->sealed), ask->bidder) &&
           cd_hash32_eq(&sealed.proof_sha256, &b->sealed.proof_sha256) && cd_hash32_eq(&digest, &b->envelope_sha256);
}

static bool has_bid(const live *a, cd_bytes bidder)
{
    for (u32 i = 0; i < a->cnt; i++) {
        if (cd_bytes_eq(cd_sealed_bidder(&a->bids[i]), bidder)) {
            return true;
        }
    }
    return false;
}

/* The auction that a bid is for, if it may still come. */
static live *wanted(cd_house *h, cd_house_answer *answer, const cd_bid_ask *ask, u64 now_ms, cd_errinfo *why)
{
    live *a = ask->auction == NULL ? standing(h, now_ms) : find_live(h, ask->auction);
    if (a == NULL) {
        cd_buf unused = {0};
        cd_err e = h->cfg.store.outcome(h->cfg.store.ctx, &unused, ask->auction, why);
        *answer = e == CD_OK || e == CD_EAGAIN ? CD_HOUSE_CLOSED : CD_HOUSE_UNKNOWN;
        cd_buf_fini(&unused);
        return NULL;
    }
    *answer = now_ms >= a->row.bid_deadline_ms             ? CD_HOUSE_CLOSED
              : has_bid(a, ask->bidder)                    ? CD_HOUSE_DUPLICATE
              : a->cnt == CD_AUCTION_BIDS_MAX              ? CD_HOUSE_FULL
              : cd_hmap_cnt(&h->by_id) > CD_HOUSE_LIVE_MAX ? CD_HOUSE_FULL
                                                           : CD_HOUSE_DONE;
    return *answer == CD_HOUSE_DONE ? a : NULL;
}

static bool proof_holds(const cd_bid_ask *ask)
{
    static const cd_hash32 zero;
    cd_merlin t;
    cd_sealed_transcript(&t, ask->auction == NULL ? &zero : ask->auction, ask->bidder, ask->envelope);
    cd_rangeproof_claim claim = {&t, &ask->commitment, 1, ask->proof};
    return cd_rangeproof_verify(&claim) == CD_OK;
}

cd_err cd_house_bid(cd_house *h, cd_house_answer *answer, cd_bid_ack *ack, const cd_bid_ask *ask, u64 now_ms,
                    cd_errinfo *why)
{
    cd_auction_row old;
    cd_bid_row b;
    if (!cd_bidder_is_valid(ask->bidder) || ask->proof.n != CD_RANGEPROOF_SIZE_ONE ||
        ask->envelope.n > CD_ENVELOPE_MAX) {
        *answer = CD_HOUSE_MALFORMED;
        return CD_OK;
    }
    cd_err e = h->cfg.store.find(h->cfg.store.ctx, &old, &b, &ask->commitment, why);
    if (e == CD_OK) {
        bool is_replay = is_same(&old, &b, ask);
        *answer = is_replay ? CD_HOUSE_REPLAYED : CD_HOUSE_DUPLICATE;
        if (is_replay) {
            acknowledge(h, ack, &old, &b);
        }
        return CD_OK;
    }
    if (e != CD_ENOENT) {
        return e;
    }
    live *a = wanted(h, answer, ask, now_ms, why);
    if (a == NULL) {
        return CD_OK;
    }
    if (!proof_holds(ask)) {
        *answer = CD_HOUSE_INVALID_PROOF;
        return CD_OK;
    }
    b = (cd_bid_row){.seq = a->cnt, .log_head = a->head, .envelope = ask->envelope};
    cd_sealed_make(&b.sealed, ask->bidder, &ask->commitment, ask->proof);
    digest_of(&b.envelope_sha256, ask->envelope);
    cd_bidlog_add(&b.log_head, &b.sealed);
    const cd_auction_row *fresh = a->is_stored ? NULL : &a->row;
    CD_TRY(h->cfg.store.add(h->cfg.store.ctx, fresh, &a->row.id, &b, ask->proof, why));
    a->is_stored = true;
    push(a, &b);
    acknowledge(h, ack, &a->row, &b);
    return CD_OK;
}

/* --- opening and settling --- */

cd_err cd_house_reveal(cd_house *h, cd_house_answer *answer, const cd_hash32 *auction, cd_bytes bidder,
                       const cd_opening *o, u64 now_ms, cd_errinfo *why)
{
    live *a = find_live(h, auction);
    u32 i = 0;
    while (a != NULL && i < a->cnt && !cd_bytes_eq(cd_sealed_bidder(&a->bids[i]), bidder)) {
        i++;
    }
    if (a == NULL || i == a->cnt) {
        *answer = CD_HOUSE_UNKNOWN;
    } else if (now_ms < a->row.bid_deadline_ms) {
        *answer = CD_HOUSE_EARLY;
    } else if (now_ms >= a->row.reveal_deadline_ms) {
        *answer = CD_HOUSE_CLOSED;
    } else if (!cd_opening_fits(o, &a->bids[i].commitment)) {
        *answer = CD_HOUSE_INVALID_PROOF;
    } else {
        CD_TRY(h->cfg.store.open(h->cfg.store.ctx, auction, i, o, why));
        a->is_open[i] = true;
        a->openings[i] = *o;
        *answer = CD_HOUSE_DONE;
    }
    return CD_OK;
}

/* Opens the envelope of bid i, sealed for the auction `id`. */
static void open_envelope(cd_house *h, live *a, u32 i, const cd_hash32 *id)
{
    cd_opening o;
    cd_buf creative = {0};
    cd_err e = cd_envelope_open(&o, &creative, cd_buf_bytes(&a->envelopes[i]), h->cfg.keys, h->cfg.key_cnt, id,
                                cd_sealed_bidder(&a->bids[i]), &a->bids[i].commitment);
    if (e == CD_OK && cd_opening_fits(&o, &a->bids[i].commitment)) {
        a->openings[i] = o;
        a->is_open[i] = true;
    }
    cd_buf_fini(&creative);
}

/* Opens what was sealed to us; what does not open is for its bidder to open. Who bid in a default auction may have
 * known its id or not. */
static void open_envelopes(cd_house *h, live *a)
{
    static const cd_hash32 zero;
    for (u32 i = 0; i < a->cnt; i++) {
        if (!a->is_open[i] && a->envelopes[i].n != 0) {
            open_envelope(h, a, i, &a->row.id);
        }
        if (!a->is_open[i] && a->envelopes[i].n != 0 && a->row.is_default) {
            open_envelope(h, a, i, &zero);
        }
    }
    a->is_tried = true;
}

static cd_err settle(cd_house *h, live *a, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_buf json = {0};
    cd_outcome o;
    bool *is_forfeited = cd_arena_array(&mem, bool, a->cnt + 1);
    for (u32 i = 0; i < a->cnt; i++) {
        is_forfeited[i] = !a->is_open[i];
    }
    cd_outcome_settle(&o, &mem, &a->row.id, a->row.reserve, a->bids, is_forfeited, a->openings, a->cnt, h->cfg.rng);
    cd_outcome_put(&json, &o);
    cd_err e = h->cfg.store.settle(h->cfg.store.ctx, &a->row.id, cd_buf_bytes(&json), why);
    cd_buf_fini(&json);
    cd_arena_fini(&mem);
    return e;
}

/* Brings one auction to where it should be by now; *is_over: it is to be dropped. */
static cd_err advance(cd_house *h, live *a, bool *is_over, u64 now_ms, cd_errinfo *why)
{
    *is_over = false;
    if (now_ms < a->row.bid_deadline_ms) {
        return CD_OK;
    }
    if (!a->is_stored) {
        *is_over = true;
        return CD_OK;
    }
    if (!a->is_tried) {
        open_envelopes(h, a);
    }
    if (now_ms < a->row.reveal_deadline_ms) {
        return CD_OK;
    }
    CD_TRY(settle(h, a, why));
    *is_over = true;
    return CD_OK;
}

cd_err cd_house_tick(cd_house *h, u64 *next_ms, u64 now_ms, cd_errinfo *why)
{
    void *val;
    bool again = true;
    cd_err e = CD_OK;
    while (again) { /* the map must not change under the iterator */
        again = false;
        *next_ms = UINT64_MAX;
        for (usize it = 0; !again && cd_hmap_next(&h->by_id, &it, NULL, &val);) {
            live *a = *(live **)val;
            bool is_over;
            cd_err one = advance(h, a, &is_over, now_ms, why);
            e = e == CD_OK ? one : e;
            u64 due = now_ms < a->row.bid_deadline_ms ? a->row.bid_deadline_ms : a->row.reveal_deadline_ms;
            if (is_over) {
                drop(h, a);
                again = true;
            } else {
                *next_ms = cd_min_u64(*next_ms, due);
            }
        }
    }
    return e;
}

bool cd_house_look(const cd_house *h, cd_auction_view *out, const cd_hash32 *auction, u64 now_ms)
{
    const live *a = find_live(h, auction);
    if (a == NULL) {
        return false;
    }
    bool is_revealing = now_ms >= a->row.bid_deadline_ms;
    *out = (cd_auction_view){.row = a->row,
                             .log_head = a->head,
                             .cnt = a->cnt,
                             .is_revealing = is_revealing,
                             .is_open = is_revealing ? a->is_open : NULL};
    return true;
}

cd_err cd_house_outcome(cd_house *h, cd_buf *json, const cd_hash32 *auction, cd_errinfo *why)
{
    return h->cfg.store.outcome(h->cfg.store.ctx, json, auction, why);
}
