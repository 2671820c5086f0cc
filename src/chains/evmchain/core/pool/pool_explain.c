/* Why a transaction waits, in words for its sender. */
#include "chains/evmchain/core/pool/pool_priv.h"
#include "num/u256_text.h"
#include "types/addr_text.h"

static void put_dec(cd_buf *out, const cd_u256 *v)
{
    char text[CD_U256_TEXT_MAX];
    (void)cd_u256_fmt_dec(text, v);
    cd_buf_str(out, text);
}

/* What keeps tx, whose turn it is, from being pending or picked. */
static cd_tx_wait own_obstacle(const cd_txpool *p, const cd__pool_sender *s, const cd_tx *tx)
{
    cd_u256 tip;
    if (tx->gas_limit > p->head.gas_limit) {
        return CD_WAIT_GAS_LIMIT;
    }
    if (!cd__pool_is_ready(p, s, tx)) {
        return CD_WAIT_FUNDS;
    }
    return cd__pool_tip(&tip, tx, &p->head.base_fee) ? CD_WAIT_TURN : CD_WAIT_BASE_FEE;
}

static void put_own_obstacle(cd_buf *words, const cd_txpool *p, const cd__pool_sender *s, const cd_tx *tx,
                             cd_tx_wait wait)
{
    cd_u256 cost;
    switch (wait) {
    case CD_WAIT_GAS_LIMIT:
        cd_buf_fmt(words, "its gas limit %llu is above the %llu of a block", (unsigned long long)tx->gas_limit,
                   (unsigned long long)p->head.gas_limit);
        return;
    case CD_WAIT_FUNDS:
        cd_buf_str(words, "the sender has ");
        put_dec(words, &s->balance);
        cd_buf_str(words, " wei and may need ");
        CD_ASSERT(cd__pool_cost(&cost, tx)); /* checked when it came */
        put_dec(words, &cost);
        cd_buf_str(words, " (gas limit * max fee per gas + value)");
        return;
    case CD_WAIT_BASE_FEE:
        cd_buf_str(words, "its max fee per gas ");
        put_dec(words, &tx->fee_cap);
        cd_buf_str(words, " is below the next block's base fee ");
        put_dec(words, &p->head.base_fee);
        return;
    case CD_WAIT_TURN:
    case CD_WAIT_GAP:
    case CD_WAIT_BEHIND:
    case CD_WAIT_LINE:
        CD_UNREACHABLE();
    }
}

/* Whether dearer ones leave no gas for t, or how many go before it. */
static cd_tx_wait place_in_line(const cd_txpool *p, cd_buf *words, const cd_pool_tx *t)
{
    usize ahead = 0;
    u64 gas = 0;
    cd_txpool_pick *k = cd_txpool_pick_new(p, &p->head.base_fee);
    for (const cd_pool_tx *o; (o = cd_txpool_pick_next(k)) != NULL && o != t; ahead++) {
        gas += o->tx.gas_limit;
    }
    cd_txpool_pick_free(k);
    if (gas + t->tx.gas_limit > p->head.gas_limit) {
        cd_buf_fmt(words,
                   "%zu transactions that pay a higher tip come first; together they may use %llu "
                   "gas, and a block has %llu",
                   ahead, (unsigned long long)gas, (unsigned long long)p->head.gas_limit);
        return CD_WAIT_LINE;
    }
    cd_buf_fmt(words, "nothing is in its way: the next block takes it, behind %zu others", ahead);
    return CD_WAIT_TURN;
}

/* The place of the first transaction of s that does not follow on, or is not ready, at most that of nonce. */
static usize first_stop(const cd_txpool *p, const cd__pool_sender *s, u64 nonce)
{
    usize i = 0;
    while (i < s->cnt && s->txs[i]->tx.nonce < nonce && s->txs[i]->tx.nonce == s->nonce + i &&
           own_obstacle(p, s, &s->txs[i]->tx) == CD_WAIT_TURN) {
        i++;
    }
    return i;
}

cd_tx_wait cd_txpool_explain(cd_txpool *p, cd_buf *words, const cd_pool_tx *t)
{
    char who[CD_ADDR_TEXT_SIZE];
    const cd__pool_sender *s = cd__pool_sender_get(p, &t->tx.sender);
    CD_ASSERT(s != NULL);
    usize stop = first_stop(p, s, t->tx.nonce);
    const cd_tx *tx = &s->txs[stop]->tx;
    if (tx->nonce != s->nonce + stop) {
        u64 missing = s->nonce + stop;
        cd_buf_fmt(words, "%s has sent no transaction with nonce %llu yet; this one has %llu",
                   cd_addr_fmt(who, &s->addr), (unsigned long long)missing, (unsigned long long)t->tx.nonce);
        return CD_WAIT_GAP;
    }
    cd_tx_wait own = own_obstacle(p, s, tx);
    if (tx != &t->tx) {
        cd_buf_fmt(words, "the same sender's transaction with nonce %llu waits: ", (unsigned long long)tx->nonce);
        put_own_obstacle(words, p, s, tx, own);
        return CD_WAIT_BEHIND;
    }
    if (own == CD_WAIT_TURN) {
        return place_in_line(p, words, t);
    }
    put_own_obstacle(words, p, s, tx, own);
    return own;
}
