#include "base/mem/mem.h"
#include "services/adx/auction/store.h"
#include "services/common/sql.h"

struct cd_auction_sql {
    cd_sql *q;
    cd_sql_stmt *create, *add, *open, *find, *settle, *erase, *outcome, *auctions, *bids, *recent;
    void (*watch)(void *ctx, cd_bytes json);
    void *watch_ctx;
};

static const char SCHEMA[] =
    "CREATE TABLE IF NOT EXISTS sealed_auction (id @blob PRIMARY KEY, slot TEXT NOT NULL, reserve @blob NOT NULL,"
    " bid_deadline BIGINT NOT NULL, reveal_deadline BIGINT NOT NULL, is_default BIGINT NOT NULL, document TEXT);"
    "CREATE TABLE IF NOT EXISTS sealed_bid (auction @blob NOT NULL, seq BIGINT NOT NULL, bidder @blob NOT NULL,"
    " commitment @blob NOT NULL UNIQUE, proof_sha256 @blob NOT NULL, proof @blob NOT NULL, envelope @blob,"
    " envelope_sha256 @blob NOT NULL, log_head @blob NOT NULL, value @blob, blinding @blob, PRIMARY KEY (auction, "
    "seq));"
    "CREATE INDEX IF NOT EXISTS sealed_unsettled ON sealed_auction (bid_deadline) WHERE document IS NULL";

static cd_sql_val hash(const cd_hash32 *h)
{
    return cd_sql_b(cd_bytes_of(h->b, 32));
}

static void take_hash(cd_hash32 *out, cd_sql_stmt *st, int col)
{
    cd_bytes b = cd_sql_col_b(st, col);
    CD_ASSERT(b.n == 32);
    memcpy(out->b, b.p, 32);
}

static cd_err create(void *ctx, const cd_auction_row *a, cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    u8 reserve[8];
    cd_put_le64(reserve, a->reserve);
    return CD_SQL_RUN(s->create, why, hash(&a->id), cd_sql_t(a->slot), cd_sql_b(cd_bytes_of(reserve, 8)),
                      cd_sql_u(a->bid_deadline_ms), cd_sql_u(a->reveal_deadline_ms), cd_sql_i(a->is_default));
}

/* One transaction around what the caller did; e is what became of it. */
static cd_err finish(cd_auction_sql *s, cd_err e, cd_errinfo *why)
{
    if (e == CD_OK) {
        e = cd_sql_commit(s->q, why);
    }
    if (e != CD_OK) {
        cd_sql_rollback(s->q);
    }
    return e;
}

static cd_err create_alone(void *ctx, const cd_auction_row *a, cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    CD_TRY(cd_sql_begin(s->q, true, why));
    return finish(s, create(ctx, a, why), why);
}

static cd_err insert_bid(cd_auction_sql *s, const cd_hash32 *auction, const cd_bid_row *b, cd_bytes proof,
                         cd_errinfo *why)
{
    return CD_SQL_RUN(s->add, why, hash(auction), cd_sql_u(b->seq), cd_sql_b(cd_sealed_bidder(&b->sealed)),
                      hash(&b->sealed.commitment), hash(&b->sealed.proof_sha256), cd_sql_b(proof),
                      b->envelope.n == 0 ? cd_sql_null() : cd_sql_b(b->envelope), hash(&b->envelope_sha256),
                      hash(&b->log_head));
}

static cd_err add(void *ctx, const cd_auction_row *fresh, const cd_hash32 *auction, const cd_bid_row *b, cd_bytes proof,
                  cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    CD_TRY(cd_sql_begin(s->q, true, why));
    cd_err e = fresh == NULL ? CD_OK : create(ctx, fresh, why);
    if (e == CD_OK) {
        e = insert_bid(s, auction, b, proof, why);
    }
    return finish(s, e, why);
}

static cd_err open_bid(void *ctx, const cd_hash32 *auction, u64 seq, const cd_opening *o, cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    u8 value[8];
    u8 blinding[32];
    cd_put_le64(value, o->value);
    cd_scalar_put(blinding, &o->blinding);
    CD_TRY(cd_sql_begin(s->q, true, why));
    cd_err e = CD_SQL_RUN(s->open, why, hash(auction), cd_sql_u(seq), cd_sql_b(cd_bytes_of(value, 8)),
                          cd_sql_b(cd_bytes_of(blinding, 32)));
    return finish(s, e, why);
}

static cd_err settle(void *ctx, const cd_hash32 *auction, cd_bytes json, cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    cd_sql_val text = {.kind = CD_SQL_TEXT, .b = json};
    CD_TRY(cd_sql_begin(s->q, true, why));
    cd_err e = CD_SQL_RUN(s->settle, why, hash(auction), text);
    if (e == CD_OK) {
        e = CD_SQL_RUN(s->erase, why, hash(auction));
    }
    e = finish(s, e, why);
    if (e == CD_OK && s->watch != NULL) {
        s->watch(s->watch_ctx, json);
    }
    return e;
}

