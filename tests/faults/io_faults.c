#include "io_faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FDS = 4096 };

static const char *root; /* NULL: nothing is watched */
static usize root_n;
static io_state *state; /* NULL: preloaded */
static const char *when_full;
static const char *when_broken;
static _Atomic(u32) seen[IO_LANES];
static atomic_bool is_hit;
static _Atomic(u8) below[FDS]; /* descriptors of files below the root */

#define REAL(name)                                                                                                     \
    static __typeof__(name) *real;                                                                                     \
    if (real == NULL) {                                                                                                \
        *(void **)(&real) = dlsym(RTLD_NEXT, #name);                                                                   \
    }

/* --- what is planned --- */

const char *io_fault_name(io_fault f)
{
    static const char *const names[IO_FAULTS] = {"none",  "EIO",         "ENOSPC",     "EINTR",
                                                 "short", "kill before", "kill after", "kill in the middle"};
    return names[f];
}

static bool needs_space(io_op op)
{
    return op == IO_CREATE || op == IO_WRITE || op == IO_GROW || op == IO_RENAME || op == IO_MKDIR;
}

bool io_fault_fits(io_fault f, io_op op)
{
    switch (f) {
    case IO_NONE:
    case IO_FAULTS:
        return false;
    case IO_EIO:
    case IO_KILL_BEFORE:
        return true;
    case IO_ENOSPC:
        return needs_space(op) || op == IO_SYNC;
    case IO_EINTR: /* the calls that may be interrupted on a local file system */
        return op == IO_OPEN || op == IO_CREATE || op == IO_READ || op == IO_WRITE;
    case IO_SHORT:
        return op == IO_READ || op == IO_WRITE;
    case IO_KILL_AFTER: /* changes nothing that "before the next call" would not show, but for what changes the disk */
        return needs_space(op) || op == IO_UNLINK;
    case IO_KILL_TORN:
        return op == IO_WRITE;
    }
    return false;
}

static bool path_exists(const char *path)
{
    return path != NULL && syscall(SYS_access, path, F_OK) == 0;
}

static void die(void)
{
    (void)syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) {
        (void)pause();
    }
}

/* Counts a call; gives what is to happen to it. */
static io_fault next_fault(io_op op, const char *name, const char *path)
{
    if (state == NULL) {
        if ((op == IO_CREATE || op == IO_MKDIR) && path_exists(path)) {
            return IO_NONE;
        }
        if (needs_space(op) && path_exists(when_full)) {
            return IO_ENOSPC;
        }
        return (op == IO_WRITE || op == IO_SYNC) && path_exists(when_broken) ? IO_EIO : IO_NONE;
    }
    u32 lane = syscall(SYS_gettid) == getpid() ? 0 : 1;
    u32 n = atomic_fetch_add(&seen[lane], 1) + 1;
    state->seen[lane] = n;
    if (n <= IO_LOG) {
        state->ops[lane][n - 1] = (u8)op;
    }
    if (lane != state->lane || n < state->at || !io_fault_fits(state->fault, op) || atomic_exchange(&is_hit, true)) {
        return IO_NONE;
    }
    state->is_hit = true;
    (void)snprintf(state->what, sizeof state->what, "%s %.100s", name, path);
    if (state->fault == IO_KILL_BEFORE) {
        die();
    }
    return state->fault;
}

static const char *fd_name(char out[IO_WHAT], int fd)
{
    char link[40];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlink, link, out, IO_WHAT - 1);
    out[n < 0 ? 0 : n] = '\0';
    return out;
}

static io_fault fd_fault(io_op op, const char *name, int fd)
{
    char path[IO_WHAT];
    if (root == NULL || fd < 0 || fd >= FDS || atomic_load(&below[fd]) == 0) {
        return IO_NONE;
    }
    return next_fault(op, name, fd_name(path, fd));
}

static io_fault path_fault(io_op op, const char *name, const char *path)
{
    return root == NULL || strncmp(path, root, root_n) != 0 ? IO_NONE : next_fault(op, name, path);
}

/* True when the call is to fail; errno says how. */
static bool fails(io_fault f)
{
    bool is_error = f == IO_EIO || f == IO_ENOSPC || f == IO_EINTR;
    if (is_error) {
        errno = f == IO_EIO ? EIO : f == IO_ENOSPC ? ENOSPC : EINTR;
    }
    return is_error;
}

/* How much of n bytes is read or written. */
static usize part(io_fault f, usize n)
{
    return f == IO_SHORT && n > 1 ? 1 : f == IO_KILL_TORN ? n / 2 : n;
}

static void after(io_fault f)
{
    if (f == IO_KILL_AFTER || f == IO_KILL_TORN) {
        die();
    }
}

void io_faults_watch(const char *dir, io_state *st)
{
    state = st;
    root_n = strlen(dir);
    root = dir;
}

void io_faults_end(void)
{
    root = NULL;
}

__attribute__((constructor)) static void from_environment(void)
{
    when_full = getenv("IO_FAULTS_FULL");
    when_broken = getenv("IO_FAULTS_BROKEN");
    const char *dir = getenv("IO_FAULTS_DIR");
    if (dir != NULL) {
        root_n = strlen(dir);
        root = dir;
    }
}

/* --- files by name --- */

static int opened(int fd, const char *path, io_fault f)
{
    if (root != NULL && fd >= 0 && fd < FDS) {
        atomic_store(&below[fd], strncmp(path, root, root_n) == 0);
    }
    after(f);
    return fd;
}

