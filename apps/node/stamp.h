/* The key by which this node stamps final blocks (ML-DSA-65), from its file or made. */
#ifndef CANDELA_STAMP_H
#define CANDELA_STAMP_H

#include "node/node.h"
#include "options.h"

/* cd__stamp_load reads the seed into the configuration, after making it when there is no file; not kept: it is gone
 * with the process. Only where blocks are made final (--finality-enabled). false: something is wrong, which was
 * reported. cd__stamp_forget wipes it. */
bool cd__stamp_load(cd_node_cfg *out, const cd_args *a, cd_arena *mem, bool is_kept);
void cd__stamp_forget(void);

#endif
