/* net/http/http2.h - the server's half of one HTTP/2 connection: bytes to requests, answers to bytes. No I/O.
 *
 *   feed ─► [head] ─► [body ...] ─► request(stream) ─► cd_http2_answer, now or later ─► take ─► bytes
 *
 * Requests of one connection run at the same time, at most streams_max of them: those whose client has
 * reset the stream but whose handler is still at work count too, so that resetting gains nothing. Answers
 * are framed as the client's windows and the socket allow; a body is kept once and copied piece by piece.
 * Frames that bring nothing (pings, settings, resets, empty data, tiny windows) cost credit that real work
 * and time bring back; without credit the connection ends with ENHANCE_YOUR_CALM. The only file that knows
 * nghttp2. Threading: confined. [RFC 9113, RFC 7541] */
#ifndef CD_NET_HTTP2_H
#define CD_NET_HTTP2_H

#include "net/http/msg.h"

typedef struct cd_http2 cd_http2;
typedef struct cd_http2_stream cd_http2_stream;

/* What a connection tells its owner and asks of it. */
typedef struct cd_http2_events {
    /* The head of m is there and a body comes: its largest size. */
    usize (*body_max)(void *ctx, const cd_http_msg *m);
    /* May the connection keep so many bytes more? A request that needs them is refused with 503 when not. Must not
     * call back, but for cd_http2_kept and its like. NULL: it may. */
    bool (*may_keep)(void *ctx, usize more);
    /* st has a request, or one that must be refused: answer it exactly once with cd_http2_answer. Comes
     * from feed, take and sweep only. */
    void (*request)(void *ctx, cd_http2_stream *st);
    /* The client has taken all that was put into the open answer of st. Must not call back. */
    void (*drained)(void *ctx, cd_http2_stream *st);
    /* The open answer of st can be sent no further: end it. Must not call back. */
    void (*gone)(void *ctx, cd_http2_stream *st);
} cd_http2_events;

/* Limits of a connection. */
typedef struct cd_http2_cfg {
    u32 streams_max;
    usize header_max;      /* bytes of names, values and 32 for each, as RFC 9113 counts (431) */
    usize buffered_max;    /* of requests and answers together, heads included; a request beyond it gets 503,
                              answers beyond it hold up the requests that wait */
    u32 header_timeout_ms; /* to the first request */
    u32 read_timeout_ms;   /* longest time of a request, from its first byte (408) */
    u32 write_timeout_ms;  /* for an answer to be taken */
    u32 idle_timeout_ms;   /* between requests */
} cd_http2_cfg;

enum { CD_HTTP2_PREFACE_LEN = 24 };

/* What a client says first: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n". */
extern const char cd_http2_preface[CD_HTTP2_PREFACE_LEN + 1];

/* cd_http2_new begins with the client's preface still to come. Times are those of any monotonic clock. */
cd_http2 *cd_http2_new(const cd_http2_cfg *cfg, const cd_http2_events *events, void *ctx, u64 now_ms);

/* cd_http2_free ends h. Streams that wait for their answer stay until they get it. NULL is allowed. */
void cd_http2_free(cd_http2 *h);

/* cd_http2_upgrade makes a request of HTTP/1.1 that asked for "h2c" stream 1. settings is the value of its
 * HTTP2-Settings header. m is taken (moved from) on success. Right after cd_http2_new.
 * Errors: CD_EFORMAT when settings are none. */
cd_err cd_http2_upgrade(cd_http2 *h, cd_http_msg *m, cd_bytes settings) CD_CHECK;

/* cd_http2_feed reads what the client sent. */
void cd_http2_feed(cd_http2 *h, cd_bytes in, u64 now_ms);

/* cd_http2_take appends to out what is to be sent, until out holds max bytes or a little more. Call it
 * after anything that may have made work: feed, answer, sweep, stop. */
void cd_http2_take(cd_http2 *h, cd_buf *out, usize max, u64 now_ms);

/* cd_http2_sweep ends what has taken too long; to be called every now and then. */
void cd_http2_sweep(cd_http2 *h, u64 now_ms);

/* cd_http2_stop lets running requests finish and takes no new ones. */
void cd_http2_stop(cd_http2 *h);

/* cd_http2_is_idle: there is no request, nor a part of one. */
bool cd_http2_is_idle(const cd_http2 *h);

/* cd_http2_is_over: once everything is taken, the connection can be closed. */
bool cd_http2_is_over(const cd_http2 *h);

/* cd_http2_is_crowded: so much waits to be sent that the client should not be listened to. */
bool cd_http2_is_crowded(const cd_http2 *h);

/* cd_http2_kept: all bytes that h keeps for the client: streams, heads and bodies of requests, answers, frames that
 * wait, tables of header compression. cd_http2_unfinished: of it, what nobody works on, answers included;
 * cd_http2_waiting_answers: bytes of answers that are not sent yet. */
usize cd_http2_kept(const cd_http2 *h);
usize cd_http2_unfinished(const cd_http2 *h);
usize cd_http2_waiting_answers(const cd_http2 *h);

/* What was asked. Until the answer. */
const cd_http_msg *cd_http2_msg(const cd_http2_stream *st);

/* cd_http2_refusal gives the status with which to refuse st (408, 413, 431, 503) and one sentence without
 * a line end; 0: nothing is wrong with it. */
u32 cd_http2_refusal(const cd_http2_stream *st, const char **text);

/* An answer. Field lines are "Name: value\r\n", one behind the other; names become lower case, and those
 * that only HTTP/1 knows are left out. */
typedef struct cd_http2_reply {
    u32 status;
    cd_bytes lines;
    cd_bytes trailers; /* lines behind the body; empty: none */
    cd_buf *body;      /* its contents are taken; NULL: none */
} cd_http2_reply;

/* cd_http2_answer ends the caller's use of st. */
void cd_http2_answer(cd_http2_stream *st, const cd_http2_reply *reply, u64 now_ms);

/* An answer whose body comes piece by piece: _open instead of cd_http2_answer (without body and trailers),
 * _put for each piece, and _end or _cancel, which end the caller's use of st; the latter tells the client that
 * the answer is not complete. The time to take an answer runs while something waits, and starts again with
 * each byte that is taken. cd_http2_waiting: bytes that are not sent yet. */
void cd_http2_open(cd_http2_stream *st, const cd_http2_reply *reply, u64 now_ms);
void cd_http2_put(cd_http2_stream *st, cd_bytes bytes, u64 now_ms);
usize cd_http2_waiting(const cd_http2_stream *st);
void cd_http2_end(cd_http2_stream *st, u64 now_ms);
void cd_http2_cancel(cd_http2_stream *st, u64 now_ms);

#endif
