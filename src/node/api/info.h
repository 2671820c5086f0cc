/* node/api/info.h - the service info.*: who this node is, what it runs, whom it is connected to.
 *
 * Everything is answered on the loop, from memory. Threading: confined to the loop. [spec:node-api#3] */
#ifndef CD_NODE_API_INFO_H
#define CD_NODE_API_INFO_H

#include "codec/ids.h"
#include "codec/json.h"
#include "rpc/jsonrpc.h"
#include "types/network.h"

typedef struct cd_info_api cd_info_api;

/* A chain, as clients may ask for it. */
typedef struct cd_info_chain {
    cd_hash32 id;
    bool is_bootstrapped;
} cd_info_chain;

/* What the network thinks of this node, in millionths. */
typedef struct cd_info_uptime {
    u32 rewarding; /* share of stake that would give it its reward */
    u32 average;   /* weighted by stake */
} cd_info_uptime;

/* What the service tells. Borrowed for ever, and called on the loop. */
typedef struct cd_info_cfg {
    const cd_network *network;
    cd_node_id node_id;
    cd_bytes bls_key; /* compressed; these two empty: the node signs nothing */
    cd_bytes bls_pop;
    const char *address; /* "203.0.113.7:9631" */
    const char *commit;  /* of the source; "": not known */
    /* chain finds a chain that runs by alias or id. false: there is none. */
    bool (*chain)(void *ctx, cd_info_chain *out, cd_bytes name);
    /* peers writes those of ids (cnt 0: all), elements of a list, and gives their number; NULL: there never are any. */
    usize (*peers)(void *ctx, cd_json_w *w, const cd_node_id *ids, usize cnt);
    /* uptime tells what is known; false: this node validates nothing. NULL: nobody validates here. */
    bool (*uptime)(void *ctx, cd_info_uptime *out);
    /* vms writes members of an object, id: [aliases] of VMs that are not built in; versions name: version. Not on the
     * word of anything that waits. NULL: there are none. */
    void (*vms)(void *ctx, cd_json_w *w);
    void (*versions)(void *ctx, cd_json_w *w);
    /* finality writes the members of an object about a chain, which has no others; false: blocks are not made final.
     * certificate appends that of a block, or with block NULL of a height. NULL: no block ever is. */
    bool (*finality)(void *ctx, cd_json_w *w, const cd_hash32 *chain);
    cd_err (*certificate)(void *ctx, cd_buf *out, const cd_hash32 *chain, const cd_hash32 *block, u64 height);
    /* checkpoint appends the set of validators that signs now, changes how it came to be since an epoch; NULL as above.
     * Errors: CD_EUNSUPPORTED, CD_ENOENT (there is none yet), CD_EMISSING (the changes are not signed). */
    cd_err (*checkpoint)(void *ctx, cd_buf *out);
    cd_err (*changes)(void *ctx, cd_buf *out, u64 epoch);
    void *ctx;
} cd_info_cfg;

/* cd_info_api_new copies cfg. cd_info_api_free: NULL is allowed. */
cd_info_api *cd_info_api_new(const cd_info_cfg *cfg);
void cd_info_api_free(cd_info_api *api);

/* cd_info_api_service gives the table for an endpoint. */
const cd_rpc_service *cd_info_api_service(const cd_info_api *api);

#endif
