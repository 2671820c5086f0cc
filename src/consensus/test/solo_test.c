/* The engine of one node, on a toy: what it makes, what it refuses, what it leaves behind when the store fails. */
#include "consensus/solo.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct rig {
    cd_kv *store;
    cd_kv *chain;
    toy *t;
    cd_engine *e;
    u64 landed; /* height of the last block that came through the door */
    bool also_fails;
} rig;

static cd_err also(void *ctx, cd_kv_batch *batch, const cd_vm_block *b, cd_errinfo *why)
{
    const rig *r = ctx;
    u8 height[8];
    if (r->also_fails) {
        return cd_fail(why, CD_EIO, "no index");
    }
    cd_put_be64(height, b->height);
    cd_kv_batch_put(batch, cd_bytes_str("height"), cd_bytes_of(height, 8));
    return CD_OK;
}

static void landed(void *ctx, const cd_vm_block *b)
{
    ((rig *)ctx)->landed = b->height;
}

static void open_rig(rig *r)
{
    *r = (rig){.store = cd_kv_mem_open()};
    r->chain = cd_kv_prefix_open(r->store, cd_bytes_str("C"));
    r->t = (toy *)(void *)toy_open(r->chain, TOY_IS_GOOD);
    cd_solo_cfg cfg = {
        .door = {.store = r->store, .chain = r->chain, .also = also, .landed = landed, .ctx = r},
        .name = "toy",
    };
    r->e = cd_solo_new(&cfg);
    assert_int_equal(r->e->ops->start(r->e, &r->t->vm, NULL), CD_OK);
}

static void close_rig(rig *r)
{
    r->e->ops->stop(r->e);
    cd_solo_free(r->e);
    r->t->vm.ops->close(&r->t->vm);
    cd_kv_close(r->chain);
    cd_kv_close(r->store);
}

static void test_produce(void **state)
{
    (void)state;
    rig r;
    cd_buf v = {0};
    open_rig(&r);
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_ENOENT);
    for (u64 n = 1; n <= 5; n++) {
        r.t->wanted = n + 10;
        assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK);
        assert_int_equal(r.t->blocks.last_height, n);
        assert_int_equal(r.landed, n);
        /* Written in the same batch, outside of the chain's part. */
        assert_int_equal(cd_kv_get(r.store, &v, cd_bytes_str("height")), CD_OK);
        assert_int_equal(cd_be64(v.p), n);
    }
    assert_int_equal(r.e->stats.built, 5);
    assert_int_equal(r.e->stats.verified, 5);
    assert_int_equal(r.e->stats.accepted, 5);
    assert_int_equal(r.t->blocks.verified_cnt, 0);
    assert_int_equal(cd_hmap_cnt(&r.t->blocks.by_id), 0);
    cd_buf_fini(&v);
    close_rig(&r);
}

/* A step makes a block for each that is wanted; then there is nothing to do until the VM wants another. */
static void test_notify(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    r.t->wanted = 3;
    assert_false(r.e->ops->step(r.e));
    assert_int_equal(r.t->blocks.last_height, 0);
    r.e->ops->notify(r.e, CD_VM_WANTS_BLOCK);
    assert_true(r.e->ops->step(r.e));
    assert_int_equal(r.t->blocks.last_height, 1);
    assert_false(r.e->ops->step(r.e));
    assert_false(r.e->ops->step(r.e));
    close_rig(&r);
}

/* A write that fails leaves the chain as it was, with no undecided block, and the next try goes through. */
static void test_failed_write(void **state)
{
    (void)state;
    rig r;
    cd_errinfo why = {0};
    open_rig(&r);
    r.also_fails = true;
    r.t->wanted = 3;
    assert_int_equal(r.e->ops->produce(r.e, &why), CD_EIO);
    assert_string_equal(why.msg, "no index");
    assert_int_equal(r.t->blocks.last_height, 0);
    assert_int_equal(r.t->blocks.verified_cnt, 0);
    assert_int_equal(r.e->stats.rejected, 1);
    r.also_fails = false;
    r.t->wanted = 3;
    assert_int_equal(r.e->ops->produce(r.e, &why), CD_OK);
    assert_int_equal(r.t->blocks.last_height, 1);
    close_rig(&r);
}

typedef struct back {
    rig *r;
    cd_err err;
} back;

/* Goes back to the first block, and tries to make another one on the way, which the engine refuses. */
static cd_err go_back(void *arg, cd_errinfo *why)
{
    const back *b = arg;
    cd_hash32 first;
    (void)why;
    assert_int_equal(toy_at(b->r->t, &first, 1), CD_OK);
    assert_int_equal(b->r->e->ops->produce(b->r->e, NULL), CD_EBUSY);
    assert_int_equal(b->r->e->ops->rewind(b->r->e, go_back, arg, NULL), CD_EBUSY);
    cd_blocks_restart(&b->r->t->blocks, &first, 1);
    return b->err;
}

static void test_rewind(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    for (u64 n = 1; n <= 3; n++) {
        r.t->wanted = n + 10;
        assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK);
    }
    back b = {.r = &r};
    assert_int_equal(r.e->ops->rewind(r.e, go_back, &b, NULL), CD_OK);
    r.t->wanted = 77;
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK);
    assert_int_equal(r.t->blocks.last_height, 2);
    b.err = CD_EMISSING;
    assert_int_equal(r.e->ops->rewind(r.e, go_back, &b, NULL), CD_EMISSING);
    r.t->wanted = 78;
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK);
    assert_int_equal(r.e->stats.rewound, 2);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_produce),
        cmocka_unit_test(test_notify),
        cmocka_unit_test(test_failed_write),
        cmocka_unit_test(test_rewind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
