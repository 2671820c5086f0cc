/* The tables of forks, profiles and prices. */
#include "evm/precompile/precompile.h"
#include "evm/rules/gas.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void names_and_aliases_parse(void **state)
{
    (void)state;
    for (cd_fork f = 0; f < CD_FORK_COUNT; f++) {
        cd_fork got;
        assert_int_equal(cd_fork_parse(&got, cd_fork_name(f)), CD_OK);
        assert_int_equal(got, f);
    }
    static const struct {
        const char *name;
        cd_fork fork;
    } rows[] = {{"EIP150", CD_TANGERINE},
                {"EIP158", CD_SPURIOUS},
                {"ConstantinopleFix", CD_PETERSBURG},
                {"Merge", CD_PARIS},
                {"Tangerine", CD_TANGERINE}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_fork got;
        assert_int_equal(cd_fork_parse(&got, rows[i].name), CD_OK);
        assert_int_equal(got, rows[i].fork);
    }
    cd_fork got = CD_BERLIN;
    static const char *const unknown[] = {"", " ", "EIP15", "IP150", "EIP150 Tangerine", "Verkle", "cancun"};
    for (usize i = 0; i < CD_COUNT(unknown); i++) {
        assert_int_equal(cd_fork_parse(&got, unknown[i]), CD_ENOENT);
        assert_int_equal(got, CD_BERLIN);
    }
}

/* Every case of EIP-2200 and EIP-3529's tables: original, current, new; price and refund by
 * fork. */
static void sstore_prices(void **state)
{
    (void)state;
    static const struct {
        u64 original, current, next;
        struct {
            u32 cost;
            i64 refund;
        } legacy, eip1283, eip2200, berlin, london;
    } rows[] = {
        {0, 0, 0, {5000, 0}, {200, 0}, {800, 0}, {100, 0}, {100, 0}},
        {0, 0, 1, {20000, 0}, {20000, 0}, {20000, 0}, {20000, 0}, {20000, 0}},
        {0, 1, 0, {5000, 15000}, {200, 19800}, {800, 19200}, {100, 19900}, {100, 19900}},
        {0, 1, 2, {5000, 0}, {200, 0}, {800, 0}, {100, 0}, {100, 0}},
        {0, 1, 1, {5000, 0}, {200, 0}, {800, 0}, {100, 0}, {100, 0}},
        {1, 0, 0, {5000, 0}, {200, 0}, {800, 0}, {100, 0}, {100, 0}},
        {1, 0, 1, {20000, 0}, {200, -15000 + 4800}, {800, -15000 + 4200}, {100, -15000 + 2800}, {100, -4800 + 2800}},
        {1, 0, 2, {20000, 0}, {200, -15000}, {800, -15000}, {100, -15000}, {100, -4800}},
        {1, 2, 0, {5000, 15000}, {200, 15000}, {800, 15000}, {100, 15000}, {100, 4800}},
        {1, 2, 3, {5000, 0}, {200, 0}, {800, 0}, {100, 0}, {100, 0}},
        {1, 2, 1, {5000, 0}, {200, 4800}, {800, 4200}, {100, 2800}, {100, 2800}},
        {1, 1, 0, {5000, 15000}, {5000, 15000}, {5000, 15000}, {2900, 15000}, {2900, 4800}},
        {1, 1, 2, {5000, 0}, {5000, 0}, {5000, 0}, {2900, 0}, {2900, 0}},
        {1, 1, 1, {5000, 0}, {200, 0}, {800, 0}, {100, 0}, {100, 0}},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_u256 original = cd_u256_from_u64(rows[i].original);
        cd_u256 current = cd_u256_from_u64(rows[i].current);
        cd_u256 next = cd_u256_from_u64(rows[i].next);
        for (cd_fork f = 0; f < CD_FORK_COUNT; f++) {
            cd_gas g = cd_gas_of(f);
            i64 refund;
            u32 cost = cd_gas_sstore(&g, &refund, &original, &current, &next);
            bool legacy = f < CD_CONSTANTINOPLE || f == CD_PETERSBURG;
            u32 want = legacy                   ? rows[i].legacy.cost
                       : f == CD_CONSTANTINOPLE ? rows[i].eip1283.cost
                       : f == CD_ISTANBUL       ? rows[i].eip2200.cost
                       : f == CD_BERLIN         ? rows[i].berlin.cost
                                                : rows[i].london.cost;
            i64 want_refund = legacy                   ? rows[i].legacy.refund
                              : f == CD_CONSTANTINOPLE ? rows[i].eip1283.refund
                              : f == CD_ISTANBUL       ? rows[i].eip2200.refund
                              : f == CD_BERLIN         ? rows[i].berlin.refund
                                                       : rows[i].london.refund;
            assert_int_equal(cost, want);
            assert_int_equal(refund, want_refund);
        }
    }
}

