/* debug_ methods that steer and look at the process: what go-ethereum does for Go's runtime, done for a C process,
 * or refused with what to use instead. [spec:eth-rpc#4] */
#include "base/log/log.h"
#include "base/os/procstat.h"
#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/rpc/debug/profile.h"
#include "chains/evmchain/rpc/methods.h"

#include <time.h>

enum { CPU_SECONDS_MAX = 60, TICK_MS = 50 };

static cd_err read_int(cd_rpc_call *call, u64 *out, usize idx)
{
    if (cd_json_u64(out, cd_rpc_arg(call, idx), NULL) == CD_OK) {
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                       "invalid argument %zu: json: cannot unmarshal value into Go value of type "
                       "int",
                       idx);
}

static cd_err read_place(cd_rpc_call *call, const char **out)
{
    cd_bytes name;
    if (cd_json_str(&name, cd_rpc_arg(call, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 0: json: cannot unmarshal value into Go value of "
                           "type string");
    }
    return cd__admin_path(call, out, name);
}

/* The levels count as go-ethereum's do: 0 critical, 1 error, 2 warn, 3 info, 4 debug, 5 trace. */
cd_err cd__debug_verbosity(cd_rpc_call *call)
{
    static const cd_log_level levels[] = {CD_LOG_ERROR, CD_LOG_ERROR, CD_LOG_WARN,
                                          CD_LOG_INFO,  CD_LOG_DEBUG, CD_LOG_TRACE};
    cd_logger *log = cd_api_of(call)->log;
    u64 level;
    CD_TRY(read_int(call, &level, 0));
    if (log != NULL) {
        cd_log_set_level(log, levels[cd_min_u64(level, CD_COUNT(levels) - 1)]);
    }
    cd_json_w_null(call->out);
    return CD_OK;
}

/* --- memory --- */

/* Members of Go's runtime.MemStats that mean something here, in bytes. */
cd_err cd__debug_mem_stats(cd_rpc_call *call)
{
    cd_proc_mem m;
    cd_proc_mem_get(&m);
    const struct {
        const char *key;
        u64 v;
    } rows[] = {
        {"Alloc", m.heap_used},
        {"Sys", m.heap_sys},
        {"HeapAlloc", m.heap_used},
        {"HeapSys", m.heap_sys},
        {"HeapIdle", m.heap_free},
        {"HeapInuse", m.heap_used},
        {"NumGC", 0},
        {"PauseTotalNs", 0},
        {"Resident", m.resident},
        {"Reserved", m.reserved},
    };
    cd_json_w_obj(call->out);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_json_w_key(call->out, rows[i].key);
        cd_json_w_u64(call->out, rows[i].v);
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* There is no collector, so it has never run. */
cd_err cd__debug_gc_stats(cd_rpc_call *call)
{
    static const char none[] = "{\"LastGC\":\"0001-01-01T00:00:00Z\",\"NumGC\":0,\"PauseTotal\":0,"
                               "\"Pause\":null,\"PauseEnd\":null,\"PauseQuantiles\":null}";
    cd_json_w_raw(call->out, cd_bytes_str(none));
    return CD_OK;
}

cd_err cd__debug_free_os_memory(cd_rpc_call *call)
{
    cd_proc_mem_trim();
    cd_json_w_null(call->out);
    return CD_OK;
}

cd_err cd__debug_write_mem_profile(cd_rpc_call *call)
{
    const char *place;
    CD_TRY(read_place(call, &place));
    CD_TRY(cd__profile_heap(call, place));
    cd_json_w_null(call->out);
    return CD_OK;
}

/* --- threads --- */

cd_err cd__debug_stacks(cd_rpc_call *call)
{
    cd_buf text = {0};
    const cd_proc_thread *list;
    usize cnt = cd_proc_threads(&list, call->arena);
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(&text, "thread %llu [%s]: %s, %llu ms of CPU time\n", (unsigned long long)list[i].id, list[i].name,
                   list[i].state == 'R'   ? "running"
                   : list[i].state == 'D' ? "waiting for a disk"
                                          : "waiting",
                   (unsigned long long)(list[i].cpu_ns / CD_NS_PER_MS));
    }
    cd_json_w_str(call->out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return CD_OK;
}

cd_err cd__debug_start_cpu_profile(cd_rpc_call *call)
{
    const char *place;
    CD_TRY(read_place(call, &place));
    CD_TRY(cd__profile_start(call, place, "CPU profiling already in progress"));
    cd_json_w_null(call->out);
    return CD_OK;
}

cd_err cd__debug_stop_cpu_profile(cd_rpc_call *call)
{
    CD_TRY(cd__profile_stop(call, "CPU profiling not in progress"));
    cd_json_w_null(call->out);
    return CD_OK;
}

/* For so many seconds, on a reader's thread. */
cd_err cd__debug_cpu_profile(cd_rpc_call *call)
{
    const char *place;
    u64 seconds;
    const struct timespec tick = {.tv_nsec = (long)TICK_MS * 1000000};
    CD_TRY(read_place(call, &place));
    CD_TRY(read_int(call, &seconds, 1));
    if (seconds > CPU_SECONDS_MAX || call->lane == CD_RPC_OWNER) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "up to %d seconds, and by itself: use debug_startCPUProfile and "
                           "debug_stopCPUProfile",
                           CPU_SECONDS_MAX);
    }
    CD_TRY(cd__profile_start(call, place, "CPU profiling already in progress"));
    for (u64 i = 0; i < seconds * 1000 / TICK_MS && !cd_rpc_is_late(call); i++) {
        (void)nanosleep(&tick, NULL);
    }
    return cd__debug_stop_cpu_profile(call);
}

/* --- what this program does not have --- */

cd_err cd__debug_no_vmodule(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "log levels are not set by file: use debug_verbosity");
}

cd_err cd__debug_no_gc(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "there is no garbage collector to set");
}

cd_err cd__debug_no_go_profile(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER,
                       "not a Go program: debug_cpuProfile counts the time of threads; for more "
                       "use perf on the node's machine");
}
