/* chains/evmchain/feed/log_scan.h - the blocks of a range that may hold a log of some criteria, one after the other.
 *
 * Old blocks are found by the log index, by their blooms where there is none; the newest lie in the view's memory.
 * Threading: confined; end with cd_log_scan_fini. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_LOG_SCAN_H
#define CD_CHAINS_EVMCHAIN_FEED_LOG_SCAN_H

#include "chains/evmchain/core/view.h"
#include "chains/evmchain/feed/criteria.h"

enum { CD_LOG_SCAN_CHUNK = 512 };

/* A search through the logs of a view, from block to block. */
typedef struct cd_log_scan {
    cd_view *view;
    const cd_log_criteria *want;
    u64 next; /* height to look at */
    u64 to;
    u64 cost; /* blocks looked at in the store */
    bool has_index;
    bool has_known;
    u64 known; /* with has_known: heights holds every candidate up to here */
    u64 heights[CD_LOG_SCAN_CHUNK];
    usize cnt;
    usize at;
} cd_log_scan;

/* cd_log_scan_init begins at from; view and want are borrowed. Errors: the store's. */
cd_err cd_log_scan_init(cd_log_scan *s, cd_view *view, const cd_log_criteria *want, u64 from, u64 to) CD_CHECK;

/* cd_log_scan_next gives the next block, borrowed from the view or in the arena. Up to max blocks are looked at in
 * the store meanwhile. Errors: CD_ENOENT behind the last one; CD_EAGAIN when max is reached, s->next is where to go
 * on; the store's. */
cd_err cd_log_scan_next(cd_log_scan *s, const cd_accepted **out, cd_arena *a, u64 max) CD_CHECK;

#endif
