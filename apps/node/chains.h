/* apps/node/chains.h - which chains the node opens, and with what: the C-Chain, and further ones of --chain. Threading:
 * the main thread, but for what the node calls of it. */
#ifndef CD_APPS_NODE_CHAINS_H
#define CD_APPS_NODE_CHAINS_H

#include "commands.h"
#include "config.h"
#include "node/node.h"
#include "primary.h"

/* The genesis and the settings of one chain. */
typedef struct cd__chain {
    const char *names[2];
    cd__chain_files files;
    cd__file genesis; /* not there: the development network's own */
    u64 genesis_time; /* Unix seconds; 0: the time of the state it begins with, or now */
    u64 evm_chain_id; /* these two: of the network's own genesis */
    cd_dev_options dev;
} cd__chain;

/* All chains; they live in the arena, as long as the node. */
typedef struct cd__chains {
    cd__chain *items;
    usize cnt;
    cd_node_chain_cfg *cfgs; /* C-Chain, P-Chain, X-Chain, others */
    usize cfg_cnt;
    cd__primary primary;
} cd__chains;

/* cd__chains_load reads what the flags name; pages: how pages about chains are made, NULL: there are none. false:
 * something is wrong, and was reported. */
bool cd__chains_load(cd__chains *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                     const cd__explorer_cfg *pages, bool with_warnings);

#endif
