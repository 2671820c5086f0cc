/* chains/evmchain/feed/match.h - from a log to the streams that want it, at a cost that does not grow with their
 * number.
 *
 *   log ─┬ address ──► streams that name it           a stream stands in one place only: under its addresses, else
 *        ├ topic i ──► streams that name it there      under the values of its first topic, else among those that take
 *        └───────────► streams that take anything      any; whoever is found is checked in full
 *
 * Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_FEED_MATCH_H
#define CD_CHAINS_EVMCHAIN_FEED_MATCH_H

#include "base/table/hmap.h"
#include "chains/evmchain/feed/criteria.h"

/* Somebody who wants logs. */
typedef struct cd__match_row {
    const cd_log_criteria *want;
    struct cd__match_link *links; /* private */
} cd__match_row;

/* Criteria of all subscriptions by what they ask for, so that a log finds those that want it. */
typedef struct cd__match {
    cd_hmap by_addr;
    cd_hmap by_topic[CD_LOG_TOPICS_MAX];
    struct cd__match_link *any;
} cd__match;

/* cd__match_init finds nothing yet; cd__match_fini releases its memory, all streams have been taken out before. */
void cd__match_init(cd__match *m);
void cd__match_fini(cd__match *m);

/* cd__match_add lets row take part as long as it and its criteria stay; cd__match_del ends that. */
void cd__match_add(cd__match *m, cd__match_row *row);
void cd__match_del(cd__match *m, cd__match_row *row);

/* cd__match_log calls found for every row that wants the log. */
typedef void cd__match_found(void *ctx, cd__match_row *row);
void cd__match_log(const cd__match *m, const cd_log *log, cd__match_found *found, void *ctx);

#endif
