/* base/os/procstat.h - what the operating system and the allocator know of this process: its threads, its memory.
 *
 * Threading: pure (reads /proc). */
#ifndef CD_BASE_PROCSTAT_H
#define CD_BASE_PROCSTAT_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

/* A thread of this process. */
typedef struct cd_proc_thread {
    u64 id;
    char name[20];
    char state; /* as in proc(5): R runs, S sleeps, D waits for a disk */
    u64 cpu_ns;
} cd_proc_thread;

/* cd_proc_threads lists the threads of this process, ascending by id, in the arena, and gives their number; 0 on a
 * system without /proc. */
usize cd_proc_threads(const cd_proc_thread **out, cd_arena *a);

/* Memory of this process. */
typedef struct cd_proc_mem {
    u64 resident;  /* bytes in RAM */
    u64 reserved;  /* bytes of address space */
    u64 heap_sys;  /* bytes that the allocator got from the system */
    u64 heap_used; /* bytes of heap_sys that are allocated */
    u64 heap_free; /* bytes of heap_sys that are free */
} cd_proc_mem;

/* cd_proc_mem_get gives the figures of this moment; those that come from /proc are 0 on a system without it. */
void cd_proc_mem_get(cd_proc_mem *out);

/* cd_proc_mem_trim gives back to the system what the allocator keeps for later. */
void cd_proc_mem_trim(void);

/* cd_proc_mem_report appends the allocator's own account of its arenas, as XML. */
void cd_proc_mem_report(cd_buf *out);

#endif
