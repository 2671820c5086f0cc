/* net/http/server.h - an HTTP server: routes, limits, answers that may come from another thread.
 *
 *   socket ─► [TLS] ─► HTTP/1.1 or HTTP/2 ─► CORS ─► host check ─► route ─► handler ─┬─► cd_http_reply (now)
 *     ▲                                                                               └─► worker ─► cd_http_reply
 *     └──────────────── one writev of head and body, or frames ◄─────────── loop ◄──────────────────────┘
 *
 * A handler does not see which version its client speaks: HTTP/1.1 and 1.0, or HTTP/2 by ALPN, by prior
 * knowledge or by "Upgrade: h2c". Requests of one HTTP/1 connection are handled one at a time, in order;
 * what a client pipelines waits in a bounded buffer. Those of one HTTP/2 connection run at the same time.
 * memory_max: what requests and waiting answers of all connections hold is added up. Beyond it a request that is not
 * short gets 503, and of the clients that have an answer to take, the one that waits longest is cut off, unless it is
 * the only one; then those that for longest have no request at work. What is shared (cd_http_req_splices) is somebody
 * else's. Where a route takes more than body_max, one such body at a time, over HTTP/1, is beside the budget; none of
 * web pages of strangers is. Every request must be answered exactly once. The server reads a whole body before it calls
 * the handler. Threading: confined to the loop, except cd_http_reply and the cd_http_req functions, which whoever holds
 * the request may call. [RFC 9110, RFC 9112, RFC 9113] */
#ifndef CD_NET_HTTP_SERVER_H
#define CD_NET_HTTP_SERVER_H

#include "base/mem/shared.h"
#include "net/http/http.h"
#include "net/loop.h"
#include "net/tls/tls.h"

typedef struct cd_http_server cd_http_server;
typedef struct cd_http_req cd_http_req;

/* A service that routes for itself, and has its own mind about CORS and errors: it gets every request, before
 * host check, CORS and routes; and what cannot be served (bytes that are no request, beyond a limit, too
 * late) to answer it with status, before the call returns. r is as a handler's, but may be empty. */
typedef struct cd_http_site {
    void (*request)(void *ctx, cd_http_req *r);
    void (*refused)(void *ctx, cd_http_req *r, u32 status, const char *text);
} cd_http_site;

/* Zero in a number means its default. */
typedef struct cd_http_cfg {
    u32 conns_max;                    /* 1024; beyond it a connection gets 503 and is closed */
    u32 idle_min_ms;                  /* 1000: unless another waited so long for a request: that one goes */
    usize header_max;                 /* 65536 bytes of request line and headers (431, 414) */
    usize body_max;                   /* 5 MiB (413); a route may have its own */
    usize buffered_max;               /* 32 MiB of requests and answers on one HTTP/2 connection */
    usize memory_max;                 /* 256 MiB of requests and answers of all connections, see below */
    u32 streams_max;                  /* 64 requests at a time on one HTTP/2 connection */
    u32 header_timeout_ms;            /* 30000: from the first byte to the end of the headers (408) */
    u32 read_timeout_ms;              /* 30000: to the end of the body (408) */
    u32 write_timeout_ms;             /* 30000: for the answer to be taken */
    u32 idle_timeout_ms;              /* 120000: between requests */
    const char *allowed_origins;      /* NULL: "*" */
    const char *const *allowed_hosts; /* none: "localhost" */
    usize allowed_hosts_cnt;
    const char *hosts_hint;    /* borrowed; said to who names another host: how it would be allowed. NULL: nothing is */
    bool gzip;                 /* compress answers of 1 KiB and more for clients that ask for it */
    const char *extra_headers; /* lines for every answer, each ended by CR LF; NULL: none */
    /* Asked before a route is looked for; false: it has answered the request. NULL: everybody may. */
    bool (*admit)(void *ctx, cd_http_req *r);
    void *admit_ctx;
    const cd_http_site *site; /* NULL: the routes are added here */
    void *site_ctx;
} cd_http_cfg;

/* cd_http_server_new copies cfg. It serves nothing until it listens. */
cd_http_server *cd_http_server_new(cd_loop *loop, const cd_http_cfg *cfg);

