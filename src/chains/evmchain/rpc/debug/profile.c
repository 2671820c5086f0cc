/* The json2 methods of /admin, and profiles. A profile of a C process is the time of its threads and the account of its
 * allocator; what goes deeper is perf's business. [spec:eth-rpc#10] */
#include "chains/evmchain/rpc/debug/profile.h"

#include "base/log/log.h"
#include "base/os/fileio.h"
#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/rpc/methods.h"

enum { DIR_MODE = 0700, FILE_MODE = 0600 };

void cd__profiler_init(cd__profiler *p)
{
    *p = (cd__profiler){.place = NULL};
    cd_mutex_init(&p->lock);
}

void cd__profiler_fini(cd__profiler *p)
{
    cd_arena_fini(&p->mem);
    cd_cpu_profile_fini(&p->cpu);
    cd_mutex_fini(&p->lock);
}

/* --- files --- */

static const char *admin_dir(cd_rpc_call *call)
{
    const cd_api *e = cd_api_of(call);
    if (e->config->admin_api_dir.n != 0) {
        return cd_arena_str(call->arena, e->config->admin_api_dir);
    }
    return e->dir == NULL ? NULL : cd_arena_fmt(call->arena, "%s/admin", e->dir);
}

cd_err cd__admin_path(cd_rpc_call *call, const char **out, cd_bytes name)
{
    const char *dir = admin_dir(call);
    cd_errinfo why = {0};
    if (dir == NULL) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "no folder for files: set \"admin-api-dir\" in the configuration of "
                           "the chain");
    }
    usize dir_n = strlen(dir);
    if (name.n > dir_n && memcmp(name.p, dir, dir_n) == 0 && name.p[dir_n] == '/') {
        name = cd_bytes_sub(name, dir_n + 1, name.n - dir_n - 1);
    }
    if (name.n == 0 || name.p[0] == '.' || memchr(name.p, '/', name.n) != NULL ||
        memchr(name.p, '\0', name.n) != NULL) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "files are in %s: give a name without \"/\" that does not begin with "
                           "\".\"",
                           dir);
    }
    if (cd_fs_mkdirs(cd_fs_real(), dir, DIR_MODE, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
    }
    *out = cd_arena_fmt(call->arena, "%s/%.*s", dir, (int)name.n, (const char *)name.p);
    return CD_OK;
}

static cd_err write_file(cd_rpc_call *call, const char *place, cd_bytes text)
{
    cd_errinfo why = {0};
    /* A link is replaced, not followed. */
    cd_err e = cd_fs_replace_file(cd_fs_real(), place, text, FILE_MODE, &why);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

/* --- profiles --- */

cd_err cd__profile_start(cd_rpc_call *call, const char *place, const char *busy)
{
    cd__profiler *p = &cd_api_of(call)->service.profiler;
    cd_mutex_lock(&p->lock);
    bool is_busy = p->place != NULL;
    if (!is_busy) {
        cd_arena_reset(&p->mem);
        p->place = cd_arena_str(&p->mem, cd_bytes_str(place));
        cd_cpu_profile_begin(&p->cpu);
    }
    cd_mutex_unlock(&p->lock);
    return is_busy ? cd_rpc_fail(call, CD_RPC_SERVER, "%s", busy) : CD_OK;
}

cd_err cd__profile_stop(cd_rpc_call *call, const char *idle)
{
    cd__profiler *p = &cd_api_of(call)->service.profiler;
    cd_buf text = {0};
    const char *place = NULL;
    cd_mutex_lock(&p->lock);
    if (p->place != NULL) {
        place = cd_arena_str(call->arena, cd_bytes_str(p->place));
        cd_cpu_profile_end(&p->cpu, &text);
        p->place = NULL;
    }
    cd_mutex_unlock(&p->lock);
    cd_err e =
        place == NULL ? cd_rpc_fail(call, CD_RPC_SERVER, "%s", idle) : write_file(call, place, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return e;
}

cd_err cd__profile_heap(cd_rpc_call *call, const char *place)
{
    cd_buf text = {0};
    cd_proc_mem_report(&text);
    cd_err e = write_file(call, place, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return e;
}

/* --- methods --- */

static void write_empty(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_w_obj_end(call->out);
}

cd_err cd__admin_get_config(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "config");
    cd_vm_config_json(call->out, cd_api_of(call)->config);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* Names of go-ethereum's log and of the nodes', in any case. */
static bool level_of(cd_log_level *out, cd_bytes name)
{
    char low[16];
    if (name.n == 0 || name.n > sizeof low) {
        return false;
    }
    for (usize i = 0; i < name.n; i++) {
        u8 c = name.p[i];
        low[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    cd_bytes text = cd_bytes_of(low, name.n);
    static const struct {
        const char *name;
        cd_log_level level;
    } more[] = {
        {"trce", CD_LOG_TRACE},
        {"dbug", CD_LOG_DEBUG},
        {"eror", CD_LOG_ERROR},
        {"crit", CD_LOG_ERROR},
    };
    for (usize i = 0; i < CD_COUNT(more); i++) {
        if (cd_bytes_eq(text, cd_bytes_str(more[i].name))) {
            *out = more[i].level;
            return true;
        }
    }
    return cd_log_level_parse(out, text) == CD_OK;
}

cd_err cd__admin_set_log_level(cd_rpc_call *call)
{
    const cd__admin_set_log_level_args *in = call->args;
    cd_log_level level;
    if (!level_of(&level, in->level)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "failed to parse log level: unknown level: %.*s ",
                           (int)cd_min_u64(in->level.n, 100), (const char *)in->level.p);
    }
    cd_log_set_level(cd_api_of(call)->log, level);
    write_empty(call);
    return CD_OK;
}

cd_err cd__admin_start_cpu(cd_rpc_call *call)
{
    const char *place;
    CD_TRY(cd__admin_path(call, &place, cd_bytes_str("cpu.profile")));
    CD_TRY(cd__profile_start(call, place, "cpu profiler already running"));
    write_empty(call);
    return CD_OK;
}

cd_err cd__admin_stop_cpu(cd_rpc_call *call)
{
    CD_TRY(cd__profile_stop(call, "cpu profiler doesn't exist"));
    write_empty(call);
    return CD_OK;
}

cd_err cd__admin_memory(cd_rpc_call *call)
{
    const char *place;
    CD_TRY(cd__admin_path(call, &place, cd_bytes_str("mem.profile")));
    CD_TRY(cd__profile_heap(call, place));
    write_empty(call);
    return CD_OK;
}

cd_err cd__admin_locks(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "locks are not counted: use \"perf lock\" on the node's machine");
}
