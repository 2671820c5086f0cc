#include "base/table/hmap.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KEYS = 512, STEPS = 60000 };

typedef struct key {
    u8 b[24];
} key;

/* Makes the n-th key; crowded keys have few distinct home slots, so that long runs, wrap-around and back-shifts happen
 * all the time. */
static key key_make(u32 n, bool crowded)
{
    key k = {{0}};
    u64 head = crowded ? (n % 3 == 0 ? UINT64_MAX : n % 5) : (u64)n * 0x9e3779b97f4a7c15ull;
    memcpy(k.b, &head, 8);
    memcpy(k.b + 12, &n, 4);
    return k;
}

/* Compares random puts, gets, dels and clears with a plain array. */
static void against_model(cd_hash_kind kind, bool crowded, u64 seed)
{
    cd_rng r = cd_rng_seeded(seed);
    cd_hmap m;
    bool there[KEYS] = {false};
    u64 vals[KEYS];
    usize cnt = 0;
    cd_hmap_init(&m, kind, sizeof(key), sizeof(u64));
    for (u32 step = 0; step < STEPS; step++) {
        u32 n = (u32)cd_rng_below(&r, KEYS);
        key k = key_make(n, crowded);
        u64 what = cd_rng_below(&r, 1000);
        if (what < 450) {
            bool is_new;
            u64 *v = cd_hmap_put(&m, &is_new, &k);
            assert_int_equal(is_new, !there[n]);
            assert_int_equal(*v, there[n] ? vals[n] : 0);
            cnt += is_new;
            there[n] = true;
            *v = vals[n] = cd_rng_u64(&r);
        } else if (what < 900) {
            assert_int_equal(cd_hmap_del(&m, &k), there[n]);
            cnt -= there[n];
            there[n] = false;
        } else if (what == 999 && step % 10 == 0) {
            cd_hmap_clear(&m);
            memset(there, 0, sizeof there);
            cnt = 0;
        } else {
            const u64 *v = cd_hmap_get(&m, &k);
            assert_int_equal(v != NULL, there[n]);
            assert_true(v == NULL || *v == vals[n]);
        }
        assert_int_equal(cd_hmap_cnt(&m), cnt);
    }
    usize seen = 0;
    const void *kp;
    void *vp;
    for (usize it = 0; cd_hmap_next(&m, &it, &kp, &vp);) {
        u32 n;
        memcpy(&n, (const u8 *)kp + 12, 4);
        assert_true(there[n]);
        assert_int_equal(*(u64 *)vp, vals[n]);
        seen++;
    }
    assert_int_equal(seen, cnt);
    for (u32 n = 0; n < KEYS; n++) {
        key k = key_make(n, crowded);
        assert_int_equal(cd_hmap_get(&m, &k) != NULL, there[n]);
    }
    cd_hmap_fini(&m);
}

static void test_model(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 3; seed++) {
        against_model(CD_HASH_KEYED, false, seed);
        against_model(CD_HASH_IDENTITY, false, seed);
        against_model(CD_HASH_IDENTITY, true, seed);
    }
}

static void test_set(void **state)
{
    (void)state;
    cd_hmap m;
    cd_hmap_init(&m, CD_HASH_KEYED, 20, 0);
    assert_null(cd_hmap_get(&m, "12345678901234567890"));
    assert_false(cd_hmap_del(&m, "12345678901234567890"));
    bool is_new;
    (void)cd_hmap_put(&m, &is_new, "12345678901234567890");
    assert_true(is_new);
    (void)cd_hmap_put(&m, &is_new, "12345678901234567890");
    assert_false(is_new);
    assert_non_null(cd_hmap_get(&m, "12345678901234567890"));
    assert_null(cd_hmap_get(&m, "12345678901234567891"));
    cd_hmap_fini(&m);
    assert_null(cd_hmap_get(&m, "12345678901234567890"));
}

static void test_reserve(void **state)
{
    (void)state;
    cd_hmap m;
    cd_hmap_init(&m, CD_HASH_KEYED, 8, 8);
    cd_hmap_reserve(&m, 1000);
    usize cap = m.cap;
    for (u64 i = 0; i < 1000; i++) {
        *(u64 *)cd_hmap_put(&m, NULL, &i) = i;
    }
    assert_int_equal(m.cap, cap);
    for (u64 i = 0; i < 1000; i++) {
        assert_int_equal(*(u64 *)cd_hmap_get(&m, &i), i);
    }
    cd_hmap_clear(&m);
    assert_int_equal(m.cap, cap);
    u64 one = 1;
    (void)cd_hmap_put(&m, NULL, &one);
    cd_hmap_clear(&m);
    assert_int_equal(m.cap, 0);
    cd_hmap_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
