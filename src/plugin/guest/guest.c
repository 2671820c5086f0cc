#include "plugin/guest/guest_priv.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    HANDSHAKE_MS = 5000,
    WATCH_MS = 500,  /* how often the guest looks whether the node lives */
    GRACE_MS = 1000, /* time for answers that are under way when the process ends */
    WORKERS_QUEUE = 4096,
};

const char *cd_guest_engine_addr(bool *is_upstream)
{
    const char *lux = getenv("LUX_VM_RUNTIME_ENGINE_ADDR");
    const char *upstream = getenv("AVALANCHE_VM_RUNTIME_ENGINE_ADDR");
    *is_upstream = lux == NULL && upstream != NULL;
    return lux != NULL ? lux : upstream;
}

/* --- the end --- */

static void on_server_gone(void *ctx)
{
    const cd_guest *g = ctx;
    cd_loop_stop(g->loop);
}

/* Ends the process with a status; calls that are under way have GRACE_MS to finish. */
static void finish(cd_guest *g, int status)
{
    if (g->is_over) {
        return;
    }
    g->is_over = true;
    g->status = status;
    cd_grpc_server_close(g->server, GRACE_MS, on_server_gone, g);
    g->server = NULL;
}

static void on_interrupt(void *ctx, int signum)
{
    (void)ctx;
    (void)signum;
    (void)puts("runtime engine: ignoring signal: interrupt");
    (void)fflush(stdout);
}

static void on_terminate(void *ctx, int signum)
{
    cd_guest *g = ctx;
    (void)signum;
    if (!g->is_shut_down || g->closing != NULL) {
        (void)puts("runtime engine: ignoring signal: terminated");
    } else {
        (void)puts("runtime engine: received shutdown signal: terminated");
        finish(g, 0);
    }
    (void)fflush(stdout);
}

/* Ends the process when the node is gone, which shows in a new parent. Nothing is waited for: the store is whole at
 * every moment, and whoever could answer is gone, too. */
static void on_watch(void *ctx)
{
    cd_guest *g = ctx;
    if (getppid() != g->parent && !g->is_over) {
        cd_log_error(g->cfg->log, "the node is gone", CD_F("vm", g->cfg->name));
        cd_log_close(g->cfg->log);
        _Exit(1);
    }
}

/* --- handshake --- */

static void on_hello(cd_grpc_ask *a)
{
    cd_guest *g = (cd_guest *)(void *)((char *)a - offsetof(cd_guest, hello));
    cd_errinfo why = {0};
    cd_err err = cd_grpc_status_err(&a->status, &why);
    cd_grpc_ask_fini(a);
    cd_grpc_client_close(g->runtime); /* the node closes its server after the handshake */
    if (err != CD_OK) {
        (void)cd_fail(g->why, err, "failed to initialize vm runtime: %s", why.msg);
        finish(g, 1);
    }
}

static cd_err say_hello(cd_guest *g, cd_errinfo *why)
{
    const cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    char addr[32];
    (void)snprintf(addr, sizeof addr, "127.0.0.1:%u", cd_grpc_server_port(g->server));
    const cd_wire_run_hello msg = {.protocol_version = CD_WIRE_PROTOCOL, .addr = cd_bytes_str(addr)};
    CD_TRY(cd_grpc_client_new(&g->runtime, g->loop, &cfg, g->cfg->engine_addr, why));
    g->hello = (cd_grpc_ask){
        .path = "/vm.runtime.Runtime/Initialize",
        .timeout_ms = HANDSHAKE_MS,
        .done = on_hello,
    };
    CD_WIRE_PUT(&g->hello.msg, run_hello, &msg);
    cd_grpc_ask_start(g->runtime, &g->hello);
    return CD_OK;
}

/* --- the object --- */

static cd_err open_front(cd_guest *g, cd_errinfo *why)
{
    static const char *const any[] = {"*"};
    const cd_front_cfg cfg = {.host = "127.0.0.1", .allowed_hosts = any, .allowed_hosts_cnt = CD_COUNT(any)};
    CD_TRY(cd_front_new(&g->front, &cfg, &g->budget, g->metrics, g->cfg->log, why));
    g->loop = cd_front_loop(g->front);
    return CD_OK;
}

static cd_err open_all(cd_guest *g, cd_errinfo *why)
{
    const cd_grpc_server_cfg server = cd_grpc_server_cfg_default();
    CD_TRY(open_front(g, why));
    CD_TRY(cd_pool_new(&g->pool, cd_thread_cpus(), WORKERS_QUEUE, "worker", why));
    CD_TRY(cd_grpc_server_open(&g->server, g->loop, &server, "127.0.0.1", 0, why));
    cd_grpc_server_add(g->server, cd__guest_methods, cd__guest_methods_cnt, g);
    CD_TRY(cd_signal_open(&g->sigint, g->loop, SIGINT, on_interrupt, g, why));
    CD_TRY(cd_signal_open(&g->sigterm, g->loop, SIGTERM, on_terminate, g, why));
    g->watch = cd_timer_new(g->loop, on_watch, g);
    cd_timer_start(g->watch, WATCH_MS, WATCH_MS);
    cd__seat_init(&g->seat, g);
    g->leaving = cd_timer_new(g->loop, cd__guest_leaving, g);
    return say_hello(g, why);
}

/* Frees everything after a failed start or an orderly end, the executor first: its VM uses the rest. */
static void close_all(cd_guest *g)
{
    cd_executor_free(g->executor);
    cd_kv_close(g->kv);
    if (g->tunnel != NULL) {
        cd__tunnel_close(g->tunnel);
    }
    cd_grpc_server_close(g->server, 0, NULL, NULL);
    cd_grpc_client_free(g->runtime);
    cd_grpc_client_free(g->db);
    cd_grpc_client_free(g->services);
    cd_signal_close(g->sigint);
    cd_signal_close(g->sigterm);
    cd_timer_free(g->watch);
    cd_timer_free(g->leaving);
    cd_timer_free(g->seat.again);
    if (g->front != NULL) {
        cd_front_stop_readers(g->front);
        cd_front_stop(g->front, 0, on_server_gone, g);
        cd_loop_run(g->loop);
    }
    cd__tunnel_free(g->tunnel);
    cd_pool_free(g->pool);
    cd_front_free(g->front);
    cd_metrics_free(g->vm_metrics);
    cd_metrics_free(g->metrics);
    cd__guest_shared_fini(&g->shared);
    cd_kv_batch_fini(&g->batch);
    cd_arena_fini(&g->mem);
}

int cd_guest_run(const cd_guest_cfg *cfg, cd_errinfo *why)
{
    cd_guest g = {
        .cfg = cfg,
        .budget = cd_budget_of(cfg->memory),
        .rng = cd_rng_os(),
        .parent = getppid(),
        .why = why,
        .metrics = cd_metrics_new(""),
    };
    g.vm_metrics = cd_metrics_part_new(g.metrics, NULL);
    cd_err err = open_all(&g, why);
    if (err == CD_OK) {
        cd_loop_run(g.loop);
    }
    int status = err == CD_OK ? g.status : 1;
    close_all(&g);
    if (status == 0) {
        (void)puts("vm server: graceful termination success");
        (void)fflush(stdout);
    }
    return status;
}
