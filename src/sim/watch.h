/* sim/watch.h - what an engine comes to think, into a trace: its preference, and the confidence in each undecided
 * block, when they change. Where nobody else tells of blocks, also which it has verified, accepted and rejected.
 *
 * Threading: confined to the engine's thread. */
#ifndef CD_SIM_WATCH_H
#define CD_SIM_WATCH_H

#include "consensus/snow/snowman.h"
#include "sim/trace.h"

enum { CD_SIM_WATCHED_MAX = 64 }; /* undecided blocks that are remembered */

/* An undecided block, as the trace was told of it. */
typedef struct cd_sim_watched {
    cd_hash32 id;
    cd_hash32 parent;
    u64 height;
    u32 confidence;
    bool is_there; /* found by this look */
} cd_sim_watched;

/* What the trace was told of one engine. A new one is {0} with the first three members set. */
typedef struct cd_sim_watch {
    cd_sim_trace *trace; /* NULL: nothing is watched */
    u32 node;
    bool tells_blocks;
    cd_hash32 preferred;
    cd_hash32 last;
    cd_sim_watched known[CD_SIM_WATCHED_MAX];
    u32 cnt;
    u64 now_us;
} cd_sim_watch;

/* cd_sim_watch_look writes what is new since the last look. */
void cd_sim_watch_look(cd_sim_watch *w, const cd_engine *e, u64 now_us);

#endif
