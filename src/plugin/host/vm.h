/* plugin/host/vm.h - a plugin as a VM: vm/vm.h over the wire.
 *
 *   engine ── cd_vm_ops ──► blocks, caches ── cd_plugin_call ──► plugin
 *   node's loop ── routes ──► tunnel ─────────────────────────────┘  │
 *   store ◄── batch ◄── held ◄── rpcdb ◄─────────────────────────────┘
 *
 * A block of which the node knows everything is not asked for again: decided blocks, ids that are not there, and what
 * bytes mean are kept, 64 MiB of each, 2048 ids. The plugin fails once; then every call ends at once with CD_ECLOSED,
 * health says why, and whoever made the VM is told: it closes the chain and opens it anew. Threading: as vm/vm.h.
 * [spec:plugin#3] */
#ifndef CD_PLUGIN_HOST_VM_H
#define CD_PLUGIN_HOST_VM_H

#include "plugin/host/world.h"
#include "vm/vm.h"

/* What a plugin needs beyond a VM's context, which has it in dev; as long as the VM. */
typedef struct cd_plugin_vm_cfg {
    const char *path;
    cd_kv *store; /* the whole store, for changes of shared memory without a block; NULL: none */
    cd_plugin_names names;
    cd_plugin_signer signer;
    cd_bytes bls_key;   /* public key of this node, compressed */
    bool has_own_store; /* the plugin keeps its blocks in a store of its own: it hears of a block's acceptance when the
                         * block is in ours */
    u32 call_ms;        /* time for an answer about blocks; 0: 30000 */
    u32 http_ms;        /* time for an answer of a route; 0: 40000 */
    /* Called when the plugin has failed: the chain must be opened anew. Any thread; NULL allowed. */
    void (*failed)(void *ctx, const char *reason);
    void *ctx;
} cd_plugin_vm_cfg;

/* cd_plugin_vm_open is a cd_vm_factory. Errors: those of cd_plugin_start, what the plugin says to Initialize. */
cd_err cd_plugin_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_plugin_probe starts a plugin, asks its version (out, cut to fit) and ends it, to see whether it is usable. Errors:
 * those of cd_plugin_start. */
enum { CD_PLUGIN_VERSION_MAX = 64 };
cd_err cd_plugin_probe(char out[CD_PLUGIN_VERSION_MAX], const char *path, struct cd_logger *log,
                       cd_errinfo *why) CD_CHECK;

#endif
