/* eth_call, eth_callDetailed and eth_estimateGas. [spec:eth-rpc#4] */
#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/sending/send.h"
#include "num/div.h"

enum { TX_GAS = 21000, STIPEND = 2300 };

/* The estimate may exceed the least by this many thousandths, as go-ethereum's. */
enum { SLACK = 15 };

u64 cd__api_gas(const cd_rpc_call *call, const cd__tx_args *args)
{
    u64 cap = cd_api_of(call)->service.cfg.gas_cap;
    u64 gas = args->has_gas ? args->tx.gas_limit : UINT64_MAX / 2;
    return cap == 0 ? gas : cd_min_u64(gas, cap);
}

/* --- calls --- */

/* A call that is about to run. */
typedef struct running {
    cd_trial *trial;
    cd_tx_result *res;
    cd_tx_invalid *bad;
    const cd_tx *tx;
} running;

static cd_err run_once(void *arg)
{
    const running *r = arg;
    return cd_trial_run(r->trial, r->res, r->bad, r->tx);
}

/* Runs it, and on a development network tells what it printed and why it failed. */
static cd_err run_told(running *r)
{
    cd_api_dev *dev = cd_api_of(r->trial->call)->dev;
    return dev == NULL ? run_once(r) : dev->ops->watched(dev, r->trial->evm, run_once, r);
}

/* Runs the call object; behind success the trial is the caller's to close. */
static cd_err run_call(cd_rpc_call *call, cd_trial **out, cd_tx_result *res)
{
    cd__tx_args args;
    cd_tx_invalid bad;
    cd_trial *t;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    CD_TRY(cd_trial_open(&t, call, &(cd_trial_args){.block = 1, .state = 2, .env = 3}));
    args.tx.gas_limit = cd__api_gas(call, &args);
    cd_err e = run_told(&(running){.trial = t, .res = res, .bad = &bad, .tx = &args.tx});
    if (e == CD_OK && bad != CD_TX_VALID) {
        e = cd_rpc_fail(call, CD_RPC_SERVER, "err: %s (supplied gas %llu)", cd_trial_words(t, bad, &args.tx),
                        (unsigned long long)args.tx.gas_limit);
    }
    if (e != CD_OK) {
        cd_trial_close(t);
        return e;
    }
    *out = t;
    return CD_OK;
}

cd_err cd__eth_call(cd_rpc_call *call)
{
    cd_tx_result res;
    cd_trial *t;
    CD_TRY(run_call(call, &t, &res));
    cd_err e = CD_OK;
    if (res.status == CD_EVM_OK) {
        cd_json_w_hex(call->out, res.output);
    } else {
        e = cd_trial_fail(call, &res);
    }
    cd_trial_close(t);
    return e;
}

cd_err cd__eth_call_detailed(cd_rpc_call *call)
{
    cd_tx_result res;
    cd_trial *t;
    cd_trial_failure f = {.words = ""};
    cd_json_w *w = call->out;
    CD_TRY(run_call(call, &t, &res));
    if (res.status != CD_EVM_OK) {
        f = cd_trial_failure_of(call, &res);
    }
    cd_json_w_obj(w);
    cd_json_w_key(w, "gas");
    cd_json_w_u64(w, res.gas_used);
    cd_json_w_key(w, "errCode");
    cd_json_w_u64(w, f.code == CD_RPC_REVERTED ? CD_RPC_REVERTED : 0);
    cd_json_w_key(w, "err");
    cd_json_w_cstr(w, f.words);
    cd_json_w_key(w, "returnData");
    cd_json_w_hex(w, res.output);
    cd_json_w_obj_end(w);
    cd_trial_close(t);
    return CD_OK;
}

/* --- estimating --- */

typedef struct search {
    cd_trial *t;
    cd_tx tx;
    cd_tx_result res;
} search;

/* Tries the transaction with that much gas; too little to start with is no failure of the call. */
static cd_err try_gas(search *s, bool *ok, u64 gas)
{
    cd_tx_invalid bad;
    cd_rpc_call *call = s->t->call;
    s->tx.gas_limit = gas;
    if (cd_rpc_is_late(call)) {
        return cd_rpc_fail_late(call);
    }
    CD_TRY(cd_trial_run(s->t, &s->res, &bad, &s->tx));
    *ok = bad == CD_TX_VALID && s->res.status == CD_EVM_OK;
    if (bad == CD_TX_INTRINSIC_GAS || bad == CD_TX_FLOOR_GAS) {
        s->res = (cd_tx_result){.status = CD_EVM_OUT_OF_GAS};
    } else if (bad != CD_TX_VALID) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "failed with %llu gas: %s", (unsigned long long)gas,
                           cd_trial_words(s->t, bad, &s->tx));
    }
    return CD_OK;
}

