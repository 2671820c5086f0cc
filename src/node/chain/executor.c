#include "node/chain/executor.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/thread/mbox.h"
#include "base/thread/thread.h"

#include <stdatomic.h>

enum {
    QUEUE = 4096,
    ENGINE_JOBS = 64, /* of one round; so many steps, too */
    ROUNDS = 10000,   /* of one cd_executor_step: a VM that wants to be woken at once, always, does not hold it up */
};

struct cd_executor {
    cd_vm_host host; /* first: the host's object is the executor's */
    cd_executor_cfg cfg;
    cd_mbox *engine_jobs; /* queues of cd_rpc_job *: the engine's and the clients' */
    cd_mbox *client_jobs;
    cd_vm *vm; /* NULL unless open; used by this executor's thread alone */
    cd_thread thread;
    bool has_thread;
    u64 first_height;      /* the last accepted height when the VM was opened */
    u64 wake_ns;           /* monotonic time at which the VM wants to be woken */
    atomic_bool is_ending; /* set before both queues are closed */
    cd_rpc_job stir_job;
    atomic_bool is_stirred; /* stir_job is queued */
    cd_rpc_job health_job;
    atomic_bool is_health_asked; /* health_job is queued or running */
    cd_mutex lock;               /* protects the rest */
    cd_cond told;
    bool is_told; /* opened and why hold what became of the opening */
    cd_err opened;
    cd_errinfo why;
    cd_executor_tip tip;
    const char *health;
    cd_buf health_text;
};

/* --- what the VM asks for --- */

static void on_notify(cd_vm_host *host, cd_vm_event event)
{
    cd_engine *e = ((cd_executor *)host)->cfg.engine;
    e->ops->notify(e, event);
}

static cd_err on_produce(cd_vm_host *host, cd_errinfo *why)
{
    cd_engine *e = ((cd_executor *)host)->cfg.engine;
    return e->ops->produce(e, why);
}

