/* services/webhook/core/store/store_priv.h - what the files of the store share. */
#ifndef CD_WEBHOOK_CORE_STORE_PRIV_H
#define CD_WEBHOOK_CORE_STORE_PRIV_H

#include "base/mem/buf.h"
#include "base/table/hmap.h"
#include "services/common/sql.h"
#include "services/webhook/core/store/store.h"

/* Columns of a webhook, and where they come from. */
#define CD__WH_HOOK                                                                                                    \
    "h.key, h.id, p.id, h.face, h.name, h.url, h.chain, h.network, h.types, l.status, h.config, "                      \
    "h.settings, h.secret, h.secret_next, h.grace_until, l.failures, l.last_ms, h.created, "                           \
    "h.updated, h.from_block, l.is_strict, h.concurrency, h.filter, h.version"
#define CD__WH_HOOKED "hook AS h JOIN queue AS l ON l.hook = h.key JOIN project AS p ON p.key = h.project"

/* Columns of a delivery, as cd__wh_row reads them. */
#define CD__WH_ROW                                                                                                     \
    "d.key, d.hook, d.seq, d.block, d.state, d.attempts, d.created, d.next, d.delivered, d.kind, "                     \
    "e.h, e.chain_hash, e.id, e.type, e.time, e.body"

/* Statements by name; prepared when first used. */
typedef enum cd__wh_sql {
#define X(name, text) CD__WH_##name,
#include "services/webhook/core/store/store_sql.def"
#undef X
    CD__WH_SQL_CNT,
} cd__wh_sql;

enum {
    CD__WH_GONE = 3, /* a queue's status when its webhook was deleted */
    CD__WH_KIND_MATCH = 0,
    CD__WH_KIND_TEST = 1,
    CD__WH_KIND_REPLAY = 2,
    CD__WH_KIND_REPLACED = 3, /* of a block that is no more, or says so; else as MATCH */
    CD__WH_MARK_EVERY = 64,
    CD__WH_ODD_FROM = CD_WH_RETRYING, /* the index delivery_odd has states from here on */
    CD__WH_ATTEMPTS_BITS = 8,         /* an attempt's key is delivery << 8 | number */
};

/* A row behind the first of a strictly ordered webhook is due at this and its sequence: behind everything else, in
 * order. Not a time at which a clock stands. */
#define CD__WH_BLOCKED ((i64)1 << 61)

/* What a settled delivery means for queue and statistics; kept until the commit, when those of one queue make one
 * write. */
typedef struct cd__wh_note {
    i64 hook;
    u64 next_ms; /* 0: does not wait */
    u64 latency_ms;
    cd_wh_state state;
    bool is_attempt, is_answer, is_test;
} cd__wh_note;

struct cd_wh_store {
    cd_sql *q;
    cd_sql_stmt *stmts[CD__WH_SQL_CNT];
    const cd_clock *clock;
    u8 master_key[32];
    u8 salt[32]; /* of API keys */
    i64 worker;
    char worker_name[64];
    u64 lease_ms;
    u32 ahead;

    cd_hmap slow;    /* hook -> bool: it is in the queue */
    i64 *slow_queue; /* a ring: those that wait for room */
    usize slow_first, slow_cnt, slow_cap;
    u32 slow_room;

    cd__wh_note *notes;
    usize notes_cnt, notes_cap;
    usize notes_queued;            /* so many are in their queues */
    usize saved_cnt, saved_queued; /* at the savepoint */
    cd_hmap stats;                 /* stat_key -> u64, not yet written */
    u64 stats_since_ms;
};

extern const char *const cd__wh_schema[];
extern const usize cd__wh_schema_cnt;

/* cd_wh_store_open opens a connection; is_writer: migrates, and takes back what this worker's former life had. close
 * may be given NULL. */
cd_err cd__wh_store_open(cd_wh_store **out, const cd_wh_store_cfg *cfg, bool is_writer, cd_errinfo *why) CD_CHECK;
void cd__wh_store_close(cd_wh_store *s);

/* A transaction: begin, jobs between save and keep or undo, commit or rollback. save is not needed for a job alone. */
cd_err cd__wh_begin(cd_wh_store *s, bool is_write, cd_errinfo *why) CD_CHECK;
cd_err cd__wh_save(cd_wh_store *s, cd_errinfo *why) CD_CHECK;
cd_err cd__wh_keep(cd_wh_store *s, cd_errinfo *why) CD_CHECK;
cd_err cd__wh_undo(cd_wh_store *s, cd_errinfo *why) CD_CHECK;
cd_err cd__wh_commit(cd_wh_store *s, cd_errinfo *why) CD_CHECK;
void cd__wh_rollback(cd_wh_store *s);

/* cd__wh_queues_settle writes what the notes mean for queues: before queues are looked at, and at the end. */
cd_err cd__wh_queues_settle(cd_wh_store *s, cd_errinfo *why) CD_CHECK;

/* cd__wh_is_slow: see cd_wh_slow_set. */
bool cd__wh_is_slow(const cd_wh_store *s, i64 hook);

/* Statistics: cd__wh_stats_note counts the notes of a transaction that was committed; cd__wh_stats_due: they have
 * been in memory for a second, or is_last and there are any; cd__wh_stats_write writes them, cd__wh_stats_written
 * forgets them after the commit. */
