/* Numbers, transactions, blocks, nets and chains, and how long validators were reachable. */
#include "chains/platform/state/state.h"

#include "chains/platform/state/nets.h"
#include "chains/platform/state/reward.h"
#include "chains/platform/state/uptime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* However large the stake, no more is paid than may ever exist. */
static void rewards_end_at_the_cap(void **state)
{
    (void)state;
    const cd_reward_cfg c = {.max_rate = 120000, .min_rate = 100000, .period_s = 31536000, .cap = 1010};
    assert_true(cd_reward(&c, c.period_s, 100000, 1000) == 10);
    assert_true(cd_reward(&c, c.period_s, UINT64_MAX, 1) == 1009);
    assert_true(cd_reward(&c, c.period_s, 1000, 1010) == 0);
    assert_true(cd_reward(&c, c.period_s, 1000, 1000) == 1); /* 12 per cent of what is left */
}

static void records(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_pstate s = {.kv = kv};
    cd_arena a = {0};
    cd_hash32 id = {{7}};
    cd_hash32 got;
    u64 n;
    assert_int_equal(cd_pstate_num_get(&s, &n, CD_PSTATE_FEE_EXCESS), CD_OK);
    assert_int_equal(n, 0);
    assert_int_equal(cd_pstate_last_get(&s, &got), CD_ENOENT);
    assert_int_equal(cd_pstate_last_set(&s, &id, 5), CD_OK);
    assert_int_equal(cd_pstate_last_get(&s, &got), CD_OK);
    assert_true(cd_hash32_eq(&got, &id));
    assert_int_equal(cd_pstate_num_get(&s, &n, CD_PSTATE_LAST_HEIGHT), CD_OK);
    assert_int_equal(n, 5);
    assert_int_equal(cd_pstate_supply_get(&s, &n, &id), CD_ENOENT);
    assert_int_equal(cd_pstate_supply_set(&s, &id, 0), CD_OK);
    assert_int_equal(cd_pstate_supply_get(&s, &n, &id), CD_OK);

    cd_bytes tx;
    cd_p_status status;
    assert_int_equal(cd_pstate_tx_get(&s, &tx, &status, &a, &id), CD_ENOENT);
    assert_int_equal(cd_pstate_tx_put(&s, &id, cd_bytes_str("tx"), CD_P_STATUS_ABORTED), CD_OK);
    assert_int_equal(cd_pstate_tx_get(&s, &tx, &status, &a, &id), CD_OK);
    assert_true(cd_bytes_eq(tx, cd_bytes_str("tx")));
    assert_int_equal(status, CD_P_STATUS_ABORTED);
    assert_int_equal(cd_pstate_block_put(&s, &id, 5, cd_bytes_str("block")), CD_OK);
    assert_int_equal(cd_pstate_block_id_get(&s, &got, 5), CD_OK);
    assert_int_equal(cd_pstate_block_get(&s, &tx, &a, &got), CD_OK);
    assert_true(cd_bytes_eq(tx, cd_bytes_str("block")));

    cd_bytes *utxos;
    usize cnt;
    assert_int_equal(cd_pstate_reward_utxo_put(&s, &id, 2, cd_bytes_str("b")), CD_OK);
    assert_int_equal(cd_pstate_reward_utxo_put(&s, &id, 1, cd_bytes_str("a")), CD_OK);
    assert_int_equal(cd_pstate_reward_utxos_get(&s, &utxos, &cnt, &a, &id), CD_OK);
    assert_int_equal(cnt, 2);
    assert_int_equal(utxos[0].p[0], 'a');
    /* a record that nobody wrote like this */
    assert_int_equal(cd_kv_put(kv, cd_bytes_str("L"), cd_bytes_str("short")), CD_OK);
    assert_int_equal(cd_pstate_last_get(&s, &got), CD_ECORRUPT);
    cd_arena_fini(&a);
    cd_kv_close(kv);
}

static void nets_and_chains(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_pstate s = {.kv = kv};
    cd_arena a = {0};
    cd_addr20 addrs[] = {{{1}}, {{2}}};
    cd_owners owners = {.threshold = 2, .addrs = {.v = addrs, .cnt = 2}};
    const cd_hash32 nets[] = {{{1}}, {{2}}, {{3}}};
    for (usize i = 0; i < CD_COUNT(nets); i++) {
        assert_int_equal(cd_pstate_net_put(&s, &nets[i], &owners), CD_OK);
    }
    assert_int_equal(cd_pstate_net_put(&s, &nets[0], &owners), CD_EEXIST);
    cd_owners got;
    assert_int_equal(cd_pstate_net_owner_get(&s, &got, &a, &nets[1]), CD_OK);
    assert_int_equal(got.threshold, 2);
    assert_memory_equal(got.addrs.v, addrs, sizeof addrs);
    owners.threshold = 1;
    assert_int_equal(cd_pstate_net_owner_set(&s, &nets[1], &owners), CD_OK);
    assert_int_equal(cd_pstate_net_owner_get(&s, &got, &a, &nets[1]), CD_OK);
    assert_int_equal(got.threshold, 1);
    cd_hash32 *list;
    usize cnt;
    bool more;
    assert_int_equal(cd_pstate_nets(&s, &list, &cnt, &more, &a, 2), CD_OK);
    assert_int_equal(cnt, 2);
    assert_true(more);
    assert_int_equal(list[0].b[0], 3);
    assert_int_equal(list[1].b[0], 2);
    assert_int_equal(cd_pstate_nets(&s, &list, &cnt, &more, &a, 3), CD_OK);
    assert_false(more);

    cd_p_conversion c = {.id = {{4}}, .chain_id = {{5}}, .address = cd_bytes_str("manager")};
    assert_int_equal(cd_pstate_conversion_get(&s, &c, &a, &nets[0]), CD_ENOENT);
    assert_int_equal(cd_pstate_conversion_set(&s, &nets[0], &c), CD_OK);
    assert_int_equal(cd_pstate_conversion_get(&s, &c, &a, &nets[0]), CD_OK);
    assert_true(cd_bytes_eq(c.address, cd_bytes_str("manager")));

    cd_p_chain chains[] = {{.id = {{8}}, .net_id = nets[0], .name = "one"}, {.id = {{9}}, .net_id = nets[0]}};
    cd_p_chain *all;
    assert_int_equal(cd_pstate_chain_put(&s, &chains[0]), CD_OK);
    assert_int_equal(cd_pstate_chain_put(&s, &chains[1]), CD_OK);
    assert_int_equal(cd_pstate_chain_put(&s, &chains[1]), CD_EEXIST);
    assert_int_equal(cd_pstate_chains(&s, &all, &cnt, &more, &a, &nets[0], 10), CD_OK);
    assert_int_equal(cnt, 2);
    assert_int_equal(all[0].id.b[0], 9);
    assert_string_equal(all[1].name, "one");
    assert_int_equal(cd_pstate_chains(&s, &all, &cnt, &more, &a, &nets[1], 10), CD_OK);
    assert_int_equal(cnt, 0);
    cd_arena_fini(&a);
    cd_kv_close(kv);
}

