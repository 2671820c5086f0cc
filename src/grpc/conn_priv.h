/* grpc/conn_priv.h - one HTTP/2 connection of gRPC, either side of it: bytes, streams, windows, pings.
 *
 *   socket ─► nghttp2 ─► open, header, head_end, data, end, closed      (per stream, to server.c or client.c)
 *   socket ◄─ writev ◄── frame heads, bodies from where they lie ◄── request, respond, reset
 *
 * The only file of this library that knows nghttp2. Nothing of what is sent is copied unless it is small; windows are
 * wide, because a message has to be taken whole anyway and is bounded by its own limits. Threading: confined. */
#ifndef CD_GRPC_CONN_PRIV_H
#define CD_GRPC_CONN_PRIV_H

#include "base/table/list.h"
#include "grpc/msg_priv.h"
#include "net/loop.h"

typedef struct cd__grpc_conn cd__grpc_conn;

/* A header field. */
typedef struct cd__grpc_field {
    cd_bytes name; /* in lower case */
    cd_bytes value;
} cd__grpc_field;

/* A stream; a member of the struct that its owner keeps for a call. */
typedef struct cd__grpc_stream {
    cd_list link;
    cd__grpc_conn *conn; /* NULL: the stream is not begun, or is closed */
    i32 id;
    usize header_bytes;
    cd__grpc_msg in;
    cd_buf out;
    usize out_at; /* bytes sent so far, of the message's head and out; starts behind that head when out is no message */
    cd__grpc_field *fields; /* trailers, which follow out; NULL: none */
    usize fields_cnt;
    bool has_body;
    bool has_ended; /* the peer sends no more on it */
    bool is_sent;   /* its HEADERS were given to the socket */
} cd__grpc_stream;

/* What a connection tells its owner. Any of them may begin something on the connection, or close it. */
typedef struct cd__grpc_conn_events {
    /* A peer opens a stream: a new one, or NULL to refuse it. Servers only. */
    cd__grpc_stream *(*open)(void *ctx);
    void (*header)(void *ctx, cd__grpc_stream *st, cd_bytes name, cd_bytes value, bool is_trailer);
    /* All fields of a head are there; is_last: no body follows. */
    void (*head_end)(void *ctx, cd__grpc_stream *st);
    void (*data)(void *ctx, cd__grpc_stream *st, cd_bytes data);
    void (*end)(void *ctx, cd__grpc_stream *st);
    /* The stream is over and st the owner's again; code as in RST_STREAM, 0: in order. st->out is empty, except for
     * REFUSED: the peer did nothing with the call, and st->out is kept for another attempt. */
    void (*closed)(void *ctx, cd__grpc_stream *st, i32 code);
    /* All events of this turn of the loop have been told. */
    void (*after)(void *ctx);
    /* The connection is closed, after all its streams; conn must not be used any more. */
    void (*gone)(void *ctx);
} cd__grpc_conn_events;

/* Limits of a connection. */
typedef struct cd__grpc_conn_cfg {
    bool is_server;
    u32 streams_max; /* streams that the peer may open at a time */
    usize header_max;
    u32 ping_ms;          /* silence after which a ping is sent; 0: never */
    u32 ping_timeout_ms;  /* for the answer to a ping */
    u32 write_timeout_ms; /* for the peer to take something of what waits */
} cd__grpc_conn_cfg;

/* Reasons to reset a stream, as HTTP/2 numbers them [RFC 9113 7]. */
enum {
    CD__GRPC_RST_NONE = 0,
    CD__GRPC_RST_PROTOCOL = 1,
    CD__GRPC_RST_REFUSED = 7,
    CD__GRPC_RST_CANCEL = 8,
    CD__GRPC_RST_CALM = 11,
    CD__GRPC_RST_SECURITY = 12,
    CD__GRPC_RST_BROKEN = -1, /* not a code of HTTP/2: the connection is gone */
};

/* cd__grpc_conn_new begins HTTP/2 on a connection of TCP, which it takes. */
cd__grpc_conn *cd__grpc_conn_new(cd_loop *l, cd_tcp *tcp, const cd__grpc_conn_cfg *cfg,
                                 const cd__grpc_conn_events *events, void *ctx);

/* cd__grpc_conn_request opens a stream with a message, st->out. False: the connection takes no more. */
bool cd__grpc_conn_request(cd__grpc_conn *c, cd__grpc_stream *st, const cd__grpc_field *fields, usize cnt);

/* cd__grpc_conn_respond answers: head, then st->out as message if has_body, then trailers (st->fields), all of which
 * stay st's until closed. Without a body the head is all there is. */
void cd__grpc_conn_respond(cd__grpc_stream *st, const cd__grpc_field *fields, usize cnt);

/* cd__grpc_conn_reset ends a stream at once; closed follows, from a later round. */
void cd__grpc_conn_reset(cd__grpc_stream *st, i32 code);

/* cd__grpc_conn_stop lets streams finish, takes no new ones and closes then. */
void cd__grpc_conn_stop(cd__grpc_conn *c);

/* cd__grpc_conn_close ends the connection: closed for each stream before it returns, gone in a later round. */
void cd__grpc_conn_close(cd__grpc_conn *c);

/* cd__grpc_conn_is_open: new streams may be begun. */
bool cd__grpc_conn_is_open(const cd__grpc_conn *c);

#endif
