/* chains/evmchain/rpc/logs/kinds.h - what clients may subscribe to. Threading: frozen. [spec:eth-rpc#7] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_KINDS_H
#define CD_CHAINS_EVMCHAIN_RPC_KINDS_H

#include "rpc/session.h"

/* The kinds of subscriptions, for the service of a chain with a feed. */
extern const cd_rpc_kind cd__api_kinds[];
extern const usize cd__api_kinds_cnt;

#endif
