/* Forecasts against the fee as the chain takes it, second by second, and causes from facts. */
#include "chains/platform/l1/diagnosis.h"

#include "chains/platform/l1/gather.h"
#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"

#include "members.h"

static cd_arena mem;

enum { DAY = 86400, WEEK = 7 * DAY };

static const cd_l1_fee_config product = {.capacity = 20000, .target = 10000, .min_price = 1, .k = 1246488515};

/* --- forecast --- */

/* Never later than the chain's own reckoning, and not much earlier. */
static void test_forecast_is_early(void **state)
{
    static const struct {
        u64 active, excess, balance;
    } rows[] = {
        {10000, 0, 5000000},           {10000, 3000000000, 5000000}, {5, 0, 700000},
        {5, 2000000000, 5000000},      {20000, 0, 9000000},          {20000, 1000000000, 40000000},
        {10001, 1246488515, 12345678}, {9000, 4000000000, 20000000}, {5, 0, 1},
    };
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        const cd_l1_fee_state s = {.current = rows[i].active, .excess = rows[i].excess};
        cd_l1_member v = {.weight = 1, .balance = rows[i].balance};
        u64 real = cd_l1_fee_seconds(s, &product, CD_L1_FAR_S, rows[i].balance);
        cd_l1_forecast(&v, 1, &mem, s, &product);
        assert_true(v.left_s <= real);
        assert_true(real - v.left_s <= 3600 + real / 20);
        assert_true(v.worst_s <= v.left_s);
        if (rows[i].active < product.target && rows[i].balance > 1000) { /* others may come */
            assert_true(v.worst_s < v.left_s);
        }
    }
}

static void test_forecast_edges(void **state)
{
    (void)state;
    cd_l1_member v[3] = {{.balance = 0}, {.balance = UINT64_MAX}, {.balance = 10}};
    cd_l1_fee_config c = product;
    cd_l1_forecast(v, 3, &mem, (cd_l1_fee_state){.current = 3}, &c);
    assert_int_equal(v[0].left_s, 0);
    assert_int_equal(v[1].left_s, CD_L1_FAR_S);
    assert_int_equal(v[2].left_s, 10);
    c.min_price = 0;
    cd_l1_forecast(v, 3, &mem, (cd_l1_fee_state){.current = 3}, &c);
    assert_int_equal(v[2].left_s, CD_L1_FAR_S);
    c = (cd_l1_fee_config){.capacity = UINT64_MAX, .target = 0, .min_price = UINT64_MAX, .k = 1};
    cd_l1_forecast(v, 3, &mem, (cd_l1_fee_state){.current = UINT64_MAX, .excess = UINT64_MAX}, &c);
    assert_int_equal(v[2].left_s, 0);
    assert_int_equal(v[1].left_s, 1);
}

static void test_outlook(void **state)
{
    (void)state;
    const cd_l1_quorum q = cd_l1_quorum_default();
    cd_l1_outlook o;
    cd_l1_member v[5];
    members_make(v, 5);
    cd_l1_look_ahead(&o, &mem, &q, v, 5, WEEK);
    assert_int_equal(o.first, 5);
    assert_int_equal(o.halt_s, CD_L1_FAR_S);
    cd_l1_look_ahead(&o, &mem, &q, v, 5, UINT64_MAX); /* what ends nowhere in sight ends for nobody who asks */
    assert_int_equal(o.soon, 0);
    assert_int_equal(o.first, 5);
    v[3].left_s = 9ull * DAY;
    v[1].left_s = 3ull * DAY;
    v[2].left_s = WEEK;
    cd_l1_look_ahead(&o, &mem, &q, v, 5, WEEK);
    assert_int_equal(o.first, 1);
    assert_int_equal(o.first_s, 3ull * DAY);
    assert_int_equal(o.soon, 2);
    assert_int_equal(o.halt_s, WEEK); /* the second one */
    v[4].balance = 0;
    v[4].left_s = 0;
    cd_l1_look_ahead(&o, &mem, &q, v, 5, WEEK);
    assert_int_equal(o.halt_s, 3ull * DAY);
    v[3].balance = 0;
    cd_l1_look_ahead(&o, &mem, &q, v, 5, WEEK);
    assert_int_equal(o.halt_s, 0);
}

/* --- causes --- */

static cd_l1_health diagnose(const cd_l1_member *v, usize cnt, cd_l1_manager manager)
{
    const cd_l1_facts f = {.v = v,
                           .cnt = cnt,
                           .manager = manager,
                           .has_address = true,
                           .has_reach = true,
                           .within_s = WEEK,
                           .quorum = cd_l1_quorum_default()};
    cd_l1_health h;
    cd_l1_diagnose(&h, &mem, &f);
    return h;
}

