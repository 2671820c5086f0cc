#include "network/network_process.h"

#include "base/os/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 1 << 16 };

/* The state letter of a process ('R', 'T', …); 0: there is no such process, or it is a zombie. */
static int letter_of(u64 pid)
{
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    FILE *f = fopen(path, "re");
    usize n = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);
    if (f != NULL) {
        (void)fclose(f);
    }
    text[n] = '\0';
    const char *end = strrchr(text, ')'); /* the program's name before it may hold any character */
    return end == NULL || end[1] == '\0' || end[2] == 'Z' || end[2] == 'X' ? 0 : (int)end[2];
}

/* Is the process with the node's number the node's own? Its command line must name the node's folder. */
static bool is_its_process(const cd__net *n, const cd__net_node *x)
{
    char path[64];
    cd_buf line = {0};
    (void)snprintf(path, sizeof path, "/proc/%llu/cmdline", (unsigned long long)x->pid);
    const char *flag = cd_arena_fmt(n->mem, "--data-dir=%s", cd__net_path(n, x, ""));
    bool is_it = cd_fs_read_file(cd_fs_real(), &line, path, LINE_MAX_LEN, NULL) == CD_OK;
    if (is_it) {
        usize at = 0;
        is_it = false;
        const char *text = cd_buf_cstr(&line);
        while (at < line.n && !is_it) {
            is_it = strcmp(text + at, flag) == 0;
            at += strlen(text + at) + 1;
        }
    }
    cd_buf_fini(&line);
    return is_it;
}

cd__net_life cd__net_life_of(const cd__net *n, const cd__net_node *x)
{
    int letter = x->pid == 0 ? 0 : letter_of(x->pid);
    if (letter == 0 || !is_its_process(n, x)) {
        return CD__NET_DOWN;
    }
    return letter == 'T' || letter == 't' ? CD__NET_PAUSED : CD__NET_RUNS;
}

bool cd__process_is_there(u64 pid)
{
    return letter_of(pid) != 0;
}

cd_err cd__process_spawn(u64 *pid, const char *const *words, const char *log, cd_errinfo *why)
{
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t child = fd < 0 || null < 0 ? -1 : fork();
    int error = errno;
    if (child == 0) {
        (void)setsid();
        (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would stay so: a node could not wait for its plugins */
        if (dup2(null, 0) >= 0 && dup2(fd, 1) >= 0 && dup2(fd, 2) >= 0) {
            (void)execvp(words[0], (char *const *)(usize)words);
        }
        (void)dprintf(2, "%s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (null >= 0) {
        (void)close(null);
    }
    *pid = (u64)child;
    return child > 0 ? CD_OK : cd_fail(why, CD_EIO, "%.150s: %s", log, strerror(error));
}
