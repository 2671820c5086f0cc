/* services/webhook/core/store/store.h - everything that must survive: projects, keys, webhooks, ledger, cursors.
 *
 *   hook ──1:1── queue (sequence, chain hash, status, when something is due)
 *    └──1:n── delivery (what becomes of a match) ──1:1── event (what matched, frozen)
 *                └──1:n── attempt
 *
 * One interface on SQLite (WAL, the default) and PostgreSQL, the same SQL on both; all calls are made on a thread of
 * core/db.h, inside its transaction. What a call gives is put into the arena of the caller. Secrets are sealed before
 * they reach the file. The cost of a delivery does not depend on the number of old ones: on its way it touches only the
 * ends of tables and the index of what waits. core/records.h has the rest of the tables.
 * Errors everywhere: CD_EIO, CD_ENOSPC, CD_EBUSY, CD_ECLOSED of the database; then the transaction must be undone.
 * Threading: confined to the thread that has it. [spec:webhooks#5, #8] */
#ifndef CD_WEBHOOK_CORE_STORE_H
#define CD_WEBHOOK_CORE_STORE_H

#include "base/mem/arena.h"
#include "base/os/clock.h"
#include "services/webhook/core/model.h"

typedef struct cd_wh_store cd_wh_store;

/* Where workers tell each other of webhooks (services/common/peers.h). */
#define CD_WH_CHANNEL "candela_webhooks"

/* Which store, and for whom. */
typedef struct cd_wh_store_cfg {
    const char *url;      /* sqlite:PATH or postgresql://… */
    const char *worker;   /* this process among several; NULL: an administrator's, which leases nothing */
    const u8 *master_key; /* 32 bytes; seals secrets; copied */
    const cd_clock *clock;
    u64 lease_ms; /* of what cd_wh_enqueue hands out; 0: 5 minutes */
    u32 ahead;    /* at most so many deliveries of one webhook are handed out at a time; 0: 64 */
} cd_wh_store_cfg;

/* --- workers --- */

/* Of a shared database (elsewhere a store is one worker's, and none of these is for it): cd_wh_workers_bury lets
 * what dead workers had in hand wait again; cnt: how many were found dead. cd_wh_worker_lives: this one was taken
 * for dead, perhaps, when it was not connected. services/common/peers.h says what that is. */
