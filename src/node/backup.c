#include "node/backup.h"

#include "base/os/fileio.h"
#include "codec/json.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_MAX_LEN = 64, INFO_MAX = 4096, GENESIS_MAX = 256 << 20, DIR_MODE = 0700, FILE_MODE = 0600 };

#define FOLDER  "backups"
#define LAST    "backup_metadata.json"
#define OWN     "backup.json"
#define WAITING "RESTORE"

/* --- names --- */

static cd_err check_name(cd_bytes name, cd_errinfo *why)
{
    bool is_good = name.n != 0 && name.n <= NAME_MAX_LEN;
    for (usize i = 0; i < name.n && is_good; i++) {
        u8 c = name.p[i];
        is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    }
    return is_good ? CD_OK
                   : cd_fail(why, CD_EINVAL,
                             "path: the name of a backup is up to %d letters, digits, - and _; it goes "
                             "to the folder %s of the network",
                             NAME_MAX_LEN, FOLDER);
}

static cd_err move(const char *from, const char *to, cd_errinfo *why)
{
    return rename(from, to) == 0 ? CD_OK : cd_fail(why, CD_EIO, "%s: cannot be renamed (error %d)", from, errno);
}

static bool is_there(const char *path)
{
    cd_fs_stat st;
    return cd_fs_stat_get(cd_fs_real(), &st, path, NULL) == CD_OK;
}

/* --- what is known --- */

static void put_info(cd_buf *out, const cd_backup_info *i)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "lastVersion", i->version);
    cd_json_put_u64(&w, "lastBackupTime", i->time_s);
    cd_json_put_u64(&w, "lastBackupSize", i->bytes);
    cd_json_put_bool(&w, "incremental", false);
    cd_json_w_obj_end(&w);
}

static cd_err read_info(cd_backup_info *out, const char *path, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_buf text = {0};
    cd_json v;
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, INFO_MAX, why);
    e = e != CD_OK ? e : cd_json_parse(&v, &a, cd_buf_bytes(&text), 0, why);
    e = e != CD_OK ? e : cd_json_u64(&out->version, cd_json_get(v, "lastVersion"), why);
    e = e != CD_OK ? e : cd_json_u64(&out->time_s, cd_json_get(v, "lastBackupTime"), why);
    e = e != CD_OK ? e : cd_json_u64(&out->bytes, cd_json_get(v, "lastBackupSize"), why);
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    return e;
}

cd_err cd_backup_last(cd_backup_info *out, const char *dir, cd_errinfo *why)
{
    cd_arena a = {0};
    *out = (cd_backup_info){0};
    cd_err e = read_info(out, cd_arena_fmt(&a, "%s/%s/%s", dir, FOLDER, LAST), why);
    cd_arena_fini(&a);
    return e == CD_ENOENT ? CD_OK : e;
}

/* --- copies of files --- */

/* Files that go along, from one directory to another. */
typedef struct along {
    cd_arena *mem;
    const char *to;
    const char *prefix; /* of their names; "": all */
    cd_errinfo *why;
} along;

/* Tables of the store, which are written once; two directories may share them. */
static bool is_fixed(const char *name)
{
    static const char *const ends[] = {".sst", ".blob"};
    usize n = strlen(name);
    for (usize i = 0; i < CD_COUNT(ends); i++) {
        usize m = strlen(ends[i]);
        if (n > m && strcmp(name + n - m, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

static cd_err copy_file(void *ctx, const char *path, cd_fs_kind kind)
{
    const along *c = ctx;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    cd_buf text = {0};
    if (kind != CD_FS_FILE || strncmp(name, c->prefix, strlen(c->prefix)) != 0) {
        return CD_OK;
    }
    const char *to = cd_arena_fmt(c->mem, "%s/%s", c->to, name);
    if (is_fixed(name) && link(path, to) == 0) {
        return CD_OK;
    }
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, GENESIS_MAX, c->why);
    e = e != CD_OK ? e : cd_fs_replace_file(cd_fs_real(), to, cd_buf_bytes(&text), FILE_MODE, c->why);
    cd_buf_fini(&text);
    return e;
}

static cd_err add_size(void *ctx, const char *path, cd_fs_kind kind)
{
    cd_fs_stat st;
    if (kind == CD_FS_FILE && cd_fs_stat_get(cd_fs_real(), &st, path, NULL) == CD_OK) {
        *(u64 *)ctx += st.size;
    }
    return CD_OK;
}

/* --- making one --- */

static cd_err fill(cd_backup_info *info, cd_arena *a, cd_kv *kv, const char *dir, const char *part, cd_errinfo *why)
{
    cd_buf text = {0};
    along genesis = {.mem = a, .to = part, .prefix = "genesis-", .why = why};
    CD_TRY(cd_fs_remove_tree(cd_fs_real(), part, why)); /* of a crash */
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), part, DIR_MODE, why));
    CD_TRY(cd_kv_checkpoint(kv, cd_arena_fmt(a, "%s/db", part), why));
    CD_TRY(cd_fs_list(cd_fs_real(), dir, copy_file, &genesis, why));
    CD_TRY(cd_fs_walk(cd_fs_real(), part, add_size, &info->bytes, why));
    put_info(&text, info);
    cd_err e =
        cd_fs_replace_file(cd_fs_real(), cd_arena_fmt(a, "%s/%s", part, OWN), cd_buf_bytes(&text), FILE_MODE, why);
    cd_buf_fini(&text);
    return e;
}

