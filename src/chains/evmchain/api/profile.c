/* The json2 methods of /admin, and profiles. A profile of a C process is the time of its threads and the account of its
 * allocator; what goes deeper is perf's business. [spec:eth-rpc#10] */
#include "chains/evmchain/api/profile.h"

#include "base/fileio.h"
#include "base/log.h"
#include "base/procstat.h"
#include "chains/evmchain/evm_vm_priv.h"

enum { DIR_MODE = 0700, FILE_MODE = 0600 };

void cd__profiler_init(cd__profiler *p)
{
    *p = (cd__profiler){.place = NULL};
    cd_mutex_init(&p->lock);
}

void cd__profiler_fini(cd__profiler *p)
{
    cd_arena_fini(&p->mem);
    cd_mutex_fini(&p->lock);
}

/* --- files -------------------------------------------------------------------------------------- */

static const char *admin_dir(cd_rpc_call *call)
{
    const cd_evm_vm *e = cd__vm_of(call);
    if (e->config.admin_api_dir.n != 0) {
        return cd_arena_str(call->arena, e->config.admin_api_dir);
    }
    return e->ctx.dir == NULL ? NULL : cd_arena_fmt(call->arena, "%s/admin", e->ctx.dir);
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

/* --- profiles ----------------------------------------------------------------------------------- */

cd_err cd__profile_start(cd_rpc_call *call, const char *place, const char *busy)
{
    cd__profiler *p = &cd__vm_of(call)->api.profiler;
    cd_mutex_lock(&p->lock);
    bool is_busy = p->place != NULL;
    if (!is_busy) {
        cd_arena_reset(&p->mem);
        p->place = cd_arena_str(&p->mem, cd_bytes_str(place));
        p->threads_cnt = cd_proc_threads(&p->threads, &p->mem);
        p->start_ns = cd_clock_mono_ns(cd_clock_real());
    }
    cd_mutex_unlock(&p->lock);
    return is_busy ? cd_rpc_fail(call, CD_RPC_SERVER, "%s", busy) : CD_OK;
}

static u64 cpu_before(const cd__profiler *p, u64 id)
{
    for (usize i = 0; i < p->threads_cnt; i++) {
        if (p->threads[i].id == id) {
            return p->threads[i].cpu_ns;
        }
    }
    return 0; /* it came later */
}

static void put_profile(cd_buf *out, const cd__profiler *p, cd_arena *a)
{
    const cd_proc_thread *list;
    usize cnt = cd_proc_threads(&list, a);
    u64 wall = cd_clock_mono_ns(cd_clock_real()) - p->start_ns;
    cd_buf_fmt(out, "# CPU time of the threads in %llu ms\n%12s  %7s  %s\n",
               (unsigned long long)(wall / CD_NS_PER_MS), "cpu_us", "percent", "thread");
    for (usize i = 0; i < cnt; i++) {
        u64 ns = list[i].cpu_ns - cd_min_u64(list[i].cpu_ns, cpu_before(p, list[i].id));
        cd_buf_fmt(out, "%12llu  %7.1f  %s\n", (unsigned long long)(ns / 1000),
                   wall == 0 ? 0.0 : 100.0 * (double)ns / (double)wall, list[i].name);
    }
}

cd_err cd__profile_stop(cd_rpc_call *call, const char *idle)
{
    cd__profiler *p = &cd__vm_of(call)->api.profiler;
    cd_buf text = {0};
    const char *place = NULL;
    cd_mutex_lock(&p->lock);
    if (p->place != NULL) {
        place = cd_arena_str(call->arena, cd_bytes_str(p->place));
        put_profile(&text, p, call->arena);
        p->place = NULL;
    }
    cd_mutex_unlock(&p->lock);
    cd_err e = place == NULL ? cd_rpc_fail(call, CD_RPC_SERVER, "%s", idle)
                             : write_file(call, place, cd_buf_bytes(&text));
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

/* --- methods ------------------------------------------------------------------------------------ */

static void write_empty(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_w_obj_end(call->out);
}

cd_err cd__admin_get_config(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "config");
    cd_vm_config_json(call->out, &cd__vm_of(call)->config);
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
    cd_bytes name = {0};
    cd_log_level level;
    cd_json v = cd_json_get(call->params, "level");
    if (cd_json_has(v) && cd_json_str(&name, v, NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "level is not a string");
    }
    if (!level_of(&level, name)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "failed to parse log level: unknown level: %.*s ",
                           (int)cd_min_u64(name.n, 100), (const char *)name.p);
    }
    cd_log_set_level(cd__vm_of(call)->ctx.log, level);
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
    return cd_rpc_fail(call, CD_RPC_SERVER,
                       "locks are not counted: use \"perf lock\" on the node's machine");
}
