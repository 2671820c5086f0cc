/* chains/evmchain/rpc/calls/args.h - reading the parameters that many methods have: slots, call and transaction
 * objects.
 *
 * Errors are the call's. Threading: confined to the call. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_ARGS_H
#define CD_CHAINS_EVMCHAIN_RPC_ARGS_H

#include "rpc/param.h"
#include "types/tx.h"

/* cd__api_need fails the call without parameter idx; a development network does without. */
cd_err cd__api_need(cd_rpc_call *call, usize idx) CD_CHECK;

/* cd__api_slot_key reads the key of a slot: up to 32 bytes of hex. */
cd_err cd__api_slot_key(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx) CD_CHECK;

/* What a call or transaction object may say. */
typedef struct cd__tx_args {
    cd_tx tx; /* sender, to, value, data, access list, and what was given of the rest */
    bool has_from;
    bool has_gas;
    bool has_nonce;
    bool has_price; /* gasPrice, or one of the 1559 caps */
    bool has_fee_cap;
    bool has_tip_cap;
} cd__tx_args;

/* cd__api_tx_args reads parameter idx, _of a part of it. */
cd_err cd__api_tx_args(cd_rpc_call *call, cd__tx_args *out, usize idx) CD_CHECK;
cd_err cd__api_tx_args_of(cd_rpc_call *call, cd__tx_args *out, cd_json v, usize idx) CD_CHECK;

/* cd__api_gas gives the gas that a call is tried with: what it says, capped. */
u64 cd__api_gas(const cd_rpc_call *call, const cd__tx_args *args);

#endif
