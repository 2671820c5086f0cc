/* services/webhook/core/db.h - the store on threads of its own: jobs, committed in groups.
 *
 *   loop ── write job ──► writer thread: BEGIN, all jobs that wait, COMMIT (durable) ──► done on the loop
 *        └─ read job ───► reader thread: a snapshot of its own ──────────────────────► done on the loop
 *
 * What a database of several workers refuses for another's sake (deadlocks), or loses with a connection, is tried again for
 * a while: then run is called anew, and must begin anew. There a job is a transaction of its own, so that nobody waits for a
 * lock while he holds another's.
 *
 * A job's run gets the store inside a transaction; when it fails, what it wrote is undone (a savepoint) and the other
 * jobs of the group stay. done is called on the loop after the commit is on the disk (but see is_soft), so whoever is answered then
 * loses nothing by a kill; when the commit fails, every job of the group has its error. The outcome of a job is its own
 * business (fields of the struct around it); err is what run or the commit gave. Jobs of a kind run in the order in
 * which they were posted (but see cd_wh_db_write_next); a read job sees what write jobs that are done have written.
 * Threading: posting from the loop only; run on the store's threads. [spec:webhooks#5] */
#ifndef CD_WEBHOOK_CORE_DB_H
#define CD_WEBHOOK_CORE_DB_H

#include "base/metrics.h"
#include "net/loop.h"
#include "services/webhook/core/store.h"

typedef struct cd_wh_db cd_wh_db;

/* A member of the caller's struct; stays until done was called. */
typedef struct cd_wh_job {
    struct cd_wh_job *next;
    cd_err (*run)(struct cd_wh_job *job, cd_wh_store *s, cd_errinfo *why);
    void (*done)(struct cd_wh_job *job);
    /* What it writes can be made again (a block's events and the cursor): done does not wait for the disk, a power cut may
     * undo it together with all that came later, a kill may not. */
    bool is_soft;
    /* Set by run: it could not do its work for what others have written, and comes again by cd_wh_db_write_next. Until then,
     * but for no longer than a moment, nothing else is written, so that it does not go on for ever. */
    bool holds;
    cd_err err;        /* for done */
    cd_errinfo why;    /* for done */
    cd_loop_task task; /* db's */
} cd_wh_job;

/* cd_wh_db_open opens the store at url (sqlite:PATH, postgresql://…), brings its schema up to date and starts the
 * threads. metrics may be NULL. Errors: CD_EVERSION when a newer program wrote it, CD_EFORMAT for a URL of neither
 * kind, CD_EIO, CD_EACCES, CD_EBUSY. */
cd_err cd_wh_db_open(cd_wh_db **out, cd_loop *loop, const cd_wh_store_cfg *cfg, cd_metrics *metrics,
                     cd_errinfo *why) CD_CHECK;

/* cd_wh_db_close finishes the jobs that were posted, then ends the threads. Their done is called from here; a job that is
 * posted from there is forgotten. NULL is allowed. */
void cd_wh_db_close(cd_wh_db *db);

/* cd_wh_db_write and cd_wh_db_read post a job. */
void cd_wh_db_write(cd_wh_db *db, cd_wh_job *job);
void cd_wh_db_read(cd_wh_db *db, cd_wh_job *job);
/* cd_wh_db_write_next posts it before all others that wait. */
void cd_wh_db_write_next(cd_wh_db *db, cd_wh_job *job);

/* cd_wh_db_trouble copies why the database did not take what was written last, "" when it did; false then. The text is that
 * of the database. */
enum { CD_WH_TROUBLE_MAX = 240 };
bool cd_wh_db_trouble(cd_wh_db *db, char out[CD_WH_TROUBLE_MAX]);

/* cd_wh_db_losses: how often a connection was lost under a transaction that writes. */
u64 cd_wh_db_losses(cd_wh_db *db);

/* cd_wh_db_now runs one job on the calling thread, as a transaction of its own, without loop and threads: what a command
 * of the program needs. */
cd_err cd_wh_db_now(const cd_wh_store_cfg *cfg, cd_wh_job *job, cd_errinfo *why) CD_CHECK;

#endif
