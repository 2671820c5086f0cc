/* node/chain/executor.h - the thread that owns one chain: its VM and its engine are called from here and nowhere else.
 *
 *   messages of peers ──► engine's queue ──┐  up to 64 jobs, then what the engine has to do
 *   calls of clients  ──► clients' queue ──┴► then one job; then again        neither queue starves the other
 *                                            └ sleeps until a job comes, or the VM wants to be woken
 *
 * So the engine waits for one call of a client at most, and a client for 64 pieces of the engine's work. A stepped
 * executor has no thread: cd_executor_step does what is due, by a clock that its owner moves.
 *
 * The executor opens the VM as the first thing it does and closes it as the last, so that neither takes the time of
 * another thread. Threading: shared, but for what says otherwise. [spec:architecture#5] */
#ifndef CD_NODE_EXECUTOR_H
#define CD_NODE_EXECUTOR_H

#include "base/log/log.h"
#include "consensus/engine.h"
#include "rpc/lane.h"

typedef struct cd_executor cd_executor;

/* Borrowed as long as the executor. What it calls, it calls on its thread; a stepped one on its caller's. */
typedef struct cd_executor_cfg {
    const char *name; /* name of the thread */
    const cd_clock *clock;
    cd_engine *engine;
    bool is_stepped;
    usize queue_max; /* jobs that wait in each queue; 0: 4096 */

    /* open makes the VM, for which cd_executor_host serves. opened tells how that and the start of the engine went,
     * when the first job may come. ended is the last that is heard, when the VM is closed; not after a failure to
     * open. */
    cd_err (*open)(void *ctx, cd_vm **out, cd_errinfo *why);
    void (*opened)(void *ctx, cd_err err, const cd_errinfo *why); /* NULL allowed */
    void (*ended)(void *ctx);                                     /* NULL allowed */
    void *ctx;
} cd_executor_cfg;

/* cd_executor_new makes one that does nothing yet. cd_executor_host is for the VM's context. */
cd_executor *cd_executor_new(const cd_executor_cfg *cfg);
cd_vm_host *cd_executor_host(cd_executor *ex);

/* cd_executor_start begins to open. Errors: CD_EAGAIN; a stepped one opens at once, with the errors of that. */
cd_err cd_executor_start(cd_executor *ex, cd_errinfo *why) CD_CHECK;

/* cd_executor_await waits until the VM is open, or could not be opened, and opened has been told; from another thread
 * than its own. Errors: those of open, and of the engine's start. */
cd_err cd_executor_await(cd_executor *ex, cd_errinfo *why) CD_CHECK;

/* cd_executor_run has job run in its turn among the clients', cd_executor_run_first in front of them all, for the
 * engine. Any thread. Errors: CD_EFULL, CD_ECLOSED; then it is not run. */
cd_err cd_executor_run(cd_executor *ex, cd_rpc_job *job) CD_CHECK;
cd_err cd_executor_run_first(cd_executor *ex, cd_rpc_job *job) CD_CHECK;

/* cd_executor_step does all that is due and gives when to call again (nanoseconds of the clock; UINT64_MAX: when there
 * is a job). Only of a stepped one. */
u64 cd_executor_step(cd_executor *ex);

/* Where the chain stands, as of the executor's last piece of work. Any thread. */
typedef struct cd_executor_tip {
    cd_hash32 id;
    u64 height;
    u64 accepted; /* blocks accepted since the start; those that a rewind has taken back are not counted */
    u64 built;    /* by this node */
    u64 verified;
    u64 rejected;
    usize processing;      /* blocks that are verified and not decided */
    cd_engine_stats stats; /* the engine's, which has those above, too */
    u64 waiting_ns;        /* monotonic: since when the lowest of them waits; 0: there is none */
} cd_executor_tip;
/* cd_executor_tip_get reads it. */
void cd_executor_tip_get(cd_executor *ex, cd_executor_tip *out);

/* cd_executor_health appends the VM's own words about its health, one JSON value or nothing, and gives what is wrong
 * (static; NULL: nothing). They are those of the last time that somebody asked, and the chain is asked again: who asks
 * does not wait for it. Any thread. */
const char *cd_executor_health(cd_executor *ex, cd_buf *details);

/* cd_executor_end takes no more jobs, runs those it has, stops the engine and closes the VM; without waiting for it,
 * unless stepped. May be repeated. */
void cd_executor_end(cd_executor *ex);

/* cd_executor_join ends it and waits for that; cd_executor_free also forgets it (NULL allowed). */
void cd_executor_join(cd_executor *ex);
void cd_executor_free(cd_executor *ex);

#endif
