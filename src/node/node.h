/* node/node.h - a process of the network: store, chains on their executors, the HTTP front, orderly stop.
 *
 *   front: loop ── /v1/bc/C/rpc ──► service of C ──► readers, executor of C ──► reply
 *            │  └─ /v1/bc/B/rpc ──► service of B ──►    "     executor of B
 *            └ /v1/health  /v1/metrics, and below /ext
 *
 * Virtual machines come as factories from the program. A node that is stepped has no front and no threads: cd_node_step
 * does what is due by the clock it was given, so that many of them run in one test. Stopping is crashing: nothing is
 * written that only an orderly stop would write. Threading: one thread calls, but for what says otherwise; the node's
 * own threads stay inside. [spec:architecture#1] [spec:architecture#9] */
#ifndef CD_NODE_NODE_H
#define CD_NODE_NODE_H

#include "base/log/log.h"
#include "node/chain/chain.h"
#include "node/chain/chains.h"
#include "node/chain/tracked.h"
#include "node/front/front.h"
#include "node/peers/peers.h"
#include "types/network.h"

typedef struct cd_node cd_node;

/* One more name of a chain. */
typedef struct cd_node_alias {
    cd_hash32 chain;
    cd_bytes name;
} cd_node_alias;

/* What a node is; all of it borrowed until the node is closed. */
typedef struct cd_node_cfg {
    const cd_network *network;
    cd_node_id node_id;
    cd_bytes bls_key; /* compressed, and a proof that its secret is known; empty: the node signs nothing */
    cd_bytes bls_pop;
    const u8 *mldsa_seed;             /* 32 bytes of the key that stamps final blocks; NULL: it stamps none */
    const struct cd_fin_group *group; /* the dealt threshold key, and this node's share of it; NULL: none */
    const struct cd_rt_share *share;
    bool makes_final;           /* blocks that are decided with peers are made final, */
    bool wants_threshold;       /* by threshold signatures alone */
    const cd_vm_signer *signer; /* signs Warp messages with that key; NULL likewise */
    const char
        *staking_host; /* what info.getNodeIP says without peers: "203.0.113.7", "[2001:db8::7]"; NULL: nothing */
    u16 staking_port;  /* and its port; 0: that of the API plus 1 */
    const cd_node_peers_cfg
        *peers;            /* NULL: it speaks to nobody. Not of a node that is stepped; prepare may change it */
    const char *data_dir;  /* NULL: everything stays in memory */
    bool accepts_loss;     /* go on where the store has lost what it acknowledged */
    cd_kv *kv;             /* the store, the caller's; NULL: the node opens one in data_dir or in memory */
    const cd_clock *clock; /* NULL: the machine's */
    u64 seed;              /* of the chains' random numbers; 0: the operating system's */
    bool is_stepped;
    cd_front_cfg http;
    u32 shutdown_wait_ms;    /* serve so long after a signal to stop, health failing */
    u32 shutdown_timeout_ms; /* then wait so long for running requests */
    bool has_info;
    const char *commit; /* of the source, for info.getNodeVersion; NULL: not known */
    bool has_health;
    u64 health_fresh_ns; /* so long a check's result is told again; 0: a second */
    bool has_metrics;
    bool has_index;          /* containers of accepted blocks are kept and served (index.*) */
    bool has_ipcs;           /* ipcs.*: chains are streamed to sockets by hand (node/ipc.h) */
    const char *ipcs_dir;    /* where those are; NULL: in no case */
    const char *const *ipcs; /* names or IDs of chains that are streamed from the start */
    usize ipcs_cnt;
    bool has_admin;          /* admin.*: chains are stopped and started by hand */
    bool has_keystore;       /* keystore.*, and the methods of chains that act for its users */
    cd_bytes auth_password;  /* requests need a token of auth.*, which it gives; empty: they need none */
    const char *profile_dir; /* where admin.* writes profiles; NULL: nowhere */
    cd_bytes config;         /* what admin.getConfig tells, a JSON object without secrets; empty: nothing */
    bool is_admin_remote;    /* admin routes, the node's and the chains', answer clients on other machines too */
    bool serves_early;       /* chains that have not caught up answer, too */
    u64 memory;              /* the budget, bytes; at least 64 MiB */
    u32 workers;             /* threads for signatures and hashing; 0 = as many as CPUs, less one */
    cd_logger *log;
    bool has_log_file;                /* which is opened again at SIGHUP */
    const struct cd_staking *staking; /* how blocks are signed; NULL: staking is off, this node decides alone */
    /* prepare may still change what primary, chains and their rows say, once the data directory is the node's. NULL:
     * nothing to do. */
    cd_err (*prepare)(void *ctx, cd_errinfo *why);
    void *prepare_ctx;
    const cd_vm_primary *primary;    /* what P-, X- and C-Chain know of each other; NULL: they are not all here */
    const cd_node_chain_cfg *chains; /* opened at the start; the first is the one that "/" speaks to */
    usize chain_cnt;
    const cd_node_alias
        *aliases; /* of chains that are open at the start; those of others are left out, the log says so */
    usize alias_cnt;
    u32 chains_max;         /* open at a time, among whom the budget is divided; 0: chain_cnt. Light ones count not */
    const char *pages_root; /* "/explorer"; NULL: no chain has pages */
    const cd_plugins_cfg *plugins; /* NULL: no plugins; these two not of a node that is stepped */
    const cd_tracked_cfg *tracked; /* whose chains run with them; NULL: nobody's */
} cd_node_cfg;

