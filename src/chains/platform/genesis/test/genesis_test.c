/* A genesis in the state: stakers with their rewards, chains, funds; and configs that are refused. */
#include "chains/platform/genesis/genesis.h"

#include "chains/platform/state/nets.h"
#include "chains/platform/state/stakers.h"
#include "chains/utxo/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cd_reward_cfg rewards_of(const cd_network *net)
{
    return (cd_reward_cfg){.max_rate = net->economy->max_consumption_rate,
                           .min_rate = net->economy->min_consumption_rate,
                           .period_s = net->economy->minting_period_s,
                           .cap = cd_network_amount(net, net->economy->supply_cap)};
}

/* What a genesis gives, in the network's units. */
static void check_applied(u32 id, u64 supply)
{
    static const cd_hash32 primary;
    cd_network net = cd_network_of(id);
    cd_arena a = {0};
    cd_pgenesis_config c;
    cd_pgenesis g;
    cd_reward_cfg rewards = rewards_of(&net);
    cd_pgenesis_config_builtin(&c, &a, &net, 0, cd_bytes_str("{}"));
    assert_int_equal(cd_pgenesis_build(&g, &a, &c, &net, NULL), CD_OK);
    cd_kv *kv = cd_kv_mem_open();
    cd_pstate s = {.kv = kv};
    assert_int_equal(cd_pgenesis_apply(&g, &s, &rewards, NULL), CD_OK);
    u64 n;
    assert_int_equal(cd_pstate_supply_get(&s, &n, &primary), CD_OK);
    assert_int_equal(n, supply);
    assert_int_equal(cd_pstate_num_get(&s, &n, CD_PSTATE_TIME), CD_OK);
    assert_int_equal(n, net.economy->genesis_start);
    cd_hash32 last;
    assert_int_equal(cd_pstate_block_id_get(&s, &last, 0), CD_OK);
    assert_true(cd_hash32_eq(&last, &g.block_id));

    cd_p_staker first;
    assert_int_equal(cd_pstate_staker_first(&s, &first, CD_P_CURRENT), CD_OK);
    assert_memory_equal(&first.node_id, &c.stakers[4].node_id, 20); /* the last to be named ends first */
    assert_int_equal(first.weight, cd_network_amount(&net, 2000000000));
    assert_true(first.has_key);
    cd_p_chain *chains;
    usize cnt;
    bool more;
    assert_int_equal(cd_pstate_chains(&s, &chains, &cnt, &more, &a, &primary, 10), CD_OK);
    assert_int_equal(cnt, 2);
    assert_string_equal(chains[0].name, "C-Chain");
    cd_bytes tx;
    cd_p_status status;
    assert_int_equal(cd_pstate_tx_get(&s, &tx, &status, &a, &chains[1].id), CD_OK);
    assert_int_equal(status, CD_P_STATUS_COMMITTED);

    cd_hash32 utxo_id;
    cd_utxo utxo;
    cd_utxo_id(&utxo_id, &primary, 0);
    assert_int_equal(cd_utxo_get(&utxo, kv, &a, &cd_p_utxo_table, &utxo_id), CD_OK);
    assert_true(cd_utxo_amount(&n, &utxo.out));
    assert_int_equal(n, cd_network_amount(&net, 20000000000));
    cd_kv_close(kv);
    cd_arena_fini(&a);
}

static void applied(void **state)
{
    (void)state;
    check_applied(12345, 361196333750752149); /* as the original's node tells */
    check_applied(1, 361196333750749);
    check_applied(1337, 361196333750749);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cd_err e;
    } bad[] = {
        {"{", CD_EFORMAT},
        {"{\"networkID\":2}", CD_EINVAL},
        {"{\"networkID\":1,\"allocations\":5}", CD_ETYPE},
        {"{\"networkID\":1,\"initialStakedFunds\":[\"X-test18jma8ppw3nhx5r4ap8clazz0dps7rv5u6wmu4t\"]}", CD_EFORMAT},
        {"{\"networkID\":1,\"initialStakers\":[{\"nodeID\":\"bad\"}]}", CD_EFORMAT},
    };
    cd_network net = cd_network_of(1);
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_arena a = {0};
        cd_pgenesis_config c;
        cd_errinfo why = {0};
        assert_int_equal(cd_pgenesis_config_parse(&c, &a, cd_bytes_str(bad[i].text), &net, &why), bad[i].e);
        assert_true(why.msg[0] != '\0');
        cd_arena_fini(&a);
    }
}

