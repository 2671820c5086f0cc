/* Random trees of blocks over one world: every root is recomputed from the flat tables alone, branches are dropped and
 * accepted, the tries are thrown away and must catch up. */
#include "chains/evmchain/core/test/world_change.h"
#include "chains/evmchain/core/world/world_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ADDRS = 12, KEYS = 8, VIEWS = 24 };

typedef struct fixture {
    cd_kv *kv;
    cd_world *world;
    cd_rng rng;
    cd_world_view *views[VIEWS];
    cd_hash32 roots[VIEWS];
    usize cnt;
    u64 height;
} fixture;

static const world_space space = {.addrs = ADDRS, .keys = KEYS};

static void open_world(fixture *f, u64 commit_interval)
{
    cd_errinfo why = {0};
    cd_world_cfg cfg = {.kv = f->kv, .form = CD_ACCOUNT_4, .commit_interval = commit_interval, .cache_bytes = 1 << 20};
    if (cd_world_open(&f->world, &cfg, &why) != CD_OK) {
        fail_msg("height %llu: %s", (unsigned long long)f->height, why.msg);
    }
}

/* A block on parent (NULL = accepted); its root must be what the flat tables give. */
static cd_world_view *add_block(fixture *f, cd_world_view *parent, cd_hash32 *root)
{
    cd_world_source src;
    cd_world_view *view = NULL;
    cd_hash32 again;
    cd_errinfo why = {0};
    cd_world_source_init(&src, f->world, parent);
    cd_state *st = cd_state_new(&src.src);
    world_change(st, &f->rng, &space, 12);
    assert_int_equal(cd_world_apply(f->world, &view, root, parent, st, &why), CD_OK);
    assert_int_equal(cd_flat_root(cd__world_kv(f->world, view), &again, &why), CD_OK);
    assert_memory_equal(root->b, again.b, 32);
    cd_state_free(st);
    cd_world_source_fini(&src);
    return view;
}

static bool stands_on(const cd_world_view *v, const cd_world_view *ancestor)
{
    for (; v != NULL; v = v->parent) {
        if (v == ancestor) {
            return true;
        }
    }
    return false;
}

static void accept_one(fixture *f)
{
    cd_errinfo why = {0};
    for (usize i = 0; i < f->cnt; i++) {
        cd_world_view *view = f->views[i];
        if (view->parent != NULL) {
            continue;
        }
        cd_flat_head head = {.height = ++f->height, .root = f->roots[i]};
        usize kept = 0;
        cd_hash32 root = f->roots[i];
        cd_world_view *left[VIEWS];
        cd_hash32 left_roots[VIEWS];
        for (usize j = 0; j < f->cnt; j++) {
            if (j != i && stands_on(f->views[j], view)) {
                left[kept] = f->views[j];
                left_roots[kept++] = f->roots[j];
            }
        }
        assert_int_equal(cd_world_accept(f->world, view, NULL, &head, CD_KV_NOSYNC, &why), CD_OK);
        memcpy(f->views, left, kept * sizeof left[0]);
        memcpy(f->roots, left_roots, kept * sizeof left_roots[0]);
        f->cnt = kept;
        cd_hash32 again;
        assert_int_equal(cd_flat_root(f->kv, &again, &why), CD_OK);
        assert_memory_equal(root.b, again.b, 32);
        return;
    }
}

static void drop_one(fixture *f)
{
    usize at = cd_rng_below(&f->rng, f->cnt);
    cd_world_view *view = f->views[at];
    cd_world_view *left[VIEWS];
    cd_hash32 left_roots[VIEWS];
    usize kept = 0;
    for (usize j = 0; j < f->cnt; j++) {
        if (!stands_on(f->views[j], view)) {
            left[kept] = f->views[j];
            left_roots[kept++] = f->roots[j];
        }
    }
    cd_world_drop(f->world, view);
    memcpy(f->views, left, kept * sizeof left[0]);
    memcpy(f->roots, left_roots, kept * sizeof left_roots[0]);
    f->cnt = kept;
}

static void random_trees(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 12; seed++) {
        fixture f = {.kv = cd_kv_mem_open(), .rng = cd_rng_seeded(seed)};
        open_world(&f, 1 + seed % 5);
        for (int step = 0; step < 150; step++) {
            u64 what = cd_rng_below(&f.rng, 10);
            if (what < 6 && f.cnt < VIEWS) {
                cd_world_view *parent =
                    f.cnt == 0 || cd_rng_below(&f.rng, 3) == 0 ? NULL : f.views[cd_rng_below(&f.rng, f.cnt)];
                cd_hash32 root;
                f.views[f.cnt] = add_block(&f, parent, &root);
                f.roots[f.cnt++] = root;
            } else if (what < 8 && f.cnt != 0) {
                accept_one(&f);
            } else if (what == 8 && f.cnt != 0) {
                drop_one(&f);
            } else if (what == 9) {
                /* A crash: what was not accepted is gone, the tries catch up or the open fails. */
                cd_world_close(f.world);
                f.cnt = 0;
                open_world(&f, 1 + seed % 5);
            }
        }
        cd_errinfo why = {0};
        assert_int_equal(cd_world_flush(f.world, &why), CD_OK);
        if (f.height != 0) {
            assert_int_equal(cd_flat_check(f.kv, CD_TRIE_BY_PATH, &why), CD_OK);
        }
        cd_world_close(f.world);
        cd_kv_close(f.kv);
    }
}

static void damaged_state_is_refused(void **state)
{
    (void)state;
    fixture f = {.kv = cd_kv_mem_open(), .rng = cd_rng_seeded(99)};
    open_world(&f, 100);
    for (int i = 0; i < 5; i++) {
        f.views[0] = add_block(&f, NULL, &f.roots[0]);
        f.cnt = 1;
        accept_one(&f);
    }
    cd_world_close(f.world);
    /* One flat account that the head's root does not cover. */
    cd__journal j;
    u8 key[CD_FLAT_KEY_MAX];
    assert_int_equal(cd__journal_open(&j, f.kv, 0), CD_OK);
    assert_true(cd__journal_next(&j, UINT64_MAX) && j.acct_cnt != 0);
    cd__journal_hash(&j);
    cd_hash32 changed = j.accts[0].hash;
    assert_int_equal(cd__journal_close(&j), CD_OK);
    assert_int_equal(cd_kv_put(f.kv, cd_flat_account_key(key, &changed), cd_bytes_of("\xc4\x01\x02\x80\x80", 5)),
                     CD_OK);
    cd_errinfo why = {0};
    cd_world_cfg cfg = {.kv = f.kv, .form = CD_ACCOUNT_4, .cache_bytes = 1 << 20};
    assert_int_equal(cd_world_open(&f.world, &cfg, &why), CD_ECORRUPT);
    cd_kv_close(f.kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_trees),
        cmocka_unit_test(damaged_state_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
