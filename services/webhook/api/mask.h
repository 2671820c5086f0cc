/* services/webhook/api/mask.h - what keys that may only read do not see: queries of URLs, which often carry a token.
 *
 * Threading: pure. [spec:webhooks#8] */
#ifndef CD_WEBHOOK_API_MASK_H
#define CD_WEBHOOK_API_MASK_H

#include "base/mem/arena.h"
#include "services/webhook/core/model.h"

/* cd_wh_mask_url gives a URL without its query, in mem. */
const char *cd_wh_mask_url(cd_arena *mem, const char *url);

/* cd_wh_mask_head does so in the first line of a recorded request. */
const char *cd_wh_mask_head(cd_arena *mem, const char *request);

/* cd_wh_mask_hook does so in a webhook's URL and in that of who is told of what happens to it. */
void cd_wh_mask_hook(cd_arena *mem, cd_wh_hook *hook);

#endif
