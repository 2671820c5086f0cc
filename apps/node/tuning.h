/* apps/node/tuning.h - the flags about peers and voting. Threading: confined. */
#ifndef CD_APPS_NODE_TUNING_H
#define CD_APPS_NODE_TUNING_H

#include "base/args/args.h"
#include "node/peers/tuning.h"

/* cd__tuning_load reads them; lists lie in mem. False: they do not fit together, and it was said why. */
bool cd__tuning_load(cd_node_tuning *out, const cd_args *a, cd_arena *mem);

#endif
