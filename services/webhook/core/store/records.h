/* services/webhook/core/store/records.h - the small tables of the store: answers kept for idempotent calls, the
 * audit log, mails that wait, token metadata, settings.
 *
 * As core/store.h: all calls inside a transaction of core/db.h. Threading: confined. [spec:webhooks#2, #5, #6, #8] */
#ifndef CD_WEBHOOK_CORE_RECORDS_H
#define CD_WEBHOOK_CORE_RECORDS_H

#include "services/common/outbox.h"
#include "services/webhook/core/store/store.h"

/* The answer that a call with an Idempotency-Key got. */
typedef struct cd_wh_kept {
    u8 request[32]; /* SHA-256 of what was asked */
    u32 status;
    cd_bytes body; /* sealed in the file: it may hold a secret */
    u64 at_ms;
} cd_wh_kept;

/* cd_wh_kept_get: CD_ENOENT when there is none of the last 24 hours. cd_wh_kept_put: CD_EEXIST likewise. */
cd_err cd_wh_kept_get(cd_wh_store *s, cd_wh_kept *out, cd_arena *mem, const char *project, cd_bytes key,
                      cd_errinfo *why) CD_CHECK;
cd_err cd_wh_kept_put(cd_wh_store *s, const cd_wh_kept *kept, const char *project, cd_bytes key,
                      cd_errinfo *why) CD_CHECK;

/* A management call: who did what to what. */
typedef struct cd_wh_audit {
    i64 key; /* the store's; not for cd_wh_audit_add */
    u64 at_ms;
    const char *project, *actor, *action, *target; /* actor: id of a key, or a program's name */
    const char *address;                           /* where from */
} cd_wh_audit;
/* cd_wh_audit_add writes one; cd_wh_audit_list gives them newest first, keys below `before` (0: from the newest). */
cd_err cd_wh_audit_add(cd_wh_store *s, const cd_wh_audit *a, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_audit_list(cd_wh_store *s, cd_wh_audit **out, usize *cnt, cd_arena *mem, const char *project, i64 before,
                        u32 limit, cd_errinfo *why) CD_CHECK;

/* cd_wh_mail_put queues a mail; CD_EEXIST when one with the same `once` was queued before. */
cd_err cd_wh_mail_put(cd_wh_store *s, const cd_letter *m, cd_errinfo *why) CD_CHECK;
/* cd_wh_mail_claim gives up to max mails that are due and puts them off by lease_ms. */
cd_err cd_wh_mail_claim(cd_wh_store *s, cd_letter **out, usize *cnt, cd_arena *mem, u64 now_ms, u64 lease_ms, u32 max,
                        cd_errinfo *why) CD_CHECK;
/* cd_wh_mail_settle: sent or given up (next_ms 0), or to be tried again at next_ms. */
cd_err cd_wh_mail_settle(cd_wh_store *s, i64 key, u64 next_ms, cd_errinfo *why) CD_CHECK;

/* What a token contract says of itself; cached for ever. */
typedef struct cd_wh_token {
    const char *symbol, *name; /* NULL: unknown */
    i32 decimals;              /* -1: unknown */
} cd_wh_token;
/* cd_wh_token_get: CD_ENOENT when it was never asked. cd_wh_token_put remembers what it said. */
cd_err cd_wh_token_get(cd_wh_store *s, cd_wh_token *out, cd_arena *mem, const char *chain, const cd_addr20 *address,
                       cd_errinfo *why) CD_CHECK;
cd_err cd_wh_token_put(cd_wh_store *s, const cd_wh_token *t, const char *chain, const cd_addr20 *address,
                       cd_errinfo *why) CD_CHECK;

/* The certificate and key that a webhook shows to its receiver, sealed. cd_wh_client_put stores hook->client (empty:
 * none any more), cd_wh_client_get reads it when hook->settings say that there is one. */
cd_err cd_wh_client_put(cd_wh_store *s, const cd_wh_hook *hook, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_client_get(cd_wh_store *s, cd_wh_hook *hook, cd_arena *mem, cd_errinfo *why) CD_CHECK;

/* cd_wh_session_end: a session of the dashboard, whose name begins with its expiry in hex, is over. */
cd_err cd_wh_session_end(cd_wh_store *s, const char *name, u64 now_s, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_session_is_over(cd_wh_store *s, bool *is_over, const char *name, cd_errinfo *why) CD_CHECK;

/* Settings of a project (or "": of the service) by name: notification switches, when a reminder went out. CD_ENOENT. */
cd_err cd_wh_setting_get(cd_wh_store *s, cd_bytes *out, cd_arena *mem, const char *project, const char *name,
                         cd_errinfo *why) CD_CHECK;
cd_err cd_wh_setting_put(cd_wh_store *s, cd_bytes value, const char *project, const char *name,
                         cd_errinfo *why) CD_CHECK;

#endif
