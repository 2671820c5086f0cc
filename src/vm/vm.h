/* vm/vm.h - the one contract between the node and a chain, whatever the chain does.
 *
 *              build / parse / get ──► block ── verify ──► accept, commit, accepted
 *   engine ──►                          │          └─────► reject
 *                                       └ release
 *   node   ──► state, wake, health, routes, app messages, summaries        VM ──► cd_vm_host: events, the engine's seat
 *
 * Blocks are objects: there is one for an id, however often and in whatever order it is parsed, fetched or built
 * (vm/blocks.h keeps them for every VM of ours). A block is verified on a parent that is verified or last accepted, and
 * decided once: accepted at the height behind the last accepted one, or rejected. The node commits what accepting
 * writes, together with whatever else must be in the same write.
 *
 * Threading: everything here is called on the chain's executor, one call at a time, but for requests (rpc/method.h says
 * in which lanes, raw handlers come on the loop). Nothing here reads the machine's clock or randomness: the context
 * brings them, so that a whole network runs in one process under a virtual world. [spec:architecture#5] */
#ifndef CD_VM_VM_H
#define CD_VM_VM_H

#include "base/os/clock.h"
#include "base/os/rng.h"
#include "codec/json.h"
#include "net/http/server.h"
#include "rpc/jsonrpc.h"
#include "store/kv.h"
#include "vm/sender.h"
#include "vm/shared.h"
#include "vm/signer.h"
#include "vm/users.h"
#include "vm/validators.h"

typedef struct cd_vm cd_vm;

/* --- what a VM may ask of the node --- */

/* What a VM tells its engine. */
typedef enum cd_vm_event {
    CD_VM_WANTS_BLOCK, /* transactions are waiting: the engine calls build when it is time */
    CD_VM_SYNC_DONE,   /* a state sync has ended: last_accepted tells where */
} cd_vm_event;

/* The engine's seat and the executor, as the VM sees them; owned by the node. */
typedef struct cd_vm_host cd_vm_host;
struct cd_vm_host {
    /* notify tells an event, on the executor, at any time; the engine acts after the call that is running. */
    void (*notify)(cd_vm_host *host, cd_vm_event event);
    /* produce has the engine make one block: build on the preferred one, verify, accept, commit, all before it returns.
     * On the executor, from a request or wake, never from inside another call of cd_vm_ops but wake. Errors:
     * CD_EUNSUPPORTED where this node does not decide alone; CD_ENOENT when build has nothing; what build, verify and
     * the store say. */
    cd_err (*produce)(cd_vm_host *host, cd_errinfo *why);
    /* rewind lets job(arg) change the last accepted block otherwise than by accepting one: the engine releases every
     * undecided block before, and begins anew at last_accepted afterwards, also when job fails. To be called where
     * produce may be. Errors: CD_EUNSUPPORTED, those of job. */
    cd_err (*rewind)(cd_vm_host *host, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why);
    /* run calls job(arg) on the executor and waits for its end: for a handler that has done long work on another thread
     * and now must change something. On the executor itself it calls job at once. NULL: there is no other thread.
     * Errors: CD_EFULL, CD_ECLOSED; then job was not called. */
    cd_err (*run)(cd_vm_host *host, void (*job)(void *arg), void *arg);
    /* stir has the executor call wake soon, and never waits: for code that has heard something on another thread. Any
     * thread, as long as the VM is open. NULL: there is no other thread. */
    void (*stir)(cd_vm_host *host);
};

/* --- blocks --- */

/* How far a block is decided. */
typedef enum cd_vm_status {
    CD_VM_UNKNOWN,  /* read, not verified; perhaps its parent has not come */
    CD_VM_VERIFIED, /* valid on its parent; to be accepted or rejected */
    CD_VM_ACCEPTED,
    CD_VM_REJECTED,
} cd_vm_status;

/* A block. The VM owns it; who got it from build, parse, get or options holds one use and ends it with release.
 * Everything but status stays as it is. */