/* The most that the sender can pay for at its own price. */
static cd_err affordable(search *s, u64 *hi)
{
    cd_u256 left;
    if (cd_u256_is_zero(&s->tx.fee_cap)) {
        return CD_OK;
    }
    CD_TRY(cd_trial_reset(s->t));
    const cd_acct *from = cd_state_acct(s->t->st, &s->tx.sender);
    if (!cd_u256_is_zero(&s->tx.value) && !cd_u256_lt(&s->tx.value, &from->balance)) {
        return cd_rpc_fail(s->t->call, CD_RPC_SERVER, "insufficient funds for transfer");
    }
    cd_u256_sub(&left, &from->balance, &s->tx.value);
    cd_u256_div(&left, &left, &s->tx.fee_cap);
    if (cd_u256_fits_u64(&left)) {
        *hi = cd_min_u64(*hi, left.w[0]);
    }
    return CD_OK;
}

/* A payment to somebody without code needs what every transaction costs. */
static cd_err is_payment(search *s, bool *yes)
{
    *yes = false;
    if (s->tx.is_create || s->tx.data.n != 0) {
        return CD_OK;
    }
    CD_TRY(cd_trial_reset(s->t));
    *yes = cd_state_code(s->t->st, cd_state_acct(s->t->st, &s->tx.to)).n == 0;
    return CD_OK;
}

static cd_err find_least(search *s, u64 *out, u64 hi)
{
    bool ok = false;
    u64 lo = s->res.gas_used - 1; /* below what was used it cannot work */
    u64 likely = (s->res.gas_used + s->res.gas_refunded + STIPEND) * 64 / 63;
    if (likely < hi) {
        CD_TRY(try_gas(s, &ok, likely));
        *(ok ? &hi : &lo) = likely;
    }
    while (lo + 1 < hi && (hi - lo) * 1000 >= hi * SLACK) {
        u64 mid = cd_min_u64(lo + (hi - lo) / 2, lo * 2); /* most need little more than they used */
        CD_TRY(try_gas(s, &ok, mid));
        *(ok ? &hi : &lo) = mid;
    }
    *out = hi;
    return CD_OK;
}

/* Once more with all that there is, for the console of a development network: what failed is told as that of a call. */
static cd_err tell_failure(search *s)
{
    cd_tx_invalid bad;
    return cd_api_of(s->t->call)->dev == NULL
               ? CD_OK
               : run_told(&(running){.trial = s->t, .res = &s->res, .bad = &bad, .tx = &s->tx});
}

static cd_err estimate(search *s, u64 *out, const cd__tx_args *args)
{
    cd_rpc_call *call = s->t->call;
    u64 cap = cd_api_of(call)->service.cfg.gas_cap;
    u64 hi = args->has_gas && s->tx.gas_limit >= TX_GAS ? s->tx.gas_limit : s->t->env.gas_limit;
    bool ok = false;
    CD_TRY(affordable(s, &hi));
    hi = cap == 0 ? hi : cd_min_u64(hi, cap);
    CD_TRY(is_payment(s, &ok));
    if (ok) {
        cd_tx_invalid bad;
        s->tx.gas_limit = TX_GAS;
        CD_TRY(cd_trial_run(s->t, &s->res, &bad, &s->tx));
        if (bad == CD_TX_VALID && s->res.status == CD_EVM_OK) {
            *out = TX_GAS;
            return CD_OK;
        }
    }
    CD_TRY(try_gas(s, &ok, hi));
    if (ok) {
        return find_least(s, out, hi);
    }
    cd_evm_status why = s->res.status;
    CD_TRY(tell_failure(s));
    if (why == CD_EVM_OUT_OF_GAS) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "gas required exceeds allowance (%llu)", (unsigned long long)hi);
    }
    return cd_trial_fail(call, &s->res);
}

static cd_err estimate_at(cd_rpc_call *call, u64 *out, const cd__tx_args *args, const cd_trial_args *at)
{
    search s = {.tx = args->tx};
    CD_TRY(cd_trial_open(&s.t, call, at));
    cd_err e = estimate(&s, out, args);
    cd_trial_close(s.t);
    return e;
}

cd_err cd__api_estimate(cd_rpc_call *call, u64 *out, const cd__tx_args *args)
{
    usize none = SIZE_MAX;
    return estimate_at(call, out, args,
                       &(cd_trial_args){.block = none, .state = none, .env = none, .is_pending_meant = true});
}

cd_err cd__eth_estimate_gas(cd_rpc_call *call)
{
    cd__tx_args args;
    u64 gas = 0;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    CD_TRY(
        estimate_at(call, &gas, &args, &(cd_trial_args){.block = 1, .state = 2, .env = 3, .is_pending_meant = true}));
    cd_json_w_qty(call->out, gas);
    return CD_OK;
}
