/* chains/platform/genesis/genesis_priv.h - what building and reading share. */
#ifndef CD_PLATFORM_GENESIS_PRIV_H
#define CD_PLATFORM_GENESIS_PRIV_H

#include "chains/platform/genesis/genesis.h"

/* cd__pgenesis_asset_of gives the native asset of a genesis of the X-Chain: the first there, as the transaction that
 * creates it. Errors: those of cd_linear_parse, CD_EINVAL when there is none. */
cd_err cd__pgenesis_asset_of(cd_hash32 *out, cd_arena *a, cd_bytes x_genesis, cd_errinfo *why) CD_CHECK;

#endif
