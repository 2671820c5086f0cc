/* Stakers come and go in blocks, each a layer that is written into the store: their order, the lookups, and the set of
 * every height against one that is kept beside. */
#include "chains/platform/state/stakers.h"

#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/state/sets.h"
#include "store/overlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NODES = 40, HEIGHTS = 300 };

static const cd_hash32 primary;

static cd_p_staker staker(u8 n, cd_p_priority priority, u64 start, u64 end)
{
    cd_p_staker t = {.priority = priority, .weight = 100 + n, .start = start, .end = end, .has_key = true};
    memset(t.tx_id.b, n, 32);
    memset(t.node_id.b, n, 20);
    memset(t.key, n, sizeof t.key);
    return t;
}

static void order_and_lookup(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_pstate s = {.kv = kv, .height = 1};
    const cd_p_staker all[] = {
        staker(4, CD_P_CURRENT_VALIDATOR, 0, 50), staker(3, CD_P_CURRENT_DELEGATOR, 0, 50),
        staker(2, CD_P_CURRENT_VALIDATOR, 0, 50), staker(1, CD_P_CURRENT_VALIDATOR, 0, 60),
        staker(5, CD_P_CURRENT_VALIDATOR, 0, 40),
    };
    for (usize i = 0; i < CD_COUNT(all); i++) {
        assert_int_equal(cd_pstate_staker_put(&s, &all[i]), CD_OK);
    }
    cd_p_staker pending = staker(9, CD_P_PENDING_VALIDATOR, 5, 80);
    assert_int_equal(cd_pstate_staker_put(&s, &pending), CD_OK);
    assert_int_equal(cd_pstate_staker_put(&s, &all[0]), CD_EEXIST);

    static const u8 by_time[] = {5, 3, 2, 4, 1};
    cd_p_staker_iter it;
    cd_p_staker t;
    assert_int_equal(cd_pstate_stakers(&s, &it, CD_P_CURRENT), CD_OK);
    for (usize i = 0; i < CD_COUNT(by_time); i++) {
        assert_true(cd_p_staker_next(&it, &t));
        assert_int_equal(t.tx_id.b[0], by_time[i]);
        assert_int_equal(t.next_time, t.end);
    }
    assert_false(cd_p_staker_next(&it, &t));
    assert_int_equal(it.err, CD_OK);
    cd_p_staker_iter_fini(&it);
    assert_int_equal(cd_pstate_staker_first(&s, &t, CD_P_PENDING), CD_OK);
    assert_int_equal(t.next_time, 5);

    assert_int_equal(cd_pstate_validator_get(&s, &t, CD_P_CURRENT, &primary, &all[2].node_id), CD_OK);
    assert_memory_equal(&t.key, &all[2].key, sizeof t.key);
    assert_int_equal(cd_pstate_validator_get(&s, &t, CD_P_PENDING, &primary, &all[2].node_id), CD_ENOENT);
    cd_p_delegated d;
    assert_int_equal(cd_pstate_delegated_get(&s, &d, CD_P_CURRENT, &primary, &all[1].node_id), CD_OK);
    assert_int_equal(d.cnt, 1);
    assert_int_equal(d.weight, 103);

    assert_int_equal(cd_pstate_delegatee_set(&s, &primary, &all[2].node_id, 77), CD_OK);
    assert_int_equal(cd_pstate_staker_del(&s, &all[2]), CD_OK);
    assert_int_equal(cd_pstate_staker_del(&s, &all[2]), CD_ENOENT);
    u64 reward;
    assert_int_equal(cd_pstate_delegatee_get(&s, &reward, &primary, &all[2].node_id), CD_OK);
    assert_int_equal(reward, 0);
    cd_kv_close(kv);
}

/* --- sets by height --- */

/* What each node weighs at each height, kept by hand. */
typedef struct model {
    u64 weight[HEIGHTS + 1][NODES];
    bool is_in[NODES];
    u8 delegators[NODES];
} model;

static cd_p_staker delegator(u8 node, u8 n)
{
    cd_p_staker t = staker(node, CD_P_CURRENT_DELEGATOR, 0, 1000);
    t.tx_id.b[0] = n;
    t.tx_id.b[1] = 0xdd;
    t.has_key = false;
    t.weight = 7;
    return t;
}

