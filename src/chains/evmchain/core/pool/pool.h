/* chains/evmchain/core/pool/pool.h - transactions that wait for a block.
 *
 *   sender ──► [ nonce 7 | nonce 8 | nonce 9 |      nonce 12 ]     one sorted list a sender
 *                └────── pending ─────────┘         └ queued: behind a gap, or not payable
 *
 * Checks what a transaction must satisfy before it may wait, in the order and words of [spec:eth-rpc#5]; hands out
 * pending ones by effective tip, nonces in order; bounded per sender and in all, the cheapest goes first. Those that
 * came over our own RPC are written to the journal before the sender hears of it, and are there again after a crash.
 * State is read from a cd_state_source at the head. Threading: confined to the executor. [spec:evm-chain#12] */
#ifndef CD_CHAINS_EVMCHAIN_POOL_H
#define CD_CHAINS_EVMCHAIN_POOL_H

#include "base/os/clock.h"
#include "evm/host.h"
#include "evm/rules/rules.h"
#include "precompile/schedule.h"
#include "store/kv.h"
#include "types/tx_codec.h"

typedef struct cd_pool_tx cd_pool_tx;
typedef struct cd_txpool cd_txpool;

/* A waiting transaction; owned by the pool, variable parts included. */
struct cd_pool_tx {
    cd_tx tx;                /* with its canonical encoding */
    u64 arrival;             /* order of arrival, breaks ties of price */
    u64 time;                /* of arrival, Unix seconds */
    bool is_local;           /* came over our own RPC */
    bool is_impersonated;    /* development network: the sender is not the signature's */
    bool is_announced;       /* private: events.pending was told */
    u32 refs;                /* private: pool and snapshots */
    usize price_at;          /* private: place among the evictable */
    cd_pool_tx *next_victim; /* private: while room is made */
};

/* What the head of the chain asks of transactions. */
typedef struct cd_txpool_head {
    cd_fork fork;
    u64 chain_id;
    u64 gas_limit;
    cd_u256 min_fee_cap;         /* minBaseFee of the fee configuration */
    cd_u256 base_fee;            /* of the next block, as far as it is known */
    const cd_schedule *schedule; /* precompiles: who may send, what predicates cost; NULL = none */
    u64 time;                    /* under which it is asked, Unix seconds */
} cd_txpool_head;

/* Where news of the pool go; all may be NULL. */
typedef struct cd_txpool_events {
    /* pending: t became executable for the first time. */
    void (*pending)(void *ctx, const cd_pool_tx *t);
    void *ctx;
} cd_txpool_events;

/* Names and defaults are those of the VM configuration [spec:evm-chain#11]; zero takes the default. */
typedef struct cd_txpool_cfg {
    u64 account_slots; /* pending ones of a sender that are safe from truncation; 16 */
    u64 global_slots;  /* 5120; transactions over 32 KiB count more than once */
    u64 account_queue; /* 64 */
    u64 global_queue;  /* 1024 */
    u64 lifetime_s;    /* of queued ones whose sender is silent; 600 */
    u64 price_bump;    /* per cent more that a replacement must pay; 10 */
    u64 tip_min;       /* wei; 1 */
    bool takes_no_tip; /* development network: a tip of zero will do */
    double fee_cap;    /* most that a transaction over RPC may spend on gas, in units of 10^18 wei; 0 = any */
    bool allow_unprotected;
    const cd_hash32 *unprotected; /* those that may come without replay protection all the same; borrowed */
    usize unprotected_cnt;
    bool spares_local;     /* limits and prices do not apply to local ones */
    bool keeps_stuck;      /* development network: what cannot be paid or does not fit waits instead of going */
    cd_kv *journal;        /* of local ones; NULL = none; borrowed */
    const cd_clock *clock; /* NULL = the machine's */
    cd_txpool_events events;
} cd_txpool_cfg;

/* cd_txpool_new makes an empty pool; it admits nothing before cd_txpool_set_head. */
cd_txpool *cd_txpool_new(const cd_txpool_cfg *cfg);
void cd_txpool_free(cd_txpool *p); /* NULL is allowed */

/* --- following the chain --- */

/* cd_txpool_set_head tells what holds from now on; src (borrowed until the next call) reads the head's state. */
void cd_txpool_set_head(cd_txpool *p, const cd_txpool_head *head, cd_state_source *src);

/* cd_txpool_recheck looks at every sender again under the present head: drops what is used up, moves the rest between
 * pending and queued, lets the lifetime run. Errors: those of the source. */
cd_err cd_txpool_recheck(cd_txpool *p) CD_CHECK;

/* cd_txpool_load takes in the journal, after the first set_head. *cnt is how many came back. */
cd_err cd_txpool_load(cd_txpool *p, usize *cnt, cd_errinfo *why) CD_CHECK;

/* --- in and out --- */

