/* net/http/stream.h - an answer that goes on: pieces written while the client reads them.
 *
 *   handler ─► cd_http_req_stream ─► write, write ... ─► end ─┐
 *                                      client gone ───────────┴─► closed
 *
 * HTTP/1.1 gets chunks and then the end of the connection, HTTP/1.0 the bytes alone, HTTP/2 frames as its
 * windows allow. What the client has not taken waits in a queue of at most queue_max bytes; a client that
 * takes nothing of it for the server's write_timeout_ms is cut off. Streams do not outlive the server's
 * stop, which ends them. Nothing is compressed. Threading: confined to the loop. */
#ifndef CD_NET_HTTP_STREAM_H
#define CD_NET_HTTP_STREAM_H

#include "net/http/server.h"

typedef struct cd_http_stream cd_http_stream;

/* What a stream tells its owner. */
typedef struct cd_http_stream_events {
    void (*drained)(void *ctx); /* all is taken, after a write was refused; NULL: not wanted */
    void (*closed)(void *ctx);  /* the last callback, in a round of its own; the stream is gone */
} cd_http_stream_events;

/* cd_http_req_stream answers with status, content type and the added header lines, and begins the body.
 * Only by the handler before it returns, for a method whose answer has a body. The request is gone
 * afterwards, in any case; NULL when the connection broke. queue_max 0: 256 KiB. */
cd_http_stream *cd_http_req_stream(cd_http_req *r, u32 status, const char *content_type, usize queue_max,
                                   const cd_http_stream_events *events, void *ctx);

/* cd_http_stream_write sends bytes, which are copied. Nothing is taken on failure.
 * Errors: CD_EFULL when more than queue_max bytes would wait, CD_EIO when the client is gone. */
cd_err cd_http_stream_write(cd_http_stream *s, cd_bytes bytes) CD_CHECK;

/* cd_http_stream_waiting: bytes that the client has not taken yet. */
usize cd_http_stream_waiting(const cd_http_stream *s);

/* cd_http_stream_end completes the answer once what waits is sent; _cut breaks it off, so that the client
 * sees that it is not complete. Nothing is written afterwards; `closed` follows. Both may be repeated. */
void cd_http_stream_end(cd_http_stream *s);
void cd_http_stream_cut(cd_http_stream *s);

#endif
