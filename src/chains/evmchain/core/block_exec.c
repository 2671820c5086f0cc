#include "chains/evmchain/core/block_exec.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/list_root.h"

enum { BLOB_GAS = 131072 };

/* The contracts that keep parent beacon roots (EIP-4788) and block hashes (EIP-2935), and who calls
 * them. */
static const cd_addr20 beacon_roots = {.b = {0x00, 0x0f, 0x3d, 0xf6, 0xd7, 0x32, 0x80, 0x7e, 0xf1, 0x31,
                                             0x9f, 0xb7, 0xb8, 0xbb, 0x85, 0x22, 0xd0, 0xbe, 0xac, 0x02}};
static const cd_addr20 block_hashes = {.b = {0x00, 0x00, 0xf9, 0x08, 0x27, 0xf1, 0xc5, 0x3a, 0x10, 0xcb,
                                             0x7a, 0x02, 0x33, 0x5b, 0x17, 0x53, 0x20, 0x00, 0x29, 0x35}};
static const cd_addr20 system_caller = {.b = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                              0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}};

static void system_call(cd_block_exec *x, const cd_addr20 *to, const cd_hash32 *input)
{
    enum { GAS = 30000000 };
    if (cd_state_code(x->st, cd_state_acct(x->st, to)).n == 0) {
        return;
    }
    cd_tx_env env = {.origin = system_caller};
    cd_evm_msg msg = {
        .kind = CD_CALL,
        .gas = GAS,
        .caller = system_caller,
        .to = *to,
        .code = *to,
        .input = cd_bytes_of(input->b, 32),
    };
    cd_evm_result res;
    cd_state_begin_tx(x->st);
    cd_evm_set_tx(x->evm, &env);
    cd_evm_call(x->evm, &res, &msg);
    cd_state_end_tx(x->st, true);
}

void cd_block_exec_begin(cd_block_exec *x, cd_evm *evm, cd_state *st, cd_arena *arena, const cd_block_exec_cfg *cfg)
{
    *x = (cd_block_exec){
        .cfg = *cfg,
        .evm = evm,
        .st = st,
        .arena = arena,
        .gas_left = cfg->env->gas_limit,
    };
    if (x->cfg.precompiles == NULL) {
        x->cfg.precompiles = cd_precompile_eth(cfg->fork);
    }
    cd_state_clear_logs(st);
    cd_evm_set_block(evm, cfg->fork, cfg->profile, cfg->env, st, x->cfg.precompiles);
    if (cfg->beacon_root != NULL) {
        system_call(x, &beacon_roots, cfg->beacon_root);
    }
    if (cfg->parent_hash != NULL) {
        system_call(x, &block_hashes, cfg->parent_hash);
    }
}

/* Adds what the sender paid above the base fee. */
static void add_tips(cd_block_exec *x, const cd_tx_result *res)
{
    cd_u256 tip;
    if (cd_u256_checked_sub(&tip, &res->effective_gas_price, &x->cfg.env->base_fee) &&
        !(cd_u256_checked_mul_u64(&tip, &tip, res->gas_used) && cd_u256_checked_add(&x->tips, &x->tips, &tip))) {
        x->tips = cd_u256_max();
    }
}

/* What receipts said in place of success until Byzantium (EIP-658). */
static void add_root(cd_block_exec *x)
{
    cd_receipt *r = &x->receipts[x->cnt - 1];
    if (x->cfg.fork < CD_BYZANTIUM && x->cfg.tx_root != NULL && x->failed == CD_OK) {
        x->failed = x->cfg.tx_root(x->cfg.tx_root_ctx, &r->root, x->st);
        r->has_root = true;
    }
}

