/* net/redis.h - one connection to a Valkey or Redis server, kept up, with a deadline for every answer.
 *
 * Calls are answered in order. A server that does not answer within timeout_ms is taken for gone: all calls that
 * wait end without an answer, and the connection is made anew after a pause (100 ms, doubling up to 5 s). While
 * there is none, calls end without an answer too: nobody waits longer than timeout_ms. Plain TCP only; names are
 * looked up by another thread. Wraps hiredis; no other file knows it. Threading: confined to the loop. */
#ifndef CD_NET_REDIS_H
#define CD_NET_REDIS_H

#include "net/loop.h"

typedef struct cd_redis cd_redis;

/* Which server, and how long it is waited for. */
typedef struct cd_redis_cfg {
    const char *url;                           /* redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], or valkey:// */
    u32 timeout_ms;                            /* 0: 250 */
    void (*changed)(void *ctx, bool is_there); /* the connection stands, or is lost; NULL */
    void *ctx;
} cd_redis_cfg;

/* cd_redis_open begins to connect. Errors: CD_EINVAL (URL; the message does not show it), CD_EUNSUPPORTED
 * (rediss://). */
cd_err cd_redis_open(cd_redis **out, cd_loop *l, const cd_redis_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_redis_close: calls that wait are told that there is no answer. NULL is allowed. */
void cd_redis_close(cd_redis *r);

/* cd_redis_is_there: the connection stands, and the server has let us in. */
bool cd_redis_is_there(const cd_redis *r);

/* Types of replies. */
typedef enum cd_redis_kind {
    CD_REDIS_NIL,
    CD_REDIS_INT,
    CD_REDIS_TEXT, /* a string or a status */
    CD_REDIS_ARRAY,
    CD_REDIS_ERROR,
} cd_redis_kind;

typedef struct cd_redis_reply cd_redis_reply;

/* What a reply holds, borrowed for the call: its kind; text of TEXT and ERROR; a number; elements of an ARRAY. */
cd_redis_kind cd_redis_kind_of(const cd_redis_reply *v);
cd_bytes cd_redis_text(const cd_redis_reply *v);
i64 cd_redis_int(const cd_redis_reply *v);
usize cd_redis_len(const cd_redis_reply *v);
const cd_redis_reply *cd_redis_at(const cd_redis_reply *v, usize idx);

/* reply NULL: no answer. */
typedef void cd_redis_fn(void *ctx, const cd_redis_reply *reply);

/* cd_redis_call sends a command of cnt words; fn (NULL: nobody wants to know) is called once, never before this
 * returns. */
void cd_redis_call(cd_redis *r, const cd_bytes *words, usize cnt, cd_redis_fn *fn, void *ctx);

#endif
