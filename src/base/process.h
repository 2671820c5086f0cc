/* base/process.h - what the operating system knows of this process and allows it. Threading: confined.
 * [spec:node-api#10] */
#ifndef CD_BASE_PROCESS_H
#define CD_BASE_PROCESS_H

#include "base/metrics.h"

/* cd_process_metrics_open makes those that are asked by themselves; once.
 * cd_process_metrics brings the process_… metrics in m up to date: memory, CPU in all and by thread, open files. */
void cd_process_metrics_open(cd_metrics *m);
void cd_process_metrics(cd_metrics *m);

/* cd_process_rss gives the bytes in RAM; 0: unknown. */
u64 cd_process_rss(void);

/* cd_process_files_max raises the limit of open files as far as it goes and gives it. */
u64 cd_process_files_max(void);

/* cd_process_trim gives back memory that only the start needed: free heap, and pages of code and constants, which come
 * back from the file when they are used again. Before many threads run, as it may slow them for a moment. */
void cd_process_trim(void);

#endif
