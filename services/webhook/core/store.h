/* services/webhook/core/store.h - everything that must survive: projects, keys, webhooks, ledger, cursors.
 *
 * One interface on SQLite (WAL, the default) and PostgreSQL, the same SQL subset; all calls are made on a thread of
 * db.h, inside its transaction. What a call gives is put into the arena of the caller. Secrets are sealed before they
 * reach the file. Cost of a delivery does not depend on the number of old ones.
 * Threading: confined to the thread that has it. [spec:webhooks#5, #8] */
#ifndef CD_WEBHOOK_CORE_STORE_H
#define CD_WEBHOOK_CORE_STORE_H

#include "base/arena.h"
#include "base/clock.h"
#include "services/webhook/core/model.h"

typedef struct cd_wh_store cd_wh_store;

typedef struct cd_wh_store_cfg {
    const char *url;      /* sqlite:PATH or postgresql://… */
    const char *worker;   /* name of this process among several; leases carry it */
    const u8 *master_key; /* 32 bytes; seals secrets */
    const cd_clock *clock;
} cd_wh_store_cfg;

/* ---- projects and keys ---- */

typedef struct cd_wh_project {
    const char *id, *name, *tier, *email; /* tier: free, payg, growth, enterprise */
    cd_wh_face face;
    u64 created_ms;
} cd_wh_project;

typedef struct cd_wh_key {
    const char *id, *project, *label, *last4;
    bool may_write;
    u64 created_ms, expires_ms, revoked_ms, used_ms; /* 0: never */
} cd_wh_key;

