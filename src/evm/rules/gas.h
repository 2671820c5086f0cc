/* evm/rules/gas.h - prices: those that never changed as constants, the others as one row per fork.
 *
 * The base price of an opcode stands with the opcode (opcodes.def); here are the prices that depend
 * on operands and state. Threading: frozen. */
#ifndef CD_EVM_GAS_H
#define CD_EVM_GAS_H

#include "evm/rules/rules.h"
#include "num/u256.h"

enum {
    CD_GAS_TX = 21000,
    CD_GAS_TX_DATA_ZERO = 4,
    CD_GAS_ACCESS_ADDR = 2400, /* EIP-2930 */
    CD_GAS_ACCESS_KEY = 1900,
    CD_GAS_AUTHORIZATION = 12500, /* EIP-7702: an authorization by an account that exists */
    CD_GAS_AUTHORIZATION_NEW = 25000,
    CD_GAS_BLOB = 131072, /* blob gas of one blob (EIP-4844) */
    CD_GAS_MEMORY_WORD = 3,
    CD_GAS_MEMORY_QUAD_DIV = 512,
    CD_GAS_COPY_WORD = 3,
    CD_GAS_KECCAK_WORD = 6,
    CD_GAS_LOG_TOPIC = 375,
    CD_GAS_LOG_BYTE = 8,
    CD_GAS_CREATE = 32000,
    CD_GAS_CODE_BYTE = 200, /* for each byte of deployed code */
    CD_GAS_CALL_VALUE = 9000,
    CD_GAS_CALL_STIPEND = 2300,
    CD_GAS_CALL_NEW_ACCT = 25000,
    CD_GAS_SSTORE_SET = 20000,
    CD_GAS_SSTORE_LEGACY_RESET = 5000,
};

enum {
    CD_CODE_SIZE_MAX = 24576,                    /* EIP-170 */
    CD_INITCODE_SIZE_MAX = 2 * CD_CODE_SIZE_MAX, /* EIP-3860 */
    CD_CALL_DEPTH_MAX = 1024,
};

/* The prices of one fork; fields are the rows of evm/rules/gas.def. */
typedef struct cd_gas {
#define G2(name, ...) u32 name;
#define G3(name, ...) u32 name;
#define G4(name, ...) u32 name;
#include "evm/rules/gas.def"
#undef G2
#undef G3
#undef G4
    bool sstore_net; /* net metering: Constantinople, and again from Istanbul on */
} cd_gas;

/* cd_gas_of gives the prices of a fork; users keep a copy next to the data they work on. */
cd_gas cd_gas_of(cd_fork fork);

/* cd_gas_sstore gives the price of storing next over current in a slot that was original when the
 * transaction began, without the surcharge for a cold slot, and the change of the refund
 * counter. */
CD_INLINE u32 cd_gas_sstore(const cd_gas *g, i64 *refund, const cd_u256 *original, const cd_u256 *current,
                            const cd_u256 *next)
{
    i64 clear = (i64)g->sstore_clear_refund;
    *refund = 0;
    if (CD_UNLIKELY(!g->sstore_net)) {
        if (cd_u256_is_zero(current)) {
            return cd_u256_is_zero(next) ? CD_GAS_SSTORE_LEGACY_RESET : CD_GAS_SSTORE_SET;
        }
        *refund = cd_u256_is_zero(next) ? clear : 0;
        return CD_GAS_SSTORE_LEGACY_RESET;
    }
    if (cd_u256_eq(current, next)) {
        return g->sstore_noop;
    }
    if (cd_u256_eq(original, current)) {
        if (cd_u256_is_zero(original)) {
            return CD_GAS_SSTORE_SET;
        }
        *refund = cd_u256_is_zero(next) ? clear : 0;
        return g->sstore_reset;
    }
    if (!cd_u256_is_zero(original)) {
        if (cd_u256_is_zero(current)) {
            *refund -= clear;
        } else if (cd_u256_is_zero(next)) {
            *refund += clear;
        }
    }
    if (cd_u256_eq(original, next)) {
        *refund += (cd_u256_is_zero(original) ? (i64)CD_GAS_SSTORE_SET : (i64)g->sstore_reset) - (i64)g->sstore_noop;
    }
    return g->sstore_noop;
}

#endif
