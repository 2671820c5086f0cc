#include "store/trie.h"

#include "base/hex.h"
#include "base/os/rng.h"
#include "store/test/trie_ref.h"

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

static void expect_root(cd_trie *t, const char *hex)
{
    cd_hash32 root;
    cd_hash32 want;
    cd_trie_root(t, &root);
    assert_int_equal(cd_hex_parse(want.b, str(hex)), CD_OK);
    assert_memory_equal(root.b, want.b, 32);
}

static void test_known_roots(void **state)
{
    (void)state;
    cd_trie *t = cd_trie_new_mem();
    expect_root(t, "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
    assert_int_equal(cd_trie_put(t, str("doe"), str("reindeer")), CD_OK);
    assert_int_equal(cd_trie_put(t, str("dog"), str("puppy")), CD_OK);
    assert_int_equal(cd_trie_put(t, str("dogglesworth"), str("cat")), CD_OK);
    expect_root(t, "8aad789dff2f538bca5d8ea56e8abe10f4c7ba3a5dea95fea4cd6e7c3a1168d3");
    assert_int_equal(cd_trie_del(t, str("doe")), CD_OK);
    assert_int_equal(cd_trie_put(t, str("dog"), str("")), CD_OK);
    assert_int_equal(cd_trie_del(t, str("dogglesworth")), CD_OK);
    expect_root(t, "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
    cd_trie_close(t);
}

static void test_get_put_del(void **state)
{
    (void)state;
    cd_trie *t = cd_trie_new_mem();
    cd_bytes v;
    assert_int_equal(cd_trie_get(t, &v, str("a")), CD_ENOENT);
    assert_int_equal(cd_trie_put(t, str("a"), str("1")), CD_OK);
    assert_int_equal(cd_trie_put(t, str("ab"), str("2")), CD_OK);
    assert_int_equal(cd_trie_put(t, str(""), str("0")), CD_OK);
    assert_int_equal(cd_trie_get(t, &v, str("a")), CD_OK);
    assert_true(cd_bytes_eq(v, str("1")));
    assert_int_equal(cd_trie_get(t, &v, str("")), CD_OK);
    assert_true(cd_bytes_eq(v, str("0")));
    assert_int_equal(cd_trie_get(t, &v, str("abc")), CD_ENOENT);
    assert_int_equal(cd_trie_put(t, str("a"), str("longer than before")), CD_OK);
    assert_int_equal(cd_trie_get(t, &v, str("a")), CD_OK);
    assert_true(cd_bytes_eq(v, str("longer than before")));
    assert_int_equal(cd_trie_del(t, str("absent")), CD_OK);
    assert_int_equal(cd_trie_del(t, str("a")), CD_OK);
    assert_int_equal(cd_trie_get(t, &v, str("a")), CD_ENOENT);
    assert_int_equal(cd_trie_get(t, &v, str("ab")), CD_OK);
    u8 longest[CD_TRIE_MAX_KEY + 1] = {1};
    assert_int_equal(cd_trie_put(t, cd_bytes_of(longest, CD_TRIE_MAX_KEY), str("x")), CD_OK);
    assert_int_equal(cd_trie_put(t, cd_bytes_of(longest, sizeof longest), str("x")), CD_ELIMIT);
    assert_int_equal(cd_trie_del(t, cd_bytes_of(longest, sizeof longest)), CD_OK);
    cd_trie_close(t);
}

/* A random key that often shares prefixes with others. shape 0: 32 bytes; 1: 0 to 6 bytes out of few
 * values; 2: long common prefix, differing late. */
static cd_bytes random_key(cd_rng *r, u8 out[CD_TRIE_MAX_KEY], int shape)
{
    if (shape == 0) {
        memset(out, 0, 32);
        for (int i = 0; i < 3; i++) {
            out[i] = (u8)(cd_rng_below(r, 5) * 0x13);
        }
        out[31] = (u8)cd_rng_below(r, 3);
        return cd_bytes_of(out, 32);
    }
    if (shape == 1) {
        usize n = (usize)cd_rng_below(r, 7);
        for (usize i = 0; i < n; i++) {
            out[i] = (u8)(cd_rng_below(r, 4) * 0x0f);
        }
        return cd_bytes_of(out, n);
    }
    memset(out, 0xab, CD_TRIE_MAX_KEY);
    for (usize i = 0; i < 3; i++) {
        out[20 * (i + 1)] = (u8)cd_rng_below(r, 4);
    }
    return cd_bytes_of(out, CD_TRIE_MAX_KEY);
}

static cd_bytes random_value(cd_rng *r, u8 out[96])
{
    usize n = cd_rng_below(r, 3) == 0 ? 0 : 1 + (usize)cd_rng_below(r, cd_rng_below(r, 2) ? 4 : 96);
    cd_rng_fill(r, out, n);
    return cd_bytes_of(out, n);
}

static void expect_same(cd_trie *t, const ref_map *m)
{
    cd_hash32 root;
    cd_hash32 want = ref_map_root(m);
    cd_trie_root(t, &root);
    assert_memory_equal(root.b, want.b, 32);
}

/* Checks that all nodes of the trie lie in kv, and nothing else: kv is byte for byte what a fresh commit of the same
 * contents writes. */
static void expect_no_garbage(cd_kv *kv, const ref_map *m, cd_bytes ns)
{
    cd_kv *fresh = cd_kv_mem_open();
    cd_trie *t = NULL;
    cd_trie_cfg cfg = {.nodes = fresh, .ns = ns, .scheme = CD_TRIE_BY_PATH};
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    cd_trie_item *items = ref_items(m);
    assert_int_equal(cd_trie_update_many(t, items, m->cnt), CD_OK);
    cd_kv_batch b = {0};
    cd_hash32 root;
    cd_trie_commit(t, &root, &b);
    assert_int_equal(cd_kv_commit(fresh, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_iter *x = NULL;
    cd_kv_iter *y = NULL;
    assert_int_equal(cd_kv_iter_new(&x, fresh, &(cd_kv_range){0}), CD_OK);
    assert_int_equal(cd_kv_iter_new(&y, kv, &(cd_kv_range){0}), CD_OK);
    for (;;) {
        bool more = cd_kv_iter_next(x);
        assert_int_equal(cd_kv_iter_next(y), more);
        if (!more) {
            break;
        }
        assert_true(cd_bytes_eq(cd_kv_iter_key(x), cd_kv_iter_key(y)));
        assert_true(cd_bytes_eq(cd_kv_iter_value(x), cd_kv_iter_value(y)));
    }
    cd_kv_iter_free(x);
    cd_kv_iter_free(y);
    cd_kv_batch_fini(&b);
    free(items);
    cd_trie_close(t);
    cd_kv_close(fresh);
}

/* Random puts and deletes, commits, re-opens and trims beside the reference. */
static void run_random(u64 seed, int shape, cd_trie_scheme scheme)
{
    cd_rng r = cd_rng_seeded(seed);
    cd_kv *kv = cd_kv_mem_open();
    ref_map m = {0};
    cd_bytes ns = str("ns");
    cd_trie_cfg cfg = {.nodes = kv, .ns = ns, .scheme = scheme};
    cd_trie *t = NULL;
    cd_hash32 root;
    cd_kv_batch b = {0};
    u8 key[CD_TRIE_MAX_KEY];
    u8 value[96];
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    for (int round = 0; round < 30; round++) {
        int ops = 1 + (int)cd_rng_below(&r, 40);
        if (cd_rng_below(&r, 2) == 0) {
            cd_bytes keys[20];
            u8 text[20][CD_TRIE_MAX_KEY];
            for (int i = 0; i < 20; i++) {
                keys[i] = random_key(&r, text[i], shape);
            }
            assert_int_equal(cd_trie_load_many(t, keys, 20), CD_OK);
        }
        for (int i = 0; i < ops; i++) {
            cd_bytes k = random_key(&r, key, shape);
            cd_bytes v = random_value(&r, value);
            assert_int_equal(cd_trie_put(t, k, v), CD_OK);
            ref_put(&m, k, v);
        }
        if (cd_rng_below(&r, 3) == 0) {
            expect_same(t, &m);
        }
        if (cd_rng_below(&r, 4) == 0) {
            while (m.cnt > 3) {
                cd_bytes k = cd_bytes_of(m.pair[0].key, m.pair[0].key_n);
                memcpy(key, k.p, k.n);
                k.p = key;
                assert_int_equal(cd_trie_del(t, k), CD_OK);
                ref_put(&m, k, (cd_bytes){0});
            }
        }
        if (cd_rng_below(&r, 2) == 0) {
            cd_kv_batch_clear(&b);
            cd_trie_commit(t, &root, &b);
            assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
            expect_same(t, &m);
            if (scheme == CD_TRIE_BY_PATH) {
                expect_no_garbage(kv, &m, ns);
            }
            if (cd_rng_below(&r, 2) == 0) {
                cd_trie_close(t);
                cfg.root = root;
                assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
            } else if (cd_rng_below(&r, 2) == 0) {
                cd_trie_trim(t, 0);
            }
        }
        for (usize i = 0; i < m.cnt; i++) {
            cd_bytes v;
            cd_bytes k = cd_bytes_of(m.pair[i].key, m.pair[i].key_n);
            assert_int_equal(cd_trie_get(t, &v, k), CD_OK);
            assert_true(cd_bytes_eq(v, cd_bytes_of(m.pair[i].value, m.pair[i].value_n)));
        }
    }
    cd_kv_batch_fini(&b);
    cd_trie_close(t);
    cd_kv_close(kv);
    free(m.pair);
}

static void test_random(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 30; seed++) {
        for (int shape = 0; shape < 3; shape++) {
            run_random(seed, shape, CD_TRIE_BY_PATH);
            run_random(seed, shape, CD_TRIE_BY_HASH);
        }
    }
}

static void test_old_roots_by_hash(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_trie_cfg cfg = {.nodes = kv, .scheme = CD_TRIE_BY_HASH};
    cd_trie *t = NULL;
    cd_hash32 root[10];
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    for (u8 i = 0; i < 10; i++) {
        u8 key[32] = {(u8)(i * 16)};
        u8 value[40] = {(u8)(i + 1)};
        assert_int_equal(cd_trie_put(t, cd_bytes_of(key, 32), cd_bytes_of(value, 40)), CD_OK);
        cd_kv_batch b = {0};
        cd_trie_commit(t, &root[i], &b);
        assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
    }
    cd_trie_close(t);
    for (u8 i = 0; i < 10; i++) {
        cfg.root = root[i];
        assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
        for (u8 k = 0; k < 10; k++) {
            u8 key[32] = {(u8)(k * 16)};
            cd_bytes v;
            assert_int_equal(cd_trie_get(t, &v, cd_bytes_of(key, 32)), k <= i ? CD_OK : CD_ENOENT);
        }
        cd_trie_close(t);
    }
    cd_kv_close(kv);
}

/* A node that is absent or altered in the store is reported, and the trie stays as it was. */
static void test_damaged_store(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_trie_cfg cfg = {.nodes = kv, .scheme = CD_TRIE_BY_PATH};
    cd_trie *t = NULL;
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    u8 value[40] = {7};
    for (u8 i = 0; i < 32; i++) {
        u8 key[32] = {(u8)(i * 8)};
        assert_int_equal(cd_trie_put(t, cd_bytes_of(key, 32), cd_bytes_of(value, 40)), CD_OK);
    }
    cd_kv_batch b = {0};
    cd_trie_commit(t, &cfg.root, &b);
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_trie_close(t);

    static const u8 path_08[] = {2, 0x08}; /* the leaf of key 08.. */
    static const u8 path_00[] = {2, 0x00};
    cd_buf node = {0};
    assert_int_equal(cd_kv_get(kv, &node, cd_bytes_of(path_08, 2)), CD_OK);
    node.p[node.n - 1] ^= 1;
    assert_int_equal(cd_kv_put(kv, cd_bytes_of(path_08, 2), cd_buf_bytes(&node)), CD_OK);
    assert_int_equal(cd_kv_del(kv, cd_bytes_of(path_00, 2)), CD_OK);
    cd_buf_fini(&node);

    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    u8 key[32] = {0x08};
    cd_bytes v;
    assert_int_equal(cd_trie_get(t, &v, cd_bytes_of(key, 32)), CD_ECORRUPT);
    assert_int_equal(cd_trie_put(t, cd_bytes_of(key, 32), cd_bytes_of(value, 3)), CD_ECORRUPT);
    key[0] = 0x00;
    assert_int_equal(cd_trie_get(t, &v, cd_bytes_of(key, 32)), CD_EMISSING);
    assert_int_equal(cd_trie_del(t, cd_bytes_of(key, 32)), CD_EMISSING);
    cd_bytes both[2] = {cd_bytes_of(key, 32), cd_bytes_of(key, 32)};
    assert_int_equal(cd_trie_load_many(t, both, 2), CD_EMISSING);
    key[0] = 0x08;
    assert_int_equal(cd_trie_load_many(t, both, 2), CD_ECORRUPT);
    key[0] = 0x10;
    assert_int_equal(cd_trie_get(t, &v, cd_bytes_of(key, 32)), CD_OK);
    cd_hash32 root;
    cd_trie_root(t, &root);
    assert_memory_equal(root.b, cfg.root.b, 32);
    cd_trie_close(t);

    /* A deletion that would have to read the damaged sibling fails and changes nothing. */
    cd_kv_close(kv);
    kv = cd_kv_mem_open();
    cfg = (cd_trie_cfg){.nodes = kv};
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    u8 a[32] = {0x10};
    u8 c[32] = {0x20};
    assert_int_equal(cd_trie_put(t, cd_bytes_of(a, 32), cd_bytes_of(value, 40)), CD_OK);
    assert_int_equal(cd_trie_put(t, cd_bytes_of(c, 32), cd_bytes_of(value, 40)), CD_OK);
    cd_kv_batch_clear(&b);
    cd_trie_commit(t, &cfg.root, &b);
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
    cd_trie_close(t);
    static const u8 path_1[] = {1, 0x10};
    assert_int_equal(cd_kv_del(kv, cd_bytes_of(path_1, 2)), CD_OK);
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    assert_int_equal(cd_trie_del(t, cd_bytes_of(c, 32)), CD_EMISSING);
    assert_int_equal(cd_trie_get(t, &v, cd_bytes_of(c, 32)), CD_OK);
    cd_trie_root(t, &root);
    assert_memory_equal(root.b, cfg.root.b, 32);
    cd_trie_close(t);

    cfg.root.b[0] ^= 1;
    cd_errinfo why = {0};
    assert_int_equal(cd_trie_open(&t, &cfg, &why), CD_ECORRUPT);
    assert_non_null(strstr(why.msg, "trie root"));
    cfg.ns = str("elsewhere");
    assert_int_equal(cd_trie_open(&t, &cfg, &why), CD_EMISSING);
    cd_kv_close(kv);
}

static void test_iter(void **state)
{
    (void)state;
    cd_rng r = cd_rng_seeded(5);
    for (int shape = 0; shape < 3; shape++) {
        cd_kv *kv = cd_kv_mem_open();
        cd_trie_cfg cfg = {.nodes = kv, .scheme = CD_TRIE_BY_PATH};
        cd_trie *t = NULL;
        assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
        ref_map m = {0};
        u8 key[CD_TRIE_MAX_KEY];
        for (int i = 0; i < 60; i++) {
            cd_bytes k = random_key(&r, key, shape);
            assert_int_equal(cd_trie_put(t, k, str("v")), CD_OK);
            ref_put(&m, k, str("v"));
        }
        cd_kv_batch b = {0};
        cd_trie_commit(t, &cfg.root, &b);
        assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
        for (int i = 0; i < 200; i++) {
            cd_trie_close(t);
            assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
            cd_bytes k = i == 0 ? (cd_bytes){0} : random_key(&r, key, i % 2 ? shape : 1);
            bool reverse = i & 1;
            usize at = ref_find(&m, k);
            if (k.n == 0) {
                at = reverse ? m.cnt - 1 : 0;
            } else if (reverse && !ref_is_at(&m, at, k)) {
                at--;
            }
            cd_trie_iter *it = cd_trie_iter_new(t, k, reverse);
            cd_trie_item item;
            for (; at < m.cnt; at += reverse ? (usize)-1 : 1) {
                assert_int_equal(cd_trie_iter_next(it, &item), CD_OK);
                assert_true(cd_bytes_eq(item.key, cd_bytes_of(m.pair[at].key, m.pair[at].key_n)));
            }
            assert_int_equal(cd_trie_iter_next(it, &item), CD_ENOENT);
            assert_int_equal(cd_trie_iter_next(it, &item), CD_ENOENT);
            cd_trie_iter_free(it);
        }
        cd_trie_close(t);
        cd_kv_close(kv);
        free(m.pair);
    }
}

/* Many keys: several hash rounds, threads, values too big for a round. */
static void test_big(void **state)
{
    (void)state;
    cd_pool *pool = NULL;
    assert_int_equal(cd_pool_new(&pool, 2, 8, "hash", NULL), CD_OK);
    enum { CNT = 20000 };
    cd_trie_cfg cfg = {.pool = pool};
    cd_trie *a = cd_trie_new_mem();
    cd_trie *b = NULL;
    assert_int_equal(cd_trie_open(&b, &cfg, NULL), CD_OK);
    u8 *big = calloc(1, 200000);
    for (u64 i = 0; i < CNT; i++) {
        cd_hash32 key;
        u8 n[8];
        cd_put_be64(n, i);
        cd_keccak256(&key, cd_bytes_of(n, 8));
        cd_put_be64(big, i + 1);
        usize len = i % 5000 == 7 ? 200000 : i % 1000 == 3 ? 70000 - 60 + (usize)i / 1000 : 80;
        assert_int_equal(cd_trie_put(a, cd_bytes_of(key.b, 32), cd_bytes_of(big, len)), CD_OK);
        assert_int_equal(cd_trie_put(b, cd_bytes_of(key.b, 32), cd_bytes_of(big, len)), CD_OK);
    }
    cd_trie_build *build = cd_trie_build_new(NULL, NULL);
    cd_trie_iter *it = cd_trie_iter_new(a, (cd_bytes){0}, false);
    cd_trie_item item;
    while (cd_trie_iter_next(it, &item) == CD_OK) {
        assert_int_equal(cd_trie_build_add(build, item.key, item.value), CD_OK);
    }
    cd_hash32 x;
    cd_hash32 y;
    cd_hash32 z;
    cd_trie_root(a, &x);
    cd_trie_root(b, &y);
    cd_trie_build_root(build, &z);
    assert_memory_equal(x.b, y.b, 32);
    assert_memory_equal(x.b, z.b, 32);
    cd_trie_iter_free(it);
    cd_trie_build_free(build);
    cd_trie_close(a);
    cd_trie_close(b);
    cd_pool_free(pool);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_roots),   cmocka_unit_test(test_get_put_del),
        cmocka_unit_test(test_random),        cmocka_unit_test(test_old_roots_by_hash),
        cmocka_unit_test(test_damaged_store), cmocka_unit_test(test_iter),
        cmocka_unit_test(test_big),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
