#define _GNU_SOURCE
#include "base/thread/thread.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME_MAX_LEN = 15 };

typedef struct start {
    cd_thread_fn *fn;
    void *arg;
    char name[NAME_MAX_LEN + 1];
} start;

static void *thread_main(void *p)
{
    start s = *(start *)p;
    cd_free(p);
    (void)pthread_setname_np(pthread_self(), s.name);
    s.fn(s.arg);
    return NULL;
}

cd_err cd_thread_start(cd_thread *out, const char *name, cd_thread_fn *fn, void *arg, cd_errinfo *why)
{
    start *s = cd_new(start);
    s->fn = fn;
    s->arg = arg;
    (void)snprintf(s->name, sizeof s->name, "%s", name);

    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&out->id, NULL, thread_main, s);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        cd_free(s);
        return cd_fail(why, CD_EAGAIN, "thread \"%s\" cannot be started: %s", name, strerror(rc));
    }
    return CD_OK;
}

void cd_thread_join(cd_thread *t)
{
    int rc = pthread_join(t->id, NULL);
    CD_ASSERT(rc == 0);
}

u32 cd_thread_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : (u32)n;
}

cd_err cd_thread_pin(u32 cpu)
{
    cpu_set_t may;
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof may, &may) != 0) {
        return CD_EACCES;
    }
    u32 seen = 0;
    for (usize i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &may) && seen++ == cpu) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0 ? CD_OK : CD_EACCES;
        }
    }
    return CD_ERANGE;
}

void cd_mutex_init(cd_mutex *m)
{
    int rc = pthread_mutex_init(&m->m, NULL);
    CD_ASSERT(rc == 0);
}

void cd_mutex_fini(cd_mutex *m)
{
    int rc = pthread_mutex_destroy(&m->m);
    CD_ASSERT(rc == 0);
}

void cd_mutex_lock(cd_mutex *m)
{
    int rc = pthread_mutex_lock(&m->m);
    CD_ASSERT(rc == 0);
}

void cd_mutex_unlock(cd_mutex *m)
{
    int rc = pthread_mutex_unlock(&m->m);
    CD_ASSERT(rc == 0);
}

void cd_cond_init(cd_cond *c)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    CD_ASSERT(rc == 0);
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    CD_ASSERT(rc == 0);
    rc = pthread_cond_init(&c->c, &attr);
    CD_ASSERT(rc == 0);
    (void)pthread_condattr_destroy(&attr);
}

void cd_cond_fini(cd_cond *c)
{
    int rc = pthread_cond_destroy(&c->c);
    CD_ASSERT(rc == 0);
}

void cd_cond_wait(cd_cond *c, cd_mutex *m)
{
    int rc = pthread_cond_wait(&c->c, &m->m);
    CD_ASSERT(rc == 0);
}

bool cd_cond_wait_ms(cd_cond *c, cd_mutex *m, u64 timeout_ms)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    u64 ns = (u64)at.tv_nsec + timeout_ms % 1000 * CD_NS_PER_MS;
    at.tv_sec += (time_t)(cd_min_u64(timeout_ms / 1000, 1u << 30) + ns / CD_NS_PER_SEC);
    at.tv_nsec = (long)(ns % CD_NS_PER_SEC);
    int rc = pthread_cond_timedwait(&c->c, &m->m, &at);
    CD_ASSERT(rc == 0 || rc == ETIMEDOUT);
    return rc == 0;
}

void cd_cond_wake_one(cd_cond *c)
{
    (void)pthread_cond_signal(&c->c);
}

void cd_cond_wake_all(cd_cond *c)
{
    (void)pthread_cond_broadcast(&c->c);
}
