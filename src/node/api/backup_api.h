/* node/api/backup_api.h - the service backup.*: copies of the node's data while it runs (node/backup.h). One at a time.
 * Threading: its methods run on the readers. [spec:decisions#D39] */
#ifndef CD_NODE_API_BACKUP_API_H
#define CD_NODE_API_BACKUP_API_H

#include "node/backup.h"
#include "rpc/jsonrpc.h"

typedef struct cd_backup_api cd_backup_api;

/* What it works with. */
typedef struct cd_backup_cfg {
    cd_kv *store;
    const char *dir; /* of the network; NULL: everything stays in memory */
    const cd_clock *clock;
    const bool *is_apart; /* true there: a chain has a store of its own, beside the node's; NULL: none has */
} cd_backup_cfg;

/* cd_backup_api_new copies cfg; cd_backup_api_free: NULL is allowed. */
cd_backup_api *cd_backup_api_new(const cd_backup_cfg *cfg);
void cd_backup_api_free(cd_backup_api *api);

/* cd_backup_api_service gives the table for an endpoint. */
const cd_rpc_service *cd_backup_api_service(const cd_backup_api *api);

#endif
