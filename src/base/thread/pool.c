#include "base/thread/pool.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/thread/thread.h"

#include <stdatomic.h>

/* How often an idle thread looks again before it sleeps: about 10 µs. */
enum { SPINS = 400 };

typedef struct job {
    cd_pool_job *fn;
    void *arg;
} job;

/* One running cd_pool_for, on the stack of its caller. It stays in the pool's list while indices are
 * left; `helpers` keeps the caller from returning while a worker is inside. */
typedef struct loop {
    cd_list link; /* in the pool's list; guarded by the pool's lock */
    cd_pool_for_fn *fn;
    void *arg;
    usize n;
    u32 slots; /* the last slot number given to a worker; guarded by the pool's lock */
    _Alignas(64) _Atomic usize next;
    _Alignas(64) _Atomic u32 helpers; /* workers inside; changed only under the pool's lock */
} loop;

struct cd_pool {
    cd_mutex lock; /* protects everything below that is not atomic or constant */
    cd_cond work;  /* workers wait here */
    cd_cond done;  /* callers of loops wait here */
    cd_list loops;
    job *queue; /* jobs that wait, a ring of cap */
    usize cap;
    usize head;
    usize cnt;
    u32 sleepers;
    u32 workers;
    bool is_stopping;
    _Atomic u32 epoch; /* counts arrivals of work; idle workers watch it while they spin */
    cd_thread *threads;
};

static void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Takes indices of the loop and runs them until none are left. */
static void loop_run(loop *l, u32 slot)
{
    for (;;) {
        usize i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->n) {
            return;
        }
        l->fn(l->arg, i, slot);
    }
}

static bool loop_is_over(const loop *l)
{
    return atomic_load_explicit(&l->next, memory_order_relaxed) >= l->n;
}

/* Works on l until no index is left. Called with the lock held, and returns with it; afterwards l may be gone. */
static void loop_help(cd_pool *p, loop *l)
{
    u32 slot = ++l->slots;
    atomic_fetch_add_explicit(&l->helpers, 1, memory_order_relaxed);
    cd_mutex_unlock(&p->lock);
    loop_run(l, slot);
    cd_mutex_lock(&p->lock);
    cd_list_del(&l->link);
    /* The last touch of *l: the caller may see 0 while it spins, but takes the lock before it leaves. */
    if (atomic_fetch_sub_explicit(&l->helpers, 1, memory_order_release) == 1) {
        cd_cond_wake_all(&p->done);
    }
}

/* Waits, first spinning and then asleep, until work arrives or the pool stops. The lock is held, but not while it
 * spins. */
static void worker_idle(cd_pool *p)
{
    u32 seen = atomic_load_explicit(&p->epoch, memory_order_relaxed);
    cd_mutex_unlock(&p->lock);
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->epoch, memory_order_relaxed) != seen) {
            break;
        }
        cpu_relax();
    }
    cd_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->epoch, memory_order_relaxed) == seen && !p->is_stopping) {
        p->sleepers++;
        cd_cond_wait(&p->work, &p->lock);
        p->sleepers--;
    }
}

/* Runs the oldest job of the queue, which is not empty. The lock is held, but not while the job runs. */
static void run_oldest(cd_pool *p)
{
    job j = p->queue[p->head];
    p->head = (p->head + 1) % p->cap;
    p->cnt--;
    cd_mutex_unlock(&p->lock);
    j.fn(j.arg);
    cd_mutex_lock(&p->lock);
}

bool cd_pool_help(cd_pool *p)
{
    if (p == NULL) {
        return false;
    }
    cd_mutex_lock(&p->lock);
    bool has_job = p->cnt != 0;
    if (has_job) {
        run_oldest(p);
    }
    cd_mutex_unlock(&p->lock);
    return has_job;
}

static void worker_main(void *arg)
{
    cd_pool *p = arg;
    cd_mutex_lock(&p->lock);
    for (;;) {
        cd_list *first = cd_list_first(&p->loops);
        if (first != NULL) {
            loop *l = cd_list_of(first, loop, link);
            if (loop_is_over(l)) {
                cd_list_del(&l->link);
            } else {
                loop_help(p, l);
            }
        } else if (p->cnt != 0) {
            run_oldest(p);
        } else if (p->is_stopping) {
            break;
        } else {
            worker_idle(p);
        }
    }
    cd_mutex_unlock(&p->lock);
}