typedef struct cd_vm_block cd_vm_block;
struct cd_vm_block {
    cd_hash32 id;
    cd_hash32 parent;
    u64 height; /* 1 + the parent's; on a development network span + the parent's */
    u64 time;   /* Unix seconds */
    cd_bytes bytes;
    u64 span;           /* 1; n: the block brings n - 1 empty blocks before it (development network) */
    bool needs_context; /* verify wants the P-Chain height */
    cd_vm_status status;
    struct {
        u32 refs;
        bool is_orphan;     /* verified, but what it stands on was rejected */
        u64 pchain_height;  /* P-Chain height of the context it was verified under */
        cd_vm_block *above; /* its parent in the tree of verified blocks; NULL: the last accepted block */
        cd_vm_block *below; /* its newest child there */
        cd_vm_block *next;  /* the next older child of its parent */
    } own;                  /* for vm/blocks.h alone */
};

/* The context in which a block is built or verified. */
typedef struct cd_vm_block_ctx {
    u64 pchain_height; /* the P-Chain height at which validator sets are looked up; 0: not known */
} cd_vm_block_ctx;

/* How far a chain is. The numbers are those of the plugin protocol. */
typedef enum cd_vm_state {
    CD_VM_SYNCING = 1,       /* a summary was accepted; blocks come later */
    CD_VM_BOOTSTRAPPING = 2, /* blocks are known to be accepted by others; they are still verified */
    CD_VM_NORMAL = 3,        /* consensus runs: blocks are built, messages sent */
} cd_vm_state;

/* --- state summaries --- */

/* A summary of a state, to which a node can be synced. */
typedef struct cd_vm_summary {
    cd_hash32 id;
    u64 height;
    cd_bytes bytes; /* in the arena that the call was given */
} cd_vm_summary;

/* What a VM does with a summary that was accepted. */
typedef enum cd_vm_sync_mode {
    CD_VM_SYNC_SKIPPED = 1, /* no need: bootstrap from where the chain stands */
    CD_VM_SYNC_STATIC = 2,  /* the chain waits for CD_VM_SYNC_DONE before it bootstraps */
    CD_VM_SYNC_DYNAMIC = 3, /* the chain bootstraps while the state is synced */
} cd_vm_sync_mode;

/* How far a sync is. */
typedef struct cd_vm_sync_progress {
    u64 items;    /* leafs, codes and blocks that are here */
    u32 permille; /* of the state, about */
    u64 left_s;   /* seconds, if it goes on at this speed; 0: not known */
} cd_vm_sync_progress;

/* For a VM that can be synced to a summary instead of executing every block. Errors of all: CD_ENOENT when there is no
 * summary. */
typedef struct cd_vm_sync_ops {
    bool (*is_enabled)(cd_vm *vm); /* this node wants to be synced; summaries are served in any case */
    /* ongoing gives the summary of a sync that was stopped, last the newest that can be served, at the one of a
     * height. */
    cd_err (*ongoing)(cd_vm *vm, cd_vm_summary *out, cd_arena *a);
    cd_err (*last)(cd_vm *vm, cd_vm_summary *out, cd_arena *a);
    cd_err (*at)(cd_vm *vm, cd_vm_summary *out, cd_arena *a, u64 height);
    /* parse reads a summary from a peer. Errors: CD_EFORMAT and like. */
    cd_err (*parse)(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why);
    /* accept begins to sync, before any block is verified. CD_VM_SYNC_DONE ends a static sync, also one that came to
     * nothing: last_accepted tells. */
    cd_err (*accept)(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why);
    void (*progress)(cd_vm *vm, cd_vm_sync_progress *out); /* how far it is; NULL: nobody can tell */
} cd_vm_sync_ops;

/* --- messages between VMs of one chain on several nodes --- */

/* Messages of peers. None of these may fail: a message that makes no sense is answered with cd_vm_sender's error, and
 * changes nothing here. A request is answered or refused through the sender before deadline_ns (of the context's
 * monotonic clock); each request of ours is followed by exactly one response or failed. */
typedef struct cd_vm_app_ops {
    void (*request)(cd_vm *vm, const cd_node_id *from, u32 request_id, u64 deadline_ns, cd_bytes msg);
    void (*response)(cd_vm *vm, const cd_node_id *from, u32 request_id, cd_bytes msg);
    void (*failed)(cd_vm *vm, const cd_node_id *from, u32 request_id, i32 code, cd_bytes message);
    void (*gossip)(cd_vm *vm, const cd_node_id *from, cd_bytes msg);
    void (*connected)(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version);
    void (*disconnected)(cd_vm *vm, const cd_node_id *peer);
} cd_vm_app_ops;

/* --- routes --- */

