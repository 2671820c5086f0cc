/* node/api/admin_priv.h - what the files of admin.* share. */
#ifndef CD_NODE_API_ADMIN_PRIV_H
#define CD_NODE_API_ADMIN_PRIV_H

#include "base/os/profile.h"
#include "base/thread/thread.h"
#include "node/api/admin.h"
#include "rpc/named.h"

typedef enum cd__admin_state {
    CD__RUNNING,
    CD__STOPPING,
    CD__STOPPED,
    CD__STARTING,
} cd__admin_state;

typedef struct cd__admin_row {
    const cd_node_chain_cfg *cfg;
    cd_hash32 id;
    cd__admin_state state;
    cd_errinfo why; /* STOPPED: why it could not be opened, "" when it was not tried */
} cd__admin_row;

struct cd_admin_api {
    cd_admin_cfg cfg;
    cd_chains *chains;
    cd_mutex profile_lock; /* protects profile: its methods run on readers */
    cd_cpu_profile profile;
    cd__admin_row *rows;
    usize cnt;
    cd_rpc_table *table;
    cd_rpc_service service;
};

#define X CD_RPC_NAMED_DECL
#include "node/api/admin.def"
#undef X

#endif