cd_err cd_wh_project_put(cd_wh_store *s, const cd_wh_project *p, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_project_get(cd_wh_store *s, cd_wh_project *out, cd_arena *mem,
                         const char *id) CD_CHECK; /* CD_ENOENT */
cd_err cd_wh_project_list(cd_wh_store *s, cd_wh_project **out, usize *cnt, cd_arena *mem) CD_CHECK;

/* cd_wh_key_make draws a key and stores its salted hash; text ("sk_" and 40 characters) is shown once. */
cd_err cd_wh_key_make(cd_wh_store *s, cd_wh_key *out, char text[48], cd_arena *mem,
                      const cd_wh_key *init, cd_errinfo *why) CD_CHECK;
/* cd_wh_key_find: the key that text is, and its project. CD_ENOENT when it is none, revoked or expired. */
cd_err cd_wh_key_find(cd_wh_store *s, cd_wh_key *key, cd_wh_project *project, cd_arena *mem,
                      cd_bytes text) CD_CHECK;
cd_err cd_wh_key_list(cd_wh_store *s, cd_wh_key **out, usize *cnt, cd_arena *mem,
                      const char *project) CD_CHECK;
cd_err cd_wh_key_revoke(cd_wh_store *s, const char *project,
                        const char *id) CD_CHECK; /* CD_ENOENT */

/* ---- webhooks ---- */

/* cd_wh_hook_add stores a webhook; key is set. CD_EFULL beyond limit webhooks of the project (0: no limit). */
cd_err cd_wh_hook_add(cd_wh_store *s, cd_wh_hook *hook, u32 limit, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_save replaces everything but addresses, key, id, project, face. */
cd_err cd_wh_hook_save(cd_wh_store *s, const cd_wh_hook *hook, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_get by project and id (both as text; a foreign one is not there); with_lists: with its addresses. */
cd_err cd_wh_hook_get(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, const char *project,
                      const char *id, bool with_lists) CD_CHECK;
cd_err cd_wh_hook_by_key(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, i64 key,
                         bool with_lists) CD_CHECK;

typedef struct cd_wh_hook_query {
    const char *project; /* NULL: all, for start-up */
    const char *chain;   /* NULL: any */
    int status;          /* -1: any */
    u32 types;           /* 0: any, else at least one of these */
    const char *search;  /* part of name or URL; NULL */
    i64 before;          /* keys below; 0: from the newest */
    u32 skip, limit;
} cd_wh_hook_query;
cd_err cd_wh_hook_list(cd_wh_store *s, cd_wh_hook **out, usize *cnt, u64 *total, cd_arena *mem,
                       const cd_wh_hook_query *q) CD_CHECK;
/* cd_wh_hook_each gives every webhook with its lists, one at a time, for the matcher at start. */
cd_err cd_wh_hook_each(cd_wh_store *s, cd_err (*fn)(void *ctx, const cd_wh_hook *hook),
                       void *ctx) CD_CHECK;
/* cd_wh_hook_addresses adds and removes as one; cnt: how many there are afterwards. CD_EFULL. */
cd_err cd_wh_hook_addresses(cd_wh_store *s, usize *cnt, i64 hook, cd_wh_addrs add,
                            cd_wh_addrs remove, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_delete: it is gone for its owner; waiting deliveries become CANCELLED. */
cd_err cd_wh_hook_delete(cd_wh_store *s, i64 hook) CD_CHECK;

/* ---- the ledger ---- */

/* cd_wh_enqueue writes events of one block in order (sequence, chain hash, state by the webhook's status and quota)
 * and moves the cursor of the chain: all or nothing. Events whose h is there already are left out. made: the rows whose
 * state is PENDING, leased to this worker. */
cd_err cd_wh_enqueue(cd_wh_store *s, cd_wh_delivery **made, usize *cnt, cd_arena *mem,
                     const cd_wh_event *events, usize events_cnt, const char *chain, u64 height,
                     const u8 block_hash[32], cd_errinfo *why) CD_CHECK;
/* cd_wh_cursor_get: CD_ENOENT for a chain that was never followed. */
cd_err cd_wh_cursor_get(cd_wh_store *s, u64 *height, u8 block_hash[32], const char *chain) CD_CHECK;

/* cd_wh_claim leases up to max deliveries that are due at now_ms and not leased (SKIP LOCKED), oldest first, at most
 * per_hook of one webhook. What a dead worker had becomes due again when its lease ends. */
cd_err cd_wh_claim(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem, u64 now_ms,
                   u64 lease_ms, u32 max, u32 per_hook) CD_CHECK;
/* cd_wh_next_due: the earliest time at which something unleased becomes due; UINT64_MAX: nothing waits. */
cd_err cd_wh_next_due(cd_wh_store *s, u64 *at_ms) CD_CHECK;
/* cd_wh_settle records an attempt and the state that follows from it. */
cd_err cd_wh_settle(cd_wh_store *s, i64 delivery, const cd_wh_attempt *attempt, cd_wh_state state,
                    u64 next_ms, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_pause sets the status and turns RETRYING deliveries into HELD; cd_wh_hook_resume the other way round. */
cd_err cd_wh_hook_pause(cd_wh_store *s, i64 hook, cd_wh_status status) CD_CHECK;
cd_err cd_wh_hook_resume(cd_wh_store *s, i64 hook) CD_CHECK;
/* cd_wh_replay makes waiting deliveries anew of what matches (same event, same body, a new chain of attempts). */
typedef struct cd_wh_delivery_query {
    i64 hook; /* 0: all of the project */
    const char *project;
    u32 states;         /* mask of 1 << state; 0: any */
    u64 from_ms, to_ms; /* creation; 0: open */
    u64 from_block, to_block;
    const char *event_id; /* NULL: any */
    i64 before;
    u32 limit;
} cd_wh_delivery_query;
cd_err cd_wh_replay(cd_wh_store *s, u64 *queued, const cd_wh_delivery_query *q) CD_CHECK;
cd_err cd_wh_delivery_list(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem,
                           const cd_wh_delivery_query *q) CD_CHECK;
cd_err cd_wh_delivery_get(cd_wh_store *s, cd_wh_delivery *out, cd_wh_attempt **attempts,
                          usize *attempts_cnt, cd_arena *mem, i64 hook, i64 delivery) CD_CHECK;

#endif
