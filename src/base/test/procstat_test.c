/* What a process knows of itself: threads by name, time that grows, memory that comes and goes. */
#include "base/os/procstat.h"
#include "base/thread/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct gate {
    cd_mutex lock;
    cd_cond wake;
    bool is_open;
} gate;

static void wait_at(void *arg)
{
    gate *g = arg;
    cd_mutex_lock(&g->lock);
    while (!g->is_open) {
        cd_cond_wait(&g->wake, &g->lock);
    }
    cd_mutex_unlock(&g->lock);
}

static const cd_proc_thread *find(cd_arena *a, const char *name)
{
    const cd_proc_thread *list;
    usize cnt = cd_proc_threads(&list, a);
    for (usize i = 0; i < cnt; i++) {
        assert_true(i == 0 || list[i - 1].id < list[i].id);
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    cd_arena a = {0};
    gate g = {.is_open = false};
    cd_thread t;
    const cd_proc_thread *list;
    cd_mutex_init(&g.lock);
    cd_cond_init(&g.wake);
    assert_null(find(&a, "odd) (name"));
    assert_int_equal(cd_thread_start(&t, "odd) (name", wait_at, &g, NULL), CD_OK);
    const cd_proc_thread *one = NULL;
    while (one == NULL || one->state != 'S') { /* until the thread sleeps at the gate */
        one = find(&a, "odd) (name");
    }
    assert_true(cd_proc_threads(&list, &a) >= 2);
    assert_true(list[0].id == (u64)getpid()); /* the main thread's id is that of the process */
    u64 before = list[0].cpu_ns;
    for (int i = 0; i < 3000 && before == list[0].cpu_ns; i++) {
        (void)cd_proc_threads(&list, &a);
    }
    assert_true(list[0].cpu_ns > before);
    cd_mutex_lock(&g.lock);
    g.is_open = true;
    cd_mutex_unlock(&g.lock);
    cd_cond_wake_one(&g.wake);
    cd_thread_join(&t);
    cd_cond_fini(&g.wake);
    cd_mutex_fini(&g.lock);
    cd_arena_fini(&a);
}

static void memory(void **state)
{
    (void)state;
    cd_proc_mem m;
    cd_buf report = {0};
    cd_proc_mem_get(&m);
    assert_true(m.resident > 0 && m.reserved >= m.resident);
    assert_true(m.heap_used <= m.heap_sys || m.heap_sys == 0);
    cd_proc_mem_trim();
    cd_proc_mem_report(&report);
    assert_non_null(strstr(cd_buf_cstr(&report), "<malloc"));
    cd_buf_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
