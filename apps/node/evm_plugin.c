#include "evm_plugin.h"

#include "base/os/fileio.h"
#include "chains/evmchain/evm_vm.h"
#include "node/chain/plugins.h"
#include "options.h"
#include "plugin/guest/guest.h"
#include "report.h"

#include <stdio.h>
#include <unistd.h>

enum { PATH_LEN = 4096 };

static const char program[] = "candela-evm";

/* What the chain's file says, and what the process must know of the node; borrowed as long as the VM is open. */
static cd_buf config;

/* --- which data there is --- */

/* Tells whether a part of the store has anything, and whether that is the mark of a chain whose data is elsewhere. */
static cd_err look(cd_kv *kv, bool *is_empty, bool *is_elsewhere)
{
    const cd_kv_range all = {0};
    cd_kv_iter *it;
    CD_TRY(cd_kv_has(kv, is_elsewhere, cd_bytes_str(CD_GUEST_OWN_MARK)));
    CD_TRY(cd_kv_iter_new(&it, kv, &all));
    *is_empty = !cd_kv_iter_next(it);
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

static cd_err open_here(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    bool is_empty;
    bool is_elsewhere;
    CD_TRY(look(ctx->kv, &is_empty, &is_elsewhere));
    return is_elsewhere
               ? cd_fail(why, CD_EFOREIGN, "the data of chain %s began with its VM as a plugin: --evm-in-process=false",
                         ctx->name)
               : cd_evm_vm_open(out, ctx, why);
}

/* --- what the process must know --- */

static bool says(cd_json doc, const char *key)
{
    return cd_json_has(cd_json_get(doc, key));
}

/* Writes the configuration: the operator's keys as they are, the node's where he has none. */
static cd_err put_config(cd_buf *out, bool *has_own_store, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    cd_json doc = {0};
    cd_arena mem = {0};
    cd_json_w w = {.out = out};
    cd_bytes type = {0};
    cd_err e = ctx->config.n == 0 ? CD_OK : cd_json_parse(&doc, &mem, ctx->config, 0, why);
    bool is_said = says(doc, "use-standalone-database") || says(doc, "database-type");
    *has_own_store = ctx->dir != NULL && !is_said;
    cd_buf_clear(out);
    cd_json_w_obj(&w);
    if (*has_own_store) {
        cd_json_put_bool(&w, "use-standalone-database", true);
    } else if (is_said) {
        *has_own_store = cd_json_str(&type, cd_json_get(doc, "database-type"), NULL) == CD_OK &&
                         cd_bytes_eq(type, cd_bytes_str("standalone"));
        (void)!cd_json_bool(has_own_store, cd_json_get(doc, "use-standalone-database"), NULL);
    }
    if (!says(doc, "network-profile") && ctx->primary != NULL) {
        cd_json_put_cstr(&w, "network-profile", ctx->primary->network->family->name);
    }
    cd_json_put_bool(&w, CD_GUEST_FINALITY, ctx->has_finality);
    cd_buf text = {0};
    for (cd_json_it it = cd_json_iter(doc); e == CD_OK && cd_json_next(&it);) {
        cd_buf_clear(&text);
        cd_json_raw(&text, it.val);
        cd_json_w_key_str(&w, it.key);
        cd_json_w_raw(&w, cd_buf_bytes(&text));
    }
    cd_json_w_obj_end(&w);
    cd_buf_fini(&text);
    cd_arena_fini(&mem);
    return e;
}

static cd_err open_outside(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    cd__evm_plugin *e = (cd__evm_plugin *)(usize)ctx->dev;
    cd_vm_ctx own = *ctx;
    bool is_empty;
    bool is_elsewhere;
    CD_TRY(look(ctx->kv, &is_empty, &is_elsewhere));
    CD_TRY(put_config(&config, &e->vm.has_own_store, ctx, why));
    if (!is_empty && !is_elsewhere && e->vm.has_own_store && !e->is_forced) {
        cd_log_info(ctx->log, "the VM runs in the node's process, as the data began", CD_F("chain", ctx->name));
        own.dev = NULL;
        e->vm.has_own_store = false;
        return cd_evm_vm_open(out, &own, why);
    }
    own.dev = &e->vm;
    own.config = cd_buf_bytes(&config);
    own.upgrade_times = (cd_vm_upgrade_times){.is_given = true, .granite = UINT64_MAX}; /* the others from genesis on */
    return cd_plugin_vm_open(out, &own, why);
}

/* --- where it is --- */

static const char *beside(cd_arena *mem)
{
    char path[PATH_LEN];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) {
        return NULL;
    }
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    CD_ASSERT(slash != NULL);
    *slash = '\0';
    return cd_arena_fmt(mem, "%s/%s", path, program);
}

static bool find(cd__evm_plugin *out, cd_arena *mem, const cd_plugins_cfg *plugins)
{
    cd_plugin_file *files;
    usize cnt;
    cd_hash32 id;
    cd_errinfo why = {0};
    cd_err e = cd_vm_id_of(&id, cd_bytes_str("evm"));
    CD_ASSERT(e == CD_OK);
    e = cd_plugins_list(plugins, &files, &cnt, mem, &why);
    if (e != CD_OK) {
        cd__report("error", NULL, why.msg, "");
        return false;
    }
    for (usize i = 0; i < cnt; i++) {
        if (cd_hash32_eq(&files[i].vm_id, &id)) {
            out->path = files[i].path;
            return true;
        }
    }
    const char *path = beside(mem);
    if (path != NULL && access(path, X_OK) == 0) {
        out->path = path;
        return true;
    }
    cd__report("error", NULL,
               cd_arena_fmt(mem, "no program for the C-Chain: neither a plugin \"evm\" in %s nor %s", plugins->dir,
                            path == NULL ? program : path),
               "candela-evm comes with this program; --evm-in-process does without it");
    return false;
}

/* --- where it runs --- */

static bool is_refused(cd_arena *mem, const cd_network *net, bool has_pages)
{
    const char *what = net->is_dev ? "the dev network" : has_pages ? "--explorer=on" : NULL;
    if (what != NULL) {
        cd__report("error", NULL, cd_arena_fmt(mem, "%s needs the C-Chain's VM in the node's process", what),
                   "leave --evm-in-process=false away");
    }
    return what != NULL;
}

bool cd__evm_plugin_load(cd__evm_plugin *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                         const cd_plugins_cfg *plugins, cd_node_chain_cfg *row, bool has_pages)
{
    bool is_given = cd_args_source(a, OPT_EVM_INSIDE) != CD_ARG_FROM_DEFAULT;
    bool needs_inside = net->is_dev || has_pages || cd_args_bool(a, OPT_API_KEYSTORE);
    bool is_inside = is_given ? cd_args_bool(a, OPT_EVM_INSIDE) : needs_inside;
    *out = (cd__evm_plugin){.is_forced = is_given};
    if (is_inside) {
        row->vm = net->is_dev ? row->vm : open_here;
        return true;
    }
    if (is_refused(mem, net, has_pages) || !find(out, mem, plugins)) {
        return false;
    }
    out->vm.path = out->path;
    out->own = (cd_tracked_own){.row = row, .vm = &out->vm};
    row->vm = open_outside;
    row->dev = out;
    return true;
}
