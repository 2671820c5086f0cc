#include "chains/wallet/accounts.h"

#include "num/div.h"
#include "types/ctx.h"
#include "types/ctx_gas.h"

#include <stdlib.h>

_Static_assert(sizeof(cd_c_output) == sizeof(cd_p_output) && sizeof(cd_c_input) == sizeof(cd_p_input),
               "inputs and outputs are of one form on all chains");

static cd_linear_any body_of(cd_c_tx_type type, void *v)
{
    const cd_linear_field *body = &cd_c_tx_table.fields[0];
    for (u32 i = 0; i < body->any->cnt; i++) {
        if (body->any->cases[i].id == (u32)type) {
            return (cd_linear_any){.is = &body->any->cases[i], .v = v};
        }
    }
    CD_UNREACHABLE();
}

static void begin(cd_wallet_draft *d, const cd_wallet_c *c, cd_c_tx_type type, void *v)
{
    *d = (cd_wallet_draft){
        .chain = cd_wallet_chain_find(cd_bytes_str("C")),
        .network_id = c->network_id,
        .body = body_of(type, v),
    };
}

static u64 gas_of(const cd_wallet_draft *d)
{
    cd_buf bytes = {0};
    u64 signatures = 0;
    for (u32 i = 0; i < d->slot_cnt; i++) {
        signatures += d->slots[i].cnt;
    }
    cd_wallet_unsigned(&bytes, d);
    u64 gas = cd_c_gas(bytes.n, signatures);
    cd_buf_fini(&bytes);
    return gas;
}

static u64 fee_of(const cd_wallet_c *c, u64 gas)
{
    return cd_c_fee(gas + gas / 4, &c->base_fee, c->rate);
}

u64 cd_wallet_units(const cd_wallet_c *c, const cd_u256 *wei)
{
    cd_u256 units;
    cd_u256 rate = cd_u256_from_u64(c->rate);
    cd_u256_div(&units, wei, &rate);
    return cd_u256_to_u64_sat(&units);
}

/* --- imports --- */

cd_err cd_wallet_import_c(cd_wallet_draft *d, const cd_wallet_c *c, const cd_wallet_purse *there,
                          const cd_hash32 *source, const cd_addr20 *to, cd_errinfo *why)
{
    cd_wallet_taken taken;
    cd_c_import *t = cd_arena_new(there->mem, cd_c_import);
    cd_c_credit *credit = cd_arena_new(there->mem, cd_c_credit);
    usize most = CD_WALLET_INPUTS_MAX;
    u64 gas;
    *credit = (cd_c_credit){.addr = *to, .amount = 1, .asset_id = c->asset_id};
    *t = (cd_c_import){.network_id = c->network_id, .chain_id = c->chain_id, .source_chain = *source};
    t->outs = (cd_linear_list){.v = credit, .cnt = 1};
    for (;;) {
        CD_TRY(cd_wallet_take(&taken, there, &c->asset_id, most, why));
        begin(d, c, CD_C_IMPORT, t);
        t->imported = taken.ins;
        cd_wallet_slots_add(d, there->mem, taken.slots, taken.ins.cnt);
        gas = gas_of(d);
        if (gas <= CD_C_GAS_MAX || taken.ins.cnt == 1) {
            break;
        }
        most = cd_min_u64(taken.ins.cnt - 1, taken.ins.cnt * (u64)CD_C_GAS_MAX / gas + 1);
    }
    u64 fee = fee_of(c, gas);
    if (taken.sums[0].amount <= fee) {
        return cd_fail(why, CD_ERANGE, "insufficient funds: %llu came, the fee is %llu",
                       (unsigned long long)taken.sums[0].amount, (unsigned long long)fee);
    }
    credit->amount = taken.sums[0].amount - fee;
    return CD_OK;
}

/* --- exports --- */

static int richer_first(const void *a, const void *b)
{
    const cd_wallet_account *x = a;
    const cd_wallet_account *y = b;
    if (x->units != y->units) {
        return x->units < y->units ? 1 : -1;
    }
    return memcmp(x->acct.b, y->acct.b, sizeof x->acct.b);
}

static int by_acct(const void *a, const void *b)
{
    return memcmp(((const cd_wallet_account *)a)->acct.b, ((const cd_wallet_account *)b)->acct.b, sizeof(cd_addr20));
}

/* Shows so many accounts as inputs, in the order that the chain demands; each gives all it has. */
static void show(cd_wallet_draft *d, cd_arena *a, cd_c_debit *debits, cd_wallet_account *accts, u32 cnt,
                 const cd_wallet_c *c)
{
    cd_wallet_slot *slots = cd_arena_array(a, cd_wallet_slot, cnt);
    qsort(accts, cnt, sizeof *accts, by_acct);
    for (u32 i = 0; i < cnt; i++) {
        debits[i] = (cd_c_debit){
            .addr = accts[i].acct, .amount = accts[i].units, .asset_id = c->asset_id, .nonce = accts[i].nonce};
        slots[i] = (cd_wallet_slot){.type = CD_P_CREDENTIAL, .cnt = 1, .signers = &accts[i].addr};
    }
    d->slot_cnt = 0;
    cd_wallet_slots_add(d, a, slots, cnt);
}

/* Gives back to the poorest, whose coming was needed, what is more than enough. */
static void give_back(cd_c_debit *debits, u32 cnt, u64 more)
{
    u32 least = 0;
    for (u32 i = 1; i < cnt; i++) {
        least = debits[i].amount < debits[least].amount ? i : least;
    }
    debits[least].amount -= more;
}

cd_err cd_wallet_export_c(cd_wallet_draft *d, const cd_wallet_c *c, cd_arena *a, cd_wallet_account *accts, usize cnt,
                          const cd_hash32 *destination, const cd_owners *to, u64 amount, cd_errinfo *why)
{
    cd_c_export *t = cd_arena_new(a, cd_c_export);
    cd_p_output *out = cd_arena_new(a, cd_p_output);
    u32 most = (u32)cd_min_u64(cnt, CD_WALLET_ACCOUNTS_MAX);
    cd_c_debit *debits = cd_arena_array(a, cd_c_debit, most);
    u64 sum = 0;
    u64 want = amount;
    *out = cd_wallet_output(a, &c->asset_id, amount, to);
    *t = (cd_c_export){.network_id = c->network_id, .chain_id = c->chain_id, .destination_chain = *destination};
    t->exported = (cd_linear_list){.v = out, .cnt = 1}; /* an output of P has the same form */
    begin(d, c, CD_C_EXPORT, t);
    if (cnt > 1) {
        qsort(accts, cnt, sizeof *accts, richer_first);
    }
    for (u32 n = 1; n <= most; n++) {
        if (!cd_add_u64(&sum, sum, accts[n - 1].units)) {
            sum = UINT64_MAX;
        }
        t->ins = (cd_linear_list){.v = debits, .cnt = n};
        show(d, a, debits, accts, n, c);
        if (!cd_add_u64(&want, amount, fee_of(c, gas_of(d)))) {
            return cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
        }
        if (sum >= want) {
            give_back(debits, n, sum - want);
            return CD_OK;
        }
    }
    return cd_fail(why, CD_ERANGE, "insufficient funds: %llu more are needed, the fee included",
                   (unsigned long long)(want - sum));
}
