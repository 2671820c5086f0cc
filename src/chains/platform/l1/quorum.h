/* chains/platform/l1/quorum.h - how many of an L1's validators may fail before it stands still, and which step of its
 * operator would make it so.
 *
 *   members: weight, does it pay, is it there ──► state now, how many more may fail, who halts it alone
 *   members + a step (weight, disable, add)   ──► allowed, or refused with the reason
 *
 * A validator whose balance has ended still counts in the whole weight, and never answers: it is as one that is away.
 * A node sends no query when less than alpha / k of the weight is connected, and is not well below 0.8 of that and 0.2;
 * the same two limits stand here. Warp messages, the manager's among them, need 67 of 100 parts. Threading: pure.
 * [spec:consensus#4] [spec:pchain-xchain#7.3] [spec:warp#5] */
#ifndef CD_CHAINS_PLATFORM_L1_QUORUM_H
#define CD_CHAINS_PLATFORM_L1_QUORUM_H

#include "base/mem/arena.h"
#include "codec/ids.h"

/* Whether somebody can reach a validator. */
typedef enum cd_l1_reach {
    CD_L1_REACH_UNKNOWN, /* nobody looked: it counts as there */
    CD_L1_THERE,
    CD_L1_AWAY,
} cd_l1_reach;

/* A validator of an L1. */
typedef struct cd_l1_member {
    cd_hash32 validation_id;
    cd_node_id node_id;
    u64 weight;
    u64 balance; /* base units; 0: inactive, it does not vote */
    bool has_key;
    cd_l1_reach reach;
    u32 release; /* a number for the version and upgrades that it reports; 0: unknown */
    u64 left_s;  /* for how long its balance lasts (forecast.h) */
    u64 worst_s; /* the same at the highest price there can be */
} cd_l1_member;

/* What agreement takes. */
typedef struct cd_l1_quorum {
    u32 k;
    u32 alpha;
    u32 warp_num;
    u32 warp_den;
} cd_l1_quorum;

/* cd_l1_quorum_default gives 14 of 20, and 67 of 100 for messages. */
cd_l1_quorum cd_l1_quorum_default(void);

/* What becomes of a chain. */
typedef enum cd_l1_state {
    CD_L1_RUNS,
    CD_L1_SLOW, /* blocks are decided, seldom */
    CD_L1_HALTS,
} cd_l1_state;

/* cd_l1_state_of tells what becomes of a chain when there is so much of its whole weight; nothing of nothing halts. */
cd_l1_state cd_l1_state_of(const cd_l1_quorum *q, u64 there, u64 total);

/* cd_l1_votes: the member pays, has a key and is not known to be away. */
bool cd_l1_votes(const cd_l1_member *m);

/* How an L1 stands. */
typedef struct cd_l1_standing {
    cd_l1_state state;
    u64 total;        /* weight of all */
    u64 there;        /* of those that vote */
    usize voters;     /* how many those are */
    usize inactive;   /* without balance */
    usize keyless;    /* without a key */
    usize away;       /* known to be away, of those that pay */
    usize can_fail;   /* so many of the voters, whichever, may fail besides */
    usize halting;    /* so many, the heaviest, halt it; 0: it stands still already */
    usize alone;      /* voters each of which halts it alone */
    bool signs;       /* enough weight for Warp messages */
    usize can_fail_w; /* so many may fail before it signs none */
    usize heaviest;   /* the voter with the most weight; cnt: there is none */
} cd_l1_standing;

/* cd_l1_stand reckons it; scratch lies in a. The sum of all weights fits 64 bits. */
void cd_l1_stand(cd_l1_standing *out, cd_arena *a, const cd_l1_quorum *q, const cd_l1_member *v, usize cnt);

/* cd_l1_stand_text says it in one or two sentences, in a: "Two of five validators can fail; three halt it." */
const char *cd_l1_stand_text(cd_arena *a, const cd_l1_standing *s, usize cnt);

/* Something that an operator is about to do. */
typedef enum cd_l1_step_kind {
    CD_L1_STEP_CREATE,  /* begin with these members */
    CD_L1_STEP_WEIGHT,  /* of validation_id becomes weight; 0 removes it */
    CD_L1_STEP_DISABLE, /* validation_id gets its balance back */
    CD_L1_STEP_ADD,     /* a new one: weight, balance */
} cd_l1_step_kind;

/* That step. */
typedef struct cd_l1_step {
    cd_l1_step_kind kind;    /* which of them */
    cd_hash32 validation_id; /* whom it is about */
    u64 weight;              /* what it has then */
    u64 balance;             /* of a new one, base units */
} cd_l1_step;

/* cd_l1_step_check simulates a step and refuses one after which the L1 stands still, has nobody left, or hangs on one
 * validator that has more than a third of the weight though there are three or more. What already is so, and
 * gets no worse, is no reason. Errors: CD_EACCES with the reason; CD_ENOENT: no such validator; CD_ERANGE. */
cd_err cd_l1_step_check(cd_arena *a, const cd_l1_quorum *q, const cd_l1_member *v, usize cnt, const cd_l1_step *step,
                        cd_errinfo *why) CD_CHECK;

#endif
