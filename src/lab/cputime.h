/* lab/cputime.h - the clocks of measurements and the rule that says how often a workload is repeated.
 *
 * A shared machine only ever adds time: the least of several repetitions counts. Times are nanoseconds.
 * Threading: pure. [spec:bench#0] */
#ifndef CD_LAB_CPUTIME_H
#define CD_LAB_CPUTIME_H

#include "base/base.h"

/* CPU time of this thread and of the process, and wall time, in ns. */
u64 cd_lab_thread_cpu_ns(void);
u64 cd_lab_process_cpu_ns(void);
u64 cd_lab_wall_ns(void);

/* How often a workload runs: at least three times and for min_ns in all, or, where exact is not 0, just
 * that often (for counting instructions: the work is then the same each time). */
typedef struct cd_lab_effort {
    u64 min_ns;
    u64 exact;
} cd_lab_effort;

/* What the repetitions took so far; all zero to begin with. A repetition that took no time by the clock,
 * which may stand still for a while on a virtual machine, is no measurement: it only counts as blank. */
typedef struct cd_lab_timing {
    u64 first;
    u64 best; /* 0 while nothing was measured */
    u64 total;
    u64 reps;
    u64 blank;
} cd_lab_timing;

/* cd_lab_timing_goes_on tells whether another repetition is due; cd_lab_timing_add adds one of ns. */
bool cd_lab_timing_goes_on(const cd_lab_timing *t, const cd_lab_effort *effort);
void cd_lab_timing_add(cd_lab_timing *t, u64 ns);

/* cd_lab_min_ns gives the smaller of two times; a time of 0 stands for no measurement. */
CD_INLINE u64 cd_lab_min_ns(u64 a, u64 b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* cd_lab_per gives amount / by for a report; 0 where by was not measured. */
CD_INLINE double cd_lab_per(double amount, double by)
{
    return by > 0 ? amount / by : 0;
}

#endif