/* cd_http_server_listen opens one more address, _tls one for HTTPS: tls stays until the server has stopped,
 * and should offer "h2" and "http/1.1". Errors as cd_listener_open. The port that the system chose is
 * cd_http_server_port (of the first address), _port_at that of another one, in the order of opening. */
cd_err cd_http_server_listen(cd_http_server *s, const char *host, u16 port, cd_errinfo *why) CD_CHECK;
cd_err cd_http_server_listen_tls(cd_http_server *s, const char *host, u16 port, cd_tls *tls, cd_errinfo *why) CD_CHECK;
u16 cd_http_server_port(const cd_http_server *s);
u16 cd_http_server_port_at(const cd_http_server *s, usize idx);

/* cd_http_server_deafen closes all addresses, of a server that has accepted nobody yet. */
void cd_http_server_deafen(cd_http_server *s);

/* cd_http_server_held: what counts against memory_max now. */
usize cd_http_server_held(const cd_http_server *s);

/* cd_http_server_conns counts connections; cd_http_server_crowded how often one came that found all places taken: it
 * was refused, or an idle one made room. */
usize cd_http_server_conns(const cd_http_server *s);
u64 cd_http_server_crowded(const cd_http_server *s);

/* cd_http_server_stop ends listening and idle connections, lets running requests finish for grace_ms,
 * (connections that have left HTTP for one second at most), then cuts what is left and calls done. Requests still with
 * a worker delay done until answered. Once. */
void cd_http_server_stop(cd_http_server *s, u32 grace_ms, void (*done)(void *ctx), void *ctx);

/* cd_http_server_free: after done, or when it never listened. NULL is allowed. */
void cd_http_server_free(cd_http_server *s);

/* Called on the loop; req stays the handler's until it calls cd_http_reply. */
typedef void cd_http_handler(void *ctx, cd_http_req *req);

/* One route; the path is compared byte for byte, without the query. One that ends in a star has every path that
 * begins with what stands in front of it. The first that fits is taken. A route with GET answers HEAD too. */
typedef struct cd_http_route {
    const char *path; /* copied */
    u32 methods;      /* bits of cd_http_method, or CD_HTTP_ANY */
    cd_http_handler *handler;
    void *ctx;
    usize body_max; /* 0: the server's */
    /* For routes with a star: body_max of one path, 0 the server's. NULL: body_max counts. */
    usize (*body_max_of)(void *ctx, cd_bytes path);
    bool is_page; /* for people: answers carry no CORS headers, so no other page can read it */
} cd_http_route;

/* cd_http_server_route adds a route; a path may have several with different methods. */
void cd_http_server_route(cd_http_server *s, const cd_http_route *route);

/* What was asked; borrowed until the reply. A header that is absent has p == NULL. */
cd_http_method cd_http_req_method(const cd_http_req *r);
cd_bytes cd_http_req_path(const cd_http_req *r);
cd_bytes cd_http_req_query(const cd_http_req *r);
cd_bytes cd_http_req_header(const cd_http_req *r, const char *name);
cd_bytes cd_http_req_body(const cd_http_req *r);

/* cd_http_req_field gives a header field by its place, names as they were sent; false behind the last. For who passes
 * a request on. */
bool cd_http_req_field(const cd_http_req *r, u32 idx, cd_bytes *name, cd_bytes *value);

/* cd_http_req_out gives the empty buffer in which to write the body of the answer. */
cd_buf *cd_http_req_out(cd_http_req *r);

/* cd_http_req_splices gives the empty list of shared bytes that belong into it and are sent without being copied. */
cd_splices *cd_http_req_splices(cd_http_req *r);

/* cd_http_req_add_header adds a line to the answer; name and value are written as they are and must hold
 * no line ends (a bug). */
void cd_http_req_add_header(cd_http_req *r, const char *name, const char *value);

/* cd_http_req_add_lines adds whole lines "Name: value\r\n" that somebody has made before. */
void cd_http_req_add_lines(cd_http_req *r, cd_bytes lines);

