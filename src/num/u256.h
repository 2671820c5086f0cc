/* num/u256.h - 256-bit unsigned words as the EVM sees them, all operations inline unless they are long.
 *
 * Four 64-bit limbs, w[0] least significant. Arithmetic wraps modulo 2^256. Every access to a limb is
 * 8 bytes wide on purpose: wider loads of freshly written limbs stall on store forwarding
 * [spec:evm-performance#4]. Division and modular products live in num/div.c. Threading: pure. */
#ifndef CD_NUM_U256_H
#define CD_NUM_U256_H

#include "base/bytes.h"

typedef struct cd_u256 {
    u64 w[4];
} cd_u256;

#endif
