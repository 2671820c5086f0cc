/* services/adx/auction/store.h - where sealed auctions are kept, as the house sees it; and on services/common/sql.
 *
 * What a function has answered with CD_OK is on the disk. Errors: those of services/common/sql.h. Threading: confined.
 * [spec:adx#10] */
#ifndef CD_ADX_AUCTION_STORE_H
#define CD_ADX_AUCTION_STORE_H

#include "services/adx/auction/sealed.h"

enum { CD_SLOT_MAX = 64 };

/* An auction. */
typedef struct cd_auction_row {
    cd_hash32 id;
    char slot[CD_SLOT_MAX + 1];
    u64 reserve;
    u64 bid_deadline_ms, reveal_deadline_ms;
    bool is_default;
} cd_auction_row;

/* A bid in the log. opening counts when is_open; the bytes are borrowed. */
typedef struct cd_bid_row {
    u64 seq;
    cd_sealed sealed;
    cd_hash32 envelope_sha256; /* zeros: none */
    cd_hash32 log_head;        /* behind it */
    cd_bytes envelope;
    bool is_open;
    cd_opening opening;
} cd_bid_row;

/* Told of every auction that has no outcome yet, each followed by its bids in order. */
typedef struct cd_auction_visit {
    void *ctx;
    cd_err (*auction)(void *ctx, const cd_auction_row *a);
    cd_err (*bid)(void *ctx, const cd_bid_row *b);
} cd_auction_visit;

/* Where auctions and bids are kept. Every call may fail with CD_EIO and the like of its database. */
typedef struct cd_auction_store {
    void *ctx;
    /* The bid that ever had this commitment and its auction; CD_ENOENT. Without envelope and opening. */
    cd_err (*find)(void *ctx, cd_auction_row *a, cd_bid_row *b, const cd_hash32 *commitment, cd_errinfo *why);
    /* A new auction; a bid, with its auction when that is new (else NULL), in one piece. */
    cd_err (*create)(void *ctx, const cd_auction_row *a, cd_errinfo *why);
    cd_err (*add)(void *ctx, const cd_auction_row *fresh, const cd_hash32 *auction, const cd_bid_row *b, cd_bytes proof,
                  cd_errinfo *why);
    /* An opening that the bidder sent. */
    cd_err (*open)(void *ctx, const cd_hash32 *auction, u64 seq, const cd_opening *o, cd_errinfo *why);
    /* The outcome's document; openings and envelopes are erased in one piece with it. */
    cd_err (*settle)(void *ctx, const cd_hash32 *auction, cd_bytes json, cd_errinfo *why);
    /* Appends the document; CD_EAGAIN: there is none yet, CD_ENOENT: no such auction. */
    cd_err (*outcome)(void *ctx, cd_buf *json, const cd_hash32 *auction, cd_errinfo *why);
    cd_err (*load)(void *ctx, const cd_auction_visit *visit, cd_errinfo *why);
} cd_auction_store;

typedef struct cd_sql cd_sql;
typedef struct cd_auction_sql cd_auction_sql;

/* cd_auction_sql_open makes the tables where they are missing and gives the store in cd_auction_sql_store; q is
 * borrowed and must not be in a transaction when the store is used. cd_auction_sql_close accepts NULL. */
cd_err cd_auction_sql_open(cd_auction_sql **out, cd_sql *q, cd_errinfo *why) CD_CHECK;
cd_auction_store cd_auction_sql_store(cd_auction_sql *s);
/* An auction as a list shows it. */
typedef struct cd_auction_brief {
    cd_hash32 id;
    char slot[CD_SLOT_MAX + 1];
    u64 bid_deadline_ms;
    u64 bids;
} cd_auction_brief;
/* cd_auction_sql_recent gives settled auctions, the newest first. */
cd_err cd_auction_sql_recent(cd_auction_sql *s, cd_auction_brief *out, usize *cnt, usize max, cd_errinfo *why) CD_CHECK;

/* cd_auction_sql_watch has fn told of every outcome once it is on the disk; NULL: not any more. */
void cd_auction_sql_watch(cd_auction_sql *s, void (*fn)(void *ctx, cd_bytes json), void *ctx);
void cd_auction_sql_close(cd_auction_sql *s);

#endif
