/* services/adx/ledger/ledger_priv.h - what the ledger's own files share. Threading: confined. */
#ifndef CD_ADX_LEDGER_LEDGER_PRIV_H
#define CD_ADX_LEDGER_LEDGER_PRIV_H

#include "services/adx/ledger/ledger.h"

enum { CD__ACCOUNT_MAX = CD_LEDGER_ID_MAX + 16 };

struct cd_ledger {
    cd_sql *q;
    cd_sql_stmt **st;
    cd_sql_stmt **wages;
    cd_sql_stmt **settle;
    u64 seq; /* of the last row */
    cd_hash32 hash;
};

/* One line of a transaction; the lines of one add up to zero. */
typedef struct cd__posting {
    char account[CD__ACCOUNT_MAX];
    i64 amount;
} cd__posting;

/* cd__posting_of names the account kind + id; id may be NULL. */
cd__posting cd__posting_of(const char *kind, const char *id, i64 amount);

/* cd__ledger_post appends a row to the journal and brings the accounts up to date. */
cd_err cd__ledger_post(cd_ledger *l, const char *kind, cd_bytes ref, const cd__posting *list, usize cnt, u64 now_ms,
                       cd_errinfo *why) CD_CHECK;

/* Statements are lists of X(NAME, "text"), kept in the order of their ST_NAME. cd__ledger_prepare prepares a list of
 * them; they live as long as the connection, the array *out is freed by cd_ledger_close. */
#define CD__ST_NAME(id, text) ST_##id,
#define CD__ST_TEXT(id, text) [ST_##id] = (text),
cd_err cd__ledger_prepare(cd_sql_stmt ***out, cd_ledger *l, const char *const *texts_of, usize cnt,
                          cd_errinfo *why) CD_CHECK;

/* cd__ledger_number reads the first column of the one row that a statement gives, 0 without a row. */
cd_err cd__ledger_number(cd_sql_stmt *st, i64 *out, const cd_sql_val *vals, usize cnt, cd_errinfo *why) CD_CHECK;

/* --- wages --- */

#define CD__WAGES_STEP                                                                                                 \
    "CREATE TABLE miners (id TEXT PRIMARY KEY, public_key @blob NOT NULL, wallet TEXT NOT NULL, since_s BIGINT NOT"    \
    " NULL, seen_s BIGINT NOT NULL);"                                                                                  \
    "CREATE INDEX miners_seen ON miners (seen_s);"                                                                     \
    "CREATE TABLE deliveries (token @blob PRIMARY KEY, miner TEXT NOT NULL, bytes BIGINT NOT NULL, is_paid BIGINT NOT" \
    " NULL, expires_s BIGINT NOT NULL);"                                                                               \
    "CREATE INDEX deliveries_expires ON deliveries (expires_s);"                                                       \
    "CREATE TABLE workdays (miner TEXT NOT NULL, period BIGINT NOT NULL, length_s BIGINT NOT NULL, from_s BIGINT NOT"  \
    " NULL, covered_s BIGINT NOT NULL, up_s BIGINT NOT NULL, impressions BIGINT NOT NULL, bytes BIGINT NOT NULL,"      \
    " proofs BIGINT NOT NULL, proof_fees BIGINT NOT NULL, clearing BIGINT NOT NULL, PRIMARY KEY (miner, period));"     \
    "CREATE INDEX workdays_period ON workdays (period);"                                                               \
    "CREATE TABLE wages (miner TEXT PRIMARY KEY, up_s BIGINT NOT NULL, seconds BIGINT NOT NULL, impressions BIGINT"    \
    " NOT NULL, bytes BIGINT NOT NULL, base BIGINT NOT NULL, bandwidth BIGINT NOT NULL, bonus BIGINT NOT NULL,"        \
    " auction BIGINT NOT NULL, proofs BIGINT NOT NULL);"

/* cd__wages_open prepares the statements; cd__wages_billed notes an impression that was paid, for whoever delivered it;
 * cd__wages_reap forgets deliveries that nobody is paid for any more. */
cd_err cd__wages_open(cd_ledger *l, cd_errinfo *why) CD_CHECK;
cd_err cd__wages_billed(cd_ledger *l, const cd_bill *b, u64 now_ms, cd_errinfo *why) CD_CHECK;
cd_err cd__wages_reap(cd_ledger *l, u64 over_s, cd_errinfo *why) CD_CHECK;

/* --- notices --- */

#define CD__NOTICES_STEP                                                                                               \
    "CREATE TABLE notices (token @blob PRIMARY KEY, url TEXT NOT NULL, expires_s BIGINT NOT NULL);"                    \
    "CREATE INDEX notices_expires ON notices (expires_s);"

/* --- settle --- */

#define CD__SETTLE_STEP                                                                                                \
    "CREATE TABLE unsettled (campaign TEXT NOT NULL, publisher TEXT NOT NULL, amount BIGINT NOT NULL, cnt BIGINT NOT"  \
    " NULL, PRIMARY KEY (campaign, publisher));"                                                                       \
    "CREATE TABLE sendings (id @id, kind BIGINT NOT NULL, state BIGINT NOT NULL, ref TEXT NOT NULL, wallet @blob NOT"  \
    " NULL, root @blob NOT NULL, total BIGINT NOT NULL, scale BIGINT NOT NULL, cnt BIGINT NOT NULL, nonce BIGINT NOT"  \
    " NULL, raw @blob, tx @blob, made_ms BIGINT NOT NULL, after_ms BIGINT NOT NULL, block BIGINT NOT NULL, gas BIGINT" \
    " NOT NULL, trouble TEXT NOT NULL);"                                                                               \
    "CREATE INDEX sendings_state ON sendings (state, id);"                                                             \
    "CREATE TABLE leaves (sending BIGINT NOT NULL, idx BIGINT NOT NULL, reservation @blob NOT NULL, publisher TEXT"    \
    " NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (sending, idx));"                                                  \
    "CREATE INDEX leaves_publisher ON leaves (publisher);"                                                             \
    "CREATE TABLE settler (one BIGINT PRIMARY KEY, owner TEXT NOT NULL, until_ms BIGINT NOT NULL);"

/* cd__settle_open prepares the statements; cd__settle_billed notes what is to be settled of an impression. */
cd_err cd__settle_open(cd_ledger *l, cd_errinfo *why) CD_CHECK;
cd_err cd__settle_billed(cd_ledger *l, const cd_bill *b, cd_errinfo *why) CD_CHECK;

#endif
