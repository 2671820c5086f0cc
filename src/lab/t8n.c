#include "lab/t8n.h"

#include "chains/evmchain/core/rules/header_check.h"
#include "chains/evmchain/tracers/trace3155.h"
#include "codec/json.h"
#include "lab/difficulty.h"
#include "lab/mapstate.h"
#include "lab/parse_priv.h"
#include "lab/reward.h"
#include "lab/t8n_priv.h"
#include "num/u256_text.h"
#include "store/trie.h"
#include "types/addr_text.h"
#include "types/hashes.h"
#include "types/tx_codec.h"

/* --- environment --- */

/* Fails when a member that the fork needs is not there. */
static cd_err need(cd_json env, const char *key, cd_errinfo *why)
{
    return cd_json_has(cd_json_get(env, key)) ? CD_OK
                                              : cd_fail(why, CD_EINVAL, "this fork needs '%s' in the environment", key);
}

/* Reads the base fee, or computes it from the parent's values. */
static cd_err read_base_fee(cd_block_env *b, cd_json env, cd_errinfo *why)
{
    cd_json given = cd_json_get(env, "currentBaseFee");
    if (cd_json_has(given)) {
        return cd_json_u256(&b->base_fee, given, why);
    }
    cd_u256 parent_fee;
    u64 used;
    u64 limit;
    CD_TRY(need(env, "parentBaseFee", why));
    CD_TRY(cd_json_u256(&parent_fee, cd_json_get(env, "parentBaseFee"), why));
    CD_TRY(cd_json_u64(&used, cd_json_get(env, "parentGasUsed"), why));
    CD_TRY(cd_json_u64(&limit, cd_json_get(env, "parentGasLimit"), why));
    cd_eth_base_fee(&b->base_fee, &parent_fee, limit, used);
    return CD_OK;
}

/* Reads the difficulty, or computes it from the parent's values. */
static cd_err read_difficulty(cd_block_env *b, const cd__t8n *t, cd_json env, cd_errinfo *why)
{
    cd_json given = cd_json_get(env, "currentDifficulty");
    if (cd_json_has(given)) {
        return cd_json_u256(&b->prev_randao, given, why);
    }
    cd_difficulty_parent parent = {.number = b->number - 1};
    cd_hash32 uncles = {0};
    cd_json uncles_given = cd_json_get(env, "parentUncleHash");
    CD_TRY(need(env, "parentDifficulty", why));
    CD_TRY(cd_json_u256(&parent.difficulty, cd_json_get(env, "parentDifficulty"), why));
    CD_TRY(cd__lab_opt_u64(&parent.time, cd_json_get(env, "parentTimestamp"), why));
    if (cd_json_has(uncles_given)) {
        CD_TRY(cd_json_fixed(uncles.b, 32, uncles_given, why));
    }
    if (b->number == 0) {
        return cd_fail(why, CD_EINVAL, "currentDifficulty needs to be provided for block number 0");
    }
    if (b->time <= parent.time) {
        return cd_fail(why, CD_EINVAL, "the difficulty needs a currentTimestamp behind the parentTimestamp");
    }
    parent.has_uncles = !cd_hash32_eq(&uncles, &(cd_hash32){0}) && !cd_hash32_eq(&uncles, &CD_HASH_EMPTY_LIST);
    cd_difficulty_of(&b->prev_randao, &parent, b->time, t->cfg->fork, t->cfg->difficulty_delay);
    return CD_OK;
}

static cd_err read_random(cd_block_env *b, const cd__t8n *t, cd_json env, cd_errinfo *why)
{
    if (t->cfg->fork < CD_PARIS) {
        return read_difficulty(b, t, env, why);
    }
    CD_TRY(need(env, "currentRandom", why));
    cd_u256 difficulty = cd_u256_zero();
    CD_TRY(cd__lab_opt_u256(&difficulty, cd_json_get(env, "currentDifficulty"), why));
    if (!cd_u256_is_zero(&difficulty)) {
        return cd_fail(why, CD_EINVAL, "post-merge difficulty must be zero (or omitted) in env");
    }
    return cd_json_u256(&b->prev_randao, cd_json_get(env, "currentRandom"), why);
}

