/* node/api/admin.h - the service admin.*: what who runs the node does to it while it runs.
 *
 *   running ── stopChain ──► stopping ──► stopped ── startChain ──► starting ──► running
 *                                            └────── it could not be opened ◄──────┘
 *
 * The answer to an order comes at once, with the state that begins; getChainStates tells how it goes on. Threading:
 * confined to the loop. [spec:node-api#8] */
#ifndef CD_NODE_API_ADMIN_H
#define CD_NODE_API_ADMIN_H

#include "node/chain/chains.h"
#include "node/chain/plugins.h"
#include "rpc/jsonrpc.h"

typedef struct cd_admin_api cd_admin_api;

/* What the service knows of its node. */
typedef struct cd_admin_cfg {
    const cd_network *network;
    cd_logger *log;          /* whose levels are changed; NULL: none is kept */
    const char *profile_dir; /* where profiles are written; NULL: nowhere */
    cd_kv *store;            /* that dbGet reads */
    cd_bytes config;         /* what getConfig tells: an object; empty: {} */
    cd_plugins *plugins;     /* NULL: there are none */
} cd_admin_cfg;

/* cd_admin_api_new makes a service that knows no chains, so that its route comes before those of chains.
 * cfg is copied, what it names borrowed. cd_admin_api_free: when the chains have ended, NULL is allowed. */
cd_admin_api *cd_admin_api_new(const cd_admin_cfg *cfg);
void cd_admin_api_free(cd_admin_api *api);

/* cd_admin_api_serve tells it, once and before any request, of the chains; both are borrowed, and those of cfgs are
 * open. */
void cd_admin_api_serve(cd_admin_api *api, cd_chains *chains, const cd_node_chain_cfg *cfgs, usize cnt);

/* cd_admin_api_service gives the table for an endpoint. */
const cd_rpc_service *cd_admin_api_service(const cd_admin_api *api);

#endif
