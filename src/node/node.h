/* node/node.h - a process of the network: store, chains on their executors, the HTTP service, orderly stop.
 *
 *   HTTP loop ── POST /v1/bc/C/rpc ──► executor of C ──► reply
 *       │
 *       └ /v1/health  /v1/metrics
 *
 * Virtual machines come as factories from the program. Stopping is crashing: nothing is written that only an orderly
 * stop would write. Threading: one thread calls; the node's own threads stay inside. [spec:architecture#1] */
#ifndef CD_NODE_NODE_H
#define CD_NODE_NODE_H

#include "base/log.h"
#include "types/network.h"
#include "vm/vm.h"

typedef struct cd_node cd_node;

typedef struct cd_node_cfg {
    const cd_network *network;
    const char *data_dir; /* NULL: everything stays in memory */
    const char *http_host;
    u16 http_port;             /* 0 lets the system choose */
    const char *http_tls_cert; /* PEM files: the API speaks HTTPS; NULL: it does not */
    const char *http_tls_key;
    const char *allowed_origins;
    const char *const *allowed_hosts;
    usize allowed_hosts_cnt;
    u32 workers; /* threads for signatures and hashing; 0 = as many as CPUs, less one */
    cd_logger *log;
    cd_vm_factory evm; /* the C-Chain */
    /* Makes the genesis of the C-Chain of a network without data. */
    cd_err (*evm_genesis)(cd_buf *out, u64 chain_id, u64 time);
} cd_node_cfg;

/* cd_node_open takes the data directory, opens the chains and listens; cfg is borrowed for ever.
 * Errors: CD_EBUSY (directory in use), CD_EADDRINUSE, CD_EFOREIGN, CD_EVERSION, CD_EACCES, CD_ENOSPC …; why says what
 * to do. */
cd_err cd_node_open(cd_node **out, const cd_node_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_node_http_port gives the port the API listens on, also when the system chose it. */
u16 cd_node_http_port(const cd_node *n);

/* cd_node_run serves until SIGINT or SIGTERM, or cd_node_stop from another thread. */
void cd_node_run(cd_node *n);
void cd_node_stop(cd_node *n);

/* cd_node_close ends everything. NULL is allowed. */
void cd_node_close(cd_node *n);

#endif
