/* services/webhook/api/ops.h - what management does to the store, the same for routes and pages.
 *
 * Threading: confined to a store's thread, inside a job. [spec:webhooks#2, #5] */
#ifndef CD_WEBHOOK_API_OPS_H
#define CD_WEBHOOK_API_OPS_H

#include "services/webhook/api/engine.h"
#include "services/webhook/api/face.h"
#include "services/webhook/core/store/store.h"

/* cd_wh_op_from_now: while the service catches up, a new webhook that says nothing of the past begins behind the node's
 * head, not behind the ledger's. On the loop, before cd_wh_op_create. */
void cd_wh_op_from_now(const cd_wh_engine *e, cd_wh_hook *hook);

/* cd_wh_op_create stores a draft of a project, and who is told of what happens to it. CD_EFULL: the tier's number of
 * webhooks, or of addresses, is reached. */
cd_err cd_wh_op_create(cd_wh_store *s, cd_wh_draft *d, const cd_wh_project *p, u32 limit, u64 now_ms, cd_arena *mem,
                       cd_errinfo *why) CD_CHECK;

/* cd_wh_op_change stores what a PATCH has made of old (with lists); d->hook is then as it is stored. due: something
 * waits now. */
cd_err cd_wh_op_change(cd_wh_store *s, cd_wh_draft *d, bool *due, const cd_wh_hook *old, u64 now_ms, cd_arena *mem,
                       cd_errinfo *why) CD_CHECK;

/* cd_wh_op_status pauses or resumes hook, whose face says what it then is; again: what is replayed on resuming. */
cd_err cd_wh_op_status(cd_wh_store *s, cd_wh_hook *hook, bool *due, bool is_on, cd_wh_again again,
                       cd_errinfo *why) CD_CHECK;

/* cd_wh_op_rotate draws a secret: at grace 0 it is the current one at once. _confirm makes it so; CD_ENOENT when there
 * is none to confirm. */
cd_err cd_wh_op_rotate(cd_wh_store *s, cd_wh_hook *hook, cd_wh_read *r, u64 grace_ms, u64 now_ms,
                       cd_errinfo *why) CD_CHECK;
cd_err cd_wh_op_confirm(cd_wh_store *s, cd_wh_hook *hook, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_wh_op_delete deletes a webhook, and who is told of what happens to it: ops, key 0 without. CD_EBUSY for one
 * that is told of others: its URL is taken from them instead. */
cd_err cd_wh_op_delete(cd_wh_store *s, cd_wh_hook *ops, const cd_wh_hook *hook, cd_arena *mem,
                       cd_errinfo *why) CD_CHECK;

/* cd_wh_op_target makes, moves or ends (url "") the webhook that is told of what happens to a webhook, or (hook 0) to
 * a project; d->ops has id and secret for a new one, then what is stored, and d->ops_is what it is. */
cd_err cd_wh_op_target(cd_wh_store *s, cd_wh_draft *d, const char *project, cd_wh_face face, i64 hook, u64 now_ms,
                       cd_arena *mem, cd_errinfo *why) CD_CHECK;

/* cd_wh_op_addresses changes the watched addresses; hook (with lists) is then as it is stored. CD_EFULL; CD_EINVAL when
 * the last one would go, and with it the condition. */
cd_err cd_wh_op_addresses(cd_wh_store *s, cd_wh_hook *hook, cd_wh_addrs add, cd_wh_addrs remove, u64 now_ms,
                          cd_arena *mem, cd_errinfo *why) CD_CHECK;

#endif
