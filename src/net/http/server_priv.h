/* net/http/server_priv.h - how the parts of the server fit together.
 *
 *   http_server      addresses, connections, time, stopping; a connection that left HTTP
 *   http_server_h1   one connection of HTTP/1   ─┐ each makes requests (cd_http_req) and
 *   http_server_h2   one connection of HTTP/2   ─┴ knows how to send their answers
 *   http_server_req  what is done with a request, whatever brought it: access, routes, answers
 *   http_stream      an answer that goes on; one of HTTP/1 takes the connection along
 *
 * A connection is a socket and the protocol that is spoken on it now, which can change: it begins as
 * HTTP/1 unless TLS agreed on HTTP/2. Threading: confined, as net/http/server.h. */
#ifndef CD_NET_HTTP_SERVER_PRIV_H
#define CD_NET_HTTP_SERVER_PRIV_H

#include "base/table/list.h"
#include "base/thread/thread.h"
#include "net/http/access.h"
#include "net/http/http2.h"
#include "net/http/server.h"
#include "net/http/stream.h"

enum {
    CD__HTTP_LINGER_MS = 2000, /* for a client to read the last answer before the connection is cut */
    CD__HTTP_LISTENERS_MAX = 20,
    CD__HTTP_KEEP_MAX = 64 * 1024, /* memory an answer may leave to the next one */
    CD__HTTP_SHORT = 16 * 1024,    /* a request of so many bytes is always taken */
};
_Static_assert(1 + CD_SPLICE_PIECES_MAX <= CD_TCP_PARTS_MAX, "an answer is one write");

#define CD__HTTP_NEVER UINT64_MAX

typedef struct cd_http_up cd__http_conn;

struct cd_http_up {
    cd_list link;
    cd_http_server *server;
    cd_tcp *tcp;
    const cd_http_up_events *protocol;
    void *ctx;      /* argument of the protocol's functions */
    u64 idle_ms;    /* since when it waits for a request, by the loop's clock; 0: it does not */
    u64 writing_ms; /* since when the client has an answer to take; 0: it has not */
    u64 free_ms;    /* since when neither a request of it is at work nor an answer waits; 0: one does */
    usize held;     /* bytes of requests and answers */
    bool is_secure; /* TLS lies below */
    bool is_up;     /* it has left HTTP */
    bool is_closed;
};

/* What a protocol does with a request of its own. */
typedef struct cd__http_req_ops {
    /* The answer is there: send it if the client still is. r is the protocol's again. On the loop. */
    void (*answer)(cd_http_req *r);
    bool (*is_local)(const cd_http_req *r);
    u16 (*port)(const cd_http_req *r); /* NULL: it came by none */
    void (*peer)(const cd_http_req *r, char out[CD_TCP_PEER_MAX]);
    bool (*offers_upgrade)(const cd_http_req *r, const char *protocol);
    cd_http_up *(*upgrade)(cd_http_req *r, const char *protocol, const cd_http_up_events *events, void *ctx);
    /* Answers with the head of a stream, of which *pub tells. NULL when the connection broke. */
    cd_http_stream *(*stream)(cd_http_req *r, const cd_http_stream *pub);
} cd__http_req_ops;

/* What a protocol does with a stream of its own. */
typedef struct cd__http_stream_ops {
    void (*write)(cd_http_stream *s, cd_bytes bytes);
    usize (*waiting)(const cd_http_stream *s);
    void (*end)(cd_http_stream *s);
    void (*cut)(cd_http_stream *s);
} cd__http_stream_ops;

/* The first member of a protocol's own struct. */
struct cd_http_stream {
    const cd__http_stream_ops *ops;
    const cd_http_stream_events *events;
    void *ctx;
    usize queue_max;
    bool is_full; /* a write was refused */
    bool is_over; /* nothing more is written */
};

/* The first member of a protocol's own struct. */
struct cd_http_req {
    cd_loop_task task;
    cd_http_server *server;
    const cd__http_req_ops *ops;
    const cd_http_msg *msg;
    cd_buf lines;    /* more header lines of the answer */
    bool is_coded;   /* they say what coding the body has, or may have */
    cd_buf trailers; /* lines behind its body */
    cd_buf out;      /* body of the answer, as far as it is not shared */
    cd_splices splices;
    void (*over)(void *ctx); /* cd_http_req_watch; NULL: nobody wants to know */
    void *over_ctx;
    usize coming;     /* bytes of the answer, while the loop has not seen it and it is large */
    usize left_bytes; /* bytes that are still counted after the connection has gone */
    u32 status;
    bool is_stream; /* the body comes piece by piece */
    char content_type[96];
};

typedef struct cd__http_route {
    cd_http_route pub;
    char *path;
    usize path_n;   /* without the star */
    bool is_prefix; /* ended in a star: all that is below it */
} cd__http_route;

