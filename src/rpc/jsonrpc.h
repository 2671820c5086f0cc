/* rpc/jsonrpc.h - JSON-RPC 2.0 requests: bytes in, bytes of the answer out.
 *
 *   body ──parse──► request: calls, methods, lane ──(its lane's thread)──► serve ──► reply
 *
 * The text is read once; the lane follows from the methods that are called. Knows nothing of transports or threads:
 * endpoint.h brings requests in from HTTP and WebSocket and carries them to the thread of their lane. Errors, batch
 * limits and words are go-ethereum's; services of the form JSON2 speak as Go's gorilla/rpc/json2 does, in json2.c.
 * Threading: a service is frozen, a request confined. [spec:eth-rpc#2] [spec:eth-rpc#1] */
#ifndef CD_RPC_JSONRPC_H
#define CD_RPC_JSONRPC_H

#include "rpc/method.h"

/* 0 means no limit. */
typedef struct cd_rpc_limits {
    usize batch_max;    /* calls of one batch: batch-request-limit */
    usize response_max; /* bytes of the results of a batch: batch-response-max-size */
    u64 duration_ns;    /* longest time of a request, waiting included: api-max-duration */
    usize body_max;     /* bytes of an HTTP body: http-body-limit; 0: the server's */
    u64 cpu_refill_ns;  /* time for calls that a session gains a second: ws-cpu-refill-rate */
    u64 cpu_max_ns;     /* at most that much is saved up: ws-cpu-max-stored */
} cd_rpc_limits;

/* Limits that serve when nothing else is configured. */
#define CD_RPC_LIMITS_DEFAULT                                                                                          \
    {                                                                                                                  \
        .batch_max = 1000, .response_max = 25000000, .duration_ns = 0                                                  \
    }

/* Forms of JSON-RPC. */
typedef enum cd_rpc_form {
    CD_RPC_ETH,   /* namespace_method, parameters by position, batches */
    CD_RPC_JSON2, /* service.method, one object of parameters, no batches */
} cd_rpc_form;

/* Who answers at a route. */
typedef struct cd_rpc_service {
    cd_rpc_form form;
    const cd_rpc_table *table;
    cd_rpc_limits limits;
    void *ctx; /* for every handler */

    /* What the calls of one request share: scope_size zeroed bytes, for begin (NULL allowed) to fill in on the
     * thread that serves, and for end (NULL allowed) to release. Behind a call of the OWNER lane the rest of a batch
     * gets a new one, so that it sees what was changed. */
    usize scope_size;
    void (*begin)(void *ctx, void *scope);
    void (*end)(void *ctx, void *scope);

    /* lane (NULL: that of the row) gives the lane of a call where its parameters decide on it. Any thread. */
    cd_rpc_lane (*lane)(void *ctx, const cd_rpc_method *method, cd_json params);

    const struct cd_rpc_kind *kinds; /* subscriptions (session.h); those of groups that are off do not exist */
    usize kinds_cnt;
    cd_bytes openrpc; /* the document of rpc_discover (openrpc.h); empty: no such method */
} cd_rpc_service;

typedef struct cd_rpc_req cd_rpc_req;

/* cd_rpc_req_new makes an empty request, to be used again and again; NULL is allowed to free. */
cd_rpc_req *cd_rpc_req_new(void);
void cd_rpc_req_free(cd_rpc_req *r);

/* cd_rpc_req_parse reads a body, which need not stay, for a service, and gives the lane to serve it in, or to begin a
 * batch in: its calls run one after the other, each in its own lane. Whatever is
 * wrong with it becomes part of the answer. session is NULL over HTTP; since_ns is when it arrived (monotonic;
 * needed only when the service limits the duration). */
cd_rpc_lane cd_rpc_req_parse(cd_rpc_req *r, const cd_rpc_service *s, struct cd_rpc_session *session, cd_bytes body,
                             u64 since_ns);

/* cd_rpc_req_serve runs the calls on this thread and appends the answer; nothing when there is nothing to say
 * (notifications). */
void cd_rpc_req_serve(cd_rpc_req *r, cd_buf *reply);

/* cd_rpc_req_refuse answers every call that is not answered yet with one error, for a server that cannot take it. */
void cd_rpc_req_refuse(cd_rpc_req *r, cd_buf *reply, int code, const char *message);

/* cd_rpc_serve parses and serves at once, for a caller who is on the right thread whatever the lane. */
void cd_rpc_serve(const cd_rpc_service *s, cd_buf *reply, cd_bytes body);

#endif