static cd_err create(cd_backup_info *out, cd_arena *a, cd_kv *kv, const char *dir, cd_bytes name, const cd_clock *clock,
                     cd_errinfo *why)
{
    cd_backup_info info;
    cd_buf text = {0};
    const char *place = cd_arena_fmt(a, "%s/%s/%.*s", dir, FOLDER, (int)name.n, (const char *)name.p);
    const char *part = cd_arena_fmt(a, "%s.part", place);
    CD_TRY(check_name(name, why));
    if (is_there(place)) {
        return cd_fail(why, CD_EEXIST, "there is a backup %.*s already", (int)name.n, (const char *)name.p);
    }
    CD_TRY(cd_backup_last(&info, dir, why));
    info = (cd_backup_info){.version = info.version + 1, .time_s = cd_clock_wall_s(clock)};
    cd_err e = fill(&info, a, kv, dir, part, why);
    e = e != CD_OK ? e : move(part, place, why);
    if (e != CD_OK) {
        (void)!cd_fs_remove_tree(cd_fs_real(), part, NULL);
        return e;
    }
    put_info(&text, &info);
    e = cd_fs_replace_file(cd_fs_real(), cd_arena_fmt(a, "%s/%s/%s", dir, FOLDER, LAST), cd_buf_bytes(&text), FILE_MODE,
                           why);
    cd_buf_fini(&text);
    *out = info;
    return e;
}

cd_err cd_backup_create(cd_backup_info *out, cd_kv *kv, const char *dir, cd_bytes name, const cd_clock *clock,
                        cd_errinfo *why)
{
    cd_arena a = {0};
    cd_err e = create(out, &a, kv, dir, name, clock, why);
    cd_arena_fini(&a);
    return e;
}

/* --- taking one back --- */

cd_err cd_backup_restore(const char *dir, cd_bytes name, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_err e = check_name(name, why);
    if (e == CD_OK &&
        !is_there(cd_arena_fmt(&a, "%s/%s/%.*s/%s", dir, FOLDER, (int)name.n, (const char *)name.p, OWN))) {
        e = cd_fail(why, CD_ENOENT, "there is no backup %.*s", (int)name.n, (const char *)name.p);
    }
    e = e != CD_OK ? e
                   : cd_fs_replace_file(cd_fs_real(), cd_arena_fmt(&a, "%s/%s", dir, WAITING), name, FILE_MODE, why);
    cd_arena_fini(&a);
    return e;
}

cd_err cd_backup_waiting(cd_buf *name, const char *dir, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), name, cd_arena_fmt(&a, "%s/%s", dir, WAITING), NAME_MAX_LEN, why);
    cd_arena_fini(&a);
    return e == CD_ENOENT ? CD_OK : e;
}

/* db.restored is whole when it has that name; then it takes the place of db. Each step may have been done before a
 * crash. */
static cd_err swap(cd_arena *a, const char *dir, const char *from, cd_errinfo *why)
{
    const char *db = cd_arena_fmt(a, "%s/db", dir);
    const char *ready = cd_arena_fmt(a, "%s/db.restored", dir);
    const char *part = cd_arena_fmt(a, "%s/db.part", dir);
    const char *old = cd_arena_fmt(a, "%s/db.old", dir);
    if (!is_there(ready) && !is_there(old)) {
        along files = {.mem = a, .to = part, .prefix = "", .why = why};
        CD_TRY(cd_fs_remove_tree(cd_fs_real(), part, why));
        CD_TRY(cd_fs_mkdirs(cd_fs_real(), part, DIR_MODE, why));
        CD_TRY(cd_fs_list(cd_fs_real(), cd_arena_fmt(a, "%s/db", from), copy_file, &files, why));
        CD_TRY(move(part, ready, why));
    }
    if (is_there(ready)) {
        if (is_there(db) && !is_there(old)) {
            CD_TRY(move(db, old, why));
        }
        CD_TRY(move(ready, db, why));
    }
    return cd_fs_remove_tree(cd_fs_real(), old, why);
}

static cd_err apply(cd_arena *a, const char *dir, cd_bytes name, cd_errinfo *why)
{
    CD_TRY(check_name(name, why));
    const char *from = cd_arena_fmt(a, "%s/%s/%.*s", dir, FOLDER, (int)name.n, (const char *)name.p);
    const char *waiting = cd_arena_fmt(a, "%s/%s", dir, WAITING);
    if (!is_there(cd_arena_fmt(a, "%s/%s", from, OWN))) {
        return cd_fail(why, CD_ENOENT, "the backup %.*s is gone: remove %s, and the node starts with what it has",
                       (int)name.n, (const char *)name.p, waiting);
    }
    CD_TRY(swap(a, dir, from, why));
    return cd_fs_remove_tree(cd_fs_real(), waiting, why);
}

cd_err cd_backup_apply(cd_buf *name, const char *dir, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_err e = cd_backup_waiting(name, dir, why);
    if (e == CD_OK && name->n != 0) {
        e = apply(&a, dir, cd_buf_bytes(name), why);
    }
    cd_arena_fini(&a);
    return e;
}
