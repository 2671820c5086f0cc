/* node/api/auth.h - the service auth.*, and the door of the HTTP server that asks for its tokens (tokens.h).
 *
 *   request ──► admit ──► no token that allows it: 401          /v1/auth itself needs none
 *
 * Threading: confined to the loop. [spec:node-api#9] */
#ifndef CD_NODE_API_AUTH_H
#define CD_NODE_API_AUTH_H

#include "net/http/server.h"
#include "node/api/tokens.h"
#include "rpc/jsonrpc.h"

typedef struct cd_auth_api cd_auth_api;

/* cd_auth_api_new takes the password that is in force from now on. cd_auth_api_free: NULL is allowed. Errors: those of
 * cd_tokens_new. */
cd_err cd_auth_api_new(cd_auth_api **out, cd_bytes password, const cd_clock *clock, cd_errinfo *why) CD_CHECK;
void cd_auth_api_free(cd_auth_api *api);

/* cd_auth_api_service gives the table for an endpoint. */
const cd_rpc_service *cd_auth_api_service(const cd_auth_api *api);

/* cd_auth_admit is cd_http_cfg.admit; ctx is a cd_auth_api. */
bool cd_auth_admit(void *ctx, cd_http_req *r);

#endif
