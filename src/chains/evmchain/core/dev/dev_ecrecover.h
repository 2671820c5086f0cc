/* chains/evmchain/core/dev/dev_ecrecover.h - ecrecover as a development network has it: signatures that somebody
 * declared to be an address's recover to it, whatever they sign (anvil_impersonateSignature).
 *
 *   storage of account 0x01:   keccak256(r ‖ s ‖ v) ──► 1 ‖ address
 *
 * The declarations are state: edits make them, snapshots take them back, blocks executed again find them, dumps
 * carry them. Gas is Ethereum's. Threading: frozen; the rest as the state given. [spec:dev-rpc#3.3] */
#ifndef CD_CHAINS_EVMCHAIN_CORE_DEV_ECRECOVER_H
#define CD_CHAINS_EVMCHAIN_CORE_DEV_ECRECOVER_H

#include "evm/precompile/precompile.h"

/* The precompile that takes the place of ecrecover. */
extern const cd_precompile cd_dev_ecrecover;

/* cd_dev_recovers_to declares that a signature (r, s, v of 27 or 28) recovers to who, as a change of st. */
void cd_dev_recovers_to(cd_state *st, const u8 sig[65], const cd_addr20 *who);

#endif
