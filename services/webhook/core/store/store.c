#include "services/webhook/core/store/store_priv.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/os/rng.h"
#include "services/webhook/core/store/seal.h"

#include <stdio.h>

/* store_sql.def has these as numbers. */
_Static_assert(CD_WH_PENDING == 0 && CD_WH_DELIVERING == 1 && CD_WH_RETRYING == 3, "");
_Static_assert(CD_WH_FAILED == 4 && CD_WH_HELD == 5 && CD_WH_CANCELLED == 8, "");
_Static_assert(1 << CD_WH_NOTICE_FIRST == 16777216, "");
_Static_assert(CD_WH_ACTIVE == 0 && CD__WH_KIND_TEST == 1, "");

enum { LEASE_MS = 300000, AHEAD = 64, WRITE_CACHE_KIB = 8000, READ_CACHE_KIB = 2000 };

static const char *const texts[CD__WH_SQL_CNT] = {
#define X(name, text) [CD__WH_##name] = text,
#include "services/webhook/core/store/store_sql.def"
#undef X
};

cd_err cd__wh_run(cd_wh_store *s, cd__wh_sql id, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    if (CD_UNLIKELY(s->stmts[id] == NULL)) {
        CD_TRY(cd_sql_prepare(s->q, &s->stmts[id], texts[id], why));
    }
    return cd_sql_run_n(s->stmts[id], vals, cnt, why);
}

cd_err cd__wh_query(cd_wh_store *s, cd_sql_stmt **st, cd__wh_sql id, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    if (CD_UNLIKELY(s->stmts[id] == NULL)) {
        CD_TRY(cd_sql_prepare(s->q, &s->stmts[id], texts[id], why));
    }
    CD_TRY(cd_sql_query_n(s->stmts[id], vals, cnt, why));
    *st = s->stmts[id];
    return CD_OK;
}

cd_err cd__wh_one(cd_wh_store *s, cd_sql_stmt **st, cd__wh_sql id, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    CD_TRY(cd__wh_query(s, st, id, vals, cnt, why));
    return cd_sql_one(*st, why);
}

cd_err cd__wh_rows(void **out, usize *cnt, cd_arena *mem, cd_buf *rows, usize size, cd_err err)
{
    if (err == CD_OK) {
        *cnt = rows->n / size;
        *out = (void *)(uintptr_t)cd_arena_dup(mem, cd_buf_bytes(rows)).p;
    }
    cd_buf_fini(rows);
    return err;
}

/* Does something for each queue of which somebody has deliveries in hand, in rising order. */
typedef cd_err queue_fn(cd_wh_store *s, void *ctx, i64 hook, i64 status, cd_errinfo *why);
static cd_err each_queue(cd_wh_store *s, queue_fn *fn, void *ctx, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf queues = {0};
    i64 queue[2];
    cd_err err = cd__wh_query(s, &st, CD__WH_QUEUES_IN_HAND, NULL, 0, why);
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        queue[0] = cd_sql_col_i(st, 0);
        queue[1] = cd_sql_col_i(st, 1);
        cd_buf_put(&queues, cd_bytes_of(queue, sizeof queue));
    }
    for (usize i = 0; err == CD_OK && i < queues.n; i += sizeof queue) {
        memcpy(queue, queues.p + i, sizeof queue);
        err = fn(s, ctx, queue[0], queue[1], why);
    }
    cd_buf_fini(&queues);
    return err;
}

/* What a worker had in hand when it died waits again, or is held where the webhook is not active. */
static cd_err take_back_queue(cd_wh_store *s, void *ctx, i64 hook, i64 status, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    i64 cnt = 0;
    CD_TRY(WH_QUERY(s, &st, OURS_BACK, why, cd_sql_i(hook), cd_sql_i(*(const i64 *)ctx), cd_sql_i(status)));
    for (bool is_row = true;; cnt++) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            break;
        }
    }
    return cnt == 0 ? CD_OK : WH_RUN(s, QUEUE_BACK, why, cd_sql_i(hook), cd_sql_i(cnt), cd_sql_u(cd__wh_now(s)));
}

static cd_err take_back(cd_wh_store *s, i64 worker, cd_errinfo *why)
{
    return each_queue(s, take_back_queue, &worker, why);
}

