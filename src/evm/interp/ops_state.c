/* Instructions that read or change the state: accounts, storage, logs, self-destruction. */
#include "evm/evm_priv.h"

#define FAIL_OUT_OF_GAS cd__failed(CD_EVM_OUT_OF_GAS)

#define CHARGE(cost)                                                                                                   \
    do {                                                                                                               \
        gas -= (i64)(cost);                                                                                            \
        if (CD_UNLIKELY(gas < 0)) {                                                                                    \
            return FAIL_OUT_OF_GAS;                                                                                    \
        }                                                                                                              \
    } while (0)

/* --- accounts --- */

/* acct_of gives the account an operand names; *cost becomes the price with the surcharge for a cold
 * one. */
static cd_acct *acct_of(cd__frame *f, i64 *cost, const cd_u256 *word, u32 price)
{
    cd_evm *evm = f->evm;
    cd_addr20 addr = cd_u256_to_addr(word);
    cd_acct *a = cd_state_acct(evm->st, &addr);
    *cost = price;
    if (evm->gas.cold_acct != 0 && !cd_state_warm_acct(evm->st, a)) {
        *cost += evm->gas.cold_acct;
    }
    return a;
}

i64 cd__op_BALANCE(cd__frame *f, cd_u256 *sp, i64 gas)
{
    i64 cost;
    const cd_acct *a = acct_of(f, &cost, &sp[0], f->evm->gas.balance);
    CHARGE(cost);
    cd_u256_set(&sp[0], &a->balance);
    return gas;
}

i64 cd__op_EXTCODESIZE(cd__frame *f, cd_u256 *sp, i64 gas)
{
    i64 cost;
    cd_acct *a = acct_of(f, &cost, &sp[0], f->evm->gas.extcode);
    CHARGE(cost);
    cd_u256_set_u64(&sp[0], cd_state_code(f->evm->st, a).n);
    return gas;
}

i64 cd__op_EXTCODEHASH(cd__frame *f, cd_u256 *sp, i64 gas)
{
    i64 cost;
    const cd_acct *a = acct_of(f, &cost, &sp[0], f->evm->gas.extcodehash);
    CHARGE(cost);
    if (cd_acct_is_empty(a)) {
        cd_u256_set_u64(&sp[0], 0);
    } else {
        cd_u256_load_be(&sp[0], a->code_hash.b);
    }
    return gas;
}

i64 cd__op_EXTCODECOPY(cd__frame *f, cd_u256 *sp, i64 gas)
{
    i64 cost;
    cd_acct *a = acct_of(f, &cost, &sp[0], f->evm->gas.extcode);
    CHARGE(cost);
    gas = cd__mem_range(f, &sp[-1], &sp[-3], gas);
    if (gas < 0) {
        return gas;
    }
    CHARGE(CD_GAS_COPY_WORD * cd__words(sp[-3].w[0]));
    if (!cd_u256_is_zero(&sp[-3])) {
        cd__copy_in(f, &sp[-1], &sp[-2], &sp[-3], cd_state_code(f->evm->st, a));
    }
    return gas;
}

i64 cd__op_selfdestruct(cd__frame *f, const cd_u256 *beneficiary, i64 gas)
{
    cd_evm *evm = f->evm;
    cd_state *st = evm->st;
    cd_addr20 addr = cd_u256_to_addr(beneficiary);
    cd_acct *to = cd_state_acct(st, &addr);
    cd_u256 balance;
    cd_u256_set(&balance, &f->self->balance);
    i64 cost = evm->gas.selfdestruct;
    if (evm->gas.cold_acct != 0 && !cd_state_warm_acct(st, to)) {
        cost += evm->gas.cold_selfdestruct;
    }
    bool is_new = evm->fork >= CD_SPURIOUS ? !cd_u256_is_zero(&balance) && cd_acct_is_empty(to)
                                           : (to->flags & CD_ACCT_EXISTS) == 0;
    if (is_new) {
        cost += evm->gas.selfdestruct_new;
    }
    CHARGE(cost);
    if (f->is_static) {
        return cd__failed(CD_EVM_STATIC_VIOLATION);
    }
    if ((f->self->flags & CD_ACCT_DESTROYED) == 0) {
        cd_state_refund(st, evm->gas.selfdestruct_refund);
    }
    bool destroys = evm->fork < CD_CANCUN || cd_state_is_new(st, f->self);
    /* From Cancun on an account that is not destroyed keeps a balance it sends to itself (EIP-6780);
     * the balance of one that is destroyed is lost. */
    if (to != f->self) {
        cd_state_sub_balance(st, f->self, &balance);
        cd_state_add_balance(st, to, &balance);
    } else if (destroys) {
        cd_state_sub_balance(st, f->self, &balance);
    }
    if (destroys) {
        cd_state_destroy(st, f->self);
    }
    if (evm->tracer != NULL) {
        cd__trace_selfdestruct(f, &addr, &balance);
    }
    return gas;
}

