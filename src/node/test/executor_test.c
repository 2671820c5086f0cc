/* The executor on a toy VM: order, bounds, two queues of which none starves, how it ends, and without a thread. */
#include "consensus/solo.h"
#include "node/chain/executor.h"
#include "vm/test/toy_vm.h"

#include "base/thread/thread.h"

#include <stdatomic.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { QUEUE = 128, LOG_MAX = 4096 };

typedef struct rig {
    cd_kv *store;
    cd_kv *chain;
    toy *t;
    cd_engine *engine;
    cd_executor *ex;
    cd_clock_virtual clock;
    cd_vm_ops ops; /* the toy's, and more */
    cd_err fails;  /* error that open gives */
    u32 log[LOG_MAX];
    usize cnt;
    u64 wake_at;
    u32 woken;
    bool is_told;
    u32 refusals;      /* so many attempts to build a block fail */
    atomic_uint wakes; /* calls of wake, due or not */
    atomic_uint ended;
    atomic_bool gate;
} rig;

static rig *the_rig; /* the rig for wake, which has no context */

static u64 on_wake(cd_vm *vm)
{
    rig *r = the_rig;
    (void)vm;
    (void)atomic_fetch_add(&r->wakes, 1);
    if (cd_clock_mono_ns(&r->clock.clock) >= r->wake_at) {
        r->woken++;
        r->wake_at += 100;
        r->t->wanted = 1000 + r->woken;
        cd_vm_host *host = cd_executor_host(r->ex);
        host->notify(host, CD_VM_WANTS_BLOCK);
    }
    return r->wake_at;
}

/* As the wrapper of proposers does: the engine is told, and told again a while after a block could not be made. */
static u64 on_wake_again(cd_vm *vm)
{
    rig *r = the_rig;
    (void)vm;
    u64 now = cd_clock_mono_ns(&r->clock.clock);
    if (r->is_told || r->wake_at == UINT64_MAX) {
        return UINT64_MAX;
    }
    if (now < r->wake_at) {
        return r->wake_at;
    }
    r->is_told = true;
    cd_vm_host *host = cd_executor_host(r->ex);
    host->notify(host, CD_VM_WANTS_BLOCK);
    return UINT64_MAX;
}

static cd_err on_build_late(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    rig *r = the_rig;
    r->is_told = false;
    if (r->wake_at == UINT64_MAX) {
        return CD_ENOENT;
    }
    if (r->refusals != 0) {
        r->refusals--;
        r->wake_at += 100;
        return cd_fail(why, CD_EINVAL, "too early");
    }
    r->wake_at = UINT64_MAX;
    r->t->wanted = 77;
    return toy_ops.build(vm, out, ctx, why);
}

static const char *on_health(cd_vm *vm, cd_json_w *w)
{
    const toy *t = (toy *)(void *)vm;
    cd_json_w_u64(w, t->blocks.last_height);
    return t->blocks.last_height == 13 ? "unlucky" : NULL;
}

static cd_err on_open(void *ctx, cd_vm **out, cd_errinfo *why)
{
    rig *r = ctx;
    if (r->fails != CD_OK) {
        return cd_fail(why, r->fails, "it cannot be");
    }
    *out = toy_open(r->chain, TOY_IS_GOOD);
    r->t = (toy *)(void *)*out;
    (*out)->ops = &r->ops;
    return CD_OK;
}

static void on_ended(void *ctx)
{
    (void)atomic_fetch_add(&((rig *)ctx)->ended, 1);
}

static void rig_new(rig *r, bool is_stepped)
{
    *r = (rig){.store = cd_kv_mem_open(), .wake_at = UINT64_MAX, .ops = toy_ops};
    the_rig = r;
    cd_clock_virtual_init(&r->clock, 0);
    r->chain = cd_kv_prefix_open(r->store, cd_bytes_str("C"));
    r->ops.wake = on_wake;
    r->ops.health = on_health;
    r->engine = cd_solo_new(&(cd_solo_cfg){.door = {.store = r->store, .chain = r->chain}, .name = "toy"});
    r->ex = cd_executor_new(&(cd_executor_cfg){
        .name = "toy",
        .clock = is_stepped ? &r->clock.clock : cd_clock_real(),
        .engine = r->engine,
        .is_stepped = is_stepped,
        .queue_max = QUEUE,
        .open = on_open,
        .ended = on_ended,
        .ctx = r,
    });
}

static void rig_open(rig *r, bool is_stepped)
{
    rig_new(r, is_stepped);
    assert_int_equal(cd_executor_start(r->ex, NULL), CD_OK);
    assert_int_equal(cd_executor_await(r->ex, NULL), CD_OK);
}

