/* Modules in transactions: who may send and deploy, what calls of other kinds do, and that words of a
 * failure reach the outermost result. [spec:precompiles-core#2] [spec:precompiles-core#4]
 * [spec:precompiles-core#5] */
#include "evm/test/empty_source.h"
#include "evm/transition.h"
#include "precompile/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const cd_addr20 ADMIN = {.b = {[18] = 0xa0, [19] = 1}};
static const cd_addr20 NOBODY = {.b = {[18] = 0xa0, [19] = 4}};
static const cd_addr20 CONTRACT = {.b = {[18] = 0xc0, [19] = 1}};

#define ADMIN_TEXT "\"0x000000000000000000000000000000000000a001\""

typedef struct world {
    cd_schedule *s;
    cd_state *st;
    cd_evm *evm;
    cd_block_env block;
    u64 pool;
} world;

/* A chain on which one module is in force, with one admin. */
static void open_world(world *w, const char *key)
{
    cd_arena a = {0};
    cd_json config;
    const cd_chain_config chain = {
        .durango.is_set = true,
        .shanghai.is_set = true,
        .cancun.is_set = true,
    };
    *w = (world){.pool = 30000000, .st = cd_state_new(&nothing), .evm = cd_evm_new()};
    w->block = (cd_block_env){.number = 1, .time = 1, .gas_limit = w->pool, .chain_id = 1};
    const char *text = cd_arena_fmt(&a, "{\"%s\":{\"blockTimestamp\":0,\"adminAddresses\":[" ADMIN_TEXT "]}}", key);
    assert_int_equal(cd_json_parse(&config, &a, cd_bytes_str(text), 0, NULL), CD_OK);
    assert_int_equal(cd_schedule_new(&w->s, &(cd_schedule_cfg){.chain = &chain, .config = config}, NULL), CD_OK);
    cd_arena_fini(&a);
    cd_schedule_apply(w->s, w->st, NULL, 1, 0);
    cd_evm_set_block(w->evm, CD_CANCUN, CD_PROFILE_L1, &w->block, w->st, cd_schedule_table(w->s, 1));
}

static void close_world(world *w)
{
    cd_evm_free(w->evm);
    cd_state_free(w->st);
    cd_schedule_free(w->s);
}

static void put_code(world *w, const void *code, usize n)
{
    cd_state_begin_tx(w->st);
    cd_state_set_code(w->st, cd_state_acct(w->st, &CONTRACT), cd_bytes_of(code, n));
    cd_state_end_tx(w->st, true);
}

static cd_tx_invalid apply(world *w, cd_tx_result *res, const cd_tx *tx)
{
    return cd_tx_apply(w->evm, res, &w->pool, tx, NULL);
}

static cd_tx tx_from(const cd_addr20 *sender)
{
    return (cd_tx){.type = CD_TX_DYNAMIC_FEE,
                   .is_protected = true,
                   .chain_id = 1,
                   .gas_limit = 200000,
                   .sender = *sender,
                   .has_sender = true};
}

/* --- deployers --- */

static void only_listed_origins_deploy(void **state)
{
    (void)state;
    world w;
    cd_tx_result res;
    static const u8 init[] = {0x5f, 0x5f, 0xf3}; /* PUSH0 PUSH0 RETURN */
    open_world(&w, "contractDeployerAllowListConfig");
    cd_tx tx = tx_from(&NOBODY);
    tx.is_create = true;
    tx.data = cd_bytes_of(init, sizeof init);
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    assert_int_equal(res.status, CD_EVM_UNAUTHORIZED);
    assert_string_equal(res.reason, "tx.origin 0x000000000000000000000000000000000000A004 is not "
                                    "authorized to deploy a contract");
    assert_int_equal(res.gas_used, tx.gas_limit);
    cd_addr20 would_be;
    cd_evm_create_addr(&would_be, &NOBODY, 0);
    assert_true(cd_addr20_eq(&res.created, &would_be));
    assert_int_equal(cd_state_acct(w.st, &NOBODY)->nonce, 1);
    assert_int_equal(cd_state_acct(w.st, &would_be)->flags & CD_ACCT_EXISTS, 0);

    tx = tx_from(&ADMIN);
    tx.is_create = true;
    tx.data = cd_bytes_of(init, sizeof init);
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    assert_int_equal(res.status, CD_EVM_OK);
    assert_null(res.reason);
    close_world(&w);
}

