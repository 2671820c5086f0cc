#include "base/os/procstat.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXT_MAX = 512, THREADS_MAX = 4096 };

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

/* Reads what /proc says of the thread id; false: the thread has ended. */
static bool read_thread(cd_proc_thread *out, const char *id)
{
    char path[100];
    char text[TEXT_MAX];
    unsigned long long number = 0;
    unsigned long long ns = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
    if (read_text(text, path) == 0) {
        return false;
    }
    /* The name is in parentheses and may hold anything. */
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    if (open == NULL || close == NULL || sscanf(text, "%llu", &number) != 1) {
        return false;
    }
    *out = (cd_proc_thread){.id = number, .state = '?'};
    if (close[1] == ' ') {
        out->state = close[2];
    }
    (void)snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", id);
    if (read_text(text, path) != 0 && sscanf(text, "%llu", &ns) == 1) {
        out->cpu_ns = ns;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    u64 x = ((const cd_proc_thread *)a)->id;
    u64 y = ((const cd_proc_thread *)b)->id;
    return (x > y) - (x < y);
}

usize cd_proc_threads(const cd_proc_thread **out, cd_arena *a)
{
    usize cnt = 0;
    cd_buf all = {0};
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    *out = NULL;
    while (dir != NULL && cnt < THREADS_MAX && (entry = readdir(dir)) != NULL) {
        cd_proc_thread one;
        if (entry->d_name[0] != '.' && read_thread(&one, entry->d_name)) {
            cd_buf_put(&all, cd_bytes_of(&one, sizeof one));
            cnt++;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    if (cnt != 0) {
        cd_proc_thread *list = cd_arena_array(a, cd_proc_thread, cnt);
        memcpy(list, all.p, all.n);
        qsort(list, cnt, sizeof *list, compare);
        *out = list;
    }
    cd_buf_fini(&all);
    return cnt;
}

void cd_proc_mem_get(cd_proc_mem *out)
{
    char text[TEXT_MAX];
    unsigned long long reserved = 0;
    unsigned long long resident = 0;
    u64 page = (u64)sysconf(_SC_PAGESIZE);
    struct mallinfo2 m = mallinfo2();
    if (read_text(text, "/proc/self/statm") != 0) {
        (void)sscanf(text, "%llu %llu", &reserved, &resident);
    }
    *out = (cd_proc_mem){
        .resident = resident * page,
        .reserved = reserved * page,
        .heap_sys = m.arena + m.hblkhd,
        .heap_used = m.uordblks + m.hblkhd,
        .heap_free = m.fordblks,
    };
}

void cd_proc_mem_trim(void)
{
    (void)malloc_trim(0);
}

void cd_proc_mem_report(cd_buf *out)
{
    char *text = NULL;
    usize n = 0;
    FILE *f = open_memstream(&text, &n);
    if (f != NULL) {
        (void)malloc_info(0, f);
        (void)fclose(f);
        cd_buf_put(out, cd_bytes_of(text, n));
        free(text);
    }
}
