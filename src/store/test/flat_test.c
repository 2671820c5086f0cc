#include "store/flat.h"

#include "store/overlay.h"
#include "store/test/toy_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BLOCKS = 120 };

static void run_block(cd_kv *kv, cd_trie_scheme scheme)
{
    cd_kv_batch b = {0};
    assert_int_equal(toy_block(&b, kv, scheme), CD_OK);
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
}

static void expect_whole(cd_kv *kv, cd_trie_scheme scheme)
{
    cd_errinfo why = {0};
    cd_err err = cd_flat_check(kv, scheme, &why);
    if (err != CD_OK) {
        print_error("%s\n", why.msg);
    }
    assert_int_equal(err, CD_OK);
}

/* The hash of all contents. */
static cd_hash32 fingerprint(cd_kv *kv)
{
    cd_keccak k;
    cd_keccak_init(&k);
    cd_kv_iter *it = NULL;
    assert_int_equal(cd_kv_iter_new(&it, kv, &(cd_kv_range){0}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_keccak_update(&k, cd_kv_iter_key(it));
        cd_keccak_update(&k, cd_kv_iter_value(it));
    }
    cd_kv_iter_free(it);
    cd_hash32 h;
    cd_keccak_final(&k, &h);
    return h;
}

/* Every block leaves tables and tries that agree. */
static void test_blocks(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    expect_whole(kv, CD_TRIE_BY_PATH);
    for (u64 h = 0; h < BLOCKS; h++) {
        run_block(kv, CD_TRIE_BY_PATH);
        expect_whole(kv, CD_TRIE_BY_PATH);
    }
    cd_flat_head head;
    assert_int_equal(cd_flat_head_get(kv, &head), CD_OK);
    assert_int_equal(head.height, BLOCKS);
    cd_kv_close(kv);
}

/* Blocks on overlay layers: two branches over the same base end in the states of a straight run. */
static void test_on_layers(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_kv *straight = cd_kv_mem_open();
    cd_overlay *ov = cd_overlay_new(kv);
    cd_layer *chain[30] = {0};
    for (int i = 0; i < 30; i++) {
        cd_layer *parent = i == 0 ? NULL : chain[i - 1];
        assert_int_equal(cd_overlay_begin(ov, &chain[i], parent), CD_OK);
        run_block(cd_layer_kv(chain[i]), CD_TRIE_BY_PATH);
        cd_layer_seal(chain[i]);
        expect_whole(cd_layer_kv(chain[i]), CD_TRIE_BY_PATH);
        /* A sibling that will be dropped. */
        cd_layer *side = NULL;
        assert_int_equal(cd_overlay_begin(ov, &side, parent), CD_OK);
        assert_int_equal(cd_kv_put(cd_layer_kv(side), cd_bytes_str("H"), cd_bytes_str("x")), CD_OK);
        cd_layer_seal(side);
    }
    for (int i = 0; i < 30; i++) {
        assert_int_equal(cd_layer_flatten(chain[i], NULL, CD_KV_NOSYNC, NULL), CD_OK);
        expect_whole(kv, CD_TRIE_BY_PATH);
        run_block(straight, CD_TRIE_BY_PATH);
        cd_hash32 x = fingerprint(kv);
        cd_hash32 y = fingerprint(straight);
        assert_memory_equal(x.b, y.b, 32);
    }
    assert_int_equal(cd_overlay_cnt(ov), 0);
    cd_overlay_free(ov);
    cd_kv_close(kv);
    cd_kv_close(straight);
}

/* By hash every historic root stays readable. */
static void test_archive(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_hash32 root[60];
    for (int h = 0; h < 60; h++) {
        run_block(kv, CD_TRIE_BY_HASH);
        expect_whole(kv, CD_TRIE_BY_HASH);
        cd_flat_head head;
        assert_int_equal(cd_flat_head_get(kv, &head), CD_OK);
        root[h] = head.root;
    }
    for (int h = 0; h < 60; h++) {
        cd_trie *t = NULL;
        assert_int_equal(cd_flat_account_trie(&t, kv, &root[h], CD_TRIE_BY_HASH, NULL, NULL), CD_OK);
        cd_trie_iter *it = cd_trie_iter_new(t, (cd_bytes){0}, false);
        cd_trie_build *b = cd_trie_build_new(NULL, NULL);
        cd_trie_item item;
        while (cd_trie_iter_next(it, &item) == CD_OK) {
            assert_int_equal(cd_trie_build_add(b, item.key, item.value), CD_OK);
        }
        cd_hash32 got;
        cd_trie_build_root(b, &got);
        assert_memory_equal(got.b, root[h].b, 32);
        cd_trie_build_free(b);
        cd_trie_iter_free(it);
        cd_trie_close(t);
    }
    cd_kv_close(kv);
}

/* Every single record that is altered or lost is noticed by the check. */
static void test_check_notices(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    for (int h = 0; h < 25; h++) {
        run_block(kv, CD_TRIE_BY_PATH);
    }
    cd_kv *before = NULL;
    assert_int_equal(cd_kv_snapshot(&before, kv), CD_OK);
    cd_kv_iter *it = NULL;
    assert_int_equal(cd_kv_iter_new(&it, before, &(cd_kv_range){0}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        if (key.p[0] == 'U') {
            continue;
        }
        cd_errinfo why = {0};
        cd_buf bad = {0};
        cd_buf_put(&bad, cd_kv_iter_value(it));
        bad.p[bad.n - 1] ^= 1;
        assert_int_equal(cd_kv_del(kv, key), CD_OK);
        assert_int_not_equal(cd_flat_check(kv, CD_TRIE_BY_PATH, &why), CD_OK);
        assert_true(why.msg[0] != 0);
        assert_int_equal(cd_kv_put(kv, key, cd_buf_bytes(&bad)), CD_OK);
        assert_int_not_equal(cd_flat_check(kv, CD_TRIE_BY_PATH, &why), CD_OK);
        assert_int_equal(cd_kv_put(kv, key, cd_kv_iter_value(it)), CD_OK);
        cd_buf_fini(&bad);
    }
    cd_kv_iter_free(it);
    cd_kv_close(before);
    expect_whole(kv, CD_TRIE_BY_PATH);
    cd_kv_close(kv);
}

static void test_tables(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_hash32 a = toy_hash("a", 1);
    cd_hash32 b = toy_hash("a", 2);
    cd_hash32 s = toy_hash("s", 1);
    cd_hash32 s2 = toy_hash("s", 2);
    cd_kv_batch batch = {0};
    cd_flat_account_put(&batch, &a, cd_bytes_str("A"));
    cd_flat_account_put(&batch, &b, cd_bytes_str("B"));
    cd_flat_slot_put(&batch, &a, &s, cd_bytes_str("1"));
    cd_flat_slot_put(&batch, &a, &s2, cd_bytes_str("2"));
    cd_flat_slot_put(&batch, &b, &s, cd_bytes_str("3"));
    assert_int_equal(cd_kv_commit(kv, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    cd_buf out = {0};
    assert_int_equal(cd_flat_slot_get(kv, &out, &a, &s2), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), cd_bytes_str("2")));
    assert_int_equal(cd_flat_account_get(kv, &out, &s), CD_ENOENT);
    cd_kv_iter *it = NULL;
    const cd_hash32 *low = memcmp(a.b, b.b, 32) < 0 ? &a : &b;
    const cd_hash32 *high = low == &a ? &b : &a;
    assert_int_equal(cd_flat_accounts(&it, kv, high), CD_OK);
    assert_true(cd_kv_iter_next(it));
    assert_memory_equal(cd_kv_iter_key(it).p + 1, high->b, 32);
    assert_false(cd_kv_iter_next(it));
    cd_kv_iter_free(it);
    const cd_hash32 *high_slot = memcmp(s.b, s2.b, 32) < 0 ? &s2 : &s;
    assert_int_equal(cd_flat_slots(&it, kv, &a, high_slot), CD_OK);
    assert_true(cd_kv_iter_next(it));
    assert_memory_equal(cd_kv_iter_key(it).p + 33, high_slot->b, 32);
    assert_false(cd_kv_iter_next(it));
    cd_kv_iter_free(it);
    cd_kv_batch_clear(&batch);
    assert_int_equal(cd_flat_storage_clear(&batch, kv, &a), CD_OK);
    assert_int_equal(batch.cnt, 2);
    cd_kv_batch_fini(&batch);
    cd_buf_fini(&out);
    cd_flat_head head;
    assert_int_equal(cd_flat_head_get(kv, &head), CD_ENOENT);
    assert_int_equal(cd_kv_put(kv, cd_bytes_str("H"), cd_bytes_str("short")), CD_OK);
    assert_int_equal(cd_flat_head_get(kv, &head), CD_ECORRUPT);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),  cmocka_unit_test(test_blocks),        cmocka_unit_test(test_on_layers),
        cmocka_unit_test(test_archive), cmocka_unit_test(test_check_notices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