static void expect(const cd_l1_health *h, cd_l1_severity severity, cd_l1_cause cause, const char *words)
{
    assert_true(h->finding_cnt > 0);
    assert_int_equal(h->findings[0].cause, cause);
    assert_int_equal(h->findings[0].severity, severity);
    assert_non_null(strstr(h->findings[0].text, words));
    assert_true(strlen(h->findings[0].help) > 10);
    assert_int_equal(cd_l1_is_well(h), severity == CD_L1_NOTE);
}

static void test_balances(void **state)
{
    (void)state;
    cd_l1_member v[5];
    members_make(v, 5);
    cd_l1_health h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    assert_int_equal(h.finding_cnt, 0);
    assert_true(cd_l1_is_well(&h));
    v[0].left_s = WEEK + 1;
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    assert_int_equal(h.finding_cnt, 0);
    v[0].left_s = WEEK; /* from seven days before on */
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_WARNING, CD_L1_BALANCES, "1 balance ends within 7 days, the first in 7 days (NodeID-");
    assert_null(strstr(h.findings[0].text, "stands still"));
    v[1].left_s = 3ull * DAY;
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_WARNING, CD_L1_BALANCES, "2 balances end within 7 days, the first in 3 days");
    assert_non_null(strstr(h.findings[0].text, "the chain stands still in 7 days"));
    members_make(v, 5);
    v[0].balance = 0;
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_NOTE, CD_L1_BALANCES, "1 of 5 validators (20% of the weight) have no balance");
    v[1].balance = 0;
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_HALT, CD_L1_BALANCES, "2 of 5 validators (40% of the weight) have no balance left");
    assert_int_equal(h.standing.state, CD_L1_HALTS);
    assert_int_equal(h.active_state, CD_L1_HALTS);
}

static void test_concentrated(void **state)
{
    (void)state;
    cd_l1_member v[5];
    members_make(v, 5);
    v[2].weight = 400; /* half */
    cd_l1_health h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_NOTE, CD_L1_CONCENTRATED, "has 50% of the weight: whenever it fails");
    v[2].reach = CD_L1_AWAY;
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_HALT, CD_L1_CONCENTRATED, "without it nothing is decided");
    assert_int_equal(h.findings[1].cause, CD_L1_UNREACHABLE);
}

static void test_away(void **state)
{
    (void)state;
    cd_l1_member v[6];
    members_make(v, 6);
    v[0].reach = CD_L1_AWAY;
    cd_l1_health h = diagnose(v, 6, CD_L1_MANAGER_OTHER);
    expect(&h, CD_L1_WARNING, CD_L1_UNREACHABLE, "1 of 6 validators (16% of the weight) cannot be reached");
    for (usize i = 0; i < 3; i++) {
        v[i].reach = CD_L1_AWAY;
    }
    h = diagnose(v, 6, CD_L1_MANAGER_OTHER);
    expect(&h, CD_L1_HALT, CD_L1_UNREACHABLE, "3 of 6 validators (50% of the weight) cannot be reached");
    assert_non_null(strstr(h.findings[0].help, "let the manager remove"));
    h = diagnose(v, 6, CD_L1_MANAGER_OWN); /* which cannot, while nothing is decided */
    assert_non_null(strstr(h.findings[0].help, "cannot replace them"));
    members_make(v, 6);
    v[0].has_key = false;
    v[1].has_key = false;
    h = diagnose(v, 6, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_HALT, CD_L1_NO_KEY, "2 of 6 validators (33% of the weight) have no BLS key that works");
}

static void test_releases(void **state)
{
    (void)state;
    cd_l1_member v[5];
    members_make(v, 5);
    for (usize i = 0; i < 5; i++) {
        v[i].release = 1;
    }
    cd_l1_health h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    assert_int_equal(h.finding_cnt, 0);
    v[0].release = 2;
    v[1].release = 0; /* says nothing */
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_WARNING, CD_L1_RELEASES, "2 different versions or sets of upgrades; the most that agree have 80%");
    v[1].release = 2;
    h = diagnose(v, 5, CD_L1_MANAGER_OWN);
    expect(&h, CD_L1_WARNING, CD_L1_RELEASES,
           "have 60% of the weight, so that once the rules differ nothing is decided");
    const cd_l1_facts f = {
        .v = v, .cnt = 5, .has_address = true, .now_s = 5000, .last_block_s = 4000, .quorum = cd_l1_quorum_default()};
    cd_l1_diagnose(&h, &mem, &f); /* nothing is */
    expect(&h, CD_L1_HALT, CD_L1_RELEASES, "have 60% of the weight");
    assert_int_equal(h.findings[1].cause, CD_L1_SILENT);
}

