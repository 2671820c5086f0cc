/* services/webhook/api/path.h - paths of routes and pages: fixed segments, and "{...}" for one that is not empty.
 *
 * Threading: pure. */
#ifndef CD_WEBHOOK_API_PATH_H
#define CD_WEBHOOK_API_PATH_H

#include "services/webhook/core/model.h"

/* cd_wh_path_fits: path is made as template says; params get what stands in its "{...}", of at most CD_WH_ID_MAX
 * bytes. A template has at most two. */
bool cd_wh_path_fits(const char *template, cd_bytes path, cd_bytes params[2]);

#endif
