/* plugin/guest/guest.h - a VM of ours as a process of its own, behind somebody else's node: the plugin's side of
 * protocol 42.
 *
 *   node ── vm.VM ──► service ──► executor ──► VM (vm/vm.h)          one thread owns the VM, as in our own node
 *        ◄── rpcdb, sharedmemory ── store ◄──────┘
 *        ── http.HTTP ──► tunnel ──► endpoints of the VM's routes
 *
 * cd_guest_run is the whole life of such a process: handshake, service, orderly end. Threading: the loop runs on the
 * caller's thread. [spec:plugin#1] [spec:plugin#8] */
#ifndef CD_PLUGIN_GUEST_H
#define CD_PLUGIN_GUEST_H

#include "base/log/log.h"
#include "vm/vm.h"

/* Key in the node's database of a chain that has a store of its own: the data is elsewhere. */
#define CD_GUEST_OWN_MARK "candela store"

/* Key of the chain's configuration, true where the node hands certificates of final blocks over (cd_vm_ctx's
 * has_finality). */
#define CD_GUEST_FINALITY "finality-from-node"

/* The VM that the process serves, and its surroundings; borrowed until cd_guest_run returns. */
typedef struct cd_guest_cfg {
    cd_vm_factory vm;
    const char *name;        /* name of the VM's thread and in logs: "evm" */
    const char *engine_addr; /* where the node waits for the handshake */
    const char *family;      /* of networks when the chain's configuration names none; NULL: as in the network's row */
    u64 memory;              /* bytes for caches, requests and answers */
    cd_logger *log;
} cd_guest_cfg;

/* cd_guest_engine_addr finds the address in the environment, Lux's variable first. is_upstream: only the
 * other family's variable is set. NULL: neither is. */
const char *cd_guest_engine_addr(bool *is_upstream);

/* cd_guest_run serves until the node has said Shutdown and sent SIGTERM, and gives the exit status. *why says what
 * went wrong, when it is not 0. */
int cd_guest_run(const cd_guest_cfg *cfg, cd_errinfo *why);

#endif
