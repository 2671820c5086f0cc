#define _GNU_SOURCE
#include "base/os/fileio.h"

#include "base/mem/arena.h"
#include "base/mem/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WALK_DEPTH_MAX = 64, READ_STEP = 64 * 1024 };

cd_fs *cd_fs_real(void)
{
    static cd_fs real;
    return &real;
}

static int faulty(cd_fs *fs, cd_fs_op op, usize *len)
{
    cd_fs_faulty *f = (cd_fs_faulty *)(void *)fs;
    if (op != f->op) {
        return 0;
    }
    f->seen++;
    if (f->seen != f->at && !(f->is_sticky && f->seen > f->at)) {
        return 0;
    }
    if (f->err == 0 && *len > 1) {
        *len = 1;
    }
    return f->err;
}

void cd_fs_faulty_init(cd_fs_faulty *f, cd_fs_op op, u64 at, int err)
{
    *f = (cd_fs_faulty){.fs = {.fault = faulty}, .op = op, .at = at, .err = err};
}

/* Asks the fault of fs: true when the call must not happen; errno then says why. */
static bool is_refused(cd_fs *fs, cd_fs_op op, usize *len)
{
    usize one = 1;
    int err = fs->fault == NULL ? 0 : fs->fault(fs, op, len == NULL ? &one : len);
    if (err != 0) {
        errno = err;
    }
    return err != 0;
}

/* The system calls, each behind its door; -1 and errno on failure, restarted after EINTR. */

