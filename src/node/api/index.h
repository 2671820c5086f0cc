/* node/api/index.h - the service index.*: containers of a chain for those who read it from its beginning.
 *
 * An answer is bounded: 1,024 containers, and it ends early rather than to hold more than 16 MiB of them. Threading:
 * the service is shared. [spec:node-api#10] */
#ifndef CD_NODE_API_INDEX_H
#define CD_NODE_API_INDEX_H

#include "node/chain/containers.h"
#include "rpc/jsonrpc.h"

typedef struct cd_index_api cd_index_api;

/* cd_index_api_new makes the service of the containers of a chain, borrowed; of NULL, which there are none of (the
 * transactions and vertices of a chain that has none). cd_index_api_free: NULL is allowed. */
cd_index_api *cd_index_api_new(const cd_containers *c);
void cd_index_api_free(cd_index_api *api);

/* cd_index_api_service gives the table for an endpoint. */
const cd_rpc_service *cd_index_api_service(const cd_index_api *api);

#endif
