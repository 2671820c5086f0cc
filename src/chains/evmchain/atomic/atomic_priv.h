/* chains/evmchain/atomic/atomic_priv.h - the object as its files see it. */
#ifndef CD_CHAINS_EVMCHAIN_ATOMIC_PRIV_H
#define CD_CHAINS_EVMCHAIN_ATOMIC_PRIV_H

#include "chains/evmchain/atomic/atomic.h"

struct cd_atomic {
    cd_atomic_cfg cfg;
    cd_chain *chain;
    cd_chain_ext ext;
    cd_fx *fx;
    cd_atomic_pool *pool;
    cd_atomic_trie trie;
    bool is_bootstrapped;
    cd_rpc_table *table;
    cd_rpc_service service;
};

/* cd__atomic_serve makes the service; the table is the object's to free. */
void cd__atomic_serve(cd_atomic *a);

/* cd__atomic_next_header gives time and base fee that the next block on parent would have; src: the state there. */
cd_err cd__atomic_next_header(const cd_atomic *a, cd_header *out, const cd_chain_block *parent, cd_state_source *src,
                              cd_errinfo *why) CD_CHECK;

#endif
