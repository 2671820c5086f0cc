/* node/front/readers.h - the threads of the READ lane: requests that read frozen views, however long that takes.
 *
 *   jobs ──► quick │ sources take turns ──► ┐
 *        ──► slow  │ sources take turns ──► ┴► threads        slow jobs get half of them at most
 *
 * A job's kind tells by the processor time that it took so far whether it is slow, so traces and wide queries leave
 * room for balances. Sources with many jobs take turns with those that have one, and occupy half of the threads at
 * most. Threading: shared. [spec:style#B6] */
#ifndef CD_NODE_READERS_H
#define CD_NODE_READERS_H

#include "rpc/lane.h"

typedef struct cd_readers cd_readers;

/* cd_readers_new starts the threads (at least two); queue_max jobs may wait. Errors: CD_EAGAIN. */
cd_err cd_readers_new(cd_readers **out, u32 threads, usize queue_max, cd_errinfo *why) CD_CHECK;

/* cd_readers_run lets a thread run job. Any thread. Errors: CD_EFULL, CD_ECLOSED. */
cd_err cd_readers_run(cd_readers *r, cd_rpc_job *job) CD_CHECK;

/* cd_readers_push is cd_readers_run in two steps, for who has several jobs at once: threads are woken by the
 * cd_readers_kick that must follow. */
cd_err cd_readers_push(cd_readers *r, cd_rpc_job *job) CD_CHECK;
void cd_readers_kick(cd_readers *r);

/* cd_readers_waiting counts jobs that no thread has begun. */
usize cd_readers_waiting(cd_readers *r);

/* cd_readers_stop runs what waits, then ends the threads; cd_readers_free after it, NULL is allowed. */
void cd_readers_stop(cd_readers *r);
void cd_readers_free(cd_readers *r);

#endif
