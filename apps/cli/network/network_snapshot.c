#include "network/network_snapshot.h"

#include "base/os/fileio.h"

#include <stdio.h>

enum { DIR_MODE = 0700, FILE_MODE = 0600, PIECE = 1 << 20 };

static const char *const files[] = {"network.json", "genesis.json"};

/* --- trees --- */

typedef struct copy {
    cd_arena *mem;
    const char *from;
    const char *to;
    cd_errinfo *why;
} copy;

static cd_err copy_file(const char *to, const char *from, cd_errinfo *why)
{
    cd_fs *fs = cd_fs_real();
    cd_fs_stat st;
    cd_fs_out out;
    cd_buf piece = {0};
    CD_TRY(cd_fs_stat_get(fs, &st, from, why));
    CD_TRY(cd_fs_out_open(&out, fs, to, FILE_MODE, why));
    cd_err e = CD_OK;
    for (u64 at = 0; at < st.size && e == CD_OK; at += PIECE) {
        cd_buf_clear(&piece);
        e = cd_fs_read_at(fs, &piece, from, at, cd_min_u64(PIECE, st.size - at), why);
        e = e != CD_OK ? e : cd_fs_out_put(&out, cd_buf_bytes(&piece), why);
    }
    e = e != CD_OK ? e : cd_fs_out_close(&out, why);
    if (e != CD_OK) {
        cd_fs_out_drop(&out);
    }
    cd_buf_fini(&piece);
    return e;
}

/* Copies an entry of a folder; sockets and links are no data and are left out. */
static cd_err on_entry(void *ctx, const char *path, cd_fs_kind kind)
{
    const copy *c = ctx;
    const char *to = cd_arena_fmt(c->mem, "%s%s", c->to, path + strlen(c->from));
    if (kind == CD_FS_DIR) {
        return cd_fs_mkdirs(cd_fs_real(), to, DIR_MODE, c->why);
    }
    return kind == CD_FS_FILE ? copy_file(to, path, c->why) : CD_OK;
}

static cd_err copy_tree(cd_arena *mem, const char *to, const char *from, cd_errinfo *why)
{
    copy c = {.mem = mem, .from = from, .to = to, .why = why};
    return cd_fs_walk(cd_fs_real(), from, on_entry, &c, why);
}

/* --- snapshots --- */

static const char *path_of(const cd__net *n, const char *name)
{
    return cd_arena_fmt(n->mem, "%s/snapshots/%s", n->dir, name);
}

static cd_err check_name(const char *name, cd_errinfo *why)
{
    usize n = strlen(name);
    bool is_good = n != 0 && n <= CD__NET_NAME_MAX && name[0] != '.';
    for (const char *s = name; *s != '\0'; s++) {
        is_good = is_good && ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
                              *s == '-' || *s == '_' || *s == '.');
    }
    return is_good
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "\"%.40s\" is no name for a snapshot: letters, digits, '-', '_', '.'", name);
}

static cd_err copy_all(const cd__net *n, const char *to, const char *from, cd_errinfo *why)
{
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), to, DIR_MODE, why));
    for (usize i = 0; i < CD_COUNT(files); i++) {
        CD_TRY(
            copy_file(cd_arena_fmt(n->mem, "%s/%s", to, files[i]), cd_arena_fmt(n->mem, "%s/%s", from, files[i]), why));
    }
    for (usize i = 0; i < n->cnt; i++) {
        const char *name = n->nodes[i].name;
        CD_TRY(
            copy_tree(n->mem, cd_arena_fmt(n->mem, "%s/%s", to, name), cd_arena_fmt(n->mem, "%s/%s", from, name), why));
    }
    return CD_OK;
}

cd_err cd__net_snapshot(const cd__net *n, const char *name, cd_errinfo *why)
{
    cd_fs_stat st;
    CD_TRY(check_name(name, why));
    const char *to = path_of(n, name);
    const char *fresh = path_of(n, cd_arena_fmt(n->mem, ".%s.new", name));
    if (cd_fs_stat_get(cd_fs_real(), &st, to, NULL) == CD_OK) {
        return cd_fail(why, CD_EEXIST, "there is a snapshot \"%s\" already", name);
    }
    CD_TRY(cd_fs_remove_tree(cd_fs_real(), fresh, why));
    CD_TRY(copy_all(n, fresh, n->dir, why));
    return rename(fresh, to) == 0 ? CD_OK : cd_fail(why, CD_EIO, "%.200s: cannot be renamed", fresh);
}

cd_err cd__net_restore(cd__net *n, const char *name, cd_errinfo *why)
{
    cd_fs_stat st;
    cd__net then;
    CD_TRY(check_name(name, why));
    const char *from = path_of(n, name);
    if (cd_fs_stat_get(cd_fs_real(), &st, from, NULL) != CD_OK) {
        return cd_fail(why, CD_ENOENT, "there is no snapshot \"%s\"", name);
    }
    CD_TRY(cd__net_load(&then, n->mem, from, why));
    for (usize i = 0; i < n->cnt; i++) {
        CD_TRY(cd_fs_remove_tree(cd_fs_real(), cd__net_path(n, &n->nodes[i], ""), why));
    }
    for (usize i = 0; i < CD_COUNT(files); i++) {
        CD_TRY(cd_fs_remove_tree(cd_fs_real(), cd_arena_fmt(n->mem, "%s/%s", n->dir, files[i]), why));
    }
    const char *dir = n->dir;
    CD_TRY(copy_all(&then, dir, from, why));
    return cd__net_load(n, n->mem, dir, why);
}

typedef struct listing {
    void (*fn)(void *ctx, const char *name);
    void *ctx;
} listing;

static cd_err on_snapshot(void *ctx, const char *path, cd_fs_kind kind)
{
    const listing *l = ctx;
    const char *name = strrchr(path, '/') + 1;
    if (kind == CD_FS_DIR && name[0] != '.') {
        l->fn(l->ctx, name);
    }
    return CD_OK;
}

cd_err cd__net_snapshots(const cd__net *n, void (*fn)(void *ctx, const char *name), void *ctx, cd_errinfo *why)
{
    listing l = {.fn = fn, .ctx = ctx};
    cd_errinfo own = {0};
    cd_err e = cd_fs_list(cd_fs_real(), path_of(n, ""), on_snapshot, &l, &own);
    return e == CD_OK || e == CD_ENOENT ? CD_OK : cd_fail(why, e, "%s", own.msg);
}
