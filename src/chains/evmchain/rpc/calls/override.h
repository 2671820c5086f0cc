/* chains/evmchain/rpc/calls/override.h - what a simulated call may pretend: other accounts, another block.
 *
 * State: {address: {nonce, code, balance, state | stateDiff}}; block: {number, time, gasLimit, feeRecipient,
 * prevRandao, baseFeePerGas, blobBaseFee, difficulty}, with the older names coinbase, random and baseFee. Errors are
 * the caller's:
 * -32602 for what cannot be read, -32000 in go-ethereum's words for what cannot be done. Threading: confined to the
 * call. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_OVERRIDE_H
#define CD_CHAINS_EVMCHAIN_RPC_OVERRIDE_H

#include "evm/evm.h"
#include "rpc/param.h"

/* cd__api_override_table gives the precompiles that a call sees: those of base without the accounts that v changes,
 * the moved ones at their new places (movePrecompileToAddress); *out is the caller's to free, NULL when base stays
 * as it is. v is (part of) parameter idx; none and null change nothing. */
cd_err cd__api_override_table(cd_rpc_call *call, cd_precompile_table **out, const cd_precompile_table *base, cd_json v,
                              usize idx) CD_CHECK;

/* cd__api_override_accounts changes st as a transaction before the call would have. */
cd_err cd__api_override_accounts(cd_rpc_call *call, cd_state *st, cd_json v, usize idx) CD_CHECK;

/* cd__api_override_block changes env likewise. Which fork holds afterwards is for the caller to find out. */
cd_err cd__api_override_block(cd_rpc_call *call, cd_block_env *env, cd_json v, usize idx) CD_CHECK;

#endif