static cd_err read_blob(cd__t8n *t, cd_json env, cd_errinfo *why)
{
    u64 parent_excess = 0;
    u64 parent_used = 0;
    const cd_blob_schedule *blob = cd_eth_blob_schedule(t->cfg->fork);
    cd_json given = cd_json_get(env, "currentExcessBlobGas");
    CD_TRY(cd__lab_opt_u64(&parent_excess, cd_json_get(env, "parentExcessBlobGas"), why));
    CD_TRY(cd__lab_opt_u64(&parent_used, cd_json_get(env, "parentBlobGasUsed"), why));
    t->excess_blob_gas = cd_eth_excess_blob_gas(parent_excess, parent_used, blob);
    CD_TRY(cd__lab_opt_u64(&t->excess_blob_gas, given, why));
    cd_eth_blob_base_fee(&t->env.blob_base_fee, t->excess_blob_gas, blob);
    CD_TRY(need(env, "parentBeaconBlockRoot", why));
    return cd_json_fixed(t->beacon_root.b, 32, cd_json_get(env, "parentBeaconBlockRoot"), why);
}

static cd_err read_withdrawals(cd__t8n *t, cd_json v, cd_errinfo *why)
{
    CD_TRY(cd_json_arr(v, why));
    t->withdrawals = cd_arena_array(&t->arena, cd_withdrawal, cd_json_len(v));
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        cd_withdrawal *w = &t->withdrawals[t->withdrawal_cnt++];
        CD_TRY(cd_json_u64(&w->index, cd_json_get(it.val, "index"), why));
        CD_TRY(cd_json_u64(&w->validator, cd_json_get(it.val, "validatorIndex"), why));
        CD_TRY(cd_json_fixed(w->addr.b, 20, cd_json_get(it.val, "address"), why));
        CD_TRY(cd_json_u64(&w->amount, cd_json_get(it.val, "amount"), why));
    }
    return CD_OK;
}

static cd_err read_ommers(cd__t8n *t, cd_json v, cd_errinfo *why)
{
    t->ommers = cd_arena_array(&t->arena, cd_reward_uncle, cd_json_len(v));
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        cd_reward_uncle *u = &t->ommers[t->ommer_cnt++];
        CD_TRY(cd_json_fixed(u->coinbase.b, 20, cd_json_get(it.val, "address"), why));
        CD_TRY(cd_json_u64(&u->delta, cd_json_get(it.val, "delta"), why));
        if (u->delta > 7) {
            return cd_json_fail(it.val, CD_ERANGE, "delta is more than seven blocks", why);
        }
    }
    return CD_OK;
}

static cd_err read_env(cd__t8n *t, cd_errinfo *why)
{
    cd_json env;
    cd_fork fork = t->cfg->fork;
    cd_block_env *b = &t->env;
    CD_TRY(cd_json_parse(&env, &t->arena, t->cfg->env, 0, why));
    b->chain_id = t->cfg->chain_id;
    CD_TRY(cd_json_u64(&b->number, cd_json_get(env, "currentNumber"), why));
    CD_TRY(cd_json_u64(&b->time, cd_json_get(env, "currentTimestamp"), why));
    CD_TRY(cd_json_u64(&b->gas_limit, cd_json_get(env, "currentGasLimit"), why));
    CD_TRY(cd_json_fixed(b->coinbase.b, 20, cd_json_get(env, "currentCoinbase"), why));
    CD_TRY(read_random(b, t, env, why));
    CD_TRY(read_ommers(t, cd_json_get(env, "ommers"), why));
    t->block_hashes = cd_json_get(env, "blockHashes");
    t->has_base_fee = fork >= CD_LONDON || cd_json_has(cd_json_get(env, "currentBaseFee"));
    if (t->has_base_fee) {
        CD_TRY(read_base_fee(b, env, why));
    }
    if (fork >= CD_SHANGHAI) {
        CD_TRY(need(env, "withdrawals", why));
        CD_TRY(read_withdrawals(t, cd_json_get(env, "withdrawals"), why));
    }
    return fork >= CD_CANCUN ? read_blob(t, env, why) : CD_OK;
}

