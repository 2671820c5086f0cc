/* bench-executor: how long the engine's work waits behind clients' calls on an executor that is never idle.
 *
 *   bench-executor [SECONDS]
 *
 * Clients keep the queue full of calls that take 200 microseconds each, as one with a small transaction does; meanwhile
 * the engine gets a job every millisecond. One JSON line; calls_before_max says how many calls were served before one
 * of the engine's at most, which other programs on the machine do not change. */
#include "node/chain/executor.h"
#include "base/mem/mem.h"
#include "consensus/solo.h"
#include "vm/test/toy_vm.h"

#include "base/thread/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALL_NS = 200000, WAITS_MAX = 1 << 20 };

typedef struct bench {
    cd_kv *kv;
    cd_executor *ex;
    atomic_bool is_over;
    _Atomic u64 calls;
    u64 *waits; /* of the executor */
    usize cnt;
    u64 behind; /* the most calls that were served while one of the engine's jobs waited */
} bench;

typedef struct job {
    cd_rpc_job job; /* first */
    bench *b;
    u64 sent_ns;
    u64 calls; /* that had been served then */
} job;

static u64 now_ns(void)
{
    return cd_clock_mono_ns(cd_clock_real());
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void run_call(cd_rpc_job *j)
{
    job *me = (job *)(void *)j;
    u64 end = now_ns() + CALL_NS;
    while (now_ns() < end) {
    }
    (void)atomic_fetch_add(&me->b->calls, 1);
    cd_free(me);
}

static void run_engine(cd_rpc_job *j)
{
    job *me = (job *)(void *)j;
    bench *b = me->b;
    b->behind = cd_max_u64(b->behind, atomic_load(&b->calls) - me->calls);
    if (b->cnt < WAITS_MAX) {
        b->waits[b->cnt++] = now_ns() - me->sent_ns;
    }
    cd_free(me);
}

static bool send(bench *b, bool is_engine)
{
    job *j = cd_new(job);
    *j = (job){
        .job.run = is_engine ? run_engine : run_call, .b = b, .sent_ns = now_ns(), .calls = atomic_load(&b->calls)};
    cd_err e = is_engine ? cd_executor_run_first(b->ex, &j->job) : cd_executor_run(b->ex, &j->job);
    if (e != CD_OK) {
        cd_free(j);
    }
    return e == CD_OK;
}

static void call_main(void *arg)
{
    bench *b = arg;
    while (!atomic_load(&b->is_over)) {
        if (!send(b, false)) {
            nap();
        }
    }
}

static cd_err on_open(void *ctx, cd_vm **out, cd_errinfo *why)
{
    (void)why;
    *out = toy_open(((bench *)ctx)->kv, TOY_IS_GOOD);
    return CD_OK;
}

static int by_size(const void *a, const void *b)
{
    u64 x = *(const u64 *)a;
    u64 y = *(const u64 *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    u64 seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 5;
    bench b = {.kv = cd_kv_mem_open(), .waits = cd_new_array(u64, WAITS_MAX)};
    cd_engine *engine = cd_solo_new(&(cd_solo_cfg){.door = {.store = b.kv, .chain = b.kv}, .name = "toy"});
    cd_thread clients;
    b.ex = cd_executor_new(
        &(cd_executor_cfg){.name = "toy", .clock = cd_clock_real(), .engine = engine, .open = on_open, .ctx = &b});
    if (cd_executor_start(b.ex, NULL) != CD_OK || cd_executor_await(b.ex, NULL) != CD_OK ||
        cd_thread_start(&clients, "clients", call_main, &b, NULL) != CD_OK) {
        return 1;
    }
    for (u64 end = now_ns() + seconds * CD_NS_PER_SEC; now_ns() < end;) {
        (void)send(&b, true);
        nap();
    }
    atomic_store(&b.is_over, true);
    cd_thread_join(&clients);
    cd_executor_free(b.ex);
    qsort(b.waits, b.cnt, sizeof *b.waits, by_size);
    if (b.cnt != 0) {
        usize mid = b.cnt / 2;
        usize late = b.cnt * 99 / 100;
        (void)printf("{\"bench\":\"executor\",\"engine_jobs\":%zu,\"calls\":%llu,\"call_us\":%d,\"wait_us_p50\":%.1f,"
                     "\"wait_us_p99\":%.1f,\"wait_us_max\":%.1f,\"calls_before_max\":%llu}\n",
                     b.cnt, (unsigned long long)b.calls, CALL_NS / 1000, (double)b.waits[mid] / 1e3,
                     (double)b.waits[late] / 1e3, (double)b.waits[b.cnt - 1] / 1e3, (unsigned long long)b.behind);
    }
    cd_solo_free(engine);
    cd_kv_close(b.kv);
    cd_free(b.waits);
    return 0;
}