static io_op open_op(int flags)
{
    return (flags & O_CREAT) != 0 ? IO_CREATE : IO_OPEN;
}

/* Under libc's names; the third argument comes in the same place whether or not it is declared. */
int io_open(const char *path, int flags, mode_t mode) __asm__("open");
int io_open64(const char *path, int flags, mode_t mode) __asm__("open64");

int io_open(const char *path, int flags, mode_t mode)
{
    REAL(open)
    io_fault f = path_fault(open_op(flags), "open", path);
    return fails(f) ? -1 : opened(real(path, flags, mode), path, f);
}

int io_open64(const char *path, int flags, mode_t mode)
{
    return io_open(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen)
    io_fault f = path_fault(mode[0] == 'r' ? IO_OPEN : IO_CREATE, "fopen", path);
    if (fails(f)) {
        return NULL;
    }
    FILE *s = real(path, mode);
    after(f);
    return s;
}

int rename(const char *from, const char *to)
{
    REAL(rename)
    io_fault f = path_fault(IO_RENAME, "rename", to);
    if (fails(f)) {
        return -1;
    }
    int rc = real(from, to);
    after(f);
    return rc;
}

int link(const char *from, const char *to)
{
    REAL(link)
    io_fault f = path_fault(IO_CREATE, "link", to);
    if (fails(f)) {
        return -1;
    }
    int rc = real(from, to);
    after(f);
    return rc;
}

int unlink(const char *path)
{
    REAL(unlink)
    io_fault f = path_fault(IO_UNLINK, "unlink", path);
    if (fails(f)) {
        return -1;
    }
    int rc = real(path);
    after(f);
    return rc;
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir)
    io_fault f = path_fault(IO_MKDIR, "mkdir", path);
    if (fails(f)) {
        return -1;
    }
    int rc = real(path, mode);
    after(f);
    return rc;
}

/* The engine waits for room before it tries again. */
int statvfs(const char *path, struct statvfs *out)
{
    REAL(statvfs)
    int rc = real(path, out);
    if (rc == 0 && path_exists(when_full)) {
        out->f_bfree = 0;
        out->f_bavail = 0;
    }
    return rc;
}

DIR *opendir(const char *path)
{
    REAL(opendir)
    return fails(path_fault(IO_LIST, "opendir", path)) ? NULL : real(path);
}

/* --- files by descriptor --- */

int close(int fd)
{
    REAL(close)
    if (fd >= 0 && fd < FDS) {
        atomic_store(&below[fd], 0);
    }
    return real(fd);
}

ssize_t read(int fd, void *out, size_t n)
{
    REAL(read)
    io_fault f = fd_fault(IO_READ, "read", fd);
    return fails(f) ? -1 : real(fd, out, part(f, n));
}

ssize_t pread(int fd, void *out, size_t n, off_t at)
{
    REAL(pread)
    io_fault f = fd_fault(IO_READ, "pread", fd);
    return fails(f) ? -1 : real(fd, out, part(f, n), at);
}

ssize_t write(int fd, const void *p, size_t n)
{
    REAL(write)
    io_fault f = fd_fault(IO_WRITE, "write", fd);
    if (fails(f)) {
        return -1;
    }
    ssize_t put = real(fd, p, part(f, n));
    after(f);
    return put;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    REAL(pwrite)
    io_fault f = fd_fault(IO_WRITE, "pwrite", fd);
    if (fails(f)) {
        return -1;
    }
    ssize_t put = real(fd, p, part(f, n), at);
    after(f);
    return put;
}

static int sync_fault(const char *name, int fd)
{
    return fails(fd_fault(IO_SYNC, name, fd)) ? -1 : 0;
}

int fsync(int fd)
{
    return sync_fault("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_fault("fdatasync", fd);
}

int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags)
{
    (void)at;
    (void)n;
    /* Without flags it is the engine's question whether there is such a call. */
    return flags == 0 ? 0 : sync_fault("sync_file_range", fd);
}

int ftruncate(int fd, off_t n)
{
    REAL(ftruncate)
    io_fault f = fd_fault(IO_GROW, "ftruncate", fd);
    if (fails(f)) {
        return -1;
    }
    int rc = real(fd, n);
    after(f);
    return rc;
}

int fallocate(int fd, int mode, off_t at, off_t n)
{
    REAL(fallocate)
    io_fault f = fd_fault(IO_GROW, "fallocate", fd);
    if (fails(f)) {
        return -1;
    }
    int rc = real(fd, mode, at, n);
    after(f);
    return rc;
}

/* --- streams on descriptors --- */

static ssize_t stream_read(void *cookie, char *out, size_t n)
{
    return read((int)(uintptr_t)cookie, out, n);
}

static int stream_seek(void *cookie, off64_t *at, int whence)
{
    off64_t to = lseek64((int)(uintptr_t)cookie, *at, whence);
    *at = to < 0 ? *at : to;
    return to < 0 ? -1 : 0;
}

static int stream_close(void *cookie)
{
    return close((int)(uintptr_t)cookie);
}

/* libc's own stream would read past this file. */
FILE *fdopen(int fd, const char *mode)
{
    REAL(fdopen)
    if (root == NULL || fd < 0 || fd >= FDS || atomic_load(&below[fd]) == 0 || mode[0] != 'r') {
        return real(fd, mode);
    }
    cookie_io_functions_t io = {.read = stream_read, .seek = stream_seek, .close = stream_close};
    return fopencookie((void *)(uintptr_t)fd, "r", io);
}
