/* vm/vm.h - the one contract between the node and a chain, whatever the chain does.
 *
 *   node ── parse/build ──► block ── verify ──► accept | reject          (consensus orders, the VM judges)
 *     ▲                                                                  requests reach the VM's handlers
 *     └── cd_vm_host: "there is something to build"
 *
 * All calls of cd_vm_ops come on the chain's executor thread. State sync, app messages and events join when the engine
 * does. Threading: confined to the executor, but for what its services serve. [spec:architecture#5] */
#ifndef CD_VM_VM_H
#define CD_VM_VM_H

#include "base/buf.h"

typedef struct cd_vm cd_vm;
typedef struct cd_vm_block cd_vm_block;

/* What a VM may ask of the node; owned by the node. */
typedef struct cd_vm_host cd_vm_host;
struct cd_vm_host {
    /* wants_block: transactions are waiting; the node will call build when it is time. */
    void (*wants_block)(cd_vm_host *host);
    /* settle: where this node decides alone, what the VM wants to build is built and accepted before settle returns; elsewhere
     * nothing happens. For a handler of the OWNER lane whose answer must not come before its block. */
    void (*settle)(cd_vm_host *host);
    /* run calls job(arg) on the executor and waits for its end, for a handler of the READ lane that did what takes long and
     * now must change something. Errors: CD_EFULL, CD_ECLOSED; then nothing was called. NULL: there is no other thread. */
    cd_err (*run)(cd_vm_host *host, void (*job)(void *arg), void *arg);
};

/* A block that a VM handed out. The VM owns it; release ends the node's use. */
struct cd_vm_block {
    cd_hash32 id;
    cd_hash32 parent;
    u64 height;
    u64 time; /* Unix seconds */
    cd_bytes bytes;
};

/* What is spoken at a route, as bits; LOCAL: with callers on this machine only, unless the operator says otherwise. */
enum { CD_VM_HTTP = 1, CD_VM_WS = 2, CD_VM_LOCAL = 4 };

/* One route below the chain's path ("/rpc"), and who answers there (rpc/jsonrpc.h): a table of methods, each in a lane, and
 * what begins and ends the context of a request, such as a frozen view of the chain. The first is what a development network
 * speaks at "/". Handlers of the lanes FAST and READ run on other threads than the executor. */
struct cd_rpc_service;
typedef struct cd_vm_handler {
    const char *route;
    u32 over; /* CD_VM_* */
    const struct cd_rpc_service *service;
} cd_vm_handler;

typedef struct cd_vm_ops {
    const char *name; /* "evm" */

    /* build makes a block on the preferred one. Errors: CD_ENOENT when there is nothing to put into one. */
    cd_err (*build)(cd_vm *vm, cd_vm_block **out, cd_errinfo *why);
    /* parse reads a block; get finds one that was verified or accepted. Errors: CD_EFORMAT and like; CD_ENOENT. */
    cd_err (*parse)(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why);
    cd_err (*get)(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id);
    void (*release)(cd_vm *vm, cd_vm_block *block);

    /* verify: CD_OK when the block is valid on its parent, which was verified before. accept makes it durable before
     * it returns; reject drops it. */
    cd_err (*verify)(cd_vm *vm, cd_vm_block *block, cd_errinfo *why);
    cd_err (*accept)(cd_vm *vm, cd_vm_block *block, cd_errinfo *why);
    cd_err (*reject)(cd_vm *vm, cd_vm_block *block);
    cd_err (*set_preference)(cd_vm *vm, const cd_hash32 *id);

    void (*last_accepted)(cd_vm *vm, cd_hash32 *id, u64 *height);
    cd_err (*id_at_height)(cd_vm *vm, cd_hash32 *id, u64 height);

    /* handlers gives the routes, borrowed as long as the VM; requests come only between open and close. */
    const cd_vm_handler *(*handlers)(cd_vm *vm, usize *cnt);
    const char *(*version)(cd_vm *vm);
    /* wake lets the VM do what is due by the clock and gives when to be called next (monotonic nanoseconds, UINT64_MAX: no
     * need); it is called after every request too. NULL: nothing ever is. */
    u64 (*wake)(cd_vm *vm);
    void (*close)(cd_vm *vm);
} cd_vm_ops;

/* First member of an implementation's object. */
struct cd_vm {
    const cd_vm_ops *ops;
};

/* What a factory gets; everything is borrowed and outlives the VM. */
struct cd_kv;
struct cd_logger;
struct cd_pool;
struct cd_loop;
struct cd_metrics;
struct cd_dev_options;
typedef struct cd_vm_ctx {
    struct cd_kv *kv; /* the chain's own part of the store */
    struct cd_logger *log;
    struct cd_pool *pool;
    cd_vm_host *host;
    struct cd_loop *loop; /* where the sessions of its services live; NULL: they have none */
    cd_bytes genesis;     /* as the chain was created with */
    cd_bytes config;      /* what the operator set for this chain; empty = defaults */
    cd_bytes upgrades;    /* what is changed at times to come; empty = nothing */
    u32 network_id;
    cd_hash32 chain_id;
    bool is_dev; /* the row of the dev network: unlocked accounts, blocks on demand */
    const struct cd_dev_options *dev; /* what else its operator asks for; NULL: nothing */
    struct cd_metrics *metrics;       /* NULL: nobody looks */
    const char *dir; /* for files of its own, not made yet; NULL: everything stays in memory */
    usize
        cache_bytes;  /* of the memory budget: for state kept from the store; 0 = as the VM likes */
    usize trie_bytes; /* for tries, likewise */
    usize text_bytes; /* for answers kept as text, likewise */
} cd_vm_ctx;

/* A factory opens a VM on its store, or makes a new chain of the genesis in an empty one. */
typedef cd_err (*cd_vm_factory)(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why);

#endif
