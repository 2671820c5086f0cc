/* services/webhook/core/chain/compare.h - is the ledger what the chain says? Every match of a range of blocks,
 * worked out anew, against the rows that are there.
 *
 *   blocks ─► facts ─► matcher of all webhooks ─► events ─┐
 *   ledger ─► rows of the block ──────────────────────────┴─► missing · extra · other bytes
 *
 * A webhook counts from its from_block on; of deleted ones nothing is known any more, and what the retention has
 * taken is missing. Bytes are compared by the chain hashes of rows that follow each other in a webhook's sequence.
 * What is written while this runs is not looked at: the range ends at the cursor. Threading: confined to the loop.
 * [spec:webhooks#9] */
#ifndef CD_WEBHOOK_CORE_COMPARE_H
#define CD_WEBHOOK_CORE_COMPARE_H

#include "services/webhook/core/chain/scan.h"

typedef struct cd_wh_compare cd_wh_compare;

/* How a row of the ledger and a match can differ. */
typedef enum cd_wh_difference_kind {
    CD_WH_MISSING, /* a match without a row */
    CD_WH_EXTRA,   /* a row without a match */
    CD_WH_OTHER,   /* a row whose chain hash is not that of its match */
} cd_wh_difference_kind;

/* One row or match that differs. */
typedef struct cd_wh_difference {
    cd_wh_difference_kind kind;
    u64 block;
    i64 hook;
    char event_id[CD_WH_EVENT_ID_MAX];
} cd_wh_difference;

enum { CD_WH_DIFFERENCES_MAX = 100 };

/* What a comparison found. */
typedef struct cd_wh_compared {
    u64 first, last; /* what was looked at */
    u64 blocks, matches, rows;
    u64 differences;                              /* of all kinds */
    cd_wh_difference list[CD_WH_DIFFERENCES_MAX]; /* the first ones */
} cd_wh_compared;

/* result NULL: it could not be done, for this reason. */
typedef void cd_wh_compare_fn(void *ctx, const cd_wh_compared *result, const char *reason);

/* cd_wh_compare_new looks at the blocks first to last (0: to the cursor) and calls fn once, not before it returns.
 * cd_wh_compare_free may follow then, or behind cd_jobs_close; NULL is allowed. */
cd_wh_compare *cd_wh_compare_new(const cd_wh_source *source, cd_jobs *db, u64 first, u64 last, cd_wh_compare_fn *fn,
                                 void *ctx);
void cd_wh_compare_free(cd_wh_compare *c);

#endif