typedef struct cd__wh_stat_key {
    i64 hook;
    u32 hour;
    u32 what;
} cd__wh_stat_key;
void cd__wh_stats_note(cd_wh_store *s);
bool cd__wh_stats_due(const cd_wh_store *s, bool is_last);
cd_err cd__wh_stats_write(cd_wh_store *s, cd_errinfo *why) CD_CHECK;
void cd__wh_stats_written(cd_wh_store *s);

/* cd__wh_run and cd__wh_query: a statement by its name. */
cd_err cd__wh_run(cd_wh_store *s, cd__wh_sql id, const cd_sql_val *vals, usize cnt, cd_errinfo *why) CD_CHECK;
cd_err cd__wh_query(cd_wh_store *s, cd_sql_stmt **st, cd__wh_sql id, const cd_sql_val *vals, usize cnt,
                    cd_errinfo *why) CD_CHECK;
#define WH_RUN(s, id, why, ...)                                                                                        \
    cd__wh_run((s), CD__WH_##id, (const cd_sql_val[]){__VA_ARGS__},                                                    \
               sizeof((const cd_sql_val[]){__VA_ARGS__}) / sizeof(cd_sql_val), (why))
#define WH_QUERY(s, st, id, why, ...)                                                                                  \
    cd__wh_query((s), (st), CD__WH_##id, (const cd_sql_val[]){__VA_ARGS__},                                            \
                 sizeof((const cd_sql_val[]){__VA_ARGS__}) / sizeof(cd_sql_val), (why))
/* The same for one row that must be there: CD_ENOENT. */
#define WH_ONE(s, st, id, why, ...)                                                                                    \
    cd__wh_one((s), (st), CD__WH_##id, (const cd_sql_val[]){__VA_ARGS__},                                              \
               sizeof((const cd_sql_val[]){__VA_ARGS__}) / sizeof(cd_sql_val), (why))
cd_err cd__wh_one(cd_wh_store *s, cd_sql_stmt **st, cd__wh_sql id, const cd_sql_val *vals, usize cnt,
                  cd_errinfo *why) CD_CHECK;

/* cd__wh_rows moves what was collected into the arena and ends the buffer; err is given back. */
cd_err cd__wh_rows(void **out, usize *cnt, cd_arena *mem, cd_buf *rows, usize size, cd_err err) CD_CHECK;

/* cd__wh_filter_enc and cd__wh_filter_dec: a filter without its addresses. CD_ECORRUPT. */
void cd__wh_filter_enc(cd_buf *out, const cd_wh_filter *f);
cd_err cd__wh_filter_dec(cd_wh_filter *out, cd_arena *mem, cd_bytes in, cd_errinfo *why) CD_CHECK;

CD_INLINE u64 cd__wh_now(const cd_wh_store *s)
{
    return cd_clock_wall_ns(s->clock) / CD_NS_PER_MS;
}

/* cd__wh_hooks_next: a change of webhooks begins; until the end of the transaction nobody else changes any, and no
 * block is written. Before anything else is locked. version is this change's, in the order of all. */
cd_err cd__wh_hooks_next(cd_wh_store *s, u64 *version, cd_errinfo *why) CD_CHECK;

/* cd__wh_tell tells other workers that a webhook is not what it was. */
cd_err cd__wh_tell(cd_wh_store *s, i64 hook, cd_errinfo *why) CD_CHECK;

/* cd__wh_keys gives the first of n new delivery keys. */
cd_err cd__wh_keys(cd_wh_store *s, i64 *first, usize n, cd_errinfo *why) CD_CHECK;

/* cd__wh_row reads the columns CD__WH_ROW; the body is copied into mem (NULL: left out). */
void cd__wh_row(cd_wh_delivery *out, cd_sql_stmt *st, cd_arena *mem);

/* cd__wh_insert writes a delivery and its event; prev is what the queue's tail was. */
typedef struct cd__wh_new {
    const cd_wh_delivery *d;
    i64 prev;
    i64 due; /* 0: does not wait */
    i64 kind;
} cd__wh_new;
cd_err cd__wh_insert(cd_wh_store *s, const cd__wh_new *n, cd_errinfo *why) CD_CHECK;

/* cd__wh_enqueue_as is cd_wh_enqueue without a cursor, for rows of another kind. */
cd_err cd__wh_enqueue_as(cd_wh_store *s, cd_wh_enqueued *out, cd_arena *mem, const cd_wh_event *events,
                         usize events_cnt, i64 kind, cd_errinfo *why) CD_CHECK;

/* cd__wh_project_key: the number of a project. CD_ENOENT. */
cd_err cd__wh_project_key(cd_wh_store *s, i64 *key, const char *id, cd_errinfo *why) CD_CHECK;

/* cd__wh_attempt_add writes an attempt of a delivery. */
cd_err cd__wh_attempt_add(cd_wh_store *s, i64 delivery, const cd_wh_attempt *a, cd_errinfo *why) CD_CHECK;

/* cd__wh_used: events of a project that counted in the period which now is in. */
cd_err cd__wh_used(cd_wh_store *s, u64 *events, i64 project, cd_wh_period period, u64 now_ms, cd_errinfo *why) CD_CHECK;

#endif
