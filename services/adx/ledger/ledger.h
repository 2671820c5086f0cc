/* services/adx/ledger/ledger.h - who owes whom: double entry, hash-chained, on SQLite or PostgreSQL.
 *
 *   advertiser/c ─ fund ─► escrow/c ─ lease ─► leased/c ─ bill ─► publisher/p + fees
 *                             ▲───── return ───────┘        bidder/b ─ bill ─► publisher/p + fees
 *                                                         fees ─ reward ─► miner/m ─ payout ─► paid/m
 *
 * Unit: nano-USD. Every transaction is a row of the journal; its postings add up to zero, its hash covers the row
 * before. The accounts of a campaign other than advertiser are never negative, so that nobody spends what was not
 * funded. A lease is what one process may promise: committed before the first promise, ended by its time when the
 * process does not come back. A token is paid once. Functions run inside a transaction of the caller
 * (cd_ledger_begin), whose commit makes them count. Errors: those of services/common/sql.h. Threading: confined.
 * [spec:adx#8] [spec:adx#10] */
#ifndef CD_ADX_LEDGER_LEDGER_H
#define CD_ADX_LEDGER_LEDGER_H

#include "base/mem/buf.h"
#include "services/common/sql.h"

enum { CD_LEDGER_ID_MAX = 64, CD_LEDGER_TOKEN_LEN = 17 };

typedef struct cd_ledger cd_ledger;

/* cd_ledger_open opens the database at url (cd_sql_cfg), and makes its tables when may_write. */
cd_err cd_ledger_open(cd_ledger **out, const char *url, bool may_write, cd_errinfo *why) CD_CHECK;
void cd_ledger_close(cd_ledger *l); /* NULL is allowed */

/* cd_ledger_begin, _commit and _rollback: of writers there is one at a time. */
cd_err cd_ledger_begin(cd_ledger *l, cd_errinfo *why) CD_CHECK;
cd_err cd_ledger_commit(cd_ledger *l, cd_errinfo *why) CD_CHECK;
void cd_ledger_rollback(cd_ledger *l);

/* cd_ledger_fund brings what a campaign was ever funded with to total; less takes back what is in escrow, no more. */
cd_err cd_ledger_fund(cd_ledger *l, const char *campaign, i64 total, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* What a process asks for. */
typedef struct cd_lease_ask {
    const char *campaign;
    i64 lease;     /* the one to add to, 0: a new one */
    i64 want;      /* at most; less when there is less */
    i64 daily_max; /* of the campaign on this day, 0: no limit */
    u64 day;       /* since 1970, UTC */
    u64 until_ms;  /* when it ends unless it is asked for again */
} cd_lease_ask;

/* What it got. */
typedef struct cd_lease {
    i64 id, added;
    u64 until_ms;
} cd_lease;

/* cd_ledger_lease gives a lease, or adds to one and moves its end; added may be 0. A lease that has ended meanwhile
 * is not added to: CD_ENOENT. */
cd_err cd_ledger_lease(cd_ledger *l, cd_lease *out, const cd_lease_ask *ask, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_ledger_unlease gives back `unused` of a lease; the rest ends at until_ms. */
cd_err cd_ledger_unlease(cd_ledger *l, i64 lease, i64 unused, u64 until_ms, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_ledger_reap ends leases whose time is over and forgets tokens that nobody honours any more. */
cd_err cd_ledger_reap(cd_ledger *l, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* An impression that was shown. */
typedef struct cd_bill {
    u8 token[CD_LEDGER_TOKEN_LEN]; /* names it */
    bool is_campaign;              /* else a bidder's */
    const char *payer;             /* campaign or bidder */
    const char *publisher;
    i64 lease; /* of a campaign */
    i64 amount;
    u64 expires_s;
    const char *miner;      /* who has the media; NULL or "": nobody */
    const char *auctioneer; /* a miner whose node ran the auction; NULL or "": none */
    u64 period_s;           /* of settlement; 0: a day */
} cd_bill;

/* What became of it. */
typedef enum cd_billed {
    CD_BILLED,
    CD_BILLED_BEFORE,
    CD_BILLED_NOT, /* nothing is set aside for it: the lease has ended */
} cd_billed;

/* cd_ledger_bill pays for an impression: the payer to the publisher, a thousandth of the sum of all he ever got, cut
 * to whole units, to the exchange. */
cd_err cd_ledger_bill(cd_ledger *l, cd_billed *out, const cd_bill *b, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_ledger_note keeps an address that is to be fetched when a token is paid; cd_ledger_take_note appends it, once;
 * nothing when there is none. */
cd_err cd_ledger_note(cd_ledger *l, const u8 token[CD_LEDGER_TOKEN_LEN], cd_bytes url, u64 expires_s,
                      cd_errinfo *why) CD_CHECK;
cd_err cd_ledger_take_note(cd_ledger *l, cd_buf *url, const u8 token[CD_LEDGER_TOKEN_LEN], cd_errinfo *why) CD_CHECK;

/* cd_ledger_account gives what stands on an account, 0 where there is none. */
cd_err cd_ledger_account(cd_ledger *l, i64 *out, const char *name, cd_errinfo *why) CD_CHECK;

/* What a check of the whole ledger found. */
typedef struct cd_ledger_state {
    u64 rows;   /* of the journal */
    i64 spent;  /* by campaigns and bidders */
    i64 earned; /* by publishers */
    i64 fees;
    i64 rewards; /* of miners, paid out of the fees */
} cd_ledger_state;

/* cd_ledger_verify reads the journal from its beginning: hashes, sums, and that the accounts are what it makes of
 * them. Errors: CD_ECORRUPT, and why names the row. */
cd_err cd_ledger_verify(cd_ledger *l, cd_ledger_state *out, cd_errinfo *why) CD_CHECK;

#endif
