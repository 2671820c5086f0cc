/* apps/node/primary.h - the P-, X- and C-Chain of a network: their genesis, and their rows for the node.
 *
 *   genesis-P.bin in the network's folder, if it is there      ─┐
 *   else --genesis-file, else what is built in ──► written there ┴─► IDs, the genesis of each chain
 *
 * Threading: the main thread. [spec:pchain-xchain#10] */
#ifndef CD_APPS_NODE_PRIMARY_H
#define CD_APPS_NODE_PRIMARY_H

#include "config.h"
#include "node/node.h"

/* Input and results of cd__primary_prepare. */
typedef struct cd__primary {
    cd_arena *mem;
    const cd_network *network;
    const cd_clock *clock;
    const char *dir;     /* folder of the network; NULL: nothing is kept */
    cd__file genesis;    /* --genesis-file; not there: built in */
    cd__file c_genesis;  /* --dev-genesis-file; not there: as the data has it, or made */
    const char *made[2]; /* files with a genesis that prepare wrote because there were none */
    usize made_cnt;
    bool is_alone;       /* sybil protection is off: this node decides alone, whoever validates */
    const char *staking; /* rules of staking, an object in JSON or null */
    cd_node_id node_id;
    cd_node_peers_cfg *peers; /* turned on where several validate */
    cd_node_chain_cfg *p;     /* the rows to be completed; the one of the C-Chain stands for its genesis too: */
    cd_node_chain_cfg *x;
    cd_node_chain_cfg *c; /* its function genesis, if there is one, makes that of a development network */
    cd_vm_primary ids;
} cd__primary;

/* cd__primary_rows fills in what is known of the rows of P and X before cd__primary_prepare runs. */
void cd__primary_rows(cd__primary *p);

/* cd__primary_prepare is cd_node_cfg.prepare; ctx is a cd__primary. Errors: those of files and of the genesis;
 * CD_EINVAL when the data began with another genesis. */
cd_err cd__primary_prepare(void *ctx, cd_errinfo *why);

/* cd__primary_refused: the node did not open for err. When the data began with another genesis, the files that prepare
 * wrote are removed, so that the next start does not find them. */
void cd__primary_refused(cd__primary *p, cd_err err);

#endif