/* cd_node_open takes the data directory, opens the chains and listens; cfg is borrowed for ever.
 * Errors: CD_EBUSY (directory in use), CD_EADDRINUSE, CD_EFOREIGN, CD_EVERSION, CD_EACCES, CD_ENOSPC …; why says what
 * to do. */
cd_err cd_node_open(cd_node **out, const cd_node_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_node_make_dir makes a data directory and sees that there is room, as opening does: for who writes there before.
 * Errors: CD_ENOSPC, those of making it. */
cd_err cd_node_make_dir(const char *dir, cd_errinfo *why) CD_CHECK;

/* cd_node_layout gives the version of what a node keeps in its store (cd_kv_cfg). */
u32 cd_node_layout(void);

/* cd_node_http_port gives the port the API listens on, also when the system chose it. */
u16 cd_node_http_port(const cd_node *n);

/* cd_node_http_port_at gives that of validator idx of those in this process; 0 is the first. */
u16 cd_node_http_port_at(const cd_node *n, u32 idx);

/* cd_node_peers_at gives the port that peers are listened for at, 0: the node speaks to nobody. */
u16 cd_node_peers_at(const cd_node *n);

/* cd_node_run serves until SIGINT or SIGTERM, or cd_node_stop from another thread, or until the store cannot be
 * written. Gives when it was asked to stop (monotonic nanoseconds). Not of a node that is stepped. */
u64 cd_node_run(cd_node *n);
void cd_node_stop(cd_node *n);

/* cd_node_open_chain and cd_node_close_chain open and close a chain (by name or id) while the node runs; told (NULL
 * allowed) hears how it went (chains.h). Any thread. Requests to a chain that closes are 404 from then on; those that
 * run are answered. Opened again, it goes on from what it has in the store. */
void cd_node_open_chain(cd_node *n, const cd_node_chain_cfg *cfg, cd_chains_told *told, void *ctx);
void cd_node_close_chain(cd_node *n, const char *name, cd_chains_told *told, void *ctx);

/* cd_node_step does all that is due in a node that is stepped, and gives when to call again (nanoseconds of its clock;
 * UINT64_MAX: when something was asked of it). */
u64 cd_node_step(cd_node *n);

/* cd_node_ask answers a JSON-RPC request to a route ("/rpc") of a chain, at once: of a node that is stepped. Errors:
 * CD_ENOENT. cd_node_chain_of gives a chain that is open, NULL: none is called so. */
cd_err cd_node_ask(cd_node *n, const char *chain, const char *route, cd_buf *reply, cd_bytes body) CD_CHECK;
cd_node_chain *cd_node_chain_of(cd_node *n, const char *name);

/* cd_node_health appends what the health route says; false: something fails. */
bool cd_node_health(cd_node *n, cd_buf *out);

/* cd_node_has_failed tells whether the store could not be written; the log says why. */
bool cd_node_has_failed(const cd_node *n);

/* cd_node_close ends everything; NULL is allowed. Gives the number of blocks of the first chain that were accepted
 * since the start. */
u64 cd_node_close(cd_node *n);

#endif
