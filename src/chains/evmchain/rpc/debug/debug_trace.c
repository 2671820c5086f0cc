/* The debug_trace methods: accepted transactions and blocks executed again, and calls tried, under a tracer.
 *
 * All of them read a view, on any thread. [spec:eth-rpc#6] [spec:dev-rpc#2.8] */
#include "base/hex.h"
#include "base/os/fileio.h"
#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/calls/override.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/tracers/replay.h"
#include "rpc/param.h"

/* What every method works on. */
typedef struct job {
    cd_rpc_call *call;
    cd_view *view;
    cd_replay *replay;
    cd_precompile_table *moved; /* precompiles as a traced call's overrides have moved them, or NULL */
    cd_trace_opts opts;
    cd_errinfo why;
} job;

static void job_init(job *j, cd_rpc_call *call)
{
    *j = (job){.call = call, .view = cd_view_newest(cd_api_of(call)->chain)};
}

/* Ends the job; a failure that no words were found for yet gets those of why. */
static cd_err job_end(job *j, cd_err e)
{
    cd_rpc_call *call = j->call;
    cd_replay_free(j->replay);
    cd_precompile_table_free(j->moved);
    cd_view_unref(j->view);
    if (e == CD_OK || call->error_message != NULL) {
        return e;
    }
    if (e == CD_ETIMEOUT && cd_rpc_is_late(call)) {
        return cd_rpc_fail_late(call);
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", j->why.msg[0] != '\0' ? j->why.msg : cd_err_str(e));
}

/* An eighth of the node's memory, of which a thirty-second is for texts. */
static usize bytes_max(const cd_api *api)
{
    enum { LEAST = 16 << 20 };
    usize texts = api->service.cfg.text_bytes;
    usize n = texts == 0 ? CD_TRACE_BYTES_MAX : 4 * texts;
    return (usize)cd_max_u64(LEAST, cd_min_u64(n, CD_TRACE_BYTES_MAX));
}

/* Reads the options, parameter idx. A request that has less time left gets no more for its traces. */
static cd_err read_opts(job *j, usize idx)
{
    cd_rpc_call *call = j->call;
    cd_err e = cd_trace_opts_read(&j->opts, call->arena, cd_rpc_arg(call, idx), &j->why);
    if (e == CD_ETYPE) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: %s", idx, j->why.msg);
    }
    CD_TRY(e);
    u64 now = cd_clock_mono_ns(cd_clock_real());
    u64 left = call->deadline_ns > now ? call->deadline_ns - now : 0;
    j->opts.timeout_ns = cd_min_u64(j->opts.timeout_ns, left);
    j->opts.bytes_max = bytes_max(cd_api_of(call));
    return CD_OK;
}

/* --- blocks --- */

static cd_err by_hash(job *j, const cd_accepted **out, const cd_hash32 *hash)
{
    cd_err e = cd_view_block_by_hash(j->view, out, j->call->arena, hash);
    if (e == CD_ENOENT) {
        char hex[65] = {0};
        cd_hex_fmt(hex, cd_bytes_of(hash->b, 32));
        return cd_fail(&j->why, e, "block 0x%s not found", hex);
    }
    return e;
}

static cd_err by_ref(job *j, const cd_accepted **out, usize idx)
{
    cd_block_ref ref;
    u64 number = cd_view_head(j->view)->block.header.number;
    CD_TRY(cd_rpc_read_block(j->call, &ref, cd_rpc_arg(j->call, idx), idx));
    switch (ref.tag) {
    case CD_TAG_HASH:
        return by_hash(j, out, &ref.hash);
    case CD_TAG_NUMBER:
        if (ref.number > number) {
            return cd_fail(&j->why, CD_ENOENT, "cannot query unfinalized data");
        }
        number = ref.number;
        break;
    case CD_TAG_EARLIEST:
        number = 0;
        break;
    case CD_TAG_SAFE:
    case CD_TAG_FINALIZED:
        number = cd_api_final(cd_api_of(j->call), number);
        break;
    case CD_TAG_LATEST:
    case CD_TAG_PENDING:
        break;
    }
    return cd_view_block(j->view, out, j->call->arena, number);
}