static void rig_free(rig *r)
{
    cd_executor_free(r->ex);
    cd_solo_free(r->engine);
    cd_kv_close(r->chain);
    cd_kv_close(r->store);
}

static void rig_close(rig *r)
{
    rig_free(r);
    assert_int_equal(atomic_load(&r->ended), 1);
}

/* --- jobs --- */

typedef struct job {
    cd_rpc_job job; /* first */
    rig *r;
    u32 mark;
    u64 wants;  /* a number for a block; 0: none */
    bool waits; /* true: it waits until the gate is open */
    atomic_bool *begun;
} job;

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void run_job(cd_rpc_job *j)
{
    job *me = (job *)(void *)j;
    rig *r = me->r;
    assert_true(r->cnt < LOG_MAX);
    r->log[r->cnt++] = me->mark;
    if (me->wants != 0) {
        cd_vm_host *host = cd_executor_host(r->ex);
        r->t->wanted = me->wants;
        host->notify(host, CD_VM_WANTS_BLOCK);
    }
    if (me->begun != NULL) {
        atomic_store(me->begun, true);
    }
    while (me->waits && !atomic_load(&r->gate)) {
        nap();
    }
    cd_free(me);
}

static cd_err send(rig *r, bool is_engine, const job *what)
{
    job *j = cd_new(job);
    *j = *what;
    j->job.run = run_job;
    j->r = r;
    cd_err e = is_engine ? cd_executor_run_first(r->ex, &j->job) : cd_executor_run(r->ex, &j->job);
    if (e != CD_OK) {
        cd_free(j);
    }
    return e;
}

/* Holds the executor up in a client's job until the gate opens. */
static void hold(rig *r)
{
    atomic_bool begun = false;
    assert_int_equal(send(r, false, &(job){.mark = UINT32_MAX, .waits = true, .begun = &begun}), CD_OK);
    while (!atomic_load(&begun)) {
        nap();
    }
}

enum { CLIENT = 1000000 };

/* Both queues hold what they may and no more, and keep their order; what the engine has comes first, in stretches of at
 * most 64 between calls. */
static void two_queues(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, false);
    hold(&r);
    for (u32 i = 0; i < QUEUE; i++) {
        assert_int_equal(send(&r, false, &(job){.mark = CLIENT + i}), CD_OK);
        assert_int_equal(send(&r, true, &(job){.mark = i}), CD_OK);
    }
    assert_int_equal(send(&r, false, &(job){.mark = 0}), CD_EFULL);
    assert_int_equal(send(&r, true, &(job){.mark = 0}), CD_EFULL);
    atomic_store(&r.gate, true);
    rig_close(&r); /* runs the jobs that are queued */
    assert_int_equal(r.cnt, 1 + 2 * QUEUE);
    u32 engine = 0;
    u32 client = 0;
    u32 between = 0;
    for (usize i = 1; i < r.cnt; i++) {
        if (r.log[i] < CLIENT) {
            assert_int_equal(r.log[i], engine++);
            assert_true(++between <= 64);
        } else {
            assert_int_equal(r.log[i], CLIENT + client++);
            /* A client's call is served only after 64 of the engine's jobs, or when none of those waits. */
            assert_true(between == 64 || engine == QUEUE);
            between = 0;
        }
    }
}

typedef struct flood {
    rig *r;
    bool is_engine;
    atomic_bool is_over;
    cd_thread thread;
} flood;

static void nothing(cd_rpc_job *j)
{
    cd_free(j);
}

static void flood_main(void *arg)
{
    flood *f = arg;
    while (!atomic_load(&f->is_over)) {
        cd_rpc_job *j = cd_new(cd_rpc_job);
        j->run = nothing;
        cd_err e = f->is_engine ? cd_executor_run_first(f->r->ex, j) : cd_executor_run(f->r->ex, j);
        if (e != CD_OK) {
            cd_free(j);
            nap();
        }
    }
}

static void count(void *arg)
{
    (*(u32 *)arg)++;
}

/* While one side never pauses, the other is served. */
static void none_starves(void **state)
{
    (void)state;
    for (usize k = 0; k < 2; k++) {
        rig r;
        rig_open(&r, false);
        flood f = {.r = &r, .is_engine = k == 0};
        assert_int_equal(cd_thread_start(&f.thread, "flood", flood_main, &f, NULL), CD_OK);
        u32 done = 0;
        for (u32 i = 0; i < 20; i++) {
            if (k == 0) {
                cd_vm_host *host = cd_executor_host(r.ex);
                while (host->run(host, count, &done) == CD_EFULL) {
                    nap();
                }
            } else {
                atomic_bool begun = false;
                assert_int_equal(send(&r, true, &(job){.begun = &begun}), CD_OK);
                while (!atomic_load(&begun)) {
                    nap();
                }
                done++;
            }
        }
        assert_int_equal(done, 20);
        atomic_store(&f.is_over, true);
        cd_thread_join(&f.thread);
        rig_close(&r);
    }
}

