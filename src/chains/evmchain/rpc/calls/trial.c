#include "chains/evmchain/rpc/calls/trial.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "chains/evmchain/core/revert.h"
#include "chains/evmchain/rpc/calls/override.h"
#include "chains/evmchain/rpc/scope.h"
#include "num/u256_text.h"
#include "rpc/param.h"
#include "types/addr_text.h"

void cd_trials_init(cd_trials *ts)
{
    cd_mutex_init(&ts->lock);
}

void cd_trials_fini(cd_trials *ts)
{
    while (ts->idle != NULL) {
        cd_trial *t = ts->idle;
        ts->idle = t->next;
        cd_state_free(t->st);
        cd_evm_free(t->evm);
        cd_free(t);
    }
    cd_mutex_fini(&ts->lock);
}

cd_trial *cd_trials_take(cd_trials *ts)
{
    cd_mutex_lock(&ts->lock);
    cd_trial *t = ts->idle;
    if (t != NULL) {
        ts->idle = t->next;
    }
    cd_mutex_unlock(&ts->lock);
    if (t == NULL) {
        t = cd_new(cd_trial);
        t->evm = cd_evm_new();
        t->st = cd_state_new(NULL);
    }
    return t;
}

void cd_trials_give(cd_trials *ts, cd_trial *t)
{
    cd_state_reset(t->st, NULL);
    cd_evm_set_limit(t->evm, NULL, NULL, 0);
    cd_mutex_lock(&ts->lock);
    t->next = ts->idle;
    ts->idle = t;
    cd_mutex_unlock(&ts->lock);
}

/* Another block, and other precompiles. */
static cd_err pretend(cd_trial *t, cd_rpc_call *call)
{
    const cd_trial_args *args = &t->args;
    CD_TRY(cd__api_override_block(call, &t->env, cd_rpc_arg(call, args->env), args->env));
    t->precompiles = cd_chain_rules_table(t->rules, t->env.number, t->env.time);
    CD_TRY(cd__api_override_table(call, &t->moved, t->precompiles, cd_rpc_arg(call, args->state), args->state));
    t->precompiles = t->moved != NULL ? t->moved : t->precompiles;
    return CD_OK;
}

static bool is_late(void *ctx)
{
    return cd_rpc_is_late(ctx);
}

void cd_trial_limit(cd_trial *t, cd_rpc_call *call)
{
    cd_evm_set_limit(t->evm, is_late, call, CD_EVM_EVERY_GAS);
}

