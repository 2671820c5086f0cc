#include "node/front/readers.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/table/hmap.h"
#include "base/thread/thread.h"

enum {
    QUICK,
    SLOW,
    SLOW_NS = 2 * 1000 * 1000, /* a kind that takes longer than this, on average, is slow */
    TINY_NS = 50 * 1000,       /* a kind that takes less is not worth another thread */
    AVERAGE_OVER = 8,          /* the average of a kind is over about so many jobs */
    QUEUE_LONG = 16,           /* a queue of so many tiny jobs is worth a further thread */
    WATCH_MS = 1,
};

/* Sources that have jobs of a class waiting, in the order of their turns. */
typedef struct turns {
    cd_rpc_source *first;
    cd_rpc_source *last;
} turns;

struct cd_readers {
    cd_mutex lock; /* protects everything below, and the turns of the sources */
    cd_cond wake;
    turns turns[2];
    usize waiting;
    usize queue_max;
    u64 begun;        /* jobs begun since the start */
    u32 idle;         /* threads that sleep, the one that watches included */
    u32 tiny_running; /* threads that run a tiny job, and will soon look for the next one */
    u32 slow_running;
    u32 slow_max;   /* at most so many threads run slow jobs at a time */
    u32 source_max; /* at most so many threads run jobs of one source at a time */
    bool has_watch;
    bool is_closed;
    cd_hmap costs; /* kind -> average nanoseconds */
    cd_thread *threads;
    u32 threads_cnt;
};

/* --- turns --- */

static void turn_push(turns *t, cd_rpc_source *s, int cls)
{
    s->turn[cls].next = NULL;
    s->turn[cls].is_waiting = true;
    if (t->last == NULL) {
        t->first = s;
    } else {
        t->last->turn[cls].next = s;
    }
    t->last = s;
}

static cd_rpc_source *turn_pop(turns *t, int cls)
{
    cd_rpc_source *s = t->first;
    t->first = s->turn[cls].next;
    if (t->first == NULL) {
        t->last = NULL;
    }
    s->turn[cls].is_waiting = false;
    return s;
}

static void job_push(cd_readers *r, cd_rpc_job *job)
{
    cd_rpc_source *s = job->source;
    int cls = job->is_slow ? SLOW : QUICK;
    job->next = NULL;
    if (s->turn[cls].last == NULL) {
        s->turn[cls].first = job;
    } else {
        s->turn[cls].last->next = job;
    }
    s->turn[cls].last = job;
    if (!s->turn[cls].is_waiting) {
        turn_push(&r->turns[cls], s, cls);
    }
    r->waiting++;
}

/* The next job of a class, or NULL. Who has all the threads it may have loses its turn until one of its jobs is
 * done. */
static cd_rpc_job *job_take(cd_readers *r, int cls)
{
    while (r->turns[cls].first != NULL) {
        cd_rpc_source *s = turn_pop(&r->turns[cls], cls);
        if (s->running >= r->source_max) {
            continue;
        }
        cd_rpc_job *job = s->turn[cls].first;
        s->turn[cls].first = job->next;
        if (job->next == NULL) {
            s->turn[cls].last = NULL;
        } else {
            turn_push(&r->turns[cls], s, cls);
        }
        s->running++;
        r->waiting--;
        return job;
    }
    return NULL;
}

/* A job of a source is done: others of it may have their turn again. */
static void source_release(cd_readers *r, cd_rpc_source *s)
{
    s->running--;
    for (int cls = QUICK; cls <= SLOW; cls++) {
        if (s->turn[cls].first != NULL && !s->turn[cls].is_waiting) {
            turn_push(&r->turns[cls], s, cls);
        }
    }
}

/* The next job, or NULL. Slow ones go first while none runs, so that quick ones cannot hold them up for ever. */
static cd_rpc_job *job_next(cd_readers *r)
{
    cd_rpc_job *job = NULL;
    if (r->slow_running == 0) {
        job = job_take(r, SLOW);
    }
    if (job == NULL) {
        job = job_take(r, QUICK);
    }
    if (job == NULL && r->slow_running < r->slow_max) {
        job = job_take(r, SLOW);
    }
    return job;
}

/* --- costs --- */

/* The average processor time of jobs of a kind, in ns; a kind that never ran is neither tiny nor slow. */
static u64 cost_of(const cd_readers *r, const void *kind)
{
    const u64 *cost = kind == NULL ? NULL : cd_hmap_get(&r->costs, &kind);
    return cost == NULL ? SLOW_NS : *cost;
}

/* A tiny job's time is that of the clock on the wall, which costs little and counts what others did meanwhile as
 * well. So a long one says no more than that the kind's next job is to be timed well. */
static u64 job_clock(bool is_tiny)
{
    return is_tiny ? cd_clock_mono_ns(cd_clock_real()) : cd_clock_thread_ns();
}

static u64 job_cost(bool is_tiny, u64 took)
{
    return is_tiny ? cd_min_u64(took, (u64)AVERAGE_OVER * TINY_NS) : took;
}

static void cost_add(cd_readers *r, const void *kind, u64 ns)
{
    if (kind != NULL) {
        bool is_new;
        u64 *cost = cd_hmap_put(&r->costs, &is_new, &kind);
        *cost = is_new ? ns : *cost - *cost / AVERAGE_OVER + ns / AVERAGE_OVER;
    }
}

/* --- threads --- */

/* Waking a thread costs more than a tiny job. So nobody is woken while a thread runs one, which will come for the
 * next soon; should it take unusually long for once, the watching thread sees what waits. */
