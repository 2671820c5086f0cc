/* services/webhook/core/chain/tokens.h - what token contracts say of themselves: asked once, kept for ever.
 *
 *   memory ─► store ─► node: symbol(), name(), decimals() by eth_call ─► store
 *
 * symbol and name as string or bytes32. Text is made fit to be shown: valid UTF-8 without control characters, at
 * most 64 bytes (URIs 2,048). A call that reverts, or answers nonsense, is an answer: unknown. A node that does not
 * answer, is behind the block or fails for reasons of its own is asked again. URIs of single tokens are asked for
 * when they are wanted, for a burnt one at the block before. Threading: confined to the loop. [spec:webhooks#6] */
#ifndef CD_WEBHOOK_CORE_TOKENS_H
#define CD_WEBHOOK_CORE_TOKENS_H

#include "services/common/upstream.h"
#include "services/webhook/core/chain/event.h"
#include "services/webhook/core/store/db.h"

typedef struct cd_wh_tokens cd_wh_tokens;
typedef struct cd_wh_naming cd_wh_naming;

/* cd_wh_tokens_new: db may be NULL (nothing is kept). Strings and node are borrowed. cd_wh_tokens_free: no naming may
 * be under way. NULL is allowed. */
cd_wh_tokens *cd_wh_tokens_new(cd_loop *loop, cd_jobs *db, cd_upstream *node, const char *chain);
void cd_wh_tokens_free(cd_wh_tokens *t);

/* cd_wh_naming_new finds out all that events of these hits need, with mem for what is kept no longer than they are;
 * fn is called once, at the earliest during the call; *out is set by then. The names are for cd_wh_events_make, until
 * cd_wh_naming_free, which also ends one that is
 * under way. hits and facts must stay. */
typedef void cd_wh_naming_fn(void *ctx);
void cd_wh_naming_new(cd_wh_naming **out, cd_wh_tokens *t, cd_arena *mem, const cd_wh_facts *facts,
                      const cd_wh_hit *hits, usize hits_cnt, cd_wh_naming_fn *fn, void *ctx);
void cd_wh_naming_free(cd_wh_naming *n);
cd_wh_names cd_wh_naming_names(const cd_wh_naming *n);

/* cd_wh_token_text makes text of what a contract answers: a string or 32 bytes; NULL for anything else.
 * cd_wh_token_number: a word of at most 255, else -1. */
const char *cd_wh_token_text(cd_arena *mem, cd_bytes answer, usize max);
i32 cd_wh_token_number(cd_bytes answer);

#endif
