/* apps/node/effective.h - the value that each flag has in the end, for admin.getConfig. Threading: the main thread.
 * [spec:node-api#8] */
#ifndef CD_APPS_NODE_EFFECTIVE_H
#define CD_APPS_NODE_EFFECTIVE_H

#include "options.h"

/* cd__effective_config gives an object with a member for each flag, in mem. Of contents that are given
 * as base64, which may be keys, it says only that they were given. */
cd_bytes cd__effective_config(const cd_args *a, cd_arena *mem);

#endif