static void state_access_prices(void **state)
{
    (void)state;
    static const u32 sload[CD_FORK_COUNT] = {50, 50, 200, 200, 200, 200, 200, 800, 100, 100, 100, 100, 100, 100};
    static const u32 balance[CD_FORK_COUNT] = {20, 20, 400, 400, 400, 400, 400, 700, 100, 100, 100, 100, 100, 100};
    for (cd_fork f = 0; f < CD_FORK_COUNT; f++) {
        cd_gas g = cd_gas_of(f);
        assert_int_equal(g.sload, sload[f]);
        assert_int_equal(g.balance, balance[f]);
        assert_int_equal(g.sload + g.cold_slot, f < CD_BERLIN ? sload[f] : 2100);
        assert_int_equal(g.call + g.cold_acct, f < CD_TANGERINE ? 40 : f < CD_BERLIN ? 700 : 2600);
    }
}

static void precompiles_by_fork(void **state)
{
    (void)state;
    for (cd_fork f = 0; f < CD_FORK_COUNT; f++) {
        usize want = f < CD_BYZANTIUM ? 4 : f < CD_ISTANBUL ? 8 : f < CD_CANCUN ? 9 : f < CD_PRAGUE ? 10 : 17;
        const cd_precompile_table *t = cd_precompile_eth(f);
        usize cnt;
        const cd_precompile *list = cd_precompile_list(t, &cnt);
        assert_int_equal(cnt, want);
        for (u32 i = 0; i < 300; i++) {
            cd_addr20 a = {.b = {[18] = (u8)(i >> 8), [19] = (u8)i}};
            const cd_precompile *p = cd_precompile_find(t, &a);
            assert_int_equal(p != NULL, i >= 1 && i <= want);
            assert_true(p == NULL || (p >= list && p < list + cnt && p->addr.b[19] == i));
        }
        cd_addr20 far = {.b = {[0] = 1, [19] = 1}};
        assert_null(cd_precompile_find(t, &far));
    }
}

static cd_precompile_outcome answer(cd_precompile_call *call, const void *cfg)
{
    call->output = cd_bytes_str(cfg);
    return CD_PRE_OK;
}

static void tables_take_more(void **state)
{
    (void)state;
    cd_precompile_table *t = cd_precompile_table_new(CD_CANCUN);
    cd_precompile p = {.name = "x", .run = answer, .cfg = "hello", .is_stateful = true};
    p.addr.b[19] = 1;
    assert_int_equal(cd_precompile_table_add(t, &p), CD_EEXIST);
    u32 added = 0;
    cd_err err;
    do {
        p.addr = (cd_addr20){.b = {[0] = 2, [18] = (u8)(added * 7), [19] = (u8)added}};
        err = cd_precompile_table_add(t, &p);
        added += err == CD_OK;
    } while (err == CD_OK);
    assert_int_equal(err, CD_EFULL);
    assert_int_equal(added, 128 - 10);
    for (u32 i = 0; i < added; i++) {
        cd_addr20 a = {.b = {[0] = 2, [18] = (u8)(i * 7), [19] = (u8)i}};
        const cd_precompile *found = cd_precompile_find(t, &a);
        assert_non_null(found);
        assert_true(cd_addr20_eq(&found->addr, &a));
        cd_precompile_call call = {0};
        assert_int_equal(found->run(&call, found->cfg), CD_PRE_OK);
        assert_int_equal(call.output.n, 5);
    }
    cd_precompile_table_free(t);
}

static void profiles_differ_as_told(void **state)
{
    (void)state;
    const cd_profile *eth = cd_profile_get(CD_PROFILE_ETHEREUM);
    assert_true(eth->pays_refund && eth->burns_base_fee && eth->allows_blob_tx && !eth->randao_is_difficulty);
    for (cd_profile_id id = CD_PROFILE_L1; id < CD_PROFILE_COUNT; id++) {
        const cd_profile *p = cd_profile_get(id);
        assert_false(p->pays_refund || p->burns_base_fee || p->allows_blob_tx);
        assert_true(p->randao_is_difficulty);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_aliases_parse), cmocka_unit_test(sstore_prices),
        cmocka_unit_test(state_access_prices),     cmocka_unit_test(precompiles_by_fork),
        cmocka_unit_test(tables_take_more),        cmocka_unit_test(profiles_differ_as_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
