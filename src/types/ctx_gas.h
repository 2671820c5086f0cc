/* types/ctx_gas.h - what an atomic transaction of the C-Chain costs.
 *
 *   bytes that are signed, signatures ──► gas ──► base units at a base fee
 *
 * Threading: pure. [spec:evm-chain#9] */
#ifndef CD_TYPES_CTX_GAS_H
#define CD_TYPES_CTX_GAS_H

#include "num/u256.h"

/* The most gas that the atomic transactions of a block take together. */
enum { CD_C_GAS_MAX = 100000 };

/* cd_c_gas gives the gas of a transaction; bytes: of what is signed. */
u64 cd_c_gas(usize bytes, u64 signatures);

/* cd_c_fee gives what gas costs at a base fee (wei), in base units of so many wei (rate), rounded up; UINT64_MAX: more
 * than there can be. */
u64 cd_c_fee(u64 gas, const cd_u256 *base_fee, u64 rate);

#endif
