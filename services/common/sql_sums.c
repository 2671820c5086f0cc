#include "services/common/sql_sums_priv.h"

#include "base/bytes.h"

#include <sqlite3.h>

#include <pthread.h>
#include <string.h>

enum { SUM = 8, PAGE_MIN = 512, RESERVED_AT = 20, HEADER = 100 };

static const char name[] = "candela-sums";
static sqlite3_vfs *below; /* SQLite's own */
static sqlite3_vfs sums;

/* A database file; the file of the VFS below lies behind it. Logs and the like are opened there alone. */
typedef struct file {
    sqlite3_file base; /* first */
    bool has_sums;
} file;

static sqlite3_file *real_of(sqlite3_file *f)
{
    return (sqlite3_file *)(void *)((file *)(void *)f + 1);
}

/* The sum of SQLite's log [https://sqlite.org/fileformat2.html 4.2], little-endian everywhere. It starts with the place
 * of the page, so that one that was written somewhere else does not pass. */
static u64 sum_of(const u8 *page, usize n, sqlite3_int64 at)
{
    u32 s1 = (u32)at;
    u32 s2 = (u32)((u64)at >> 32) ^ 0x5bd1e995;
    for (usize i = 0; i < n; i += 8) {
        s1 += cd_le32(page + i) + s2;
        s2 += cd_le32(page + i + 4) + s1;
    }
    return (u64)s2 << 32 | s1;
}

static bool is_page(int n)
{
    return n >= PAGE_MIN && (n & (n - 1)) == 0;
}

static bool is_whole(const u8 *page, int n, sqlite3_int64 at)
{
    usize end = (usize)n - SUM;
    return cd_le64(page + end) == sum_of(page, end, at);
}

/* The first page says whether there are sums. One that says no, and has the sum of one that says yes, is damaged just
 * there. */
static bool was_turned_off(u8 *page, int n)
{
    u8 said = page[RESERVED_AT];
    page[RESERVED_AT] = SUM;
    bool is_hurt = said != SUM && is_whole(page, n, 0);
    page[RESERVED_AT] = said;
    return is_hurt;
}

static int read_at(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
    file *own = (file *)(void *)f;
    u8 *p = buf;
    int rc = real_of(f)->pMethods->xRead(real_of(f), buf, n, at);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (at == 0 && n >= HEADER) {
        own->has_sums = p[RESERVED_AT] == SUM;
    }
    if (!is_page(n)) {
        return SQLITE_OK;
    }
    if (own->has_sums) {
        return is_whole(p, n, at) ? SQLITE_OK : SQLITE_IOERR_DATA;
    }
    return at == 0 && was_turned_off(p, n) ? SQLITE_IOERR_DATA : SQLITE_OK;
}

static int write_at(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
    file *own = (file *)(void *)f;
    u8 *p = (u8 *)(uintptr_t)buf; /* the page is SQLite's memory, and its last bytes are ours */
    if (at == 0 && n >= HEADER) {
        own->has_sums = p[RESERVED_AT] == SUM;
    }
    if (own->has_sums && is_page(n)) {
        cd_put_le64(p + n - SUM, sum_of(p, (usize)n - SUM, at));
    }
    return real_of(f)->pMethods->xWrite(real_of(f), buf, n, at);
}

/* --- what goes through --- */

static int close_it(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int cut(sqlite3_file *f, sqlite3_int64 size)
{
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int sync_it(sqlite3_file *f, int flags)
{
    return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int size_of(sqlite3_file *f, sqlite3_int64 *out)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), out);
}

static int lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int is_reserved(sqlite3_file *f, int *out)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int traits(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int shm_map(sqlite3_file *f, int region, int size, int may_extend, void volatile **out)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), region, size, may_extend, out);
}

static int shm_lock(sqlite3_file *f, int from, int cnt, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), from, cnt, flags);
}

static void shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int shm_unmap(sqlite3_file *f, int does_delete)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), does_delete);
}

/* Version 2: no memory maps, whose pages nobody would have looked at. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close_it,
    .xRead = read_at,
    .xWrite = write_at,
    .xTruncate = cut,
    .xSync = sync_it,
    .xFileSize = size_of,
    .xLock = lock,
    .xUnlock = unlock,
    .xCheckReservedLock = is_reserved,
    .xFileControl = control,
    .xSectorSize = sector,
    .xDeviceCharacteristics = traits,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int open_it(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out_flags)
{
    (void)vfs;
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
        return below->xOpen(below, path, f, flags, out_flags);
    }
    memset(f, 0, sizeof(file));
    int rc = below->xOpen(below, path, real_of(f), flags, out_flags);
    f->pMethods = rc == SQLITE_OK ? &methods : NULL;
    return rc;
}

static void register_it(void)
{
    below = sqlite3_vfs_find(NULL);
    if (below == NULL) {
        return;
    }
    sums = *below; /* everything else is done as ever: with its own pAppData, by its own functions */
    sums.zName = name;
    sums.szOsFile = (int)sizeof(file) + below->szOsFile;
    sums.xOpen = open_it;
    sums.pNext = NULL;
    if (sqlite3_vfs_register(&sums, 0) != SQLITE_OK) {
        below = NULL;
    }
}

const char *cd__sql_sums_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, register_it);
    return below == NULL ? NULL : name;
}

void cd__sql_sums_begin(sqlite3 *db)
{
    int n = SUM;
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &n);
}