/* cd_txpool_add checks raw, which came over RPC, and lets it wait; *hash is set whenever raw decodes. _add_remote
 * takes one that a peer sent. Errors: CD_EINVAL, CD_EFULL with the message for the client, CD_EEXIST `already
 * known`, those of the source and the journal. */
cd_err cd_txpool_add(cd_txpool *p, cd_hash32 *hash, cd_bytes raw, cd_errinfo *why) CD_CHECK;
cd_err cd_txpool_add_remote(cd_txpool *p, cd_hash32 *hash, cd_bytes raw, cd_errinfo *why) CD_CHECK;

/* cd_txpool_add_as lets tx wait for its sender without a signature: it gets one that no key makes, and its hash
 * [spec:dev-rpc#3.3]. Errors as add. */
cd_err cd_txpool_add_as(cd_txpool *p, cd_hash32 *hash, const cd_tx *tx, cd_errinfo *why) CD_CHECK;

/* cd_txpool_drop removes one transaction (false: there is none), cd_txpool_drop_sender all of a sender and gives their
 * number, cd_txpool_clear all. */
bool cd_txpool_drop(cd_txpool *p, const cd_hash32 *hash);
usize cd_txpool_drop_sender(cd_txpool *p, const cd_addr20 *sender);
void cd_txpool_clear(cd_txpool *p);

/* A frozen copy of everything that waits; O(transactions), which are shared. restore puts the pool back to it under the
 * present head; the copy stays usable. */
typedef struct cd_txpool_copy cd_txpool_copy;
cd_txpool_copy *cd_txpool_copy_new(cd_txpool *p);
void cd_txpool_copy_free(cd_txpool_copy *c); /* NULL is allowed */
cd_err cd_txpool_restore(cd_txpool *p, const cd_txpool_copy *c) CD_CHECK;

/* --- looking --- */

/* cd_txpool_get finds a waiting transaction by hash, or NULL; borrowed until the pool changes. */
const cd_pool_tx *cd_txpool_get(const cd_txpool *p, const cd_hash32 *hash);

/* cd_txpool_nonce gives the next free nonce of a sender counting pending ones; start is its nonce in the state. */
u64 cd_txpool_nonce(const cd_txpool *p, const cd_addr20 *sender, u64 start);

/* cd_txpool_cnt counts all waiting transactions, cd_txpool_pending_cnt those that are executable. */
usize cd_txpool_cnt(const cd_txpool *p);
usize cd_txpool_pending_cnt(const cd_txpool *p);

/* What one sender has waiting, ascending by nonce: pending ones first. Borrowed until the pool changes. */
typedef struct cd_txpool_account {
    cd_addr20 addr;
    cd_pool_tx *const *txs;
    usize cnt;
    usize pending_cnt;
} cd_txpool_account;

/* cd_txpool_account_of gives one sender's (false: none); cd_txpool_accounts all of them, ascending by address, in the
 * arena. */
bool cd_txpool_account_of(const cd_txpool *p, cd_txpool_account *out, const cd_addr20 *sender);
cd_txpool_account *cd_txpool_accounts(const cd_txpool *p, usize *cnt, cd_arena *a);

/* cd_txpool_each_pending calls visit for those that are executable, nonces of a sender in order, until it returns
 * false; the pool must not change meanwhile. */
void cd_txpool_each_pending(const cd_txpool *p, bool (*visit)(void *ctx, const cd_pool_tx *t), void *ctx);

/* Why a transaction is not in a block yet. */
typedef enum cd_tx_wait {
    CD_WAIT_TURN,      /* nothing is in its way: the next block takes it */
    CD_WAIT_GAP,       /* an earlier nonce is missing */
    CD_WAIT_BEHIND,    /* an earlier nonce of the same sender waits itself */
    CD_WAIT_FUNDS,     /* the balance does not cover the cost */
    CD_WAIT_GAS_LIMIT, /* more gas than a block has */
    CD_WAIT_BASE_FEE,  /* the fee cap is below the base fee */
    CD_WAIT_LINE,      /* dearer ones fill the next block */
} cd_tx_wait;

/* cd_txpool_explain says why t, of this pool, waits, and appends it in words. */
cd_tx_wait cd_txpool_explain(cd_txpool *p, cd_buf *words, const cd_pool_tx *t);

/* --- picking --- */

/* Picks for a block: dearest effective tip first, nonces of a sender in order. The pool must not change while a pick
 * is open. */
typedef struct cd_txpool_pick cd_txpool_pick;
cd_txpool_pick *cd_txpool_pick_new(const cd_txpool *p, const cd_u256 *base_fee);
void cd_txpool_pick_free(cd_txpool_pick *k); /* NULL is allowed */

/* cd_txpool_pick_next gives the best candidate or NULL; skip_sender: after it, nothing more of its sender comes. */
const cd_pool_tx *cd_txpool_pick_next(cd_txpool_pick *k);
void cd_txpool_pick_skip_sender(cd_txpool_pick *k);

#endif
