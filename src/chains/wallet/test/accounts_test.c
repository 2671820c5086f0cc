/* Imports to accounts and exports from them: what goes in is what comes out and the fee of gas, inputs are in the order
 * that the chain demands, and no transaction takes more gas than a block has. */
#include "chains/wallet/accounts.h"

#include "types/ctx.h"
#include "types/ctx_gas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OUTPUTS = 200, ACCOUNTS = CD_WALLET_ACCOUNTS_MAX + 8, RATE = 1000000000 };

static const cd_hash32 native = {.b = {1}};
static const cd_hash32 peer = {.b = {'x'}};

static cd_wallet_c c_chain(void)
{
    return (cd_wallet_c){.network_id = 1337,
                         .chain_id = {.b = {'c'}},
                         .asset_id = native,
                         .rate = RATE,
                         .base_fee = cd_u256_from_u64(25 * (u64)RATE)};
}

static u64 gas_of(const cd_wallet_draft *d)
{
    cd_buf bytes = {0};
    u64 signatures = 0;
    for (u32 i = 0; i < d->slot_cnt; i++) {
        signatures += d->slots[i].cnt;
    }
    cd_wallet_unsigned(&bytes, d);
    u64 gas = bytes.n + 1000 * signatures + 10000;
    cd_buf_fini(&bytes);
    return gas;
}

/* At 25 gwei a gas costs 25 base units of 10^9 wei; a quarter more is paid. */
static u64 fee_of(const cd_wallet_draft *d)
{
    u64 gas = gas_of(d);
    return 25 * (gas + gas / 4);
}

static void imports(void **state)
{
    (void)state;
    static const usize cnts[] = {1, 2, 60, OUTPUTS};
    for (usize k = 0; k < CD_COUNT(cnts); k++) {
        cd_arena mem = {0};
        const cd_addr20 me = {.b = {7}};
        const cd_addr20 acct = {.b = {9}};
        cd_utxo *utxos = cd_arena_array(&mem, cd_utxo, cnts[k]);
        const cd_owners mine = cd_wallet_owners(&mem, &me);
        for (usize i = 0; i < cnts[k]; i++) {
            const cd_p_output o = cd_wallet_output(&mem, &native, 1000000 + i, &mine);
            utxos[i] =
                (cd_utxo){.tx_id = {.b = {(u8)(255 - i)}}, .output_idx = (u32)i, .asset_id = native, .out = o.out};
        }
        const cd_wallet_purse there = {
            .mem = &mem, .addrs = &me, .addr_cnt = 1, .utxos = utxos, .utxo_cnt = cnts[k], .now = 1000};
        const cd_wallet_c c = c_chain();
        cd_wallet_draft d;
        assert_int_equal(cd_wallet_import_c(&d, &c, &there, &peer, &acct, NULL), CD_OK);
        const cd_c_import *t = d.body.v;
        const cd_c_credit *credit = t->outs.v;
        const cd_c_input *ins = t->imported.v;
        u64 sum = 0;
        for (u32 i = 0; i < t->imported.cnt; i++) {
            sum += ((const cd_transfer_input *)ins[i].in.v)->amount;
            assert_true(i == 0 || memcmp(ins[i - 1].tx_id.b, ins[i].tx_id.b, 32) <= 0);
        }
        assert_int_equal(sum, credit->amount + fee_of(&d));
        assert_memory_equal(credit->addr.b, acct.b, 20);
        assert_true(gas_of(&d) <= CD_C_GAS_MAX);
        assert_int_equal(d.slot_cnt, t->imported.cnt);
        if (cnts[k] == OUTPUTS) { /* there would be no room for one more */
            assert_true(gas_of(&d) + 1200 > CD_C_GAS_MAX);
        } else {
            assert_int_equal(t->imported.cnt, cnts[k]);
        }
        cd_arena_fini(&mem);
    }
}

