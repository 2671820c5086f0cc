/* chains/evmchain/feed/feed_priv.h - the feed as its files see it. */
#ifndef CD_CHAINS_EVMCHAIN_FEED_FEED_PRIV_H
#define CD_CHAINS_EVMCHAIN_FEED_FEED_PRIV_H

#include "base/hmap.h"
#include "base/list.h"
#include "base/thread.h"
#include "chains/evmchain/feed/cursor.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/feed/filters.h"
#include "chains/evmchain/feed/match.h"

#include <stdatomic.h>

typedef enum cd__stream_kind {
    CD__STREAM_HEADS,
    CD__STREAM_TXS,
    CD__STREAM_LOGS,
} cd__stream_kind;

/* What equal subscriptions listen to, or one that begins in the past until it joins them. */
typedef struct cd__stream {
    cd__match_row row; /* first: what a match finds */
    cd_list link;      /* of the feed's starting, behind or live */
    cd_list dead_link; /* of the feed's dead */
    cd_feed *feed;
    cd_arena arena; /* holds want */
    cd__stream_kind kind;
    bool is_full;
    bool with_cursor;
    cd_log_criteria want;
    cd_hash32 key; /* of all that makes streams equal */
    cd_rpc_topic *topic;

    /* Under the feed's lock. */
    bool is_shared; /* found by its key */
    bool is_dead;   /* nobody listens, or all have moved: takes no part any more */
    u32 moves;      /* listeners that are on their way to it */

    /* The thread's. */
    cd_cursor at; /* where it reads on, while it is behind */
    bool is_live;
    bool is_waiting; /* to join one that is behind itself */
} cd__stream;

/* Blocks one after the other, of runs many at once. */
enum { CD__FEED_WINDOW = 256 };
typedef struct cd__feed_blocks {
    cd_arena arena; /* of window, or of one block */
    cd_accepted window[CD__FEED_WINDOW];
    u64 first;
    usize cnt;
    cd_header_layout layout;
} cd__feed_blocks;

struct cd_feed {
    cd_feed_cfg cfg;
    cd_filters *filters;
    cd_rpc_topic *pending[2]; /* hashes; whole transactions */
    atomic_bool is_pending_wanted[2];

    cd_mutex lock; /* protects what follows */
    cd_cond wake;
    cd_hmap shared; /* key → stream */
    cd_list starting;
    cd_list dead;
    bool has_thread;
    bool has_news;
    bool is_stopping;
    bool is_home_behind; /* the home thread has not come to what was published */

    /* The thread's. */
    cd_thread thread;
    cd_list behind;
    cd_list live;
    cd_list gone;   /* their listeners have moved, or are about to */
    cd_cursor next; /* live streams were told everything before */
    cd__stream *heads[2];
    cd__stream *txs[2][2]; /* whole or not, with cursor or not */
    cd__match logs;
    bool has_gone_live; /* a stream, in this round */
    usize published;    /* since the home thread was waited for */
    cd__feed_blocks blocks;
};

/* cd__feed_join gives the topic of a stream that begins at start (epoch and height are the newest view's when shared).
 * want lies in the caller's memory. Home thread. Errors: CD_EAGAIN when there is no thread to be had. */
typedef struct cd__feed_wish {
    cd__stream_kind kind;
    bool is_full;
    bool with_cursor;
    bool is_private; /* begins in the past */
    cd_cursor start;
    const cd_log_criteria *want; /* of logs; NULL otherwise */
} cd__feed_wish;
cd_err cd__feed_join(cd_feed *f, cd_rpc_topic **out, const cd__feed_wish *wish,
                     cd_errinfo *why) CD_CHECK;

/* cd__feed_follow takes a cursor over truncations that the view has seen and it has not: what was told of removed blocks
 * is told again of those that replace them. Errors: the store's. */
cd_err cd__feed_follow(cd_cursor *at, cd_view *view) CD_CHECK;

/* cd__feed_round tells what there is to tell for now; true when there is more already. The feed's thread. */
bool cd__feed_round(cd_feed *f);

/* cd__feed_idle: nobody listens to s, whatever is on its way. The home thread. */
void cd__feed_idle(cd__stream *s);

/* cd__feed_adopt takes over what the home thread left under the lock, which is held. cd__feed_bury gives back dead streams. */
void cd__feed_adopt(cd_feed *f);
void cd__feed_bury(cd_feed *f);

#endif
