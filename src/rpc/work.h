/* rpc/work.h - one request on its way through the lanes, whatever brought it.
 *
 *   start (home) ──► small: parse ─────────────┬─► FAST: serve, done
 *                └─► large: READ thread: parse ┴─► READ or OWNER thread: serve, done
 *
 * Internal to this library. Threading: handed from thread to thread. */
#ifndef CD_RPC_WORK_H
#define CD_RPC_WORK_H

#include "rpc/jsonrpc_priv.h"
#include "rpc/lane.h"

/* A request, from its first byte that is read to the last of its answer. */
typedef struct cd__rpc_work cd__rpc_work;
struct cd__rpc_work {
    cd_rpc_job job; /* first */
    cd_rpc_req req;
    const cd_rpc_service *service;
    const cd_rpc_lanes *lanes;
    struct cd_rpc_session *session; /* or NULL */
    cd_bytes foreign;               /* as in cd_rpc_call */
    cd_bytes body;                  /* the request's text; a long one stays until done */
    cd_buf *out;                    /* the answer */
    cd_splices *splices;            /* where shared bytes belong in the answer; NULL: none */
    u64 cpu_ns;                     /* how long serving took, when has_quota */
    bool has_quota;
    bool is_refused; /* refused, because too many requests were waiting */

    /* The home thread's part of a request with subscriptions, before it is served; go_on follows. */
    void (*open)(cd__rpc_work *w);
    /* The answer is complete. On whichever thread made it. */
    void (*done)(cd__rpc_work *w);
};

enum { CD__RPC_INLINE_MAX = 64 * 1024 }; /* longer bodies are not read on the net loop */

/* cd__rpc_work_start begins, on the home thread; done may come before it returns. */
void cd__rpc_work_start(cd__rpc_work *w);

/* cd__rpc_work_go_on goes on behind open. */
void cd__rpc_work_go_on(cd__rpc_work *w);

#endif