static void public_stakers(void **state)
{
    (void)state;
    cd_network net = cd_network_of(12345);
    cd_arena a = {0};
    cd_pgenesis_config c;
    const cd_node_id nobody = {{1}};
    const u8 none[48] = {0};
    cd_pgenesis_config_builtin(&c, &a, &net, 0, (cd_bytes){0});
    assert_int_equal(c.staker_cnt, 5);
    for (usize i = 0; i < c.staker_cnt; i++) {
        assert_true(cd_pgenesis_is_public_staker(&c.stakers[i].node_id, none));
        assert_true(cd_pgenesis_is_public_staker(&nobody, c.stakers[i].key));
    }
    assert_false(cd_pgenesis_is_public_staker(&nobody, none));
    cd_arena_fini(&a);
}

/* Each product network has a C-Chain with its own chain id and lowest base fee; that of upstream is its own. */
static void c_chains_of_the_rows(void **state)
{
    (void)state;
    static const struct {
        u32 id;
        const char *has;
        const char *fee;
    } rows[] = {
        {1, "\"chainId\":96369,", "\"minBaseFee\":25000000000,"}, {2, "\"chainId\":96368,", "\"minBaseFee\":1,"},
        {3, "\"chainId\":96370,", "\"minBaseFee\":1,"},           {1337, "\"chainId\":1337,", "\"minBaseFee\":1,"},
        {777, "\"chainId\":43112,", "\"minBaseFee\":1,"},         {12345, "\"chainId\":43112,", NULL},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_network net = cd_network_of(rows[i].id);
        cd_arena a = {0};
        cd_pgenesis_config c;
        cd_pgenesis_config_builtin(&c, &a, &net, 0, (cd_bytes){0});
        const char *text = cd_arena_str(&a, c.c_genesis);
        assert_non_null(strstr(text, rows[i].has));
        assert_true(rows[i].fee == NULL ? strstr(text, "feeConfig") == NULL : strstr(text, rows[i].fee) != NULL);
        cd_arena_fini(&a);
    }
}

/* A config that is written and read again builds the same genesis. */
static void written(void **state)
{
    (void)state;
    static const u32 ids[] = {1337, 12345, 777};
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        cd_network net = cd_network_of(ids[i]);
        cd_arena a = {0};
        cd_buf text = {0};
        cd_errinfo why = {0};
        cd_pgenesis_config c;
        cd_pgenesis_config again;
        cd_pgenesis g;
        cd_pgenesis g2;
        cd_pgenesis_config_builtin(&c, &a, &net, 1800000000, (cd_bytes){0});
        c.stakers[1].has_signer = false;
        cd_pgenesis_config_put(&text, &c, &net);
        if (cd_pgenesis_config_parse(&again, &a, cd_buf_bytes(&text), &net, &why) != CD_OK) {
            fail_msg("%s", why.msg);
        }
        assert_int_equal(cd_pgenesis_build(&g, &a, &c, &net, NULL), CD_OK);
        assert_int_equal(cd_pgenesis_build(&g2, &a, &again, &net, NULL), CD_OK);
        assert_true(cd_hash32_eq(&g.hash, &g2.hash));
        cd_buf_fini(&text);
        cd_arena_fini(&a);
    }
}

static void not_built(void **state)
{
    (void)state;
    cd_network net = cd_network_of(1);
    cd_arena a = {0};
    cd_pgenesis_config c;
    cd_pgenesis g;
    cd_errinfo why = {0};
    cd_pgenesis_config_builtin(&c, &a, &net, 0, cd_bytes_str("{}"));
    c.staker_cnt = 0;
    assert_int_equal(cd_pgenesis_build(&g, &a, &c, &net, &why), CD_EINVAL);
    assert_string_equal(why.msg, "the genesis stakes funds, and has nobody who stakes");
    c.staker_cnt = 5;
    c.staked_cnt = 0;
    assert_int_equal(cd_pgenesis_build(&g, &a, &c, &net, &why), CD_EINVAL);
    c.staked_cnt = 1;
    c.stake_duration_s = 4 * c.stake_offset_s;
    assert_int_equal(cd_pgenesis_build(&g, &a, &c, &net, &why), CD_EINVAL);
    c.stake_duration_s++;
    assert_int_equal(cd_pgenesis_build(&g, &a, &c, &net, &why), CD_OK);
    c.allocations[1].initial_amount = UINT64_MAX;
    assert_int_equal(cd_pgenesis_build(&g, &a, &c, &net, &why), CD_EINVAL);
    assert_int_equal(cd_pgenesis_read(&g, &a, cd_bytes_sub(g.bytes, 0, g.bytes.n - 1), &why), CD_ESHORT);
    cd_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applied),        cmocka_unit_test(refused),   cmocka_unit_test(c_chains_of_the_rows),
        cmocka_unit_test(public_stakers), cmocka_unit_test(not_built), cmocka_unit_test(written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
