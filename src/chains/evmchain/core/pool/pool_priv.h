/* chains/evmchain/core/pool/pool_priv.h - the pool object as its files see it. */
#ifndef CD_CHAINS_EVMCHAIN_POOL_PRIV_H
#define CD_CHAINS_EVMCHAIN_POOL_PRIV_H

#include "base/table/hmap.h"
#include "base/table/list.h"
#include "chains/evmchain/core/pool/pool.h"

/* The largest transaction in bytes, and what it takes of the pool's room. */
enum { CD__POOL_TX_MAX = 131072, CD__POOL_SLOTS_MAX = 4 };

/* Transactions of one sender, ascending by nonce; the first `pending` follow on from the state's nonce and can be
 * paid. */
typedef struct cd__pool_sender {
    cd_addr20 addr;
    cd_pool_tx **txs;
    usize cnt;
    usize cap;
    usize pending;
    u64 nonce; /* and balance: in the state of the head */
    cd_u256 balance;
    bool is_spared; /* limits do not apply */
    u64 beat;       /* when it last sent or advanced, Unix seconds */
    cd_list by_beat;
} cd__pool_sender;

struct cd_txpool {
    cd_txpool_cfg cfg;
    cd_txpool_head head;
    cd_state_source *src;
    cd_hmap by_hash;     /* hash -> cd_pool_tx * */
    cd_hmap by_sender;   /* address -> cd__pool_sender * */
    cd_list by_beat;     /* senders, the longest silent first */
    cd_pool_tx **prices; /* a binary heap of what may be evicted, the cheapest on top */
    usize price_cnt;
    usize price_cap;
    usize pending; /* transactions in all */
    u64 slots;     /* that all transactions take */
    usize fat;     /* senders not spared with more than account_slots pending */
    u64 arrivals;
    u64 next_expiry;     /* Unix seconds */
    cd_kv_batch journal; /* deletions not written yet */
};

/* Where a transaction comes from. */
typedef enum cd__pool_origin {
    CD__POOL_RPC,
    CD__POOL_PEER,
    CD__POOL_JOURNAL,
} cd__pool_origin;

u64 cd__pool_now(const cd_txpool *p);
cd__pool_sender *cd__pool_sender_get(const cd_txpool *p, const cd_addr20 *addr);

/* cd__pool_place gives where nonce is or belongs in the list of s. */
usize cd__pool_place(const cd__pool_sender *s, u64 nonce);

/* cd__pool_cost gives gas limit * fee cap + value; false beyond 256 bits. */
bool cd__pool_cost(cd_u256 *out, const cd_tx *tx);

/* cd__pool_is_ready: s can pay tx, and a block has room for it. */
bool cd__pool_is_ready(const cd_txpool *p, const cd__pool_sender *s, const cd_tx *tx);

/* cd__pool_tip gives min(tip cap, fee cap - base fee); false when the fee cap is below the base fee. */
bool cd__pool_tip(cd_u256 *out, const cd_tx *tx, const cd_u256 *base_fee);

/* --- pool_check.c: what may wait --- */

/* cd__pool_check_form says what needs neither sender nor state, cd__pool_check_fees what needs the sender's address. */
cd_err cd__pool_check_form(const cd_txpool *p, const cd_tx *tx, cd_errinfo *why) CD_CHECK;
cd_err cd__pool_check_fees(const cd_txpool *p, const cd_tx *tx, bool is_spared, cd_errinfo *why) CD_CHECK;

/* cd__pool_check_rpc says what is asked only of what comes over RPC. */
cd_err cd__pool_check_rpc(const cd_txpool *p, const cd_tx *tx, cd_errinfo *why) CD_CHECK;

/* cd__pool_check_sender looks at the sender's account and what it has waiting; old is what tx would replace, or
 * NULL. cd__pool_check_nonce is the part of it that never becomes right again. */
cd_err cd__pool_check_nonce(const cd__pool_sender *s, const cd_tx *tx, cd_errinfo *why) CD_CHECK;
cd_err cd__pool_check_sender(const cd_txpool *p, const cd__pool_sender *s, const cd_tx *tx, const cd_pool_tx *old,
                             cd_errinfo *why) CD_CHECK;

/* --- pool_price.c: what goes first when there is no room --- */

void cd__pool_price_put(cd_txpool *p, cd_pool_tx *t);
void cd__pool_price_del(cd_txpool *p, cd_pool_tx *t);

/* cd__pool_price_sort makes the order right after the base fee changed. */
void cd__pool_price_sort(cd_txpool *p);

/* cd__pool_price_cmp orders by what a transaction pays at the head: <0 when a is cheaper. */
int cd__pool_price_cmp(const cd_txpool *p, const cd_tx *a, const cd_tx *b);

/* --- pool_journal.c --- */

/* cd__pool_journal_put writes t before it is acknowledged; _del notes that it is gone, written with the next put or
 * flush. */
cd_err cd__pool_journal_put(cd_txpool *p, const cd_pool_tx *t, cd_errinfo *why) CD_CHECK;
void cd__pool_journal_del(cd_txpool *p, const cd_pool_tx *t);
cd_err cd__pool_journal_flush(cd_txpool *p) CD_CHECK;

/* --- pool.c for the journal --- */

/* cd__pool_admit checks tx, whose sender is known, and lets it wait. */
cd_err cd__pool_admit(cd_txpool *p, const cd_tx *tx, cd__pool_origin origin, bool is_impersonated,
                      cd_errinfo *why) CD_CHECK;

#endif