cd_tx_invalid cd_block_exec_tx_relaxed(cd_block_exec *x, cd_tx_result *res, const cd_tx *tx, const cd_tx_relax *relax)
{
    usize logs_before;
    usize logs_after;
    (void)cd_state_logs(x->st, &logs_before);
    cd_tx_invalid bad = cd_tx_apply(x->evm, res, &x->gas_left, tx, relax);
    if (bad != CD_TX_VALID) {
        return bad;
    }
    (void)cd_state_logs(x->st, &logs_after);
    x->gas_used += res->gas_used;
    x->blob_gas_used += tx->blob_cnt * (u64)BLOB_GAS;
    add_tips(x, res);
    if (x->cnt == x->cap) {
        x->cap = x->cap == 0 ? 64 : x->cap * 2;
        x->receipts = cd_realloc(x->receipts, x->cap * sizeof *x->receipts);
    }
    x->receipts[x->cnt++] = (cd_receipt){
        .type = tx->type,
        .ok = res->status == CD_EVM_OK,
        .cumulative_gas = x->gas_used,
        .log_cnt = logs_after - logs_before,
        .gas_used = res->gas_used,
        .effective_gas_price = res->effective_gas_price,
        .has_created = tx->is_create,
        .created = res->created,
    };
    add_root(x);
    return CD_TX_VALID;
}

cd_tx_invalid cd_block_exec_tx(cd_block_exec *x, const cd_tx *tx)
{
    cd_tx_result res;
    return cd_block_exec_tx_relaxed(x, &res, tx, NULL);
}

cd_tx_invalid cd_block_exec_tx_as(cd_block_exec *x, const cd_tx *tx)
{
    static const cd_tx_relax unsigned_sender = {.sender = true};
    cd_tx_result res;
    return cd_block_exec_tx_relaxed(x, &res, tx, &unsigned_sender);
}

void cd_block_exec_withdrawals(cd_block_exec *x, const cd_withdrawal *w, usize cnt)
{
    static const u64 wei_per_gwei = 1000000000;
    cd_state_begin_tx(x->st);
    for (usize i = 0; i < cnt; i++) {
        cd_u256 gwei = cd_u256_from_u64(w[i].amount);
        cd_u256 wei;
        (void)cd_u256_mul_u64(&wei, &gwei, wei_per_gwei);
        cd_state_add_balance(x->st, cd_state_acct(x->st, &w[i].addr), &wei);
    }
    cd_state_end_tx(x->st, true);
}

void cd_block_exec_abort(cd_block_exec *x)
{
    cd_free(x->receipts);
    x->receipts = NULL;
}

cd_err cd_block_exec_end(cd_block_exec *x, cd_hash32 *receipt_root)
{
    usize log_cnt;
    const cd_log *logs = cd_state_logs(x->st, &log_cnt);
    cd_receipt *receipts = cd_arena_array(x->arena, cd_receipt, x->cnt);
    if (x->cnt != 0) {
        memcpy(receipts, x->receipts, x->cnt * sizeof *receipts);
    }
    cd_free(x->receipts);
    x->receipts = receipts;
    CD_TRY(cd_state_error(x->st));
    CD_TRY(x->failed);

    cd_log *kept = cd_arena_array(x->arena, cd_log, log_cnt);
    for (usize i = 0; i < log_cnt; i++) {
        kept[i] = logs[i];
        kept[i].data = cd_arena_dup(x->arena, logs[i].data);
    }
    cd_list_root list = {0};
    for (usize i = 0; i < x->cnt; i++) {
        cd_receipt *r = &receipts[i];
        r->logs = kept;
        kept += r->log_cnt;
        cd_bloom_add_logs(&r->bloom, r->logs, r->log_cnt);
        cd_bloom_or(&x->bloom, &r->bloom);
        cd_receipt_enc(&list.enc, r);
        cd_list_root_mark(&list);
    }
    cd_list_root_final(&list, receipt_root);
    return CD_OK;
}

void cd_block_tx_root(cd_hash32 *out, const cd_tx *txs, usize cnt)
{
    cd_list_root list = {0};
    for (usize i = 0; i < cnt; i++) {
        cd_tx_enc(&list.enc, &txs[i]);
        cd_list_root_mark(&list);
    }
    cd_list_root_final(&list, out);
}
