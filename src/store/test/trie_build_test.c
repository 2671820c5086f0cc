#include "store/trie.h"

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

static void test_empty_and_single(void **state)
{
    (void)state;
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    cd_hash32 root;
    cd_trie_build_root(b, &root);
    assert_memory_equal(root.b, CD_TRIE_EMPTY_ROOT.b, 32);
    cd_trie_build_reset(b);
    cd_trie_item item = {.key = str("k"), .value = str("v")};
    assert_int_equal(cd_trie_build_add(b, item.key, item.value), CD_OK);
    cd_trie_build_root(b, &root);
    cd_hash32 want = ref_root(&item, 1);
    assert_memory_equal(root.b, want.b, 32);
    cd_trie_build_free(b);
}

static void test_refuses(void **state)
{
    (void)state;
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    u8 longest[CD_TRIE_MAX_KEY + 1] = {0};
    assert_int_equal(cd_trie_build_add(b, str("b"), str("")), CD_EINVAL);
    assert_int_equal(cd_trie_build_add(b, str("b"), str("1")), CD_OK);
    assert_int_equal(cd_trie_build_add(b, str("b"), str("1")), CD_EINVAL);
    assert_int_equal(cd_trie_build_add(b, str("a"), str("1")), CD_EINVAL);
    assert_int_equal(cd_trie_build_add(b, str(""), str("1")), CD_EINVAL);
    assert_int_equal(cd_trie_build_add(b, cd_bytes_of(longest, sizeof longest), str("1")), CD_ELIMIT);
    assert_int_equal(cd_trie_build_add(b, str("bb"), str("1")), CD_OK);
    cd_trie_build_free(b);
}

/* Stores emitted nodes where a trie looks for them. */
typedef struct sink {
    cd_kv_batch batch;
    cd_trie_scheme scheme;
    cd_bytes ns;
} sink;

static void take_node(void *ctx, cd_bytes path, cd_bytes node, const cd_hash32 *hash)
{
    sink *s = ctx;
    cd_hash32 h;
    cd_keccak256(&h, node);
    assert_memory_equal(h.b, hash->b, 32);
    cd_trie_node_put(&s->batch, s->ns, s->scheme, path, node, hash);
}

/* A random sorted set of short and long keys, tiny and large values, compared with ref_root; the emitted nodes are
 * those that a trie commits. */
static void run_random(u64 seed)
{
    cd_rng r = cd_rng_seeded(seed);
    ref_map m = {0};
    usize cnt = (usize)cd_rng_below(&r, 300);
    for (usize i = 0; i < cnt; i++) {
        u8 key[CD_TRIE_MAX_KEY];
        u8 value[96];
        bool wide = seed & 1;
        usize key_n = wide ? 32 : (usize)cd_rng_below(&r, 6);
        cd_rng_fill(&r, key, key_n);
        if (!wide || cd_rng_below(&r, 2) == 0) {
            for (usize k = 0; k < key_n; k++) {
                key[k] &= 0x11;
            }
        }
        usize value_n = 1 + (usize)cd_rng_below(&r, cd_rng_below(&r, 2) ? 3 : 96);
        cd_rng_fill(&r, value, value_n);
        ref_put(&m, cd_bytes_of(key, key_n), cd_bytes_of(value, value_n));
    }
    cd_trie_item *items = ref_items(&m);
    cd_hash32 want = ref_root(items, m.cnt);
    cd_hash32 root;
    sink s = {.scheme = seed & 2 ? CD_TRIE_BY_HASH : CD_TRIE_BY_PATH, .ns = str("x")};
    cd_trie_build *b = cd_trie_build_new(take_node, &s);
    for (int again = 0; again < 2; again++) {
        cd_kv_batch_clear(&s.batch);
        cd_trie_build_reset(b);
        for (usize i = 0; i < m.cnt; i++) {
            assert_int_equal(cd_trie_build_add(b, items[i].key, items[i].value), CD_OK);
        }
        cd_trie_build_root(b, &root);
        assert_memory_equal(root.b, want.b, 32);
    }
    cd_trie_build_free(b);

    cd_kv *kv = cd_kv_mem_open();
    assert_int_equal(cd_kv_commit(kv, &s.batch, CD_KV_NOSYNC, NULL), CD_OK);
    cd_trie_cfg cfg = {.nodes = kv, .ns = s.ns, .root = root, .scheme = s.scheme};
    cd_trie *t = NULL;
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    cd_trie_iter *it = cd_trie_iter_new(t, (cd_bytes){0}, false);
    cd_trie_item item;
    for (usize i = 0; i < m.cnt; i++) {
        assert_int_equal(cd_trie_iter_next(it, &item), CD_OK);
        assert_true(cd_bytes_eq(item.key, items[i].key));
        assert_true(cd_bytes_eq(item.value, items[i].value));
    }
    assert_int_equal(cd_trie_iter_next(it, &item), CD_ENOENT);
    cd_trie_iter_free(it);
    cd_trie_close(t);

    /* The emitted nodes are exactly those of a trie's own commit. */
    t = cd_trie_new_mem();
    cd_trie_close(t);
    cfg = (cd_trie_cfg){.ns = s.ns, .scheme = s.scheme};
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    assert_int_equal(cd_trie_update_many(t, items, m.cnt), CD_OK);
    cd_kv_batch own = {0};
    cd_trie_commit(t, &root, &own);
    cd_kv_rec rec;
    for (usize pos = 0; cd_kv_batch_next(&own, &rec, &pos);) {
        cd_buf node = {0};
        assert_false(rec.is_del);
        assert_int_equal(cd_kv_get(kv, &node, rec.key), CD_OK);
        assert_true(cd_bytes_eq(cd_buf_bytes(&node), rec.value));
        cd_buf_fini(&node);
    }
    if (s.scheme == CD_TRIE_BY_PATH) {
        assert_int_equal(own.cnt, s.batch.cnt);
    }
    cd_kv_batch_fini(&own);
    cd_trie_close(t);
    cd_kv_batch_fini(&s.batch);
    cd_kv_close(kv);
    free(items);
    free(m.pair);
}

