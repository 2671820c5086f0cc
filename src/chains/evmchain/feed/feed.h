/* chains/evmchain/feed/feed.h - tells clients what the chain accepts, as it comes or from a place in the past.
 *
 *   new view ──► thread of the feed ──► live streams         a note rendered once, published to all who want it
 *                      └─ catching up: streams that begin in the past, until they join the live ones
 *
 * Everything is read from the accepted chain by cursors (cursor.h), nothing is queued here: so nothing is told twice
 * and nothing is left out, whenever somebody comes. Equal subscriptions share one stream, and a log finds the
 * streams it belongs to by its address or topics. The thread exists from the first subscription on. Threading:
 * shared; news and pending come from the executor. [spec:eth-rpc#7] [spec:architecture#8] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_FEED_H
#define CD_CHAINS_EVMCHAIN_FEED_FEED_H

#include "base/log/log.h"
#include "chains/evmchain/core/view.h"
#include "chains/evmchain/feed/criteria.h"
#include "chains/evmchain/feed/cursor.h"
#include "rpc/session.h"

typedef struct cd_feed cd_feed;

/* What a feed is made with; borrowed. */
typedef struct cd_feed_cfg {
    cd_chain *chain;
    /* limit(ctx, head) is the highest block that may be told of where the chain stands at head; it never goes back but
     * with a revert of a development network. Any thread. NULL: head. */
    u64 (*limit)(void *ctx, u64 head);
    void *ctx;
    cd_loop *home;  /* of the sessions; NULL: no subscriptions */
    cd_logger *log; /* NULL: nobody is told of errors */
} cd_feed_cfg;

/* cd_feed_new copies cfg. cd_feed_close (NULL allowed): once no session listens any more, before the chain closes;
 * the home loop has to run once more to give everything back. */
cd_feed *cd_feed_new(const cd_feed_cfg *cfg);
void cd_feed_close(cd_feed *f);

/* cd_feed_news: there is a new view, or another limit. cd_feed_pending: t became executable. NULL is allowed. */
void cd_feed_news(cd_feed *f);
void cd_feed_pending(cd_feed *f, const cd_pool_tx *t);

/* What a stream tells. */
typedef enum cd_stream_kind {
    CD_STREAM_HEADS,
    CD_STREAM_TXS,
    CD_STREAM_LOGS,
} cd_stream_kind;

/* What somebody listens to, and from where on. */
typedef struct cd_feed_wish {
    cd_stream_kind kind;
    bool is_full;
    bool with_cursor;
    bool is_private; /* begins in the past */
    bool is_final;   /* for whoever chooses the feed: one whose limit is the final block */
    cd_cursor start;
    const cd_log_criteria *want; /* of logs; NULL otherwise */
} cd_feed_wish;

/* cd_feed_join gives the topic of a stream that begins at start (epoch and height are the newest view's when shared).
 * want lies in the caller's memory. Home thread. Errors: CD_EAGAIN when there is no thread to be had, CD_ELIMIT when
 * the filters of all streams take 32 MiB. */
cd_err cd_feed_join(cd_feed *f, cd_rpc_topic **out, const cd_feed_wish *wish, cd_errinfo *why) CD_CHECK;

/* cd_feed_pending_topic gives a reference to the topic of transactions that become executable: their hashes, or whole
 * ones. Home thread. */
cd_rpc_topic *cd_feed_pending_topic(cd_feed *f, bool is_full) __attribute__((returns_nonnull));

/* cd_feed_follow takes a cursor over truncations that the view has seen and it has not: what was told of removed
 * blocks is told again of those that replace them. Errors: the store's. */
cd_err cd_feed_follow(cd_cursor *at, cd_view *view) CD_CHECK;

#endif
