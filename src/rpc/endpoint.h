/* rpc/endpoint.h - a service at routes of an HTTP server: POST, and WebSocket where a route says so.
 *
 *   HTTP request ──► work ──► lane ──► answer written straight into the reply
 *   upgrade ──► session (session.h)
 *
 * FAST requests are answered on the loop before the handler returns. Threading: confined to the loop.
 * [spec:eth-rpc#1] */
#ifndef CD_RPC_ENDPOINT_H
#define CD_RPC_ENDPOINT_H

#include "base/log/metrics.h"
#include "rpc/session.h"

typedef struct cd_rpc_endpoint cd_rpc_endpoint;

/* What an endpoint serves, and within which limits. */
typedef struct cd_rpc_endpoint_cfg {
    cd_loop *loop;
    cd_rpc_lanes lanes;
    const cd_rpc_service *service; /* borrowed for ever */
    cd_ws_hub *ws;                 /* for routes with WebSocket; NULL: none */
    bool is_local_only;            /* clients elsewhere get 403; not for routes with WebSocket alone */
    usize queue_bytes;             /* these two: as in cd_rpc_hub_cfg */
    usize answers_max;
    cd_counter *requests; /* counts HTTP requests and messages; NULL: nobody does */
} cd_rpc_endpoint_cfg;

/* cd_rpc_endpoint_new copies cfg. cd_rpc_endpoint_free: when no request and no session is left; NULL is allowed. */
cd_rpc_endpoint *cd_rpc_endpoint_new(const cd_rpc_endpoint_cfg *cfg);
void cd_rpc_endpoint_free(cd_rpc_endpoint *e);

/* What is spoken at a route, as bits. */
enum { CD_RPC_OVER_HTTP = 1, CD_RPC_OVER_WS = 2 };

/* cd_rpc_endpoint_route adds the routes of a path to s; over is of CD_RPC_OVER_*. */
void cd_rpc_endpoint_route(cd_rpc_endpoint *e, cd_http_server *s, const char *path, u32 over);

/* cd_rpc_endpoint_serve answers a request that the owner of a route with a star has found to be for e, as a route of
 * e's own would. */
void cd_rpc_endpoint_serve(cd_rpc_endpoint *e, cd_http_req *req, u32 over);

/* cd_rpc_endpoint_leave takes leave of all sessions (1001, "going away"), after which none may begin; those and the
 * requests that run end in their own time. cd_rpc_endpoint_is_idle: none is left. */
void cd_rpc_endpoint_leave(cd_rpc_endpoint *e);
bool cd_rpc_endpoint_is_idle(const cd_rpc_endpoint *e);

#endif