typedef struct in_hand {
    cd_buf rows; /* cd_wh_delivery */
    cd_arena *mem;
} in_hand;

static cd_err in_hand_queue(cd_wh_store *s, void *ctx, i64 hook, i64 status, cd_errinfo *why)
{
    in_hand *h = ctx;
    cd_sql_stmt *st = NULL;
    (void)status;
    CD_TRY(WH_QUERY(s, &st, OURS, why, cd_sql_i(hook), cd_sql_i(s->worker)));
    for (bool is_row = true;;) {
        cd_wh_delivery d;
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        cd__wh_row(&d, st, h->mem);
        cd_buf_put(&h->rows, cd_bytes_of(&d, sizeof d));
    }
}

cd_err cd_wh_worker_rows(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem, cd_errinfo *why)
{
    in_hand h = {.mem = mem};
    cd_err err = each_queue(s, in_hand_queue, &h, why);
    return cd__wh_rows((void **)out, cnt, mem, &h.rows, sizeof **out, err);
}

/* The salt of the keys is the store's own: one look-up finds a key, and a stolen file cannot be compared with tables
 * made before. */
static cd_err load_salt(cd_wh_store *s, bool is_writer, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    if (is_writer) {
        cd_rng rng = cd_rng_os();
        u8 salt[32];
        cd_rng_fill(&rng, salt, sizeof salt);
        CD_TRY(
            WH_RUN(s, SETTING_ADD, why, cd_sql_t(""), cd_sql_t("key_salt"), cd_sql_b(cd_bytes_of(salt, sizeof salt))));
    }
    CD_TRY(WH_ONE(s, &st, SETTING_GET, why, cd_sql_t(""), cd_sql_t("key_salt")));
    cd_bytes salt = cd_sql_col_b(st, 0);
    if (salt.n != sizeof s->salt) {
        return cd_fail(why, CD_ECORRUPT, "the salt of the keys is damaged");
    }
    memcpy(s->salt, salt.p, sizeof s->salt);
    return CD_OK;
}

/* Another master key would only be noticed when the first secret is wanted, with some sealed by one and some by the
 * other: a word that the right one opens stands beside the salt. */
static cd_err check_master_key(cd_wh_store *s, cd_errinfo *why)
{
    static const char about[] = "check of the master key";
    cd_arena mem = {0};
    cd_bytes word;
    cd_sql_stmt *st = NULL;
    cd_bytes sealed = cd_wh_seal(&mem, s->master_key, cd_bytes_str("right"), about);
    cd_err err = WH_RUN(s, SETTING_ADD, why, cd_sql_t(""), cd_sql_t("key_check"), cd_sql_b(sealed));
    if (err == CD_OK) {
        err = WH_ONE(s, &st, SETTING_GET, why, cd_sql_t(""), cd_sql_t("key_check"));
    }
    if (err == CD_OK && cd_wh_unseal(&word, &mem, s->master_key, cd_sql_col_b(st, 0), about, NULL) != CD_OK) {
        err = cd_fail(why, CD_EACCES, "the secrets in this database are sealed with another master key");
    }
    cd_arena_fini(&mem);
    return err;
}

static cd_err begin_life(cd_wh_store *s, const char *worker, bool is_writer, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(load_salt(s, is_writer, why));
    if (is_writer) {
        CD_TRY(check_master_key(s, why));
    }
    if (worker == NULL || !is_writer) {
        return CD_OK;
    }
    CD_TRY(WH_RUN(s, WORKER_PUT, why, cd_sql_t(worker)));
    CD_TRY(WH_ONE(s, &st, WORKER_GET, why, cd_sql_t(worker)));
    s->worker = cd_sql_col_i(st, 0);
    (void)snprintf(s->worker_name, sizeof s->worker_name, "%s", worker);
    return take_back(s, s->worker, why);
}

cd_err cd_wh_workers_bury(cd_wh_store *s, usize *cnt, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    i64 dead[64];
    usize n = 0;
    CD_TRY(WH_QUERY(s, &st, WORKERS_DEAD, why, cd_sql_i(s->worker)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            break;
        }
        if (n < CD_COUNT(dead)) { /* of more, leases end by themselves */
            dead[n++] = cd_sql_col_i(st, 0);
        }
    }
    for (usize i = 0; i < n; i++) {
        CD_TRY(take_back(s, dead[i], why));
    }
    *cnt = n;
    return CD_OK;
}