/* Traces all transactions of a block: [{"txHash", "result"}]. */
static cd_err trace_block(job *j, const cd_block *b, usize opts_idx)
{
    cd_json_w *w = j->call->out;
    CD_TRY(read_opts(j, opts_idx));
    CD_TRY(cd_replay_new(&j->replay, j->view, b, &j->why));
    cd_json_w_arr(w);
    for (usize i = 0; i < b->tx_cnt; i++) {
        if (cd_rpc_is_late(j->call)) {
            return CD_ETIMEOUT;
        }
        cd_json_w_obj(w);
        cd_json_w_key(w, "txHash");
        cd_json_w_hex(w, cd_bytes_of(b->txs[i].hash.b, 32));
        cd_json_w_key(w, "result");
        CD_TRY(cd_replay_trace(j->replay, w, &j->opts, cd_clock_real(), &j->why));
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    return CD_OK;
}

static cd_err block_by_number(job *j)
{
    const cd_accepted *acc;
    CD_TRY(by_ref(j, &acc, 0));
    return trace_block(j, &acc->block, 1);
}

cd_err cd__debug_trace_block_by_number(cd_rpc_call *call)
{
    job j;
    job_init(&j, call);
    return job_end(&j, block_by_number(&j));
}

static cd_err block_by_hash(job *j)
{
    const cd_accepted *acc;
    cd_hash32 hash;
    CD_TRY(cd_rpc_read_hash(j->call, &hash, cd_rpc_arg(j->call, 0), 0));
    CD_TRY(by_hash(j, &acc, &hash));
    return trace_block(j, &acc->block, 1);
}

cd_err cd__debug_trace_block_by_hash(cd_rpc_call *call)
{
    job j;
    job_init(&j, call);
    return job_end(&j, block_by_hash(&j));
}

static cd_err block_of(job *j, cd_bytes rlp)
{
    cd_rpc_call *call = j->call;
    cd_errinfo why = {0};
    cd_block b;
    cd_err e = cd_block_dec(&b, call->arena, cd_view_rules(j->view)->layout, rlp, &why);
    if (e == CD_OK) {
        e = cd_chain_recover(NULL, b.txs, b.tx_cnt, &why);
    }
    if (e != CD_OK) {
        return cd_fail(&j->why, e, "could not decode block: %s", why.msg);
    }
    return trace_block(j, &b, 1);
}

static cd_err block_of_bytes(job *j)
{
    cd_bytes rlp;
    CD_TRY(cd_rpc_read_data(j->call, &rlp, cd_rpc_arg(j->call, 0), 0));
    return block_of(j, rlp);
}

cd_err cd__debug_trace_block(cd_rpc_call *call)
{
    job j;
    job_init(&j, call);
    return job_end(&j, block_of_bytes(&j));
}

static cd_err block_of_file(job *j)
{
    cd_rpc_call *call = j->call;
    cd_errinfo why = {0};
    cd_buf file = {0};
    cd_bytes name;
    const char *path;
    if (cd_json_str(&name, cd_rpc_arg(call, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 0: json: cannot unmarshal value into Go value of "
                           "type string");
    }
    CD_TRY(cd__admin_path(call, &path, name));
    cd_err e = cd_fs_read_file(cd_fs_real(), &file, path, CD_BLOCK_SIZE_MAX, &why);
    cd_bytes rlp = cd_arena_dup(call->arena, cd_buf_bytes(&file));
    cd_buf_fini(&file);
    return e == CD_OK ? block_of(j, rlp) : cd_fail(&j->why, e, "could not read file: %s", why.msg);
}

cd_err cd__debug_trace_block_from_file(cd_rpc_call *call)
{
    job j;
    job_init(&j, call);
    return job_end(&j, block_of_file(&j));
}

/* Blocks that were refused are not kept. */
cd_err cd__debug_trace_bad_block(cd_rpc_call *call)
{
    cd_hash32 hash;
    char hex[65] = {0};
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    cd_hex_fmt(hex, cd_bytes_of(hash.b, 32));
    return cd_rpc_fail(call, CD_RPC_SERVER, "bad block 0x%s not found", hex);
}

/* --- roots --- */

static cd_err intermediate_roots(job *j)
{
    const cd_accepted *acc;
    cd_hash32 hash;
    cd_json_w *w = j->call->out;
    CD_TRY(cd_rpc_read_hash(j->call, &hash, cd_rpc_arg(j->call, 0), 0));
    CD_TRY(read_opts(j, 1));
    CD_TRY(by_hash(j, &acc, &hash));
    CD_TRY(cd_replay_new(&j->replay, j->view, &acc->block, &j->why));
    cd_json_w_arr(w);
    for (usize i = 1; i <= acc->block.tx_cnt; i++) {
        cd_hash32 root;
        if (cd_rpc_is_late(j->call)) {
            return CD_ETIMEOUT;
        }
        CD_TRY(cd_replay_to(j->replay, i, &j->why));
        CD_TRY(cd_replay_root(j->replay, &root, &j->why));
        cd_json_w_hex(w, cd_bytes_of(root.b, sizeof root.b));
    }
    cd_json_w_arr_end(w);
    return CD_OK;
}

cd_err cd__debug_intermediate_roots(cd_rpc_call *call)
{
    job j;
    job_init(&j, call);
    return job_end(&j, intermediate_roots(&j));
}

/* --- transactions --- */

static cd_err transaction(job *j)
{
    cd_rpc_call *call = j->call;
    const cd_accepted *acc;
    cd_hash32 hash;
    usize idx;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    CD_TRY(read_opts(j, 1));
    cd_err e = cd_view_tx(j->view, &acc, &idx, call->arena, &hash);
    if (e == CD_ENOENT) {
        return cd_fail(&j->why, e, "transaction not found");
    }
    CD_TRY(e);
    CD_TRY(cd_replay_new(&j->replay, j->view, &acc->block, &j->why));
    CD_TRY(cd_replay_to(j->replay, idx, &j->why));
    return cd_replay_trace(j->replay, call->out, &j->opts, cd_clock_real(), &j->why);
}

cd_err cd__debug_trace_transaction(cd_rpc_call *call)
{
    job j;
    job_init(&j, call);
    return job_end(&j, transaction(&j));
}

/* --- calls --- */

/* Stands behind the block, or before one of its transactions. */
static cd_err stand(job *j, const cd_block *b, cd_json tx_index, usize idx)
{
    u64 at;
    if (!cd_json_has(tx_index)) {
        return cd_replay_behind(&j->replay, j->view, b, &j->why);
    }
    CD_TRY(cd_rpc_read_u64(j->call, &at, tx_index, idx));
    if (at != 0 && at >= b->tx_cnt) {
        char hex[65] = {0};
        cd_hex_fmt(hex, cd_bytes_of(b->hash.b, 32));
        return cd_fail(&j->why, CD_ENOENT, "transaction index %llu out of range for block 0x%s", (unsigned long long)at,
                       hex);
    }
    CD_TRY(cd_replay_new(&j->replay, j->view, b, &j->why));
    return cd_replay_to(j->replay, at, &j->why);
}

static cd_err trial(job *j)
{
    static const cd_tx_relax relax = {.nonce = true, .sender = true, .base_fee = true};
    enum { ARGS, BLOCK, OPTS };
    cd_rpc_call *call = j->call;
    cd_json opts = cd_rpc_arg(call, OPTS);
    cd_json overrides = cd_json_get(opts, "stateOverrides");
    const cd_accepted *acc;
    cd__tx_args args;
    CD_TRY(cd__api_tx_args(call, &args, ARGS));
    CD_TRY(read_opts(j, OPTS));
    CD_TRY(by_ref(j, &acc, BLOCK));
    CD_TRY(stand(j, &acc->block, cd_json_get(opts, "txIndex"), OPTS));
    cd_block_env *env = &j->replay->run.env;
    CD_TRY(cd__api_override_block(call, env, cd_json_get(opts, "blockOverrides"), OPTS));
    CD_TRY(cd__api_override_table(call, &j->moved, cd_chain_rules_table(j->replay->rules, env->number, env->time),
                                  overrides, OPTS));
    CD_TRY(cd__api_override_accounts(call, j->replay->st, overrides, OPTS));
    args.tx.gas_limit = cd__api_gas(call, &args);
    if (cd_u256_is_zero(&args.tx.fee_cap)) {
        env->base_fee = cd_u256_zero(); /* without a gas price the base fee is 0 for the call */
    }
    return cd_replay_call(j->replay, call->out, &args.tx, j->moved, &relax, &j->opts, cd_clock_real(), &j->why);
}

cd_err cd__debug_trace_call(cd_rpc_call *call)
{
    job j;
    job_init(&j, call);
    return job_end(&j, trial(&j));
}
