/* node/chain/chain.h - one chain of a node as an object: a VM on its executor, an engine, its part of the store, its
 * folder.
 *
 *   cfg ──new──► start ─────────► opened ──► … ──► end ─────────► ended ──► free
 *                  └ on its executor: genesis, store, VM, pages      └ there: last jobs, engine, VM
 *
 * Neither opening nor closing takes the time of another thread. What a chain keeps in the store lies under a prefix of
 * its own: the C-Chain's is 'C', others get the next number of a table in the store, for ever. Threading: confined to
 * the thread that runs the node, but for what says otherwise. [spec:architecture#5] */
#ifndef CD_NODE_CHAIN_H
#define CD_NODE_CHAIN_H

#include "base/log/metrics.h"
#include "node/budget.h"
#include "node/chain/containers.h"
#include "node/chain/executor.h"
#include "node/chain/names.h"
#include "node/chain/validators.h"
#include "types/network.h"

typedef struct cd_node_chain cd_node_chain;
struct cd_http_req;
struct cd_node_final;

/* What a node does for the pages of a chain. run calls job(arg) on a reader's thread (CD_EFULL, CD_ECLOSED: not
 * called), from any thread; state appends what the node knows of itself as a JSON object, on the loop; final tells the
 * highest blocks with signatures of the validators, from any thread, false where blocks are not made final. */
typedef struct cd_node_hands {
    struct cd_loop *loop;
    cd_err (*run)(void *ctx, void (*job)(void *arg), void *arg);
    void (*state)(void *ctx, cd_buf *out);
    bool (*final)(void *ctx, struct cd_node_final *by_bls, struct cd_node_final *final);
    u64 (*finality)(void *ctx, cd_buf *report); /* a mark that changes with it, 0: none; report NULL: that alone */
    void *ctx;
} cd_node_hands;

/* Pages for people about one chain, from the program. open is told the VM, on the chain's executor, before anything is
 * served. serve answers a GET or POST of root or below on a reader's thread, where it may take its time, unless
 * serve_here has taken it on the loop. leave ends what stays open, on the loop, when the chain is to close; close comes
 * when no request is left and the VM is closed. */
typedef struct cd_node_pages {
    const char *root; /* "/explorer" */
    void (*open)(void *ctx, cd_vm *vm, const cd_node_hands *hands);
    bool (*serve_here)(void *ctx, struct cd_http_req *req);
    void (*serve)(void *ctx, struct cd_http_req *req);
    bool (*is_heavy)(void *ctx, struct cd_http_req *req); /* it runs what others wrote; NULL: none does */
    void (*leave)(void *ctx);
    void (*close)(void *ctx);
    void *ctx;
} cd_node_pages;

/* A chain to be opened; borrowed until it is closed. */
typedef struct cd_node_chain_cfg {
    cd_hash32 id;               /* zero: made of the network and the name */
    bool has_id;                /* it is as given, also zero: the P-Chain */
    cd_hash32 net_id;           /* of the net that it belongs to; zero: the primary network */
    const char *const *aliases; /* letters, digits, '-', '_' ; the first is its name */
    usize alias_cnt;            /* at least one */
    char prefix;                /* of its part of the store; 0: the node gives one */
    cd_vm_factory vm;
    /* Makes the genesis of a chain without data; now in Unix seconds. On the chain's executor. */
    cd_err (*genesis)(void *ctx, cd_buf *out, u64 now, cd_errinfo *why);
    void *genesis_ctx;
    cd_bytes genesis_bytes; /* instead: nothing is kept beside the data. Not both */
    bool is_wrapped;        /* its blocks stand in those of proposers (consensus/proposer) */
    u64 proposer_delay_s;   /* least time between two of them */
    /* Who validates, for all chains of the node, as long as the VM is open: of the P-Chain. NULL: it does not know. */
    const cd_vm_validators *(*validators)(cd_vm *vm);
    cd_bytes config; /* these three: see cd_vm_ctx */
    cd_bytes upgrades;
    const void *dev;
    u32 validator_cnt; /* of a chain without a wrapper: so many in this process decide; 0 and 1: the node alone */
    bool is_light;     /* a fraction of a chain's share of the memory is enough for it */
    const cd_node_pages *pages; /* NULL: none */
} cd_node_chain_cfg;

