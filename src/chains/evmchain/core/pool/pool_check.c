/* What a transaction must satisfy before it may wait; order and words of [spec:eth-rpc#5]. */
#include "chains/evmchain/core/pool/pool_priv.h"
#include "evm/transition.h"
#include "num/div.h"
#include "num/u256_text.h"
#include "precompile/policy.h"
#include "types/addr_text.h"

enum { INITCODE_MAX = 49152 };

/* A number of 256 bits as text, for messages. */
typedef struct decimal {
    char text[CD_U256_TEXT_MAX];
} decimal;

static const char *dec(decimal *d, const cd_u256 *v)
{
    (void)cd_u256_fmt_dec(d->text, v);
    return d->text;
}

/* The gas limit at the fee cap, in units of 10^18 wei; for a limit that people set, so rounding is no matter. */
static double gas_ether(const cd_tx *tx)
{
    double wei = 0;
    for (int i = 3; i >= 0; i--) {
        wei = wei * 0x1p64 + (double)tx->fee_cap.w[i];
    }
    return wei * (double)tx->gas_limit / 1e18;
}

static bool may_be_unprotected(const cd_txpool *p, const cd_hash32 *hash)
{
    for (usize i = 0; i < p->cfg.unprotected_cnt; i++) {
        if (cd_hash32_eq(&p->cfg.unprotected[i], hash)) {
            return true;
        }
    }
    return p->cfg.allow_unprotected;
}

cd_err cd__pool_check_rpc(const cd_txpool *p, const cd_tx *tx, cd_errinfo *why)
{
    if (!tx->is_protected && !may_be_unprotected(p, &tx->hash)) {
        return cd_fail(why, CD_EINVAL, "only replay-protected (EIP-155) transactions allowed over RPC");
    }
    double ether = gas_ether(tx);
    if (p->cfg.fee_cap > 0 && ether > p->cfg.fee_cap) {
        return cd_fail(why, CD_EINVAL, "tx fee (%.2f ether) exceeds the configured cap (%.2f ether)", ether,
                       p->cfg.fee_cap);
    }
    return CD_OK;
}

static cd_err check_prices(const cd_txpool *p, const cd_tx *tx, bool is_spared, cd_errinfo *why)
{
    decimal have;
    decimal want;
    char who[CD_ADDR_TEXT_SIZE];
    cd_u256 tip_min = cd_u256_from_u64(p->cfg.tip_min);
    if (!is_spared && cd_u256_lt(&tx->tip_cap, &tip_min)) {
        return cd_fail(why, CD_EINVAL, "transaction underpriced: gas tip cap %s, minimum needed %llu",
                       dec(&have, &tx->tip_cap), (unsigned long long)p->cfg.tip_min);
    }
    if (cd_u256_lt(&tx->fee_cap, &p->head.min_fee_cap)) {
        return cd_fail(why, CD_EINVAL,
                       "transaction underpriced: address %s have gas fee cap (%s) < pool minimum "
                       "fee cap (%s)",
                       cd_addr_fmt(who, &tx->sender), dec(&have, &tx->fee_cap), dec(&want, &p->head.min_fee_cap));
    }
    return CD_OK;
}

cd_err cd__pool_check_form(const cd_txpool *p, const cd_tx *tx, cd_errinfo *why)
{
    if (tx->type >= CD_TX_BLOB) {
        return cd_fail(why, CD_EINVAL, "transaction type not supported");
    }
    if (tx->raw.n > CD__POOL_TX_MAX) {
        return cd_fail(why, CD_EINVAL, "oversized data: transaction size %zu, limit %d", tx->raw.n, CD__POOL_TX_MAX);
    }
    if (p->head.fork >= CD_SHANGHAI && tx->is_create && tx->data.n > INITCODE_MAX) {
        return cd_fail(why, CD_EINVAL, "max initcode size exceeded: code size %zu, limit %d", tx->data.n, INITCODE_MAX);
    }
    if (tx->gas_limit > p->head.gas_limit) {
        return cd_fail(why, CD_EINVAL, "exceeds block gas limit: tx gas (%llu) > current max gas (%llu)",
                       (unsigned long long)tx->gas_limit, (unsigned long long)p->head.gas_limit);
    }
    if (cd_u256_lt(&tx->fee_cap, &tx->tip_cap)) {
        return cd_fail(why, CD_EINVAL, "max priority fee per gas higher than max fee per gas");
    }
    return CD_OK;
}

cd_err cd__pool_check_fees(const cd_txpool *p, const cd_tx *tx, bool is_spared, cd_errinfo *why)
{
    char who[CD_ADDR_TEXT_SIZE];
    u64 intrinsic = 0;
    const cd_precompile_table *table =
        p->head.schedule == NULL ? NULL : cd_schedule_table(p->head.schedule, p->head.time);
    cd_tx_invalid bad = cd_tx_intrinsic_gas(&intrinsic, tx, p->head.fork, table);
    if (bad == CD_TX_PREDICATE) {
        return cd_fail(why, CD_EINVAL, "%s", cd_tx_invalid_str(bad));
    }
    if (bad != CD_TX_VALID || tx->gas_limit < intrinsic) {
        return cd_fail(why, CD_EINVAL, "intrinsic gas too low: address %s tx gas (%llu), minimum needed %llu",
                       cd_addr_fmt(who, &tx->sender), (unsigned long long)tx->gas_limit,
                       (unsigned long long)(bad == CD_TX_VALID ? intrinsic : UINT64_MAX));
    }
    return check_prices(p, tx, is_spared, why);
}

