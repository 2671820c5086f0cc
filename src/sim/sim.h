/* sim/sim.h - a network of nodes in a virtual world: the production engine, proposer wrapper and message codec on a
 * virtual clock, network and disk, some nodes lying; and whether it keeps what consensus promises.
 *
 *   cfg: seed, nodes, liars, network ─┐            ┌─► what must hold, looked at behind every event: violations
 *   acts: what happens, and when ─────┴─► world ───┼─► result: heights, messages, time to finality, fingerprint
 *                                                  └─► trace (sim/trace.h)
 *
 * A run is a function of its configuration: the same one gives the same result to the last bit in any build, on any
 * machine and on any number of threads. No floating point, no order of a hash table and no address decides anything.
 * Not simulated: the handshake of peers, adaptive timeouts and the bench (p2p); a question is given up after two
 * seconds, and an answer that nobody asked for reaches the engine, which is harsher than the router is.
 * Threading: confined; a run may use workers of its own. [spec:architecture#9] [spec:consensus#4] */
#ifndef CD_SIM_SIM_H
#define CD_SIM_SIM_H

#include "consensus/snow/params.h"
#include "sim/trace.h"

/* Bounds of a world. */
enum {
    CD_SIM_NODES_MAX = 10000,
    CD_SIM_RANGES_MAX = 8,
    CD_SIM_SPANS_MAX = 16,   /* times of which something is expected */
    CD_SIM_TOLD_MAX = 8,     /* violations whose text is kept */
    CD_SIM_MILLION = 1000000 /* shares are parts of it */
};

/* How far nodes are from each other. */
typedef enum cd_sim_latency {
    CD_SIM_LAN,    /* 1 to 2 ms */
    CD_SIM_REGION, /* 8 to 20 ms */
    CD_SIM_WORLD,  /* five regions, 5 to 160 ms */
} cd_sim_latency;

/* What a liar does; bits. */
enum {
    CD_SIM_EQUIVOCATE = 1, /* proposes two blocks at once, one to each half */
    CD_SIM_WITHHOLD = 2,   /* does not answer */
    CD_SIM_LIE = 4,        /* answers so that the honest nodes stay apart */
    CD_SIM_INVALID = 8,    /* shows blocks that do not verify */
    CD_SIM_STALE = 16,     /* answers as if it had accepted nothing for long */
    CD_SIM_SPAM = 32,      /* asks and answers without a reason, and sends nonsense */
    CD_SIM_ROLES = 63,
};

/* Nodes by number: some ranges, ends included. */
typedef struct cd_sim_nodes {
    u32 cnt;
    struct {
        u32 from;
        u32 to;
    } r[CD_SIM_RANGES_MAX];
} cd_sim_nodes;

/* The troubles. They disturb the network as long as they last, except WEIGHT, UNPAID, LATE, LIARS, QUIET and
 * MARK. */
typedef enum cd_sim_verb {
    CD_SIM_CRASH,     /* nodes stop, and start again at the end */
    CD_SIM_PARTITION, /* the nodes hear only each other, and so do the rest */
    CD_SIM_LOSS,      /* value: parts per million of messages that get lost */
    CD_SIM_DOUBLE,    /* value: parts per million of messages that come twice */
    CD_SIM_REORDER,   /* value: parts per million of messages that come up to half a second later */
    CD_SIM_SLOW,      /* value: bits a second that the nodes can send */
    CD_SIM_DISK,      /* value: cd_sim_fault of the next commit of the nodes; they start again at the end */
    CD_SIM_INDEX,     /* the wrapper's index is ahead of the chain by value blocks (nodes start at once), or, with
                         CD_SIM_BEHIND, behind it: they must refuse to start, and are mended at the end */
    CD_SIM_CLOCK,     /* value: seconds that the nodes' clocks are ahead (as i64) */
    CD_SIM_WEIGHT,    /* value: weight of the nodes as validators; at the end they get back what they had */
    CD_SIM_UNPAID,    /* the balance of the nodes has ended, as that of a validator of an L1: their weight counts, and
                         belongs to no node */
    CD_SIM_LATE,      /* value: seconds by which the nodes see the P-Chain late */
    CD_SIM_LIARS,     /* liars lie */
    CD_SIM_RULES,     /* value: seconds behind the start at which the second rules begin for the nodes; at the end,
                         after a new start, when they begin for all */
    CD_SIM_QUIET,     /* no transactions are sent */
    CD_SIM_MARK,      /* no effect; a line in the trace */
} cd_sim_verb;
/* Added to the value of CD_SIM_INDEX: the index is behind the chain. */
#define CD_SIM_BEHIND (1ull << 32)

