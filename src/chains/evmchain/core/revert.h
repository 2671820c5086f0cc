/* chains/evmchain/core/revert.h - the words in a revert: Solidity's Error(string) and Panic(uint256). Threading:
 * pure. */
#ifndef CD_CHAINS_EVMCHAIN_CORE_REVERT_H
#define CD_CHAINS_EVMCHAIN_CORE_REVERT_H

#include "base/mem/arena.h"

/* cd_revert_reason gives the text of revert data in the arena, or NULL when it is of no known form. Panic codes get
 * go-ethereum's names. */
const char *cd_revert_reason(cd_arena *a, cd_bytes data);

#endif
