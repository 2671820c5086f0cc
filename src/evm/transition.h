/* evm/transition.h - one transaction applied to the state: checks, fee, call, refund, payment.
 *
 * Rules differ by fork and profile rows only [spec:conformance#0]. Signature and sender are the
 * caller's business (types/tx_codec.h). Threading: confined. */
#ifndef CD_EVM_TRANSITION_H
#define CD_EVM_TRANSITION_H

#include "evm/evm.h"
#include "types/tx.h"

/* Why a transaction cannot be part of a block; cd_tx_invalid_str gives go-ethereum's words. */
typedef enum cd_tx_invalid {
    CD_TX_VALID,
    CD_TX_NONCE_TOO_LOW,
    CD_TX_NONCE_TOO_HIGH,
    CD_TX_NONCE_MAX,
    CD_TX_SENDER_HAS_CODE, /* EIP-3607 */
    CD_TX_FEE_CAP_BELOW_BASE_FEE,
    CD_TX_TIP_ABOVE_FEE_CAP,
    CD_TX_INSUFFICIENT_FUNDS,
    CD_TX_INTRINSIC_GAS,
    CD_TX_INITCODE_SIZE, /* EIP-3860 */
    CD_TX_TYPE_UNSUPPORTED,
    CD_TX_GAS_LIMIT_REACHED, /* its gas limit is above the gas left in the block */
    CD_TX_BLOB_NO_HASHES,
    CD_TX_BLOB_TOO_MANY,
    CD_TX_BLOB_HASH_VERSION,
    CD_TX_BLOB_FEE_CAP,
    CD_TX_BLOB_CREATE,
    CD_TX_SET_CODE_CREATE,
    CD_TX_SET_CODE_NONE,
    CD_TX_FLOOR_GAS, /* EIP-7623 */
    CD_TX_CHAIN_ID,
    CD_TX_SENDER_NOT_ALLOWED, /* CD_GATE_SEND is closed to the sender (evm/precompile/precompile.h) */
    CD_TX_PREDICATE,          /* a malformed predicate in the access list */
} cd_tx_invalid;

/* cd_tx_invalid_str gives go-ethereum's words for a reason. */
const char *cd_tx_invalid_str(cd_tx_invalid r);

/* cd_tx_intrinsic_gas gives the gas that tx costs under a fork before any code runs: base, data, access list,
 * authorizations and init code. precompiles says which tuples of the access list are predicates, which have prices of
 * their own (NULL: none). Gives CD_TX_VALID, CD_TX_INTRINSIC_GAS when the gas exceeds 2^64-1, or CD_TX_PREDICATE. */
cd_tx_invalid cd_tx_intrinsic_gas(u64 *out, const cd_tx *tx, cd_fork fork,
                                  const cd_precompile_table *precompiles) CD_CHECK;

/* cd_tx_floor_gas gives the least gas that tx uses in any case (EIP-7623); 0 before Prague. */
u64 cd_tx_floor_gas(const cd_tx *tx, cd_fork fork);

/* The result of a transaction. */
typedef struct cd_tx_result {
    cd_evm_status status; /* how the outermost message ended */
    u64 gas_used;         /* less the refund, if the profile pays it */
    u64 gas_refunded;
    cd_bytes output;   /* borrowed until the next call on the evm */
    cd_addr20 created; /* address of the new contract, for creations */
    cd_u256 effective_gas_price;
    const char *reason; /* as in cd_evm_result */
} cd_tx_result;

/* What is skipped when a call is only simulated (eth_call, estimateGas); all false for blocks. */
typedef struct cd_tx_relax {
    bool nonce;    /* no nonce check */
    bool sender;   /* no EIP-3607 check, and CD_GATE_SEND is not asked */
    bool base_fee; /* no fee-cap check when both caps are zero */
    bool balance;  /* fees are neither required nor charged */
} cd_tx_relax;

/* cd_tx_apply checks and runs tx (whose sender is known) on the EVM's block and state; *gas_pool is the
 * gas left in the block and is lowered by the gas used. On anything but CD_TX_VALID the state is
 * unchanged. Ends with cd_state_end_tx. relax NULL = nothing is skipped. cd_state_error tells
 * afterwards whether the state's source has failed. */
cd_tx_invalid cd_tx_apply(cd_evm *evm, cd_tx_result *res, u64 *gas_pool, const cd_tx *tx, const cd_tx_relax *relax);

#endif
