/* node/node.h - a process of the network: store, chains on their executors, the HTTP service, orderly stop.
 *
 *   HTTP loop ── POST /v1/bc/C/rpc ──► executor of C ──► reply
 *       │
 *       └ /v1/health  /v1/metrics, and below /ext
 *
 * Virtual machines come as factories from the program. Stopping is crashing: nothing is written that only an orderly
 * stop would write. Threading: one thread calls; the node's own threads stay inside. [spec:architecture#1] */
#ifndef CD_NODE_NODE_H
#define CD_NODE_NODE_H

#include "base/log.h"
#include "types/network.h"
#include "vm/vm.h"

typedef struct cd_node cd_node;
struct cd_http_req;

/* What a node does for its pages. run calls job(arg) on a reader's thread (CD_EFULL, CD_ECLOSED: not called), from any
 * thread; state appends what the node knows of itself as a JSON object, on the loop. */
typedef struct cd_node_hands {
    cd_node *node;
    struct cd_loop *loop;
    cd_err (*run)(cd_node *n, void (*job)(void *arg), void *arg);
    void (*state)(cd_node *n, cd_buf *out);
} cd_node_hands;

/* Pages for people about the C-Chain, from the program: open is told the VM before anything is served and close when all is
 * over; serve answers a GET or POST of root or below on a reader's thread, where it may take its time, unless serve_here has
 * taken it on the loop. */
typedef struct cd_node_pages {
    const char *root; /* "/explorer" */
    void (*open)(void *ctx, cd_vm *vm, const cd_node_hands *hands);
    bool (*serve_here)(void *ctx, struct cd_http_req *req);
    void (*serve)(void *ctx, struct cd_http_req *req);
    void (*close)(void *ctx);
    void *ctx;
} cd_node_pages;

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
    u32 read_timeout_ms; /* these four: 0 = as net/http_server.h */
    u32 header_timeout_ms;
    u32 write_timeout_ms;
    u32 idle_timeout_ms;
    u32 shutdown_wait_ms;    /* serve so long after a signal to stop, health failing */
    u32 shutdown_timeout_ms; /* then wait so long for running requests */
    bool has_health;
    bool has_metrics;
    bool is_admin_remote; /* chains' admin routes answer clients on other machines too */
    u64 memory;           /* the budget, bytes; at least 64 MiB */
    u32 workers;          /* threads for signatures and hashing; 0 = as many as CPUs, less one */
    cd_logger *log;
    bool has_log_file; /* which is opened again at SIGHUP */
    cd_vm_factory evm; /* the C-Chain */
    /* Makes the genesis of the C-Chain of a network without data; now in Unix seconds. */
    cd_err (*evm_genesis)(void *ctx, cd_buf *out, u64 chain_id, u64 now);
    void *evm_genesis_ctx;
    const struct cd_dev_options *evm_dev; /* these three: see cd_vm_ctx */
    cd_bytes evm_config;
    cd_bytes evm_upgrades;
    const cd_node_pages *pages; /* NULL: none */
} cd_node_cfg;

/* cd_node_open takes the data directory, opens the chains and listens; cfg is borrowed for ever.
 * Errors: CD_EBUSY (directory in use), CD_EADDRINUSE, CD_EFOREIGN, CD_EVERSION, CD_EACCES, CD_ENOSPC …; why says what
 * to do. */
cd_err cd_node_open(cd_node **out, const cd_node_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_node_layout gives the version of what a node keeps in its store (cd_kv_cfg). */
u32 cd_node_layout(void);

/* cd_node_http_port gives the port the API listens on, also when the system chose it. */
u16 cd_node_http_port(const cd_node *n);

/* cd_node_run serves until SIGINT or SIGTERM, or cd_node_stop from another thread, or until the store cannot be written. Gives when it was asked to stop
 * (monotonic nanoseconds). */
u64 cd_node_run(cd_node *n);
void cd_node_stop(cd_node *n);

/* cd_node_has_failed tells whether the store could not be written; the log says why. */
bool cd_node_has_failed(const cd_node *n);

/* cd_node_close ends everything; NULL is allowed. Gives the number of C-blocks that were accepted since the start. */
u64 cd_node_close(cd_node *n);

#endif
