/* net/ws/ws_priv.h - one WebSocket connection over any transport; shared by the files of ws. */
#ifndef CD_NET_WS_PRIV_H
#define CD_NET_WS_PRIV_H

#include "base/table/list.h"
#include "base/utf8.h"
#include "net/ws/deflate.h"
#include "net/ws/frame.h"
#include "net/ws/ws.h"

enum { CD__WS_SCRATCH = 64 * 1024 }; /* input that is unmasked at a time */

/* What carries the bytes; the functions are those of cd_tcp (net/loop.h). */
typedef struct cd__ws_io {
    cd_err (*write)(void *io, const cd_bytes *parts, usize cnt);
    void (*pause)(void *io);
    void (*resume)(void *io);
    void (*shutdown)(void *io);
    void (*close)(void *io);
} cd__ws_io;

typedef enum cd__ws_state {
    CD__WS_OPEN,
    CD__WS_CLOSING, /* our Close frame is queued or sent, the peer's is awaited */
    CD__WS_ENDING,  /* no more input counts; what is queued goes out, then the connection ends */
    CD__WS_DEAD,    /* the transport is being closed */
} cd__ws_state;

/* One frame in the queue: bytes of its own, then borrowed ones of body. */
typedef struct cd__ws_out {
    struct cd__ws_out *next;
    cd_ws_payload *body;
    cd_bytes tail;
    usize head_n;
    u8 head[];
} cd__ws_out;

struct cd_ws {
    cd_list link;  /* in hub->conns */
    cd_list ready; /* in hub->ready while input waits to be looked at */
    cd_ws_hub *hub;
    const cd_ws_events *events;
    void *ctx;
    const cd__ws_io *ops;
    void *io;
    cd__ws_state state;
    u64 heard_ms; /* the peer's last word */
    u64 end_ms;   /* when to cut a connection that closes; 0: its queue is not empty */
    bool is_pinged;
    bool has_ended; /* the peer sends no more */

    /* in: a frame, within a message */
    cd_ws_rules rules;
    bool is_paused;
    bool is_io_paused;
    bool in_payload; /* the payload of frame is being read, else its header */
    bool in_message;
    bool is_deflated; /* the message */
    u8 head_n;
    u8 head[CD_WS_FRAME_HEAD_MAX];
    u8 control[CD_WS_CONTROL_MAX];
    cd_ws_frame frame;
    u64 frame_at;
    cd_ws_kind kind;
    u32 fragments;
    cd_utf8 utf8;
    cd_ws_inflater *inflater;
    cd_buf msg;
    usize held;  /* bytes that this connection has in hub->held */
    cd_buf kept; /* arrived while nothing was looked at; from kept_at on */
    usize kept_at;

    /* out */
    u32 window_bits; /* log2 of the window of what is sent; 0: never compressed */
    u32 corks;
    cd__ws_out *first, *last;
    usize sent;   /* bytes of *first that are sent */
    usize flying; /* bytes the transport has borrowed */
    usize queued;
    u64 write_ms; /* when they began to fly */
    bool is_full; /* CD_EFULL was answered */

    u16 code; /* why it ended; 0: not known yet */
    u8 reason_n;
    u8 reason[CD_WS_CONTROL_MAX - 2];
};

struct cd_ws_hub {
    cd_loop *loop;
    cd_ws_cfg cfg;
    cd_list conns;
    usize conns_cnt;
    cd_list ready;
    cd_timer *feed; /* looks at the input of the ready ones, outside of any event */
    cd_timer *sweep;
    u64 sweep_ms;
    usize held;    /* memory of unfinished messages */
    usize waiting; /* memory in the queues */
    cd_ws_deflater *deflater;
    cd_ws_inflater *spare; /* an inflater kept for the next compressed message of any connection */
    u8 *scratch;           /* unmasked input of the event that is being handled */
    cd_tls *tls;           /* to servers; NULL: none was needed yet */
};

/* cd__ws_new makes an open connection on a transport that works: the opening handshake is over. */
cd_ws *cd__ws_new(cd_ws_hub *h, cd_ws_rules rules, u32 window_bits, const cd_ws_events *events, void *ctx);

/* cd__ws_attach names the transport; cd__ws_drop is its counterpart for one that never came. */
void cd__ws_attach(cd_ws *w, const cd__ws_io *ops, void *io);
void cd__ws_drop(cd_ws *w);

/* What the transport tells, as cd_tcp_events does. */
void cd__ws_on_data(cd_ws *w, cd_bytes data);
void cd__ws_on_end(cd_ws *w, cd_err err);
void cd__ws_on_written(cd_ws *w, cd_err err);
void cd__ws_on_closed(cd_ws *w);

/* ws_in.c: cd__ws_pump looks at input until it is used up or something is in the way, and gives the rest;
 * cd__ws_is_blocked: it would not look at any. cd__ws_message_drop forgets the unfinished message. */
cd_bytes cd__ws_pump(cd_ws *w, cd_bytes in);
bool cd__ws_is_blocked(const cd_ws *w);
void cd__ws_message_drop(cd_ws *w);

/* cd__ws_fail: the peer broke the rules; it is told, and not listened to any longer. cd__ws_peer_close
 * takes its Close frame. */
void cd__ws_fail(cd_ws *w, u16 code, const char *text);
void cd__ws_peer_close(cd_ws *w, cd_bytes payload);

/* ws_out.c: cd__ws_put queues one frame: head and tail are its payload, tail lies in body. */
void cd__ws_put(cd_ws *w, const cd_ws_frame *frame, cd_bytes head, cd_ws_payload *body, cd_bytes tail);

/* cd__ws_flush writes what is queued, as far as the transport takes it. */
void cd__ws_flush(cd_ws *w);

/* cd__ws_is_full: nothing more is taken for the queue; cd__ws_has_room: it is well below that. */
bool cd__ws_is_full(const cd_ws *w);
bool cd__ws_has_room(const cd_ws *w);

/* cd__ws_queue_fini drops what is queued. */
void cd__ws_queue_fini(cd_ws *w);

/* cd__ws_flushed: the queue has become shorter (ws.c). */
void cd__ws_flushed(cd_ws *w);

#endif