/* --- the sender's account --- */

/* What the pending ones of s cost together, at most 2^256-1. */
static void pending_cost(cd_u256 *out, const cd__pool_sender *s)
{
    *out = cd_u256_zero();
    for (usize i = 0; i < s->pending; i++) {
        cd_u256 one;
        if (!cd__pool_cost(&one, &s->txs[i]->tx) || !cd_u256_checked_add(out, out, &one)) {
            *out = cd_u256_max();
            return;
        }
    }
}

/* The balance against the cost of tx, and of it and everything pending. */
static cd_err check_funds(const cd__pool_sender *s, const cd_tx *tx, const cd_pool_tx *old, cd_errinfo *why)
{
    cd_u256 cost;
    cd_u256 spent;
    cd_u256 total;
    cd_u256 over;
    cd_u256 old_cost = cd_u256_zero();
    decimal have;
    decimal queued;
    decimal more;
    decimal by;
    if (!cd__pool_cost(&cost, tx)) {
        return cd_fail(why, CD_EINVAL, "max fee per gas higher than 2^256-1");
    }
    if (cd_u256_lt(&s->balance, &cost)) {
        cd_u256_sub(&over, &cost, &s->balance);
        return cd_fail(why, CD_EINVAL,
                       "insufficient funds for gas * price + value: balance %s, tx cost %s, "
                       "overshot %s",
                       dec(&have, &s->balance), dec(&more, &cost), dec(&by, &over));
    }
    pending_cost(&spent, s);
    bool is_bump = old != NULL && cd__pool_place(s, old->tx.nonce) < s->pending && cd__pool_cost(&old_cost, &old->tx);
    cd_u256_sub_sat(&total, &spent, &old_cost);
    if (!cd_u256_checked_add(&total, &total, &cost)) {
        total = cd_u256_max();
    }
    if (!cd_u256_lt(&s->balance, &total)) {
        return CD_OK;
    }
    cd_u256_sub_sat(&cost, &cost, &old_cost);
    cd_u256_sub(&over, &total, &s->balance);
    return cd_fail(why, CD_EINVAL,
                   "insufficient funds for gas * price + value: balance %s, queued cost %s, tx %s "
                   "%s, overshot %s",
                   dec(&have, &s->balance), dec(&queued, &spent), is_bump ? "bumped" : "cost", dec(&more, &cost),
                   dec(&by, &over));
}

static cd_err check_allowed(const cd_txpool *p, const cd_tx *tx, cd_errinfo *why)
{
    char who[CD_ADDR_TEXT_SIZE];
    bool may_send = true;
    if (p->head.schedule != NULL) {
        CD_TRY(cd_policy_may_send(&may_send, p->head.schedule, p->src, p->head.time, &tx->sender));
    }
    return may_send ? CD_OK
                    : cd_fail(why, CD_EINVAL, "cannot issue transaction from non-allow listed address: %s",
                              cd_addr_fmt(who, &tx->sender));
}

/* A replacement must pay more, and price_bump per cent more, of both prices. */
static bool pays_bump(const cd_txpool *p, const cd_tx *old, const cd_tx *new)
{
    static const u64 hundred = 100;
    const cd_u256 *pairs[2][2] = {{&old->fee_cap, &new->fee_cap}, {&old->tip_cap, &new->tip_cap}};
    for (int i = 0; i < 2; i++) {
        cd_u256 least;
        if (!cd_u256_lt(pairs[i][0], pairs[i][1]) ||
            !cd_u256_checked_mul_u64(&least, pairs[i][0], hundred + p->cfg.price_bump)) {
            return false;
        }
        (void)cd_u256_div_u64(&least, &least, hundred);
        if (cd_u256_lt(pairs[i][1], &least)) {
            return false;
        }
    }
    return true;
}

cd_err cd__pool_check_nonce(const cd__pool_sender *s, const cd_tx *tx, cd_errinfo *why)
{
    return tx->nonce >= s->nonce ? CD_OK
                                 : cd_fail(why, CD_EINVAL, "nonce too low: next nonce %llu, tx nonce %llu",
                                           (unsigned long long)s->nonce, (unsigned long long)tx->nonce);
}

cd_err cd__pool_check_sender(const cd_txpool *p, const cd__pool_sender *s, const cd_tx *tx, const cd_pool_tx *old,
                             cd_errinfo *why)
{
    CD_TRY(cd__pool_check_nonce(s, tx, why));
    CD_TRY(check_funds(s, tx, old, why));
    CD_TRY(check_allowed(p, tx, why));
    if (old != NULL && !pays_bump(p, &old->tx, tx)) {
        return cd_fail(why, CD_EINVAL, "replacement transaction underpriced");
    }
    return CD_OK;
}
