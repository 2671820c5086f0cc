/* node/api/ipcs.h - the service ipcs.*: which chains are streamed to sockets of this machine (node/ipc.h). Threading:
 * confined to the loop. [spec:node-api#10] */
#ifndef CD_NODE_API_IPCS_H
#define CD_NODE_API_IPCS_H

#include "node/chain/names.h"
#include "node/ipc.h"
#include "rpc/jsonrpc.h"

typedef struct cd_ipcs_api cd_ipcs_api;

/* cd_ipcs_api_new borrows ipc. cd_ipcs_api_free: NULL is allowed. */
cd_ipcs_api *cd_ipcs_api_new(cd_ipc *ipc) __attribute__((returns_nonnull));
void cd_ipcs_api_free(cd_ipcs_api *api);

/* cd_ipcs_api_serve tells it, once and before any request, of the names of chains, borrowed. */
void cd_ipcs_api_serve(cd_ipcs_api *api, cd_node_names *names);

/* cd_ipcs_api_service gives the table for an endpoint. */
const cd_rpc_service *cd_ipcs_api_service(const cd_ipcs_api *api);

#endif
