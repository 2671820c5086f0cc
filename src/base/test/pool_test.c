#include "base/thread/pool.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N = 2000, SLOTS = 8 };

typedef struct sum {
    cd_pool *pool;
    u32 slots;
    u32 hits[N];
    _Atomic bool busy[SLOTS];
} sum;

static void count(void *arg, usize i, u32 slot)
{
    sum *s = arg;
    assert_true(slot < s->slots);
    assert_false(atomic_exchange(&s->busy[slot], true)); /* a slot belongs to one thread at a time */
    s->hits[i]++;
    assert_true(atomic_exchange(&s->busy[slot], false));
}

static void run_for(cd_pool *p, usize n)
{
    sum *s = cd_new(sum);
    s->slots = cd_pool_slots(p);
    cd_pool_for(p, n, count, s);
    for (usize i = 0; i < N; i++) {
        assert_int_equal(s->hits[i], i < n);
    }
    cd_free(s);
}

static void test_for(void **state)
{
    (void)state;
    run_for(NULL, N);
    for (u32 workers = 0; workers <= 3; workers++) {
        cd_pool *p = NULL;
        assert_int_equal(cd_pool_new(&p, workers, 4, "pool", NULL), CD_OK);
        assert_int_equal(cd_pool_slots(p), workers + 1);
        for (usize n = 0; n < 40; n++) {
            run_for(p, n);
        }
        for (u32 i = 0; i < 50; i++) {
            run_for(p, N);
        }
        cd_pool_free(p);
    }
}

typedef struct nest {
    cd_pool *pool;
    _Atomic u32 leaves;
} nest;

static void leaf(void *arg, usize i, u32 slot)
{
    nest *n = arg;
    (void)i;
    (void)slot;
    atomic_fetch_add(&n->leaves, 1);
}

static void branch(void *arg, usize i, u32 slot)
{
    nest *n = arg;
    (void)i;
    (void)slot;
    cd_pool_for(n->pool, 17, leaf, n);
}

static void job_branch(void *arg)
{
    nest *n = arg;
    cd_pool_for(n->pool, 13, branch, n);
}

/* Loops inside loops inside jobs, while the caller runs loops of its own. */
static void test_nested(void **state)
{
    (void)state;
    nest n = {0};
    assert_int_equal(cd_pool_new(&n.pool, 2, 64, "pool", NULL), CD_OK);
    for (u32 i = 0; i < 64; i++) {
        while (cd_pool_submit(n.pool, job_branch, &n) != CD_OK) {
            sched_yield();
        }
        cd_pool_for(n.pool, 5, branch, &n);
    }
    cd_pool_free(n.pool);
    assert_int_equal(atomic_load(&n.leaves), 64 * (13 * 17 + 5 * 17));
}

typedef struct gate {
    _Atomic bool is_inside;
    _Atomic bool is_open;
    _Atomic u32 ran;
} gate;

static void wait_open(void *arg)
{
    gate *g = arg;
    atomic_store(&g->is_inside, true);
    while (!atomic_load(&g->is_open)) {
        sched_yield();
    }
}

static void ran(void *arg)
{
    gate *g = arg;
    atomic_fetch_add(&g->ran, 1);
}

static void test_submit(void **state)
{
    (void)state;
    cd_pool *p = NULL;
    gate g = {0};
    assert_int_equal(cd_pool_new(&p, 1, 3, "pool", NULL), CD_OK);
    assert_int_equal(cd_pool_submit(p, wait_open, &g), CD_OK);
    while (!atomic_load(&g.is_inside)) {
        sched_yield();
    }
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(cd_pool_submit(p, ran, &g), CD_OK);
    }
    assert_int_equal(cd_pool_submit(p, ran, &g), CD_EFULL);
    run_for(p, 100); /* the only worker is busy: the caller does it all */
    assert_int_equal(atomic_load(&g.ran), 0);
    assert_true(cd_pool_help(p)); /* the caller may also run a queued job */
    assert_int_equal(atomic_load(&g.ran), 1);
    assert_int_equal(cd_pool_submit(p, ran, &g), CD_OK);
    atomic_store(&g.is_open, true);
    cd_pool_free(p); /* runs the queued jobs first */
    assert_int_equal(atomic_load(&g.ran), 4);

    assert_int_equal(cd_pool_submit(NULL, ran, &g), CD_OK);
    assert_int_equal(atomic_load(&g.ran), 5);
    assert_false(cd_pool_help(NULL));
    cd_pool_free(NULL);
}

static void test_thread(void **state)
{
    (void)state;
    assert_true(cd_thread_cpus() >= 1);
    assert_int_equal(cd_thread_pin(100000), CD_ERANGE);
    cd_mutex m;
    cd_cond c;
    cd_mutex_init(&m);
    cd_cond_init(&c);
    cd_mutex_lock(&m);
    while (cd_cond_wait_ms(&c, &m, 1)) {
    }
    cd_mutex_unlock(&m);
    cd_cond_fini(&c);
    cd_mutex_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_submit),
        cmocka_unit_test(test_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