/* Looks up a block's hash in {"number": hash, …}, whose keys are decimal or hexadecimal. */
static cd_err block_hash(void *ctx, cd_hash32 *out, u64 number)
{
    cd__t8n *t = ctx;
    *out = (cd_hash32){0};
    cd_json_it it = cd_json_iter(t->block_hashes);
    while (cd_json_next(&it)) {
        cd_u256 n;
        if (cd_u256_parse(&n, it.key) == CD_OK && cd_u256_fits_u64(&n) && n.w[0] == number) {
            return cd_json_fixed(out->b, 32, it.val, NULL);
        }
    }
    t->hash_wanted = number;
    return CD_EMISSING;
}

/* --- transactions --- */

static cd_err read_signature(cd_tx *tx, const cd__t8n *t, cd_json v, cd_errinfo *why)
{
    cd_u256 sig_v = cd_u256_zero();
    bool is_protected = true;
    CD_TRY(cd__lab_opt_u256(&sig_v, cd_json_get(v, "v"), why));
    CD_TRY(cd__lab_opt_u256(&tx->r, cd_json_get(v, "r"), why));
    CD_TRY(cd__lab_opt_u256(&tx->s, cd_json_get(v, "s"), why));
    cd_json secret_v = cd_json_get(v, "secretKey");
    if (cd_json_has(secret_v) && cd_u256_is_zero(&tx->r) && cd_u256_is_zero(&tx->s)) {
        u8 secret[32];
        cd_json flag = cd_json_get(v, "protected");
        if (cd_json_has(flag)) {
            CD_TRY(cd_json_bool(&is_protected, flag, why));
        }
        if (tx->type == CD_TX_LEGACY) {
            tx->is_protected = is_protected && t->cfg->fork >= CD_SPURIOUS;
            tx->chain_id = tx->is_protected ? t->cfg->chain_id : 0;
        }
        CD_TRY(cd_json_fixed(secret, 32, secret_v, why));
        return cd_tx_sign(tx, secret);
    }
    return cd_tx_set_v(tx, &sig_v);
}

/* Turns one JSON transaction into the canonical encoding, as if it had come in RLP. */
static cd_err read_json_tx(cd_tx *out, cd__t8n *t, cd_json v, cd_errinfo *why)
{
    cd_tx tx = {0};
    u64 type = 0;
    CD_TRY(cd__lab_opt_u64(&type, cd_json_get(v, "type"), why));
    if (type > CD_TX_SET_CODE) {
        return cd_json_fail(cd_json_get(v, "type"), CD_EUNSUPPORTED, "transaction type not supported", why);
    }
    tx.type = (cd_tx_type)type;
    if (tx.type != CD_TX_LEGACY) {
        tx.chain_id = t->cfg->chain_id;
        CD_TRY(cd__lab_opt_u64(&tx.chain_id, cd_json_get(v, "chainId"), why));
    }
    CD_TRY(cd_json_u64(&tx.nonce, cd_json_get(v, "nonce"), why));
    CD_TRY(cd_json_u64(&tx.gas_limit, cd_json_get(v, "gas"), why));
    CD_TRY(cd_json_u256(&tx.value, cd_json_get(v, "value"), why));
    CD_TRY(cd_json_hex(&tx.data, &t->arena, cd_json_get(v, "input"), why));
    if (tx.type < CD_TX_DYNAMIC_FEE) {
        CD_TRY(cd_json_u256(&tx.tip_cap, cd_json_get(v, "gasPrice"), why));
        tx.fee_cap = tx.tip_cap;
    } else {
        CD_TRY(cd_json_u256(&tx.fee_cap, cd_json_get(v, "maxFeePerGas"), why));
        CD_TRY(cd_json_u256(&tx.tip_cap, cd_json_get(v, "maxPriorityFeePerGas"), why));
    }
    cd_json to = cd_json_get(v, "to");
    cd_bytes text = {0};
    if (cd_json_has(to)) {
        CD_TRY(cd_json_str(&text, to, why));
    }
    tx.is_create = text.n == 0;
    if (!tx.is_create) {
        CD_TRY(cd_json_fixed(tx.to.b, 20, to, why));
    }
    CD_TRY(cd__lab_access_list(&tx, &t->arena, cd_json_get(v, "accessList"), why));
    CD_TRY(cd__lab_opt_u256(&tx.blob_fee_cap, cd_json_get(v, "maxFeePerBlobGas"), why));
    CD_TRY(cd__lab_hashes(&tx.blob_hashes, &tx.blob_cnt, &t->arena, cd_json_get(v, "blobVersionedHashes"), why));
    CD_TRY(cd__lab_auths(&tx, &t->arena, cd_json_get(v, "authorizationList"), why));
    CD_TRY(read_signature(&tx, t, v, why));
    cd_tx_hash(&tx.hash, &tx);
    *out = tx;
    return CD_OK;
}