static void test_manager(void **state)
{
    (void)state;
    cd_l1_member v[5];
    members_make(v, 5);
    cd_l1_health h = diagnose(v, 5, CD_L1_MANAGER_NOWHERE);
    expect(&h, CD_L1_WARNING, CD_L1_MANAGER, "on a chain that does not exist");
    v[0].weight = 400; /* which is a note, behind warnings */
    h = diagnose(v, 5, CD_L1_MANAGER_NOWHERE);
    expect(&h, CD_L1_WARNING, CD_L1_MANAGER, "on a chain that does not exist");
    assert_int_equal(h.findings[1].cause, CD_L1_CONCENTRATED);
    v[0].weight = 100;
    cd_l1_facts f = {.v = v, .cnt = 5, .quorum = cd_l1_quorum_default()};
    cd_l1_diagnose(&h, &mem, &f);
    expect(&h, CD_L1_WARNING, CD_L1_MANAGER, "is none of a contract");
    f.has_address = true;
    f.now_s = 5000;
    f.last_block_s = 4000;
    cd_l1_diagnose(&h, &mem, &f);
    expect(&h, CD_L1_NOTE, CD_L1_SILENT, "the last block is 16 minutes old");
    f.cnt = 0;
    cd_l1_diagnose(&h, &mem, &f);
    expect(&h, CD_L1_HALT, CD_L1_NO_VALIDATORS, "no validators");
}

/* --- from the state --- */

static void test_gather(void **state)
{
    static const cd_hash32 net = {{0xa}};
    static const cd_addr20 who = {{1}};
    (void)state;
    const cd_owners o = {.threshold = 1, .addrs = {.v = (void *)(uintptr_t)&who, .cnt = 1}};
    cd_kv *kv = cd_kv_mem_open();
    const cd_pstate s = {.kv = kv, .height = 1};
    cd_l1_facts f;
    cd_l1_member *m;
    u8 address[20] = {7};
    cd_p_chain chain = {.id = {{2}}, .net_id = net, .name = "own"};
    cd_p_conversion c = {.id = {{1}}, .chain_id = chain.id, .address = cd_bytes_of(address, sizeof address)};
    for (u32 i = 0; i < CD_PSTATE_NUM_CNT; i++) {
        assert_int_equal(cd_pstate_num_set(&s, (cd_pstate_num)i, 0), CD_OK);
    }
    assert_int_equal(cd_pstate_net_put(&s, &net, &o), CD_OK);
    assert_int_equal(cd_l1_gather(&f, &m, &mem, &s, &product, &net, 0), CD_ENOENT);
    assert_int_equal(cd_pstate_conversion_set(&s, &net, &c), CD_OK);
    for (u8 i = 1; i <= 3; i++) {
        cd_p_l1 v = {.validation_id = {{i}}, .net_id = net, .node_id = {{i}}, .key = {1}, .weight = i, .start = 5};
        v.end_fee = i == 1 ? 0 : 1000ull * i;
        v.remaining_balance_owner = (cd_p_l1_owner){.threshold = 1, .addrs = o.addrs};
        v.deactivation_owner = v.remaining_balance_owner;
        assert_int_equal(cd_pstate_l1_put(&s, &v), CD_OK);
    }
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_ACCRUED_FEES, 400), CD_OK);
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_TIME, 100000), CD_OK);
    assert_int_equal(cd_l1_gather(&f, &m, &mem, &s, &product, &net, 100100), CD_OK);
    assert_int_equal(f.cnt, 3);
    assert_int_equal(f.manager, CD_L1_MANAGER_NOWHERE);
    assert_true(f.has_address);
    assert_int_equal(m[0].balance, 0);
    assert_int_equal(m[1].balance, 1600);
    assert_int_equal(m[1].left_s, 1500); /* of which a hundred seconds are not paid yet */
    assert_int_equal(m[2].left_s, 2500);
    assert_int_equal(cd_pstate_chain_put(&s, &chain), CD_OK);
    assert_int_equal(cd_l1_gather(&f, &m, &mem, &s, &product, &net, 0), CD_OK);
    assert_int_equal(f.manager, CD_L1_MANAGER_OWN);
    assert_int_equal(m[1].left_s, 1600);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forecast_is_early), cmocka_unit_test(test_forecast_edges), cmocka_unit_test(test_outlook),
        cmocka_unit_test(test_balances),          cmocka_unit_test(test_concentrated),   cmocka_unit_test(test_away),
        cmocka_unit_test(test_releases),          cmocka_unit_test(test_manager),        cmocka_unit_test(test_gather),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cd_arena_fini(&mem);
    return failed;
}
