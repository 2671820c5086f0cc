#include "base/process.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS_MAX = 64, TEXT_MAX = 512 };

/* Threads of one name count as one. */
typedef struct thread_cpu {
    char name[20];
    u64 ms;
} thread_cpu;

static usize read_text(char out[TEXT_MAX], const char *path)
{
    FILE *f = fopen(path, "re");
    usize n = f == NULL ? 0 : fread(out, 1, TEXT_MAX - 1, f);
    out[n] = '\0';
    if (f != NULL) {
        (void)fclose(f);
    }
    return n;
}

/* Fields of a stat file behind the name, which may hold anything: the state is the first. */
static bool parse_stat(thread_cpu *out, const char *text)
{
    unsigned long long user;
    unsigned long long kernel;
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    u64 ticks = (u64)sysconf(_SC_CLK_TCK);
    if (open == NULL || close == NULL || ticks == 0 ||
        sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
               &kernel) != 2) {
        return false;
    }
    (void)snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
    /* "worker-3" and "worker-4" are both "worker" */
    usize n = strlen(out->name);
    while (n > 1 &&
           ((out->name[n - 1] >= '0' && out->name[n - 1] <= '9') || out->name[n - 1] == '-')) {
        out->name[--n] = '\0';
    }
    out->ms = (user + kernel) * 1000 / ticks;
    return true;
}

static usize threads_read(thread_cpu out[THREADS_MAX], usize *all)
{
    usize cnt = 0;
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    *all = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[300];
        char text[TEXT_MAX];
        thread_cpu one;
        (void)snprintf(path, sizeof path, "/proc/self/task/%.200s/stat", entry->d_name);
        if (entry->d_name[0] == '.' || read_text(text, path) == 0 || !parse_stat(&one, text)) {
            continue;
        }
        ++*all;
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
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return cnt;
}

static i64 files_open(void)
{
    i64 cnt = -1; /* the one that counts */
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
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void cd_process_metrics_open(cd_metrics *m)
{
    cd_metrics_gauge_fn(m, "process_cpu_seconds_total", "CPU time", NULL, 0, cpu_seconds, NULL);
    set(m, "process_start_time_seconds", "Unix time of the start",
        (i64)cd_clock_wall_s(cd_clock_real()));
}

void cd_process_metrics(cd_metrics *m)
{
    char text[TEXT_MAX];
    unsigned long long virt = 0;
    unsigned long long resident = 0;
    i64 page = sysconf(_SC_PAGESIZE);
    thread_cpu threads[THREADS_MAX];
    usize all;
    usize cnt = threads_read(threads, &all);
    struct rlimit files;
    if (read_text(text, "/proc/self/statm") != 0) {
        (void)sscanf(text, "%llu %llu", &virt, &resident);
    }
    set(m, "process_resident_memory_bytes", "Memory in RAM", (i64)resident * page);
    set(m, "process_virtual_memory_bytes", "Memory reserved", (i64)virt * page);
    set(m, "process_open_fds", "Open files and sockets", files_open());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        set(m, "process_max_fds", "Files and sockets that may be open", (i64)files.rlim_cur);
    }
    set(m, "process_threads", "Threads", (i64)all);
    for (usize i = 0; i < cnt; i++) {
        const cd_label label = {"thread", threads[i].name};
        cd_gauge_set(cd_metrics_gauge(m, "process_thread_cpu_milliseconds",
                                      "CPU time of the threads of a name", &label, 1),
                     (i64)threads[i].ms);
    }
}

u64 cd_process_files_max(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return 256; /* the least that systems give */
    }
    rlim_t soft = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : soft;
}