static void reject(cd__t8n *t, usize idx, const char *reason)
{
    cd__t8n_reject *r = &t->rejected[t->rejected_cnt++];
    r->idx = idx;
    r->reason = cd_arena_str(&t->arena, cd_bytes_str(reason));
}

/* Runs the transaction at place idx of the input. */
static void run_tx(cd__t8n *t, cd_block_exec *x, usize idx, cd_tx *tx)
{
    u64 blob_gas = x->blob_gas_used + tx->blob_cnt * (u64)CD_BLOB_GAS;
    if (cd_tx_recover(tx, t->cfg->fork >= CD_HOMESTEAD) != CD_OK) {
        reject(t, idx, "invalid transaction v, r, s values");
        return;
    }
    if (blob_gas > cd_eth_blob_schedule(t->cfg->fork)->max * CD_BLOB_GAS) {
        reject(t, idx, "blob gas would exceed maximum allowance");
        return;
    }
    cd_buf lines = {0};
    cd_trace3155 tracer;
    if (t->cfg->trace) {
        cd_trace3155_init(&tracer, &lines);
        tracer.memory = t->cfg->trace_memory;
        tracer.no_stack = t->cfg->trace_no_stack;
        tracer.return_data = t->cfg->trace_return_data;
        tracer.callframes = t->cfg->trace_callframes;
        cd_evm_set_tracer(t->evm, &tracer.tracer);
    }
    cd_tx_invalid bad = cd_block_exec_tx(x, tx);
    cd_evm_set_tracer(t->evm, NULL);
    if (bad == CD_TX_NONCE_TOO_LOW || bad == CD_TX_NONCE_TOO_HIGH) {
        char who[CD_ADDR_TEXT_SIZE];
        reject(t, idx,
               cd_arena_fmt(&t->arena, "%s: address %s, tx: %llu state: %llu", cd_tx_invalid_str(bad),
                            cd_addr_fmt(who, &tx->sender), (unsigned long long)tx->nonce,
                            (unsigned long long)cd_state_acct(t->state, &tx->sender)->nonce));
    } else if (bad != CD_TX_VALID) {
        reject(t, idx, cd_tx_invalid_str(bad));
    } else {
        t->txs[t->tx_cnt++] = *tx;
    }
    if (t->cfg->trace && t->cfg->on_trace != NULL) {
        t->cfg->on_trace(t->cfg->trace_ctx, idx, &tx->hash, cd_buf_bytes(&lines));
    }
    cd_buf_fini(&lines);
}

