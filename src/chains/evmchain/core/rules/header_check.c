#include "chains/evmchain/core/rules/header_check.h"

#include "chains/evmchain/core/list_root.h"
#include "types/hashes.h"

#include <inttypes.h>

enum { EXTRA_MAX = 32, GAS_LIMIT_MIN = 5000, GAS_LIMIT_DIVISOR = 1024 };

#define GAS_LIMIT_MAX ((u64)INT64_MAX)

/* --- header --- */

/* Which optional fields a fork's headers have: exactly these. */
static u32 fields_of(cd_fork fork)
{
    static const struct {
        cd_fork since;
        u32 bits;
    } rows[] = {
        {CD_LONDON, CD_HEADER_BASE_FEE},
        {CD_SHANGHAI, CD_HEADER_WITHDRAWALS_ROOT},
        {CD_CANCUN, CD_HEADER_BLOB_GAS_USED | CD_HEADER_EXCESS_BLOB_GAS | CD_HEADER_BEACON_ROOT},
    };
    u32 bits = 0;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        bits |= fork >= rows[i].since ? rows[i].bits : 0;
    }
    return bits;
}

static cd_err check_gas(const cd_header *h, const cd_eth_ctx *ctx, u64 parent_limit, cd_errinfo *why)
{
    u64 gap = h->gas_limit > parent_limit ? h->gas_limit - parent_limit : parent_limit - h->gas_limit;
    if (h->gas_used > h->gas_limit) {
        return cd_fail(why, CD_EINVAL, "invalid gasUsed: have %" PRIu64 ", gasLimit %" PRIu64, h->gas_used,
                       h->gas_limit);
    }
    if (gap >= parent_limit / GAS_LIMIT_DIVISOR || h->gas_limit < GAS_LIMIT_MIN || h->gas_limit > GAS_LIMIT_MAX) {
        return cd_fail(why, CD_EINVAL, "invalid gas limit: have %" PRIu64 ", parent %" PRIu64, h->gas_limit,
                       parent_limit);
    }
    if (ctx->fork < CD_LONDON) {
        return CD_OK;
    }
    cd_u256 want = cd_u256_from_u64(CD_ETH_INITIAL_BASE_FEE);
    if (ctx->parent_fork >= CD_LONDON) {
        cd_eth_base_fee(&want, &ctx->parent->base_fee, ctx->parent->gas_limit, ctx->parent->gas_used);
    }
    return cd_u256_eq(&want, &h->base_fee) ? CD_OK : cd_fail(why, CD_EINVAL, "invalid baseFee");
}

static cd_err check_blob_gas(const cd_header *h, const cd_eth_ctx *ctx, cd_errinfo *why)
{
    u64 excess = cd_eth_excess_blob_gas(ctx->parent->excess_blob_gas, ctx->parent->blob_gas_used, ctx->blob);
    if (h->blob_gas_used > ctx->blob->max * CD_BLOB_GAS || h->blob_gas_used % CD_BLOB_GAS != 0) {
        return cd_fail(why, CD_EINVAL, "invalid blobGasUsed: %" PRIu64, h->blob_gas_used);
    }
    if (h->excess_blob_gas != excess) {
        return cd_fail(why, CD_EINVAL, "invalid excessBlobGas: have %" PRIu64 ", want %" PRIu64, h->excess_blob_gas,
                       excess);
    }
    return CD_OK;
}

/* From the merge on, what was proof of work is constant (EIP-3675). */
static cd_err check_merged(const cd_header *h, cd_errinfo *why)
{
    static const u8 no_nonce[8];
    if (!cd_u256_is_zero(&h->difficulty)) {
        return cd_fail(why, CD_EINVAL, "invalid difficulty: not zero");
    }
    if (memcmp(h->nonce, no_nonce, sizeof no_nonce) != 0) {
        return cd_fail(why, CD_EINVAL, "invalid nonce: not zero");
    }
    if (!cd_hash32_eq(&h->uncle_hash, &CD_HASH_EMPTY_LIST)) {
        return cd_fail(why, CD_EINVAL, "invalid uncle hash");
    }
    return CD_OK;
}

cd_err cd_eth_header_check(const cd_header *h, const cd_eth_ctx *ctx, cd_errinfo *why)
{
    const cd_header *parent = ctx->parent;
    u64 parent_limit = parent->gas_limit;
    if (ctx->fork >= CD_LONDON && ctx->parent_fork < CD_LONDON) {
        parent_limit *= 2; /* the elasticity of EIP-1559 sets in */
    }
    if (ctx->fork >= CD_PRAGUE) {
        return cd_fail(why, CD_EUNSUPPORTED, "blocks with requests (EIP-7685) are not supported: %s",
                       cd_fork_name(ctx->fork));
    }
    if (h->has != fields_of(ctx->fork)) {
        return cd_fail(why, CD_EINVAL, "header fields do not fit the fork %s", cd_fork_name(ctx->fork));
    }
    if (h->number != parent->number + 1) {
        return cd_fail(why, CD_EINVAL, "invalid block number: %" PRIu64, h->number);
    }
    if (h->time <= parent->time) {
        return cd_fail(why, CD_EINVAL, "timestamp not after the parent's: %" PRIu64, h->time);
    }
    if (h->extra.n > EXTRA_MAX) {
        return cd_fail(why, CD_EINVAL, "extra-data too long: %zu > %d", h->extra.n, EXTRA_MAX);
    }
    if (ctx->fork >= CD_PARIS) {
        CD_TRY(check_merged(h, why));
    }
    CD_TRY(check_gas(h, ctx, parent_limit, why));
    return ctx->fork >= CD_CANCUN ? check_blob_gas(h, ctx, why) : CD_OK;
}

