/* rpc/session.h - clients that stay: calls that may overtake each other, and subscriptions, over any transport.
 *
 *   message ──► request ──► lane ──► answer ───────────┐
 *   chain ──► note ──publish──► topic ──► listeners ──► queue ──► wire      one text, shared; only the id differs
 *
 * Sessions live on the thread of one loop, their home. Topics are published to from any thread. A client that does
 * not take its notifications fast enough is sent away with the place to go on from; nothing is skipped. Threading:
 * confined to the home loop, but for what says otherwise. [spec:eth-rpc#7] [spec:architecture#8] */
#ifndef CD_RPC_SESSION_H
#define CD_RPC_SESSION_H

#include "base/os/clock.h"
#include "net/ws/ws.h"
#include "rpc/jsonrpc.h"
#include "rpc/lane.h"

/* --- notifications --- */

/* The result of one notification, rendered once for all who are told. Frozen, counted atomically. */
typedef struct cd_rpc_note cd_rpc_note;

/* cd_rpc_note_new takes the result's JSON over. cursor names the place to read on from so that this notification
 * comes again (at most CD_RPC_CURSOR_MAX characters; "" when there is none). */
enum { CD_RPC_CURSOR_MAX = 63 };
cd_rpc_note *cd_rpc_note_new(cd_buf *result, const char *cursor);
cd_rpc_note *cd_rpc_note_ref(cd_rpc_note *n);
void cd_rpc_note_unref(cd_rpc_note *n);

/* A stream of notifications with any number of listeners. Counted atomically. */
typedef struct cd_rpc_topic cd_rpc_topic;

/* What a topic tells its publisher, on the home thread; each may be NULL. */
typedef struct cd_rpc_topic_events {
    void (*idle)(void *ctx, cd_rpc_topic *t);    /* the last listener has left */
    void (*drained)(void *ctx, cd_rpc_topic *t); /* cd_rpc_topic_pending came down to CD_RPC_TOPIC_LOW */
} cd_rpc_topic_events;
enum { CD_RPC_TOPIC_LOW = 64 };

/* cd_rpc_topic_new makes a topic whose listeners live on home. events (NULL allowed) and ctx stay as long as the
 * topic. */
cd_rpc_topic *cd_rpc_topic_new(cd_loop *home, const cd_rpc_topic_events *events, void *ctx);
cd_rpc_topic *cd_rpc_topic_ref(cd_rpc_topic *t);
void cd_rpc_topic_unref(cd_rpc_topic *t); /* NULL is allowed */

/* cd_rpc_topic_publish tells everybody who listens when it comes to the home thread; takes the reference of note. What
 * one thread publishes and moves stays in order, over all topics. Any thread. */
void cd_rpc_topic_publish(cd_rpc_topic *t, cd_rpc_note *note);

/* cd_rpc_topic_move lets the listeners of `from` go on with `to`: they get what `from` was told before and what `to`
 * is told afterwards. So somebody who had to catch up joins the others without a gap. Any thread. */
void cd_rpc_topic_move(cd_rpc_topic *from, cd_rpc_topic *to);

/* cd_rpc_topic_pending counts notifications that are published and not yet with the transport, over all listeners.
 * Whoever publishes from a store rather than live waits while there are many. Any thread. */
usize cd_rpc_topic_pending(const cd_rpc_topic *t);

/* cd_rpc_topic_is_idle: nobody listens. On the home thread. */
bool cd_rpc_topic_is_idle(const cd_rpc_topic *t);

/* cd_rpc_topic_after calls fn(ctx) on the home thread, behind everything that this thread published and moved
 * before. Any thread. */
void cd_rpc_topic_after(cd_rpc_topic *t, void (*fn)(void *ctx), void *ctx);

