/* apps/node/plugins.h - which plugins the node has, and the nets whose chains run with them. Threading: the main
 * thread, but for what the node calls of it. [spec:plugin#9] */
#ifndef CD_APPS_NODE_PLUGINS_H
#define CD_APPS_NODE_PLUGINS_H

#include "config.h"
#include "evm_plugin.h"
#include "l1s.h"
#include "node/node.h"

/* What the flags say about plugins; lives as long as the node. */
typedef struct cd__plugins {
    cd_vm_signer signer; /* first: VMs in this process sign with it */
    const cd_args *args;
    const cd_network *net;
    const cd_p2p_identity *self;
    cd_plugins_cfg cfg;
    cd_tracked_cfg tracked;
    cd__l1s l1s;
    cd__evm_plugin evm;
    bool has_tracked; /* there are chains that run with plugins */
} cd__plugins;

/* cd__plugins_load reads the flags; peers are told which nets are tracked, and c_chain who is the C-Chain's VM
 * (evm_plugin.h). false: something is wrong, and was reported. */
bool cd__plugins_load(cd__plugins *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                      const cd_p2p_identity *self, cd_node_peers_cfg *peers, cd_node_chain_cfg *c_chain,
                      bool has_pages);

#endif