/* --- body --- */

void cd_eth_withdrawals_root(cd_hash32 *out, const cd_withdrawal *w, usize cnt)
{
    cd_list_root l = {0};
    for (usize i = 0; i < cnt; i++) {
        cd_withdrawal_enc(&l.enc, &w[i]);
        cd_list_root_mark(&l);
    }
    cd_list_root_final(&l, out);
}

cd_err cd_eth_body_check(const cd_block *b, const cd_eth_ctx *ctx, cd_errinfo *why)
{
    cd_hash32 root;
    cd_uncles_hash(&root, CD_HEADER_ETHEREUM, b->uncles, b->uncle_cnt);
    if (!cd_hash32_eq(&root, &b->header.uncle_hash)) {
        return cd_fail(why, CD_EINVAL, "uncle hash mismatch");
    }
    cd_block_tx_root(&root, b->txs, b->tx_cnt);
    if (!cd_hash32_eq(&root, &b->header.tx_root)) {
        return cd_fail(why, CD_EINVAL, "transaction root hash mismatch");
    }
    if (b->has_withdrawals != (ctx->fork >= CD_SHANGHAI)) {
        return cd_fail(why, CD_EINVAL, "withdrawals list does not fit the fork");
    }
    if (b->has_withdrawals) {
        cd_eth_withdrawals_root(&root, b->withdrawals, b->withdrawal_cnt);
        if (!cd_hash32_eq(&root, &b->header.withdrawals_root)) {
            return cd_fail(why, CD_EINVAL, "withdrawals root hash mismatch");
        }
    }
    return CD_OK;
}

/* --- execution --- */

void cd_eth_env(cd_block_env *out, const cd_header *h, const cd_eth_ctx *ctx)
{
    *out = (cd_block_env){
        .number = h->number,
        .time = h->time,
        .gas_limit = h->gas_limit,
        .coinbase = h->coinbase,
        .base_fee = h->base_fee,
        .prev_randao = ctx->fork >= CD_PARIS ? cd_u256_from_hash(&h->mix_hash) : h->difficulty,
        .chain_id = ctx->chain_id,
    };
    if (ctx->fork >= CD_CANCUN) {
        cd_eth_blob_base_fee(&out->blob_base_fee, h->excess_blob_gas, ctx->blob);
    }
}

static cd_err run_txs(cd_block_exec *x, cd_block *b, cd_errinfo *why)
{
    if (cd_tx_recover_many(b->txs, b->tx_cnt, true) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "a transaction has an invalid signature");
    }
    for (usize i = 0; i < b->tx_cnt; i++) {
        cd_tx_invalid bad = cd_block_exec_tx(x, &b->txs[i]);
        if (bad != CD_TX_VALID) {
            return cd_fail(why, CD_EINVAL, "transaction %zu: %s", i, cd_tx_invalid_str(bad));
        }
    }
    return CD_OK;
}

static cd_err compare(const cd_block_exec *x, const cd_header *h, const cd_hash32 *receipt_root, cd_errinfo *why)
{
    if (x->gas_used != h->gas_used) {
        return cd_fail(why, CD_EINVAL, "invalid gas used (remote: %" PRIu64 " local: %" PRIu64 ")", h->gas_used,
                       x->gas_used);
    }
    if (x->blob_gas_used != h->blob_gas_used) {
        return cd_fail(why, CD_EINVAL, "invalid blob gas used (remote: %" PRIu64 " local: %" PRIu64 ")",
                       h->blob_gas_used, x->blob_gas_used);
    }
    if (!cd_bloom_eq(&x->bloom, &h->bloom)) {
        return cd_fail(why, CD_EINVAL, "invalid bloom");
    }
    if (!cd_hash32_eq(receipt_root, &h->receipt_root)) {
        return cd_fail(why, CD_EINVAL, "invalid receipt root hash");
    }
    return CD_OK;
}

cd_err cd_eth_execute(cd_block_exec *x, cd_block *b, cd_evm *evm, cd_state *st, cd_arena *arena, const cd_eth_ctx *ctx,
                      cd_eth_reward *reward, void *reward_ctx, cd_errinfo *why)
{
    cd_block_env env;
    cd_eth_env(&env, &b->header, ctx);
    cd_block_exec_cfg cfg = {
        .fork = ctx->fork,
        .profile = CD_PROFILE_ETHEREUM,
        .env = &env,
        .beacon_root = ctx->fork >= CD_CANCUN ? &b->header.parent_beacon_root : NULL,
        .tx_root = ctx->tx_root,
        .tx_root_ctx = ctx->tx_root_ctx,
    };
    cd_block_exec_begin(x, evm, st, arena, &cfg);
    cd_err e = run_txs(x, b, why);
    if (e != CD_OK) {
        cd_block_exec_abort(x);
        return e;
    }
    cd_block_exec_withdrawals(x, b->withdrawals, b->withdrawal_cnt);
    if (reward != NULL) {
        reward(reward_ctx, st, b);
    }
    cd_hash32 receipt_root;
    e = cd_block_exec_end(x, &receipt_root);
    if (e != CD_OK) {
        return cd_fail(why, e, "state: %s", cd_err_str(e));
    }
    return compare(x, &b->header, &receipt_root, why);
}
