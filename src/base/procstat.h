/* base/procstat.h - what the operating system and the allocator know of this process: its threads, its memory.
 *
 * Threading: pure (reads /proc). */
#ifndef CD_BASE_PROCSTAT_H
#define CD_BASE_PROCSTAT_H

#include "base/arena.h"
#include "base/buf.h"

typedef struct cd_proc_thread {
    u64 id;
    char name[20];
    char state; /* as in proc(5): R runs, S sleeps, D waits for a disk */
    u64 cpu_ns;
} cd_proc_thread;

/* cd_proc_threads lists the threads of this process, ascending by id, in the arena; nothing where /proc is not there. */
usize cd_proc_threads(const cd_proc_thread **out, cd_arena *a);

typedef struct cd_proc_mem {
    u64 resident;  /* bytes in RAM */
    u64 reserved;  /* of address space */
    u64 heap_sys;  /* that the allocator has of the system */
    u64 heap_used; /* of them given out */
    u64 heap_free; /* and kept for later */
} cd_proc_mem;

/* cd_proc_mem_get gives the figures of now; those of /proc are 0 where it is not there. */
void cd_proc_mem_get(cd_proc_mem *out);

/* cd_proc_mem_trim gives back to the system what the allocator keeps for later. */
void cd_proc_mem_trim(void);

/* cd_proc_mem_report appends the allocator's own account of its arenas, as XML. */
void cd_proc_mem_report(cd_buf *out);

#endif
