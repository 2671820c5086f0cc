/* The execution of one made-up block. */
#include "base/hex.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/calls/override.h"
#include "chains/evmchain/rpc/calls/simulate.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "chains/evmchain/rpc/scope.h"
#include "crypto/hash/keccak.h"
#include "evm/interp/opcode.h"
#include "evm/rules/gas.h"
#include "rpc/param.h"
#include "types/addr_text.h"

enum { GAS_LIMIT_REACHED = -38015, MOVED_TO_ITSELF = -38022, MOVED_TWICE = -38023 };

/* The parameter that everything is read from. */
enum { ARG };

/* --- logs, with transfers among them --- */

/* keccak256 of Transfer(address,address,uint256), and the address that transfers of the coin itself are logged by. */
static const cd_hash32 transfer_topic = {.b = {0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0,
                                               0x68, 0xfc, 0x37, 0x8d, 0xaa, 0x95, 0x2b, 0xa7, 0xf1, 0x63, 0xc4,
                                               0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef}};
static const cd_addr20 coin = {.b = {0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
                                     0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee}};

/* Hears the messages of one transaction: what they use, their logs and the value they move. */
typedef struct cd__sim_watch {
    cd_tracer hooks; /* first */
    cd_arena *arena;
    bool traces;
    u64 gas_used; /* gas that the outermost message used */
    cd_log *logs;
    usize cnt;
    usize cap;
    usize mark[CD_CALL_DEPTH_MAX + 3]; /* logs before the running message of each depth */
} watch;

static void push_log(watch *w, const cd_log *log)
{
    if (w->cnt == w->cap) {
        usize cap = w->cap == 0 ? 16 : 2 * w->cap;
        cd_log *more = cd_arena_array(w->arena, cd_log, cap);
        if (w->cnt != 0) {
            memcpy(more, w->logs, w->cnt * sizeof *more);
        }
        w->logs = more;
        w->cap = cap;
    }
    cd_log *own = &w->logs[w->cnt++];
    *own = *log;
    own->data = cd_arena_dup(w->arena, log->data);
}

static void on_log(cd_tracer *hooks, const cd_log *log)
{
    push_log((watch *)(void *)hooks, log);
}

static bool moves_value(u8 op, const cd_evm_msg *msg)
{
    bool carries = op == CD_OP_CALL || op == CD_OP_CREATE || op == CD_OP_CREATE2 || op == CD_OP_SELFDESTRUCT;
    return carries && !cd_u256_is_zero(&msg->value);
}

static void on_enter(cd_tracer *hooks, u32 depth, u8 op, const cd_evm_msg *msg)
{
    watch *w = (watch *)(void *)hooks;
    u8 value[32];
    w->mark[depth] = w->cnt;
    if (!w->traces || !moves_value(op, msg)) {
        return;
    }
    cd_log log = {
        .addr = coin,
        .topic_cnt = 3,
        .data = cd_bytes_of(value, sizeof value),
        .topics = {transfer_topic},
    };
    memcpy(log.topics[1].b + 12, msg->caller.b, 20);
    memcpy(log.topics[2].b + 12, msg->to.b, 20);
    cd_u256_store_be(value, &msg->value);
    push_log(w, &log);
}

static void on_exit_frame(cd_tracer *hooks, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    watch *w = (watch *)(void *)hooks;
    if (res->status != CD_EVM_OK) {
        w->cnt = w->mark[depth];
    }
    if (depth == 0) {
        w->gas_used = gas_used;
    }
}

/* --- calls as transactions --- */

/* What a call leaves out, and whether the block has room for it. */
static cd_err complete(cd__sim *s, cd__tx_args *args)
{
    cd_tx *tx = &args->tx;
    const cd_block_exec *x = &s->run.exec;
    if (!args->has_nonce) {
        tx->nonce = cd_state_acct(s->st, &tx->sender)->nonce;
    }
    if (!args->has_gas) {
        tx->gas_limit = x->gas_left;
    }
    if (tx->gas_limit > x->gas_left) {
        return cd_rpc_fail(s->call, GAS_LIMIT_REACHED, "block gas limit reached: %llu >= %llu",
                           (unsigned long long)x->gas_used, (unsigned long long)s->block.header.gas_limit);
    }
    tx->gas_limit = cd_min_u64(tx->gas_limit, s->gas_left);
    return CD_OK;
}