/* Work on the executor that wants something of the executor. */
typedef struct nested {
    cd_vm_host *host;
    u32 done;
} nested;

static void ask_again(void *arg)
{
    nested *n = arg;
    assert_int_equal(n->host->run(n->host, count, &n->done), CD_OK);
}

/* It is called at once: who waited for himself would wait for ever. */
static void run_from_itself(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, false);
    nested n = {.host = cd_executor_host(r.ex)};
    assert_int_equal(n.host->run(n.host, ask_again, &n), CD_OK);
    assert_int_equal(n.done, 1);
    rig_close(&r);
}

/* What is heard on another thread is told by wake, which comes although nobody calls and nothing is due; while the
 * executor works on something else, who stirs does not wait for it. */
static void stirred(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, false);
    cd_vm_host *host = cd_executor_host(r.ex);
    for (u32 i = 0; i < 100; i++) {
        u32 before = atomic_load(&r.wakes);
        host->stir(host);
        while (atomic_load(&r.wakes) == before) {
            nap();
        }
    }
    hold(&r);
    for (u32 i = 0; i < 10 * QUEUE; i++) {
        host->stir(host);
    }
    u32 before = atomic_load(&r.wakes);
    atomic_store(&r.gate, true);
    while (atomic_load(&r.wakes) == before) {
        nap();
    }
    rig_close(&r);
    rig_open(&r, true);
    assert_null(cd_executor_host(r.ex)->stir);
    rig_close(&r);
}

/* A block that a call makes due is there before the next call; the tip and health follow. */
static void blocks_between_calls(void **state)
{
    (void)state;
    rig r;
    cd_buf text = {0};
    cd_executor_tip tip;
    rig_open(&r, false);
    assert_null(cd_executor_health(r.ex, &text));
    assert_string_equal(cd_buf_cstr(&text), "0");
    u32 done = 0;
    cd_vm_host *host = cd_executor_host(r.ex);
    for (u64 n = 1; n <= 13; n++) {
        assert_int_equal(send(&r, false, &(job){.wants = n}), CD_OK);
        assert_int_equal(host->run(host, count, &done), CD_OK);
        cd_executor_tip_get(r.ex, &tip);
        assert_int_equal(tip.height, n);
        assert_int_equal(tip.accepted, n);
        assert_int_equal(tip.processing, 0);
    }
    assert_int_equal(done, 13);
    const char *said = NULL;
    for (u32 i = 0; i < 10000 && said == NULL; i++) {
        cd_buf_clear(&text);
        said = cd_executor_health(r.ex, &text);
        nap();
    }
    assert_string_equal(said, "unlucky");
    assert_string_equal(cd_buf_cstr(&text), "13");
    cd_buf_fini(&text);
    rig_close(&r);
}

static void ending(void **state)
{
    (void)state;
    rig r;
    u32 done = 0;
    rig_open(&r, false);
    hold(&r);
    for (u32 i = 0; i < 10; i++) {
        assert_int_equal(send(&r, i % 2 == 0, &(job){.mark = i}), CD_OK);
    }
    cd_executor_end(r.ex); /* returns without waiting */
    assert_int_equal(atomic_load(&r.ended), 0);
    assert_int_equal(send(&r, false, &(job){.mark = 0}), CD_ECLOSED);
    assert_int_equal(send(&r, true, &(job){.mark = 0}), CD_ECLOSED);
    cd_vm_host *host = cd_executor_host(r.ex);
    assert_int_equal(host->run(host, count, &done), CD_ECLOSED);
    atomic_store(&r.gate, true);
    cd_executor_end(r.ex);
    rig_close(&r);
    assert_int_equal(r.cnt, 11);
    assert_int_equal(done, 0);
}

static void failing_open(void **state)
{
    (void)state;
    for (usize k = 0; k < 2; k++) {
        rig r;
        cd_errinfo why = {0};
        rig_new(&r, k == 1);
        r.fails = CD_ECORRUPT;
        assert_int_equal(cd_executor_start(r.ex, NULL), k == 0 ? CD_OK : CD_ECORRUPT);
        assert_int_equal(cd_executor_await(r.ex, &why), CD_ECORRUPT);
        assert_string_equal(why.msg, "it cannot be");
        rig_free(&r);
        assert_int_equal(atomic_load(&r.ended), 0);
    }
}

