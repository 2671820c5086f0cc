#include "services/common/sql_mark_priv.h"
#include "services/common/sql_priv.h"
#include "services/common/sql_sums_priv.h"

#include "base/mem/mem.h"

#include <sqlite3.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* PAGE: of a new file; rows of a kilobyte share one. UNTIDY_PAGES: 64 MB of log. */
enum { BUSY_MS = 5000, PAGE = 8192, UNTIDY_PAGES = (64 << 20) / PAGE, CACHE_KIB = 2000 };

typedef struct lite {
    cd_sql base;
    sqlite3 *db;
    sqlite3_stmt *count; /* NULL: nothing may be written */
    cd__sql_mark mark;
    i64 changes; /* rows changed when the transaction began */
    u64 counted; /* of the transaction that is being committed; 0: it changed nothing */
} lite;

typedef struct lite_stmt {
    cd_sql_stmt base;
    sqlite3_stmt *st;
} lite_stmt;

static cd_err err_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return CD_ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return CD_EBUSY;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return CD_EACCES;
    case SQLITE_CONSTRAINT:
        return CD_EEXIST;
    case SQLITE_CORRUPT:
        return CD_ECORRUPT;
    case SQLITE_NOTADB:
        return CD_EFOREIGN;
    case SQLITE_TOOBIG:
        return CD_ELIMIT;
    default:
        return CD_EIO;
    }
}

static cd_err fail(sqlite3 *db, int rc, cd_errinfo *why)
{
    if (db != NULL && sqlite3_extended_errcode(db) == SQLITE_IOERR_DATA) {
        return cd_fail(why, CD_ECORRUPT, "database: a page of the file does not match its checksum");
    }
    return cd_fail(why, err_of(rc), "database: %s", db == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(db));
}

static void close_it(cd_sql *q)
{
    lite *l = (lite *)q;
    sqlite3_finalize(l->count);
    cd__sql_mark_close(&l->mark);
    int rc = sqlite3_close(l->db);
    CD_ASSERT(rc == SQLITE_OK);
    cd_free(l);
}