static int door_open(cd_fs *fs, const char *path, int flags, u32 mode)
{
    int fd;
    do {
        fd = is_refused(fs, CD_FS_OPEN, NULL) ? -1 : open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static ssize_t door_read(cd_fs *fs, int fd, void *out, usize n)
{
    ssize_t got;
    do {
        usize len = n;
        got = is_refused(fs, CD_FS_READ, &len) ? -1 : read(fd, out, len);
    } while (got < 0 && errno == EINTR);
    return got;
}

static ssize_t door_write(cd_fs *fs, int fd, const void *p, usize n)
{
    ssize_t put;
    do {
        usize len = n;
        put = is_refused(fs, CD_FS_WRITE, &len) ? -1 : write(fd, p, len);
    } while (put < 0 && errno == EINTR);
    return put;
}

static int door_sync(cd_fs *fs, int fd)
{
    int rc;
    do {
        rc = is_refused(fs, CD_FS_SYNC, NULL) ? -1 : fsync(fd);
    } while (rc < 0 && errno == EINTR);
    return rc;
}

static int door_rename(cd_fs *fs, const char *from, const char *to)
{
    return is_refused(fs, CD_FS_RENAME, NULL) ? -1 : rename(from, to);
}

static int door_mkdir(cd_fs *fs, const char *path, u32 mode)
{
    return is_refused(fs, CD_FS_MKDIR, NULL) ? -1 : mkdir(path, mode);
}

static int door_remove(cd_fs *fs, const char *path)
{
    return is_refused(fs, CD_FS_UNLINK, NULL) ? -1 : remove(path);
}

static int door_stat(cd_fs *fs, struct stat *st, const char *path, bool follow)
{
    if (is_refused(fs, CD_FS_STAT, NULL)) {
        return -1;
    }
    return follow ? stat(path, st) : lstat(path, st);
}

/* Turns errno into an error of ours with a message. */
static cd_err fail(cd_errinfo *why, const char *path, const char *doing)
{
    int e = errno;
    cd_err err = CD_EIO;
    if (e == ENOENT || e == ENOTDIR) {
        err = CD_ENOENT;
    } else if (e == EEXIST) {
        err = CD_EEXIST;
    } else if (e == EACCES || e == EPERM || e == EROFS) {
        err = CD_EACCES;
    } else if (e == ENOSPC || e == EDQUOT) {
        err = CD_ENOSPC;
    }
    return cd_fail(why, err, "%s: cannot %s: %s", path, doing, strerror(e));
}

cd_err cd_fs_read_file(cd_fs *fs, cd_buf *out, const char *path, usize max, cd_errinfo *why)
{
    usize before = out->n;
    cd_err err = CD_OK;
    int fd = door_open(fs, path, O_RDONLY, 0);
    if (fd < 0) {
        return fail(why, path, "open");
    }
    for (;;) {
        /* Asks for one byte more than allowed, to notice a file that is too large. */
        usize left = max - (out->n - before);
        usize step = left < READ_STEP ? left + 1 : READ_STEP;
        ssize_t got = door_read(fs, fd, cd_buf_reserve(out, step), step);
        if (got < 0) {
            err = fail(why, path, "read");
            break;
        }
        if ((usize)got > left) {
            err = cd_fail(why, CD_ELIMIT, "%s: larger than the %zu bytes allowed", path, max);
            break;
        }
        if (got == 0) {
            break;
        }
        out->n += (usize)got;
    }
    (void)close(fd);
    if (err != CD_OK) {
        out->n = before;
    }
    return err;
}

cd_err cd_fs_read_at(cd_fs *fs, cd_buf *out, const char *path, u64 offset, usize n, cd_errinfo *why)
{
    usize before = out->n;
    cd_err err = CD_OK;
    int fd = door_open(fs, path, O_RDONLY, 0);
    if (fd < 0) {
        return fail(why, path, "open");
    }
    if (offset > INT64_MAX || lseek(fd, (off_t)offset, SEEK_SET) < 0) {
        err = fail(why, path, "seek in");
    }
    while (err == CD_OK && out->n - before < n) {
        usize left = n - (out->n - before);
        usize step = left < READ_STEP ? left : READ_STEP;
        ssize_t got = door_read(fs, fd, cd_buf_reserve(out, step), step);
        if (got < 0) {
            err = fail(why, path, "read");
        } else if (got == 0) {
            err = cd_fail(why, CD_ESHORT, "%s: ends before byte %llu", path, (unsigned long long)offset + n);
        } else {
            out->n += (usize)got;
        }
    }
    (void)close(fd);
    if (err != CD_OK) {
        out->n = before;
    }
    return err;
}

static cd_err write_all(cd_fs *fs, int fd, cd_bytes data, const char *path, cd_errinfo *why)
{
    while (data.n != 0) {
        ssize_t put = door_write(fs, fd, data.p, data.n);
        if (put < 0) {
            return fail(why, path, "write");
        }
        data = cd_bytes_sub(data, (usize)put, data.n - (usize)put);
    }
    return CD_OK;
}

/* Makes the entries of the directory that holds path durable. */
static cd_err sync_parent(cd_fs *fs, const char *path, cd_errinfo *why)
{
    cd_buf dir = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        cd_buf_str(&dir, ".");
    } else {
        cd_buf_put(&dir, cd_bytes_of(path, slash == path ? 1 : (usize)(slash - path)));
    }
    const char *name = cd_buf_cstr(&dir);
    cd_err err = CD_OK;
    int fd = door_open(fs, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        err = fail(why, name, "open");
    } else {
        if (door_sync(fs, fd) != 0) {
            err = fail(why, name, "sync");
        }
        (void)close(fd);
    }
    cd_buf_fini(&dir);
    return err;
}

cd_err cd_fs_replace_file(cd_fs *fs, const char *path, cd_bytes data, u32 mode, cd_errinfo *why)
{
    cd_err err = CD_OK;
    cd_buf tmp = {0};
    /* The name is fixed, so that what a crash leaves behind is overwritten and not collected. */
    cd_buf_fmt(&tmp, "%s.new", path);
    const char *name = cd_buf_cstr(&tmp);
    int fd = door_open(fs, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode);
    if (fd < 0) {
        err = fail(why, name, "create");
        goto out;
    }
    /* A left-over file keeps its old mode and the umask narrows a new one. */
    if (fchmod(fd, mode) != 0) {
        err = fail(why, name, "set the mode");
        goto out;
    }
    err = write_all(fs, fd, data, name, why);
    if (err != CD_OK) {
        goto out;
    }
    if (door_sync(fs, fd) != 0) {
        err = fail(why, name, "sync");
        goto out;
    }
    if (door_rename(fs, name, path) != 0) {
        err = fail(why, path, "replace");
        goto out;
    }
    err = sync_parent(fs, path, why);
out:
    if (fd >= 0) {
        (void)close(fd);
    }
    if (err != CD_OK && fd >= 0) {
        (void)unlink(name);
    }
    cd_buf_fini(&tmp);
    return err;
}

cd_err cd_fs_out_open(cd_fs_out *out, cd_fs *fs, const char *path, u32 mode, cd_errinfo *why)
{
    int fd = door_open(fs, path, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd < 0) {
        return fail(why, path, "create");
    }
    *out = (cd_fs_out){.fs = fs, .path = path, .fd = fd};
    return CD_OK;
}

cd_err cd_fs_out_put(cd_fs_out *out, cd_bytes data, cd_errinfo *why)
{
    return write_all(out->fs, out->fd, data, out->path, why);
}

cd_err cd_fs_out_close(cd_fs_out *out, cd_errinfo *why)
{
    if (door_sync(out->fs, out->fd) != 0) {
        return fail(why, out->path, "sync");
    }
    CD_TRY(sync_parent(out->fs, out->path, why));
    (void)close(out->fd);
    out->fd = -1;
    return CD_OK;
}

void cd_fs_out_drop(cd_fs_out *out)
{
    (void)close(out->fd);
    out->fd = -1;
    (void)door_remove(out->fs, out->path);
}

cd_err cd_fs_cell_open(cd_fs_cell *out, cd_fs *fs, const char *path, usize size, u32 mode, cd_errinfo *why)
{
    struct stat st;
    if (door_stat(fs, &st, path, true) != 0) {
        if (errno != ENOENT) {
            return fail(why, path, "look at");
        }
        cd_buf zeros = {0};
        cd_buf_fill(&zeros, 0, size);
        cd_err e = cd_fs_replace_file(fs, path, cd_buf_bytes(&zeros), mode, why);
        cd_buf_fini(&zeros);
        CD_TRY(e);
    }
    int fd = door_open(fs, path, O_RDWR, mode);
    if (fd < 0) {
        return fail(why, path, "open");
    }
    *out = (cd_fs_cell){.fs = fs, .fd = fd};
    return CD_OK;
}

cd_err cd_fs_cell_write(cd_fs_cell *c, u64 at, cd_bytes data, cd_errinfo *why)
{
    while (data.n != 0) {
        usize n = data.n;
        ssize_t did = is_refused(c->fs, CD_FS_WRITE, &n) ? -1 : pwrite(c->fd, data.p, n, (off_t)at);
        if (did < 0 && errno == EINTR) {
            continue;
        }
        if (did <= 0) {
            return fail(why, "a file", "write");
        }
        at += (u64)did;
        data = cd_bytes_sub(data, (usize)did, data.n - (usize)did);
    }
    return CD_OK;
}

cd_err cd_fs_cell_sync(cd_fs_cell *c, cd_errinfo *why)
{
    return door_sync(c->fs, c->fd) == 0 ? CD_OK : fail(why, "a file", "sync");
}

void cd_fs_cell_close(cd_fs_cell *c)
{
    if (c->fd >= 0) {
        (void)close(c->fd);
        c->fd = -1;
    }
}

/* Makes one directory, whose parent exists; an existing directory is success. */
static cd_err mkdir_one(cd_fs *fs, const char *path, u32 mode, cd_errinfo *why)
{
    struct stat st;
    if (door_mkdir(fs, path, mode) == 0) {
        return sync_parent(fs, path, why);
    }
    if (errno == EEXIST) {
        if (door_stat(fs, &st, path, true) == 0 && S_ISDIR(st.st_mode)) {
            return CD_OK;
        }
        return cd_fail(why, CD_EEXIST, "%s: exists and is no directory", path);
    }
    return fail(why, path, "make the directory");
}

cd_err cd_fs_mkdirs(cd_fs *fs, const char *path, u32 mode, cd_errinfo *why)
{
    cd_err err = CD_OK;
    cd_buf b = {0};
    cd_buf_str(&b, path);
    while (b.n > 1 && b.p[b.n - 1] == '/') {
        b.n--;
    }
    (void)cd_buf_cstr(&b);
    /* Makes the directory of each prefix that ends before a slash, then the whole path. */
    for (usize i = 1; i <= b.n && err == CD_OK; i++) {
        if (i == b.n || (b.p[i] == '/' && b.p[i - 1] != '/')) {
            u8 cut = b.p[i];
            struct stat st;
            b.p[i] = '\0';
            const char *part = (const char *)b.p;
            if (i == b.n || door_stat(fs, &st, part, true) != 0) {
                err = mkdir_one(fs, part, mode, why);
            }
            b.p[i] = cut;
        }
    }
    cd_buf_fini(&b);
    return err;
}

static cd_fs_kind kind_of(const struct stat *st)
{
    return S_ISREG(st->st_mode) ? CD_FS_FILE : S_ISDIR(st->st_mode) ? CD_FS_DIR : CD_FS_OTHER;
}

cd_err cd_fs_stat_get(cd_fs *fs, cd_fs_stat *out, const char *path, cd_errinfo *why)
{
    struct stat st;
    if (door_stat(fs, &st, path, true) != 0) {
        return fail(why, path, "look at it");
    }
    cd_fs_kind kind = kind_of(&st);
    *out = (cd_fs_stat){
        .kind = kind,
        .size = kind == CD_FS_FILE ? (u64)st.st_size : 0,
        .mtime_ns = (u64)st.st_mtim.tv_sec * 1000000000u + (u64)st.st_mtim.tv_nsec,
    };
    return CD_OK;
}

/* The sorted names of one directory and how far the walk is in it. */
typedef struct level {
    char **names;
    usize cnt;
    usize at;
    usize path_len; /* bytes of the directory's own path in the walk's buffer */
    cd_arena_mark mark;
} level;

static int name_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static cd_err level_read(cd_fs *fs, level *out, cd_arena *a, cd_buf *path, cd_errinfo *why)
{
    const char *name = cd_buf_cstr(path);
    level l = {.path_len = path->n, .mark = cd_arena_mark_get(a)};
    DIR *d = is_refused(fs, CD_FS_LIST, NULL) ? NULL : opendir(name);
    if (d == NULL) {
        return fail(why, name, "list");
    }
    cd_buf names = {0};
    cd_err err = CD_OK;
    for (;;) {
        errno = 0;
        const struct dirent *e = is_refused(fs, CD_FS_LIST, NULL) ? NULL : readdir(d);
        if (e == NULL) {
            err = errno == 0 ? CD_OK : fail(why, name, "list");
            break;
        }
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            char *copy = cd_arena_str(a, cd_bytes_str(e->d_name));
            cd_buf_put(&names, cd_bytes_of(&copy, sizeof copy));
            l.cnt++;
        }
    }
    (void)closedir(d);
    if (err == CD_OK && l.cnt != 0) {
        l.names = cd_arena_array(a, char *, l.cnt);
        memcpy(l.names, names.p, names.n);
        qsort(l.names, l.cnt, sizeof *l.names, name_cmp);
    }
    cd_buf_fini(&names);
    if (err == CD_OK) {
        *out = l;
    }
    return err;
}