cd_err cd_trial_open(cd_trial **out, cd_rpc_call *call, const cd_trial_args *args)
{
    cd_header h;
    cd_block_ref ref;
    u64 number;
    bool found;
    const cd_accepted *pending;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, args->block), args->block));
    if (args->is_pending_meant && cd_api_of(call)->is_dev && !cd_rpc_has_arg(call, args->block)) {
        ref.tag = CD_TAG_PENDING;
    }
    CD_TRY(cd__pending_block(call, &pending, &ref));
    CD_TRY(cd__api_number(call, &number, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    cd_view *view = cd_api_view(call); /* when the call is about the pending block, the view that it stands on */
    cd_err e = cd_view_header(view, &h, call->arena, number);
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    h = pending != NULL ? pending->block.header : h;
    cd_trial *t = cd_trials_take(&cd_api_of(call)->service.trials);
    t->call = call;
    cd_trial_limit(t, call);
    t->args = *args;
    t->rules = cd_view_rules(view);
    cd_chain_rules_env(t->rules, &t->env, &h);
    e = cd_view_source_init(&t->src, view, number);
    if (e == CD_OK && pending != NULL) {
        cd_view_source_stand_for(&t->src, cd__pending_state(call));
    }
    if (e == CD_OK) {
        e = pretend(t, call);
        if (e == CD_OK) {
            *out = t;
            return CD_OK;
        }
        cd_trial_close(t);
        return e;
    }
    t->src = (cd_view_source){0};
    cd_trial_close(t);
    return cd__api_no_state(call, e, number);
}

void cd_trial_close(cd_trial *t)
{
    if (t == NULL) {
        return;
    }
    cd_trials *ts = &cd_api_of(t->call)->service.trials;
    if (t->src.view != NULL) {
        cd_view_source_fini(&t->src);
    }
    cd_precompile_table_free(t->moved);
    t->moved = NULL;
    t->call = NULL;
    cd_trials_give(ts, t);
}

cd_err cd_trial_reset(cd_trial *t)
{
    usize idx = t->args.state;
    cd_state_reset(t->st, &t->src.world.src);
    return cd__api_override_accounts(t->call, t->st, cd_rpc_arg(t->call, idx), idx);
}

/* Applies tx to the state as it was at the start. */
static cd_err apply(cd_trial *t, cd_tx_result *res, cd_tx_invalid *bad, const cd_tx *tx)
{
    static const cd_tx_relax relax = {.nonce = true, .sender = true, .base_fee = true};
    const cd_chain_rules *r = t->rules;
    cd_fork fork = cd_chain_rules_fork(r, t->env.number, t->env.time);
    cd_block_env env = t->env;
    u64 gas_pool = UINT64_MAX;
    CD_TRY(cd_trial_reset(t));
    if (cd_u256_is_zero(&tx->fee_cap)) {
        env.base_fee = cd_u256_zero(); /* who pays nothing sees no price */
    }
    cd_evm_set_block(t->evm, fork, r->profile, &env, t->st, t->precompiles);
    *bad = cd_tx_apply(t->evm, res, &gas_pool, tx, &relax);
    if (cd_evm_was_stopped(t->evm)) {
        return cd_rpc_fail_late(t->call);
    }
    cd_err e = cd_state_error(t->st);
    return e == CD_OK ? CD_OK : cd_api_store(t->call, e);
}

/* Hears why the outermost message failed. */
typedef struct listener {
    cd_tracer hooks; /* first */
    cd_arena *arena;
    const char *words;
} listener;

static void no_step(cd_tracer *t, const cd_trace_step *s)
{
    (void)t;
    (void)s; /* a tracer makes the EVM note why precisely */
}

static void on_exit_frame(cd_tracer *t, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    listener *l = (listener *)t;
    (void)res;
    (void)gas_used;
    if (depth == 0 && t->error != NULL) {
        l->words = cd_arena_fmt(l->arena, "%s", t->error);
    }
}

/* Some failures name the instruction, which only a traced run knows: it is run once more. */
static cd_err find_words(cd_trial *t, cd_tx_result *res, const cd_tx *tx)
{
    cd_tx_invalid bad;
    listener l = {.hooks = {.step = no_step, .exit = on_exit_frame}, .arena = t->call->arena};
    cd_evm_set_tracer(t->evm, &l.hooks);
    cd_err e = apply(t, res, &bad, tx);
    cd_evm_set_tracer(t->evm, NULL);
    res->reason = l.words;
    return e;
}

cd_err cd_trial_run(cd_trial *t, cd_tx_result *res, cd_tx_invalid *bad, const cd_tx *tx)
{
    CD_TRY(apply(t, res, bad, tx));
    bool is_vague = *bad == CD_TX_VALID && res->reason == NULL &&
                    (res->status == CD_EVM_INVALID_OPCODE || res->status == CD_EVM_STACK_UNDERFLOW ||
                     res->status == CD_EVM_STACK_OVERFLOW);
    return is_vague ? find_words(t, res, tx) : CD_OK;
}

/* --- words --- */

static const char *dec(const cd_trial *t, const cd_u256 *v)
{
    char text[CD_U256_TEXT_MAX];
    (void)cd_u256_fmt_dec(text, v);
    return cd_arena_fmt(t->call->arena, "%s", text);
}

/* Says how much the sender owns and would have to own, in wei. */
static const char *funds(const cd_trial *t, const char *what, const char *who, const cd_tx *tx)
{
    cd_arena *a = t->call->arena;
    cd_u256 want;
    if (!cd_u256_checked_mul_u64(&want, &tx->fee_cap, tx->gas_limit) ||
        !cd_u256_checked_add(&want, &want, &tx->value)) {
        return cd_arena_fmt(a, "%s: address %s required balance exceeds 256 bits", what, who);
    }
    return cd_arena_fmt(a, "%s: address %s have %s want %s", what, who,
                        dec(t, &cd_state_acct(t->st, &tx->sender)->balance), dec(t, &want));
}

const char *cd_trial_words(const cd_trial *t, cd_tx_invalid bad, const cd_tx *tx)
{
    cd_arena *a = t->call->arena;
    const char *what = cd_tx_invalid_str(bad);
    char who[CD_ADDR_TEXT_SIZE];
    u64 need = 0;
    (void)cd_addr_fmt(who, &tx->sender);
    switch (bad) {
    case CD_TX_INSUFFICIENT_FUNDS:
        return funds(t, what, who, tx);
    case CD_TX_FEE_CAP_BELOW_BASE_FEE:
        return cd_arena_fmt(a, "%s: address %s, maxFeePerGas: %s, baseFee: %s", what, who, dec(t, &tx->fee_cap),
                            dec(t, &t->env.base_fee));
    case CD_TX_TIP_ABOVE_FEE_CAP:
        return cd_arena_fmt(a, "%s: address %s, maxPriorityFeePerGas: %s, maxFeePerGas: %s", what, who,
                            dec(t, &tx->tip_cap), dec(t, &tx->fee_cap));
    case CD_TX_INTRINSIC_GAS:
        if (cd_tx_intrinsic_gas(&need, tx, cd_chain_rules_fork(t->rules, t->env.number, t->env.time), t->precompiles) !=
            CD_TX_VALID) {
            return "gas uint64 overflow";
        }
        return cd_arena_fmt(a, "%s: have %llu, want %llu", what, (unsigned long long)tx->gas_limit,
                            (unsigned long long)need);
    case CD_TX_INITCODE_SIZE:
        return cd_arena_fmt(a, "%s: code size %zu limit %d", what, tx->data.n, 49152);
    case CD_TX_SENDER_NOT_ALLOWED:
        return cd_arena_fmt(a, "%s%s: %s", cd__api_no_role(t->call), what, who);
    case CD_TX_NONCE_TOO_LOW:
    case CD_TX_NONCE_TOO_HIGH:
        return cd_arena_fmt(a, "%s: address %s, tx: %llu state: %llu", what, who, (unsigned long long)tx->nonce,
                            (unsigned long long)cd_state_acct(t->st, &tx->sender)->nonce);
    case CD_TX_NONCE_MAX:
        return cd_arena_fmt(a, "%s: address %s, nonce: %llu", what, who, (unsigned long long)tx->nonce);
    case CD_TX_VALID:
    case CD_TX_SENDER_HAS_CODE:
    case CD_TX_TYPE_UNSUPPORTED:
    case CD_TX_GAS_LIMIT_REACHED:
    case CD_TX_BLOB_NO_HASHES:
    case CD_TX_BLOB_TOO_MANY:
    case CD_TX_BLOB_HASH_VERSION:
    case CD_TX_BLOB_FEE_CAP:
    case CD_TX_BLOB_CREATE:
    case CD_TX_SET_CODE_CREATE:
    case CD_TX_SET_CODE_NONE:
    case CD_TX_FLOOR_GAS:
    case CD_TX_CHAIN_ID:
    case CD_TX_PREDICATE:
        break;
    }
    return what;
}

cd_trial_failure cd_trial_failure_of(const cd_rpc_call *call, const cd_tx_result *res)
{
    cd_trial_failure f = {.code = CD_RPC_SERVER};
    if (res->status != CD_EVM_REVERT) {
        const char *words = res->reason != NULL ? res->reason : cd_evm_status_str(res->status);
        const char *first = res->status == CD_EVM_UNAUTHORIZED ? cd__api_no_role(call) : "";
        f.words = cd_arena_fmt(call->arena, "%s%s", first, words);
        return f;
    }
    f.words = "execution reverted";
    /* Development tools look for data, however empty [spec:dev-rpc#2.6]. */
    f.has_data = res->output.n != 0 || cd_api_of(call)->is_dev;
    if (f.has_data) {
        const char *reason = cd_revert_reason(call->arena, res->output);
        f.code = CD_RPC_REVERTED;
        if (reason != NULL) {
            f.words = cd_arena_fmt(call->arena, "execution reverted: %s", reason);
        }
    }
    return f;
}

cd_err cd_trial_fail(cd_rpc_call *call, const cd_tx_result *res)
{
    cd_trial_failure f = cd_trial_failure_of(call, res);
    if (f.has_data) {
        cd_buf data = {0};
        cd_json_w w = {.out = &data};
        cd_json_w_hex(&w, res->output);
        call->error_data = cd_arena_str(call->arena, cd_buf_bytes(&data));
        cd_buf_fini(&data);
    }
    return cd_rpc_fail(call, f.code, "%s", f.words);
}
