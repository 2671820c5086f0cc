/* chains/evmchain/dev/genesis.h - the genesis of the development network's EVM chain: ten accounts of 10,000 each, fees
 * that make tools behave. [spec:dev-rpc#1.2] Threading: pure. */
#ifndef CD_CHAINS_EVMCHAIN_DEV_GENESIS_H
#define CD_CHAINS_EVMCHAIN_DEV_GENESIS_H

#include "base/mem/buf.h"

/* cd_dev_genesis appends the JSON document; time in Unix seconds. Errors: CD_EKEY (never, for the phrase we use). */
cd_err cd_dev_genesis(cd_buf *out, u64 chain_id, u64 time) CD_CHECK;

#endif
