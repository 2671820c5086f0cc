#include "node/executor.h"

#include "base/clock.h"
#include "base/mbox.h"
#include "base/mem.h"
#include "base/thread.h"

enum { QUEUE = 4096 };

struct cd_executor {
    cd_vm_host host; /* first: the host's object is the executor's */
    const char *name;
    cd_logger *log;
    cd_vm *vm;
    cd_mbox *jobs; /* of cd_rpc_job * */
    cd_thread thread;
    bool is_running;
    bool wants_block; /* touched by the executor's thread only */
    u64 first_height; /* likewise: at the start */
    cd_mutex lock;    /* protects tip */
    cd_executor_tip tip;
};

/* --- the engine of a single node ---------------------------------------------------------------- */

/* Makes one block and settles it; false when there is nothing (more) to do. */
static bool settle_one(cd_executor *ex)
{
    cd_vm *vm = ex->vm;
    cd_vm_block *block = NULL;
    cd_errinfo why = {0};
    cd_err e = vm->ops->build(vm, &block, &why);
    if (e == CD_ENOENT) {
        return false;
    }
    if (e == CD_OK) {
        e = vm->ops->verify(vm, block, &why);
        if (e == CD_OK) {
            e = vm->ops->set_preference(vm, &block->id);
        }
        if (e == CD_OK) {
            e = vm->ops->accept(vm, block, &why);
        } else {
            (void)vm->ops->reject(vm, block);
        }
        vm->ops->release(vm, block);
    }
    if (e != CD_OK) {
        cd_log_error(ex->log, "no block made", CD_F("chain", ex->name),
                     CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
        return false;
    }
    return true;
}

static void on_wants_block(cd_vm_host *host)
{
    ((cd_executor *)host)->wants_block = true;
}

static void on_settle(cd_vm_host *host)
{
    cd_executor *ex = (cd_executor *)host;
    while (ex->wants_block) {
        ex->wants_block = settle_one(ex);
    }
}

/* A call that a thread waits for. */
typedef struct errand {
    cd_rpc_job job; /* first */
    void (*fn)(void *arg);
    void *arg;
    cd_mutex lock; /* protects is_done */
    cd_cond done;
    bool is_done;
} errand;

static void run_errand(cd_rpc_job *job)
{
    errand *e = (errand *)(void *)job;
    e->fn(e->arg);
    cd_mutex_lock(&e->lock);
    e->is_done = true;
    cd_cond_wake_one(&e->done);
    cd_mutex_unlock(&e->lock);
}

static cd_err on_run(cd_vm_host *host, void (*fn)(void *arg), void *arg)
{
    errand e = {.job.run = run_errand, .fn = fn, .arg = arg};
    cd_mutex_init(&e.lock);
    cd_cond_init(&e.done);
    cd_err err = cd_executor_run((cd_executor *)host, &e.job);
    cd_mutex_lock(&e.lock);
    while (err == CD_OK && !e.is_done) {
        cd_cond_wait(&e.done, &e.lock);
    }
    cd_mutex_unlock(&e.lock);
    cd_cond_fini(&e.done);
    cd_mutex_fini(&e.lock);
    return err;
}

cd_executor *cd_executor_new(const char *name, cd_logger *log)
{
    cd_executor *ex = cd_new(cd_executor);
    ex->host.wants_block = on_wants_block;
    ex->host.settle = on_settle;
    ex->host.run = on_run;
    ex->name = name;
    ex->log = log;
    ex->jobs = cd_mbox_new(QUEUE, sizeof(cd_rpc_job *));
    cd_mutex_init(&ex->lock);
    return ex;
}

cd_vm_host *cd_executor_host(cd_executor *ex)
{
    return &ex->host;
}

/* --- the thread --------------------------------------------------------------------------------- */

/* Milliseconds to wait for a request at most; negative: as long as it takes. */
static i64 time_to_wake(cd_vm *vm)
{
    u64 at = vm->ops->wake == NULL ? UINT64_MAX : vm->ops->wake(vm);
    u64 now = cd_clock_mono_ns(cd_clock_real());
    if (at == UINT64_MAX) {
        return -1;
    }
    return at <= now ? 0 : (i64)((at - now + CD_NS_PER_MS - 1) / CD_NS_PER_MS);
}

static void tip_follow(cd_executor *ex)
{
    cd_hash32 id;
    u64 height;
    ex->vm->ops->last_accepted(ex->vm, &id, &height);
    cd_mutex_lock(&ex->lock);
    ex->tip.id = id;
    ex->tip.height = height;
    ex->tip.accepted = height < ex->first_height ? 0 : height - ex->first_height;
    cd_mutex_unlock(&ex->lock);
}

void cd_executor_tip_get(cd_executor *ex, cd_executor_tip *out)
{
    cd_mutex_lock(&ex->lock);
    *out = ex->tip;
    cd_mutex_unlock(&ex->lock);
}

static void run(void *arg)
{
    cd_executor *ex = arg;
    cd_rpc_job *job;
    on_settle(&ex->host);
    tip_follow(ex);
    for (;;) {
        cd_err e = cd_mbox_recv(ex->jobs, &job, time_to_wake(ex->vm));
        if (e == CD_OK) {
            job->run(job);
            on_settle(&ex->host);
        } else if (e != CD_ETIMEOUT) {
            return;
        }
        tip_follow(ex);
    }
}

cd_err cd_executor_start(cd_executor *ex, cd_vm *vm, cd_errinfo *why)
{
    ex->vm = vm;
    vm->ops->last_accepted(vm, &ex->tip.id, &ex->first_height);
    ex->tip.height = ex->first_height;
    cd_err e = cd_thread_start(&ex->thread, ex->name, run, ex, why);
    if (e != CD_OK) {
        ex->vm = NULL;
        return e;
    }
    ex->is_running = true;
    return CD_OK;
}

cd_err cd_executor_run(cd_executor *ex, cd_rpc_job *job)
{
    return cd_mbox_send(ex->jobs, &job);
}

void cd_executor_stop(cd_executor *ex)
{
    if (ex->is_running) {
        cd_mbox_close(ex->jobs);
        cd_thread_join(&ex->thread);
        ex->is_running = false;
        ex->vm->ops->close(ex->vm);
        ex->vm = NULL;
    }
}

void cd_executor_free(cd_executor *ex)
{
    if (ex != NULL) {
        cd_executor_stop(ex);
        cd_mbox_free(ex->jobs);
        cd_mutex_fini(&ex->lock);
        cd_free(ex);
    }
}
