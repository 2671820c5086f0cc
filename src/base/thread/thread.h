/* base/thread/thread.h - threads, and the mutex and condition that two of them share.
 *
 * A thin layer over pthreads whose calls cannot fail in a correct program: where pthreads would
 * report misuse, this aborts. Conditions wait by the monotonic clock. No lock is held while calling
 * another module or a callback [spec:style#B6]. Threading: shared. */
#ifndef CD_BASE_THREAD_H
#define CD_BASE_THREAD_H

#include "base/base.h"

#include <pthread.h>

/* A thread of ours. */
typedef struct cd_thread {
    pthread_t id;
} cd_thread;

/* What a thread runs. */
typedef void cd_thread_fn(void *arg);

/* cd_thread_start runs fn(arg) on a new thread named name (up to 15 characters are shown by tools).
 * Signals are blocked in it: they belong to the main thread. The thread must be joined.
 * Errors: CD_EAGAIN when the system refuses another thread. */
cd_err cd_thread_start(cd_thread *out, const char *name, cd_thread_fn *fn, void *arg, cd_errinfo *why) CD_CHECK;

/* cd_thread_join waits for the end of t; it must be called exactly once. */
void cd_thread_join(cd_thread *t);

/* cd_thread_pin keeps the calling thread on one CPU (an index into those this process may use).
 * Errors: CD_ERANGE (no such CPU), CD_EACCES. */
cd_err cd_thread_pin(u32 cpu) CD_CHECK;

/* cd_thread_cpus counts the CPUs this process may use (at least 1). */
u32 cd_thread_cpus(void);

/* A lock that one thread holds at a time. */
typedef struct cd_mutex {
    pthread_mutex_t m;
} cd_mutex;

/* A condition that threads wait for while they hold a mutex. */
typedef struct cd_cond {
    pthread_cond_t c;
} cd_cond;

/* A mutex is initialised and finished once; lock waits, and only the thread that locked may unlock. */
void cd_mutex_init(cd_mutex *m);
void cd_mutex_fini(cd_mutex *m);
void cd_mutex_lock(cd_mutex *m);
void cd_mutex_unlock(cd_mutex *m);

/* A condition belongs to one mutex for as long as somebody waits. */
void cd_cond_init(cd_cond *c);
void cd_cond_fini(cd_cond *c);

/* cd_cond_wait lets go of m, sleeps until woken (or for no reason), and takes m again. */
void cd_cond_wait(cd_cond *c, cd_mutex *m);

/* cd_cond_wait_ms is cd_cond_wait with a limit; false when the time was up. */
bool cd_cond_wait_ms(cd_cond *c, cd_mutex *m, u64 timeout_ms);

/* cd_cond_wake_one / _all wake one or every waiting thread; the mutex need not be held. */
void cd_cond_wake_one(cd_cond *c);
void cd_cond_wake_all(cd_cond *c);

#endif