cd_err cd_auction_sql_recent(cd_auction_sql *s, cd_auction_brief *out, usize *cnt, usize max, cd_errinfo *why)
{
    bool is_row = true;
    *cnt = 0;
    CD_TRY(CD_SQL_QUERY(s->recent, why, cd_sql_u(max)));
    while (true) {
        CD_TRY(cd_sql_next(s->recent, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        CD_ASSERT(*cnt < max);
        cd_auction_brief *b = &out[(*cnt)++];
        cd_bytes slot = cd_sql_col_b(s->recent, 1);
        *b = (cd_auction_brief){.bid_deadline_ms = cd_sql_col_u(s->recent, 2), .bids = cd_sql_col_u(s->recent, 3)};
        take_hash(&b->id, s->recent, 0);
        memcpy(b->slot, slot.n == 0 ? (const u8 *)"" : slot.p, slot.n < CD_SLOT_MAX ? slot.n : CD_SLOT_MAX);
    }
}

void cd_auction_sql_watch(cd_auction_sql *s, void (*fn)(void *ctx, cd_bytes json), void *ctx)
{
    s->watch = fn;
    s->watch_ctx = ctx;
}

/* The columns of an auction from `col` on. */
static void read_auction(cd_auction_row *out, cd_sql_stmt *st, int col)
{
    cd_bytes slot = cd_sql_col_b(st, col + 1);
    cd_bytes reserve = cd_sql_col_b(st, col + 2);
    *out = (cd_auction_row){0};
    take_hash(&out->id, st, col);
    CD_ASSERT(slot.n <= CD_SLOT_MAX && reserve.n == 8);
    if (slot.n != 0) {
        memcpy(out->slot, slot.p, slot.n);
    }
    out->reserve = cd_le64(reserve.p);
    out->bid_deadline_ms = cd_sql_col_u(st, col + 3);
    out->reveal_deadline_ms = cd_sql_col_u(st, col + 4);
    out->is_default = cd_sql_col_i(st, col + 5) != 0;
}

static void read_bid(cd_bid_row *out, cd_sql_stmt *st)
{
    cd_bytes bidder = cd_sql_col_b(st, 1);
    *out = (cd_bid_row){.seq = cd_sql_col_u(st, 0)};
    CD_ASSERT(cd_bidder_is_valid(bidder));
    out->sealed.bidder_len = (u8)bidder.n;
    memcpy(out->sealed.bidder, bidder.p, bidder.n);
    take_hash(&out->sealed.commitment, st, 2);
    take_hash(&out->sealed.proof_sha256, st, 3);
    take_hash(&out->envelope_sha256, st, 4);
    take_hash(&out->log_head, st, 5);
}

static cd_err find(void *ctx, cd_auction_row *a, cd_bid_row *b, const cd_hash32 *commitment, cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    bool is_row = false;
    CD_TRY(CD_SQL_QUERY(s->find, why, hash(commitment)));
    CD_TRY(cd_sql_next(s->find, &is_row, why));
    if (!is_row) {
        return CD_ENOENT;
    }
    read_bid(b, s->find);
    read_auction(a, s->find, 6);
    return cd_sql_next(s->find, &is_row, why);
}

static cd_err outcome(void *ctx, cd_buf *json, const cd_hash32 *auction, cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    bool is_row = false;
    CD_TRY(CD_SQL_QUERY(s->outcome, why, hash(auction)));
    CD_TRY(cd_sql_next(s->outcome, &is_row, why));
    if (!is_row) {
        return CD_ENOENT;
    }
    bool is_settled = !cd_sql_col_is_null(s->outcome, 0);
    cd_buf_put(json, cd_sql_col_b(s->outcome, 0));
    CD_TRY(cd_sql_next(s->outcome, &is_row, why));
    return is_settled ? CD_OK : CD_EAGAIN;
}

static cd_err load_bids(cd_auction_sql *s, const cd_hash32 *auction, const cd_auction_visit *visit, cd_errinfo *why)
{
    bool is_row = false;
    CD_TRY(CD_SQL_QUERY(s->bids, why, hash(auction)));
    for (;;) {
        cd_bid_row b;
        CD_TRY(cd_sql_next(s->bids, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        read_bid(&b, s->bids);
        b.envelope = cd_sql_col_b(s->bids, 6);
        cd_bytes value = cd_sql_col_b(s->bids, 7);
        cd_bytes blinding = cd_sql_col_b(s->bids, 8);
        b.is_open = value.n == 8 && blinding.n == 32;
        if (b.is_open) {
            b.opening.value = cd_le64(value.p);
            CD_TRY(cd_scalar_get(&b.opening.blinding, blinding.p));
        }
        CD_TRY(visit->bid(visit->ctx, &b));
    }
}

/* All auctions first: of queries there is one at a time. */
static cd_err load_auctions(cd_auction_sql *s, cd_buf *rows, cd_errinfo *why)
{
    bool is_row = false;
    CD_TRY(CD_SQL_QUERY(s->auctions, why, cd_sql_i(0)));
    for (;;) {
        cd_auction_row a;
        CD_TRY(cd_sql_next(s->auctions, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        read_auction(&a, s->auctions, 0);
        cd_buf_put(rows, cd_bytes_of(&a, sizeof a));
    }
}

static cd_err load(void *ctx, const cd_auction_visit *visit, cd_errinfo *why)
{
    cd_auction_sql *s = ctx;
    cd_buf rows = {0};
    cd_err e = load_auctions(s, &rows, why);
    for (usize at = 0; e == CD_OK && at < rows.n; at += sizeof(cd_auction_row)) {
        cd_auction_row a;
        memcpy(&a, rows.p + at, sizeof a);
        e = visit->auction(visit->ctx, &a);
        if (e == CD_OK) {
            e = load_bids(s, &a.id, visit, why);
        }
    }
    cd_buf_fini(&rows);
    return e;
}

#define BID_COLUMNS     "b.seq, b.bidder, b.commitment, b.proof_sha256, b.envelope_sha256, b.log_head"
#define AUCTION_COLUMNS "a.id, a.slot, a.reserve, a.bid_deadline, a.reveal_deadline, a.is_default"

static cd_err prepare(cd_auction_sql *s, cd_errinfo *why)
{
    const struct {
        cd_sql_stmt **st;
        const char *text;
    } all[] = {
        {&s->create, "INSERT INTO sealed_auction (id, slot, reserve, bid_deadline, reveal_deadline, is_default)"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
        {&s->add, "INSERT INTO sealed_bid (auction, seq, bidder, commitment, proof_sha256, proof, envelope,"
                  " envelope_sha256, log_head) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
        {&s->open, "UPDATE sealed_bid SET value = ?3, blinding = ?4 WHERE auction = ?1 AND seq = ?2"},
        {&s->find, "SELECT " BID_COLUMNS ", " AUCTION_COLUMNS " FROM sealed_bid b JOIN sealed_auction a"
                   " ON a.id = b.auction WHERE b.commitment = ?1"},
        {&s->settle, "UPDATE sealed_auction SET document = ?2 WHERE id = ?1"},
        {&s->erase, "UPDATE sealed_bid SET value = NULL, blinding = NULL, envelope = NULL WHERE auction = ?1"},
        {&s->outcome, "SELECT document FROM sealed_auction WHERE id = ?1"},
        {&s->auctions, "SELECT " AUCTION_COLUMNS " FROM sealed_auction a WHERE a.document IS NULL"
                       " AND a.bid_deadline >= ?1 ORDER BY a.bid_deadline"},
        {&s->recent,
         "SELECT id, slot, bid_deadline, (SELECT COUNT(*) FROM sealed_bid WHERE auction = sealed_auction.id)"
         " FROM sealed_auction WHERE document IS NOT NULL ORDER BY bid_deadline DESC LIMIT ?1"},
        {&s->bids, "SELECT " BID_COLUMNS ", b.envelope, b.value, b.blinding FROM sealed_bid b WHERE b.auction = ?1"
                   " ORDER BY b.seq"},
    };
    for (usize i = 0; i < CD_COUNT(all); i++) {
        CD_TRY(cd_sql_prepare(s->q, all[i].st, all[i].text, why));
    }
    return CD_OK;
}

cd_err cd_auction_sql_open(cd_auction_sql **out, cd_sql *q, cd_errinfo *why)
{
    cd_auction_sql *s = cd_new(cd_auction_sql);
    s->q = q;
    cd_err e = cd_sql_exec(q, SCHEMA, why);
    if (e == CD_OK) {
        e = prepare(s, why);
    }
    if (e != CD_OK) {
        cd_auction_sql_close(s);
        return e;
    }
    *out = s;
    return CD_OK;
}

cd_auction_store cd_auction_sql_store(cd_auction_sql *s)
{
    return (cd_auction_store){.ctx = s,
                              .find = find,
                              .create = create_alone,
                              .add = add,
                              .open = open_bid,
                              .settle = settle,
                              .outcome = outcome,
                              .load = load};
}

void cd_auction_sql_close(cd_auction_sql *s)
{
    if (s == NULL) {
        return;
    }
    cd_sql_stmt *all[] = {s->create, s->add, s->open, s->find, s->settle, s->erase, s->outcome, s->auctions, s->bids};
    for (usize i = 0; i < CD_COUNT(all); i++) {
        cd_sql_drop(all[i]);
    }
    cd_free(s);
}