/* A kind of subscription, a row of the service. */
typedef struct cd_rpc_kind {
    const char *group; /* API group, as in a method's row */
    const char *space; /* "eth" */
    const char *name;  /* "newHeads" */
    u8 required;       /* parameters behind the name */
    u8 max;
    /* open checks the parameters (the first has index 1) and gives the topic to listen to, a reference of the caller's.
     * On the home thread, so as quick as a FAST method; call->out is not to be written to. */
    cd_err (*open)(cd_rpc_call *call, cd_rpc_topic **out);
    const char *schema; /* as of a method: the parameters behind the name, and what a notification holds */
    const char *summary;
} cd_rpc_kind;

/* --- sessions --- */

/* How a session reaches its client. */
typedef struct cd_rpc_wire {
    /* send sends one text message, head (copied, at most CD_WS_HEAD_MAX bytes) and behind it body (shared; may be
     * NULL). CD_EFULL: nothing was taken, cd_rpc_session_writable follows. CD_ECLOSED: cd_rpc_session_end follows. */
    cd_err (*send)(void *wire, cd_bytes head, cd_ws_payload *body);
    void (*cork)(void *wire); /* from now on sent bytes may wait, until */
    void (*uncork)(void *wire);
    void (*pause)(void *wire); /* no more messages, until */
    void (*resume)(void *wire);
    void (*close)(void *wire, u16 code, const char *reason); /* cd_rpc_session_end follows */
} cd_rpc_wire;

/* Zero in a number means its default, where one is given. */
typedef struct cd_rpc_hub_cfg {
    const cd_rpc_service *service;
    const cd_rpc_lanes *lanes;
    cd_loop *home;
    const cd_clock *clock; /* NULL: the machine's */
    usize queue_max;       /* 20000 notifications that wait for a client */
    usize queue_bytes;     /* 64 MiB of them and of answers */
    usize answers_max;     /* 256 MiB of answers that wait in all sessions: who lets one more wait is too slow */
    u32 subs_max;          /* 1000 subscriptions of a client: one more is refused, */
    u32 subs_all_max;      /* as is one more than 20000 of all */
    u32 calls_max;         /* 64 calls of a client at work: then it is not read from */
    u64 cpu_refill_ns;     /* ws-cpu-refill-rate: time for calls that a client gains a second; 0: no quota */
    u64 cpu_max_ns;        /* ws-cpu-max-stored: at most that much is saved up */
    void (*new_id)(void *ctx, u8 id[16]); /* makes the id of a subscription; NULL: random */
    void *id_ctx;
} cd_rpc_hub_cfg;

/* The sessions of one service, and what they share. */
typedef struct cd_rpc_hub cd_rpc_hub;
typedef struct cd_rpc_session cd_rpc_session;

/* cd_rpc_hub_new copies cfg. cd_rpc_hub_free: when no session is left; NULL is allowed. */
cd_rpc_hub *cd_rpc_hub_new(const cd_rpc_hub_cfg *cfg);
void cd_rpc_hub_free(cd_rpc_hub *h);

/* cd_rpc_hub_cnt counts sessions, those included whose client is gone but whose last call is not done. */
usize cd_rpc_hub_cnt(const cd_rpc_hub *h);

/* cd_rpc_session_new greets a client; foreign is the origin of the page of a stranger (origin.h), empty for others, and
 * is copied. */
cd_rpc_session *cd_rpc_session_new(cd_rpc_hub *h, const cd_rpc_wire *wire, void *wire_ctx, cd_bytes foreign);

/* cd_rpc_session_message serves what the client said; _writable: the wire takes messages again; _end: the client is
 * gone, and with it, as soon as its last call is done, the session. */
void cd_rpc_session_message(cd_rpc_session *s, cd_bytes text);
void cd_rpc_session_writable(cd_rpc_session *s);
void cd_rpc_session_end(cd_rpc_session *s);

/* cd_rpc_session_ask calls a method of the client with params, a JSON array. answered comes on the home thread: one of
 * result and error is CD_JSON_NONE, both when the client left. From the thread of a call of s, while it is served. */
void cd_rpc_session_ask(cd_rpc_session *s, const char *method, cd_bytes params,
                        void (*answered)(void *ctx, cd_json result, cd_json error), void *ctx);

#endif
