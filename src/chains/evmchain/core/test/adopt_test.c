/* A state that comes in beside another: whole, stopped after every step, with a leaf that does not belong. */
#include "chains/evmchain/core/adopt.h"

#include "chains/evmchain/core/chaindb.h"
#include "chains/evmchain/core/test/world_change.h"
#include "chains/evmchain/core/world/reader.h"
#include "chains/evmchain/core/world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ADDRS = 60, KEYS = 30 };

/* A chain of heights without blocks. */
typedef struct side {
    cd_kv *kv;
    cd_world *w;
    cd_rng rng;
    cd_flat_head head;
} side;

static void open_side(side *s)
{
    const cd_world_cfg cfg = {.kv = s->kv, .history = 3, .commit_interval = 2};
    cd_errinfo why = {0};
    if (cd_world_open(&s->w, &cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
}

static void grow(side *s, u64 blocks, u64 changes)
{
    const world_space space = {ADDRS, KEYS};
    for (u64 i = 0; i < blocks; i++) {
        cd_world_source src;
        cd_world_view *v;
        cd_world_source_init(&src, s->w, NULL);
        cd_state *st = cd_state_new(&src.src);
        world_change(st, &s->rng, &space, changes);
        s->head.height++;
        s->head.block.b[0] = (u8)s->head.height;
        assert_int_equal(cd_world_apply(s->w, &v, &s->head.root, NULL, st, NULL), CD_OK);
        assert_int_equal(cd_world_accept(s->w, v, NULL, &s->head, CD_KV_NOSYNC, NULL), CD_OK);
        cd_state_free(st);
        cd_world_source_fini(&src);
    }
}

static void begin(side *s, u64 seed, u64 blocks, u64 changes)
{
    *s = (side){.kv = cd_kv_mem_open(), .rng = cd_rng_seeded(seed)};
    open_side(s);
    grow(s, blocks, changes);
}

static void end(side *s)
{
    cd_world_close(s->w);
    cd_kv_close(s->kv);
}

/* Puts all leafs of from beside the state of to, as somebody does who fetches them. */
static void gather(side *to, const side *from)
{
    cd_kv_batch b = {0};
    cd_kv_iter *it;
    cd_kv_batch_for(&b, to->kv);
    assert_int_equal(cd_kv_iter_new(&it, from->kv, &(cd_kv_range){0}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd_hash32 account = {{0}};
        cd_hash32 slot = {{0}};
        if (key.p[0] == 'a') {
            memcpy(account.b, key.p + 1, 32);
            cd_adopt_add_account(&b, &account, cd_kv_iter_value(it));
        } else if (key.p[0] == 's') {
            memcpy(account.b, key.p + 1, 32);
            memcpy(slot.b, key.p + 33, 32);
            cd_adopt_add_slot(&b, &account, &slot, cd_kv_iter_value(it));
        }
    }
    cd_kv_iter_free(it);
    cd_adopt_add_hash(&b, from->head.height, &from->head.block);
    cd_adopt_add(&b, cd_bytes_str("work"), cd_bytes_str("left"));
    assert_int_equal(cd_kv_commit(to->kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
}

static cd_adopt_target target_of(const side *s)
{
    return (cd_adopt_target){.height = s->head.height, .hash = s->head.block, .root = s->head.root};
}

/* Steps until the phase is over, or nothing is left to do. */
static cd_adopt_phase run(cd_adopt *a, cd_adopt_phase until)
{
    cd_adopt_phase phase = CD_ADOPT_CLEARS;
    bool more = true;
    do {
        assert_int_equal(cd_adopt_step(a, &phase, &more, NULL), CD_OK);
    } while (more && phase != until);
    return phase;
}

static void expect_state(side *to, const side *from)
{
    cd_flat_head head;
    cd_errinfo why = {0};
    cd_hash32 hash;
    u64 oldest;
    assert_true(cd_world_head(to->w, &head));
    assert_int_equal(head.height, from->head.height);
    assert_true(cd_hash32_eq(&head.root, &from->head.root));
    if (cd_flat_check(to->kv, CD_TRIE_BY_PATH, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(cd_world_oldest(to->kv, &oldest), CD_OK);
    assert_int_equal(oldest, head.height); /* nothing of what was before is left */
    assert_int_equal(cd_chaindb_hash(to->kv, &hash, head.height), CD_OK);
    assert_int_equal(cd_chaindb_floor(to->kv, &oldest), CD_OK);
    assert_int_equal(oldest, head.height + 1);
}

static void expect_gone(const side *s)
{
    cd_kv_iter *it;
    cd_adopt_target t;
    assert_int_equal(cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd_bytes_str("Y")}), CD_OK);
    assert_false(cd_kv_iter_next(it));
    cd_kv_iter_free(it);
    assert_int_equal(cd_adopt_get(s->kv, &t), CD_ENOENT);
}

static void whole(void **state)
{
    (void)state;
    side own;
    side other;
    begin(&own, 1, 4, 200);
    begin(&other, 2, 30, 300);
    cd_adopt *a = cd_adopt_new(own.kv);
    cd_adopt_target t = target_of(&other);
    cd_adopt_phase phase;
    bool more;
    assert_int_equal(cd_adopt_step(a, &phase, &more, NULL), CD_OK);
    assert_false(more);
    assert_int_equal(cd_adopt_begin(a, &t, NULL), CD_OK);
    assert_int_equal(run(a, CD_ADOPT_GATHERS), CD_ADOPT_GATHERS);
    gather(&own, &other);
    grow(&own, 1, 20); /* the chain's own state is as it was until the move */
    assert_int_equal(cd_adopt_gathered(a, NULL), CD_OK);
    assert_int_equal(run(a, CD_ADOPT_MOVES), CD_ADOPT_MOVES);
    assert_int_equal(cd_flat_check(own.kv, CD_TRIE_BY_PATH, NULL), CD_OK);
    assert_int_equal(run(a, CD_ADOPT_SWEEPS), CD_ADOPT_SWEEPS);
    assert_int_equal(cd_world_reload(own.w, NULL), CD_OK);
    expect_state(&own, &other);
    run(a, CD_ADOPT_CLEARS);
    expect_gone(&own);
    cd_adopt_free(a);
    /* It goes on as any state, also after a restart. */
    own.head = other.head;
    grow(&own, 5, 100);
    cd_world_close(own.w);
    open_side(&own);
    grow(&own, 5, 100);
    assert_int_equal(cd_world_flush(own.w, NULL), CD_OK);
    assert_int_equal(cd_flat_check(own.kv, CD_TRIE_BY_PATH, NULL), CD_OK);
    end(&own);
    end(&other);
}

/* The program ends after each step, in each phase. */
static void stopped_everywhere(void **state)
{
    (void)state;
    side own;
    side other;
    begin(&own, 3, 3, 100);
    begin(&other, 4, 9, 200);
    cd_adopt *a = cd_adopt_new(own.kv);
    cd_adopt_target t = target_of(&other);
    assert_int_equal(cd_adopt_begin(a, &t, NULL), CD_OK);
    assert_int_equal(run(a, CD_ADOPT_GATHERS), CD_ADOPT_GATHERS);
    gather(&own, &other);
    assert_int_equal(cd_adopt_gathered(a, NULL), CD_OK);
    u32 stops[CD_ADOPT_SWEEPS + 1] = {0};
    cd_adopt_phase phase = CD_ADOPT_BUILDS;
    bool more = true;
    for (u32 steps = 1; phase != CD_ADOPT_SWEEPS; steps++) {
        cd_adopt_free(a);
        cd_world_close(own.w);
        assert_int_equal(cd_adopt_get(own.kv, &t), CD_OK);
        stops[t.phase]++;
        if (t.phase == CD_ADOPT_MOVES && steps > 9) {
            assert_int_equal(cd_adopt_recover(own.kv, NULL), CD_OK);
        }
        assert_int_equal(cd_adopt_get(own.kv, &t), CD_OK);
        phase = t.phase;
        a = cd_adopt_new(own.kv);
        own.w = NULL;
        for (u32 i = 0; i < steps && phase != CD_ADOPT_SWEEPS; i++) {
            assert_int_equal(cd_adopt_step(a, &phase, &more, NULL), CD_OK);
        }
    }
    assert_true(stops[CD_ADOPT_BUILDS] != 0 && stops[CD_ADOPT_MOVES] != 0);
    open_side(&own);
    expect_state(&own, &other);
    cd_adopt_free(a);
    a = cd_adopt_new(own.kv);
    while (more) {
        assert_int_equal(cd_adopt_step(a, &phase, &more, NULL), CD_OK);
    }
    expect_gone(&own);
    cd_adopt_free(a);
    end(&own);
    end(&other);
}

/* A slot too much, an account too few, another root: the chain's own state stays, and what was gathered goes. */
static void spoilt(void **state)
{
    (void)state;
    for (u32 way = 0; way < 3; way++) {
        side own;
        side other;
        cd_kv_batch b = {0};
        cd_errinfo why = {0};
        cd_adopt_phase phase = CD_ADOPT_GATHERS;
        bool more;
        cd_err e = CD_OK;
        const cd_hash32 one = {{1}};
        begin(&own, 5, 3, 100);
        begin(&other, 6, 9, 200);
        cd_adopt *a = cd_adopt_new(own.kv);
        cd_adopt_target t = target_of(&other);
        t.root.b[0] ^= way == 0;
        assert_int_equal(cd_adopt_begin(a, &t, NULL), CD_OK);
        assert_int_equal(run(a, CD_ADOPT_GATHERS), CD_ADOPT_GATHERS);
        gather(&own, &other);
        cd_kv_batch_for(&b, own.kv);
        if (way == 1) {
            cd_adopt_add_slot(&b, &one, &one, cd_bytes_str("\x05"));
        } else if (way == 2) {
            cd_kv_iter *it;
            cd_hash32 first;
            assert_int_equal(cd_flat_accounts(&it, other.kv, NULL), CD_OK);
            assert_true(cd_kv_iter_next(it));
            memcpy(first.b, cd_kv_iter_key(it).p + 1, 32);
            cd_kv_iter_free(it);
            cd_adopt_add_account(&b, &first, (cd_bytes){0});
        }
        assert_int_equal(cd_kv_commit(own.kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
        assert_int_equal(cd_adopt_gathered(a, NULL), CD_OK);
        while (e == CD_OK) {
            e = cd_adopt_step(a, &phase, &more, &why);
            assert_true(phase < CD_ADOPT_MOVES);
        }
        assert_int_equal(e, CD_EPROOF);
        assert_int_equal(phase, CD_ADOPT_CLEARS);
        grow(&own, 2, 50);
        assert_int_equal(cd_world_flush(own.w, NULL), CD_OK);
        assert_int_equal(cd_flat_check(own.kv, CD_TRIE_BY_PATH, NULL), CD_OK);
        cd_adopt_free(a);
        end(&own);
        end(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(stopped_everywhere),
        cmocka_unit_test(spoilt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
