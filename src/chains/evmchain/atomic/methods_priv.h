/* chains/evmchain/atomic/methods_priv.h - the methods' parameters, and how they read the names of chains. */
#ifndef CD_CHAINS_EVMCHAIN_ATOMIC_METHODS_PRIV_H
#define CD_CHAINS_EVMCHAIN_ATOMIC_METHODS_PRIV_H

#include "chains/evmchain/atomic/atomic_priv.h"
#include "rpc/named.h"

#define X CD_RPC_NAMED_DECL
#include "chains/evmchain/atomic/atomic.def"
#undef X

/* cd__atomic_find_chain finds a chain of the primary network by alias or ID. Errors: those of cd_id_parse. */
cd_err cd__atomic_find_chain(const cd_atomic *a, cd_hash32 *out, cd_bytes name) CD_CHECK;

#endif
