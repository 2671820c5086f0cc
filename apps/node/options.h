/* apps/node/options.h - every flag of the node, and flags of the original nodes that it does not have. Threading:
 * frozen. */
#ifndef CD_APPS_NODE_OPTIONS_H
#define CD_APPS_NODE_OPTIONS_H

#include "base/args/args.h"
#include "base/log/log.h"

enum {
#define X CD_ARG_ID
#include "options.def"
#undef X
    OPT_CNT,
};

extern const cd_arg_def cd__options[OPT_CNT];

/* cd__flag_is_later: the original nodes have this flag, and here it has no effect yet. */
bool cd__flag_is_later(cd_bytes name);

/* cd__later_of_args gives the first such flag among arguments, its length in *n; NULL when there is none. */
const char *cd__later_of_args(usize *n, int argc, char *const *argv);

/* cd__log_open opens the log that the flags ask for. Errors: those of base/log/log_file.h; why says what. */
cd_err cd__log_open(cd_logger **out, const cd_args *a, cd_arena *mem, cd_errinfo *why) CD_CHECK;

#endif