static void uptime(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_pstate s = {.kv = kv, .height = 1};
    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 1000 * CD_NS_PER_SEC);
    cd_p_staker v = {.priority = CD_P_CURRENT_VALIDATOR, .weight = 1, .start = 900, .end = 5000, .node_id = {{1}}};
    assert_int_equal(cd_pstate_staker_put(&s, &v), CD_OK);
    cd_uptime *u = cd_uptime_new(kv, &clock.clock);
    u64 up;
    u64 span;
    assert_int_equal(cd_uptime_start(u), CD_OK); /* until here it counts as reachable: 100 of 100 */
    cd_clock_virtual_advance(&clock, 50 * CD_NS_PER_SEC);
    assert_int_equal(cd_uptime_get(u, &up, &span, &v), CD_OK);
    assert_int_equal(up, 100);
    assert_int_equal(span, 150);
    cd_uptime_connected(u, &v.node_id);
    assert_true(cd_uptime_is_connected(u, &v.node_id));
    cd_clock_virtual_advance(&clock, 30 * CD_NS_PER_SEC);
    assert_int_equal(cd_uptime_save(u), CD_OK);
    cd_clock_virtual_advance(&clock, 20 * CD_NS_PER_SEC);
    assert_int_equal(cd_uptime_disconnected(u, &v.node_id), CD_OK);
    cd_clock_virtual_advance(&clock, 100 * CD_NS_PER_SEC);
    assert_int_equal(cd_uptime_get(u, &up, &span, &v), CD_OK);
    assert_int_equal(up, 150);
    assert_int_equal(span, 300);
    assert_int_equal(cd_uptime_stop(u), CD_OK);
    cd_uptime_free(u);

    /* what was written is known to the next, and the time between counts */
    cd_clock_virtual_advance(&clock, 100 * CD_NS_PER_SEC);
    u = cd_uptime_new(kv, &clock.clock);
    assert_int_equal(cd_uptime_get(u, &up, &span, &v), CD_OK);
    assert_int_equal(up, 250);
    assert_int_equal(span, 400);
    /* another stay of the node begins anew */
    v.start = 1290;
    assert_int_equal(cd_uptime_get(u, &up, &span, &v), CD_OK);
    assert_int_equal(up, 10);
    assert_int_equal(span, 10);
    cd_uptime_free(u);
    cd_kv_close(kv);
}

/* The newest first, each once, in pages; addresses do not see each other's. */
static void listed(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_arena a = {0};
    cd_addr20 one = {{1}};
    cd_addr20 two = {{1, 1}};
    cd_pstate_place *v;
    usize cnt;
    for (u64 h = 1; h <= 300; h++) {
        cd_pstate s = {.kv = kv, .height = h};
        cd_kv_batch b = {0};
        for (u8 i = 0; i < 2; i++) {
            cd_hash32 tx = {{i, (u8)h}};
            cd_pstate_list_tx(&s, &b, &one, &tx);
            cd_pstate_list_tx(&s, &b, &one, &tx);
        }
        assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
    }
    cd_pstate s = {.kv = kv};
    cd_pstate_place at = {0};
    for (u64 seen = 0; seen < 600; seen += cnt) {
        assert_int_equal(cd_pstate_listed(&s, &v, &cnt, &a, &one, &at, 7), CD_OK);
        assert_int_equal(cnt, seen + 7 <= 600 ? 7 : 600 - seen);
        for (usize i = 0; i < cnt; i++) {
            assert_int_equal(v[i].height, 300 - (seen + i) / 2);
            assert_int_equal(v[i].tx_id.b[0], (seen + i) % 2);
            assert_int_equal(v[i].tx_id.b[1], (u8)v[i].height);
        }
        at = v[cnt - 1];
    }
    assert_int_equal(cd_pstate_listed(&s, &v, &cnt, &a, &one, &at, 7), CD_OK);
    assert_int_equal(cnt, 0);
    assert_int_equal(cd_pstate_listed(&s, &v, &cnt, &a, &two, &(cd_pstate_place){0}, 7), CD_OK);
    assert_int_equal(cnt, 0);
    cd_arena_fini(&a);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed),  cmocka_unit_test(rewards_end_at_the_cap),
        cmocka_unit_test(records), cmocka_unit_test(nets_and_chains),
        cmocka_unit_test(uptime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
