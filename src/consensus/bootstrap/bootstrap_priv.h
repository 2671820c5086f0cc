/* consensus/bootstrap/bootstrap_priv.h - between the parts of the catching up.
 *
 *   bootstrap.c   the seat, the steps one after the other, what is known of it
 *   agree.c       what the network has accepted: frontier, agreement
 *   summaries.c   the same for states, and the VM's sync
 *   fetch.c       blocks from peers into the store
 *   execute.c     blocks from the store into the chain
 *
 * Threading: confined. */
#ifndef CD_CONSENSUS_BOOTSTRAP_PRIV_H
#define CD_CONSENSUS_BOOTSTRAP_PRIV_H

#include "base/table/hmap.h"
#include "consensus/bootstrap/blocks.h"
#include "consensus/bootstrap/bootstrap.h"
#include "consensus/sample/voters.h"

/* A beacon in a round of questions. */
typedef struct beacon {
    u64 stake;
    enum { TO_ASK, ASKED, TOLD } state;
} beacon;

/* A block that a beacon named as its last accepted one, and the stake of the beacons that have accepted it. */
typedef struct candidate {
    cd_hash32 id;
    u64 stake;
} candidate;

/* A block that is to be fetched, together with its ancestors. */
typedef struct missing {
    cd_hash32 id;
    bool is_rest; /* no beacon named it: it is the block below a run that an earlier start has left */
    bool is_asked;
    cd_node_id from; /* this, request and asked_ns: who was asked, and when */
    u32 request;
    u64 asked_ns;
} missing;

/* When the beacons did not agree, they are asked again after this time. */
#define BOOT_RETRY_NS (1 * CD_NS_PER_SEC)

enum { MISSING_MAX = CD_FETCHED_RUNS_MAX + CD_BOOTSTRAP_SAMPLE };

/* A peer and how quickly it gives blocks, in bytes a second. */
typedef struct source {
    bool is_tried;
    double rate;
} source;

typedef struct bootstrap {
    cd_engine engine; /* first */
    cd_bootstrap_cfg cfg;
    cd_vm *vm;
    cd_bootstrap_step step;
    u64 now_ns;
    u64 retry_ns; /* no new round begins before this time (monotonic) */
    u32 request;
    bool was_connected; /* enough beacons were connected at one time */
    cd_hmap peers;      /* cd_node_id -> source */
    cd_voters beacons;
    beacon *asked; /* one for each of beacons, by the same index */
    u32 open;      /* questions of the round that are not answered yet */
    candidate candidates[CD_BOOTSTRAP_SAMPLE];
    u32 candidate_cnt;
    bool wants_state;                             /* summaries are asked for before blocks are */
    cd_vm_summary summaries[CD_BOOTSTRAP_SAMPLE]; /* of the candidates */
    cd_arena summary_arena;
    u64 silent; /* stake that has not answered in the round */
    u32 summary_rounds;
    u32 syncs; /* that ended nowhere */
    u64 sync_height;
    bool is_sync_over;
    cd_fetched blocks;
    missing missing[MISSING_MAX];
    u32 missing_cnt;
    u32 asked_cnt; /* how many of missing are asked for */
    u32 stalls;    /* questions in a row that brought no block */
    u64 pass_executed;
    u64 last_executed; /* blocks that the pass before has executed */
    u64 fetched;
    u64 executed;
    u64 step_ns;   /* when the step began to go on (monotonic) */
    u64 step_base; /* the count of fetched, or executed, blocks at that time */
    u64 told_ns;
    cd_kv_batch batch;
    cd_buf block;
} bootstrap;

CD_INLINE bootstrap *bootstrap_of(cd_engine *e)
{
    return (bootstrap *)(void *)e;
}

CD_INLINE bool is_same_node(const cd_node_id *a, const cd_node_id *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* --- bootstrap.c --- */

/* cd__boot_step goes to a step. cd__boot_again begins a new round after some time. cd__boot_halt ends the catching
 * up. */
void cd__boot_step(bootstrap *s, cd_bootstrap_step step);
void cd__boot_again(bootstrap *s, u64 after_ns);
void cd__boot_halt(bootstrap *s, const char *what, cd_err e, const cd_errinfo *why);

/* --- agree.c --- */

/* cd__boot_try_begin asks for frontiers once the beacons are known and enough of them are connected. */
void cd__boot_try_begin(bootstrap *s);
void cd__boot_on_frontier(bootstrap *s, const cd_node_id *from, const cd_hash32 *id); /* NULL: no answer */
void cd__boot_on_accepted(bootstrap *s, const cd_node_id *from, const cd_hash32 *ids, u32 cnt, bool is_silent);

/* cd__boot_answers gives the beacon that was asked and now answers, marked as answered; NULL: from is not awaited.
 * cd__boot_begin_agreement asks all beacons about the candidates. */
beacon *cd__boot_answers(bootstrap *s, const cd_node_id *from);
void cd__boot_begin_agreement(bootstrap *s);

/* --- summaries.c --- */

/* cd__boot_wants_state tells whether the VM can be synced, and wants to. cd__boot_no_state goes on to blocks. */
bool cd__boot_wants_state(const bootstrap *s);
void cd__boot_no_state(bootstrap *s);

/* What came: a summary (empty: none), all votes on summaries, the end of the VM's sync. */
void cd__boot_on_summary(bootstrap *s, const cd_node_id *from, cd_bytes summary, bool is_silent);
void cd__boot_end_summaries(bootstrap *s, u64 enough);
void cd__boot_look_at_sync(bootstrap *s);

/* --- fetch.c --- */

/* cd__boot_fetch begins to fetch cnt blocks that are not here. cd__boot_ask asks peers for missing blocks that are not
 * asked for yet. */
void cd__boot_fetch(bootstrap *s, const cd_hash32 *ids, u32 cnt);
void cd__boot_ask(bootstrap *s);
void cd__boot_on_ancestors(bootstrap *s, const cd_node_id *from, u32 request, const cd_bytes *blocks, u32 cnt);

/* --- execute.c --- */

/* cd__boot_execute accepts one block; false: there is no further one. */
bool cd__boot_execute(bootstrap *s);

#endif