/* Bits: what a route speaks; LOCAL: only with callers on this machine, unless the operator says otherwise. */
enum { CD_VM_HTTP = 1, CD_VM_WS = 2, CD_VM_LOCAL = 4 };

/* One route below the chain's path, and who answers there: a table of methods (service), or whoever takes raw requests
 * (serve, on the loop; it answers now or later, from any thread). The first is what a development network speaks at
 * "/". */
typedef struct cd_vm_handler {
    const char *route; /* "/rpc" */
    u32 over;          /* CD_VM_* */
    const cd_rpc_service *service;
    void (*serve)(void *ctx, cd_http_req *req); /* answers raw requests when service is NULL */
    /* For connections that serve has kept: leave says goodbye to them before the chain closes, is_idle then tells
     * whether all have gone. Both on the loop; NULL: serve keeps none. */
    void (*leave)(void *ctx);
    bool (*is_idle)(void *ctx);
    void *ctx;
} cd_vm_handler;

/* --- the VM --- */

/* What a VM implements; a member may be NULL only where its comment says so. */
typedef struct cd_vm_ops {
    const char *name; /* "evm" */

    /* set_state: the engine says how far the chain is, before anything else and whenever it changes. */
    cd_err (*set_state)(cd_vm *vm, cd_vm_state state, cd_errinfo *why);

    /* build makes a block on the preferred one, in state NORMAL. Errors: CD_ENOENT when there is nothing to put into
     * one. */
    cd_err (*build)(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why);
    /* parse reads a block of any origin; its parent need not be known. Errors: CD_EFORMAT and like; nothing is kept. */
    cd_err (*parse)(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why);
    /* get finds a block that somebody holds, that is verified or accepted. Errors: CD_ENOENT. */
    cd_err (*get)(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id);
    /* release ends one use; a verified block stays until it is decided. */
    void (*release)(cd_vm *vm, cd_vm_block *block);

    /* verify: CD_OK when the block is valid on its parent. A verified one is looked at again when the context differs,
     * an accepted one is fine. Errors: CD_ENOENT when the parent is neither verified nor last accepted, CD_EBUSY for a
     * rejected one (wrong calls), CD_EINVAL and like with what is wrong: it may be tried again. */
    cd_err (*verify)(cd_vm *vm, cd_vm_block *block, const cd_vm_block_ctx *ctx, cd_errinfo *why);
    /* accept appends to batch, which is for the context's kv, what accepting a verified block on the last accepted one
     * writes, shared memory included (apply), and changes nothing that anybody sees. When the batch is in the store,
     * accepted follows and no other call between; when it could not be written, nothing follows and the block is as
     * before. accepted may report an error of the store; the block is accepted all the same. Errors of accept: CD_EBUSY
     * (wrong call), the store's. */
    cd_err (*accept)(cd_vm *vm, cd_vm_block *block, cd_kv_batch *batch, cd_errinfo *why);
    cd_err (*accepted)(cd_vm *vm, cd_vm_block *block, cd_errinfo *why);
    /* reject drops a verified block; those on it follow, in any order. Errors: CD_EBUSY (wrong call). */
    cd_err (*reject)(cd_vm *vm, cd_vm_block *block);
    /* set_preference names the block to build on: verified, or last accepted. Errors: CD_ENOENT. */
    cd_err (*set_preference)(cd_vm *vm, const cd_hash32 *id);

    void (*last_accepted)(cd_vm *vm, cd_hash32 *id, u64 *height);
    /* id_at_height finds an accepted block. Errors: CD_ENOENT. */
    cd_err (*id_at_height)(cd_vm *vm, cd_hash32 *id, u64 height);

    /* These three may be NULL. options gives the two children of a verified oracle block, the preferred one first
     * (CD_ENOENT: the block has no options). ancestors appends encodings to out (u32 length, bytes), from the block of
     * id back, at most cnt_max blocks and bytes_max bytes, lengths included; NULL: the node goes from parent to parent.
     * parse_many parses several, out[i] is NULL where in[i] is no block; NULL: the node parses one by one. */
    cd_err (*options)(cd_vm *vm, cd_vm_block *out[2], cd_vm_block *block, cd_errinfo *why);
    cd_err (*ancestors)(cd_vm *vm, cd_buf *out, const cd_hash32 *id, u32 cnt_max, usize bytes_max);
    void (*parse_many)(cd_vm *vm, cd_vm_block **out, const cd_bytes *in, usize cnt);

    const cd_vm_sync_ops *sync; /* NULL: every block is executed */
    const cd_vm_app_ops *app;   /* NULL: takes no messages */

    /* handlers gives the routes, borrowed as long as the VM; requests come only between open and close. */
    const cd_vm_handler *(*handlers)(cd_vm *vm, usize *cnt);
    const char *(*version)(cd_vm *vm);
    /* health writes one JSON value with details; it returns NULL when all is well, else what is wrong (static). NULL:
     * the VM is always well. */
    const char *(*health)(cd_vm *vm, cd_json_w *details);
    /* wake lets the VM do what is due by the clock and gives when to be called next (monotonic nanoseconds, UINT64_MAX:
     * no need); it is called after every request, too. NULL: nothing is ever due. */
    u64 (*wake)(cd_vm *vm);
    void (*close)(cd_vm *vm);
} cd_vm_ops;