/* One trouble, with its time. */
typedef struct cd_sim_act {
    u64 at_us;
    u64 until_us; /* UINT64_MAX: it never ends */
    cd_sim_verb verb;
    cd_sim_nodes nodes;
    u64 value;
} cd_sim_act;

/* What a run must have in the end besides no violation; zero: nothing is expected. */
typedef struct cd_sim_expect {
    u64 accepted;      /* least number of accepted blocks */
    u64 accepted_most; /* largest number of accepted blocks */
    u64 refused;       /* least number of blocks that honest nodes refuse */
    u64 halted;        /* least number of times that a node refused to start, or its chain halted */
    u32 span_cnt;
    struct {
        u64 from_us;
        u64 until_us;
        bool moves; /* some block is accepted in between; false: none is */
    } spans[CD_SIM_SPANS_MAX];
} cd_sim_expect;

/* The configuration of a world. A number that is 0 means the default that stands behind it. */
typedef struct cd_sim_cfg {
    u64 seed;
    u32 nodes;         /* 5 */
    u32 byzantine_ppm; /* most stake of liars, in millionths; 0 is none */
    u32 roles;         /* CD_SIM_ROLES */
    u64 duration_us;   /* 60 s */
    u64 interval_us;   /* 2 s; mean time between transactions */
    u64 spread_us;     /* 300 ms; within which a transaction reaches all nodes, one after the other */
    cd_sim_latency latency;
    u32 loss_ppm;
    u64 bits_per_s;      /* 100 Mbit/s; what a node can send */
    u64 second_rules_us; /* when the chain's second rules begin; 0: never */
    u64 quiet_us;        /* length of the time at the end without transactions, after which nothing may be left to do */
    u64 bound_us;        /* 120 s; within which the chain must go on once the network is whole */
    bool has_troubles;   /* one trouble after another, made up by the seed (plan.c) */
    bool is_bare;        /* the chain runs without the proposer wrapper */
    bool has_liars_always;
    bool stops;             /* the run ends at the first violation */
    const cd_sim_act *acts; /* borrowed */
    u32 act_cnt;
    cd_sim_expect expect;
    cd_snow_params params; /* k 0: those of the network */
    u32 threads;           /* 1 */
    cd_sim_trace *trace;   /* NULL: none; a run with a trace has one thread */
} cd_sim_cfg;

/* A violation: something that must not happen. */
typedef struct cd_sim_violation {
    u64 at_us;
    u32 node; /* UINT32_MAX: it is one of the whole network */
    char text[120];
} cd_sim_violation;

/* The result of a run. Times are virtual. */
typedef struct cd_sim_result {
    u64 accepted;        /* blocks that the network agreed on */
    u64 lowest, highest; /* heights of honest nodes at the end */
    u32 honest, liars, down;
    u64 violations;
    cd_sim_violation told[CD_SIM_TOLD_MAX];
    u32 told_cnt;
    u64 missing; /* expectations that were not met; their words are among told */
    u64 messages, bytes, lost, doubled, dropped;
    u64 queries, votes, failures; /* questions of honest nodes; their answers; answers that did not come */
    u64 asides;                   /* queries that were asked when nothing was undecided */
    u64 refused, rejected, restarts, halts;
    u64 final_p50_us, final_p99_us, final_max_us; /* from building a block to an honest node's accepting it */
    u64 wait_max_us;                              /* longest time between two blocks while the network was whole */
    u64 events;
    cd_hash32 fingerprint; /* over every acceptance: block, node and time */
} cd_sim_result;

/* cd_sim_run runs a world. Errors: CD_EINVAL with what is wrong in cfg. */
cd_err cd_sim_run(cd_sim_result *out, const cd_sim_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_sim_default sets the members of cfg that are zero to their defaults. */
void cd_sim_default(cd_sim_cfg *cfg);

/* cd_sim_role_name gives the word for one bit of the roles; NULL: there is no such role. */
const char *cd_sim_role_name(u32 bit);

#endif
