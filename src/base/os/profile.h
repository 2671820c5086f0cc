/* base/os/profile.h - the time that each thread of this process takes between two moments. Threading: confined. */
#ifndef CD_BASE_PROFILE_H
#define CD_BASE_PROFILE_H

#include "base/mem/buf.h"
#include "base/os/procstat.h"

/* A profile; zeroed, it does not run. */
typedef struct cd_cpu_profile {
    bool is_on;
    u64 start_ns; /* when the profile began, by the monotonic clock */
    cd_arena mem; /* holds the threads and their times at the beginning */
    const cd_proc_thread *threads;
    usize cnt;
} cd_cpu_profile;

/* cd_cpu_profile_begin starts a profile anew; cd_cpu_profile_end appends a line for each thread and ends the profile;
 * cd_cpu_profile_fini ends it without any text. */
void cd_cpu_profile_begin(cd_cpu_profile *p);
void cd_cpu_profile_end(cd_cpu_profile *p, cd_buf *out);
void cd_cpu_profile_fini(cd_cpu_profile *p);

#endif