/* --- storage --- */

i64 cd__sload(cd__frame *f, cd_u256 *out, const cd_u256 *key, i64 gas)
{
    cd_evm *evm = f->evm;
    cd_slot *s = cd_state_slot(evm->st, f->self, key);
    i64 cost = evm->gas.sload;
    if (evm->gas.cold_slot != 0 && !cd_state_warm_slot(evm->st, s)) {
        cost += evm->gas.cold_slot;
    }
    CHARGE(cost);
    cd_u256_set(out, &s->value);
    return gas;
}

i64 cd__op_SLOAD(cd__frame *f, cd_u256 *sp, i64 gas)
{
    return cd__sload(f, &sp[0], &sp[0], gas);
}

i64 cd__op_sstore(cd__frame *f, const cd_u256 *key, const cd_u256 *value, i64 gas, i64 ahead)
{
    cd_evm *evm = f->evm;
    cd_state *st = evm->st;
    if (CD_UNLIKELY(gas + ahead <= (i64)evm->gas.sstore_sentry)) {
        return FAIL_OUT_OF_GAS;
    }
    cd_slot *s = cd_state_slot(st, f->self, key);
    i64 refund;
    i64 cost = cd_gas_sstore(&evm->gas, &refund, cd_state_slot_original(st, s), &s->value, value);
    if (evm->gas.cold_slot != 0 && !cd_state_warm_slot(st, s)) {
        cost += evm->gas.cold_sstore;
    }
    CHARGE(cost);
    if (CD_UNLIKELY(f->is_static)) {
        return cd__failed(CD_EVM_STATIC_VIOLATION);
    }
    cd_state_refund(st, refund);
    if (!cd_u256_eq(&s->value, value)) {
        cd_state_set_slot(st, s, value);
    }
    return gas;
}

i64 cd__op_TLOAD(cd__frame *f, cd_u256 *sp, i64 gas)
{
    cd_state_tload(f->evm->st, &sp[0], &f->addr, &sp[0]);
    return gas;
}

i64 cd__op_TSTORE(cd__frame *f, cd_u256 *sp, i64 gas)
{
    if (f->is_static) {
        return cd__failed(CD_EVM_STATIC_VIOLATION);
    }
    cd_state_tstore(f->evm->st, &f->addr, &sp[0], &sp[-1]);
    return gas;
}

/* --- logs --- */

static i64 log_n(cd__frame *f, cd_u256 *sp, i64 gas, u32 topics)
{
    gas = cd__mem_range(f, &sp[0], &sp[-1], gas);
    if (CD_UNLIKELY(gas < 0)) {
        return gas;
    }
    u64 n = sp[-1].w[0];
    CHARGE(CD_GAS_LOG_BYTE * n);
    if (CD_UNLIKELY(f->is_static)) {
        return cd__failed(CD_EVM_STATIC_VIOLATION);
    }
    cd_log log;
    log.addr = f->addr;
    log.topic_cnt = topics;
    log.data = cd_bytes_of(n == 0 ? NULL : f->mem + sp[0].w[0], n);
    for (u32 i = 0; i < topics; i++) {
        cd_u256_store_be(log.topics[i].b, &sp[-2 - (i64)i]);
    }
    cd_state_log(f->evm->st, &log);
    if (CD_UNLIKELY(f->evm->tracer != NULL) && f->evm->tracer->log != NULL) {
        f->evm->tracer->log(f->evm->tracer, &log);
    }
    return gas;
}

i64 cd__op_LOG0(cd__frame *f, cd_u256 *sp, i64 gas)
{
    return log_n(f, sp, gas, 0);
}

i64 cd__op_LOG1(cd__frame *f, cd_u256 *sp, i64 gas)
{
    return log_n(f, sp, gas, 1);
}

i64 cd__op_LOG2(cd__frame *f, cd_u256 *sp, i64 gas)
{
    return log_n(f, sp, gas, 2);
}

i64 cd__op_LOG3(cd__frame *f, cd_u256 *sp, i64 gas)
{
    return log_n(f, sp, gas, 3);
}

i64 cd__op_LOG4(cd__frame *f, cd_u256 *sp, i64 gas)
{
    return log_n(f, sp, gas, 4);
}
