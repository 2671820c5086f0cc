/* consensus/snow/snowman.h - the engine of a network of many nodes, in the seat of consensus/engine.h.
 *
 *   VM wants, peers show ──► blocks: parse, fetch what is missing, verify ──► tree ──► preference ──► VM
 *                                                                              ▲ │
 *   validators ◄── queries ◄── sampler           chits ──► polls ──► votes ────┘ └──► commit door, reject
 *
 * Time, randomness and messages come in as arguments or through the configuration; nothing here waits. What the
 * engine keeps for peers is bounded, for each peer and in all: blocks whose parents are missing, and blocks that are
 * being fetched. When the store fails while a block is accepted, the engine halts: it answers nothing any more.
 * Threading: confined to the chain's executor. [spec:consensus#4] */
#ifndef CD_CONSENSUS_SNOWMAN_H
#define CD_CONSENSUS_SNOWMAN_H

#include "base/log/log.h"
#include "consensus/engine.h"
#include "consensus/snow/net.h"
#include "consensus/snow/params.h"
#include "consensus/snow/tree.h"

/* Bounds on what is kept, and the interval of the tick. */
enum {
    CD_SNOWMAN_PENDING_MAX = 1024,       /* blocks that wait for their parents */
    CD_SNOWMAN_PENDING_PEER_MAX = 256,   /* pending blocks from one peer */
    CD_SNOWMAN_PENDING_BYTES = 64 << 20, /* bytes of all pending blocks */
    CD_SNOWMAN_PENDING_PEER_BYTES = 16 << 20,
    CD_SNOWMAN_FETCHES_MAX = 512, /* blocks that are asked for at a time */
    CD_SNOWMAN_FETCHES_PEER_MAX = 32,
    CD_SNOWMAN_POLLS_MAX = 64,
    CD_SNOWMAN_TICK_MS = 100, /* milliseconds between ticks [spec:consensus#4] gossip tick */
};

/* What an engine is made of; everything is borrowed and outlives it. */
typedef struct cd_snowman_cfg {
    cd_commit_door door;
    cd_snow_params params;
    const cd_snow_net *net;
    const cd_vm_validators *validators; /* who is asked: those of the P-Chain's newest height */
    cd_hash32 subnet;
    cd_node_id self;
    cd_rng *rng;
    cd_logger *log;   /* NULL allowed */
    const char *name; /* the chain's name, for the log */
} cd_snowman_cfg;

/* cd_snowman_new makes an engine that waits for start. Errors: those of cd_snow_params_check. cd_snowman_free: only
 * after stop; NULL is allowed. */
cd_err cd_snowman_new(cd_engine **out, const cd_snowman_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_snowman_free(cd_engine *e);

/* cd_snowman_propose has the VM build a block on what is preferred, now, and shows it to the validators. Errors: the
 * VM's, CD_ENOENT when there is nothing to build; CD_ECLOSED when the engine does not run. */
cd_err cd_snowman_propose(cd_engine *e, cd_errinfo *why) CD_CHECK;

/* --- what peers say --- */

/* Peers come and go. Messages of a peer that is not connected are ignored. */
void cd_snowman_connected(cd_engine *e, const cd_node_id *peer);
void cd_snowman_disconnected(cd_engine *e, const cd_node_id *peer);

/* Questions of peers, which are answered at once; height is the one whose preferred block the peer wants to know. */
void cd_snowman_push_query(cd_engine *e, const cd_node_id *from, u32 request, cd_bytes block, u64 height);
void cd_snowman_pull_query(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *id, u64 height);
void cd_snowman_get(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *id);

/* Answers of peers, or the word that none came in time. Answers that were not asked for are ignored. */
void cd_snowman_chits(cd_engine *e, const cd_node_id *from, u32 request, const cd_snow_chits *chits);
void cd_snowman_query_failed(cd_engine *e, const cd_node_id *from, u32 request);
void cd_snowman_put(cd_engine *e, const cd_node_id *from, u32 request, cd_bytes block);
void cd_snowman_get_failed(cd_engine *e, const cd_node_id *from, u32 request);

/* cd_snowman_tick is called every CD_SNOWMAN_TICK_MS: it asks again for what is missing, and starts polls, or asks a
 * validator for news. */
void cd_snowman_tick(cd_engine *e);

/* --- what it is at --- */

/* What the engine keeps at a moment. */
typedef struct cd_snowman_load {
    usize undecided; /* blocks that are verified and not decided */
    usize pending;   /* blocks that wait for their parents */
    usize pending_bytes;
    usize fetches;
    usize polls;
    usize waiting; /* votes for blocks that are still to come */
    bool is_halted;
} cd_snowman_load;

/* cd_snowman_load_get tells the load, for metrics and health. */
cd_snowman_load cd_snowman_load_get(const cd_engine *e);

/* For observers: cd_snowman_look tells the undecided blocks, cd_snowman_preference the preferred block, cd_snowman_last
 * the last accepted one. An engine that does not run gives none, and zeros. */
void cd_snowman_look(const cd_engine *e, void (*fn)(void *ctx, const cd_snow_view *v), void *ctx);
cd_hash32 cd_snowman_preference(const cd_engine *e);
void cd_snowman_last(const cd_engine *e, cd_hash32 *id, u64 *height);

#endif
