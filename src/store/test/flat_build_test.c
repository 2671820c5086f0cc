#include "store/flat_build.h"

#include "store/test/toy_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* The nodes that the walk makes are those that stood there, to the byte, however small its steps. */
static void same_nodes(void **state)
{
    (void)state;
    cd_kv *made = cd_kv_mem_open();
    cd_kv *bare = cd_kv_mem_open();
    cd_kv_batch b = {0};
    cd_kv_iter *it;
    for (u32 i = 0; i < 40; i++) {
        cd_kv_batch_clear(&b);
        assert_int_equal(toy_block(&b, made, CD_TRIE_BY_PATH), CD_OK);
        assert_int_equal(cd_kv_commit(made, &b, CD_KV_NOSYNC, NULL), CD_OK);
    }
    cd_kv_batch_clear(&b);
    assert_int_equal(cd_kv_iter_new(&it, made, &(cd_kv_range){0}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        if (key.p[0] == 'a' || key.p[0] == 's' || key.p[0] == 'H') {
            cd_kv_batch_put(&b, key, cd_kv_iter_value(it));
        }
    }
    cd_kv_iter_free(it);
    assert_int_equal(cd_kv_commit(bare, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
    cd_flat_build *f;
    cd_hash32 root;
    cd_flat_head head;
    bool more = true;
    assert_int_equal(cd_flat_build_new(&f, bare), CD_OK);
    while (more) {
        assert_int_equal(cd_flat_build_step(f, 300, &more, &root, NULL), CD_OK);
    }
    cd_flat_build_free(f);
    assert_int_equal(cd_flat_head_get(made, &head), CD_OK);
    assert_true(cd_hash32_eq(&root, &head.root));
    assert_int_equal(cd_flat_check(bare, CD_TRIE_BY_PATH, NULL), CD_OK);
    cd_kv_iter *a;
    cd_kv_iter *c;
    assert_int_equal(cd_kv_iter_new(&a, made, &(cd_kv_range){0}), CD_OK);
    assert_int_equal(cd_kv_iter_new(&c, bare, &(cd_kv_range){0}), CD_OK);
    while (cd_kv_iter_next(a)) {
        assert_true(cd_kv_iter_next(c));
        assert_true(cd_bytes_eq(cd_kv_iter_key(a), cd_kv_iter_key(c)));
        assert_true(cd_bytes_eq(cd_kv_iter_value(a), cd_kv_iter_value(c)));
    }
    assert_false(cd_kv_iter_next(c));
    cd_kv_iter_free(a);
    cd_kv_iter_free(c);
    cd_kv_close(made);
    cd_kv_close(bare);
}

static void nothing(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_flat_build *f;
    cd_hash32 root;
    bool more = true;
    assert_int_equal(cd_flat_build_new(&f, kv), CD_OK);
    assert_int_equal(cd_flat_build_step(f, 300, &more, &root, NULL), CD_OK);
    assert_false(more);
    assert_true(cd_hash32_eq(&root, &CD_TRIE_EMPTY_ROOT));
    cd_flat_build_free(f);
    cd_kv_close(kv);
}

/* Tables that contradict themselves. */
static void contradictions(void **state)
{
    (void)state;
    for (u32 way = 0; way < 3; way++) {
        cd_kv *kv = cd_kv_mem_open();
        cd_kv_batch b = {0};
        cd_flat_build *f;
        cd_hash32 root;
        bool more = true;
        u8 value[72];
        const cd_hash32 low = {{1}};
        const cd_hash32 high = {{9}};
        usize n = toy_account(value, 5, way == 0 ? &low : &CD_TRIE_EMPTY_ROOT);
        cd_flat_account_put(&b, way == 1 ? &high : &low, cd_bytes_of(value, n));
        if (way != 0) {
            cd_flat_slot_put(&b, way == 1 ? &low : &high, &low, cd_bytes_str("\x01"));
        }
        assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        assert_int_equal(cd_flat_build_new(&f, kv), CD_OK);
        assert_int_equal(cd_flat_build_step(f, 1 << 20, &more, &root, NULL), CD_ECORRUPT);
        cd_flat_build_free(f);
        cd_kv_batch_fini(&b);
        cd_kv_close(kv);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_nodes),
        cmocka_unit_test(nothing),
        cmocka_unit_test(contradictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
