/* warp/collect.h - collects signatures of a message from the validators of a net, until enough of its weight has
 * signed.
 *
 *   want ──► set at the P-Chain's height ──► own signature ──► others, heaviest first ──► enough? ──► one check of all
 *              │                                                   ▲     │ not yet              │ wrong
 *              └ known: at once                                    └─────┴◄── each alone, bad ones out
 *
 * Who refuses is asked again a few times: its chain may be a moment behind. What is wanted twice is collected once. A
 * collection ends after CD_WARP_COLLECT_MS at the latest. Threading: confined to the chain's executor. [spec:p2p#12]
 * [spec:warp#5] */
#ifndef CD_WARP_COLLECT_H
#define CD_WARP_COLLECT_H

#include "warp/warp.h"

/* What somebody wants to have signed, borrowed for the call. */
typedef struct cd_warp_want {
    cd_bytes message;       /* unsigned */
    cd_bytes justification; /* for the validators' judges */
    cd_hash32 subnet;       /* whose validators sign */
    u64 quorum;             /* per cent of their weight, 1 to 100 */
} cd_warp_want;

/* Somebody who waits for what was wanted. */
typedef struct cd_warp_wish cd_warp_wish;

enum {
    CD_WARP_COLLECT_MS = 10000,
    CD_WARP_GATHERS_MAX = 128,    /* collections at a time, for all callers */
    CD_WARP_WISHES_MAX = 512,     /* who wait for them */
    CD_WARP_OPEN_MAX = 64,        /* questions of a collection that are open */
    CD_WARP_TRIES = 4,            /* how often a validator is asked */
    CD_WARP_KEPT_BYTES = 4 << 20, /* of collected messages, for who asks again */
};

/* cd_warp_collect begins to collect, or joins who does. Errors: CD_EINVAL (message, quorum), CD_ENOENT (nobody
 * validates), CD_EFULL, those of cd_warp_sets_get. */
cd_err cd_warp_collect(cd_warp *w, cd_warp_wish **out, const cd_warp_want *want, cd_errinfo *why) CD_CHECK;

/* cd_warp_wish_is_done: it has come, or never will. cd_warp_wish_arm has resume(arg) called once when that is so, at
 * once if it is already; on the executor. cd_warp_wish_drop: nobody waits any more. */
bool cd_warp_wish_is_done(const cd_warp_wish *wish);
void cd_warp_wish_arm(cd_warp_wish *wish, void (*resume)(void *arg), void *arg);
void cd_warp_wish_drop(cd_warp_wish *wish);

/* cd_warp_wish_take appends the signed message, and ends a wish that is done. Errors: CD_EINVAL with the weight that
 * was reached, CD_ECLOSED. */
cd_err cd_warp_wish_take(cd_warp_wish *wish, cd_buf *out, cd_errinfo *why) CD_CHECK;

#endif
