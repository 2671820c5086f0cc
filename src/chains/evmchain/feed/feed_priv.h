/* chains/evmchain/feed/feed_priv.h - the feed as its files see it. */
#ifndef CD_CHAINS_EVMCHAIN_FEED_FEED_PRIV_H
#define CD_CHAINS_EVMCHAIN_FEED_FEED_PRIV_H

#include "base/table/hmap.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "chains/evmchain/feed/cursor.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/feed/match.h"

#include <stdatomic.h>

/* What equal subscriptions listen to, or one that begins in the past until it joins them. */
typedef struct cd__stream {
    cd__match_row row; /* first: what a match finds */
    cd_list link;      /* node of one of the feed's lists: starting, behind or live */
    cd_list dead_link; /* node of the feed's list of dead streams */
    cd_feed *feed;
    cd_arena arena; /* memory of want */
    cd_stream_kind kind;
    bool is_full;
    bool with_cursor;
    cd_log_criteria want;
    cd_hash32 key; /* hash over all that makes streams equal */
    cd_rpc_topic *topic;

    /* Under the feed's lock. */
    bool is_shared; /* found by its key */
    bool is_dead;   /* nobody listens any more, or all listeners have moved to another stream */
    u32 moves;      /* listeners that are on their way to it */

    /* The thread's. */
    cd_cursor at; /* where it reads on, while it is behind */
    bool is_live;
    bool is_waiting; /* waits to join a stream that is behind, too */
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
    cd_rpc_topic *pending[2]; /* hashes; whole transactions */
    atomic_bool is_pending_wanted[2];

    cd_mutex lock; /* protects what follows */
    cd_cond wake;
    cd_hmap shared;   /* key → stream */
    usize want_bytes; /* criteria of all streams */
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

/* cd__feed_round tells what there is to tell for now; true when there is more already. The feed's thread. */
bool cd__feed_round(cd_feed *f);

/* cd__feed_idle: nobody listens to s, whatever is on its way. The home thread. */
void cd__feed_idle(cd__stream *s);

/* cd__feed_adopt takes over what the home thread left under the lock, which is held. cd__feed_bury gives back dead
 * streams. */
void cd__feed_adopt(cd_feed *f);
void cd__feed_bury(cd_feed *f);

#endif
