/* plugin/guest/world_priv.h - what a guest's VM knows of the network, over the wire: who validates, the node's
 * signature, messages to other nodes.
 *
 *   cd_vm_validators ──► ValidatorState      cd_vm_signer ──► Signer      cd_vm_sender ──► AppSender
 *
 * Every question waits for the node, a few seconds at most. Threading: any thread but the loop; the sender is the
 * executor's. [spec:plugin#5] */
#ifndef CD_PLUGIN_GUEST_WORLD_PRIV_H
#define CD_PLUGIN_GUEST_WORLD_PRIV_H

#include "grpc/client.h"
#include "vm/vm.h"

/* The world. */
typedef struct cd__guest_world {
    cd_vm_validators validators;
    cd_vm_signer signer;
    cd_vm_sender sender;
    cd_grpc_client *client;
    /* The VM is told that a request could not be sent. */
    void (*failed)(void *ctx, const cd_node_id *to, u32 request_id, i32 code, cd_bytes message);
    void *ctx;
} cd__guest_world;

/* cd__guest_world_init: key is the node's public BLS key, compressed; failed and ctx are set by the caller. */
void cd__guest_world_init(cd__guest_world *w, cd_grpc_client *client, cd_bytes key);

#endif
