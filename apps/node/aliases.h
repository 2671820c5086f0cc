/* apps/node/aliases.h - further names of chains, out of the file that operators keep. Threading: the main thread.
 * [spec:node-api#11] [spec:node-api#12] */
#ifndef CD_APPS_NODE_ALIASES_H
#define CD_APPS_NODE_ALIASES_H

#include "node/node.h"
#include "options.h"

/* cd__aliases_load reads {"<chain ID>":["name",…]} of --chain-aliases-file or its content; a file that no flag
 * names may be missing. false: something is wrong, and was reported. */
bool cd__aliases_load(cd_node_cfg *out, const cd_args *a, cd_arena *mem);

#endif
