#include "chains/evmchain/tracers/replay.h"

#include "base/hex.h"
#include "base/mem/mem.h"

/* Accepted transactions were checked when they came in; on a development network some came from contracts. */
static const cd_tx_relax accepted = {.sender = true};

/* Checks that the block stands on an accepted one. */
static cd_err check_parent(cd_view *view, const cd_header *h, cd_errinfo *why)
{
    cd_hash32 parent;
    if (h->number == 0) {
        return cd_fail(why, CD_EINVAL, "genesis is not traceable");
    }
    cd_err e = h->number - 1 > cd_view_head(view)->block.header.number ? CD_ENOENT
                                                                       : cd_view_hash(view, &parent, h->number - 1);
    if (e == CD_OK && !cd_hash32_eq(&parent, &h->parent_hash)) {
        e = CD_ENOENT;
    }
    if (e == CD_ENOENT) {
        char hex[65] = {0};
        cd_hex_fmt(hex, cd_bytes_of(h->parent_hash.b, 32));
        return cd_fail(why, e, "block 0x%s not found", hex);
    }
    return e == CD_OK ? e : cd_fail(why, e, "store: %s", cd_err_str(e));
}

/* Stands on the state after block number. */
static cd_err stand(cd_replay **out, cd_view *view, const cd_block *block, u64 number, cd_errinfo *why)
{
    cd_replay *r = cd_new(cd_replay);
    cd_err e = cd_view_source_init(&r->src, view, number);
    if (e != CD_OK) {
        cd_free(r);
        return cd_fail(why, e, "missing trie node: the state of block %llu is not kept", (unsigned long long)number);
    }
    r->block = block;
    r->rules = cd_view_rules(view);
    r->st = cd_state_new(&r->src.world.src);
    r->evm = cd_evm_new();
    *out = r;
    return CD_OK;
}

cd_err cd_replay_new(cd_replay **out, cd_view *view, const cd_block *block, cd_errinfo *why)
{
    const cd_header *h = &block->header;
    cd_header parent;
    cd_replay *r;
    CD_TRY(check_parent(view, h, why));
    CD_TRY(stand(&r, view, block, h->number - 1, why));
    cd_err e = cd_view_header(view, &parent, &r->arena, h->number - 1);
    if (e == CD_OK) {
        e = cd_block_run_begin(&r->run, r->rules, r->evm, r->st, &r->arena, h, parent.time, NULL);
    }
    if (e != CD_OK) {
        cd_replay_free(r);
        return cd_fail(why, e, "block %llu: %s", (unsigned long long)h->number, cd_err_str(e));
    }
    *out = r;
    return CD_OK;
}

cd_err cd_replay_behind(cd_replay **out, cd_view *view, const cd_block *block, cd_errinfo *why)
{
    CD_TRY(stand(out, view, block, block->header.number, why));
    cd_chain_rules_env((*out)->rules, &(*out)->run.env, &block->header);
    (*out)->next = block->tx_cnt;
    return CD_OK;
}

void cd_replay_free(cd_replay *r)
{
    if (r == NULL) {
        return;
    }
    cd_block_exec_abort(&r->run.exec);
    cd_evm_free(r->evm);
    cd_state_free(r->st);
    cd_world_scratch_free(r->scratch);
    cd_view_source_fini(&r->src);
    cd_arena_fini(&r->arena);
    cd_free(r);
}

/* Runs the next transaction without looking. */
static cd_err step(cd_replay *r, cd_errinfo *why)
{
    cd_tx_result res;
    usize idx = r->next++;
    cd_tx_invalid bad = cd_tx_apply(r->evm, &res, &r->run.exec.gas_left, &r->block->txs[idx], &accepted);
    cd_err e = cd_state_error(r->st);
    if (e != CD_OK) {
        return cd_fail(why, e, "state: %s", cd_err_str(e));
    }
    return bad == CD_TX_VALID ? CD_OK
                              : cd_fail(why, CD_EINVAL, "could not apply tx %zu: %s", idx, cd_tx_invalid_str(bad));
}

cd_err cd_replay_to(cd_replay *r, usize idx, cd_errinfo *why)
{
    CD_ASSERT(idx <= r->block->tx_cnt);
    while (r->next < idx) {
        CD_TRY(step(r, why));
    }
    return CD_OK;
}

cd_err cd_replay_root(cd_replay *r, cd_hash32 *root, cd_errinfo *why)
{
    const cd_block_exec_cfg *cfg = &r->run.exec.cfg;
    if (r->scratch == NULL) {
        r->scratch = cd_world_scratch_new(
            &(cd_world_past_cfg){
                .kv = cd_view_kv(r->src.view),
                .form = r->rules->account_form,
                .version = cd_world_version_of(r->block->header.number - 1),
            },
            &r->src.world.src);
    }
    cd_errinfo inner = {0};
    cd_err e = cd_world_scratch_apply(r->scratch, root, r->st, &inner);
    if (e != CD_OK) {
        return cd_fail(why, e, "state: %s", inner.msg[0] != '\0' ? inner.msg : cd_err_str(e));
    }
    cd_state_reset(r->st, cd_world_scratch_source(r->scratch));
    cd_evm_set_block(r->evm, cfg->fork, cfg->profile, cfg->env, r->st, cfg->precompiles);
    return CD_OK;
}

cd_err cd_replay_trace(cd_replay *r, cd_json_w *out, const cd_trace_opts *opts, const cd_clock *clock, cd_errinfo *why)
{
    CD_ASSERT(r->next < r->block->tx_cnt);
    usize log_base;
    usize idx = r->next++;
    (void)cd_state_logs(r->st, &log_base);
    cd_trace_tx tx = {
        .tx = &r->block->txs[idx],
        .st = r->st,
        .fork = r->run.exec.cfg.fork,
        .coinbase = r->run.env.coinbase,
        .in_block = true,
        .block_hash = r->block->hash,
        .block_number = r->run.env.number,
        .idx = idx,
        .log_base = log_base,
    };
    return cd_trace_run(out, r->evm, &r->run.exec.gas_left, &tx, &accepted, opts, clock, why);
}

cd_err cd_replay_call(cd_replay *r, cd_json_w *out, const cd_tx *tx, const cd_precompile_table *precompiles,
                      const cd_tx_relax *relax, const cd_trace_opts *opts, const cd_clock *clock, cd_errinfo *why)
{
    const cd_block_env *env = &r->run.env;
    u64 gas_pool = UINT64_MAX;
    cd_fork fork = cd_chain_rules_fork(r->rules, env->number, env->time);
    r->next = r->block->tx_cnt;
    if (precompiles == NULL) {
        precompiles = cd_chain_rules_table(r->rules, env->number, env->time);
    }
    cd_evm_set_block(r->evm, fork, r->rules->profile, env, r->st, precompiles);
    cd_trace_tx job = {.tx = tx, .st = r->st, .fork = fork, .coinbase = env->coinbase};
    return cd_trace_run(out, r->evm, &gas_pool, &job, relax, opts, clock, why);
}

cd_err cd_replay_watch(cd_replay *r, cd_tracer *hooks, cd_errinfo *why)
{
    CD_ASSERT(r->next < r->block->tx_cnt);
    cd_evm_set_tracer(r->evm, hooks);
    cd_err e = step(r, why);
    cd_evm_set_tracer(r->evm, NULL);
    return e;
}
