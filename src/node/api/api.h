/* node/api/api.h - the services of the node itself: a table of methods at a path below /v1 and /ext.
 *
 *   info.def ──► rows ──► service ──► endpoints at /v1/info and /ext/info
 *
 * FAST methods run on the loop, which owns what the node knows of itself; all others on the readers. Threading:
 * confined to the loop. [spec:node-api#1.3] */
#ifndef CD_NODE_API_API_H
#define CD_NODE_API_API_H

#include "node/front/front.h"

typedef struct cd_api cd_api;

/* cd_api_new makes a set without services; cd_api_free: when no request is left, NULL is allowed. */
cd_api *cd_api_new(cd_front *f);
void cd_api_free(cd_api *api);

/* cd_api_add serves a table, borrowed for ever, at a path ("/info"). is_local: to clients on this machine only. */
void cd_api_add(cd_api *api, const char *path, const cd_rpc_service *service, bool is_local);

/* cd_api_endpoint makes an endpoint that has no route, for the owner of a route with a star; the caller's. */
cd_rpc_endpoint *cd_api_endpoint(cd_front *f, const cd_rpc_service *service, bool is_local);

#endif
