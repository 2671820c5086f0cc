/* node/api/keystore.h - the service keystore.*, and the users it keeps, as the chains' VMs see them (vm/users.h).
 *
 *   keystore.createUser ──► wallet/users ◄── platform.importKey, xvm.send … of the chains
 *
 * Threading: methods run on the readers, users are shared. [spec:node-api#9] */
#ifndef CD_NODE_API_KEYSTORE_H
#define CD_NODE_API_KEYSTORE_H

#include "base/os/clock.h"
#include "rpc/jsonrpc.h"
#include "store/kv.h"
#include "vm/users.h"

typedef struct cd_keystore_api cd_keystore_api;

/* cd_keystore_api_new keeps its users in a part of the store of its own; all of it is borrowed. Secrets that everybody
 * knows are refused on the networks of the table that are not for tests. cd_keystore_api_free: NULL is allowed. */
cd_keystore_api *cd_keystore_api_new(cd_kv *store, const cd_clock *clock, u32 network_id)
    __attribute__((returns_nonnull));
void cd_keystore_api_free(cd_keystore_api *api);

/* cd_keystore_api_service gives the table for an endpoint; cd_keystore_api_users what VMs are given. */
const cd_rpc_service *cd_keystore_api_service(const cd_keystore_api *api);
const cd_vm_users *cd_keystore_api_users(const cd_keystore_api *api);

#endif