/* First member of an implementation's object. */
struct cd_vm {
    const cd_vm_ops *ops;
};

struct cd_network;

/* What all chains of the primary network know; the P-Chain's ID is zero. */
typedef struct cd_vm_primary {
    cd_hash32 x_chain_id;
    cd_hash32 c_chain_id;
    cd_hash32 asset_id;               /* the native asset */
    const struct cd_network *network; /* the network's units and addresses */
} cd_vm_primary;

/* When upgrades of the whole network come, as the node was told: Unix seconds, UINT64_MAX: never. phases: those before
 * Durango together. Not given: the VM's own times hold. */
typedef struct cd_vm_upgrade_times {
    bool is_given;
    u64 phases;
    u64 durango;
    u64 etna;
    u64 fortuna;
    u64 granite;
} cd_vm_upgrade_times;

/* What a factory gets; everything is borrowed and outlives the VM. */
struct cd_logger;
struct cd_pool;
struct cd_metrics;
typedef struct cd_vm_ctx {
    cd_kv *kv; /* the chain's own part of the store */
    struct cd_logger *log;
    struct cd_pool *pool; /* NULL: work is done on the calling thread */
    cd_vm_host *host;
    cd_loop *loop; /* the loop of the sessions of its services; NULL: there are no sessions */
    const cd_clock *clock;
    cd_rng *rng;                        /* randomness for this chain alone */
    const cd_vm_sender *sender;         /* NULL: there are no peers */
    const cd_vm_validators *validators; /* NULL: nobody knows who validates */
    const cd_vm_signer *signer;         /* NULL: the node signs nothing */
    const cd_vm_shared *shared;         /* NULL: no chain to share with */
    const cd_vm_primary *primary;       /* NULL: this node has no P- and X-Chain */
    const cd_vm_users *users;           /* NULL: the node keeps no keys for people */
    cd_bytes genesis;                   /* the genesis that the chain was created with */
    cd_bytes config;                    /* what the operator set for this chain; empty = defaults */
    cd_bytes upgrades;                  /* the changes at times to come; empty = none */
    cd_vm_upgrade_times upgrade_times;
    u32 network_id;
    cd_hash32 subnet_id; /* zero: the primary network */
    cd_hash32 chain_id;
    cd_node_id node_id;
    const char *name;           /* the first alias, for logs and metrics: "C" */
    bool has_finality;          /* the node hands certificates of final blocks to app->gossip, as from node_id: handler
                                 * 9630, kind 5 (finality/messages.h); false: it may, but nobody waits for them */
    bool is_dev;                /* a development network: unlocked accounts, blocks on demand */
    const void *dev;            /* the operator's other wishes for it, in the VM's own form; NULL: none */
    cd_vm *lead;                /* one of the same kind that holds the same and is told first what is asked of either,
                                 * on the same thread, as long as this one is open (consensus/council.h); NULL: none */
    bool is_stepped;            /* the VM has no threads of its own: everything happens in the calls */
    struct cd_metrics *metrics; /* NULL: no metrics are kept */
    const char *dir;            /* for files of its own, not made yet; NULL: everything stays in memory */
    usize cache_bytes;          /* bytes of memory for state that was read from the store; 0 = as the VM likes */
    usize trie_bytes;           /* bytes for tries, likewise */
    usize text_bytes;           /* bytes for answers kept as text, likewise */
} cd_vm_ctx;

/* A factory opens a VM on its store; in an empty store it makes a new chain of the genesis. */
typedef cd_err (*cd_vm_factory)(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why);

#endif
