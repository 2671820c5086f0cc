#include "chains/evmchain/rpc/calls/simulate.h"

#include "chains/evmchain/core/revert.h"
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/param.h"

enum { VM_FAILED = -32015 };

enum { ARG, BLOCK };

/* --- answers --- */

static void write_failure(cd__sim *s, const cd_tx_result *res)
{
    cd_json_w *w = s->call->out;
    cd_trial_failure f = cd_trial_failure_of(s->call, res);
    bool is_revert = res->status == CD_EVM_REVERT;
    cd_json_w_key(w, "error");
    cd_json_w_obj(w);
    cd_json_w_key(w, "message");
    cd_json_w_cstr(w, f.words);
    cd_json_w_key(w, "code");
    cd_json_w_i64(w, is_revert ? CD_RPC_REVERTED : VM_FAILED);
    if (is_revert) {
        cd_json_w_key(w, "data");
        cd_json_w_hex(w, res->output);
    }
    cd_json_w_obj_end(w);
}

static void write_call(cd__sim *s, const cd__sim_call *c, const cd_tx_place *at, usize log_base)
{
    cd_json_w *w = s->call->out;
    bool ok = c->res.status == CD_EVM_OK;
    cd_json_w_obj(w);
    cd_json_w_key(w, "returnData");
    cd_json_w_hex(w, ok ? c->res.output : (cd_bytes){0});
    cd_json_w_key(w, "logs");
    cd_json_w_arr(w);
    for (usize i = 0; i < c->log_cnt; i++) {
        cd_api_log(w, &c->logs[i], at, log_base + i);
    }
    cd_json_w_arr_end(w);
    cd_json_w_key(w, "gasUsed");
    cd_json_w_qty(w, c->res.gas_used);
    cd_json_w_key(w, "maxUsedGas");
    cd_json_w_qty(w, c->gas_peak);
    cd_json_w_key(w, "status");
    cd_json_w_qty(w, ok ? 1 : 0);
    if (!ok) {
        write_failure(s, &c->res);
    }
    cd_json_w_obj_end(w);
}

static void write_calls(void *ctx, cd_json_w *w)
{
    cd__sim *s = ctx;
    usize log_base = 0;
    cd_json_w_key(w, "calls");
    cd_json_w_arr(w);
    for (usize i = 0; i < s->block.tx_cnt; i++) {
        write_call(s, &s->results[i], &(cd_tx_place){.block = &s->block, .idx = i}, log_base);
        log_base += s->results[i].log_cnt;
    }
    cd_json_w_arr_end(w);
}

static void write_block(cd__sim *s)
{
    cd_buf rlp = {0};
    cd_block_enc(&rlp, s->rules->layout, &s->block);
    cd_api_block_with(s->call->out, &s->block, s->rules, cd_buf_bytes(&rlp).n, s->full_txs, write_calls, s);
    cd_buf_fini(&rlp);
}

/* --- the request --- */

static cd_err read_flag(cd_rpc_call *call, bool *out, const char *name)
{
    cd_json v = cd_json_get(cd_rpc_arg(call, ARG), name);
    return cd_json_has(v) ? cd_rpc_read_bool(call, out, v, ARG) : CD_OK;
}

/* Stands on the block that the request names. */
static cd_err stand(cd__sim *s)
{
    cd_rpc_call *call = s->call;
    cd_view *view = cd_api_view(call);
    cd_block_ref ref;
    u64 number;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, BLOCK), BLOCK));
    CD_TRY(cd__api_number(call, &number, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    s->rules = cd_view_rules(view);
    cd_err e = cd_view_header(view, &s->parent, call->arena, number);
    if (e == CD_OK) {
        e = cd_view_hash(view, &s->parent_hash, number);
    }
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    e = cd_view_source_init(&s->src, view, number);
    if (e != CD_OK) {
        s->src = (cd_view_source){0};
        return cd__api_no_state(call, e, number);
    }
    s->scratch = cd_world_scratch_new(
        &(cd_world_past_cfg){
            .kv = cd_view_kv(view),
            .form = s->rules->account_form,
            .version = cd_world_version_of(number),
        },
        &s->src.world.src);
    return CD_OK;
}

static cd_err simulate(cd__sim *s)
{
    cd_rpc_call *call = s->call;
    cd_json arg = cd_rpc_arg(call, ARG);
    u64 cap = cd_api_of(call)->service.cfg.gas_cap;
    if (cd_json_kind_of(arg) != CD_JSON_OBJ) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: not an object of blockStateCalls");
    }
    CD_TRY(read_flag(call, &s->traces, "traceTransfers"));
    CD_TRY(read_flag(call, &s->validates, "validation"));
    CD_TRY(read_flag(call, &s->full_txs, "returnFullTransactions"));
    CD_TRY(stand(s));
    CD_TRY(cd__sim_plan(s, cd_json_get(arg, "blockStateCalls")));
    s->gas_left = cap == 0 ? UINT64_MAX : cap;
    s->lent = cd_trials_take(&cd_api_of(call)->service.trials);
    s->st = s->lent->st;
    s->evm = s->lent->evm;
    cd_trial_limit(s->lent, call);
    cd_json_w_arr(call->out);
    for (usize i = 0; i < s->cnt; i++) {
        if (cd_rpc_is_late(call)) {
            return cd_rpc_fail_late(call);
        }
        CD_TRY(cd__sim_run(s, &s->blocks[i]));
        write_block(s);
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}

cd_err cd__eth_simulate_v1(cd_rpc_call *call)
{
    cd__sim *s = cd_arena_new(call->arena, cd__sim);
    s->call = call;
    cd_err e = simulate(s);
    if (s->lent != NULL) {
        cd_trials_give(&cd_api_of(call)->service.trials, s->lent);
    }
    cd_world_scratch_free(s->scratch);
    if (s->src.view != NULL) {
        cd_view_source_fini(&s->src);
    }
    return e;
}
