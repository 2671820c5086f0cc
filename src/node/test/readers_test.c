/* The READ threads: everything runs once, slow kinds and greedy sources leave room for others. */
#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/thread/thread.h"
#include "node/front/readers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

typedef struct job {
    cd_rpc_job job; /* first */
    atomic_uint *done;
    u32 ms;            /* milliseconds of processor time that it takes */
    u32 rest_ms;       /* milliseconds that it sleeps, as if other threads ran in its place */
    atomic_bool *gate; /* runs until this is open; NULL: none */
} job;

static void nap(u32 ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

static void run(cd_rpc_job *j)
{
    job *me = (job *)(void *)j;
    atomic_uint *done = me->done;
    u64 end = cd_clock_thread_ns() + me->ms * CD_NS_PER_MS;
    while (cd_clock_thread_ns() < end) {
    }
    nap(me->rest_ms);
    while (me->gate != NULL && !atomic_load(me->gate)) {
        nap(1);
    }
    cd_free(me);
    (void)atomic_fetch_add(done, 1);
}

static cd_err submit_job(cd_readers *r, const job *what)
{
    job *j = cd_new(job);
    *j = *what;
    j->job.run = run;
    cd_err e = cd_readers_run(r, &j->job);
    if (e != CD_OK) {
        cd_free(j);
    }
    return e;
}

static cd_err submit(cd_readers *r, cd_rpc_source *source, const void *kind, u32 ms, atomic_bool *gate,
                     atomic_uint *done)
{
    return submit_job(r, &(job){.job = {.source = source, .kind = kind}, .done = done, .ms = ms, .gate = gate});
}

static void await(const atomic_uint *done, u32 want)
{
    for (int i = 0; i < 5000 && atomic_load(done) < want; i++) {
        nap(1);
    }
    assert_int_equal(atomic_load(done), want);
}

static cd_readers *readers_new(u32 threads, usize queue_max)
{
    cd_readers *r;
    assert_int_equal(cd_readers_new(&r, threads, queue_max, NULL), CD_OK);
    return r;
}

static void readers_end(cd_readers *r)
{
    cd_readers_stop(r);
    assert_int_equal(submit(r, NULL, NULL, 0, NULL, NULL), CD_ECLOSED);
    cd_readers_free(r);
}

typedef struct sender {
    cd_readers *r;
    atomic_uint *done;
    cd_thread thread;
} sender;

enum { SENDERS = 4, JOBS = 1000 };

static void send_many(void *arg)
{
    sender *s = arg;
    static const char kinds[3];
    cd_rpc_source *source = cd_rpc_source_new();
    for (u32 i = 0; i < JOBS; i++) {
        assert_int_equal(submit(s->r, i % 3 == 0 ? NULL : source, &kinds[i % 3], 0, NULL, s->done), CD_OK);
    }
    cd_rpc_source_unref(source);
}

static void all_run_once(void **state)
{
    (void)state;
    cd_readers *r = readers_new(4, (usize)SENDERS * JOBS);
    atomic_uint done = 0;
    sender senders[SENDERS];
    for (usize i = 0; i < SENDERS; i++) {
        senders[i] = (sender){.r = r, .done = &done};
        assert_int_equal(cd_thread_start(&senders[i].thread, "sender", send_many, &senders[i], NULL), CD_OK);
    }
    for (usize i = 0; i < SENDERS; i++) {
        cd_thread_join(&senders[i].thread);
    }
    readers_end(r); /* runs the jobs that wait */
    assert_int_equal(atomic_load(&done), SENDERS * JOBS);
}

static void full_queue(void **state)
{
    (void)state;
    cd_readers *r = readers_new(2, 3);
    atomic_uint done = 0;
    atomic_bool gate = false;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(submit(r, NULL, NULL, 0, &gate, &done), CD_OK);
    }
    while (cd_readers_waiting(r) != 0) {
        nap(1);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(submit(r, NULL, NULL, 0, &gate, &done), CD_OK);
    }
    assert_int_equal(submit(r, NULL, NULL, 0, &gate, &done), CD_EFULL);
    atomic_store(&gate, true);
    await(&done, 5);
    readers_end(r);
}

