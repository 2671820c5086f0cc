/* platform.* as a product network answers: names, L1s, delegators, nets, what the pool knows. The dialogues of the
 * original are replayed in tests/vectors/papi_vectors.c. */
#include "chains/platform/service/service.h"

#include "base/thread/thread.h"
#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/state/stakers.h"
#include "chains/utxo/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

typedef struct rig {
    cd_network net;
    cd_kv *kv;
    cd_clock_virtual clock;
    cd_sets *sets;
    cd_l1_fee_config l1_fee;
    cd_platform_service *service;
    cd_buf issued;
} rig;

static const cd_hash32 net_a = {{0xa}};
static const cd_addr20 who = {{1, 2, 3}};

static cd_err issue(void *ctx, cd_hash32 *id, cd_bytes tx, cd_errinfo *why)
{
    rig *r = ctx;
    if (r->issued.n != 0) {
        return cd_fail(why, CD_EFULL, "one is enough");
    }
    cd_buf_put(&r->issued, tx);
    *id = (cd_hash32){{5}};
    return CD_OK;
}

static cd_p_status pending(void *ctx, cd_bytes *reason, cd_arena *a, const cd_hash32 *tx_id)
{
    (void)ctx;
    if (tx_id->b[0] == 6) {
        *reason = cd_arena_dup(a, cd_bytes_str("it was late"));
        return CD_P_STATUS_DROPPED;
    }
    return tx_id->b[0] == 5 ? CD_P_STATUS_PROCESSING : CD_P_STATUS_UNKNOWN;
}

static cd_owners owners_of(const cd_addr20 *addr)
{
    static cd_addr20 kept;
    kept = *addr;
    return (cd_owners){.threshold = 1, .addrs = {.v = &kept, .cnt = 1}};
}

