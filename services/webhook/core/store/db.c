#include "services/webhook/core/store/db.h"

#include "services/webhook/core/store/store_priv.h"

static cd_err open_store(void **out, const void *cfg, bool is_writer, cd_errinfo *why)
{
    cd_wh_store *s = NULL;
    CD_TRY(cd__wh_store_open(&s, cfg, is_writer, why));
    *out = s;
    return CD_OK;
}

static void close_store(void *store)
{
    cd__wh_store_close(store);
}

static cd_sql *sql_of(const void *store)
{
    return ((const cd_wh_store *)store)->q;
}

static cd_err begin(void *store, bool is_write, cd_errinfo *why)
{
    return cd__wh_begin(store, is_write, why);
}

static cd_err commit(void *store, cd_errinfo *why)
{
    return cd__wh_commit(store, why);
}

static void rollback(void *store)
{
    cd__wh_rollback(store);
}

static cd_err save(void *store, cd_errinfo *why)
{
    return cd__wh_save(store, why);
}

static cd_err keep(void *store, cd_errinfo *why)
{
    return cd__wh_keep(store, why);
}

static cd_err undo(void *store, cd_errinfo *why)
{
    return cd__wh_undo(store, why);
}

static bool is_due(const void *store, bool is_last)
{
    return cd__wh_stats_due(store, is_last);
}

static cd_err write_stats(void *store, cd_errinfo *why)
{
    return cd__wh_stats_write(store, why);
}

static void stats_written(void *store)
{
    cd__wh_stats_written(store);
}

static const cd_jobs_store store_ops = {
    .open = open_store,
    .close = close_store,
    .sql = sql_of,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .save = save,
    .keep = keep,
    .undo = undo,
    .is_due = is_due,
    .write = write_stats,
    .written = stats_written,
};

cd_err cd_wh_db_open(cd_jobs **out, cd_loop *loop, const cd_wh_store_cfg *cfg, cd_metrics *metrics, cd_errinfo *why)
{
    const cd_jobs_cfg jobs = {.store = &store_ops, .store_cfg = cfg, .url = cfg->url, .metrics = metrics};
    return cd_jobs_open(out, loop, &jobs, why);
}

cd_err cd_wh_db_now(const cd_wh_store_cfg *cfg, cd_job *job, cd_errinfo *why)
{
    const cd_jobs_cfg jobs = {.store = &store_ops, .store_cfg = cfg, .url = cfg->url};
    return cd_jobs_now(&jobs, job, why);
}