static void imports_that_are_refused(void **state)
{
    (void)state;
    cd_arena mem = {0};
    const cd_addr20 me = {.b = {7}};
    const cd_owners mine = cd_wallet_owners(&mem, &me);
    const cd_p_output o = cd_wallet_output(&mem, &native, 1, &mine);
    const cd_utxo utxo = {.asset_id = native, .out = o.out};
    cd_wallet_purse there = {.mem = &mem, .addrs = &me, .addr_cnt = 1, .utxos = &utxo};
    const cd_wallet_c c = c_chain();
    cd_wallet_draft d;
    cd_errinfo why = {0};
    assert_int_equal(cd_wallet_import_c(&d, &c, &there, &peer, &me, &why), CD_ENOENT);
    there.utxo_cnt = 1;
    assert_int_equal(cd_wallet_import_c(&d, &c, &there, &peer, &me, &why), CD_ERANGE);
    assert_non_null(strstr(why.msg, "insufficient funds"));
    cd_arena_fini(&mem);
}

/* So many accounts of so many units each, poorer and poorer. */
static void make_accounts(cd_wallet_account *out, usize cnt, u64 units)
{
    for (usize i = 0; i < cnt; i++) {
        out[i] = (cd_wallet_account){
            .acct = {.b = {(u8)(37 * (i + 1))}}, .addr = {.b = {(u8)(i + 1)}}, .nonce = 100 + i, .units = units - i};
    }
}

static cd_err export(cd_wallet_draft *d, cd_arena *mem, cd_wallet_account *accts, usize cnt, u64 amount,
                     cd_errinfo *why)
{
    const cd_wallet_c c = c_chain();
    const cd_addr20 friend = {.b = {5}};
    const cd_owners to = cd_wallet_owners(mem, &friend);
    return cd_wallet_export_c(d, &c, mem, accts, cnt, &peer, &to, amount, why);
}

static void exports(void **state)
{
    (void)state;
    static const struct {
        u64 amount;
        u32 payers;
    } rows[] = {{1, 1}, {5000000, 1}, {9700000, 2}, {19000000, 2}, {29000000, 3}};
    for (usize k = 0; k < CD_COUNT(rows); k++) {
        cd_arena mem = {0};
        cd_wallet_account accts[5];
        cd_wallet_draft d;
        make_accounts(accts, CD_COUNT(accts), 10000000);
        assert_int_equal(export(&d, &mem, accts, CD_COUNT(accts), rows[k].amount, NULL), CD_OK);
        const cd_c_export *t = d.body.v;
        const cd_c_debit *debits = t->ins.v;
        u64 sum = 0;
        assert_int_equal(t->ins.cnt, rows[k].payers);
        assert_int_equal(d.slot_cnt, rows[k].payers);
        for (u32 i = 0; i < t->ins.cnt; i++) {
            u64 nr = debits[i].nonce - 100; /* which account it is */
            sum += debits[i].amount;
            assert_true(debits[i].amount > 0 && debits[i].amount <= 10000000 - nr);
            assert_true(i == 0 || memcmp(debits[i - 1].addr.b, debits[i].addr.b, 20) < 0);
            assert_int_equal(debits[i].addr.b[0], (u8)(37 * (nr + 1)));
            assert_int_equal(d.slots[i].signers[0].b[0], nr + 1);
        }
        assert_int_equal(sum, rows[k].amount + fee_of(&d));
        cd_arena_fini(&mem);
    }
}

static void exports_that_are_refused(void **state)
{
    (void)state;
    cd_arena mem = {0};
    static cd_wallet_account accts[ACCOUNTS];
    cd_wallet_draft d;
    cd_errinfo why = {0};
    make_accounts(accts, ACCOUNTS, 10000000);
    assert_int_equal(export(&d, &mem, accts, 1, 10000000, &why), CD_ERANGE);
    assert_non_null(strstr(why.msg, "insufficient funds"));
    assert_int_equal(export(&d, &mem, accts, ACCOUNTS, (u64)10000000 * CD_WALLET_ACCOUNTS_MAX, &why), CD_ERANGE);
    assert_int_equal(export(&d, &mem, accts, 0, 1, &why), CD_ERANGE);
    assert_int_equal(export(&d, &mem, accts, 1, UINT64_MAX, &why), CD_ERANGE);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports),
        cmocka_unit_test(imports_that_are_refused),
        cmocka_unit_test(exports),
        cmocka_unit_test(exports_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
