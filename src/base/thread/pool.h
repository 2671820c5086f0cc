/* base/thread/pool.h - a fixed set of worker threads for CPU work, and a parallel for loop over them.
 *
 * Two kinds of work: jobs (cd_pool_submit), which wait in a bounded queue, and loops (cd_pool_for),
 * whose indices are shared out among the calling thread and whichever workers are free. The caller
 * always works along, so a loop makes progress on a busy pool, inside a job, inside another loop,
 * and with no workers at all. Workers spin for a few microseconds before they sleep, so that loops
 * of tens of microseconds pay off. Threading: shared. */
#ifndef CD_BASE_POOL_H
#define CD_BASE_POOL_H

#include "base/base.h"

typedef struct cd_pool cd_pool;

/* Work for a pool's thread. */
typedef void cd_pool_job(void *arg);

/* i is the index; slot numbers the thread that runs it: smaller than cd_pool_slots, and never the
 * same for two threads of one loop at a time, so that it can choose a scratch area. */
typedef void cd_pool_for_fn(void *arg, usize i, u32 slot);

/* cd_pool_new starts `workers` threads called `name`; jobs wait in a queue of queue_cap.
 * Errors: CD_EAGAIN when the system refuses a thread. */
cd_err cd_pool_new(cd_pool **out, u32 workers, usize queue_cap, const char *name, cd_errinfo *why) CD_CHECK;

/* cd_pool_free runs what is still queued, then ends the threads. NULL is allowed. */
void cd_pool_free(cd_pool *p);

/* cd_pool_submit runs job(arg) on a worker some time later; without workers, or with p NULL, at
 * once on the caller. Errors: CD_EFULL. */
cd_err cd_pool_submit(cd_pool *p, cd_pool_job *job, void *arg) CD_CHECK;

/* cd_pool_help runs one queued job on the calling thread; false when none waits. For callers that
 * wait for jobs of their own. p may be NULL. */
bool cd_pool_help(cd_pool *p);

/* cd_pool_for calls fn(arg, i, slot) once for every i in [0, n), in no particular order, and
 * returns when all are done; everything they wrote is visible to the caller. p may be NULL: runs
 * inline. */
void cd_pool_for(cd_pool *p, usize n, cd_pool_for_fn *fn, void *arg);

/* cd_pool_slots: the number of threads that one loop may use (workers + 1; 1 when p is NULL). */
u32 cd_pool_slots(const cd_pool *p);

#endif
