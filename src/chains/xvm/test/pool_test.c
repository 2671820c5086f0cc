/* The pool under attack: what comes twice, takes what another takes, is too large, or fills the room of others. */
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { PADDING = 240 };

/* The n-th of many different transactions, as they would be after parsing. */
static void made(xrig *r, cd_xvm_tx *out, cd_arena *a, u32 n, usize memo)
{
    rig_transfer t;
    cd_buf bytes = {0};
    cd_hash32 from = {{1}};
    cd_put_be32(from.b + 4, n);
    rig_transfer_init(r, &t, &from, n, RIG_COIN, RIG_FEE, 1);
    t.base.memo = cd_bytes_of(cd_arena_zalloc(a, memo), memo);
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &t.base}};
    rig_sign(r, &bytes, &tx, NULL, 1, 0);
    assert_int_equal(cd_xvm_tx_parse(out, a, cd_arena_dup(a, cd_buf_bytes(&bytes)), NULL), CD_OK);
    cd_buf_fini(&bytes);
}

static void in_order_and_once(void **state)
{
    (void)state;
    static xrig r;
    cd_arena a = {0};
    cd_xvm_tx t[3];
    cd_xvm_tx rival;
    cd_errinfo why = {0};
    rig_init(&r, "");
    cd_xvm_pool *p = cd_xvm_pool_new();
    for (u32 i = 0; i < 3; i++) {
        made(&r, &t[i], &a, i, 0);
        assert_int_equal(cd_xvm_pool_add(p, &t[i], NULL, NULL), CD_OK);
    }
    assert_int_equal(cd_xvm_pool_add(p, &t[1], NULL, &why), CD_EEXIST);
    assert_memory_equal(why.msg, "duplicate tx: ", 14);
    made(&r, &rival, &a, 1, 5); /* takes the same output */
    assert_int_equal(cd_xvm_pool_add(p, &rival, NULL, &why), CD_EBUSY);
    assert_memory_equal(why.msg, "tx conflicts with other tx: ", 28);

    const cd_hash32 *at = NULL;
    cd_bytes bytes;
    for (u32 i = 0; i < 3; i++) {
        assert_true(cd_xvm_pool_each(p, &at, &bytes));
        assert_memory_equal(at, &t[i].id, 32);
        assert_true(cd_bytes_eq(bytes, t[i].bytes));
    }
    assert_false(cd_xvm_pool_each(p, &at, &bytes));

    cd_xvm_pool_decided(p, &rival); /* another was accepted in its place */
    assert_false(cd_xvm_pool_has(p, &t[1].id));
    cd_xvm_pool_drop(p, &t[0].id, "no good");
    assert_string_equal(cd_xvm_pool_reason(p, &t[0].id), "no good");
    assert_null(cd_xvm_pool_reason(p, &t[2].id));
    cd_xvm_pool_remove(p, &t[2].id);
    assert_int_equal(cd_xvm_pool_cnt(p), 0);
    assert_int_equal(cd_xvm_pool_bytes(p), 0);
    assert_int_equal(cd_xvm_pool_add(p, &t[1], NULL, NULL), CD_OK); /* its outputs are free again */
    assert_true(cd_xvm_pool_bytes(p) >= t[1].bytes.n + 256);        /* what it costs beside its bytes, too */
    cd_xvm_pool_free(p);
    cd_arena_fini(&a);
    rig_fini(&r);
}

/* A peer that sends without end has its own bound, and leaves room for others. */
static void one_peer_fills_its_share_only(void **state)
{
    (void)state;
    static xrig r;
    cd_arena a = {0};
    cd_xvm_tx t;
    cd_errinfo why = {0};
    const cd_node_id greedy = {{1}};
    const cd_node_id other = {{2}};
    u32 n = 0;
    cd_err e = CD_OK;
    rig_init(&r, "");
    cd_xvm_pool *p = cd_xvm_pool_new();
    made(&r, &t, &a, 1u << 20, CD_XVM_POOL_TX_MAX);
    assert_int_equal(cd_xvm_pool_add(p, &t, &greedy, &why), CD_ELIMIT);
    assert_memory_equal(why.msg, "tx too large: ", 14);
    while (e == CD_OK && n < 1u << 16) {
        cd_arena_reset(&a);
        made(&r, &t, &a, n++, PADDING);
        e = cd_xvm_pool_add(p, &t, &greedy, &why);
    }
    assert_int_equal(e, CD_EFULL);
    assert_memory_equal(why.msg, "mempool is full: ", 17);
    assert_true(cd_xvm_pool_bytes(p) <= CD_XVM_POOL_PEER_MAX);
    assert_true(cd_xvm_pool_bytes(p) > CD_XVM_POOL_PEER_MAX - 2048);
    made(&r, &t, &a, n++, PADDING);
    assert_int_equal(cd_xvm_pool_add(p, &t, &other, NULL), CD_OK);
    made(&r, &t, &a, n++, PADDING);
    assert_int_equal(cd_xvm_pool_add(p, &t, NULL, NULL), CD_OK);
    cd_xvm_pool_free(p);
    cd_arena_fini(&a);
    rig_fini(&r);
}

/* Reasons are kept of the last few only. */
static void reasons_are_bounded(void **state)
{
    (void)state;
    cd_xvm_pool *p = cd_xvm_pool_new();
    cd_hash32 id = {{0}};
    for (u32 i = 0; i < 1000; i++) {
        cd_put_be32(id.b, i);
        cd_xvm_pool_drop(p, &id, "why");
    }
    cd_put_be32(id.b, 999);
    assert_non_null(cd_xvm_pool_reason(p, &id));
    cd_put_be32(id.b, 999 - 64);
    assert_null(cd_xvm_pool_reason(p, &id));
    cd_xvm_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_and_once),
        cmocka_unit_test(one_peer_fills_its_share_only),
        cmocka_unit_test(reasons_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
