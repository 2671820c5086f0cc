/* warp/warp_priv.h - the object as the files of this library see it. */
#ifndef CD_WARP_WARP_PRIV_H
#define CD_WARP_WARP_PRIV_H

#include "base/log/metrics.h"
#include "base/table/list.h"
#include "base/table/lru.h"
#include "warp/warp.h"

struct cd_warp {
    cd_warp_cfg cfg;
    cd_arena arena;    /* messages of the configuration */
    cd_hmap off_chain; /* their IDs → cd_bytes */
    cd_lru *signatures;
    cd_warp_sets *sets;
    cd_p2p_window signs; /* made for peers, whoever they are */
    cd_list gathers;     /* collect.c's; the oldest first */
    cd_list settled;     /* its wishes that are done */
    usize gather_cnt;    /* of those that are not over */
    usize wish_cnt;
    cd_lru *collected;      /* what was collected, by what was wanted */
    cd_counter *cnt_signed; /* these are NULL when no metrics are kept */
    cd_counter *cnt_refused;
    cd_counter *cnt_collected;
    cd_counter *cnt_missed;
};

/* cd__warp_count adds one to a counter, NULL allowed. */
void cd__warp_count(cd_counter *c);

/* collect.c: what belongs to it in a cd_warp; _wake as cd_warp_wake. */
void cd__collect_init(cd_warp *w);
void cd__collect_fini(cd_warp *w);
u64 cd__collect_wake(cd_warp *w);

#endif