/* A kind that proved to be slow gets half of the threads; a quick one finds the other half free. */
static void slow_kinds(void **state)
{
    (void)state;
    static const char slow;
    static const char quick;
    cd_readers *r = readers_new(4, 1000);
    atomic_uint done = 0;
    atomic_uint quick_done = 0;
    atomic_bool gate = false;
    for (u32 i = 1; i <= 3; i++) {
        assert_int_equal(submit(r, NULL, &slow, 40, NULL, &done), CD_OK);
        await(&done, i);
    }
    for (u32 i = 0; i < 20; i++) {
        assert_int_equal(submit(r, NULL, &slow, 0, &gate, &done), CD_OK);
    }
    for (u32 i = 0; i < 100; i++) {
        assert_int_equal(submit(r, NULL, &quick, 0, NULL, &quick_done), CD_OK);
    }
    await(&quick_done, 100);
    assert_int_equal(atomic_load(&done), 3);
    atomic_store(&gate, true);
    await(&done, 23);
    readers_end(r);
}

/* A quick kind stays one when its threads have to wait for a processor, be it at its first job or later. */
static void interrupted_kinds(void **state)
{
    (void)state;
    static const char slow;
    static const char quick[2];
    cd_readers *r = readers_new(4, 1000);
    atomic_uint done = 0;
    atomic_uint quick_done = 0;
    atomic_bool gate = false;
    u32 cnt = 0;
    for (u32 i = 1; i <= 3; i++) {
        assert_int_equal(submit(r, NULL, &slow, 40, NULL, &done), CD_OK);
        await(&done, i);
    }
    for (u32 kind = 0; kind < 2; kind++) {
        u32 before = kind == 0 ? 0 : 100;
        for (u32 i = 0; i < before + 3; i++) {
            job j = {.job = {.kind = &quick[kind]}, .done = &quick_done};
            j.rest_ms = i < before ? 0 : 40;
            assert_int_equal(submit_job(r, &j), CD_OK);
            await(&quick_done, ++cnt);
        }
    }
    for (u32 i = 0; i < 20; i++) {
        assert_int_equal(submit(r, NULL, &slow, 0, &gate, &done), CD_OK);
    }
    for (u32 i = 0; i < 100; i++) {
        assert_int_equal(submit(r, NULL, &quick[i % 2], 0, NULL, &quick_done), CD_OK);
    }
    await(&quick_done, cnt + 100);
    assert_int_equal(atomic_load(&done), 3);
    atomic_store(&gate, true);
    await(&done, 23);
    readers_end(r);
}

/* A job that comes back: a batch whose calls go to and fro between lanes. */
typedef struct traveller {
    cd_rpc_job job; /* first */
    cd_readers *r;
    u32 left;
    atomic_uint done;
} traveller;

static void travel(cd_rpc_job *j)
{
    traveller *me = (traveller *)(void *)j;
    if (me->left-- != 0) {
        assert_int_equal(cd_readers_run(me->r, j), CD_OK);
    } else {
        atomic_store(&me->done, 1);
    }
}

static void comes_back(void **state)
{
    (void)state;
    cd_readers *r = readers_new(4, 100);
    traveller *alone = cd_new(traveller);
    traveller *of_somebody = cd_new(traveller);
    *alone = (traveller){.job = {.run = travel}, .r = r, .left = 50};
    *of_somebody = (traveller){.job = {.run = travel, .source = cd_rpc_source_new()}, .r = r, .left = 50};
    assert_int_equal(cd_readers_run(r, &alone->job), CD_OK);
    assert_int_equal(cd_readers_run(r, &of_somebody->job), CD_OK);
    await(&alone->done, 1);
    await(&of_somebody->done, 1);
    readers_end(r);
    cd_rpc_source_unref(of_somebody->job.source);
    cd_free(alone);
    cd_free(of_somebody);
}

/* A source with many jobs lets a source with a single job have its turn. */
static void greedy_source(void **state)
{
    (void)state;
    cd_readers *r = readers_new(2, 1000);
    cd_rpc_source *greedy = cd_rpc_source_new();
    cd_rpc_source *modest = cd_rpc_source_new();
    atomic_uint done = 0;
    atomic_uint modest_done = 0;
    atomic_bool gate = false;
    for (u32 i = 0; i < 50; i++) {
        assert_int_equal(submit(r, greedy, NULL, 0, &gate, &done), CD_OK);
    }
    assert_int_equal(submit(r, modest, NULL, 0, NULL, &modest_done), CD_OK);
    assert_int_equal(submit(r, NULL, NULL, 0, NULL, &modest_done), CD_OK);
    await(&modest_done, 2);
    assert_int_equal(atomic_load(&done), 0);
    cd_rpc_source_unref(greedy);
    cd_rpc_source_unref(modest);
    atomic_store(&gate, true);
    await(&done, 50);
    readers_end(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_run_once),      cmocka_unit_test(full_queue),    cmocka_unit_test(slow_kinds),
        cmocka_unit_test(interrupted_kinds), cmocka_unit_test(greedy_source), cmocka_unit_test(comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
