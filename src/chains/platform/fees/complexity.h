/* chains/platform/fees/complexity.h - how much work a transaction is, counted from its form alone.
 *
 * Bandwidth is the length of the signed transaction in bytes; reads and writes are those of the store in the worst
 * case; compute is microseconds of signature checks. Threading: pure. [spec:pchain-xchain#7.2] */
#ifndef CD_CHAINS_PLATFORM_FEES_COMPLEXITY_H
#define CD_CHAINS_PLATFORM_FEES_COMPLEXITY_H

#include "chains/platform/fees/gas.h"
#include "types/ptx.h"

/* cd_gas_complexity counts a transaction as it was read. legacy_stakers: whether the transactions that add stakers as
 * before Durango are among those that have a price [spec:decisions#D3]. Errors: CD_EUNSUPPORTED for a type that is not
 * issued; of a Warp message inside: CD_EFORMAT and like. */
cd_err cd_gas_complexity(cd_gas_dims *out, const cd_p_tx *tx, bool legacy_stakers, cd_errinfo *why) CD_CHECK;

#endif
