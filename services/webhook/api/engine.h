/* services/webhook/api/engine.h - what the management interfaces and pages want from the engine.
 *
 * A narrow table of calls which the program fills in, so that faces are tested without a chain or receivers.
 * Answers come through the given function, on the loop, once, at the earliest during the call.
 * Threading: confined to the loop, except chain, which is called from any thread. [spec:webhooks#2] */
#ifndef CD_WEBHOOK_API_ENGINE_H
#define CD_WEBHOOK_API_ENGINE_H

#include "base/mem/arena.h"
#include "services/webhook/core/model.h"

/* refusal: why this address may not be used; NULL: it may. */
typedef void cd_wh_checked_fn(void *arg, const char *refusal);

/* What a receiver said to a test event; NULL: it could not be made (why says so). Borrowed for the call. */
typedef void cd_wh_tested_fn(void *arg, const cd_wh_attempt *attempt, const cd_bytes *body, const char *why);

/* What a filter would have matched. */
typedef struct cd_wh_previewed {
    u64 blocks, matched_blocks, events; /* looked at, with matches, matches */
    const cd_bytes *bodies;             /* the newest few */
    usize bodies_cnt;
} cd_wh_previewed;
/* p NULL: it could not be found out, for this reason. Borrowed for the call. */
typedef void cd_wh_previewed_fn(void *arg, const cd_wh_previewed *p, const char *why);

/* Where a chain stands. */
typedef struct cd_wh_head {
    const char *chain;
    u64 height; /* last block whose events are in the ledger */
    u64 lag;    /* blocks that the node has beyond it */
    bool is_connected;
    char problem[160]; /* why it is not ready, for people; "" */
} cd_wh_head;

/* What the interface asks of the engine behind it; NULL members: it cannot. */
typedef struct cd_wh_engine {
    void *ctx;
    /* Why the store takes nothing, "" when it does. NULL: nobody knows. */
    const char *(*trouble)(void *ctx);
    /* The name of a followed chain, by name or number; NULL: not followed. Any thread. */
    const char *(*chain)(void *ctx, cd_bytes name);
    /* The idx-th chain; false: there are no more. */
    bool (*head)(void *ctx, cd_wh_head *out, usize idx);
    /* For a project, whose look-ups of names wait for its own alone. */
    void (*check_url)(void *ctx, const char *project, const char *url, cd_wh_checked_fn *fn, void *arg);
    /* A webhook was made or changed (with its lists), is gone; something waits that did not before. */
    void (*changed)(void *ctx, const cd_wh_hook *hook);
    void (*gone)(void *ctx, i64 hook);
    void (*due)(void *ctx);
    void (*test)(void *ctx, const cd_wh_hook *hook, cd_wh_type type, cd_wh_tested_fn *fn, void *arg);
    /* The body of a made-up event, in mem. Any thread. */
    cd_bytes (*example)(void *ctx, cd_arena *mem, const cd_wh_hook *hook, cd_wh_type type);
    void (*preview)(void *ctx, const cd_wh_hook *hook, u32 blocks, cd_wh_previewed_fn *fn, void *arg);
} cd_wh_engine;

#endif