/* A validator that staked 500, with two delegators, an L1 with two validators, two UTXOs. */
static void fill(const cd_pstate *s)
{
    cd_owners o = owners_of(&who);
    cd_transfer_output out = {.amount = 500, .owners = o};
    cd_p_output stake = {.out = {.is = cd_p_case(7), .v = &out}};
    cd_p_add_validator add = {.validator = {.node_id = {{7}}, .start = 100, .end = 900, .weight = 500},
                              .stake = {.v = &stake, .cnt = 1},
                              .rewards_owner = {.is = cd_p_case(11), .v = &o},
                              .shares = 25000};
    cd_p_tx tx = {.body = {.is = cd_p_case(CD_P_ADD_VALIDATOR), .v = &add}};
    cd_buf bytes = {0};
    cd_p_staker t = {.node_id = {{7}}, .priority = CD_P_CURRENT_VALIDATOR, .weight = 500, .start = 100, .end = 900};
    cd_linear_put(&bytes, &cd_p_tx_table, &tx);
    cd_p_tx_id(&t.tx_id, &tx);
    assert_int_equal(cd_pstate_tx_put(s, &t.tx_id, cd_buf_bytes(&bytes), CD_P_STATUS_COMMITTED), CD_OK);
    assert_int_equal(cd_pstate_staker_put(s, &t), CD_OK);

    cd_p_add_delegator del = {.validator = add.validator, .stake = add.stake, .rewards_owner = add.rewards_owner};
    tx.body = (cd_linear_any){.is = cd_p_case(CD_P_ADD_DELEGATOR), .v = &del};
    for (u64 i = 0; i < 2; i++) {
        del.validator.end = 800 + i;
        t.end = 800 + i;
        t.priority = CD_P_CURRENT_DELEGATOR;
        t.weight = 30;
        t.potential_reward = 3;
        cd_buf_clear(&bytes);
        cd_linear_put(&bytes, &cd_p_tx_table, &tx);
        cd_p_tx_id(&t.tx_id, &tx);
        assert_int_equal(cd_pstate_tx_put(s, &t.tx_id, cd_buf_bytes(&bytes), CD_P_STATUS_COMMITTED), CD_OK);
        assert_int_equal(cd_pstate_staker_put(s, &t), CD_OK);
    }
    cd_buf_fini(&bytes);

    cd_p_conversion c = {.id = {{1}}, .chain_id = {{2}}, .address = cd_bytes_str("\x01\x02")};
    assert_int_equal(cd_pstate_net_put(s, &net_a, &o), CD_OK);
    assert_int_equal(cd_pstate_conversion_set(s, &net_a, &c), CD_OK);
    for (u8 i = 1; i <= 2; i++) {
        cd_p_l1 v = {.validation_id = {{i}}, .net_id = net_a, .node_id = {{i}}, .key = {1}, .weight = 10, .start = 5};
        v.end_fee = i == 1 ? 1000 : 0;
        v.remaining_balance_owner = (cd_p_l1_owner){.threshold = 1, .addrs = o.addrs};
        v.deactivation_owner = v.remaining_balance_owner;
        assert_int_equal(cd_pstate_l1_put(s, &v), CD_OK);
    }
    assert_int_equal(cd_pstate_num_set(s, CD_PSTATE_ACCRUED_FEES, 400), CD_OK);

    cd_locked locked = {.locktime = 5000, .inner = stake.out};
    cd_kv_batch b = {0};
    cd_utxo u[2] = {{.tx_id = {{1}}, .out = stake.out}, {.tx_id = {{2}}, .out = {.is = cd_p_case(22), .v = &locked}}};
    cd_utxo_put(&b, &cd_p_utxo_table, &u[0]);
    cd_utxo_put(&b, &cd_p_utxo_table, &u[1]);
    assert_int_equal(cd_kv_commit(s->kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
}

static rig *rig_new(void)
{
    rig *r = test_calloc(1, sizeof *r);
    r->net = cd_network_of(1);
    r->kv = cd_kv_mem_open();
    fill(&(cd_pstate){.kv = r->kv, .height = 1});
    assert_int_equal(cd_pstate_last_set(&(cd_pstate){.kv = r->kv}, &net_a, 1), CD_OK);
    cd_clock_virtual_init(&r->clock, 1000 * CD_NS_PER_SEC);
    r->l1_fee = (cd_l1_fee_config){.capacity = 20000, .target = 10000, .min_price = 1, .k = 1246488515};
    r->sets = cd_sets_new(r->kv, &r->clock.clock);
    const cd_platform_cfg cfg = {.network = &r->net,
                                 .min_validator_stake = cd_network_amount(&r->net, r->net.economy->min_validator_stake),
                                 .min_delegator_stake = cd_network_amount(&r->net, r->net.economy->min_delegator_stake),
                                 .base = r->kv,
                                 .validators = cd_sets_validators(r->sets),
                                 .clock = &r->clock.clock,
                                 .seed = 7,
                                 .gas = &cd_gas_config_default,
                                 .l1_fee = &r->l1_fee,
                                 .ctx = r,
                                 .issue = issue,
                                 .pending = pending};
    r->service = cd_platform_service_new(&cfg);
    return r;
}

static void rig_free(rig *r)
{
    cd_platform_service_free(r->service);
    cd_sets_free(r->sets);
    cd_kv_close(r->kv);
    cd_buf_fini(&r->issued);
    test_free(r);
}

/* The answer holds text. */
static void expect(rig *r, const char *method, const char *params, const char *text)
{
    cd_buf request = {0};
    cd_buf reply = {0};
    cd_buf_fmt(&request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"platform.%s\",\"params\":%s}", method, params);
    cd_rpc_serve(cd_platform_service_rpc(r->service), &reply, cd_buf_bytes(&request));
    if (strstr(cd_buf_cstr(&reply), text) == NULL) {
        print_error("%s %s: %s\n", method, params, cd_buf_cstr(&reply));
        fail();
    }
    cd_buf_fini(&request);
    cd_buf_fini(&reply);
}

static const char *id_text(const cd_hash32 *id)
{
    static cd_buf text;
    static char kept[64];
    cd_id_put(&text, id);
    memcpy(kept, text.p, text.n);
    kept[text.n] = '\0';
    cd_buf_fini(&text);
    return kept;
}

static void validators(void **state)
{
    (void)state;
    rig *r = rig_new();
    char params[256];
    expect(r, "getCurrentValidators", "{}", "\"weight\":\"500\",\"stakeAmount\":\"500\"");
    expect(r, "getCurrentValidators", "{}", "\"delegationFee\":\"2.5000\",\"uptime\":\"0.0000\",\"connected\":false");
    expect(r, "getCurrentValidators", "{}", "\"delegatorCount\":\"2\",\"delegatorWeight\":\"60\"}]");
    cd_buf node = {0};
    cd_node_id_put(&node, &(cd_node_id){{7}});
    (void)snprintf(params, sizeof params, "{\"nodeIDs\":[\"%s\"]}", cd_buf_cstr(&node));
    cd_buf_fini(&node);
    expect(r, "getCurrentValidators", params, "\"delegators\":[{\"txID\":");
    expect(r, "getCurrentValidators", params, "\"potentialReward\":\"3\"}]}]");
    (void)snprintf(params, sizeof params, "{\"netID\":\"%s\"}", id_text(&net_a));
    expect(r, "getCurrentValidators", params, "\"minNonce\":\"0\",\"balance\":\"600\"}");
    expect(r, "getTotalStake", params, "\"weight\":\"20\"");
    expect(r, "getTotalStake", "{}", "{\"stake\":\"560\",\"weight\":\"560\"}");
    (void)snprintf(params, sizeof params, "{\"validationID\":\"%s\"}", id_text(&(cd_hash32){{1}}));
    expect(r, "getL1Validator", params, "\"netID\":\"");
    expect(r, "getPendingValidators", "{}", "{\"validators\":[],\"delegators\":[]}");
    expect(r, "sampleValidators", "{\"size\":3}", "{\"validators\":[\"NodeID-");
    rig_free(r);
}

/* Half of the weight has no balance: what is wrong, and what helps. */
static void l1_health(void **state)
{
    (void)state;
    rig *r = rig_new();
    char params[256];
    (void)snprintf(params, sizeof params, "{\"subnetID\":\"%s\"}", id_text(&net_a));
    expect(r, "getL1Health", params, "\"state\":\"halted\",\"quorum\":\"It stands still: one of two validators votes");
    expect(r, "getL1Health", params, "\"findings\":[{\"severity\":\"halt\",\"cause\":\"balances\"");
    expect(r, "getL1Health", params, "\"cause\":\"manager\"");
    expect(r, "getL1Health", params,
           "\"balance\":\"600\",\"active\":true,\"hasKey\":true,\"reach\":\"unknown\",\"secondsLeft\":\"");
    (void)snprintf(params, sizeof params, "{\"netID\":\"%s\"}", id_text(&(cd_hash32){{9}}));
    expect(r, "getL1Health", params, "is no L1: not found");
    expect(r, "getL1Health", "{}", "is no L1: not found");
    rig_free(r);
}

/* A list that was kept is not told behind another block. */
static void next_block(void **state)
{
    (void)state;
    rig *r = rig_new();
    cd_pstate s = {.kv = r->kv, .height = 2};
    cd_p_staker t;
    expect(r, "getCurrentValidators", "{}", "\"delegatorCount\":\"2\"");
    assert_int_equal(cd_pstate_staker_first(&s, &t, CD_P_CURRENT), CD_OK);
    assert_int_equal(cd_pstate_staker_del(&s, &t), CD_OK);
    assert_int_equal(cd_pstate_delegatee_set(&s, &t.net_id, &t.node_id, 11), CD_OK);
    assert_int_equal(cd_pstate_last_set(&s, &(cd_hash32){{2}}, 2), CD_OK);
    expect(r, "getCurrentValidators", "{}", "\"delegatorCount\":\"1\",\"delegatorWeight\":\"30\"");
    expect(r, "getCurrentValidators", "{}", "\"accruedDelegateeReward\":\"11\"");
    rig_free(r);
}

/* --- readers beside a chain that goes on --- */

enum { READERS = 3, ROUNDS = 60 };

static void read_all(void *arg)
{
    static const char *const requests[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"platform.getCurrentValidators\",\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"platform.getValidatorsAt\",\"params\":{\"height\":\"proposed\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"platform.sampleValidators\",\"params\":{\"size\":4}}",
    };
    const rig *r = arg;
    for (usize i = 0; i < ROUNDS; i++) {
        cd_buf reply = {0};
        cd_rpc_serve(cd_platform_service_rpc(r->service), &reply, cd_bytes_str(requests[i % CD_COUNT(requests)]));
        CD_ASSERT(strstr(cd_buf_cstr(&reply), "\"result\":{") != NULL);
        cd_buf_fini(&reply);
    }
}

static void readers(void **state)
{
    (void)state;
    rig *r = rig_new();
    cd_thread threads[READERS];
    for (usize i = 0; i < READERS; i++) {
        assert_int_equal(cd_thread_start(&threads[i], "reader", read_all, r, NULL), CD_OK);
    }
    for (u32 h = 2; h < ROUNDS; h++) {
        cd_pstate s = {.kv = r->kv, .height = h};
        cd_p_staker t = {.priority = CD_P_CURRENT_DELEGATOR, .node_id = {{7}}, .weight = 1, .end = 2000};
        t.tx_id.b[0] = (u8)h;
        assert_int_equal(cd_pstate_staker_put(&s, &t), CD_OK);
        assert_int_equal(cd_pstate_last_set(&s, &(cd_hash32){{(u8)h}}, h), CD_OK);
        cd_sets_accepted(r->sets, h);
    }
    for (usize i = 0; i < READERS; i++) {
        cd_thread_join(&threads[i]);
    }
    expect(r, "getCurrentValidators", "{}", "\"delegatorCount\":\"60\"");
    rig_free(r);
}

static void nets(void **state)
{
    (void)state;
    rig *r = rig_new();
    char params[256];
    (void)snprintf(params, sizeof params, "{\"subnetID\":\"%s\"}", id_text(&net_a));
    expect(r, "getNet", params, "{\"id\":\"");
    expect(r, "getSubnet", params, "\"isPermissioned\":false,\"controlKeys\":[\"P-lux1");
    expect(r, "getNet", params, "\"netTransformationTxID\":\"1111");
    expect(r, "getNet", params, "\"managerAddress\":\"0x0102\"");
    expect(r, "getNets", "{}", "{\"nets\":[{\"id\":\"");
    expect(r, "getNets", "{}", "\"managerAddress\":null}]}");
    expect(r, "getNet", "{}", "the primary network isn't a net");
    expect(r, "validates", params, "{\"blockchainIDs\":[]}");
    expect(r, "getMinStake", "{}", "\"minValidatorStake\":\"2000000000\"");
    rig_free(r);
}

static void funds(void **state)
{
    (void)state;
    rig *r = rig_new();
    cd_buf addr = {0};
    char params[256];
    cd_chain_addr_put(&addr, "P", "lux", &who);
    (void)snprintf(params, sizeof params, "{\"address\":\"%s\"}", cd_buf_cstr(&addr));
    expect(r, "getBalance", params, "\"balance\":\"1000\",\"unlocked\":\"500\",\"lockedStakeable\":\"500\"");
    cd_clock_virtual_advance(&r->clock, 4000 * CD_NS_PER_SEC);
    expect(r, "getBalance", params, "\"unlocked\":\"1000\"");
    expect(r, "getBalance", "{}", "\"utxoIDs\":[]");
    (void)snprintf(params, sizeof params, "{\"addresses\":[\"%s\"]}", cd_buf_cstr(&addr));
    expect(r, "getStake", params, "{\"staked\":\"1500\"");
    (void)snprintf(params, sizeof params, "{\"addresses\":[\"%s\"],\"validatorsOnly\":true}", cd_buf_cstr(&addr));
    expect(r, "getStake", params, "{\"staked\":\"500\"");
    cd_buf bare = {0};
    cd_short_id_put(&bare, &who);
    (void)snprintf(params, sizeof params, "{\"addresses\":[\"%s\"]}", cd_buf_cstr(&bare));
    expect(r, "getBalance", params, "\"balance\":\"1000\"");
    cd_buf_fini(&bare);
    expect(r, "getUTXOs", "{\"addresses\":[\"P-lux1bad\"]}", "couldn't parse address");
    cd_buf_fini(&addr);
    rig_free(r);
}

static void transactions(void **state)
{
    (void)state;
    rig *r = rig_new();
    char params[512];
    (void)snprintf(params, sizeof params, "{\"txID\":\"%s\"}", id_text(&(cd_hash32){{5}}));
    expect(r, "getTxStatus", params, "{\"status\":\"Processing\"}");
    (void)snprintf(params, sizeof params, "{\"txID\":\"%s\"}", id_text(&(cd_hash32){{6}}));
    expect(r, "getTxStatus", params, "{\"status\":\"Dropped\",\"reason\":\"it was late\"}");
    const char *tx = "{\"tx\":\"0x0000000000130000000000000005"
                     "00000000\",\"encoding\":\"hexnc\"}";
    expect(r, "issueTx", tx, "{\"txID\":\"");
    expect(r, "issueTx", tx, "couldn't issue tx: one is enough");
    expect(r, "addValidator", "{}", "this node keeps no keys");
    expect(r, "getHeight", "{}", "{\"height\":\"1\"}");
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validators), cmocka_unit_test(next_block), cmocka_unit_test(readers),
        cmocka_unit_test(nets),       cmocka_unit_test(funds),      cmocka_unit_test(transactions),
        cmocka_unit_test(l1_health),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