/* cd_http_req_add_trailer adds a line behind the body of the answer. Only clients of HTTP/2 get it. */
void cd_http_req_add_trailer(cd_http_req *r, const char *name, const char *value);

/* cd_http_reply answers with the status, the content type (NULL: no such header) and what is in
 * cd_http_req_out. The request is gone afterwards. From any thread. */
void cd_http_reply(cd_http_req *r, u32 status, const char *content_type);

/* cd_http_reply_error answers with one sentence: plain text, or {"error":{"code","message"}} when the
 * client accepts application/json before anything else. */
void cd_http_reply_error(cd_http_req *r, u32 status, const char *text);

/* cd_http_reply_not_found answers as for a path without a route, cd_http_reply_not_allowed as for one whose routes have
 * other methods (of cd_http_method): for handlers of a star that know the paths below it. */
void cd_http_reply_not_found(cd_http_req *r);
void cd_http_reply_not_allowed(cd_http_req *r, u32 allowed);

/* cd_http_req_watch has fn(ctx) called once, when the request has its answer or the connection leaves HTTP; on the
 * thread that answers, where r may be gone. Whoever passes a request on knows by it when it is over. */
void cd_http_req_watch(cd_http_req *r, void (*fn)(void *ctx), void *ctx);

/* cd_http_req_origin_allowed: the request comes from no web page, or from one that is allowed. */
bool cd_http_req_origin_allowed(const cd_http_req *r);

/* cd_http_req_foreign gives the origin of a web page that is a stranger (net/http/access.h); else it is empty.
 * Borrowed as what was asked. */
cd_bytes cd_http_req_foreign(const cd_http_req *r);

/* cd_http_req_is_local: the client is on this machine; a proxy there stands for all of its clients. Before the handler
 * returns. */
bool cd_http_req_is_local(const cd_http_req *r);

/* cd_http_req_port gives the port of this machine that the request came to, 0: by none, or not known any more. */
u16 cd_http_req_port(const cd_http_req *r);

/* cd_http_req_peer gives the client's address as text, "" when it is gone. Of a proxy on this machine it is what that
 * says in X-Forwarded-For, its last element. */
void cd_http_req_peer(const cd_http_req *r, char out[CD_TCP_PEER_MAX]);

/* cd_http_req_offers_upgrade: the client offers to change to protocol (its name, any case; NULL: to any), and the
 * server is not about to stop. */
bool cd_http_req_offers_upgrade(const cd_http_req *r, const char *protocol);

/* A connection that has left HTTP. It counts against conns_max, and the server is not done before it is
 * closed; time-outs are the new protocol's business. */
typedef struct cd_http_up cd_http_up;

/* What it tells its owner, as cd_tcp_events does; stop: the server stops, take leave before it cuts. */
typedef struct cd_http_up_events {
    void (*data)(void *ctx, cd_bytes data); /* borrowed for the call */
    void (*end)(void *ctx, cd_err err);
    void (*written)(void *ctx, cd_err err);
    void (*stop)(void *ctx);
    void (*sweep)(void *ctx, u64 now_ms); /* every now and then, for time-outs; NULL: not wanted */
    void (*closed)(void *ctx);            /* the last callback; the connection is gone */
} cd_http_up_events;

/* cd_http_req_upgrade answers 101 with the added header lines, and hands the connection over; protocol NULL: nothing is
 * answered, the new owner writes whatever follows, the answer included. Only for an offer, by the handler before it
 * returns. The request is gone afterwards, in any case; NULL when the connection broke. What the client has sent ahead
 * comes as data once the handler has returned. */
cd_http_up *cd_http_req_upgrade(cd_http_req *r, const char *protocol, const cd_http_up_events *events, void *ctx);

/* As their counterparts of cd_tcp (net/loop.h). */
cd_err cd_http_up_write(cd_http_up *u, const cd_bytes *parts, usize cnt) CD_CHECK;
void cd_http_up_pause(cd_http_up *u);
void cd_http_up_resume(cd_http_up *u);
void cd_http_up_shutdown(cd_http_up *u);
void cd_http_up_close(cd_http_up *u);
cd_loop *cd_http_up_loop(const cd_http_up *u);

#endif
