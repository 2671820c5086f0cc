#include "lab/run.h"

#include "chains/evmchain/tracers/trace3155.h"
#include "codec/json.h"
#include "lab/mapstate.h"

typedef struct runner {
    const cd_lab_run_cfg *cfg;
    cd_arena arena;
    cd_trie_build *build;
    cd_evm *evm;
    cd_state *state;
} runner;

/* Gives the receiver its code and the sender its money, in a transaction of its own. */
static void prepare(runner *r)
{
    const cd_lab_run_cfg *cfg = r->cfg;
    cd_acct *sender = cd_state_acct(r->state, &cfg->sender);
    cd_state_begin_tx(r->state);
    if (cd_u256_lt(&sender->balance, &cfg->value)) {
        cd_state_set_balance(r->state, sender, &cfg->value);
    }
    if (!cfg->is_create && cfg->code.n != 0) {
        cd_state_set_code(r->state, cd_state_acct(r->state, &cfg->receiver), cfg->code);
    }
    cd_state_end_tx(r->state, false);
}

/* Makes warm what EIP-2929 and EIP-3651 have warm before a transaction. */
static void warm_up(runner *r, const cd_addr20 *to)
{
    usize cnt;
    const cd_precompile *pre = cd_precompile_list(cd_precompile_eth(r->cfg->fork), &cnt);
    cd_state_begin_tx(r->state);
    for (usize i = 0; i < cnt; i++) {
        (void)cd_state_warm_acct(r->state, cd_state_acct(r->state, &pre[i].addr));
    }
    (void)cd_state_warm_acct(r->state, cd_state_acct(r->state, &r->cfg->sender));
    (void)cd_state_warm_acct(r->state, cd_state_acct(r->state, to));
}

static void put_line(cd_buf *out, runner *r, const cd_evm_result *res, const cd_hash32 *root)
{
    usize log_cnt;
    (void)cd_state_logs(r->state, &log_cnt);
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "status", res->status == CD_EVM_OK ? "ok" : cd_evm_status_str(res->status));
    cd_json_put_qty(&w, "gasUsed", r->cfg->gas - res->gas_left);
    cd_json_put_hex(&w, "output", res->output);
    cd_json_put_u64(&w, "logs", log_cnt);
    cd_json_put_hex(&w, "stateRoot", cd_bytes_of(root->b, 32));
    cd_json_w_obj_end(&w);
    cd_buf_u8(out, '\n');
}

static cd_err run(cd_buf *out, runner *r, cd_errinfo *why)
{
    const cd_lab_run_cfg *cfg = r->cfg;
    cd_genesis g = {0};
    if (cfg->prestate.n != 0) {
        CD_TRY(cd_genesis_parse(&g, &r->arena, cfg->prestate, why));
    }
    cd_mapstate *pre = cd_mapstate_new(&r->arena, r->build, g.accounts, g.account_cnt);
    cd_mapstate *post;
    cd_block_env env = {
        .number = cfg->number,
        .time = cfg->time,
        .gas_limit = cfg->gas,
        .blob_base_fee = cd_u256_one(),
        .chain_id = g.config.has_chain_id ? g.config.chain_id : 1,
    };
    cd_tx_env tx = {.origin = cfg->sender};
    cd_buf init = {0};
    cd_buf_put(&init, cfg->code);
    cd_buf_put(&init, cfg->input);
    cd_evm_msg msg = {
        .kind = cfg->is_create ? CD_CREATE : CD_CALL,
        .gas = cfg->gas,
        .caller = cfg->sender,
        .to = cfg->receiver,
        .code = cfg->receiver,
        .value = cfg->value,
        .input = cfg->is_create ? cd_buf_bytes(&init) : cfg->input,
    };
    cd_state_reset(r->state, &pre->src);
    prepare(r);
    if (cfg->is_create) {
        u64 nonce = cd_state_acct(r->state, &cfg->sender)->nonce;
        cd_evm_create_addr(&msg.to, &cfg->sender, nonce);
        msg.code = msg.to;
    }
    cd_evm_set_block(r->evm, cfg->fork, CD_PROFILE_ETHEREUM, &env, r->state, cd_precompile_eth(cfg->fork));
    cd_evm_set_tx(r->evm, &tx);
    warm_up(r, &msg.to);
    cd_trace3155 tracer;
    cd_trace3155_init(&tracer, out);
    tracer.memory = cfg->trace_memory;
    tracer.return_data = cfg->trace_return_data;
    cd_evm_set_tracer(r->evm, cfg->trace ? &tracer.tracer : NULL);
    cd_evm_result res;
    cd_evm_call(r->evm, &res, &msg);
    cd_state_end_tx(r->state, cfg->fork >= CD_SPURIOUS);
    cd_err e = cd_mapstate_next(&post, &r->arena, r->build, pre, r->state);
    if (e == CD_OK) {
        put_line(out, r, &res, &post->root);
    } else {
        (void)cd_fail(why, e, "state: %s", cd_err_str(e));
    }
    cd_buf_fini(&init);
    return e;
}

cd_err cd_lab_run(cd_buf *out, const cd_lab_run_cfg *cfg, cd_errinfo *why)
{
    runner r = {
        .cfg = cfg,
        .build = cd_trie_build_new(NULL, NULL),
        .evm = cd_evm_new(),
        .state = cd_state_new(NULL),
    };
    cd_evm_set_tier(r.evm, cfg->tier);
    cd_err e = run(out, &r, why);
    cd_state_free(r.state);
    cd_evm_free(r.evm);
    cd_trie_build_free(r.build);
    cd_arena_fini(&r.arena);
    return e;
}
