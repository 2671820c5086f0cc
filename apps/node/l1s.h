/* apps/node/l1s.h - how the L1s that the node tracks are. Threading: the main thread, but for what the node calls. */
#ifndef CD_APPS_NODE_L1S_H
#define CD_APPS_NODE_L1S_H

#include "base/args/args.h"
#include "node/node.h"

/* What the flags say of them; lives as long as the node. */
typedef struct cd__l1s {
    cd_l1_watch_cfg cfg;
    u64 within_s; /* balances that end so soon are warned of; 0: none */
} cd__l1s;

/* cd__l1s_load reads the flags; tracked says which nets are watched. */
void cd__l1s_load(cd__l1s *out, const cd_args *a, const cd_tracked_cfg *tracked);

#endif