/* Xorshift: the same life each time. */
static u64 next(u64 *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* One change of one node, as chance wants it. */
static void change(model *m, const cd_pstate *s, u64 height, u64 chance)
{
    u8 node = (u8)(chance % NODES);
    cd_p_staker v = staker(node, CD_P_CURRENT_VALIDATOR, 0, 1000);
    if (!m->is_in[node]) {
        assert_int_equal(cd_pstate_staker_put(s, &v), CD_OK);
        m->is_in[node] = true;
        m->weight[height][node] += v.weight;
    } else if (chance / NODES % 3 == 0) {
        cd_p_staker d = delegator(node, m->delegators[node]++);
        assert_int_equal(cd_pstate_staker_put(s, &d), CD_OK);
        m->weight[height][node] += d.weight;
    } else if (m->delegators[node] != 0) {
        cd_p_staker d = delegator(node, --m->delegators[node]);
        assert_int_equal(cd_pstate_staker_del(s, &d), CD_OK);
        m->weight[height][node] -= d.weight;
    } else {
        assert_int_equal(cd_pstate_staker_del(s, &v), CD_OK);
        m->is_in[node] = false;
        m->weight[height][node] -= v.weight;
    }
}

static void check_set(const model *m, const cd_vm_validators *v, u64 height)
{
    cd_arena a = {0};
    const cd_vm_validator *set;
    usize cnt;
    assert_int_equal(v->at(v, &set, &cnt, &a, &primary, height), CD_OK);
    usize i = 0;
    for (usize node = 0; node < NODES; node++) {
        if (m->weight[height][node] == 0) {
            continue;
        }
        assert_true(i < cnt);
        assert_int_equal(set[i].node_id.b[19], node);
        assert_int_equal(set[i].weight, m->weight[height][node]);
        assert_true(set[i].has_key);
        assert_int_equal(set[i].key[95], node);
        i++;
    }
    assert_int_equal(i, cnt);
    cd_arena_fini(&a);
}

static void sets_of_all_heights(void **state)
{
    (void)state;
    u64 chance = 20201;
    model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    cd_kv *kv = cd_kv_mem_open();
    cd_overlay *ov = cd_overlay_new(kv);
    for (u64 h = 0; h <= HEIGHTS; h++) {
        cd_layer *l;
        assert_int_equal(cd_overlay_begin(ov, &l, NULL), CD_OK);
        cd_pstate s = {.kv = cd_layer_kv(l), .height = h};
        if (h != 0) {
            memcpy(m->weight[h], m->weight[h - 1], sizeof m->weight[h]);
        }
        for (u64 i = next(&chance) % 6; i > 0; i--) {
            change(m, &s, h, next(&chance));
        }
        assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_LAST_HEIGHT, h), CD_OK);
        cd_layer_seal(l);
        assert_int_equal(cd_layer_flatten(l, NULL, CD_KV_NOSYNC, NULL), CD_OK);
    }
    bool is_copied = false;
    cd_kv_iter *it;
    assert_int_equal(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_str("Z")}), CD_OK);
    is_copied = cd_kv_iter_next(it);
    cd_kv_iter_free(it);
    assert_true(is_copied); /* or the walk from a copy was not tried */

    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 0);
    cd_sets *sets = cd_sets_new(kv, &clock.clock);
    const cd_vm_validators *v = cd_sets_validators(sets);
    for (int round = 0; round < 2; round++) { /* the second from what was kept */
        for (u64 h = 0; h <= HEIGHTS; h++) {
            check_set(m, v, h);
        }
    }
    cd_arena a = {0};
    const cd_vm_validator *set;
    usize cnt;
    assert_int_equal(v->at(v, &set, &cnt, &a, &primary, HEIGHTS + 1), CD_ERANGE);

    u64 min;
    assert_int_equal(v->minimum(v, &min), CD_OK);
    assert_int_equal(min, HEIGHTS);
    cd_sets_accepted(sets, 299);
    cd_clock_virtual_advance(&clock, 20 * CD_NS_PER_SEC);
    cd_sets_accepted(sets, 300);
    assert_int_equal(v->minimum(v, &min), CD_OK);
    assert_int_equal(min, 298);
    cd_clock_virtual_advance(&clock, 20 * CD_NS_PER_SEC);
    assert_int_equal(v->minimum(v, &min), CD_OK);
    assert_int_equal(min, 299);
    cd_arena_fini(&a);
    cd_sets_free(sets);
    cd_overlay_free(ov);
    cd_kv_close(kv);
    free(m);
}

/* --- validators of L1s --- */

