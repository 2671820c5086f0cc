/* node/front/service.h - what one open chain answers: its VM's routes, and the pages about it.
 *
 *   request, rest of the path ──► endpoint of a table of methods ─► lanes: readers, the chain's executor
 *                             └─► whoever takes raw requests
 *
 * Threading: confined to the loop. [spec:node-api#3] */
#ifndef CD_NODE_SERVICE_H
#define CD_NODE_SERVICE_H

#include "node/chain/chain.h"
#include "node/front/front.h"

typedef struct cd_service cd_service;

/* cd_service_new makes the endpoints of a chain that is open. f: NULL: requests come by cd_service_ask alone. share is
 * for waiting answers, bytes. serves_early: it answers before the chain has caught up, with a header that says so.
 * cd_service_free: when it is idle; NULL is allowed. */
cd_service *cd_service_new(cd_front *f, cd_node_chain *chain, bool is_admin_remote, bool serves_early, usize share);
void cd_service_free(cd_service *s);

/* cd_service_validator gives what validator idx of the chain answers, of those in this process: it belongs to s, which
 * is that of the first and does for it what is not answering. s itself when there is none. */
cd_service *cd_service_validator(cd_service *s, u32 idx);

/* cd_service_serve answers a request; route is what follows the chain's name in its path. _serve_main: by the first of
 * the routes, over HTTP and WebSocket. _serve_page: by the pages. */
void cd_service_serve(cd_service *s, cd_http_req *req, cd_bytes route);
void cd_service_serve_main(cd_service *s, cd_http_req *req);
void cd_service_serve_page(cd_service *s, cd_http_req *req);

/* cd_service_serve_index answers a request for the containers of the chain; kind is what follows its name in the path:
 * "block", or "tx" and "vtx", of which there are none. */
void cd_service_serve_index(cd_service *s, cd_http_req *req, cd_bytes kind);

/* cd_service_body_max: as in cd_http_route; an empty route is the first. */
usize cd_service_body_max(const cd_service *s, cd_bytes route);

/* cd_service_openrpc gives the document of the first route; empty: none. */
cd_bytes cd_service_openrpc(const cd_service *s);

/* cd_service_ask answers a JSON-RPC request on this thread, whatever its lane: for a node that is stepped. Errors:
 * CD_ENOENT when there are no methods at the route. */
cd_err cd_service_ask(cd_service *s, cd_bytes route, cd_buf *reply, cd_bytes body) CD_CHECK;

/* cd_service_run has job(arg) run on a reader's thread before the chain closes. Any thread. Errors: CD_EFULL,
 * CD_ECLOSED. */
cd_err cd_service_run(cd_service *s, void (*job)(void *arg), void *arg) CD_CHECK;

/* cd_service_leave takes leave of who stays: sessions, listeners of pages. cd_service_hurry tells calls that run to
 * end. cd_service_is_idle: nobody is left, and no request runs. */
void cd_service_leave(cd_service *s);
void cd_service_hurry(cd_service *s);
bool cd_service_is_idle(const cd_service *s);

/* cd_service_part: all connections have ended, and the chain is about to; what its handlers kept for some of them on
 * the loop is given back. */
void cd_service_part(cd_service *s);

/* cd_service_metrics brings the counts of calls up to date. */
void cd_service_metrics(cd_service *s, cd_metrics *m);

#endif
