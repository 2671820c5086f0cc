/* services/common/follower.h - follows the blocks of a node, each once and in order, and its mempool.
 *
 *   WebSocket: newHeads ──┐                      ┌─ ready ─► parent fits? ─► block(…) ─► … cd_follower_done
 *   HTTP: eth_blockNumber ┴► target ─► fetches ──┤              └─ no: alarm, and no further
 *   (while there is no WebSocket, and now and then)   at most CD_FOLLOWER_AHEAD begun and not done
 *
 * Far behind, blocks are asked for by the hundred, and those without transactions given as one run. Gaps are filled by
 * number, a failing node is asked again with growing pauses, a lost WebSocket is opened anew. A block is given when it
 * is `confirmations` below the head, or when the node says that it is final; what was given is never taken back: when
 * the node's block of a number that was given has another hash, or the next does not build on it, the follower stops
 * and says so; it is for its owner to find where the chains part, and to follow from there. Back-pressure: nothing is
 * fetched ahead of what its owner has done by more than CD_FOLLOWER_AHEAD blocks. Threading: confined to the loop.
 * [spec:webhooks#6] */
#ifndef CD_SERVICES_COMMON_FOLLOWER_H
#define CD_SERVICES_COMMON_FOLLOWER_H

#include "net/ws/ws.h"
#include "services/common/upstream.h"

enum { CD_FOLLOWER_AHEAD = 8 };

/* What its owner wants beside blocks and receipts; may change at any time. EMPTY: every block on its own, also when it
 * has no transactions and the node is far ahead. */
enum { CD_FOLLOWER_TRACES = 1, CD_FOLLOWER_PENDING = 2, CD_FOLLOWER_EMPTY = 4 };

typedef struct cd_follower cd_follower;

enum { CD_FOLLOWER_RUN = 500, CD_FOLLOWER_RUN_KEPT = 256 };

/* A block that was given; the owner's until cd_follower_done. Or a run of blocks without transactions, while the node
 * is far ahead: then number and hash are of its last, parent of its first, and nothing is there but mem. */
typedef struct cd_follower_block {
    u64 number;
    cd_hash32 hash, parent;
    u64 first;               /* of a run; else number */
    const cd_hash32 *hashes; /* of a run's last blocks, the last one at the end; NULL without a run */
    usize hashes_cnt;
    cd_fetched got;
    void *parsed; /* the owner's */
} cd_follower_block;

/* What a follower tells its owner and asks of it, on its loop. */
typedef struct cd_follower_events {
    u32 (*wants)(void *ctx); /* a mask of CD_FOLLOWER_… */
    /* Reads what was fetched, before its turn; what it refuses is fetched again. It may note something in b->parsed. */
    cd_err (*check)(void *ctx, cd_follower_block *b, cd_errinfo *why);
    void (*block)(void *ctx, cd_follower_block *b);
    void (*pending)(void *ctx, cd_json tx); /* in the mempool; borrowed for the call */
    /* The node's chain is not the one that was followed: it has stopped. It may not be freed within this. */
    void (*replaced)(void *ctx);
    /* The node's head is below what was given: it lags, or has begun anew. Told at every question while it is so. */
    void (*behind)(void *ctx);
    void (*trouble)(void *ctx, const char *reason); /* something failed and is tried again */
} cd_follower_events;

/* Zero in a number means its default. Strings and node are borrowed. */
typedef struct cd_follower_cfg {
    cd_upstream *node;
    cd_ws_hub *hub;
    const char *ws_url; /* NULL: only asked over HTTP */
    u32 confirmations;
    bool is_final_only; /* blocks are given when they are at or below the node's `finalized`; no confirmations then */
    u32 poll_ms;        /* 1000 without a WebSocket, ten times as long with one that tells all there is to know */
    u32 trace_depth;
    bool has_cursor; /* the block that was done last; without one, the first given is the head */
    u64 cursor;
    cd_hash32 cursor_hash; /* zeros: any */
} cd_follower_cfg;

/* cd_follower_new begins to follow. Errors: those of cd_ws_dial_new. */
cd_err cd_follower_new(cd_follower **out, cd_loop *loop, const cd_follower_cfg *cfg, const cd_follower_events *events,
                       void *ctx, cd_errinfo *why) CD_CHECK;

/* cd_follower_stop ends it: no event follows, but blocks that were given stay until cd_follower_free (NULL is allowed).
 * Neither from within an event. The hub may be freed once it is empty. */
void cd_follower_stop(cd_follower *f);
void cd_follower_free(cd_follower *f);

/* cd_follower_update: what the owner wants may have changed; without it that is noticed with the next block or
 * question. NULL is allowed. */
void cd_follower_update(cd_follower *f);

/* cd_follower_done gives a block back. In the order in which they were given. */
void cd_follower_done(cd_follower *f, cd_follower_block *b);

/* Where a follower stands. */
typedef struct cd_follower_state {
    u64 head;       /* of the node, 0: not known yet */
    u64 limit;      /* the highest block that may be given */
    u64 given;      /* number of the last block that was given, or the cursor */
    bool is_pushed; /* the WebSocket is subscribed */
    bool is_heard;  /* it told its height when it was asked last, and is not behind */
    bool is_behind; /* its head is below what was given */
    bool is_stopped;
} cd_follower_state;
/* cd_follower_look tells where it is; confined to the loop as the rest. */
cd_follower_state cd_follower_look(const cd_follower *f);

#endif