static cd_p_l1 l1(u8 n, u64 weight, u64 end_fee)
{
    static cd_addr20 addrs[1] = {{{1, 2, 3}}};
    cd_p_l1 v = {.weight = weight,
                 .end_fee = end_fee,
                 .start = 9,
                 .remaining_balance_owner = {.threshold = 1, .addrs = {.v = addrs, .cnt = 1}},
                 .deactivation_owner = {.threshold = 1, .addrs = {.v = addrs, .cnt = 1}}};
    memset(v.validation_id.b, n, 32);
    memset(v.net_id.b, 0x11, 32);
    memset(v.node_id.b, n, 20);
    memset(v.key, n, sizeof v.key);
    return v;
}

static void l1_validators(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_pstate s = {.kv = kv, .height = 1};
    cd_arena a = {0};
    cd_p_l1 v[] = {l1(1, 10, 500), l1(2, 20, 300), l1(3, 30, 0)};
    for (usize i = 0; i < CD_COUNT(v); i++) {
        assert_int_equal(cd_pstate_l1_put(&s, &v[i]), CD_OK);
    }
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_LAST_HEIGHT, 1), CD_OK);
    cd_p_l1 got;
    u64 n;
    assert_int_equal(cd_pstate_l1_first(&s, &got, &a), CD_OK);
    assert_int_equal(got.validation_id.b[0], 2);
    assert_int_equal(got.remaining_balance_owner.addrs.cnt, 1);
    assert_int_equal(((cd_addr20 *)got.deactivation_owner.addrs.v)->b[2], 3);
    assert_int_equal(cd_pstate_l1_weight(&s, &n, &v[0].net_id), CD_OK);
    assert_int_equal(n, 60);
    assert_int_equal(cd_pstate_num_get(&s, &n, CD_PSTATE_ACTIVE_L1), CD_OK);
    assert_int_equal(n, 2);

    /* another validation of the same node is refused, inactive ones count together under nobody */
    cd_p_l1 twin = v[0];
    twin.validation_id.b[0] = 0xff;
    assert_int_equal(cd_pstate_l1_put(&s, &twin), CD_EEXIST);
    s.height = 2;
    v[1].end_fee = 0;
    assert_int_equal(cd_pstate_l1_put(&s, &v[1]), CD_OK);
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_LAST_HEIGHT, 2), CD_OK);
    const cd_vm_validator *set;
    usize cnt;
    assert_int_equal(cd_pstate_set_at(&s, &set, &cnt, &a, &v[0].net_id, 2), CD_OK);
    assert_int_equal(cnt, 2);
    assert_int_equal(set[0].weight, 50);
    assert_false(set[0].has_key);
    assert_int_equal(set[1].weight, 10);
    assert_int_equal(cd_pstate_set_at(&s, &set, &cnt, &a, &v[0].net_id, 1), CD_OK);
    assert_int_equal(cnt, 3);
    assert_int_equal(set[0].weight, 30);
    assert_int_equal(set[2].weight, 20);
    assert_int_equal(set[2].key[0], 2);

    v[0].weight = 0;
    assert_int_equal(cd_pstate_l1_put(&s, &v[0]), CD_OK);
    cd_hash32 id;
    assert_int_equal(cd_pstate_l1_find(&s, &id, &v[0].net_id, &v[0].node_id), CD_ENOENT);
    assert_int_equal(cd_pstate_l1_first(&s, &got, &a), CD_ENOENT);
    cd_p_l1 *list;
    assert_int_equal(cd_pstate_l1_of_net(&s, &list, &cnt, &a, &v[0].net_id, &primary, 1), CD_OK);
    assert_int_equal(cnt, 1);
    assert_int_equal(list[0].weight, 20);
    assert_int_equal(cd_pstate_l1_of_net(&s, &list, &cnt, &a, &v[0].net_id, &list[0].validation_id, 9), CD_OK);
    assert_int_equal(cnt, 1);
    assert_int_equal(list[0].weight, 30);

    bool found;
    assert_int_equal(cd_pstate_expiry_put(&s, 10, &id), CD_OK);
    assert_int_equal(cd_pstate_expiry_put(&s, 11, &id), CD_OK);
    assert_int_equal(cd_pstate_expiry_drop(&s, 10), CD_OK);
    assert_int_equal(cd_pstate_expiry_has(&s, &found, 10, &id), CD_OK);
    assert_false(found);
    assert_int_equal(cd_pstate_expiry_has(&s, &found, 11, &id), CD_OK);
    assert_true(found);
    cd_arena_fini(&a);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_lookup),
        cmocka_unit_test(sets_of_all_heights),
        cmocka_unit_test(l1_validators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