/* Visits root and everything below, directories before their contents, or after them when last is set; then visit may
 * remove what it is given. */
static cd_err walk(cd_fs *fs, const char *root, bool last, cd_fs_visit *visit, void *ctx, cd_errinfo *why)
{
    struct stat st;
    if (door_stat(fs, &st, root, !last) != 0) {
        return fail(why, root, "look at it");
    }
    if (!S_ISDIR(st.st_mode)) {
        return visit(ctx, root, kind_of(&st));
    }
    level levels[WALK_DEPTH_MAX] = {0};
    usize depth = 0;
    cd_arena a = {0};
    cd_buf path = {0};
    cd_err err = CD_OK;

    cd_buf_str(&path, root);
    if (!last) {
        err = visit(ctx, root, CD_FS_DIR);
    }
    if (err == CD_OK) {
        err = level_read(fs, &levels[0], &a, &path, why);
        depth = err == CD_OK ? 1 : 0;
    }
    while (depth != 0 && err == CD_OK) {
        level *l = &levels[depth - 1];
        path.n = l->path_len;
        if (l->at == l->cnt) {
            cd_arena_rewind(&a, l->mark);
            depth--;
            err = last ? visit(ctx, cd_buf_cstr(&path), CD_FS_DIR) : CD_OK;
            continue;
        }
        if (path.n != 0 && path.p[path.n - 1] != '/') {
            cd_buf_u8(&path, '/');
        }
        cd_buf_str(&path, l->names[l->at++]);
        const char *name = cd_buf_cstr(&path);
        if (door_stat(fs, &st, name, false) != 0) {
            err = fail(why, name, "look at it");
        } else if (!S_ISDIR(st.st_mode)) {
            err = visit(ctx, name, kind_of(&st));
        } else if (depth == WALK_DEPTH_MAX) {
            err = cd_fail(why, CD_EDEPTH, "%s: nested too deeply", name);
        } else {
            err = last ? CD_OK : visit(ctx, name, CD_FS_DIR);
            if (err == CD_OK) {
                err = level_read(fs, &levels[depth], &a, &path, why);
                depth += err == CD_OK ? 1 : 0;
            }
        }
    }
    cd_buf_fini(&path);
    cd_arena_fini(&a);
    return err;
}

