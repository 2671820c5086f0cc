/* net/http/sse.h - Server-Sent Events: what happens, told to every page that listens.
 *
 *   cd_sse_send ─► "id: 7f3a-12\nevent: price\ndata: {...}\n\n" ─┬─► kept for a while, for who comes back
 *                                                                 └─► every listener that wants the topic
 *
 * An event is made once. A listener that comes back says with Last-Event-ID what it has seen and gets what it
 * missed, or the event "gap" when that is no longer kept (or was another run's): it should read the present
 * state anew. Silence is broken by a comment, so that nothing between here and the page takes the connection
 * for dead. A listener whose queue is full is cut off; it comes back by itself.
 * Threading: confined to the loop. [WHATWG HTML, 9.2] */
#ifndef CD_NET_HTTP_SSE_H
#define CD_NET_HTTP_SSE_H

#include "net/http/server.h"

typedef struct cd_sse cd_sse;

/* Zero in a number means its default. */
typedef struct cd_sse_cfg {
    u32 listeners_max; /* 1000; beyond it 503 */
    usize kept_max;    /* 256 KiB of events for those who come back */
    usize queue_max;   /* 64 KiB that a listener has not taken */
    u32 beat_ms;       /* 15000 of silence before a comment */
    u32 retry_ms;      /* 3000: when to come back, told to each listener */
} cd_sse_cfg;

/* cd_sse_new: epoch names this run, so that ids of another are known as such (a time will do). */
cd_sse *cd_sse_new(cd_loop *loop, const cd_sse_cfg *cfg, u64 epoch);

/* cd_sse_free ends what listens; before the loop ends, and after the server has stopped. NULL is allowed. */
void cd_sse_free(cd_sse *e);

/* Does a listener want this topic? ctx is the listener's own. */
typedef bool cd_sse_wants(const void *ctx, u64 topic);

/* cd_sse_listen answers r, a GET, with events from now on (or from Last-Event-ID on). wants NULL: all of
 * them. ctx is memory of cd_alloc or NULL, taken, and released with cd_free when the listener is gone. Only
 * by the handler before it returns; the request is gone. False: there are listeners_max of them, nothing was
 * taken and r is still to be answered. */
bool cd_sse_listen(cd_sse *e, cd_http_req *r, cd_sse_wants *wants, void *ctx);

/* cd_sse_send tells an event: name (no line ends; "" is the default name), and data, whose lines become lines
 * of the event. */
void cd_sse_send(cd_sse *e, u64 topic, const char *name, cd_bytes data);

/* cd_sse_cnt: how many listen. */
usize cd_sse_cnt(const cd_sse *e);

#endif