typedef struct cd__http_listener {
    cd_http_server *server;
    cd_listener *listener;
    cd_tls *tls; /* NULL: none */
} cd__http_listener;

struct cd_http_server {
    cd_loop *loop;
    cd_http_cfg cfg;
    char *extra_headers;
    cd_http_access *access;
    cd__http_listener listeners[CD__HTTP_LISTENERS_MAX];
    usize listeners_cnt;
    cd__http_route *routes;
    usize routes_cnt;
    cd_list conns;
    usize conns_cnt;
    u64 crowded;          /* connections that found all places taken */
    usize held;           /* requests whose answer is awaited */
    usize held_bytes;     /* bytes that all connections hold */
    cd_mutex coming_lock; /* protects coming */
    cd_cond coming_less;
    usize coming;             /* bytes of large answers that other threads have made and the loop has not seen */
    cd__http_conn *large;     /* whose body may be larger than all may hold; NULL: nobody's is */
    cd_http_req *dispatching; /* the handler that runs on the loop has not answered it yet */
    cd_timer *sweep;
    u64 sweep_ms;
    bool is_sweeping;
    bool is_stopping;
    cd_timer *grace;
    cd_timer *up_grace;
    void (*done)(void *ctx);
    void *done_ctx;
    u64 date_s;
    char date[CD_HTTP_DATE_LEN];
};

/* http_server: cd__http_conn_close ends c; its protocol hears `closed` in a later round. May be repeated.
 * cd__http_check_done ends a stop when nothing is left; the server may be gone afterwards. */
void cd__http_conn_close(cd__http_conn *c);

/* cd__http_hold says how many bytes of requests and answers c holds now; when all hold too much, connections are
 * closed: those with an answer that waits for longest, c perhaps among them, then others that have nothing at work.
 * cd__http_is_full: no more should be taken in. cd__http_may_hold: as many bytes of c leave room for all.
 * cd__http_seat_large: c has a body beyond the server's size; if it is the only one, what it holds does not count among
 * what all may hold until it is done with. */
void cd__http_hold(cd__http_conn *c, usize bytes);
bool cd__http_is_full(const cd_http_server *s);
bool cd__http_may_hold(const cd__http_conn *c, usize bytes);
void cd__http_seat_large(cd__http_conn *c);

void cd__http_check_done(cd_http_server *s);

/* http_server_req: cd__http_req_init prepares a request of s, _reset makes it ready for the next answer,
 * keeping a moderate amount of memory, _fini releases. _leave: its connection ends while a handler has it; what it
 * holds counts until _fini. */
void cd__http_req_init(cd_http_req *r, cd_http_server *s, const cd__http_req_ops *ops);
void cd__http_req_reset(cd_http_req *r);
void cd__http_req_leave(cd_http_req *r);
void cd__http_req_fini(cd_http_req *r);

/* cd__http_req_take gives a complete request to whoever answers it, _refuse answers it with an error. Both
 * may have answered when they return, and r may be gone. */
void cd__http_req_take(cd_http_req *r);
void cd__http_req_refuse(cd_http_req *r, u32 status, const char *text);

/* cd__http_req_over tells who watches r that it has its answer. */
void cd__http_req_over(cd_http_req *r);

/* cd__http_body_max: how large the body of a request with this head may be. */
usize cd__http_body_max(const cd_http_server *s, const cd_http_msg *m);

/* cd__http_answer_lines appends the header lines of the answer that every version has.
 * cd__http_answer_has_body: its status and the request allow one. */
void cd__http_answer_lines(const cd_http_req *r, cd_buf *out);
bool cd__http_answer_has_body(const cd_http_req *r);

/* http_stream: cd__http_h1_stream makes conn, which has just left HTTP/1, a stream that begins with head
 * (taken). cd__http_stream_drained: the client has taken everything. */
cd_http_stream *cd__http_h1_stream(cd_http_up *conn, const cd_http_stream *pub, cd_buf *head, bool is_chunked);
void cd__http_stream_drained(cd_http_stream *s);

void cd__http_put_u64(cd_buf *b, u64 v);
void cd__http_buf_recycle(const cd_http_server *s, cd_buf *b); /* keeps its memory if there is enough */

/* http_server_h1, http_server_h2: begin to speak the protocol on c, which reads no data yet or is handed
 * what has arrived. h1_start refuses with 503 if is_refused.
 * cd__http_h2_upgrade takes m, a finished request, and answers it over HTTP/2; CD_EFORMAT and nothing done
 * when settings (HTTP2-Settings) are none. */
void cd__http_h1_start(cd__http_conn *c, bool is_refused);
void cd__http_h2_start(cd__http_conn *c);
cd_err cd__http_h2_upgrade(cd__http_conn *c, cd_http_msg *m, cd_bytes settings) CD_CHECK;

#endif
