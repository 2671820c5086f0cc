#define _GNU_SOURCE
#include "base/os/process.h"

#include "base/os/clock.h"
#include "base/os/procstat.h"

#include <dirent.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

/* Processor time, in milliseconds, of all threads of one name. */
typedef struct thread_cpu {
    char name[20];
    u64 ms;
} thread_cpu;

/* Drops the number of a thread, so that "worker-3" and "worker-4" are both "worker". */
static void cut_number(char *name)
{
    usize n = strlen(name);
    while (n > 1 && ((name[n - 1] >= '0' && name[n - 1] <= '9') || name[n - 1] == '-')) {
        name[--n] = '\0';
    }
}

static usize threads_read(thread_cpu out[THREADS_MAX], usize *all)
{
    cd_arena mem = {0};
    const cd_proc_thread *list;
    usize cnt = 0;
    *all = cd_proc_threads(&list, &mem);
    for (usize t = 0; t < *all; t++) {
        thread_cpu one = {.ms = list[t].cpu_ns / CD_NS_PER_MS};
        (void)snprintf(one.name, sizeof one.name, "%s", list[t].name);
        cut_number(one.name);
        usize i = 0;
        while (i < cnt && strcmp(out[i].name, one.name) != 0) {
            i++;
        }
        if (i < cnt) {
            out[i].ms += one.ms;
        } else if (cnt < THREADS_MAX) {
            out[cnt++] = one;
        }
    }
    cd_arena_fini(&mem);
    return cnt;
}

static i64 files_open(void)
{
    i64 cnt = -1; /* the descriptor that reads the directory is left out */
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        cnt += entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return cnt;
}

static void set(cd_metrics *m, const char *name, const char *help, i64 v)
{
    cd_gauge_set(cd_metrics_gauge(m, name, help, NULL, 0), v);
}

static double cpu_seconds(void *ctx)
{
    struct rusage u;
    (void)ctx;
    if (getrusage(RUSAGE_SELF, &u) != 0) {
        return 0;
    }
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void cd_process_metrics_open(cd_metrics *m)
{
    cd_metrics_gauge_fn(m, "process_cpu_seconds_total", "CPU time", NULL, 0, cpu_seconds, NULL);
    set(m, "process_start_time_seconds", "Unix time of the start", (i64)cd_clock_wall_s(cd_clock_real()));
}

u64 cd_process_rss(void)
{
    cd_proc_mem mem;
    cd_proc_mem_get(&mem);
    return mem.resident;
}

void cd_process_metrics(cd_metrics *m)
{
    cd_proc_mem mem;
    thread_cpu threads[THREADS_MAX];
    usize all;
    usize cnt = threads_read(threads, &all);
    struct rlimit files;
    cd_proc_mem_get(&mem);
    set(m, "process_resident_memory_bytes", "Memory in RAM", (i64)mem.resident);
    set(m, "process_virtual_memory_bytes", "Memory reserved", (i64)mem.reserved);
    set(m, "process_open_fds", "Open files and sockets", files_open());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        set(m, "process_max_fds", "Files and sockets that may be open", (i64)files.rlim_cur);
    }
    set(m, "process_threads", "Threads", (i64)all);
    for (usize i = 0; i < cnt; i++) {
        const cd_label label = {"thread", threads[i].name};
        cd_gauge_set(
            cd_metrics_gauge(m, "process_thread_cpu_milliseconds", "CPU time of the threads of a name", &label, 1),
            (i64)threads[i].ms);
    }
}

u64 cd_process_files_max(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return 256; /* the lowest limit that systems set */
    }
    rlim_t soft = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : soft;
}

/* Drops the pages of one library's read-only segments; what the loader has relocated lies in writable ones. */
static int trim_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    (void)ctx;
    for (usize i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && (h->p_flags & PF_W) == 0) {
            uintptr_t from = (info->dlpi_addr + h->p_vaddr) & ~(page - 1);
            uintptr_t to = info->dlpi_addr + h->p_vaddr + h->p_memsz;
            (void)madvise((void *)from, to - from, MADV_DONTNEED);
        }
    }
    return 0;
}

void cd_process_trim(void)
{
    (void)malloc_trim(0);
    (void)dl_iterate_phdr(trim_library, NULL);
}
