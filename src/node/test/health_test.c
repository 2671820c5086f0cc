#include "node/health.h"

#include "base/thread.h"

#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct fixture {
    const char *error;
    usize asked;
} fixture;

static const char *check(void *ctx, cd_json_w *message)
{
    fixture *f = ctx;
    f->asked++;
    cd_json_w_u64(message, f->asked);
    return f->error;
}

static cd_json ask(cd_health *h, cd_arena *a, u32 kind, bool want)
{
    cd_buf text = {0};
    cd_json doc;
    bool said;
    assert_int_equal(cd_health_fmt(h, &text, kind), want);
    assert_int_equal(cd_json_parse(&doc, a, cd_buf_bytes(&text), 0, NULL), CD_OK);
    assert_int_equal(cd_json_bool(&said, cd_json_get(doc, "healthy"), NULL), CD_OK);
    assert_int_equal(said, want);
    cd_buf_fini(&text);
    return cd_json_get(doc, "checks");
}

static void wait_a_second(void)
{
    const struct timespec t = {.tv_sec = 1, .tv_nsec = 20000000};
    assert_int_equal(nanosleep(&t, NULL), 0);
}

static void test_kinds_and_failures(void **state)
{
    cd_arena a = {0};
    fixture one = {.error = NULL};
    fixture two = {.error = "it broke"};
    u64 n;
    cd_bytes s;
    cd_health *h = cd_health_new();
    (void)state;
    cd_health_add(h, "a", CD_HEALTH_HEALTH, check, &one);
    cd_health_add(h, "b", CD_HEALTH_HEALTH | CD_HEALTH_READINESS, check, &two);
    assert_int_equal(cd_json_len(ask(h, &a, 0, true)), 0); /* liveness has no checks */
    assert_int_equal(two.asked, 0);
    cd_json all = ask(h, &a, CD_HEALTH_HEALTH, false);
    assert_int_equal(cd_json_len(all), 2);
    assert_false(cd_json_has(cd_json_get(cd_json_get(all, "a"), "error")));
    assert_int_equal(cd_json_str(&s, cd_json_get(cd_json_get(all, "b"), "error"), NULL), CD_OK);
    assert_true(cd_bytes_eq(s, cd_bytes_str("it broke")));
    assert_int_equal(cd_json_len(ask(h, &a, CD_HEALTH_READINESS, false)), 1);
    assert_int_equal(two.asked, 1); /* fresh enough */
    assert_int_equal(cd_health_failing(h), 1);
    wait_a_second();
    cd_json b = cd_json_get(ask(h, &a, CD_HEALTH_READINESS, false), "b");
    assert_int_equal(two.asked, 2);
    assert_int_equal(cd_json_u64(&n, cd_json_get(b, "contiguousFailures"), NULL), CD_OK);
    assert_int_equal(n, 2);
    assert_true(cd_json_has(cd_json_get(b, "timeOfFirstFailure")));
    two.error = NULL;
    wait_a_second();
    b = cd_json_get(ask(h, &a, CD_HEALTH_HEALTH, true), "b");
    assert_false(cd_json_has(cd_json_get(b, "contiguousFailures")));
    assert_int_equal(cd_health_failing(h), 0);
    cd_health_free(h);
    cd_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_and_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
