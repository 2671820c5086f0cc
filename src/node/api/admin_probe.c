/* admin.startCPUProfiler and its like, admin.dbGet: looks into the running process. A profile of a C process is the
 * time of its threads and the account of its allocator. Files go into one folder under fixed names.
 * [spec:node-api#8] */
#include "base/os/fileio.h"
#include "codec/api_json.h"
#include "node/api/admin_priv.h"

enum { DIR_MODE = 0700, FILE_MODE = 0600, DB_OK = 0, DB_CLOSED = 1, DB_NOT_FOUND = 2 };

static cd_err write_file(cd_rpc_call *call, const char *name, cd_bytes text)
{
    const char *dir = ((const cd_admin_api *)call->ctx)->cfg.profile_dir;
    cd_errinfo why = {0};
    if (dir == NULL) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "a node that keeps nothing writes profiles only to a --profile-dir");
    }
    cd_err e = cd_fs_mkdirs(cd_fs_real(), dir, DIR_MODE, &why);
    e = e != CD_OK
            ? e
            : cd_fs_replace_file(cd_fs_real(), cd_arena_fmt(call->arena, "%s/%s", dir, name), text, FILE_MODE, &why);
    return cd_rpc_done(call, e, &why);
}

cd_err cd__admin_start_cpu_profiler(cd_rpc_call *call)
{
    cd_admin_api *api = call->ctx;
    cd_mutex_lock(&api->profile_lock);
    bool is_busy = api->profile.is_on;
    if (!is_busy) {
        cd_cpu_profile_begin(&api->profile);
    }
    cd_mutex_unlock(&api->profile_lock);
    return is_busy ? cd_rpc_fail(call, CD_RPC_SERVER, "cpu profiler already running") : cd_rpc_done(call, CD_OK, NULL);
}

cd_err cd__admin_stop_cpu_profiler(cd_rpc_call *call)
{
    cd_admin_api *api = call->ctx;
    cd_buf text = {0};
    cd_mutex_lock(&api->profile_lock);
    bool is_on = api->profile.is_on;
    if (is_on) {
        cd_cpu_profile_end(&api->profile, &text);
    }
    cd_mutex_unlock(&api->profile_lock);
    cd_err e = is_on ? write_file(call, "cpu.profile", cd_buf_bytes(&text))
                     : cd_rpc_fail(call, CD_RPC_SERVER, "cpu profiler doesn't exist");
    cd_buf_fini(&text);
    return e;
}

cd_err cd__admin_memory_profile(cd_rpc_call *call)
{
    cd_buf text = {0};
    cd_proc_mem_report(&text);
    cd_err e = write_file(call, "mem.profile", cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return e;
}

cd_err cd__admin_lock_profile(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "locks are not counted: use \"perf lock\" on the node's machine");
}

cd_err cd__admin_stacktrace(cd_rpc_call *call)
{
    const cd_proc_thread *list;
    cd_buf text = {0};
    usize cnt = cd_proc_threads(&list, call->arena);
    cd_buf_str(&text, "# threads: R runs, S sleeps, D waits for a disk. Their stacks: gdb -p, or eu-stack -p\n");
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(&text, "%8llu  %c  %10llu ms  %s\n", (unsigned long long)list[i].id, list[i].state,
                   (unsigned long long)(list[i].cpu_ns / CD_NS_PER_MS), list[i].name);
    }
    cd_err e = write_file(call, "stacktrace.txt", cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return e;
}

cd_err cd__admin_db_get(cd_rpc_call *call)
{
    const cd__admin_db_get_args *args = call->args;
    cd_kv *store = ((const cd_admin_api *)call->ctx)->cfg.store;
    cd_bytes key;
    cd_buf value = {0};
    cd_errinfo why = {0};
    if (cd_encoding_dec(&key, call->arena, CD_ENCODING_HEXNC, args->key, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
    }
    cd_err e = store == NULL ? CD_ECLOSED : cd_kv_get(store, &value, key);
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    if (e == CD_OK) {
        cd_json_put_encoded(w, "value", CD_ENCODING_HEXNC, cd_buf_bytes(&value));
    } else {
        cd_json_put_cstr(w, "value", "");
    }
    cd_json_put_u64(w, "errorCode", e == CD_OK ? DB_OK : e == CD_ENOENT ? DB_NOT_FOUND : DB_CLOSED);
    cd_json_w_obj_end(w);
    cd_buf_fini(&value);
    return CD_OK;
}