static bool must_wake(const cd_readers *r)
{
    return r->idle != 0 && r->waiting != 0 && (r->tiny_running == 0 || !r->has_watch || r->waiting >= QUEUE_LONG);
}

static void run_one(cd_readers *r, cd_rpc_job *job)
{
    /* The job may be gone when it has run. */
    const void *kind = job->kind;
    bool is_slow = job->is_slow;
    bool is_tiny = !is_slow && cost_of(r, kind) < TINY_NS;
    cd_rpc_source *source = job->source == &job->alone ? NULL : job->source;
    r->begun++;
    r->slow_running += is_slow;
    r->tiny_running += is_tiny;
    bool wake = must_wake(r);
    cd_mutex_unlock(&r->lock);
    if (wake) {
        cd_cond_wake_one(&r->wake);
    }
    u64 start = job_clock(is_tiny);
    job->run(job);
    u64 took = job_clock(is_tiny) - start;
    cd_mutex_lock(&r->lock);
    r->slow_running -= is_slow;
    r->tiny_running -= is_tiny;
    cost_add(r, kind, job_cost(is_tiny, took));
    if (source != NULL) {
        source_release(r, source);
        cd_rpc_source_unref(source);
    }
}

/* Sleeps until woken. While jobs come one after the other, one thread looks around every now and then. */
static void rest(cd_readers *r)
{
    r->idle++;
    if (r->has_watch) {
        cd_cond_wait(&r->wake, &r->lock);
    } else {
        u64 begun;
        r->has_watch = true;
        do {
            begun = r->begun;
            (void)cd_cond_wait_ms(&r->wake, &r->lock, WATCH_MS);
        } while (r->waiting == 0 && r->begun != begun && !r->is_closed);
        r->has_watch = false;
        if (r->waiting == 0 && !r->is_closed) {
            cd_cond_wait(&r->wake, &r->lock);
        }
    }
    r->idle--;
}

static void thread_run(void *arg)
{
    cd_readers *r = arg;
    cd_mutex_lock(&r->lock);
    for (;;) {
        cd_rpc_job *job = job_next(r);
        if (job != NULL) {
            run_one(r, job);
        } else if (r->is_closed && r->waiting == 0) {
            break;
        } else {
            rest(r);
        }
    }
    cd_mutex_unlock(&r->lock);
    cd_cond_wake_all(&r->wake); /* others may have waited for the job of this thread to be over */
}

static cd_err push(cd_readers *r, cd_rpc_job *job)
{
    if (r->is_closed) {
        return CD_ECLOSED;
    }
    if (r->waiting >= r->queue_max) {
        return CD_EFULL;
    }
    if (job->source == NULL || job->source == &job->alone) { /* one that comes back is alone anew */
        job->alone = (cd_rpc_source){0};
        job->source = &job->alone;
    } else {
        (void)cd_rpc_source_ref(job->source);
    }
    job->is_slow = cost_of(r, job->kind) > SLOW_NS;
    job_push(r, job);
    return CD_OK;
}

cd_err cd_readers_push(cd_readers *r, cd_rpc_job *job)
{
    cd_mutex_lock(&r->lock);
    cd_err e = push(r, job);
    cd_mutex_unlock(&r->lock);
    return e;
}

void cd_readers_kick(cd_readers *r)
{
    cd_mutex_lock(&r->lock);
    bool wake = must_wake(r);
    cd_mutex_unlock(&r->lock);
    if (wake) {
        cd_cond_wake_one(&r->wake);
    }
}

cd_err cd_readers_run(cd_readers *r, cd_rpc_job *job)
{
    CD_TRY(cd_readers_push(r, job));
    cd_readers_kick(r);
    return CD_OK;
}

usize cd_readers_waiting(cd_readers *r)
{
    cd_mutex_lock(&r->lock);
    usize n = r->waiting;
    cd_mutex_unlock(&r->lock);
    return n;
}

cd_err cd_readers_new(cd_readers **out, u32 threads, usize queue_max, cd_errinfo *why)
{
    cd_readers *r = cd_new(cd_readers);
    u32 cnt = threads < 2 ? 2 : threads;
    cd_mutex_init(&r->lock);
    cd_cond_init(&r->wake);
    cd_hmap_init(&r->costs, CD_HASH_KEYED, sizeof(const void *), sizeof(u64));
    r->queue_max = queue_max;
    r->slow_max = cnt / 2;
    r->source_max = cnt / 2;
    r->threads = cd_new_array(cd_thread, cnt);
    for (; r->threads_cnt < cnt; r->threads_cnt++) {
        cd_err e = cd_thread_start(&r->threads[r->threads_cnt], "reader", thread_run, r, why);
        if (e != CD_OK) {
            cd_readers_stop(r);
            cd_readers_free(r);
            return e;
        }
    }
    *out = r;
    return CD_OK;
}

void cd_readers_stop(cd_readers *r)
{
    cd_mutex_lock(&r->lock);
    r->is_closed = true;
    cd_mutex_unlock(&r->lock);
    cd_cond_wake_all(&r->wake);
    for (u32 i = 0; i < r->threads_cnt; i++) {
        cd_thread_join(&r->threads[i]);
    }
    r->threads_cnt = 0;
}

void cd_readers_free(cd_readers *r)
{
    if (r != NULL) {
        CD_ASSERT(r->threads_cnt == 0 && r->waiting == 0);
        cd_hmap_fini(&r->costs);
        cd_cond_fini(&r->wake);
        cd_mutex_fini(&r->lock);
        cd_free(r->threads);
        cd_free(r);
    }
}
