#include "store/overlay.h"

#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static cd_bytes str(const char *s)
{
    return cd_bytes_str(s);
}

static void expect_get(cd_kv *kv, const char *key, const char *value)
{
    cd_buf out = {0};
    bool found;
    cd_err err = cd_kv_get(kv, &out, str(key));
    assert_int_equal(err, value == NULL ? CD_ENOENT : CD_OK);
    assert_int_equal(cd_kv_has(kv, &found, str(key)), CD_OK);
    assert_int_equal(found, value != NULL);
    if (value != NULL) {
        assert_true(cd_bytes_eq(cd_buf_bytes(&out), str(value)));
    }
    cd_buf_fini(&out);
}

static cd_layer *layer(cd_overlay *ov, cd_layer *parent)
{
    cd_layer *l = NULL;
    assert_int_equal(cd_overlay_begin(ov, &l, parent), CD_OK);
    return l;
}

/* The tree of overlay.h's picture: A on the base; B, with D on it, and C on A. */
static void test_tree(void **state)
{
    (void)state;
    cd_kv *base = cd_kv_mem_open();
    assert_int_equal(cd_kv_put(base, str("k"), str("base")), CD_OK);
    assert_int_equal(cd_kv_put(base, str("gone"), str("base")), CD_OK);
    cd_overlay *ov = cd_overlay_new(base);
    cd_layer *a = layer(ov, NULL);
    assert_int_equal(cd_kv_put(cd_layer_kv(a), str("k"), str("a")), CD_OK);
    assert_int_equal(cd_kv_del(cd_layer_kv(a), str("gone")), CD_OK);
    cd_layer *unready = NULL;
    assert_int_equal(cd_overlay_begin(ov, &unready, a), CD_EINVAL);
    cd_layer_seal(a);
    assert_int_equal(cd_kv_put(cd_layer_kv(a), str("k"), str("late")), CD_EACCES);
    cd_layer *b = layer(ov, a);
    cd_layer *c = layer(ov, a);
    cd_layer *other = layer(ov, NULL);
    assert_int_equal(cd_kv_put(cd_layer_kv(b), str("k"), str("b")), CD_OK);
    assert_int_equal(cd_kv_put(cd_layer_kv(c), str("gone"), str("again")), CD_OK);
    assert_int_equal(cd_kv_put(cd_layer_kv(other), str("k"), str("other")), CD_OK);
    cd_layer_seal(b);
    cd_layer_seal(c);
    cd_layer_seal(other);
    cd_layer *d = layer(ov, b);
    assert_int_equal(cd_kv_put(cd_layer_kv(d), str("d"), str("d")), CD_OK);
    assert_int_equal(cd_overlay_cnt(ov), 5);
    expect_get(base, "k", "base");
    expect_get(cd_layer_kv(a), "k", "a");
    expect_get(cd_layer_kv(a), "gone", NULL);
    expect_get(cd_layer_kv(b), "k", "b");
    expect_get(cd_layer_kv(b), "gone", NULL);
    expect_get(cd_layer_kv(c), "k", "a");
    expect_get(cd_layer_kv(c), "gone", "again");
    expect_get(cd_layer_kv(d), "k", "b");
    expect_get(cd_layer_kv(other), "gone", "base");

    /* A is accepted together with a record of its block's own; the other child of the base is dropped. */
    cd_kv_batch extra = {0};
    cd_kv_batch_put(&extra, str("height"), str("1"));
    assert_int_equal(cd_layer_changes(a), 2);
    assert_int_equal(cd_layer_flatten(a, &extra, CD_KV_SYNC, NULL), CD_OK);
    cd_kv_batch_fini(&extra);
    assert_int_equal(cd_overlay_cnt(ov), 3);
    expect_get(base, "k", "a");
    expect_get(base, "gone", NULL);
    expect_get(base, "height", "1");
    expect_get(cd_layer_kv(d), "k", "b");
    expect_get(cd_layer_kv(d), "gone", NULL);
    expect_get(cd_layer_kv(c), "gone", "again");
    /* C is rejected, then B accepted. */
    cd_layer_drop(c);
    assert_int_equal(cd_overlay_cnt(ov), 2);
    assert_int_equal(cd_layer_flatten(b, NULL, CD_KV_NOSYNC, NULL), CD_OK);
    expect_get(base, "k", "b");
    expect_get(cd_layer_kv(d), "d", "d");
    cd_overlay_free(ov);
    cd_kv_close(base);
}

