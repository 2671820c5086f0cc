/* The engine of several validators in one process, on toys: all hold what one has made, what all refuse is nobody's,
 * and what goes wrong with one is told. */
#include "consensus/council.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CNT = 5 };

typedef struct rig {
    cd_kv *stores[CNT];
    toy *toys[CNT];
    bool is_closed[CNT];
    u32 fails_at; /* this one cannot be opened; 0: all can */
    cd_rng rng;
    cd_engine *e;
} rig;

static cd_err open_toy(void *ctx, u32 idx, cd_vm **out, cd_commit_door *door, cd_errinfo *why)
{
    rig *r = ctx;
    if (idx == r->fails_at) {
        return cd_fail(why, CD_EIO, "no store");
    }
    r->stores[idx] = cd_kv_mem_open();
    r->toys[idx] = (toy *)(void *)toy_open(r->stores[idx], TOY_IS_GOOD);
    *out = &r->toys[idx]->vm;
    *door = (cd_commit_door){.store = r->stores[idx], .chain = r->stores[idx]};
    return CD_OK;
}

static void close_toy(void *ctx, u32 idx)
{
    rig *r = ctx;
    cd_kv_close(r->stores[idx]);
    r->stores[idx] = NULL;
    r->toys[idx] = NULL;
    r->is_closed[idx] = true;
}

static cd_err open_rig(rig *r, u32 fails_at)
{
    *r = (rig){.fails_at = fails_at, .rng = cd_rng_seeded(7)};
    r->stores[0] = cd_kv_mem_open();
    r->toys[0] = (toy *)(void *)toy_open(r->stores[0], TOY_IS_GOOD);
    const cd_council_cfg cfg = {
        .cnt = CNT,
        .self = {{1}},
        .door = {.store = r->stores[0], .chain = r->stores[0]},
        .open = open_toy,
        .close = close_toy,
        .ctx = r,
        .rng = &r->rng,
        .name = "toy",
    };
    assert_int_equal(cd_council_new(&r->e, &cfg, NULL), CD_OK);
    return r->e->ops->start(r->e, &r->toys[0]->vm, NULL);
}

static void close_rig(rig *r)
{
    r->e->ops->stop(r->e);
    for (u32 i = 1; i < CNT; i++) {
        assert_true(r->is_closed[i]);
    }
    cd_council_free(r->e);
    r->toys[0]->vm.ops->close(&r->toys[0]->vm);
    cd_kv_close(r->stores[0]);
}

static void check_same(const rig *r, u64 height)
{
    for (u32 i = 0; i < CNT; i++) {
        assert_int_equal(r->toys[i]->blocks.last_height, height);
        assert_memory_equal(r->toys[i]->blocks.last.b, r->toys[0]->blocks.last.b, 32);
        assert_int_equal(r->toys[i]->blocks.verified_cnt, 0);
        assert_int_equal(cd_hmap_cnt(&r->toys[i]->blocks.by_id), 0);
    }
}

static void test_all_hold_it(void **state)
{
    (void)state;
    rig r;
    assert_int_equal(open_rig(&r, 0), CD_OK);
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_ENOENT);
    check_same(&r, 0);
    for (u64 n = 1; n <= 200; n++) {
        r.toys[0]->wanted = n + 10;
        assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK);
        check_same(&r, n);
    }
    assert_int_equal(r.e->stats.built, 200);
    assert_int_equal(r.e->stats.accepted, 200);
    assert_int_equal(r.e->stats.processing, 0);
    close_rig(&r);
}

static void test_notify(void **state)
{
    (void)state;
    rig r;
    assert_int_equal(open_rig(&r, 0), CD_OK);
    assert_false(r.e->ops->step(r.e));
    r.toys[0]->wanted = 5;
    r.e->ops->notify(r.e, CD_VM_WANTS_BLOCK);
    assert_true(r.e->ops->step(r.e));
    assert_false(r.e->ops->step(r.e));
    check_same(&r, 1);
    close_rig(&r);
}

typedef struct job {
    rig *r;
    cd_err gives;
    bool has_run;
} job;

static cd_err run_job(void *arg, cd_errinfo *why)
{
    job *j = arg;
    (void)why;
    j->has_run = true;
    /* Inside neither may be called again. */
    assert_int_equal(j->r->e->ops->produce(j->r->e, NULL), CD_EBUSY);
    assert_int_equal(j->r->e->ops->rewind(j->r->e, run_job, arg, NULL), CD_EBUSY);
    return j->gives;
}

static void test_rewind(void **state)
{
    (void)state;
    rig r;
    assert_int_equal(open_rig(&r, 0), CD_OK);
    r.toys[0]->wanted = 5;
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK);
    job j = {.r = &r};
    assert_int_equal(r.e->ops->rewind(r.e, run_job, &j, NULL), CD_OK);
    assert_true(j.has_run);
    j.gives = CD_EIO;
    assert_int_equal(r.e->ops->rewind(r.e, run_job, &j, NULL), CD_EIO);
    assert_int_equal(r.e->stats.rewound, 2);
    /* They go on. */
    r.toys[0]->wanted = 6;
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK);
    check_same(&r, 2);
    close_rig(&r);
}

/* Another validator that holds something else refuses the block: a quorum is not everybody, but all have to agree. */
static void test_apart(void **state)
{
    (void)state;
    rig r;
    cd_errinfo why = {0};
    assert_int_equal(open_rig(&r, 0), CD_OK);
    for (u32 i = 1; i < CNT; i++) {
        r.toys[i]->now = 0;
        r.toys[i]->blocks.last_height = 7; /* they have gone on without us */
    }
    r.toys[0]->wanted = 5;
    assert_int_not_equal(r.e->ops->produce(r.e, &why), CD_OK);
    assert_int_equal(r.toys[0]->blocks.last_height, 0);
    close_rig(&r);
}

static void test_cannot_open(void **state)
{
    (void)state;
    rig r;
    assert_int_equal(open_rig(&r, 3), CD_EIO);
    for (u32 i = 1; i < CNT; i++) {
        assert_true(r.is_closed[i]);
    }
    cd_council_free(r.e);
    r.toys[0]->vm.ops->close(&r.toys[0]->vm);
    cd_kv_close(r.stores[0]);
}

static void test_numbers(void **state)
{
    (void)state;
    cd_engine *e;
    cd_rng rng = cd_rng_seeded(1);
    cd_council_cfg cfg = {.cnt = 1, .rng = &rng};
    assert_int_equal(cd_council_new(&e, &cfg, NULL), CD_EINVAL);
    cfg.cnt = CD_COUNCIL_MAX + 1;
    assert_int_equal(cd_council_new(&e, &cfg, NULL), CD_EINVAL);
    for (cfg.cnt = 2; cfg.cnt <= CD_COUNCIL_MAX; cfg.cnt++) {
        assert_int_equal(cd_council_new(&e, &cfg, NULL), CD_OK);
        cd_council_free(e);
    }
    cd_node_id ids[2];
    const cd_node_id self = {{9}};
    cd_council_node_id(&ids[0], &self, 0);
    cd_council_node_id(&ids[1], &self, 1);
    assert_memory_equal(ids[0].b, self.b, sizeof self.b);
    assert_memory_not_equal(ids[1].b, self.b, sizeof self.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hold_it), cmocka_unit_test(test_notify),      cmocka_unit_test(test_rewind),
        cmocka_unit_test(test_apart),       cmocka_unit_test(test_cannot_open), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