static void the_origin_counts_in_nested_creations(void **state)
{
    (void)state;
    world w;
    cd_tx_result res;
    /* CREATE(0, 0, 0), then return its result: PUSH0 x3 CREATE PUSH0 MSTORE PUSH1 32 PUSH0 RETURN */
    static const u8 code[] = {0x5f, 0x5f, 0x5f, 0xf0, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3};
    static const u8 zero[32];
    open_world(&w, "contractDeployerAllowListConfig");
    put_code(&w, code, sizeof code);
    cd_tx tx = tx_from(&NOBODY);
    tx.to = CONTRACT;
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    assert_int_equal(res.status, CD_EVM_OK);
    assert_memory_equal(res.output.p, zero, 32);
    assert_true(res.gas_used > tx.gas_limit - 6000); /* the failed creation took all but a 64th of the gas */
    assert_int_equal(cd_state_acct(w.st, &CONTRACT)->nonce, 1);

    tx = tx_from(&ADMIN);
    tx.to = CONTRACT;
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    assert_int_equal(res.status, CD_EVM_OK);
    assert_memory_not_equal(res.output.p, zero, 32);
    close_world(&w);
}

/* --- senders --- */

static void only_listed_senders_send(void **state)
{
    (void)state;
    world w;
    cd_tx_result res;
    open_world(&w, "txAllowListConfig");
    cd_tx tx = tx_from(&NOBODY);
    tx.to = CONTRACT;
    assert_int_equal(apply(&w, &res, &tx), CD_TX_SENDER_NOT_ALLOWED);
    assert_string_equal(cd_tx_invalid_str(CD_TX_SENDER_NOT_ALLOWED),
                        "cannot issue transaction from non-allow listed address");
    assert_int_equal(cd_tx_apply(w.evm, &res, &w.pool, &tx, &(cd_tx_relax){.sender = true, .nonce = true}),
                     CD_TX_VALID);

    /* A grant in the same block counts at once. */
    u8 grant[36] = {0x0a, 0xaf, 0x70, 0x43};
    memcpy(grant + 16, NOBODY.b, 20);
    tx = tx_from(&ADMIN);
    tx.to = *cd_schedule_addr(w.s, CD_MODULE_TX_ALLOW);
    tx.data = cd_bytes_of(grant, sizeof grant);
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    assert_int_equal(res.status, CD_EVM_OK);
    tx = tx_from(&NOBODY);
    tx.to = CONTRACT;
    tx.nonce = 1;
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    close_world(&w);
}

/* --- calls --- */

/* mint(to, 5) as call data. */
static void mint_input(u8 out[68])
{
    memset(out, 0, 68);
    cd_put_be32(out, 0x4f5aaaba);
    memcpy(out + 16, CONTRACT.b, 20);
    out[67] = 5;
}

static cd_evm_result call(world *w, cd_call_kind kind, const cd_addr20 *caller, cd_bytes input)
{
    cd_evm_result res;
    const cd_addr20 *module = cd_schedule_addr(w->s, CD_MODULE_MINTER);
    bool delegated = kind == CD_DELEGATECALL || kind == CD_CALLCODE;
    cd_state_begin_tx(w->st);
    cd_evm_call(w->evm, &res,
                &(cd_evm_msg){
                    .kind = kind,
                    .is_static = kind == CD_STATICCALL,
                    .gas = 100000,
                    .caller = *caller,
                    .to = delegated ? CONTRACT : *module,
                    .code = *module,
                    .input = input,
                });
    cd_state_end_tx(w->st, true);
    return res;
}

