/* sim/sim_priv.h - between the parts of a world.
 *
 *   sim.c     the run: buckets of time, workers, what comes out
 *   node.c    a node: starts, stops, hears
 *   send.c    what a node says, and what the network makes of it
 *   liar.c    what liars make of it
 *   acts.c    what happens to nodes and network
 *   plan.c    troubles by a seed
 *   judge.c   what must hold
 *
 * Threading: nodes run on workers, each on one at a time, and touch nothing of each other; everything else belongs to
 * the thread of the run. */
#ifndef CD_SIM_PRIV_H
#define CD_SIM_PRIV_H

#include "base/mem/arena.h"
#include "base/os/clock.h"
#include "base/os/rng.h"
#include "base/thread/pool.h"
#include "codec/zstd.h"
#include "consensus/snow/snowman.h"
#include "p2p/message.h"
#include "sim/audit.h"
#include "sim/chain.h"
#include "sim/disk.h"
#include "sim/sim.h"
#include "sim/stake.h"
#include "sim/watch.h"
#include "sim/wheel.h"

enum {
    ASKS = 1024, /* open questions that a node remembers */
    TIMEOUT_US = 2000000,
    REGIONS = 5,
    LANES_MAX = 16,
    NOBODY = UINT16_MAX - 1, /* in the place of a node: weight that nobody has; it never answers */
    PARALLEL_MIN = 128,      /* letters in a bucket for which more than one thread is worth it */
};

typedef enum mail_kind {
    MAIL_FRAME, /* a message of a peer */
    MAIL_TICK,
    MAIL_WAKE,
    MAIL_TX, /* a client's transaction, in arg */
} mail_kind;

/* A question of a node to several others. */
typedef struct ask {
    u32 request; /* 0: the place is free */
    u32 open;    /* answers that have not come */
    u64 until_us;
    bool is_get;
    u16 cnt;
    u16 to[]; /* k places; UINT16_MAX: that node has answered */
} ask;

/* Memory that one thread needs to run nodes. */
typedef struct lane {
    cd_buf frame;
    cd_buf out; /* letters to be put into the wheel, when other lanes run, too */
    bool is_alone;
    cd_arena arena;
    cd_zstd *zstd;
} lane;

/* A block that a node has accepted and that the world has not counted yet. */
typedef struct fresh {
    cd_hash32 id;
    u64 height;
    u64 at_us;
} fresh;

typedef struct node_stats {
    u64 messages, bytes, lost, doubled, dropped;
    u64 queries, votes, failures, asides;
    u64 refused, rejected, events;
} node_stats;

struct world;

typedef struct sim_node {
    cd_snow_net net; /* first */
    cd_vm_host host;
    cd_clock clock;
    struct world *w;
    lane *lane; /* the lane that it runs on, while it does */
    u32 no;
    cd_node_id id;
    cd_sim_disk disk;
    cd_kv *own_kv; /* the wrapper's part of the disk */
    cd_sim_view view;
    cd_sim_chain_cfg chain_cfg;
    cd_sim_audit audit;
    cd_vm *chain;
    cd_engine *engine;
    cd_rng engine_rng, net_rng, lie_rng;
    u64 now_us;
    i64 skew_s;
    u64 busy_until_us; /* when its line has sent everything (µs) */
    u64 bits_per_s;
    u64 wake_us;
    u64 changes; /* changes of audit at the last look */
    u64 seq;
    u32 life;
    u32 group; /* its side of a partition */
    u32 region;
    u32 roles; /* what it does as a liar */
    bool is_liar;
    bool is_up;
    bool is_dying; /* its disk failed: it stops after this event */
    bool is_stuck; /* it refuses to start */
    u8 *asks;      /* ASKS of ask, k places each */
    u32 first_ask; /* the oldest request that may be open */
    u32 last_ask;
    cd_buf stale; /* asks that were not over when their place was reused */
    fresh *fresh;
    u32 fresh_cnt, fresh_cap;
    fresh *built; /* blocks that it has built; height is not used */
    u32 built_cnt, built_cap;
    cd_hash32 last_built;
    cd_hash32 shown; /* the preference that liars see */
    cd_buf twin;     /* a liar's second block; twin_id is its ID */
    cd_hash32 twin_id;
    u32 spam_request;
    const char *broken;
    bool is_told; /* the broken sentence was told */
    cd_sim_watch watch;
    node_stats stats;
} sim_node;

typedef struct agreed {
    cd_hash32 id;
    u64 born_us;
    u64 first_us;
} agreed;

typedef struct act_state {
    cd_sim_act act;
    bool has_begun, has_ended;
    u64 *before; /* weights of the nodes before the act */
    cd_buf kept; /* records that were taken out of stores */
} act_state;

enum { HIST_MS = 60000 };

