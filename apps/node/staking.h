/* apps/node/staking.h - the rules of staking on a private network: flags become configuration of the P-Chain.
 * Threading: the main thread. [spec:node-api#11] */
#ifndef CD_APPS_NODE_STAKING_H
#define CD_APPS_NODE_STAKING_H

#include "options.h"
#include "types/network.h"

/* cd__staking_rules gives the object "staking" of the P-Chain's configuration, null when no flag was given, in mem.
 * false: the flags are wrong, or the network has fixed rules; it was reported. */
bool cd__staking_rules(const char **out, const cd_args *a, cd_arena *mem, const cd_network *net);

#endif