static void kinds_of_calls(void **state)
{
    (void)state;
    world w;
    u8 mint[68];
    mint_input(mint);
    cd_bytes input = cd_bytes_of(mint, sizeof mint);
    open_world(&w, "contractNativeMinterConfig");

    cd_evm_result res = call(&w, CD_CALL, &ADMIN, input);
    assert_int_equal(res.status, CD_EVM_OK);
    assert_int_equal(res.gas_left, 100000 - 31756);
    assert_int_equal(cd_state_acct(w.st, &CONTRACT)->balance.w[0], 5);

    res = call(&w, CD_STATICCALL, &ADMIN, input);
    assert_int_equal(res.status, CD_EVM_PRECOMPILE);
    assert_string_equal(cd_evm_result_str(&res), "write protection");
    assert_int_equal(res.gas_left, 0);

    static const cd_call_kind delegated[] = {CD_DELEGATECALL, CD_CALLCODE};
    for (usize i = 0; i < CD_COUNT(delegated); i++) {
        res = call(&w, delegated[i], &ADMIN, input);
        assert_int_equal(res.status, CD_EVM_REVERT);
        assert_string_equal(cd_evm_result_str(&res), "execution reverted");
        assert_int_equal(res.gas_left, 100000);
        assert_int_equal(res.output.n, 0);
    }

    res = call(&w, CD_CALL, &NOBODY, input);
    assert_int_equal(res.status, CD_EVM_UNAUTHORIZED);
    assert_string_equal(cd_evm_result_str(&res), "non-enabled cannot mint: 0x000000000000000000000000000000000000A004");
    assert_int_equal(res.gas_left, 0);

    res = call(&w, CD_CALL, &ADMIN, cd_bytes_of(mint, 3));
    assert_int_equal(res.status, CD_EVM_PRECOMPILE);
    assert_string_equal(cd_evm_result_str(&res), "missing function selector to precompile - input length (3)");
    assert_int_equal(cd_state_acct(w.st, &CONTRACT)->balance.w[0], 5);

    /* Where no module is in force there is only an account, whose code 0x01 is ADD without operands. */
    cd_evm_set_block(w.evm, CD_CANCUN, CD_PROFILE_L1, &w.block, w.st, cd_precompile_eth(CD_CANCUN));
    res = call(&w, CD_CALL, &NOBODY, cd_bytes_of(mint, 3));
    assert_int_equal(res.status, CD_EVM_STACK_UNDERFLOW);
    close_world(&w);
}

static void words_reach_the_transaction(void **state)
{
    (void)state;
    world w;
    cd_tx_result res;
    u8 mint[68];
    mint_input(mint);
    open_world(&w, "contractNativeMinterConfig");
    cd_tx tx = tx_from(&NOBODY);
    tx.to = *cd_schedule_addr(w.s, CD_MODULE_MINTER);
    tx.data = cd_bytes_of(mint, sizeof mint);
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    assert_int_equal(res.status, CD_EVM_UNAUTHORIZED);
    assert_string_equal(res.reason, "non-enabled cannot mint: 0x000000000000000000000000000000000000A004");
    assert_int_equal(res.gas_used, tx.gas_limit);
    close_world(&w);
}

/* --- predicates --- */

static void malformed_predicates_make_transactions_invalid(void **state)
{
    (void)state;
    world w;
    cd_tx_result res;
    static const cd_hash32 zero[1];
    static const cd_hash32 unknown[] = {{.b = {0x01, 0xff}}};
    open_world(&w, "warpConfig");
    const cd_addr20 *warp = cd_schedule_addr(w.s, CD_MODULE_WARP);
    const cd_access_tuple rows[] = {
        {.addr = *warp},
        {.addr = *warp, .keys = zero, .key_cnt = 1},
        {.addr = *warp, .keys = unknown, .key_cnt = 1},
    };
    cd_tx tx = tx_from(&NOBODY);
    tx.access_cnt = 1;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        tx.access = &rows[i];
        assert_int_equal(apply(&w, &res, &tx), CD_TX_PREDICATE);
    }
    const cd_access_tuple other = {.addr = NOBODY, .keys = zero, .key_cnt = 1};
    tx.access = &other;
    assert_int_equal(apply(&w, &res, &tx), CD_TX_VALID);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_listed_origins_deploy),  cmocka_unit_test(the_origin_counts_in_nested_creations),
        cmocka_unit_test(only_listed_senders_send),    cmocka_unit_test(kinds_of_calls),
        cmocka_unit_test(words_reach_the_transaction), cmocka_unit_test(malformed_predicates_make_transactions_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
