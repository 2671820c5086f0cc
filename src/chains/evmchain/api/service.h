/* chains/evmchain/api/service.h - the methods of one chain as a service: which are on, what they go by, what they share.
 *
 * Threading: made and ended by the owner of the chain; what handlers share guards itself. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_API_SERVICE_H
#define CD_CHAINS_EVMCHAIN_API_SERVICE_H

#include "base/clock.h"
#include "chains/evmchain/api/profile.h"
#include "chains/evmchain/api/rendered.h"
#include "chains/evmchain/api/trial.h"
#include "rpc/jsonrpc.h"
#include "rpc/session.h"

/* Names and defaults are those of the VM configuration [spec:evm-chain#11]. */
typedef struct cd__api_cfg {
    const cd_clock *clock;
    u64 gas_cap;      /* rpc-gas-cap; 0 = none */
    u64 proof_window; /* historical-proof-query-window; 0 = any depth */
    cd_loop *home;    /* of the sessions; NULL: no subscriptions */
    usize text_bytes; /* answers kept as text; 0: TEXT_BYTES of service.c */
    bool is_product;  /* refused roles are told "unauthorized: " first [spec:decisions#D13] */
} cd__api_cfg;

/* The tip suggested last. */
typedef struct cd__api_tips {
    cd_mutex lock;  /* protects the rest */
    cd_hash32 head; /* under which */
    u64 until;      /* Unix seconds: then a block of it is too old */
    cd_u256 tip;
} cd__api_tips;

typedef struct cd__api {
    cd__api_cfg cfg;
    cd_rpc_table *methods;
    cd_rpc_service rpc;
    cd_rpc_table *admin_methods;
    cd_rpc_service admin; /* of the route /admin */
    cd__profiler profiler;
    cd_buf openrpc;
    cd__trials trials;
    cd__api_tips tips;
    cd__rendered rendered;
    struct cd_trace_chains *chains; /* that are being traced for subscribers */
} cd__api;

struct cd_evm_vm;

/* cd__api_open makes the service e->api over chain and pool of e, with the groups and limits of its configuration and with
 * what a development network or the laboratory has besides. cd__api_close ends it, no request being served any more; an
 * api that was never opened is allowed. Errors: CD_ENOENT `API service %s not found`. */
cd_err cd__api_open(struct cd_evm_vm *e, const cd__api_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd__api_close(struct cd_evm_vm *e);

#endif
