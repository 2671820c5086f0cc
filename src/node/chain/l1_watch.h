/* node/chain/l1_watch.h - how the L1s that a node tracks are, told where operators look: health, metrics, log.
 *
 *   timer on the loop ─► P-Chain's executor: look at each L1 ─► loop: check "l1-<net>", gauges l1_*, a line in the log
 *
 * What an L1 is this library does not know; the program says how one is looked at. A line comes when the cause
 * changes, else once in CD_L1_WATCH_SAY_S. Threading: confined to the loop, but for look. [spec:pchain-xchain#4] */
#ifndef CD_NODE_L1_WATCH_H
#define CD_NODE_L1_WATCH_H

#include "node/chain/chains.h"

enum { CD_L1_WATCH_MAX = 32, CD_L1_WATCH_LOOK_S = 10, CD_L1_WATCH_SAY_S = 6 * 3600 };

/* How an L1 is. */
typedef struct cd_l1_word {
    bool is_l1;        /* false: the net is none, or not yet */
    const char *wrong; /* static; why the check fails; NULL: it does not */
    const char *cause; /* static; the worst of what the log is told; NULL: nothing */
    const char *text;  /* that in words, and what helps; both lie in a */
    const char *help;
    cd_bytes message; /* JSON, in a */
    u64 state;        /* 0: it goes on, 1: slowly, 2: it stands still */
    u64 validators;
    u64 inactive;
    u64 unreachable;
    u64 can_fail; /* so many more */
    u64 voting_permille;
    u64 first_end_s; /* until the first balance ends */
    u64 halt_s;      /* until it stands still for that */
} cd_l1_word;

/* What the program says. Borrowed as long as the node. */
typedef struct cd_l1_watch_cfg {
    const cd_hash32 *nets; /* at most CD_L1_WATCH_MAX are watched */
    usize net_cnt;
    /* look tells how an L1 is, with the VM of the P-Chain on its executor. */
    void (*look)(void *ctx, cd_l1_word *out, cd_arena *a, cd_vm *p, const cd_hash32 *net);
    void *ctx;
} cd_l1_watch_cfg;

/* What it needs of the node. */
typedef struct cd_l1_watch_env {
    cd_chains *chains;
    cd_loop *loop;
    cd_health *health;
    cd_metrics *metrics; /* NULL: none are kept */
    cd_logger *log;
} cd_l1_watch_env;

typedef struct cd_l1_watch cd_l1_watch;

/* cd_l1_watch_new begins to look. cd_l1_watch_stop looks no more, before the chains end; cd_l1_watch_free: after they
 * have, and the loop was drained. NULL is allowed to both. */
cd_l1_watch *cd_l1_watch_new(const cd_l1_watch_cfg *cfg, const cd_l1_watch_env *env);
void cd_l1_watch_stop(cd_l1_watch *w);
void cd_l1_watch_free(cd_l1_watch *w);

#endif