/* Without a thread nothing happens but in steps; work that is due by the clock is done when the clock says so. */
static void stepped(void **state)
{
    (void)state;
    rig r;
    u32 done = 0;
    cd_executor_tip tip;
    rig_open(&r, true);
    cd_vm_host *host = cd_executor_host(r.ex);
    assert_int_equal(cd_executor_step(r.ex), UINT64_MAX);
    assert_int_equal(host->run(host, count, &done), CD_OK);
    assert_int_equal(done, 1);
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(send(&r, false, &(job){.mark = CLIENT + i, .wants = 5 + i}), CD_OK);
        assert_int_equal(send(&r, true, &(job){.mark = i}), CD_OK);
    }
    assert_int_equal(r.cnt, 0);
    assert_int_equal(cd_executor_step(r.ex), UINT64_MAX);
    static const u32 order[] = {0, 1, 2, CLIENT, CLIENT + 1, CLIENT + 2};
    assert_int_equal(r.cnt, CD_COUNT(order));
    assert_memory_equal(r.log, order, sizeof order);
    cd_executor_tip_get(r.ex, &tip);
    assert_int_equal(tip.height, 3);
    r.wake_at = 1000;
    assert_int_equal(cd_executor_step(r.ex), 1000);
    cd_clock_virtual_advance(&r.clock, 999);
    assert_int_equal(cd_executor_step(r.ex), 1000);
    assert_int_equal(r.woken, 0);
    cd_clock_virtual_advance(&r.clock, 1);
    assert_int_equal(cd_executor_step(r.ex), 1100);
    cd_executor_tip_get(r.ex, &tip);
    assert_int_equal(tip.height, 4); /* the engine acted on what the VM said when it was woken */
    assert_int_equal(send(&r, false, &(job){.mark = 9}), CD_OK);
    cd_executor_end(r.ex);
    assert_int_equal(r.log[r.cnt - 1], 9);
    assert_int_equal(cd_executor_step(r.ex), UINT64_MAX);
    rig_close(&r);
}

/* A block that could not be made when the VM was woken is tried again each time it is woken. */
static void blocks_that_come_late(void **state)
{
    (void)state;
    cd_executor_tip tip;
    rig r;
    rig_new(&r, true);
    r.ops.wake = on_wake_again;
    r.ops.build = on_build_late;
    r.refusals = 3;
    assert_int_equal(cd_executor_start(r.ex, NULL), CD_OK);
    r.wake_at = 1000;
    assert_int_equal(cd_executor_step(r.ex), 1000);
    for (u64 at = 1000; at < 1300; at += 100) {
        cd_clock_virtual_advance(&r.clock, at == 1000 ? 1000 : 100);
        assert_int_equal(cd_executor_step(r.ex), at + 100);
        cd_executor_tip_get(r.ex, &tip);
        assert_int_equal(tip.height, 0);
    }
    cd_clock_virtual_advance(&r.clock, 100);
    assert_int_equal(cd_executor_step(r.ex), UINT64_MAX);
    cd_executor_tip_get(r.ex, &tip);
    assert_int_equal(tip.height, 1);
    rig_close(&r);
}

/* For how long the lowest undecided block waits. */
static void waiting(void **state)
{
    (void)state;
    rig r;
    cd_executor_tip tip;
    rig_open(&r, true);
    cd_clock_virtual_advance(&r.clock, 5);
    (void)cd_executor_step(r.ex);
    cd_executor_tip_get(r.ex, &tip);
    assert_int_equal(tip.waiting_ns, 0);
    r.engine->stats.processing = 2; /* as if there were others who have not voted yet */
    (void)cd_executor_step(r.ex);
    cd_clock_virtual_advance(&r.clock, 100);
    (void)cd_executor_step(r.ex);
    cd_executor_tip_get(r.ex, &tip);
    assert_int_equal(tip.waiting_ns, 5);
    r.engine->stats.processing = 0;
    (void)cd_executor_step(r.ex);
    cd_executor_tip_get(r.ex, &tip);
    assert_int_equal(tip.waiting_ns, 0);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_queues),   cmocka_unit_test(run_from_itself),
        cmocka_unit_test(none_starves), cmocka_unit_test(blocks_between_calls),
        cmocka_unit_test(ending),       cmocka_unit_test(failing_open),
        cmocka_unit_test(stepped),      cmocka_unit_test(blocks_that_come_late),
        cmocka_unit_test(waiting),      cmocka_unit_test(stirred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