/* When the base cannot be written the layer stays. */
static void test_failed_flatten(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_kv *frozen = NULL;
    assert_int_equal(cd_kv_snapshot(&frozen, kv), CD_OK);
    cd_overlay *ov = cd_overlay_new(frozen);
    cd_layer *l = layer(ov, NULL);
    assert_int_equal(cd_kv_put(cd_layer_kv(l), str("k"), str("v")), CD_OK);
    assert_int_equal(cd_layer_flatten(l, NULL, CD_KV_NOSYNC, NULL), CD_EACCES);
    assert_int_equal(cd_overlay_cnt(ov), 1);
    expect_get(cd_layer_kv(l), "k", "v");
    cd_overlay_free(ov);
    cd_kv_close(frozen);
    cd_kv_close(kv);
}

enum { KEYS = 120, DEPTH = 6 };

static void expect_range(cd_kv *kv, const u8 *want, u8 prefix, int start, bool reverse)
{
    cd_kv_iter *it = NULL;
    u8 first[2] = {prefix, (u8)start};
    cd_kv_range range = {
        .prefix = cd_bytes_of(&prefix, 1), .start = cd_bytes_of(first, start < 0 ? 0 : 2), .reverse = reverse};
    assert_int_equal(cd_kv_iter_new(&it, kv, &range), CD_OK);
    int from = start < 0 ? (reverse ? KEYS - 1 : 0) : start;
    for (int k = from; k >= 0 && k < KEYS; k += reverse ? -1 : 1) {
        if (want[k] != 0) {
            assert_true(cd_kv_iter_next(it));
            assert_int_equal(cd_kv_iter_key(it).p[1], k);
            assert_int_equal(cd_kv_iter_value(it).p[0], want[k]);
        }
    }
    assert_false(cd_kv_iter_next(it));
    assert_false(cd_kv_iter_next(it));
    assert_int_equal(cd_kv_iter_err(it), CD_OK);
    cd_kv_iter_free(it);
}

/* Random layers on random layers, every view iterated in both directions against its own array. */
static void test_random_iteration(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 30; seed++) {
        cd_rng r = cd_rng_seeded(seed);
        cd_kv *base = cd_kv_mem_open();
        cd_overlay *ov = cd_overlay_new(base);
        cd_layer *at[DEPTH + 1] = {0};
        u8 want[DEPTH + 1][KEYS] = {0};
        for (int d = 0; d <= DEPTH; d++) {
            cd_kv *kv = base;
            if (d > 0) {
                memcpy(want[d], want[d - 1], KEYS);
                at[d] = layer(ov, at[d - 1]);
                kv = cd_layer_kv(at[d]);
            }
            for (int i = 0; i < 50; i++) {
                u8 key[2] = {'k', (u8)cd_rng_below(&r, KEYS)};
                u8 value = (u8)(1 + cd_rng_below(&r, 255));
                if (cd_rng_below(&r, 3) == 0) {
                    assert_int_equal(cd_kv_del(kv, cd_bytes_of(key, 2)), CD_OK);
                    want[d][key[1]] = 0;
                } else {
                    assert_int_equal(cd_kv_put(kv, cd_bytes_of(key, 2), cd_bytes_of(&value, 1)), CD_OK);
                    want[d][key[1]] = value;
                }
            }
            assert_int_equal(cd_kv_put(kv, str("l"), str("outside")), CD_OK);
            assert_int_equal(cd_kv_put(kv, str("j"), str("outside")), CD_OK);
            if (d > 0) {
                cd_layer_seal(at[d]);
            }
        }
        for (int accepted = 0; accepted <= DEPTH; accepted++) {
            for (int d = accepted; d <= DEPTH; d++) {
                cd_kv *kv = d == accepted ? base : cd_layer_kv(at[d]);
                for (int start = -1; start < KEYS; start += 13) {
                    expect_range(kv, want[d], 'k', start, false);
                    expect_range(kv, want[d], 'k', start, true);
                }
            }
            if (accepted < DEPTH) {
                assert_int_equal(cd_layer_flatten(at[accepted + 1], NULL, CD_KV_NOSYNC, NULL), CD_OK);
            }
        }
        cd_overlay_free(ov);
        cd_kv_close(base);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_failed_flatten),
        cmocka_unit_test(test_random_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
