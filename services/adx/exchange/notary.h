/* services/adx/exchange/notary.h - what must be on the disk before it is answered, and what takes long to compute, away
 * from the loop.
 *
 *   loop ── request, function ──► books thread: house (sealed auctions), spent tokens ──► cd_http_reply
 *                └──────────────► checks thread: proofs that anybody may send           ──► cd_http_reply
 *
 * A function gets the request and answers it. Of each kind at most CD_NOTARY_WAITING_MAX wait. Between requests the
 * books thread does what is due: outcomes, new keys. Auctions are one process's: they lie in a file of the data
 * directory; spent tokens lie in the shared database where there is one. Threading: posting from the loop only.
 * [spec:adx#5.3] [spec:adx#7.2] */
#ifndef CD_ADX_EXCHANGE_NOTARY_H
#define CD_ADX_EXCHANGE_NOTARY_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/http/server.h"
#include "services/adx/auction/keyring.h"
#include "services/adx/cap/freq.h"

enum { CD_NOTARY_WAITING_MAX = 4096 };

typedef struct cd_notary cd_notary;

/* Strings are borrowed for as long as the notary lives. */
typedef struct cd_notary_cfg {
    cd_logger *log;
    const cd_clock *clock;
    cd_metrics *metrics;
    const char *data_dir; /* with auctions.db and auction.keys */
    const char *db;       /* URL of a shared database; NULL: none */
    u64 default_reserve;  /* of default auctions, millionths of a USD CPM */
    u64 window_s;         /* of frequency caps */
    /* Told of every outcome once it is on the disk, on the books thread; NULL: not wanted. */
    void (*settled)(void *ctx, cd_bytes json);
    void *settled_ctx;
} cd_notary_cfg;

/* What functions count. */
typedef struct cd_notary_counters {
    cd_counter *bids_accepted, *bids_refused;
    cd_counter *verified, *not_verified; /* outcomes that somebody had checked */
    cd_counter *tokens_made, *tokens_taken, *tokens_refused;
} cd_notary_counters;

/* What functions work with. On the checks thread there are counters alone. */
typedef struct cd_notary_room {
    cd_house *house;
    cd_freq *freq;
    cd_auction_sql *auctions;
    const cd_keyring *keys;
    const cd_notary_counters *counters;
    u64 now_ms;
} cd_notary_room;

/* Which thread. */
typedef enum cd_notary_desk { CD_NOTARY_BOOKS, CD_NOTARY_CHECKS, CD_NOTARY_DESKS } cd_notary_desk;

/* Answers a request, exactly once. */
typedef void cd_notary_fn(const cd_notary_room *room, cd_http_req *r);

/* cd_notary_open takes up what the data directory holds and starts the threads. Errors: those of cd_sql_open,
 * cd_keyring_open, cd_house_new (CD_ECORRUPT: a log that is not its hash) and cd_freq_new. */
cd_err cd_notary_open(cd_notary **out, const cd_notary_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_notary_secret is the secret of the labels of shared frequency caps: the same for all who share the database. */
void cd_notary_secret(u8 out[32], const cd_notary *n);

/* cd_notary_close answers what was posted, then ends the threads. NULL is allowed. */
void cd_notary_close(cd_notary *n);

/* cd_notary_post hands a request over. Errors: CD_EFULL: too many wait, and the request is still the caller's. */
cd_err cd_notary_post(cd_notary *n, cd_notary_desk which, cd_notary_fn *fn, cd_http_req *r) CD_CHECK;

#endif