cd_err cd_fs_walk(cd_fs *fs, const char *path, cd_fs_visit *visit, void *ctx, cd_errinfo *why)
{
    return walk(fs, path, false, visit, ctx, why);
}

cd_err cd_fs_list(cd_fs *fs, const char *path, cd_fs_visit *visit, void *ctx, cd_errinfo *why)
{
    level l = {0};
    cd_arena a = {0};
    cd_buf name = {0};
    cd_buf_str(&name, path);
    cd_err err = level_read(fs, &l, &a, &name, why);
    cd_buf_str(&name, path[0] != '\0' && path[strlen(path) - 1] == '/' ? "" : "/");
    usize dir_n = name.n;
    for (usize i = 0; err == CD_OK && i < l.cnt; i++) {
        struct stat st;
        name.n = dir_n;
        cd_buf_str(&name, l.names[i]);
        const char *one = cd_buf_cstr(&name);
        if (door_stat(fs, &st, one, false) == 0) {
            err = visit(ctx, one, kind_of(&st));
        } else if (errno != ENOENT) {
            err = fail(why, one, "look at it");
        }
    }
    cd_buf_fini(&name);
    cd_arena_fini(&a);
    return err;
}

typedef struct removal {
    cd_fs *fs;
    cd_errinfo *why;
} removal;