static cd_err exec(cd_sql *q, const char *text, cd_errinfo *why)
{
    sqlite3 *db = ((lite *)q)->db;
    int rc = sqlite3_exec(db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? CD_OK : fail(db, rc, why);
}

static cd_err nothing(cd_sql *q, cd_errinfo *why)
{
    (void)q;
    (void)why;
    return CD_OK;
}

static cd_err ready(cd_sql *q, cd_errinfo *why)
{
    lite *l = (lite *)q;
    (void)why;
    l->changes = sqlite3_total_changes(l->db);
    return CD_OK;
}

/* A transaction that changed something counts itself, so that the database says how far it was written. */
static cd_err seal(cd_sql *q, cd_errinfo *why)
{
    lite *l = (lite *)q;
    l->counted = 0;
    if (l->count == NULL || sqlite3_total_changes(l->db) == l->changes) {
        return CD_OK;
    }
    int rc = sqlite3_step(l->count);
    u64 n = rc == SQLITE_ROW ? (u64)sqlite3_column_int64(l->count, 0) : 0;
    rc = rc == SQLITE_ROW ? sqlite3_step(l->count) : rc; /* to its end: the row is written now */
    cd_err err = rc == SQLITE_DONE ? CD_OK : fail(l->db, rc, why);
    sqlite3_reset(l->count);
    l->counted = err == CD_OK ? n : 0;
    return err;
}

static void sealed(cd_sql *q)
{
    lite *l = (lite *)q;
    if (l->counted != 0) {
        cd__sql_mark_put(&l->mark, l->counted, !q->is_soft);
    }
}

static cd_err tidy(cd_sql *q, cd_errinfo *why)
{
    sqlite3 *db = ((lite *)q)->db;
    int rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return rc == SQLITE_OK || rc == SQLITE_BUSY ? CD_OK : fail(db, rc, why);
}

static cd_err soft(cd_sql *q, bool is_soft, cd_errinfo *why)
{
    return exec(q, is_soft ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", why);
}

/* After each commit. A failure to tidy up is not one of the commit, which is on the disk: the next one tries again. */
static int on_log(void *ctx, sqlite3 *db, const char *name, int pages)
{
    cd_sql *q = ctx;
    (void)db;
    (void)name;
    q->untidy = (u32)pages;
    if (pages >= UNTIDY_PAGES) {
        (void)tidy(q, NULL);
    }
    return SQLITE_OK;
}

/* A statement that was left in the middle would hold its snapshot, and the log could not start again. */
static void rest(cd_sql *q)
{
    sqlite3 *db = ((lite *)q)->db;
    for (sqlite3_stmt *st = sqlite3_next_stmt(db, NULL); st != NULL; st = sqlite3_next_stmt(db, st)) {
        if (sqlite3_stmt_busy(st)) {
            sqlite3_reset(st);
        }
    }
}

static cd_err prepare(cd_sql *q, cd_sql_stmt **out, const char *text, cd_errinfo *why)
{
    sqlite3 *db = ((lite *)q)->db;
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
    if (rc != SQLITE_OK) {
        return fail(db, rc, why);
    }
    lite_stmt *s = cd_new(lite_stmt);
    s->st = st;
    *out = &s->base;
    return CD_OK;
}

static void drop(cd_sql_stmt *st)
{
    sqlite3_finalize(((lite_stmt *)st)->st);
    cd_free(st);
}

/* keep: the values stay until the statement is done; otherwise they are copied. */
static cd_err bind(lite_stmt *s, const cd_sql_val *vals, usize cnt, bool keep, cd_errinfo *why)
{
    sqlite3_destructor_type life = keep ? SQLITE_STATIC : SQLITE_TRANSIENT;
    int rc = SQLITE_OK;
    sqlite3_reset(s->st);
    CD_ASSERT((int)cnt == sqlite3_bind_parameter_count(s->st));
    for (usize i = 0; i < cnt && rc == SQLITE_OK; i++) {
        const cd_sql_val *v = &vals[i];
        const char *p = v->b.n == 0 ? "" : (const char *)v->b.p;
        int at = (int)i + 1;
        switch (v->kind) {
        case CD_SQL_NULL:
            rc = sqlite3_bind_null(s->st, at);
            break;
        case CD_SQL_INT:
            rc = sqlite3_bind_int64(s->st, at, v->i);
            break;
        case CD_SQL_TEXT:
            rc = sqlite3_bind_text64(s->st, at, p, v->b.n, life, SQLITE_UTF8);
            break;
        case CD_SQL_BLOB:
            rc = sqlite3_bind_blob64(s->st, at, p, v->b.n, life);
            break;
        }
    }
    return rc == SQLITE_OK ? CD_OK : fail(sqlite3_db_handle(s->st), rc, why);
}

static cd_err next(cd_sql_stmt *st, bool *is_row, cd_errinfo *why)
{
    lite_stmt *s = (lite_stmt *)st;
    int rc = sqlite3_step(s->st);
    if (rc == SQLITE_ROW) {
        *is_row = true;
        return CD_OK;
    }
    cd_err err = rc == SQLITE_DONE ? CD_OK : fail(sqlite3_db_handle(s->st), rc, why);
    sqlite3_reset(s->st);
    if (err == CD_OK) {
        *is_row = false;
    }
    return err;
}

static cd_err run(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    bool is_row = false;
    CD_TRY(bind((lite_stmt *)st, vals, cnt, true, why));
    cd_err err = next(st, &is_row, why);
    if (is_row) {
        sqlite3_reset(((lite_stmt *)st)->st);
    }
    return err;
}

static cd_err query(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    return bind((lite_stmt *)st, vals, cnt, false, why);
}

static i64 col_i(cd_sql_stmt *st, int col)
{
    return sqlite3_column_int64(((lite_stmt *)st)->st, col);
}

static cd_bytes col_b(cd_sql_stmt *st, int col)
{
    sqlite3_stmt *s = ((lite_stmt *)st)->st;
    const void *p = sqlite3_column_blob(s, col);
    return cd_bytes_of(p, (usize)sqlite3_column_bytes(s, col));
}

static bool col_is_null(cd_sql_stmt *st, int col)
{
    return sqlite3_column_type(((lite_stmt *)st)->st, col) == SQLITE_NULL;
}

static const cd__sql_ops ops = {
    .is_shared = false,
    .control =
        {
            [CD__SQL_BEGIN_READ] = "BEGIN",
            [CD__SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
            [CD__SQL_COMMIT] = "COMMIT",
            [CD__SQL_ROLLBACK] = "ROLLBACK",
            [CD__SQL_SAVE] = "SAVEPOINT part",
            [CD__SQL_KEEP] = "RELEASE part",
            [CD__SQL_UNDO] = "ROLLBACK TO part",
        },
    .close = close_it,
    .exec = exec,
    .ready = ready,
    .flush = nothing,
    .tidy = tidy,
    .soft = soft,
    .seal = seal,
    .sealed = sealed,
    .rest = rest,
    .prepare = prepare,
    .drop = drop,
    .run = run,
    .query = query,
    .next = next,
    .col_i = col_i,
    .col_b = col_b,
    .col_is_null = col_is_null,
};

/* Payloads are nobody else's business: the file is its owner's from the first byte. One that is there is not opened:
 * closing it would drop the locks that other connections of this process have on it, and the next process to end would
 * take the log away from under them [https://sqlite.org/howtocorrupt.html 2.2]. */
static cd_err make_file(const char *path, cd_errinfo *why)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        return CD_OK;
    }
    if (fd < 0) {
        return cd_fail(why, errno == EACCES || errno == EROFS ? CD_EACCES : CD_EIO, "%s: %s", path, strerror(errno));
    }
    (void)close(fd);
    return CD_OK;
}

/* Without counting its memory, which takes a lock at every allocation of any thread. Too late is fine. */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* The count of the database, 0 when it has none yet. */
static cd_err count_of(u64 *out, sqlite3 *db, cd_errinfo *why)
{
    sqlite3_stmt *st = NULL;
    *out = 0;
    int rc = sqlite3_prepare_v2(db, "SELECT n FROM sql_head", -1, &st, NULL);
    if (rc == SQLITE_ERROR) { /* no such table */
        return CD_OK;
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(st);
        *out = rc == SQLITE_ROW ? (u64)sqlite3_column_int64(st, 0) : 0;
    }
    cd_err err = rc == SQLITE_ROW || rc == SQLITE_DONE ? CD_OK : fail(db, rc, why);
    (void)sqlite3_finalize(st);
    return err;
}

/* Refuses a database that has less than was acknowledged. */
static cd_err look_back(lite *l, const char *path, cd_errinfo *why)
{
    u64 least = 0;
    u64 count = 0;
    cd_err err = cd__sql_mark_open(&l->mark, &least, path, why); /* before the count: others may be at work */
    if (err == CD_OK) {
        err = count_of(&count, l->db, why);
    }
    if (err == CD_OK && count < least) {
        err = cd_fail(why, CD_ELOST,
                      "%s has lost what it acknowledged: %llu of %llu commits are there. Put back a copy of it, or "
                      "remove %s to go on with what is left",
                      path, (unsigned long long)count, (unsigned long long)least, l->mark.path);
    }
    return err;
}

/* The last connection to go copies what it can read of the log into the file, and removes the log: not of a database
 * that is refused. */
static void keep_log(lite *l, bool does_keep)
{
    (void)sqlite3_db_config(l->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, does_keep ? 1 : 0, NULL);
}

static cd_err begin_count(lite *l, cd_errinfo *why)
{
    CD_TRY(exec(&l->base,
                "CREATE TABLE IF NOT EXISTS sql_head (key INTEGER PRIMARY KEY CHECK (key = 1), n INTEGER NOT NULL)",
                why));
    int rc = sqlite3_prepare_v3(l->db,
                                "INSERT INTO sql_head (key, n) VALUES (1, 1) ON CONFLICT (key) DO UPDATE SET n = n + 1 "
                                "RETURNING n",
                                -1, SQLITE_PREPARE_PERSISTENT, &l->count, NULL);
    return rc == SQLITE_OK ? CD_OK : fail(l->db, rc, why);
}

cd_err cd__sql_sqlite(cd_sql **out, const char *path, const cd_sql_cfg *cfg, cd_errinfo *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char setup[256];
    (void)pthread_once(&once, configure);
    if (cfg->may_write) {
        CD_TRY(make_file(path, why));
    }
    lite *l = cd_new(lite);
    l->base.ops = &ops;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                (cfg->may_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    int rc = sqlite3_open_v2(path, &l->db, flags, cd__sql_sums_vfs());
    cd_err err = rc == SQLITE_OK ? CD_OK : fail(l->db, rc, why);
    if (cfg->may_write && err == CD_OK) {
        cd__sql_sums_begin(l->db);
    }
    keep_log(l, true);
    /* temp_store: in memory, the way back of a statement is a list that each further one walks. */
    (void)snprintf(setup, sizeof setup,
                   "PRAGMA page_size=%d;"
                   "PRAGMA busy_timeout=%d;"
                   "PRAGMA cache_size=-%u;"
                   "PRAGMA temp_store=FILE;"
                   "PRAGMA cell_size_check=1;"
                   "%s",
                   PAGE, BUSY_MS, cfg->cache_kib == 0 ? (u32)CACHE_KIB : cfg->cache_kib,
                   cfg->may_write ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;" : "");
    if (err == CD_OK) {
        err = exec(&l->base, setup, why);
    }
    if (err == CD_OK && cfg->may_write) {
        err = look_back(l, path, why);
    }
    if (err == CD_OK && cfg->may_write) {
        err = begin_count(l, why);
    }
    if (err == CD_OK && cfg->may_write) {
        (void)sqlite3_wal_hook(l->db, on_log, &l->base);
    }
    if (err != CD_OK) {
        close_it(&l->base);
        return err;
    }
    keep_log(l, false);
    *out = &l->base;
    return CD_OK;
}