typedef struct world {
    cd_sim_cfg cfg;
    cd_sim_stake stake;
    cd_sim_wheel *wheel;
    sim_node *nodes;
    u32 ask_size;
    cd_rng rng;
    u64 now_us;
    u64 last_tx;
    u64 next_tx_us;
    u64 tx_seq;
    u32 liar_cnt;
    act_state *acts;
    u32 act_cnt;
    u32 act_cap;
    u64 next_act_us;
    u64 next_judge_us;
    u32 disturbed; /* number of acts under way that disturb the network */
    u32 quiet;     /* number of acts under way that stop transactions */
    u32 lying;     /* number of acts under way that let liars lie */
    u64 second_rules_s;
    u32 loss_ppm, double_ppm, reorder_ppm;
    u32 groups;
    cd_hmap born; /* cd_hash32 -> u64 */
    agreed *chain;
    u64 chain_cnt, chain_cap;
    u64 whole_since_us; /* since when the network is whole and gets transactions; UINT64_MAX: it is not */
    u64 calm_since_us;  /* the same, with or without transactions */
    u64 last_block_us;
    bool is_ending; /* the quiet time at the end has begun */
    u32 hist[HIST_MS];
    u64 hist_cnt;
    u64 hist_max_us;
    cd_hash32 digest;
    lane lanes[LANES_MAX];
    cd_pool *pool;
    struct {
        const cd_sim_mail *const *mail;
        u32 *starts; /* where each part begins */
        u32 cap;
    } part;
    cd_sim_result result;
} world;

/* --- node.c --- */

void cd__world_node_init(sim_node *n, world *w, u32 no);
void cd__world_node_fini(sim_node *n);

/* cd__world_node_up starts a node on what its disk holds. A refusal that is not expected is a violation. */
void cd__world_node_up(sim_node *n);
void cd__world_node_down(sim_node *n);

/* cd__world_node_hear delivers one letter to a node. */
void cd__world_node_hear(sim_node *n, const cd_sim_mail *m);

/* cd__world_node_open_ask gives a place for a new question. */
ask *cd__world_node_open_ask(sim_node *n, u32 request, bool is_get);

/* --- send.c --- */

/* cd__world_least_latency_us gives the least time that a message takes: nodes' times may differ by less. */
u64 cd__world_least_latency_us(cd_sim_latency class);

/* cd__world_net_init sets the functions of n->net, through which the engine speaks. */
void cd__world_net_init(sim_node *n);

/* cd__world_say sends one message to some nodes. */
void cd__world_say(sim_node *n, const u32 *to, u32 cnt, u32 op, cd_p2p_chain_msg *m);

/* cd__world_alarm sends a node a letter to itself at a time. */
void cd__world_alarm(sim_node *n, mail_kind kind, u64 at_us);

/* cd__world_raw sends bytes, which need not be a message. */
void cd__world_raw(sim_node *n, u32 to, cd_bytes bytes);

/* --- liar.c --- */

/* cd__world_lies tells whether the node lies at the moment. */
bool cd__world_lies(const sim_node *n);

/* cd__world_lie_chits changes an answer to what the liar says; false: it says nothing. */
bool cd__world_lie_chits(sim_node *n, u32 to, cd_snow_chits *c);

/* cd__world_lie_push is called before a liar shows a block of its own: true when it has shown two blocks instead. */
bool cd__world_lie_push(sim_node *n, const u32 *to, u32 cnt, u32 request, cd_bytes block, u64 height);

/* cd__world_lie_get answers with a block that only the liar knows; true: it did. */
bool cd__world_lie_get(sim_node *n, u32 from, u32 request, const cd_hash32 *id);

/* cd__world_lie_tick does what a liar does unasked. */
void cd__world_lie_tick(sim_node *n);

/* --- acts.c --- */

/* cd__world_acts_add appends an act, cd__world_acts_due begins and ends those that are due. */
void cd__world_acts_add(world *w, const cd_sim_act *a);
void cd__world_acts_due(world *w);
void cd__world_acts_fini(world *w);

/* --- plan.c --- */

void cd__world_plan(world *w);

/* --- judge.c --- */

void cd__world_violation(world *w, u32 node, const char *text);

/* cd__world_judge_node checks a node after an event, on its lane; is_stirred: its VM was called. */
void cd__world_judge_node(sim_node *n, bool is_stirred);

/* cd__world_judge_news counts what a node has accepted since the last call, on the thread of the run. */
void cd__world_judge_news(world *w, sim_node *n);

/* cd__world_judge_time checks that the chain goes on. */
void cd__world_judge_time(world *w);

/* cd__world_judge_end makes the final checks. */
void cd__world_judge_end(world *w);

CD_INLINE ask *cd__world_ask_at(const sim_node *n, u32 request)
{
    return (ask *)(void *)(n->asks + (usize)(request % ASKS) * n->w->ask_size);
}

CD_INLINE bool cd__world_in(const cd_sim_nodes *nodes, u32 no)
{
    for (u32 i = 0; i < nodes->cnt; i++) {
        if (no >= nodes->r[i].from && no <= nodes->r[i].to) {
            return true;
        }
    }
    return false;
}

#endif