static void take_capacity(cd__t8n *t, usize cnt)
{
    t->txs = cd_arena_array(&t->arena, cd_tx, cnt);
    t->rejected = cd_arena_array(&t->arena, cd__t8n_reject, cnt);
}

static cd_err run_json_txs(cd__t8n *t, cd_block_exec *x, cd_json list, cd_errinfo *why)
{
    CD_TRY(cd_json_arr(list, why));
    take_capacity(t, cd_json_len(list));
    cd_json_it it = cd_json_iter(list);
    for (usize i = 0; cd_json_next(&it); i++) {
        cd_tx tx;
        CD_TRY(read_json_tx(&tx, t, it.val, why));
        run_tx(t, x, i, &tx);
    }
    return CD_OK;
}

static cd_err run_rlp_txs(cd__t8n *t, cd_block_exec *x, cd_json text, cd_errinfo *why)
{
    cd_bytes raw;
    CD_TRY(cd_json_hex(&raw, &t->arena, text, why));
    cd_rlp top = cd_rlp_init(raw);
    cd_rlp list = cd_rlp_list(&top);
    take_capacity(t, cd_rlp_count(&list));
    for (usize i = 0; cd_rlp_more(&list); i++) {
        cd_tx tx;
        cd_errinfo bad = {0};
        if (cd_tx_dec_item(&tx, &t->arena, &list, &bad) == CD_OK) {
            run_tx(t, x, i, &tx);
        } else if (list.err == CD_OK) {
            reject(t, i, bad.msg);
        }
    }
    cd_rlp_leave(&top, &list);
    cd_err e = cd_rlp_end(&top);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "txs: %s", cd_err_str(e));
}

/* --- the transition --- */

static cd_err read_alloc(cd__t8n *t, cd_errinfo *why)
{
    cd_json alloc;
    const cd_genesis_account *accounts;
    usize cnt;
    CD_TRY(cd_json_parse(&alloc, &t->arena, t->cfg->alloc, 0, why));
    CD_TRY(cd_genesis_alloc_parse(&accounts, &cnt, &t->arena, alloc, why));
    t->pre = cd_mapstate_new(&t->arena, t->build, accounts, cnt);
    t->pre->block_hash = block_hash;
    t->pre->block_hash_ctx = t;
    return CD_OK;
}

/* Requests of contracts to the consensus layer (EIP-6110, 7002, 7251) are not collected: fails when the
 * state has a contract that may make some. */
static cd_err check_no_requests(const cd__t8n *t, cd_errinfo *why)
{
    static const cd_addr20 contracts[] = {
        {.b = {0x00, 0x00, 0x00, 0x00, 0x21, 0x9a, 0xb5, 0x40, 0x35, 0x6c,
               0xbb, 0x83, 0x9c, 0xbe, 0x05, 0x30, 0x3d, 0x77, 0x05, 0xfa}},
        {.b = {0x00, 0x00, 0x09, 0x61, 0xef, 0x48, 0x0e, 0xb5, 0x5e, 0x80,
               0xd1, 0x9a, 0xd8, 0x35, 0x79, 0xa6, 0x4c, 0x00, 0x70, 0x02}},
        {.b = {0x00, 0x00, 0xbb, 0xdd, 0xc7, 0xce, 0x48, 0x86, 0x42, 0xfb,
               0x57, 0x9f, 0x8b, 0x00, 0xf3, 0xa5, 0x90, 0x00, 0x72, 0x51}},
    };
    for (usize i = 0; i < CD_COUNT(contracts) && t->cfg->fork >= CD_PRAGUE; i++) {
        if (cd_state_code(t->state, cd_state_acct(t->state, &contracts[i])).n != 0) {
            char text[CD_ADDR_TEXT_SIZE];
            return cd_fail(why, CD_EUNSUPPORTED, "blocks with requests (EIP-7685) are not supported: contract %s",
                           cd_addr_fmt(text, &contracts[i]));
        }
    }
    return CD_OK;
}

