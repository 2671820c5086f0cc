/* base/os/process.h - what the operating system knows of this process and allows it. Threading: confined.
 * [spec:node-api#10] */
#ifndef CD_BASE_PROCESS_H
#define CD_BASE_PROCESS_H

#include "base/log/metrics.h"

/* cd_process_metrics_open registers the metrics that need no update later: CPU time and the time of the start; once.
 * cd_process_metrics updates the other process_… metrics in m: memory, CPU time by thread, open files. */
void cd_process_metrics_open(cd_metrics *m);
void cd_process_metrics(cd_metrics *m);

/* cd_process_rss gives the bytes in RAM; 0: unknown. */
u64 cd_process_rss(void);

/* cd_process_files_max raises this process's limit of open files as far as the system allows and gives the limit. */
u64 cd_process_files_max(void);

/* cd_process_trim gives back memory that only the start needed: free heap, and pages of code and constants, which are
 * read from the file again when they are used. Call it before many threads run, as it may slow them for a moment. */
void cd_process_trim(void);

#endif
