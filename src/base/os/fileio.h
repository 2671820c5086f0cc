/* base/os/fileio.h - the one door to files.
 *
 * Whole-file reads with a limit, replacement that is either the old or the new contents after any
 * crash, directory locks and sorted walks. Every system call passes through the cd_fs given by the
 * caller, where a test makes the n-th one fail, stop short or kill the process. The embedded
 * key-value engine keeps its own files. Threading: shared (a faulty cd_fs is confined).
 * [spec:architecture#9] */
#ifndef CD_BASE_FILEIO_H
#define CD_BASE_FILEIO_H

#include "base/mem/buf.h"

/* The kinds of system call a cd_fs sees. */
typedef enum cd_fs_op {
    CD_FS_OPEN,
    CD_FS_READ,
    CD_FS_WRITE,
    CD_FS_SYNC,
    CD_FS_RENAME,
    CD_FS_UNLINK,
    CD_FS_MKDIR,
    CD_FS_LIST,
    CD_FS_STAT,
    CD_FS_LOCK,
} cd_fs_op;

typedef struct cd_fs cd_fs;

/* fault is asked before each system call: 0 lets it happen, an errno value makes it fail with that.
 * For READ and WRITE it may lower *len (never to 0) to make the call stop short. NULL: no faults.
 */
struct cd_fs {
    int (*fault)(cd_fs *fs, cd_fs_op op, usize *len);
};

/* cd_fs_real gives the file system without faults; it lives for ever. */
cd_fs *cd_fs_real(void);

/* A file system for tests whose `at`-th call (from 1) of kind op fails with err, or, when err is 0,
 * reads or writes only one byte. Later calls succeed, unless is_sticky. Pass &f.fs. */
typedef struct cd_fs_faulty {
    cd_fs fs;
    cd_fs_op op;
    u64 at;
    int err;
    bool is_sticky;
    u64 seen; /* calls of kind op so far */
} cd_fs_faulty;

/* cd_fs_faulty_init sets up f; see cd_fs_faulty. */
void cd_fs_faulty_init(cd_fs_faulty *f, cd_fs_op op, u64 at, int err);

/* Errors of everything below: CD_ENOENT, CD_EEXIST, CD_EACCES, CD_ENOSPC, CD_EIO and what the
 * function names; `why` says which path and what the system answered. */

/* cd_fs_read_file appends the whole file to out. Errors: CD_ELIMIT when it holds more than max
 * bytes (out is unchanged on any error). */
cd_err cd_fs_read_file(cd_fs *fs, cd_buf *out, const char *path, usize max, cd_errinfo *why) CD_CHECK;

/* cd_fs_read_at appends n bytes of a file from offset on. Errors: CD_ESHORT where it ends before (out is unchanged on
 * any error). */
cd_err cd_fs_read_at(cd_fs *fs, cd_buf *out, const char *path, u64 offset, usize n, cd_errinfo *why) CD_CHECK;

/* cd_fs_replace_file makes path hold exactly data, atomically and durably: a temporary file beside
 * it is written, synced and renamed, then the directory is synced. mode as in chmod. */
cd_err cd_fs_replace_file(cd_fs *fs, const char *path, cd_bytes data, u32 mode, cd_errinfo *why) CD_CHECK;

/* A new file while it is written in pieces. */
typedef struct cd_fs_out {
    cd_fs *fs;
    const char *path; /* borrowed */
    int fd;
} cd_fs_out;

/* cd_fs_out_open makes the file path, which must not exist; _put appends to it, _close makes it durable. After any
 * error, or when the file is not wanted any more, _drop removes it instead. */
cd_err cd_fs_out_open(cd_fs_out *out, cd_fs *fs, const char *path, u32 mode, cd_errinfo *why) CD_CHECK;
cd_err cd_fs_out_put(cd_fs_out *out, cd_bytes data, cd_errinfo *why) CD_CHECK;
cd_err cd_fs_out_close(cd_fs_out *out, cd_errinfo *why) CD_CHECK;
void cd_fs_out_drop(cd_fs_out *out);

/* A small file of a fixed size that is written in place. */
typedef struct cd_fs_cell {
    cd_fs *fs;
    int fd;
} cd_fs_cell;

/* cd_fs_cell_open opens path, or makes it, size bytes of zeros, durably. _write replaces bytes: other processes see
 * them at once, and they outlive a crash of this process; _sync makes them outlive a crash of the machine. */
cd_err cd_fs_cell_open(cd_fs_cell *out, cd_fs *fs, const char *path, usize size, u32 mode, cd_errinfo *why) CD_CHECK;
cd_err cd_fs_cell_write(cd_fs_cell *c, u64 at, cd_bytes data, cd_errinfo *why) CD_CHECK;
cd_err cd_fs_cell_sync(cd_fs_cell *c, cd_errinfo *why) CD_CHECK;
void cd_fs_cell_close(cd_fs_cell *c);

/* cd_fs_mkdirs makes the directory and its missing parents; one that exists is fine. */
cd_err cd_fs_mkdirs(cd_fs *fs, const char *path, u32 mode, cd_errinfo *why) CD_CHECK;

/* cd_fs_remove_tree removes path and everything below; a path that is absent is fine. Symbolic
 * links are removed, not followed. */
cd_err cd_fs_remove_tree(cd_fs *fs, const char *path, cd_errinfo *why) CD_CHECK;

/* What a path names. */
typedef enum cd_fs_kind {
    CD_FS_FILE,
    CD_FS_DIR,
    CD_FS_OTHER,
} cd_fs_kind;

/* What is known of a path. */
typedef struct cd_fs_stat {
    cd_fs_kind kind;
    u64 size;     /* bytes of a file; 0 for anything else */
    u64 mtime_ns; /* when its contents (of a directory: its names) changed last, ns since 1970 by the wall clock */
} cd_fs_stat;

/* cd_fs_stat_get describes what path leads to (symbolic links are followed). */
cd_err cd_fs_stat_get(cd_fs *fs, cd_fs_stat *out, const char *path, cd_errinfo *why) CD_CHECK;

/* Called for each entry; anything but CD_OK ends the walk with that error. */
typedef cd_err cd_fs_visit(void *ctx, const char *path, cd_fs_kind kind);

/* cd_fs_walk visits path and everything below, a directory before its contents, names in byte
 * order; a path that is a file is visited alone. Symbolic links below path are visited as
 * CD_FS_OTHER. Errors: CD_EDEPTH beyond 64 levels. */
cd_err cd_fs_walk(cd_fs *fs, const char *path, cd_fs_visit *visit, void *ctx, cd_errinfo *why) CD_CHECK;

/* cd_fs_list visits what is in the directory path itself, names in byte order, by their whole paths; symbolic links as
 * CD_FS_OTHER. What vanishes meanwhile is left out. */
cd_err cd_fs_list(cd_fs *fs, const char *path, cd_fs_visit *visit, void *ctx, cd_errinfo *why) CD_CHECK;

/* A directory that this process alone uses. */
typedef struct cd_dirlock {
    int fd;
} cd_dirlock;

/* cd_dirlock_take locks the existing directory dir by its file "LOCK", until release or the end of
 * the process. Errors: CD_EBUSY when another process (or another lock of this one) holds it. */
cd_err cd_dirlock_take(cd_fs *fs, cd_dirlock *out, const char *dir, cd_errinfo *why) CD_CHECK;
void cd_dirlock_release(cd_dirlock *l);

#endif
