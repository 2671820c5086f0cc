#include "node/front/health.h"

#include <stdio.h>

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

static void test_kinds_and_failures(void **state)
{
    cd_arena a = {0};
    fixture one = {.error = NULL};
    fixture two = {.error = "it broke"};
    u64 n;
    cd_bytes s;
    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 1700000000 * CD_NS_PER_SEC);
    cd_health *h = cd_health_new(&clock.clock, 0);
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
    assert_int_equal(two.asked, 1); /* the kept result is fresh enough */
    assert_int_equal(cd_health_failing(h), 1);
    cd_clock_virtual_advance(&clock, CD_NS_PER_SEC);
    cd_json b = cd_json_get(ask(h, &a, CD_HEALTH_READINESS, false), "b");
    assert_int_equal(two.asked, 2);
    assert_int_equal(cd_json_u64(&n, cd_json_get(b, "contiguousFailures"), NULL), CD_OK);
    assert_int_equal(n, 2);
    assert_true(cd_json_has(cd_json_get(b, "timeOfFirstFailure")));
    two.error = NULL;
    cd_clock_virtual_advance(&clock, CD_NS_PER_SEC);
    b = cd_json_get(ask(h, &a, CD_HEALTH_HEALTH, true), "b");
    assert_false(cd_json_has(cd_json_get(b, "contiguousFailures")));
    assert_int_equal(cd_health_failing(h), 0);
    cd_health_free(h);
    cd_arena_fini(&a);
}

/* Any number of checks, in the order of their names however they were added, and gone when they are removed. */
static void test_many(void **state)
{
    enum { CNT = 100 };
    static char names[CNT][8];
    cd_arena a = {0};
    fixture well = {.error = NULL};
    fixture bad = {.error = "down"};
    cd_clock_virtual clock;
    (void)state;
    cd_clock_virtual_init(&clock, 1700000000 * CD_NS_PER_SEC);
    cd_health *h = cd_health_new(&clock.clock, 0);
    for (u32 i = 0; i < CNT; i++) {
        u32 n = i * 37 % CNT;
        (void)snprintf(names[n], sizeof names[n], "n%02u", n);
        cd_health_add(h, names[n], CD_HEALTH_HEALTH, check, n == 50 ? &bad : &well);
    }
    cd_json all = ask(h, &a, CD_HEALTH_HEALTH, false);
    assert_int_equal(cd_json_len(all), CNT);
    cd_json_it it = cd_json_iter(all);
    for (u32 i = 0; cd_json_next(&it); i++) {
        assert_true(cd_bytes_eq(it.key, cd_bytes_str(names[i])));
    }
    cd_health_remove(h, names[50]);
    cd_health_remove(h, names[0]);
    cd_health_remove(h, names[CNT - 1]);
    assert_int_equal(cd_json_len(ask(h, &a, CD_HEALTH_HEALTH, true)), CNT - 3);
    cd_health_add(h, names[50], CD_HEALTH_HEALTH, check, &bad);
    assert_int_equal(cd_json_len(ask(h, &a, CD_HEALTH_HEALTH, false)), CNT - 2);
    cd_health_free(h);
    cd_arena_fini(&a);
}

/* A client that asks for a net gets the checks about that net, and those about the whole node. */
static void test_tags(void **state)
{
    (void)state;
    static const struct {
        const char *tag;
        usize checks;
    } rows[] = {
        {"11111111111111111111111111111111LpoYY", 2},
        {"2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed", 1},
        {"application", 1},
        {"", 1},
    };
    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 0);
    fixture well = {.error = NULL};
    fixture ill = {.error = "it broke"};
    cd_health *h = cd_health_new(&clock.clock, 10 * CD_NS_PER_SEC);
    cd_health_add(h, "node", CD_HEALTH_HEALTH, check, &well);
    cd_health_add(h, "X", CD_HEALTH_HEALTH, check, &ill);
    const cd_hash32 primary = {{0}};
    cd_health_tag(h, "X", &primary, 1);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf text = {0};
        const cd_bytes tag = cd_bytes_str(rows[i].tag);
        assert_int_equal(cd_health_fmt_tags(h, &text, CD_HEALTH_HEALTH, &tag, 1), rows[i].checks == 1);
        assert_int_equal(strstr(cd_buf_cstr(&text), "\"X\"") != NULL, rows[i].checks == 2);
        assert_non_null(strstr(cd_buf_cstr(&text), "\"node\""));
        cd_buf_fini(&text);
    }
    assert_int_equal(well.asked, 1);
    cd_clock_virtual_advance(&clock, 10 * CD_NS_PER_SEC);
    cd_buf text = {0};
    assert_false(cd_health_fmt(h, &text, CD_HEALTH_HEALTH));
    assert_int_equal(well.asked, 2); /* results are kept for the time that was given */
    cd_buf_fini(&text);
    cd_health_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_and_failures),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
