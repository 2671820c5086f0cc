/* grpc/client.h - calls to one server of gRPC: unary, over HTTP/2 without TLS.
 *
 *   cd_grpc_ask_start ──► waits for the connection ──► stream ──► done     on the loop
 *   cd_grpc_call_wait ──► the same, and the thread sleeps                  any other thread
 *
 * One connection carries all calls. It is made when the first call comes, and anew when it breaks, at growing
 * intervals; calls wait for it until their deadline (wait-for-ready), unless they say otherwise. What was under way
 * when a connection broke ends with UNAVAILABLE: the server may have done it. What the server certainly did not begin
 * is sent again. Bounded: calls at a time, replies and all of them together. Threading: shared, where a function says
 * so, else confined to the loop. [spec:grpc#1] */
#ifndef CD_GRPC_CLIENT_H
#define CD_GRPC_CLIENT_H

#include "grpc/status.h"
#include "net/loop.h"

#include "base/table/list.h"

typedef struct cd_grpc_client cd_grpc_client;

/* How a client behaves. */
typedef struct cd_grpc_client_cfg {
    u32 connect_ms;      /* for one attempt to connect */
    u32 ping_ms;         /* silence after which a ping asks whether the server lives; 0: never */
    u32 ping_timeout_ms; /* for the answer to a ping; after that the connection counts as broken */
    u32 calls_max;       /* calls at a time, waiting ones included; one more ends with RESOURCE_EXHAUSTED */
    usize header_max;    /* bytes of an answer's head and trailers */
    usize message_max;   /* bytes of a reply; a longer one ends with RESOURCE_EXHAUSTED */
    usize memory_max;    /* bytes of all replies that are under way */
} cd_grpc_client_cfg;

/* cd_grpc_client_cfg_default: 5 s to connect, a ping after 30 s of silence, 10 s for its answer, 16,384 calls, 256 KiB
 * of head, 1 GiB a reply, 2 GiB for all replies. */
cd_grpc_client_cfg cd_grpc_client_cfg_default(void);

/* cd_grpc_client_new makes a client of addr ("127.0.0.1:1234", "[::1]:1234"). Nothing is sent yet.
 * Errors: CD_EFORMAT when addr is no address. */
cd_err cd_grpc_client_new(cd_grpc_client **out, cd_loop *l, const cd_grpc_client_cfg *cfg, const char *addr,
                          cd_errinfo *why) CD_CHECK;

/* cd_grpc_client_close ends all calls with CANCELLED and takes no new ones: they end the same way. It may be repeated.
 * cd_grpc_client_free ends c, closed or not, when nobody asks any more; what was under way ends before it returns.
 * NULL is allowed. */
void cd_grpc_client_close(cd_grpc_client *c);
void cd_grpc_client_free(cd_grpc_client *c);

/* cd_grpc_client_is_up: there is a connection. */
bool cd_grpc_client_is_up(const cd_grpc_client *c);

/* A call: the caller's memory, from ask to done. */
typedef struct cd_grpc_ask {
    const char *path; /* "/package.Service/Method" */
    cd_buf msg;       /* the message; its contents are taken, it is empty when done is called */
    u64 timeout_ms;   /* 0: as long as it takes */
    bool fails_fast;  /* UNAVAILABLE when the server cannot be reached now, instead of waiting for it */
    /* done tells that status and reply are there: the callee's, who ends them (cd_grpc_ask_fini) and may free a. */
    void (*done)(struct cd_grpc_ask *a);
    cd_grpc_status status;
    cd_buf reply;
    struct {
        cd_loop_task task;
        cd_list link;
        cd_grpc_client *client;
        void *call;
    } own; /* for the client alone */
} cd_grpc_ask;

/* cd_grpc_ask_start begins a call; done is called on the loop, not before this returns. Any thread. */
void cd_grpc_ask_start(cd_grpc_client *c, cd_grpc_ask *a);

/* cd_grpc_ask_cancel ends a call that was started on the loop and has not been told yet, with CANCELLED unless it is
 * over already: done is called before this returns. On the loop. */
void cd_grpc_ask_cancel(cd_grpc_ask *a);

/* cd_grpc_ask_fini gives back message, status and reply. */
void cd_grpc_ask_fini(cd_grpc_ask *a);

/* cd_grpc_call_wait asks and sleeps until the answer is there: path with msg, whose contents are taken (NULL: an empty
 * message), for timeout_ms at most (0: as long as it takes). *reply gets the answer; *st (NULL allowed) how it ended.
 * The loop must be running, on another thread. Errors: those of cd_grpc_status_err. */
cd_err cd_grpc_call_wait(cd_grpc_client *c, cd_buf *reply, const char *path, cd_buf *msg, u64 timeout_ms,
                         cd_grpc_status *st, cd_errinfo *why) CD_CHECK;

#endif