/* What the chains of a node share; as long as they. */
typedef struct cd_node_env {
    const cd_network *network;
    cd_node_id node_id;
    cd_logger *log;
    const cd_clock *clock;
    u64 seed; /* of random numbers; 0: the operating system's */
    bool is_stepped;
    const char *data_dir; /* NULL: nothing is kept */
    cd_kv *store;
    const cd_vm_primary *primary;     /* NULL: there is no P- and X-Chain */
    const cd_vm_users *users;         /* NULL: the node keeps no keys */
    const struct cd_staking *staking; /* NULL: staking is off */
    cd_node_names *names;
    cd_node_validators *validators;
    struct cd_catchup *catchup;
    struct cd_pool *pool;
    struct cd_metrics *metrics;
    struct cd_loop *loop;              /* NULL: there is no service */
    cd_budget share;                   /* of one chain */
    struct cd_node_finality *finality; /* NULL: blocks are not made final */
    const cd_vm_signer *signer;        /* NULL: Warp messages are not signed */
    struct cd_node_peers *peers;       /* with whom chains are decided; NULL: each decides alone */
    struct cd_ipc *ipc;                /* told of accepted containers; NULL: nobody is */
    bool has_index;                    /* containers of accepted blocks are kept */
} cd_node_env;

/* What a chain tells, on its executor; a stepped one on the caller's thread. Neither may be NULL. */
typedef struct cd_node_chain_events {
    void (*opened)(void *ctx, cd_err err, const cd_errinfo *why);
    void (*ended)(void *ctx);
    void *ctx;
} cd_node_chain_events;

enum { CD_NODE_ALIAS_MAX = 32 };

/* cd_node_chain_new makes a chain that is not open. hands are for its pages. has_label: its metrics carry its name.
 * Errors: CD_EINVAL with what is wrong with an alias. */
cd_err cd_node_chain_new(cd_node_chain **out, const cd_node_env *env, const cd_node_chain_cfg *cfg,
                         const cd_node_hands *hands, bool has_label, const cd_node_chain_events *events,
                         cd_errinfo *why) CD_CHECK;

/* cd_node_chain_start begins to open; cd_node_chain_await waits for it. cd_node_chain_end begins to close,
 * cd_node_chain_join waits for it, and cd_node_chain_free does both before it forgets the chain (NULL allowed). Errors:
 * as for executors; those of store, genesis and VM. */
cd_err cd_node_chain_start(cd_node_chain *c, cd_errinfo *why) CD_CHECK;
cd_err cd_node_chain_await(cd_node_chain *c, cd_errinfo *why) CD_CHECK;
void cd_node_chain_end(cd_node_chain *c);
void cd_node_chain_join(cd_node_chain *c);
void cd_node_chain_free(cd_node_chain *c);

/* What there is to know. has_id: text is the id, in CB58. vm: between opened and end, without the wrapper. */
const char *cd_node_chain_name(const cd_node_chain *c);
const cd_node_chain_cfg *cd_node_chain_cfg_of(const cd_node_chain *c);
const cd_hash32 *cd_node_chain_id(const cd_node_chain *c);
bool cd_node_chain_has_id(const cd_node_chain *c, cd_bytes text);
cd_executor *cd_node_chain_executor(cd_node_chain *c);
cd_vm *cd_node_chain_vm(const cd_node_chain *c);

/* cd_node_chain_validators tells how many validators in this process decide over the chain, 1: the node.
 * cd_node_chain_validator gives the VM of one (0 is the node's own), likewise between opened and end. */
u32 cd_node_chain_validators(const cd_node_chain *c);
cd_vm *cd_node_chain_validator(const cd_node_chain *c, u32 idx);

/* cd_node_chain_containers gives what index.* reads; NULL: nobody keeps them. */
const cd_containers *cd_node_chain_containers(const cd_node_chain *c);

/* cd_node_chain_is_bootstrapped: what the chain says is what the network says; before, it catches up. Any thread. */
bool cd_node_chain_is_bootstrapped(const cd_node_chain *c);

/* cd_node_chain_health writes what is known of the chain, and gives what is wrong with it; a check of health.h. */
const char *cd_node_chain_health(void *ctx, cd_json_w *message);

/* cd_node_chain_metrics brings the figures about it up to date. */
void cd_node_chain_metrics(cd_node_chain *c);

#endif
