/* chains/evmchain/pool.h - transactions that wait for a block.
 *
 *   sender ──► [ nonce 7 | nonce 8 | nonce 9 |      nonce 12 ]     one sorted list a sender
 *                └── executable from the state's nonce ─┘  └ queued behind a gap
 *
 * Checks what a transaction must satisfy before it may wait, in the order and words of [spec:eth-rpc#5]; hands out
 * executable ones by effective tip, nonces in order. Bounded per sender and in all. State is read from a
 * cd_state_source at the head. Threading: confined to the executor. [spec:evm-chain#12] */
#ifndef CD_CHAINS_EVMCHAIN_POOL_H
#define CD_CHAINS_EVMCHAIN_POOL_H

#include "evm/host.h"
#include "evm/rules.h"
#include "types/tx_codec.h"

typedef struct cd_pool_tx cd_pool_tx;
typedef struct cd_txpool cd_txpool;

/* A waiting transaction; owned by the pool, variable parts included. */
struct cd_pool_tx {
    cd_tx tx;    /* with its canonical encoding */
    u64 arrival; /* order of arrival, breaks ties of price */
};

/* What the head of the chain asks of newcomers. */
typedef struct cd_txpool_head {
    cd_fork fork;
    u64 chain_id;
    u64 gas_limit;
    cd_u256 min_fee_cap; /* minBaseFee of the fee configuration */
} cd_txpool_head;

typedef struct cd_txpool_cfg {
    u64 account_max; /* transactions of one sender; 0 = 64 */
    u64 total_max;   /* in all; 0 = 6144 */
    u64 price_bump;  /* per cent more that a replacement must pay; 0 = 10 */
    u64 tip_min;     /* wei; 0 = 1 */
} cd_txpool_cfg;

/* cd_txpool_new makes an empty pool; it admits nothing before cd_txpool_set_head. */
cd_txpool *cd_txpool_new(const cd_txpool_cfg *cfg);
void cd_txpool_free(cd_txpool *p); /* NULL is allowed */

/* cd_txpool_set_head tells what holds from now on; src (borrowed until the next call) reads the head's state. */
void cd_txpool_set_head(cd_txpool *p, const cd_txpool_head *head, cd_state_source *src);

/* cd_txpool_add checks raw and lets it wait; *hash is set whenever raw decodes. Errors: CD_EINVAL (or CD_EFULL) with
 * the message for the client, CD_EEXIST `already known`, those of the source. */
cd_err cd_txpool_add(cd_txpool *p, cd_hash32 *hash, cd_bytes raw, cd_errinfo *why) CD_CHECK;

/* cd_txpool_get finds a waiting transaction by hash, or NULL; borrowed until the pool changes. */
const cd_pool_tx *cd_txpool_get(const cd_txpool *p, const cd_hash32 *hash);

/* cd_txpool_nonce gives the next free nonce of a sender counting executable transactions; start is its nonce in the
 * state. */
u64 cd_txpool_nonce(const cd_txpool *p, const cd_addr20 *sender, u64 start);

/* cd_txpool_settle drops what the head's state has made stale or unaffordable; call after set_head with a new block. */
cd_err cd_txpool_settle(cd_txpool *p) CD_CHECK;

/* cd_txpool_drop removes one transaction (it cannot be executed). */
void cd_txpool_drop(cd_txpool *p, const cd_hash32 *hash);

/* cd_txpool_cnt counts all waiting transactions. */
usize cd_txpool_cnt(const cd_txpool *p);

/* Picks for a block: dearest effective tip first, nonces of a sender in order. The pool must not change while a pick
 * is open. */
typedef struct cd_txpool_pick cd_txpool_pick;
cd_err cd_txpool_pick_new(cd_txpool_pick **out, cd_txpool *p, const cd_u256 *base_fee) CD_CHECK;
void cd_txpool_pick_free(cd_txpool_pick *k);

/* cd_txpool_pick_next gives the best candidate or NULL; skip_sender: after it, nothing more of its sender comes. */
const cd_pool_tx *cd_txpool_pick_next(cd_txpool_pick *k);
void cd_txpool_pick_skip_sender(cd_txpool_pick *k);

#endif
