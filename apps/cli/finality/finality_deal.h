/* apps/cli/finality/finality_deal.h - a threshold key dealt to validators, as files. Threading: the main thread. */
#ifndef CD_APPS_CLI_FINALITY_DEAL_H
#define CD_APPS_CLI_FINALITY_DEAL_H

#include "base/mem/arena.h"
#include "codec/json.h"

/* cd__fin_deal deals a key to the nodes whose IDs stand in text, separated by anything but letters, digits and '-', and
 * writes group.key and NodeID-….share for each into dir, which is made; w gets what was dealt. Errors: CD_EINVAL for
 * the list, CD_EEXIST where a file is there already (then none is changed), those of the file system. */
cd_err cd__fin_deal(cd_json_w *w, cd_arena *mem, cd_bytes text, const char *dir, cd_errinfo *why) CD_CHECK;

#endif
