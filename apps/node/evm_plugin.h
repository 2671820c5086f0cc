/* apps/node/evm_plugin.h - the C-Chain's VM as a process of its own.
 *
 *   --plugin-dir: the VM "evm", else candela-evm beside this program ──► its path ──► row of the C-Chain
 *   opening: data that began in this process stays here; a store of its own is in chainData/C/db
 *
 * Threading: the main thread; the factory in the row: the chain's executor. [spec:decisions#D20] */
#ifndef CD_APPS_NODE_EVM_PLUGIN_H
#define CD_APPS_NODE_EVM_PLUGIN_H

#include "config.h"
#include "node/node.h"

/* The C-Chain's VM, when it is a plugin; as long as the node. */
typedef struct cd__evm_plugin {
    const char *path; /* NULL: the VM is in this process */
    bool is_forced;   /* a flag says so: data that began otherwise is an error */
    cd_plugin_vm_cfg vm;
    cd_tracked_own own;
} cd__evm_plugin;

/* cd__evm_plugin_load decides where the VM runs; has_pages: the explorer shows it, which it can in this process alone.
 * When it is a plugin, row, which is that of the C-Chain, is changed. false: something is wrong, and was reported. */
bool cd__evm_plugin_load(cd__evm_plugin *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                         const cd_plugins_cfg *plugins, cd_node_chain_cfg *row, bool has_pages);

#endif