/* Encodes a transaction that nobody signed: v, r and s are 0, whatever its type. */
static void encode(cd__sim *s, cd_tx *tx)
{
    static const cd_u256 zero;
    cd_buf raw = {0};
    if (tx->type != CD_TX_LEGACY) {
        cd_tx_enc(&raw, tx);
    } else {
        usize list = cd_rlp_begin(&raw);
        cd_rlp_put_u64(&raw, tx->nonce);
        cd_rlp_put_u256(&raw, &tx->fee_cap);
        cd_rlp_put_u64(&raw, tx->gas_limit);
        cd_rlp_put_str(&raw, cd_bytes_of(tx->to.b, tx->is_create ? 0 : sizeof tx->to.b));
        cd_rlp_put_u256(&raw, &tx->value);
        cd_rlp_put_str(&raw, tx->data);
        for (int i = 0; i < 3; i++) {
            cd_rlp_put_u256(&raw, &zero);
        }
        cd_rlp_close(&raw, list);
    }
    tx->raw = cd_arena_dup(s->call->arena, cd_buf_bytes(&raw));
    cd_keccak256(&tx->hash, tx->raw);
    cd_buf_fini(&raw);
}

static int code_of(cd_tx_invalid bad)
{
    switch (bad) {
    case CD_TX_NONCE_TOO_LOW:
        return -38010;
    case CD_TX_NONCE_TOO_HIGH:
        return -38011;
    case CD_TX_FEE_CAP_BELOW_BASE_FEE:
        return -38012;
    case CD_TX_INTRINSIC_GAS:
    case CD_TX_FLOOR_GAS:
        return -38013;
    case CD_TX_INSUFFICIENT_FUNDS:
        return -38014;
    case CD_TX_GAS_LIMIT_REACHED:
        return GAS_LIMIT_REACHED;
    case CD_TX_SENDER_HAS_CODE:
        return -38024;
    case CD_TX_INITCODE_SIZE:
        return -38025;
    case CD_TX_TIP_ABOVE_FEE_CAP:
        return CD_RPC_INVALID_PARAMS;
    case CD_TX_VALID:
    case CD_TX_NONCE_MAX:
    case CD_TX_TYPE_UNSUPPORTED:
    case CD_TX_BLOB_NO_HASHES:
    case CD_TX_BLOB_TOO_MANY:
    case CD_TX_BLOB_HASH_VERSION:
    case CD_TX_BLOB_FEE_CAP:
    case CD_TX_BLOB_CREATE:
    case CD_TX_SET_CODE_CREATE:
    case CD_TX_SET_CODE_NONE:
    case CD_TX_CHAIN_ID:
    case CD_TX_SENDER_NOT_ALLOWED:
    case CD_TX_PREDICATE:
        break;
    }
    return CD_RPC_INTERNAL;
}

static cd_err refuse(cd__sim *s, cd_tx_invalid bad, const cd_tx *tx)
{
    cd_trial t = {
        .call = s->call,
        .rules = s->rules,
        .env = s->run.env,
        .precompiles = s->run.exec.cfg.precompiles,
        .st = s->st,
    };
    return cd_rpc_fail(s->call, code_of(bad), "err: %s (supplied gas %llu)", cd_trial_words(&t, bad, tx),
                       (unsigned long long)tx->gas_limit);
}