cd_err cd_wh_workers_bury(cd_wh_store *s, usize *cnt, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_worker_lives(cd_wh_store *s, cd_errinfo *why) CD_CHECK;
/* cd_wh_worker_rows gives what this worker has in hand, with bodies: after a commit of which nobody knows what
 * became, it may be more than it knows of. */
cd_err cd_wh_worker_rows(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem, cd_errinfo *why) CD_CHECK;

/* --- projects and keys --- */

/* The period of a project's quota. */
typedef enum cd_wh_period { CD_WH_NO_QUOTA, CD_WH_PER_DAY, CD_WH_PER_MONTH } cd_wh_period;

/* A customer: what is counted, limited and kept apart. */
typedef struct cd_wh_project {
    const char *id, *name, *tier, *email; /* tier: free, payg, growth, enterprise */
    cd_wh_face face;
    cd_wh_period quota_period; /* days and months of UTC */
    u64 quota;                 /* events in a period; those beyond become QUOTA_EXCEEDED */
    u64 created_ms;
} cd_wh_project;

/* An API key; its text is not kept. */
typedef struct cd_wh_key {
    const char *id, *project, *label, *last4;
    bool may_write;
    u64 created_ms, expires_ms, revoked_ms, used_ms; /* 0: never */
} cd_wh_key;

/* cd_wh_project_put adds a project or replaces all of it but its face. cd_wh_project_get: CD_ENOENT. */
cd_err cd_wh_project_put(cd_wh_store *s, const cd_wh_project *p, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_project_get(cd_wh_store *s, cd_wh_project *out, cd_arena *mem, const char *id, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_project_list(cd_wh_store *s, cd_wh_project **out, usize *cnt, cd_arena *mem, cd_errinfo *why) CD_CHECK;

/* cd_wh_key_make draws a key and stores its salted hash; text ("sk_" and 40 characters) is shown once. Of init count
 * project, label, may_write and expires_ms. CD_ENOENT without such a project. */
cd_err cd_wh_key_make(cd_wh_store *s, cd_wh_key *out, char text[48], cd_arena *mem, const cd_wh_key *init,
                      cd_errinfo *why) CD_CHECK;
/* cd_wh_key_find: the key that text is, and its project. CD_ENOENT when it is none, revoked or expired. */
cd_err cd_wh_key_find(cd_wh_store *s, cd_wh_key *key, cd_wh_project *project, cd_arena *mem, cd_bytes text,
                      cd_errinfo *why) CD_CHECK;
/* cd_wh_key_list gives the keys of a project, oldest first; cd_wh_key_revoke, cd_wh_key_used: CD_ENOENT. */
cd_err cd_wh_key_list(cd_wh_store *s, cd_wh_key **out, usize *cnt, cd_arena *mem, const char *project,
                      cd_errinfo *why) CD_CHECK;
cd_err cd_wh_key_revoke(cd_wh_store *s, const char *project, const char *id, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_key_used(cd_wh_store *s, const char *id, u64 at_ms, cd_errinfo *why) CD_CHECK;

/* --- webhooks --- */

/* cd_wh_hook_add stores a webhook; key is set. CD_EFULL beyond limit webhooks of the project (0: no limit) or
 * CD_WH_ADDRESSES_MAX, CD_EEXIST for an id that is taken, CD_ENOENT without such a project. */
cd_err cd_wh_hook_add(cd_wh_store *s, cd_wh_hook *hook, u32 limit, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_save replaces everything but filter.addresses, key, id, project, face, created_ms, and what pause, resume
 * and deliveries change: status, failures, last_ms. */
cd_err cd_wh_hook_save(cd_wh_store *s, const cd_wh_hook *hook, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_move sets from_block alone, which is nobody's business but the ledger's. */
cd_err cd_wh_hook_move(cd_wh_store *s, i64 hook, u64 from_block, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_get by project and id (both as text; a foreign or deleted one is CD_ENOENT); with_lists: with
 * filter.addresses, which are left out otherwise. */
cd_err cd_wh_hook_get(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, const char *project, const char *id,
                      bool with_lists, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_hook_by_key(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, i64 key, bool with_lists,
                         cd_errinfo *why) CD_CHECK;

/* Which webhooks cd_wh_hook_list gives. */
typedef struct cd_wh_hook_query {
    const char *project;      /* NULL: all */
    const char *chain;        /* NULL: any */
    int status;               /* -1: any */
    u32 types;                /* 0: any, else at least one of these */
    bool with_targets;        /* those too that are told of others */
    const char *search;       /* part of name or URL; NULL */
    const cd_addr20 *watched; /* an address in its filter; NULL: any */
    i64 before;               /* keys below; 0: from the newest */
    u32 skip, limit;
} cd_wh_hook_query;
/* cd_wh_hook_list gives webhooks without addresses, newest first; total (may be NULL): all that fit. */
cd_err cd_wh_hook_list(cd_wh_store *s, cd_wh_hook **out, usize *cnt, u64 *total, cd_arena *mem,
                       const cd_wh_hook_query *q, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_each gives every webhook that can match with its addresses, one at a time, oldest first, for the
 * matcher at start. */
cd_err cd_wh_hook_each(cd_wh_store *s, cd_err (*fn)(void *ctx, const cd_wh_hook *hook), void *ctx,
                       cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_addresses adds and removes as one, what is there or gone already is fine; cnt: how many there are
 * afterwards. CD_EFULL beyond CD_WH_ADDRESSES_MAX, CD_ENOENT. */
cd_err cd_wh_hook_addresses(cd_wh_store *s, usize *cnt, i64 hook, cd_wh_addrs add, cd_wh_addrs remove,
                            cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_delete: it is gone for its owner; what waits becomes CANCELLED, the ledger stays. CD_ENOENT. */
cd_err cd_wh_hook_delete(cd_wh_store *s, i64 hook, cd_errinfo *why) CD_CHECK;
/* cd_wh_hook_pause sets a status that is not ACTIVE and turns what waits into HELD (running attempts finish);
 * cd_wh_hook_resume the other way round: failures become 0, and what was held is due at once. changed: it was not so
 * already. CD_ENOENT. */
cd_err cd_wh_hook_pause(cd_wh_store *s, bool *changed, i64 hook, cd_wh_status status, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_hook_resume(cd_wh_store *s, bool *changed, i64 hook, cd_errinfo *why) CD_CHECK;

/* What changed after a version, oldest change first. */
typedef struct cd_wh_changes {
    u64 version; /* of the last of them, or that which was asked for */
    cd_wh_hook *hooks;
    usize cnt;
} cd_wh_changes;
/* cd_wh_hooks_lock gives the number of the last change of a webhook: until the transaction ends there is no other.
 * First of all in a transaction that writes what was matched. */
cd_err cd_wh_hooks_lock(cd_wh_store *s, u64 *version, cd_errinfo *why) CD_CHECK;
/* cd_wh_hooks_version gives it without holding it, for readers. */
cd_err cd_wh_hooks_version(cd_wh_store *s, u64 *version, cd_errinfo *why) CD_CHECK;
/* cd_wh_hooks_after gives webhooks that were made, changed (with their lists) or deleted (id NULL: only the key)
 * after a change; some of them when they are many, so version may be less than the last. */
cd_err cd_wh_hooks_after(cd_wh_store *s, cd_wh_changes *out, cd_arena *mem, u64 version, cd_errinfo *why) CD_CHECK;

/* --- the ledger --- */

/* A project whose quota was passed: by 80 or by 100 hundredths of it. */
typedef struct cd_wh_quota_note {
    const char *project;
    u32 percent;
} cd_wh_quota_note;

/* What became of the events that were written. */
typedef struct cd_wh_enqueued {
    /* In state DELIVERING, leased to this worker: to be sent now. The rest of what waits comes by cd_wh_claim. Event
     * bodies are borrowed from the events. */
    cd_wh_delivery *made;
    usize cnt;
    usize waiting; /* PENDING: their webhook has as many as it may in hand */
    usize skipped; /* not to be sent: SKIPPED, QUOTA_EXCEEDED, CANCELLED, or FAILED for their size */
    usize known;   /* were in the ledger already: left out */
    cd_wh_quota_note *notes;
    usize notes_cnt;
} cd_wh_enqueued;

/* cd_wh_enqueue writes events of one block in order (sequence, chain hash, state by the webhook's status and quota) and
 * moves the cursor of the chain there (chain NULL: no cursor, for back-fill and pending ones): all or nothing. An event
 * whose h is in the ledger already is left out, for as long as the ledger keeps it; one of no block for 72 hours. One
 * whose body is above CD_WH_BODY_MAX is FAILED with payload_too_large and kept without body. */
cd_err cd_wh_enqueue(cd_wh_store *s, cd_wh_enqueued *out, cd_arena *mem, const cd_wh_event *events, usize events_cnt,
                     const char *chain, u64 height, const u8 block_hash[32], cd_errinfo *why) CD_CHECK;
/* cd_wh_enqueue_test makes a test delivery, leased to this worker: no sequence, no quota, never retried. */
cd_err cd_wh_enqueue_test(cd_wh_store *s, cd_wh_delivery *out, const cd_wh_event *event, cd_errinfo *why) CD_CHECK;
/* cd_wh_cursor_get: CD_ENOENT for a chain that was never followed. */
cd_err cd_wh_cursor_get(cd_wh_store *s, u64 *height, u8 block_hash[32], const char *chain, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_cursor_put(cd_wh_store *s, const char *chain, u64 height, const u8 block_hash[32],
                        cd_errinfo *why) CD_CHECK;
/* cd_wh_cursor_reset forgets where a chain's ledger ends; with height it goes on behind that block, whichever its hash,
 * and webhooks are told from there on. */
cd_err cd_wh_cursor_reset(cd_wh_store *s, const char *chain, const u64 *height, cd_errinfo *why) CD_CHECK;

/* A block of a chain. */
typedef struct cd_wh_cursor {
    const char *chain; /* NULL in lists of one chain */
    u64 height;
    u8 hash[32]; /* zeros: any */
} cd_wh_cursor;
/* cd_wh_cursor_list: the ends of all chains. cd_wh_known: of the last CD_WH_KNOWN_MAX blocks of one those whose hash is
 * known, highest first. cd_wh_known_put adds one beside the cursor. */
enum { CD_WH_KNOWN_MAX = 256 };
cd_err cd_wh_cursor_list(cd_wh_store *s, cd_wh_cursor **out, usize *cnt, cd_arena *mem, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_known(cd_wh_store *s, cd_wh_cursor **out, usize *cnt, cd_arena *mem, const char *chain,
                   cd_errinfo *why) CD_CHECK;
cd_err cd_wh_known_put(cd_wh_store *s, const char *chain, u64 height, const u8 block_hash[32],
                       cd_errinfo *why) CD_CHECK;
/* cd_wh_rewind takes the end of a chain's ledger back from *from to a block below: rows above stay, marked as of
 * replaced blocks; webhooks with "removed" are told that each is no more, newest first; all webhooks are told of the
 * new blocks. Not done, when the ledger ends elsewhere by now. */
cd_err cd_wh_rewind(cd_wh_store *s, cd_wh_enqueued *out, bool *done, cd_arena *mem, const cd_wh_cursor *from,
                    u64 height, const u8 block_hash[32], cd_errinfo *why) CD_CHECK;

/* cd_wh_claim leases up to max deliveries that are due at now_ms (SKIP LOCKED), webhooks that wait longest first, so
 * that no webhook has more than per_hook in hand. What a dead worker had becomes due again when its lease ends; what
 * this worker's former life had is due from the opening of the store. */
cd_err cd_wh_claim(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem, u64 now_ms, u64 lease_ms, u32 max,
                   u32 per_hook, cd_errinfo *why) CD_CHECK;
/* cd_wh_slow_set: the receiver of this webhook hangs, or does not any more, as this worker knows; forgotten with the
 * store. Of a slow one new events are not handed out, and claims take one delivery at a time, of so many webhooks as
 * cd_wh_slow_room says for those that follow (none at first), who waits longest first; what waits keeps its order.
 * cd_wh_slow_waiting: webhooks that wait for room. */
cd_err cd_wh_slow_set(cd_wh_store *s, i64 hook, bool is_slow, cd_errinfo *why) CD_CHECK;
void cd_wh_slow_room(cd_wh_store *s, u32 room);
usize cd_wh_slow_waiting(const cd_wh_store *s);
/* cd_wh_next_due: nothing becomes due before; UINT64_MAX: nothing waits. A claim then may still find nothing. */
cd_err cd_wh_next_due(cd_wh_store *s, u64 *at_ms, cd_errinfo *why) CD_CHECK;
/* cd_wh_settle records an attempt (NULL: there was none, it is given back) of a delivery that was handed out, and what
 * follows: DELIVERED, FAILED, CANCELLED, or RETRYING or PENDING at next_ms. What would wait is HELD when the webhook
 * was paused meanwhile, and CANCELLED when it is gone. Of d count key, hook, attempts, created_ms, is_test. */
cd_err cd_wh_settle(cd_wh_store *s, const cd_wh_delivery *d, const cd_wh_attempt *attempt, cd_wh_state state,
                    u64 next_ms, cd_errinfo *why) CD_CHECK;

/* Which deliveries are meant. */
typedef struct cd_wh_delivery_query {
    i64 hook;            /* 0: all of the project */
    const char *project; /* for hook 0 */
    u32 states;          /* mask of 1 << state; 0: any */
    u64 from_ms, to_ms;  /* creation, inclusive; 0: open */
    u64 from_block, to_block;
    const char *event_id; /* NULL: any */
    i64 before;           /* keys below; 0: from the newest */
    bool events_only;     /* neither tests nor replays: every match once */
    bool with_body;
    u32 limit;
} cd_wh_delivery_query;
/* cd_wh_replay makes waiting deliveries anew of what fits and waits no more (same event, same body, a new chain of
 * attempts), oldest first; at most limit: of those, the newest. A webhook that is not active gets them held. */
cd_err cd_wh_replay(cd_wh_store *s, u64 *queued, const cd_wh_delivery_query *q, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_replay_one(cd_wh_store *s, i64 *made, i64 hook, i64 delivery,
                        cd_errinfo *why) CD_CHECK; /* CD_ENOENT, CD_EEXIST: it still waits */
/* cd_wh_delivery_list gives them newest first. Body and event texts are gone after the retention. */
cd_err cd_wh_delivery_list(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem,
                           const cd_wh_delivery_query *q, cd_errinfo *why) CD_CHECK;
/* cd_wh_delivery_get: one with its attempts, oldest first. CD_ENOENT. */
cd_err cd_wh_delivery_get(cd_wh_store *s, cd_wh_delivery *out, cd_wh_attempt **attempts, usize *attempts_cnt,
                          cd_arena *mem, i64 hook, i64 delivery, cd_errinfo *why) CD_CHECK;

/* What a webhook got of one block; replays and tests are not counted. */
typedef struct cd_wh_block_row {
    u64 block;
    u64 matches, first_sequence, last_sequence;
    u64 states[CD_WH_STATES_CNT];
} cd_wh_block_row;
/* cd_wh_ledger gives the blocks from from_block to to_block in which there were matches, at most limit, in rising
 * order. It looks at the rows of all webhooks in there, at CD_WH_LEDGER_ROWS or those of one block; *next is where
 * to go on, and be it behind no block at all, 0 at the end. */
enum { CD_WH_LEDGER_ROWS = 50000 };
cd_err cd_wh_ledger(cd_wh_store *s, cd_wh_block_row **out, usize *cnt, u64 *next, cd_arena *mem, i64 hook,
                    u64 from_block, u64 to_block, u32 limit, cd_errinfo *why) CD_CHECK;
/* cd_wh_ledger_events: keys of webhook, identities and chain hashes of one block's rows, for the audit; in the order
 * in which they were written. */
cd_err cd_wh_ledger_events(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem, u64 block,
                           cd_errinfo *why) CD_CHECK;

/* --- numbers --- */

enum { CD_WH_BUCKETS = 20 }; /* of latency: below 1 ms, 2 ms, 4 ms … the last one open */

/* An hour of a webhook. What a killed process had counted within its last second is missing here, never in the
 * ledger. */
typedef struct cd_wh_stat {
    u64 hour; /* since 1970 */
    u64 attempts, delivered, failed, retried;
    u64 latency[CD_WH_BUCKETS]; /* of attempts that had an answer */
} cd_wh_stat;
/* cd_wh_stats gives the hours from hour to now in which something happened, of a webhook or (hook 0) of a project. */
cd_err cd_wh_stats(cd_wh_store *s, cd_wh_stat **out, usize *cnt, cd_arena *mem, i64 hook, const char *project,
                   u64 from_hour, cd_errinfo *why) CD_CHECK;
/* cd_wh_stat_percentile: latency in ms below which percent of the attempts of st stay; 0 without any. */
u64 cd_wh_stat_percentile(const cd_wh_stat *st, u32 percent);
/* cd_wh_usage: events that counted in the project's period (without one: of the month) which at_ms is in. */
cd_err cd_wh_usage(cd_wh_store *s, u64 *events, const char *project, u64 at_ms, cd_errinfo *why) CD_CHECK;

/* How much there is to do, for metrics: webhooks with something due, deliveries in hand. */
typedef struct cd_wh_backlog {
    u64 waiting;    /* PENDING and RETRYING, at most 10,000 are counted */
    u64 in_hand;    /* DELIVERING */
    u64 overdue_ms; /* for how long the oldest one that nobody has is due */
    u64 paused;     /* webhooks that are not active */
} cd_wh_backlog;
/* cd_wh_backlog_get counts it over all projects. */
cd_err cd_wh_backlog_get(cd_wh_store *s, cd_wh_backlog *out, u64 now_ms, cd_errinfo *why) CD_CHECK;
/* cd_wh_backlog_of: the same of one project, without paused. CD_ENOENT. */
cd_err cd_wh_backlog_of(cd_wh_store *s, cd_wh_backlog *out, const char *project, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_wh_retain takes one bite of at most max rows: bodies and attempts of deliveries made before texts_ms go, ledger
 * rows made before rows_ms (at least 72 hours ago) too. Nothing that waits or is held goes. When they are gone,
 * statistics and mails of more than 90 days go too. more: another bite is there. */
cd_err cd_wh_retain(cd_wh_store *s, bool *more, u64 texts_ms, u64 rows_ms, u32 max, cd_errinfo *why) CD_CHECK;

#endif
