/* plugin/guest/shared_priv.h - the node's shared memory as a VM sees it, and its changes on their way to the node.
 *
 *   get, indexed ──► SharedMemory                apply ──► pending ──► the next commit of the kv (db_priv.h) takes them
 *
 * Threading: get and indexed wait for the node, on any thread but the loop; apply and what it leaves are the
 * executor's. [spec:plugin#5] */
#ifndef CD_PLUGIN_GUEST_SHARED_PRIV_H
#define CD_PLUGIN_GUEST_SHARED_PRIV_H

#include "grpc/client.h"
#include "plugin/wire/wire.h"
#include "vm/shared.h"

/* Shared memory over the wire. */
typedef struct cd__guest_shared {
    cd_vm_shared shared; /* first: what the VM is given */
    cd_grpc_client *client;
    cd_buf pending; /* an ApplyRequest without batches: changes that wait for a commit; empty: none */
} cd__guest_shared;

void cd__guest_shared_init(cd__guest_shared *s, cd_grpc_client *client);
void cd__guest_shared_fini(cd__guest_shared *s);

/* cd__guest_shared_send sends changes (an ApplyRequest without batches) together with a batch for the node's database.
 * Errors: those of the call. */
cd_err cd__guest_shared_send(cd__guest_shared *s, cd_bytes changes, const cd_wire_db_batch *batch,
                             cd_errinfo *why) CD_CHECK;

#endif