static cd_err root_between(void *ctx, cd_hash32 *out, cd_state *st)
{
    const cd__t8n *t = ctx;
    return cd_mapstate_root(out, t->build, t->pre, st);
}

static cd_err execute(cd__t8n *t, cd_errinfo *why)
{
    const cd_t8n_cfg *cfg = t->cfg;
    cd_block_exec x;
    cd_json txs;
    cd_hash32 parent_hash = {0};
    cd_block_exec_cfg exec = {
        .fork = cfg->fork,
        .profile = CD_PROFILE_ETHEREUM,
        .env = &t->env,
        .beacon_root = cfg->fork >= CD_CANCUN ? &t->beacon_root : NULL,
        .tx_root = root_between,
        .tx_root_ctx = t,
        .parent_hash = cfg->fork >= CD_PRAGUE && t->env.number != 0 ? &parent_hash : NULL,
    };
    CD_TRY(cd_json_parse(&txs, &t->arena, cfg->txs, 0, why));
    if (exec.parent_hash != NULL) {
        (void)!block_hash(t, &parent_hash, t->env.number - 1); /* stays zero where it is not given */
    }
    cd_state_reset(t->state, &t->pre->src);
    cd_block_exec_begin(&x, t->evm, t->state, &t->arena, &exec);
    cd_err e = cfg->txs_are_rlp ? run_rlp_txs(t, &x, txs, why) : run_json_txs(t, &x, txs, why);
    e = e != CD_OK ? e : check_no_requests(t, why);
    if (e != CD_OK) {
        cd_block_exec_abort(&x);
        return e;
    }
    if (cfg->has_reward) {
        cd_u256 wei = cd_u256_from_u64(cfg->reward);
        cd_reward_pay(t->state, &wei, &t->env.coinbase, t->ommers, t->ommer_cnt, cfg->fork >= CD_SPURIOUS);
    }
    if (t->withdrawal_cnt != 0) {
        cd_block_exec_withdrawals(&x, t->withdrawals, t->withdrawal_cnt);
    }
    CD_TRY(cd_block_exec_end(&x, &t->receipt_root));
    t->receipts = x.receipts;
    t->gas_used = x.gas_used;
    t->blob_gas_used = x.blob_gas_used;
    t->bloom = x.bloom;
    return cd_mapstate_next(&t->post, &t->arena, t->build, t->pre, t->state);
}

static cd_err run(cd_t8n_out *out, cd__t8n *t, cd_errinfo *why)
{
    CD_TRY(read_env(t, why));
    CD_TRY(read_alloc(t, why));
    cd_err e = execute(t, why);
    if (e == CD_EMISSING) {
        e = cd_fail(why, e, "getHash(%llu) invoked, blockhash for that block not provided",
                    (unsigned long long)t->hash_wanted);
    }
    CD_TRY(e);
    cd__t8n_put_alloc(&out->alloc, t->post);
    cd__t8n_put_result(&out->result, t);
    usize list = cd_rlp_begin(&out->body);
    for (usize i = 0; i < t->tx_cnt; i++) {
        cd_tx_enc_item(&out->body, &t->txs[i]);
    }
    cd_rlp_close(&out->body, list);
    return CD_OK;
}

cd_err cd_t8n_run(cd_t8n_out *out, const cd_t8n_cfg *cfg, cd_errinfo *why)
{
    cd__t8n t = {
        .cfg = cfg,
        .build = cd_trie_build_new(NULL, NULL),
        .evm = cd_evm_new(),
        .state = cd_state_new(NULL),
    };
    cd_err e = run(out, &t, why);
    cd_state_free(t.state);
    cd_evm_free(t.evm);
    cd_trie_build_free(t.build);
    cd_arena_fini(&t.arena);
    return e;
}

void cd_t8n_out_fini(cd_t8n_out *out)
{
    cd_buf_fini(&out->alloc);
    cd_buf_fini(&out->result);
    cd_buf_fini(&out->body);
}
