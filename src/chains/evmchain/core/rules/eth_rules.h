/* chains/evmchain/core/rules/eth_rules.h - arithmetic of Ethereum's own header fields: base fee and blob gas.
 *
 * Used by the Ethereum profile: the public test suites and the laboratory. Pure functions of a
 * parent header. Threading: pure. (EIP-1559, EIP-4844) */
#ifndef CD_CHAINS_EVMCHAIN_ETH_RULES_H
#define CD_CHAINS_EVMCHAIN_ETH_RULES_H

#include "evm/rules/rules.h"
#include "types/genesis.h"

enum { CD_BLOB_GAS = 131072 }; /* gas of one blob */
/* The schedules: Cancun's of 3 blobs a block as target, 6 at most, update fraction 3338477; Prague's of 6, 9 and
 * 5007716 (EIP-7691). */
extern const cd_blob_schedule CD_BLOB_CANCUN;
extern const cd_blob_schedule CD_BLOB_PRAGUE;

/* cd_eth_blob_schedule gives the schedule of a fork from Cancun on. */
const cd_blob_schedule *cd_eth_blob_schedule(cd_fork fork);

/* The base fee of the first block with one. */
enum { CD_ETH_INITIAL_BASE_FEE = 1000000000 };

/* cd_eth_base_fee computes the base fee of the child of a block with these values; the gas limit is
 * the one the target is taken from (doubled already when the parent is the last block before
 * London). */
void cd_eth_base_fee(cd_u256 *out, const cd_u256 *parent_base_fee, u64 parent_gas_limit, u64 parent_gas_used);

/* cd_eth_excess_blob_gas computes a child's excess from its parent's. */
u64 cd_eth_excess_blob_gas(u64 parent_excess, u64 parent_used, const cd_blob_schedule *s);

/* cd_eth_blob_base_fee gives wei per blob gas: e^(excess / fraction) as EIP-4844 computes it;
 * values over 256 bits saturate. */
void cd_eth_blob_base_fee(cd_u256 *out, u64 excess, const cd_blob_schedule *s);

#endif
