/* services/common/jobs.h - a database on threads of its own: jobs, committed in groups.
 *
 *   loop ── write job ──► writer thread: BEGIN, all jobs that wait, COMMIT (durable) ──► done on the loop
 *        └─ read job ───► reader thread: a snapshot of its own ──────────────────────► done on the loop
 *
 * A service has a store: what it keeps for one connection (prepared statements, keys). Each thread has a store of its
 * own, made by the service's cd_jobs_store, and hands it to the jobs that it runs.
 *
 * A job's run gets the store inside a transaction; when it fails, what it wrote is undone (a savepoint) and the
 * other jobs of the group stay. done is called on the loop after the commit is on the disk (but see is_soft), so
 * whoever is answered then loses nothing by a kill; when the commit fails, every job of the group has its error. The
 * outcome of a job is its own business (fields of the struct around it); err is what run or the commit gave. Jobs of
 * a kind run in the order in which they were posted (but see cd_jobs_write_next); a read job sees what write jobs
 * that are done have written.
 *
 * When a database that several processes share refuses a transaction for another's sake (a deadlock), or loses it with
 * the connection, the transaction is tried again for a while: then run is called anew, and must begin anew. With such a
 * database a job is a transaction of its own, so that no job waits for a lock while another of its group holds one.
 * How many jobs may wait is for whoever posts them to bound. Threading: posting from the loop only; run on the
 * database's threads. [spec:webhooks#5] */
#ifndef CD_SERVICES_COMMON_JOBS_H
#define CD_SERVICES_COMMON_JOBS_H

#include "base/log/metrics.h"
#include "net/loop.h"
#include "services/common/sql.h"

typedef struct cd_jobs cd_jobs;

/* A member of the caller's struct; stays until done was called. */
typedef struct cd_job {
    struct cd_job *next;
    cd_err (*run)(struct cd_job *job, void *store, cd_errinfo *why);
    void (*done)(struct cd_job *job);
    /* What it writes can be made again (a block's events and the cursor): done does not wait for the disk, a power
     * cut may undo it together with all that came later, a kill may not. */
    bool is_soft;
    /* Somebody waits for it who is better off with a refusal: no other try when the database is away. */
    bool is_hasty;
    /* Set by run: it could not do its work for what others have written, and comes again by cd_jobs_write_next.
     * Until then, but for no longer than a moment, nothing else is written, so that it does not go on for ever. */
    bool holds;
    cd_err err;        /* for done */
    cd_errinfo why;    /* for done */
    cd_loop_task task; /* the database's */
} cd_job;

/* How a service makes its store, and takes part in its transactions. Static. Members that may be NULL say what is done
 * instead; where one of begin … undo is given, it calls the function of services/common/sql.h itself. */
typedef struct cd_jobs_store {
    /* open makes a store for one thread; is_writer: it brings the schema up to date. sql gives the store's
     * connection. */
    cd_err (*open)(void **out, const void *cfg, bool is_writer, cd_errinfo *why);
    void (*close)(void *store);
    cd_sql *(*sql)(const void *store);
    /* NULL: cd_sql_begin and its like, with the store's connection. */
    cd_err (*begin)(void *store, bool is_write, cd_errinfo *why);
    cd_err (*commit)(void *store, cd_errinfo *why);
    void (*rollback)(void *store);
    cd_err (*save)(void *store, cd_errinfo *why);
    cd_err (*keep)(void *store, cd_errinfo *why);
    cd_err (*undo)(void *store, cd_errinfo *why);
    /* What the store has gathered in memory (statistics) and writes now and then at the end of a group, asked for four
     * times a second at least: is_due says that the time has come, or that is_last and there is something; write
     * writes it, written forgets it after the commit. is_due NULL: the store gathers nothing. */
    bool (*is_due)(const void *store, bool is_last);
    cd_err (*write)(void *store, cd_errinfo *why);
    void (*written)(void *store);
} cd_jobs_store;

/* Which database of jobs is opened, and how. */
typedef struct cd_jobs_cfg {
    const cd_jobs_store *store;
    const void *store_cfg; /* for store->open; borrowed for the call */
    const char *url;       /* of the database, as the store opens it; borrowed for the call */
    cd_metrics *metrics;   /* NULL: none */
} cd_jobs_cfg;

/* cd_jobs_open opens the database (one store a thread, the writer's first) and starts the threads. Errors: those of
 * store->open, cd_sql_open and cd_thread_start. */
cd_err cd_jobs_open(cd_jobs **out, cd_loop *loop, const cd_jobs_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_jobs_close finishes the jobs that were posted, then ends the threads. Their done is called from here; a job
 * that is posted from there is forgotten. NULL is allowed. */
void cd_jobs_close(cd_jobs *db);

/* cd_jobs_write and cd_jobs_read post a job. cd_jobs_write_next posts it before all others that wait. */
void cd_jobs_write(cd_jobs *db, cd_job *job);
void cd_jobs_read(cd_jobs *db, cd_job *job);
void cd_jobs_write_next(cd_jobs *db, cd_job *job);

/* cd_jobs_trouble copies why the database did not take what was written last, "" when it did; false then. The text
 * is that of the database. */
enum { CD_JOBS_TROUBLE_MAX = 240 };
bool cd_jobs_trouble(cd_jobs *db, char out[CD_JOBS_TROUBLE_MAX]);

/* cd_jobs_is_trouble: the error is one of a database in trouble, not one that a job may end with. cd_jobs_away: the
 * database was away when something was wanted of it last, or has kept somebody waiting for a second; hasty jobs need
 * not be posted. */
bool cd_jobs_is_trouble(cd_err err);
bool cd_jobs_away(cd_jobs *db);

/* cd_jobs_losses: how often a connection was lost under a transaction that writes. */
u64 cd_jobs_losses(cd_jobs *db);

/* cd_jobs_now runs one job on the calling thread, as a transaction of its own, without loop and threads: what a
 * command of a program needs. Gives the job's error; those of store->open too. */
cd_err cd_jobs_now(const cd_jobs_cfg *cfg, cd_job *job, cd_errinfo *why) CD_CHECK;

#endif
