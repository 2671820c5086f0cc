/* node/chain/chains.h - the chains of a node: found by id and alias, opened and closed while the node runs.
 *
 *   /v1/bc/<alias or id>/…  /ext/bc/…  ─┐   /v1/warp: by the parameter "chain"
 *   /  /openrpc.json                    ├─► row ─► service of the chain        opening ─► open ─► leaving ─► ending
 *   /explorer…                         ─┘                                                  └ names are known here only
 *
 * A chain that is to close is not found any more at once; sessions are taken leave of, requests that run are answered,
 * then it ends on its own thread. Threading: confined to the thread that runs the node, but for what says otherwise.
 * [spec:node-api#3] */
#ifndef CD_NODE_CHAINS_H
#define CD_NODE_CHAINS_H

#include "node/chain/names.h"
#include "node/front/front.h"
#include "node/front/health.h"
#include "node/front/routes.h"
#include "node/front/service.h"

typedef struct cd_chains cd_chains;

/* What the chains of a node share, and how many there may be. */
typedef struct cd_chains_cfg {
    cd_node_env env;   /* names, validators, catchup and finality: set here */
    cd_front *front;   /* NULL: no service */
    cd_health *health; /* NULL: nobody asks */
    u32 max;           /* so many chains may be open at a time */
    bool is_admin_remote;
    bool serves_early;      /* a chain that has not caught up answers, too */
    const char *pages_root; /* pages of chains are here or below; NULL: there are none */
    /* Appends what the node knows of itself, for pages. */
    void (*state)(void *ctx, cd_buf *out);
    void *ctx;
} cd_chains_cfg;

/* cd_chains_new copies cfg and adds the routes. cd_chains_free: after cd_chains_end; NULL is allowed. */
cd_chains *cd_chains_new(const cd_chains_cfg *cfg);
void cd_chains_free(cd_chains *cs);

/* cd_chains_open opens all of cfgs, at the same time, and waits; not while the loop runs. The first is the one that "/"
 * of a development network speaks to, also when it was closed and is opened again with the same cfg. Errors:
 * those of cd_node_chain_new and of opening. */
cd_err cd_chains_open(cd_chains *cs, const cd_node_chain_cfg *cfgs, usize cnt, cd_errinfo *why) CD_CHECK;

/* Told how an order went: on the loop, or, in a stepped node, before the order returns. */
typedef void cd_chains_told(void *ctx, cd_err err, const cd_errinfo *why);

/* cd_chains_order_open opens a chain while the node runs, cd_chains_order_close closes the one of a name or id; told
 * (NULL allowed) is called once. Any thread. Errors that are told: CD_EEXIST (a name or id is taken), CD_ELIMIT,
 * CD_ENOENT, CD_EUNSUPPORTED (it says who validates), those of cd_chains_open. */
void cd_chains_order_open(cd_chains *cs, const cd_node_chain_cfg *cfg, cd_chains_told *told, void *ctx);
void cd_chains_order_close(cd_chains *cs, const char *name, cd_chains_told *told, void *ctx);

/* cd_chains_find gives the service of a chain that is open, cd_chains_find_chain the chain; NULL: none has the name. */
cd_service *cd_chains_find(const cd_chains *cs, cd_bytes name);
cd_node_chain *cd_chains_find_chain(const cd_chains *cs, cd_bytes name);

/* cd_chains_names gives the names of chains, cd_chains_routes the paths that were added for endpoints (aliases.h adds
 * to both). */
cd_node_names *cd_chains_names(const cd_chains *cs);
cd_node_routes *cd_chains_routes(const cd_chains *cs);

/* cd_chains_seat is what all chains ask who validates, whoever says it; as long as the chains. cd_chains_make_final has
 * blocks made final, before any chain is opened. */
const cd_vm_validators *cd_chains_seat(const cd_chains *cs);
void cd_chains_make_final(cd_chains *cs, struct cd_node_finality *finality);

/* cd_chains_validators gives who says who validates, until a chain is closed; NULL: no open chain does. */
const cd_vm_validators *cd_chains_validators(const cd_chains *cs);

/* cd_chains_late gives the nets that have chains which still catch up, each once, max at most, and their number. */
usize cd_chains_late(const cd_chains *cs, cd_hash32 *out, usize max);

/* cd_chains_step steps them all and gives when to call again (cd_executor_step). */
u64 cd_chains_step(cd_chains *cs);

/* cd_chains_metrics brings all figures up to date. cd_chains_accepted counts blocks of the first chain since its
 * start. */
void cd_chains_metrics(cd_chains *cs);
u64 cd_chains_accepted(const cd_chains *cs);

/* cd_chains_hurry tells all calls that run to end. cd_chains_end ends all chains and waits; then the loop is to be
 * drained, by which they are forgotten. */
void cd_chains_hurry(cd_chains *cs);
void cd_chains_end(cd_chains *cs);

#endif
