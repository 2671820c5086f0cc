/* chains/evmchain/core/config/compat.h - may a chain that has run with one configuration go on with another? What
 * was in force up to its head must be the same. Threading: pure. [spec:evm-chain#7] */
#ifndef CD_CHAINS_EVMCHAIN_CONFIG_COMPAT_H
#define CD_CHAINS_EVMCHAIN_CONFIG_COMPAT_H

#include "types/genesis.h"

/* cd_compat_fail gives the error that names what differs: from when it held in the database, from when it shall hold
 * now, and how far back the chain would have to go. */
cd_err cd_compat_fail(const char *what, const cd_when *old, const cd_when *now, cd_errinfo *why);

/* cd_compat_times compares the times of network upgrades for a chain whose head has that time; both are resolved.
 * Errors: CD_EINVAL. */
cd_err cd_compat_times(const cd_chain_config *old, const cd_chain_config *now, u64 head_time, cd_errinfo *why) CD_CHECK;

#endif
