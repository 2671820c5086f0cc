#include "plugin/host/dir.h"

#include "base/os/fileio.h"
#include "codec/json.h"

enum { ALIASES_TEXT_MAX = 1 << 20 };

cd_err cd_vm_id_of(cd_hash32 *out, cd_bytes name)
{
    if (name.n == 0) {
        return CD_EINVAL;
    }
    if (name.n > sizeof out->b) {
        return CD_ERANGE;
    }
    *out = (cd_hash32){0};
    memcpy(out->b, name.p, name.n);
    return CD_OK;
}

cd_err cd_plugin_dir_check(const char *dir, cd_errinfo *why)
{
    cd_fs_stat stat;
    cd_errinfo own = {0};
    cd_err e = cd_fs_stat_get(cd_fs_real(), &stat, dir, &own);
    if (e != CD_OK) {
        return cd_fail(why, e, "plugin dir \"%s\" not found: %s", dir, own.msg);
    }
    return stat.kind == CD_FS_DIR ? CD_OK : cd_fail(why, CD_ETYPE, "plugin dir is not a directory: \"%s\"", dir);
}

/* --- the directory --- */

typedef struct listing {
    cd_plugin_file *files;
    usize cnt;
    cd_arena *mem;
    const cd_plugin_alias *aliases;
    usize alias_cnt;
    cd_errinfo *why;
} listing;

/* The file's name without what is behind its last dot. */
static cd_bytes base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    return cd_bytes_of(name, dot == NULL ? strlen(name) : (usize)(dot - name));
}

static cd_err id_of(const listing *l, cd_hash32 *out, cd_bytes name)
{
    for (usize i = 0; i < l->alias_cnt; i++) {
        if (cd_bytes_eq(cd_bytes_str(l->aliases[i].name), name)) {
            *out = l->aliases[i].vm_id;
            return CD_OK;
        }
    }
    return cd_id_parse(out, name, NULL);
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    listing *l = ctx;
    cd_plugin_file f = {0};
    cd_fs_stat stat;
    cd_bytes name = base_of(path);
    if (kind != CD_FS_FILE) {
        bool is_link_to_file =
            kind == CD_FS_OTHER && cd_fs_stat_get(cd_fs_real(), &stat, path, NULL) == CD_OK && stat.kind == CD_FS_FILE;
        if (!is_link_to_file) {
            return CD_OK;
        }
    }
    if (name.n == 0) {
        return CD_OK;
    }
    if (id_of(l, &f.vm_id, name) != CD_OK) {
        return cd_fail(l->why, CD_EFORMAT, "invalid vmID: \"%.*s\"", (int)cd_min_u64(name.n, 200),
                       (const char *)name.p);
    }
    for (usize i = 0; i < l->cnt; i++) {
        if (cd_hash32_eq(&l->files[i].vm_id, &f.vm_id)) {
            return cd_fail(l->why, CD_EEXIST, "two plugins of one VM: %s and %s", l->files[i].path, path);
        }
    }
    if (l->cnt == CD_PLUGIN_FILES_MAX) {
        return cd_fail(l->why, CD_ELIMIT, "more than %d plugins", CD_PLUGIN_FILES_MAX);
    }
    f.path = cd_arena_str(l->mem, cd_bytes_str(path));
    l->files[l->cnt++] = f;
    return CD_OK;
}

cd_err cd_plugin_dir_list(cd_plugin_file **out, usize *cnt, cd_arena *a, const char *dir,
                          const cd_plugin_alias *aliases, usize alias_cnt, cd_errinfo *why)
{
    listing l = {.mem = a, .aliases = aliases, .alias_cnt = alias_cnt, .why = why};
    CD_TRY(cd_plugin_dir_check(dir, why));
    l.files = cd_arena_array(a, cd_plugin_file, CD_PLUGIN_FILES_MAX);
    CD_TRY(cd_fs_list(cd_fs_real(), dir, visit, &l, why));
    *out = l.files;
    *cnt = l.cnt;
    return CD_OK;
}

/* --- names --- */

static cd_err add_alias(cd_plugin_alias *all, usize *cnt, cd_arena *a, const cd_hash32 *vm_id, cd_json v,
                        cd_errinfo *why)
{
    cd_bytes name;
    CD_TRY(cd_json_str(&name, v, why));
    for (usize i = 0; i < *cnt; i++) {
        if (cd_bytes_eq(cd_bytes_str(all[i].name), name)) {
            return cd_json_fail(v, CD_EEXIST, "the name of two VMs", why);
        }
    }
    if (*cnt == CD_PLUGIN_ALIASES_MAX) {
        return cd_json_fail(v, CD_ELIMIT, "too many names", why);
    }
    all[(*cnt)++] = (cd_plugin_alias){.vm_id = *vm_id, .name = cd_arena_str(a, name)};
    return CD_OK;
}

cd_err cd_plugin_aliases_parse(cd_plugin_alias **out, usize *cnt, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_json root;
    CD_TRY(cd_json_parse(&root, a, text, ALIASES_TEXT_MAX, why));
    CD_TRY(cd_json_obj(root, why));
    *cnt = 0;
    *out = cd_arena_array(a, cd_plugin_alias, CD_PLUGIN_ALIASES_MAX);
    for (cd_json_it vm = cd_json_iter(root); cd_json_next(&vm);) {
        cd_hash32 id;
        cd_errinfo own = {0};
        if (cd_id_parse(&id, vm.key, &own) != CD_OK) {
            return cd_json_fail(vm.val, CD_EFORMAT, "the key is no id of a VM", why);
        }
        CD_TRY(cd_json_arr(vm.val, why));
        for (cd_json_it name = cd_json_iter(vm.val); cd_json_next(&name);) {
            CD_TRY(add_alias(*out, cnt, a, &id, name.val, why));
        }
    }
    return CD_OK;
}
