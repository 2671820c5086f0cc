/* chains/evmchain/rpc/service.h - the methods of one chain as a service: which are on, what they go by, what they
 * share.
 *
 * Threading: made and ended by the owner of the chain; what handlers share guards itself. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_SERVICE_H
#define CD_CHAINS_EVMCHAIN_RPC_SERVICE_H

#include "base/os/clock.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "chains/evmchain/rpc/debug/profile.h"
#include "chains/evmchain/rpc/rendered.h"
#include "rpc/jsonrpc.h"
#include "rpc/session.h"

/* Names and defaults are those of the VM configuration [spec:evm-chain#11]. */
typedef struct cd_api_cfg {
    const cd_clock *clock;
    u64 gas_cap;      /* rpc-gas-cap; 0 = none */
    u64 proof_window; /* historical-proof-query-window; 0 = any depth */
    cd_loop *home;    /* loop of the sessions; NULL: there are no subscriptions */
    usize text_bytes; /* answers kept as text; 0: TEXT_BYTES of service.c */
    bool is_product;  /* refused roles are told "unauthorized: " first [spec:decisions#D13] */
} cd_api_cfg;

/* The tip suggested last. */
typedef struct cd__api_tips {
    cd_mutex lock;  /* protects the rest */
    cd_hash32 head; /* the head under which tip was worked out */
    u64 until;      /* Unix seconds at which one of the blocks it comes from is too old to count */
    cd_u256 tip;
} cd__api_tips;

/* The methods of one chain and what they keep. */
typedef struct cd_api_service {
    cd_api_cfg cfg;
    cd_rpc_table *methods;
    cd_rpc_service rpc;
    cd_rpc_table *admin_methods;
    cd_rpc_service admin; /* methods of the route /admin */
    cd__profiler profiler;
    cd_buf openrpc;
    cd_trials trials;
    cd__api_tips tips;
    cd__rendered rendered;
    struct cd_filters *filters;     /* filters that clients poll (filters.h) */
    struct cd_trace_chains *chains; /* chains of blocks that are being traced for subscribers */
} cd_api_service;

struct cd_api;

/* cd_api_open makes the service of e over chain and pool of e, with the groups and limits of its configuration
 * and with what a development network or the laboratory has besides. cd_api_close ends it, no request being served
 * any more; an api that was never opened is allowed. Errors: CD_ENOENT `API service %s not found`. */
cd_err cd_api_open(struct cd_api *e, const cd_api_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_api_close(struct cd_api *e);

/* cd_api_pending_tx tells filters and subscribers that t became executable; before the service is open, nobody. */
void cd_api_pending_tx(struct cd_api *e, const cd_pool_tx *t);

#endif
