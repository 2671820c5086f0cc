/* chains/evmchain/rpc/sending/send.h - transactions on their way into the pool, and what only the owner of the chain
 * may do.
 *
 * Threading: OWNER, but for cd__api_on_owner, which is for every lane, and what only reads. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_SEND_H
#define CD_CHAINS_EVMCHAIN_RPC_SEND_H

#include "chains/evmchain/rpc/calls/args.h"

/* cd__api_sent follows the arrival of a transaction in the pool: asks for a block, and on a development network sees it
 * made. Fails the call when the transaction is not taken after all. */
cd_err cd__api_sent(cd_rpc_call *call, const cd_hash32 *hash) CD_CHECK;

/* cd__api_on_owner calls job(arg) on the thread that owns the chain and waits, from a handler in whatever lane. Fails
 * the call when too much waits there already. */
cd_err cd__api_on_owner(cd_rpc_call *call, void (*job)(void *arg), void *arg) CD_CHECK;

/* cd__api_estimate finds the gas limit with which a transaction succeeds, or fails the call with its error. */
cd_err cd__api_estimate(cd_rpc_call *call, u64 *out, const cd__tx_args *args) CD_CHECK;

/* cd__api_write_filled writes {raw, tx}, tx in the form and order of go-ethereum's own transactions. */
void cd__api_write_filled(cd_json_w *w, const cd_tx *tx, bool is_signed);

/* cd__api_complete fills in what the sender of a transaction left out: nonce, prices, gas. OWNER. */
cd_err cd__api_complete(cd_rpc_call *call, cd__tx_args *args) CD_CHECK;

/* cd__api_send_raw puts a signed transaction into the pool and answers with its hash. OWNER. */
cd_err cd__api_send_raw(cd_rpc_call *call, cd_bytes raw) CD_CHECK;

/* cd_api_send serves eth_sendTransaction; needs_no_key: whoever sends need not be one of ours (development
 * network). */
cd_err cd_api_send(cd_rpc_call *call, bool needs_no_key) CD_CHECK;

#endif
