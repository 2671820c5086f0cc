#include "base/table/lru.h"

#include "base/os/rng.h"
#include "base/table/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KEYS = 64 };

typedef struct probe {
    u32 alive[KEYS + 1]; /* how often the cache holds the value i, i >= 1 */
    u32 dropped;
} probe;

static void drop(void *ctx, void *val)
{
    probe *p = ctx;
    p->alive[(uintptr_t)val]--;
    p->dropped++;
}

static void *val(u32 n)
{
    return (void *)(uintptr_t)n;
}

static void test_order(void **state)
{
    (void)state;
    probe p = {0};
    cd_lru *l = cd_lru_new(CD_HASH_KEYED, 1, 3, drop, &p);
    for (u32 n = 1; n <= 3; n++) {
        p.alive[n]++;
        assert_true(cd_lru_put(l, &(u8){(u8)n}, val(n), 1));
    }
    assert_ptr_equal(cd_lru_get(l, &(u8){1}), val(1));
    p.alive[4]++;
    assert_true(cd_lru_put(l, &(u8){4}, val(4), 1));
    assert_null(cd_lru_get(l, &(u8){2}));
    assert_int_equal(p.alive[2], 0);
    assert_ptr_equal(cd_lru_get(l, &(u8){1}), val(1));

    /* A costly value pushes out as many as it needs; one that cannot fit changes nothing. */
    assert_false(cd_lru_put(l, &(u8){9}, val(9), 4));
    assert_int_equal(cd_lru_cnt(l), 3);
    p.alive[5]++;
    assert_true(cd_lru_put(l, &(u8){5}, val(5), 2));
    assert_int_equal(cd_lru_cnt(l), 2);
    assert_int_equal(cd_lru_cost(l), 3);
    assert_ptr_equal(cd_lru_get(l, &(u8){1}), val(1));

    /* Replacing drops the old value. */
    p.alive[6]++;
    assert_true(cd_lru_put(l, &(u8){1}, val(6), 1));
    assert_int_equal(p.alive[1], 0);
    assert_ptr_equal(cd_lru_get(l, &(u8){1}), val(6));
    assert_true(cd_lru_del(l, &(u8){1}));
    assert_false(cd_lru_del(l, &(u8){1}));
    cd_lru_free(l);
    for (u32 n = 0; n <= KEYS; n++) {
        assert_int_equal(p.alive[n], 0);
    }
    assert_int_equal(p.dropped, 6);
    cd_lru_free(NULL);
}

/* Compares with a model that keeps the time of last use of every key. */
static void test_model(void **state)
{
    (void)state;
    enum { MAX = 100 };
    cd_rng r = cd_rng_seeded(5);
    probe p = {0};
    u64 used[KEYS + 1] = {0};
    u64 costs[KEYS + 1] = {0};
    u64 total = 0;
    cd_lru *l = cd_lru_new(CD_HASH_KEYED, 4, MAX, drop, &p);
    for (u64 now = 1; now < 50000; now++) {
        u32 n = 1 + (u32)cd_rng_below(&r, KEYS);
        if (cd_rng_below(&r, 2) == 0) {
            assert_ptr_equal(cd_lru_get(l, &n), used[n] == 0 ? NULL : val(n));
            used[n] = used[n] == 0 ? 0 : now;
            continue;
        }
        u64 cost = cd_rng_below(&r, 30);
        p.alive[n]++;
        assert_true(cd_lru_put(l, &n, val(n), cost));
        total -= used[n] == 0 ? 0 : costs[n];
        used[n] = 0;
        while (total + cost > MAX) {
            u32 oldest = 0;
            for (u32 i = 1; i <= KEYS; i++) {
                if (used[i] != 0 && (oldest == 0 || used[i] < used[oldest])) {
                    oldest = i;
                }
            }
            total -= costs[oldest];
            used[oldest] = 0;
        }
        used[n] = now;
        costs[n] = cost;
        total += cost;
        assert_int_equal(cd_lru_cost(l), total);
        for (u32 i = 1; i <= KEYS; i++) {
            assert_int_equal(p.alive[i], used[i] != 0);
        }
    }
    cd_lru_free(l);
}

static void test_list(void **state)
{
    (void)state;
    struct item {
        int v;
        cd_list link;
    } items[4] = {{.v = 0}, {.v = 1}, {.v = 2}, {.v = 3}};
    cd_list head;
    cd_list_init(&head);
    assert_null(cd_list_first(&head));
    assert_null(cd_list_last(&head));
    cd_list_push_back(&head, &items[1].link);
    cd_list_push_back(&head, &items[2].link);
    cd_list_push_front(&head, &items[0].link);
    cd_list_add_after(&items[2].link, &items[3].link);
    int want = 0;
    cd_list_each(it, &head)
    {
        assert_int_equal(cd_list_of(it, struct item, link)->v, want++);
    }
    assert_int_equal(want, 4);
    cd_list_each_safe(it, &head)
    {
        if (cd_list_of(it, struct item, link)->v % 2 == 0) {
            cd_list_del(it);
        }
    }
    cd_list_del(&items[0].link);
    assert_ptr_equal(cd_list_first(&head), &items[1].link);
    assert_ptr_equal(cd_list_last(&head), &items[3].link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
