/* chains/evmchain/rpc/sending/prices.h - what gas is said to cost: the base fee to come, tips, fee caps.
 *
 * Threading: any lane; on a development network OWNER alone knows what was chosen for the next block.
 * [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_PRICES_H
#define CD_CHAINS_EVMCHAIN_RPC_PRICES_H

#include "num/u256.h"
#include "rpc/jsonrpc.h"

/* cd_api_tip suggests a tip. */
cd_err cd_api_tip(cd_rpc_call *call, cd_u256 *out) CD_CHECK;

/* cd__api_prices gives what a transaction without prices gets: tip, and a fee cap that outlasts some full blocks. */
cd_err cd__api_prices(cd_rpc_call *call, cd_u256 *tip, cd_u256 *fee_cap) CD_CHECK;

/* cd_api_base_fee gives the base fee of the block that would be built now. */
cd_err cd_api_base_fee(cd_rpc_call *call, cd_u256 *out) CD_CHECK;

#endif