static cd_err remove_visit(void *ctx, const char *path, cd_fs_kind kind)
{
    const removal *r = ctx;
    (void)kind;
    return door_remove(r->fs, path) == 0 ? CD_OK : fail(r->why, path, "remove");
}

cd_err cd_fs_remove_tree(cd_fs *fs, const char *path, cd_errinfo *why)
{
    removal r = {.fs = fs, .why = why};
    struct stat st;
    if (door_stat(fs, &st, path, false) != 0) {
        return errno == ENOENT ? CD_OK : fail(why, path, "look at it");
    }
    return walk(fs, path, true, remove_visit, &r, why);
}

cd_err cd_dirlock_take(cd_fs *fs, cd_dirlock *out, const char *dir, cd_errinfo *why)
{
    cd_err err = CD_OK;
    cd_buf path = {0};
    cd_buf_fmt(&path, "%s/LOCK", dir);
    const char *name = cd_buf_cstr(&path);
    int fd = door_open(fs, name, O_RDWR | O_CREAT, 0600);
    if (fd < 0) {
        err = fail(why, name, "open");
    } else if (is_refused(fs, CD_FS_LOCK, NULL) || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        err = errno == EWOULDBLOCK ? cd_fail(why, CD_EBUSY, "%s: in use by another process", dir)
                                   : fail(why, name, "lock");
        (void)close(fd);
    } else {
        out->fd = fd;
    }
    cd_buf_fini(&path);
    return err;
}

void cd_dirlock_release(cd_dirlock *l)
{
    if (l->fd >= 0) {
        (void)close(l->fd);
        l->fd = -1;
    }
}
