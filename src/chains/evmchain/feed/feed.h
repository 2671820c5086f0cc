/* chains/evmchain/feed/feed.h - tells clients what the chain accepts: subscriptions and filters.
 *
 *   new view ──► thread of the feed ──► live streams         a note rendered once, published to all who want it
 *                      └─ catching up: streams that begin in the past, until they join the live ones
 *   filter = criteria and a cursor, read when it is asked
 *
 * Everything is read from the accepted chain by cursors (cursor.h), nothing is queued here: so nothing is told twice and
 * nothing is left out, whenever somebody comes. Equal subscriptions share one stream, and a log finds the streams it belongs
 * to by its address or topics. The thread exists from the first subscription on.
 * Threading: shared; news and pending come from the executor. [spec:eth-rpc#7] [spec:architecture#8] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_FEED_H
#define CD_CHAINS_EVMCHAIN_FEED_FEED_H

#include "base/clock.h"
#include "base/log.h"
#include "chains/evmchain/view.h"
#include "rpc/session.h"

typedef struct cd_feed cd_feed;

typedef struct cd_feed_cfg {
    cd_chain *chain;
    cd_loop *home; /* of the sessions; NULL: no subscriptions, filters only */
    const cd_clock *clock;
    cd_logger *log; /* NULL: nobody is told of errors */
} cd_feed_cfg;

/* cd_feed_new copies cfg. cd_feed_close (NULL allowed): once no session listens any more, before the chain closes; the home
 * loop has to run once more to give everything back. */
cd_feed *cd_feed_new(const cd_feed_cfg *cfg);
void cd_feed_close(cd_feed *f);

/* cd_feed_news: there is a new view. cd_feed_pending: t became executable. NULL is allowed. */
void cd_feed_news(cd_feed *f);
void cd_feed_pending(cd_feed *f, const cd_pool_tx *t);

/* The kinds of subscriptions, for the service whose ctx is a VM with a feed. */
extern const cd_rpc_kind cd_feed_kinds[];
extern const usize cd_feed_kinds_cnt;

#endif
