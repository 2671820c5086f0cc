/* lab/cputime.h - the clocks of measurements and the rule that says how often a workload is repeated.
 *
 * A shared machine only ever adds time: the least of several repetitions counts. Times are nanoseconds.
 * Threading: pure. [spec:bench#0] */
#ifndef CD_LAB_CPUTIME_H
#define CD_LAB_CPUTIME_H

#include "base/base.h"

/* CPU time of this thread and of the process, and wall time. */
u64 cd_lab_thread_cpu_ns(void);
u64 cd_lab_process_cpu_ns(void);
u64 cd_lab_wall_ns(void);

/* How often a workload runs: at least three times and for min_ns in all, or, where exact is not 0, just
 * that often (for counting instructions: the work is then the same each time). */
typedef struct cd_lab_effort {
    u64 min_ns;
    u64 exact;
} cd_lab_effort;

/* What the repetitions took so far; all zero to begin with. */
typedef struct cd_lab_timing {
    u64 first;
    u64 best;
    u64 total;
    u64 reps;
} cd_lab_timing;

/* cd_lab_timing_goes_on says whether another repetition is due; cd_lab_timing_add takes one in. */
bool cd_lab_timing_goes_on(const cd_lab_timing *t, const cd_lab_effort *effort);
void cd_lab_timing_add(cd_lab_timing *t, u64 ns);

#endif
