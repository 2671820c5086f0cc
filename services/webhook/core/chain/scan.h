/* services/webhook/core/chain/scan.h - walks over blocks of the past with a matcher of its own: previews,
 * back-fills, audits.
 *
 *   numbers ─► fetch ─► facts ─► hits ─► names ─► events ─► block(…) ─► cd_wh_scan_next ─► …
 *
 * One block at a time. A node that fails is asked again with growing pauses, at most tries times for a block.
 * Threading: confined to the loop. [spec:webhooks#2.4, #6] */
#ifndef CD_WEBHOOK_CORE_SCAN_H
#define CD_WEBHOOK_CORE_SCAN_H

#include "services/webhook/core/chain/tokens.h"

typedef struct cd_wh_scan cd_wh_scan;

/* Where blocks come from. */
typedef struct cd_wh_source {
    cd_loop *loop;
    cd_upstream *node;
    cd_wh_chain chain;
    cd_wh_tokens *tokens;
} cd_wh_source;

/* What a scan tells its owner, on the loop. */
typedef struct cd_wh_scan_events {
    /* A block's events, borrowed until cd_wh_scan_next or cd_wh_scan_free, one of which must follow. */
    void (*block)(void *ctx, const cd_wh_facts *facts, const cd_wh_event *events, usize cnt);
    /* The last word: reason NULL, or why a block could not be had. cd_wh_scan_free must follow. */
    void (*over)(void *ctx, const char *reason);
} cd_wh_scan_events;

/* cd_wh_scan_new walks from first to last, backwards when last is less. match is borrowed; it is asked anew for each
 * block, but may not be changed while a block is being handed over. tries 0: without end. */
cd_wh_scan *cd_wh_scan_new(const cd_wh_source *source, cd_wh_match *match, u64 first, u64 last, u32 tries,
                           const cd_wh_scan_events *events, void *ctx);
void cd_wh_scan_next(cd_wh_scan *s);
void cd_wh_scan_free(cd_wh_scan *s); /* NULL is allowed */

#endif
