/* chains/evmchain/gossip.h - the pools of an EVM chain and those of other nodes: transactions of accounts, and, where
 * there are any, atomic ones, each with a handler of its own.
 *
 * Threading: confined to the executor. [spec:consensus#9] */
#ifndef CD_CHAINS_EVMCHAIN_GOSSIP_H
#define CD_CHAINS_EVMCHAIN_GOSSIP_H

#include "chains/evmchain/atomic/atomic.h"
#include "chains/evmchain/core/pool/pool.h"
#include "vm/gossip/gossip.h"

/* The pools as other nodes see them; a member of the VM's object, which stays where it is. */
typedef struct cd_evm_gossip {
    cd_txpool *pool;
    cd_atomic *atomic; /* NULL: there are none */
    cd_vm_host *host;
    cd_gossip_set txs;
    cd_gossip_set atomic_txs;
    cd_gossip_topic *of_txs;
    cd_gossip_topic *of_atomic; /* NULL likewise */
    bool is_on;                 /* the chain is bootstrapped: what peers send is looked at */
} cd_evm_gossip;

/* cd_evm_gossip_open makes the pools topics of g; it borrows all. */
void cd_evm_gossip_open(cd_evm_gossip *x, cd_gossip *g, cd_txpool *pool, cd_atomic *atomic, cd_vm_host *host);

/* cd_evm_gossip_pending: a transaction may go into a block now. One that came to this node first is told to others. */
void cd_evm_gossip_pending(cd_evm_gossip *x, const cd_pool_tx *t);

/* cd_evm_gossip_atomic: an atomic one waits now; is_own: a client gave it to this node. */
void cd_evm_gossip_atomic(cd_evm_gossip *x, const cd_hash32 *id, bool is_own);

#endif
