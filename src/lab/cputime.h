/* lab/cputime.h - the clocks of measurements: CPU time of this thread and of the process, wall time; nanoseconds.
 * Threading: pure. [spec:bench#0] */
#ifndef CD_LAB_CPUTIME_H
#define CD_LAB_CPUTIME_H

#include "base/base.h"

/* Readings only make sense as differences of one clock. */
u64 cd_lab_thread_cpu_ns(void);
u64 cd_lab_process_cpu_ns(void);
u64 cd_lab_wall_ns(void);

#endif
