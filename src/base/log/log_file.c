#include "base/log/log_file.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_MAX_LEN = 4096, FILE_MODE = 0640, DIR_MODE = 0750 };

struct cd_log_file {
    char path[PATH_MAX_LEN];
    char stem[PATH_MAX_LEN]; /* path without ".log" */
    char dir[PATH_MAX_LEN];
    cd_log_file_cfg cfg;
    int fd; /* -1: the file could not be opened again, and lines are lost */
    u64 bytes;
};

static void open_end(cd_log_file *f)
{
    struct stat st;
    f->fd = open(f->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, FILE_MODE);
    f->bytes = f->fd >= 0 && fstat(f->fd, &st) == 0 ? (u64)st.st_size : 0;
}

cd_err cd_log_file_open(cd_log_file **out, const cd_log_file_cfg *cfg, cd_errinfo *why)
{
    usize n = strlen(cfg->path);
    if (n < 5 || n >= PATH_MAX_LEN - 64 || strcmp(cfg->path + n - 4, ".log") != 0) {
        return cd_fail(why, CD_EINVAL, "%.150s: not the name of a log", cfg->path);
    }
    cd_log_file *f = cd_new(cd_log_file);
    f->cfg = *cfg;
    f->cfg.clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    (void)snprintf(f->path, sizeof f->path, "%s", cfg->path);
    (void)snprintf(f->stem, sizeof f->stem, "%.*s", (int)(n - 4), cfg->path);
    const char *slash = strrchr(f->path, '/');
    usize dir_n = slash == NULL ? 0 : (usize)(slash - f->path);
    (void)snprintf(f->dir, sizeof f->dir, "%.*s", (int)dir_n, f->path);
    if (slash == NULL) {
        (void)snprintf(f->dir, sizeof f->dir, ".");
    }
    cd_err e = cd_fs_mkdirs(cd_fs_real(), f->dir, DIR_MODE, why);
    if (e == CD_OK) {
        open_end(f);
        e = f->fd >= 0 ? CD_OK
                       : cd_fail(why, errno == EACCES ? CD_EACCES : CD_EIO, "%.150s: cannot be opened: %s", f->path,
                                 strerror(errno));
    }
    if (e != CD_OK) {
        cd_free(f);
        return e;
    }
    *out = f;
    return CD_OK;
}

void cd_log_file_close(cd_log_file *f)
{
    if (f != NULL) {
        if (f->fd >= 0) {
            (void)close(f->fd);
        }
        cd_free(f);
    }
}

void cd_log_file_reopen(cd_log_file *f)
{
    int before = f->fd;
    open_end(f);
    if (before >= 0) {
        (void)close(before);
    }
}

/* --- earlier files --- */

typedef struct cleaning {
    const cd_log_file *f;
    usize cnt;  /* earlier files */
    usize gone; /* how many of them are removed, the oldest first */
} cleaning;

/* Says whether path is an earlier file of this log: its stem, a time, ".log". */
static bool is_earlier(const cd_log_file *f, const char *path)
{
    usize stem = strlen(f->stem);
    usize n = strlen(path);
    return n == stem + 1 + CD_TIME_TEXT_LEN - 1 + 4 && strncmp(path, f->stem, stem) == 0 && path[stem] == '-' &&
           strcmp(path + n - 4, ".log") == 0;
}

static cd_err count(void *ctx, const char *path, cd_fs_kind kind)
{
    cleaning *c = ctx;
    c->cnt += kind == CD_FS_FILE && is_earlier(c->f, path);
    return CD_OK;
}

static cd_err clean(void *ctx, const char *path, cd_fs_kind kind)
{
    cleaning *c = ctx;
    cd_fs_stat st;
    u64 age_max = c->f->cfg.age_max_s;
    if (kind != CD_FS_FILE || !is_earlier(c->f, path)) {
        return CD_OK;
    }
    u64 wall = cd_clock_wall_ns(c->f->cfg.clock);
    bool is_old = age_max != 0 && cd_fs_stat_get(cd_fs_real(), &st, path, NULL) == CD_OK &&
                  st.mtime_ns / CD_NS_PER_SEC + age_max < wall / CD_NS_PER_SEC;
    if (is_old || c->gone != 0) {
        c->gone -= c->gone != 0;
        (void)unlink(path);
    }
    return CD_OK;
}

/* Removes earlier files that are too many or too old. Names ascend with time, so the first ones are the oldest. */
static void clean_up(const cd_log_file *f)
{
    cleaning c = {.f = f};
    if (f->cfg.files_max == 0 && f->cfg.age_max_s == 0) {
        return;
    }
    if (cd_fs_list(cd_fs_real(), f->dir, count, &c, NULL) == CD_OK) {
        c.gone = f->cfg.files_max != 0 && c.cnt > f->cfg.files_max ? c.cnt - f->cfg.files_max : 0;
        (void)!cd_fs_list(cd_fs_real(), f->dir, clean, &c, NULL);
    }
}

/* Renames main.log to main-2026-11-21T14-05-02.118.log and begins a new one. */
static void rotate(cd_log_file *f)
{
    char time[CD_TIME_TEXT_LEN + 1] = {0};
    char moved[PATH_MAX_LEN + 64];
    cd_time_fmt(time, cd_clock_wall_ns(f->cfg.clock));
    for (usize i = 0; time[i] != '\0'; i++) {
        if (time[i] == ':') {
            time[i] = '-';
        }
    }
    (void)snprintf(moved, sizeof moved, "%s-%.23s.log", f->stem, time);
    if (access(moved, F_OK) != 0 && rename(f->path, moved) == 0) {
        cd_log_file_reopen(f);
        clean_up(f);
    }
}

void cd_log_file_put(cd_log_file *f, cd_bytes line)
{
    if (f->cfg.bytes_max != 0 && f->bytes != 0 && f->bytes + line.n > f->cfg.bytes_max) {
        rotate(f);
    }
    for (usize at = 0; f->fd >= 0 && at < line.n;) {
        ssize_t n = write(f->fd, line.p + at, line.n - at);
        if (n < 0 && errno != EINTR) {
            return;
        }
        at += n < 0 ? 0 : (usize)n;
        f->bytes += n < 0 ? 0 : (u64)n;
    }
}
