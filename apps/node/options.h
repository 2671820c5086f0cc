/* apps/node/options.h - every flag of the node, and flags of the original nodes that mean nothing here. Threading:
 * frozen. */
#ifndef CD_APPS_NODE_OPTIONS_H
#define CD_APPS_NODE_OPTIONS_H

#include "base/args/args.h"
#include "base/log/log.h"

enum {
#define X CD_ARG_ID
#include "options.def"
#define X CD_ARG_ID
#include "tuning.def"
    OPT_SHOWN, /* those above have an effect */
    OPT_BEFORE_ELSEWHERE = OPT_SHOWN - 1,
#define X(id, kind, reason, ...) id,
#include "elsewhere.def"
    OPT_CNT,
    OPT_TUNING = OPT_K, /* the first of those about peers and voting */
};

extern const cd_arg_def cd__options[OPT_CNT];

/* cd__elsewhere_ok looks for flags that mean nothing here; false: there is one that is refused, which was reported.
 * Those of a configuration file, which an original may share, are never refused. cd__elsewhere_tell writes into the log
 * which of them were given. */
bool cd__elsewhere_ok(const cd_args *a, cd_arena *mem);
void cd__elsewhere_tell(const cd_args *a, cd_logger *log);

/* cd__elsewhere_reason says why a flag means nothing here; NULL: it does not, or there is no such flag. */
const char *cd__elsewhere_reason(cd_bytes name);

/* cd__log_open opens the log that the flags ask for; it begins with those that mean nothing here. Errors: those of
 * base/log/log_file.h; why says what. */
cd_err cd__log_open(cd_logger **out, const cd_args *a, cd_arena *mem, cd_errinfo *why) CD_CHECK;

#endif
