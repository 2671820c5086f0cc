/* services/webhook/core/chain/rewind.h - blocks that were replaced: where do the ledger and the node's chain part?
 *
 *   known blocks (highest first) ─► the node's of the same numbers ─► the first with the same hash ─► cd_wh_rewind
 *
 * Threading: confined. [spec:webhooks#6] */
#ifndef CD_WEBHOOK_CORE_REWIND_H
#define CD_WEBHOOK_CORE_REWIND_H

#include "services/common/upstream.h"
#include "services/webhook/core/store/db.h"

/* How a search for the block where two chains part has ended. */
typedef enum cd__wh_rewound {
    CD__WH_REWOUND,   /* the ledger ends where the chains part, or elsewhere since before */
    CD__WH_NO_COMMON, /* the node has none of the known blocks */
    CD__WH_UNKNOWN,   /* node or store did not answer: to be tried again */
} cd__wh_rewound;

typedef struct cd__wh_rewind cd__wh_rewind;

/* What such a search works with. */
typedef struct cd__wh_rewind_cfg {
    cd_jobs *db;
    cd_upstream *node;
    const char *chain;
    bool from_nothing; /* a chain without any known block is followed from its beginning */
    void *ctx;
    /* Called once; rewind is to be freed by then or later. from and to are set when it was rewound, reason when not. */
    void (*over)(void *ctx, cd__wh_rewound how, u64 from, u64 to, const char *reason);
    void (*told)(void *ctx, const cd_wh_enqueued *made);
} cd__wh_rewind_cfg;

/* cd__wh_rewind_new begins; over is not called before it returns. cfg is copied. */
cd__wh_rewind *cd__wh_rewind_new(const cd__wh_rewind_cfg *cfg);

/* cd__wh_rewind_stop: nothing more is told; jobs of the store end by themselves. cd__wh_rewind_free, when over was
 * called or behind cd_jobs_close; NULL is allowed, for both. */
void cd__wh_rewind_stop(cd__wh_rewind *r);
void cd__wh_rewind_free(cd__wh_rewind *r);

#endif