/* Runs one call. */
static cd_err run_call(cd__sim *s, cd__sim_call *out, cd_tx *tx)
{
    const cd_tx_relax relax = {.nonce = !s->validates, .sender = true, .base_fee = !s->validates};
    watch *w = s->watch;
    cd_block_exec *x = &s->run.exec;
    u64 intrinsic = 0;
    w->logs = NULL; /* the logs of the last call belong to its result */
    w->cnt = 0;
    w->cap = 0;
    if (s->validates && !cd_gate_opens(x->cfg.precompiles, CD_GATE_SEND, s->st, &tx->sender)) {
        return refuse(s, CD_TX_SENDER_NOT_ALLOWED, tx);
    }
    cd_evm_set_tracer(s->evm, &w->hooks);
    cd_tx_invalid bad = cd_block_exec_tx_relaxed(x, &out->res, tx, &relax);
    cd_evm_set_tracer(s->evm, NULL);
    cd_err e = cd_state_error(s->st);
    if (e != CD_OK) {
        return cd_api_store(s->call, e);
    }
    if (bad != CD_TX_VALID) {
        return refuse(s, bad, tx);
    }
    bad = cd_tx_intrinsic_gas(&intrinsic, tx, x->cfg.fork, x->cfg.precompiles);
    CD_ASSERT(bad == CD_TX_VALID); /* it was fit to run */
    out->gas_peak = cd_max_u64(intrinsic + w->gas_used, cd_tx_floor_gas(tx, x->cfg.fork));
    out->res.output = cd_arena_dup(s->call->arena, out->res.output);
    out->logs = w->logs;
    out->log_cnt = w->cnt;
    s->gas_left -= out->res.gas_used;
    return CD_OK;
}

static watch *watch_new(const cd__sim *s)
{
    watch *w = cd_arena_new(s->call->arena, watch);
    w->hooks = (cd_tracer){.enter = on_enter, .exit = on_exit_frame, .log = on_log, .calls_only = true};
    w->arena = s->call->arena;
    w->traces = s->traces;
    return w;
}

static cd_err run_calls(cd__sim *s, const cd__sim_block *b)
{
    cd_block *block = &s->block;
    s->watch = s->watch == NULL ? watch_new(s) : s->watch;
    usize cnt = cd_json_len(b->calls);
    block->txs = cd_arena_array(s->call->arena, cd_tx, cnt);
    s->results = cd_arena_array(s->call->arena, cd__sim_call, cnt);
    cd_json_it it = cd_json_iter(b->calls);
    while (cd_json_next(&it)) {
        cd__tx_args args;
        if (cd_rpc_is_late(s->call)) {
            return cd_rpc_fail_late(s->call);
        }
        CD_TRY(cd__api_tx_args_of(s->call, &args, it.val, ARG));
        CD_TRY(complete(s, &args));
        encode(s, &args.tx);
        block->txs[block->tx_cnt] = args.tx;
        CD_TRY(run_call(s, &s->results[block->tx_cnt], &args.tx));
        block->tx_cnt++;
    }
    return CD_OK;
}

/* --- a block --- */

/* Refuses what the standard has codes of its own for; all else is the overrides' business. */
static cd_err check_moves(cd__sim *s, cd_json all)
{
    cd_json_it it = cd_json_iter(all);
    while (cd_json_next(&it)) {
        cd_json to = cd_json_get(it.val, "movePrecompileToAddress");
        cd_addr20 from;
        cd_addr20 target;
        if (!cd_json_has(to) || it.key.n != 2 + 2 * sizeof from.b ||
            cd_hex_parse(from.b, cd_bytes_sub(it.key, 2, it.key.n - 2)) != CD_OK ||
            cd_precompile_find(s->run.exec.cfg.precompiles, &from) == NULL) {
            continue;
        }
        CD_TRY(cd_rpc_read_addr(s->call, &target, to, ARG));
        char text[CD_ADDR_TEXT_SIZE];
        if (cd_addr20_eq(&from, &target)) {
            return cd_rpc_fail(s->call, MOVED_TO_ITSELF, "MovePrecompileToAddress referenced itself in replacement: %s",
                               cd_addr_fmt(text, &from));
        }
        for (cd_json_it later = it; cd_json_next(&later);) {
            cd_addr20 other;
            cd_json too = cd_json_get(later.val, "movePrecompileToAddress");
            if (!cd_json_has(too)) {
                continue;
            }
            CD_TRY(cd_rpc_read_addr(s->call, &other, too, ARG));
            if (cd_addr20_eq(&target, &other)) {
                return cd_rpc_fail(s->call, MOVED_TWICE,
                                   "multiple MovePrecompileToAddress referencing the same address: %s",
                                   cd_addr_fmt(text, &target));
            }
        }
    }
    return CD_OK;
}

