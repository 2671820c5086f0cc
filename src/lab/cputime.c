#include "lab/cputime.h"

#include <time.h>

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
