/* consensus/engine.h - the engine's seat: who decides over the blocks of one chain. A network of one node (solo.h) and
 * one of many sit in the same seat; the executor and the VM know no other engine than this.
 *
 *   VM ── notify, produce, rewind ──► engine ── build, verify, accept, reject ──► VM
 *                                        └── batch ──► commit door ──► store
 *
 * Threading: confined to the chain's executor. */
#ifndef CD_CONSENSUS_ENGINE_H
#define CD_CONSENSUS_ENGINE_H

#include "base/log/log.h"
#include "vm/vm.h"

typedef struct cd_engine cd_engine;

/* What an engine has done since it started; processing, asked and pending are numbers of the moment. */
typedef struct cd_engine_stats {
    u64 built;
    u64 verified;
    u64 accepted;
    u64 rejected;
    u64 rewound;      /* how often the chain went back to an earlier block */
    usize processing; /* blocks that are verified and not decided */
    /* Where others are asked, too: polls in which enough voted for some block, and those in which not. */
    u64 polls_ok;
    u64 polls_failed;
    u64 accepted_bytes; /* this and the next: of blocks */
    u64 rejected_bytes;
    u64 verified_max;  /* the highest block that was found to be valid */
    u64 accepted_time; /* of the last accepted block: Unix seconds; 0: none since the start */
    usize asked;       /* blocks that were asked for and have not come; of the moment, */
    usize pending;     /* as those that wait for their parents */
} cd_engine_stats;

/* What an engine implements; engine.h's functions of the same names call it. */
typedef struct cd_engine_ops {
    /* start gives the engine its VM, which it borrows until stop. Errors: those of set_state and set_preference. */
    cd_err (*start)(cd_engine *e, cd_vm *vm, cd_errinfo *why);
    void (*notify)(cd_engine *e, cd_vm_event event);
    cd_err (*produce)(cd_engine *e, cd_errinfo *why);
    cd_err (*rewind)(cd_engine *e, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why);
    /* step does one piece of the work that is due, and tells whether there is more. */
    bool (*step)(cd_engine *e);
    void (*stop)(cd_engine *e);
} cd_engine_ops;

/* First member of an implementation's object. */
struct cd_engine {
    const cd_engine_ops *ops;
    cd_engine_stats stats;
};

/* cd_engine_no_block logs that no block was made for err: nothing for CD_OK and CD_ENOENT; CD_EAGAIN, what waits does
 * not pay for a block yet, is in the ordinary course of things. */
void cd_engine_no_block(cd_logger *log, const char *chain, cd_err err, const cd_errinfo *why);

/* --- the commit door --- */

/* A block's changes go into the store here, in one batch. also (NULL allowed) appends what the node writes in the same
 * moment: the entries of its indices. */
typedef struct cd_commit_door {
    cd_kv *store; /* the whole store */
    cd_kv *chain; /* the VM's part of the store */
    cd_kv_sync sync;
    cd_err (*also)(void *ctx, cd_kv_batch *batch, const cd_vm_block *b, cd_errinfo *why);
    /* landed is told when the batch is in the store, before anything else happens. NULL allowed. */
    void (*landed)(void *ctx, const cd_vm_block *b);
    void *ctx;
} cd_commit_door;

/* cd_commit_door_accept takes a verified block, the next in line, through the door: accept, one commit, accepted. batch
 * is the caller's, to be used again. Errors: those of accept and also, the store's: then the block is as before, unless
 * *is_in says that it is accepted all the same. */
cd_err cd_commit_door_accept(const cd_commit_door *d, cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, bool *is_in,
                             cd_errinfo *why) CD_CHECK;

#endif
