/* chains/evmchain/rpc/sending/keys.h - keys that the node signs with: those that everybody knows on the development
 * network, and those of the keystore while they are unlocked.
 *
 * Threading: any lane; keys of the development network are frozen, the keystore guards itself. */
#ifndef CD_CHAINS_EVMCHAIN_RPC_KEYS_H
#define CD_CHAINS_EVMCHAIN_RPC_KEYS_H

#include "chains/evmchain/rpc/api.h"
#include "wallet/keystore.h"

/* cd_keys_open opens the keystore that the configuration names, or that of the chain's own directory when personal_
 * methods are on; none where everything stays in memory. Errors: those of wallet/keystore.h, CD_EUNSUPPORTED. */
cd_err cd_keys_open(cd_api *e, cd_errinfo *why) CD_CHECK;

/* cd__known_account gives the account of an address whose key everybody knows, or NULL. */
const cd_api_account *cd__known_account(const cd_api *e, const cd_addr20 *addr);

/* cd__keys_knows: the node has a key of addr, in the clear or not. */
bool cd__keys_knows(const cd_api *e, const cd_addr20 *addr);

/* cd__keys_get copies the key of addr, for the caller to wipe. Fails the call: `unknown account`, or `authentication
 * needed: password or unlock`. */
cd_err cd__keys_get(cd_rpc_call *call, u8 out[32], const cd_addr20 *addr) CD_CHECK;

/* cd__keys_sign_tx signs for tx->sender; it fails as get does. */
cd_err cd__keys_sign_tx(cd_rpc_call *call, cd_tx *tx) CD_CHECK;

/* cd__keys_write_sig signs a digest with a key and writes r, s and v, 27 or 28. */
void cd__keys_write_sig(cd_rpc_call *call, const u8 key[32], const cd_hash32 *digest);

/* cd__keys_digest gives what is signed of a message: it says itself that it is one, and how long (EIP-191). */
void cd__keys_digest(cd_hash32 *out, cd_bytes message);

#endif