/* The precompiles and the blob price that the block was asked to have. */
static cd_err pretend(cd__sim *s, const cd__sim_block *b)
{
    cd_block_exec_cfg *cfg = &s->run.exec.cfg;
    cd_json blob_fee = cd_json_get(b->env, "blobBaseFee");
    if (cd_json_has(blob_fee)) {
        CD_TRY(cd_rpc_read_u256(s->call, &s->run.env.blob_base_fee, blob_fee, ARG));
    } else if (!s->validates) {
        s->run.env.blob_base_fee = cd_u256_zero();
    }
    CD_TRY(check_moves(s, b->state));
    CD_TRY(cd__api_override_table(s->call, &s->moved, cfg->precompiles, b->state, ARG));
    cfg->precompiles = s->moved != NULL ? s->moved : cfg->precompiles;
    cd_evm_set_block(s->evm, cfg->fork, cfg->profile, cfg->env, s->st, cfg->precompiles);
    return CD_OK;
}

/* Results of predicates stand behind the fee window: none. */
static void put_predicates(cd__sim *s, cd_header *h)
{
    const cd_when *durango = &s->rules->config.durango;
    if (!cd_chain_rules_is_eth(s->rules) && durango->is_set && h->time >= durango->at) {
        cd_buf extra = {0};
        cd_buf_put(&extra, h->extra);
        cd_predicate_results_enc(&extra, &(cd_predicate_results){0});
        h->extra = cd_arena_dup(s->call->arena, cd_buf_bytes(&extra));
        cd_buf_fini(&extra);
    }
}

/* Completes the header behind the last transaction. */
static cd_err seal(cd__sim *s)
{
    cd_block *b = &s->block;
    cd_header *h = &b->header;
    cd_errinfo why = {0};
    cd_block_exec_withdrawals(&s->run.exec, b->withdrawals, b->withdrawal_cnt);
    cd_err e = cd_block_exec_end(&s->run.exec, &h->receipt_root);
    if (e != CD_OK) {
        return cd_api_store(s->call, e);
    }
    h->gas_used = s->run.exec.gas_used;
    h->bloom = s->run.exec.bloom;
    h->blob_gas_used = s->run.exec.blob_gas_used;
    e = cd_world_scratch_apply(s->scratch, &h->state_root, s->st, &why);
    if (e == CD_ELIMIT) {
        return cd_rpc_fail(s->call, CD_RPC_SERVER, "%s", why.msg);
    }
    if (e != CD_OK) {
        return cd_api_store(s->call, e);
    }
    cd_block_tx_root(&h->tx_root, b->txs, b->tx_cnt);
    cd_header_hash(&b->hash, s->rules->layout, h);
    cd_world_scratch_name(s->scratch, h->number, &b->hash);
    s->parent = *h;
    s->parent_hash = b->hash;
    return CD_OK;
}

cd_err cd__sim_run(cd__sim *s, const cd__sim_block *b)
{
    cd_header *h = &s->block.header;
    u64 parent_time = s->parent.time;
    s->block = (cd_block){0};
    CD_TRY(cd__sim_header(s, h, b));
    CD_TRY(cd__sim_withdrawals(s, &s->block, b));
    cd_state_reset(s->st, cd_world_scratch_source(s->scratch));
    CD_TRY(cd__api_override_accounts(s->call, s->st, b->state, ARG));
    cd_err e = cd_block_run_begin(&s->run, s->rules, s->evm, s->st, s->call->arena, h, parent_time,
                                  &(cd_predicate_results){0});
    if (e != CD_OK) {
        return cd_api_store(s->call, e);
    }
    put_predicates(s, h);
    e = pretend(s, b);
    if (e == CD_OK) {
        e = run_calls(s, b);
    }
    if (e == CD_OK) {
        e = seal(s);
    } else {
        cd_block_exec_abort(&s->run.exec);
    }
    cd_precompile_table_free(s->moved);
    s->moved = NULL;
    return e;
}