/* Tells the workers that there is work for up to cnt of them. The lock is held. */
static void workers_wake(cd_pool *p, usize cnt)
{
    atomic_fetch_add_explicit(&p->epoch, 1, memory_order_relaxed);
    if (p->sleepers != 0) {
        if (cnt == 1) {
            cd_cond_wake_one(&p->work);
        } else {
            cd_cond_wake_all(&p->work);
        }
    }
}

cd_err cd_pool_new(cd_pool **out, u32 workers, usize queue_cap, const char *name, cd_errinfo *why)
{
    CD_ASSERT(workers <= 4096 && queue_cap <= 1u << 24);
    cd_err err = CD_OK;
    cd_pool *p = cd_alloc_aligned(64, sizeof *p);
    cd_mutex_init(&p->lock);
    cd_cond_init(&p->work);
    cd_cond_init(&p->done);
    cd_list_init(&p->loops);
    p->cap = queue_cap == 0 ? 1 : queue_cap;
    p->queue = cd_new_array(job, p->cap);
    p->threads = cd_new_array(cd_thread, workers);
    for (u32 i = 0; i < workers; i++) {
        err = cd_thread_start(&p->threads[i], name, worker_main, p, why);
        if (err != CD_OK) {
            break;
        }
        p->workers++; /* needs no lock: workers do not read it */
    }
    if (err != CD_OK) {
        cd_pool_free(p);
        return err;
    }
    *out = p;
    return CD_OK;
}

void cd_pool_free(cd_pool *p)
{
    if (p == NULL) {
        return;
    }
    cd_mutex_lock(&p->lock);
    p->is_stopping = true;
    cd_cond_wake_all(&p->work);
    cd_mutex_unlock(&p->lock);
    for (u32 i = 0; i < p->workers; i++) {
        cd_thread_join(&p->threads[i]);
    }
    cd_cond_fini(&p->done);
    cd_cond_fini(&p->work);
    cd_mutex_fini(&p->lock);
    cd_free(p->threads);
    cd_free(p->queue);
    cd_free(p);
}

cd_err cd_pool_submit(cd_pool *p, cd_pool_job *fn, void *arg)
{
    if (p == NULL || p->workers == 0) {
        fn(arg);
        return CD_OK;
    }
    cd_err err = CD_EFULL;
    cd_mutex_lock(&p->lock);
    if (p->cnt < p->cap) {
        p->queue[(p->head + p->cnt) % p->cap] = (job){.fn = fn, .arg = arg};
        p->cnt++;
        workers_wake(p, 1);
        err = CD_OK;
    }
    cd_mutex_unlock(&p->lock);
    return err;
}

void cd_pool_for(cd_pool *p, usize n, cd_pool_for_fn *fn, void *arg)
{
    if (p == NULL || p->workers == 0 || n < 2) {
        for (usize i = 0; i < n; i++) {
            fn(arg, i, 0);
        }
        return;
    }
    CD_ASSERT(n <= SIZE_MAX / 2);
    loop l = {.fn = fn, .arg = arg, .n = n};
    cd_list_init(&l.link);
    atomic_init(&l.next, 0);
    atomic_init(&l.helpers, 0);

    cd_mutex_lock(&p->lock);
    cd_list_push_back(&p->loops, &l.link);
    workers_wake(p, n - 1);
    cd_mutex_unlock(&p->lock);

    loop_run(&l, 0);

    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&l.helpers, memory_order_relaxed) == 0) {
            break;
        }
        cpu_relax();
    }
    cd_mutex_lock(&p->lock);
    cd_list_del(&l.link);
    while (atomic_load_explicit(&l.helpers, memory_order_acquire) != 0) {
        cd_cond_wait(&p->done, &p->lock);
    }
    cd_mutex_unlock(&p->lock);
}

u32 cd_pool_slots(const cd_pool *p)
{
    return p == NULL ? 1 : p->workers + 1;
}
