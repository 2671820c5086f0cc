/* chains/evmchain/atomic/atomic.h - imports and exports of an EVM chain: what its blocks' extra data does.
 *
 *   issue ──► pool ──► fill (build) ─┐                        ┌─► accounts (apply)
 *             peers' blocks ─────────┴─► form ──► check ──────┤
 *                                              shared memory  └─► put: shared memory and record, in the block's batch
 *
 * The chain calls through cd_chain_ext. Threading: confined to the executor, but for cd_atomic_record and the methods,
 * whose rows say where they run. [spec:evm-chain#9] */
#ifndef CD_CHAINS_EVMCHAIN_ATOMIC_ATOMIC_H
#define CD_CHAINS_EVMCHAIN_ATOMIC_ATOMIC_H

#include "chains/evmchain/atomic/pool.h"
#include "chains/evmchain/atomic/trie.h"
#include "chains/evmchain/core/chain.h"
#include "rpc/jsonrpc.h"
#include "vm/vm.h"

typedef struct cd_atomic cd_atomic;

/* What it is made of. */
typedef struct cd_atomic_cfg {
    cd_atomic_net net;          /* its network and place in it */
    cd_kv *kv;                  /* the chain's own part of the store */
    const cd_vm_shared *shared; /* borrowed */
    u64 trie_interval;          /* heights between two roots of the atomic trie; 0: 4096 */
    const cd_clock *clock;      /* for the price of the next block */
    const cd_vm_users *users;   /* who has keys here; NULL: nobody */
    cd_vm_host *host;           /* by which methods on other threads reach the executor; NULL: there are none */
    /* There is something to build. */
    void (*wanted)(void *ctx);
    /* A transaction waits now; is_own: a client of this node gave it. NULL allowed. */
    void (*waits)(void *ctx, const cd_hash32 *id, bool is_own);
    /* The block that the next one stands on; NULL: the last accepted. */
    cd_chain_block *(*preferred)(void *ctx);
    void *ctx;
} cd_atomic_cfg;

/* cd_atomic_open copies cfg. cd_atomic_close: behind the chain; NULL is allowed. */
cd_atomic *cd_atomic_open(const cd_atomic_cfg *cfg) __attribute__((returns_nonnull));
void cd_atomic_close(cd_atomic *a);

/* cd_atomic_ext gives the chain's seat, for opening it; cd_atomic_use tells the chain then: the atomic trie catches up
 * with it, and so does shared memory after a sync that was stopped. Errors: the store's, CD_ECORRUPT. */
const cd_chain_ext *cd_atomic_ext(const cd_atomic *a);
cd_err cd_atomic_use(cd_atomic *a, cd_chain *c, cd_errinfo *why) CD_CHECK;

/* cd_atomic_trie_of borrows the atomic trie, once the chain is known; for state sync. cd_atomic_shared likewise. */
cd_atomic_trie *cd_atomic_trie_of(cd_atomic *a);
const cd_vm_shared *cd_atomic_shared(const cd_atomic *a);

/* cd_atomic_bootstrapped: from now on what a block takes must be there; before, blocks were accepted by others and the
 * peer chain may be behind. */
void cd_atomic_bootstrapped(cd_atomic *a, bool is);

/* cd_atomic_issue checks a transaction against the preferred block and lets it wait; is_own: of a client of this node,
 * not of a peer. Errors: CD_EEXIST when it does
 * already or was accepted, those of cd_atomic_spend, cd_atomic_apply and cd_atomic_pool_add, CD_ELIMIT when it takes
 * more gas than a block has. */
cd_err cd_atomic_issue(cd_atomic *a, const cd_atomic_tx *t, bool is_own, cd_errinfo *why) CD_CHECK;

/* cd_atomic_pool_of borrows what waits. */
const cd_atomic_pool *cd_atomic_pool_of(const cd_atomic *a);

/* cd_atomic_record finds an accepted transaction: its height, and its signed bytes in out (NULL allowed). Any thread.
 * Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
cd_err cd_atomic_record(const cd_atomic *a, u64 *height, cd_buf *out, const cd_hash32 *id) CD_CHECK;

/* cd_atomic_service gives the methods lux.* and avax.* of the routes /lux and /avax. */
const cd_rpc_service *cd_atomic_service(const cd_atomic *a);

#endif
