/* chains/evmchain/rpc/api.h - what the methods of one EVM chain work on: the chain and what belongs to it, the process
 * around, and what a development network adds from above.
 *
 *   the VM ──fills──► cd_api ◄── cd_api_of(call): the ctx of every call
 *                       ├── chain, pool, feed, keystore, configuration     borrowed, below
 *                       ├── service: tables of methods, what requests share
 *                       └── dev: hooks                                     above; NULL on every other network
 *
 * Threading: filled in and changed by the executor, the owner of the chain, before requests come; afterwards handlers
 * of the lanes FAST, READ and TRY read what guards itself or is frozen, only OWNER the rest. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_API_H
#define CD_CHAINS_EVMCHAIN_RPC_API_H

#include "base/log/metrics.h"
#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/core/config/vm_config.h"
#include "chains/evmchain/rpc/service.h"
#include "vm/blocks.h"

/* An account of the development network whose key everybody knows. */
typedef struct cd_api_account {
    cd_addr20 addr;
    u8 secret[32];
} cd_api_account;

/* What a development network adds. Where no lane is named a hook is called on the executor. */
typedef struct cd_api_dev cd_api_dev;
typedef struct cd_api_dev_ops {
    /* next gives what a block made now goes by; it borrows from dev, nothing is used up. */
    void (*next)(const cd_api_dev *dev, cd_build_cfg *out);
    /* sent follows the arrival of a transaction in the pool. It fails the call when the transaction is not taken after
     * all. */
    cd_err (*sent)(cd_rpc_call *call, const cd_hash32 *hash);
    /* may_send: addr needs no signature. */
    bool (*may_send)(const cd_api_dev *dev, const cd_addr20 *addr);
    /* coinbase gives the one that was chosen, or NULL. */
    const cd_addr20 *(*coinbase)(const cd_api_dev *dev);
    /* watched calls run(arg), which has evm run one message, and tells what that printed and why it failed. Gives what
     * run gave. Any thread. */
    cd_err (*watched)(const cd_api_dev *dev, cd_evm *evm, cd_err (*run)(void *arg), void *arg);
    /* add_methods adds its own methods to a table that has the ordinary ones. */
    void (*add_methods)(const cd_api_dev *dev, cd_rpc_table *t);
} cd_api_dev_ops;

/* First member of the development network's object. */
struct cd_api_dev {
    const cd_api_dev_ops *ops;
};

typedef struct cd_api_plan cd_api_plan;

/* What the methods of a chain work with. */
typedef struct cd_api cd_api;
struct cd_api {
    cd_chain *chain;
    cd_blocks *blocks; /* its blocks as the engine sees them */
    cd_api_plan *plan; /* of the block that is asked for now (seat.h); NULL: the engine's own wish */
    cd_txpool *pool;
    cd_chain_source head; /* reads the accepted state */
    const cd_vm_config *config;
    cd_arena *arena;              /* for what lives as long as the service */
    struct cd_feed *feed;         /* what the chain accepts, for subscribers; made with the service */
    struct cd_feed *final_feed;   /* the same as far as it is final */
    struct cd_warp *warp;         /* NULL: it signs nothing */
    struct cd_keystore *keystore; /* accounts of the node; NULL: none (keys.h) */

    cd_vm_host *host;
    const cd_clock *clock;
    struct cd_pool *workers; /* threads for signatures */
    struct cd_logger *log;
    const char *dir; /* for files of the chain's own; NULL: everything stays in memory */
    u32 network_id;
    cd_gauge *text_bytes;    /* of rendered answers; NULL: nobody looks */
    void (*news)(void *ctx); /* after every change of the head; NULL: nobody watches it */
    void *news_ctx;

    bool has_finality; /* the node tells which blocks are final: before the first, none but genesis is */
    _Atomic u64 final; /* 1 and the height of the highest that it has told; 0: none yet */

    bool is_dev;
    cd_api_dev *dev;                /* NULL everywhere but on a development network */
    const cd_api_account *accounts; /* frozen; none likewise */
    usize account_cnt;

    /* Validators of one chain in one process: what the owner is asked for is the lead's, who hands on what it changes.
     * NULL: there are no others. */
    cd_api *lead;      /* of all others */
    cd_api *followers; /* of the lead: the first of the others */
    cd_api *next;      /* of another: the next one */

    cd_api_service service;
};

/* cd_api_final gives the height of "safe" and "finalized" where the chain stands at head: that of the highest final
 * block; head itself when nobody tells which are. Any thread. [spec:eth-rpc#3] [spec:decisions#D22] */
CD_INLINE u64 cd_api_final(const cd_api *api, u64 head)
{
    u64 told = atomic_load(&api->final);
    u64 height = told != 0 ? told - 1 : api->has_finality ? 0 : head;
    return cd_min_u64(height, head);
}

/* cd_api_of gives what a call works on. */
CD_INLINE cd_api *cd_api_of(const cd_rpc_call *call)
{
    cd_api *api = (cd_api *)call->ctx;
    bool is_owners = api->lead != NULL && call->method != NULL && call->method->lane == CD_RPC_OWNER;
    return is_owners ? api->lead : api;
}

/* cd_api_next gives what a block that is built now goes by; it borrows from the api. cd_api_follow lets pool and
 * readers follow a changed head, or changed wishes. Errors: the store's. The executor. */
void cd_api_next(const cd_api *api, cd_build_cfg *out);
cd_err cd_api_follow(cd_api *api) CD_CHECK;

#endif