cd_err cd_wh_worker_lives(cd_wh_store *s, cd_errinfo *why)
{
    return WH_RUN(s, WORKER_PUT, why, cd_sql_t(s->worker_name));
}

cd_err cd__wh_tell(cd_wh_store *s, i64 hook, cd_errinfo *why)
{
    char text[96];
    (void)snprintf(text, sizeof text, "%lld %s", (long long)hook, s->worker_name);
    return cd_sql_is_shared(s->q) ? WH_RUN(s, TELL, why, cd_sql_t(text)) : CD_OK;
}

cd_err cd__wh_store_open(cd_wh_store **out, const cd_wh_store_cfg *cfg, bool is_writer, cd_errinfo *why)
{
    const cd_sql_cfg sql = {
        .url = cfg->url, .may_write = is_writer, .cache_kib = is_writer ? WRITE_CACHE_KIB : READ_CACHE_KIB};
    cd_wh_store *s = cd_new(cd_wh_store);
    s->clock = cfg->clock;
    s->lease_ms = cfg->lease_ms == 0 ? LEASE_MS : cfg->lease_ms;
    s->ahead = cfg->ahead == 0 ? AHEAD : cfg->ahead;
    s->stats_since_ms = cd__wh_now(s);
    memcpy(s->master_key, cfg->master_key, sizeof s->master_key);
    cd_hmap_init(&s->slow, CD_HASH_KEYED, sizeof(i64), sizeof(bool));
    cd_hmap_init(&s->stats, CD_HASH_KEYED, sizeof(cd__wh_stat_key), sizeof(u64));
    cd_err err = cd_sql_open(&s->q, &sql, why);
    if (err == CD_OK && is_writer) {
        err = cd_sql_migrate(s->q, cd__wh_schema, cd__wh_schema_cnt, why);
    }
    if (err == CD_OK) {
        err = cd__wh_begin(s, is_writer, why);
    }
    if (err == CD_OK) {
        err = begin_life(s, cfg->worker, is_writer, why);
        if (err == CD_OK) {
            err = cd__wh_commit(s, why);
        }
    }
    if (err != CD_OK) {
        cd__wh_store_close(s);
        return err;
    }
    *out = s;
    return CD_OK;
}

void cd__wh_store_close(cd_wh_store *s)
{
    if (s != NULL) {
        cd_sql_close(s->q);
        cd_hmap_fini(&s->slow);
        cd_free(s->slow_queue);
        cd_hmap_fini(&s->stats);
        cd_free(s->notes);
        cd_wipe(s->master_key, sizeof s->master_key);
        cd_free(s);
    }
}

cd_err cd__wh_begin(cd_wh_store *s, bool is_write, cd_errinfo *why)
{
    s->notes_cnt = s->notes_queued = s->saved_cnt = s->saved_queued = 0;
    return cd_sql_begin(s->q, is_write, why);
}

cd_err cd__wh_save(cd_wh_store *s, cd_errinfo *why)
{
    s->saved_cnt = s->notes_cnt;
    s->saved_queued = s->notes_queued;
    return cd_sql_save(s->q, why);
}

cd_err cd__wh_keep(cd_wh_store *s, cd_errinfo *why)
{
    return cd_sql_keep(s->q, why);
}

cd_err cd__wh_undo(cd_wh_store *s, cd_errinfo *why)
{
    s->notes_cnt = s->saved_cnt;
    s->notes_queued = s->saved_queued;
    return cd_sql_undo(s->q, why);
}

cd_err cd__wh_commit(cd_wh_store *s, cd_errinfo *why)
{
    cd_err err = cd__wh_queues_settle(s, why);
    if (err == CD_OK) {
        err = cd_sql_commit(s->q, why);
    } else {
        cd_sql_rollback(s->q);
    }
    if (err == CD_OK) {
        cd__wh_stats_note(s);
    }
    s->notes_cnt = 0;
    return err;
}

void cd__wh_rollback(cd_wh_store *s)
{
    s->notes_cnt = 0;
    cd_sql_rollback(s->q);
}
