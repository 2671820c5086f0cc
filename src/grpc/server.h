/* grpc/server.h - a server of gRPC: unary calls over HTTP/2 without TLS, for peers that were told where it listens.
 *
 *   socket ─► conn (nghttp2) ─► call: path, message, deadline ─► method's serve ─► reply or fail, now or later,
 *                                                                                from any thread, exactly once
 *
 * A call is the handler's from serve on until it answers, also when its caller has gone, its deadline is over or the
 * server was closed meanwhile: the answer goes nowhere then. Whoever wants to know earlier sets a callback.
 *
 * Bounded: connections, calls at a time of one connection and of all, heads, a message, and all messages that are kept
 * (what comes beyond gets RESOURCE_EXHAUSTED). Peers that send frames for nothing are sent away (net/http/guard.h);
 * who does not take its answers in time too. The service grpc.health.v1.Health is built in: SERVING for the empty name
 * and for services that have a method. Threading: confined to the loop, except where a function says so.
 * [spec:grpc#1] */
#ifndef CD_GRPC_SERVER_H
#define CD_GRPC_SERVER_H

#include "grpc/status.h"
#include "net/loop.h"

typedef struct cd_grpc_server cd_grpc_server;
typedef struct cd_grpc_call cd_grpc_call;

/* A method, and the function that answers it: it is called on the loop and must return at once; work belongs on another
 * thread. */
typedef struct cd_grpc_method {
    const char *path; /* "/package.Service/Method" */
    void (*serve)(void *ctx, cd_grpc_call *call);
} cd_grpc_method;

/* Limits of a server. */
typedef struct cd_grpc_server_cfg {
    u32 conns_max;
    u32 streams_max;      /* calls at a time of one connection, including calls whose caller has gone */
    u32 calls_max;        /* calls at a time of all connections */
    usize header_max;     /* bytes of names, values and 32 for each, as RFC 9113 counts */
    usize message_max;    /* bytes of a request's message; answers may have any size */
    usize memory_max;     /* bytes of messages and answers of all connections together */
    u32 write_timeout_ms; /* a peer that takes none of the waiting bytes for so long is disconnected */
} cd_grpc_server_cfg;

/* cd_grpc_server_cfg_default: 64 connections, 4,096 calls of each, 16,384 in all, 16 KiB of head, 1 GiB a message,
 * 2 GiB for all messages, two minutes for a write. */
cd_grpc_server_cfg cd_grpc_server_cfg_default(void);

/* cd_grpc_server_open listens on host and port (0 lets the system choose). Errors: those of cd_listener_open. */
cd_err cd_grpc_server_open(cd_grpc_server **out, cd_loop *l, const cd_grpc_server_cfg *cfg, const char *host, u16 port,
                           cd_errinfo *why) CD_CHECK;

/* cd_grpc_server_add offers cnt methods, which stay borrowed; ctx is given to each. Two methods with the same path are
 * a bug. */
void cd_grpc_server_add(cd_grpc_server *s, const cd_grpc_method *methods, usize cnt, void *ctx);

/* cd_grpc_server_port gives the port on which s listens. */
u16 cd_grpc_server_port(const cd_grpc_server *s);

/* cd_grpc_server_close ends s: no new connections and calls; those that run may finish within grace_ms, then their
 * callers are told CANCELLED. done(ctx) (NULL allowed) is called, not before this returns, once all connections are
 * closed and all handlers have answered: s is gone then. NULL is allowed: done is not called. */
void cd_grpc_server_close(cd_grpc_server *s, u32 grace_ms, void (*done)(void *ctx), void *ctx);

/* --- calls --- */

/* cd_grpc_call_path gives the method's path, cd_grpc_call_msg the message; both are valid until the call is answered.
 * Any thread that has the call. */
const char *cd_grpc_call_path(const cd_grpc_call *c);
cd_bytes cd_grpc_call_msg(const cd_grpc_call *c);

/* cd_grpc_call_take moves the message out; what it was still counts against the server's memory until the answer.
 * Any thread that has the call. */
cd_buf cd_grpc_call_take(cd_grpc_call *c);

/* cd_grpc_call_deadline_ms: until when an answer is wanted, by the loop's clock (cd_loop_now_ms); UINT64_MAX: no
 * limit. */
u64 cd_grpc_call_deadline_ms(const cd_grpc_call *c);

/* cd_grpc_call_metadata gives the first value that the caller sent for name (lower case), as it was sent; false when
 * there is none. Any thread that has the call. */
bool cd_grpc_call_metadata(const cd_grpc_call *c, const char *name, cd_bytes *value);

/* cd_grpc_call_on_gone has fn(ctx) called once, on the loop, when nobody wants the answer any more; the answer must
 * still be given. fn is called at once when nobody wants it already. fn NULL removes the callback. On the loop. */
void cd_grpc_call_on_gone(cd_grpc_call *c, void (*fn)(void *ctx), void *ctx);

/* cd_grpc_call_put adds one field to the head of the answer, or to what follows its message. name is in lower case, and
 * none that gRPC or HTTP keep for themselves. Any thread that has the call. */
void cd_grpc_call_put(cd_grpc_call *c, const char *name, cd_bytes value, bool is_trailer);

/* cd_grpc_reply answers with a message, whose contents are taken; NULL: an empty one. The call is gone. Any thread. */
void cd_grpc_reply(cd_grpc_call *c, cd_buf *msg);

/* cd_grpc_fail answers with an error. details: cd_grpc_status, may be empty. The call is gone. Any thread. */
void cd_grpc_fail(cd_grpc_call *c, u32 code, cd_bytes message, cd_bytes details);

#endif
