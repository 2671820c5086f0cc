/* net/ws/ws.h - WebSocket connections: whole messages in and out, on an upgraded HTTP connection.
 *
 *   http_server ─► cd_ws_accept ─► frames ─► inflate ─► UTF-8 ─► message ─► handler
 *   cd_ws_send ─► queue: (frame header + head) of its own, body shared ─► one writev for many messages
 *
 * One rendering for thousands: a payload is made once, by any thread, and sent to every connection by
 * reference; what differs per connection (a subscription id) is the head before it. It is compressed at
 * most once, too, because compression is only agreed on without context takeover: no connection keeps
 * a window, and an idle one holds no buffer at all.
 *
 * A slow reader: while queue_max bytes wait, or any and the queues of all hold output_max, cd_ws_send
 * takes nothing (CD_EFULL) and nothing more is read from that client; `drained` tells when half of it is
 * gone. Who cannot wait closes.
 *
 * A hub is the connections of one kind with their limits, their clock and what they share. Time-outs,
 * pings and the closing handshake run by themselves. Threading: confined to the hub's loop, except
 * making and releasing payloads. [RFC 6455, RFC 7692] */
#ifndef CD_NET_WS_H
#define CD_NET_WS_H

#include "base/mem/buf.h"
#include "net/http/server.h"

typedef struct cd_ws_hub cd_ws_hub;
typedef struct cd_ws cd_ws;
typedef struct cd_ws_payload cd_ws_payload;

/* Kinds of messages. */
typedef enum cd_ws_kind {
    CD_WS_TEXT = 1, /* valid UTF-8 */
    CD_WS_BINARY = 2,
} cd_ws_kind;

/* Reasons to close; 3000 to 4999 are the application's own. */
enum {
    CD_WS_NORMAL = 1000,
    CD_WS_GOING_AWAY = 1001,
    CD_WS_PROTOCOL = 1002,
    CD_WS_NO_CODE = 1005, /* told, never sent: the Close frame had no code */
    CD_WS_BROKEN = 1006,  /* told, never sent: the connection ended without a Close frame */
    CD_WS_BAD_DATA = 1007,
    CD_WS_POLICY = 1008,
    CD_WS_TOO_BIG = 1009,
    CD_WS_INTERNAL = 1011,
    CD_WS_TRY_LATER = 1013,
};

/* Zero in a number means its default. */
typedef struct cd_ws_cfg {
    usize message_max;   /* 32 MiB of one message, after inflating (1009) */
    u32 fragments_max;   /* 65536 frames of one message (1008) */
    usize input_max;     /* 512 MiB of unfinished messages of all connections (1013) */
    usize queue_max;     /* 16 MiB waiting for one connection */
    usize output_max;    /* 512 MiB of memory in all queues; what is shared counts once */
    u32 ping_ms;         /* 30000 without a word from the peer: ping */
    u32 pong_ms;         /* 30000 without an answer: cut */
    u32 write_ms;        /* 30000 for the peer to take one write of at most 1 MiB: cut */
    u32 close_ms;        /* 5000 for the peer's Close frame and for the end of the connection: cut */
    bool no_deflate;     /* never agree on permessage-deflate */
    const char *ca_file; /* PEM, whom servers must be certified by; NULL: the system's (borrowed) */
} cd_ws_cfg;

/* What a connection tells its owner, who may call everything here from within, save freeing the hub. */
typedef struct cd_ws_events {
    void (*message)(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data); /* borrowed for the call */
    void (*drained)(void *ctx, cd_ws *w);                                 /* after CD_EFULL; may be NULL */
    /* The last event: the Close frame's code and reason (borrowed), or CD_WS_BROKEN. w is gone. */
    void (*closed)(void *ctx, u16 code, cd_bytes reason);
} cd_ws_events;

/* cd_ws_hub_new copies cfg (NULL: all defaults). cd_ws_hub_free: when no connection is left; NULL is
 * allowed. */
cd_ws_hub *cd_ws_hub_new(cd_loop *loop, const cd_ws_cfg *cfg);
void cd_ws_hub_free(cd_ws_hub *h);

/* cd_ws_hub_count: open connections, those that are just being closed included. */
usize cd_ws_hub_count(const cd_ws_hub *h);

/* cd_ws_accept answers req, which its handler has not answered yet, with the opening handshake. What is
 * no such request gets 400, a web page that is not allowed 403; then, and when the connection broke, the
 * result is NULL and no event follows. events must stay, ctx until closed. No event before the handler
 * has returned. */
cd_ws *cd_ws_accept(cd_ws_hub *h, cd_http_req *req, const cd_ws_events *events, void *ctx);

/* cd_ws_payload_new copies the bytes of a message, cd_ws_payload_take takes them over from b, which is
 * empty afterwards. One reference is the caller's. Any thread, unref too (NULL is allowed). */
cd_ws_payload *cd_ws_payload_new(cd_bytes bytes);
cd_ws_payload *cd_ws_payload_take(cd_buf *b);
cd_ws_payload *cd_ws_payload_ref(cd_ws_payload *p);
void cd_ws_payload_unref(cd_ws_payload *p);

/* cd_ws_payload_bytes borrows the bytes of a payload. */
cd_bytes cd_ws_payload_bytes(const cd_ws_payload *p);

enum { CD_WS_HEAD_MAX = 1024 };

/* cd_ws_send sends one message: head (at most CD_WS_HEAD_MAX bytes, copied) and behind it body (may be
 * NULL), to which it takes a reference of its own. Text must be UTF-8.
 * Errors: CD_EFULL (see above; nothing was taken), CD_ECLOSED (closing or broken; `closed` comes). */
cd_err cd_ws_send(cd_ws *w, cd_ws_kind kind, cd_bytes head, cd_ws_payload *body) CD_CHECK;

/* cd_ws_send_bytes is cd_ws_send of a message for this connection alone, copied. */
cd_err cd_ws_send_bytes(cd_ws *w, cd_ws_kind kind, cd_bytes message) CD_CHECK;

/* Between cork and uncork, messages are queued and leave together with one system call; calls nest.
 * Within the event `message` this is always so. */
void cd_ws_cork(cd_ws *w);
void cd_ws_uncork(cd_ws *w);

/* cd_ws_queued: bytes that wait for the peer. */
usize cd_ws_queued(const cd_ws *w);

/* cd_ws_pause stops giving messages, and soon reading; cd_ws_resume goes on. Both may be repeated. */
void cd_ws_pause(cd_ws *w);
void cd_ws_resume(cd_ws *w);

/* cd_ws_close sends a Close frame behind what is queued (reason: at most 123 bytes of UTF-8, longer ones
 * are cut at a character) and ends the connection when the peer has answered or close_ms are over. No
 * message is given any more. Repeating it does nothing. */
void cd_ws_close(cd_ws *w, u16 code, cd_bytes reason);

/* cd_ws_abort ends the connection without a word. */
void cd_ws_abort(cd_ws *w);

#endif