static cd_err on_rewind(cd_vm_host *host, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    cd_engine *e = ((cd_executor *)host)->cfg.engine;
    return e->ops->rewind(e, job, arg, why);
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

/* The executor whose thread this is; NULL: it is no executor's. */
static _Thread_local const cd_executor *here;

static cd_err on_run(cd_vm_host *host, void (*fn)(void *arg), void *arg)
{
    if (here == (cd_executor *)host) {
        fn(arg); /* a thread that waited for itself would wait for ever */
        return CD_OK;
    }
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

/* Every round ends with wake. */
static void run_stir(cd_rpc_job *job)
{
    atomic_store(&cd_list_of(job, cd_executor, stir_job)->is_stirred, false);
}

static void on_stir(cd_vm_host *host)
{
    cd_executor *ex = (cd_executor *)host;
    /* A queue that is full has rounds to come. */
    if (!atomic_exchange(&ex->is_stirred, true) && cd_executor_run_first(ex, &ex->stir_job) != CD_OK) {
        atomic_store(&ex->is_stirred, false);
    }
}

/* There is no other thread to wait for. */
static cd_err on_run_here(cd_vm_host *host, void (*fn)(void *arg), void *arg)
{
    (void)host;
    fn(arg);
    return CD_OK;
}

/* --- what others look at --- */

static void tip_follow(cd_executor *ex)
{
    const cd_engine_stats *stats = &ex->cfg.engine->stats;
    u64 now = cd_clock_mono_ns(ex->cfg.clock);
    cd_hash32 id;
    u64 height;
    ex->vm->ops->last_accepted(ex->vm, &id, &height);
    cd_mutex_lock(&ex->lock);
    bool goes_on = ex->tip.waiting_ns != 0 && ex->tip.height == height; /* the same block waits still */
    ex->tip = (cd_executor_tip){
        .id = id,
        .height = height,
        .accepted = height < ex->first_height ? 0 : height - ex->first_height,
        .built = stats->built,
        .verified = stats->verified,
        .rejected = stats->rejected,
        .processing = stats->processing,
        .stats = *stats,
        .waiting_ns = stats->processing == 0 ? 0
                      : goes_on              ? ex->tip.waiting_ns
                                             : cd_max_u64(now, 1),
    };
    cd_mutex_unlock(&ex->lock);
}

void cd_executor_tip_get(cd_executor *ex, cd_executor_tip *out)
{
    cd_mutex_lock(&ex->lock);
    *out = ex->tip;
    cd_mutex_unlock(&ex->lock);
}

static void health_follow(cd_executor *ex)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    const char *said = ex->vm->ops->health == NULL ? NULL : ex->vm->ops->health(ex->vm, &w);
    cd_mutex_lock(&ex->lock);
    cd_buf old = ex->health_text;
    ex->health_text = text;
    ex->health = said;
    cd_mutex_unlock(&ex->lock);
    cd_buf_fini(&old);
}

static void run_health(cd_rpc_job *job)
{
    cd_executor *ex = cd_list_of(job, cd_executor, health_job);
    health_follow(ex);
    atomic_store(&ex->is_health_asked, false);
}

const char *cd_executor_health(cd_executor *ex, cd_buf *details)
{
    cd_mutex_lock(&ex->lock);
    cd_buf_put(details, cd_buf_bytes(&ex->health_text));
    const char *said = ex->health;
    cd_mutex_unlock(&ex->lock);
    if (!atomic_exchange(&ex->is_health_asked, true) && cd_executor_run(ex, &ex->health_job) != CD_OK) {
        atomic_store(&ex->is_health_asked, false);
    }
    return said;
}

/* --- rounds --- */

/* Runs one job of a queue; false when there is none now. */
static bool run_one(cd_mbox *jobs)
{
    cd_rpc_job *job;
    if (cd_mbox_try_recv(jobs, &job) != CD_OK) {
        return false;
    }
    job->run(job);
    return true;
}

static u64 next_wake(cd_vm *vm)
{
    return vm->ops->wake == NULL ? UINT64_MAX : vm->ops->wake(vm);
}

/* One round of work; false when there was nothing to do. */
static bool round_do(cd_executor *ex)
{
    cd_engine *e = ex->cfg.engine;
    cd_vm *vm = ex->vm;
    u32 n = 0;
    while (n < ENGINE_JOBS && run_one(ex->engine_jobs)) {
        n++;
    }
    bool did = n != 0;
    bool has_more = true;
    for (n = 0; n < ENGINE_JOBS && has_more; n++) {
        has_more = e->ops->step(e);
        did = did || has_more;
    }
    did = run_one(ex->client_jobs) || did;
    ex->wake_ns = next_wake(vm);
    /* What the call or the passing of time has made due for the engine is done before the next call. */
    bool is_more = e->ops->step(e);
    if (!is_more && ex->wake_ns == UINT64_MAX) {
        ex->wake_ns = next_wake(vm); /* a VM that had told the engine all may have to tell it again: nothing was made */
    }
    return is_more || did;
}

/* Milliseconds until the VM wants to be woken; negative: never. */
static i64 time_to_wake(const cd_executor *ex)
{
    u64 now = cd_clock_mono_ns(ex->cfg.clock);
    if (ex->wake_ns == UINT64_MAX) {
        return -1;
    }
    return ex->wake_ns <= now ? 0 : (i64)((ex->wake_ns - now + CD_NS_PER_MS - 1) / CD_NS_PER_MS);
}

/* No job is left, and none can come any more. */
static bool is_over(cd_executor *ex)
{
    return atomic_load(&ex->is_ending) && cd_mbox_cnt(ex->engine_jobs) == 0 && cd_mbox_cnt(ex->client_jobs) == 0;
}

static void work(cd_executor *ex)
{
    while (!is_over(ex)) {
        bool did = round_do(ex);
        tip_follow(ex);
        if (!did) {
            (void)cd_mbox_wait(ex->engine_jobs, time_to_wake(ex));
        }
    }
}

static cd_err begin(cd_executor *ex, cd_errinfo *why)
{
    cd_engine *engine = ex->cfg.engine;
    CD_TRY(ex->cfg.open(ex->cfg.ctx, &ex->vm, why));
    cd_hash32 id;
    ex->vm->ops->last_accepted(ex->vm, &id, &ex->first_height);
    cd_err e = engine->ops->start(engine, ex->vm, why);
    if (e != CD_OK) {
        ex->vm->ops->close(ex->vm);
        ex->vm = NULL;
        return e;
    }
    tip_follow(ex);
    health_follow(ex);
    return CD_OK;
}

static void tell(cd_executor *ex, cd_err e, const cd_errinfo *why)
{
    if (ex->cfg.opened != NULL) {
        ex->cfg.opened(ex->cfg.ctx, e, why);
    }
    cd_mutex_lock(&ex->lock);
    ex->opened = e;
    ex->why = *why;
    ex->is_told = true;
    cd_cond_wake_all(&ex->told);
    cd_mutex_unlock(&ex->lock);
}

static void finish(cd_executor *ex)
{
    cd_engine *engine = ex->cfg.engine;
    tip_follow(ex);
    engine->ops->stop(engine);
    ex->vm->ops->close(ex->vm);
    ex->vm = NULL;
    if (ex->cfg.ended != NULL) {
        ex->cfg.ended(ex->cfg.ctx);
    }
}

static void run(void *arg)
{
    cd_executor *ex = arg;
    cd_errinfo why = {0};
    here = ex;
    cd_err e = begin(ex, &why);
    tell(ex, e, &why);
    if (e == CD_OK) {
        work(ex);
        finish(ex);
    }
}

/* --- for others --- */

cd_executor *cd_executor_new(const cd_executor_cfg *cfg)
{
    cd_executor *ex = cd_new(cd_executor);
    usize queue = cfg->queue_max == 0 ? QUEUE : cfg->queue_max;
    ex->host = (cd_vm_host){
        .notify = on_notify,
        .produce = on_produce,
        .rewind = on_rewind,
        .run = cfg->is_stepped ? on_run_here : on_run,
        .stir = cfg->is_stepped ? NULL : on_stir,
    };
    ex->cfg = *cfg;
    ex->engine_jobs = cd_mbox_new(queue, sizeof(cd_rpc_job *));
    ex->client_jobs = cd_mbox_new_beside(ex->engine_jobs, queue, sizeof(cd_rpc_job *));
    ex->stir_job.run = run_stir;
    ex->health_job.run = run_health;
    ex->wake_ns = UINT64_MAX;
    cd_mutex_init(&ex->lock);
    cd_cond_init(&ex->told);
    return ex;
}

cd_vm_host *cd_executor_host(cd_executor *ex)
{
    return &ex->host;
}

cd_err cd_executor_start(cd_executor *ex, cd_errinfo *why)
{
    if (ex->cfg.is_stepped) {
        cd_errinfo own = {0};
        cd_err e = begin(ex, &own);
        if (why != NULL) {
            *why = own;
        }
        tell(ex, e, &own);
        return e;
    }
    CD_TRY(cd_thread_start(&ex->thread, ex->cfg.name, run, ex, why));
    ex->has_thread = true;
    return CD_OK;
}

cd_err cd_executor_await(cd_executor *ex, cd_errinfo *why)
{
    cd_mutex_lock(&ex->lock);
    while (!ex->is_told) {
        cd_cond_wait(&ex->told, &ex->lock);
    }
    if (why != NULL) {
        *why = ex->why;
    }
    cd_err e = ex->opened;
    cd_mutex_unlock(&ex->lock);
    return e;
}

cd_err cd_executor_run(cd_executor *ex, cd_rpc_job *job)
{
    return cd_mbox_send(ex->client_jobs, &job);
}

cd_err cd_executor_run_first(cd_executor *ex, cd_rpc_job *job)
{
    return cd_mbox_send(ex->engine_jobs, &job);
}

u64 cd_executor_step(cd_executor *ex)
{
    u64 now = cd_clock_mono_ns(ex->cfg.clock);
    bool did = true;
    CD_ASSERT(ex->cfg.is_stepped);
    for (u32 i = 0; ex->vm != NULL && i < ROUNDS && (did || ex->wake_ns <= now); i++) {
        did = round_do(ex);
    }
    if (ex->vm != NULL) {
        tip_follow(ex);
    }
    return ex->vm == NULL ? UINT64_MAX : did ? now : ex->wake_ns;
}

void cd_executor_end(cd_executor *ex)
{
    cd_mbox_close(ex->client_jobs);
    cd_mbox_close(ex->engine_jobs);
    atomic_store(&ex->is_ending, true);
    if (ex->cfg.is_stepped && ex->vm != NULL) {
        while (run_one(ex->engine_jobs) || run_one(ex->client_jobs)) {
        }
        finish(ex);
    }
}

void cd_executor_join(cd_executor *ex)
{
    cd_executor_end(ex);
    if (ex->has_thread) {
        cd_thread_join(&ex->thread);
        ex->has_thread = false;
    }
}

void cd_executor_free(cd_executor *ex)
{
    if (ex == NULL) {
        return;
    }
    cd_executor_join(ex);
    cd_mbox_free(ex->client_jobs);
    cd_mbox_free(ex->engine_jobs);
    cd_buf_fini(&ex->health_text);
    cd_cond_fini(&ex->told);
    cd_mutex_fini(&ex->lock);
    cd_free(ex);
}
