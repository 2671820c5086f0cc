#include "lab/cputime.h"

#include <time.h>

enum { REPS_MIN = 3, BLANK_MAX = 100000 };

static u64 read_ns(clockid_t id)
{
    struct timespec t;
    int failed = clock_gettime(id, &t);
    CD_ASSERT(failed == 0);
    return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

u64 cd_lab_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

u64 cd_lab_process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

u64 cd_lab_wall_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

bool cd_lab_timing_goes_on(const cd_lab_timing *t, const cd_lab_effort *effort)
{
    if (effort->exact != 0) {
        return t->reps + t->blank < effort->exact;
    }
    return (t->reps < REPS_MIN || t->total < effort->min_ns) && t->blank < BLANK_MAX;
}

void cd_lab_timing_add(cd_lab_timing *t, u64 ns)
{
    if (ns == 0) {
        t->blank++;
        return;
    }
    t->first = t->reps == 0 ? ns : t->first;
    t->best = cd_lab_min_ns(t->best, ns);
    t->total += ns;
    t->reps++;
}