static void test_random(void **state)
{
    (void)state;
    for (u64 seed = 0; seed < 200; seed++) {
        run_random(seed);
    }
}

/* Enough keys for many flushes, with values that do not fit into the room, next to a trie. */
static void test_many_flushes(void **state)
{
    (void)state;
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    cd_trie *t = cd_trie_new_mem();
    u8 *value = calloc(1, 100000);
    for (u32 i = 0; i < 30000; i++) {
        u8 key[8] = {0};
        cd_put_be32(key + 2, i * 7);
        cd_put_be32(value, i + 1);
        usize n = i % 3000 == 100 ? 100000 : i % 11 == 0 ? 4 : 60 + i % 300;
        value[0] |= 1;
        assert_int_equal(cd_trie_build_add(b, cd_bytes_of(key, 8), cd_bytes_of(value, n)), CD_OK);
        assert_int_equal(cd_trie_put(t, cd_bytes_of(key, 8), cd_bytes_of(value, n)), CD_OK);
        if (i % 500 == 0) {
            /* A key that is a prefix of the next. */
            u8 more[9] = {0};
            memcpy(more, key, 8);
            more[8] = 1;
            cd_bytes k = cd_bytes_of(more, 9);
            assert_int_equal(cd_trie_build_add(b, k, cd_bytes_of(value, 3000 + n)), CD_OK);
            assert_int_equal(cd_trie_put(t, k, cd_bytes_of(value, 3000 + n)), CD_OK);
        }
    }
    cd_hash32 x;
    cd_hash32 y;
    cd_trie_build_root(b, &x);
    cd_trie_root(t, &y);
    assert_memory_equal(x.b, y.b, 32);
    cd_trie_build_free(b);
    cd_trie_close(t);
    free(value);
}

static void test_list_root(void **state)
{
    (void)state;
    static const usize sizes[] = {0, 1, 2, 127, 128, 129, 255, 256, 257, 1000, 66000};
    for (usize s = 0; s < CD_COUNT(sizes); s++) {
        cd_bytes *items = calloc(sizes[s] + 1, sizeof *items);
        u8(*text)[40] = calloc(sizes[s] + 1, sizeof *text);
        cd_trie *t = cd_trie_new_mem();
        for (usize i = 0; i < sizes[s]; i++) {
            cd_put_be64(text[i] + 1, i);
            text[i][0] = 1;
            items[i] = cd_bytes_of(text[i], 9 + i % 31);
            /* The key by definition: RLP of the index. */
            u8 key[4] = {0};
            usize n;
            if (i == 0) {
                key[0] = 0x80;
                n = 1;
            } else if (i < 128) {
                key[0] = (u8)i;
                n = 1;
            } else if (i < 256) {
                key[0] = 0x81;
                key[1] = (u8)i;
                n = 2;
            } else if (i < 65536) {
                key[0] = 0x82;
                cd_put_be16(key + 1, (u16)i);
                n = 3;
            } else {
                key[0] = 0x83;
                key[1] = (u8)(i >> 16);
                cd_put_be16(key + 2, (u16)i);
                n = 4;
            }
            assert_int_equal(cd_trie_put(t, cd_bytes_of(key, n), items[i]), CD_OK);
        }
        cd_hash32 x;
        cd_hash32 y;
        cd_trie_list_root(&x, items, sizes[s]);
        cd_trie_root(t, &y);
        assert_memory_equal(x.b, y.b, 32);
        cd_trie_close(t);
        free(items);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_and_single), cmocka_unit_test(test_refuses),   cmocka_unit_test(test_random),
        cmocka_unit_test(test_many_flushes),     cmocka_unit_test(test_list_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
