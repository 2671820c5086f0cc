/* consensus/bootstrap/bootstrap.h - catching up with a network, in the seat of consensus/engine.h; then another engine.
 *
 *   wait ─► frontier ─► agree ─► fetch ─► execute ─► synced ─► run: the other engine
 *     ▲        │          │         │        │          │
 *     └────────┴──────────┴─────────┴────────┴──────────┘  nobody agrees, or the network has gone on meanwhile
 *
 *   Where the VM can be synced to a summary of its state, and wants to, this comes first:
 *
 *   wait ─► summaries ─► weigh ─► sync ─► wait …     no summary, or too few answers: blocks alone
 *
 *   summaries a sample of beacons shows the newest summaries of the state
 *   weigh     all say which of those are theirs, too: more than half of the stake must
 *   sync      the VM fetches the state, in state CD_VM_SYNCING
 *   wait      until three quarters of the beacons' stake are connected
 *   frontier  a sample of them says what each has accepted last
 *   agree     all say which of those they have accepted too: more than half of the stake must
 *   fetch     those blocks and what is before them, from whoever is quick, into the store by height
 *   execute   verified and accepted in order, in state CD_VM_BOOTSTRAPPING
 *   synced    until all chains of the network are; a chain that waits for long looks again whether there is more
 *
 * Everything that is fetched is known by its hash before it is asked for, so that one block after the other is what the
 * beacons have agreed on. What a peer can make us keep is one answer. Fetched blocks survive a restart, which goes on
 * from them. Time, randomness and messages come in as arguments or through the configuration; nothing here waits.
 * Threading: confined to the chain's executor. [spec:p2p#10] [spec:p2p#11] */
#ifndef CD_CONSENSUS_BOOTSTRAP_H
#define CD_CONSENSUS_BOOTSTRAP_H

#include "base/log/log.h"
#include "consensus/bootstrap/net.h"
#include "consensus/engine.h"

enum {
    CD_BOOTSTRAP_SAMPLE = 20,       /* beacons that are asked for their frontier */
    CD_BOOTSTRAP_ASKED_MAX = 50,    /* beacons that are asked at a time what they have accepted */
    CD_BOOTSTRAP_GETS_MAX = 10,     /* blocks that are asked for at a time, each with its ancestors */
    CD_BOOTSTRAP_BLOCKS_MAX = 2000, /* blocks of one answer that are looked at; the rest are ignored */
};

/* What the catching up is made of; everything is borrowed and outlives it. */
typedef struct cd_bootstrap_cfg {
    cd_engine *engine;   /* decides over blocks when the chain has caught up */
    cd_commit_door door; /* the same door as that engine's */
    cd_kv *kv;           /* for fetched blocks: a part of the store that nobody else uses */
    const cd_bootstrap_net *net;
    bool has_beacons; /* true: the beacons below are asked, each with weight 1; false: the validators of subnet */
    const cd_node_id *beacons;
    u32 beacon_cnt;                 /* 0: nobody is asked, the chain is as it stands */
    const cd_node_id *sync_beacons; /* who is asked for summaries, each with weight 1 */
    u32 sync_beacon_cnt;            /* 0: the same as for blocks */
    const cd_vm_validators *validators;
    cd_hash32 subnet;
    cd_node_id self; /* this node, which counts as connected */
    cd_rng *rng;
    /* may_begin: the chains that must catch up before this one have done so. may_run: all chains of the network have.
     * synced is called when this chain has caught up, and again each time it has looked for more blocks; running, once,
     * when the other engine takes over. */
    bool (*may_begin)(void *ctx);
    bool (*may_run)(void *ctx);
    void (*synced)(void *ctx);
    void (*running)(void *ctx);
    void *ctx;
    cd_logger *log;   /* NULL allowed */
    const char *name; /* the chain's name, for the log */
} cd_bootstrap_cfg;

/* cd_bootstrap_new makes the engine. cd_bootstrap_free: only after stop; NULL is allowed. Errors: the store's. */
cd_err cd_bootstrap_new(cd_engine **out, const cd_bootstrap_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_bootstrap_free(cd_engine *e);

/* cd_bootstrap_tick gives the time (monotonic); it is called every 100 ms or so, until the engine runs. */
void cd_bootstrap_tick(cd_engine *e, u64 now_ns);

/* --- what peers say --- */

/* Peers come and go. */
void cd_bootstrap_connected(cd_engine *e, const cd_node_id *peer);
void cd_bootstrap_disconnected(cd_engine *e, const cd_node_id *peer);

/* Answers of peers. Answers that were not asked for are ignored. */
void cd_bootstrap_frontier(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *id);
void cd_bootstrap_accepted(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *ids, u32 cnt);
void cd_bootstrap_ancestors(cd_engine *e, const cd_node_id *from, u32 request, const cd_bytes *blocks, u32 cnt,
                            u64 now_ns);
/* The same for summaries; an empty one says that there is none. */
void cd_bootstrap_summary_frontier(cd_engine *e, const cd_node_id *from, u32 request, cd_bytes summary);
void cd_bootstrap_summaries(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *ids, u32 cnt);

/* cd_bootstrap_failed: a question, of whichever kind, was not answered in time. */
void cd_bootstrap_failed(cd_engine *e, const cd_node_id *from, u32 request);

/* --- what it is at --- */

/* The steps of the catching up. */
typedef enum cd_bootstrap_step {
    CD_BOOTSTRAP_WAITS,
    CD_BOOTSTRAP_SUMMARIES,
    CD_BOOTSTRAP_WEIGHS,
    CD_BOOTSTRAP_SYNCS,
    CD_BOOTSTRAP_FRONTIER,
    CD_BOOTSTRAP_AGREES,
    CD_BOOTSTRAP_FETCHES,
    CD_BOOTSTRAP_EXECUTES,
    CD_BOOTSTRAP_SYNCED,
    CD_BOOTSTRAP_RUNS,
    CD_BOOTSTRAP_HALTED, /* the store has failed: nothing happens any more */
} cd_bootstrap_step;

/* How far the catching up is. */
typedef struct cd_bootstrap_progress {
    cd_bootstrap_step step;
    u64 fetched; /* this and executed: blocks since the start */
    u64 executed;
    u64 to_fetch; /* this and to_execute: blocks that are known to be left */
    u64 to_execute;
    cd_vm_sync_progress state; /* of the sync, while it runs */
    u64 left_s;                /* seconds until the step ends if it goes on at this speed; 0: not known */
} cd_bootstrap_progress;

/* cd_bootstrap_progress_get tells the progress; cd_bootstrap_step_name gives a step's name. cd_bootstrap_vm gives the
 * VM, between start and stop. */
cd_bootstrap_progress cd_bootstrap_progress_get(const cd_engine *e);
const char *cd_bootstrap_step_name(cd_bootstrap_step step);
cd_vm *cd_bootstrap_vm(const cd_engine *e);

#endif
